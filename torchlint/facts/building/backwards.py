"""Where gradients are computed: what a backward, or ``torch.autograd.grad``, starts from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.graph import Backward, Mode, Op, Value
from torchlint.facts.values.operations import keeps_graph

if TYPE_CHECKING:
    from torchlint.facts.building.context import Context

BACKWARD_ARGUMENTS = 4
"""What a tensor's ``backward`` takes at most."""


def run_backward(builder: Context, call: Value, receiver: Value) -> None:
    """A call of something named ``backward``: find out what it starts from.

    ``loss.backward()`` starts from its receiver, ``accelerator.backward(loss)`` from its argument. Both have one
    argument when ``y.backward(gradient)`` is written; a gradient is made up (``torch.ones_like(y)``) or given,
    a loss is computed. What a method hands its own object to, ``model.backward(self, loss)``, is no tensor; one
    that takes more than a tensor's ``backward`` does is one of the program's own.
    """
    if sum(not isinstance(key, str) for key in call.keys[1:]) > BACKWARD_ARGUMENTS:
        return
    first = call.argument(0)
    own = builder.function.parameters[0] if builder.function.owner is not None and builder.function.parameters else None
    if first is not None and first is own:
        _add_backward(builder, call, call.argument(1) or receiver)
        return
    from_argument = first is not None and _is_loss(first, receiver)
    _add_backward(builder, call, first if from_argument and first is not None else receiver)


def run_gradients(builder: Context, call: Value, position: int) -> None:
    """A call of ``torch.autograd.grad`` or ``backward``: it starts from the argument at ``position``."""
    root = call.argument(position, "outputs") or call.argument(position, "tensors")
    if root is not None:
        ends = call.argument(1, "inputs") if call.callee.name.endswith("grad") else None
        inputs = () if ends is None else ends.inputs if ends.op is Op.CONTAINER else (ends,)
        _add_backward(builder, call, root, inputs)


def _add_backward(builder: Context, call: Value, root: Value, inputs: tuple[Value, ...] = ()) -> None:
    builder.graph.backwards.append(
        Backward(root, keeps_graph(call), builder.function, builder.loop, builder.statement, inputs=inputs, call=call)
    )


def _is_scaled_gradient(value: Value) -> bool:
    """``wanted.grad``, by itself, negated, scaled or reshaped; a loss with a penalty on gradients is a sum of more."""
    if value.op is Op.ATTRIBUTE:
        return value.name == "grad" or (value.name == "data" and _is_scaled_gradient(value.inputs[0]))
    if value.op is Op.OPERATION and value.name in ("Multiply", "Divide"):
        return any(map(_is_scaled_gradient, value.inputs))
    if value.op is Op.OPERATION and len(value.inputs) == 1:
        return _is_scaled_gradient(value.inputs[0])
    is_method = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE
    return is_method and _is_scaled_gradient(value.callee.inputs[0])


def _is_loss(argument: Value, receiver: Value) -> bool:
    if argument.mode is Mode.OFF and argument.op in (Op.CALL, Op.OPERATION):
        return False  # no backward starts from what was computed without gradients
    if _is_scaled_gradient(argument):
        return False  # the gradient that a backward begins with: ``actions.backward(-wanted.grad)``
    if argument.op is Op.CALL and argument.callee.op is Op.EXTERNAL:
        operation = torch_api.function(argument.callee.name)
        if operation is not None and operation.history is torch_api.History.FRESH:
            return False
    if argument.op in (Op.CALL, Op.OPERATION, Op.PHI, Op.ATTRIBUTE):
        return True
    return receiver.op not in (Op.CALL, Op.OPERATION, Op.SUBSCRIPT, Op.ELEMENT, Op.PHI)
