"""Functions that train or not, as they are called: the calls in which no backward can follow."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

STEP = """
def run(model, loader, {parameter}):
    {before}
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        {test}:
            loss.backward()
            optimizer.step()
        print(loss.item())
run(model, loader, optimizer)
{call}
"""


def idle(call: str, parameter: str = "optimizer=None", test: str = "if optimizer", before: str = "pass") -> list[str]:
    """The calls of a function of two phases in which its forward records a graph for nothing."""
    program = Program(TRAINING + STEP.format(parameter=parameter, test=test, before=before, call=call))
    return [
        program.facts.code(call.syntax) for phase in program.facts.idle_phases for call in phase.calls if call.syntax
    ]


@pytest.mark.parametrize(
    ("call", "parameter", "test", "before"),
    [
        ("run(model, loader)", "optimizer=None", "if optimizer is not None", "pass"),
        ("run(model, loader, None)", "optimizer", "if fit and x.numel()", "fit = optimizer is not None"),
        ("run(model, loader, train=False)", "train=True", "if train", "pass"),
        ("run(model, loader, True)", "quiet=False", "if not quiet", "pass"),
        ("run(model, loader, 'val')", "phase", "if phase == 'train'", "pass"),
        ("run(model, loader)", "optimizer=None", "if training", "training = optimizer is not None"),
    ],
)
def test_a_call_without_what_the_backward_needs(call: str, parameter: str, test: str, before: str) -> None:
    assert idle(call, parameter, test, before) == [call]


def test_a_call_that_may_train() -> None:
    assert idle("run(model, loader, optimizer)") == []
    assert idle("run(model, loader, make())") == []
    assert idle("run(*given)") == []
    assert idle("run(model, loader)", before="optimizer = optimizer or make()") == []
    assert idle("run(model, loader)", test="if optimizer or x.requires_grad") == []


def test_a_guarded_call() -> None:
    assert idle("with torch.no_grad():\n    run(model, loader)") == []


def test_a_guard_that_follows_the_phase() -> None:
    text = STEP.format(parameter="optimizer=None", test="if optimizer", before="pass", call="run(model, loader)")
    guarded = text.replace(
        "for x, y in loader:", "torch.set_grad_enabled(optimizer is not None)\n    for x, y in loader:"
    )
    assert Program(TRAINING + guarded).facts.idle_phases == []


def test_a_function_that_returns_before_its_backward() -> None:
    body = "def run(x, fit):\n    loss = model(x).sum()\n    if not fit:\n        return loss.item()\n"
    body += "    loss.backward()\n    optimizer.step()\n"
    assert len(Program(f"{TRAINING}{body}run(data, False)\n").facts.idle_phases) == 1
    assert Program(f"{TRAINING}{body}run(data, True)\n").facts.idle_phases == []


def test_what_is_trained_on_by_the_caller() -> None:
    body = "def run(x, fit=False):\n    loss = model(x).sum()\n    if fit:\n        loss.backward()\n    return loss\n"
    assert Program(f"{TRAINING}{body}run(data, True)\nrun(data).backward()\n").facts.idle_phases == []
