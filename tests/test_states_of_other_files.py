"""States that an object of one file carries from call to call, and that another one cuts off, renews, or lets grow."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

NET = """
    import torch
    from torch import nn

    class Walker(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.cell = nn.LSTMCell(width, 16)
            self.head = nn.Linear(16, width)

        @classmethod
        def load(cls, path):
            net = cls()
            net.load_state_dict(torch.load(path, map_location="cpu"))
            return net.eval()

        def begin(self, count):
            return torch.zeros(count, 16), torch.zeros(count, 16)

        def forward(self, x, state):
            h, c = self.cell(x, state)
            return self.head(h), (h, c)
"""

CUT = """
    import torch

    def cut(state):
        if isinstance(state, torch.Tensor):
            return state.detach()
        return tuple(cut(one) for one in state)

    def cut_all(states):
        return [one.detach() for one in states]
"""

RUNNER = """
    from net import Walker
    from cut import cut, cut_all

    class Runner:
        def __init__(self, net):
            self.net = net
            self.state = None

        def reset(self, count):
            self.state = self.net.begin(count)

        def run(self, x):
            {enter}
            out, state = self.net(x, self.state)
            self.state = {keep}
            return out

        def let_go(self):
            self.state = cut(self.state)
"""

TRAIN = """
    import torch
    from net import Walker
    from runner import Runner
    from cut import cut

    def train(rows, epochs):
        net = Walker()
        runner = Runner(net)
        optimizer = torch.optim.Adam(net.parameters())
        runner.reset(4)
        for epoch in range(epochs):
            for x, y in rows:
                {before}
                loss = (runner.run(x) - y).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                {after}
"""

SERVE = """
    import torch
    from net import Walker
    from runner import Runner

    def serve(stream):
        runner = Runner({net})
        runner.reset(1)
        answers = []
        {guard}:
            for x in stream:
                {answer}
        return answers
"""


def trained(
    folder: Path, *, enter: str = "pass", keep: str = "state", before: str = "pass", after: str = "pass"
) -> list[str]:
    """What is found where each batch trains."""
    files = {"net.py": NET, "cut.py": CUT, "runner.py": RUNNER.format(enter=enter, keep=keep)}
    return Project(folder, {**files, "main.py": TRAIN.format(before=before, after=after)}).found()


@pytest.mark.parametrize(
    "keep",
    [
        "cut(state)",
        "cut_all(state)",
        "tuple(one.detach() for one in state)",
        "(state[0].detach(), state[1].detach())",
        "[one.data for one in state]",
    ],
)
def test_one_that_is_cut_off_where_it_is_kept_does_not_grow(tmp_path: Path, keep: str) -> None:
    assert trained(tmp_path, keep=keep) == []


@pytest.mark.parametrize("enter", ["self.state = cut(self.state)", "self.state = cut_all(self.state)", "self.let_go()"])
def test_nor_does_one_that_is_cut_off_where_it_is_taken(tmp_path: Path, enter: str) -> None:
    assert trained(tmp_path, enter=enter) == []


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize(
    "cut",
    [
        "runner.let_go()",
        "runner.reset(len(x))",
        "runner.state = cut(runner.state)",
        "runner.state = net.begin(len(x))",
        "runner.state = tuple(one.detach() for one in runner.state)",
        "runner = Runner(net); runner.reset(len(x))",
    ],
)
def test_nor_does_one_that_the_other_file_cuts_off_or_begins_anew(tmp_path: Path, where: str, cut: str) -> None:
    assert trained(tmp_path, **{where: cut}) == []


@pytest.mark.parametrize("net", ["Walker().eval()", "Walker.load('walker.pt')"])
@pytest.mark.parametrize(
    ("guard", "keep", "answer", "grows"),
    [
        ("if stream", "state", "answers.append(runner.run(x).argmax(1).item())", True),
        ("if stream", "state", "out = runner.run(x); answers.append(out.argmax(1).tolist())", True),
        ("if stream", "state", "print(runner.run(x))", True),
        ("if stream", "state", "answers.append(runner.run(x))", False),
        ("if stream", "state", "runner.reset(1); answers.append(runner.run(x).argmax(1).item())", False),
        ("if stream", "state", "runner.let_go(); answers.append(runner.run(x).argmax(1).item())", False),
        ("if stream", "cut(state)", "answers.append(runner.run(x).argmax(1).item())", False),
        ("with torch.no_grad()", "state", "answers.append(runner.run(x).argmax(1).item())", False),
        ("with torch.inference_mode()", "state", "answers.append(runner.run(x).argmax(1).item())", False),
    ],
)
def test_one_of_which_the_other_file_reads_only_answers_grows(
    tmp_path: Path, *, net: str, guard: str, keep: str, answer: str, grows: bool
) -> None:
    files = {"net.py": NET, "cut.py": CUT, "runner.py": RUNNER.format(enter="pass", keep=keep)}
    project = Project(tmp_path, {**files, "main.py": SERVE.format(net=net, guard=guard, answer=answer)})
    assert [one for one in project.found() if "TLK104" in one] == ["runner.py: TLK104 error"] * grows
