"""Caches that a decorator of the file writes out, under a key that it makes of the text it is asked for."""

from __future__ import annotations

import pytest
from rule_programs import diagnose

from torchlint.source import Source

SERVICE = """
import re
import torch
from fastapi import FastAPI
from torch import nn

def once(function):
    table = {{}}

    def wrapper(text):
        key = {key}
        if key not in table:
            table[key] = function({given})
        return table[key]

    return wrapper

app = FastAPI()
encoder = nn.EmbeddingBag(1000, 30)

@once
def vector(text):
    with torch.no_grad():
        return encoder(torch.tensor([[len(word) for word in text.split()]]))

@app.post("/similar")
def similar(first: str, second: str):
    return float(vector(first) @ vector(second).T)
"""


@pytest.mark.parametrize(
    ("key", "is_told"),
    [
        ("text", True),
        ("text.lower()", True),
        ('" ".join(re.findall("[a-z]+", text.lower()))', True),
        ('"-".join(text.split())', True),
        ("re.sub(' +', ' ', text)", True),
        ("text[0]", False),
        ("len(text)", False),
        ("text == 'all'", False),
        ("'the same'", False),
    ],
)
@pytest.mark.parametrize("given", ["key", "text"])
def test_a_text_of_a_request_makes_an_entry(key: str, given: str, is_told: bool) -> None:
    found = diagnose(Source("service.py", SERVICE.format(key=key, given=given)))
    assert [one.code for one in found] == ["TLK404"] * is_told
