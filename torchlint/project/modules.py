"""From an imported name to the file that defines it, within the project that the importing file belongs to.

Only file names are looked at. The folders that are searched depend on where the importing file lies and on nothing
else, so a file alone and the same file among others find the same.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["Location", "Modules"]

INITIALIZER = "__init__.py"

MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
"""What lies in the root of a project."""

HIGHEST = 8
"""How many folders up a project's root is looked for."""

LIBRARIES = frozenset(["torch", "torchvision", "torchaudio", "numpy", "builtins"])
"""Packages that are known by what they do and never read, even where they are the project."""


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

    def __init__(self) -> None:
        """Nothing is looked at before it is asked for."""
        self._packages: dict[str, tuple[str, str]] = {}
        self._projects: dict[str, tuple[str, ...]] = {}
        self._begins: dict[tuple[str, str], bool] = {}
        self._found: dict[tuple[str, tuple[str, ...]], Location | None] = {}

    def absolute(self, importer: str, name: str) -> str:
        """A dotted name with its leading dots replaced by the package that they stand for.

        Args:
            importer: the file in which the name is imported; it need not exist.
            name: as it is imported: ``..meters.AverageMeter``. One that leads above the topmost package keeps its dots.
        """
        bare = name.lstrip(".")
        level = len(name) - len(bare)
        package = self._package_of(_folder_of(importer))[0]
        parts = package.split(".") if package else []
        if level == 0 or level > len(parts):
            return name
        return ".".join([*parts[: len(parts) - level + 1], *([bare] if bare else [])])

    def locate(self, importer: str, name: str) -> Location | None:
        """The file and the definition that an imported name stands for; None when no project has such a module.

        Relative names that lie outside of a package are looked for beside the file, as scripts are written.
        """
        full, folder = self.absolute(importer, name), _folder_of(importer)
        if full.startswith("."):
            beside = full.removeprefix(".")
            return None if not beside or beside.startswith(".") else self._below(folder, tuple(beside.split(".")))
        parts = tuple(full.split("."))
        if parts[0] in LIBRARIES:
            return None
        found = (self._below(root, parts) for root in self._roots(folder))
        return next((location for location in found if location is not None), None)

    def _roots(self, folder: str) -> tuple[str, ...]:
        """The folders from which absolute imports start, the likeliest first."""
        package, above = self._package_of(folder)
        higher = self._project_above(above)
        return (above, *higher) if package else (folder, *higher)

    def _package_of(self, folder: str) -> tuple[str, str]:
        """The dotted name of the package that a folder is ("" for none), and the folder that the package lies in."""
        if folder not in self._packages:
            above, name = os.path.split(folder)
            if name and os.path.isfile(os.path.join(folder, INITIALIZER)):
                package, root = self._package_of(above)
                self._packages[folder] = (f"{package}.{name}" if package else name, root)
            else:
                self._packages[folder] = ("", folder)
        return self._packages[folder]

    def _project_above(self, folder: str) -> tuple[str, ...]:
        """The folders above one, up to the root of its project, and ``src`` there; nothing where no root is found."""
        if folder not in self._projects:
            found, above = [folder], folder
            while len(found) < HIGHEST and not _is_root(above) and above != os.path.dirname(above):
                above = os.path.dirname(above)
                found.append(above)
            self._projects[folder] = (*found, os.path.join(above, "src")) if _is_root(above) else ()
        return self._projects[folder]

    def _below(self, root: str, parts: tuple[str, ...]) -> Location | None:
        """The module below ``root`` that the longest beginning of a dotted name stands for."""
        top = (root, parts[0])
        if top not in self._begins:
            place = os.path.join(*top)
            self._begins[top] = os.path.exists(place) or os.path.isfile(place + ".py")
        if not self._begins[top]:
            return None  # of most names that a file imports, nothing lies in its project
        key = (root, parts)
        if key not in self._found:
            self._found[key] = _module_below(root, parts)
        return self._found[key]


def _folder_of(path: str) -> str:
    return os.path.dirname(os.path.abspath(path))


def _is_root(folder: str) -> bool:
    return any(os.path.exists(os.path.join(folder, mark)) for mark in MARKS)


def _module_below(root: str, parts: tuple[str, ...]) -> Location | None:
    folder, package = root, None
    for position, part in enumerate(parts):
        folder, rest = os.path.join(folder, part), parts[position + 1 :]
        initializer = os.path.join(folder, INITIALIZER)
        if os.path.isfile(initializer):
            package = Location(initializer, rest)
        elif os.path.isfile(folder + ".py"):
            return Location(folder + ".py", rest)
        elif not os.path.isdir(folder):
            break
    return package
