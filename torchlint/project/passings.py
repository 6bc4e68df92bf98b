"""What the files of a run pass to each other's functions, be it that one only hands on what another one gives it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from torchlint.project.arguments import Maker, PassedArguments, passed_arguments
from torchlint.project.excerpt import Outline
from torchlint.project.modules import LIBRARIES
from torchlint.syntax.depth import deep_recursion

if TYPE_CHECKING:
    from torchlint.facts.summaries.imports import Passing
    from torchlint.project.project import Project

__all__ = ["Passings"]

HANDED_ON = 2
"""Over so many more files it is followed who hands on what he was given."""


class Passings:
    """Answers it for one run; the text of a file is looked through when it is first asked for."""

    def __init__(self, project: Project) -> None:
        """Ask ``project`` for files, and for what their names stand for."""
        self._project = project
        self._passed: dict[str, dict[str, tuple[PassedArguments, ...]]] = {}
        self._own: dict[str, dict[str, tuple[PassedArguments, ...]]] = {}

    def to(self, path: str, name: str, hops: int = HANDED_ON) -> list[Passing]:
        """What other files of the run pass to a function, a class or, as ``Class.method``, a method of a file.

        Args:
            path: the file, absolute.
            name: of the function, the class or the method.
            hops: over how many files more it is followed what they were given themselves.

        Returns:
            call by call, the files sorted; after a call what others give him who only hands it on there.
        """
        from torchlint.facts.summaries.imports import Passing

        named, _, method = name.partition(".")
        found: list[Passing] = []
        for caller in self._project.importers(path):
            if self._project.may_call(caller, named) and (not method or self._project.may_call(caller, method)):
                for call in self._in(caller).get(name, ()):
                    if self._leads_to(caller, call.callee, path, named):
                        makers = tuple(self._known_makers(caller, call))
                        found.append(Passing(caller, self._project.imports_of(caller), makers))
                        found += self._handed_on(caller, call, hops)
        return found

    def learn(self, path: str, tree: ast.Module, outline: Outline) -> None:
        """Note what a file passes while its tree is at hand."""
        self._passed[path] = _passed_by(tree, partial(_is_imported, outline))

    def _in(self, path: str) -> dict[str, tuple[PassedArguments, ...]]:
        outline = self._project.outline(path)
        if path not in self._passed:
            tree = None if outline is None else self._project.tree(path)
            self._passed[path] = (
                {} if outline is None or tree is None else _passed_by(tree, partial(_is_imported, outline))
            )
        return self._passed[path]

    def _to_own(self, path: str, name: str) -> Iterator[Passing]:
        """What a file itself passes to one of its functions or classes: where it makes the object that hands it on."""
        from torchlint.facts.summaries.imports import Passing

        if path not in self._own:
            outline = self._project.outline(path)
            tree = None if outline is None else self._project.tree(path)
            self._own[path] = {} if outline is None or tree is None else _passed_by(tree, partial(_is_own, outline))
        for call in self._own[path].get(name, ()):
            if call.callee == name.partition(".")[0]:
                yield Passing(path, self._project.imports_of(path), tuple(self._known_makers(path, call)))

    def _leads_to(self, caller: str, callee: str, path: str, name: str) -> bool:
        full = self._project.full_name(caller, callee)
        found = None if full is None else self._project.find(caller, full)
        return found is not None and (found.path, found.name, found.rest) == (path, name, ())

    def _known_makers(self, caller: str, call: PassedArguments) -> Iterator[tuple[int | str, tuple[Maker, ...]]]:
        """The arguments of a call of which all makers are known, these by the names that the caller imports."""
        for key, makers in call.makers:
            named = [
                maker if maker.container else maker._replace(name=self._project.full_name(caller, maker.name) or "")
                for maker in makers
            ]
            if all((maker.name or maker.container) and maker.given_for is None for maker in named):
                yield key, tuple(named)

    def _handed_on(self, caller: str, call: PassedArguments, hops: int) -> Iterator[Passing]:
        """What other files give to who makes a call, and he hands on as it is."""
        for key, makers in call.makers if hops else ():
            handed = makers[0]
            if len(makers) == 1 and handed.given_for is not None:
                for passing in chain(self.to(caller, handed.name, hops - 1), self._to_own(caller, handed.name)):
                    told = [given for place, given in passing.makers if place in handed.given_for]
                    yield from (replace(passing, makers=((key, _as_handed(given, handed)),)) for given in told)


def _as_handed(makers: Sequence[Maker], handed: Maker) -> tuple[Maker, ...]:
    """What is passed, in the mode into which it is put where it is handed on."""
    in_evaluation, is_frozen = handed.in_evaluation, handed.is_frozen
    return tuple(
        one._replace(in_evaluation=one.in_evaluation or in_evaluation, is_frozen=one.is_frozen or is_frozen)
        for one in makers
    )


def _passed_by(tree: ast.Module, is_wanted: Callable[[str], bool]) -> dict[str, tuple[PassedArguments, ...]]:
    with deep_recursion():
        return passed_arguments(tree, is_wanted)


def _is_imported(outline: Outline, name: str) -> bool:
    imported = outline.imported(name)
    return imported is not None and imported.partition(".")[0] not in LIBRARIES


def _is_own(outline: Outline, name: str) -> bool:
    return outline.definition(name) is not None
