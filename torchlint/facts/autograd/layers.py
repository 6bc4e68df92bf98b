"""Calls that make the layers of a network, though what is called may be taken for a network."""

from __future__ import annotations

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Op, Value


def layers(flows: Flows) -> frozenset[Value]:
    """All that flows into what torch's containers of modules are made of; these take no tensors."""
    calls = flows.solution.graph.of(Op.CALL)
    return flows.ancestry.of_all(given for call in calls if _makes_container(call) for given in call.arguments)


def _makes_container(call: Value) -> bool:
    made = torch_api.torch_class(call.callee.name) if call.callee.op is Op.EXTERNAL else None
    return made is not None and made.wraps
