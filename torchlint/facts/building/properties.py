"""The methods of a class by name, which attributes its properties stand for, and what runs when one is assigned."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import path_of
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.program import SETTER

if TYPE_CHECKING:
    from torchlint.facts.building.context import Context


def keep_method(cls: Class, function: Function) -> None:
    """Put a method into its class; what assigns or deletes a property leaves the name to what reads it."""
    name, accessors = function.name, [decorator.rpartition(".")[2] for decorator in function.decorators]
    if "setter" in accessors:
        function.name += SETTER
        cls.methods[function.name] = function
        if _attribute_set(function) != cls.fronts.get(name):
            cls.fronts.pop(name, None)
    elif "deleter" not in accessors:
        cls.methods[name] = function
        attribute = _attribute_got(function) if function.is_property else None
        if attribute is not None:
            cls.fronts[name] = attribute


def set_property(builder: Context, base: Value, target: cst.Attribute, value: Value) -> None:
    """``stats.loss = value``: of an object whose class has such a property, the call of what that does with it.

    Nothing where no class of the file has one that does more than keep what it is given.
    """
    name = target.attr.value
    owner = builder.function.owner if base in builder.function.parameters[:1] else None
    classes = builder.graph.classes if owner is None else owner.lineage()
    if any(name + SETTER in cls.methods and name not in cls.fronts for cls in classes):
        setter = builder.make(Op.ATTRIBUTE, (base,), target, name=name + SETTER)
        builder.make(Op.CALL, (setter, value), target, keys=(None, 0), name=setter.name)


def _attribute_got(getter: Function) -> str | None:
    """``return self._rows``, and nothing else: which attribute a property gives as it is."""
    statement = _only_statement(getter)
    if not isinstance(statement, cst.Return) or statement.value is None:
        return None
    return _own_attribute(getter, statement.value)


def _attribute_set(setter: Function) -> str | None:
    """``self._rows = rows``, and nothing else: in which attribute a property keeps what it is given, as it is."""
    statement = _only_statement(setter)
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    given = [parameter.name for parameter in setter.parameters[1:]]
    is_kept = path_of(statement.value) in given
    return _own_attribute(setter, statement.targets[0].target) if is_kept else None


def _only_statement(function: Function) -> cst.BaseSmallStatement | None:
    body = function.syntax.body if isinstance(function.syntax, cst.FunctionDef) else None
    if not isinstance(body, cst.IndentedBlock):
        return None
    lines = [line for line in body.body if isinstance(line, cst.SimpleStatementLine)]
    if len(lines) != len(body.body):
        return None
    statements = [statement for line in lines for statement in line.body]
    told = [one for one in statements if isinstance(one, cst.Expr) and isinstance(one.value, cst.BaseString)]
    rest = [one for one in statements if one not in told]
    return rest[0] if len(rest) == 1 else None


def _own_attribute(method: Function, node: cst.CSTNode) -> str | None:
    itself, _, attribute = (path_of(node) or "").partition(".")
    is_own = bool(method.parameters) and itself == method.parameters[0].name
    return attribute if is_own and attribute.isidentifier() else None
