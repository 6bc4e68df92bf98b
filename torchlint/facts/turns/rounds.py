"""Rounds: what a method of an object collects until another method empties it.

Nobody is seen to call either, but that one of them empties what the other fills says that the first runs many times
before the second, and that both come again. What the first fills beside it, and nothing empties, only grows.
"""

from __future__ import annotations

from torchlint.facts.turns.lifetimes import Lifetimes
from torchlint.facts.values.graph import Function, Kind, Place, Store, Value
from torchlint.facts.values.homes import homes_of

BEGINNING = "__init__"


def is_left_over(lifetimes: Lifetimes, store: Store, homes: list[Place | Value]) -> bool:
    """Whether ``store`` adds to an attribute that nothing empties, beside one that is emptied each round.

    ``self.log_probs.append(p)`` and ``self.entropies.append(e)`` in one method, ``self.log_probs.clear()`` alone in
    another. ``homes`` is where the container is kept into which ``store`` puts something.
    """
    function, solution = store.function, lifetimes.solution
    if not _adds_to_its_object(store, homes) or solution.callers.get(function) or _is_emptied(lifetimes, homes):
        return False
    beside = (one for one in solution.graph.stores_in(function) if one is not store)
    kept = ((one, homes_of(solution, one.holder)) for one in beside if one.holder is not None)
    return any(_adds_to_its_object(one, at) and _empties_each_round(lifetimes, at, function) for one, at in kept)


def _adds_to_its_object(store: Store, homes: list[Place | Value]) -> bool:
    owner = store.function.owner
    if owner is None or store.function.name == BEGINNING or store.kind is not Kind.INSERT or store.is_item:
        return False
    return any(isinstance(home, Place) and home.owner is owner.root() for home in homes)


def _is_emptied(lifetimes: Lifetimes, homes: list[Place | Value]) -> bool:
    """Whether anything but the constructor sets a container anew, here or in another file."""
    if any(function.name != BEGINNING for function in lifetimes.resetters(homes)):
        return True
    return any(place in homes and name != BEGINNING for place, name in lifetimes.solution.graph.foreign.endings)


def _empties_each_round(lifetimes: Lifetimes, homes: list[Place | Value], filling: Function) -> bool:
    emptying = lifetimes.resetters(homes)
    return any(one is not filling and one.owner is not None and one.name != BEGINNING for one in emptying)
