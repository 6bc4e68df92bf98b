"""The lists and dictionaries that a file makes and passes: how old they are, and whether it takes things out of them.

``history = []`` before a loop, and ``train(net, loader, history)`` in it or behind it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchlint.project.bindings import dotted_name, own_nodes
from torchlint.project.single_calls import LOOPS
from torchlint.syntax.python_tree import last_name, walk

__all__ = ["emptied_names", "is_older", "kind_of_container"]

LIST, DICTIONARY = "list", "dict"
"""What may be made; a ``deque`` without a bound is a list, a ``defaultdict`` a dictionary."""

_MADE = {"list": LIST, "deque": LIST, "dict": DICTIONARY, "defaultdict": DICTIONARY, "OrderedDict": DICTIONARY}

_EMPTYING = frozenset(["clear", "pop", "popleft", "popitem", "remove"])


def kind_of_container(value: ast.expr | None) -> str:
    """What a display, or a call of a builtin or a standard class, makes that grows without end; "" for all else.

    A list of objects, ``[Recorder(), Stopper()]``, is none: what these are counts.
    """
    if isinstance(value, ast.List):
        return LIST if all(isinstance(one, ast.Constant) or kind_of_container(one) for one in value.elts) else ""
    if isinstance(value, ast.Dict):
        return DICTIONARY
    if not isinstance(value, ast.Call):
        return ""
    kind = _MADE.get(last_name(value.func), "") if dotted_name(value.func) else ""
    is_bounded = last_name(value.func) == "deque" and (value.keywords or len(value.args) > 1)
    return "" if is_bounded else kind


def is_older(call: ast.Call, where: ast.AST, made: Sequence[ast.expr]) -> bool:
    """Whether a call in ``where`` passes what was made, each time, before the innermost loop around the call began."""
    around = [loop for loop in own_nodes(where) if isinstance(loop, LOOPS) and _is_in(call, loop)]
    innermost = max(around, key=lambda loop: (loop.lineno, loop.col_offset), default=None)
    return innermost is not None and not any(_is_in(one, innermost) for one in made)


def emptied_names(tree: ast.Module) -> frozenset[str]:
    """The dotted names of what a file takes things out of, wherever that stands."""
    return frozenset(name for node in walk(tree) for emptied in _emptied(node) if (name := dotted_name(emptied)))


def _emptied(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _EMPTYING:
        yield node.func.value
    elif isinstance(node, ast.Assign):
        items = [one for one in node.targets if isinstance(one, ast.Subscript)]
        yield from (one.value for one in items if isinstance(one.slice, ast.Slice) or kind_of_container(node.value))
    elif isinstance(node, ast.Delete):
        yield from (one.value if isinstance(one, ast.Subscript) else one for one in node.targets)


def _is_in(node: ast.expr, loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether an expression stands in the body of a loop of the same function."""
    first, last = loop.body[0], loop.body[-1]
    begin, end = (first.lineno, first.col_offset), (last.end_lineno or last.lineno, last.end_col_offset or 0)
    return begin <= (node.lineno, node.col_offset) < end
