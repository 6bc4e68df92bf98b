"""How guards that guard nothing are repaired; never safely, since what follows really runs without gradients then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.guards.guarding import Idle, IdleGuard, statements_after, suspends
from torchlint.fix.edits import replace
from torchlint.rule import Edit, Fix
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts


def start_guarding(facts: Facts, guard: IdleGuard) -> Fix | None:
    """The repair of an idle guard: the call that is missing, or a ``with`` over the rest of its block."""
    if guard.kind is Idle.UNCALLED:
        return Fix(f"Call `{guard.written}`", (replace(guard.expression, _called),), safe=False)
    if guard.kind is not Idle.STATEMENT or facts.steps.trains(guard.function):
        return None
    rest = [node for statement in statements_after(facts, guard.node) for node in walk(statement)]
    waits = any(isinstance(node, cst.Yield) or suspends(node) for node in rest)
    edit = _with_over_the_rest(facts, guard)
    if edit is None or waits or not any(isinstance(node, cst.Call) for node in rest):
        return None
    return Fix(f"Put the rest of the block under `with {guard.written}:`", (edit,), safe=False)


def _called(node: cst.CSTNode) -> cst.Call:
    assert isinstance(node, cst.BaseExpression)
    return cst.Call(node)


def _with_over_the_rest(facts: Facts, guard: IdleGuard) -> Edit | None:
    """The statement becomes the head of a block of all that follows; comments stay where they are."""
    block, line, entered = facts.parents[guard.node], guard.node, guard.expression
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return None
    if not isinstance(block, cst.IndentedBlock):
        return None  # a whole script, with the functions that it defines, does not belong into a block
    position = [child is line for child in block.body].index(True)

    def build(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.IndentedBlock)
        body = cst.IndentedBlock(list(node.body[position + 1 :]), line.trailing_whitespace, node.indent)
        item = cst.WithItem(entered if isinstance(entered, cst.Call) else _called(entered))
        head = cst.With([item], body, leading_lines=line.leading_lines)
        return node.with_changes(body=[*node.body[:position], head])

    return replace(block, build)
