"""Methods that call a method of each object in a list with what they are given: ``callbacks.on_end(step, logs)``.

Which objects these are is for others to say: who makes the list, or the object that has it. The caller of such a
method is the caller of all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.summaries.receivers import GETTING
from torchlint.facts.summaries.results import path_from_parameter
from torchlint.facts.summaries.summary import HandingOver
from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Class, Function, Kind, Mode, Op, Place, Value
from torchlint.facts.values.parameters import spread_as, spread_into, star_of

if TYPE_CHECKING:
    from torchlint.facts import Facts

_LISTING = frozenset(["builtins.list", "builtins.tuple"])


def handed_over(facts: Facts, function: Function) -> Iterator[HandingOver]:
    """What a function hands over to the objects of a list that it, or its object, is given."""
    for call in facts.steps.calls_in(function):
        method = _method_of_item(call) if call.mode is Mode.INHERITED else None
        if method is None or facts.steps.calls_module(call):
            continue
        item, name, named_by = method
        base, path = path_from_parameter(_gone_through(item), function)
        position = function.parameters.index(named_by) if named_by in function.parameters else -1
        given = tuple(_given(call, function))
        if given and base >= 0 and (named_by is None or position >= 0):
            owner = function.owner if base == 0 and len(path) == 1 else None
            sources = tuple(_sources(facts, owner, path[0])) if owner is not None else ()
            yield HandingOver(base, path, name, position, sources, given)


def _method_of_item(call: Value) -> tuple[Value, str, Value | None] | None:
    """Of ``one.update(x)`` in a loop over ``one`` what is gone through, and the method; or what its name begins with,
    and what says the rest: ``getattr(one, "on_" + event)(x)``.
    """
    callee = call.callee.unnarrowed()
    if callee.op is Op.ATTRIBUTE and _is_item(callee.inputs[0]):
        return callee.inputs[0], callee.name, None
    if callee.op is not Op.CALL or callee.callee.name != GETTING or len(callee.arguments) != 2:
        return None
    item, name = callee.arguments
    beginning, rest = _said(name)
    return (item, beginning, rest) if rest is not None and _is_item(item) else None


def _is_item(value: Value) -> bool:
    return value.op is Op.ELEMENT and value.keys[:1] == (None,)


def _gone_through(item: Value) -> Value:
    """``self.meters`` where a loop goes over that, or over ``self.meters.values()``."""
    source = item.inputs[0]
    callee = source.callee if source.op is Op.CALL else None
    return callee.inputs[0] if callee is not None and callee.op is Op.ATTRIBUTE and callee.name == "values" else source


def _said(name: Value) -> tuple[str, Value | None]:
    """What a name begins with, and what says the rest of it: ``f"on_{event}"``, ``"on_" + event``."""
    syntax = name.syntax
    if name.op is Op.PARAMETER:
        return "", name
    if name.op is Op.OPERATION and isinstance(syntax, cst.BinaryOperation) and len(name.inputs) == 2:
        written = _text(name.inputs[0].syntax) if isinstance(syntax.operator, cst.Add) else None
        return (written, name.inputs[1]) if written is not None else ("", None)
    if name.op is Op.CONSTANT and isinstance(syntax, cst.FormattedString) and len(name.inputs) == 1:
        *before, last = syntax.parts
        texts = [part.value for part in before if isinstance(part, cst.FormattedStringText)]
        is_last = isinstance(last, cst.FormattedStringExpression) and len(texts) == len(before)
        return ("".join(texts), name.inputs[0]) if is_last else ("", None)
    return "", None


def _text(node: cst.CSTNode | None) -> str | None:
    written = ast.literal_eval(node.value) if isinstance(node, cst.SimpleString) else None
    return written if isinstance(written, str) else None


def _sources(facts: Facts, owner: Class, attribute: str) -> Iterator[tuple[str, int, bool]]:
    """The parameters of methods of a class that bring what the list at an attribute holds; see :class:`HandingOver`."""
    place = Place(owner.root(), attribute)  # what derives from a common base has its attributes there
    stored = [one for value in facts.solution.stored.get(place, ()) for one in choices(value)]
    listed = [one for one in stored if one.op is Op.PARAMETER]
    listed += [
        source for one in stored if one.op is Op.CALL and one.callee.name in _LISTING for source in one.arguments[:1]
    ]
    added = [
        store.value
        for store in facts.graph.stores
        if store.kind is Kind.INSERT and store.value.op is Op.PARAMETER and store.function.owner is owner
        if store.holder is not None and place in facts.solution.read_from(store.holder)
    ]
    for value in (*listed, *added):
        method = value.function
        if value in method.parameters and method.owner is not None and method.owner is owner:
            yield method.name, method.parameters.index(value), value in listed


def _given(call: Value, function: Function) -> Iterator[tuple[str | int, int]]:
    """The parameters that a call hands on as they are: under which position, keyword or star, and which of all."""
    spread = spread_into(call)
    for key, argument in zip(call.keys[1:], call.arguments, strict=True):
        if argument not in function.parameters:
            continue
        position = function.parameters.index(argument)
        star = star_of(argument)
        if key is not None and not star:
            yield key, position
        elif argument in spread and argument in spread_as(call, star):
            yield star, position
