"""Objects in lists that other files make: what hands over to all of them what it is given, and where it is called."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

BASE = """
    class Callback:
        trainer = None

        def set_trainer(self, trainer):
            self.trainer = trainer

        def on_batch_end(self, step, logs):
            pass

        def on_epoch_end(self, epoch, logs):
            pass

    class Callbacks:
        def __init__(self, {taken}):
            self.callbacks = {listed}

        def add(self, callback):
            self.callbacks.append(callback)

        def fire(self, event, *args, **options):
            for callback in self.callbacks:
                {fired}

        def batch_end(self, step, logs):
            for callback in self.callbacks:
                callback.on_batch_end(step, logs)

        def epoch_end(self, epoch, logs):
            for callback in self.callbacks:
                callback.on_epoch_end(epoch, logs)
"""

HISTORY = """
    from collections import defaultdict, deque
    from base import Callback

    class History(Callback):
        def __init__(self):
            self.rows = {made}

        def on_batch_end(self, step, logs):
            for name, value in logs.items():
                {kept}

        def on_epoch_end(self, epoch, logs):
            {at_end}

    class Printer(Callback):
        def __init__(self, every=10):
            self.every = every

        def on_batch_end(self, step, logs):
            if step % self.every == 0:
                print(step, {{name: float(value) for name, value in logs.items()}})
"""

TRAINER = """
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, net: nn.Module, callbacks):
            self.net, self.callbacks = net, callbacks
            self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def fit(self, loader, epochs):
            step = 0
            for epoch in range(epochs):
                for x, y in loader:
                    out = self.net(x)
                    loss = nn.functional.mse_loss(out, y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                    step += 1
                    logs = {logs}
                    {each}
                self.callbacks.epoch_end(epoch, dict(loss=loss.item()))
"""

RUN = """
    import torch
    from torch import nn
    from base import Callbacks
    from history import History, Printer
    from trainer import Trainer

    def main(loader, epochs):
        {made}
        Trainer(nn.Linear(8, 1), callbacks).fit(loader, epochs)
"""

BATCH_END = "self.callbacks.batch_end(step, logs)"
LEAK = ["trainer.py: TLK105 warning"]


@pytest.mark.parametrize(
    ("listed", "made"),
    [
        ("list(callbacks)", "callbacks = Callbacks([History()])"),
        ("list(callbacks)", "callbacks = Callbacks([History(), Printer()])"),
        ("list(callbacks)", "callbacks = Callbacks(callbacks=(Printer(), History()))"),
        ("callbacks", "items = [History(), Printer(5)]; callbacks = Callbacks(items)"),
        ("[]", "callbacks = Callbacks(); callbacks.add(History())"),
        ("[]", "callbacks = Callbacks(); callbacks.add(Printer()); callbacks.add(History())"),
        ("[]", "callbacks = Callbacks(); callbacks.add(History()); callbacks.add(Printer())"),
        ("list(callbacks)", "callbacks = Callbacks([Printer()]); callbacks.add(History())"),
    ],
)
def test_who_hands_over_to_all_in_a_list_hands_over_to_each(tmp_path: Path, listed: str, made: str) -> None:
    assert _found(tmp_path, listed=listed, made=made) == LEAK


@pytest.mark.parametrize("listed", ["callbacks", "list(callbacks)"])
@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("callbacks = Callbacks(History())", LEAK),
        ("callbacks = Callbacks(Printer(), History())", LEAK),
        ("history = History(); callbacks = Callbacks(history, Printer(5))", LEAK),
        ("callbacks = Callbacks(Printer(), Printer(5))", []),
        ("callbacks = Callbacks(build(History))", []),
        ("callbacks = Callbacks()", []),
    ],
)
def test_objects_that_a_starred_parameter_takes_are_a_list_of_them(
    tmp_path: Path, listed: str, made: str, found: list[str]
) -> None:
    assert _found(tmp_path, taken="*callbacks", listed=listed, made=made) == found


@pytest.mark.parametrize(
    ("fired", "each", "found"),
    [
        ('getattr(callback, "on_" + event)(*args)', 'self.callbacks.fire("batch_end", step, logs)', LEAK),
        ('getattr(callback, f"on_{event}")(*args)', 'self.callbacks.fire("batch_end", step, logs)', LEAK),
        ("getattr(callback, event)(*args)", 'self.callbacks.fire("on_batch_end", step, logs)', LEAK),
        (
            "getattr(callback, event)(*args, **options)",
            'self.callbacks.fire("on_batch_end", step=step, logs=logs)',
            LEAK,
        ),
        ('getattr(callback, "on_" + event)(*args)', 'self.callbacks.fire("epoch_end", step, logs)', []),
        ('getattr(callback, "before_" + event)(*args)', 'self.callbacks.fire("batch_end", step, logs)', []),
        ('getattr(callback, "on_" + event)(*args)', "self.callbacks.fire(self.event, step, logs)", []),
    ],
)
def test_the_event_that_is_said_runs_its_methods(tmp_path: Path, fired: str, each: str, found: list[str]) -> None:
    assert _found(tmp_path, fired=fired, each=each) == found


@pytest.mark.parametrize(
    "parts",
    [
        {"logs": "dict(loss=loss.item())"},
        {"logs": "dict(loss=loss.detach())"},
        {"kept": "self.rows[name].append(float(value))"},
        {"kept": "self.rows[name].append(value.detach().cpu())"},
        {"kept": "self.rows[name] = value", "history": "{}"},
        {"kept": "self.rows.clear(); self.rows[name].append(value)"},
        {"made": "callbacks = Callbacks([Printer()])"},
        {"made": "callbacks = Callbacks(build(History))"},
        {"made": "import others; callbacks = others.Callbacks([History()])"},
        {"each": "if step < 0: Callbacks([History()]).batch_end(step, logs)"},
        {"each": "callbacks = type(self.callbacks)(); callbacks.batch_end(step, logs)"},
        {"each": "with torch.no_grad(): pass"},
        {"each": "self.callbacks.batch_end(step, len(logs))"},
        {"each": "self.callbacks.batch_end(logs, step)"},
    ],
)
def test_what_is_detached_or_bounded_or_handed_to_others_is_not_told(tmp_path: Path, parts: dict[str, str]) -> None:
    assert _found(tmp_path, **parts) == []


@pytest.mark.parametrize(
    "kept",
    [
        "self.rows[name] = self.rows.get(name, 0.0) + value",
        "self.rows[name] = value + self.rows[name] if name in self.rows else value",
        "self.rows[name] += value",
        "self.rows.setdefault(name, []).append(value)",
    ],
)
def test_a_sum_under_a_name_is_not_replaced(tmp_path: Path, kept: str) -> None:
    assert _found(tmp_path, history="{}", kept=kept) == LEAK


ENGINE = """
    import torch
    from torch import nn

    class Engine:
        def __init__(self, net: nn.Module):
            self.net, self.meters = net, []
            self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def attach(self, meter):
            self.meters.append(meter)

        def run(self, loader):
            for x, y in loader:
                loss = nn.functional.mse_loss(self.net(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                for meter in self.meters:
                    meter.update({given})
"""

METERS = """
    class Meter:
        def __init__(self):
            self.total, self.n = 0.0, 0

        def update(self, value):
            self.total += value
            self.n += 1

    class Scale:
        def update(self, value):
            print(float(value))
"""

MAIN = """
    from torch import nn
    from engine import Engine
    from meters import Meter, Scale

    def main(loader):
        engine = Engine(nn.Linear(8, 1))
        {attached}
        engine.run(loader)
"""


@pytest.mark.parametrize(
    ("attached", "given", "leaks"),
    [
        ("engine.attach(Meter())", "loss", True),
        ("engine.attach(Scale()); engine.attach(Meter())", "loss", True),
        ("engine.attach(Meter()); engine.attach(Scale())", "loss", True),
        ("engine.attach(Scale())", "loss", False),
        ("engine.attach(loader.meter())", "loss", False),
        ("pass", "loss", False),
        ("engine.attach(Meter())", "loss.item()", False),
        ("engine.attach(Meter())", "loss.detach()", False),
    ],
)
def test_what_another_file_attaches_is_what_the_engine_has(
    tmp_path: Path, attached: str, given: str, leaks: bool
) -> None:
    files = {"engine.py": ENGINE.format(given=given), "meters.py": METERS, "main.py": MAIN.format(attached=attached)}
    assert Project(tmp_path, files).found() == (["engine.py: TLK105 warning"] if leaks else [])


def _found(
    folder: Path,
    *,
    taken: str = "callbacks=()",
    listed: str = "list(callbacks)",
    fired: str = "callback.on_batch_end(*args)",
    history: str = "defaultdict(list)",
    kept: str = "self.rows[name].append(value)",
    at_end: str = "pass",
    logs: str = "dict(loss=loss, out=out.mean())",
    each: str = BATCH_END,
    made: str = "callbacks = Callbacks([History(), Printer()])",
) -> list[str]:
    files = {
        "base.py": BASE.format(taken=taken, listed=listed, fired=fired),
        "history.py": HISTORY.format(made=history, kept=kept, at_end=at_end),
        "trainer.py": TRAINER.format(logs=logs, each=each),
        "run.py": RUN.format(made=made),
    }
    return Project(folder, files).found()
