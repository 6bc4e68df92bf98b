"""Models that are read from a container and given up, while the container has them still: ``net = nets[name]``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.values.framework_objects import guards_itself
from torchlint.facts.values.graph import Drop, Function, Kind, Loop, Op, Place, Value
from torchlint.facts.values.homes import allocations_of, homes_of, targets_of
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.writing import text_of

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.asking_back import AskingBack

VIEWS = frozenset(["values", "items", "get"])
"""Methods of a dictionary that give what is in it and leave it there."""

RESTING = frozenset(["eval", "requires_grad_", "train", "zero_grad"])
"""Methods of modules that leave them where they are."""


class TakenOut:
    """Says of what is given up whether a container has it."""

    def __init__(self, facts: Facts, asking: AskingBack) -> None:
        """Ask ``asking`` where memory is asked back."""
        self.facts, self.asking = facts, asking
        self.solution = facts.solution

    def container_of(self, drop: Drop) -> tuple[str, Value] | None:
        """The container from which a variable got a model that its function only gives up: as written, and as made.

        None where memory is not asked back at once, or where something takes the model out of the container.
        """
        taken = drop.value.unnarrowed() if drop.value is not None else None
        holder = _read_from(taken) if taken is not None else None
        if taken is None or holder is None or not self._is_model(taken) or not self.asking.is_asked_after(drop):
            return None
        homes = homes_of(self.solution, holder)
        made = allocations_of(self.solution, holder)
        stays = holder.op in (Op.READ, Op.ATTRIBUTE) or any(_is_made_before(one, drop.loop) for one in made)
        if not made or not stays or self._is_used(taken, holder) or self._lets_go(homes, drop.function):
            return None
        return text_of(holder.syntax, holder), made[0]

    def _is_model(self, value: Value) -> bool:
        return self.facts.tensors.is_module(value) or guards_itself(self.solution, value)

    def _is_used(self, taken: Value, holder: Value) -> bool:
        """Whether the function does more with what it takes out of a container: it may move it, or run it."""
        homes = set(homes_of(self.solution, holder))
        for value in self.facts.graph.values:
            if value.function is not taken.function:
                continue
            source = _read_from(value)
            if source is None or not (value is taken or homes & set(homes_of(self.solution, source))):
                continue
            if any(map(_uses, _users(value))):
                return True
        return False

    def _lets_go(self, homes: list[Place | Value], function: Function) -> bool:
        """Whether a function, one that it calls or one that calls it takes something out of a container, or drops it.

        ``nets[name] = None`` does so as well.
        """
        graph, own = self.facts.graph, set(homes)
        near = {function, *(call.function for call in self.solution.callers.get(function, ()))}
        calls = [call for one in near for call in self.facts.steps.calls_in(one)]
        near |= {callee for call in calls for callee in self.solution.functions_of(call) if callee.name != "__init__"}
        for reset in graph.resets:
            if reset.function in near and own & set(homes_of(self.solution, reset.holder)):
                return True
        for store in graph.stores:
            if store.function not in near or store.holder is None:
                continue
            if store.kind is Kind.INSERT:
                is_emptied = store.value.name == "None" and own & set(homes_of(self.solution, store.holder))
            else:
                is_emptied = own & set(targets_of(self.solution, store))
            if is_emptied:
                return True
        return any(other.function in near and own & self._given_up(other) for other in graph.drops)

    def _given_up(self, drop: Drop) -> set[Place | Value]:
        """The variable or the attribute that gives something up, and what a variable held."""
        if drop.holder is not None:
            return {*self.solution.places(drop.holder, drop.attribute)}
        return {*homes_of(self.solution, drop.value)} if drop.value is not None else set()


def _is_made_before(made: Value, loop: Loop | None) -> bool:
    """Whether a container is made outside of a loop that goes on."""
    return loop is not None and (made.loop is None or loop not in made.loop.around())


def _users(value: Value) -> Iterator[Value]:
    """What is done with a value, or with what a branch or a test makes of it."""
    return reached(value.users, lambda user: user.users if user.op in (Op.PHI, Op.NARROWED) else ())


def _uses(user: Value) -> bool:
    """Whether a user of a model does more than to look at it, or to set it to rest."""
    if user.op is Op.ATTRIBUTE:
        return user.name not in RESTING | VIEWS
    if user.op is Op.CONTAINER:
        return not all(one.op is Op.ELEMENT for one in user.users)  # `for name, net in nets.items()` makes a pair
    return user.op not in (Op.PHI, Op.COMPARISON, Op.ELEMENT, Op.NARROWED)


def _read_from(value: Value) -> Value | None:
    """The container from which a value is read: ``nets`` of ``nets[name]``, ``nets.get(name)``, ``for net in nets``."""
    value = unpacked(value)
    while value.op in (Op.SUBSCRIPT, Op.ELEMENT):
        value = unpacked(value.inputs[0])
        if value.op not in (Op.SUBSCRIPT, Op.ELEMENT, Op.CALL):
            return value
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in VIEWS:
        return value.callee.inputs[0]
    return None
