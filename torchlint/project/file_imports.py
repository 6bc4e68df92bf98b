"""What one file imports, as the facts ask for it: the questions go to the project, with the file that asks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.guarding import Guarding

if TYPE_CHECKING:
    from torchlint.facts.summaries.imports import Found, Passing
    from torchlint.project.project import Project

__all__ = ["FileImports"]


@dataclass(frozen=True)
class FileImports:
    """What one file imports; see :class:`~torchlint.facts.summaries.imports.Imports`.

    Attributes:
        project: where to look for it.
        path: the file, absolute.
    """

    project: Project
    path: str

    def absolute(self, name: str) -> str:
        return self.project.absolute(self.path, name)

    def starred(self, origin: str, names: Collection[str]) -> Mapping[str, str]:
        return self.project.starred(self.path, origin, names)

    def guarding(self, name: str) -> Guarding:
        return self.project.guarding(self.path, name)

    def loaded_in(self, name: str, *, or_here: bool = False) -> str | None:
        return self.project.callers.loaded_in(self.path, name, or_here=or_here)

    def trains_without(self, attribute: str) -> bool:
        return self.project.readers.trains_without(self.path, attribute)

    def pass_batches(self, name: str) -> frozenset[int | str]:
        return self.project.callers.pass_batches(self.path, name)

    def given_arguments(self, name: str) -> frozenset[int | str] | None:
        return self.project.callers.given_arguments(self.path, name)

    def leave_constant(self, cls: str, attribute: str, parameter: tuple[int, str], constant: object) -> bool:
        return self.project.callers.leave_constant(self.path, cls, attribute, parameter, constant)

    def call_once(self, name: str, parameters: Sequence[tuple[int, str]] = ()) -> bool:
        return self.project.callers.call_once(self.path, name, parameters)

    def never_mention(self, name: str) -> bool:
        return self.project.readers.never_mention(self.path, name)

    def mention(self, name: str) -> bool:
        return self.project.readers.mention(self.path, name)

    def mention_below(self, name: str) -> bool:
        return self.project.readers.mention_below(self.path, name)

    def only_read(self, name: str) -> bool:
        return self.project.readers.only_read(self.path, name)

    def train_on_result(self, name: str) -> bool:
        by_others = self.project.readers.train_on_result(self.path, name)
        return by_others or self.project.bases.train_on_result(self.path, name)

    def train(self) -> bool:
        return self.project.readers.train(self.path)

    def train_beside(self, cls: str, ending: str) -> bool:
        return self.project.readers.train_beside(self.path, cls, ending)

    def train_on(self, attribute: str, *, by_bases: bool = True) -> bool:
        return self.project.readers.train_on(self.path, attribute, by_bases=by_bases)

    def train_through(self, attribute: str) -> bool:
        return self.project.readers.train_through(self.path, attribute)

    def look_at(self, attribute: str) -> bool:
        return self.project.readers.look_at(self.path, attribute)

    def used_below(self, attribute: str) -> bool:
        return self.project.readers.used_below(self.path, attribute)

    def let_go(self, attribute: str) -> bool:
        return self.project.readers.let_go(self.path, attribute)

    def empty(self, attribute: str) -> bool:
        return self.project.readers.empty(self.path, attribute)

    def repeats(self, name: str, without: Sequence[str] = (), *, is_open: bool = False) -> bool:
        by_others = self.project.callers.repeats(self.path, name, without, is_open=is_open)
        return by_others or self.project.bases.repeat(self.path, name, without, is_open=is_open)

    def pass_number(self, name: str, parameter: tuple[int, str]) -> int:
        return self.project.numbers.passed(self.path, name, parameter)

    def passed(self, name: str) -> Sequence[Passing]:
        return self.project.passed(self.path, name)

    def subclasses(self, name: str) -> Sequence[Found]:
        return self.project.subclasses(self.path, name)

    def decorated(self, name: str) -> Sequence[Found]:
        return self.project.decorated(self.path, name)

    def find(self, name: str) -> Found | None:
        return self.project.find(self.path, name)
