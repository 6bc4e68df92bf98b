"""What values are computed from, up through the calls that led to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.turns.changing import counted
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.threads import handed_over, run_in_thread

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


def sources_of(solution: Solution, values: Sequence[Value], chain: tuple[Value, ...] = ()) -> set[Value]:
    """All that ``values`` are computed from, in their function and in those that led to it by ``chain``."""
    return set(reached(values, partial(_behind, solution, chain)))


def _behind(solution: Solution, chain: tuple[Value, ...], value: Value) -> Iterator[Value]:
    """What a value is computed from in one step; of a parameter what a call of ``chain`` gives for it, too."""
    yield from counted(value) or (*value.inputs, *solution.graph.indices.get(value, ()))
    bindings = solution.callers.get(value.function, {}) if value.op is Op.PARAMETER else {}
    for caller in chain:
        if value in bindings.get(caller, ()):
            bound, given = frozenset(bindings[caller].values()), bindings[caller][value]
            # What is for another parameter is not for this one, which may be left to its default.
            rest = (argument for argument in caller.arguments if argument not in bound)
            yield from rest if given is None else (given,)
        elif value.op is Op.PARAMETER and value.function in run_in_thread(solution, caller):
            handed = handed_over(caller)
            yield from handed[1] if handed is not None else ()
