"""Flags that a call takes from a dictionary which is kept elsewhere: ``loss.backward(**self.options.extra)``."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts.values.dictionaries import is_dictionary
from torchlint.facts.values.domain import Argument, Container
from torchlint.facts.values.graph import Key, Op, Value
from torchlint.facts.values.parameters import spread_into
from torchlint.facts.values.solve import Solution

HOPS = 3
"""Through so many parameters a dictionary is followed to where it is written."""


def spread_flag(solution: Solution, call: Value, name: str) -> list[Value]:
    """What a dictionary that a CALL spreads has for the keyword ``name``, a value for each that it may be.

    Returns:
        the values; none where one of the dictionaries lacks the key, may have been given others, or is not seen.
    """
    spread = spread_into(call)
    tables = list(_tables(solution, spread[0], HOPS)) if len(spread) == 1 else []
    found = [_under(solution, table, name) for table in tables]
    known = [value for value in found if value is not None]
    return known if len(known) == len(found) else []


def may_spread(solution: Solution, call: Value, name: str) -> bool:
    """Whether any dictionary that a CALL spreads has the keyword ``name``."""
    tables = (table for spread in spread_into(call) for table in _tables(solution, spread, HOPS))
    return any(key == name for table in tables if table is not None for key, _ in _items(solution, table))


def _tables(solution: Solution, value: Value, hops: int) -> Iterator[Value | None]:
    """The dictionaries that a value may be, by what made them; None for what is not known."""
    for atom in solution.final(value):
        if isinstance(atom, Container) and is_dictionary(atom.allocation):
            yield atom.allocation
        elif isinstance(atom, Argument) and hops and _are_callers_seen(solution, atom.parameter):
            for given in solution.arguments_of(atom.parameter):
                yield from _tables(solution, given, hops - 1)
        else:
            yield None


def _are_callers_seen(solution: Solution, parameter: Value) -> bool:
    """Whether calls of a function are seen, and no star in them may bring what is passed for a parameter."""
    calls = solution.callers.get(parameter.function, ())
    return bool(calls) and not any(spread_into(call) for call in calls)


def _under(solution: Solution, table: Value | None, name: Key) -> Value | None:
    """The one thing that a dictionary has under a name; None where other keys may be that, too."""
    items = _items(solution, table) if table is not None else []
    found = [value for key, value in items if key == name]
    return found[0] if len(found) == 1 and all(isinstance(key, str) for key, _ in items) else None


def _items(solution: Solution, table: Value) -> list[tuple[Key, Value]]:
    """What is put into a dictionary, and what it is made with: ``dict(retain_graph=True)``."""
    made_with = zip(table.keys[1:], table.arguments, strict=True) if table.op is Op.CALL else ()
    return [*made_with, *solution.held.get(table, ())]
