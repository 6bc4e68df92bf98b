"""What a function is given by a file that was given it itself, by a third one."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

ANSWERS = """
    import torch

    def answers(net, rows):
        return [net(row).argmax().item() for row in rows]
"""

JUDGE = """
    import torch
    from answers import answers

    class Judge:
        def __init__(self, net, rows, spare=None):
            {kept}
            self.rows = rows

        def judge(self):
            return answers({handed}, self.rows)

    def judged(rows, net, device="cpu"):
        net = net.to(device)
        return answers(net, rows)

    def judged_each(nets, rows):
        return [answers(net, rows) for net in nets]
"""

MAIN = """
    import torch
    from torch import nn
    from judge import Judge, judged, judged_each

    def doubled(row):
        return 2 * row

    def main(rows):
        print({judged})
"""

KEPT = "self.net = net"


@pytest.mark.parametrize(
    ("kept", "handed", "judged", "leaks"),
    [
        (KEPT, "self.net", "Judge(nn.Linear(3, 3), rows).judge()", True),
        (KEPT, "self.net.eval()", "Judge(nn.Linear(3, 3), rows).judge()", True),
        (KEPT, "self.net", "Judge(rows=rows, net=nn.Linear(3, 3)).judge()", True),
        ("self.net = net.to('cuda').eval()", "self.net", "Judge(nn.Linear(3, 3), rows).judge()", True),
        (KEPT, "self.net", "judged(rows, nn.Linear(3, 3))", True),
        (KEPT, "self.net", "judged(rows, net=nn.Linear(3, 3))", True),
        (KEPT, "self.net", "judged(rows, doubled)", False),
        (KEPT, "self.net", "judged(nn.Linear(3, 3), rows)", False),
        (KEPT, "self.net", "judged_each([nn.Linear(3, 3)], rows)", False),
        (KEPT, "self.net", "Judge(doubled, rows).judge()", False),
        (KEPT, "self.net", "Judge(doubled, rows, nn.Linear(3, 3)).judge()", False),
        ("self.net = net.requires_grad_(False)", "self.net", "Judge(nn.Linear(3, 3), rows).judge()", False),
        ("self.net = net if rows else doubled", "self.net", "Judge(nn.Linear(3, 3), rows).judge()", False),
        ("self.net = net\n            self.net = spare", "self.net", "Judge(nn.Linear(3, 3), rows).judge()", False),
    ],
)
def test_a_network_that_another_file_hands_on(tmp_path: Path, kept: str, handed: str, judged: str, leaks: bool) -> None:
    texts = {"answers.py": ANSWERS, "judge.py": JUDGE, "main.py": MAIN}
    parts = {"kept": kept, "handed": handed, "judged": judged}
    project = Project(tmp_path, {name: text.format(**parts) for name, text in texts.items()})
    assert [one for one in project.found() if "TLK201" in one and "answers" in one] == (
        ["answers.py: TLK201 warning"] if leaks else []
    )


MAKES = """
    from torch import nn

    def doubled(row):
        return 2 * row

    if __name__ == "__main__":
        print({judged})
"""


@pytest.mark.parametrize(
    ("judged", "leaks"),
    [
        ("Judge(nn.Linear(3, 3), [1, 2]).judge()", True),
        ("judged([1, 2], nn.Linear(3, 3))", True),
        ("judged([1, 2], doubled)", False),
        ("Judge(doubled, [nn.Linear(3, 3)]).judge()", False),
        ("[Judge(net, [1, 2]).judge() for net in nn.Linear(3, 3).children()]", False),
    ],
)
def test_a_network_that_the_second_file_makes_itself(tmp_path: Path, judged: str, leaks: bool) -> None:
    second = (JUDGE + MAKES).format(kept=KEPT, handed="self.net", judged=judged)
    project = Project(tmp_path, {"answers.py": ANSWERS, "judge.py": second})
    assert [one for one in project.found() if "answers" in one] == (["answers.py: TLK201 warning"] if leaks else [])


TRACKER = """
    import torch

    class Track:
        def __init__(self, net):
            self.net, self.memory = net, None

        def follow(self, frame):
            scores, self.memory = self.net(torch.as_tensor(frame), self.memory)
            return scores.argmax(-1).tolist()
"""

CELLS = """
    from torch import nn

    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.out = nn.GRUCell(4, 8), nn.Linear(8, 3)

        def forward(self, x, memory=None):
            memory = self.cell(x, memory){cut}
            return self.out(memory), memory

    def load():
        return Cells().eval()
"""

STATION = """
    from cells import load
    from track import Track

    class Station:
        def __init__(self, net):
            self.net = net

        def watch(self, camera):
            track = Track(self.net)
            for frame in camera:
                print(track.follow(frame))

    def main(cameras):
        station = Station(load())
        for camera in cameras:
            station.watch(camera)
"""


@pytest.mark.parametrize(("cut", "made", "leaks"), [("", "self.net", True), (".detach()", "self.net", False),
                                                    ("", "build(self.net)", False)])  # fmt: skip
def test_a_state_of_a_network_that_goes_through_two_objects(tmp_path: Path, cut: str, made: str, leaks: bool) -> None:
    station = STATION.replace("Track(self.net)", f"Track({made})")
    project = Project(tmp_path, {"track.py": TRACKER, "cells.py": CELLS.format(cut=cut), "station.py": station})
    assert [one for one in project.found() if "TLK104" in one] == (["track.py: TLK104 error"] if leaks else [])
