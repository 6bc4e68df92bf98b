"""Methods that are run under a name that somebody passes as text, and what they set on the object that runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from torchlint import check_source

TEMPLATE = """
import torch
from torch import nn

class Plugin:
    def before_backward(self, strategy: "Template"): ...

class Template:
    def __init__(self, model: nn.Module, optimizer, criterion, plugins=None):
        self.model, self.optimizer, self.criterion = model, optimizer, criterion
        self.plugins = plugins or []
        self.loss, self.x = 0.0, None

    def _trigger(self, hook):
        for plugin in self.plugins:
            getattr(plugin, hook)(self)

    def epoch(self, loader):
        for self.x, y in loader:
            self.optimizer.zero_grad()
            self.loss = self.criterion(self.model(self.x), y)
            self._trigger("before_backward")
            self.loss.backward()
            self.optimizer.step()
"""
PENALTY = """
import copy
import torch
from torch import nn
{imports}

class Penalty:
    def __init__(self):
        self.before = None

    def _of(self, x, model: nn.Module):
        if self.before is None:
            return 0.0
        heads = {{task: model(x, task) for task in range(3)}}
        with torch.no_grad():
            old = self.before(x)
        total = 0.0
        for head in heads.values():
            total = total + nn.functional.kl_div(head.log_softmax(1), old)
        return total

    def __call__(self, x, model: nn.Module):
        return 0.5 * self._of(x, model)

    def update(self, model: nn.Module):
        self.before = copy.deepcopy(model)
        self.before.eval()

class PenaltyPlugin{base}:
    def __init__(self):
        self.penalty = Penalty()

    def before_backward(self, strategy{told}):
        {added}
"""
SUM = "strategy.loss = strategy.loss + self.penalty(strategy.x, strategy.model)"


def test_a_term_that_a_plugin_adds_is_trained_on_by_who_calls_it(tmp_path: Path) -> None:
    text = PENALTY.format(
        imports="from template import Plugin, Template", base="(Plugin)", told=": Template", added=SUM
    )
    assert Project(tmp_path, {"template.py": TEMPLATE, "penalty.py": text}).found() == []


@pytest.mark.parametrize(
    "added", [SUM, SUM.replace("loss = strategy.loss + ", "loss += "), SUM.replace("strategy.loss + ", "")]
)
def test_a_term_that_is_set_on_what_others_gave_may_be_trained_on(added: str) -> None:
    assert check_source(PENALTY.format(imports="", base="", told="", added=added)) == []


def test_a_term_that_stays_with_the_method_is_not() -> None:
    text = PENALTY.format(imports="", base="", told="", added="print(self.penalty(strategy.x, strategy.model).item())")
    assert [finding.code for finding in check_source(text)] == ["TLK201"]


EVENTS = """
import torch
from torch import nn

class Callback:
    def on_step(self, step, terms):
        pass

class Trace(Callback):
    def __init__(self):
        self.rows = []

    def on_step(self, step, terms):
        self.rows.append({kept})

class Solver:
    def __init__(self, net, callbacks=()):
        self.net, self.callbacks = net, list(callbacks)
        self.optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def _emit(self, event, *args):
        for callback in self.callbacks:
            getattr(callback, event)(*args)

    def terms(self, x):
        out = self.net(x)
        return {{"sum": out.sum(), "mean": out.mean()}}

    def solve(self, loader):
        for step, x in enumerate(loader):
            terms = self.terms(x)
            loss = sum(terms.values())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self._emit("on_step", step, terms)

def main(loader):
    Solver(nn.Linear(3, 3), [Trace()]).solve(loader)
"""


@pytest.mark.parametrize(("kept", "codes"), [("terms", ["TLK102"]), ("{k: v.item() for k, v in terms.items()}", [])])
def test_what_a_caller_makes_reaches_the_method_that_it_names(kept: str, codes: list[str]) -> None:
    assert [finding.code for finding in check_source(EVENTS.format(kept=kept))] == codes
