"""The blocks that run under what a context manager has open: its own, and those of callers for whom it yields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.guards import ENTERING
from torchlint.facts.building.own_guards import is_manager
from torchlint.facts.turns.loop_lengths import is_entered_by_stack
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.syntax.tree import dotted, walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts

HOPS = 3
"""How many managers around each other are looked through."""


@dataclass(frozen=True)
class Block:
    """A block that runs while something is open.

    Attributes:
        entering: the CALL by which its function has that opened: one that makes a manager, or of its ``__enter__``.
        syntax: the ``with``.
    """

    entering: Value
    syntax: cst.With


def entered_at(facts: Facts, call: Value) -> cst.With | None:
    """The ``with`` by which a CALL of what makes a manager is entered, or the one of the stack that enters it."""
    if call.op is Op.CALL and call.syntax is None and call.callee.name == ENTERING:
        return call.statement if isinstance(call.statement, cst.With) else None
    item = facts.parents.get(call.syntax) if call.syntax is not None else None
    if isinstance(item, cst.WithItem):
        block = facts.parents.get(item)
        return block if isinstance(block, cst.With) else None
    return _of_stack(facts, call) if is_entered_by_stack(facts, call) else None


def _of_stack(facts: Facts, call: Value) -> cst.With | None:
    """``with ExitStack() as stack: stack.enter_context(call)``; None where the stack is not opened around it."""
    argument = facts.parents.get(call.syntax) if call.syntax is not None else None
    outer = facts.parents.get(argument) if argument is not None else None
    stack = dotted(outer.func.value) if isinstance(outer, cst.Call) and isinstance(outer.func, cst.Attribute) else None
    node = outer
    while stack is not None and node is not None and node is not call.function.syntax:
        if isinstance(node, cst.With):
            names = (dotted(item.asname.name) for item in node.items if item.asname is not None)
            if stack in names:
                return node
        node = facts.parents.get(node)
    return None


def is_lent(facts: Facts, call: Value) -> bool:
    """Whether what a CALL makes is open where its function yields: ``with call: yield`` under ``@contextmanager``."""
    block = entered_at(facts, call)
    return block is not None and is_generated(call.function) and _yields(block.body)


def is_generated(function: Function) -> bool:
    """Whether a function is a generator that ``@contextmanager`` makes a manager of."""
    return any(map(is_manager, function.decorators))


def lent_blocks(facts: Facts, call: Value) -> Iterator[Block]:
    """The blocks of callers that run under what a CALL opens, in a manager of the file that is entered for them.

    A generator under ``@contextmanager`` opens it where it yields in the block, or does so behind a call that switches
    something; an object has it open behind its ``__enter__``.
    """
    block = entered_at(facts, call)
    if block is not None or not is_generated(call.function) or _is_before_yield(call):
        yield from blocks_for(facts, call.function, block)


def blocks_for(facts: Facts, function: Function, block: cst.With | None) -> Iterator[Block]:
    """The blocks of callers that run while a block of ``function`` does, which is a manager; None for all it is open.

    A block in which another manager yields stands for those of its callers as well.
    """
    pending: list[tuple[Function, cst.With | None]] = [(function, block)]
    for _ in range(HOPS):
        calls = [call for inner, at in pending if _is_open(inner, at) for call in facts.solution.callers.get(inner, ())]
        entered = [(call, entered_at(facts, call)) for call in calls if not _is_one_of_several(facts, call)]
        found = [Block(call, syntax) for call, syntax in entered if syntax is not None]
        yield from found
        pending = [(one.entering.function, one.syntax) for one in found]


def _is_one_of_several(facts: Facts, call: Value) -> bool:
    """Whether a CALL enters, or makes, one manager or another one: ``with Checked() if wanted else nullcontext():``."""
    chosen = call.callee.inputs[0] if call.callee.name == ENTERING and call.callee.inputs else call.callee
    return len(facts.solution.final(chosen)) != 1


def _is_open(function: Function, block: cst.With | None) -> bool:
    if function.name == ENTERING and function.owner is not None:
        return block is None  # what a block of the method enters, it leaves
    return is_generated(function) and (block is None or _yields(block.body))


def entered_by_hand(facts: Facts, made: Value) -> Value | None:
    """The CALL ``manager.__enter__()`` of what a CALL makes; None where there is none, or several."""
    found = [call for call in facts.calls() if call.callee.name == ENTERING and _is_of(facts, call, made)]
    return found[0] if len(found) == 1 and found[0].syntax is not None else None


def _is_of(facts: Facts, call: Value, made: Value) -> bool:
    receiver = call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else None
    if receiver is None or receiver is made:
        return receiver is made
    return any(made in facts.solution.stored.get(place, ()) for place in facts.solution.read_from(receiver))


def _yields(body: cst.CSTNode) -> bool:
    return any(isinstance(node, cst.Yield) for node in walk_scope(body))


def _is_before_yield(call: Value) -> bool:
    """Whether a call stands before the first ``yield`` of its function."""
    nodes = walk_scope(call.function.syntax)
    return next((node for node in nodes if node is call.syntax or isinstance(node, cst.Yield)), None) is call.syntax
