"""Base classes in other files that call the methods of their subclasses: with gradients off, in a loop, to train on it.

``with torch.no_grad(): output = self.eval_step(batch)``, and each subclass has its own ``eval_step``; ``loss =
self.train_step(batch)`` in the loop of the base class, and its own ``train_step``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from torchlint.project.differentiated import differentiates_result, may_differentiate
from torchlint.project.excerpt import Outline
from torchlint.project.guarded_parts import called_guarded
from torchlint.project.loops import called_in_loops, own_method
from torchlint.project.modules import Location, Modules
from torchlint.syntax.python_tree import walk

__all__ = ["Bases"]

REEXPORTS = 6
"""How many modules a name is followed through that only import it; a circle of them ends here."""


@dataclass(frozen=True)
class _Class:
    """A class at a file's top level.

    Attributes:
        name: its name.
        bases: as they are written.
        methods: the names that it defines itself.
        guards: the methods of ``self`` that it calls with gradients off.
    """

    name: str
    bases: tuple[str, ...]
    methods: frozenset[str]
    guards: frozenset[str]


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
        self._classes: dict[str, dict[str, _Class]] = {}
        self._known: dict[tuple[str, str], bool] = {}
        self._files: dict[str, frozenset[str]] = {}

    def guard(self, path: str, name: str) -> bool:
        """Whether a base class calls a method ``name`` of a class of the file ``path`` with gradients off."""
        key = (path, name)
        if key not in self._known:
            self._known[key] = any(name in cls.guards for _, cls in self._bases_of(path, name))
        return self._known[key]

    def repeat(self, path: str, name: str, without: Sequence[str] = (), *, is_open: bool = False) -> bool:
        """Whether a base class calls a method ``name`` of a class of the file ``path`` in a loop.

        See :meth:`~torchlint.project.callers.Callers.repeats` for ``without`` and ``is_open``.
        """
        return any(_is_in_loop(one, name, without, is_open=is_open) for one in self._running(path, name))

    def train_on_result(self, path: str, name: str) -> bool:
        """Whether a base class runs a backward over what a method ``name`` of a class of the file ``path`` returns."""
        return any(differentiates_result(one, name) for one in self._running(path, name, training=True))

    def naming(self, user: str, path: str, name: str) -> list[str]:
        """The classes of the file ``user`` one of whose bases is the class ``name`` of the file ``path``, in order."""
        base = self._defined(path, name)
        if base is None:
            return []
        classes = self._classes_of(user).items()
        return [cls for cls, one in classes if any(self._class_at(user, above) == base for above in one.bases)]

    def files_of(self, path: str) -> frozenset[str]:
        """The other files in which a class stands from which one of the file ``path`` derives, all the way up."""
        if path not in self._files:
            self._files[path] = frozenset(place for place, _ in self._above(path, self._classes_of(path).values()))
        return self._files[path]

    def learn(self, path: str, tree: ast.Module, *, may_guard: bool = True) -> None:
        """Go over the classes of a file whose tree somebody has; each file is gone over once.

        ``may_guard``: False where the text does not even mention what switches gradients off.
        """
        if path not in self._classes:
            classes = (node for node in tree.body if isinstance(node, ast.ClassDef))
            self._classes[path] = {node.name: _class_of(node, may_guard) for node in classes}

    def _classes_of(self, path: str) -> dict[str, _Class]:
        if path not in self._classes:
            self.learn(path, self._tree_of(path) or ast.Module([], []))
        return self._classes[path]

    def _running(self, path: str, method: str, *, training: bool = False) -> Iterator[ast.Module]:
        """The base classes that call a method of a class of a file, each by its own methods that the class leaves.

        ``training``: only those in whose files a backward may start.
        """
        replaced = {one for cls in self._classes_of(path).values() if method in cls.methods for one in cls.methods}
        for place, base in self._bases_of(path, method):
            outline = self._outline_of(place)
            if outline is None or f"self.{method}(" not in outline.text:
                continue
            tree = self._tree_of(place) if not training or may_differentiate(outline.text) else None
            for node in tree.body if tree is not None else ():
                if isinstance(node, ast.ClassDef) and node.name == base.name:
                    kept = [one for one in node.body if getattr(one, "name", "") not in replaced]
                    yield from [ast.Module(kept, [])] if _calls(kept, method) else []

    def _bases_of(self, path: str, method: str) -> Iterator[tuple[str, _Class]]:
        """The bases, all the way up, of the classes in a file that define a method; see :meth:`_above`."""
        return self._above(path, (cls for cls in self._classes_of(path).values() if method in cls.methods))

    def _above(self, path: str, classes: Iterable[_Class]) -> Iterator[tuple[str, _Class]]:
        """The bases of classes of a file, all the way up, that stand in other files, each with its file."""
        pending = [(path, cls) for cls in classes]
        seen: set[int] = set()
        while pending:
            place, cls = pending.pop()
            for base in cls.bases:
                found = self._class_at(place, base)
                if found is not None and id(found[1]) not in seen:
                    seen.add(id(found[1]))
                    pending.append(found)
                    if found[0] != path:
                        yield found

    def _class_at(self, path: str, name: str) -> tuple[str, _Class] | None:
        """Where the class stands that a file writes as ``name``."""
        first, _, rest = name.partition(".")
        outline = self._outline_of(path)
        imported = outline.imported(first) if outline is not None else None
        if imported is None:
            return None if rest else self._defined(path, name)
        location = self._modules.locate(path, f"{imported}.{rest}" if rest else imported)
        return self._followed(location)

    def _followed(self, location: Location | None) -> tuple[str, _Class] | None:
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

    def _defined(self, path: str, name: str) -> tuple[str, _Class] | None:
        cls = self._classes_of(path).get(name)
        return None if cls is None else (path, cls)


def _class_of(node: ast.ClassDef, may_guard: bool) -> _Class:
    methods = frozenset(one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    guards = called_guarded(node) if may_guard else frozenset[str]()
    bases = (one.value if isinstance(one, ast.Subscript) else one for one in node.bases)  # `Trainer[Batch]`
    return _Class(node.name, tuple(map(ast.unparse, bases)), methods, guards)


def _calls(statements: Sequence[ast.stmt], method: str) -> bool:
    """Whether methods call another one of the same object."""
    nodes = (node for statement in statements for node in walk(statement))
    return any(isinstance(node, ast.Call) and own_method(node.func) == method for node in nodes)


def _is_in_loop(methods: ast.Module, name: str, without: Sequence[str], *, is_open: bool) -> bool:
    """Whether methods call another one of the same object in a loop in which nothing of ``without`` is called."""
    innermost = [loops[-1] for loops in called_in_loops(methods, own_method).get(name, ())]
    called = called_in_loops(methods) if innermost and without else {}
    taken = {loop for one in without for loops in called.get(one, ()) for loop in loops}
    return any(loop not in taken and (loop < 0 or not is_open) for loop in innermost)
