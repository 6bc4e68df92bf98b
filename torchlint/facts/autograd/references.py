"""Networks that another one is compared with, and that nobody trains: momentum encoders, targets, former models.

Which optimizer there is stands in another file. But whoever writes such a class has no use for the gradients of a
network whose parameters only follow those of another one, or of one that is put into evaluation mode and whose answers
are what those of another one ought to be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.autograd.forwarded import Forwarded
from torchlint.facts.autograd.optimized import Optimized
from torchlint.facts.autograd.trainees import Trainees
from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.extents import is_loss_function
from torchlint.facts.values.graph import Function, Mode, Op, Place, Value
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.parameters import SAME_OBJECT, is_frozen

if TYPE_CHECKING:
    from torchlint.facts import Facts

ASKED = frozenset(["parameters", "named_parameters", "state_dict"])
"""Methods of a module that give its parameters."""


COPYING = "copy.deepcopy"
"""What gives a network of its own that is like another one."""


@dataclass(frozen=True)
class ReferenceForward:
    """A forward of such a network with gradients on, of which a function returns something that is trained on.

    Attributes:
        call: the forward, or the call of a function that runs the network on what it is given.
        network: the network, as it is written there.
        compared: a loss of its answer and of that of another network, or the forward of the network that it follows.
        shown: what shows that nobody trains it: the change of its parameters, or the call of ``eval()``.
        follows: whether its parameters are only changed by those of another network, and it does not only rest.
        is_given: whether it is no copy that is made here: who gives it may have frozen it.
    """

    call: Value
    network: Value
    compared: Value
    shown: Value
    follows: bool
    is_given: bool


def reference_forwards(facts: Facts) -> list[ReferenceForward]:
    """Every such forward of a file; those of a training in the file are `untrained.py`'s."""
    return _Search(facts).found()


class _Search:
    """One file's search."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.solution = facts, facts.solution
        self._calls = [call for call in facts.calls() if call.statement is not None]
        self._found: dict[Value, ReferenceForward | None] = {}
        self._updates: dict[Place, Value | None] = {}

    def found(self) -> list[ReferenceForward]:
        return [found for call in self._calls if (found := self._of(call)) is not None]

    def _of(self, call: Value) -> ReferenceForward | None:
        if call not in self._found:
            self._found[call] = None  # a cycle gives itself no reason
            self._found[call] = self._compute(call)
        return self._found[call]

    def _compute(self, call: Value) -> ReferenceForward | None:
        facts, function = self.facts, call.function
        network = self._network(call)
        if network is None or function.result is None or facts.steps.trains(function):
            return None
        if not facts.flows.modes.records(call) or is_frozen(self.solution, network) or facts.flows.live(call) is None:
            return None
        if any(call in facts.flows.ancestry.of(backward.root) for backward in facts.graph.all_backwards()):
            return None
        places = _places(facts, network)
        if len(places) != 1 or any(map(self._wants_gradient, call.arguments)):
            return None
        return self._as_follower(call, network, places[0]) or self._as_resting(call, network, places[0])

    def _network(self, call: Value) -> Value | None:
        """The network that a CALL runs, be it handed to a function for many networks."""
        if self.facts.steps.calls_module(call):
            return called_object(call)
        handed = self._forwarded.by_helper(call)
        return handed.network if handed is not None else None

    def _wants_gradient(self, argument: Value) -> bool:
        """Whether an argument has a graph that does not begin with a reference: something is trained through it."""
        if self.facts.flows.live(argument) is None:
            return False
        return all(self._of(part) is None for part in argument.computed_from() if part.op is Op.CALL)

    # -- what only follows ----------------------------------------------------------------------------------------

    def _as_follower(self, call: Value, network: Value, place: Place) -> ReferenceForward | None:
        update = self._update(place)
        for other in self._calls if update is not None else ():
            if other.function is not call.function or self._follows(other):
                continue
            if any(self._is_of_both(result, call, other) for result in _results(call.function)):
                assert update is not None
                return ReferenceForward(call, network, other, update, follows=True, is_given=False)
        return None

    def _follows(self, call: Value) -> bool:
        """Whether a CALL is of no network, or of one that follows another one as well."""
        network = self._network(call)
        places = _places(self.facts, network) if network is not None else []
        return network is None or any(self._update(place) is not None for place in places)

    def _update(self, place: Place) -> Value | None:
        """What changes the parameters of a network by those of another one, without a graph; None for any other one."""
        if place not in self._updates:
            self._updates[place] = self._averaging(place) or self._loading(place)
        return self._updates[place]

    def _averaging(self, place: Place) -> Value | None:
        """``t.lerp_(s, 0.01)`` for the parameters of a copy and of another network."""
        for mine in self._asked if self._is_copy(place) else ():
            function = mine.function
            beside = [one for one in self._asked if one.function is function and one is not mine]
            if any(self._are_blended(place, mine, one) for one in beside):
                found = (by for by, changed in self._changes_in(function) if _is_one_of(changed, mine))
                if (update := next(found, None)) is not None:
                    return update
        return None

    def _are_blended(self, place: Place, mine: Value, other: Value) -> bool:
        """Whether the parameters of what a place holds are asked for beside those of another network.

        ``blend(source, target)``: what it is given in one call.
        """
        target, source = mine.inputs[0].unnarrowed(), other.inputs[0].unnarrowed()
        if target.op is not Op.PARAMETER or source.op is not Op.PARAMETER:
            return place in _places(self.facts, target) and place not in _places(self.facts, source)
        for given in self.solution.callers.get(mine.function, {}).values():
            pair = given.get(target), given.get(source)
            if pair[0] is not None and pair[1] is not None and place in _places(self.facts, pair[0]):
                return place not in _places(self.facts, pair[1])
        return False

    def _changes_in(self, function: Function) -> Iterator[tuple[Value, Value]]:
        """What changes tensors in a function without a graph, and what: ``t.lerp_(s, 0.01)``, ``t.data = ...``."""
        for call in self.facts.steps.calls_in(function):
            name = call.callee.name
            if call.callee.op is Op.ATTRIBUTE and name.endswith("_") and not name.endswith("__"):
                changed = call.callee.inputs[0]
                if call.mode is Mode.OFF or any(part.name == "data" for part in changed.computed_from()):
                    yield call, changed
        yield from ((given, taking) for taking, given in self.facts.graph.renumbered if given.function is function)

    def _loading(self, place: Place) -> Value | None:
        """``self.target.load_state_dict(self.online.state_dict())``, and not only where the object is made."""
        for call in self._calls:
            callee = call.callee
            if callee.op is not Op.ATTRIBUTE or callee.name != "load_state_dict" or call.function.name == "__init__":
                continue
            state = call.argument(0, "state_dict")
            asked = state.callee if state is not None and state.op is Op.CALL else None
            if asked is not None and asked.op is Op.ATTRIBUTE and asked.name == "state_dict":
                leaders = _places(self.facts, asked.inputs[0])
                if place in _places(self.facts, callee.inputs[0]) and leaders and place not in leaders:
                    return call
        return None

    @cached_property
    def _asked(self) -> list[Value]:
        asked = (value for value in self.facts.graph.of(Op.ATTRIBUTE) if value.name in ASKED)
        return [value for value in asked if value.function.name != "__init__"]

    def _is_of_both(self, result: Value, call: Value, other: Value) -> bool:
        """Whether one tensor is computed from both forwards, as a loss is, and not from one through the other."""
        ancestry = self.facts.flows.ancestry
        behind = ancestry.of(result)
        return call in behind and other in behind and not any(other in ancestry.of(one) for one in call.arguments)

    # -- what stays in evaluation mode ----------------------------------------------------------------------------

    def _as_resting(self, call: Value, network: Value, place: Place) -> ReferenceForward | None:
        if place not in self._evaluated or not self._trainees.is_evaluated(network):
            return None
        if self._optimized.is_trained(network):
            return None
        losses = (one for result in _results(call.function) for one in self._compared(result, call))
        compared = next(losses, None) or self._beside_original(call, place)
        if compared is None:
            return None
        shown, is_given = self._evaluated[place], not self._is_copy(place)
        return ReferenceForward(call, network, compared, shown, follows=False, is_given=is_given)

    def _beside_original(self, call: Value, place: Place) -> Value | None:
        """A forward of the network of which this one is a copy, in the same function, with a result of both."""
        copies = self.solution.stored.get(place, ()) if self._is_copy(place) else ()
        originals = {home for copy in copies if copy.name != "None" for home in self._originals(copy)}
        for other in self._calls if originals else ():
            if other.function is call.function and not originals.isdisjoint(_places(self.facts, called_object(other))):
                if any(self._is_of_both(result, call, other) for result in _results(call.function)):
                    return other
        return None

    def _originals(self, copy: Value) -> Iterator[Place]:
        """Where the network is that a copy is made of."""
        while copy.callee.name != COPYING:
            copy = copy.callee.inputs[0]
        original = copy.argument(0, "x")
        if original is not None:
            yield from _places(self.facts, original)
            yield from self._homes(original)

    def _compared(self, result: Value, call: Value) -> Iterator[Value]:
        """The losses that are computed from the answer as it ought to be, and from another one, behind a result."""
        behind = self.facts.flows.ancestry.of(result)
        if call not in behind:
            return
        for loss in self._losses:
            answer, target = loss.argument(0, "input"), loss.argument(1, "target")
            if loss in behind and answer is not None and target is not None and self._is_beside(answer, target, call):
                yield loss

    def _is_beside(self, answer: Value, target: Value, call: Value) -> bool:
        """Whether a target comes of a CALL, and the answer of another network than that runs."""
        ancestry, network = self.facts.flows.ancestry, self._network(call)
        before = ancestry.of(answer)
        if call in before or call not in ancestry.of(target) or surely_graphless(self.solution.final(answer)):
            return False
        others = (other for other in self._calls if other in before and self.facts.steps.calls_module(other))
        return network is not None and not any(
            self._optimized.overlap(network, called_object(other)) for other in others
        )

    @cached_property
    def _losses(self) -> list[Value]:
        return [call for call in self._calls if is_loss_function(call) or self.facts.extents.is_loss(call)]

    @cached_property
    def _evaluated(self) -> dict[Place, Value]:
        """What is put into evaluation mode, with the first call that does so."""
        switches = (call for call in self._calls if call.callee.op is Op.ATTRIBUTE and call.callee.name == "eval")
        found: dict[Place, Value] = {}
        for switch in switches:
            switched = switch.callee.inputs[0]
            for place in [*_places(self.facts, switched), *self._homes(switched), *self._homes(switch)]:
                found.setdefault(place, switch)
        return found

    def _homes(self, value: Value) -> list[Place]:
        """Where a value is put: ``self.teacher = teacher.eval()``."""
        return [place for place, stored in self.solution.stored.items() if value in stored]

    def _is_copy(self, place: Place) -> bool:
        """Whether a place holds copies of networks alone."""
        stored = [value for value in self.solution.stored.get(place, ()) if value.name != "None"]
        return bool(stored) and all(_is_copied(value) for value in stored)

    # -- what they are asked with ---------------------------------------------------------------------------------

    @cached_property
    def _forwarded(self) -> Forwarded:
        return Forwarded(self.facts)

    @cached_property
    def _optimized(self) -> Optimized:
        return Optimized(self.facts.flows)

    @cached_property
    def _trainees(self) -> Trainees:
        return Trainees(self.facts, self._optimized)


def _places(facts: Facts, network: Value) -> list[Place]:
    """The attributes, or variables that outlive a call, of which a network is one."""
    return [place for place in facts.solution.read_from(network) if not isinstance(place.owner, Value)]


def _is_copied(value: Value) -> bool:
    """``copy.deepcopy(model)``, or ``copy.deepcopy(model).eval()``"""
    if value.op is not Op.CALL or value.callee.name == COPYING:
        return value.op is Op.CALL
    return value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT and _is_copied(value.callee.inputs[0])


def _is_one_of(changed: Value, parameters: Value) -> bool:
    """Whether a tensor is one of some parameters: of those that a ``zip`` goes through beside others, by its place."""
    items = (item for part in changed.computed_from() if (item := unpacked(part)) is not part)
    return parameters in next(items, changed).computed_from()


def _results(function: Function) -> Iterator[Value]:
    """What a function returns, each item of a tuple or a dict by itself: of these a caller may detach one."""
    for result in function.result.inputs if function.result is not None else ():
        yield from result.inputs if result.op is Op.CONTAINER else (result,)
