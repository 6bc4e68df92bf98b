"""What ``from module import *`` brings: the names that another file defines, and those that it imports itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from torchlint.project.excerpt import Outline
from torchlint.project.modules import Modules

__all__ = ["member", "starred"]

HOPS = 4
"""Over how many files that import everything of each other a name is followed."""


def starred(
    modules: Modules, outline_of: Callable[[str], Outline | None], importer: str, origin: str, names: Collection[str]
) -> dict[str, str]:
    """The full dotted names for which those ``names`` stand that a file imports with all others of a module.

    Args:
        modules: finds files.
        outline_of: the outline of a file by its path; None where it cannot be parsed.
        importer: the file that imports, absolute.
        origin: the module, relative ones with their dots.
        names: the names that are asked for.

    Returns:
        for each name that the module is seen to have what it is; a name that begins with ``_`` is not brought, and what
        the module imports only where it does not say in ``__all__`` what it gives.
    """
    found: dict[str, str] = {}
    for full, wanted in _brought(modules, outline_of, importer, origin, {n for n in names if not n.startswith("_")}):
        found.setdefault(wanted, full)
    return found


def _brought(
    modules: Modules, outline_of: Callable[[str], Outline | None], importer: str, origin: str, names: set[str]
) -> Iterator[tuple[str, str]]:
    pending, seen = [(origin, importer, HOPS)], set[str]()
    while pending and names:
        module, user, hops = pending.pop(0)
        there = modules.locate(user, module)
        if there is None or there.rest or there.path in seen:
            continue
        seen.add(there.path)
        outline = outline_of(there.path)
        if outline is None:
            continue
        says_all = outline.defines("__all__")
        for name in sorted(names):
            imported = None if says_all else outline.imported(name)
            if outline.defines(name):
                full = member(module, name)
            elif imported is not None:
                full = modules.absolute(there.path, imported)
            else:
                continue
            names.discard(name)
            if not full.startswith(".") or user == importer:
                yield full, name
        if hops and not says_all:
            further = (modules.absolute(there.path, star) for star in outline.stars)
            pending += [(star, there.path, hops - 1) for star in further if not star.startswith(".")]


def member(module: str, name: str) -> str:
    """The dotted name of what a module has under ``name``."""
    return f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
