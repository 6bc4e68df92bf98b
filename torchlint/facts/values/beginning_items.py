"""What an object of a class that is a container begins with: ``Board(loss=Meter())``, ``Board({"loss": Meter()})``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Abstract, Container, Instance
from torchlint.facts.values.graph import Class, Key, Place, Value
from torchlint.facts.values.known import OWN_ITEMS

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


def begin_with_items(solution: Solution, call: Value, cls: Class) -> None:
    """Let the objects that a CALL of a class gives be items of the object that it makes, if that is a container.

    Args:
        solution: is told of them.
        call: the CALL; an ``__init__`` of the class that takes what is given does with it what it likes.
        cls: what it calls.
    """
    maker, place = cls.method("__init__"), Place(cls.root(), OWN_ITEMS)
    if not call.arguments or (maker is not None and len(maker.parameters) > 1):
        return
    solution.watch(place, call)
    for made in list(solution.stored.get(place, ())):
        for key, item in _given(solution, call):
            objects = frozenset(atom for atom in item if isinstance(atom, Instance))
            if objects:
                solution.set_field(made, key, objects)


def _given(solution: Solution, call: Value) -> Iterator[tuple[Key, Abstract]]:
    """What is given by name, or lies in the one container that is given."""
    for key, argument in zip(call.keys[1:], call.arguments, strict=True):
        if isinstance(key, str):
            yield key, solution.of(argument)
        elif key == 0:
            for atom in solution.of(argument):
                if isinstance(atom, Container):
                    yield None, solution.load(atom.allocation, None, call)
