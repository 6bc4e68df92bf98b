"""What looks like a network, or like its memory, by a method or a name, and is none."""

from __future__ import annotations

import pytest

from torchlint import check_source
from torchlint.config import Settings
from torchlint.diagnostic import Level

NOTES = Settings(notes=True)


def codes(source: str) -> list[str]:
    return [finding.code for finding in check_source("import torch\nfrom torch import nn\n" + source, settings=NOTES)]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("if not self.trigger(manager):\n            return", []),
        ("if manager.is_first or self.trigger(manager):\n            return", []),
        ("print(self.trigger(manager.batch).argmax(1))", ["TLK201"]),
    ],
)
def test_what_has_a_state_and_is_asked_for_yes_or_no_is_no_network(asked: str, found: list[str]) -> None:
    source = f"""
from parts import made_from
class Report:
    def __init__(self, trigger):
        self.trigger = made_from(trigger)
    def __call__(self, manager):
        {asked}
    def load_state_dict(self, state):
        self.trigger.load_state_dict(state["trigger"])
"""
    assert codes(source) == found


@pytest.mark.parametrize(("ids", "found"), [("ids.astype(np.int64)", []), ("ids", ["TLK201"])])
def test_what_is_given_an_array_is_no_network_of_torch(ids: str, found: list[str]) -> None:
    source = f"""
import numpy as np
def encode(session, ids):
    session.eval()
    print(session({ids})[0].argmax())
"""
    assert codes(source) == found


@pytest.mark.parametrize(
    ("layer", "found"),
    [
        ("batch = layer(batch)\n            batch.x = torch.cat([x, batch.x], dim=1)", []),
        ("self.x = torch.cat([self.x, layer(x)])", ["TLK401"]),
    ],
)
def test_the_batch_of_a_step_on_which_layers_go_on_grows_in_no_step(layer: str, found: list[str]) -> None:
    source = f"""
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.x = torch.zeros(0, width)
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
    @torch.no_grad()
    def forward(self, batch):
        for layer in self.layers:
            x = batch.x
            {layer}
        return batch
"""
    assert codes(source) == found


def test_what_is_kept_of_a_forward_is_in_doubt_where_its_graph_is() -> None:
    source = """
class Answers:
    def __init__(self, net):
        self.net = net.eval()
    def __call__(self, data):
        spikes = []
        for step in range(data.shape[1]):
            spikes.append(self.net(data[:, step]))
        return torch.stack(spikes)
"""
    found = check_source("import torch\n" + source, settings=NOTES)
    assert {finding.level for finding in found} <= {Level.NOTE}
