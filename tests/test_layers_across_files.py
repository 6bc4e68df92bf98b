"""Layers, hooks and meters of other files: what they keep of what they compute."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from torchlint import check_paths
from torchlint.config import Settings

COLLECTOR = """
    from collections import deque

    class Collector:
        def __init__(self):
            self.rows, self.latest, self.window, self.size = [], {}, deque(maxlen=4), 0.0

        def __call__(self, layer, args, out):
            self.rows.append(out)

        def keep_norm(self, layer, args, out):
            self.rows.append(out.norm())

        def keep_detached(self, layer, args, out):
            self.rows.append(out.detach())

        def keep_latest(self, layer, args, out):
            self.latest[layer] = out

        def keep_window(self, layer, args, out):
            self.window.append(out)

        def sum_up(self, layer, args, out):
            self.size += out.abs().mean()

        def mean(self):
            return sum(row.mean() for row in self.rows)

        def forget(self):
            self.rows, self.size = [], 0.0

        def for_layer(self, name):
            def hook(layer, args, out):
                self.rows.append(out)

            return hook

    def note(rows, layer, args, out):
        rows.append(out)

    def noting(rows, form=None):
        def hook(layer, args, out):
            add(form(out) if form else out)

        def add(row):
            rows.append(row)

        return hook

    def noting_by_name(table, name):
        return lambda layer, args, out: table.setdefault(name, []).append(out)

    def noting_detached(rows):
        def hook(layer, args, out):
            rows.append(out.detach())

        return hook

    def noting_latest(rows):
        def hook(layer, args, out):
            rows[0] = out

        return hook

    def noting_anew(rows):
        def hook(layer, args, out):
            rows = []
            rows.append(out)

        return hook
"""


@pytest.mark.parametrize(
    ("hook", "more", "leaks"),
    [
        ("collector", "pass", True),
        ("collector.keep_norm", "pass", True),
        ("collector.sum_up", "pass", True),
        ("partial(note, rows)", "pass", True),
        ("noting(rows)", "pass", True),
        ("noting(rows=rows)", "pass", True),
        ("noting_by_name({}, 'relu')", "pass", True),
        ("collector.for_layer('relu')", "pass", True),
        ("noting_detached(rows)", "pass", False),
        ("noting_latest(rows)", "pass", False),
        ("noting_anew(rows)", "pass", False),
        ("noting(rows)", "rows.clear()", False),
        ("noting(rows)", "loss = loss + rows[-1].mean()", False),
        ("collector.for_layer('relu')", "loss = loss + collector.mean()", False),
        ("collector.keep_detached", "pass", False),
        ("collector.keep_latest", "pass", False),
        ("collector.keep_window", "pass", False),
        ("collector", "collector.forget()", False),
        ("partial(note, rows)", "rows.clear()", False),
        ("collector", "loss = loss + collector.rows[-1].mean()", False),
        ("collector", "loss = loss + collector.mean()", False),
        ("partial(note, rows)", "loss = loss + rows[-1].mean()", False),
    ],
)
def test_a_hook_of_another_file_keeps_what_it_is_given(tmp_path: Path, hook: str, more: str, leaks: bool) -> None:
    run = f"""
        from functools import partial
        import torch
        from torch import nn
        from collector import (
            Collector, note, noting, noting_anew, noting_by_name, noting_detached, noting_latest
        )

        def run(loader):
            net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
            optimizer = torch.optim.Adam(net.parameters())
            rows, collector = [], Collector()
            net[1].register_forward_hook({hook})
            for x, y in loader:
                loss = (net(x) - y).pow(2).mean()
                {more}
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return [row.mean().item() for row in (rows or collector.rows)]
    """
    project = Project(tmp_path, {"collector.py": COLLECTOR, "run.py": run})
    assert project.found() == (["run.py: TLK106 warning"] if leaks else [])


def test_a_hook_of_another_file_keeps_no_graph_where_gradients_are_off(tmp_path: Path) -> None:
    run = """
        import torch
        from torch import nn
        from collector import Collector

        def run(loader, net: nn.Module):
            collector = Collector()
            net.head.register_forward_hook(collector)
            with torch.no_grad():
                for x, _ in loader:
                    net(x)
            return torch.stack(collector.rows)
    """
    found = Project(tmp_path, {"collector.py": COLLECTOR, "run.py": run}).found()
    assert [one for one in found if "TLK106" in one] == []


@pytest.mark.parametrize(
    ("update", "given", "code"),
    [
        ("self.level = 0.9 * self.level + 0.1 * loss", "loss", "TLK103"),
        ("self.level = 0.9 * self.level + 0.1 * loss.detach()", "loss", ""),
        ("self.level = 0.9 * self.level.detach() + 0.1 * loss", "loss", ""),
        ("self.level = 0.9 * self.level + 0.1 * loss", "loss / self.level", ""),
        ("self.levels.append(loss)", "loss", "TLK105"),
        ("self.level = loss", "loss", ""),
    ],
)
def test_what_a_criterion_of_another_file_keeps_is_not_what_it_gives(
    tmp_path: Path, update: str, given: str, code: str
) -> None:
    criterion = f"""
        import torch
        from torch import nn

        class Levelled(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("level", torch.ones(1))
                self.levels = []

            def forward(self, out, y):
                loss = (out - y).pow(2).mean()
                {update}
                return {given}
    """
    run = """
        import torch
        from criterion import Levelled

        class Fitting:
            def __init__(self, net: torch.nn.Module, optimizer):
                self.net, self.optimizer, self.criterion = net, optimizer, Levelled()

            def run(self, loader):
                for x, y in loader:
                    loss = self.criterion(self.net(x), y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
    """
    project = Project(tmp_path, {"criterion.py": criterion, "run.py": run})
    assert project.found() == ([f"run.py: {code} warning"] if code else [])
    # What the criterion is given is what is trained: a fix that detaches it there would end the training.
    alone = check_paths([tmp_path / "run.py"], settings=Settings(notes=True))
    assert [one.code for one in alone] == ([code] if code else [])
    assert all(one.repair is None for one in alone)


def test_what_a_layer_in_a_row_keeps_is_told_where_it_is_written(tmp_path: Path) -> None:
    layer = """
        import torch
        from torch import nn

        class Levelled(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("level", torch.ones(1))

            def forward(self, x):
                if self.training:
                    self.level = 0.9 * self.level + 0.1 * x.mean()
                return x / self.level.detach()
    """
    run = """
        import torch
        from torch import nn
        from layer import Levelled

        def run(loader):
            net = nn.Sequential(nn.Linear(8, 8), Levelled(), nn.Linear(8, 4))
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                loss = nn.functional.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """
    assert Project(tmp_path, {"layer.py": layer, "run.py": run}).found() == ["layer.py: TLK103 note"]


STACKED = """
    from torch import nn

    class Stacked(nn.Module):
        def __init__(self, most):
            super().__init__()
            self.most, self.stack = most, {made}

        def begin(self):
            {begin}
"""

DEEPER = """
    from torch import nn
    from stacked import Stacked

    class Deeper(Stacked):
        def forward(self, x):
            {body}
            for layer in self.stack:
                x = layer(x)
            return x
"""

ADDING = "self.stack.append(nn.Linear(3, 3))"


@pytest.mark.parametrize(
    ("made", "begin", "body", "grows"),
    [
        ("nn.ModuleList()", "pass", ADDING, True),
        ("nn.Sequential(nn.Linear(3, 3))", "pass", ADDING, True),
        ("nn.ModuleList()", "pass", "self.stack += [nn.Linear(3, 3)]", True),
        ("nn.ModuleDict()", "pass", "self.stack[str(x.shape)] = nn.Linear(3, 3)", True),
        ("[]", "pass", ADDING, False),
        ("nn.ModuleList()", "pass", f"if len(self.stack) < self.most: {ADDING}", False),
        ("nn.ModuleList()", "pass", f"if not self.stack: {ADDING}", False),
        ("nn.ModuleList()", "self.stack = nn.ModuleList()", f"self.begin(); {ADDING}", False),
        ("nn.ModuleList()", "del self.stack[:]", f"self.begin(); {ADDING}", False),
        ("nn.ModuleDict()", "pass", "self.stack['last'] = nn.Linear(3, 3)", False),
    ],
)
def test_a_list_of_layers_that_a_base_of_another_file_has(
    tmp_path: Path, made: str, begin: str, body: str, grows: bool
) -> None:
    files = {"stacked.py": STACKED.format(made=made, begin=begin), "deeper.py": DEEPER.format(body=body)}
    project = Project(tmp_path, files)
    for names in ((), ("deeper.py",)):
        found = project.found(*names)
        assert ("deeper.py: TLK304 error" in found) is grows
        assert not (grows and len(found) > 1)  # it is one cause


CONTEXT_HELPER = """
    def remember(ctx, result, slope):
        ctx.slope = slope
        {kept}
"""

OWN_BACKWARD = """
    import torch
    from torch.autograd import Function
    from contexts import remember

    class Squash(Function):
        @staticmethod
        def forward(ctx, x, slope):
            y = torch.tanh(slope * x)
            remember(ctx, y, slope)
            return y

        @staticmethod
        def backward(ctx, grad):
            {read}
            return grad * ctx.slope * (1 - y * y), None
"""


@pytest.mark.parametrize(
    ("kept", "read", "expected"),
    [
        ("ctx.result = result", "y = ctx.result", ["squash.py: TLK109 warning"]),
        ("ctx.save_for_backward(result)", "y, = ctx.saved_tensors", []),
        ("ctx.width = result.shape[-1]", "y = grad / ctx.width", []),
    ],
)
def test_a_function_of_another_file_puts_an_output_on_the_context(
    tmp_path: Path, kept: str, read: str, expected: list[str]
) -> None:
    files = {"contexts.py": CONTEXT_HELPER.format(kept=kept), "squash.py": OWN_BACKWARD.format(read=read)}
    assert Project(tmp_path, files).found("squash.py") == expected


RECORD_OF_A_CALL = """
    from dataclasses import dataclass
    import torch

    @dataclass
    class Trace:
        result: torch.Tensor
        slope: float

    class Notes:
        def __init__(self, result, slope):
            self.result, self.slope = {held}, slope

    def trace(result, slope):
        return {made}
"""


@pytest.mark.parametrize(
    ("written", "held", "made", "expected"),
    [
        ("trace(y, slope)", "result", "Trace(result=result, slope=float(slope))", ["squash.py: TLK109 warning"]),
        ("Trace(y, slope)", "result", "None", ["squash.py: TLK109 warning"]),
        ("Notes(y, slope)", "result", "None", ["squash.py: TLK109 warning"]),
        ("trace(y, slope)", "result", "Trace(result.detach().clone(), slope)", []),
        ("trace(x, slope)", "result", "Trace(result, slope)", []),
        ("Notes(y, slope)", "result.detach().clone()", "None", []),
        ("Notes(y, slope)", "result.shape", "None", []),
    ],
)
def test_a_record_of_another_file_holds_an_output_on_the_context(
    tmp_path: Path, written: str, held: str, made: str, expected: list[str]
) -> None:
    squash = OWN_BACKWARD.replace("from contexts import remember", "from traces import Notes, Trace, trace")
    squash = squash.replace("remember(ctx, y, slope)", f"ctx.kept = {written}").replace("ctx.slope", "ctx.kept.slope")
    files = {
        "traces.py": RECORD_OF_A_CALL.format(held=held, made=made),
        "squash.py": squash.format(read="y = ctx.kept.result"),
    }
    assert Project(tmp_path, files).found("squash.py") == expected
