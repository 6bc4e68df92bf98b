"""Graphs that a variable holds: those of which something is used in a later statement."""

from __future__ import annotations

from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.solve import Solution


def outlives_its_statement(solution: Solution, call: Value) -> bool:
    """Whether what has the graph of a CALL is used in another statement; what is detached at once is gone there."""
    pending, seen = [call], set[Value]()
    while pending:
        value = pending.pop()
        if value in seen or surely_graphless(solution.final(value)):
            continue
        seen.add(value)
        if any(user.statement is not call.statement for user in value.users if user.op is not Op.PHI):
            return True
        for user in value.users:
            pending += (user.calls if user.op is Op.ATTRIBUTE else []) or [user]
    return False
