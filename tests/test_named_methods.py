"""Methods that are called by a name: ``getattr(callback, event)(...)``."""

from __future__ import annotations

import pytest
from programs import Program

ENGINE = """
import torch
from torch import nn

class Keeper:
    def __init__(self):
        self.rows = []
    def on_batch(self, engine, loss):
        self.rows.append(loss)
    def on_epoch(self, engine, loss):
        self.last = float(loss)
    @staticmethod
    def on_start(loss):
        print(loss)

class Engine:
    def __init__(self, parts):
        self.parts, self.net = parts, nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
    def emit(self, event, *args, **payload):
        for part in self.parts:
            {call}
    def fit(self, loader):
        for epoch in range(3):
            for x in loader:
                loss = self.net(x).sum()
                loss.backward()
                self.optimizer.step()
                {batch}
            self.emit("on_epoch", loss=loss)

Engine([Keeper()]).fit([torch.ones(2, 3)])
"""


def callers(call: str, batch: str = 'self.emit("on_batch", loss=loss)') -> dict[str, list[str]]:
    """For each method of the keeper the functions from which it is called, and what each call is."""
    facts = Program(ENGINE.format(call=call, batch=batch)).facts
    methods = (function for function in facts.graph.functions if function.owner and function.owner.name == "Keeper")
    return {
        method.name: sorted(f"{call.function.name}: {call.callee.name}" for call in facts.solution.callers[method])
        for method in methods
        if method.name != "__init__"
    }


@pytest.mark.parametrize(
    "call",
    [
        "getattr(part, event)(self, **payload)",
        "run = getattr(part, event, None)\n            if run is not None:\n                run(self, **payload)",
        "method = getattr(part, event)\n            method(self, payload['loss'])",
    ],
)
def test_a_method_is_called_by_who_says_its_name(call: str) -> None:
    assert callers(call) == {"on_batch": ["fit: emit"], "on_epoch": ["fit: emit"], "on_start": []}


def test_a_name_is_put_together() -> None:
    told = {"on_batch": ["fit: emit"], "on_epoch": [], "on_start": []}
    assert callers("getattr(part, f'on_{event}')(self, **payload)", 'self.emit("batch", loss=loss)') == told
    assert callers("getattr(part, 'on_' + event)(self, **payload)", 'self.emit("batch", loss=loss)') == told


def test_a_name_is_written_where_it_is_used() -> None:
    told = callers("getattr(part, 'on_batch')(self, **payload)")
    # What is handed on whole is given by those who call the function around it.
    assert told == {"on_batch": ["emit: on_batch", "fit: emit", "fit: emit"], "on_epoch": [], "on_start": []}


@pytest.mark.parametrize(
    "call",
    [
        "getattr(part, event.title())(self, **payload)",
        "getattr(part, payload['event'])(self)",
        "with torch.no_grad():\n                getattr(part, event)(self, **payload)",
    ],
)
def test_a_name_or_a_mode_that_is_not_seen_tells_nothing(call: str) -> None:
    assert callers(call) == {"on_batch": [], "on_epoch": [], "on_start": []}


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("getattr(part, event)(self, **payload)", "loss=loss"),
        ("getattr(part, event)(self, *args)", "loss"),
        ("getattr(part, event)(*args)", "self, loss"),
        ("getattr(part, event)(*args, **payload)", "self, loss=loss"),
    ],
)
def test_what_is_handed_through_reaches_the_method(call: str, given: str) -> None:
    source = ENGINE.format(call=call, batch=f'self.emit("on_batch", {given})')
    detached = ENGINE.format(call=call, batch=f'self.emit("on_batch", {given}.item())')
    assert [found.name for found in Program(source).facts.insertions] == ["self.rows"]
    assert Program(detached).facts.insertions == []
