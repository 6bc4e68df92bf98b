"""Functions that are told the number of a step: they log at it, and who numbers what is logged logs more than once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

WRITERS = frozenset(
    ["add_scalar", "add_scalars", "add_image", "add_images", "add_figure", "add_histogram", "add_audio"]
)
"""Methods of TensorBoard's ``SummaryWriter`` that take the number of a step third."""


def is_told_step(facts: Facts, function: Function) -> bool:
    """Whether nobody is seen to call ``function``, and it logs at the number of a step that it is given.

    Such as ``writer.add_image("sample", image, step)``.
    """
    if facts.solution.callers.get(function):
        return False
    numbers = map(_logged_at, facts.steps.calls_in(function))
    return any(number is not None and number in function.parameters for number in numbers)


def _logged_at(call: Value) -> Value | None:
    """The number of the step at which a CALL has TensorBoard or Weights & Biases log something."""
    name = call.callee.name.rpartition(".")[2]
    if call.callee.op is Op.ATTRIBUTE and name in WRITERS:
        return call.argument(2, "global_step")
    return call.argument(1, "step") if call.callee.op is Op.EXTERNAL and call.callee.name == "wandb.log" else None
