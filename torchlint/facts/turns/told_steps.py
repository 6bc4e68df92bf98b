"""Functions that are called again and again, although nobody is seen to: what they do would make no sense once.

They are told the number of a step and log at it, or they add what they are told to a history that their object keeps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Function, Kind, Op, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.parameters import is_of_self

if TYPE_CHECKING:
    from torchlint.facts import Facts

WRITERS = frozenset(
    ["add_scalar", "add_scalars", "add_image", "add_images", "add_figure", "add_histogram", "add_audio"]
)
"""Methods of TensorBoard's ``SummaryWriter`` that take the number of a step third."""


def is_told_step(facts: Facts, function: Function) -> bool:
    """Whether nobody is seen to call ``function``, and it is told of one step after the other.

    It logs at the number of a step that it is given, ``writer.add_image("sample", image, step)``, or adds what it is
    given to a list of its object that began empty: ``self.losses.append(loss)``.
    """
    if facts.solution.callers.get(function):
        return False
    numbers = map(_logged_at, facts.steps.calls_in(function))
    if any(number is not None and number in function.parameters for number in numbers):
        return True
    return any(store.function is function and _adds_to_history(facts, store) for store in facts.graph.stores)


def _logged_at(call: Value) -> Value | None:
    """The number of the step at which a CALL has TensorBoard or Weights & Biases log something."""
    name = call.callee.name.rpartition(".")[2]
    if call.callee.op is Op.ATTRIBUTE and name in WRITERS:
        return call.argument(2, "global_step")
    return call.argument(1, "step") if call.callee.op is Op.EXTERNAL and call.callee.name == "wandb.log" else None


def _adds_to_history(facts: Facts, store: Store) -> bool:
    """Whether a method appends what it is given to a list that the object was made with, empty."""
    if store.kind is not Kind.INSERT or store.is_item or store.holder is None or store.loop is not None:
        return False
    made = allocations_of(facts.solution, store.holder)
    return (
        is_of_self(store.holder, store.function)
        and store.value in store.function.parameters
        and bool(made)
        and all(one.function.name == "__init__" and not one.inputs for one in made)
    )
