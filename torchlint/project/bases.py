"""Base classes in other files that call the methods of their subclasses with gradients off.

``with torch.no_grad(): output = self.eval_step(batch)``, and each subclass has its own ``eval_step``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.project.callers import calls_itself_guarded
from torchlint.project.excerpt import Outline
from torchlint.project.modules import Location, Modules

__all__ = ["Bases"]

REEXPORTS = 6
"""How many modules a name is followed through that only import it; a circle of them ends here."""


class Bases:
    """The base classes of classes, wherever they stand."""

    def __init__(
        self,
        modules: Modules,
        outline_of: Callable[[str], Outline | None],
        tree_of: Callable[[str], ast.Module | None],
    ) -> None:
        """Read no file yet."""
        self._modules = modules
        self._outline_of = outline_of
        self._tree_of = tree_of
        self._known: dict[tuple[str, str], bool] = {}

    def guard(self, path: str, name: str) -> bool:
        """Whether a base class calls a method ``name`` of a class of the file ``path`` with gradients off."""
        key = (path, name)
        if key not in self._known:
            self._known[key] = any(calls_itself_guarded(cls, name) for cls in self._bases_of(path, name))
        return self._known[key]

    def _bases_of(self, path: str, method: str) -> Iterator[ast.ClassDef]:
        """The bases, all the way up, of the classes in a file that define a method; those of other files."""
        tree = self._tree_of(path)
        classes = [node for node in (tree.body if tree is not None else ()) if isinstance(node, ast.ClassDef)]
        pending = [(path, cls) for cls in classes if _defines(cls, method)]
        seen: set[ast.ClassDef] = set()
        while pending:
            place, cls = pending.pop()
            for base in cls.bases:
                found = self._class_at(place, ast.unparse(base))
                if found is not None and found[1] not in seen:
                    seen.add(found[1])
                    pending.append(found)
                    if found[0] != path:
                        yield found[1]

    def _class_at(self, path: str, name: str) -> tuple[str, ast.ClassDef] | None:
        """Where the class stands that a file writes as ``name``."""
        first, _, rest = name.partition(".")
        outline = self._outline_of(path)
        imported = outline.imported(first) if outline is not None else None
        if imported is None:
            return None if rest else self._defined(path, name)
        location = self._modules.locate(path, f"{imported}.{rest}" if rest else imported)
        return self._followed(location)

    def _followed(self, location: Location | None) -> tuple[str, ast.ClassDef] | None:
        for _ in range(REEXPORTS):
            if location is None or len(location.rest) != 1:
                return None
            found = self._defined(location.path, location.rest[0])
            if found is not None:
                return found
            outline = self._outline_of(location.path)
            imported = outline.imported(location.rest[0]) if outline is not None else None
            location = self._modules.locate(location.path, imported) if imported is not None else None
        return None

    def _defined(self, path: str, name: str) -> tuple[str, ast.ClassDef] | None:
        tree = self._tree_of(path)
        body = tree.body if tree is not None else []
        return next(((path, node) for node in body if isinstance(node, ast.ClassDef) and node.name == name), None)


def _defines(cls: ast.ClassDef, method: str) -> bool:
    return any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == method for node in cls.body)
