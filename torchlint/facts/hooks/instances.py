"""What the instances of a class keep: in which attributes, whether it is their own, and whether it weighs anything."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.hooks.burdens import Burdens
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.domain import Instance
from torchlint.facts.values.graph import Class, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import stored_at
from torchlint.syntax.tree import walk, walk_statements

if TYPE_CHECKING:
    from torchlint.facts import Facts

MAKING = (Op.CALL, Op.CONTAINER)
"""How a value is made where it stands."""


class Instances:
    """Answers it of the classes of one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution = facts.solution
        self.identity = facts.identity
        self.burdens = Burdens(facts.solution, facts.identity)
        self._known_parts: dict[Class, frozenset[Value]] = {}

    def attribute_of(self, store: Store, owner: Class) -> Place | None:
        """The attribute of an instance that a store assigns, or into whose container it puts something."""
        if store.kind is Kind.ASSIGN:
            is_on_self = store.attribute and store.holder in store.function.parameters[:1]
            return Place(owner.root(), store.attribute) if is_on_self else None
        assert store.holder is not None
        read = [place for place in self.solution.read_from(store.holder) if place.owner is owner.root()]
        made = (
            place for place, values in self.solution.stored.items()
            if place.owner is owner.root() and store.holder in values
        )  # fmt: skip
        return next(iter([*read, *made]), None)

    def is_own(self, subject: Value, owner: Class, chain: tuple[Value, ...] = ()) -> bool:
        """Whether a module or parameter belongs to the instance, and was not handed to it.

        Args:
            subject: the module or parameter.
            owner: the class of the instance.
            chain: the calls by which the function of ``subject`` was entered.
        """
        made: list[Value] = []
        for part in self.facts.hook_lifetimes.subjects.way(subject, chain):
            if part.op is Op.ATTRIBUTE and self.class_of(part.inputs[0]) is owner:
                made += [root for stored in stored_at(self.solution, part) for root in self.identity.roots(stored)]
            elif part.op in MAKING and part.function.owner is owner and part in self._parts_of(owner):
                made.append(part)
        return bool(made) and all(root.op in (Op.CALL, Op.CONTAINER) for root in made)

    def _parts_of(self, owner: Class) -> frozenset[Value]:
        """What instances keep, and the layers of which they make a ``Sequential`` that they keep."""
        if owner not in self._known_parts:
            self._known_parts[owner] = self.parts_in(self.kept_by(owner))
        return self._known_parts[owner]

    def parts_in(self, kept: Sequence[Value]) -> frozenset[Value]:
        """What is kept, the layers of a ``Sequential`` among it, and what is given back: ``self.watch(nn.ReLU())``."""
        wrapping = (value for value in kept if value.op is Op.CALL and _wraps_layers(value.callee))
        parts = [*kept, *(part for value in wrapping for part in value.computed_from())]
        parts += [item for part in parts for _, item in self.solution.held.get(part, ())]
        calls = [part for part in parts if part.op is Op.CALL]
        made = (root for call in calls for root in self.identity.roots(call))
        return frozenset([*parts, *made, *(self._given_back[call] for call in calls if call in self._given_back)])

    @cached_property
    def _given_back(self) -> dict[Value, Value]:
        """What methods of other files return of what they are given, once they have left a hook on it."""
        tied = self.facts.effects.of(EffectKind.TIES)
        return {effect.call: effect.given[0] for effect in tied if effect.done.is_returned and effect.given}

    def class_of(self, value: Value) -> Class | None:
        """The class whose instance ``value`` is."""
        atoms = self.solution.final(value)
        return next((atom.cls for atom in atoms if isinstance(atom, Instance)), None) if len(atoms) == 1 else None

    def kept_by(self, owner: Class) -> list[Value]:
        """What instances keep in attributes that nothing empties, and what their cached methods return."""
        kept = [
            value
            for place, values in self.solution.stored.items()
            if place.owner is owner.root() and not self.is_dropped(place)
            for value in values
        ]
        return [*kept, *self.cached_by(owner)]

    def cached_by(self, owner: Class) -> list[Value]:
        """What the methods of instances return that are cached, and so keep it."""
        methods = [method for cls in owner.lineage() for method in cls.methods.values()]
        return [m.result for m in methods if m.result is not None and any("cache" in name for name in m.decorators)]

    def is_dropped(self, place: Place) -> bool:
        """Whether an attribute is set to nothing, or deleted, after the instance was made."""
        if self.is_deleted(place.path):
            return True
        if any(place == ended and name != "__init__" for ended, name in self.solution.graph.foreign.endings):
            return True  # by a method of a base class in another file
        later = (v for v in self.solution.stored.get(place, ()) if v.function.name != "__init__")
        return any(value.op is Op.CONSTANT for value in later)

    def is_deleted(self, attribute: str) -> bool:
        """Whether the file deletes an attribute of this name: ``del self.net``."""
        return attribute in self._deleted

    @cached_property
    def _deleted(self) -> frozenset[str]:
        targets = (node.target for node in walk_statements(self.facts.module) if isinstance(node, cst.Del))
        parts = (part for target in targets for part in walk(target))
        return frozenset(part.attr.value for part in parts if isinstance(part, cst.Attribute))

    def is_heavy(self, owner: Class) -> bool:
        """Whether each instance has tensors of its own; a model that it was handed lives on anyway."""
        if owner.is_foreign:
            return self.burdens.is_network(owner)
        return any(self.burdens.is_fresh(value, owner) for value in self.kept_by(owner))


def _wraps_layers(maker: Value) -> bool:
    made = torch_api.torch_class(maker.name) if maker.op is Op.EXTERNAL else None
    return made is not None and made.wraps
