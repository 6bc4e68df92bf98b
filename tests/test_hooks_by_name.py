"""Helpers of another file that hook the parts of a network which are looked up by their names."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from projects import FIT, Project

TAPS = """
from torch import nn

def note(*args):
    pass

class Undo:
    def __init__(self, handle):
        self.handle = handle

def tap(net: nn.Module, names):
{body}
"""

NAMED = "parts = dict(net.named_modules())\nfor name in names:\n    parts[name].register_forward_hook(note)"


def found(folder: Path, body: str, each: str = 'tap(net, ["0"])', before: str = "pass") -> list[str]:
    """The files in which hooks are told that pile up."""
    fit = FIT.format(imports="from taps import tap", before=before, each=each, after="pass")
    files = {"taps.py": TAPS.format(body=indent(body, "    ")), "fit.py": fit}
    return [one.partition(":")[0] for one in Project(folder, files).found() if "TLK303" in one]


@pytest.mark.parametrize(
    "body",
    [
        NAMED,
        "for name in names:\n    getattr(net, name).register_forward_hook(note)",
        "for name in names:\n    net.get_submodule(name).register_forward_hook(note)",
        'for name in names:\n    net.get_submodule(f"layers.{name}").register_forward_hook(note)',
        "for i in range(2):\n    net[i].register_forward_hook(note)",
        "for name, part in net.named_modules():\n    if name in names:\n        part.register_forward_hook(note)",
        "[net.get_submodule(name).register_forward_hook(note) for name in names]",
    ],
)
def test_parts_that_are_chosen_by_name(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == ["fit.py"]


def test_what_the_hooks_fill_is_given_back(tmp_path: Path) -> None:
    keep = "    def keep(part, args, out):\n        seen[name] = out.detach()\n    return keep\n"
    body = f"seen = {{}}\ndef saver(name):\n{keep}{NAMED.replace('note', 'saver(name)')}\nreturn seen"
    assert found(tmp_path, body, 'seen = tap(net, ["0"]); print(seen)') == ["fit.py"]


@pytest.mark.parametrize("end", ["pass", "return 3", "return names"])
def test_a_handle_in_a_variable_goes_with_it(tmp_path: Path, end: str) -> None:
    assert found(tmp_path, f"handle = net[0].register_forward_hook(note)\n{end}") == ["fit.py"]


@pytest.mark.parametrize(
    ("body", "each"),
    [
        ("return [net.get_submodule(name).register_forward_hook(note) for name in names]",
         '[handle.remove() for handle in tap(net, ["0"])]'),
        ("names.append(net[0].register_forward_hook(note))", "taken = []; tap(net, taken); taken.pop().remove()"),
        ("names[0] = net[0].register_forward_hook(note)", "taken = {}; tap(net, taken); taken[0].remove()"),
        ("net.taken = net[0].register_forward_hook(note)", "tap(net, 0); net.taken.remove()"),
        ("handle = net[0].register_forward_hook(note)\nreturn Undo(handle)", "tap(net, 0).handle.remove()"),
        ("handle = net[0].register_forward_hook(note)\nreturn lambda: handle", "tap(net, 0)().remove()"),
        ("handle = net[0].register_forward_hook(note)\ndef undo():\n    handle.remove()\nreturn undo", "tap(net, 0)()"),
        ("for name in names:\n    part = net.get_submodule(name)\n    if not hasattr(part, 'taken'):\n"
         "        part.taken = part.register_forward_hook(note)", 'tap(net, ["0"])'),
        ("for name in names:\n    net.get_submodule(name)._forward_hooks.clear()\n"
         "    net.get_submodule(name).register_forward_hook(note)", 'tap(net, ["0"])'),
    ],
)  # fmt: skip
def test_handles_that_others_have_are_theirs_to_remove(tmp_path: Path, body: str, each: str) -> None:
    assert found(tmp_path, body, each) == []


def test_once_before_the_loop_is_enough(tmp_path: Path) -> None:
    assert found(tmp_path, NAMED, "pass", 'tap(net, ["0"])') == []
