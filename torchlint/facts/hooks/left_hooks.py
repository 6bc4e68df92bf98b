"""Left hooks: a method takes off some of the hooks that its object has put on a module, and leaves out others.

``def close(self): self.after.remove()`` beside ``self.before``, which the object has put on the same layer: whoever
closes it is done with its hooks, and the other one stays with all that it holds.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.hooks.handles import removes
from torchlint.facts.values.domain import Container
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.overrides import has_unseen_base

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.hooks.registrations import Registration

BEGINNING = "__init__"


@dataclass(frozen=True)
class LeftHook:
    """A hook that stays where others of its object are taken off.

    Attributes:
        registration: what registers it.
        removed: one of those that are taken off.
        method: what takes that off.
    """

    registration: Registration
    removed: Registration
    method: Function


def left_hooks(facts: Facts) -> list[LeftHook]:
    """Every hook of an object of which no handle is left to anybody, though a method takes off others, each once."""
    by_class: dict[Class, list[Registration]] = defaultdict(list)
    for registration in facts.registrations:
        owner = registration.call.function.owner
        if owner is not None and registration.subject is not None and _runs(registration):
            by_class[owner].append(registration)
    several = [(owner, found) for owner, found in by_class.items() if len(found) > 1]
    if not several or facts.hook_lifetimes.handles.mentions_tables:
        return []
    return [left for owner, found in several for left in _of_object(facts, owner, found)]


def _runs(registration: Registration) -> bool:
    """Whether a hook runs with each forward or backward, and not only when weights are saved or loaded."""
    return "state_dict" not in registration.call.callee.name


def _of_object(facts: Facts, owner: Class, found: list[Registration]) -> Iterator[LeftHook]:
    handles = facts.hook_lifetimes.handles
    taken = [(one, read.function) for one in found for read in handles.removals(one.call)]
    taken = [(one, method) for one, method in taken if _takes_off(facts, owner, one, method)]
    for registration in found if taken else ():
        if not _is_left(facts, owner, registration):
            continue
        beside = ((one, method) for one, method in taken if _are_of_one_use(facts, owner, registration, one, method))
        first = next(beside, None)
        if first is not None:
            yield LeftHook(registration, *first)


def _takes_off(facts: Facts, owner: Class, registration: Registration, method: Function) -> bool:
    """Whether a method of the object, and none that puts hooks on, takes off a hook."""
    if method.owner is not owner or method.name == BEGINNING or not removes(method):
        return False
    return all(one.call.function is not method for one in facts.registrations)


def _is_left(facts: Facts, owner: Class, registration: Registration) -> bool:
    """Whether nobody takes the handle: it is dropped, or only the object has it, of which no other file asks for it."""
    call, handles = registration.call, facts.hook_lifetimes.handles
    if handles.is_left(call):
        return True
    if handles.lets_go(call) or has_unseen_base(owner):
        return False
    homes = {home for home, items in facts.solution.held.items() for _, item in items if item is call}
    places = [place for place, kept in facts.solution.stored.items() if not {call, *homes}.isdisjoint(kept)]
    return bool(places) and all(
        place.owner is owner.root() and not facts.others_mention(place.path) for place in places
    )


def _are_of_one_use(facts: Facts, owner: Class, left: Registration, taken: Registration, method: Function) -> bool:
    """Whether two hooks are put on the same module, which outlives the object, for as long as the object uses it.

    They are put on together; or ``method`` takes off all that the object has noted, and the other one is put on by a
    method of its own: what an ``__init__`` puts on by itself may be meant to stay.
    """
    given = _given(facts, owner, taken)
    others = _given(facts, owner, left)
    if not given or (given.isdisjoint(others) and not _is_own_whole(facts, owner, left)):
        return False
    if left.call.function is taken.call.function:
        return True
    is_noted = any(_is_noted(facts, taken, read) for read in facts.hook_lifetimes.handles.removals(taken.call))
    return is_noted and left.call.is_bare and left.call.function.name != BEGINNING


def _given(facts: Facts, owner: Class, registration: Registration) -> set[Value]:
    """What the object was given on which, or on a part of which, a hook is registered."""
    way = _way(facts, registration)
    kept = [one for value in way if value.op is Op.ATTRIBUTE for one in stored_at(facts.solution, value)]
    return {one for one in (*way, *kept) if one.op is Op.PARAMETER and _is_given(owner, one)}


def _is_given(owner: Class, parameter: Value) -> bool:
    return parameter.function.owner is owner and parameter in parameter.function.parameters[1:]


def _is_own_whole(facts: Facts, owner: Class, registration: Registration) -> bool:
    """Whether it is a part of the object itself, which has in it what it was given: ``self.parameters()``."""
    way = _way(facts, registration)
    is_part = any(value.op is Op.PARAMETER and value in value.function.parameters[:1] for value in way)
    return is_part and not any(value.op is Op.ATTRIBUTE for value in way)


def _way(facts: Facts, registration: Registration) -> list[Value]:
    subjects, subject = facts.hook_lifetimes.subjects, registration.subject
    way = list(subjects.way(subject, ())) if subject is not None else []
    return [*way, *(inner for value in way if value.op is Op.CALL for inner in subjects.inside(value))]


def _is_noted(facts: Facts, registration: Registration, read: Value) -> bool:
    """Whether ``handle.remove`` is read of all that a list has: ``self.handles.pop().remove()``."""
    atoms = (atom for one in read.inputs[0].computed_from() for atom in facts.solution.final(one))
    return any(isinstance(atom, Container) for atom in atoms)
