"""Copies of a model whose variable nobody reads: they are made in vain."""

from __future__ import annotations

import pytest

from torchlint.catalog import rule_of
from torchlint.engine import check
from torchlint.source import Source

SETUP = """
import copy
import torch
from torch import nn

def setup(net: nn.Module, optimizer, path):
    {before}
    earlier = {copied}
    {after}
    return net
"""


def found(copied: str = "copy.deepcopy(net)", before: str = "pass", after: str = "pass") -> list[str]:
    """The variables whose copies are told to be made in vain."""
    rule = rule_of("TLK405")
    assert rule is not None
    text = SETUP.format(copied=copied, before=before, after=after)
    diagnostics = check(Source("program.py", text), [rule]).diagnostics
    return [text.split("\n")[one.line - 1].partition("=")[0].strip() for one in diagnostics]


@pytest.mark.parametrize(
    "copied", ["copy.deepcopy(net)", "copy.deepcopy(net).eval()", "copy.deepcopy(net.state_dict())"]
)
def test_a_copy_that_nobody_reads_is_made_in_vain(copied: str) -> None:
    assert found(copied) == ["earlier"]


def test_a_copy_that_replaces_another_one_and_is_never_read() -> None:
    assert found(before="earlier = None", after="earlier = copy.deepcopy(net)") == ["earlier", "earlier"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pass", "net.load_state_dict(earlier.state_dict())"),
        ("pass", "print(f'{earlier}')"),
        ("pass", "return lambda: earlier"),
        ("pass", "del earlier"),
        ("pass", "torch.save(locals(), path)"),
        ("global earlier", "pass"),
    ],
)
def test_a_copy_that_may_be_read(before: str, after: str) -> None:
    assert found(before=before, after=after) == []


@pytest.mark.parametrize(
    "copied", ["copy.deepcopy(path)", "copy.copy(net)", "net", "net.eval()", "setup(copy.deepcopy(net), 0, 0)"]
)
def test_what_is_no_copy_of_a_model_costs_little(copied: str) -> None:
    assert found(copied) == []


def test_the_attribute_or_the_keyword_of_that_name_is_another() -> None:
    assert found(after="net.earlier = dict(earlier=path)") == ["earlier"]


def test_variables_of_a_file_are_read_by_who_imports_it() -> None:
    rule = rule_of("TLK405")
    assert rule is not None
    text = "import copy\nfrom torch import nn\nnet = nn.Linear(8, 8)\nearlier = copy.deepcopy(net)\n"
    assert check(Source("program.py", text), [rule]).diagnostics == ()
