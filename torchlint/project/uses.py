"""What a file does with attributes of objects and with what functions give, told from its text: with the tensor, or
with its numbers alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchlint.syntax.python_tree import last_name, walk

__all__ = ["BY_NAME", "GUARDS", "cuts_attribute", "lets_go", "uses_attribute", "uses_result"]

NUMBERS = frozenset(
    [
        "detach",
        "item",
        "tolist",
        "numpy",
        "data",
        "argmax",
        "argmin",
        "shape",
        "size",
        "dim",
        "dtype",
        "device",
        "numel",
    ]
)
"""Methods and attributes of a tensor whose value has no graph."""

CUTTING = frozenset(["detach", "item", "tolist", "numpy", "data"])
"""Those that are asked for the numbers of a tensor."""

MAKING_NUMBERS = frozenset(["float", "int", "bool", "len", "str", "repr", "print", "isinstance", "type", "id"])
"""Functions of Python that make a number or a text of a tensor, or ask what it is."""

TELLING = frozenset(
    ["add_scalar", "add_scalars", "add_histogram", "add_image", "add_images", "log", "log_dict", "log_metrics", "info",
     "debug", "warning"]
)  # fmt: skip
"""Methods that, given a text or a dictionary first, tell a person what else they are given."""

OF_TORCH = frozenset(["torch", "F", "functional", "nn"])
"""What the functions of torch are taken of, as programs write it: they compute, and keep nothing."""

NAMING = frozenset(["hasattr", "setattr", "delattr", "getattr", "print"]) | TELLING
"""What is given the name of an attribute, and goes on with none of that name itself; see :func:`_may_read`."""

GUARDS = frozenset(["no_grad", "inference_mode"])
"""Decorators under which a function records no graph."""

BY_NAME = frozenset(["getattr", "attrgetter", "vars"])
"""Functions that read attributes whose names are computed."""


def uses_attribute(tree: ast.Module, name: str, *, of_own: bool = True) -> bool:
    """Whether a file reads an attribute ``name`` of anything and goes on with it, be it by a name that it computes.

    ``block.gate.mean().item()`` and ``float(block.gate)`` make a number of it, as does ``gate = block.gate.mean()``
    where all that is done with the variable is ``gate.detach()``; what a file assigns it does not read, what is read
    under ``torch.no_grad()`` has no graph, and who only asks whether it is None goes on with nothing. ``of_own``:
    whether what a method reads of ``self`` counts.
    """
    return _goes_on_with(tree, lambda node: _may_read(node, name) and (of_own or not _is_of_own(node)))


def cuts_attribute(tree: ast.Module, name: str) -> bool:
    """Whether a file asks an attribute ``name`` of something for its numbers: ``block.gate.mean().item()``.

    Be it by a variable: ``gate = block.gate``, and ``gate.detach()``.
    """
    cutting = (node for node in walk(tree) if isinstance(node, ast.Attribute) and node.attr in CUTTING)
    cut = [read for node in cutting for read in _chain(node)]
    variables = {read.id for read in cut if isinstance(read, ast.Name)}
    bound = (node for node in walk(tree) if isinstance(node, ast.Assign))
    meant = [node.value for node in bound if any(getattr(one, "id", None) in variables for one in node.targets)]
    return any(_may_read(read, name) for read in [*cut, *meant, *(one for value in meant for one in _chain(value))])


def uses_result(tree: ast.Module, name: str) -> bool:
    """Whether a file goes on with what a call of ``name`` gives, or hands the function on, which others may call then.

    ``score = evaluate(net).item()`` goes on with a number, and a call whose result is dropped with nothing at all.
    """
    called = {id(node.func) for node in walk(tree) if isinstance(node, ast.Call)}
    dropped = {id(node.value) for node in walk(tree) if isinstance(node, ast.Expr)}

    def is_used(node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return last_name(node.func) == name and id(node) not in dropped
        return isinstance(node, ast.Name | ast.Attribute) and last_name(node) == name and id(node) not in called

    return _goes_on_with(tree, is_used)


def lets_go(tree: ast.Module, name: str, *, of_own: bool = False) -> bool:
    """Whether a file sets an attribute ``name`` of objects that it is given to None, or deletes it.

    ``of_own``: whether what a method does with ``self`` counts, if that is not how it begins.
    """
    makers = (node for node in walk(tree) if of_own and getattr(node, "name", "") == "__init__")
    begun = {id(inner) for maker in makers for inner in walk(maker)}
    taken = (target for node in walk(tree) for target in _emptied_by(node) if isinstance(target, ast.Attribute))
    named = (target for target in taken if target.attr == name)
    return any(not _is_of_own(target) or (of_own and id(target) not in begun) for target in named)


def _emptied_by(node: ast.AST) -> list[ast.expr]:
    """What a statement sets to None, or deletes."""
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value is None:
        return node.targets
    return node.targets if isinstance(node, ast.Delete) else []


def _goes_on_with(tree: ast.Module, is_it: Callable[[ast.AST], bool]) -> bool:
    """Whether a file makes more of some of its nodes than numbers, texts and copies without a graph."""
    harmless = {id(read) for node in walk(tree) for read in _ended_by(node)}
    harmless |= {id(read) for node in walk(tree) for value in _only_ended(node) for read in [value, *_chain(value)]}
    harmless |= {id(read) for node in walk(tree) if _is_guarded(node) for read in walk(node)}
    harmless |= {id(read) for value in _given_to_end(tree) for read in [value, *_chain(value)]}
    return any(is_it(node) and id(node) not in harmless for node in walk(tree))


def _may_read(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.ctx, ast.Load)
    if not isinstance(node, ast.Call):
        return False
    if last_name(node.func) not in BY_NAME:
        # `all_of(net, "gate")`: it may be what that asks for
        given = (one.value for one in node.args[1:] if isinstance(one, ast.Constant))
        return last_name(node.func) not in NAMING and name in given
    keys = node.args if last_name(node.func) == "attrgetter" else node.args[1:2]
    names = [str(key.value) for key in keys if isinstance(key, ast.Constant)]
    return not keys or len(names) < len(keys) or any(name in one.split(".") for one in names)


def _is_of_own(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and last_name(node.value) == "self"


def _is_guarded(node: ast.AST) -> bool:
    """Whether a node is a function, or a block, in which gradients are off."""
    if isinstance(node, ast.With | ast.AsyncWith):
        guards = [item.context_expr for item in node.items]
    else:
        guards = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    called = (one.func if isinstance(one, ast.Call) else one for one in guards)
    return any(last_name(one) in GUARDS for one in called)


def _ended_by(node: ast.AST) -> list[ast.AST]:
    """What a node makes a number or a text of: ``x.gate`` and ``x.gate.mean()`` where it takes an ``item()``."""
    if isinstance(node, ast.Attribute):
        return _chain(node) if node.attr in NUMBERS else []
    if isinstance(node, ast.FormattedValue):
        return [node.value, *_chain(node.value)]
    if isinstance(node, ast.Compare):  # `if block.gate is None:`; and what is greater than something is a truth value
        return [read for compared in (node.left, *node.comparators) for read in [compared, *_chain(compared)]]
    if isinstance(node, ast.Call) and (_makes_number(node) or _tells(node)):
        return [read for argument in node.args for read in [argument, *_chain(argument)]]
    return []


def _makes_number(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in MAKING_NUMBERS


def _tells(call: ast.Call) -> bool:
    """``writer.add_scalar("gate", block.gate.mean(), step)``, and no ``torch.log(block.gate)``."""
    first = call.args[0] if call.args and last_name(call.func) in TELLING else None
    return isinstance(first, ast.JoinedStr | ast.Dict) or (
        isinstance(first, ast.Constant) and isinstance(first.value, str)
    )


def _only_ended(function: ast.AST) -> list[ast.AST]:
    """What a function assigns to variables of which it only makes numbers, or copies without a graph."""
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return []
    nodes = list(walk(function))
    used = _used_in(nodes)
    bound = [node for node in nodes if isinstance(node, ast.Assign) and len(node.targets) == 1]
    assigned = [(node.targets[0].id, node) for node in bound if isinstance(node.targets[0], ast.Name)]
    return [node.value for name, node in assigned if not any(_may_see(one, name, node, assigned) for one in used)]


def _given_to_end(tree: ast.Module) -> Iterator[ast.expr]:
    """What functions of a file are given of which they only make numbers, or copies without a graph: ``plain(x)``."""
    ending: dict[str, set[int]] = {}
    for function in tree.body:
        if isinstance(function, ast.FunctionDef):
            used = {node.id for node in _used_in(list(walk(function)))}
            ends = {position for position, one in enumerate(function.args.args) if one.arg not in used}
            ending[function.name] = ending.get(function.name, ends) & ends
    for call in walk(tree) if any(ending.values()) else ():
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            ends = ending.get(call.func.id, set())
            yield from (given for position, given in enumerate(call.args) if position in ends)


def _used_in(nodes: list[ast.AST]) -> list[ast.Name]:
    """The variables with which a function goes on, and does not only make numbers of them."""
    ended = {id(read) for node in nodes for read in _ended_by(node)}
    return [node for node in nodes if isinstance(node, ast.Name) and _is_read(node) and id(node) not in ended]


def _may_see(read: ast.Name, name: str, node: ast.Assign, assigned: list[tuple[str, ast.Assign]]) -> bool:
    """Whether a name that is read may have what an assignment gave it: no other of the same block is between.

    ``rows = rows.cpu().numpy()`` ends what ``rows`` was before; a loop may come back to what stands before.
    """
    between = (one for other, one in assigned if other == name and node.lineno < one.lineno < read.lineno)
    return read.id == name and not any(one.col_offset == node.col_offset for one in between)


def _is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _chain(node: ast.AST) -> list[ast.AST]:
    """What a tensor is computed of, by its methods, operators and functions of torch, and what a dictionary holds.

    ``x.gate`` and ``x.gate.mean()`` of ``-x.gate.mean().log()``.
    """
    found: list[ast.AST] = []
    pending = _computed_of(node)
    while pending:
        one = pending.pop()
        found.append(one)
        pending += _computed_of(one)
    return found


def _computed_of(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Attribute | ast.Subscript):
        return [node.value]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Dict):
        return [*node.values]
    if not isinstance(node, ast.Call):
        return []
    return [node.func, *node.args] if _is_of_torch(node.func) else [node.func]


def _is_of_torch(function: ast.expr) -> bool:
    """``torch.log``, ``F.softmax``, ``torch.nn.functional.softmax``"""
    return isinstance(function, ast.Attribute) and last_name(function.value) in OF_TORCH
