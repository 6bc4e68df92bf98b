"""Whether a variable is read behind the statement at which something else is given up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.choices import joined_into
from torchlint.facts.values.domain import Container, Plain
from torchlint.facts.values.graph import Drop, Function, Op, Value
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

DEPTH = 2
"""How deep lists of numbers may be in each other."""


def is_read_after(facts: Facts, name: str, value: Value, drop: Drop) -> bool:
    """Whether a line behind a statement reads what ``name`` held there."""
    return is_written_after(name, drop) and not _is_bound_anew(facts, name, value, drop)


def is_written_after(name: str, drop: Drop) -> bool:
    """Whether the name of a variable is read behind a statement of its function, whatever it stands for by then."""
    behind, skipped = False, set[cst.CSTNode]()
    for node in walk(drop.function.syntax):
        if node is drop.statement:
            behind = True
            skipped.update(walk(node))
        elif isinstance(node, cst.AssignTarget) and isinstance(node.target, cst.Name):
            skipped.add(node.target)
        elif isinstance(node, cst.Attribute):
            skipped.add(node.attr)
        elif isinstance(node, cst.Arg) and node.keyword is not None:
            skipped.add(node.keyword)
        elif behind and isinstance(node, cst.Name) and node.value == name and node not in skipped:
            return True
    return False


def _is_bound_anew(facts: Facts, name: str, value: Value, drop: Drop) -> bool:
    """Whether each line behind a statement that reads a local variable reads what it was bound to since then.

    Or no more of it than numbers: ``extractor.seen``, ``trainer.losses``.
    """
    if drop.function is facts.graph.module or _is_captured(name, drop.function):
        return False
    joined = frozenset(joined_into(value))
    for user in (user for one in joined for user in one.users if user.op is not Op.PHI):
        # What was read of it before may be used again: `extractor.features` is the same method each time.
        is_behind = user.index >= drop.index or any(use.index >= drop.index for use in _used_by(user))
        if _is_kept_in(user, drop) or (is_behind and not _is_number_of(facts, user)):
            return False
    if drop.function.result in joined:
        return False
    return not any(store.value in joined and (store.place or store.holder) for store in facts.graph.stores)


def _is_kept_in(user: Value, drop: Drop) -> bool:
    """Whether a value is a list or the like that stays: not what is given up, nor the pair of ``a, b = f(), g()``."""
    if user.op is not Op.CONTAINER or user is drop.value:
        return False
    return bool(user.users) or user in drop.bound.values()


def _is_captured(name: str, function: Function) -> bool:
    """Whether a function that is defined in another one has the name."""
    inner = (node for node in walk(function.syntax) if isinstance(node, cst.FunctionDef | cst.Lambda))
    return any(
        isinstance(n, cst.Name) and n.value == name for one in inner if one is not function.syntax for n in walk(one)
    )


def _used_by(user: Value) -> list[Value]:
    return user.users if user.op is Op.ATTRIBUTE else []


def _is_number_of(facts: Facts, user: Value) -> bool:
    """Whether an attribute is read that is a number, a text, nothing, or a list of those."""
    return user.op is Op.ATTRIBUTE and not user.calls and _is_plain(facts, user, DEPTH)


def _is_plain(facts: Facts, value: Value, depth: int) -> bool:
    """Whether a value is nothing but numbers and texts."""
    for atom in facts.solution.final(value):
        if isinstance(atom, Container) and depth:
            items = [item for _, item in facts.solution.held.get(atom.allocation, ())]
            fields = facts.solution.fields.get(atom.allocation, {}).values()
            are_plain = all(isinstance(one, Plain) for field in fields for one in field)
            if not are_plain or not all(_is_plain(facts, item, depth - 1) for item in items):
                return False
        elif not isinstance(atom, Plain):
            return False
    return True
