"""What a condition leaves of a variable, in its branches and after them."""

from __future__ import annotations

import libcst as cst
import pytest
from programs import TRAINING, Program

from torchlint import check_source
from torchlint.facts import Facts
from torchlint.facts.values.domain import NO_GRAPH, Container, External, Module, Plain, Tensor, Unknown

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
    "y = v if isinstance(v, int | float | np.ndarray) else 0": {Plain},
    "y = v if isinstance(v, float | torch.Tensor) else 0": {Plain, Tensor},
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
    "m = model if x else np.load; y = 0 if isinstance(m, nn.Module) else m": {Plain, External},
    "m = model if x else np.load; y = 0 if not isinstance(m, nn.Module) else m": {Plain, Module, External},
    "m = model; y = 0 if isinstance(m, nn.Module) else m": {Plain, Unknown},
    "v = (v, 1) if x else v; y = v + v": {Container, Tensor},
    "v = (v,) if x else (x,); y = v + v": {Container},
    "v = (v,) if x else None; y = v + v": {Container},
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


DETACHING = {
    "all": """
        if torch.is_tensor(tree):
            return tree.detach()
        if isinstance(tree, dict):
            return {key: plain(item) for key, item in tree.items()}
        if isinstance(tree, (list, tuple)):
            return type(tree)(plain(item) for item in tree)
        return tree""",
    "a dictionary": """
        if isinstance(tree, dict):
            return {key: item.detach() for key, item in tree.items()}
        return tree""",
    "none but a dictionary": """
        if not isinstance(tree, dict):
            return tree.detach() if torch.is_tensor(tree) else tree
        found = {}
        for key, item in tree.items():
            found[key] = plain(item)
        return found""",
    "a dictionary or not": """
        return {key: item.detach() for key, item in tree.items()} if isinstance(tree, dict) else tree""",
}
"""Functions that give a dictionary without graphs; what is no dictionary some of them give as it is."""


@pytest.mark.parametrize("body", DETACHING.values(), ids=DETACHING)
def test_what_asks_for_a_dictionary_gives_none_as_it_is(body: str) -> None:
    assert not _is_live_item("plain({'out': v})['out']", body)
    assert not _is_live_item("plain(dict(out=v))['out']", body)


LEAVING = {
    "a list": """
        if isinstance(tree, list):
            return [item.detach() for item in tree]
        return tree""",
    "a dictionary that is empty": """
        if isinstance(tree, dict) and not tree:
            return {}
        return tree""",
    "nothing": """
        if isinstance(tree, dict):
            print(len(tree))
        return tree""",
}


@pytest.mark.parametrize("body", LEAVING.values(), ids=LEAVING)
def test_what_asks_for_something_else_gives_a_dictionary_as_it_is(body: str) -> None:
    assert _is_live_item("plain({'out': v})['out']", body)


def _is_live_item(item: str, body: str) -> bool:
    """Whether ``item``, computed by a function ``plain`` with this body, has a graph."""
    facts = Facts(cst.parse_module(f"{HEAD}    y = {item}\n    z = [y]\n\ndef plain(tree):{body}\n"))
    kept = next(
        value for value in facts.graph.values if isinstance(value.syntax, cst.List) and value.function.name == "f"
    )
    return facts.flows.live(kept.inputs[0]) is not None


TRAINER = """
import torch
from torch import nn
from transformers import Trainer

class ObjectiveTrainer(Trainer):
    def __init__(self, model, objective=None):
        super().__init__(model=model)
        objective = Terms(model) if objective is None else objective
        if isinstance(objective, dict):
            self.objective = {task: self.ready(one) for task, one in objective.items()}
        else:
            self.objective = self.ready(objective)
        self.terms = {}

    def ready(self, objective):
        READY

    def compute_loss(self, model, inputs, return_outputs=False):
        objective = self.objective
        if isinstance(objective, dict):
            objective = objective[inputs.pop("task")]
        loss = objective(inputs["ids"], inputs["labels"])
        if isinstance(loss, dict):
            for name, term in loss.items():
                self.terms[name] = self.terms[name] + KEPT if name in self.terms else KEPT
            loss = torch.stack(list(loss.values())).sum()
        return loss

class Terms(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, labels):
        hidden = self.model(ids)
        return {"fit": nn.functional.cross_entropy(hidden, labels), "size": hidden.abs().mean()}
"""

READY = {
    "on both branches": """
        if isinstance(objective, nn.Module):
            return objective.to(self.args.device)
        return objective(self.model).to(self.args.device)""",
    "in one expression": """
        return objective if isinstance(objective, torch.nn.Module) else objective(self.model)""",
    "where it is none": """
        if not isinstance(objective, nn.Module):
            objective = objective(self.model)
        return objective""",
}


@pytest.mark.parametrize("ready", READY.values(), ids=READY)
@pytest.mark.parametrize(("kept", "found"), [("term", ["TLK101"]), ("term.detach()", []), ("term.item()", [])])
def test_a_module_is_not_called_as_what_makes_one(ready: str, kept: str, found: list[str]) -> None:
    """What a trainer takes for a factory of modules where it is no module gives no losses there."""
    source = TRAINER.replace("READY", ready.strip()).replace("KEPT", kept)
    assert [one.code for one in check_source(source)] == found


PAIRED = """
class Meter:
    def __init__(self):
        self.n = 0
    def add(self, given):
        {taken}
        self.n += n
meter = Meter()
for x, y in loader:
    loss = model(x).sum()
    meter.add((loss, len(y)))
    meter.add(2 * loss)
"""


@pytest.mark.parametrize(
    ("taken", "leaks"),
    [
        ("value, n = given if isinstance(given, tuple) else (given, 1)", False),
        ("n = given[1] if isinstance(given, (tuple, list)) else 1", False),
        ("n, value = given if isinstance(given, tuple) else (1, given)", True),
    ],
)
def test_of_what_is_a_tuple_for_some_callers_others_pass_no_item(taken: str, leaks: bool) -> None:
    assert bool(Program(TRAINING + PAIRED.format(taken=taken)).accumulated()) is leaks
