"""Whether a file trains at all, and on what a function gives it: ``loss = group_loss(...)``, ``loss.backward()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.frameworks import Holds, Row, method_names, rows_holding
from torchlint.syntax.python_tree import last_name, walk

__all__ = ["may_train", "trains_on_result"]

BACKWARD = "backward"

INFERRING = frozenset(["forward"])
"""Methods over which a framework runs a backward, and which say nothing of a training."""


def may_train(text: str) -> bool:
    """Whether a file runs a backward, or leaves that to a framework, told from its text alone."""
    steps = method_names(Holds.TRAINED) - INFERRING
    if f"{BACKWARD}(" in text or any(f"def {step}(" in text for step in steps):
        return True
    return any(_runs_trainer(text, row) for row in rows_holding(Holds.TRAINS))


def _runs_trainer(text: str, row: Row) -> bool:
    """``Trainer(model=net, args=arguments)`` of a framework, and then ``trainer.train()``."""
    names = (name.split(".") for name in row.of)
    is_made = any(parts[0] in text and f"{parts[-1]}(" in text for parts in names)
    return is_made and any(f".{method}(" in text for method in row.methods)


def trains_on_result(tree: ast.Module, name: str) -> bool:
    """Whether a backward of a file starts from what a call of ``name`` returns, or from a variable that has it."""
    bound = {target for target, value in _assigned(tree) if _calls(value, name)}
    runs = (node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) == BACKWARD)
    starts = (start for run in runs if isinstance(run.func, ast.Attribute) for start in (run.func.value, *run.args))
    parts = (node for start in starts for node in walk(start))
    return any(_calls(node, name) or (isinstance(node, ast.Name) and node.id in bound) for node in parts)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            targets = [part for target in node.targets for part in walk(target)]
            yield from ((part.id, node.value) for part in targets if isinstance(part, ast.Name))


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == name
