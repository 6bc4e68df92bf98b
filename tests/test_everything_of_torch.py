"""``from torch.nn import *``: what torch is known to have in a module of which a file imports all."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.values.frameworks import may_be_module

KNOWN = ("from torch.nn import *", "from torch.nn import *\nfrom torch.nn.functional import *")


def is_layer(bound: str) -> bool:
    """Whether what `Linear` makes counts as a layer of torch."""
    program = Program(f"{bound}\nprint(Linear(3, 3))\n")
    return may_be_module(program.facts.solution, program.printed()[-1])


@pytest.mark.parametrize("bound", KNOWN)
def test_what_torch_has_there(bound: str) -> None:
    assert is_layer(bound)


@pytest.mark.parametrize(
    "bound",
    [
        "from layers import *",
        "from torch.nn import *\nfrom layers import *",  # which may have one of its own
        "from torch.nn import *\ndef Linear(*given): return given",
        "from torch.nn.functional import *",
    ],
)
def test_what_may_be_anything(bound: str) -> None:
    assert not is_layer(bound)


def test_the_last_import_counts() -> None:
    assert is_layer("from layers import *\nfrom torch.nn import *")


def test_names_that_python_has_itself_are_left_to_it() -> None:
    program = Program("from torch import *\nprint(sum([1, 2]))\n")
    assert program.printed()[-1].callee.name == "builtins.sum"
