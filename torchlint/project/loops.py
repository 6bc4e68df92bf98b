"""Which functions a file calls in a loop, or in a ``forward``, which is called in one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.project.single_calls import COMPREHENSIONS, LOOPS
from torchlint.syntax.python_tree import children, last_name, walk

__all__ = ["called_in_loops", "own_method"]

FORWARD = "forward"
"""The method of a module that each step calls."""

BACKWARD = "backward"

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def own_method(callee: ast.expr) -> str:
    """``step`` of ``self.step``; "" of what is no method of the object itself."""
    is_own = isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name) and callee.value.id == "self"
    return last_name(callee) if is_own else ""


def called_in_loops(tree: ast.Module, named: Callable[[ast.expr], str] = last_name) -> dict[str, list[tuple[int, ...]]]:
    """What is called in the body of a loop, or in a comprehension, which stands in the same function.

    The ``forward`` of a class is called in a loop as a whole, wherever that may be; so is a step of training that the
    file itself calls in a loop, with all that it calls.

    Args:
        tree: the file's, or that of a part of it.
        named: the name of what is called, by which it is found.

    Returns:
        by that name, for each call the numbers of the loops around it, innermost last, below zero where it is a
        ``while``; the numbers are the same whatever the names are.
    """
    found: dict[str, list[tuple[int, ...]]] = {}
    pending: list[tuple[ast.AST, tuple[int, ...]]] = [(tree, ())]
    count = 0
    while pending:
        node, loops = pending.pop()
        if isinstance(node, ast.Call) and loops:
            found.setdefault(named(node.func), []).append(loops)
        if isinstance(node, _DEFINITIONS):
            loops = ()
        if isinstance(node, ast.ClassDef):
            count += 1
            forwards = [child for child in children(node) if _is_forward(child)]
            pending += [(child, ()) for child in children(node) if child not in forwards]
            pending += [(inner, (count,)) for forward in forwards for inner in children(forward)]
        elif isinstance(node, COMPREHENSIONS):
            count += 1
            pending.append((node.generators[0].iter, loops))
            inside = [*node.generators[0].ifs, *node.generators[1:]]
            inside += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            pending += [(one, (*loops, count)) for one in inside]
        elif isinstance(node, LOOPS):
            count += 1
            header = node.test if isinstance(node, ast.While) else node.iter
            pending.append((header, loops))
            number = -count if isinstance(node, ast.While) else count
            pending += [(one, (*loops, number)) for one in node.body] + [(one, loops) for one in node.orelse]
        else:
            pending += [(child, loops) for child in children(node)]
    for step in _steps(tree):
        around = found.get(step.name, [])[:1]
        for name in _called_in(step, named) if around else ():
            found.setdefault(name, []).extend(around)
    return found


def _steps(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions of a file that train without a loop of their own: each call of one is a step."""
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef) and BACKWARD in _called_in(node):
            yield node


def _called_in(function: ast.FunctionDef, named: Callable[[ast.expr], str] = last_name) -> set[str]:
    """What a function calls outside of loops and of functions within it, by its name."""
    found, pending = set[str](), list[ast.AST](function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            found.add(named(node.func))
        if not isinstance(node, (*_DEFINITIONS, *LOOPS, *COMPREHENSIONS)):
            pending += children(node)
    return found


def _is_forward(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == FORWARD
