"""Caches that a decorator of the project writes out: ``if key not in table: table[key] = function(*key)``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.lookups import Lookups
from torchlint.facts.keeping.requested import SAME_TEXT
from torchlint.facts.values.graph import Function, Kind, Op, Store, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

WHOLE = frozenset(
    ["builtins.tuple", "builtins.sorted", "builtins.frozenset", "builtins.str", "builtins.repr", "builtins.hash",
     "json.dumps", "pickle.dumps", "re.findall", "re.split", "re.sub", "unicodedata.normalize"]
)  # fmt: skip
"""What makes a key of all that is in its arguments, or of the words in it."""

JOINING = "join"
"""The method of a separator that puts texts together again."""

ITEMS = "items"
"""The method of a dictionary that gives all that is in it."""


class OwnCaches:
    """Says of the functions of one file whether they are such caches; tables are made when they are asked for."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self._facts, self._lookups = facts, Lookups(facts)

    def filled_by(self, function: Function, given: Value) -> cst.CSTNode | None:
        """Where a function keeps, without a bound, what another one gives for each thing that it is asked for.

        Args:
            function: what is put in the place of the other one.
            given: that other one, as it is handed to the function around.

        Returns:
            None for a function that does not, or not for good.
        """
        for store in self._filling.get(function, ()):
            made, holder, key = store.value.callee, store.holder, store.index
            if holder is None or key is None or given not in (made, *stored_at(self._facts.solution, made)):
                continue
            if _is_of_all_given(key, function) and self._lookups.of_store(store) is not None:
                return store.statement
        return None

    @cached_property
    def _filling(self) -> dict[Function, list[Store]]:
        """By functions within others what they put under a key of what they have just called."""
        found: dict[Function, list[Store]] = defaultdict(list)
        for store in self._facts.graph.stores:
            around = store.function.parent
            if store.kind is Kind.INSERT and store.is_item and store.value.op is Op.CALL:
                if around is not None and around.parent is not None:
                    found[store.function].append(store)
        return found


def _is_of_all_given(key: Value, function: Function) -> bool:
    """Whether a key is made of all that a function is asked for, be that by position or with a name."""
    asked = set(reached([key], _within)).intersection(function.parameters)
    positional = [one for one in function.parameters if getattr(one.syntax, "star", "") != "**"]
    return bool(asked) and asked.issuperset(positional)


def _within(value: Value) -> Sequence[Value]:
    """What is in a part of a key as it is."""
    if value.op is Op.CONTAINER or (value.op is Op.OPERATION and value.name == "Add"):
        return value.inputs
    if value.op is not Op.CALL:
        return ()
    if value.callee.op is Op.ATTRIBUTE and value.callee.name in {ITEMS, "split", *SAME_TEXT}:
        return value.callee.inputs
    is_joined = value.callee.op is Op.ATTRIBUTE and value.callee.name == JOINING
    return value.arguments if is_joined or value.callee.name in WHOLE else ()
