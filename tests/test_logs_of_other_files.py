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
        {"also": "torch.cat([out.argmax(1).flatten().cpu() for out in self.outs])"},
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
        {"also": "torch.cat([out.argmax(1) for out in self.outs])"},
        {"also": "torch.cat([(out @ out.T).cpu() for out in self.outs])"},
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


PASS = """
    import torch
    from torch import nn
    {import_log}

    @torch.no_grad()
    def run(net, x):
        return net(x).softmax(1)

    def answers(net: nn.Module, loader, device):
        net.eval()
        for x, names in loader:
            {body}

    def pieces(net: nn.Module, x):
        with torch.no_grad():
            out = net(x)
        for row in out:
            yield "row", row
"""

CALLER = """
    {imports}
    import torch
    from torch import nn
    from log import Log

    def judge(net: nn.Module, loader, device):
        log = Log()
        for names, out in {drawn}:
            log.note({given}, names)
        return log.report()
"""

EACH = "yield names, run(net, x.to(device))"


@pytest.mark.parametrize("is_one_file", [True, False])
@pytest.mark.parametrize(
    ("body", "drawn", "given", "is_told"),
    [
        (EACH, "answers(net, loader, device)", "out", True),
        (EACH, "answers(net, loader, device)", "out[:, 1:]", True),
        ("out = run(net, x.to(device)); yield names, out", "answers(net, loader, device)", "out", True),
        (EACH, "answers(net, loader, device)", "out.cpu()", False),
        (EACH, "answers(net, loader, device)", "names", False),
        (EACH, "answers(net, loader, device)", "out.mean()", False),
        ("yield names, run(net, x.to(device)).cpu()", "answers(net, loader, device)", "out", False),
        ("yield names, x.to(device)", "answers(net, loader, device)", "out", False),
        ("yield run(net, x.to(device)).cpu(), x.to(device)", "answers(net, loader, device)", "out", False),
        (EACH, "pieces(net, next(iter(loader)))", "out", False),
    ],
)
def test_outputs_that_a_generator_yields_in_a_pass(
    tmp_path: Path, body: str, drawn: str, given: str, *, is_told: bool, is_one_file: bool
) -> None:
    parts = {
        "made": "[]", "note": "note", "kept": "self.outs.append(out)", "end": "torch.cat(self.outs).cpu().numpy()",
        "also": "0",
    }  # fmt: skip
    imports = "import json" if is_one_file else "from passing import answers, pieces"
    caller = CALLER.format(imports=imports, drawn=drawn, given=given)
    passing = PASS.format(body=body, import_log="from log import Log" if is_one_file else "import json")
    files = {"log.py": LOG.format(**parts), "passing.py": passing, "run.py": caller}
    if is_one_file:
        files = {"log.py": files["log.py"], "run.py": passing + caller}
    assert Project(tmp_path, files).found() == TOLD * is_told


def test_a_generator_may_draw_from_itself(tmp_path: Path) -> None:
    walk = """
        import torch

        def walk(net, node):
            for child in node.children:
                for out in walk(net, child):
                    yield net(out)

        def gather(net, node):
            with torch.no_grad():
                return torch.cat([out for out in walk(net, node)]).cpu()
    """
    assert Project(tmp_path, {"walk.py": walk}).found() in ([], ["walk.py: TLK401 note"], ["walk.py: TLK401 warning"])
