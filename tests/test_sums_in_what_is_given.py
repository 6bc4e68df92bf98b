"""Sums that functions of other files keep in a dictionary or an object which they are given: of what else they are
given, or of what that has under another name.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

COUNT = """
    def count(totals, loss):
        {kept}
        totals["seen"] += 1
        return totals
"""

TALLY = """
    def tally(state):
        state["seen"] += state["wanted"].numel()
        {kept}
        return state
"""

TRAIN = """
    import torch
    import torch.nn.functional as F
    from {file} import {name}

    def train(loader, net):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        state = {{"seen": 0, "total": 0.0}}
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            state["loss"], state["wanted"] = loss, y
            {each}
            optimizer.zero_grad()
            {trained}.backward()
            optimizer.step()
        return {given}
"""

DEFAULTS = {"each": "{name}(state, loss)", "trained": "loss", "given": "float(state['total'])"}


@pytest.mark.parametrize(
    ("kept", "train", "is_found"),
    [
        ('totals["total"] = totals["total"] + loss', {}, True),
        ('totals["total"] = loss + totals["total"]', {}, True),
        ('totals["total"] += loss', {}, True),
        ('totals["total"] = totals["total"] + loss.detach()', {}, False),
        ('totals["total"] = loss', {}, False),
        ('totals["total"] = totals["seen"] * loss', {}, False),
        ('totals["total"] = totals["total"] + loss', {"each": "{name}({{'seen': 0, 'total': 0.0}}, loss)"}, False),
        ('totals["total"] = totals["total"] + loss', {"trained": 'state["total"]'}, False),
    ],
)
def test_of_what_they_are_given(tmp_path: Path, kept: str, train: dict[str, str], is_found: bool) -> None:
    assert found(tmp_path, "count", COUNT.format(kept=kept), train) == (
        ["train.py: TLK105 warning"] if is_found else []
    )


@pytest.mark.parametrize(
    ("kept", "train", "is_found"),
    [
        ('state["total"] = state["total"] + state["loss"]', {}, True),
        ('state["total"] += len(state["wanted"]) * state["loss"]', {}, True),
        ('state["total"] = state["total"] + state["loss"]', {"each": "state = {name}(state)"}, True),
        ('state["total"] = state["total"] + state["loss"].item()', {}, False),
        ('state["total"] = state["total"] + state["wanted"].sum()', {}, False),
        ('state["last"] = state["loss"]', {}, False),
        ('state["loss"] = state["loss"] + 1', {}, False),
        ('state["total"] = state["total"] + state["loss"]', {"trained": 'state["total"]'}, False),
        # Over a graph that is freed nobody runs a backward.
        ('state["total"] = state["total"] + state["loss"]', {"given": 'state["total"]'}, True),
        ('state["total"] = state["total"] + state["loss"]', {"given": 'state["total"]', "trained": "net(x).mean()"},
         False),
    ],
)  # fmt: skip
def test_of_what_is_in_it(tmp_path: Path, kept: str, train: dict[str, str], is_found: bool) -> None:
    train = {"each": "{name}(state)", **train}
    assert found(tmp_path, "tally", TALLY.format(kept=kept), train) == (
        ["train.py: TLK105 warning"] if is_found else []
    )


TERMS = """
    def gather(totals, terms):
        for name, value in terms.items():
            {kept}
"""


@pytest.mark.parametrize(
    ("kept", "given", "is_found"),
    [
        ("totals[name] += value", "loss", True),
        ("totals[name] = totals[name] + value", "loss", True),
        ("totals[name] = totals.get(name, 0.0) + value", "loss", True),
        ("totals[name] += value.item()", "loss", False),
        ("totals[name] += value", "loss.detach()", False),
        # One under each name, which comes again in the next step.
        ("totals[name] = value", "loss", False),
        ("totals[name] = totals.get('seen', 0) * value", "loss", False),
    ],
)
def test_of_each_item_under_its_name(tmp_path: Path, kept: str, given: str, is_found: bool) -> None:
    train = {"each": f"{{name}}(state, {{{{'total': {given}}}}})"}
    told = found(tmp_path, "gather", TERMS.format(kept=kept), train)
    assert told == (["train.py: TLK105 warning"] if is_found else [])


OBJECT = """
    class State:
        def __init__(self):
            self.total, self.loss, self.rate = 0.0, None, 0.1

    def tally(state, count):
        {kept}
"""


@pytest.mark.parametrize(
    ("kept", "is_found"),
    [
        ("state.total = state.total + count * state.loss", True),
        ("state.total += state.loss", True),
        ("state.total += count * state.loss.item()", False),
        ("state.total += count * state.rate", False),
        ("state.last = state.loss", False),
    ],
)
def test_of_what_an_object_has(tmp_path: Path, kept: str, is_found: bool) -> None:
    train = TRAIN.format(
        file="tallies",
        name="State, tally",
        each="box.loss = loss; tally(box, len(y))",
        trained="loss",
        given="loss.item()",
    ).replace("state =", "box, state = State(),")
    files = {"tallies.py": OBJECT.format(kept=kept), "train.py": train}
    told = [one for one in Project(tmp_path, files).found() if "TLK105" in one]
    assert told == (["train.py: TLK105 warning"] if is_found else [])


SHARE = """
    class Meter:
        def __init__(self):
            self.total = 0.0

        def add(self, answer, count):
            self.total += {kept} * count
"""


@pytest.mark.parametrize(("kept", "is_found"), [("answer.loss", True), ("answer.loss.item()", False)])
def test_of_an_attribute_beside_a_count(tmp_path: Path, kept: str, is_found: bool) -> None:
    train = """
        import torch
        from transformers import AutoModelForCausalLM
        from share import Meter

        def train(loader, name):
            net, meter = AutoModelForCausalLM.from_pretrained(name), Meter()
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for batch in loader:
                answer = net(**batch)
                answer.loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                meter.add(answer, len(batch))
            return float(meter.total)
    """
    files = {"share.py": SHARE.format(kept=kept), "train.py": train}
    assert Project(tmp_path, files).found() == (["train.py: TLK105 warning"] if is_found else [])


def found(folder: Path, name: str, helper: str, train: dict[str, str]) -> list[str]:
    parts = {**DEFAULTS, **train}
    parts["each"] = parts["each"].format(name=name)
    files = {f"{name}s.py": helper, "train.py": TRAIN.format(file=f"{name}s", name=name, **parts)}
    return Project(folder, files).found()
