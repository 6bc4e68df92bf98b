"""What a network is given of which the answer is detached: that program knows of the network's graph, not of this."""

from __future__ import annotations

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.graph import Op, Value

SAME_DATA = (Op.PHI, Op.NARROWED, Op.SUBSCRIPT, Op.ELEMENT)
"""What gives what it is made of, or a part of it."""


def is_input_of_detached(flows: Flows, steps: Steps, call: Value) -> bool:
    """Whether a module is given what a CALL gives, moved or rearranged first: what that returns is detached."""
    pending, seen = [call], set[Value]()
    while pending:
        value = pending.pop()
        for user in value.users:
            if user in seen or user not in flows.detached:
                continue
            seen.add(user)
            is_given = user.op is Op.CALL and value in user.arguments
            if is_given and steps.calls_module(user):
                return True
            if is_given or user.op in SAME_DATA:
                pending.append(user)
    return False
