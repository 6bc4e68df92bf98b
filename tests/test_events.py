"""Events of a program's own: which methods of a home-made callback are called in each step."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.values.events import counts_events, is_event_of_step

CALLBACKS = """
class Hook:
    def before_run(self, runner): {empty}
    def {name}(self, runner): {empty}
    def after_epoch(self, runner): {other}
class Cleaner(Hook):
    def {name}(self, runner):
        torch.cuda.empty_cache()
"""


def is_event(name: str, empty: str = "...", other: str = "pass") -> bool:
    program = Program(CALLBACKS.format(name=name, empty=empty, other=other))
    (method,) = [f for f in program.facts.graph.functions if f.owner is not None and f.owner.name == "Cleaner"]
    return is_event_of_step(method)


@pytest.mark.parametrize("name", ["after_iter", "on_step_start", "on_batch_end", "before_train_batch"])
def test_an_event_of_each_step_says_so_by_its_name(name: str) -> None:
    assert is_event(name)


@pytest.mark.parametrize("name", ["after_run", "on_epoch_end", "step", "batch", "iterate"])
def test_other_methods_are_none(name: str) -> None:
    assert not is_event(name)


@pytest.mark.parametrize(
    "empty",
    ["raise NotImplementedError", "return runner.step()", "\n        if runner.is_last:\n            runner.stop()\n"],
)
def test_what_a_base_leaves_to_be_defined_or_does_itself_is_no_event(empty: str) -> None:
    assert not is_event("after_iter", empty, "return 1")


TOLD = """
class Hook:
    def before_run(self, runner): pass
    def {name}(self, {number}, model): {empty}
class Keeper(Hook):
    def __init__(self):
        self.rows = {{}}
    def {name}(self, {number}, model):
        self.rows[{number}] = model
"""


@pytest.mark.parametrize(
    ("name", "number", "empty", "is_told"),
    [
        ("on_epoch_end", "epoch", "pass", True),
        ("after_step", "global_step", "pass", True),
        ("on_epoch_end", "model_name", "pass", False),
        ("on_exit", "epoch", "pass", False),
        ("on_epoch_end", "epoch", "return self.note(epoch)", False),
    ],
)
def test_which_epoch_it_is_an_event_is_told(name: str, number: str, empty: str, is_told: bool) -> None:
    program = Program(TOLD.format(name=name, number=number, empty=empty))
    (method,) = [f for f in program.facts.graph.functions if f.name == name and f.owner and f.owner.name == "Keeper"]
    assert counts_events(method.parameters[1]) is is_told
    assert not counts_events(method.parameters[2])
