"""Copies of a model, or of its state, that a function binds to a variable which nobody ever reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.copies import Copies
from torchlint.facts.keeping.external_names import external_name
from torchlint.facts.summaries.effect_kinds import DEEPCOPY
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.parameters import before_moves
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

SEEING_ALL = frozenset(["builtins.locals", "builtins.vars", "builtins.eval", "builtins.exec", "builtins.dir"])
"""Functions that read variables by no name that is written."""


@dataclass(frozen=True)
class UnreadCopy:
    """A copy that is made in vain, and stays until its function returns or makes another one.

    Attributes:
        statement: what binds it.
        copy: what makes it.
        name: the variable.
        subject: what is copied, as the program writes it.
    """

    statement: cst.CSTNode
    copy: Value
    name: str
    subject: str


def unread_copies(facts: Facts) -> list[UnreadCopy]:
    """Every such copy, in source order."""
    copies = Copies(facts, sees_callers=False)
    found: dict[cst.CSTNode, UnreadCopy] = {}
    for call in facts.calls():
        name, copy = _bound_by(call), before_moves(call)
        if name is None or call.function.parent is None or facts.unit_tests.has(call.function):
            continue  # whoever imports a file reads its variables, and a test may only try whether a model is copied
        is_copy = copy.op is Op.CALL and external_name(facts, copy) == DEEPCOPY and bool(copy.arguments)
        if is_copy and copies.may_be_copied(copy.arguments[0]) and not _is_read(facts, name, call.function):
            statement = facts.statement_of(call)
            found.setdefault(statement, UnreadCopy(statement, copy, name, _subject(facts, copy)))
    return list(found.values())


def _bound_by(value: Value) -> str | None:
    """The one variable to which the statement of a value binds it."""
    line = value.statement
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
        return None
    small = line.body[0]
    if not isinstance(small, cst.Assign) or small.value is not value.syntax or len(small.targets) != 1:
        return None
    target = small.targets[0].target
    return target.value if isinstance(target, cst.Name) and target.value != "_" else None


def _subject(facts: Facts, copy: Value) -> str:
    return facts.shortly(copy.syntax.args[0].value) if isinstance(copy.syntax, cst.Call) else ""


def _is_read(facts: Facts, name: str, function: Function) -> bool:
    """Whether a variable stands anywhere in its function but where it is bound, or may be read by no name at all."""
    if any(call.callee.name in SEEING_ALL for call in facts.steps.calls_in(function)):
        return True
    named = [node for node in walk(function.syntax) if isinstance(node, cst.Name) and node.value == name]
    return any(not _is_binding(facts, node) for node in named)


def _is_binding(facts: Facts, name: cst.Name) -> bool:
    """Whether a name is bound where it stands, or is that of an attribute or of a keyword."""
    parent = facts.parents.get(name)
    if isinstance(parent, cst.Attribute):
        return parent.attr is name
    if isinstance(parent, cst.Arg):
        return parent.keyword is name
    return isinstance(parent, cst.AssignTarget)
