"""Names of methods that a program puts together, and who says them."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

FIRED = """
from enum import Enum

class Event(str, Enum):
    STEP_DONE = "step"

class Curve:
    def __init__(self):
        self.rows = []
    def on_step(self, loss):
        self.rows.append(loss)
    def on_step_done(self, loss):
        self.rows.append(loss)
    def on_end(self, loss):
        self.rows.append(loss.item())

class Bus:
    def __init__(self, curves):
        self.curves = curves
    def fire(self, event, loss):
        for curve in self.curves:
            getattr(curve, {name})(loss)

bus = Bus([Curve()])
for x in loader:
    loss = model(x).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    bus.fire({event}, loss)
"""


@pytest.mark.parametrize(
    ("name", "event", "leaks"),
    [
        ("event", "'on_step'", True),
        ("f'on_{event}'", "'step'", True),
        ("'on_' + event", "'step'", True),
        ("'on_%s' % event", "'step'", True),
        ("'on_{}'.format(event)", "'step'", True),
        ("f'on_{event.lower()}'", "'STEP'", True),
        ("f'on_{event.value}'", "Event.STEP_DONE", True),
        ("'on_' + event.name.lower()", "Event.STEP_DONE", True),
        ("f'on_{event}'", "'end'", False),
        ("'on_%s' % event", "'end'", False),
        ("'on_' + event.name", "Event.STEP_DONE", False),
    ],
)
def test_what_is_spelled_is_run(name: str, event: str, leaks: bool) -> None:
    assert bool(Program(TRAINING + FIRED.format(name=name, event=event)).leaks()) is leaks
