"""Who drops what a hook keeps, where no forward is seen that runs it: this file at some time, or another one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Class, Function, Op, Place, Value
from torchlint.facts.values.homes import homes_of
from torchlint.facts.values.library_calls import CONTAINER_READERS
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

_GIVING_ITEMS = CONTAINER_READERS | {"values", "items"}
"""Methods of a container that give one of its items, or all of them."""


def is_ever_dropped(facts: Facts, homes: Sequence[Place | Value]) -> bool:
    """Whether the file sets the holder anew anywhere but where it makes its owner, and anybody may ask for that.

    A parameter, ``def recorder(store)``, is only another name of what is passed for it.
    """
    lasting = [home for home in homes if not (isinstance(home, Place) and isinstance(home.owner, Function))]
    kept = lasting or list(homes)
    resetters = facts.lifetimes.resetters(kept) | _emptying_items(facts, kept)
    return any(_may_be_asked_for(facts, one) for one in resetters if one.name != "__init__")


def _may_be_asked_for(facts: Facts, resetter: Function) -> bool:
    """Whether anybody may call what empties a holder, be it not only where its hooks are taken off for good."""
    if resetter.name.startswith("__"):
        return True  # a statement calls `__exit__` or `__call__`, and does not mention it
    callers = {call.function for call in facts.solution.callers.get(resetter, ())}
    if _ends(facts, resetter):
        return bool(callers)
    is_for_end = all(_ends(facts, one) and not facts.solution.callers.get(one) for one in callers)
    return not (is_for_end and facts.others_never_mention(resetter.name))


def _ends(facts: Facts, method: Function) -> bool:
    """Whether a method takes the hooks of its object off, which other files make once, and train before that."""
    removals = (call for hook in facts.hooks.found for call in facts.hooks.removals(hook.registration))
    if method.owner is None or method.name.startswith("__") or all(call.function is not method for call in removals):
        return False
    is_once = facts.others_call_once(method.owner.name) and not facts.repeats(method.name)
    return is_once and facts.others_train_beside(method.owner.name, method.name)


def _emptying_items(facts: Facts, homes: Sequence[Place | Value]) -> set[Function]:
    """The functions that empty what a holder has in it: ``for rows in self.rows.values(): rows.clear()``."""
    emptied = ((reset.function, value) for reset in facts.graph.resets for value in reached([reset.holder], _around))
    return {function for function, value in emptied if not set(homes_of(facts.solution, value)[1:]).isdisjoint(homes)}


def _around(item: Value) -> Sequence[Value]:
    """What an item may be taken out of."""
    if item.op in (Op.ELEMENT, Op.SUBSCRIPT, Op.PHI):
        return item.inputs[: None if item.op is Op.PHI else 1]
    gives = item.op is Op.CALL and item.callee.op is Op.ATTRIBUTE and item.callee.name in _GIVING_ITEMS
    return item.callee.inputs[:1] if gives else ()


def is_for_others(facts: Facts, homes: Sequence[Place | Value]) -> bool:
    """Whether another file empties the attribute of an object in which a hook keeps, or trains through that."""
    names = {home.path for home in homes if isinstance(home, Place) and isinstance(home.owner, Class)}
    return any(facts.others_empty(name) or facts.others_train_through(name) for name in sorted(names))
