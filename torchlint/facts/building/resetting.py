"""What calls may set anew: attributes, items under a constant key and globals that functions of the file assign.

It is read from the text, by names alone, since nothing is solved yet where the graph is built: a call of ``run`` may
be one of any function of that name, and a call of an object one of any ``forward``, ``__call__`` or hook of the file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import libcst as cst

from torchlint import torch_api
from torchlint.facts.building.names import BUILTINS, bound_targets, imported_name, path_of
from torchlint.facts.values.reaching import reached
from torchlint.syntax.tree import HOLD_STATEMENTS, LEAVES, READERS, children, dotted

OBJECTS = "<objects>"
"""Stands for all that a call of an object may run, and of what is handed to somebody who calls it."""

CALLED_AS_OBJECTS = frozenset(["forward", "__call__", "training_step", "step", "closure"])
"""The methods that run where an object is called, or a framework or an optimizer is handed it."""

PLAIN = BUILTINS.union(*map(dir, (list, dict, set, str, tuple, int, float)))
"""Functions that are built in and the methods of what they make, which run nothing of the file."""

BINDING = frozenset([cst.Assign, cst.AugAssign, cst.AnnAssign, cst.For, cst.NamedExpr, cst.AsName, cst.Call])
"""What may set an attribute or an item; of calls ``setattr``, and methods that work in place."""

LIBRARIES = ("torch.", "builtins.", "numpy.")
"""How the names of functions begin that set nothing on objects of the file."""

RUNNING = frozenset(["functional_call", "checkpoint", "checkpoint_sequential", "data_parallel"])
"""Functions of torch that call what they are given."""


Settings: TypeAlias = Mapping[str, frozenset[str]]
"""How paths end that something sets, ``.total``, ``['loss']``, a global; each with the classes on whose own objects.

Among these is "" where it is set on any object.
"""


@dataclass
class _Written:
    """One function of the file, as it is written: what it sets, by its end and its class, and what it calls."""

    settings: set[tuple[str, str]] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)


class Resetting:
    """Says what the calls of one file may set anew."""

    def __init__(self, module: cst.Module, imports: Mapping[str, str]) -> None:
        """Read ``module``, whose imports bind ``imports``."""
        self._imports = imports
        self._bases: dict[str, list[str]] = {}
        self._functions: dict[str, _Written] = defaultdict(_Written)
        self._attributes: set[str] = set()
        self._known: dict[str, Settings] = {}
        handed, named, free = set(CALLED_AS_OBJECTS), set[str](), set[str]()
        self._texts: set[str] = set()
        self._looks_up = False
        for node, owner, is_nested in _definitions(module):
            if isinstance(node, cst.ClassDef):
                bases = [(dotted(one.value) or "").rpartition(".")[2] for one in node.bases]
                self._bases[node.name.value] = bases
                self._functions[node.name.value].calls |= {f"{node.name.value}.__init__", *bases}
                free.add(node.name.value)
                continue
            self._read(node, owner, handed, named)
            if is_nested:
                handed.add(node.name.value)
            if not owner:
                free.add(node.name.value)
        if self._looks_up:  # `getattr(plugin, hook)(self)` calls the method whose name somebody has passed for `hook`
            handed |= self._texts
        # A variable may be called as a method is: only an attribute is one that is handed over.
        self._functions[OBJECTS].calls |= (handed | (named & free)) & self._functions.keys()
        self._spread()

    def by(self, name: str, *, is_own: bool) -> Settings:
        """What a call of something named ``name`` may set.

        Args:
            name: a function, a variable that has an object, or a method; "" for what has no name.
            is_own: whether it is none of a method of any object: a name, or an attribute of the object at hand.
        """
        return self._sets(OBJECTS if not name else name if is_own else f".{name}")

    def by_library(self, name: str) -> Settings:
        """What a call of a function that is not of the project may set, by its full dotted name."""
        return self._sets(OBJECTS) if _runs_objects(name) else {}

    def in_calls(self, body: cst.CSTNode, itself: str) -> Settings:
        """What the calls under ``body`` may set, in a method whose own object is named ``itself``."""
        names = {self._called(node.func, itself) for node in _own(body) if type(node) is cst.Call}
        found: dict[str, frozenset[str]] = {}
        for settings in map(self._sets, names):
            for end, owners in settings.items():
                found[end] = found.get(end, frozenset()) | owners
        return found

    def among(self, paths: Iterable[str], settings: Settings, itself: str, owner: str) -> list[str]:
        """Those of ``paths`` that one of ``settings`` may be of, in a method of the class ``owner`` on ``itself``."""
        found = ((path, end_of(path)) for path in paths)
        return [
            path
            for path, end in found
            if end in settings
            if not itself or path != f"{itself}{end}" or any(self._may_be(one, owner) for one in settings[end])
        ]

    def _sets(self, name: str) -> Settings:
        entry = self._entry_of(name)
        if entry not in self._known:
            found: dict[str, set[str]] = defaultdict(set)
            for end, owner in self._functions[entry].settings if entry in self._functions else ():
                found[end].add(owner)
            self._known[entry] = {end: frozenset(owners) for end, owners in found.items()}
        return self._known[entry]

    def _may_be(self, owner: str, other: str) -> bool:
        """Whether an object of the class ``owner``, "" of any, may be one of another class."""
        return not owner or owner in self._lineage(other) or other in self._lineage(owner)

    def _lineage(self, name: str) -> set[str]:
        return set(reached([name], lambda one: self._bases.get(one, ())))

    def _read(self, node: cst.FunctionDef, owner: str, handed: set[str], named: set[str]) -> None:
        """Note what a function sets and calls, and the attributes and the names that it hands to others."""
        name = node.name.value
        itself = node.params.params[0].name.value if owner and node.params.params else ""
        written = self._functions[f"{owner}.{name}" if name == "__init__" else name]
        for inner in _own(node.body):
            kind = inner.__class__
            if kind is cst.Call:
                written.calls.add(self._called(inner.func, itself))  # type: ignore[attr-defined]
                self._looks_up = self._looks_up or _looks_up_what_is_passed(inner)
            elif kind is cst.Arg:
                given = inner.value  # type: ignore[attr-defined]
                if given.__class__ is cst.Name:
                    named.add(given.value)
                elif given.__class__ is cst.Attribute:
                    handed.add(given.attr.value)
                elif given.__class__ is cst.SimpleString:
                    self._texts.add(given.value.strip("'\""))
            elif kind is cst.Global or kind is cst.Nonlocal:
                written.settings |= {(item.name.value, "") for item in inner.names}  # type: ignore[attr-defined]
            if kind in BINDING:
                self._note(inner, written, itself, owner, is_new=name == "__init__")

    def _note(self, node: cst.CSTNode, written: _Written, itself: str, owner: str, *, is_new: bool) -> None:
        """Note the attributes and items that one node of a function sets; ``is_new``: its own object is being made."""
        for target in bound_targets(node):
            path = None if target.__class__ is cst.Name else path_of(target)
            if path is not None:
                end = end_of(path)
                self._attributes.add(end[1:])
                is_own = path == f"{itself}{end}"
                if not (is_own and is_new):  # what an `__init__` begins nobody knew
                    written.settings.add((end, owner if is_own else ""))

    def _called(self, function: cst.BaseExpression, itself: str) -> str:
        """The name under which a function is called, with a dot before that of a method of any object.

        That of a library's is "".
        """
        root: cst.CSTNode = function
        while root.__class__ is cst.Attribute:
            root = root.value
        if type(root) is cst.Name and root.value in self._imports:
            full = imported_name(self._imports, function)
            if full is not None and not _runs_objects(full):
                return ""
        if type(function) is cst.Name:
            return function.value
        if type(function) is not cst.Attribute:
            return OBJECTS
        is_own = type(function.value) is cst.Name and function.value.value == itself
        return function.attr.value if is_own else f".{function.attr.value}"

    def _entry_of(self, name: str) -> str:
        """Which entry of the table stands for a call of something named ``name``; "" for none."""
        plain = name.removeprefix(".")
        if plain in self._functions:
            return plain
        if not plain or plain in PLAIN or torch_api.method(plain) is not None:
            return ""
        return OBJECTS if name == plain or plain in self._attributes else ""

    def _spread(self) -> None:
        """Whoever calls a function sets what that sets."""
        callers: dict[str, set[str]] = defaultdict(set)
        for name, written in self._functions.items():
            for called in written.calls:
                callers[self._entry_of(called)].add(name)
        pending = [name for name, written in self._functions.items() if written.settings]
        while pending:
            name = pending.pop()
            settings = self._functions[name].settings
            for caller in callers[name]:
                if not settings <= self._functions[caller].settings:
                    self._functions[caller].settings |= settings
                    pending.append(caller)


def _runs_objects(name: str) -> bool:
    """Whether an imported function may run what it is given."""
    return not name.startswith(LIBRARIES) or name.rpartition(".")[2] in RUNNING


def _looks_up_what_is_passed(call: Any) -> bool:
    """Whether a call looks an attribute up of which it does not say the name: ``getattr(plugin, hook)``."""
    if type(call.func) is not cst.Name or call.func.value != "getattr" or len(call.args) < 2:
        return False
    return type(call.args[1].value) is not cst.SimpleString


def _own(body: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """All under ``body`` but what stands in functions and classes that are defined there; lambdas belong to it."""
    pending = [body]
    while pending:
        node = pending.pop()
        kind = node.__class__
        yield node
        if kind not in LEAVES and kind is not cst.FunctionDef and kind is not cst.ClassDef:
            pending += READERS[kind](node)


def _definitions(module: cst.Module) -> Iterator[tuple[cst.FunctionDef | cst.ClassDef, str, bool]]:
    """Each function and class of a file, with the class whose method it is, and whether it stands in a function."""
    pending: list[tuple[cst.CSTNode, str, bool]] = [(module, "", False)]
    while pending:
        node, owner, is_nested = pending.pop()
        kind = node.__class__
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            yield node, owner, is_nested
            inside = node.name.value if kind is cst.ClassDef else ""
            pending += [(child, inside, kind is cst.FunctionDef) for child in children(node.body)]
        elif node is module or kind in HOLD_STATEMENTS:
            pending += [(child, owner, is_nested) for child in children(node)]


def end_of(path: str) -> str:
    """The last part of a path: ``.total`` of ``self.total``, ``['loss']`` of ``stats['loss']``; all of a name."""
    if not path.endswith("]"):
        return path[max(path.rfind("."), 0) :]
    depth = 0
    for at in range(len(path) - 1, -1, -1):
        depth += (path[at] == "]") - (path[at] == "[")
        if depth == 0:
            return path[at:]
    return path
