"""Tables of functions that a program keeps for itself, and whether what is in them is called again and again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_across_files import Project

ROUTES = """
TABLE = {{}}

def task(name):
    def put(function):
        {put}
        return {given}
    return put

def dispatch(message):
    try:
        function = {taken}
    except KeyError:
        return None
    return {answer}
"""

HANDLERS = """
import torch
{imported}
from transformers import AutoModel

{decorated}
@torch.no_grad()
def translate(payload):
    net = AutoModel.from_pretrained({name}).eval()
    return {run}
"""

WORKER = """
import redis
import handlers
from routes import dispatch

def serve():
    connection = redis.from_url("redis://localhost")
    names = ["detect", "translate"]
    {turns}
        message = connection.blpop("requests")
        print(dispatch(message))
"""

PLAIN = {
    "put": "TABLE[name] = function",
    "given": "function",
    "taken": 'TABLE[message["task"]]',
    "answer": 'function(message["payload"])',
    "imported": "from routes import task",
    "decorated": '@task("translate")',
    "name": '"opus"',
    "run": 'net(payload["text"])',
    "turns": "while True:",
}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, ["warning"]),
        ({"taken": 'TABLE.get(message["task"])'}, ["warning"]),
        ({"given": "print"}, ["warning"]),  # the table has the function, whatever its name is bound to
        ({"name": "payload['lang']"}, ["note"]),
        ({"put": "print(name, function)"}, []),
        ({"put": "TABLE[name] = name"}, []),
        ({"put": "TABLE[name] = function.__name__"}, []),
        ({"answer": 'message["payload"]'}, []),
        ({"answer": "print(function)"}, []),
        ({"decorated": ""}, []),
        ({"decorated": "@torch.jit.ignore"}, []),
        ({"run": "net"}, []),
        ({"turns": "for name in names:"}, []),
        ({"turns": "if names:"}, []),
    ],
)
def test_what_a_table_calls_for_each_message(tmp_path: Path, changed: dict[str, str], found: list[str]) -> None:
    sources = (source.format(**{**PLAIN, **changed}) for source in (ROUTES, HANDLERS, WORKER))
    files = dict(zip(("routes.py", "handlers.py", "worker.py"), sources, strict=True))
    told = [one for one in Project(tmp_path, files).found() if "TLK302" in one]
    assert told == [f"handlers.py: TLK302 {level}" for level in found]


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({}, 1),
        ({"given": "torch.no_grad()(function)"}, 1),
        ({"turns": "for name in names:"}, 0),
        ({"answer": "print(function)"}, 0),
        ({"put": "function.name = name"}, 0),
    ],
)
def test_a_table_of_the_same_file(tmp_path: Path, changed: dict[str, str], count: int) -> None:
    given = {**PLAIN, "imported": "", **changed}
    worker = WORKER.replace("import handlers\nfrom routes import dispatch\n", "")
    source = "".join(part.format(**given) for part in (ROUTES, HANDLERS, worker))
    found = [one for one in Project(tmp_path, {"alone.py": f"import torch\n{source}"}).found() if "TLK302" in one]
    assert len(found) == count
