"""Where a value may be a tuple or a tensor: which of the two the program has asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.data_classes import is_named_tuple
from torchlint.facts.values.domain import BOTTOM, SYMBOLIC, Abstract, Atom, Container, Derived, Tensor, is_graphless
from torchlint.facts.values.graph import Class, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


def unpackable(solution: Solution, abstract: Abstract, part: Value) -> Abstract:
    """What may be unpacked: where a function gives a loss, or a tuple with it, who unpacks has asked for the tuple.

    A tuple of another file is seldom known in full; a tensor, which stands for what an unknown call gives, goes where
    the tuple tells what is at that place.
    """
    if part.op is not Op.ELEMENT or not isinstance(part.keys[0], int):
        return abstract
    made = [atom.allocation for atom in abstract if isinstance(atom, Container)]
    if not any(isinstance(one.syntax, cst.Tuple) for one in made):
        there = [one for one in made if one.function.is_foreign and part.keys[0] in one.keys]
        if not there or not all(_is_told(solution, one, part) for one in there):
            return abstract
    return frozenset(atom for atom in abstract if not isinstance(atom, Tensor))


def fields_of_record(cls: Class, key: str | int | None) -> tuple[str, ...]:
    """The fields of a named tuple that an item of one may be, all of them where ``key`` is None; none of other classes.

    https://docs.python.org/3/library/typing.html#typing.NamedTuple
    """
    initializer = cls.methods.get("__init__")
    if initializer is None or not is_named_tuple(cls):
        return ()
    names = tuple(parameter.name for parameter in initializer.parameters[1:])
    if key is None:
        return names
    return (names[key],) if isinstance(key, int) and -len(names) <= key < len(names) else ()


def _is_told(solution: Solution, made: Value, part: Value) -> bool:
    """Whether the item of a tuple for which ``part`` asks is known, and no module's output."""
    found = solution.load(made, part.keys[0], part)
    return bool(found) and all(is_graphless(atom) or _is_of_setting(atom) for atom in found)


def _is_of_setting(atom: Atom) -> bool:
    """Whether an alternative is computed from what an object was made with: a rate, a size."""
    return isinstance(atom, Derived) and atom.parameter.function.name == "__init__"


def with_items(solution: Solution, before: Abstract) -> Abstract:
    """What of a value is left that is known to be a tuple, a list or a dict.

    Where none is known to come, a tensor stands for what an unknown call gives, whatever holds it; so does what callers
    pass of a parameter, of whom some pass a tensor.
    """
    if any(isinstance(atom, Container) for atom in before):
        return frozenset(atom for atom in before if not isinstance(atom, (Tensor, *SYMBOLIC)))
    return BOTTOM if solution.is_open else before  # what was a tensor for a moment would go round in loops
