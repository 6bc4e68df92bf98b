"""States that a network which nobody sees gives back: `retain_graph=True` says that their graph goes on."""

from __future__ import annotations

import pytest
from programs import Program

LOOP = """
def run(net, loader, optimizer, {more}):
    h = net.init_hidden(20)
    for x, y in loader:
        {before}
        out, h = net(x, h)
        loss = F.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward({how})
        {after}
        optimizer.step()
"""


def program(*, before: str = "pass", how: str = "retain_graph=True", after: str = "pass", more: str = "k=0") -> Program:
    return Program(LOOP.format(before=before, how=how, after=after, more=more))


def test_a_state_whose_graph_is_retained_for_the_next_step_is_carried() -> None:
    facts = program().facts
    assert [(one.name, one.retained) for one in facts.carried_states] == [("h", True)]
    assert facts.retained_in_vain == []  # what the next backward runs over is not kept for nothing


def test_a_pair_that_is_fed_back_as_it_was_given_is_carried() -> None:
    found = Program(
        LOOP.format(before="pass", how="retain_graph=True", after="pass", more="k=0").replace("h)", "(h, k))")
    )
    assert [one.name for one in found.facts.carried_states] == ["h"]


@pytest.mark.parametrize(
    "parts",
    [
        {"how": ""},  # it would raise, so the network cuts the state itself
        {"how": "retain_graph=False"},
        {"before": "h = h.detach()"},
        {"before": "h = [part.detach() for part in h]"},
        {"before": "h = cut(h)", "more": "cut"},
        {"after": "F.l1_loss(out, y).backward()"},  # what the graph is retained for
        {"after": "h = net.init_hidden(20)"},
        {"after": "h = h.detach()"},
    ],
)
def test_a_state_that_may_be_cut_or_is_retained_for_another_reason_is_not(parts: dict[str, str]) -> None:
    assert program(**parts).facts.carried_states == []
