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
from torchlint.facts.hooks.piles import Clearing, Pile
from torchlint.facts.values.graph import Class, Function, Op, Place
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
    several = [(owner, piles) for owner, piles in by_class.items() if len(piles) > 1]
    return [found for owner, piles in several for found in _of_object(facts, owner, piles)]


def _own_place(facts: Facts, pile: Pile) -> Place | None:
    """The attribute of an object of this file that is the list."""
    places = facts.solution.read_from(pile.holder)
    return places[0] if len(places) == 1 and pile.holder.op is Op.ATTRIBUTE else None


def _of_object(facts: Facts, owner: Class, piles: dict[Place, Pile]) -> Iterator[Forgotten]:
    later = [one for one in facts.list_clearings if one.function.name != BEGINNING]
    for_more = [one for one in later if _is_for_more(facts, one)]
    for place, pile in piles.items():
        is_emptied = any(one.may_empty(pile) for one in later) or _may_be_emptied(facts, owner, place)
        if is_emptied or not _lasts(facts, pile):
            continue
        others = [other for other in piles.values() if other is not pile]
        leaving_out = (
            (one, other)
            for one in for_more
            for other in others
            if one.empties(other) and not _mentions(facts, one.function, place.path)
        )
        first = min(leaving_out, key=lambda found: found[0].at.index, default=None)
        if first is not None:
            clearing, other = first
            yield Forgotten(pile, clearing.function, other.name, facts.statement_of(clearing.at))


def _is_for_more(facts: Facts, clearing: Clearing) -> bool:
    """Whether a method empties a list for what comes next: who puts hooks on begins, who takes them off is done."""
    method = clearing.function
    if method.owner is None or method.name.startswith("__") or removes(method):
        return False
    return all(one.call.function is not method for one in facts.registrations)


def _mentions(facts: Facts, function: Function, attribute: str) -> bool:
    """Whether a method has to do with the list after all: it saves it, or hands it to what empties it."""
    return any(value.function is function and value.name == attribute for value in facts.graph.of(Op.ATTRIBUTE))


def _may_be_emptied(facts: Facts, owner: Class, place: Place) -> bool:
    """Whether code that is not seen, or in a way of its own, may empty the list: by its name, or the whole object."""
    if has_unseen_base(owner) or facts.others_empty(place.path):
        return True
    own = {parameter for method in methods_of(owner) for parameter in method.parameters[:1]}
    made_again = (v for v in facts.graph.of(Op.ATTRIBUTE) if v.name in ("__init__", "__dict__"))
    looked_into = (call for call in facts.calls() if call.callee.name == "builtins.vars" and call.arguments)
    return any(value.inputs[0] in own for value in made_again) or any(call.arguments[0] in own for call in looked_into)


def _lasts(facts: Facts, pile: Pile) -> bool:
    """Whether forwards come again while the list is there; nobody need be seen to run any."""
    forwards, homes = facts.hooks.forwards(pile.hook), list(pile.homes)
    return not forwards or any(facts.lifetimes.outlives(homes, one.function, one.loop) for one in forwards)
