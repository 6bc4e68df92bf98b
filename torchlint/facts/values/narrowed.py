"""What conditions leave of a value: ``if isinstance(tree, dict): return ...`` lets no dictionary through."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.choices import choices
from torchlint.facts.values.dictionaries import is_dictionary
from torchlint.facts.values.domain import (
    BOTTOM,
    NO_GRAPH,
    PLAIN,
    UNKNOWN,
    Abstract,
    Argument,
    Carrier,
    Container,
    Derived,
    Tensor,
)
from torchlint.facts.values.frameworks import is_module
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.kinds import Rest
from torchlint.facts.values.parameters import gives_object_back
from torchlint.facts.values.tuples import with_items

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

_EXCLUDING = frozenset(rest.value for rest in (Rest.NO_DICTIONARY, Rest.NO_LIST, Rest.NO_TUPLE))


def narrowed(solution: Solution, value: Value) -> Abstract:
    """What a condition leaves; where only what it rules out was known, nothing is known."""
    if value.name == Rest.PLAIN.value:
        return PLAIN
    before = solution.of(value.inputs[0])
    if value.name in _EXCLUDING:
        return _without(before, value.name)
    if value.name == Rest.NO_MODULE.value:
        return _left(before, frozenset(atom for atom in before if not is_module(atom)))
    if value.name == Rest.ITEMS.value:
        return with_items(solution, before)
    after = frozenset(atom for atom in before if not isinstance(atom, Tensor | Derived | Argument | Carrier))
    if value.name == Rest.GRAPHLESS.value:
        return after if after == before else after | NO_GRAPH
    return _left(before, after)


def handed_back(solution: Solution, function: Function, argument: Argument, given: Abstract) -> Abstract:
    """What of ``given``, passed for a parameter, a function gives back as it is, by what it has asked of it before.

    Args:
        solution: what is known.
        function: one that returns a parameter.
        argument: that parameter.
        given: what a call passes for it.
    """
    returned = choices(function.result) if any(isinstance(atom, Container) for atom in given) else []
    if not any((one.op is Op.NARROWED and one.name in _EXCLUDING) or gives_object_back(one) for one in returned):
        return given
    ways = [one for one in returned if argument in solution.of(one)]
    if all(map(gives_object_back, ways)):  # no list and no dictionary of Python has such a method
        return frozenset(atom for atom in given if not isinstance(atom, Container) or not _is_literal(atom))
    for name in frozenset.intersection(*map(_excluded_on_the_way, ways)) if ways else ():
        given = _without(given, name)
    return given


def _is_literal(container: Container) -> bool:
    return container.allocation.op is Op.CONTAINER


def _excluded_on_the_way(value: Value) -> frozenset[str]:
    found = set[str]()
    while value.op is Op.NARROWED:
        found |= {value.name} & _EXCLUDING
        value = value.inputs[0]
    return frozenset(found)


def _without(before: Abstract, name: str) -> Abstract:
    after = frozenset(
        atom for atom in before if not (isinstance(atom, Container) and _kind_of(atom.allocation) == name)
    )
    return _left(before, after)


def _left(before: Abstract, after: Abstract) -> Abstract:
    """``after``, what is left of ``before``: anything, where something was there and nothing of it is left."""
    return after or (UNKNOWN if before else BOTTOM)


def _kind_of(made: Value) -> str:
    """What rules out a container, by the value that makes it; "" for any other container than these three."""
    if is_dictionary(made):
        return Rest.NO_DICTIONARY.value
    called = made.callee.name if made.op is Op.CALL else ""
    if called in ("builtins.list", "builtins.sorted") or isinstance(made.syntax, cst.List | cst.ListComp):
        return Rest.NO_LIST.value
    return Rest.NO_TUPLE.value if called == "builtins.tuple" or isinstance(made.syntax, cst.Tuple) else ""
