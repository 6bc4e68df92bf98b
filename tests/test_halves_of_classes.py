"""A class in two files: a base has some of the methods, and a class below it the others and what they work with."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from projects import Project

ANSWERING = """
    import torch

    class Answering:
        def answer(self, frame):
            scores, self.memory = self.net(frame, self.memory)
            return scores.argmax(1).tolist()
"""

HEARING = """
    import torch
    from torch import nn
    from answering import Answering

    class Cell(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.head = nn.GRUCell(8, 16), nn.Linear(16, 3)

        def forward(self, x, memory):
            memory = self.cell(x, memory)
            return self.head(memory), memory

    class Hearing(Answering):
        def __init__(self):
            self.net = {net}
            self.memory = torch.zeros(1, 16)

    def listen(frames):
        hearing = Hearing()
        {guard}:
            for frame in frames:
                print(hearing.answer(frame))
"""


@pytest.mark.parametrize(
    ("net", "guard", "found"),
    [
        ("Cell().eval()", "if frames", ["answering.py: TLK104 error", "answering.py: TLK201 warning"]),
        ("Cell().eval()", "with torch.no_grad()", []),
        ("Cell().eval().requires_grad_(False)", "if frames", []),
        ("lambda frame, memory: (frame, memory * 0.5 + frame)", "if frames", []),
    ],
)
def test_a_base_runs_what_the_class_below_has(tmp_path: Path, net: str, guard: str, found: list[str]) -> None:
    files = {"answering.py": ANSWERING, "hearing.py": HEARING.format(net=net, guard=guard)}
    assert sorted(Project(tmp_path, files).found()) == found


WHOLE = """
    def whole(self, frames):
        {guard}:
            return [{asked} for _ in range(9)]
"""


@pytest.mark.parametrize(
    ("asked", "guard", "found"),
    [
        ("self.answer(frames)", "with torch.no_grad()", []),
        ("list(map(self.answer, frames))", "with torch.no_grad()", []),
        ("self.answer(frames)", "if frames", ["answering.py: TLK201 warning"]),
    ],
)
def test_and_the_class_below_may_guard_it(tmp_path: Path, asked: str, guard: str, found: list[str]) -> None:
    hearing = HEARING.partition("    def listen")[0].format(net="Cell().eval()")
    whole = indent(WHOLE.format(asked=asked, guard=guard), "    ")
    assert sorted(Project(tmp_path, {"answering.py": ANSWERING, "hearing.py": hearing + whole}).found()) == found


LOOPING = """
    class Looping:
        def run(self, loader):
            {begin}
            {loop}:
                {each}self.learn(x, y)
            return self.total / self.seen
"""

LEARNING = """
    import torch
    from torch import nn
    from looping import Looping

    class Learning(Looping):
        def __init__(self):
            self.net = nn.Linear(8, 3)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            self.total, self.seen = 0.0, 0

        def learn(self, x, y):
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.total = self.total + loss{ending}
            self.seen += 1

    def main(loader):
        learning = Learning()
        return learning.run(loader)
"""

EACH = "for x, y in loader"


@pytest.mark.parametrize(
    ("loop", "each", "ending", "is_told"),
    [
        (EACH, "", "", True),
        ("while (x := next(loader)) is not None and (y := next(loader)) is not None", "", "", True),
        (EACH, "if len(x) > 2: ", "", True),
        (EACH, "", ".item()", False),
        ("if (x := next(loader)) is not None and (y := next(loader)) is not None", "", "", False),
    ],
)
def test_a_base_takes_the_steps_of_the_class_below(
    tmp_path: Path, loop: str, each: str, ending: str, is_told: bool
) -> None:
    looping = LOOPING.format(begin="pass", loop=loop, each=each)
    files = {"looping.py": looping, "learning.py": LEARNING.format(ending=ending)}
    assert Project(tmp_path, files).found() == (["learning.py: TLK101 warning"] if is_told else [])


def test_what_a_base_sets_anew_for_each_step_is_no_sum(tmp_path: Path) -> None:
    looping = LOOPING.format(begin="pass", loop=EACH, each="self.total = 0.0; ")
    assert Project(tmp_path, {"looping.py": looping, "learning.py": LEARNING.format(ending="")}).found() == []


SERVING = """
    class Serving:
        def serve(self, requests):
            for turn, x in enumerate(requests):
                {renew}
                print(self.answer(x))
"""

RENEWING = """
    import torch
    from torch import nn
    from serving import Serving

    class Renewing(Serving):
        def __init__(self):
            self.net = nn.Linear(8, 3).eval()
            self.renew()

        def renew(self):
            self.fast = torch.jit.freeze(torch.jit.script(self.net))

        @torch.no_grad()
        def answer(self, x):
            return self.fast(x).argmax(1).tolist()

    def main(requests):
        Renewing().serve(requests)
"""


@pytest.mark.parametrize(
    ("renew", "is_told"), [("self.renew()", True), ("if turn == 500: self.renew()", False), ("print(turn)", False)]
)
def test_what_a_base_does_on_a_condition_is_not_done_in_each_turn(tmp_path: Path, renew: str, is_told: bool) -> None:
    files = {"serving.py": SERVING.format(renew=renew), "renewing.py": RENEWING}
    assert Project(tmp_path, files).found() == (["renewing.py: TLK305 warning"] if is_told else [])


GATED = """
    import torch
    from torch import nn
    from summing import Learning, Summing

    class Gated(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.router, self.layer = nn.Linear(width, 2), nn.Linear(width, width)
            self.balance = None

        def forward(self, x):
            gate = self.router(x).softmax(-1)
            self.balance = gate.mean(0).square().sum()
            return self.layer(x) * gate[:, :1]

    class Deep(Summing):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([Gated(8) for _ in range(3)])

        def forward(self, x):
            for layer in self.layers:
                x = x + layer(x)
            return x

    class Trainer(Learning):
        def __init__(self):
            self.net = Deep()
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def objective(self, x, y):
            return nn.functional.cross_entropy(self.net(x), y) + {more}
"""

SUMMING = """
    from torch import nn

    class Summing(nn.Module):
        def extra(self):
            return sum({read} for layer in self.layers)

    class Learning:
        def learn(self, x, y):
            loss = self.objective(x, y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss.item()
"""


@pytest.mark.parametrize(
    ("read", "more", "found"),
    [
        ("layer.balance", "0.1 * self.net.extra()", []),
        ("layer.balance.item()", "0", ["gated.py: TLK111 warning"]),
    ],
)
def test_what_a_base_reads_is_read(tmp_path: Path, read: str, more: str, found: list[str]) -> None:
    files = {"summing.py": SUMMING.format(read=read), "gated.py": GATED.format(more=more)}
    assert Project(tmp_path, files).found() == found


@pytest.mark.parametrize(("read", "is_told"), [("layer.balance", False), ("layer.balance.item()", True)])
def test_what_an_imported_function_reads_is_read(tmp_path: Path, read: str, is_told: bool) -> None:
    summing = (
        SUMMING.format(read="0")
        + f"""
    def extra_of(net):
        return sum({read} for layer in net.layers)
    """
    )
    gated = GATED.format(more="0.1 * extra_of(self.net)").replace("Learning, Summing", "Learning, Summing, extra_of")
    files = {"summing.py": summing, "gated.py": gated}
    assert Project(tmp_path, files).found() == (["gated.py: TLK111 warning"] if is_told else [])


DRAWING = """
    import torch
    from torch import nn

    class Drawing(nn.Module):
        def forward(self, x):
            h = self.body(x)
            self.points = torch.tanh(self.plane(h))
            return self.head(h)
"""

DRAWN = """
    import torch
    from torch import nn
    from drawing import Drawing

    class Drawn(Drawing):
        def __init__(self):
            super().__init__()
            self.body, self.plane, self.head = nn.Linear(16, 32), nn.Linear(32, 2), nn.Linear(32, 4)
            self.points = None

        def take(self):
            points = self.points.tolist()
            {end}
            return points

    def main(loader):
        net = Drawn()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(net.take())
"""


@pytest.mark.parametrize(("end", "is_told"), [("print(points)", True), ("self.points = None", False)])
def test_what_a_base_leaves_the_class_below_may_take_away(tmp_path: Path, end: str, is_told: bool) -> None:
    files = {"drawing.py": DRAWING, "drawn.py": DRAWN.format(end=end)}
    assert Project(tmp_path, files).found() == (["drawing.py: TLK111 warning"] if is_told else [])
