"""A guard two files away: who calls the function is itself called with gradients off, by whoever knows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

WEATHER = """
    from torch import nn

    class Forecast:
        def __init__(self):
            self.net = nn.Linear(4, 4).eval()

        def roll(self, days):
            return [self.net(day).argmax(1).tolist() for day in days]
"""
WATCHERS = """
    class Watcher:
        def on_rest(self, seen):
            pass

    class RollsForward(Watcher):
        def __init__(self, forecast):
            self.forecast = forecast

        def on_rest(self, seen):
            seen.update(rolled=self.forecast.roll(seen["days"]))
"""
STATION = """
    import torch
    from watchers import Watcher

    class Station:
        def __init__(self, watcher=Watcher()):
            self.watcher = watcher

        def run(self, weeks):
            for week in weeks:
                seen = {{"days": week}}
                {guard}:
                    self.watcher.on_rest(seen)
"""
TOLD = ["weather.py: TLK201 warning"]
GUARDED = STATION.format(guard="with torch.no_grad()")
OPEN = STATION.format(guard="if seen")
DIRECT = "from watchers import RollsForward\n\ndef try_out(seen, forecast):\n    RollsForward(forecast).on_rest(seen)\n"


@pytest.mark.parametrize(
    ("callers", "found"),
    [
        ({"station.py": GUARDED}, []),
        ({"station.py": OPEN}, TOLD),
        ({"station.py": GUARDED, "direct.py": DIRECT}, TOLD),
    ],
    ids=["guarded", "open", "both"],
)
def test_a_callback_calls_with_gradients_off_what_it_is_so_called_for(
    tmp_path: Path, callers: dict[str, str], found: list[str]
) -> None:
    files = {"weather.py": WEATHER, "watchers.py": WATCHERS, **callers}
    assert Project(tmp_path, files).found() == found


def test_who_does_not_know_the_callbacks_guards_others_of_the_name(tmp_path: Path) -> None:
    elsewhere = GUARDED.replace("from watchers", "from strangers")
    files = {"weather.py": WEATHER, "watchers.py": WATCHERS, "station.py": elsewhere}
    assert Project(tmp_path, files).found() == TOLD


def test_a_file_that_calls_its_own_callback_openly_relays_no_guard(tmp_path: Path) -> None:
    own = WATCHERS + "\n    def rehearse(seen, forecast):\n        RollsForward(forecast).on_rest(seen)\n"
    files = {"weather.py": WEATHER, "watchers.py": own, "station.py": GUARDED}
    assert Project(tmp_path, files).found() == TOLD


TASK = """
    from torch import nn

    class Task(nn.Module):
        def __init__(self, encoder):
            super().__init__()
            self.encoder = encoder

        def decode(self, x):
            raise NotImplementedError
"""
HEADS = """
    from torch import nn
    from task import Task

    class Intent(Task):
        def decode(self, x):
            return self.encoder(x).argmax(-1)

    def make():
        return Intent(nn.Linear(4, 4))
"""
ENGINE = """
    from task import Task

    def wrong(task: Task, loader):
        task.eval()
        return [task.decode(x).tolist() for x in loader]
"""
RUN = """
    import torch
    from engine import wrong
    from heads import make

    def main(loader):
        task = make()
        with torch.{guard}:
            return wrong(task, loader)
"""


@pytest.mark.parametrize(
    ("guard", "found"), [("no_grad()", []), ("autocast('cuda')", ["heads.py: TLK201 warning"])], ids=["guarded", "open"]
)
def test_who_calls_it_may_know_its_base_only(tmp_path: Path, guard: str, found: list[str]) -> None:
    files = {"task.py": TASK, "heads.py": HEADS, "engine.py": ENGINE, "run.py": RUN.format(guard=guard)}
    assert Project(tmp_path, files).found("heads.py", "task.py", "engine.py", "run.py") == found
