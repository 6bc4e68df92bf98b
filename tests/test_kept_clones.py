"""Copies that an object keeps: a clone of what is tested to be a tensor has the graph of that, if it has one."""

from __future__ import annotations

import pytest
from programs import Program

KEEPER = """
def copied(value):
    if isinstance(value, torch.Tensor):
        return {copy}
    return value
class Keeper:
    def __init__(self):
        self.seen, self.sum = {{}}, 0
    {guard}
    def tell(self, values):
        local = {{}}
        values = {{k: copied(v) for k, v in values.items()}}
        for key, value in values.items():
            {keep}
"""


@pytest.mark.parametrize(
    ("lines", "holders"),
    [
        ({}, ["self.seen"]),
        ({"keep": "self.seen[key] = value"}, ["self.seen"]),
        ({"keep": "self.last = value"}, []),
        ({"copy": "value.detach().clone()"}, []),
        ({"copy": "value.clone().detach()"}, []),
        ({"copy": "value.clone().item()"}, []),
        ({"keep": "local[key] = value"}, []),
        ({"keep": "self.sum = self.sum + len(value)"}, []),
        ({"guard": "@torch.no_grad()"}, []),
    ],
)
def test_a_copy_that_an_object_keeps(lines: dict[str, str], holders: list[str]) -> None:
    usual = {
        "copy": "value.clone()",
        "keep": "self.seen.update(values)",
        "guard": "@staticmethod\n    def no(): pass\n",
    }
    source = KEEPER.format(**{**usual, **lines})
    assert [found.holder for found in Program(source).facts.kept_clones] == holders
