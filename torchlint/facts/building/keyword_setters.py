"""Functions that put what they are given by name onto an object, under these names: ``note(self, loss=loss)``.

Such a call is as good as ``self.loss = loss``, written where it stands: the values of other calls have other names. It
is read off the text, since a function may be built before or after those that call it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint.facts.building.names import OWN, bound_targets, constant_of
from torchlint.facts.building.setting import setting_of
from torchlint.syntax.tree import dotted, walk


@dataclass(frozen=True)
class KeywordSetter:
    """A function that keeps each keyword argument, which none of its parameters takes, as an attribute of an object.

    Attributes:
        holder: the position among its parameters of the one that gets the object, from 0.
        parameters: the names of its parameters.
        before: what the name of the attribute has before that of the argument.
        after: what it has behind that.
    """

    holder: int
    parameters: tuple[str, ...]
    before: str = ""
    after: str = ""

    def attribute(self, keyword: str) -> str | None:
        """The attribute in which it keeps what it is given under a keyword; None where a parameter takes that."""
        return None if keyword in self.parameters else f"{self.before}{keyword}{self.after}"


def keyword_setter(function: cst.CSTNode) -> KeywordSetter | None:
    """What a definition keeps so on every way, as its first level of statements says; None where it does not."""
    named = function.params.star_kwarg if isinstance(function, cst.FunctionDef) else None
    if named is None or not isinstance(function, cst.FunctionDef):
        return None
    given = function.params
    parameters = tuple(one.name.value for one in (*given.posonly_params, *given.params, *given.kwonly_params))
    for line in function.body.body:
        for holder, before, after in _kept_by(line, named.name.value):
            if holder in parameters and not _is_bound(function, {holder, named.name.value}):
                return KeywordSetter(parameters.index(holder), parameters, before, after)
        if any(isinstance(node, cst.Return | cst.Raise) for node in walk(line)):
            return None  # the rest need not run
    return None


def _is_bound(function: cst.FunctionDef, names: set[str]) -> bool:
    """Whether one of some parameters is something else later."""
    return any(dotted(target) in names for node in walk(function.body) for target in bound_targets(node))


def _kept_by(line: cst.CSTNode, named: str) -> Iterator[tuple[str, str, str]]:
    """What a statement puts all that is ``named`` onto, with what stands before and behind each name."""
    if isinstance(line, cst.For):
        yield from _kept_in_loop(line, named)
    for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
        # `vars(o).update(named)`, `o.__dict__.update(**named)`
        call = small.value if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call) else None
        if call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value == "update":
            owner = _whose_dictionary(call.func.value)
            if owner is not None and len(call.args) == 1 and dotted(call.args[0].value) == named:
                yield owner, "", ""


def _whose_dictionary(node: cst.BaseExpression) -> str | None:
    if isinstance(node, cst.Attribute) and node.attr.value == OWN:
        return dotted(node.value)
    is_call = isinstance(node, cst.Call) and dotted(node.func) == "vars" and len(node.args) == 1
    return dotted(node.args[0].value) if is_call and isinstance(node, cst.Call) else None


def _kept_in_loop(loop: cst.For, named: str) -> Iterator[tuple[str, str, str]]:
    """``for name, value in named.items(): setattr(o, name, value)``, or over the names alone."""
    over, target = loop.iter, loop.target
    names = [dotted(one.value) for one in target.elements] if isinstance(target, cst.Tuple) else [dotted(target)]
    is_pairs = isinstance(over, cst.Call) and dotted(over.func) == f"{named}.items" and len(names) == 2
    is_names = dotted(over) == named and len(names) == 1
    if not (is_pairs or is_names) or None in names or loop.orelse is not None:
        return
    value = names[1] if is_pairs else f"{named}[{names[0]}]"
    for line in loop.body.body:
        if any(isinstance(node, cst.Continue | cst.Break | cst.Return) for node in walk(line)):
            return
        if any(dotted(one) in names for node in walk(line) for one in bound_targets(node)):
            return
        for small in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            found = setting_of(small.value) if isinstance(small, cst.Expr) else None
            named_so = _around(found.name, names[0]) if found is not None else None
            if found is not None and named_so is not None and _text(found.value) == value:
                yield dotted(found.object) or "", *named_so


def _text(node: cst.BaseExpression) -> str | None:
    """``value``, ``named[name]``"""
    if not isinstance(node, cst.Subscript):
        return dotted(node)
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return f"{dotted(node.value)}[{dotted(index.value)}]" if isinstance(index, cst.Index) else None


def _around(name: cst.BaseExpression, variable: str | None) -> tuple[str, str] | None:
    """What an expression puts before and behind the text of a variable: ``f"last_{name}"``, ``"last_" + name``."""
    if dotted(name) == variable:
        return "", ""
    if isinstance(name, cst.BinaryOperation) and isinstance(name.operator, cst.Add):
        left, right = constant_of(name.left), constant_of(name.right)
        if isinstance(left, str) and dotted(name.right) == variable:
            return left, ""
        return ("", right) if isinstance(right, str) and dotted(name.left) == variable else None
    if not isinstance(name, cst.FormattedString):
        return None
    texts = [""]
    for part in name.parts:
        if isinstance(part, cst.FormattedStringText):
            texts[-1] += part.value
        elif isinstance(part, cst.FormattedStringExpression) and dotted(part.expression) == variable:
            if part.conversion or part.format_spec:
                return None
            texts.append("")
        else:
            return None
    return (texts[0], texts[1]) if len(texts) == 2 else None
