"""Conditions that the data of a step decide: they hold again and again, though not each time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import Derived, Tensor
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

ASKING = frozenset(["item", "any", "all", "tolist"])
"""Methods that give what a branch on a tensor asks for."""


def asked_of_data(facts: Facts, test: cst.BaseExpression, within: Loop | Function) -> Iterator[cst.CSTNode]:
    """The calls in a condition that ask something of what a function is given, with all that is written in them.

    Args:
        facts: of the file.
        test: the condition.
        within: the function, or a loop of it.
    """
    function = within if isinstance(within, Function) else within.function
    given = set(function.parameters[1 if function.owner is not None else 0 :])
    written = {node for node in walk(test) if isinstance(node, cst.Call)}
    for call in facts.calls():
        if call.syntax in written and _asks_of_data(facts, call) and not given.isdisjoint(call.computed_from()):
            yield from walk(call.syntax)


def _asks_of_data(facts: Facts, call: Value) -> bool:
    """``stop.item()``; ``errors.max()``, which is compared with a number; ``is_new(stop)``, which says such a thing."""
    if call.callee.op is Op.ATTRIBUTE and call.callee.name in ASKING:
        return True
    atoms, functions = facts.solution.final(call), facts.solution.functions_of(call)
    if atoms and all(isinstance(atom, Tensor | Derived) for atom in atoms):
        return True
    return bool(functions) and all(map(_answers_by_data, functions))


def _answers_by_data(function: Function) -> bool:
    """Whether what a function returns is a number of what it is given, and of nothing that an object or a file has."""
    if function.result is None or function.is_foreign:
        return False
    behind = set(function.result.computed_from())
    own = () if function.owner is None or function.is_static else function.parameters[:1]
    remembers = any(value.op is Op.READ for value in behind) or not behind.isdisjoint(own)
    asks = any(value.op is Op.CALL and value.callee.name in ASKING for value in behind)
    return asks and not remembers and not behind.isdisjoint(function.parameters)
