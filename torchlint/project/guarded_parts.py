"""What a file runs with gradients off: under ``torch.no_grad()``, by a decorator, after ``set_grad_enabled(False)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeAlias

from torchlint.project.uses import GUARDS
from torchlint.syntax.python_tree import children, last_name, walk

__all__ = [
    "ENTERING",
    "GUARD",
    "SETTER",
    "called_guarded",
    "entered_by",
    "guarded_parts",
    "guarded_runners",
    "is_guard",
    "may_guard",
]

GUARD = re.compile("no_grad|inference_mode|set_grad_enabled")
"""What a text mentions that may switch gradients off."""

SETTER = "set_grad_enabled"
"""What switches gradients off or on, for all that comes after it."""


ENTERING = "__enter__"
"""The method of an object that runs before the block."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_Phase: TypeAlias = "tuple[str, object]"
"""What has a name, and the constant that it is compared with."""

CHAINED = 3
"""So many functions of a file may call each other between a guard and what is called."""


def may_guard(text: str) -> bool:
    """Whether a text mentions what switches gradients off."""
    return GUARD.search(text) is not None


def guarded_runners(tree: ast.Module, guards: frozenset[str] = GUARDS) -> frozenset[str]:
    """The functions of a file that call what they are given with gradients off: ``def quietly(run): ... run()``."""
    found = set[str]()
    for function in (node for node in tree.body if isinstance(node, _Function)):
        given = {one.arg for one in function.args.args}
        parts = guarded_parts(ast.Module([function], []), guards) if given else ()
        nodes = (node for part, is_guarded in parts if is_guarded for node in walk(part))
        if any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in given for n in nodes):
            found.add(function.name)
    return frozenset(found)


def called_guarded(cls: ast.ClassDef) -> frozenset[str]:
    """The methods of ``self`` that the methods of a class call with gradients off."""
    return frozenset(
        node.func.attr
        for part, is_guarded in guarded_parts(cls)
        if is_guarded
        for node in walk(part)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "self"
    )


def guarded_parts(
    tree: ast.Module | ast.ClassDef, guards: frozenset[str] = GUARDS, running: frozenset[str] = frozenset()
) -> Iterator[tuple[ast.AST, bool]]:
    """The parts of a file's statements that hold no further statements, each with whether gradients are off there.

    That is what a guard stands around, the functions and methods of the file that it only calls from there, and what a
    condition says of the phase in which ``set_grad_enabled(phase == "train")`` switches them off; and the functions
    and methods called ``running``, which others call so.
    """
    return _parts(tree, guards, _all_running(tree, guards, running) if isinstance(tree, ast.Module) else running)


def _all_running(tree: ast.Module, guards: frozenset[str], running: frozenset[str]) -> frozenset[str]:
    """The functions and methods that run with gradients off where those called ``running`` do."""
    inner = running
    for _ in range(CHAINED):
        known, inner = inner, running | _only_called_guarded(tree, guards, inner)
        if inner == known:
            break
    return inner


def _only_called_guarded(tree: ast.Module, guards: frozenset[str], inner: frozenset[str]) -> frozenset[str]:
    """The functions and methods that are called with gradients off, and of which nothing else is said."""
    functions = {node.name for node in _definitions(tree)}
    parts = list(_parts(tree, guards, inner)) if functions else []
    nodes = [node for part, is_guarded in parts if is_guarded for node in walk(part)]
    callees = [node.func for node in nodes if isinstance(node, ast.Call)]
    called = functions.intersection(map(last_name, callees))
    if not called:
        return frozenset()  # nearly always, and then nobody needs to know what else the file says
    harmless = set(map(id, callees))
    mentioned = (node for part, _ in parts for node in walk(part) if isinstance(node, ast.Name | ast.Attribute))
    return frozenset(called.difference(last_name(node) for node in mentioned if id(node) not in harmless))


def _definitions(tree: ast.Module | ast.ClassDef) -> list[_Function]:
    """The functions at the top level of a file and the methods of its classes."""
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    return [node for body in bodies for node in body if isinstance(node, _Function)]


def _parts(
    tree: ast.Module | ast.ClassDef, guards: frozenset[str], inner: frozenset[str]
) -> Iterator[tuple[ast.AST, bool]]:
    """What :func:`guarded_parts` gives, where the functions and methods that are called ``inner`` run guarded."""
    running = {node for node in _definitions(tree) if node.name in inner} if inner else set[ast.AST]()
    pending: list[tuple[ast.AST, bool, _Phase | None]] = [(tree, False, None)]
    while pending:
        node, is_guarded, on_in = pending.pop()
        if isinstance(node, _Function):
            is_guarded = node in running or any(is_guard(decorator, guards) for decorator in node.decorator_list)
            on_in = None
        elif isinstance(node, ast.With):
            is_guarded = is_guarded or any(is_guard(item.context_expr, guards) for item in node.items)
            on_in = next(filter(None, (_phase_of(item.context_expr) for item in node.items)), on_in)
        elif isinstance(node, ast.If) and on_in is not None and _is_other(node.test, on_in):
            yield node.test, is_guarded
            pending += ((child, is_guarded, on_in) for child in node.orelse)
            is_guarded, node = True, ast.Module(node.body, [])
        is_off = is_guarded
        for child in children(node):  # in the order of the text
            if isinstance(child, _HOLD_STATEMENTS):
                pending.append((child, is_off, on_in))
            else:
                yield child, is_off
                is_off = _switched(child, guards, is_off, otherwise=is_guarded)


_HOLD_STATEMENTS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With,
    ast.AsyncWith, ast.Try, getattr(ast, "TryStar", ast.Try), ast.ExceptHandler, ast.Match, ast.match_case,
)  # fmt: skip


def _switched(node: ast.AST, guards: frozenset[str], is_off: bool, *, otherwise: bool) -> bool:
    """Whether gradients are off after a statement: ``torch.set_grad_enabled(False)`` holds until they are on again.

    So does what a stack enters, until that is left.
    """
    call = node.value if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    if call is None:
        return is_off
    if last_name(call.func) != SETTER:
        return is_off or any(is_guard(one, guards) for one in entered_by(call))
    return is_guard(call, frozenset()) or otherwise


def entered_by(call: ast.Call) -> list[ast.expr]:
    """``stack.enter_context(guard)``, ``guard.__enter__()``: what a call enters."""
    if not isinstance(call.func, ast.Attribute):
        return []
    return call.args[:1] if call.func.attr == "enter_context" else [call.func.value] * (call.func.attr == ENTERING)


def _phase_of(context: ast.expr) -> _Phase | None:
    """The phase in which gradients are on under ``torch.set_grad_enabled(phase == "train")``."""
    is_setter = isinstance(context, ast.Call) and last_name(context.func) == SETTER and len(context.args) == 1
    return _compared(context.args[0]) if is_setter and isinstance(context, ast.Call) else None


def _is_other(test: ast.expr, phase: _Phase) -> bool:
    """Whether a condition says that it is another phase."""
    compared = _compared(test)
    return compared is not None and compared[0] == phase[0] and compared[1] != phase[1]


def _compared(test: ast.expr) -> _Phase | None:
    """``("phase", "train")`` of ``phase == "train"``."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq) or len(test.ops) > 1:
        return None
    name, constant = last_name(test.left), test.comparators[0]
    return (name, constant.value) if name and isinstance(constant, ast.Constant) else None


def is_guard(node: ast.expr, guards: frozenset[str]) -> bool:
    """Whether a context or a decorator is ``torch.no_grad()``, ``no_grad``, ``torch.set_grad_enabled(False)``."""
    function = node.func if isinstance(node, ast.Call) else node
    name = last_name(function)
    if name == SETTER and isinstance(node, ast.Call):
        return any(isinstance(a, ast.Constant) and a.value is False for a in node.args)
    return name in guards
