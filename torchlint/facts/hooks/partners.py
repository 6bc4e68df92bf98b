"""Objects that keep each other: a part that its object makes or takes in, and that holds the object."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.turns.unasked import is_unasked
from torchlint.facts.values.domain import ClassReference, sorted_values
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Class, Function, Kind, Op, Place, Store, Value

if TYPE_CHECKING:
    from torchlint.facts.hooks.circles import Circles


@dataclass(frozen=True)
class Partner:
    """A part that holds the object which keeps it.

    Attributes:
        store: what makes the object keep it.
        owner: the class of the object.
        holder: the attribute of the object that keeps the part.
        part: the class of the part; None where it is not known.
    """

    store: Store
    owner: Class
    holder: str
    part: Class | None


def partners(search: Circles) -> Iterator[Partner]:
    """Every part that an object keeps, and that holds the object: ``self.turns.append(Turn(self))``."""
    graph = search.facts.graph
    telling = [one for one in graph.stores if one.kind is Kind.ASSIGN and one.value in one.function.parameters[:1]]
    told: dict[Function, list[Store]] = defaultdict(list)
    for store in telling:
        told[store.function].append(store)
    for store in graph.stores:
        method, owner = store.function, store.function.owner
        if owner is None or store.holder is None or store.kind is Kind.UPDATE or not method.parameters:
            continue
        made = _class_made(search, store.value, method.parameters[0])
        if made is None and not any(_is_told(search, store, one) for one in told.get(method, ())):
            continue
        place = search.instances.attribute_of(store, owner)
        if place is None or search.instances.is_dropped(place) or _is_emptied(search, place):
            continue
        if not is_unasked(search.facts, store.target or store.statement, method):
            yield Partner(store, owner, f"{method.parameters[0].name}.{place.path}", made)


def _class_made(search: Circles, call: Value, itself: Value) -> Class | None:
    """The class of which a CALL makes an instance that keeps the object in whose method it stands."""
    if call.op is not Op.CALL or not any(argument is itself for argument in call.arguments):
        return None
    atoms = sorted_values(search.solution.of(call.callee))
    made = atoms[0].cls if len(atoms) == 1 and isinstance(atoms[0], ClassReference) else None
    initializer = made.method("__init__") if made is not None and not is_module_class(made) else None
    if made is None or initializer is None:
        return None
    bound = search.solution.callers.get(initializer, {}).get(call, {})
    given = {parameter for parameter, argument in bound.items() if argument is itself}
    return made if any(_keeps(search, made, store, given) for store in search.facts.graph.stores) else None


def _keeps(search: Circles, made: Class, store: Store, given: set[Value]) -> bool:
    """Whether a store leaves one of the parameters ``given`` on the object for good."""
    if store.value not in given or store.kind is not Kind.ASSIGN:
        return False
    place = search.instances.attribute_of(store, made)
    return place is not None and not search.instances.is_dropped(place)


def _is_told(search: Circles, store: Store, telling: Store) -> bool:
    """``turn.session = self`` where the same method keeps ``turn``, and nothing sets that to None again."""
    part, itself = telling.holder, telling.value
    if part is None or part is itself or not telling.attribute:
        return False
    if search.identity.roots(store.value).isdisjoint(search.identity.roots(part)):
        return False
    others = (one for one in search.facts.graph.stores if one.attribute == telling.attribute)
    is_taken_back = any(one.value.name == "None" and one.function.name != "__init__" for one in others)
    return not is_taken_back and not search.instances.is_deleted(telling.attribute)


def _is_emptied(search: Circles, place: Place) -> bool:
    """Whether a method other than ``__init__`` empties the attribute, or begins it anew with nothing in it."""
    anew = (one for one in search.solution.stored.get(place, ()) if one.function.name != "__init__")
    if any(one.op is Op.CONTAINER and not one.inputs for one in anew):
        return True
    return any(place in search.solution.read_from(reset.holder) for reset in search.facts.graph.resets)
