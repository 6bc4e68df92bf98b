"""What a program hands to NumPy as it is: that has no graph, wherever the guard stands.

``Tensor.numpy`` and all functions of NumPy refuse a tensor that requires grad, so a program that runs calls them under
a guard, be it in another file, or on the output of a model whose parameters are frozen.
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
"""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.domain import History, Tensor
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.facts.values.returned_items import items_at


def read_as_arrays(flows: Flows) -> frozenset[Value]:
    """All values that would have a graph where NumPy reads them, if they had one.

    Only what surely keeps a graph lies between; of an object with several tensors nothing is said if the program
    detaches one of them.
    """
    found: set[Value] = set()
    pending = [value for call in flows.solution.graph.of(Op.CALL) for value in _given(call)]
    while pending:
        value = pending.pop()
        if value not in found and not _is_known_without(flows, value):
            found.add(value)
            pending.extend(source for source in _kept(flows, value) if source not in flows.detached)
    return frozenset(found)


def _is_known_without(flows: Flows, value: Value) -> bool:
    """Whether a tensor has no graph by itself: of a drawn action nothing follows for what else the policy gives."""
    return Tensor(History.NONE) in flows.solution.final(value) and flows.live(value) is None


def _given(call: Value) -> Iterator[Value]:
    """What a call turns into an array."""
    if call.callee.op is Op.ATTRIBUTE and call.callee.name == "numpy" and not call.arguments:
        yield call.callee.inputs[0]
    elif call.callee.op is Op.EXTERNAL and call.callee.name.startswith("numpy."):
        yield from call.arguments


def _kept(flows: Flows, value: Value) -> Iterator[Value]:
    """The values whose graph ``value`` has, if they have one."""
    if value.op is Op.ELEMENT and value.inputs[0].op is Op.CONTAINER:
        yield from items_at(flows.solution, value)  # of `for score, box in zip(scores, boxes)` a row of each
    elif value.op in (Op.SUBSCRIPT, Op.ELEMENT):
        yield value.inputs[0]
    elif value.op is Op.OPERATION:
        yield from value.inputs
    elif value.op is Op.PARAMETER:
        yield from flows.solution.arguments_of(value)
    elif value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
        operation = torch_api.method(value.callee.name)
        keeps = operation is not None and operation.history in (torch_api.History.KEEPS, torch_api.History.SELF)
        if keeps or value.callee.name in SAME_OBJECT:
            yield value.callee.inputs[0]
    elif value.op is Op.CALL and flows.is_arithmetic(value):
        for argument in value.arguments:
            yield from argument.inputs if argument.op is Op.CONTAINER else (argument,)
