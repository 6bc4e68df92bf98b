"""Which data sets a file reads with worker processes: ``DataLoader(Texts(path), num_workers=4)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.python_tree import last_name, walk

__all__ = ["LOADER", "reads_with_workers"]

LOADER = "DataLoader"

DATASET, NUM_WORKERS = (0, "dataset"), (5, "num_workers")
"""Parameters of the loader, by position and by keyword."""


def reads_with_workers(tree: ast.Module, name: str) -> bool:
    """Whether a file gives an instance of the class ``name``, or what it makes of one, to a loader with workers."""
    loaders = [node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) == LOADER]
    given = [dataset for call in loaders if _has_workers(call) and (dataset := _argument(call, *DATASET)) is not None]
    return bool(given) and _reaches(tree, name, given)


def _has_workers(call: ast.Call) -> bool:
    """Whether workers are asked for; a number that is not written there counts as some."""
    workers = _argument(call, *NUM_WORKERS)
    return workers is not None and not (isinstance(workers, ast.Constant) and workers.value in (0, None))


def _argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((one.value for one in call.keywords if one.arg == keyword), None)


def _reaches(tree: ast.Module, name: str, given: list[ast.expr]) -> bool:
    """Whether one of these expressions makes an instance, or reads a variable that holds one, or a part of one."""
    assigned = list(_assigned(tree))
    sources, pending, seen = list(given), list(given), set[str]()
    while pending:
        read = {last_name(node) for node in walk(pending.pop()) if isinstance(node, ast.Name | ast.Attribute)} - seen
        seen |= read
        further = [value for target, value in assigned if target in read]
        sources += further
        pending += further
    calls = (node for source in sources for node in walk(source) if isinstance(node, ast.Call))
    return any(last_name(call.func) == name for call in calls)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The last name of each variable or attribute that is assigned, with what it gets."""
    for node in walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            for part in parts:
                if name := last_name(part):
                    yield name, node.value
