"""Functions that are called again and again, although nobody is seen to: what they do would make no sense once.

They are told the number of a step and log at it, or number a file by it, or they add what they are told to a history
that their object keeps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.graph import Function, Kind, Op, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.parameters import is_of_self

if TYPE_CHECKING:
    from torchlint.facts import Facts

WRITERS = frozenset(
    ["add_scalar", "add_scalars", "add_image", "add_images", "add_figure", "add_histogram", "add_audio"]
)
"""Methods of TensorBoard's ``SummaryWriter`` that take the number of a step third."""

SAVING = frozenset(["savefig", "imsave"])
"""Functions and methods that write a picture to the file of the name that they are given."""

_AS_NUMBER = re.compile(r"^0?\d+d$")
"""How a whole number is written with as many digits as the largest: ``{epoch:03d}``."""


def is_told_step(facts: Facts, function: Function) -> bool:
    """Whether nobody is seen to call ``function``, and it is told of one step after the other.

    It logs at the number of a step that it is given, ``writer.add_image("sample", image, step)``, or that its object
    counts, or adds what it is
    given to a list of its object that began empty: ``self.losses.append(loss)``. Or it saves pictures in files that are
    numbered by it, ``figure.savefig(f"{folder}/{epoch:03d}.png")``. So is one that only such functions call, and tell
    what they are told.
    """
    calls = facts.steps.calls_in(function)
    numbers = [number for call in calls for number in (_logged_at(call), *_numbering(call))]
    if any(number is not None and number in function.parameters and _is_told(facts, number) for number in numbers):
        return True
    if facts.solution.callers.get(function):
        return False
    if any(number is not None and _is_own_count(facts, number) for number in numbers):
        return True
    return any(store.function is function and _adds_to_history(facts, store) for store in facts.graph.stores)


def _is_told(facts: Facts, number: Value) -> bool:
    """Whether a parameter is what code that is not seen passes, be it to a function that passes it on as it is."""
    calls, given = facts.solution.callers.get(number.function, ()), facts.solution.arguments_of(number)
    return len(given) == len(calls) and all(
        one.op is Op.PARAMETER and not facts.solution.callers.get(one.function) for one in given
    )


def _is_own_count(facts: Facts, number: Value) -> bool:
    """Whether a number is one that the object counts up: ``self.step += 1``, ``self.steps["train"] += 1``."""
    counter = number.inputs[0] if number.op is Op.SUBSCRIPT else number
    stores = facts.graph.stores if is_of_self(counter, number.function) else ()
    return any(store.kind is Kind.UPDATE and _attribute_changed(store) == counter.name for store in stores)


def _attribute_changed(store: Store) -> str:
    """The attribute that is set, or of whose content an item is: ``steps`` of ``self.steps["train"] += 1``."""
    is_item = store.is_item and store.holder is not None and is_of_self(store.holder, store.function)
    return store.holder.name if is_item and store.holder is not None else store.attribute


def _logged_at(call: Value) -> Value | None:
    """The number of the step at which a CALL has TensorBoard or Weights & Biases log something."""
    name = call.callee.name.rpartition(".")[2]
    if call.callee.op is Op.ATTRIBUTE and name in WRITERS:
        return call.argument(2, "global_step")
    return call.argument(1, "step") if call.callee.op is Op.EXTERNAL and call.callee.name == "wandb.log" else None


def _numbering(call: Value) -> Iterator[Value]:
    """The numbers that are written into the name of the file which a CALL saves, in a row of digits."""
    names = call.arguments if call.callee.name.rpartition(".")[2] in SAVING else ()
    for part in (part for name in names for part in name.computed_from()):
        if isinstance(part.syntax, cst.FormattedString):
            filled = [one for one in part.syntax.parts if isinstance(one, cst.FormattedStringExpression)]
            yield from (
                value for one, value in zip(filled, part.inputs, strict=False)
                if len(filled) == len(part.inputs) and _is_of_digits(one)
            )  # fmt: skip


def _is_of_digits(filled: cst.FormattedStringExpression) -> bool:
    spec = filled.format_spec or ()
    return len(spec) == 1 and isinstance(spec[0], cst.FormattedStringText) and bool(_AS_NUMBER.match(spec[0].value))


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
