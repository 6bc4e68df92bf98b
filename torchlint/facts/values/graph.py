"""The value graph: every value that a file computes, in static single assignment form, and what is done with it.

The builder (``building/``) makes it in one walk; the solver gives each value its abstract value; rules read it through
the queries of this package. What it is made of is in ``program.py``, what is done in ``actions.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar

import libcst as cst

from torchlint.facts.values.actions import Backward, Drop, Reset, Store
from torchlint.facts.values.foreign import Foreign
from torchlint.facts.values.kinds import Kind, Mode, Op
from torchlint.facts.values.program import Class, Flag, Function, Key, Loop, Place, Value

__all__ = [
    "Backward", "Class", "Drop", "Flag", "Function", "Key", "Kind", "Loop", "Mode", "Op", "Place", "Reset", "Store",
    "Value", "ValueGraph",
]  # fmt: skip

Item = TypeVar("Item")


@dataclass(eq=False, slots=True)
class ValueGraph:
    """All that the builder found in one file.

    ``buffers`` has each ``register_buffer`` as (on what, which name); ``beginnings`` what is assigned where a condition
    says that nothing was before; ``resting`` what a module reads where it does not train, ``resting_choices`` each PHI
    with what it is only then; ``training`` what is computed and kept only where one trains; ``decided`` the flags under
    which a PHI is one of its choices, one set for each way to it; ``indices`` what a SUBSCRIPT is indexed by, slices
    left out; ``bounds`` what the variables are between which a slice lies; ``spreads`` what a dictionary is written
    around, each with the keys that are replaced in it; ``decorated`` what decorates a function, with that function;
    ``told`` of which class, by its full dotted name, a value or an attribute is annotated to be, and ``told_items`` of
    which the items of a value; ``defaults`` what a ``defaultdict`` has under a key that is new, one value for all of
    them; ``listings`` out of which call an ELEMENT is taken, ``table.items()`` or ``table.values()``, that is read as
    one of the table itself; ``renumbered`` what takes the numbers of a tensor and none of its graph, ``t.data = x``,
    each with that tensor; ``foreign`` is what other files bring in; ``trusts_annotations`` is False where others are
    told what becomes of whatever they pass.
    """

    module: Function
    values: list[Value] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    resets: list[Reset] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    buffers: list[tuple[Value, str]] = field(default_factory=list)
    beginnings: set[Value] = field(default_factory=set)
    resting: set[Value] = field(default_factory=set)
    resting_choices: set[tuple[Value, Value]] = field(default_factory=set)
    training: set[Value | Store] = field(default_factory=set)
    decided: dict[tuple[Value, Value], tuple[frozenset[Flag], ...]] = field(default_factory=dict)
    indices: dict[Value, tuple[Value, ...]] = field(default_factory=dict)
    bounds: dict[cst.BaseExpression, Value] = field(default_factory=dict)
    spreads: dict[Value, list[tuple[Value, frozenset[Key]]]] = field(default_factory=dict)
    decorated: list[tuple[Value, Function]] = field(default_factory=list)
    told: dict[Value | Place, str] = field(default_factory=dict)
    told_items: dict[Value, str] = field(default_factory=dict)
    defaults: dict[Value, Value] = field(default_factory=dict)
    listings: dict[Value, Value] = field(default_factory=dict)
    renumbered: list[tuple[Value, Value]] = field(default_factory=list)
    foreign: Foreign = field(default_factory=Foreign)
    trusts_annotations: bool = True
    _found: dict[tuple[Op, ...], list[Value]] = field(default_factory=dict)
    _found_among: int = 0
    _groups: dict[str, tuple[int, dict[object, list[Any]]]] = field(default_factory=dict)
    _flags: dict[Function, list[Value]] = field(default_factory=dict)
    _flags_among: int = 0

    def flags_of(self, function: Function) -> list[Value]:
        """The parameters of a function that decide what some of its values are."""
        if self._flags_among != len(self.decided):
            asked = {flag for ways in self.decided.values() for flags in ways for flag, _ in flags}
            self._flags, self._flags_among = defaultdict(list), len(self.decided)
            for flag in sorted(asked, key=lambda flag: flag.index):
                self._flags[flag.function].append(flag)
        return self._flags.get(function, [])

    def of(self, *ops: Op) -> Sequence[Value]:
        """The file's own values that come to be in one of these ways, in the order of the walk."""
        if self._found_among != len(self.values):
            self._found.clear()  # the file is not built to its end
            self._found_among = len(self.values)
        if ops not in self._found:
            self._found[ops] = [value for value in self.values if value.op in ops]
        return self._found[ops]

    def calls_in(self, function: Function) -> Sequence[Value]:
        """The file's own CALLs in the body of a function."""
        return self._grouped("calls", self.of(Op.CALL), attrgetter("function"), function)

    def stores_in(self, function: Function) -> Sequence[Store]:
        """What the body of a function keeps somewhere."""
        return self._grouped("stores in", self.stores, attrgetter("function"), function)

    def stores_on(self, holder: Value) -> Sequence[Store]:
        """What is kept in one value: attributes that are set on it, items that are put into it."""
        return self._grouped("stores on", self.stores, attrgetter("holder"), holder)

    def stores_of(self, value: Value) -> Sequence[Store]:
        """Where a value is kept."""
        return self._grouped("stores of", self.stores, attrgetter("value"), value)

    def loops_in(self, function: Function) -> Sequence[Loop]:
        """The loops of a function."""
        return self._grouped("loops", self.loops, attrgetter("function"), function)

    def _grouped(self, name: str, items: Sequence[Item], key: Callable[[Item], object], of: object) -> Sequence[Item]:
        """Those of ``items`` whose ``key`` is ``of``, in their order; the groups are made anew when there are more."""
        among, groups = self._groups.get(name, (-1, {}))
        if among != len(items):
            groups = defaultdict(list)
            for item in items:
                groups[key(item)].append(item)
            self._groups[name] = (len(items), groups)
        return groups.get(of, ())

    def all_values(self) -> Iterator[Value]:
        """The file's own values and those of other files."""
        return chain(self.values, self.foreign.values)

    def all_backwards(self) -> Iterator[Backward]:
        """The file's own backwards and those of other files."""
        return chain(self.backwards, self.foreign.backwards)
