"""Guards that are entered under other names than torch's: attributes, parameters, tables, properties.

And networks that are frozen for a few lines.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest
from projects import Project

HEAD = """
import contextlib
from functools import partial

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 2)

    def forward(self, x):
        return self.layer(x)
"""

EVALUATION = """
{before}

def evaluate(loader):
    net = Net().eval()
    hits = 0
    for x, y in loader:
        {each}
    return hits
"""

COUNT = "hits += (net(x).argmax(1) == y).sum().item()"


def run(before: str, each: str) -> str:
    """A file that evaluates a network: what stands ``before`` the function, and in ``each`` turn of its loop."""
    return HEAD + EVALUATION.format(before=dedent(before), each=indent(dedent(each), " " * 8).strip())


GUARDED = {
    "an attribute of a class": (
        """
        class Judge:
            quiet = torch.no_grad
            def count(self, net, x, y):
                with self.quiet():
                    return (net(x).argmax(1) == y).sum().item()
        """,
        "hits += Judge().count(net, x, y)",
    ),
    "an attribute of an object": (
        """
        class Judge:
            def __init__(self, trains):
                self.context = contextlib.nullcontext if trains else torch.no_grad
            def count(self, net, x, y):
                with self.context():
                    return (net(x).argmax(1) == y).sum().item()
        """,
        "hits += Judge(False).count(net, x, y)",
    ),
    "a property": (
        """
        class Judge:
            @property
            def context(self):
                return torch.no_grad()
            def count(self, net, x, y):
                with self.context:
                    return (net(x).argmax(1) == y).sum().item()
        """,
        "hits += Judge().count(net, x, y)",
    ),
    "a table": (
        'CONTEXTS = {"train": contextlib.nullcontext, "test": torch.inference_mode}',
        f'with CONTEXTS["test"]():\n    {COUNT}',
    ),
    "a partial": ("quiet = partial(torch.set_grad_enabled, False)", f"with quiet():\n    {COUNT}"),
    "a parameter": (
        """
        def count(net, x, y, context):
            with context:
                return (net(x).argmax(1) == y).sum().item()
        """,
        "hits += count(net, x, y, torch.no_grad())",
    ),
    "one of several parameters": (
        """
        def count(net, x, y, contexts):
            with contextlib.ExitStack() as stack:
                for context in contexts:
                    stack.enter_context(context)
                return (net(x).argmax(1) == y).sum().item()
        """,
        "hits += count(net, x, y, [torch.no_grad()])",
    ),
    "a function that is bound anew": (
        """
        def count(net, x, y):
            return (net(x).argmax(1) == y).sum().item()
        count = torch.no_grad()(count)
        """,
        "hits += count(net, x, y)",
    ),
    "a network that is frozen": ("", f"net.requires_grad_(False)\n{COUNT}\nnet.requires_grad_(True)"),
    "parameters that are frozen": (
        "",
        f"for p in net.parameters():\n    p.requires_grad = False\n{COUNT}\n"
        "for p in net.parameters():\n    p.requires_grad = True",
    ),
}

OPEN = {
    "a context that is none of gradients": (
        """
        class Judge:
            context = contextlib.nullcontext
            def count(self, net, x, y):
                with self.context():
                    return (net(x).argmax(1) == y).sum().item()
        """,
        "hits += Judge().count(net, x, y)",
    ),
    "another function that is bound anew": (
        """
        def count(net, x, y):
            return (net(x).argmax(1) == y).sum().item()
        def other(x):
            return x
        other = torch.no_grad()(other)
        """,
        "hits += count(net, x, y)",
    ),
    "another network that is frozen": (
        "TWIN = Net()",
        f"TWIN.requires_grad_(False)\n{COUNT}\nTWIN.requires_grad_(True)",
    ),
}


@pytest.mark.parametrize(("before", "each"), GUARDED.values(), ids=GUARDED)
def test_what_may_be_a_guard_is_not_told(tmp_path: Path, before: str, each: str) -> None:
    assert Project(tmp_path, {"run.py": run(before, each)}).found() == []


@pytest.mark.parametrize(("before", "each"), OPEN.values(), ids=OPEN)
def test_what_is_none_is(tmp_path: Path, before: str, each: str) -> None:
    assert Project(tmp_path, {"run.py": run(before, each)}).found() == ["run.py: TLK201 warning"]


def test_a_hook_that_closing_takes_off_is_not_left(tmp_path: Path) -> None:
    probe = """
    class Probe:
        def __init__(self, net):
            self.handles = [layer.register_forward_hook(self.see) for layer in net.children()]
            self.seen = 0
        def see(self, layer, inputs, output):
            self.seen += output.numel()
        def close(self):
            while self.handles:
                self.handles.pop().remove()
    """
    each = f"with torch.no_grad(), contextlib.closing(Probe(net)):\n    {COUNT}"
    assert Project(tmp_path, {"run.py": run(probe, each)}).found() == []
