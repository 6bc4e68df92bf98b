"""What forward hooks keep in objects that they make: data classes, named tuples, objects with an ``__init__``."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import HEAD, Program
from projects import Project

CLASSES = """
from collections import namedtuple
from dataclasses import dataclass, field

@dataclass
class Sample:
    layer: str
    content: torch.Tensor = None

class Entry:
    def __init__(self, content, step=0):
        self.content, self.step = content, step

class Cut:
    def __init__(self, content):
        self.content = content.detach()

class Size:
    def __init__(self, content):
        self.shape = content.shape

Pair = namedtuple("Pair", "layer content")
"""

WATCHED = """
class Recorder:
    def __init__(self):
        self.samples, self.step = {empty}, 0

    def watch(self, net):
        net[0].register_forward_hook(self.keep)

    def keep(self, layer, args, out):
        {keep}

    def advance(self):
        {advance}

net, recorder = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)), Recorder()
recorder.watch(net)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    loss = F.cross_entropy(net(x), y){more}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    recorder.advance()
"""


def kept(keep: str, empty: str = "[]", advance: str = "self.step += 1", more: str = "") -> list[str]:
    """How what is kept is named, and the last of the hook's lines that keeps it: "name: line"."""
    written = keep.replace("\n", "\n        ")
    found = Program(CLASSES + WATCHED.format(keep=written, empty=empty, advance=advance, more=more)).facts
    lines = [(one, found.code(one.store.statement).strip()) for one in found.hook_stores]
    return [f"{one.name}{'' if one.grows else ' once'}: {line}" for one, line in lines]


@pytest.mark.parametrize(
    "line",
    [
        'self.samples.append(Sample("a", out))',
        'self.samples.append(Sample(layer="a", content=out))',
        "self.samples.append(Entry(out, self.step))",
        'self.samples.append(Pair("a", out))',
        'self.samples.append((self.step, Sample("a", out)))',
        'self.samples.append(Entry(Sample("a", out)))',
    ],
)
def test_an_object_that_is_put_into_a_list_keeps_what_it_is_made_of(line: str) -> None:
    assert kept(line) == [f"self.samples: {line}"]


def test_an_object_that_is_filled_before_it_is_put_there() -> None:
    line = "self.samples.append(one)"
    assert kept(f'one = Sample("a", out)\n{line}') == [f"self.samples: {line}"]
    assert kept(f'one = Sample("a")\none.content = out\n{line}') == [f"self.samples: {line}"]


@pytest.mark.parametrize("key", ["self.step", '(self.step, "a")', 'f"{self.step}/a"'])
def test_an_object_under_a_key_that_counts(key: str) -> None:
    line = f'self.samples[{key}] = Sample("a", out)'
    assert kept(line, empty="{}") == [f"self.samples: {line}"]


def test_an_object_that_the_next_forward_replaces_is_told_where_it_is_put() -> None:
    assert kept('self.samples["a"] = Sample("a", out)', "{}") == [
        'self.samples once: self.samples["a"] = Sample("a", out)'
    ]
    assert kept('self.last = Sample("a", out)') == ['self.last once: self.last = Sample("a", out)']
    assert kept("self.samples.content = out", "Entry(None)") == [
        "self.samples.content once: self.samples.content = out"
    ]


def test_an_object_that_another_method_of_the_log_keeps_is_told_there() -> None:
    log = """
@dataclass
class Log:
    rows: dict = field(default_factory=dict)
    step: int = 0
    def put(self, layer, content):
        self.rows[self.step, layer] = Sample(layer, CONTENT)
"""
    keep, advance = 'if layer.training:\n            self.samples.put("a", out)', "self.samples.step += 1"
    program = CLASSES + log + WATCHED.format(keep=keep, empty="Log()", advance=advance, more="")
    (found,) = Program(program.replace("CONTENT", "content")).facts.hook_stores
    assert (found.name, found.grows) == ("self.rows", True)
    assert Program(program.replace("CONTENT", "content.detach()")).facts.hook_stores == []


@pytest.mark.parametrize(
    ("line", "more"),
    [
        ('self.samples.append(Sample("a", out.detach()))', {}),
        ("self.samples.append(Cut(out))", {}),
        ("self.samples.append(Size(out))", {}),
        ('one = Sample("a", out)\nself.samples.append(one.content.mean().item())', {}),
        ('self.samples.append(Sample("a", out))', {"advance": "self.samples.clear()"}),
        ('self.samples.append(Sample("a", out))', {"advance": "self.samples = []"}),
        ('self.samples.append(Sample("a", out))', {"more": " + sum(s.content.mean() for s in recorder.samples)"}),
        ('self.samples = Sample("a", out)', {"more": " + recorder.samples.content.mean()"}),
        ('self.samples = Sample("a", out)', {"more": "; torch.autograd.grad(loss, recorder.samples.content)"}),
    ],
)
def test_an_object_without_a_graph_or_that_goes_or_is_trained_on_is_quiet(line: str, more: dict[str, str]) -> None:
    assert kept(line, **more) == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ('Sample("a", out)', ["main.py: TLK106 warning"]),
        ("Entry(out)", ["main.py: TLK106 warning"]),
        ("Cut(out)", []),
    ],
)
def test_a_class_of_another_file(tmp_path: Path, made: str, told: list[str]) -> None:
    head = HEAD
    keep = f"self.samples.append({made})"
    main = WATCHED.format(keep=keep, empty="[]", advance="pass", more="").replace("in loader", "in DataLoader(rows())")
    files = {"samples.py": head + CLASSES, "main.py": f"{head}from samples import Entry, Cut, Sample\n{main}"}
    assert [one for one in Project(tmp_path, files).found() if "TLK106" in one] == told
