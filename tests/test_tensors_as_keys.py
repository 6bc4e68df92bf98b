"""Dictionaries that are asked for a tensor: it is compared by identity, and what is computed for it is never found."""

from __future__ import annotations

import pytest

from torchlint import check_source
from torchlint.config import Settings

CACHE = """
import logging
import torch
from torch import nn

class Cache:
    def __init__(self):
        self.rows, self.misses = {{}}, 0

    def __len__(self):
        return len(self.rows)

    def ask(self, key: torch.Tensor, encode: nn.Module):
        found = self.rows.get(key)
        if found is not None:
            return found
        {room}
        self.rows[key] = {value}
        return self.rows[key]
"""


def told(room: str = "pass", value: str = "encode(key)") -> list[tuple[str, str]]:
    text = CACHE.format(room=room, value=value)
    return [(one.code, one.level.value) for one in check_source(text, settings=Settings(notes=True))]


def test_a_cache_by_tensors_finds_nothing_whoever_asks_it() -> None:
    assert told() == [("TLK404", "note")]


@pytest.mark.parametrize("value", ["torch.zeros_like(key)", "key.clone()", "torch.empty(3)"])
def test_what_belongs_to_a_weight_comes_again_with_it(value: str) -> None:
    assert told(value=value) == []


@pytest.mark.parametrize(
    "room",
    ["print(len(self.rows), 'rows')", "logging.info('%d rows', len(self.rows))", "print(f'{len(self.rows)} rows')"],
)
def test_a_length_that_is_only_told_bounds_nothing(room: str) -> None:
    assert told(room) == [("TLK404", "note")]


@pytest.mark.parametrize(
    "room",
    [
        "if len(self.rows) > 99:\n            return encode(key)",
        "if len(self.rows) > 99:\n            self.rows.clear()",
        "self.rows.pop(next(iter(self.rows)), None)",
    ],
)
def test_not_where_there_is_a_bound(room: str) -> None:
    assert told(room) == []
