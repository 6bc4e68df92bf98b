"""What else a function computes beside forwards whose graph nobody uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from torchlint.facts.autograd.detached_answers import is_called_as_network
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.steps import Steps, called_object
from torchlint.facts.values.domain import PLAIN, SYMBOLIC, Argument, Derived, surely_graphless
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.parameters import all_same_objects
from torchlint.facts.values.tensors import is_declared_plain


@dataclass(frozen=True)
class Beside:
    """The graphs of a function that are not those of the forwards which it runs for nothing.

    Attributes:
        trains: True when one of them reaches a backward: the function may not run without gradients as a whole.
        leaves: True when anything with a graph leaves the function.
        gives: True when nothing says of what leaves that it has a graph, but the answer of a network goes into that.
        answers: True when the answer of another network, or of something that may be one, goes into what leaves.
        hands_on: True when what leaves is computed from what the function was given, which may have a graph; what the
            forwards are asked is data.
    """

    trains: bool
    leaves: bool
    gives: bool
    answers: bool
    hands_on: bool


def beside(
    flows: Flows, steps: Steps, function: Function, forwards: Collection[Value], *, are_answers: bool = False
) -> Beside:
    """Say what becomes of all graphs of ``function`` but those of ``forwards``.

    ``are_answers``: whether only a ``.detach()`` tells that these are forwards; then all that is called may be one.
    """
    others = [call for call in steps.calls_in(function) if call not in forwards and flows.modes.records(call)]
    trained = any(call in flows.trained and flows.live_parts(call) for call in others)
    results = _results(flows, function)
    leaves = trained or any(map(flows.carries, results))
    gives = not leaves and any(
        steps.calls_module(call) and call in flows.escaped and flows.live_parts(call) for call in others
    )
    given = flows.ancestry.of_all(results)
    answers = any(call in given and _is_beside(flows, steps, call, forwards, are_answers) for call in others)
    asked = flows.ancestry.of_all(argument for forward in forwards for argument in forward.arguments)
    parameters = {atom.parameter for one in results for atom in _symbolic(flows, one)}
    if all(map(_is_of_own_network, forwards)):
        # A loss object keeps a network in evaluation mode, and compares with its answer what it is given.
        parameters.update(given.intersection(function.parameters[function.owner is not None :]))
    hands_on = any(_may_have_graph(flows, parameter) for parameter in parameters.difference(asked))
    return Beside(trained, leaves, gives, answers, hands_on)


def _is_beside(flows: Flows, steps: Steps, call: Value, forwards: Collection[Value], are_answers: bool) -> bool:
    """Whether a network, or what may be one, answers beside the ``forwards``: a student, with its loss.

    A loss of what they give has no other graph than theirs, and features that go into them are theirs as well.
    """
    is_known = steps.calls_module(call) and bool(flows.live_parts(call))
    may_be_one = is_known or (
        flows.is_unknown_call(call) and (are_answers or is_called_as_network(call)) and _is_given_tensors(flows, call)
    )
    if not may_be_one or not flows.ancestry.of(call).isdisjoint(forwards):
        return False
    asked = {one for forward in forwards for one in all_same_objects(flows.solution, called_object(forward))}
    if not asked.isdisjoint(all_same_objects(flows.solution, called_object(call))):
        return False  # the same network
    return not any(call in flows.ancestry.of(forward) for forward in forwards)


def _is_given_tensors(flows: Flows, call: Value) -> bool:
    """Whether a CALL may be given tensors, and not arrays, texts and numbers alone: ``Image.fromarray(pixels)``."""
    return not call.arguments or any(not flows.solution.final(one) <= PLAIN for one in call.arguments)


def _is_of_own_network(forward: Value) -> bool:
    """``self.reference(x)``, where the function itself has not put it into evaluation mode."""
    return forward.callee.op is Op.ATTRIBUTE and is_called_as_network(forward) and not forward.evaluating


def _symbolic(flows: Flows, value: Value) -> Iterator[Argument | Derived]:
    return (atom for atom in flows.solution.final(value) if isinstance(atom, SYMBOLIC))


def _may_have_graph(flows: Flows, parameter: Value) -> bool:
    """Whether nothing says of what a function is given that it has no graph."""
    given = flows.solution.arguments_of(parameter)
    has_none = bool(given) and all(surely_graphless(flows.solution.final(one)) for one in given)
    return not has_none and not is_declared_plain(parameter)


def _results(flows: Flows, function: Function) -> list[Value]:
    """What a function returns, and what it puts where others find it."""
    stores = flows.solution.graph.stores_in(function)
    kept = [store.value for store in stores if store.attribute or store.place is not None]
    return kept if function.result is None else [*kept, function.result]
