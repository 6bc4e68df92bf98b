"""Modules whose parameters do not require grad, and those of which that changes."""

from __future__ import annotations

from programs import Program

HELPER = """
    def requires_grad(model, flag):
        for p in model.parameters():
            p.requires_grad = flag
"""

STEP = """
    generator, judge = nn.Linear(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.Adam(judge.parameters())
    for x in DataLoader(dataset):
        {switch}
        loss = judge(generator(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_network_that_a_helper_switches_by_a_flag_is_not_judged() -> None:
    program = Program(HELPER + STEP.format(switch="requires_grad(generator, False)"))
    assert program.facts.untrained_forwards == []


def test_the_same_network_without_the_switch_runs_in_vain() -> None:
    assert len(Program(HELPER + STEP.format(switch="pass")).facts.untrained_forwards) == 1
