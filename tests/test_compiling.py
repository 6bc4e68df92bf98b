"""What is compiled, traced or scripted again and again, and what once although it stands in a loop."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project
from torchlint.rules.tlk305_compiled_in_step import CompiledInStep

from torchlint.facts.summaries.imports import NoImports
from torchlint.facts.values.graph import Function
from torchlint.rule import Level

HEAD = """
import functools, re
import torch
import torch.fx
from torch import jit, nn
from torch.utils.data import DataLoader
net = nn.Linear(3, 3).eval()
"""

LOOP = """
def main(loader: DataLoader):
    quick = None
    for step, (x, y) in enumerate(loader):
        BODY
        print(quick(x))
"""


def compiled(source: str) -> list[str]:
    """What is compiled again, each as "what by what"."""
    return [
        f"{found.name} by {by.name if isinstance(by := found.repeated_by, Function) else 'loop'}"
        for found in Program(source, head=HEAD).facts.compilations
    ]


def in_loop(body: str, before: str = "") -> list[str]:
    """What is compiled again when ``body`` begins each turn of a loop over batches."""
    return compiled(before + LOOP.replace("BODY", body.replace("\n", "\n        ")))


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("quick = torch.compile(net)", "torch.compile"),
        ("quick = jit.trace(net, x)", "torch.jit.trace"),
        ("quick = jit.freeze(jit.script(net))", "torch.jit.freeze"),
        ("quick = torch.fx.symbolic_trace(net)", "torch.fx.symbolic_trace"),
        ("quick = torch.export.export(net, (x,)).module()", "torch.export.export"),
        ("@torch.compile\ndef quick(x):\n    return net(x)", "torch.compile"),
        ("quick = net\nquick.compile()", "compile"),
        ("quick = net\nif hasattr(torch, 'compile'):\n    quick = torch.compile(net)", "torch.compile"),
        ("quick = torch.compile(net) if hasattr(torch, 'compile') else net", "torch.compile"),
    ],
)
def test_each_turn(body: str, name: str) -> None:
    assert in_loop(body) == [f"{name} by loop"]


@pytest.mark.parametrize(
    "body",
    [
        "if quick is None:\n    quick = jit.trace(net, x)",
        "if not hasattr(net, 'quick'):\n    net.quick = torch.compile(net)\nquick = net.quick",
        "if step % 100 == 0:\n    jit.trace(net, x).save('net.pt')",
        "quick = net\nre.compile('a')\ntorch.trace(x)",
        "quick = made()",
    ],
)
def test_now_and_then_or_something_else(body: str) -> None:
    assert in_loop(body, "@functools.cache\ndef made():\n    return torch.compile(net)\n") == []


@pytest.mark.parametrize(("made", "found"), [("net", ["torch.jit.script by check"]), ("model", [])])
def test_a_function_that_others_ask_compiles_what_each_of_them_gives_it(
    monkeypatch: pytest.MonkeyPatch, made: str, found: list[str]
) -> None:
    monkeypatch.setattr(NoImports, "repeats", lambda self, name, without=(): name == "check")
    text = (
        f"def check(model, x):\n    quick = jit.script({made})\n    with torch.no_grad():\n        return net(x), quick"
    )
    assert compiled(text) == found


def test_a_loop_over_models() -> None:
    assert compiled("for model in [net, net]:\n    quick = jit.trace(model, x)\n    print(quick(x))") == []


def test_once_for_an_epoch() -> None:
    source = """
def main(loader: DataLoader, optimizer):
    for epoch in range(3):
        for x, y in loader:
            net(x).sum().backward()
            optimizer.step()
        jit.script(net).save("net.pt")
"""
    assert compiled(source) == []


def test_what_is_compiled_is_still_the_model() -> None:
    program = Program("quick = torch.compile(net, mode='reduce-overhead')\nlater = torch.compile(mode='x')", head=HEAD)
    final = program.facts.solution.final
    assert final(program.value("torch.compile(net, mode='reduce-overhead')")) == final(program.value("nn.Linear(3, 3)"))
    assert program.kinds(program.value("torch.compile(mode='x')")) == {"unknown"}


def test_what_is_frozen_has_no_parameters_left() -> None:
    program = Program(
        "quick = jit.freeze(jit.script(net))\nprint(quick(torch.zeros(3)), net(torch.zeros(3)))", head=HEAD
    )
    assert [program.kinds(value) for value in program.printed()] == [{"without graph"}, {"live"}]


DEEP = """
def to_graph(x):
    MADE
    return jit.trace(net, x)
def answer(x):
    with torch.no_grad():
        return to_graph(x)(x)
class Tracker:
    def update(self, x):
        return answer(x).tolist()
def main(tracker: Tracker):
    for frame in open("frames"):
        print(Tracker().update(torch.tensor(float(frame))))
"""


def test_a_forward_deep_in_what_a_loop_calls_makes_it_one_of_inference() -> None:
    assert compiled(DEEP.replace("MADE", "")) == ["torch.jit.trace by loop"]


def test_a_model_built_on_the_way_makes_it_one_of_trials() -> None:
    assert compiled(DEEP.replace("MADE", "net = nn.Linear(3, 3)")) == []


KINDS = """
from zoo import kind, KINDS
def write(net, sample):
    net.train(False)
    torch.onnx.export(net, sample, "net.onnx")
def main():
    for KIND, name in KINDS:
        net = kind.from_pretrained(name)
        net.eval()
        sample = torch.tensor([[float(len(name))]])
        with torch.no_grad():
            given = net(sample)
        write(net.cpu(), sample)
"""


@pytest.mark.parametrize(("kind", "found"), [("kind", []), ("other", ["torch.onnx.export by loop"])])
def test_a_loop_over_classes_compiles_a_model_of_each(kind: str, found: list[str]) -> None:
    assert compiled(KINDS.replace("for KIND", f"for {kind}")) == found


@pytest.mark.parametrize(
    ("made", "names"), [("torch.compile(self.net)", ["torch.compile by loop"]), ("wrapped(self.net)", [])]
)
def test_a_loop_that_calls_what_it_compiles_is_one_of_steps(made: str, names: list[str]) -> None:
    source = f"""
class Sampler:
    def __init__(self, net):
        self.net = net
    def predict(self, x, t):
        quick = {made}
        return quick(x, t)
    def sample(self, x, times):
        for t in times:
            x = x - self.predict(x, t)
        return x
"""
    assert compiled(source) == names


@pytest.mark.parametrize(
    ("made", "level"), [("torch.compile(net)", Level.NOTE), ("torch.jit.script(net)", Level.WARNING)]
)
def test_what_is_compiled_is_found_again_by_its_code(made: str, level: Level) -> None:
    facts = Program(LOOP.replace("BODY", f"quick = {made}"), head=HEAD).facts
    assert [found.level for found in CompiledInStep().check(facts)] == [level]


EXPORT = """
    import functools
    import torch

    {decorator}
    def quicken(net, example):
        net.eval()
        {made}
        return quick
"""

LISTENER = """
    import torch
    from torch import nn
    from export import quicken

    class Listener:
        def __init__(self):
            self.net, self.quick = nn.Linear(3, 3), None

        @torch.no_grad()
        def hear(self, chunk):
            {each}
            return quick(chunk).argmax(-1).tolist()
"""

LISTENING = """
    import torch
    from listener import Listener

    def main(chunks):
        listener = Listener()
        {turns}
            print(listener.hear(chunk))
"""

FROZEN = "traced = torch.jit.trace(net, example)\n        quick = torch.jit.freeze(traced)"
EACH = "quick = quicken(self.net, chunk)"


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"each": "quick = quicken(net=self.net, example=chunk)"}, 1),
        ({"made": "quick = torch.jit.optimize_for_inference(torch.jit.script(net))"}, 1),
        ({"made": "quick = torch.compile(net)"}, 1),
        ({"made": f"if not hasattr(torch, 'jit'):\n            return net\n        {FROZEN}"}, 1),
        ({"made": f"if hasattr(net, 'quick'):\n            return net.quick\n        {FROZEN}"}, 0),
        ({"turns": "if chunks:\n            chunk = chunks[0]"}, 0),
        ({"decorator": "@functools.lru_cache(maxsize=1)"}, 0),
        ({"each": f"if self.quick is None:\n                self.{EACH}\n            quick = self.quick"}, 0),
        ({"made": "quick = net"}, 0),
    ],
)
def test_a_helper_of_another_file_compiles_in_each_call(tmp_path: Path, changes: dict[str, str], count: int) -> None:
    named = {"made": FROZEN, "each": EACH, "turns": "for chunk in chunks:", "decorator": "", **changes}
    texts = {"export.py": EXPORT, "listener.py": LISTENER, "main.py": LISTENING}
    project = Project(tmp_path, {name: text.format(**named) for name, text in texts.items()})
    told = [one for one in project.found() if "TLK305" in one]
    assert [one.partition(":")[0] for one in told] == ["listener.py"] * count
