"""What a file may ask of its project: what its imports stand for, and who calls its functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

from torchlint.facts.summaries.summary import FunctionSummary, Summary
from torchlint.guarding import Guarding

if TYPE_CHECKING:
    from torchlint.project.arguments import Maker


class Kind(Enum):
    """What defines a name."""

    CLASS = "class"
    FUNCTION = "def"
    OTHER = "an assignment, or several statements"


@dataclass(frozen=True)
class Found:
    """A definition in another file.

    Attributes:
        path: the file, absolute.
        name: its name at the file's top level.
        kind: what defines it, as far as that shows without reading it.
        rest: what of the dotted name is left behind that name: a method, an attribute.
        imports: what that file itself imports.
        summarise: what it is; made when first asked for, None for what cannot be parsed.
        emptied_by: of a global out of which its file takes things, the functions of that file that do so, where the
            importing file calls them itself.
    """

    path: str
    name: str
    kind: Kind
    rest: tuple[str, ...]
    imports: Imports
    summarise: Callable[[], Summary | None]
    emptied_by: tuple[str, ...] = ()

    def function_behind(self, name: str) -> Found | None:
        """The function that this file imports under a dotted name; None for anything else."""
        there = self.imports.find(name)
        return None if there is None or there.kind is not Kind.FUNCTION or there.rest else there

    def as_functions(self) -> Sequence[FunctionSummary]:
        """What the function of this name is, by each of its definitions; nothing for what cannot be parsed."""
        summary = self.summarise()
        return [one for one in (summary.functions if summary is not None else ()) if one.name == self.name]

    def trains_by(self, name: str) -> bool:
        """Whether a backward runs in a function that this file imports under a dotted name."""
        there = self.function_behind(name)
        return there is not None and any(one.trains for one in there.as_functions())


@dataclass(frozen=True)
class Passing:
    """What another file passes in one call of a function or a class.

    Attributes:
        path: that file, absolute.
        imports: what it imports; :meth:`Imports.find` with ":Name" finds what it defines itself.
        makers: for each argument that is known, its position (from 0) or its keyword, and what was called to make it,
            named as these imports name it.
    """

    path: str
    imports: Imports
    makers: Sequence[tuple[int | str, Sequence[Maker]]]


class Imports(Protocol):
    """What the names that one file imports stand for in its project, and what the other files do with its own."""

    @property
    def path(self) -> str:
        """That file, absolute; "" for one that stands alone."""

    def absolute(self, name: str) -> str:
        """A dotted name without leading dots, as far as it can be told."""

    def starred(self, origin: str, names: Collection[str]) -> Mapping[str, str]:
        """The full dotted names for which those ``names`` stand that ``from origin import *`` brings."""

    def find(self, name: str) -> Found | None:
        """The definition behind an imported dotted name; None for what lies outside of the project."""

    def guarding(self, name: str) -> Guarding:
        """How the other files of the run call a function or a method of this one."""

    def loaded_in(self, name: str, *, or_here: bool = False) -> str | None:
        """The other file of the run, or this one, if any, in which workers of a loader read a data set of this one."""

    def trains_without(self, attribute: str) -> bool:
        """Whether another file of the run that reaches this one trains, and none uses such an attribute of objects."""

    def pass_batches(self, name: str) -> frozenset[int | str]:
        """The arguments, by position or keyword, that are batches in all calls of a function in other files."""

    def given_arguments(self, name: str) -> frozenset[int | str] | None:
        """The arguments, by position or keyword, that any call of a function in other files gives; None if unclear."""

    def leave_constant(self, cls: str, attribute: str, parameter: tuple[int, str], constant: object) -> bool:
        """Whether no file of the run makes an attribute of objects of a class of this one anything but a constant.

        Be it by the parameter that decides on it, with its position, from 0 and without ``self``, or -1 for none.
        """

    def call_once(self, name: str, parameters: Sequence[tuple[int, str]] = ()) -> bool:
        """Whether other files of the run call a function or a class of this one, each of them once in a program.

        Or once for each object that they make and give it for all of the parameters, by position and name, the object
        of a method left out.
        """

    def never_mention(self, name: str) -> bool:
        """Whether other files of the run reach this one, and none of them has a name in it."""

    def mention(self, name: str) -> bool:
        """Whether a name stands in another file of the run that reaches this one."""

    def mention_below(self, name: str) -> bool:
        """Whether an attribute of a name is written in another file that this one imports, be it through others."""

    def only_read(self, name: str) -> bool:
        """Whether other files of the run call a function of this one, and make only numbers of what it gives."""

    def train_on_result(self, name: str) -> bool:
        """Whether another file of the run runs a backward over what a function of this one returns."""

    def train(self) -> bool:
        """Whether another file of the run that reaches this one trains."""

    def train_beside(self, cls: str, ending: str) -> bool:
        """Whether another file of the run trains while it has an object of a class of this one.

        It makes one before, and calls the method ``ending`` of it, if at all, after that.
        """

    def train_on(self, attribute: str, *, by_bases: bool = True) -> bool:
        """Whether another file of the run that reaches this one trains, and goes on with such an attribute.

        ``by_bases``: or has a base of a class of this one.
        """

    def train_through(self, attribute: str) -> bool:
        """Whether another file of the run that reaches this one may run a backward over what such an attribute has."""

    def used_below(self, attribute: str) -> bool:
        """Whether a file that this one imports goes on with what objects that it is given have as such an attribute."""

    def look_at(self, attribute: str) -> bool:
        """Whether other files of the run read such an attribute of objects, and all of them only its numbers."""

    def let_go(self, attribute: str) -> bool:
        """Whether another file of the run that reaches this one takes away what objects have as such an attribute."""

    def empty(self, attribute: str) -> bool:
        """Whether another file of the run that reaches this one empties what objects have as such an attribute."""

    def repeats(self, name: str, without: Sequence[str] = (), *, is_open: bool = False) -> bool:
        """Whether another file of the run calls a function of this one in a loop that calls none of these.

        ``is_open``: only a ``while`` counts, whose turns nobody lists.
        """

    def pass_number(self, name: str, parameter: tuple[int, str]) -> int:
        """The largest number that other files pass to a function or a class of this one for a parameter; -1 for none.

        The parameter: by position, from 0 and without ``self``, and name.
        """

    def passed(self, name: str) -> Sequence[Passing]:
        """What the other files of the run pass to a function or a class of this one, call by call."""

    def subclasses(self, name: str) -> Sequence[Found]:
        """The classes of the other files of the run that derive from a class of this one by naming it."""

    def decorated(self, name: str) -> Sequence[Found]:
        """The classes of the files of the run that a function of this one decorates; none where these are many."""


class NoImports:
    """A file that stands alone."""

    path = ""

    def absolute(self, name: str) -> str:
        """The name as it is."""
        return name

    def starred(self, origin: str, names: Collection[str]) -> Mapping[str, str]:
        """Nothing is known."""
        return {}

    def find(self, name: str) -> Found | None:
        """Nothing is known."""
        return None

    def guarding(self, name: str) -> Guarding:
        """Nobody else is seen."""
        return Guarding.UNSEEN

    def loaded_in(self, name: str, *, or_here: bool = False) -> str | None:
        """Nobody else is seen."""
        return None

    def trains_without(self, attribute: str) -> bool:
        """Nobody else is seen."""
        return False

    def pass_batches(self, name: str) -> frozenset[int | str]:
        """Nobody else is seen."""
        return frozenset()

    def given_arguments(self, name: str) -> frozenset[int | str] | None:
        """Nobody else is seen."""
        return None

    def leave_constant(self, cls: str, attribute: str, parameter: tuple[int, str], constant: object) -> bool:
        """Nobody else is seen."""
        return False

    def call_once(self, name: str, parameters: Sequence[tuple[int, str]] = ()) -> bool:
        """Nobody else is seen."""
        return False

    def never_mention(self, name: str) -> bool:
        """Nobody else is seen."""
        return False

    def mention(self, name: str) -> bool:
        """Nobody else is seen."""
        return False

    def mention_below(self, name: str) -> bool:
        """Nobody else is seen."""
        return False

    def only_read(self, name: str) -> bool:
        """Nobody else is seen."""
        return False

    def train_on_result(self, name: str) -> bool:
        """Nobody else is seen."""
        return False

    def train(self) -> bool:
        """Nobody else is seen."""
        return False

    def train_beside(self, cls: str, ending: str) -> bool:
        """Nobody else is seen."""
        return False

    def train_on(self, attribute: str, *, by_bases: bool = True) -> bool:
        """Nobody else is seen."""
        return False

    def train_through(self, attribute: str) -> bool:
        """Nobody else is seen."""
        return False

    def used_below(self, attribute: str) -> bool:
        """Nobody else is seen."""
        return False

    def look_at(self, attribute: str) -> bool:
        """Nobody else is seen."""
        return False

    def let_go(self, attribute: str) -> bool:
        """Nobody else is seen."""
        return False

    def empty(self, attribute: str) -> bool:
        """Nobody else is seen."""
        return False

    def repeats(self, name: str, without: Sequence[str] = (), *, is_open: bool = False) -> bool:
        """Nobody else is seen."""
        return False

    def pass_number(self, name: str, parameter: tuple[int, str]) -> int:
        """Nobody else is seen."""
        return -1

    def passed(self, name: str) -> Sequence[Passing]:
        """Nobody else is seen."""
        return ()

    def decorated(self, name: str) -> Sequence[Found]:
        """Nobody else is seen."""
        return ()

    def subclasses(self, name: str) -> Sequence[Found]:
        """Nobody else is seen."""
        return ()
