"""``Sequential``: a module that calls its items itself, each with what the one before it gave."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Instance, Module, sorted_values
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Value
from torchlint.facts.values.partials import bind

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

SEQUENCES = frozenset(["torch.nn.Sequential"])


def forwards(solution: Solution, call: Value, module: Module) -> Iterator[tuple[Function, dict[Value, Value | None]]]:
    """The methods of this file's classes that a CALL of a sequence runs, each with what its parameters get.

    The first item gets what the sequence is called with. Every other one gets what comes out of an item: for it stands
    the CALL itself, whose result comes out of the last.
    """
    made = module.allocation
    if made is None or made.callee.name not in SEQUENCES:
        return
    first = _first(solution, made, call)
    for atom in sorted_values(solution.load(made, None, call)):
        forward = atom.cls.method("forward") if isinstance(atom, Instance) and is_module_class(atom.cls) else None
        if forward is None:
            continue
        forward.open()
        binding = bind(call, forward, bound=True)
        yield forward, binding if atom in first else {p: given and call for p, given in binding.items()}


def _first(solution: Solution, made: Value, reader: Value) -> frozenset[object]:
    """What a sequence runs first, where that is written out."""
    if not made.arguments or None in made.keys[1:]:
        return frozenset()
    solution.watch(made.arguments[0], reader)
    return solution.of(made.arguments[0])
