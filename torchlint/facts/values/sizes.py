"""How many objects a list or a dict holds: very many where the program says so, or where it comes from a data file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.choices import choices
from torchlint.facts.values.dictionaries import is_dictionary
from torchlint.facts.values.domain import Container
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, stored_at
from torchlint.facts.values.listing import OPENING, READERS
from torchlint.facts.values.literals import literal
from torchlint.facts.values.options import default_of
from torchlint.facts.values.reaching import ends

if TYPE_CHECKING:
    from torchlint.facts import Facts

COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp)

LARGE = 1_000
"""So many objects and more are worth a word."""

HOPS = 3
"""How many functions up a helper's loops are looked for."""

DEPTH = 12
"""How many values back the source of a list is looked for."""

COLLECTORS = ("list", "sorted", "tuple", "dict", "set", "reversed", "enumerate", "zip", "filter", "map")
"""Built-in functions that give as many items as their arguments have."""

PARTS = frozenset(["readlines", "read", "read_text", "splitlines", "split", "items", "values", "keys", "copy", "tolist",
                   "to_dict", "strip", "open"])  # fmt: skip
"""Methods that give what their receiver holds."""

LISTS = frozenset(["readlines", "splitlines", "split", "tolist", "to_dict"])
"""Those that give a list or a dict of objects, whatever the receiver is."""

ARRAYS = ("numpy.", "torch.", "pyarrow.", "pandas.", "polars.", "datasets.", "h5py.", "zarr.", "array.")
"""Packages whose functions make one block of memory of many numbers."""


class Sizes:
    """Says of the lists and dicts of one file whether they are known to be large."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution = facts.solution

    def is_array(self, value: Value) -> bool:
        """Whether ``value`` is made by a package of arrays."""
        while value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name not in LISTS:
            value = value.callee.inputs[0]
        return value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name.startswith(ARRAYS)

    def is_large(self, value: Value, is_read_by_index: bool) -> bool:
        """Whether ``value`` is a list or dict of very many objects of Python.

        Args:
            value: what is assigned.
            is_read_by_index: it has an item for each sample, so that one from a data file is no table of settings.
        """
        return any(
            self._is_of_objects(source) and not self.is_array(source) and self._is_long(source, is_read_by_index)
            for source in self._made(value)
        )

    def gives_many(self, function: Function) -> bool:
        """Whether a function gives a list or dict of very many objects, or of one for each record of a file.

        A generator gives them one by one.
        """
        if function.is_generator:
            return any(self._is_long(iterable, files=True) for iterable in _run_over(function))
        results = function.result.inputs if function.result is not None else ()
        return any(self.is_large(result, is_read_by_index=True) for result in results)

    def _made(self, value: Value) -> Iterator[Value]:
        """What ``value`` is where it is made: what the only call passes, what a function of the file gives."""
        return ends([value], self._behind)

    def _behind(self, value: Value) -> list[Value]:
        given = self.solution.arguments_of(value) if value.op is Op.PARAMETER else []
        return given if len(given) == 1 else self._results(value)

    def _results(self, call: Value) -> list[Value]:
        """What a CALL of functions of the file gives, on each of their paths; nothing of those that yield."""
        functions = [f for f in self.solution.functions_of(call) if not f.is_foreign] if call.op is Op.CALL else ()
        return [one for f in functions if f.result is not None and not f.is_generator for one in f.result.inputs]

    def _many_of_another_file(self, call: Value) -> list[Function]:
        """The functions of other files that a CALL runs and that give very many objects, in a list or one by one."""
        lists = self.solution.graph.foreign.lists
        return [function for function in self.solution.functions_of(call) if function in lists] if lists else []

    def _is_of_objects(self, value: Value) -> bool:
        """Whether ``value`` is a list or dict for certain, or a part of what a file of JSON holds."""
        while value.op is Op.SUBSCRIPT and not self.solution.may_be(value, Container):
            value = value.inputs[0]
        if value.op is Op.CALL:
            if any(not function.is_generator for function in self._many_of_another_file(value)):
                return True
            if value.callee.op is Op.ATTRIBUTE:
                return value.callee.name in LISTS
            name = value.callee.name
            if name in ("json.load", "json.loads") or name.removeprefix("builtins.") in COLLECTORS:
                return True
        atoms = self.solution.final(value)
        return any(isinstance(atom, Container) for atom in atoms)

    def _is_long(self, value: Value, files: bool) -> bool:
        """Whether a value, or one of those that it is as long as, is long; each is asked once, the nearest first."""
        return any(one.op is Op.CALL and self._is_long_call(one, files) for one in self._all_as_long_as(value))

    def is_as_long_as(self, value: Value, place: Place) -> bool:
        """Whether ``value`` has as many items as what an attribute holds, of which it is made."""
        made = self.solution.stored.get(place, ())
        return any(one in made or place in self.solution.read_from(one) for one in self._all_as_long_as(value))

    def _all_as_long_as(self, value: Value) -> Iterator[Value]:
        """A value, and all that it is as long as, the nearest first, each once."""
        asked, nearest = {value}, [value]
        for _ in range(DEPTH):
            yield from nearest
            behind = dict.fromkeys(source for one in nearest for source in self._as_long_as(one))
            nearest = [source for source in behind if source not in asked]
            asked.update(nearest)

    def _is_long_call(self, call: Value, files: bool) -> bool:
        """Whether a call gives very many items, whatever it is given."""
        callee = call.callee
        reads = (
            callee.name in READERS if callee.op is Op.EXTERNAL else callee.op is Op.ATTRIBUTE and callee.name in OPENING
        )
        if reads or self._many_of_another_file(call):
            return files
        is_range = callee.op is Op.EXTERNAL and callee.name == "builtins.range"
        return is_range and any(self._number(argument) >= LARGE for argument in call.arguments)

    def _as_long_as(self, value: Value) -> Iterable[Value]:
        """What a value is as long as: what it is made of, or the loops that fill it run over."""
        if value.op is Op.CALL:
            return self._behind_call(value)
        return self._filled_from(value) if value.op is Op.CONTAINER else self._sources(value)

    def _filled_from(self, container: Value) -> list[Value]:
        run_over = [loop.iterable for loop in self._loops_filling(container) if loop.iterable is not None]
        return [*run_over, *(rows for store in self._filling.get(container, ()) for rows in _extended_by(store))]

    def _sources(self, value: Value) -> Iterable[Value]:
        if value.op is Op.PARAMETER:
            return [*self.solution.arguments_of(value), *self._given_elsewhere(value)]
        if value.op in (Op.READ, Op.ATTRIBUTE):
            return stored_at(self.solution, value)
        if value.op is Op.PHI:
            return value.inputs
        # A part of what a file holds, `json.load(file)["images"]`, and `[x] * n`.
        return value.inputs[:1] if value.op in (Op.SUBSCRIPT, Op.ELEMENT) else ()

    def _behind_call(self, call: Value) -> Iterable[Value]:
        callee, results = call.callee, self._results(call)
        if callee.op is Op.ATTRIBUTE and not results:
            return callee.inputs[:1] if callee.name in PARTS else ()
        if callee.op is not Op.EXTERNAL:
            functions = self.solution.functions_of(call)
            return [*results, *(iterable for function in functions for iterable in _run_over(function))]
        is_as_long = callee.name.removeprefix("builtins.") in COLLECTORS or callee.name.startswith("tqdm.")
        filled_from = self._filled_from(call) if is_dictionary(call) else []
        return [*filled_from, *(call.arguments if is_as_long else ())]

    def _number(self, value: Value, hops: int = HOPS) -> int:
        """The largest number that ``value`` is known to be, by its callers and options as well; -1 for none."""
        known = [literal(self.solution, value), default_of(self.solution, value)]
        behind = self.solution.arguments_of(value) if value.op is Op.PARAMETER else []
        if value.op is Op.ATTRIBUTE:
            behind = [source for source in self._sources(value) if source is not value]
        known += [self._number(source, hops - 1) for source in behind] if hops else []
        if value.op is Op.PARAMETER and (key := _key_elsewhere(value)) is not None:
            known.append(self.facts.others_pass_number(*key))
        return max((number for number in known if isinstance(number, int)), default=-1)

    def _given_elsewhere(self, parameter: Value) -> Iterator[Value]:
        """What is as long as that which other files pass for a parameter, where a function of this one makes it."""
        key = _key_elsewhere(parameter)
        passings = self.facts.others_pass(key[0]) if key is not None else ()
        for passing in passings:
            makers = (maker for at, made in passing.makers if key is not None and at in key[1] for maker in made)
            for found in (passing.imports.find(maker.name) for maker in makers if maker.item < 0 and maker.name):
                name = found.name if found is not None and found.path == self.facts.path and not found.rest else ""
                for function in self.facts.graph.functions if name else ():
                    if function.name == name and function.parent is self.facts.graph.module:
                        yield from _run_over(function) or choices(function.result)

    def _loops_filling(self, container: Value) -> list[Loop]:
        """The loops whose turns put items into a container: its own comprehension's, those around insertions."""
        if isinstance(container.syntax, COMPREHENSIONS) and container.inputs:
            inner = container.inputs[-1].loop
            own = container.loop.around() if container.loop is not None else []
            return [loop for loop in (inner.around() if inner is not None else ()) if loop not in own]
        inserted = self._filling.get(container, ())
        return [loop for store in inserted for loop in self._around(store, container.function)]

    def _around(self, store: Store, maker: Function) -> Iterator[Loop]:
        """The loops around an insertion, and around the calls of a helper that inserts into what ``maker`` made."""
        loops, functions = [store.loop], {store.function}
        for _ in range(HOPS):
            yield from (one for loop in loops if loop is not None for one in loop.around())
            calls = [call for one in functions - {maker} for call in self.solution.callers.get(one, ())]
            loops, functions = [call.loop for call in calls], {call.function for call in calls}

    @cached_property
    def _filling(self) -> dict[Place | Value, list[Store]]:
        """The insertions into each container, and into what is kept in each place."""
        found: dict[Place | Value, list[Store]] = defaultdict(list)
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None:
                for holder in _grown(store.holder):
                    for home in homes_of(self.solution, holder):
                        found[home].append(store)
        return found


def _key_elsewhere(parameter: Value) -> tuple[str, tuple[int, str]] | None:
    """By what name other files call the function of a parameter, and the parameter, by position and name."""
    function = parameter.function
    is_maker = function.owner is not None and function.name == "__init__"
    if function.is_foreign or parameter not in function.parameters or not (function.owner is None or is_maker):
        return None
    name = function.owner.name if function.owner is not None else function.name
    return name, (function.parameters.index(parameter) - is_maker, parameter.name)


def _run_over(function: Function) -> list[Value]:
    """What the loops run over in whose turns a generator of the file yields; nothing for another function."""
    return [loop.iterable for loop in function.yielding_loops if loop.iterable is not None]


def _extended_by(store: Store) -> list[Value]:
    """``more`` of ``rows.extend(more)`` and of ``rows += more``, whose items are put there one by one."""
    item = store.value
    return [item.inputs[0]] if item.op is Op.ELEMENT and item.keys[0] is None else []


def _grown(holder: Value) -> list[Value]:
    """What an insertion makes longer: ``rows[key].append(x)`` puts a new list into a ``defaultdict`` as well."""
    return [holder, holder.inputs[0]] if holder.op is Op.SUBSCRIPT else [holder]
