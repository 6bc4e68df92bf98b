"""Whether a file trains at all, and on what an attribute of some object has."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from torchlint.frameworks import Holds, Row, method_names, rows_holding
from torchlint.project.uses import NUMBERS
from torchlint.syntax.python_tree import children, last_name, walk

__all__ = ["may_train", "trains_on_attribute"]

BACKWARD, GRAD = "backward", "grad"

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


def trains_on_attribute(tree: ast.Module, name: str) -> bool:
    """Whether a backward of a file may start from what is computed of an attribute ``name`` of some object.

    Names are all that is followed, wherever they stand: what is computed of one goes into what is assigned, into what a
    loop runs over, into what a function of the file is given or returns, into what a method is called on.
    """
    goes_into: dict[str, set[str]] = defaultdict(set)
    for targets, value in _flows(tree):
        for read in _named_in(value):
            goes_into[read] |= targets
    reached, pending = {name}, [name]
    while pending:
        fresh = goes_into[pending.pop()] - reached
        reached |= fresh
        pending += fresh
    trained = method_names(Holds.TRAINED) - INFERRING
    ends = {one for start in _starts(tree) for one in _named_in(start)} | {GRAD, *trained}
    return not ends.isdisjoint(reached)


def _starts(tree: ast.Module) -> Iterator[ast.expr]:
    """Where the backwards of a file begin."""
    for run in walk(tree):
        if isinstance(run, ast.Call) and last_name(run.func) == BACKWARD and isinstance(run.func, ast.Attribute):
            yield from (run.func.value, *run.args)


def _flows(tree: ast.Module) -> Iterator[tuple[set[str], ast.AST]]:
    """The names into which values go, each with a value."""
    functions = {
        node.name: node.args for node in walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    modules = {name for node in walk(tree) for name in _modules_imported(node)}
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            yield set(_names_of(node.targets)), node.value
        elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.NamedExpr):
            yield set(_names_of([node.target])), node.value or node.target
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield set(_names_of([node.target])), node.iter
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            results = (one.value for one in walk(node) if isinstance(one, ast.Return | ast.Yield))
            yield from (({node.name}, result) for result in results if result is not None)
        elif isinstance(node, ast.Call):
            called = functions.get(last_name(node.func))
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            own = {one.arg for one in (*called.posonlyargs, *called.args, *called.kwonlyargs)} if called else set()
            receiver = set(_names_of([node.func.value])) if isinstance(node.func, ast.Attribute) else set()
            receiver -= modules  # `torch.cat(tap.kept)` puts nothing into torch
            # `losses.append(tap.kept)`, `torch.autograd.grad(score, tap.kept)`
            grad = {GRAD} & {last_name(node.func)}
            yield from ((own | receiver | grad, one) for one in given)


def _modules_imported(node: ast.AST) -> Iterator[str]:
    """The names under which an import brings in modules; what others than torch have in theirs may be objects."""
    if isinstance(node, ast.Import):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch" and not node.level:
        yield from (alias.asname or alias.name for alias in node.names)


def _names_of(targets: Iterable[ast.AST]) -> Iterator[str]:
    for node in (part for target in targets for part in walk(target)):
        yield from [node.id] if isinstance(node, ast.Name) else [node.attr] if isinstance(node, ast.Attribute) else []


def _named_in(value: ast.AST) -> Iterator[str]:
    """The names in an expression, without those of which it takes numbers alone: ``loss`` of ``loss.item()``."""
    pending = [value]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name | ast.Attribute):
            name = last_name(node)
            if name in NUMBERS:
                continue
            yield name
        pending += children(node)
