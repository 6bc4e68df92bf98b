"""The texts that a name may be which a program puts together: ``f"on_{event}"``, ``"on_%s" % event.value``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import ClassReference
from torchlint.facts.values.graph import Op, Place, Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

__all__ = ["spelled"]

Said = tuple[Value, str]
"""A call that says a name, and the text."""

CASES = {"lower": str.lower, "upper": str.upper}
"""Methods of texts that change their case."""


def spelled(solution: Solution, name: Value, reader: Value) -> Iterator[Said]:
    """The texts that ``name`` may be, each with the call that says it; ``reader`` is told of others."""
    if name.op is Op.PARAMETER:
        for caller, given in _given(solution, name, reader):
            if given.op is Op.CONSTANT and (text := _written(given.syntax)) is not None:
                yield caller, text
    elif name.op is Op.CONSTANT and len(name.inputs) == 1 and isinstance(name.syntax, cst.FormattedString):
        for caller, text in spelled(solution, name.inputs[0], reader):
            yield caller, "".join(_filled(name.syntax, text))
    elif name.op is Op.OPERATION and len(name.inputs) == 2 and isinstance(name.syntax, cst.BinaryOperation):
        yield from _joined(solution, name.syntax.operator, *name.inputs, reader)
    elif name.op is Op.ATTRIBUTE and name.inputs[0].op is Op.PARAMETER and name.name in ("name", "value"):
        for caller, given in _given(solution, name.inputs[0], reader):
            if (text := _of_member(solution, given, name.name)) is not None:
                yield caller, text
    elif name.op is Op.CALL and name.callee.op is Op.ATTRIBUTE:
        yield from _called(solution, name, reader)


def _given(solution: Solution, parameter: Value, reader: Value) -> Iterator[tuple[Value, Value]]:
    """What each call passes for a parameter."""
    solution.watch(parameter.function, reader)
    for caller, binding in solution.callers.get(parameter.function, {}).items():
        given = binding.get(parameter)
        if given is not None:
            yield caller, given


def _joined(solution: Solution, operator: cst.BaseBinaryOp, left: Value, right: Value, reader: Value) -> Iterator[Said]:
    """``"on_" + event``, ``"on_%s" % event``"""
    beginning = _written(left.syntax) if left.op is Op.CONSTANT else None
    if beginning is None:
        return
    for caller, text in spelled(solution, right, reader):
        if isinstance(operator, cst.Add):
            yield caller, beginning + text
        elif isinstance(operator, cst.Modulo) and beginning.count("%") == beginning.count("%s") == 1:
            yield caller, beginning.replace("%s", text)


def _called(solution: Solution, call: Value, reader: Value) -> Iterator[Said]:
    """``"on_{}".format(event)``, ``event.lower()``"""
    receiver, method = call.callee.inputs[0], call.callee.name
    pattern = _written(receiver.syntax) if receiver.op is Op.CONSTANT else None
    if pattern is not None and method == "format" and len(call.arguments) == 1 and pattern.count("{}") == 1:
        yield from ((c, pattern.replace("{}", text)) for c, text in spelled(solution, call.arguments[0], reader))
    elif method in CASES and not call.arguments:
        yield from ((caller, CASES[method](text)) for caller, text in spelled(solution, receiver, reader))


def _of_member(solution: Solution, member: Value, asked: str) -> str | None:
    """The name or the value of ``Event.STEP``, where that is a text: https://docs.python.org/3/library/enum.html"""
    if member.op is not Op.ATTRIBUTE:
        return None
    for atom in solution.of(member.inputs[0]):
        if isinstance(atom, ClassReference) and any(base.endswith("Enum") for base in atom.cls.all_bases()):
            stored = solution.stored.get(Place(atom.cls.root(), member.name), ())
            if len(stored) == 1:
                return member.name if asked == "name" else _written(stored[0].syntax)
    return None


def _written(node: cst.CSTNode | None) -> str | None:
    """The text of a string without formatting; None for anything else."""
    written = ast.literal_eval(node.value) if isinstance(node, cst.SimpleString) else None
    return written if isinstance(written, str) else None


def _filled(node: cst.FormattedString, text: str) -> Iterator[str]:
    """The parts of a formatted string with ``text`` in the place of its only expression."""
    for part in node.parts:
        yield part.value if isinstance(part, cst.FormattedStringText) else text
