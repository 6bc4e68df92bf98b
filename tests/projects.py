"""Folders of files that are checked in one run, and what stands in many of them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from torchlint import check_paths
from torchlint.config import Settings

LOOP = """
    import torch
    from torch import nn
    {imports}

    def train(loader, optimizer, net: nn.Module):
        kept = []
        {before}
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {each}
        return kept
"""

FIT = """
    import torch
    from torch import nn
    {imports}

    def fit(loader):
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        {before}
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {each}
        {after}
"""

METER = """
    class Meter:
        def __init__(self):
            self.reset()

        def reset(self):
            self.total = 0
            self.count = 0

        def update(self, value, n=1):
            self.total += value{ending} * n
            self.count += n

        def average(self):
            return self.total / self.count
"""

TAGGER = """
    import torch
    from torch import nn

    class Tagger:
        def __init__(self):
            self.net = nn.Linear(3, 3)

        def predict(self, x):
            self.net.eval()
            return self.net(x).argmax(1).tolist()
"""

USE = """
    {torch}
    from tagger import Tagger

    def tag(batches):
        tagger = Tagger()
        {guard}:
            return [tagger.predict(x) for x in batches]
"""

GUARDED = USE.format(torch="import torch", guard="with torch.no_grad()")
OPEN = USE.format(torch="", guard="if batches")


class Project:
    """A folder of files that is checked in one run."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").touch()
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))

    def found(self, *names: str) -> list[str]:
        """``file: CODE level`` of each finding when the named files (all without names) are checked in one run."""
        paths = [self.folder / name for name in names] or [self.folder]
        notes = Settings(notes=True, join=False)
        return [
            f"{Path(one.path).relative_to(self.folder).as_posix()}: {one.code} {one.level.name.lower()}"
            for one in check_paths(paths, settings=notes)
        ]


def loop(imports: str = "", before: str = "pass", each: str = "pass") -> str:
    return LOOP.format(imports=imports, before=before, each=each)


def fit(imports: str, before: str, each: str, after: str = "") -> str:
    """A file that trains a network of its own and hands its loss, in ``each`` step, to what ``before`` makes."""
    return FIT.format(imports=imports, before=before, each=each, after=after)
