"""Whether gradients are off where other files of a run call a function: by name, out of a table, on a given object.

A call is judged by what stands around it in its file: a ``with``, a decorator.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from torchlint.frameworks import Holds, method_names
from torchlint.guarding import Guarding
from torchlint.project.given_files import GivenFiles
from torchlint.project.guarded_calls import GuardedCalls
from torchlint.project.table_calls import ItemCalls, item_calls
from torchlint.project.tables import CALL, Table, Tables

__all__ = ["Guardings"]


class Guardings:
    """Answers it for the functions and methods of one file after the other."""

    def __init__(self, files: GivenFiles, tables: Tables) -> None:
        """Look through ``files`` when first asked; ``tables`` says which of them hold a function."""
        self._files, self._tables = files, tables
        self._guarded = GuardedCalls(files)
        self._by_name: dict[tuple[str, str], Guarding] = {}
        self._in_tables: dict[tuple[str, str], Guarding] = {}
        self._from_afar: dict[tuple[str, str], Guarding] = {}
        self._item_calls: dict[str, ItemCalls | None] = {}

    @property
    def guards(self) -> dict[str, list[str]]:
        """See :attr:`GuardedCalls.guards`."""
        return self._guarded.guards

    def guarding(self, path: str, name: str) -> Guarding:
        """How the other files call ``name``, a function or a method of the file ``path``.

        A file that does not import ``path`` is taken for one that calls something else of that name.
        """
        if name == "forward" or (name.startswith("__") and name != CALL):
            return Guarding.UNSEEN  # called by other names
        guards = self.guards.get(name, ())
        self._files.sights.ask(name, guards)
        if tables := self._tables.holding(path, name):
            return self._guarding_in_tables(path, name, tables)
        # Most functions are guarded nowhere, and then nobody needs to know who else calls them.
        if not any(other != path and self._files.imports(other, path) for other in guards):
            return self._guarding_from_afar(path, name, guards)
        return self._guarding_by_name(path, name)

    def _guarding_by_name(self, path: str, name: str) -> Guarding:
        """How the files that import ``path`` call what is called ``name``, one of which does with gradients off."""
        key = (path, name)
        with self._files.asked():
            if key not in self._by_name:  # each class of a file may have a method of the name
                others = (one for one in self._files.calling_others(path, name) if self._files.imports(one, path))
                is_open = any(self._guarded.is_called_openly(other, name) for other in others)
                self._by_name[key] = Guarding.MIXED if is_open else Guarding.ALWAYS
            return self._by_name[key]

    def _guarding_in_tables(self, path: str, name: str, tables: Collection[Table]) -> Guarding:
        """How files call a function ``name`` of the file ``path`` by that name, and whatever they take out of tables.

        Where nobody calls anything of a table, the file that does so is not in the run.
        """
        key = (path, name)
        with self._files.asked():
            if key not in self._in_tables:
                self._in_tables[key] = Guarding.ESCAPED  # a table of functions that call what is in it adds nothing
                self._in_tables[key] = self._look_in_tables(path, name, tables)
            return self._in_tables[key]

    def _look_in_tables(self, path: str, name: str, tables: Collection[Table]) -> Guarding:
        found = {*self._ways_by_name(path, name), *self._ways_out_of(tables, path)}
        if not found:
            return Guarding.UNSEEN if all(table.is_class for table in tables) else Guarding.ESCAPED
        if len(found) > 1:
            return Guarding.DOUBTFUL
        return Guarding.ALWAYS if True in found else Guarding.UNSEEN

    def _ways_by_name(self, path: str, name: str) -> Iterator[bool]:
        """Whether other files call a function of the file ``path`` by its name, each time with gradients off or not."""
        for other in self._files.calling_others(path, name) if name != CALL else ():
            if self._files.imports(other, path):
                yield from [True] if other in self.guards.get(name, ()) else []
                yield from [False] if self._guarded.is_called_openly(other, name) else []

    def _ways_out_of(self, tables: Collection[Table], path: str) -> Iterator[bool]:
        """Whether files call what they take out of tables that hold a function of the file ``path``, as above."""
        for table in (one for one in tables if not one.makes):
            for other in self._files.mentioning(table.name):
                if not self._is_near(other, path, tables):
                    continue
                for function, is_guarded in self._calls_of_items(other, table.name):
                    around = self.guarding(other, function) if function and not is_guarded else Guarding.UNSEEN
                    if table.guards or is_guarded or around is Guarding.ALWAYS:
                        yield True
                    elif around is not Guarding.ESCAPED and (other != path or self._is_called_openly(path, function)):
                        yield False

    def _is_near(self, other: str, path: str, tables: Collection[Table]) -> bool:
        """Whether a file may mean one of the tables by its name."""
        places = (path, *(table.path for table in tables))
        return other in places or any(self._files.imports(other, place) for place in places)

    def _calls_of_items(self, path: str, table: str) -> frozenset[tuple[str, bool]]:
        """See :meth:`ItemCalls.of`; none in a file that cannot be parsed."""
        if path not in self._item_calls:
            tree = self._files.tree_of(path)
            self._item_calls[path] = None if tree is None else item_calls(tree, self._guarded.switches)
        found = self._item_calls[path]
        return frozenset() if found is None else found.of(table)

    def _is_called_openly(self, path: str, name: str) -> bool:
        """Whether any file calls a function of the file ``path`` where nothing switches gradients off, "" its body."""
        users = (one for one in self._files.mentioning(name) if one == path or self._files.imports(one, path))
        return not name or any(self._guarded.is_called_openly(user, name) for user in users)

    def _guarding_from_afar(self, path: str, name: str, guards: Sequence[str]) -> Guarding:
        """How files call a method ``name`` of the file ``path`` that they do not import: whoever calls a function does.

        They have its objects from a file that imports them, or are given them: ``torch.load(path)["model"]``. Such a
        call is taken for one of the method where the file reaches no other method of the name.
        """
        others = [other for other in guards if other != path]
        if not others or re.search(rf"^(async\s+)?def\s+{re.escape(name)}\b", self._files.text_of(path), re.MULTILINE):
            return Guarding.UNSEEN
        key = (path, name)
        with self._files.asked():
            if key not in self._from_afar:
                self._from_afar[key] = self._look_from_afar(path, name, others)
            return self._from_afar[key]

    def _look_from_afar(self, path: str, name: str, others: Sequence[str]) -> Guarding:
        if any(path in self._files.reached_by(other) for other in others):
            return Guarding.ALWAYS
        if name in method_names(Holds.GUARDED) or not any(self._may_be_given(o, path, name) for o in others):
            return Guarding.UNSEEN
        is_open = any(
            (self._files.imports(other, path) or self._may_be_given(other, path, name))
            and self._guarded.is_called_openly(other, name)
            for other in self._files.calling_others(path, name)
            if f".{name}(" in self._files.text_of(other)
        )
        return Guarding.DOUBTFUL if is_open else Guarding.ALWAYS

    def _may_be_given(self, other: str, path: str, name: str) -> bool:
        """Whether a file of the same project calls ``name`` on what may be an object of the file ``path``.

        It may as well where it knows a base of a class of that file only, which then is what it writes.
        """
        reached, bases = self._files.reached_by(other), self._files.bases_of(path)
        if reached.isdisjoint(bases) and not self._files.modules.are_together(other, path):
            return False
        return reached.isdisjoint(self._files.defining_others(path, name) - bases)
