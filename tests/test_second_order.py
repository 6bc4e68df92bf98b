"""Gradients that have a graph of their own, and what takes them away."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import TRAINING, Program
from projects import Project

MODEL = """
model = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

BACKWARD = "F.cross_entropy(model(x), y).backward(create_graph=True)"


def cycles(body: str, before: str = "") -> list[str]:
    """ "parameters" or "input" for each backward that leaves a cycle in a loop with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    program = Program(f"{MODEL}{before}\nfor x, y in loader:\n{lines}")
    return ["parameters" if found.leaf is None else "input" for found in program.facts.gradient_cycles]


@pytest.mark.parametrize("body", [BACKWARD, f"{BACKWARD}\noptimizer.step()"])
def test_gradients_that_nothing_takes_away_stay(body: str) -> None:
    assert cycles(body) == ["parameters"]
    assert cycles(body, "optimizer.zero_grad()") == ["parameters"]


@pytest.mark.parametrize("zero", ["p.grad.zero_()", "p.grad.data.zero_()", "p.grad.mul_(0)"])
def test_zeros_are_no_end(zero: str) -> None:
    assert cycles(f"{BACKWARD}\nfor p in model.parameters():\n    {zero}") == ["parameters"]


@pytest.mark.parametrize(
    "end",
    [
        "optimizer.zero_grad()",
        "model.zero_grad(set_to_none=False)",
        "for p in model.parameters():\n    p.grad = None",
        "for p in model.parameters():\n    del p.grad",
        "for p in model.parameters():\n    p.grad.detach_()",
        "if y[0] > 1:\n    optimizer.zero_grad()",
        "tidy(model)",
    ],
)
def test_gradients_that_are_taken_away_leave_nothing(end: str) -> None:
    assert cycles(f"{BACKWARD}\n{end}", "from helpers import tidy") == []


@pytest.mark.parametrize(
    "leaf", ["x.clone().requires_grad_()", "torch.zeros(3, requires_grad=True)", "x.detach().requires_grad_(True)"]
)
def test_a_leaf_of_the_step_keeps_its_gradient(leaf: str) -> None:
    body = f"v = {leaf}\noptimizer.zero_grad()\nmodel(x + v).sum().backward(create_graph=True)"
    assert cycles(body) == ["input"]
    assert cycles(f"{body}\nv.grad = None") == []
    assert cycles(body.replace("create_graph=True", "")) == []
    by_weights = body.replace("create_graph=True", "create_graph=True, inputs=weights")
    assert cycles(by_weights, "weights = list(model.parameters())") == []


def test_what_puts_nothing_into_grad_leaves_nothing() -> None:
    assert cycles("torch.autograd.grad(model(x).sum(), model.parameters(), create_graph=True)") == []
    assert cycles("model(x).sum().backward(create_graph=flag)") == []


def test_a_backward_without_a_loop_is_left_alone() -> None:
    assert Program(f"{MODEL}\ndef look(x, y):\n    {BACKWARD}").facts.gradient_cycles == []


CURVATURE = """
def curvature(net, x, y):
    F.cross_entropy({net}(x), y).backward(create_graph=True)
    slopes = [p.grad for p in net.parameters()]
    return sum(slope.norm() for slope in slopes).item()
{more}
"""


@pytest.mark.parametrize(
    ("net", "more", "found"),
    [
        ("net", "", [True]),
        ("model", "", []),
        ("net", "def tidy(net):\n    net.zero_grad()", []),
        ("net", "print(curvature(model, x, y))", []),
        ("net", "for x, y in loader:\n    print(curvature(model, x, y))", [False]),
        ("net", "def test_it():\n    pass\nimport pytest", []),
    ],
)
def test_a_function_that_works_with_the_gradients_itself_leaves_them_to_the_model_that_it_is_given(
    net: str, more: str, found: list[bool]
) -> None:
    program = Program(f"{MODEL}{CURVATURE.format(net=net, more=more)}")
    assert [cycle.is_supposed for cycle in program.facts.gradient_cycles] == found


CURVED = """
    import torch
    from torch.optim import Optimizer

    class Curved(Optimizer):
        def __init__(self, params, lr=0.1):
            super().__init__(params, dict(lr=lr))

        def step(self, closure=None):
            params = [p for group in self.param_groups for p in group["params"]]
            slopes = [p.grad for p in params]
            curves = torch.autograd.grad(slopes, params, grad_outputs=[torch.ones_like(s) for s in slopes])
            with torch.no_grad():
                for p, curve in zip(params, curves):
                    self.move(p, curve)

        def move(self, p, curve):
            p.sub_(0.1 * p.grad / (curve.abs() + 1e-4))
            {end}
"""

FITS = """
    import torch
    from torch import nn
    from curved import Curved

    def fit(loader):
        net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))
        optimizer = Curved(net.parameters())
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward(create_graph=True)
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("end", "found"),
    [
        ("p.grad = None", []),
        ("p.grad.detach_()", []),
        ("p.grad.zero_()", ["fits.py: TLK108 error"]),
        ("pass", ["fits.py: TLK108 error"]),
    ],
)
def test_an_optimizer_of_another_file_may_take_them_away(tmp_path: Path, end: str, found: list[str]) -> None:
    project = Project(tmp_path, {"curved.py": CURVED.format(end=end), "fits.py": FITS})
    assert [one for one in project.found() if "TLK108" in one] == found


TRACE = """
    import torch

    def trace(net, loss):
        {run}
        slopes = [p.grad for p in net.parameters()]
        total = sum(slope.pow(2).sum().item() for slope in slopes)
        {end}
        return total
"""

SEEDS = """
    import torch
    from torch import nn
    from curvature import trace
    from fitting import fit

    def sharpness(seed, rows{given}):
        torch.manual_seed(seed)
        net = {made}
        loss = net(rows).pow(2).mean()
        {use}
        {end}
        return found
"""

FITTING = """
    import torch

    def fit(net, steps=20):
        optimizer = torch.optim.Adam(net.parameters())
        for step in range(steps):
            loss = net(torch.rand(8, 3)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return net
"""

LOST = ["seeds.py: TLK108 error"]


def sharpness(folder: Path, **options: str) -> list[str]:
    """What is said of gradients where another file runs the backward over a loss that it is given."""
    parts = {
        "run": "loss.backward(create_graph=True)", "end": "pass", "given": "", "left": "pass",
        "made": "fit(nn.Linear(3, 3))", "use": "found = trace(net, loss)", **options,
    }  # fmt: skip
    files = {
        "curvature.py": TRACE.format(run=parts["run"], end=parts["left"]),
        "fitting.py": FITTING,
        "seeds.py": SEEDS.format(**parts),
    }
    return [one for one in Project(folder, files).found() if one.startswith("seeds.py: TLK108")]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"made": "nn.Linear(3, 3)"},
        {"made": "fit(nn.Linear(3, 3)).eval()"},
        {"run": "torch.autograd.backward(loss, None, None, True)"},
        {"use": "loss.backward(create_graph=True)\n        found = [p.grad.sum().item() for p in net.parameters()]"},
        {"use": "print(loss.item())\n        found = trace(net, loss)"},
    ],
)
def test_a_model_that_is_given_up_stays_where_another_file_gave_its_gradients_a_graph(
    tmp_path: Path, options: dict[str, str]
) -> None:
    assert sharpness(tmp_path, **options) == LOST


@pytest.mark.parametrize(
    "options",
    [
        {"run": "loss.backward()"},
        {"run": "slopes = torch.autograd.grad(loss, net.parameters(), create_graph=True)"},
        {"left": "net.zero_grad()"},
        {"left": "for p in net.parameters():\n            p.grad = None"},
        {"end": "net.zero_grad()"},
        {"end": "for p in net.parameters():\n            p.grad = None"},
        {"end": "found = net"},
        {"given": ", net", "made": "fit(net)"},
        {"given": ", net", "made": "net"},
    ],
)
def test_not_where_they_are_taken_away_or_the_model_is_not_given_up(tmp_path: Path, options: dict[str, str]) -> None:
    assert sharpness(tmp_path, **options) == []


LAPLACE = """
def laplacian(y, x):
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    total = 0
    for i in range(x.size(1)):
        total = total + torch.autograd.grad(slope[:, i].sum(), x, create_graph=True)[0][:, i]
    return total

for x, y in loader:
    x = x.requires_grad_()
    print(laplacian(model(x), x).detach())
"""


def test_derivatives_that_are_computed_with_are_no_steps() -> None:
    assert Program(TRAINING + LAPLACE).leaks() == []


MEASURED = """
def network():
    return nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3))

def trace(net, x, y):
    F.cross_entropy(net(x), y).backward(create_graph=True)
    slopes = [p.grad for p in net.parameters()]
    {within}
    return sum(slope.sum().item() for slope in slopes)

def measured(x, y):
    net = {made}
    found = trace(net, x, y)
    {behind}
    return found

print([measured(x, y) for x, y in loader])
"""


@pytest.mark.parametrize(
    ("made", "within", "behind", "is_dropped"),
    [
        ("network()", "pass", "pass", True),
        ("network().to('cuda')", "pass", "pass", True),
        ("nn.Linear(3, 3)", "pass", "pass", True),
        ("network()", "net.zero_grad()", "pass", False),
        ("network()", "pass", "net.zero_grad()", False),
        ("network()", "pass", "kept.append(net)", False),
        ("model", "pass", "pass", False),
    ],
)
def test_the_model_of_a_caller_is_given_up_with_its_gradients(
    made: str, within: str, behind: str, is_dropped: bool
) -> None:
    source = MODEL + "kept = []\n" + MEASURED.format(made=made, within=within, behind=behind)
    found = [one for one in Program(source).facts.gradient_cycles if one.dropped is not None]
    assert len(found) == is_dropped
