"""A method that takes off some hooks of its object and leaves others on the module that it was given."""

from __future__ import annotations

import libcst as cst
import pytest
from torchlint.rules.tlk303_hook_registered_again import HookRegisteredAgain

from torchlint.facts import Facts
from torchlint.rule import Level

TAP = """
from somewhere import Watcher
from torch import nn
class Tap({base}):
    def __init__(self, layer, width):
        super().__init__()
        self.layer = {layer}
        self.handles, self.seen = [], []
        {first}
        {second}
    def before(self, layer, given):
        {does}
    def after(self, layer, given, out):
        self.seen.append(tuple(out.shape))
    def close(self):
        {close}
    {rest}
"""

USUAL = {
    "base": "object",
    "layer": "layer",
    "first": "self.later = layer.register_forward_hook(self.after)",
    "second": "self.early = layer.register_forward_pre_hook(self.before)",
    "does": "self.seen.append(len(given))",
    "close": "self.later.remove()",
    "rest": "pass",
}

EACH = {
    "first": "for part in layer.children():\n            self.handles.append(part.register_forward_hook(self.after))",
    "second": "    part.register_full_backward_hook(self.after)",
    "close": "while self.handles:\n            self.handles.pop().remove()",
}

WATCH = {
    **EACH,
    "second": "pass",
    "rest": "def watch(self, scale):\n        for weight in self.layer.parameters():\n            {}",
}


def levels(**lines: str) -> list[Level]:
    source = TAP.format(**{**USUAL, **lines})
    return [finding.level for finding in HookRegisteredAgain().check(Facts(cst.parse_module(source)))]


@pytest.mark.parametrize(
    "lines",
    [
        {},
        {"second": "layer.register_forward_pre_hook(self.before)"},
        {"second": "self.early = self.layer.register_full_backward_hook(self.after)"},
        {"second": "self.handles.append(layer.register_forward_pre_hook(self.before))"},
        {"close": "if self.later is not None:\n            self.later.remove()\n            self.later = None"},
        EACH,
        {**WATCH, "rest": WATCH["rest"].format("weight.register_hook(lambda grad: grad * scale)")},
        {
            **WATCH,
            "base": "nn.Module",
            "rest": WATCH["rest"].format("weight.register_hook(lambda grad: grad * scale)").replace("layer.p", "p"),
        },
    ],
)
def test_what_a_method_leaves_on_when_it_takes_off_the_others(lines: dict[str, str]) -> None:
    assert levels(**lines) == [Level.NOTE]


@pytest.mark.parametrize(
    "lines",
    [
        {"close": "self.later.remove()\n        self.early.remove()"},
        {"close": "for handle in (self.later, self.early):\n            handle.remove()"},
        {"does": "self.early.remove()"},
        {"rest": "def stop(self):\n        self.early.remove()"},
        {"close": "self.seen.clear()"},
        {"layer": "nn.Linear(width, width)", **{k: v.replace("= layer", "= self.layer") for k, v in USUAL.items()
                                                if k in ("first", "second")}},
        {"second": "self.early = layer.register_state_dict_pre_hook(self.before)"},
        {"base": "Watcher"},
        {"close": "self.later.remove()\n        self.layer._forward_pre_hooks.clear()"},
        {"second": "keep(layer.register_forward_pre_hook(self.before))"},
        {"first": "pass", "rest": "def start(self):\n        self.later = layer.register_forward_hook(self.after)"},
        {"second": "self.early = nn.Linear(width, width).register_forward_hook(self.after)"},
        {**EACH, "second": "    self.handles.append(part.register_full_backward_hook(self.after))"},
        {**WATCH, "rest": WATCH["rest"].format("self.handles.append(weight.register_hook(self.before))")},
        {**WATCH, "close": "self.handles[0].remove()", "second": "layer.weight.register_hook(self.before)", "first":
         "self.handles = [self.layer.register_forward_hook(self.after), width.register_forward_hook(self.after)]",
         "rest": "pass", "does": "pass", "layer": "nn.Linear(width, width)"},
    ],
)  # fmt: skip
def test_what_is_taken_off_or_meant_to_stay(lines: dict[str, str]) -> None:
    assert levels(**lines) == []


STAGES = """
import torch
from functools import partial
from ignite.engine import Events, create_supervised_trainer

def look(stats, name, module, inputs, output):
    stats[name] = output.detach().mean().item()

def run(model, optimizer, criterion, loader):
    trainer = create_supervised_trainer(model, optimizer, criterion)
    stats, stages = {{}}, {{"first": model.layer1, "second": model.layer2}}

    @trainer.on(Events.{event})
    def watch(engine):
        for name, stage in stages.items():
            stage.register_forward_hook(partial(look, stats, name))

    trainer.run(loader, max_epochs=9)
"""


@pytest.mark.parametrize(("event", "number"), [("EPOCH_STARTED", 1), ("ITERATION_STARTED", 1), ("STARTED", 0)])
def test_a_framework_calls_what_hooks_with_each_epoch(event: str, number: int) -> None:
    facts = Facts(cst.parse_module(STAGES.format(event=event)))
    assert len(list(HookRegisteredAgain().check(facts))) == number
