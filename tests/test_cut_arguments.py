"""Functions that take what they are given without its graph: what they return does not hold that."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

TERMS = """
    import torch
    import torch.nn.functional as F

    kept = []

    def real_or_not(judge, real, made):
        {body}

    def fooled(judge, made):
        return F.softplus(-judge(made)).mean()

    TABLE = {{"soft": (real_or_not, fooled)}}
"""

PAIR = """
    import torch
    from torch import nn
    {imports}

    def train(loader, device):
        maker, judge = nn.Linear(8, 16).to(device), nn.Linear(16, 1).to(device)
        of_maker = torch.optim.Adam(maker.parameters())
        of_judge = torch.optim.Adam(judge.parameters())
        {takes}
        for real, _ in loader:
            made = maker(torch.randn(len(real), 8, device=device))
            first = judged(judge, real.to(device), made)
            of_judge.zero_grad()
            first.backward(retain_graph=True)
            of_judge.step()
            second = fooling(judge, made)
            of_maker.zero_grad()
            second.backward()
            of_maker.step()
"""

CUT = "return F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()"

BODIES = [
    (CUT, True),
    (CUT.replace(".detach()", ".data"), True),
    ("return _one(judge, real, made)\n\n    def _one(judge, real, made):\n        " + CUT, True),
    (CUT.replace(".detach()", ""), False),
    (CUT + " + made.pow(2).mean()", False),
    ("out = judge(made)\n        cut = made.detach()\n        return (judge(cut) - judge(real) - out).mean()", False),
    ("with torch.no_grad():\n            old = judge(made)\n        return (judge(made) - old).pow(2).mean()", False),
]  # fmt: skip

WAYS = [
    ("from terms import fooled as fooling, real_or_not as judged", "pass"),
    ("from terms import TABLE", 'judged, fooling = TABLE["soft"]'),
]


@pytest.mark.parametrize(("imports", "takes"), WAYS, ids=["by name", "out of a table"])
@pytest.mark.parametrize(("body", "in_vain"), BODIES)
def test_what_a_loss_of_another_file_detaches_is_in_no_second_backward(
    tmp_path: Path, body: str, in_vain: bool, imports: str, takes: str
) -> None:
    files = {"terms.py": TERMS.format(body=body), "pair.py": PAIR.format(imports=imports, takes=takes)}
    found = [one for one in Project(tmp_path, files).found() if "TLK107" in one]
    assert found == (["pair.py: TLK107 warning"] if in_vain else [])


def test_what_another_file_keeps_it_may_differentiate(tmp_path: Path) -> None:
    imports, takes = WAYS[0]
    body = "kept.append(made)\n        " + CUT
    files = {"terms.py": TERMS.format(body=body), "pair.py": PAIR.format(imports=imports, takes=takes)}
    assert not any("TLK107" in one for one in Project(tmp_path, files).found())


@pytest.mark.parametrize(("body", "in_vain"), BODIES)
def test_nor_what_a_loss_of_the_same_file_detaches(tmp_path: Path, body: str, in_vain: bool) -> None:
    pair = TERMS.format(body=body) + PAIR.format(imports="", takes="judged, fooling = real_or_not, fooled")
    found = [one for one in Project(tmp_path, {"pair.py": pair}).found() if "TLK107" in one]
    assert found == (["pair.py: TLK107 warning"] if in_vain else [])
