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


SERVER = """
from flask import Flask, request
from torch import nn
from zoo import classifier

NAMES = ["left", "right"]

def create():
    app = Flask(__name__)
    net, seen = classifier(), None

    @app.post("/maps/<name>")
    def maps(name):
        {declared}
        image = request.files.get("image")
        {turned_away}
        {before}
        net.body.register_forward_hook(lambda module, given, out: print(out.shape))
        return net(image)[NAMES.index(name)].tolist()

    return app
"""


@pytest.mark.parametrize(
    ("declared", "turned_away", "before", "is_told"),
    [
        ("pass", "if image is None: return 'nothing to look at', 400", "pass", True),
        ("pass", "if name not in NAMES: return 'which one?', 400", "pass", True),
        ("pass", "if image is None or name not in NAMES: return 'a bad request', 400", "pass", True),
        ("pass", "if image is None: raise ValueError(name)", "pass", True),
        ("nonlocal seen", "if seen is None: return 'not yet', 503", "seen = image", False),
        ("pass", "if name in NAMES: return 'known'", "NAMES.append(name)", False),
        ("nonlocal seen", "if seen is not None: return seen", "seen = image", False),
    ],
)
def test_who_is_turned_away_leaves_the_others(declared: str, turned_away: str, before: str, is_told: bool) -> None:
    text = SERVER.format(declared=declared, turned_away=turned_away, before=before)
    found = check_source(text, settings=Settings(notes=True))
    assert any(one.code == "TLK303" for one in found) is is_told


HANDLER = """
from flask import Flask, request
from torch import nn

app = Flask(__name__)
net, kept = nn.Linear(3, 3), {{}}

def note(layer, inputs, output):
    print(output.mean().item())

@app.route("/answer", methods=["POST"])
def answer():
    body = request.get_json()
    if {asked}:
        {done}
    return net(body["rows"]).tolist()
"""


@pytest.mark.parametrize(
    ("asked", "done", "is_told"),
    [
        ('body["explain"]', "net.register_forward_hook(note)", True),
        ('body.get("explain")', "net.register_forward_hook(note)", True),
        ('not kept["hook"]', 'kept["hook"] = net.register_forward_hook(note)', False),
        ('kept.get("hook") is None', 'kept["hook"] = net.register_forward_hook(note)', False),
    ],
)
def test_what_a_request_asks_for_is_done_again_and_again(asked: str, done: str, is_told: bool) -> None:
    found = check_source(HANDLER.format(asked=asked, done=done), settings=Settings(notes=True))
    assert any(one.code == "TLK303" for one in found) is is_told
