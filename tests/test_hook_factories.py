"""Hooks that a factory of another file makes, and the lists of a dictionary that they fill."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import FIT, Project

FACTORY = """
    import torch

    def recorder(rows, name):
        def hook(part, args, out):
            {keep}
        return hook
"""

FILLS = "rows.setdefault(name, []).append(out)"


@pytest.mark.parametrize(
    ("keep", "rows", "each", "told"),
    [
        (FILLS, "{}", "pass", True),
        (FILLS.replace("(out)", "(out[1])"), "{}", "pass", True),
        (FILLS.replace("(out)", "((name, out))"), "{}", "pass", True),
        ("rows[name].append(out)", '{"a": []}', "pass", True),
        ("rows[name].append(out)", "defaultdict(list)", "pass", True),
        ("rows.append(out)", "[]", "pass", True),
        (FILLS.replace("(out)", "(out.detach())"), "{}", "pass", False),
        (FILLS.replace("(out)", "(out.shape)"), "{}", "pass", False),
        ("rows[name] = out", "{}", "pass", False),
        (FILLS, "{}", "rows.clear()", False),
        (FILLS, "{}", 'rows.pop("a")', False),
        (FILLS, "{}", 'rows["a"] = []', False),
        (FILLS, "{}", "for name in rows: rows[name] = []", False),
        (FILLS, "{}", 'if "a" not in rows: rows["a"] = []', True),
    ],
)
def test_lists_of_a_dictionary(tmp_path: Path, keep: str, rows: str, each: str, told: bool) -> None:
    before = f"rows = {rows}; net.register_forward_hook(recorder(rows, 'a'))"
    imports = "from collections import defaultdict; from recorders import recorder"
    fit = FIT.format(imports=imports, before=before, each=each, after="return None")
    found = Project(tmp_path, {"recorders.py": FACTORY.format(keep=keep), "fit.py": fit}).found()
    assert [one for one in found if "TLK106" in one] == ["fit.py: TLK106 warning"] * told


RECORDER = """
    from collections import defaultdict

    class Recorder:
        def __init__(self):
            self.rows, self.handles = defaultdict(list), []

        def watch(self, net, chosen):
            for name, part in net.named_modules():
                if name in chosen:
                    self.handles.append(part.register_forward_hook(filling(self.rows[name])))
            return self

        def method(self):
            {method}

    def filling(rows):
        def hook(part, args, out):
            rows.append({kept})
        return hook
"""

TRAINER = """
    import torch
    from torch import nn
    from recorder import Recorder

    class Trainer:
        def __init__(self, net, rate):
            self.net, self.optimizer = net, torch.optim.SGD(net.parameters(), lr=rate)
            self.recorder = Recorder().watch(net, ["0", "2"])

        def step(self, x, y):
            loss = nn.functional.cross_entropy(self.net(x), y)
            {each}
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss.item()

        def run(self, loader):
            for x, y in loader:
                self.step(x, y)
            print({{name: len(rows) for name, rows in self.recorder.rows.items()}})
"""

CLEARING = "for rows in self.rows.values(): rows.clear()"


@pytest.mark.parametrize(
    ("kept", "method", "each", "told"),
    [
        ("out", "pass", "pass", True),
        ("out", CLEARING, "pass", True),  # nobody asks for that
        ("out", "pass", 'print(self.recorder.rows["0"][-1].norm().item())', True),
        # What torch computes of it is not in torch.
        ("out", "pass", "print(torch.stack([rows[-1].std() for rows in self.recorder.rows.values()]).mean(0))", True),
        ("out.detach()", "pass", "pass", False),
        ("out", CLEARING, "self.recorder.method()", False),
        ("out", "self.rows.clear()", "self.recorder.method()", False),
        ("out", "for name in self.rows: self.rows[name].clear()", "self.recorder.method()", False),
        ("out", "pass", "self.recorder.rows.clear()", False),
        ("out", 'return self.rows["0"][-1]', "loss = loss + self.recorder.method().pow(2).mean()", False),
        ("out", "pass", 'loss = loss + self.recorder.rows["0"][-1].pow(2).mean()', False),
        ("out", "pass", "loss += sum(rows[-1].abs().mean() for rows in self.recorder.rows.values())", False),
        ("out", "pass", "loss = loss + torch.stack([rows[-1].std() for rows in self.recorder.rows.values()]).mean(0)",
         False),
        ("out", "pass", "terms = []; terms.append(self.recorder.rows['0'][-1].mean()); loss = loss + terms[0]", False),
    ],
)  # fmt: skip
def test_a_list_of_a_dictionary_that_a_factory_is_given(
    tmp_path: Path, kept: str, method: str, each: str, told: bool
) -> None:
    files = {"recorder.py": RECORDER.format(kept=kept, method=method), "trainer.py": TRAINER.format(each=each)}
    assert Project(tmp_path, files).found() == ["recorder.py: TLK106 warning"] * told
