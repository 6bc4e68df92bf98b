"""Which backwards run over the same graph, and which keep it for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import TRAINING, Program
from projects import Project

from torchlint import check_source


def in_loop(body: str, before: str = "") -> Program:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return Program(
        f"{TRAINING}\nhead = nn.Linear(3, 3)\nother = nn.Linear(3, 3)\n{before}\nfor x, y in loader:\n{lines}"
    )


def in_vain(program: Program) -> list[str]:
    """The backwards that keep their graph for nothing, as they are written."""
    return [program.facts.code(found.call.syntax) for found in program.facts.retained_in_vain if found.call.syntax]


ALONE = "loss.backward(retain_graph=True)"


@pytest.mark.parametrize(
    "body",
    [
        f"loss = model(x).sum()\n{ALONE}\noptimizer.step()",
        f"loss = model(x).sum()\nmodel(x).mean().backward()\n{ALONE}",
        f"h = model(x)\nloss = head(h.detach()).sum()\n{ALONE}\nother(h).sum().backward()",
        f"terms = []\nfor k in range(3):\n    terms.append(model(x)[k])\nloss = sum(terms)\n{ALONE}",
        f"h = model(x)\nhead(h).sum().backward(retain_graph=1 > 0)\nloss = other(h).sum()\n{ALONE}",
    ],
)
def test_a_graph_that_no_other_backward_shares_is_kept_in_vain(body: str) -> None:
    assert in_vain(in_loop(body)) == [ALONE]


@pytest.mark.parametrize(
    "body",
    [
        f"h = model(x)\nloss = head(h).sum()\n{ALONE}\nother(h).sum().backward()",
        f"h = model(x)\nfor k in range(3):\n    loss = h[k].sum()\n    {ALONE}",
        f"loss = model(x).sum()\nfor k in range(2):\n    {ALONE}",
        f"loss = model(x).sum()\n{ALONE}\ntorch.autograd.grad(loss, model.parameters())",
        "loss = model(x).sum()\nloss.backward(retain_graph=False)",
        "loss = model(x).sum()\nloss.backward(retain_graph=flag)",
        "loss = model(x).sum()\nloss.backward(create_graph=True, retain_graph=True)",
    ],
)
def test_a_graph_that_another_backward_shares_is_needed(body: str) -> None:
    assert in_vain(in_loop(body)) == []


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("h = torch.zeros(3)", f"h = model(x + h)\nloss = h.sum()\n{ALONE}"),
        ("table = model.weight * 2", f"loss = (x @ table).sum()\n{ALONE}"),
        ("kept = []", f"kept.append(model(x))\nloss = torch.stack(kept).sum()\n{ALONE}"),
    ],
)
def test_a_graph_that_is_older_than_the_step_is_needed(before: str, body: str) -> None:
    assert in_vain(in_loop(body, before)) == []


SEVERAL = """
class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.last = []
    def forward(self, x):
        {body}
several = Several()
"""
GATHERED = "found = []\n        for part in self.parts:\n            found.append(part(x))\n        return found"
KEPT = "self.last = [part(x) for part in self.parts]\n        return self.last"
TWICE = "for out in several(x):\n    out.sum().backward()\nloss = sum(out.sum() for out in several(model(x)))\n"


@pytest.mark.parametrize(
    ("returned", "body", "needed"),
    [
        ("return [part(x) for part in self.parts]", TWICE + ALONE, False),
        (GATHERED, TWICE + ALONE, False),
        (KEPT, TWICE + ALONE, True),
        (GATHERED, f"one, two = several(x)\nloss = one.sum()\n{ALONE}\ntwo.sum().backward()", True),
        (GATHERED, f"outs = several(x)\nloss = outs[0].sum()\n{ALONE}\nouts[1].sum().backward()", True),
        (GATHERED, f"outs = several(x)\nloss = sum(o.sum() for o in outs)\n{ALONE}\nouts[1].sum().backward()", True),
        (GATHERED, f"h = model(x)\nloss = several(h)[0].sum()\n{ALONE}\nseveral(h)[1].sum().backward()", True),
        (GATHERED, f"for loss in several(x):\n    loss = loss.sum()\n    {ALONE}", True),
    ],
)
def test_a_list_that_a_call_makes_is_its_own(returned: str, body: str, needed: bool) -> None:
    program = in_loop(body, SEVERAL.format(body=returned))
    assert in_vain(program) == ([] if needed else [ALONE])


def test_a_state_on_self_is_older_than_the_step() -> None:
    source = """
class Recurrent:
    def __init__(self):
        self.cell, self.state = nn.GRUCell(3, 3), None
    def step(self, x):
        self.state = self.cell(x, self.state)
        loss = self.state.sum()
        loss.backward(retain_graph=True)
r = Recurrent()
for x, y in loader:
    r.step(x)
"""
    assert in_vain(Program(source)) == []


def test_the_callers_of_a_function_tell_what_its_loss_is() -> None:
    function = "def run(loss):\n    loss.backward(retain_graph=True)\n"
    assert in_vain(in_loop("run(model(x).sum())", function)) == [ALONE]
    assert in_vain(in_loop("h = model(x)\nrun(h.sum())\nrun(h.mean())", function)) == []
    assert in_vain(in_loop("h = model(x)\nrun(h.sum())\nh.mean().backward()", function)) == []
    assert in_vain(Program(function)) == []


def test_a_flag_that_every_call_leaves_true_is_true() -> None:
    function = "def run(loss, retain=True):\n    loss.backward(retain_graph=retain)\n"
    told = "loss.backward(retain_graph=retain)"
    assert in_vain(in_loop("run(model(x).sum())", function)) == [told]
    assert in_vain(in_loop("run(model(x).sum(), retain=True)", function)) == [told]
    assert in_vain(in_loop("run(model(x).sum(), True)", function.replace("=True", ""))) == [told]
    assert in_vain(in_loop("run(model(x).sum(), retain=y > 0)", function)) == []
    assert in_vain(in_loop("run(model(x).sum(), **y)", function)) == []
    assert in_vain(in_loop("run(model(x).sum())", function.replace("=True", "=False"))) == []
    assert in_vain(in_loop("h = model(x)\nrun(h.sum())\nrun(h.mean(), False)", function)) == []


def test_a_loss_that_leaves_is_followed_by_a_step_or_may_be_needed() -> None:
    head = "def step(model, optimizer):\n    for x, y in DataLoader(d):\n        loss = model(x).sum()\n        "
    optimizer = f"{TRAINING}def run(loader):\n    for x, y in loader:\n        loss = model(x).sum()\n        {ALONE}\n"
    assert in_vain(Program(f"{optimizer}        optimizer.step()\n        return loss")) == [ALONE]
    assert in_vain(Program(f"{optimizer}        return loss")) == []
    assert in_vain(Program(f"{optimizer}        return loss.item()")) == [ALONE]
    assert in_vain(Program(f"{head}{ALONE}\n        monitor(loss)")) == []


def test_what_keeps_the_loss_is_named() -> None:
    program = in_loop(f"loss = model(x).sum()\n{ALONE}\nkept.append(loss)", "kept = []")
    (found,) = program.facts.retained_in_vain
    assert found.stored == "kept"


@pytest.mark.parametrize(
    "loop",
    [
        "batches = iter(loader)\n    while True:\n        x, y = next(batches)",
        "for k, (x, y) in enumerate(loader):\n        k += 1",
        "for batch in loader:\n        x, y = batch",
        "for batch in loader:\n        x, y = batch['x'], batch['y']",
    ],
)
def test_an_item_of_what_nobody_knows_is_a_batch(loop: str) -> None:
    body = f"        loss = F.cross_entropy(model(x), y)\n        {ALONE}\n        optimizer.step()\n"
    head = (
        "def train(loader):\n    model = nn.Linear(3, 3)\n    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n"
    )
    assert in_vain(Program(f"{head}    {loop}\n{body}")) == [ALONE]


@pytest.mark.parametrize(
    "loop", ["for name, loss in losses.items()", "for loss in losses", "for n, loss in enumerate(losses)"]
)
def test_a_loss_that_is_an_item_of_what_is_handed_in_may_be_needed_by_who_hands_it_in(loop: str) -> None:
    assert in_vain(Program(f"def pull(losses):\n    {loop}:\n        {ALONE}\n")) == []
    inner = f"def run(loss):\n    {ALONE}\ndef pull(losses):\n    {loop}:\n        run(loss)\n"
    assert in_vain(Program(inner)) == []


HELD = """
class Fit:
    def __init__(self, model, loader):
        self.model, self.optimizer = model, torch.optim.SGD(model.parameters(), lr=0.1)
        self.loader = {loader}
    def run(self):
        for {item} in {items}:
            loss = F.mse_loss(self.model(x), y)
            {backward}
            self.optimizer.step()
            {after}
"""


@pytest.mark.parametrize(
    ("loader", "item", "items", "after", "is_vain"),
    [
        ("loader", "x, y", "self.loader", "", True),
        ("loader", "k, (x, y)", "enumerate(self.loader)", "", True),
        ("iter(loader)", "x, y", "self.loader", "", True),
        ("loader", "x, y", "self.loader", "self.loader.append((loss, y))", False),
    ],
)
def test_an_item_of_what_an_object_was_given_is_a_batch(
    loader: str, item: str, items: str, after: str, is_vain: bool
) -> None:
    source = HELD.format(loader=loader, item=item, items=items, backward=ALONE, after=after)
    assert in_vain(Program(source)) == ([ALONE] if is_vain else [])


def test_an_item_of_what_an_object_was_given_may_have_a_graph_by_its_callers() -> None:
    source = HELD.format(loader="loader", item="x, y", items="self.loader", backward=ALONE, after="")
    assert in_vain(Program(f"{TRAINING}\n{source}\nFit(model, loader).run()")) == [ALONE]
    graphs = "h = model(torch.ones(3))\nrows = [(h, h), (h, h)]"
    assert in_vain(Program(f"{TRAINING}\n{source}\n{graphs}\nFit(nn.Linear(3, 3), rows).run()")) == []


STATEFUL = """
class Pump(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTM(3, 3)
    def forward(self, x, state=None):
        y, state = self.cell(x, state)
        return y, state
pump = Pump()
def run(loader):
    state = None
    for x, y in loader:
        if {test}:
            {cut}
        out, state = pump(x, state)
        loss = out.sum()
        loss.backward(retain_graph=True)
"""


@pytest.mark.parametrize(
    ("test", "cut", "is_vain"),
    [
        ("state is not None", "state = tuple(s.detach() for s in state)", True),
        ("state is not None", "state = (state[0].detach(), state[1].detach())", True),
        ("state != None", "state = tuple(s.detach() for s in state)", True),
        ("state is not None", "state = tuple(s * 0.5 for s in state)", False),
        ("state is not None", "state = (state[0].detach(), state[1])", False),
        ("state is not None and x.sum() > 0", "state = tuple(s.detach() for s in state)", False),
        ("x.sum() > 0", "state = tuple(s.detach() for s in state)", False),
        ("state is None", "state = (x, x)", False),
    ],
)
def test_a_state_that_is_cut_wherever_there_is_one(test: str, cut: str, is_vain: bool) -> None:
    assert in_vain(Program(f"{TRAINING}\n{STATEFUL.format(test=test, cut=cut)}")) == ([ALONE] if is_vain else [])


def test_what_a_network_makes_is_asked_again_and_again() -> None:
    body = f"policy = model(x)\nfor action in y:\n    loss = -policy.log_prob(action)\n    {ALONE}\noptimizer.step()"
    assert in_vain(in_loop(body)) == []


@pytest.mark.parametrize(
    ("after", "needed"),
    [
        ("product = curvature(divergence, model.parameters())\noptimizer.step()", True),
        ("weights = list(model.parameters())\nproduct = curvature(divergence, weights)", True),
        ("optimizer.step()\nproduct = curvature(divergence, model.parameters())", False),
        ("shown = curvature(divergence)\noptimizer.step()", False),
    ],
)
def test_code_of_others_differentiates_by_the_parameters_that_it_is_given(after: str, needed: bool) -> None:
    before = "from solvers import curvature\ndef both(x):\n    h = model(x)\n    return h.sum(), h.var()\n"
    body = f"loss, divergence = both(x)\n{ALONE}\n{after}"
    assert in_vain(in_loop(body, before)) == ([] if needed else [ALONE])


@pytest.mark.parametrize(("second", "needed"), [("torch.sum(self.losses)", True), ("model(self.rows).sum()", False)])
def test_a_graph_may_begin_in_an_attribute_that_others_set(second: str, needed: bool) -> None:
    first = "torch.mean(self.losses)" if needed else "model(self.rows).sum()"
    body = (
        "from elsewhere import Base\n"
        "class Losses(Base):\n    def backward(self):\n"
        f"        loss = {first}\n        {ALONE}\n        {second}.backward()\n"
    )
    assert in_vain(Program(f"{TRAINING}\n{body}")) == ([] if needed else [ALONE])


def test_a_unit_test_keeps_next_to_nothing() -> None:
    body = f"    loss = model(torch.ones(3)).sum()\n    {ALONE}\n    assert model.weight.grad.any()\n"
    test = f"def test_gradient():\n{body}"
    assert in_vain(Program(f"{TRAINING}\n{test}")) == []
    assert in_vain(Program(f"{TRAINING}\n{test.replace('test_', '')}")) == [ALONE]


def test_a_graph_that_is_dropped_by_hand_is_kept_for_a_moment_only() -> None:
    body = f"loss = model(x).sum()\n{ALONE}\noptimizer.step()"
    assert in_vain(in_loop(body)) == [ALONE]
    assert in_vain(in_loop(f"{body}\nshown = loss.item()\ndel loss")) == []


def test_no_backward_starts_from_what_was_computed_without_gradients() -> None:
    source = (
        "def back(self, x, grad):\n    with torch.no_grad():\n        grad = grad + x.grad\n"
        "    tide = self.tide\n    tide.backward(grad)\n"
    )
    (backward,) = Program(source).facts.graph.backwards
    assert backward.root.name == "tide"


@pytest.mark.parametrize(("use", "expected"), [("", []), ("print(other.item())", [ALONE])])
def test_a_loss_object_whose_result_nobody_reads_may_run_a_backward(use: str, expected: list[str]) -> None:
    program = Program(f"""
def epoch(loader, net, train_on, trains=True):
    for x, y in loader:
        with torch.set_grad_enabled(trains):
            out, loss = net(x)
            if trains:
                {ALONE}
            other = train_on(out, y)
            {use}

def main(loader, net, judge):
    for _ in range(10):
        epoch(loader, net, judge(3), trains=True)
""")
    assert in_vain(program) == expected


def test_what_two_networks_share_may_come_of_one_whose_forward_says_nothing() -> None:
    trunk = """
from torchvision.models import resnet18
class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = resnet18().layer4
    def forward(self, x):
        return self.features(x)
trunk = Trunk()
"""
    shared = f"h = trunk(x)\nloss = head(h).sum()\n{ALONE}\nother({{given}}).sum().backward()"
    assert in_vain(in_loop(shared.format(given="h"), trunk)) == []
    assert in_vain(in_loop(shared.format(given="h.detach()"), trunk)) == [ALONE]


@pytest.mark.parametrize(
    ("made", "is_found"), [("return {{'a': {0}, 'b': {0}}}", True), ("KEPT['a'] = {0}\n    return KEPT", False)]
)
def test_terms_in_a_dict_that_each_call_makes_are_of_this_step(made: str, is_found: bool) -> None:
    """What was put into a dict that lives on may be there from the last step."""
    terms = f"KEPT = {{}}\ndef terms(x):\n    {made.format('model(x).sum()')}\n"
    total = "def apply(losses):\n    total = sum(2 * loss for name, loss in losses.items())\n"
    apply = f"{total}    optimizer.zero_grad()\n    total.backward(retain_graph=True)\n    optimizer.step()\n"
    program = in_loop("apply(terms(x))", terms + apply)
    assert in_vain(program) == (["total.backward(retain_graph=True)"] if is_found else [])


RESIDUAL = """
def slope(net, x):
    x.requires_grad_(True)
    y = net(x)
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]

def train(loader):
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        loss = slope(net, x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        {after}
        optimizer.step()
"""


@pytest.mark.parametrize(("after", "count"), [("pass", 1), ("slope(net, x)", 1), ("loss.backward()", 0)])
def test_a_gradient_that_is_taken_before_needs_no_graph_any_more(after: str, count: int) -> None:
    assert len(Program(RESIDUAL.format(after=after)).facts.retained_in_vain) == count


@pytest.mark.parametrize(("made", "is_vain"), [("noise(3)", True), ("model(noise(3))", False)])
def test_data_that_a_function_makes_before_the_loop_have_no_graph_to_meet_again(made: str, is_vain: bool) -> None:
    before = f"from scenes import noise\ndef scene():\n    return {made}, noise(4)\nrows, truth = scene()\n"
    body = f"loss = (model(rows) - truth).sum()\n{ALONE}\noptimizer.step()"
    assert in_vain(in_loop(body, before)) == ([ALONE] if is_vain else [])


@pytest.mark.parametrize(
    ("drawn", "is_vain"),
    [
        ("model(x).multinomial(1)", False),
        ("model(x).max(1)[1]", False),
        ("model(x).max(1)[0]", True),
        ("model(x).sum()", True),
    ],
)
def test_actions_that_are_drawn_have_no_graph_to_keep(drawn: str, is_vain: bool) -> None:
    body = f"kept = []\nkept.append({drawn})\ntorch.autograd.backward(kept, retain_graph=True)\noptimizer.step()"
    assert bool(in_vain(in_loop(body))) is is_vain


@pytest.mark.parametrize("bound", ["", "loss = "])
def test_what_a_function_that_is_passed_does_with_the_other_output_is_not_known(bound: str) -> None:
    source = (
        "def run(batches, net, finish):\n"
        "    for batch in batches:\n"
        "        output, penalty = net(batch)\n"
        "        penalty.backward(retain_graph=True)\n"
        "        {}\n"
    )
    assert in_vain(Program(source.format(f"{bound}finish(output)"))) == []
    assert in_vain(Program(source.format("print(len(batch))"))) == ["penalty.backward(retain_graph=True)"]


FEATURES = """
import torch
from torch import nn

class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3)).requires_grad_(False)

    def forward(self, x):
        found = []
        for layer in self.layers:
            x = layer(x)
            found.append(x)
        return found

def paint(aim, steps):
    net = Features()
    with {guard}:
        wanted = net(aim)
    picture = torch.rand(1, 3, 64, 64, requires_grad=True)
    optimizer = torch.optim.Adam([picture], lr=0.02)
    for step in range(steps):
        optimizer.zero_grad()
        loss = sum((a - b).pow(2).mean() for a, b in zip(net(picture), wanted))
        loss.backward(retain_graph=True)
        optimizer.step()
"""


@pytest.mark.parametrize(("guard", "count"), [("torch.no_grad()", 1), ("torch.enable_grad()", 0)])
def test_targets_that_the_same_network_gave_under_a_guard_have_no_graph_to_meet_again(guard: str, count: int) -> None:
    assert len(Program(FEATURES.format(guard=guard)).facts.retained_in_vain) == count


STEPPER = """
SETTINGS = {{"keeps": {setting}}}

class Stepper:
    def __init__(self, rate, keeps={default}):
        self.rate = rate
        self.keeps = {stored}

    def step(self, loss):
        optimizer.zero_grad()
        loss.backward(retain_graph=self.keeps)
        optimizer.step()

    def twice(self):
        {more}

def run():
    stepper = Stepper({given})
    for x, y in loader:
        loss = (model(x) - y).pow(2).mean()
        stepper.step(loss)
        {each}
"""


@pytest.mark.parametrize(
    ("parts", "is_kept"),
    [
        ({"given": "0.1, keeps=True"}, True),
        ({"given": "0.1, True"}, True),
        ({"given": "0.1, **SETTINGS"}, True),
        ({"default": "True"}, True),
        ({"stored": "True"}, True),
        ({}, False),
        ({"given": "0.1, **SETTINGS", "setting": "False"}, False),
        ({"given": "0.1, keeps=flag"}, False),
        ({"default": "True", "given": "0.1, keeps=False"}, False),
        ({"default": "True", "more": "self.keeps = False"}, False),
        ({"default": "True", "each": "loss.backward()"}, False),
    ],
)
def test_a_setting_of_an_object_that_keeps_the_graph(parts: dict[str, str], is_kept: bool) -> None:
    usual = {"setting": "True", "default": "False", "stored": "keeps", "given": "0.1", "more": "pass", "each": "pass"}
    found = in_vain(Program(TRAINING + STEPPER.format(**{**usual, **parts})))
    assert found == (["loss.backward(retain_graph=self.keeps)"] if is_kept else [])


@pytest.mark.parametrize(("term", "codes"), [("w * x", ["TLK107"]), ("w * shared", [])])
def test_leaves_are_no_graph_that_is_older_than_the_step(term: str, codes: list[str]) -> None:
    source = f"""
import torch
w = torch.randn(1, requires_grad=True)
shared = w.exp()
optimizer = torch.optim.SGD([w], lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = ({term} - y).pow(2).mean()
    loss.backward(retain_graph=True)
    optimizer.step()
"""
    assert [found.code for found in check_source(source)] == codes


OPTIONS = """
from dataclasses import dataclass, field

@dataclass
class Options:
    rate: float = 0.1
    extra: dict = field(default_factory=lambda: {table})

class Fitting:
    def __init__(self, net, options):
        self.net, self.options = net, options
        self.optimizer = torch.optim.SGD(net.parameters(), lr=options.rate)

    def differentiate(self, loss):
        {change}
        loss.backward(**self.options.extra)

    def step(self, x):
        loss = self.net(x).sum()
        self.optimizer.zero_grad()
        self.differentiate(loss)
        {second}
        self.optimizer.step()

fitting = Fitting(model, Options({given}))
for x, y in loader:
    fitting.step(x)
"""


@pytest.mark.parametrize(
    ("parts", "is_vain"),
    [
        ({}, True),
        ({"table": "dict(retain_graph=True)"}, True),
        ({"given": "extra={'retain_graph': True}"}, True),
        ({"table": "{'retain_graph': False}"}, False),
        ({"table": "{}"}, False),
        ({"table": "{'retain_graph': True, 'create_graph': True}"}, False),
        ({"given": "extra={'inputs': None}"}, False),
        ({"given": "extra=load()"}, False),
        ({"given": "**load()"}, False),
        ({"change": "self.options.extra[load()] = 1"}, False),
        ({"change": "self.options.extra['retain_graph'] = load()"}, False),
        ({"second": "loss.backward()"}, False),
    ],
)
def test_a_dictionary_of_settings_that_a_backward_is_given(parts: dict[str, str], is_vain: bool) -> None:
    usual = {"table": "{'retain_graph': True}", "given": "", "change": "pass", "second": "pass"}
    found = in_vain(Program(TRAINING + OPTIONS.format(**{**usual, **parts})))
    assert found == (["loss.backward(**self.options.extra)"] if is_vain else [])


BACKWARD = "from functools import partial\ndifferentiate = partial(torch.autograd.backward, retain_graph={flag})"


@pytest.mark.parametrize(
    ("flag", "body", "is_vain"),
    [
        ("True", "loss = model(x).sum()\ndifferentiate(loss)", True),
        ("False", "loss = model(x).sum()\ndifferentiate(loss)", False),
        ("True", "loss = model(x).sum()\ndifferentiate(loss, retain_graph=False)", False),
        ("True", "loss = model(x).sum()\ndifferentiate(loss)\nloss.mul(2).backward()", False),
    ],
)
def test_a_backward_under_a_name_of_the_program(flag: str, body: str, is_vain: bool) -> None:
    found = in_vain(in_loop(body, BACKWARD.format(flag=flag)))
    assert found == (["differentiate(loss)"] if is_vain else [])


@pytest.mark.parametrize("made", ["torch.autograd.backward", "partial(torch.autograd.backward, retain_graph=True)"])
def test_a_network_is_trained_by_one(made: str) -> None:
    before = f"from functools import partial\ndifferentiate = {made}"
    program = in_loop("loss = model(x).sum()\ndifferentiate(loss)\nprint(loss)\noptimizer.step()", before)
    assert program.shown() in program.facts.flows.trained


CLOSURE = """
class Solver:
    def __init__(self):
        self.net = nn.Linear(3, 1)
        self.points = torch.ones(4, 3, requires_grad=True)
        self.optimizer = torch.optim.LBFGS(self.net.parameters())

    def closure(self):
        self.optimizer.zero_grad()
        u = self.net(self.points)
        (slope,) = torch.autograd.grad(u.sum(), self.points, create_graph=True)
        loss = slope.pow(2).mean()
        {backward}
        return loss

    def solve(self):
        {run}
"""


@pytest.mark.parametrize(
    ("run", "told"),
    [
        ("self.optimizer.step(self.closure)", [ALONE]),
        ("search(self.closure)", []),
        ("return self.closure", []),
        ("self.optimizer.step(lambda: 2 * self.closure())", [ALONE]),
    ],
)
def test_an_optimizer_only_reads_the_loss_that_a_closure_gives_it(run: str, told: list[str]) -> None:
    assert in_vain(Program("from m import search\n" + TRAINING + CLOSURE.format(backward=ALONE, run=run))) == told


@pytest.mark.parametrize(
    "body",
    [
        f"labels = x.labels\nloss = F.cross_entropy(model(x.rows), labels.long())\n{ALONE}",
        f"x = x.to('cuda')\nloss = model(x).sum()\n{ALONE}",
        f"y = y.cuda(settings.device)\nloss = F.cross_entropy(model(x), y)\n{ALONE}",
    ],
)
def test_a_batch_has_no_graph_of_its_own(body: str) -> None:
    assert in_vain(in_loop(body)) == [ALONE]


def test_what_is_only_moved_in_each_turn_is_no_state() -> None:
    program = Program(f"""{TRAINING}
rows, labels = data[:]
for turn in range(100):
    rows, labels = rows.to("cuda"), labels.to("cuda")
    loss = F.cross_entropy(model(rows), labels)
    optimizer.zero_grad()
    {ALONE}
    optimizer.step()
""")
    assert in_vain(program) == [ALONE]


TWO_BACKWARDS = """
import torch

class Balance:
    def measure(self, losses):
        for loss in losses:
            loss.backward(retain_graph=True)

def improve(balance, losses):
    balance.measure(losses)
    {after}
"""

BALANCED = """
from balance import Balance, improve
import torch
from torch import nn

def fit(loader):
    net, balance = nn.Linear(4, 2), Balance()
    for x, y in loader:
        out = net(x)
        improve(balance, (nn.functional.mse_loss(out, y), out.abs().mean()))
"""


@pytest.mark.parametrize(
    "after", ["sum(losses).backward()", "sum(weight * loss for weight, loss in zip((1, 2), losses)).backward()"]
)
def test_losses_that_are_handed_on_twice_are_handed_in(tmp_path: Path, after: str) -> None:
    files = {"balance.py": TWO_BACKWARDS.format(after=after), "fit.py": BALANCED}
    assert [one for one in Project(tmp_path, files).found() if "TLK107" in one] == []
