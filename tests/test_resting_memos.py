"""What a layer computes once where it does not train, and keeps with its graph."""

from __future__ import annotations

import pytest
from programs import Program

LAYER = """
from elsewhere import Engine, combine

class Layer({base}):
    def __init__(self, engine, start):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.engine, self.folded = engine, None
        self.register_parameter(name="scale", param=nn.Parameter(start))

    def forward(self, x):
        {forward}
        return x @ self.folded

    def fold(self):
        return self.second.weight @ self.first.weight
{more}
"""

USUAL = {"base": "nn.Module", "forward": "", "more": ""}

AT_REST = """if not self.training:
            if self.folded is None:
                self.folded = {}"""

RUN = """
layer = Layer(Engine(), torch.ones(8))
{mode}
for x in loader:
    {each}
"""


def kept(**changed: str) -> list[str]:
    """What is kept, with a question mark where that is supposed."""
    found = Program(LAYER.format(**{**USUAL, **changed})).facts.resting_memos
    return [f"{one.name}{'?' if one.is_supposed else ''}" for one in found]


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        (AT_REST.format("self.second.weight @ self.first.weight"), ["self.folded"]),
        (AT_REST.format("self.fold()"), ["self.folded"]),
        (AT_REST.format("self.scale * 2.0"), ["self.folded"]),
        (AT_REST.format("self.first(torch.eye(8))"), ["self.folded"]),
        (AT_REST.format("self.engine.solve(self.scale + 1.0)"), ["self.folded?"]),
        (AT_REST.format("combine(self.first(x)).clone()"), ["self.folded?"]),
        ("if not self.training and self.folded is None:\n            self.folded = self.fold()", ["self.folded"]),
        ("if self.training:\n            return self.first(x)\n        if not hasattr(self, 'folded'):\n"
         "            self.folded = self.fold()", ["self.folded"]),
        ("if self.training:\n            self.folded = None\n            return self.first(x)\n"
         "        if self.folded is None:\n            self.folded = self.fold()", ["self.folded"]),
    ],
)  # fmt: skip
def test_what_is_made_once_at_rest_keeps_its_graph(forward: str, expected: list[str]) -> None:
    assert kept(forward=forward) == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"forward": AT_REST.format("self.fold().detach()")},
        {"forward": AT_REST.format("self.second.weight.data @ self.first.weight.data")},
        {"forward": AT_REST.format("self.engine.solve(x)")},
        {"forward": AT_REST.format("torch.eye(8)")},
        {"forward": AT_REST.format("self.scale")},
        {"forward": AT_REST.format("nn.Parameter(self.fold())")},
        {"forward": AT_REST.format("self.first.weight.shape")},
        {"forward": AT_REST.format("combine(self.scale.item())")},
        {"forward": "with torch.no_grad():\n            if not self.training and self.folded is None:\n"
                    "                self.folded = self.fold()"},
        {"forward": "if self.folded is None:\n            self.folded = self.fold()"},
        {"forward": "if self.training and self.folded is None:\n            self.folded = self.fold()"},
        {"forward": AT_REST.format("self.fold()") + "\n        out, self.folded = x @ self.folded, None\n"
                    "        return out"},
        {"forward": AT_REST.format("self.fold()"), "base": "torch.utils.data.Dataset"},
        {"forward": AT_REST.format("self.fold()"),
         "more": RUN.format(mode="layer.eval()", each="with torch.no_grad(): layer(x)")},
    ],
)  # fmt: skip
def test_what_has_no_graph_or_is_given_up_is_quiet(changed: dict[str, str]) -> None:
    assert kept(**changed) == []


def test_a_run_with_gradients_on_keeps_it() -> None:
    run = RUN.format(mode="layer.eval()", each="print(layer(x))")
    assert kept(forward=AT_REST.format("self.fold()"), more=run) == ["self.folded"]
