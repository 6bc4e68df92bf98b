"""Forgotten lists: a method empties one of the lists that the hooks of an object fill, and leaves out another.

``def reset(self): self.outputs = []`` beside hooks that fill ``self.outputs`` and ``self.inputs``: whoever calls it
does so again and again, or it would empty nothing. What it forgets grows with each forward, be it detached.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.hooks.handles import methods_of, removes
from torchlint.facts.hooks.piles import Pile
from torchlint.facts.values.graph import Class, Function, Kind, Op, Place, Value
from torchlint.facts.values.homes import homes_of, places_of, targets_of
from torchlint.facts.values.overrides import has_unseen_base

if TYPE_CHECKING:
    from torchlint.facts import Facts

BEGINNING = "__init__"


@dataclass(frozen=True)
class Forgotten:
    """A list that hooks fill and that a method leaves out which empties another one.

    Attributes:
        pile: what fills it.
        method: what leaves it out.
        emptied: the list that this empties, as it is written.
        statement: where it does.
    """

    pile: Pile
    method: Function
    emptied: str
    statement: cst.CSTNode


def forgotten(facts: Facts) -> list[Forgotten]:
    """Every list of an object that its hooks fill and nobody empties, though another one is, each once."""
    by_class: dict[Class, dict[Place, Pile]] = defaultdict(dict)
    for pile in facts.hook_piles:
        place = _own_place(facts, pile)
        if place is not None and isinstance(place.owner, Class):
            by_class[place.owner].setdefault(place, pile)
    return [found for piles in by_class.values() if len(piles) > 1 for found in _of_object(facts, piles)]


def _own_place(facts: Facts, pile: Pile) -> Place | None:
    """The attribute of an object of this file that is the list."""
    places = places_of(facts.solution, pile.holder)
    return places[0] if len(places) == 1 and pile.holder.op is Op.ATTRIBUTE else None


def _of_object(facts: Facts, piles: dict[Place, Pile]) -> Iterator[Forgotten]:
    emptying = {place: _emptying(facts, place, pile) for place, pile in piles.items()}
    for place, pile in piles.items():
        if emptying[place] or _may_be_emptied(facts, place) or not _lasts(facts, pile):
            continue
        leaving_out = (
            (at, function, other)
            for other, found in emptying.items()
            for at, function in found
            if _is_for_more(function) and not _mentions(facts, function, place.path)
        )
        first = min(leaving_out, key=lambda one: one[0].index, default=None)
        if first is not None:
            at, method, other = first
            yield Forgotten(pile, method, piles[other].name, facts.statement_of(at))


def _emptying(facts: Facts, place: Place, pile: Pile) -> list[tuple[Value, Function]]:
    """Where a list is made anew or emptied, but where its object is made: a value computed there, and in what."""
    homes = homes_of(facts.solution, pile.holder)[1:]
    resetters = {one for one in facts.lifetimes.resetters(homes) if one.name != BEGINNING}
    if not resetters:
        return []
    graph, solution = facts.graph, facts.solution
    found = [
        (store.value, store.function)
        for store in graph.stores
        if store.kind is Kind.ASSIGN and store.function in resetters and place in targets_of(solution, store)
    ]
    found += [
        (reset.holder, reset.function)
        for reset in graph.resets
        if reset.function in resetters and any(home in homes for home in homes_of(solution, reset.holder))
    ]
    return found


def _is_for_more(function: Function) -> bool:
    """Whether a method empties a list for what comes next: who takes the hooks off is done."""
    return function.owner is not None and not function.name.startswith("__") and not removes(function)


def _mentions(facts: Facts, function: Function, attribute: str) -> bool:
    """Whether a method has to do with the list after all: it saves it, or hands it to what empties it."""
    return any(value.function is function and value.name == attribute for value in facts.graph.of(Op.ATTRIBUTE))


def _may_be_emptied(facts: Facts, place: Place) -> bool:
    """Whether code that is not seen, or in a way of its own, may empty the list: by its name, or the whole object."""
    owner = place.owner
    if not isinstance(owner, Class) or has_unseen_base(owner) or facts.others_empty(place.path):
        return True
    own = {parameter for method in methods_of(owner) for parameter in method.parameters[:1]}
    made_again = (v for v in facts.graph.of(Op.ATTRIBUTE) if v.name in ("__init__", "__dict__"))
    by_name = (
        call for call in facts.calls() if call.callee.name in ("builtins.setattr", "builtins.delattr", "builtins.vars")
    )
    return any(value.inputs[0] in own for value in made_again) or any(
        call.arguments and call.arguments[0] in own for call in by_name
    )


def _lasts(facts: Facts, pile: Pile) -> bool:
    """Whether forwards come again while the list is there; nobody need be seen to run any."""
    forwards = facts.hooks.forwards(pile.hook)
    homes = homes_of(facts.solution, pile.holder)[1:]
    return not forwards or any(facts.lifetimes.outlives(homes, one.function, one.loop) for one in forwards)
