"""Which functions a file calls in a loop, or in a ``forward``, which is called in one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchlint.syntax.python_tree import children, last_name, walk

__all__ = ["called_in_loops", "is_called_once"]

MAIN = "main"
"""What a program calls its function that runs once."""

FORWARD = "forward"
"""The method of a module that each step calls."""

BACKWARD = "backward"

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def called_in_loops(tree: ast.Module) -> dict[str, list[tuple[int, ...]]]:
    """What is called in the body of a loop, or in a comprehension, which stands in the same function.

    The ``forward`` of a class is called in a loop as a whole, wherever that may be; so is a step of training that the
    file itself calls in a loop, with all that it calls.

    Returns:
        by the last part of the name that is called, for each call the numbers of the loops around it, innermost last,
        below zero where it is a ``while``.
    """
    found: dict[str, list[tuple[int, ...]]] = {}
    pending: list[tuple[ast.AST, tuple[int, ...]]] = [(tree, ())]
    count = 0
    while pending:
        node, loops = pending.pop()
        if isinstance(node, ast.Call) and loops:
            found.setdefault(last_name(node.func), []).append(loops)
        if isinstance(node, _DEFINITIONS):
            loops = ()
        if isinstance(node, ast.ClassDef):
            count += 1
            forwards = [child for child in children(node) if _is_forward(child)]
            pending += [(child, ()) for child in children(node) if child not in forwards]
            pending += [(inner, (count,)) for forward in forwards for inner in children(forward)]
        elif isinstance(node, _COMPREHENSIONS):
            count += 1
            pending.append((node.generators[0].iter, loops))
            inside = [*node.generators[0].ifs, *node.generators[1:]]
            inside += [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            pending += [(one, (*loops, count)) for one in inside]
        elif isinstance(node, _LOOPS):
            count += 1
            header = node.test if isinstance(node, ast.While) else node.iter
            pending.append((header, loops))
            number = -count if isinstance(node, ast.While) else count
            pending += [(one, (*loops, number)) for one in node.body] + [(one, loops) for one in node.orelse]
        else:
            pending += [(child, loops) for child in children(node)]
    for step in _steps(tree):
        around = found.get(step.name, [])[:1]
        for name in _called_in(step) if around else ():
            found.setdefault(name, []).extend(around)
    return found


def _steps(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """The functions of a file that train without a loop of their own: each call of one is a step."""
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef) and BACKWARD in _called_in(node):
            yield node


def _called_in(function: ast.FunctionDef) -> set[str]:
    """What a function calls outside of loops and of functions within it, by the last part of the name."""
    found, pending = set[str](), list[ast.AST](function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            found.add(last_name(node.func))
        if not isinstance(node, (*_DEFINITIONS, *_LOOPS, *_COMPREHENSIONS)):
            pending += children(node)
    return found


def _is_forward(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == FORWARD


def is_called_once(tree: ast.Module, name: str) -> bool | None:
    """Whether each call of a name is made once, for all or for the object it is given; None where it has none.

    Once for all is what stands in a file's body, or its ``main``, and in no loop; once for an object what its
    ``__init__`` gives the object itself or what a method of it answers: ``Watch(self.named_modules())``.
    """
    found: bool | None = None
    pending: list[tuple[ast.AST, bool, str]] = [(tree, True, "")]
    while pending:
        node, is_once, maker = pending.pop()
        if isinstance(node, ast.Call) and last_name(node.func) == name:
            found = (is_once or (maker != "" and _is_given(node, maker))) and found is not False
        if isinstance(node, _DEFINITIONS):
            is_once, maker = is_once and getattr(node, "name", "") == MAIN, _made_by(node)
        elif isinstance(node, (*_LOOPS, *_COMPREHENSIONS)):
            is_once, maker = False, ""
        pending += [(child, is_once, maker) for child in children(node)]
    return found


def _made_by(node: ast.AST) -> str:
    """What an ``__init__`` calls the object that it makes, "" for any other definition."""
    if not isinstance(node, ast.FunctionDef) or node.name != "__init__" or not node.args.args:
        return ""
    return node.args.args[0].arg


def _is_given(call: ast.Call, name: str) -> bool:
    """Whether a call is given what has a name, or what a method of that answers."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    asked = [one.func.value for one in given if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)]
    return any(isinstance(one, ast.Name) and one.id == name for one in (*given, *asked))
