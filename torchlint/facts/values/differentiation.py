"""What operations do to graphs: where one begins, who goes on with it, and what torch's data say of each operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.domain import (
    BOTTOM,
    LEAF,
    NO_GRAPH,
    PLAIN,
    UNKNOWN,
    Abstract,
    Argument,
    Atom,
    Container,
    Derived,
    History,
    Plain,
    Tensor,
    Tool,
    Unknown,
    is_graphless,
    join,
)
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.facts.values.texts import is_joined_with_text
from torchlint.torch_api import History as Effect
from torchlint.torch_api import Returns

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


def heir(value: Value) -> Function | None:
    """Who decides whether the result of ``value`` has a graph: the function whose callers do, or nobody."""
    return value.function if value.mode is Mode.INHERITED else None


def live(value: Value) -> Abstract:
    """A graph begins at ``value``, if gradients are on there, and it is no text: networks may take and give those."""
    if value.mode is Mode.OFF:
        return NO_GRAPH
    if value.mode is Mode.UNKNOWN:
        return UNKNOWN
    return PLAIN if is_joined_with_text(value) else frozenset([Tensor(History.LIVE, value, heir(value))])


def differentiate(value: Value, inputs: Sequence[Abstract]) -> Abstract:
    """The result of a differentiable operation at ``value``.

    It has a graph when gradients are on and an input has one or is a leaf; it has none when every input can be
    without; nothing is known as soon as one input is unknown, unless another has a graph for certain.
    """
    if not all(inputs):
        return BOTTOM
    if value.mode is Mode.OFF:
        return PLAIN if all_plain(inputs) else NO_GRAPH
    if all_plain(inputs):
        return PLAIN
    if value.mode is Mode.UNKNOWN:
        return UNKNOWN
    result: set[Atom] = set()
    certain = False
    for abstract in inputs:
        atoms = [_differentiated(atom, value) for atom in abstract]
        result.update(atom for atom in atoms if atom is not None)
        certain = certain or all(isinstance(a, Tensor) and a.history is History.LIVE for a in atoms)
    if certain:
        result = {atom for atom in result if isinstance(atom, Tensor) and atom.history is History.LIVE}
    elif all(any(map(is_graphless, abstract)) for abstract in inputs):
        result.add(Tensor(History.NONE))
    return join((frozenset(result),))


def all_plain(inputs: Sequence[Abstract]) -> bool:
    """Whether all inputs are numbers, strings and the like."""
    return all(abstract <= PLAIN for abstract in inputs)


def _differentiated(atom: Atom, value: Value) -> Atom | None:
    if isinstance(atom, Tensor):
        if atom.history is History.LIVE:
            return Tensor(History.LIVE, atom.origin, heir(value) or atom.inherits)
        if atom.history is History.LEAF:
            return Tensor(History.LIVE, value, heir(value))
        return None if atom.history is History.NONE else atom
    if isinstance(atom, Argument):
        return Derived(atom.parameter, heir(value))
    if isinstance(atom, Derived):
        return Derived(atom.parameter, heir(value) or atom.inherits)
    if isinstance(atom, Plain | Container | Tool):
        return None
    return Unknown()


def apply(
    solution: Solution,
    value: Value,
    operation: torch_api.Operation,
    inputs: Sequence[Abstract],
    options: Sequence[Abstract],
) -> Abstract:
    """What an operation of torch returns.

    Args:
        solution: to record the parts of a tuple.
        value: where it is called.
        operation: its row of the generated data.
        inputs: what its graph can come from, the receiver first.
        options: the arguments that choose an overload (``dim`` of ``max``).
    """
    if operation.returns is Returns.OTHER and operation.history is Effect.UNKNOWN:
        return UNKNOWN  # `torch.load`: whatever was saved
    if operation.returns is Returns.OTHER and operation.history is Effect.KEEPS:
        return differentiate(value, inputs)  # `pack_padded_sequence`: an object around the tensor
    if operation.returns in (Returns.NUMBER, Returns.LIST, Returns.ARRAY, Returns.NOTHING, Returns.OTHER):
        return PLAIN
    as_tuple = operation.returns is Returns.TUPLE or bool(options and operation.elements)
    if as_tuple and operation.elements:
        for position, (field_name, effect) in enumerate(operation.elements):
            part = NO_GRAPH if effect is Effect.ENDS else differentiate(value, inputs)
            solution.set_field(value, position, part)
            if field_name:
                solution.set_field(value, field_name, part)
        return frozenset([Container(value)])
    if operation.history in (Effect.ENDS, Effect.FRESH, Effect.DETACHES_SELF):
        flag = value.argument(-1, "requires_grad") if value.op is Op.CALL else None
        return LEAF if flag is not None and flag.name == "True" else NO_GRAPH
    if operation.history is Effect.SELF and value.mode is Mode.OFF:
        return inputs[0]
    if operation.history in (Effect.KEEPS, Effect.SELF):
        return differentiate(value, inputs)
    return UNKNOWN
