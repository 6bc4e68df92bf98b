"""Events of a program's own: which methods of a home-made callback are called in each step."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.values.events import is_event_of_step

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
