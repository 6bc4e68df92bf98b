"""What torch says of the functions and methods that a program calls."""

from __future__ import annotations

from torchlint import torch_api
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.literals import is_true


def operation(call: Value) -> torch_api.Operation | None:
    """The row of torch's data for a CALL of one of its functions or methods."""
    if call.callee.op is Op.EXTERNAL:
        return torch_api.function(call.callee.name)
    return torch_api.method(call.callee.name) if call.callee.op is Op.ATTRIBUTE else None


def keeps_graph(call: Value) -> bool:
    """Whether a CALL that runs a backward is told to keep the graph, or may be."""
    return any(
        (flag := call.argument(-1, name)) is not None
        and not (flag.op is Op.CONSTANT and flag.name in ("False", "None"))
        for name in ("retain_graph", "create_graph")
    )


def is_derivative_with_graph(call: Value | None) -> bool:
    """``torch.autograd.grad(y, x, create_graph=True)``: a derivative that has a graph of its own ends no step."""
    if call is None or call.callee.name.rpartition(".")[2] != "grad":
        return False
    return is_true(call.argument(4, "create_graph"))
