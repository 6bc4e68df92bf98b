"""Who calls a function from other files, and whether gradients are off there; who reads a data set of another file.

Only files that were given to the run are looked at, and only for a function of which a finding would say that no caller
guards it. A call is judged by what stands around it in its file: a ``with``, a decorator.
"""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property

from torchlint.frameworks import Holds, method_names
from torchlint.guarding import Guarding
from torchlint.project.batches import batches_passed
from torchlint.project.given import given_arguments
from torchlint.project.guarded_calls import GuardedCalls
from torchlint.project.loaders import LOADER, reads_with_workers
from torchlint.project.loops import called_in_loops
from torchlint.project.made_anew import MadeAnew
from torchlint.project.modules import INITIALIZER, Modules
from torchlint.project.sights import Sights, given_state
from torchlint.project.single_calls import Parameter, PlacedCall, calls_of
from torchlint.project.table_calls import calls_of_items
from torchlint.project.tables import CALL, Table, Tables
from torchlint.project.trained import may_train, trains_on_result
from torchlint.project.uses import BY_NAME, uses_attribute, uses_result
from torchlint.syntax.imported_names import imported_names

__all__ = ["Callers"]

_DEFINITION = re.compile(r"\bdef\s+(\w+)")

_CALL = re.compile(r"\b(\w+)\(")

_READING_BY_NAME = re.compile(rf"\b({'|'.join(sorted(BY_NAME))})\(")

CALL_STEPS = 3
"""So many functions up it is asked whether each is called once."""

IMPORT_STEPS = 3
"""So many imports lie between a file that calls a method and the one that defines it, at most."""


class Callers:
    """The calls in the files of a run, by the name that is called."""

    def __init__(
        self,
        given: tuple[str, ...],
        modules: Modules,
        text_of: Callable[[str], str],
        tree_of: Callable[[str], ast.Module | None],
        sights: Sights,
        *,
        made_anew: MadeAnew,
        tables: Tables,
    ) -> None:
        """Look through the files ``given`` when first asked.

        ``text_of`` reads one, ``tree_of`` parses one if that can be done, ``sights`` keeps account, ``made_anew`` says
        what is new with each call, ``tables`` which of them hold a function.
        """
        self._given = given
        self._modules = modules
        self._sights = sights
        self._tables = tables
        self._text_of = text_of
        self._tree_of = tree_of
        self._made_anew = made_anew
        self._reached: dict[str, frozenset[str]] = {}
        self._known_importers: dict[str, tuple[str, ...]] = {}
        self._guarded = GuardedCalls(given, text_of, tree_of, sights)
        self._called_in_loops: dict[str, dict[str, list[tuple[int, ...]]]] = {}
        self._batches_passed: dict[tuple[str, str], frozenset[int | str]] = {}
        self._imported: dict[str, tuple[frozenset[str], Collection[tuple[str, str]]]] = {}
        self._in_tables: dict[tuple[str, str], Guarding] = {}
        self._from_afar: dict[tuple[str, str], Guarding] = {}

    def guarding(self, path: str, name: str) -> Guarding:
        """How the other files call ``name``, a function or a method of the file ``path``.

        A file that does not import ``path`` is taken for one that calls something else of that name.
        """
        if name == "forward" or (name.startswith("__") and name != CALL):
            return Guarding.UNSEEN  # called by other names
        guards = self.guards.get(name, ())
        self._sights.ask(name, guards)
        if tables := self._tables.holding(path, name):
            return self._guarding_in_tables(path, name, tables)
        # Most functions are guarded nowhere, and then nobody needs to know who else calls them.
        if not any(other != path and self._imports(other, path) for other in guards):
            return self._guarding_from_afar(path, name, guards)
        self._sights.ask_everybody()
        with self._sights.unnoted():
            others = (o for o in self._given if o != path and name in self._text_of(o) and self._imports(o, path))
            return (
                Guarding.MIXED
                if any(self._guarded.is_called_openly(other, name) for other in others)
                else Guarding.ALWAYS
            )

    def _guarding_in_tables(self, path: str, name: str, tables: Collection[Table]) -> Guarding:
        """How files call a function ``name`` of the file ``path`` by that name, and whatever they take out of tables.

        Where nobody calls anything of a table, the file that does so is not in the run.
        """
        self._sights.ask_everybody()
        key = (path, name)
        if key not in self._in_tables:
            self._in_tables[key] = Guarding.ESCAPED  # a table of functions that call what is in it adds nothing
            with self._sights.unnoted():
                found = {way for other in self._given for way in self._ways(other, path, name, tables)}
            if not found:
                is_held = not all(table.is_class for table in tables)
                self._in_tables[key] = Guarding.ESCAPED if is_held else Guarding.UNSEEN
            else:
                both = Guarding.DOUBTFUL if len(found) > 1 else None
                self._in_tables[key] = both or (Guarding.ALWAYS if True in found else Guarding.UNSEEN)
        return self._in_tables[key]

    def _ways(self, other: str, path: str, name: str, tables: Collection[Table]) -> Iterator[bool]:
        """Whether a file calls a function of the file ``path`` with gradients off, by its name or out of tables."""
        text, imports = self._text_of(other), self._imports(other, path)
        if imports and name in text and other != path and name != CALL:
            yield from [True] if other in self.guards.get(name, ()) else []
            yield from [False] if self._guarded.is_called_openly(other, name) else []
        is_near = imports or other == path or any(other == one.path or self._imports(other, one.path) for one in tables)
        tree = self._tree_of(other) if is_near and any(one.name in text for one in tables) else None
        for table in (one for one in tables if not one.makes):
            calls = calls_of_items(tree, table.name, self._guarded.switches) if tree is not None else ()
            for function, is_guarded in calls:
                around = self.guarding(other, function) if function and not is_guarded else Guarding.UNSEEN
                if table.guards or is_guarded or around is Guarding.ALWAYS:
                    yield True
                elif around is not Guarding.ESCAPED and (other != path or self._is_called_openly(path, function)):
                    yield False

    def _is_called_openly(self, path: str, name: str) -> bool:
        """Whether any file calls a function of the file ``path`` where nothing switches gradients off, "" its body."""
        users = (one for one in self._given if name in self._text_of(one) and (one == path or self._imports(one, path)))
        return not name or any(self._guarded.is_called_openly(user, name) for user in users)

    def _guarding_from_afar(self, path: str, name: str, guards: Sequence[str]) -> Guarding:
        """How files call a method ``name`` of the file ``path`` that they do not import: whoever calls a function does.

        They have its objects from a file that imports them, or are given them: ``torch.load(path)["model"]``. Such a
        call is taken for one of the method where the file reaches no other method of the name.
        """
        others = [other for other in guards if other != path]
        if not others or re.search(rf"^(async\s+)?def\s+{re.escape(name)}\b", self._text_of(path), re.MULTILINE):
            return Guarding.UNSEEN
        self._sights.ask_everybody()
        key = (path, name)
        if key not in self._from_afar:
            self._from_afar[key] = self._look_from_afar(path, name, others)
        return self._from_afar[key]

    def _look_from_afar(self, path: str, name: str, others: Sequence[str]) -> Guarding:
        with self._sights.unnoted():
            if any(path in self._reached_by(other) for other in others):
                return Guarding.ALWAYS
            if name in method_names(Holds.GUARDED) or not any(self._may_be_given(o, path, name) for o in others):
                return Guarding.UNSEEN
            rest = (o for o in self._given if o != path and f".{name}(" in self._text_of(o))
            is_open = any(
                (self._imports(other, path) or self._may_be_given(other, path, name))
                and self._guarded.is_called_openly(other, name)
                for other in rest
            )
            return Guarding.DOUBTFUL if is_open else Guarding.ALWAYS

    def _may_be_given(self, other: str, path: str, name: str) -> bool:
        """Whether a file of the same project calls ``name`` on what may be an object of the file ``path``."""
        reached = self._reached_by(other)
        return self._modules.are_together(other, path) and reached.isdisjoint(
            self._defining_files.get(name, set()) - {path}
        )

    @cached_property
    def _defining_files(self) -> dict[str, set[str]]:
        """The files that define a function, by its name."""
        found: dict[str, set[str]] = defaultdict(set)
        for path in self._given:
            for name in _DEFINITION.findall(self._text_of(path)):
                found[name].add(path)
        return found

    def _reached_by(self, importer: str) -> frozenset[str]:
        """The files that a file imports, and those that these import, a few steps on."""
        if importer not in self._reached:
            found, latest = {importer}, {importer}
            for _ in range(IMPORT_STEPS):
                latest = {path for one in latest for path in self._imported_by(one)} - found
                found |= latest
            self._reached[importer] = frozenset(found)
        return self._reached[importer]

    def importers(self, path: str) -> tuple[str, ...]:
        """The other files that import the file ``path``, or the package by which it is known, sorted."""
        if path not in self._known_importers:
            direct = self._importers.get(path, ())
            packages = [one for one in direct if os.path.basename(one) == INITIALIZER]
            found = {*direct, *(one for package in packages for one in self._importers.get(package, ()))} - {path}
            self._known_importers[path] = tuple(sorted(found))
        self._sights.ask(path, self._known_importers[path])
        return self._known_importers[path]

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        """For each file that is imported by any, those that import it."""
        found: dict[str, list[str]] = {}
        with self._sights.unnoted():
            for importer in self._given:
                for path in self._imported_by(importer):
                    found.setdefault(path, []).append(importer)
        return found

    def imports_others(self, path: str) -> bool:
        """Whether a file imports another one of the run, whose functions it may call."""
        with self._sights.unnoted():
            return any(other in self._all_given and other != path for other in self._imported_by(path))

    @cached_property
    def _all_given(self) -> frozenset[str]:
        return frozenset(self._given)

    def loaded_in(self, path: str, name: str) -> str | None:
        """The first of the other files in which workers read a data set ``name``, a class of the file ``path``."""
        self._sights.ask_everybody()
        with self._sights.unnoted():
            for other in self._given:
                text = self._text_of(other) if other != path else ""
                if LOADER in text and name in text and self._imports(other, path):
                    tree = self._tree_of(other)
                    if tree is not None and reads_with_workers(tree, name):
                        return other
        return None

    def repeats(self, path: str, name: str, without: Sequence[str] = (), *, is_open: bool = False) -> bool:
        """Whether another file that reaches ``path``, and no other definition of ``name``, calls that in a loop.

        In that loop, and those in it, none of the names of ``without`` may be called; ``is_open``: it has to be a
        ``while``.
        """
        self._sights.ask_everybody()
        with self._sights.unnoted():
            others = self._calling_files.get(name, set()) - {path}
            elsewhere = self._defining_files.get(name, set()) - {path} if others else ()
            return any(
                path in self._reached_by(other)
                and self._reached_by(other).isdisjoint(elsewhere)
                and self._is_in_loop(other, name, without, is_open=is_open)
                for other in others
            )

    def pass_batches(self, path: str, name: str) -> frozenset[int | str]:
        """The arguments, by position or keyword, that are batches in all calls of ``name``, a function of ``path``.

        Of files that reach ``path``; nothing where one of these reaches another definition of the name.
        """
        self._sights.ask_everybody()
        if (path, name) not in self._batches_passed:
            with self._sights.unnoted():
                self._batches_passed[path, name] = self._pass_batches(path, name)
        return self._batches_passed[path, name]

    def _pass_batches(self, path: str, name: str) -> frozenset[int | str]:
        others = [one for one in self._calling_files.get(name, ()) if one != path and path in self._reached_by(one)]
        elsewhere = self._defining_files.get(name, set()) - {path} if others else ()
        if not all(self._reached_by(other).isdisjoint(elsewhere) for other in others):
            return frozenset()
        trees = [tree for other in others if (tree := self._tree_of(other)) is not None]
        passed = [found for tree in trees if (found := batches_passed(tree, name)) is not None]
        return frozenset.intersection(*passed) if passed else frozenset()

    def given_arguments(self, path: str, name: str) -> frozenset[int | str] | None:
        """The arguments, by position or keyword, that any call of ``name`` of the file ``path`` gives in other files.

        None where one of those that reach ``path`` may give others.
        """
        self._sights.ask_everybody()
        with self._sights.unnoted():
            naming = (one for one in self._given if one != path and re.search(rf"\b{name}\b", self._text_of(one)))
            trees = [self._tree_of(other) for other in naming if path in self._reached_by(other)]
            found = [None if tree is None else given_arguments(tree, name) for tree in trees]
            known = [given for given in found if given is not None]
            return frozenset().union(*known) if len(known) == len(found) else None

    def call_once(self, path: str, name: str, parameters: Sequence[Parameter] = ()) -> bool:
        """Whether other files that import ``path`` call ``name``, and each of them once as a program runs.

        Or once for an object: for the one that is being made there, or for one that was just made in the same function
        and is given for all of the ``parameters``.
        """
        self._sights.ask_everybody()
        with self._sights.unnoted():
            return self._are_single(path, name, tuple(parameters), CALL_STEPS, is_own=False)

    def _are_single(self, path: str, name: str, parameters: tuple[Parameter, ...], steps: int, *, is_own: bool) -> bool:
        """See :meth:`call_once`; ``is_own``: the calls of the file itself count as well."""
        users = [
            one
            for one in sorted(self._calling_files.get(name, ()))
            if (is_own if one == path else self._imports(one, path))
        ]
        trees = [(user, tree) for user in users if (tree := self._tree_of(user)) is not None]
        calls = [(user, call) for user, tree in trees for call in calls_of(tree, name)]
        return bool(calls) and all(self._is_single(user, call, parameters, steps) for user, call in calls)

    def _is_single(self, user: str, call: PlacedCall, parameters: tuple[Parameter, ...], steps: int) -> bool:
        if call.is_once or call.is_given_itself():
            return True
        if parameters and all(self._made_anew.is_new(user, call, call.given(one)) for one in parameters):
            return True
        around = call.runs_with if steps else ""
        return around != "" and self._are_single(user, around, call.handed_on(parameters), steps - 1, is_own=True)

    def never_mention(self, path: str, name: str) -> bool:
        """Whether other files of the run reach ``path``, and ``name`` stands in none of those."""
        self._sights.ask_everybody()
        with self._sights.unnoted():
            reaching = [other for other in self._given if other != path and path in self._reached_by(other)]
            return bool(reaching) and not any(re.search(rf"\b{name}\b", self._text_of(one)) for one in reaching)

    def train_on_result(self, path: str, name: str) -> bool:
        """Whether a file that imports ``path`` runs a backward over what its function ``name`` returns."""
        self._sights.ask_everybody()
        with self._sights.unnoted():
            others = (one for one in self._calling_files.get(name, ()) if one != path and self._imports(one, path))
            trees = (self._tree_of(other) for other in others if may_train(self._text_of(other)))
            return any(tree is not None and trains_on_result(tree, name) for tree in trees)

    def only_read(self, path: str, name: str) -> bool:
        """Whether a file that reaches ``path`` calls what has this name, and nobody goes on with more than numbers."""
        self._sights.ask_everybody()
        with self._sights.unnoted():
            calling = [other for other in self._calling_files.get(name, ()) if other != path]
            if not any(path in self._reached_by(other) for other in calling):
                return False
            others = (other for other in self._given if other != path and name in self._text_of(other))
            trees = (self._tree_of(other) for other in others)
            return not any(tree is None or uses_result(tree, name) for tree in trees)

    def may_call(self, path: str, name: str) -> bool:
        """Whether a file of the run calls what has this name, as far as its text tells."""
        return path in self._calling_files.get(name, ())

    @cached_property
    def _calling_files(self) -> dict[str, set[str]]:
        """The files that call or define what has a name, by that name."""
        found: dict[str, set[str]] = defaultdict(set)
        with self._sights.unnoted():
            for path in self._given:
                for name in set(_CALL.findall(self._text_of(path))):
                    found[name].add(path)
        return found

    def _is_in_loop(self, path: str, name: str, without: Sequence[str], *, is_open: bool) -> bool:
        if path not in self._called_in_loops:
            self._called_in_loops[path] = called_in_loops(self._tree_of(path) or ast.Module([], []))
        called = self._called_in_loops[path]
        taken = {loop for one in without for loops in called.get(one, ()) for loop in loops}
        innermost = (loops[-1] for loops in called.get(name, ()))
        return any(loop not in taken and (loop < 0 or not is_open) for loop in innermost)

    def trains_without(self, path: str, attribute: str) -> bool:
        """Whether a file that reaches ``path`` trains, and no other file uses an ``attribute`` of any object.

        Of a file that does not reach ``path``, directly or through what it imports, only that name counts.
        """
        self._sights.ask_everybody()
        with self._sights.unnoted():
            others = [other for other in self._given if other != path]
            trainers = (other for other in others if may_train(self._text_of(other)))
            return any(path in self._reached_by(other) for other in trainers) and not any(
                self._may_use(other, path, attribute) for other in others
            )

    def train_on(self, path: str, attribute: str) -> bool:
        """Whether a file that reaches ``path`` trains, and goes on with an ``attribute`` of some object.

        One that Python asks for, ``__call__``, is written nowhere: whoever trains may go on with it.
        """
        self._sights.ask_everybody()
        is_written = not attribute.startswith("__")
        with self._sights.unnoted():
            return any(
                (not is_written or f".{attribute}" in self._text_of(other))
                and may_train(self._text_of(other))
                and path in self._reached_by(other)
                and (not is_written or self._may_use(other, path, attribute))
                for other in self._given
                if other != path
            )

    def _may_use(self, other: str, path: str, attribute: str) -> bool:
        text = self._text_of(other)
        if re.search(rf"\b{re.escape(attribute)}\b", text) is None and (
            _READING_BY_NAME.search(text) is None or path not in self._reached_by(other)
        ):
            return False
        tree = self._tree_of(other)
        return tree is None or uses_attribute(tree, attribute)

    @cached_property
    def state(self) -> str:
        """The state of all files of the run, see :func:`torchlint.project.sights.given_state`."""
        with self._sights.unnoted():
            for path in self._given:
                self._text_of(path)
        return given_state([(path, self._sights.digest(path)) for path in self._given])

    @property
    def guards(self) -> dict[str, list[str]]:
        """See :attr:`GuardedCalls.guards`."""
        return self._guarded.guards

    def _imports(self, importer: str, path: str) -> bool:
        """Whether a file imports another one, or a package that does."""
        imported = self._imported_by(importer)
        packages = (one for one in imported if os.path.basename(one) == INITIALIZER and one != importer)
        return path in imported or any(path in self._imported_by(package) for package in packages)

    def _imported_by(self, importer: str) -> frozenset[str]:
        return self._sights.remembered(self._imported, importer, lambda: self._imports_in(importer))

    def _imports_in(self, importer: str) -> frozenset[str]:
        located = (self._modules.locate(importer, name) for name in imported_names(self._text_of(importer)))
        return frozenset(location.path for location in located if location is not None)
