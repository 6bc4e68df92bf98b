"""Managers that are made by what a program keeps: ``for make in self.around: stack.enter_context(make())``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.host.handed_functions import handed_at
from torchlint.facts.host.process import is_optional
from torchlint.facts.values.domain import ClassReference, Container, External
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.partials import called

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class KeptManager:
    """What makes a manager, where a variable is called for it.

    Attributes:
        name: the full dotted name of the function that is called.
        written: where the program says so: a partial of the function, the function itself, or the list of it.
        mode: its first argument, by the partial or by the call; None where neither gives one.
    """

    name: str
    written: Value
    mode: Value | None


def kept_managers(facts: Facts, call: Value, keyword: str) -> list[KeptManager]:
    """The imported functions that a CALL of a variable surely calls, each time its function runs.

    Args:
        facts: of the file.
        call: a CALL.
        keyword: how the first argument of the functions is called.

    Returns:
        nothing where another one may be called in its place, or a condition decides whether it is kept at all.
    """
    if call.callee.op not in (Op.ELEMENT, Op.SUBSCRIPT, Op.ATTRIBUTE, Op.READ, Op.PARAMETER):
        return []
    found: list[KeptManager] = []
    for bound in called(facts.solution, call):
        if isinstance(bound.atom, External):
            partial = bound.makers[0] if bound.makers else None
            written = partial or handed_at(facts, bound.atom.name)
            mode = call.argument(0, keyword) if partial is None else partial.argument(1, keyword)
            if written is not None and _is_surely_kept(facts, call, written):
                found.append(KeptManager(bound.atom.name, written, mode))
    return found


def _is_surely_kept(facts: Facts, call: Value, written: Value) -> bool:
    """Whether what is written is among what is called, whatever anybody asks for."""
    if is_optional(facts, written, None) or not _is_only_one(facts, call):
        return False
    cls = _class_around(facts, written)
    if cls is None:
        return True
    # A class has it for all of its objects; another class may have none.
    makers = [one for one in facts.calls() if cls in _classes(facts, one)]
    return bool(makers) and all(
        len(facts.solution.final(one.callee)) == 1 and not is_optional(facts, one, None) for one in makers
    )


def _is_only_one(facts: Facts, call: Value) -> bool:
    """Whether there is one list of what is called, beside an empty one of a base class; or nothing else is called."""
    if call.callee.op not in (Op.ELEMENT, Op.SUBSCRIPT):
        return len(facts.solution.final(call.callee)) == 1
    table = call.callee.inputs[0]
    lists = [atom.allocation for atom in facts.solution.final(table) if isinstance(atom, Container)]
    filled = [one for one in lists if facts.solution.held.get(one)]
    others = [one for one in lists if one not in filled and _class_around(facts, one) is None]
    return len(filled) == 1 and not others


def _class_around(facts: Facts, value: Value) -> cst.ClassDef | None:
    """The class in whose body, and in no function of it, something is written."""
    node = value.syntax
    while node is not None and not isinstance(node, cst.FunctionDef | cst.Lambda | cst.ClassDef):
        node = facts.parents.get(node)
    return node if isinstance(node, cst.ClassDef) else None


def _classes(facts: Facts, call: Value) -> list[cst.ClassDef]:
    """The classes of the file of which a CALL may make an object."""
    return [atom.cls.syntax for atom in facts.solution.final(call.callee) if isinstance(atom, ClassReference)]
