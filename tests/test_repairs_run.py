"""Programs before and after their repair, run: what `--fix` writes can be executed where it stands, and is final."""

from __future__ import annotations

from pathlib import Path

import pytest
from repaired_programs import HEAD, checked, repair_and_compare

from torchlint.run import Repairs

READING = """
def main():
    cell, read = {cell}, []
    {begin}
    for x in batches():
        {step}
        read.append({read}.argmax().item())
    return read
"""

RESUMING = """
def main():
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    torch.save({{"net": net.state_dict()}}, "resumed.pt")
    checkpoint = torch.load("resumed.pt", map_location="cpu")
    net.load_state_dict(checkpoint["net"])
    for x in batches():
        loss = net(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    {after}
    return net
"""


def reading(cell: str, begin: str, step: str, read: str) -> str:
    return HEAD + READING.format(cell=cell, begin=begin, step=step, read=read)


PROGRAMS: dict[str, tuple[str, list[str]]] = {
    "the two states of an LSTM by name": (
        reading("nn.LSTM(4, 3)", "h, c = torch.zeros(1, 3), torch.zeros(1, 3)",
                "y, (h, c) = cell(x, (h, c))", "y"),
        ["TLK104 safe", "TLK201 safe"],
    ),
    "a state under a key": (
        reading("nn.GRUCell(4, 3)", "state = {'h': torch.zeros(5, 3)}", "state['h'] = cell(x, state['h'])", "state['h']"),
        ["TLK104 safe"],
    ),
    "a state in a list": (
        reading("nn.GRUCell(4, 3)", "state = [torch.zeros(5, 3)]", "state[0] = cell(x, state[0])", "state[0]"),
        ["TLK104 safe"],
    ),
    "a checkpoint": (RESUMING.format(after="pass"), ["TLK403 safe"]),
    "a checkpoint that is deleted at the end": (RESUMING.format(after="del checkpoint"), ["TLK403 none"]),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_repaired_program_runs_and_is_not_repaired_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, expected = PROGRAMS[name]
    monkeypatch.chdir(tmp_path)
    files = {"main": text if text.startswith("\nimport") else HEAD + text}
    assert repair_and_compare(files, tmp_path) == expected
    assert [found for found in checked(tmp_path / "after", Repairs.SAFE) if found.endswith(" safe")] == []
