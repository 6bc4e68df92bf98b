"""Caches that a class of another file fills: whether who calls it brings a new key each time."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

TABLES = """
    import torch

    class Tables:
        def __init__(self):
            self.tables = {{}}

        def table(self, x):
            key = {key}
            if key not in self.tables:
                self.tables[key] = torch.zeros(x.shape, device=x.device)
            return self.tables[key]

        def answer(self, x):
            {begin}
            return self.table(x) + x
"""

USER = """
    import torch
    from torch import nn
    from tables import Tables

    @torch.no_grad()
    def main(loader):
        net, tables = nn.Linear(3, 3).eval(), Tables()
        for x, _ in loader:
            print(tables.answer(net(x)).argmax(1).tolist())
"""


@pytest.mark.parametrize(
    ("key", "begin", "is_told"),
    [
        ("x", "pass", True),
        ("str(x.tolist())", "pass", True),
        ("tuple(x.shape)", "pass", False),
        ("'rows:' + x.type()", "pass", False),
        ("(x.dtype, x.device, len(x))", "pass", False),
        ("(x.dtype, str(x.tolist()))", "pass", True),
        ("x", "self.tables = {}", False),
        ("x", "self.tables.clear()", False),
    ],
)
def test_a_shape_is_no_new_key(tmp_path: Path, key: str, begin: str, is_told: bool) -> None:
    files = {"tables.py": TABLES.format(key=key, begin=begin), "user.py": USER}
    found = [one for one in Project(tmp_path, files).found() if "TLK404" in one]
    assert found == (["user.py: TLK404 error"] if is_told else [])


STORE = """
    import torch

    class Store:
        def __init__(self):
            self.rows{told} = {{}}

        def get(self, text):
            return self.rows.get(hash(text))

        def put(self, text, row):
            {bound}
            self.rows[hash(text)] = {kept}
"""

SERVER = """
    import torch
    from flask import Flask, request
    from sentence_transformers import SentenceTransformer
    from store import Store

    app, encoder, store = Flask(__name__), SentenceTransformer("net", device="cuda"), Store()

    @torch.no_grad()
    def row_of(text):
        row = store.get(text)
        if row is None:
            row = encoder.encode(text)
            store.put({key}, row)
        return row

    @app.get("/nearest")
    def nearest():
        return str(row_of(request.args["text"]).tolist())
"""


@pytest.mark.parametrize(
    ("told", "bound", "kept", "key"),
    [
        ("", "pass", "row", "text"),  # nobody says that these are tensors
        (": dict[str, list[float]]", "pass", "row", "text"),
        (": dict[str, torch.Tensor]", "if len(self.rows) > 99: self.rows.clear()", "row", "text"),
        (": dict[str, torch.Tensor]", "pass", "row", "'the only one'"),
        (": dict[str, list[torch.Tensor]]", "pass", "[]", "text"),
    ],
)
def test_what_is_put_into_a_store_of_another_file_need_not_grow(
    tmp_path: Path, told: str, bound: str, kept: str, key: str
) -> None:
    assert memos(tmp_path, STORE.format(told=told, bound=bound, kept=kept), key) == []


def test_a_store_of_another_file_may_say_that_it_holds_tensors(tmp_path: Path) -> None:
    store = STORE.format(told=": dict[str, torch.Tensor]", bound="pass", kept="row")
    assert memos(tmp_path, store, "text") == ["server.py: TLK404 note"]


def memos(folder: Path, store: str, key: str) -> list[str]:
    files = {"store.py": store, "server.py": SERVER.format(key=key)}
    return [one for one in Project(folder, files).found() if "TLK404" in one]


METERS = """
    import torch

    class Meter:
        def __init__(self, device):
            self.total = torch.zeros((), device=device)

        def add(self, value):
            self.total += value.detach()

    class Meters:
        def __init__(self, device):
            self.device, self.meters = device, {}

        def update(self, values):
            for name, value in values.items():
                if name not in self.meters:
                    self.meters[name] = Meter(self.device)
                self.meters[name].add(value)
"""

SWEEP = """
    import torch
    from torch import nn
    from meters import Meters

    def sweep(step, loader):
        meters = Meters("cuda")
        for x, y in loader:
            meters.update(step(x, y))
        return meters
"""


def test_the_name_of_an_item_is_no_new_key_though_its_value_is_new(tmp_path: Path) -> None:
    assert Project(tmp_path, {"meters.py": METERS, "sweep.py": SWEEP}).found() == []
