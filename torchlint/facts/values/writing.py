"""How values are written where they are used.

A value knows the expression that made it; a repair has to change the expression that *uses* it (``total += loss``, not
``loss = criterion(...)`` ten lines above). These functions pair what an operation combines with its operands in the
source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.graph import Op, Store, Value
from torchlint.facts.values.parameters import gathers
from torchlint.syntax.tree import arguments_in_order, dotted


@dataclass(frozen=True)
class Use:
    """A value and the expression that stands for it where it is used; None where nothing is written for it."""

    value: Value
    node: cst.BaseExpression | None


def operands(value: Value) -> list[Use]:
    """The operands of an operation or call of arithmetic, the elements of a literal, as they are written in it.

    For a method the receiver comes first. Empty for values that are made in another way.
    """
    return [Use(operand, node) for operand, node in _operands(value)]


def _operands(value: Value) -> Iterator[tuple[Value, cst.BaseExpression]]:
    node = value.syntax
    if isinstance(node, cst.BinaryOperation):
        yield from zip(value.inputs, (node.left, node.right), strict=True)
    elif isinstance(node, cst.UnaryOperation):
        yield value.inputs[0], node.expression
    elif isinstance(node, cst.AugAssign):
        yield from zip(value.inputs, (node.target, node.value), strict=True)
    elif isinstance(node, cst.Call) and value.op is Op.CALL:
        if value.callee.op is Op.ATTRIBUTE and isinstance(node.func, cst.Attribute):
            yield value.callee.inputs[0], node.func.value
        written = arguments_in_order(node.args)
        for argument, key, (told, expression) in zip(value.arguments, value.keys[1:], written, strict=False):
            if key != told:
                continue  # an item of a dictionary that is spread here
            yield argument, expression
            if argument.op is Op.CONTAINER and argument.syntax is expression:
                yield from _elements(argument)
    elif value.op is Op.CONTAINER:
        yield from _elements(value)


def _elements(container: Value) -> Iterator[tuple[Value, cst.BaseExpression]]:
    node = container.syntax
    if isinstance(node, cst.List | cst.Tuple | cst.Set):
        written = [element.value for element in node.elements if isinstance(element, cst.Element)]
        if len(written) == len(container.inputs):
            yield from zip(container.inputs, written, strict=True)
    elif isinstance(node, cst.Dict):
        values = [element.value for element in node.elements if isinstance(element, cst.DictElement)]
        if len(values) == len(container.inputs):
            yield from zip(container.inputs, values, strict=True)


def choices_written(use: Use) -> list[Use]:
    """What an expression chooses from, as it is written in it: ``a if test else b``, ``a or b``; [] for any other."""
    value, node = use.value, use.node
    if value.op is not Op.PHI or value.syntax is not node or len(value.inputs) != 2:
        return []
    if isinstance(node, cst.IfExp):
        return [Use(value.inputs[0], node.body), Use(value.inputs[1], node.orelse)]
    if isinstance(node, cst.BooleanOperation):
        return [Use(value.inputs[0], node.left), Use(value.inputs[1], node.right)]
    return []


def parts(value: Value, expression: cst.CSTNode | None, wanted: list[Value]) -> list[Use]:
    """Where each of ``wanted`` is written in ``expression``, which stands for ``value``.

    Args:
        value: what is kept.
        expression: how it is written there.
        wanted: ``value`` itself, or items of a literal, or arguments of a call (of several), that stands there.

    Returns:
        one use for each place where one of ``wanted`` is written, without an expression for those made elsewhere.
    """
    written: dict[Value, list[cst.BaseExpression | None]] = defaultdict(list)
    pending = [(value, expression)] if isinstance(expression, cst.BaseExpression) else []
    while pending:
        current, node = pending.pop(0)
        if current in wanted:
            written[current].append(node)
        elif current.op in (Op.CONTAINER, Op.CALL) and current.syntax is node:
            pending.extend(_operands(current))
    return [Use(part, node) for part in wanted for node in written.get(part, [None])]


def written_in(value: Value) -> list[tuple[Value, cst.CSTNode | None]]:
    """What a call or a literal is given, each with the expression that is written for it."""
    node = value.syntax
    of_call = {arg.value for arg in node.args} if isinstance(node, cst.Call) else None
    written: dict[Value, list[cst.CSTNode | None]] = defaultdict(list)
    for use in operands(value):  # of a call they are the receiver and what stands in an argument, too
        if of_call is None or use.node in of_call:
            written[use.value].append(use.node)
    given = value.arguments if value.op is Op.CALL else value.inputs
    return [(item, written[item].pop(0) if written[item] else None) for item in given]


def written_for(call: Value, parameter: Value) -> list[tuple[Value, cst.CSTNode | None]]:
    """What a call passes for a parameter, as it is written; all that it is given where that cannot be told apart."""
    written, function = written_in(call), parameter.function
    if call.op is not Op.CALL or gathers(parameter) or parameter not in function.parameters:
        return written
    position = function.parameters.index(parameter) - (function.owner is not None)
    keyed = zip(call.keys[1:], written, strict=True)
    return [one for key, one in keyed if key in (position, parameter.name)] or written


def text_of(target: cst.CSTNode | None, value: Value) -> str:
    """How the program writes a holder, on one line and at most 40 characters."""
    if target is None:
        return value.name or "it"
    return shortened(" ".join(_module_of(value).code_for_node(target).split()))


def is_named_by_expression(store: Store) -> bool:
    """``setattr(self, f"last_{name}", x)``: whether an attribute is read by other names than the one written there."""
    target, written = store.target, None
    if isinstance(target, cst.Call) and len(target.args) > 1:
        written = target.args[1].value
    elif isinstance(target, cst.Subscript) and isinstance(index := target.slice[0].slice, cst.Index):
        written = index.value  # `self.__dict__[name]`
    if written is None or not store.attribute or constant_of(written) == store.attribute:
        return False
    return not store.attribute.isidentifier() or dotted(written) == store.attribute


def written_key(store: Store) -> str:
    """The key of an item as it is written: ``["h"]``, ``[i]``."""
    if store.key is not None:
        return f"[{store.key}]" if isinstance(store.key, int) else f'["{store.key}"]'
    index = store.index
    if index is None:
        return "[...]"
    named = index.name if index.op in (Op.PARAMETER, Op.PHI) else ""
    written = index.syntax.value if isinstance(index.syntax, cst.Name) else named
    return f"[{written or '...'}]"


def shortened(text: str) -> str:
    """The text itself, or its beginning where it is longer than 40 characters."""
    return text if len(text) <= 40 else text[:37] + "..."


def _module_of(value: Value) -> cst.Module:
    """The file in which a value is computed."""
    function = value.function
    while function.parent is not None:
        function = function.parent
    assert isinstance(function.syntax, cst.Module)
    return function.syntax


def slice_of(value: Value) -> cst.Slice | None:
    """``rows[1:4]``: which part of a sequence a value is written as; None for anything else."""
    first = value.syntax.slice[0].slice if isinstance(value.syntax, cst.Subscript) else None
    return first if isinstance(first, cst.Slice) else None


def is_slice(value: Value) -> bool:
    """``rows[1:4]``: whether a value is written as a slice of another one."""
    return slice_of(value) is not None
