"""What need not run each time that what is around it does: a memory is asked before anything is loaded."""

from __future__ import annotations

import pytest

from torchlint import check_source
from torchlint.config import Settings

STORE = """
import torch
from fastapi import FastAPI
from torch import nn
app = FastAPI()

class Store:
    def __init__(self):
        self.loaded, self.other = {{}}, {{}}

    def get(self, name):
        net = {asked}
        if net is None:
            net = nn.Linear(3, 3)
            net.load_state_dict(torch.load(name, map_location="cpu"))
            {within}
        {after}
        return net

store = Store()

@app.post("/names")
def names(query):
    return store.get(query.name)(query.rows).tolist()
"""


@pytest.mark.parametrize(
    ("asked", "within", "after", "is_told"),
    [
        ("self.loaded.get(name)", "self.loaded[name] = net", "pass", False),
        ("self.loaded.get(name)", "pass", "self.loaded[name] = net", False),
        ("self.loaded.pop(name, None)", "pass", "self.loaded[name] = net", False),
        ("self.other.get(name)", "self.loaded[name] = net", "pass", True),
        ("None", "self.loaded[name] = net", "pass", True),
    ],
)
def test_what_is_looked_up_first_is_loaded_once(asked: str, within: str, after: str, is_told: bool) -> None:
    text = STORE.format(asked=asked, within=within, after=after)
    found = check_source(text, settings=Settings(notes=True))
    assert any(one.code == "TLK302" for one in found) is is_told
