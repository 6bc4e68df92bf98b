"""What a method of a network that is not seen answers, where the file knows that another answer of it has a graph.

A backward runs over ``self.critic.value(state)`` in one place, and proves a graph; or it may do so, and in another
place the file reads the ``.data`` of such an answer, which nobody does who knows of no graph. The method records one
wherever gradients are on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.autograd.liveness import Liveness
from torchlint.facts.values.differentiation import heir
from torchlint.facts.values.domain import History, Tensor, Unknown, is_live
from torchlint.facts.values.graph import Mode, Op, Value
from torchlint.facts.values.kinds import PARTS
from torchlint.facts.values.network_methods import is_method_of_module
from torchlint.facts.values.origins import agreed
from torchlint.facts.values.parameters import all_same_objects
from torchlint.facts.values.solve import Solution

if TYPE_CHECKING:
    from torchlint.facts.autograd.flows import Flows


def answers_with_graph(flows: Flows) -> frozenset[Value]:
    """The answers of such methods of a file, or the parts of them, that have a graph where gradients are on."""
    solution = flows.solution
    calls = [call for call in solution.graph.of(Op.CALL) if call.arguments and is_method_of_module(solution, call)]
    answers = [answer for call in calls if call.mode is not Mode.OFF for answer in _answers(call)]
    asked = [answer for answer in answers if all(isinstance(atom, Unknown) for atom in solution.final(answer))]
    if not asked or len(answers) < 2:
        return frozenset()  # the most
    proven = [answer for answer in answers if any(map(is_live, solution.final(answer)))]
    if not proven and (flows.trained.isdisjoint(asked) or flows.detached.isdisjoint(asked)):
        return frozenset()
    is_alike = partial(_is_alike, flows, {one: _objects(solution, one) for one in answers})
    return frozenset(
        one
        for one in asked
        if any(is_alike(one, other) for other in proven)
        or (
            any(other in flows.trained and is_alike(one, other) for other in asked)
            and any(other in flows.detached and is_alike(one, other) for other in asked)
        )
    )


def graph_begun_at(answer: Value) -> Tensor:
    """The graph that such an answer has."""
    return Tensor(History.LIVE, answer, heir(answer))


def _answers(call: Value) -> Iterator[Value]:
    """What a CALL gives: the parts that are taken of it, or all of it."""
    parts = [user for user in call.users if user.op in PARTS and user.inputs[0] is call]
    yield from parts or [call]


def _call_of(answer: Value) -> Value:
    """The CALL that gives an answer, or the whole of which it is a part."""
    return answer.inputs[0] if answer.op in PARTS else answer


def _objects(solution: Solution, answer: Value) -> frozenset[Value]:
    """All that may be the network whose method gives an answer."""
    return frozenset(all_same_objects(solution, _call_of(answer).callee.inputs[0]))


def _is_alike(flows: Flows, objects: Mapping[Value, frozenset[Value]], one: Value, other: Value) -> bool:
    """Whether two answers are the same part of what one method of one network gives to the same question.

    What is given with a graph may be where the graph of the other answer comes from.
    """
    mine, others = _call_of(one), _call_of(other)
    if mine.callee.name != others.callee.name or mine.keys != others.keys or objects[one].isdisjoint(objects[other]):
        return False
    if (one is mine) != (other is others) or (one is not mine and one.keys != other.keys):
        return False
    given = list(zip(mine.arguments, others.arguments, strict=True))
    if any(_has_graph(flows, theirs) and not _has_graph(flows, own) for own, theirs in given):
        return False
    return all(agreed(flows.solution, own) == agreed(flows.solution, theirs) for own, theirs in given)


def _has_graph(flows: Flows, value: Value) -> bool:
    return Liveness.live(flows, value) is not None  # by what is known without these answers
