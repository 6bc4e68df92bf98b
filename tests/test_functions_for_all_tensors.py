"""Functions that are given a function for all tensors of a nested batch: what it gives is what they give."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from programs import Program
from projects import Project, loop

from torchlint.facts.values.severing import severing_flag

NESTED = {
    "asks for tensors": """
def apply_to(value, function):
    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, dict):
        return {k: apply_to(v, function) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(apply_to(v, function) for v in value)
    return value
""",
    "asks torch": """
def apply_to(value, function):
    if torch.is_tensor(value):
        return function(value)
    elif isinstance(value, dict):
        return {k: apply_to(v, function) for k, v in value.items()}
    elif isinstance(value, list):
        return [apply_to(v, function) for v in value]
    else:
        return value
""",
    "tensors are the rest": """
def apply_to(value, function):
    if isinstance(value, dict):
        return {k: apply_to(v, function) for k, v in value.items()}
    if isinstance(value, list):
        return [apply_to(v, function) for v in value]
    return function(value)
""",
    "by name": """
def apply_to(value, function=lambda t: t):
    if isinstance(value, dict):
        return {k: apply_to(v, function=function) for k, v in value.items()}
    return function(value)
""",
}
"""How such a function goes through a batch."""

CUTTING = ["torch.Tensor.detach", "lambda t: t.detach().cpu()", "lambda t: t.item()", "float"]
KEEPING = ["lambda t: t.to(loss.device)", "lambda t: t.clone()", "torch.Tensor.clone"]


def found(folder: Path, nested: str, each: str, *, elsewhere: bool) -> list[str]:
    """What is found in a loop that keeps what such a function gives, of the same file or of another."""
    batch = "x = apply_to(x, lambda t: t.to('cuda'))"
    source = dedent(loop(imports="" if not elsewhere else "from nested import apply_to", each=f"{batch}; {each}"))
    files = {"main.py": source} if elsewhere else {"main.py": f"import torch\n{nested}\n{source}"}
    return Project(folder, {**files, **({"nested.py": f"import torch\n{nested}"} if elsewhere else {})}).found()


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("function", CUTTING)
@pytest.mark.parametrize("nested", NESTED)
def test_one_that_ends_graphs_leaves_none(tmp_path: Path, nested: str, function: str, *, elsewhere: bool) -> None:
    each = f"kept.append(apply_to({{'loss': loss}}, {function}))"
    assert found(tmp_path, NESTED[nested], each, elsewhere=elsewhere) == []


@pytest.mark.parametrize("function", KEEPING)
@pytest.mark.parametrize("nested", NESTED)
def test_one_that_keeps_them_leaves_all(tmp_path: Path, nested: str, function: str) -> None:
    each = f"kept.append(apply_to({{'loss': loss}}, {function}))"
    assert found(tmp_path, NESTED[nested], each, elsewhere=False) != []


RUNNING = """
def run(model, x, detach=False):
    out = model(x)
    return out.detach() if detach else out
"""


def test_a_flag_says_more_than_what_is_called() -> None:
    facts = Program(RUNNING).facts
    (run,) = (function for function in facts.graph.functions if function.name == "run")
    assert severing_flag(facts.solution, run) == (2, True)


@pytest.mark.parametrize("nested", NESTED)
def test_else_it_is_what_is_called(nested: str) -> None:
    facts = Program(NESTED[nested]).facts
    (apply_to,) = (function for function in facts.graph.functions if function.name == "apply_to")
    assert severing_flag(facts.solution, apply_to) == (1, None)
