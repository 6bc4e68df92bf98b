"""Context managers that go on behind a block which fails: what they are told of the failure, and which blocks fail.

``__exit__`` is given the type, the exception and its traceback, and the failure is over where it returns something
true: https://docs.python.org/3/reference/datamodel.html#object.__exit__.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.entering import LEAVING
from torchlint.facts.turns.managed_blocks import entered_at, is_generated
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.literals import literal
from torchlint.facts.values.parameters import star_of
from torchlint.syntax.tree import walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts

WITH_FRAMES = (2, 3)
"""Which parameters of ``__exit__``, its object being the first, hold frames: the exception and the traceback."""


def told_by(facts: Facts, value: Value) -> cst.FunctionDef | None:
    """The ``__exit__`` that is told the exception, or the traceback, which a value is, and after which one goes on."""
    part = value.inputs[0] if value.op in (Op.ELEMENT, Op.SUBSCRIPT) else value
    function = part.function
    if part.op is not Op.PARAMETER or part not in function.parameters or not _ends_failures(facts, function):
        return None
    position = function.parameters.index(part)
    if star_of(part) == "*":  # `*error`, whole or by its parts
        key = value.keys[0] if value is not part else WITH_FRAMES[0] - position
        is_told = isinstance(key, int) and key + position in WITH_FRAMES
    else:
        is_told = value is part and position in WITH_FRAMES
    return function.syntax if is_told and isinstance(function.syntax, cst.FunctionDef) else None


def _ends_failures(facts: Facts, function: Function) -> bool:
    """Whether a function is an ``__exit__`` that may return something true."""
    if function.name != LEAVING or function.owner is None or function.result is None:
        return False
    return any(literal(facts.solution, one) not in (None, False, 0) for one in function.result.inputs)


def leavings(facts: Facts, handler: cst.ExceptHandler | cst.FunctionDef) -> list[Value]:
    """The CALLs by which blocks are left whose failures an ``__exit__`` is told; none for a handler."""
    functions = (one for one in facts.graph.functions if one.syntax is handler)
    calls = (call for function in functions for call in facts.solution.callers.get(function, ()))
    return [call for call in calls if isinstance(call.statement, cst.With) and call.syntax is None]


def tried_in(facts: Facts, handler: cst.ExceptHandler | cst.FunctionDef) -> Iterator[cst.CSTNode]:
    """What fails where a handler, or an ``__exit__``, is told of it.

    The body of a ``try``, and where a generator under ``@contextmanager`` yields in it, the blocks of its callers.
    """
    if isinstance(handler, cst.FunctionDef):
        yield from (call.statement.body for call in leavings(facts, handler) if isinstance(call.statement, cst.With))
        return
    node = facts.parents.get(handler)
    if not isinstance(node, cst.Try):
        return
    yield node.body
    if not any(isinstance(inner, cst.Yield) for inner in walk_scope(node.body)):
        return
    around = facts.parents.get(node)
    while around is not None and not isinstance(around, cst.FunctionDef):
        around = facts.parents.get(around)
    for function in facts.graph.functions:
        if function.syntax is around and is_generated(function):
            entered = (entered_at(facts, call) for call in facts.solution.callers.get(function, ()))
            yield from (block.body for block in entered if block is not None)
