"""Data sets that hold their data as many objects of Python, and are read by worker processes.

A forked worker shares the pages of its parent until it writes to them, and reading an object writes: it counts its
references. So each worker copies, page by page, every list, dict, string and number that it looks at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.autograd.insertions import is_bounded
from torchlint.facts.values.domain import Container, Instance, sorted_values
from torchlint.facts.values.graph import Class, Function, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, stored_at, targets_of
from torchlint.facts.values.literals import literal
from torchlint.facts.values.origins import spread_options
from torchlint.facts.values.sizes import Sizes
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.imports import Found

READING = ("__getitem__", "__getitems__", "__iter__")
"""Methods by which a worker reads a data set."""

NUM_WORKERS = (5, "num_workers")
OPENERS = frozenset(
    ["open", "imread", "load", "loadmat", "read_image", "join", "Path", "exists", "isfile", "VideoReader",
     "loadtxt", "genfromtxt", "fromfile", "memmap", "read_csv"]
)  # fmt: skip
"""Last names of functions that take the name of a file."""

TEXT_METHODS = frozenset(["strip", "rstrip", "lstrip", "replace", "removesuffix", "removeprefix", "split", "decode"])
"""Methods of a text that give it, or a part of it, in another form."""

DEPTH = 3
"""How many calls deep a method of the data set is followed."""


@dataclass(frozen=True)
class Hoard:
    """Objects of a data set that every worker has for itself in time.

    Attributes:
        statement: where the list is made, or where the cache is filled.
        name: the attribute.
        cls: the data set.
        loader: the call that makes the loader with workers; None where that stands in another file.
        is_cache: True when the workers fill it themselves.
        elsewhere: the name of that file.
    """

    statement: cst.CSTNode
    name: str
    cls: Class
    loader: Value | None
    is_cache: bool
    elsewhere: str = ""


def hoards(facts: Facts) -> list[Hoard]:
    """Every hoard of a data set that a loader reads with workers, in the file or in another of the run, each once."""
    found: dict[cst.CSTNode, Hoard] = {}
    for call in facts.calls():
        if _has_workers(facts, call):
            for cls in _datasets_of(facts, call):
                for hoard in _Reading(facts, cls, call).hoards():
                    found.setdefault(hoard.statement, hoard)
    known = {hoard.cls for hoard in found.values()}
    for cls in facts.graph.classes:
        if cls not in known and _is_dataset(cls):
            for hoard in _read_elsewhere(facts, cls):
                found.setdefault(hoard.statement, hoard)
    return list(found.values())


def _is_dataset(cls: Class) -> bool:
    known = (torch_api.torch_class(base) for base in cls.all_bases())
    return any(one is not None and one.kind == "dataset" for one in known) and any(map(cls.method, READING))


def keeps_sample(facts: Facts, store: Store) -> bool:
    """Whether an insertion puts an item for each sample into an attribute of a data set, whose index finds it there."""
    owner = store.function.owner
    if owner is None or store.holder is None or not _is_dataset(owner):
        return False
    reading, homes = _Reading(facts, owner, None), set(homes_of(facts.solution, store.holder))
    filled = (
        place
        for place in reading.places
        if place in homes or not homes.isdisjoint(facts.solution.stored.get(place, ()))
    )
    return any(map(reading.is_indexed, filled))


def _read_elsewhere(facts: Facts, cls: Class) -> list[Hoard]:
    """The hoards of a data set whose loader stands in another file; that is only looked for where there are any."""
    kept = list(_Reading(facts, cls, None).hoards())
    path = _loaded_in(facts, cls) if kept else None
    return [] if path is None else [replace(hoard, elsewhere=os.path.basename(path)) for hoard in kept]


def _loaded_in(facts: Facts, cls: Class) -> str | None:
    """The other file in which workers read a data set, or one that derives from it and is read as it is."""
    own = (one for one in facts.graph.classes if cls in one.lineage())
    alike = (one for one in own if all(one.method(name) is cls.method(name) for name in READING))
    or_here = not any(_makes_loader(call) for call in facts.calls())  # what it makes itself is known better
    here = (facts.loaded_in(one.name, or_here=or_here) for one in alike)
    derived = (found for found in facts.derived_elsewhere(cls.name) if not _reads_otherwise(found))
    paths = chain(here, (found.imports.loaded_in(found.name, or_here=True) for found in derived))
    return next((path for path in paths if path is not None), None)


def _reads_otherwise(found: Found) -> bool:
    """Whether a class of another file has methods of its own by which workers read, or is not known."""
    summary = found.summarise()
    classes = [cls for cls in summary.classes if cls.name == found.name] if summary is not None else []
    return not classes or any(method.name in READING for cls in classes for method in cls.methods)


def _has_workers(facts: Facts, call: Value) -> bool:
    """Whether a CALL makes a loader that starts workers; a number that is not written there counts as some."""
    if not _makes_loader(call):
        return False
    workers = call.argument(*NUM_WORKERS) or (spread_options(facts.solution, call) or {}).get(NUM_WORKERS[1])
    return workers is not None and literal(facts.solution, workers) not in (0, None)


def _makes_loader(call: Value) -> bool:
    made = torch_api.torch_class(call.callee.name) if call.callee.op is Op.EXTERNAL else None
    return made is not None and made.kind == "loader"


def _datasets_of(facts: Facts, loader: Value) -> list[Class]:
    """The classes of the file whose instances the loader reads, directly or by a ``Subset`` of them."""
    given = loader.argument(0, "dataset")
    if given is None:
        return []
    found = dict.fromkeys(
        atom.cls
        for value in given.computed_from()
        for atom in sorted_values(facts.solution.final(value))
        if isinstance(atom, Instance) and any(atom.cls.method(name) for name in READING)
    )
    return list(found)


class _Reading:
    """What the workers of one loader read of one data set."""

    def __init__(self, facts: Facts, cls: Class, loader: Value | None) -> None:
        self.facts, self.cls, self.loader = facts, cls, loader
        self.solution = facts.solution
        self.sizes = Sizes(facts)

    def hoards(self) -> Iterator[Hoard]:
        """Large lists and dicts first, then caches."""
        for place in self.places:
            for store in self._stores_of(place):
                if not self._is_converted(place) and self.sizes.is_large(store.value, self.is_indexed(place)):
                    yield Hoard(store.statement, self._name(place), self.cls, self.loader, False)
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.function in self.functions:
                for place in self._filled(store):
                    yield Hoard(store.statement, self._name(place), self.cls, self.loader, True)

    def _name(self, place: Place) -> str:
        held_by = self._helpers.get(place.owner) if isinstance(place.owner, Class) else None
        return f"self.{place.path}" if held_by is None else f"self.{held_by.path}.{place.path}"

    @cached_property
    def functions(self) -> dict[Function, None]:
        """The methods by which a worker reads, and what they call."""
        found: dict[Function, None] = {}
        frontier = [method for name in READING if (method := self.cls.method(name)) is not None]
        for _ in range(DEPTH):
            found.update(dict.fromkeys(frontier))
            calls = (call for function in frontier for call in self.facts.steps.calls_in(function))
            called = [callee for call in calls for callee in self.solution.functions_of(call)]
            frontier = [function for function in called if function not in found and function.name != "__len__"]
        return found

    @cached_property
    def places(self) -> list[Place]:
        """The attributes of the data set that are read there."""
        reads = (
            value for value in self.facts.graph.values if value.op is Op.ATTRIBUTE and value.function in self.functions
        )
        found = dict.fromkeys(place for value in reads for place in self.solution.read_from(value))
        return [place for place in found if place.owner is self.cls.root()]

    @cached_property
    def _helpers(self) -> dict[Class, Place]:
        """The other classes of the file of which the data set holds an instance, with the attribute that does."""
        found: dict[Class, Place] = {}
        for place in self.places:
            for value in self.solution.stored.get(place, ()):
                for atom in sorted_values(self.solution.final(value)):
                    if isinstance(atom, Instance) and atom.cls.root() is not self.cls.root():
                        found.setdefault(atom.cls.root(), place)
        return found

    def _stores_of(self, place: Place) -> list[Store]:
        stores = (store for store in self.facts.graph.stores if store.kind is Kind.ASSIGN)
        return [store for store in stores if place in targets_of(self.solution, store)]

    def _is_converted(self, place: Place) -> bool:
        """Whether the attribute is made an array or a tensor of, at some time."""
        return any(self.sizes.is_array(value) for value in self.solution.stored.get(place, ()))

    def is_indexed(self, place: Place) -> bool:
        """Whether the attribute has an item for each sample: it is read by the index itself, or walked through.

        Or by one of its own keys, which the index finds in a list of them.

        What is only a list of files is not: a path for each file is little beside the file. A record that has a path
        among its fields is a dict of objects all the same.
        """
        items = [
            value
            for value in self.facts.graph.values
            if value.function in self.functions and value.op in (Op.SUBSCRIPT, Op.ELEMENT)
            and value.inputs and place in self.solution.read_from(value.inputs[0])
        ]  # fmt: skip
        is_of_samples = any(_is_of_sample(item) or self._is_of_own_key(item, place) for item in items)
        return is_of_samples and not any(_is_path(item) and not _is_record(item) for item in items)

    def _is_of_own_key(self, item: Value, place: Place) -> bool:
        """``self.rows[self.names[index]]`` where ``self.names = sorted(self.rows)``."""
        indices = self.solution.graph.indices.get(item, ())
        key = indices[0] if len(indices) == 1 else None
        if key is None or key.op is not Op.SUBSCRIPT or not _is_of_sample(key):
            return False
        return any(self.sizes.is_as_long_as(value, place) for value in stored_at(self.solution, key.inputs[0]))

    # -- caches ---------------------------------------------------------------------------------------------------

    def _filled(self, store: Store) -> list[Place]:
        """The attributes of the data set into which ``store`` puts one more object for each index, without end."""
        if store.holder is None or (store.is_item and (store.key is not None or store.index is None)):
            return []
        places = [home for home in homes_of(self.solution, store.holder) if isinstance(home, Place)]
        return [
            place
            for place in places
            if (place.owner is self.cls.root() or (place.owner in self._helpers and self._is_index(store.index)))
            and self._is_container(place)
            and not self._is_kept_small(place)
            and not self._replaces(store, place)
        ]

    def _replaces(self, store: Store, place: Place) -> bool:
        """``self.files[i] = Path(self.files[i])``: whether an item is put in the place of what it is made of."""
        items = (part for part in store.value.computed_from() if part.op is Op.SUBSCRIPT)
        return store.is_item and any(place in self.solution.read_from(item.inputs[0]) for item in items)

    def _is_index(self, key: Value | None) -> bool:
        """Whether a key is the very index that the loader asks for, passed on from function to function."""
        method = self.cls.method(READING[0])
        asked = set(method.parameters[1:2]) if method is not None else set()
        given = [key] if key is not None else []
        for _ in range(DEPTH):
            if not asked.isdisjoint(given):
                return True
            given = [one for value in given if value.op is Op.PARAMETER for one in self.solution.arguments_of(value)]
        return False

    def _is_container(self, place: Place) -> bool:
        made = self.solution.stored.get(place, ())
        return bool(made) and all(
            _is_list_of_blanks(value)
            or any(
                isinstance(atom, Container) and not is_bounded(atom.allocation) for atom in self.solution.final(value)
            )
            for value in made
        )

    def _is_kept_small(self, place: Place) -> bool:
        """Whether something is dropped from it again, or its length is looked at when it is filled."""
        for reset in self.facts.graph.resets:
            if place in homes_of(self.solution, reset.holder):
                return True
        for value in self.facts.graph.values:
            if value.op is Op.COMPARISON and value.function in self.functions:
                parts = (part for side in value.inputs for part in side.computed_from())
                if any(self._is_length(part, place) for part in parts):
                    return True
            drops = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in ("popitem", "pop")
            if drops and place in self.solution.read_from(value.callee.inputs[0]):
                return True
        return False

    def _is_length(self, value: Value, place: Place) -> bool:
        if value.op is not Op.CALL or value.callee.name != "builtins.len" or not value.arguments:
            return False
        return place in self.solution.read_from(value.arguments[0])


def _is_of_sample(item: Value) -> bool:
    names = {parameter.name for parameter in item.function.parameters[1:]}
    return item.op is Op.ELEMENT or _is_read_by(item.syntax, names)


def _is_path(item: Value) -> bool:
    """Whether an item, or the item of an item, is the name of a file: it is opened, or joined to a folder."""
    return any(
        (user.op is Op.CALL and user.callee.name.rpartition(".")[2] in OPENERS and user.callee is not item)
        or (user.op in _PARTS and user is not item and _is_path(user))
        or (user.op is Op.ATTRIBUTE and user.name in TEXT_METHODS and any(map(_is_path, user.calls)))
        for user in item.users
        if user.index > item.index
    )


_PARTS = (Op.SUBSCRIPT, Op.ELEMENT, Op.OPERATION, Op.PHI)


def _is_record(item: Value) -> bool:
    """Whether an item is a dict of which a field is read that is no name of a file."""
    fields = [user for user in item.users if user.op is Op.SUBSCRIPT and user.inputs[0] is item and user is not item]
    return any(isinstance(key, str) and not _is_path(field) for field in fields for key in field.keys[:1])


def _is_read_by(node: cst.CSTNode | None, names: set[str]) -> bool:
    """Whether the key of an item is one of these names, or plain arithmetic with one."""
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return False
    index = node.slice[0].slice
    key = index.value if isinstance(index, cst.Index) else None
    if isinstance(key, cst.BinaryOperation):
        return any(isinstance(part, cst.Name) and part.value in names for part in walk(key))
    return isinstance(key, cst.Name) and key.value in names


def _is_list_of_blanks(value: Value) -> bool:
    """``[None] * n``."""
    return value.op is Op.OPERATION and value.name == "Multiply" and any(i.op is Op.CONTAINER for i in value.inputs)
