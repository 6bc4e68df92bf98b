"""Whether what containers hold has a graph: it is looked for in what they hold in turn, a few of them deep."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.domain import Carrier, Tensor
from torchlint.facts.values.graph import Value

IN_A_TABLE = """
def step(net, x):
    state = net(x)
    {fill}
    state.sum().backward()
    return kept
"""


@pytest.mark.parametrize(
    ("fill", "holds"),
    [
        ("kept = [state]", True),
        ("kept = {'layers': [(state, 1)]}", True),
        ("kept = {'layers': [(state.detach(), 1)]}", False),
        ("kept = []; kept.append(kept)", False),
        ("kept = []; kept.append(kept); kept.append([state])", True),
    ],
)
def test_what_a_container_holds_is_looked_for_in_those_within(fill: str, holds: bool) -> None:
    program = Program(IN_A_TABLE.format(fill=fill))
    (step,) = [function for function in program.facts.graph.functions if function.name == "step"]
    assert step.result is not None
    assert program.facts.flows.carries(step.result) is holds


def test_containers_that_hold_each_other_are_looked_into_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Value] = []
    live = Flows.live

    def counted(self: Flows, value: Value) -> Tensor | Carrier | None:
        asked.append(value)
        return live(self, value)

    names = [f"room_{number}" for number in range(20)]
    made = "".join(f"    {name} = []\n" for name in names)
    held = "".join(f"    {name}.append({other})\n" for name in names for other in names)
    program = Program(f"def build():\n{made}{held}    return room_0\n")
    (build,) = [function for function in program.facts.graph.functions if function.name == "build"]
    assert build.result is not None
    monkeypatch.setattr(Flows, "live", counted)
    assert not program.facts.flows.carries(build.result)
    assert len(asked) <= 2 * len(names) + 1


PARTS = """
def steps(net, x):
    for i in range(0, 100, 20):
        yield i, net(x)

def fill(row, x):
    row["last"] = x

class Gallery:
    def __init__(self):
        self.frames, self.latest = {{}}, {{}}
    def collect(self, epoch, names, source):
        for i, x in source:
            {kept}

def fit(loader, names, epochs):
    net, gallery = nn.Linear(3, 3), Gallery()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(epochs):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        gallery.collect(epoch, names, steps(net, x))
    return gallery
"""


@pytest.mark.parametrize(
    ("kept", "holders"),
    [
        ("self.frames.setdefault(epoch, {})[i] = x", ["self.frames.setdefault(epoch, {})"]),
        ("self.frames.setdefault(epoch, {}).update({i: x})", ["self.frames.setdefault(epoch, {})"]),
        ("row = self.frames.setdefault(epoch, {}); row['last'] = x", ["row"]),
        ("fill(self.frames.setdefault(epoch, {}), x)", ["self.frames"]),
        ("fill(self.latest.setdefault('frames', {}), x)", []),
        ("self.latest.setdefault('frames', {})[i] = x", []),
        ("self.latest.setdefault(i, {})['last'] = x", []),
        ("self.latest['frames'][i] = x", []),
    ],
)
def test_a_part_that_each_turn_begins_takes_what_is_put_under_a_name(kept: str, holders: list[str]) -> None:
    program = Program(PARTS.format(kept=kept))
    found = [one for one in program.facts.insertions if not one.bounded]
    assert [one.name for one in found] == holders
