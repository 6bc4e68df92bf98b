"""Observers of torch's quantization: networks call them with activations, and what they keep must be detached."""

from __future__ import annotations

import pytest
from programs import Program
from torchlint.rules.tlk103_graph_in_running_state import GraphInRunningState

PROGRAM = """
{bound}

class Range({base}):
    def __init__(self):
        super().__init__(torch.qint8)
        self.register_buffer("low", torch.tensor(float("inf")))

    def {method}(self, given):
        x = given.to(self.low.dtype){end}
        {kept}
        return given
"""

KEPT = "self.low.copy_(torch.min(torch.aminmax(x)[0], self.low))"
IMPORTED = "from torch.ao.quantization.observer import ObserverBase"


def told(
    bound: str = IMPORTED, base: str = "ObserverBase", method: str = "forward", end: str = "", kept: str = KEPT
) -> bool:
    """Whether the observer is told that its state may take graphs in."""
    facts = Program(PROGRAM.format(bound=bound, base=base, method=method, end=end, kept=kept)).facts
    return bool(list(GraphInRunningState().check(facts)))


def test_an_observer_that_does_not_detach_what_it_is_given() -> None:
    assert told()
    assert told(bound="from torch.ao.quantization.observer import *")
    assert told(bound="from torch.ao.quantization import MinMaxObserver", base="MinMaxObserver")


@pytest.mark.parametrize(
    "change",
    [
        {"end": ".detach()"},
        {"kept": f"with torch.no_grad(): {KEPT}"},
        {"kept": "self.low = torch.aminmax(x)[0].item()"},
        {"method": "summary"},  # which no network calls
        {"bound": "from tools.observer import ObserverBase"},
        {"bound": "from torch.ao.quantization.observer import *\nfrom tools import *"},  # which may bring another one
        {"base": "nn.Module"},
    ],
)
def test_a_state_that_takes_no_graph_in_for_all_that_is_seen(change: dict[str, str]) -> None:
    assert not told(**change)
