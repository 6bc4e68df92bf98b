"""Classes with an ``items`` or a ``values`` of their own, which a loop goes through as if they were a dict's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Abstract, Container, Instance
from torchlint.facts.values.graph import Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

__all__ = ["listed_by_own"]

_VALUE_OF_PAIR = 1


def listed_by_own(solution: Solution, element: Value, owner: Instance) -> Abstract | None:
    """What ``for name, value in owner.items()`` takes out of an object whose class says what its items are.

    None where the class leaves that to its base, or the element is not taken out of such a call.
    """
    call = solution.graph.listings.get(element)
    if call is None or owner.cls.method(call.callee.name) is None:
        return None
    solution.watch(call, element)  # which is no input of it
    items = _items_of(solution, element, solution.of(call), element.keys[0])
    return _items_of(solution, element, items, _VALUE_OF_PAIR) if call.callee.name == "items" else items


def _items_of(solution: Solution, reader: Value, held: Abstract, key: object) -> Abstract:
    assert key is None or isinstance(key, str | int)
    made = (atom.allocation for atom in held if isinstance(atom, Container))
    return frozenset(atom for one in made for atom in solution.load(one, key, reader))
