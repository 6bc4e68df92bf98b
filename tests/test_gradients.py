"""What zeroes gradients in every step, and where zeros are wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import TRAINING, Program
from projects import Project
from torchlint.rules.tlk507_gradients_zeroed_not_freed import GradientsZeroedNotFreed

STEP = """
for x, y in loader:
    {zero}
    {between}
    loss = F.mse_loss(model(x), y)
    loss.backward()
    {after}
    optimizer.step()
"""


def zeroed(zero: str, between: str = "pass", after: str = "pass", *, head: str = "") -> int:
    """How many calls are found in a training loop with these statements."""
    return len(Program(TRAINING + head + STEP.format(zero=zero, between=between, after=after)).facts.zeroings)


@pytest.mark.parametrize(
    "call",
    [
        "optimizer.zero_grad(set_to_none=False)",
        "optimizer.zero_grad(False)",
        "model.zero_grad(set_to_none=False)",
        "optimizer.zero_grad(set_to_none=KEEP)",
    ],
)
def test_zeros_are_asked_for(call: str) -> None:
    assert zeroed(call, head="KEEP = False\n") == 1


@pytest.mark.parametrize(
    "call",
    [
        "optimizer.zero_grad()",
        "optimizer.zero_grad(set_to_none=True)",
        "optimizer.zero_grad(set_to_none=keep)",
        "loader.zero_grad(False)",
        "table.zero_grad(set_to_none=False)",
    ],
)
def test_other_calls_are_not(call: str) -> None:
    assert zeroed(call, head="keep = input()\ntable = {}\n") == 0


def test_a_read_before_the_backward_wants_zeros() -> None:
    zero = "optimizer.zero_grad(set_to_none=False)"
    assert zeroed(zero, between="total = sum(p.grad.sum() for p in model.parameters())") == 0
    assert zeroed(zero, after="total = sum(p.grad.sum() for p in model.parameters())") == 1


def test_a_turn_without_backward_keeps_its_reads() -> None:
    source = """
    def apply(optimizer, parameters, gradients):
        for p, g in zip(parameters, gradients):
            p.grad += g
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    """
    assert Program(source).facts.zeroings == []


def test_accumulated_gradients_stay_anyway() -> None:
    source = TRAINING + (
        "for step, x in enumerate(loader):\n"
        "    model(x).sum().backward()\n"
        "    if step % 4 == 0:\n"
        "        optimizer.step()\n"
        "        optimizer.zero_grad(set_to_none=False)\n"
    )
    assert Program(source).facts.zeroings == []


@pytest.mark.parametrize(("head", "count"), [("def grad(y, x):\n    return y\n", 1), ("model.weight.grad = x\n", 0)])
def test_a_function_called_grad_is_no_gradient_that_is_given(head: str, count: int) -> None:
    assert zeroed("optimizer.zero_grad(set_to_none=False)", head=f"x = torch.zeros(3)\n{head}") == count


def test_views_of_a_buffer_have_to_stay() -> None:
    zero, views = "optimizer.zero_grad(set_to_none=False)", "for p in model.parameters():\n    p.grad = {}\n"
    assert zeroed(zero, head=views.format("torch.zeros_like(p)")) == 0
    assert zeroed(zero, head=views.format("None")) == 1


HELPED = """
def clear(optimizer, keep):
    optimizer.zero_grad(set_to_none=not keep)

class Stepper:
    def __init__(self, optimizer, keep=True, **options):
        self.optimizer, self.keep, self.options = optimizer, keep, options
    def step(self, loss):
        {}
        loss.backward()
        self.optimizer.step()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(3, 3)
    def forward(self, x):
        h = 0
        for part in x:
            h = self.cell(part + h)
        return h

net = Net()
stepper = Stepper(torch.optim.SGD(net.parameters(), lr=0.1){})
for x, y in loader:
    stepper.step(F.mse_loss(net(x), y))
"""


@pytest.mark.parametrize(
    ("clearing", "given", "count"),
    [
        ("clear(self.optimizer, self.keep)", "", 1),
        ("clear(self.optimizer, self.keep)", ", keep=False", 0),
        ("clear(self.optimizer, self.keep)", ", keep=bool(input())", 0),
        ("self.optimizer.zero_grad(**{'set_to_none': False})", "", 1),
        ("self.optimizer.zero_grad(**self.options)", ", set_to_none=False", 1),
        ("self.optimizer.zero_grad(**self.options)", ", set_to_none=True", 0),
    ],
)
def test_what_asks_for_zeros_is_passed_on(clearing: str, given: str, count: int) -> None:
    facts = Program(TRAINING + HELPED.format(clearing, given)).facts
    assert len(facts.zeroings) == count
    assert all(facts.free_gradients(one) is None for one in facts.zeroings)


@pytest.mark.parametrize(
    ("clearing", "advice"),
    [
        ("clear(self.optimizer, self.keep)", "is False unless a caller says otherwise"),
        ("self.optimizer.zero_grad(set_to_none=False)", "drop `set_to_none=False`"),
        ("self.optimizer.zero_grad(**{'set_to_none': False})", "drop `set_to_none=False`"),
    ],
)
def test_the_advice_names_what_is_written_there(clearing: str, advice: str) -> None:
    (finding,) = GradientsZeroedNotFreed().check(Program(TRAINING + HELPED.format(clearing, "")).facts)
    assert advice in "".join(map(str, finding.message))


WRAPPED = """
class Updater:
    def __init__(self, parameters):
        self.optimizer = torch.optim.SGD(parameters, lr=0.1)
    def clear(self):
        {clearing}
    def descend(self, loss):
        {before}
        loss.backward()
        {stepping}
    def other(self):
        {other}
"""


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ({}, 1),
        ({"stepping": "self.optimizer.step(); print([g['params'][0].grad for g in self.optimizer.param_groups])"}, 1),
        ({"clearing": "if self.count % 4 == 0: self.optimizer.zero_grad(set_to_none=False)"}, 0),
        ({"stepping": "if self.count % 4 == 0: self.optimizer.step()"}, 0),
        ({"stepping": "pass", "other": "self.optimizer.step()"}, 0),  # who accumulates keeps the gradients anyway
        ({"before": "self.noise.add_(self.weight.grad)"}, 0),
        ({"other": "return self.weight.grad.norm()"}, 0),
    ],
)
def test_an_object_that_steps_with_each_backward_is_zeroed_in_each_step(lines: dict[str, str], count: int) -> None:
    usual = {
        "clearing": "self.optimizer.zero_grad(set_to_none=False)", "stepping": "self.optimizer.step()",
        "before": "pass", "other": "pass",
    }  # fmt: skip
    assert len(Program(WRAPPED.format(**{**usual, **lines})).facts.zeroings) == count


def test_a_method_that_takes_more_than_a_tensor_does_is_no_backward() -> None:
    source = "def step(cell, row, grown):\n    return cell.backward({})\n"
    assert len(list(Program(source.format("row, grown, 0, 1, 2")).facts.graph.all_backwards())) == 0
    assert len(list(Program(source.format("row, retain_graph=True")).facts.graph.all_backwards())) == 1


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("clear(optimizer)\n    loss.backward()\n    optimizer.step()", 1),
        ("clear(make(loss))\n    loss.backward()\n    optimizer.step()", 0),
        ("clear(optimizer)\n    clear(optimizer)\n    loss.backward()\n    optimizer.step()", 0),
        ("if at % 8 == 0:\n        clear(optimizer)\n    loss.backward()\n    optimizer.step()", 0),
        ("clear(optimizer)\n    print(optimizer.grad)\n    loss.backward()\n    optimizer.step()", 0),
    ],
)
def test_the_helper_of_a_step_that_stands_elsewhere(body: str, count: int) -> None:
    helper = "def clear(optimizer):\n    optimizer.zero_grad(set_to_none=False)\n"
    source = f"from elsewhere import make\n{helper}def step(optimizer, loss, at):\n    {body}\n"
    assert len(Program(TRAINING + source).facts.zeroings) == count


SEVERAL = """
def clear(optimizers):
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=False)

def fit(net, batches, optimizers):
    for x in batches:
        {first}
        net(x).sum().backward()
        for optimizer in optimizers:
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("first", "count"), [("clear(optimizers)", 1), ("if len(x) > 9: clear(optimizers)", 0), ("pass", 0)]
)
def test_several_optimizers_step_in_one_step(first: str, count: int) -> None:
    fit = SEVERAL.format(first=first) + "fit(model, loader, [torch.optim.SGD(model.parameters(), 0.1), optimizer])\n"
    assert len(Program(TRAINING + fit).facts.zeroings) == count


SETTINGS = """
    from dataclasses import dataclass, field

    {settings}
"""

DATA_CLASS = "@dataclass\n    class Settings:\n        rate: float = 0.1\n        free: bool = False\n"
PLAIN_CLASS = "class Settings:\n        def __init__(self, rate=0.1, release=False):\n            self.free = release\n"
NAMES = "class Settings:\n        rate, free = 0.1, False\n"
NESTED = (
    "@dataclass\n    class Inner:\n        free: bool = False\n\n    @dataclass\n    class Settings:\n"
    "        rate: float = 0.1\n        inner: Inner = field(default_factory=Inner)\n"
)

TRAINER = """
    import torch
    from torch import nn
    from settings import {imported}

    class Trainer:
        def __init__(self, settings: {said}):
            self.settings = settings
            self.net = nn.Linear(3, 1)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def step(self, x):
            self.optimizer.zero_grad(set_to_none={free})
            self.net(x).sum().backward()
            self.optimizer.step()
"""

MAIN = """
    from settings import Settings
    from trainer import Trainer

    def main(loader, given):
        settings = {made}
        {changed}
        trainer = Trainer(settings)
        for x in loader:
            trainer.step(x)
"""

DEFAULTS = {"settings": DATA_CLASS, "free": "self.settings.free", "said": "object"}
DEFAULTS |= {"imported": "Settings", "made": "Settings()", "changed": "pass"}


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"said": "Settings"}, 1),
        ({"settings": PLAIN_CLASS}, 1),
        ({"settings": NAMES}, 1),
        ({"settings": NESTED, "free": "self.settings.inner.free"}, 1),
        ({"settings": f"FREE = False\n    {DATA_CLASS}", "imported": "FREE", "free": "FREE"}, 1),
        ({"made": "Settings(0.5)"}, 1),
        ({"made": "Settings(free=False)"}, 1),
        ({"made": "Settings(0.5, False)"}, 1),
        ({"made": "Settings(free=True)"}, 0),
        ({"made": "Settings(0.5, True)"}, 0),
        ({"made": "Settings(**given)"}, 0),
        ({"made": "given(Settings)"}, 0),
        ({"changed": "settings.free = given"}, 0),
        ({"changed": "setattr(settings, 'free', given)"}, 0),
        ({"settings": DATA_CLASS.replace("False", "True")}, 0),
        ({"settings": DATA_CLASS.replace(" = False", "")}, 0),
        ({"settings": PLAIN_CLASS, "made": "Settings(release=given)"}, 0),
        ({"settings": NAMES + "\n    Settings.free = True\n"}, 0),
    ],
)
def test_a_setting_of_another_file_decides(tmp_path: Path, changes: dict[str, str], count: int) -> None:
    named = {**DEFAULTS, **changes}
    files = {"settings.py": SETTINGS, "trainer.py": TRAINER, "main.py": MAIN}
    project = Project(tmp_path, {name: text.format(**named) for name, text in files.items()})
    assert [one for one in project.found() if "TLK507" in one] == ["trainer.py: TLK507 note"] * count


INHERITED = """
from elsewhere import Strange

class Averaging({bases}):
    def zero_grad(self, {parameter}):
        self.cleared = True
        {clearing}

class Ours(Averaging):
    pass

ours = Ours(model.parameters(), lr=0.1)
for x, y in loader:
    {each}
    F.mse_loss(model(x), y).backward()
    ours.step()
"""


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ({}, 1),
        ({"bases": "torch.optim.Optimizer"}, 1),
        ({"bases": "Strange, torch.optim.AdamW"}, 1),
        ({"bases": "nn.Module"}, 1),
        ({"clearing": "super(Averaging, self).zero_grad(set_to_none=keep)"}, 1),
        ({"each": "ours.zero_grad(False)"}, 1),
        ({"each": "ours.zero_grad(True)"}, 0),
        ({"each": "ours.zero_grad(keep=bool(input()))"}, 0),
        ({"parameter": "keep=True"}, 0),
        ({"bases": "Strange"}, 0),  # what it takes by position is not known
        ({"bases": "object"}, 0),
        ({"each": "if len(x) > 3: ours.zero_grad()"}, 0),
        ({"each": "ours.zero_grad(); print(model.weight.grad.norm())"}, 0),
    ],
)
def test_what_an_optimizer_of_the_file_asks_of_torchs(lines: dict[str, str], count: int) -> None:
    usual = {
        "bases": "torch.optim.SGD", "parameter": "keep: bool = False", "clearing": "super().zero_grad(keep)",
        "each": "ours.zero_grad()",
    }  # fmt: skip
    facts = Program(TRAINING + INHERITED.format(**{**usual, **lines})).facts
    assert len(facts.zeroings) == count
    assert all(facts.free_gradients(one) is None for one in facts.zeroings)
    told = ["".join(map(str, finding.message)) for finding in GradientsZeroedNotFreed().check(facts)]
    assert all(one.startswith("`Averaging` keeps its gradients") and "`keep` is False unless" in one for one in told)


MADE = """
from operator import methodcaller
import operator
{before}

def each(call, things):
    for thing in things:
        call(thing)

def fit(net: nn.Module, rows):
    optimizers = [torch.optim.SGD(net.parameters(), 0.1), torch.optim.SGD(net.parameters(), 0.2)]
    {once}
    for x in rows:
        {zeroed}
        net(x).sum().backward()
        {after}
        for optimizer in optimizers:
            optimizer.step()
"""
MAKING = {
    "before": "clear = methodcaller('zero_grad', set_to_none=False)\nadvance = methodcaller('step')",
    "once": "pass",
    "zeroed": "each(clear, optimizers)",
    "after": "pass",
}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"before": "clear = operator.methodcaller('zero_grad', False)"},
        {"zeroed": "clear(net)"},
        {"zeroed": "for one in optimizers:\n            clear(one)"},
        {"after": "each(advance, optimizers)"},
        {"before": "", "zeroed": "each(methodcaller('zero_grad', set_to_none=False), optimizers)"},
    ],
)
def test_zeros_that_a_made_method_call_asks_for(changed: dict[str, str]) -> None:
    facts = Program(MADE.format(**{**MAKING, **changed})).facts
    assert [facts.called(one.call).rpartition(".")[2] for one in facts.zeroings] == ["methodcaller"]


@pytest.mark.parametrize(
    "changed",
    [
        {"before": "clear = methodcaller('zero_grad')"},
        {"before": "clear = methodcaller('zero_grad', set_to_none=True)"},
        {"before": "clear = methodcaller('zero_grad', set_to_none=given)"},
        {"before": "clear = methodcaller('reset', set_to_none=False)"},
        {"once": "each(clear, optimizers)", "zeroed": "each(methodcaller('zero_grad'), optimizers)"},
        {"zeroed": "each(clear, optimizers)\n        print(net.weight.grad.norm())"},
        {"zeroed": "clear([net])"},
        {"zeroed": "pass"},
        {
            "before": "clear = methodcaller('zero_grad', set_to_none=False)\n"
            "class Own:\n    def zero_grad(self, set_to_none):\n        pass",
            "zeroed": "clear(Own())",
        },
    ],
)
def test_a_made_method_call_that_leaves_no_zeros_in_each_step(changed: dict[str, str]) -> None:
    assert Program(MADE.format(**{**MAKING, **changed})).facts.zeroings == []
