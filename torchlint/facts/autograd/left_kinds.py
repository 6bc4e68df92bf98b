"""What kind of thing a step leaves, and where: a network, an item whose key is written, something for a backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.building.names import constant_of
from torchlint.facts.turns.handoffs import origins
from torchlint.facts.values.evidence import MODULE_ONLY
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Op, Store, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.parameters import is_of_self

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.values.solve import Solution


def is_named(facts: Facts, store: Store) -> bool:
    """Whether an item lies under one of the names that the file has for it, so that later ones take its place."""
    if store.key is not None or store.index is None:
        return store.key is not None
    leads = [one for one in origins(facts, store.index) if one.op not in (Op.PHI, Op.PARAMETER)]
    is_text = bool(leads) and all(one.op is Op.CONSTANT and _is_text(one) for one in leads)
    return is_text or _is_said_from_beginning(facts.solution, store.index)


def _is_text(constant: Value) -> bool:
    return constant.syntax is not None and isinstance(constant_of(constant.syntax), str)


def _is_said_from_beginning(solution: Solution, key: Value) -> bool:
    """``maps[f"block {self.number}"]``: whether a key is what an object is called since it was made."""
    parts = [part for part in key.computed_from() if part.op not in (Op.CONSTANT, Op.OPERATION)]
    told = [part for part in parts if is_of_self(part, key.function)]
    return bool(told) and all(
        part in key.function.parameters[:1]
        or (part in told and all(kept.function.name == "__init__" for kept in stored_at(solution, part)))
        for part in parts
    )


def is_asked_as_module(value: Value) -> bool:
    """``self.net_.named_parameters()``: whether something is asked of a value that only modules have."""
    return any(user.op is Op.ATTRIBUTE and user.name in MODULE_ONLY for user in value.users)


def is_differentiated_by_hand(function: Function) -> bool:
    """Whether it belongs to an ``autograd.Function``, whose ``ctx`` is another matter."""
    owner = function.owner
    return owner is not None and not is_module_class(owner) and any("autograd" in b for b in owner.all_bases())
