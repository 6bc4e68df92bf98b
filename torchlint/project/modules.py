"""From an imported name to the file that defines it, within the project that the importing file belongs to.

Only file names are looked at. The folders that are searched depend on where the importing file lies and on nothing
else, so a file alone and the same file among others find the same.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from torchlint.project.sights import Kind, Sights

__all__ = ["Location", "Modules"]

INITIALIZER = "__init__.py"

MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
"""What lies in the root of a project."""

HIGHEST = 8
"""How many folders up a project's root is looked for."""

LIBRARIES = frozenset(["torch", "torchvision", "torchaudio", "numpy", "builtins"])
"""Packages that are known by what they do and never read, even where they are the project."""


_Notes = Collection[tuple[str, str]]
"""What was looked at for something that is remembered."""


@dataclass(frozen=True)
class Location:
    """Where a name leads.

    Attributes:
        path: the module's file, absolute.
        rest: what is left of the name: the names of a definition and its members; empty for the module itself.
    """

    path: str
    rest: tuple[str, ...]


class Modules:
    """Finds the modules that the files of a run may import from their projects; looks at each folder once."""

    def __init__(self, sights: Sights | None = None) -> None:
        """Nothing is looked at before it is asked for; ``sights`` keeps account of it."""
        self._sights = sights or Sights()
        self._packages: dict[str, tuple[tuple[str, str], _Notes]] = {}
        self._projects: dict[str, tuple[tuple[str, ...], _Notes]] = {}
        self._found: dict[tuple[str, tuple[str, ...]], tuple[Location | None, _Notes]] = {}

    def absolute(self, importer: str, name: str) -> str:
        """A dotted name with its leading dots replaced by the package that they stand for.

        Args:
            importer: the file in which the name is imported; it need not exist.
            name: as it is imported: ``..meters.AverageMeter``. One that leads above the topmost package keeps its dots.
        """
        if not name.startswith("."):
            return name
        bare = name.lstrip(".")
        level = len(name) - len(bare)
        package = self._package_of(_folder_of(importer))[0]
        parts = package.split(".") if package else []
        if level > len(parts):
            return name
        return ".".join([*parts[: len(parts) - level + 1], *([bare] if bare else [])])

    def locate(self, importer: str, name: str) -> Location | None:
        """The file and the definition that an imported name stands for; None when no project has such a module.

        Relative names that lie outside of a package are looked for by the folders, which need no initializer, and where
        a script is written as if its folder had one.
        """
        if name.partition(".")[0] in LIBRARIES:
            return None  # the most, and they are asked for at every mention
        full, folder = self.absolute(importer, name), _folder_of(importer)
        if full.startswith("."):
            bare = full.lstrip(".")
            for _ in range(len(full) - len(bare) - 1):
                folder = os.path.dirname(folder)
            return self._below(folder, tuple(bare.split("."))) if bare else None
        parts = tuple(full.split("."))
        if parts[0] in LIBRARIES:
            return None
        roots = self._roots(folder)
        # `scripts/train.py` of a project without a root puts the folder above on the path, or is run from there.
        searched = (*roots, os.path.dirname(folder)) if roots == (folder,) else roots
        found = (self._below(root, parts) for root in chain(searched, _above_namesake(folder, parts[0])))
        return next((location for location in found if location is not None), None)

    def are_together(self, first: str, second: str) -> bool:
        """Whether two files lie in one project, or beside each other where none has a root."""
        return not set(self._roots(_folder_of(first))).isdisjoint(self._roots(_folder_of(second)))

    def _roots(self, folder: str) -> tuple[str, ...]:
        """The folders from which absolute imports start, the likeliest first."""
        package, above = self._package_of(folder)
        higher = self._project_above(above)
        # A file of a package may be run as a script, which finds what lies beside it.
        return (above, *higher, folder) if package else (folder, *higher)

    def _package_of(self, folder: str) -> tuple[str, str]:
        """The dotted name of the package that a folder is ("" for none), and the folder that the package lies in."""
        return self._sights.remembered(self._packages, folder, lambda: self._package_at(folder))

    def _package_at(self, folder: str) -> tuple[str, str]:
        above, name = os.path.split(folder)
        if not name:
            return "", folder
        is_marked = self._sights.kind(folder, INITIALIZER) is Kind.FILE
        # A folder of a package needs no initializer of its own: https://peps.python.org/pep-0420/
        if not is_marked and self._sights.kind(above, INITIALIZER) is not Kind.FILE:
            return "", folder
        package, root = self._package_of(above)
        return f"{package}.{name}" if package else name, root

    def _project_above(self, folder: str) -> tuple[str, ...]:
        """The folders above one, up to the root of its project, and ``src`` there; nothing where no root is found."""
        return self._sights.remembered(self._projects, folder, lambda: self._project_at(folder))

    def _project_at(self, folder: str) -> tuple[str, ...]:
        found, above = [folder], folder
        while len(found) < HIGHEST and not self._is_root(above) and above != os.path.dirname(above):
            above = os.path.dirname(above)
            found.append(above)
        if not self._is_root(above):
            return ()
        has_sources = self._sights.kind(above, "src") is Kind.FOLDER
        return (*found, os.path.join(above, "src")) if has_sources else tuple(found)

    def _is_root(self, folder: str) -> bool:
        return any(self._sights.kind(folder, mark) is not Kind.MISSING for mark in MARKS)

    def _below(self, root: str, parts: tuple[str, ...]) -> Location | None:
        """The module below ``root`` that the longest beginning of a dotted name stands for."""
        kind, name = self._sights.kind, parts[0]
        if not name or (kind(root, name) is Kind.MISSING and kind(root, f"{name}.py") is not Kind.FILE):
            return None  # of most names that a file imports, nothing lies in its project
        return self._sights.remembered(self._found, (root, parts), lambda: self._module_below(root, parts))

    def _module_below(self, root: str, parts: tuple[str, ...]) -> Location | None:
        kind, above, package = self._sights.kind, root, None
        for position, part in enumerate(parts):
            if not part:
                break  # "a..b" is no name of a module
            folder, rest = os.path.join(above, part), parts[position + 1 :]
            is_folder = kind(above, part) is Kind.FOLDER
            if is_folder and kind(folder, INITIALIZER) is Kind.FILE:
                package = Location(os.path.join(folder, INITIALIZER), rest)
            elif kind(above, f"{part}.py") is Kind.FILE:
                return Location(f"{folder}.py", rest)
            elif not is_folder:
                break
            above = folder
        return package


def _above_namesake(folder: str, name: str) -> Iterator[str]:
    """The folder in which one lies that has a name, and a folder somewhere below: ``lab`` of ``lab/nets/parts``."""
    for _ in range(HIGHEST):
        folder, last = os.path.split(folder)
        if last == name:
            yield folder


def _folder_of(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))
