"""Parameters that a loop deletes one by one: ``for weight in net.parameters(): del weight``.

The loop's variable is all that goes; the module has each of them still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.asking_back import AskingBack
from torchlint.facts.keeping.unloaded import Holder
from torchlint.facts.values.graph import Drop, Loop, Op, Value
from torchlint.facts.values.parameter_lists import lists_parameters
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts

COPIES = frozenset(["builtins.list", "builtins.tuple", "builtins.iter", "builtins.reversed"])
"""What gives the same items."""


def module_of(facts: Facts, asking: AskingBack, drop: Drop) -> Holder | None:
    """The module that has what a loop over its parameters deletes, and does nothing else with.

    None where no memory is asked back behind it, or the function gives up the module by its name as well.
    """
    item, listed = drop.value, drop.loop.iterable if drop.loop is not None else None
    if item is None or drop.loop is None or listed is None or item.op is not Op.ELEMENT or item.loop is not drop.loop:
        return None
    if not _only_deletes(drop.loop) or not asking.is_asked_after(drop):
        return None
    while listed.op is Op.CALL and listed.callee.name in COPIES and listed.arguments:
        listed = listed.arguments[0]
    if not lists_parameters(listed):
        return None
    module, method = listed.callee.inputs[0], listed.callee.syntax
    name = dotted(method.value) if isinstance(method, cst.Attribute) else None
    return Holder(name, "lists", module) if name and not _is_given_up(facts, module, name, drop) else None


def _only_deletes(loop: Loop) -> bool:
    body = loop.syntax.body if isinstance(loop.syntax, cst.For) else None
    lines = body.body if isinstance(body, cst.IndentedBlock) else [body] if body is not None else []
    suites = cst.SimpleStatementLine | cst.SimpleStatementSuite
    return all(isinstance(line, suites) and all(isinstance(one, cst.Del) for one in line.body) for line in lines)


def _is_given_up(facts: Facts, module: Value, name: str, drop: Drop) -> bool:
    others = (one for one in facts.graph.drops if one.function is drop.function and one is not drop)
    return any(one.path == name or one.value is module for one in others)
