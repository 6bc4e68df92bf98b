"""Models that are read from a container or an object and given up, while that has them still: ``net = nets[name]``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.keeping.unloaded import Holder
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

    def holder_of(self, drop: Drop) -> Holder | None:
        """The container, or the attribute, from which a variable got a model that its function only gives up.

        None where memory is not asked back at once, or where something takes the model from what holds it.
        """
        taken = drop.value.unnarrowed() if drop.value is not None else None
        if taken is None or not self._is_model(taken) or not self.asking.is_asked_after(drop):
            return None
        container = _read_from(taken)
        if container is None:
            return self._attribute_of(drop, taken)
        homes = homes_of(self.solution, container)
        made = allocations_of(self.solution, container)
        stays = container.op in (Op.READ, Op.ATTRIBUTE) or any(_is_made_before(one, drop.loop) for one in made)
        way = _way_to(taken)
        if not made or not stays or self._is_used(taken, homes) or self._lets_go(homes, way, drop):
            return None
        if way and self._may_let_go_unseen(drop.function):
            return None
        return Holder(text_of(container.syntax, container), "container", made[0])

    def _attribute_of(self, drop: Drop, taken: Value) -> Holder | None:
        """The attribute of its own object from which a method got the model: ``net = self.net``."""
        owner = drop.function.parameters[:1] if drop.function.owner is not None else []
        if taken.op is not Op.ATTRIBUTE or taken.inputs[0] not in owner or not self.solution.read_from(taken):
            return None
        if self._is_used(taken, homes_of(self.solution, taken)[1:]) or self._lets_go([], [taken], drop):
            return None
        if self._may_let_go_unseen(drop.function):
            return None
        return Holder(text_of(taken.syntax, taken), "itself", taken)

    def _is_model(self, value: Value) -> bool:
        return self.facts.tensors.is_module(value) or guards_itself(self.solution, value)

    def _is_used(self, taken: Value, homes: list[Place | Value]) -> bool:
        """Whether the function does more with what it takes from what has it: it may move it, or run it."""
        own = set(homes)
        for value in self.facts.graph.values:
            # What else an attribute of it is, its method or another part, is told by those who ask for that.
            is_other = value.op is Op.ATTRIBUTE and (taken.op is not Op.ATTRIBUTE or value.name != taken.name)
            if value.function is not taken.function or is_other:
                continue
            source = value if _read_from(taken) is None else _read_from(value)
            if source is None or not (value is taken or own & set(homes_of(self.solution, source))):
                continue
            if any(_uses(user, taken) for user in _users(value)):
                return True
        return False

    def _lets_go(self, homes: list[Place | Value], way: list[Value], drop: Drop) -> bool:
        """Whether something takes the model from what has it: the function, one that it calls or one that calls it.

        Args:
            homes: the container, if it is in one; ``nets[name] = None`` lets go as well.
            way: the attributes by which it is reached, of an item of that or by themselves.
            drop: where the variable is given up; what its function puts into the container may be in the model's place.
        """
        graph, own, function = self.facts.graph, set(homes), drop.function
        places = own | {place for attribute in way for place in self.solution.read_from(attribute)}
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
                is_replaced = store.value.name == "None" or store.function is function
                is_emptied = is_replaced and own & set(homes_of(self.solution, store.holder))
            else:
                is_emptied = places & set(targets_of(self.solution, store))
            if is_emptied:
                return True
        return any(d.function in near and (places if d.holder else own) & self._given_up(d) for d in graph.drops)

    def _may_let_go_unseen(self, function: Function) -> bool:
        """Whether a method asks its own object for something that no class here says: a base may set anything."""
        own = function.parameters[:1] if function.owner is not None else []
        return any(
            call.callee.op is Op.ATTRIBUTE and call.callee.inputs[0] in own and not self.solution.functions_of(call)
            for call in self.facts.steps.calls_in(function)
        )

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


def _uses(user: Value, taken: Value) -> bool:
    """Whether a user of what is taken, or of the object that has it, does more than to look at it or set it to rest."""
    if user.op is Op.ATTRIBUTE:
        is_data = taken.op is Op.ATTRIBUTE and not user.calls
        return user.name not in RESTING | VIEWS and not is_data
    if user.op is Op.CONTAINER:
        return not all(one.op is Op.ELEMENT for one in user.users)  # `for name, net in nets.items()` makes a pair
    return user.op not in (Op.PHI, Op.COMPARISON, Op.ELEMENT, Op.NARROWED)


def _way_to(taken: Value) -> list[Value]:
    """The attributes by which a model is reached from an item of a container: ``slots[name].model``."""
    way = []
    while taken.op is Op.ATTRIBUTE:
        way.append(taken)
        taken = taken.inputs[0].unnarrowed()
    return way


def _read_from(value: Value) -> Value | None:
    """The container from which a value is read: ``nets`` of ``nets[name]``, ``nets.get(name)``, ``for net in nets``.

    Or from an item of which it is read, as ``slots[name].net``.
    """
    way = _way_to(value)
    value = unpacked(way[-1].inputs[0].unnarrowed() if way else value)
    while value.op in (Op.SUBSCRIPT, Op.ELEMENT):
        value = unpacked(value.inputs[0])
        if value.op not in (Op.SUBSCRIPT, Op.ELEMENT, Op.CALL):
            return value
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in VIEWS:
        return value.callee.inputs[0]
    return None
