"""Objectives of another file that run networks which their step does not train: a teacher, the generator."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

TOLD = ["study.py: TLK203 warning"]

MAKE = """
    from torch import nn

    def wide(width):
        return nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 3))

    def pair(width):
        teacher = wide(8 * width)
        {teacher}
        return {given}
"""

GUIDE = """
    import torch
    from torch import nn

    class Guide{base}:
        def __init__(self, teacher, share=0.5):
            {begin}
            self.teacher, self.share = teacher, share

        def {method}(self, out, x, y):
            aims = {aims}
            return self.share * nn.functional.mse_loss(out, aims) + nn.functional.cross_entropy(out, y)

    def guided(teacher, out, x, y):
        aims = {aims_given}
        return nn.functional.mse_loss(out, aims) + nn.functional.cross_entropy(out, y)
"""

STUDY = """
    import torch
    from make import pair
    from guide import Guide, guided

    def study(loader):
        {make}
        guide = Guide(teacher, share=0.3)
        {before}
        optimizer = torch.optim.SGD({trained}, lr=0.1)
        for x, y in loader:
            loss = {loss}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


def study(
    folder: Path,
    *,
    teacher: str = "teacher.eval()",
    given: str = "teacher, wide(width)",
    base: str = "",
    aims: str = "self.teacher(x)",
    make: str = "teacher, student = pair(4)",
    before: str = "pass",
    trained: str = "student.parameters()",
    loss: str = "guide(student(x), x, y)",
) -> list[str]:
    """What is found where another file makes both networks, and a loss of a third one runs the teacher."""
    begin, method = ("super().__init__()", "forward") if base else ("pass", "__call__")
    aims_given = aims.replace("self.teacher", "teacher")
    files = {
        "make.py": MAKE.format(teacher=teacher, given=given),
        "guide.py": GUIDE.format(base=base, begin=begin, method=method, aims=aims, aims_given=aims_given),
        "study.py": STUDY.format(make=make, before=before, trained=trained, loss=loss),
    }
    return Project(folder, files).found()


@pytest.mark.parametrize("loss", ["guide(student(x), x, y)", "guided(teacher, student(x), x, y)"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"base": "(nn.Module)"},
        {"aims": "self.teacher(x).softmax(1)"},
        {"make": "both = pair(4)\n        teacher, student = both"},
        {
            "given": "{'teacher': teacher, 'student': wide(width)}",
            "make": "both = pair(4)\n        teacher, student = both['teacher'], both['student']",
        },
    ],
)
def test_a_teacher_that_another_file_makes_and_only_puts_into_evaluation_mode_is_told(
    tmp_path: Path, loss: str, options: dict[str, str]
) -> None:
    assert study(tmp_path, loss=loss, **options) == TOLD


@pytest.mark.parametrize("loss", ["guide(student(x), x, y)", "guided(teacher, student(x), x, y)"])
@pytest.mark.parametrize(
    "options",
    [
        {"teacher": "teacher.eval().requires_grad_(False)"},
        {"teacher": "teacher.train()"},
        {"aims": "self.teacher(out)"},
        {"given": "teacher, nn.Sequential(teacher, nn.Linear(3, 3))"},
        {"before": "teacher.requires_grad_(False)"},
        {"before": "teacher.train()"},
        {"trained": "[*student.parameters(), *teacher.parameters()]"},
        {"trained": "guide.teacher.parameters()"},
        {"make": "teacher, _ = pair(4)\n        _, student = pair(4)"},
    ],
)
def test_one_that_is_frozen_or_may_be_trained_is_not(tmp_path: Path, loss: str, options: dict[str, str]) -> None:
    assert study(tmp_path, loss=loss, **options) == []


CONTEST = """
    import torch
    from torch import nn

    def of_critic(maker, critic, real, noise):
        {made}
        loss = nn.functional.relu(1 - critic(real)).mean() + nn.functional.relu(1 + critic(fake)).mean()
        return {given}

    def of_maker(maker, critic, noise):
        return -critic(maker(noise)).mean()

    class Contest:
        def __init__(self, maker, critic):
            self.maker, self.critic = maker, critic

        def of_critic(self, real, noise):
            {made_there}
            return self.critic(fake).mean() - self.critic(real).mean()

        def of_maker(self, noise):
            return -self.critic(self.maker(noise)).mean()

        @staticmethod
        def between(maker, critic, real, noise):
            {made_within}
            return critic(fake).mean() - critic(real).mean()
"""

PLAY = """
    import torch
    from torch import nn
    from contest import Contest, of_critic, of_maker

    def study(loader):
        maker, critic = nn.Linear(3, 3), nn.Linear(3, 1)
        contest = Contest(maker, critic)
        to_make = torch.optim.Adam(maker.parameters())
        to_judge = torch.optim.Adam({judging})
        for real, _ in loader:
            loss = {first}
            to_judge.zero_grad()
            loss.backward({backward})
            to_judge.step()
            {between}
            loss = {second}
            {zeroed}
            loss.backward()
            to_make.step()
"""


def contest(
    folder: Path,
    *,
    first: str = "of_critic(maker, critic, real, torch.randn(4, 3))",
    second: str = "of_maker(maker, critic, torch.randn(4, 3))",
    made: str = "fake = maker(noise)",
    given: str = "loss",
    judging: str = "critic.parameters()",
    backward: str = "",
    between: str = "pass",
    zeroed: str = "to_make.zero_grad()",
) -> list[str]:
    """What is found where another file computes the losses of two networks that are trained in turn."""
    lines = made.splitlines()
    made, made_there = (f"\n{' ' * width}".join(lines) for width in (8, 12))
    objectives = CONTEST.format(
        made=made, given=given, made_there=made_there.replace("maker(", "self.maker("), made_within=made_there
    )
    steps = PLAY.format(first=first, second=second, judging=judging, backward=backward, between=between, zeroed=zeroed)
    return Project(folder, {"contest.py": objectives, "study.py": steps}).found()


FIRST = [
    "of_critic(maker, critic, real, torch.randn(4, 3))",
    "contest.of_critic(real, torch.randn(4, 3))",
    "Contest.between(maker, critic, real, torch.randn(4, 3))",
]


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize(
    "second",
    [
        "of_maker(maker, critic, torch.randn(4, 3))",
        "contest.of_maker(torch.randn(4, 3))",
        "-critic(maker(torch.randn(4, 3))).mean()",
    ],
)
def test_an_objective_that_runs_the_network_of_the_other_step_is_told(tmp_path: Path, first: str, second: str) -> None:
    assert contest(tmp_path, first=first, second=second) == TOLD


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize(
    "options",
    [
        {"made": "with torch.no_grad():\n    fake = maker(noise)"},
        {"judging": "[*critic.parameters(), *maker.parameters()]"},
        {"between": "to_make.step()"},
        {"zeroed": "pass"},
        {"backward": "retain_graph=True"},
    ],
)
def test_one_that_guards_it_or_whose_gradients_are_used_is_not(
    tmp_path: Path, first: str, options: dict[str, str]
) -> None:
    assert [one for one in contest(tmp_path, first=first, **options) if "TLK203" in one] == []


def test_nor_is_one_whose_output_goes_on_to_the_other_step(tmp_path: Path) -> None:
    first = f"None; loss, fake = {FIRST[0]}"
    assert contest(tmp_path, first=first, given="loss, fake") == TOLD
    assert contest(tmp_path, first=first, given="loss, fake", second="-critic(fake.clone()).mean()") == []
