"""The solver's work list: whatever a value depends on, it is computed anew when that changes."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from rule_programs import named, programs

from torchlint.facts.building.builder import build
from torchlint.facts.summaries.imports import NoImports
from torchlint.facts.values.domain import Abstract
from torchlint.facts.values.graph import Value
from torchlint.facts.values.solve import PATIENCE, Solution, transfer, trust
from torchlint.facts.values.worklist import WorkList


class Checked(Solution):
    """Looks, each time the work list is empty, for values that would come out otherwise now.

    Only while what nothing reached counts as not there: once it is unknown, what is known already is left as it is.
    """

    stale: tuple[tuple[Value, Abstract], ...] = ()

    def _drain(self) -> None:
        super()._drain()
        if self._optimistic:
            again = [(value, self._again(value)) for value in list(self.graph.all_values())]
            self.stale += tuple((value, new) for value, new in again if new != self.of(value))
            self._dirty = WorkList()

    def _again(self, value: Value) -> Abstract:
        if self._visits.get(value, 0) > PATIENCE:
            return self.of(value)
        return trust(transfer(self, value), frozenset(self.evidence.get(value, ())))


@pytest.mark.parametrize("path", programs("leak"), ids=named)
def test_nothing_is_stale_when_the_work_list_is_empty(path: Path) -> None:
    solution = Checked(build(cst.parse_module(path.read_text()), NoImports()))
    solution.solve()
    assert solution.stale == ()


def test_what_is_put_in_the_place_of_a_wrapper_later_is_seen() -> None:
    text = "class Net:\n def step(self): ...\nclass Run:\n def run(self): self.module.step()\n"
    text += " def __init__(self, net): self.module = net\nRun(Net()).run()\n"
    solution = Solution(build(cst.parse_module(text), NoImports()))
    solution.solve()
    (step,) = (function for function in solution.graph.functions if function.name == "step")
    assert len(solution.callers[step]) == 1


def test_a_long_chain_settles_in_as_many_sweeps_as_a_short_one() -> None:
    def most_visits(length: int) -> int:
        layers = "".join(f"  h{n + 1} = torch.relu(self.lin(h{n}) + h{n})\n" for n in range(length))
        text = "import torch\nfrom torch import nn\nclass Net(nn.Module):\n def __init__(self):\n"
        text += f"  self.lin = nn.Linear(4, 4)\n def forward(self, h0):\n{layers}  return h{length}\n"
        solution = Solution(build(cst.parse_module(text), NoImports()))
        solution.solve()
        return max(solution._visits.values())

    assert most_visits(60) == most_visits(6)
