"""Objects of another file that gather the outputs of a pass and move them to the host at its end."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

LOG = """
    from collections import deque
    import torch

    class Log:
        def __init__(self):
            self.begin()

        def begin(self):
            self.outs = {made}
            self.aims = []

        def {note}(self, out, aim):
            {kept}
            self.aims.append(aim)

        def report(self):
            outs = {end}
            return (outs.argmax(1) == torch.cat(self.aims).numpy()).mean(), {also}
"""

RUN = """
    import torch
    from torch import nn
    from log import Log

    @torch.no_grad()
    def judge(net: nn.Module, loader, device{given}):
        {before}
        for x, y in {over}:
            {each}
            out = net(x.to(device))
            log.{note}({out}, y)
        return log.report()
"""

TOLD = ["run.py: TLK401 warning"]


def judged(folder: Path, **options: str) -> list[str]:
    """What is found where an object of another file gathers what a validation gives."""
    parts = {
        "made": "[]", "note": "note", "kept": "self.outs.append(out)", "end": "torch.cat(self.outs).cpu().numpy()",
        "also": "0", "given": "", "before": "log = Log()", "over": "loader", "each": "pass", "out": "out", **options,
    }  # fmt: skip
    return Project(folder, {"log.py": LOG.format(**parts), "run.py": RUN.format(**parts)}).found()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"note": "__call__"},
        {"out": "out.softmax(1)"},
        {"end": "torch.cat(self.outs).to('cpu').numpy()"},
        {"end": "torch.cat([out.cpu() for out in self.outs]).numpy()"},
        {"made": "{'all': []}", "kept": "self.outs['all'].append(out)", "end": "torch.cat(self.outs['all']).cpu()"},
        {"given": ", log: Log", "before": "log.begin()"},
        {"before": "log = Log()\n        net.eval()", "over": "enumerate(loader)", "each": "x, y = y"},
    ],
)
def test_outputs_that_an_object_of_another_file_moves_to_the_host_at_the_end_are_told(
    tmp_path: Path, options: dict[str, str]
) -> None:
    assert judged(tmp_path, **options) == TOLD


@pytest.mark.parametrize(
    "options",
    [
        {"out": "out.cpu()"},
        {"out": "out.mean()"},
        {"kept": "self.outs.append(out.cpu())"},
        {"kept": "self.outs.append(out.clone())"},
        {"kept": "self.outs = [out]"},
        {"kept": "self.outs.clear()\n            self.outs.append(out)"},
        {"made": "deque(maxlen=4)"},
        {"also": "torch.cat(self.outs).max()"},
        {"also": "self.outs"},
        {"end": "torch.cat(self.outs).numpy()"},
        {"end": "torch.cat(self.outs)"},
        {"before": "pass", "each": "log = Log()"},
        {"before": "log = Log()\n        print(log.outs)"},
        {"over": "[next(iter(loader)), next(iter(loader))]"},
    ],
)
def test_those_that_are_few_or_moved_at_once_or_needed_on_the_device_are_not(
    tmp_path: Path, options: dict[str, str]
) -> None:
    assert judged(tmp_path, **options) == []
