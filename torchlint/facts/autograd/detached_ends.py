"""Forwards of which all that is computed is detached: whoever does so knows of the graph and has no use for it."""

from __future__ import annotations

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.graph import Op, Value

SAME_GRAPH = (Op.PHI, Op.NARROWED, Op.SUBSCRIPT, Op.ELEMENT, Op.OPERATION)
"""What gives a part of what it is made of, or computes with it."""

CUTS = frozenset(["detach", "data"])
"""Attributes of a tensor that give it without its graph."""


def ends_detached(flows: Flows, call: Value) -> bool:
    """Whether each way from a CALL, through operations and calls that are not seen, ends where it is detached.

    What is put into a container, or given to a function of the file, may go on from there: then it is not certain.
    """
    pending, seen, is_cut = [call], set[Value](), False
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        for user in value.users:
            if user.op is Op.COMPARISON:
                continue
            if user.op is Op.ATTRIBUTE:
                methods = user.calls
                is_cut |= user.name in CUTS
                onward = [] if user.name in CUTS else methods or [user]
            elif user.op in SAME_GRAPH or _is_unseen(flows, user):
                onward = [user]
            else:
                return False
            pending += [one for one in onward if not surely_graphless(flows.solution.final(one))]
    return is_cut and not any(store.value in seen for store in flows.solution.graph.stores if store.attribute)


def is_target_of_step(flows: Flows, call: Value) -> bool:
    """Whether a CALL gives what the loss of the same turn is computed from, and all of it is detached: a teacher's.

    That is part of a training and no pass for itself, whatever the mode of the network.
    """
    backwards = (
        backward
        for backward in flows.solution.graph.backwards
        if backward.function is call.function and backward.loop is call.loop and backward.loop is not None
    )
    return any(call in backward.root.computed_from() for backward in backwards) and ends_detached(flows, call)


def _is_unseen(flows: Flows, user: Value) -> bool:
    """Whether a CALL, whose result is used, is of no function of the program."""
    return user.op is Op.CALL and not user.is_bare and not flows.solution.functions_of(user)
