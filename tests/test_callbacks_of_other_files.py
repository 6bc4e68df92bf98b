"""What a trainer tells callbacks of another file, in whatever way, and what these keep of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

CALLBACKS = """
    from dataclasses import dataclass

    @dataclass
    class State:
        step: int = 0
        total: float = 0.0

    class Callback:
        def on_batch_end(self, {given}):
            pass

    class History(Callback):
        def __init__(self):
            self.rows = []
            self.total = 0.0

        def on_batch_end(self, {given}):
            {keep}
"""

TRAINER = """
    import torch
    import torch.nn.functional as F
    from callbacks import State

    class Trainer:
        def __init__(self, model, optimizer, callbacks):
            self.model, self.optimizer, self.callbacks = model, optimizer, callbacks
            self.state = State()

        def emit(self, {passed}):
            for callback in self.callbacks:
                {tell}

        def fit(self, loader, epochs):
            for epoch in range(epochs):
                for step, (x, y) in enumerate(loader):
                    loss = F.cross_entropy(self.model(x), y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                    {call}
"""

MAIN = """
    import torch
    from torch import nn
    from callbacks import History
    from trainer import Trainer

    def main(loader):
        model = nn.Linear(4, 3)
        history = History()
        trainer = Trainer(model, torch.optim.Adam(model.parameters()), [history])
        trainer.fit(loader, 10)
"""

KEPT = [
    ("loss", "loss", "self.rows.append(loss)"),
    ("loss", "loss", "self.total += loss"),
    ("trainer, loss", "self, loss", "self.rows.append(loss)"),
    ("state, loss", "self.state, loss", "state.total = state.total + loss"),
    ("state, loss", "self.state, loss", "state.total += loss * 2"),
    ("step, logs", 'step, {"loss": loss, "lr": 0.1}', 'self.rows.append(logs["loss"])'),
    ("step, logs", 'step, {"loss": loss}', 'self.rows.append((step, logs["loss"]))'),
    ("step, logs", 'step, {"loss": loss}', 'self.total += logs["loss"]'),
    ("step, **logs", "step, loss=loss", 'self.rows.append(logs["loss"])'),
]
"""What a callback is given, what it is told, and what it keeps of that."""

NUMBERS = [
    ("loss", "loss.item()", "self.rows.append(loss)"),
    ("loss", "loss", "self.rows.append(float(loss))"),
    ("state, loss", "self.state, loss", "state.total = state.total + loss.item()"),
    ("state, loss", "self.state, loss", "state.total = loss"),
    ("step, logs", 'step, {"loss": loss, "lr": 0.1}', 'self.rows.append(logs["lr"])'),
    ("step, logs", 'step, {"loss": loss}', 'self.rows.append(logs["loss"].detach())'),
    ("step, logs", 'step, {"loss": loss.item()}', 'self.rows.append((step, logs["loss"]))'),
    ("step, logs", 'step, {"loss": loss}', 'self.total += logs["loss"].item()'),
]
"""The same, where no graph is kept."""

WAYS = {
    "by itself": ("*args", "pass", "for callback in self.callbacks: callback.on_batch_end({told})"),
    "by a helper": ("*args, **kwargs", "callback.on_batch_end(*args, **kwargs)", "self.emit({told})"),
    "by name": (
        "event, *args, **kwargs",
        "getattr(callback, event)(*args, **kwargs)",
        'self.emit("on_batch_end", {told})',
    ),
}


def found(folder: Path, way: str, given: str, told: str, keep: str) -> list[str]:
    """What is found in the three files."""
    passed, tell, call = WAYS[way]
    trainer = TRAINER.format(passed=passed, tell=tell, call=call.format(told=told))
    files = {"callbacks.py": CALLBACKS.format(given=given, keep=keep), "trainer.py": trainer, "main.py": MAIN}
    return Project(folder, files).found()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("given", "told", "keep"), KEPT)
def test_a_graph_that_a_callback_keeps_is_told_where_it_is_handed_over(
    tmp_path: Path, way: str, given: str, told: str, keep: str
) -> None:
    assert found(tmp_path, way, given, told, keep) == ["trainer.py: TLK105 warning"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("given", "told", "keep"), NUMBERS)
def test_numbers_that_it_keeps_are_not(tmp_path: Path, way: str, given: str, told: str, keep: str) -> None:
    assert found(tmp_path, way, given, told, keep) == []


ALL = """
    class All(Callback):
        def __init__(self, callbacks):
            self.callbacks = {listed}

        def on_batch_end(self, step, logs):
            for callback in self.callbacks:
                callback.on_batch_end(step, logs)
"""

TELLING_ALL = """
    import torch
    import torch.nn.functional as F
    from callbacks import All

    class Trainer:
        def __init__(self, model, optimizer, callbacks=()):
            self.model, self.optimizer, self.callbacks = model, optimizer, All(callbacks)

        def step(self, x, y):
            loss = F.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return {"loss": {loss}, "size": len(y)}

        def fit(self, loader, epochs):
            for epoch in range(epochs):
                for step, (x, y) in enumerate(loader):
                    logs = self.step(x, y)
                    self.callbacks.on_batch_end(step, logs)
"""


@pytest.mark.parametrize("listed", ["list(callbacks)", "callbacks"])
@pytest.mark.parametrize(
    ("keep", "loss", "told"),
    [
        ('self.rows.append(logs["loss"])', "loss", True),
        ('self.total += logs["loss"]', "loss", True),
        ('self.rows.append((step, logs["loss"] / 2))', "loss", True),
        ('self.rows.append(logs["loss"])', "loss.item()", False),
        ('self.rows.append(logs["loss"].item())', "loss", False),
        ('self.rows.append(logs["size"])', "loss", False),
        ("pass", "loss", False),
    ],
)
def test_a_callback_that_tells_others_derives_as_they_do(
    tmp_path: Path, listed: str, keep: str, loss: str, told: bool
) -> None:
    callbacks = (CALLBACKS + ALL).format(given="step, logs", keep=keep, listed=listed)
    trainer = TELLING_ALL.replace("{loss}", loss)
    project = Project(tmp_path, {"callbacks.py": callbacks, "trainer.py": trainer, "main.py": MAIN})
    assert project.found() == ["trainer.py: TLK105 warning"] * told


ASKING = """
    class Curve:
        def __init__(self):
            self.rows = []

        def after(self, trainer):
            {keep}
"""

ASKED = """
    import torch
    import torch.nn.functional as F

    class Trainer:
        def __init__(self, model, callbacks):
            self.model, self.callbacks, self.loss = model, callbacks, None
            self.optimizer = torch.optim.Adam(model.parameters())

        def latest(self):
            return {given}

        def fit(self, loader):
            for x, y in loader:
                self.loss = F.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                self.loss.backward()
                self.optimizer.step()
                for callback in self.callbacks:
                    callback.after(self)
"""

CURVE = """
    from torch import nn
    from asked import Trainer
    from asking import Curve

    def main(loader):
        curve = Curve()
        Trainer(nn.Linear(4, 3), [curve]).fit(loader)
        print(curve.rows)
"""


@pytest.mark.parametrize(
    ("keep", "given", "told"),
    [
        ("self.rows.append(trainer.latest())", "self.loss", True),
        ("self.rows.append((len(self.rows), trainer.latest()))", "self.loss * 2", True),
        ("self.rows.append(trainer.latest())", "self.loss.detach()", False),
        ("self.rows.append(trainer.latest())", "self.loss.item()", False),
        ("self.rows.append(trainer.latest().item())", "self.loss", False),
        ("self.rows.append(float(trainer.latest()))", "self.loss", False),
        ("self.rows = [trainer.latest()]", "self.loss", False),
        ("print(trainer.latest())", "self.loss", False),
    ],
)
def test_a_graph_that_a_callback_asks_its_trainer_for(tmp_path: Path, keep: str, given: str, told: bool) -> None:
    files = {"asking.py": ASKING.format(keep=keep), "asked.py": ASKED.format(given=given), "main.py": CURVE}
    assert Project(tmp_path, files).found() == ["asked.py: TLK105 warning"] * told


STEPS = """
    import torch.nn.functional as F

    def step(model, batch):
        x, y = batch
        return {"loss": F.cross_entropy(model(x), y), "size": len(x)}
"""

RUNS = """
    from cleaning import cut

    class Trainer:
        def __init__(self, model, optimizer, step, callbacks):
            self.model, self.optimizer, self.step, self.callbacks = model, optimizer, step, callbacks

        def emit(self, event, *told):
            for callback in self.callbacks:
                getattr(callback, event)(*told)

        def fit(self, loader):
            for batch in loader:
                logs = self.step(self.model, batch)
                self.optimizer.zero_grad()
                logs["loss"].backward()
                self.optimizer.step()
                {after}
                self.emit("on_batch_end", logs)
"""

CALLS = """
    import torch
    from torch import nn
    from callbacks import History
    from steps import step
    from trainer import Trainer

    def main(loader):
        model = nn.Linear(4, 3)
        Trainer(model, torch.optim.Adam(model.parameters()), step, [History()]).fit(loader)
"""


@pytest.mark.parametrize(
    ("keep", "after", "told"),
    [
        ('self.rows.append(logs["loss"])', "pass", True),
        ('self.total += logs["loss"]', "pass", True),
        ('self.rows.append(logs["size"])', "pass", False),
        ('self.rows.append(logs["loss"].item())', "pass", False),
        ('self.rows.append(logs["loss"])', 'logs["loss"] = logs["loss"].item()', False),
        ('self.rows.append(logs["loss"])', 'logs.update(loss=logs["loss"].detach())', False),
        ('self.rows.append(logs["loss"])', "logs = {name: float(one) for name, one in logs.items()}", False),
        ('self.rows.append(logs["loss"])', "cut(logs)", False),
    ],
)
def test_an_item_of_what_a_step_of_a_third_file_gives(tmp_path: Path, keep: str, after: str, told: bool) -> None:
    files = {
        "callbacks.py": CALLBACKS.format(given="logs", keep=keep),
        "steps.py": STEPS,
        "cleaning.py": "def cut(logs):\n    for name in logs:\n        logs[name] = logs[name].detach()\n",
        "trainer.py": RUNS.format(after=after),
        "main.py": CALLS,
    }
    assert Project(tmp_path, files).found() == ["trainer.py: TLK105 warning"] * told
