"""Functions of two phases, called for the one that does not train: ``def run_epoch(model, loader, optimizer=None)``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from torchlint.facts.autograd.decided import is_decided
from torchlint.facts.building.names import bound_targets, constant_of
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.syntax.conditions import leaves
from torchlint.syntax.tree import nodes_of, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

Given: TypeAlias = "dict[str, str | int | bool | None]"
"""What the names of a function stand for in one call, as far as that is written in the program."""

CONSTANTS: Given = {"None": None, "True": True, "False": False}


@dataclass(frozen=True)
class IdlePhase:
    """Forwards that record a graph for calls of their function in which no backward can follow.

    Attributes:
        forwards: the forwards, in source order.
        calls: the calls, in source order.
        backward: the statement that does not run in them.
    """

    forwards: tuple[Value, ...]
    calls: tuple[Value, ...]
    backward: cst.CSTNode


def idle_phases(facts: Facts) -> list[IdlePhase]:
    """Every function that trains under a condition which some of its calls rule out, where nothing guards these."""
    return [phase for function in facts.graph.functions if (phase := _of(facts, function)) is not None]


def _of(facts: Facts, function: Function) -> IdlePhase | None:
    if function.parent is None or function in facts.inferences.found or not facts.steps.trains(function):
        return None
    forwards = tuple(call for call in facts.steps.calls_in(function) if _records(facts, call))
    statements = list(_training(facts, function)) if forwards else []
    if not statements:
        return None
    calls = [call for call in facts.solution.callers_in_file(function) if facts.modes.records(call)]
    idle = [
        call
        for call in calls
        if not is_decided(facts.solution, call)
        and call not in facts.flows.trained and call not in facts.flows.inspected
        and _rules_out(facts, function, call, statements)
    ]  # fmt: skip
    within = [f for f in forwards if not idle or not _is_ruled_out(facts, function, idle[0], f.statement)]
    return IdlePhase(tuple(within), tuple(idle), statements[0]) if idle and within else None


def _records(facts: Facts, call: Value) -> bool:
    """Whether a CALL is a forward that records a graph whenever its function is entered with gradients on."""
    if call.mode is not Mode.INHERITED or call.statement is None or is_decided(facts.solution, call):
        return False
    return facts.steps.is_forward(call) and call not in facts.flows.inspected


def _training(facts: Facts, function: Function) -> Iterator[cst.CSTNode]:
    """The statements of a function, and of those in it, in which something is trained."""
    inside = {function, *(f for f in facts.graph.functions if f.parent is function)}
    for backward in facts.graph.all_backwards():
        if backward.function in inside:
            yield backward.statement
    for one in inside:
        for call in facts.steps.calls_in(one):
            if any(f not in inside and facts.steps.trains(f) for f in facts.solution.functions_of(call)):
                yield facts.statement_of(call)


# -- what a call rules out ----------------------------------------------------------------------------------------


def _rules_out(facts: Facts, function: Function, call: Value, statements: list[cst.CSTNode]) -> bool:
    return all(_is_ruled_out(facts, function, call, statement) for statement in statements)


def _is_ruled_out(facts: Facts, function: Function, call: Value, statement: cst.CSTNode | None) -> bool:
    """Whether a statement of ``function`` does not run when it is called like this."""
    given = _given(facts, function, call)
    node, parents = statement, facts.parents
    while node is not None and node is not function.syntax and node in parents:
        above = parents[node]
        if isinstance(above, cst.If):
            test = _truth(above.test, given)
            if (node is above.body and test is False) or (node is above.orelse and test is True):
                return True
        elif isinstance(above, cst.IndentedBlock):
            before = above.body[: above.body.index(node)] if node in above.body else ()
            if any(_leaves(earlier, given) for earlier in before):
                return True
        node = above
    return False


def _leaves(statement: cst.CSTNode, given: Given) -> bool:
    """``if not training: return loss``"""
    if not isinstance(statement, cst.If) or _truth(statement.test, given) is not True:
        return False
    return leaves(statement.body)


def _given(facts: Facts, function: Function, call: Value) -> Given:
    """What the parameters are in a call, and the variables that are computed from them, where that is told."""
    binding = facts.solution.callers[function][call]
    is_starred = call.op is not Op.CALL or None in call.keys[1:]
    assigned = list(_assigned(function.syntax))
    names = [name for name, _ in assigned]
    known: Given = {}
    for parameter, argument in binding.items():
        source = argument or (parameter.inputs[0] if parameter.inputs and not is_starred else None)
        if source is None or source.op is not Op.CONSTANT or parameter.name in names:
            continue
        _add(known, parameter.name, source.syntax, {})
        if source.name in CONSTANTS:
            known[parameter.name] = CONSTANTS[source.name]
    for name, value in assigned:
        if names.count(name) == 1 and name not in {p.name for p in function.parameters}:
            _add(known, name, value, known)
    return known


def _add(known: Given, name: str, node: cst.CSTNode | None, given: Given) -> None:
    if isinstance(node, cst.BaseExpression):
        found = _evaluated(node, given)
        if found is not UNTOLD:
            known[name] = found  # type: ignore[assignment]


def _assigned(node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode | None]]:
    """Every name that a function binds, with what it is bound to where that is one expression."""
    for inner in walk(node):
        if type(inner) is cst.Assign:
            for target in inner.targets:
                if isinstance(target.target, cst.Name):
                    yield target.target.value, inner.value
                else:
                    yield from ((name.value, None) for name in nodes_of(cst.Name, target.target))
        elif type(inner) is not cst.Call:
            yield from ((name.value, None) for bound in bound_targets(inner) for name in nodes_of(cst.Name, bound))


# -- conditions ---------------------------------------------------------------------------------------------------

UNTOLD = object()


def _truth(node: cst.BaseExpression, given: Given) -> bool | None:
    """Whether a condition holds; None where that cannot be told."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        inner = _truth(node.expression, given)
        return None if inner is None else not inner
    if isinstance(node, cst.BooleanOperation):
        sides = (_truth(node.left, given), _truth(node.right, given))
        decisive = isinstance(node.operator, cst.Or)
        if decisive in sides:
            return decisive
        return None if None in sides else not decisive
    found = _evaluated(node, given)
    return None if found is UNTOLD else bool(found)


def _evaluated(node: cst.BaseExpression, given: Given) -> object:
    """The value of an expression of constants and known names; UNTOLD for the rest."""
    if isinstance(node, cst.Name):
        return CONSTANTS[node.value] if node.value in CONSTANTS else given.get(node.value, UNTOLD)
    if isinstance(node, cst.Comparison) and len(node.comparisons) == 1:
        return _compared(node, given)
    if isinstance(node, cst.BooleanOperation) or (
        isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not)
    ):
        truth = _truth(node, given)
        return UNTOLD if truth is None else truth
    found = constant_of(node)
    return UNTOLD if found is None else found


def _compared(node: cst.Comparison, given: Given) -> object:
    left = _evaluated(node.left, given)
    right = _evaluated(node.comparisons[0].comparator, given)
    if left is UNTOLD or right is UNTOLD:
        return UNTOLD
    operator = node.comparisons[0].operator
    if isinstance(operator, cst.Is | cst.Equal):
        return left == right
    return left != right if isinstance(operator, cst.IsNot | cst.NotEqual) else UNTOLD
