"""Whether a graph is kept for another backward, where a setting of another file decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

SETTINGS = """
    from dataclasses import dataclass

    RATE = 0.1
    KEEP = {keep}

    @dataclass
    class Options:
        rate: float = 0.1
        keep: bool = {field}

    OPTIONS = Options()
"""

HELP = """
    def differentiate(cost, keep=False):
        cost.backward(retain_graph=keep)
"""

TRAIN = """
    import settings
    from help import differentiate
    from settings import KEEP, OPTIONS, Options
    from torch import nn, optim

    class Fitting:
        def __init__(self, net, options):
            self.net, self.keep, self.options = net, settings.KEEP, Options()
            self.optimizer = optim.SGD(net.parameters(), lr=options.rate)

        def fit(self, pairs):
            for picture, wanted in pairs:
                loss = nn.functional.mse_loss(self.net(picture), wanted)
                self.optimizer.zero_grad()
                {backward}
                self.optimizer.step()
                {rest}
"""

KEPT = "loss.backward(retain_graph={})"


@pytest.mark.parametrize(
    ("changed", "is_vain"),
    [
        ({}, True),
        ({"backward": KEPT.format("KEEP")}, True),
        ({"backward": KEPT.format("self.keep")}, True),
        ({"backward": KEPT.format("self.options.keep")}, True),
        ({"backward": KEPT.format("OPTIONS.keep")}, True),
        ({"backward": "differentiate(loss, settings.KEEP)"}, True),
        ({"keep": "False"}, False),
        ({"keep": "bool(RATE)"}, False),
        ({"rest": "settings.KEEP = picture is None"}, False),
        ({"rest": "loss.backward()"}, False),
        ({"backward": KEPT.format("self.options.keep"), "field": "False"}, False),
        ({"backward": KEPT.format("self.options.keep"), "rest": "self.options.keep = False"}, False),
        ({"backward": "differentiate(loss, settings.KEEP)", "keep": "False"}, False),
    ],
)
def test_a_setting_of_another_file_that_keeps_the_graph(tmp_path: Path, changed: dict[str, str], is_vain: bool) -> None:
    told = {"keep": "True", "field": "True", "backward": KEPT.format("settings.KEEP"), "rest": "pass"} | changed
    files = {"settings.py": SETTINGS.format(**told), "help.py": HELP, "train.py": TRAIN.format(**told)}
    found = [one for one in Project(tmp_path, files).found() if "TLK107" in one]
    assert found == (["train.py: TLK107 warning"] if is_vain else [])
