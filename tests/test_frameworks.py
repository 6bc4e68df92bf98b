"""The table of frameworks: each row is documented, and there is a program that it makes a difference to."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from contract_programs import program_for

from torchlint import frameworks
from torchlint.api import check_source
from torchlint.config import Settings
from torchlint.facts.values import frameworks as asking
from torchlint.frameworks import ROWS, Holds, Row, method_names, rows_holding, rows_named

HEAD = """import torch
import torch.nn.functional as F
from torch import nn
"""


def cases() -> Iterator[tuple[Row, str, str]]:
    """Each row with its first name and each of its methods, and with each other name and its first method."""
    for row in ROWS:
        methods = row.methods or ("",)
        yield from ((row, row.of[0], method) for method in methods)
        yield from ((row, name, methods[0]) for name in row.of[1:])


def written(name: str) -> str:
    """The last part of a name, with letters in the place of those that may be any."""
    return re.sub(r"\[A-Z\]\*|\*", "Own", name.rpartition(".")[2])


def source_of(row: Row, name: str, method: str, package: str) -> str:
    """The program of a row, with a name that is imported from ``package``, or from the framework."""
    own, known = name.rpartition(".")[0].replace("*", "own"), written(name)
    text = program_for(row).source.replace("METHOD", method).replace("ARGUMENT", row.argument[1])
    return f"{HEAD}from {package or own} import {known}\n{text.replace('KNOWN', known)}"


def forget() -> None:
    """Read the table again when it is next asked."""
    for asked in (asking.promises, method_names, rows_holding, rows_named):
        asked.cache_clear()


def codes(source: str, notes: bool) -> list[str]:
    """The codes of what is found in a program, with or without notes."""
    return [finding.code for finding in check_source(source, settings=Settings(notes=notes))]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.framework}-{row.holds.name}-{row.of[0]}")
def test_each_row_says_where_it_is_documented(row: Row) -> None:
    assert row.source.startswith("https://")
    assert row.of
    assert not row.distinctive or row.holds not in (Holds.DETACHES, Holds.KEEPS)


@pytest.mark.parametrize(
    ("row", "name", "method"),
    [pytest.param(*case, id=f"{case[0].holds.name}-{case[1]}-{case[2]}") for case in cases()],
)
def test_each_row_makes_a_difference(row: Row, name: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_for(row)
    with_row = codes(source_of(row, name, method, ""), program.notes)
    if program.by_name:
        monkeypatch.setattr(frameworks, "ROWS", tuple(other for other in ROWS if other is not row))
        forget()
        without = codes(source_of(row, name, method, ""), program.notes)
        forget()
    elif row.distinctive:
        without = codes(source_of(row, name, method, "").replace(written(name), "Elsewhere"), program.notes)
    else:
        without = codes(source_of(row, name, method, "elsewhere"), program.notes)
    assert (program.code in with_row) is program.finds
    assert (program.code in without) is not program.finds


SERVICE = """
{imported}

class Service({base}):
    def __init__(self, path):
        self.path = path
        self.warm = self.load(path, "cpu")

    def load(self, path, device):
        return torch.load({read}, map_location=device)

    {method}
        net = {answer}
        return net(request)
"""


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, 1),
        ({"imported": "import tiles_pb2_grpc as stubs", "base": "stubs.TileServicer"}, 1),
        ({"imported": "from app.protos import tiles_pb2_grpc", "base": "tiles_pb2_grpc.TileServicer"}, 1),
        ({"imported": "from .tiles_pb2_grpc import TileServicer"}, 1),
        ({"method": "async def Segment(self, request_iterator, unused_context):"}, 1),
        ({"answer": "self.load(self.path, 'cpu')"}, 1),
        ({"answer": "self.load(request.path, 'cpu')", "read": "path"}, 0),
        ({"answer": "self.warm"}, 0),
        ({"method": "def prepare(self, request):"}, 0),
        ({"method": "def prepare(self, request, folder):"}, 0),
        ({"method": "def prepare(self, request, folder, context):"}, 0),
        ({"imported": "from tiles import TileServicer"}, 0),
        ({"imported": "from tiles_pb2_grpc import TileStub", "base": "TileStub"}, 0),
    ],
)
def test_a_servicer_of_a_generated_module_answers_requests(changed: dict[str, str], found: int) -> None:
    given = {
        "imported": "from tiles_pb2_grpc import TileServicer",
        "base": "TileServicer",
        "method": "def Segment(self, request, context):",
        "answer": "torch.load(self.path)",
        "read": "self.path",
        **changed,
    }
    assert codes(HEAD + SERVICE.format(**given), notes=False).count("TLK302") == found
