"""Networks that follow another one, as a momentum encoder does: copies that only averages of its parameters change.

Which optimizer there is stands in another file, but whoever writes such a class has no use for gradients of the copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Mode, Op, Place, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.parameters import is_frozen

if TYPE_CHECKING:
    from torchlint.facts import Facts

ASKED = frozenset(["parameters", "named_parameters", "state_dict"])
"""Methods of a module that give its parameters."""


@dataclass(frozen=True)
class FollowerForward:
    """A forward of a follower with gradients on, of which a method returns something that is trained on.

    Attributes:
        call: the forward.
        leading: a forward, in the same method, of the network of which it runs a copy.
        update: what changes a parameter of the follower in place.
    """

    call: Value
    leading: Value
    update: Value


def follower_forwards(facts: Facts) -> list[FollowerForward]:
    """Every such forward of the methods of a file's modules; those of a training in the file are `untrained.py`'s."""
    calls = [call for call in facts.calls() if call.statement is not None and facts.steps.calls_module(call)]
    return [found for call in calls if (found := _of(facts, call, calls)) is not None]


def _of(facts: Facts, call: Value, calls: list[Value]) -> FollowerForward | None:
    function, follower = call.function, called_object(call)
    owner = function.owner
    if owner is None or not is_module_class(owner) or function.result is None or facts.steps.trains(function):
        return None
    if not facts.flows.modes.records(call) or is_frozen(facts.solution, follower) or facts.flows.live(call) is None:
        return None
    if any(call in facts.flows.ancestry.of(backward.root) for backward in facts.graph.all_backwards()):
        return None
    led = _places(facts, follower)
    leaders = [place for place in led for place in _copied(facts, place)] if len(led) == 1 else []
    for other in calls if leaders else ():
        leader = called_object(other)
        if other.function is function and not set(_places(facts, leader)).isdisjoint(leaders):
            update = _update(facts, owner.root(), led[0], leaders)
            if update is not None and any(_is_of_both(facts, result, call, other) for result in _results(function)):
                return FollowerForward(call, other, update)
    return None


def _places(facts: Facts, network: Value) -> list[Place]:
    """The attributes, or variables that outlive a call, of which a network is one."""
    return [place for place in facts.solution.read_from(network) if not isinstance(place.owner, Value)]


def _copied(facts: Facts, place: Place) -> Iterator[Place]:
    """The attributes whose content is copied into ``place``, if it holds such copies alone."""
    stored = facts.solution.stored.get(place, ())
    copies = [value for value in stored if value.op is Op.CALL and value.callee.name == "copy.deepcopy"]
    if not copies or len(copies) < len(stored):
        return
    for copy in copies:
        original = copy.argument(0, "x")
        if original is not None:
            yield from _places(facts, original)
            yield from (
                home for home, values in facts.solution.stored.items()
                if original in values or not set(stored_at(facts.solution, original)).isdisjoint(values)
            )  # fmt: skip


def _update(facts: Facts, owner: object, follower: Place, leaders: list[Place]) -> Value | None:
    """What changes parameters of the follower in place by those of its leader, in a method, where no graph is made."""
    asked = [v for v in facts.graph.of(Op.ATTRIBUTE) if v.name in ASKED and v.function.name != "__init__"]
    led = [v for v in asked if follower in _places(facts, v.inputs[0])]
    leading = {v.function for v in asked if not set(leaders).isdisjoint(_places(facts, v.inputs[0]))}
    for parameters in led:
        function = parameters.function
        if function in leading and function.owner is not None and function.owner.root() is owner:
            found = (call for call in facts.steps.calls_in(function) if _changes(call, parameters))
            if (update := next(found, None)) is not None:
                return update
    return None


def _changes(call: Value, parameters: Value) -> bool:
    """``t.lerp_(o, 0.01)``, ``t.data.mul_(0.99)`` of one of the parameters, with gradients off or by ``.data``."""
    if call.callee.op is not Op.ATTRIBUTE or not call.callee.name.endswith("_") or call.callee.name.endswith("__"):
        return False
    behind = list(call.callee.inputs[0].computed_from())
    return parameters in behind and (call.mode is Mode.OFF or any(part.name == "data" for part in behind))


def _results(function: Function) -> Iterator[Value]:
    """What a function returns, each item of a tuple or a dict by itself: of these a caller may detach one."""
    for result in function.result.inputs if function.result is not None else ():
        yield from result.inputs if result.op is Op.CONTAINER else (result,)


def _is_of_both(facts: Facts, result: Value, call: Value, other: Value) -> bool:
    """Whether one tensor is computed from the forwards of both, as a loss is."""
    behind = facts.flows.ancestry.of(result)
    return call in behind and other in behind
