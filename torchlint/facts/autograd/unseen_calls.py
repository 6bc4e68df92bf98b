"""Calls of code that is not seen: it may train on what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.domain import Argument, Container, Derived, FunctionReference, Instance, Unknown
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.overriding import is_left_open, is_super

if TYPE_CHECKING:
    from torchlint.facts.autograd.flows import Flows

SINKS = frozenset(
    ["log", "log_dict", "log_metrics", "add_scalar", "add_scalars", "set_postfix", "set_postfix_str", "set_description",
     "info", "debug", "warning", "write", "writerow", "writerows", "print", "format", "report", "append", "extend",
     "add", "insert"]
)  # fmt: skip
"""Methods of unknown objects that read a value for a person; they train on nothing."""


def runs_unseen_code(flows: Flows, call: Value) -> bool:
    """Whether a CALL runs code that is not seen, and that does more with what it is given than to read it."""
    callee = call.callee
    if callee.op is Op.ATTRIBUTE:
        if _is_left_to_a_base(flows, callee):
            return True
        if (
            _is_of_torch_base(callee)
            or (callee.name in torch_api.module_methods() and not _applies_to_tensor(flows, call))
            or ((torch_api.method(callee.name) or callee.name in SINKS) and not _is_no_tensors(call))
        ):
            return False
        if _is_told(flows, callee):
            return False
        receiver = flows.solution.final(callee.inputs[0])
        # An item of what is passed in may be a tensor; one that has a method which no tensor has is none.
        return any(isinstance(a, Unknown | Argument | Derived) for a in receiver) and not any(
            isinstance(a, Container) for a in receiver
        )
    if callee.op is Op.EXTERNAL:
        known = callee.name.startswith(("torch.", "builtins.", "numpy.", "math."))
        return not known and flows.solution.may_be(call, Unknown)
    return flows.solution.may_be(callee, Unknown | Argument)


def _is_told(flows: Flows, method: Value) -> bool:
    """Whether the annotation of an object says which method of the file is meant, ``self.context: Context``."""
    atoms = flows.solution.final(method)
    functions = [atom.function for atom in atoms if isinstance(atom, FunctionReference)]
    return len(functions) == len(atoms) > 0 and not any(map(is_left_open, functions))


def _applies_to_tensor(flows: Flows, call: Value) -> bool:
    """``optimizer.apply(loss)``: a module's ``apply`` takes a function."""
    return call.callee.name == "apply" and any(map(flows.surely_tensor, call.arguments))


def _is_left_to_a_base(flows: Flows, method: Value) -> bool:
    """Whether an ATTRIBUTE is a method that an object of this file has from a base that is not seen."""
    if stored_at(flows.solution, method):
        return False
    classes = [a.cls for a in flows.solution.final(method.inputs[0]) if isinstance(a, Instance)]
    return bool(classes) and all(
        cls.method(method.name) is None
        and method.name not in torch_api.module_methods()
        and not all(map(_is_of_torch, cls.all_bases()))
        for cls in classes
    )


def _is_no_tensors(call: Value) -> bool:
    """Whether a method is named as one of tensors, and is none.

    ``memory.add(state, action, value)``: no tensor, and no container either, adds several things at once.
    ``queue.put(x, y)`` and ``terms.add("depth", loss)`` as statements: what only computes is of no use there.
    """
    operation, name = torch_api.method(call.callee.name), call.callee.name
    if name in ("add", "append") and call.is_bare:
        return len(call.arguments) > 1 and "out" not in call.keys
    if name in ("add", "append"):
        return sum(isinstance(key, int) for key in call.keys[1:]) > 2
    return call.is_bare and name == "put" and operation is not None


def _is_of_torch(base: str) -> bool:
    """Whether a base class, by its full dotted name, is torch's own: no method of one runs a backward."""
    return base == "builtins.object" or base.startswith("torch.") or torch_api.torch_class(base) is not None


def _is_of_torch_base(method: Value) -> bool:
    """``super().log_prob(x)`` in a class all of whose bases are torch's."""
    receiver, owner = method.inputs[0], method.function.owner
    return is_super(receiver) and owner is not None and bool(owner.bases) and all(map(_is_of_torch, owner.all_bases()))
