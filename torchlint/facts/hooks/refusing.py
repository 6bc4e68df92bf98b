"""Functions that refuse an object which went through them before: they mark it, and ask for the mark at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.graph import Value
from torchlint.syntax.conditions import last_of
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts


def refuses_again(facts: Facts, parameter: Value) -> bool:
    """``assert not hasattr(model, "watched")``: whether what is given for ``parameter`` is taken once only.

    The file has to set that attribute somewhere, or nothing would ever be refused.
    """
    body = getattr(parameter.function.syntax, "body", None)
    statements = body.body if isinstance(body, cst.IndentedBlock) else ()
    marks = {mark for statement in statements if (mark := _refused(statement, parameter.name)) is not None}
    return bool(marks) and any(store.attribute in marks for store in facts.graph.stores)


def _refused(statement: cst.BaseStatement, name: str) -> str | None:
    """The attribute with which a variable's object is turned away by a statement: by an assertion, an ``if``."""
    if isinstance(statement, cst.If):
        leaves = isinstance(last_of(statement.body), cst.Raise | cst.Return)
        return _attribute_asked_for(statement.test, name) if leaves else None
    first = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    test = first.test if isinstance(first, cst.Assert) else None
    if not isinstance(test, cst.UnaryOperation) or not isinstance(test.operator, cst.Not):
        return None
    return _attribute_asked_for(test.expression, name)


def _attribute_asked_for(test: cst.BaseExpression, name: str) -> str | None:
    """The attribute for which ``hasattr`` asks a variable's object."""
    if not isinstance(test, cst.Call) or dotted(test.func) != "hasattr" or len(test.args) != 2:
        return None
    subject, attribute = (argument.value for argument in test.args)
    mark = constant_of(attribute)
    return mark if dotted(subject) == name and isinstance(mark, str) else None
