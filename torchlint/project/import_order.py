"""The order in which files that import each other are put into one text: that of Python, as far as files stay whole."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

from torchlint.project.top_names import bound_names

__all__ = ["Imported", "in_order"]

Imported = tuple[int, tuple[str, ...]]
"""What an import leads to: the number of a file, and what is left of the name."""


def in_order(trees: Sequence[ast.Module], imports: Callable[[int], Iterable[tuple[ast.AST, Imported]]]) -> list[int]:
    """The numbers of files, each behind those that it imports, unless these import it.

    Of two that import each other that one stands first of which the other has to have something: an initializer that
    defines ``register``, and then imports the modules whose classes are decorated by it.

    Args:
        trees: of the files, by their numbers.
        imports: the imports in the file of a number that lead to another one.
    """
    found = [list(imports(number)) for number in range(len(trees))]
    order: list[int] = []
    entered: set[int] = set()

    def enter(number: int) -> None:
        if number not in entered:
            entered.add(number)
            for other in dict.fromkeys(there for _, (there, _) in found[number]):
                if not _is_imported_behind(trees[number], found[number], other, _taken(found[other], number)):
                    enter(other)
            order.append(number)

    for number in range(len(trees)):
        enter(number)
    return order


def _taken(imports: Iterable[tuple[ast.AST, Imported]], number: int) -> frozenset[str]:
    """The names that a file takes from the file of a number."""
    return frozenset(rest[0] for _, (there, rest) in imports if there == number and rest)


def _is_imported_behind(
    tree: ast.Module, imports: Iterable[tuple[ast.AST, Imported]], other: int, taken: frozenset[str]
) -> bool:
    """Whether a file defines something that the ``other`` takes from it before it imports that one itself."""
    if not taken:
        return False
    first = min(_lines(node for node, (there, _) in imports if there == other))
    above = [statement for statement in tree.body if (statement.end_lineno or statement.lineno) < first]
    return not taken.isdisjoint(bound_names(above))


def _lines(nodes: Iterable[ast.AST]) -> Iterator[int]:
    return (node.lineno for node in nodes if isinstance(node, ast.stmt))
