"""What programs do with a tensor that they keep, and a detached one in its place would not bear.

It is another object, and though it shares the numbers: what changes them by the one is no part of the other's graph.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Kind, Op, Value
from torchlint.facts.values.identity import changed

SINGLE = frozenset(["None", "True", "False", "Ellipsis"])
"""What anything is compared with by ``is``, whatever it is."""


def told_apart(flows: Flows) -> frozenset[Value]:
    """All that flows into a value that is compared by ``is``, asked for its ``id`` or used as a key."""
    graph = flows.solution.graph
    asked = [operand for value in graph.of(Op.COMPARISON) for operand in _compared(value)]
    asked += [one for call in graph.of(Op.CALL) if call.callee.name == "builtins.id" for one in call.arguments]
    keys = [index for indices in graph.indices.values() for index in indices]
    keys += [store.index for store in graph.stores if store.kind is Kind.INSERT and store.index is not None]
    return flows.ancestry.of_all([*asked, *filter(flows.carries, keys)])


def changed_for_backward(flows: Flows) -> frozenset[Value]:
    """All that is changed in place, by what it is kept in, before a backward of the same function runs over it.

    ``kept[-1].mul_(2)``: of ``kept.append(out)`` the graph of ``out`` has that as well.
    """
    graph = flows.solution.graph
    calls = [one.call for one in graph.backwards if one.call is not None]
    done = ((value, _changed(value)) for value in graph.of(Op.CALL, Op.OPERATION))
    found = set[Value]()
    for value, subject in done:
        if subject is not None and subject.op in (Op.ELEMENT, Op.SUBSCRIPT):
            later = (one for one in calls if one.function is value.function and one.index > value.index)
            if any(one.loop is None or value.loop is None or one.loop in value.loop.around() for one in later):
                found |= flows.ancestry.of(subject)
    return frozenset(found)


def _changed(value: Value) -> Value | None:
    """What an operation changes in place."""
    if value.op is Op.CALL:
        return changed(value)
    return value.inputs[0] if value.name.endswith("Assign") else None


def _compared(comparison: Value) -> Iterator[Value]:
    """The operands of ``is`` and ``is not``, but for those of ``loss is None``."""
    node = comparison.syntax
    if not isinstance(node, cst.Comparison):
        return
    operators = [target.operator for target in node.comparisons]
    for position, operator in enumerate(operators):
        pair = comparison.inputs[position : position + 2]
        if isinstance(operator, cst.Is | cst.IsNot) and not any(one.name in SINGLE for one in pair):
            yield from pair
