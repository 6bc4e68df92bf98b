"""What values are computed from, up through the calls that led to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.turns.changing import counted
from torchlint.facts.values.graph import Op, Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


def sources_of(solution: Solution, values: Sequence[Value], chain: tuple[Value, ...] = ()) -> set[Value]:
    """All that ``values`` are computed from, in their function and in those that led to it by ``chain``."""
    pending, seen = list(values), set[Value]()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        pending.extend(counted(value) or (*value.inputs, *solution.graph.indices.get(value, ())))
        if value.op is Op.PARAMETER:
            bindings = solution.callers.get(value.function, {})
            for caller in chain:
                if value in bindings.get(caller, ()):
                    bound, given = frozenset(bindings[caller].values()), bindings[caller][value]
                    # What is for another parameter is not for this one, which may be left to its default.
                    rest = (argument for argument in caller.arguments if argument not in bound)
                    pending.extend(rest if given is None else (given,))
    return seen
