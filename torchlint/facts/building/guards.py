"""Which context managers, decorators and calls switch gradients on or off."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Mode, Op, Value
from torchlint.syntax.tree import dotted, walk, walk_scope

SWITCHES: dict[str, Mode] = {
    "torch.no_grad": Mode.OFF,
    "torch.inference_mode": Mode.OFF,
    "torch.enable_grad": Mode.ON,
    "torch.autograd.no_grad": Mode.OFF,
    "torch.autograd.enable_grad": Mode.ON,
    "torch.autograd.inference_mode": Mode.OFF,
    "torch.autograd.grad_mode.no_grad": Mode.OFF,
    "torch.autograd.grad_mode.enable_grad": Mode.ON,
    "torch.autograd.grad_mode.inference_mode": Mode.OFF,
}
"""Context managers and decorators of torch, https://docs.pytorch.org/docs/stable/notes/autograd.html."""

SETTERS = frozenset(
    ["torch.set_grad_enabled", "torch.autograd.set_grad_enabled", "torch.autograd.grad_mode.set_grad_enabled",
     "torch._C.set_grad_enabled", "torch._C._set_grad_enabled"]
)  # fmt: skip
"""They take the mode as an argument; as a statement they hold until the end of the function and beyond."""

WRITTEN = {**SWITCHES, **dict.fromkeys(SETTERS, Mode.UNKNOWN)}
"""All guards of torch, each with the mode that its name alone tells."""

ENTERING = "__enter__"
"""The method of an object that runs before the block."""

STACKS = frozenset(["contextlib.ExitStack", "contextlib.AsyncExitStack"])
"""What keeps what it entered until it is left itself."""

_HINTS = ("grad", "inference", "eval", "freeze", "frozen")
"""A context manager or a decorator of unknown origin with one of these in its name may guard: silence, not evidence."""

_HOMES = ("grad", "guard")
"""So may one of a module with one of these in its name: ``from nets.autograd import quiet``."""


def mode_of_guard(value: Value) -> Mode | None:
    """The mode inside ``with value:``; None when it does not touch the grad mode."""
    if value.op is Op.PHI:
        modes = set(map(mode_of_guard, choices(value)))
        return modes.pop() if len(modes) == 1 else Mode.MAYBE
    if value.op is not Op.CALL:
        return None
    callee = value.callee
    if callee.op is not Op.EXTERNAL:
        return Mode.UNKNOWN if sounds_like_a_guard(callee.name.rpartition(".")[2]) else None
    if callee.name in SETTERS or callee.name.endswith("inference_mode"):
        return mode_of_argument(value, default=Mode.OFF)
    if callee.name in SWITCHES:
        return SWITCHES[callee.name]
    if callee.name.startswith(("torch.", "contextlib.")):
        return None
    return Mode.UNKNOWN if sounds_like_a_guard(callee.name) else None


def may_guard(decorator: str) -> bool:
    """Whether a decorator that nobody knows sounds as if it held a guard: silence, not evidence."""
    return not decorator.startswith("torch.") and sounds_like_a_guard(decorator)


def sounds_like_a_guard(full_name: str) -> bool:
    """Whether a name, full and dotted as far as it is known, is like that of a guard."""
    home, _, last = full_name.lower().rpartition(".")
    return any(hint in last for hint in _HINTS) or any(hint in home for hint in _HOMES)


def mode_of_argument(call: Value, default: Mode) -> Mode:
    """The mode that ``set_grad_enabled(x)`` or ``inference_mode(x)`` sets."""
    given = call.argument(0, "mode")
    if given is None:
        return default
    constant = given.name if given.op is Op.CONSTANT else ""
    enables = not call.callee.name.endswith("inference_mode")
    if constant in ("True", "False"):
        return Mode.ON if (constant == "True") is enables else Mode.OFF
    return Mode.MAYBE


def is_setter(value: Value) -> bool:
    """True for a call such as ``torch.set_grad_enabled(False)``, which works as a plain statement."""
    return value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name in SETTERS


def switches_off(function: cst.FunctionDef, full_name: Callable[[cst.CSTNode], str | None]) -> bool:
    """Whether a function switches gradients off for all that follows: ``torch.set_grad_enabled(False)`` on its way.

    One that says anything else anywhere, ``set_grad_enabled(before)`` in the end, puts them back.
    """
    if not any(_sets(call, full_name) for call in _bare(function)):
        return False
    setters = [node for node in walk_scope(function) if isinstance(node, cst.Call) and _sets(node, full_name)]
    return all(dotted(call.args[0].value) == "False" for call in setters)


def _bare(function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
    """What a function runs on its way, whatever happens, and throws the answer away."""
    statements = (line.body for line in function.body.body if isinstance(line, cst.SimpleStatementLine))
    return (small.value for body in statements for small in body if isinstance(small, cst.Expr))


def _sets(node: cst.CSTNode, full_name: Callable[[cst.CSTNode], str | None]) -> bool:
    """``torch.set_grad_enabled(flag)``"""
    return isinstance(node, cst.Call) and len(node.args) == 1 and full_name(node.func) in SETTERS


def entered_by(call: cst.Call) -> list[cst.BaseExpression]:
    """``stack.enter_context(guard)``, ``guard.__enter__()``: what a call enters."""
    if not isinstance(call.func, cst.Attribute):
        return []
    if call.func.attr.value == "enter_context" and call.args:
        return [call.args[0].value]
    return [call.func.value] if call.func.attr.value == ENTERING else []


def entered_in(body: cst.BaseSuite) -> list[cst.BaseExpression]:
    """What the statements of a block enter by hand, whatever happens: not under an ``if``."""
    nodes = walk(body, lambda node: not isinstance(node, cst.If | cst.IfExp | cst.FunctionDef | cst.Lambda))
    return [one for node in nodes if isinstance(node, cst.Call) for one in entered_by(node)]


def wrapping_mode(decorator: cst.FunctionDef, mode_of: Callable[[cst.BaseExpression], Mode | None]) -> Mode | None:
    """The grad mode in which a decorator of the project runs what it decorates; None where it leaves the mode alone.

    Args:
        decorator: a function with a function in it that calls what the outer one is given, or one that makes such.
        mode_of: the mode under what is written at a block, or as a decorator.
    """
    if not isinstance(decorator.body, cst.IndentedBlock):
        return None
    given = {parameter.name.value for parameter in decorator.params.params}
    for inner in decorator.body.body:
        if isinstance(inner, cst.FunctionDef):
            found = _mode_around_call(inner, given, mode_of) or wrapping_mode(inner, mode_of)
            if found is not None:
                return found
    return None


def _mode_around_call(
    wrapper: cst.FunctionDef, given: set[str], mode_of: Callable[[cst.BaseExpression], Mode | None]
) -> Mode | None:
    """The mode in which a function calls one of ``given``: by a block around the call, by its own decorator or a call.

    ``torch.set_grad_enabled(False)`` in front of it, whatever puts it back in the end.
    """
    withs = (node for node in walk_scope(wrapper) if isinstance(node, cst.With))
    blocks = [(node, [*(item.item for item in node.items), *entered_in(node.body)]) for node in withs]
    around = [*blocks, (wrapper, [one.decorator for one in wrapper.decorators])]
    for node, guards in around:
        body = node.body if isinstance(node, cst.With) else wrapper.body
        calls = (inner.func for inner in walk_scope(body) if isinstance(inner, cst.Call))
        if any(isinstance(called, cst.Name) and called.value in given for called in calls):
            found = next(filter(None, map(mode_of, guards)), None)
            if found is None and node is wrapper:
                found = _mode_set_in(wrapper, mode_of)
            if found is not None:
                return found
    return None


def _mode_set_in(wrapper: cst.FunctionDef, mode_of: Callable[[cst.BaseExpression], Mode | None]) -> Mode | None:
    """The mode that a statement of a function sets, ``torch.set_grad_enabled(False)``, before it tries."""
    calls = (one for one in _bare(wrapper) if isinstance(one, cst.Call) and one.args)
    setting = (call for call in calls if mode_of(call) is Mode.UNKNOWN)
    words = {"False": Mode.OFF, "True": Mode.ON}
    return next((words.get(dotted(call.args[0].value) or "", Mode.UNKNOWN) for call in setting), None)
