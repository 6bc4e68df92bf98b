"""The objects of a list to which a function of another file hands over what it is given, in a file's value graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.summaries.summary import HandingOver
from torchlint.facts.values.graph import Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.summaries.linking import Linker
    from torchlint.facts.summaries.units import Unit

GETTING = "builtins.getattr"

STARS = ("*", "**")

VALUES = "values"
"""The name of an item that is a value of a dict, and no key."""


def link(linker: Linker, told: HandingOver, function: Function, unit: Unit) -> Iterator[Value]:
    """The calls of a function of another file by which it hands over what it is given, one for each source of objects.

    Args:
        linker: makes them.
        told: what the function's file says of it.
        function: the function.
        unit: what defines it.
    """
    given = [(key, function.parameters[position]) for key, position in told.given]
    spread = [cst.Arg(cst.Name("_"), star="*" if key == "*" else "**") for key, _ in given if key in STARS]
    keys = (None, *(None if key in STARS else key for key, _ in given))
    for item in _items(linker, told, function, unit):
        callee = _callee(linker, told, item, function)
        values = (callee, *(argument for _, argument in given))
        written = cst.Call(cst.Name("_"), spread) if spread else None
        if written is not None:
            linker.foreign.nodes.add(written)
        yield linker.make(Op.CALL, values, function, name=callee.name, keys=keys, syntax=written)


def _items(linker: Linker, told: HandingOver, function: Function, unit: Unit) -> Iterator[Value]:
    """What the list holds: its items, those of what an object was made with, and what was added to it.

    Of a dict these are its values: a key has no such methods.
    """
    source = function.parameters[told.base]
    for attribute in told.path:
        source = linker.make(Op.ATTRIBUTE, (source,), function, name=attribute)
    yield linker.make(Op.ELEMENT, (source,), function, name=VALUES, keys=(None,))
    owner = function.owner
    for name, position, is_list in told.sources if owner is not None else ():
        method = owner.method(name) if owner is not None and name != function.name else None
        if method is not None and method.owner is owner and position < len(method.parameters):
            linker.passed_elsewhere(method, unit)
            given = method.parameters[position]
            yield linker.make(Op.ELEMENT, (given,), function, name=VALUES, keys=(None,)) if is_list else given


def _callee(linker: Linker, told: HandingOver, item: Value, function: Function) -> Value:
    if told.named_by < 0:
        return linker.make(Op.ATTRIBUTE, (item,), function, name=told.method)
    name = function.parameters[told.named_by]
    if told.method:
        text, rest = cst.SimpleString(repr(told.method)), cst.Name(name.name)
        begins = linker.make(Op.CONSTANT, (), function, syntax=text)
        written = cst.BinaryOperation(text, cst.Add(), rest)
        name = linker.make(Op.OPERATION, (begins, name), function, name="Add", syntax=written)
    getting = linker.make(Op.EXTERNAL, (), function, name=GETTING)
    return linker.make(Op.CALL, (getting, item, name), function, name=GETTING, keys=(None, 0, 1))
