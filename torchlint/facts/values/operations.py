"""What torch says of the functions and methods that a program calls."""

from __future__ import annotations

from torchlint import torch_api
from torchlint.facts.values.graph import Op, Value, ValueGraph
from torchlint.facts.values.reaching import reached


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


def may_derive_with_graph(call: Value | None) -> bool:
    """``torch.autograd.grad(y, x, create_graph=not first_order)``: a derivative that may have a graph ends no step."""
    if call is None or call.callee.name.rpartition(".")[2] != "grad":
        return False
    flag = call.argument(4, "create_graph")
    return flag is not None and flag.name != "False"


def derived_in_training(graph: ValueGraph) -> frozenset[Value]:
    """What is computed of ``torch.autograd.grad(y, x, create_graph=self.training)`` where that stands.

    It has a graph while the module trains. That a training goes on with it says nothing of those who evaluate it.
    """
    derived = [call for call in graph.of(Op.CALL) if _is_derivative_of_training(call)]
    return frozenset(reached(derived, lambda value: value.users)) if derived else frozenset()


def _is_derivative_of_training(call: Value) -> bool:
    flag = call.argument(4, "create_graph") if call.callee.name == "torch.autograd.grad" else None
    return flag is not None and flag.op is Op.ATTRIBUTE and flag.name == "training"
