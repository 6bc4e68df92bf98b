"""Switches that nobody turns on: a parameter that is False unless it is given, and no call that is seen gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.graph import Function, Value
from torchlint.facts.values.literals import literal
from torchlint.syntax.tree import branches

if TYPE_CHECKING:
    from torchlint.facts import Facts


def is_left_off(facts: Facts, at: Value) -> bool:
    """Whether ``at`` stands under a switch that nobody turns on: ``if tidy:``, ``if tidy and late:``."""
    return any(
        branch is outer.body and any(is_never_asked(facts, test, at.function) for test in _needed(outer.test))
        for outer, branch in branches(facts.parents, at.syntax or at.statement)
    )


def is_never_asked(facts: Facts, test: cst.BaseExpression, function: Function) -> bool:
    """Whether a test is a parameter that is False unless it is given, and no call that is seen gives it."""
    name = test.value if isinstance(test, cst.Name) else None
    parameter = next((p for p in function.parameters if p.name == name), None)
    if parameter is None or not _is_false_by_default(parameter):
        return False
    if name in facts.skipping.bindings.assigned(function.syntax):
        return False
    callers = facts.solution.callers.get(function, {})
    given = [binding.get(parameter) for binding in callers.values()]
    if not callers or not all(one is None or _is_false(facts, one) for one in given):
        return False
    # What is handed on, `tidied(x, **options)`, may hold it where its name is written for something else than False.
    return not any(None in call.keys[1:] for call in callers) or not _is_given_by_name(facts, parameter.name)


def _is_false_by_default(parameter: Value) -> bool:
    default = parameter.syntax.default if isinstance(parameter.syntax, cst.Param) else None
    return isinstance(default, cst.Name) and default.value == "False"


def _is_false(facts: Facts, value: Value) -> bool:
    return literal(facts.solution, value) is False


def _is_given_by_name(facts: Facts, name: str) -> bool:
    """Whether a call, or a dictionary, of the file gives something else than False under a name."""
    naming = (value for value in facts.graph.values if name in value.keys)
    return any(
        key == name and not _is_false(facts, given)
        for value in naming
        for key, given in zip(value.keys, value.inputs, strict=False)
    )


def _needed(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The conditions all of which have to hold for ``test`` to hold."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return [*_needed(test.left), *_needed(test.right)]
    return [test]
