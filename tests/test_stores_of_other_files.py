"""Stores of another file that compute what they have not yet, with what they were given, and keep all of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

STORE = """
    class Store:
        def __init__(self, make):
            self.make, self.rows, self.asked = make, {{}}, 0

        def {ask}(self, key):
            self.asked += 1
            {found}

        {more}
"""

SEARCH = """
    import torch
    from torch import nn
    from store import Store

    class Search:
        def __init__(self, net: nn.Module):
            self.net = net.eval()
            self.store = Store({make})

        def encode(self, words):
            return self.net(torch.tensor([words]))

        @torch.no_grad()
        def find(self, words):
            {begin}
            return (row @ row.T).tolist()
"""

IN = "if key not in self.rows:\n                self.rows[key] = self.make(key)\n            return self.rows[key]"
TRY = """try:
                return self.rows[key]
            except KeyError:
                self.rows[key] = self.make(key)
                return self.rows[key]"""
GET = """row = self.rows.get(key)
            if row is None:
                row = self.rows[key] = self.make(key)
            return row"""


def searched(folder: Path, **options: str) -> list[str]:
    """What is said of caches where an object of another file keeps the encodings that it is asked for."""
    parts = {
        "ask": "ask", "found": IN, "more": "", "make": "self.encode", "begin": "row = self.store.ask(tuple(words))",
        **options,
    }  # fmt: skip
    project = Project(folder, {"store.py": STORE.format(**parts), "search.py": SEARCH.format(**parts)})
    return [one for one in project.found() if "TLK404" in one]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"found": TRY},
        {"found": GET},
        {"ask": "__getitem__", "begin": "row = self.store.__getitem__(tuple(words))"},
        {"make": "lambda words: net(torch.tensor([words]))"},
        {"make": "lambda words: net(torch.tensor([words])).cpu()"},
        {"make": "net", "begin": "row = self.store.ask(torch.tensor([words]))"},
    ],
)
def test_encodings_that_a_store_makes_for_each_new_key_and_keeps_are_told(
    tmp_path: Path, options: dict[str, str]
) -> None:
    assert searched(tmp_path, **options) == ["search.py: TLK404 note"]


@pytest.mark.parametrize(
    "options",
    [
        {"found": f"if len(self.rows) > 99:\n                self.rows.popitem()\n            {IN}"},
        {"found": "return self.make(key)"},
        {"found": "self.rows['last'] = self.make(key)\n            return self.rows['last']"},
        {"more": "def forget(self):\n            self.rows.clear()"},
        {"make": "len"},
        {"make": "lambda words: net(torch.tensor([words])).tolist()"},
        {"make": "lambda words: torch.zeros(3, 3).tolist()"},
        {"begin": "row = self.store.ask('all')"},
        {"begin": "self.store.rows = {}\n            row = self.store.ask(tuple(words))"},
        {"begin": "row = Store(self.net).ask(tuple(words))"},
    ],
)
def test_what_is_dropped_again_or_is_no_tensor_is_not(tmp_path: Path, options: dict[str, str]) -> None:
    assert searched(tmp_path, **options) == []
