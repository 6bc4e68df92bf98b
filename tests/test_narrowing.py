"""What a condition leaves of a variable, in its branches and after them."""

from __future__ import annotations

import libcst as cst
import pytest

from torchlint.facts import Facts
from torchlint.facts.values.domain import NO_GRAPH, Container, Plain, Tensor, Unknown

HEAD = """
import numpy as np
import torch
from torch import nn
model = nn.Linear(3, 3)

def f(x):
    v = model(x)
"""

LEFT = {
    "y = v if isinstance(v, float) else 0": {Plain},
    "y = v if isinstance(v, (int, np.ndarray)) else 0": {Plain},
    "y = v if not isinstance(v, torch.Tensor) else 0": {Plain, Unknown},
    "y = 0 if torch.is_tensor(v) else v": {Plain, Unknown},
    "y = 0 if hasattr(v, 'item') else v": {Plain, Unknown},
    "y = 0 if v.requires_grad else v": {Plain, Tensor},
    "y = v if isinstance(v, float) and x else 0": {Plain},
    "y = 0 if isinstance(v, torch.Tensor) or x else v": {Plain, Unknown},
    "y = v if isinstance(v, float) or x else 0": {Plain, Tensor},
    "y = v if isinstance(v, (float, torch.Tensor)) else 0": {Plain, Tensor},
    "y = 0 if hasattr(v, 'items') else v": {Plain, Tensor},
    "assert isinstance(v, float); y = v": {Plain},
    "if torch.is_tensor(v): v = 0\n    y = v": {Plain, Unknown},
    "if torch.is_tensor(v): return\n    y = v": {Unknown},
    "if torch.is_tensor(v): print(v)\n    y = v": {Tensor},
    "v = (v, 1) if x else v; y = v if isinstance(v, tuple) else 0": {Plain, Container},
    "v = (v, 1) if x else v; y = v if not isinstance(v, (list, tuple)) else 0": {Plain, Container, Tensor},
    "y = v[1] if isinstance(v, tuple) else 0": {Plain, Tensor},
    "if torch.is_tensor(v): print(v)\n    else: print(0)\n    y = v": {Tensor},
    "y = 0\n    if False: y = v": {Plain},
    "y = 0\n    if 0: y = v\n    elif x: y = v": {Plain, Tensor},
    "y = 0\n    if False: y = v\n    else: y = v": {Tensor},
}


@pytest.mark.parametrize("code", LEFT)
def test_what_is_left(code: str) -> None:
    facts = Facts(cst.parse_module(f"{HEAD}    {code}\n    z = [y]\n"))
    (kept,) = (value for value in facts.graph.values if isinstance(value.syntax, cst.List))
    assert {type(atom) for atom in facts.solution.final(kept.inputs[0])} == LEFT[code]


@pytest.mark.parametrize("item", ["a, v = pair(x)", "v = pair(x)[1]"])
def test_no_item_of_a_call_without_gradients_has_a_graph(item: str) -> None:
    text = f"{HEAD}\ndef pair(x):\n    return 0, model(x)\n\ndef g(x):\n    with torch.no_grad():\n        {item}\n"
    facts = Facts(cst.parse_module(f"{text}    z = [v]\n    z = [pair(x)[1]]\n"))
    without, live = [value for value in facts.graph.values if isinstance(value.syntax, cst.List)]
    assert facts.flows.live(without.inputs[0]) is None
    assert facts.solution.final(without.inputs[0]) >= NO_GRAPH
    assert facts.flows.live(live.inputs[0]) is not None
