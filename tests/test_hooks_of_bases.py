"""Hooks that a method of a base class registers, which a method of the object calls, which a loop elsewhere calls."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from projects import Project

BASE = """
    import torch
    from torch import nn

    class Lens:
        def __init__(self, net, part):
            self.net, self.part, self.taken, self._taken = net, net.get_submodule(part), [], []
            self.seen = None

        def focus(self):
            {focus}

        def keep(self, part, args, out):
            self.seen = out.detach()

        def score(self, x):
            return self.net(x).argmax(1).tolist()

        def off(self):
            {off}
"""

GIVEN = """
    class Closer(Lens):
        def look(self, x):
            {first}
            {run}
            {last}
            return self.seen
"""

LOOP = """
    def main():
        net = nn.Sequential(nn.Linear(3, 8), nn.ReLU()).eval()
        {before}
        with torch.no_grad():
            for i in range(100):
                {each}
                print(closer.look(torch.randn(4, 3)))

    main()
"""

HEAD = "import torch\nfrom torch import nn\n"
TAKEN = "self.taken.append(self.part.register_forward_hook(self.keep))"
LEAKS = [TAKEN, "self.part.register_forward_hook(self.keep)", TAKEN.replace("taken", "_taken"),
         "self.handle = self.part.register_forward_hook(self.keep)"]  # fmt: skip


def texts(**changed: str) -> tuple[str, str, str]:
    """The base class, the class that has it, and the loop."""
    lines = {"focus": TAKEN, "off": "pass", "first": "self.focus()", "run": "self.score(x)", "last": "pass",
             "before": 'closer = Closer(net, "0")', "each": "pass", **changed}  # fmt: skip
    base, given, loop = (dedent(text).format(**lines) for text in (BASE, GIVEN, LOOP))
    return base, given, loop


def found(folder: Path, **files: str) -> list[str]:
    """The files in which hooks are told that pile up."""
    project = Project(folder, {f"{name}.py": text for name, text in files.items()})
    return [one.replace(" TLK303", "") for one in project.found() if "TLK303" in one]


@pytest.mark.parametrize("focus", LEAKS)
@pytest.mark.parametrize("run", ["self.score(x)", "self.net(x)"])
def test_in_three_files_it_is_told_where_the_base_is_called(tmp_path: Path, focus: str, run: str) -> None:
    base, given, loop = texts(focus=focus, run=run)
    given, loop = f"from lens import Lens\n{given}", f"{HEAD}from closer import Closer\n{loop}"
    assert found(tmp_path, lens=base, closer=given, main=loop) == ["closer.py: note"]


@pytest.mark.parametrize("focus", LEAKS)
def test_in_two_files_it_is_told_once(tmp_path: Path, focus: str) -> None:
    base, given, loop = texts(focus=focus)
    assert len(found(tmp_path / "a", lens=base + given, main=f"{HEAD}from lens import Closer\n{loop}")) == 1
    assert found(tmp_path / "b", lens=base, main=f"{HEAD}from lens import Lens\n{given}{loop}") == ["main.py: warning"]


@pytest.mark.parametrize("is_apart", [True, False])
@pytest.mark.parametrize(
    "changed",
    [
        {"off": "for handle in self.taken: handle.remove()", "last": "self.off()"},
        {"first": "pass", "before": 'closer = Closer(net, "0"); closer.focus()'},
        {"focus": f"if not self.taken: {TAKEN}"},
        {"first": "if self.seen is None: self.focus()"},
        {"focus": "with self.part.register_forward_hook(self.keep): self.net(torch.zeros(1, 3))"},
        {"last": "self.taken.pop().remove()"},
        {"each": "[handle.remove() for handle in closer.taken]"},
        {"focus": "self.handle.remove(); self.handle = self.part.register_forward_hook(self.keep)"},
        {"before": "pass", "each": 'closer = Closer(nn.Sequential(nn.Linear(3, 8)), "0")'},
    ],
)
def test_what_is_removed_or_registered_once_or_made_anew_is_quiet(
    tmp_path: Path, changed: dict[str, str], is_apart: bool
) -> None:
    base, given, loop = texts(**changed)
    apart = {"lens": base, "closer": f"from lens import Lens\n{given}"}
    files = apart if is_apart else {"closer": base + given}
    assert found(tmp_path, **files, main=f"{HEAD}from closer import Closer\n{loop}") == []
