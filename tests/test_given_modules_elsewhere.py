"""Functions of another file that run what they are given: what comes back of a module is what that module gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

STEP = """
    def advance({given}):
        {body}
"""

NETS = """
    from torch import nn

    class Pilot(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.GRUCell(8, 8)

        def forward(self, seen, memory):
            memory = self.inner(seen, {taken})
            return memory.sum(), memory
"""


@pytest.mark.parametrize(
    ("changes", "leaks"),
    [
        ({}, True),
        (
            {"body": "answer, memory = net(seen, memory); return answer, (memory, 1)", "after": "memory = memory[0]"},
            True,
        ),
        ({"body": "answer, memory = net(seen, memory); return answer, memory.detach()"}, False),
        ({"body": "answer, memory = net(seen, memory.detach()); return answer, memory"}, False),
        ({"body": "answer, _ = net(seen, memory); return answer, seen"}, False),
        ({"taken": "memory.detach()"}, False),
        ({"before": "memory = torch.zeros(8)"}, False),
        ({"after": "memory = memory.detach()"}, False),
        ({"made": "lambda seen, memory: (0, memory)"}, False),
        ({"made": "unseen()"}, False),
    ],
)
def test_a_state_comes_back_through_a_module_that_a_function_is_given(
    tmp_path: Path, changes: dict[str, str], leaks: bool
) -> None:
    pieces = {
        "given": "net, seen, memory",
        "body": "answer, memory = net(seen, memory); return answer, memory",
        "taken": "memory",
        "made": "Pilot()",
        "before": "pass",
        "after": "pass",
    } | changes
    drive = f"""
        import torch
        from elsewhere import unseen
        from nets import Pilot
        from step import advance

        def fly(camera):
            net, memory = {pieces["made"]}, torch.zeros(8)
            for seen in camera:
                {pieces["before"]}
                answer, memory = advance(net, seen, memory)
                {pieces["after"]}
                print(answer)
    """
    files = {"step.py": STEP.format(**pieces), "nets.py": NETS.format(**pieces), "drive.py": drive}
    assert any("TLK104" in one for one in Project(tmp_path, files).found()) == leaks
