"""Files that neither say torch nor import what does, and are given tensors and modules by a file that does."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

NET = """
    from torch import nn

    class Follower(nn.Module):
        def __init__(self, width=10):
            super().__init__()
            self.cell = nn.GRU(width, 24, batch_first=True)
            self.head = nn.Linear(24, 5)

        def forward(self, frames, memory=None):
            out, memory = self.cell(frames, memory)
            return self.head(out), memory
"""

STREAM = """
    class Stream:
        def __init__(self, net, labels):
            self.net = net{evaluated}
            self.labels = labels
            self.memory = None
            self.heard = []

        def hear(self, frames):
            scores, memory = self.net(frames, self.memory)
            self.memory = {kept}
            best = scores{answer}
            self.heard.append(self.labels[best])
"""

LISTEN = """
    import torch
    from net import Follower
    from stream import Stream

    def listen(source, labels):
        stream = Stream(Follower(), labels)
        for frames in source:
            {call}
        return stream.heard
"""

READ = ".mean(1).argmax(-1).item()"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({}, ["stream.py: TLK201 note", "stream.py: TLK104 error"]),
        ({"evaluated": "", "call": "with torch.inference_mode(): stream.hear(frames)"}, []),
        ({"call": "with torch.no_grad(): stream.hear(frames)"}, []),
        ({"kept": "memory.detach()"}, ["stream.py: TLK201 warning"]),
    ],
)
def test_a_stream_that_a_file_with_torch_feeds(tmp_path: Path, parts: dict[str, str], found: list[str]) -> None:
    filled = {"evaluated": ".eval()", "kept": "memory", "answer": READ, "call": "stream.hear(frames)", **parts}
    files = {"net.py": NET, "stream.py": STREAM.format(**filled), "listen.py": LISTEN.format(**filled)}
    assert [one for one in Project(tmp_path, files).found() if "stream.py" in one] == found


@pytest.mark.parametrize("imported", ["import numpy", "import mxnet"])
def test_what_no_file_with_torch_imports_is_not_looked_at(tmp_path: Path, imported: str) -> None:
    filled = {"evaluated": ".eval()", "kept": "memory", "answer": READ, "call": "stream.hear(frames)"}
    listen = LISTEN.format(**filled).replace("import torch", imported).replace("from net import Follower", "")
    files = {"stream.py": STREAM.format(**filled), "listen.py": listen}
    assert Project(tmp_path, files).found() == []
