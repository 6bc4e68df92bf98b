"""Lists that hooks fill, and that a method forgets which empties another one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project

WATCH = """
class Watch({base}):
    def __init__(self, layer):
        self.given, self.made = {empty}
        self.handles = [layer.register_forward_pre_hook(self.before), layer.register_forward_hook(self.after)]

    def before(self, layer, args):
        {before}

    def after(self, layer, args, out):
        {after}

    def renew(self):
        {renew}

    def close(self):
        self.made = []
        for handle in self.handles:
            handle.remove()
{more}
"""

USUAL = {
    "base": "",
    "empty": "[], []",
    "before": "self.given.append(args)",
    "after": "self.made.append(out)",
    "renew": "self.made = []",
    "more": "",
}


def told(**changed: str) -> list[str]:
    """Which lists are told to be forgotten, and where."""
    found = Program(WATCH.format(**{**USUAL, **changed})).facts.forgotten_lists
    return [f"{one.pile.name} in {one.method.name}" for one in found]


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"renew": "self.made.clear()"},
        {"renew": "del self.made[:]"},
        {"renew": "made, self.made = self.made, []\n        return torch.cat(made)"},
        {"before": "self.given.append(args[0].detach().cpu())", "after": "self.made.append(out.detach())"},
        {"before": "self.keep(args[0])", "more": "    def keep(self, one):\n        self.given.append(one.clone())"},
        {"empty": "{}, {}", "before": "self.given.setdefault(layer, []).append(args[0])",
         "after": "self.made.setdefault(layer, []).append(out.data)", "renew": "self.made.clear()"},
        {"empty": "{}, {}", "before": "self.given[layer].append(args[0])", "after": "self.made[layer].append(out)",
         "renew": "for one in self.made:\n            self.made[one] = []"},
        {"empty": "{}, {}", "before": "self.given[layer].append(args[0])", "after": "self.made[layer].append(out)",
         "renew": "for rows in self.made.values():\n            rows.clear()"},
    ],
)  # fmt: skip
def test_what_a_method_leaves_out_is_forgotten(changed: dict[str, str]) -> None:
    assert told(**changed) == ["self.given in renew"]


@pytest.mark.parametrize(
    "changed",
    [
        {"renew": "pass"},
        {"renew": "self.given, self.made = [], []"},
        {"renew": "self.made = []\n        self.given.clear()"},
        {"renew": "self.made = []\n        del self.given[:]"},
        {"renew": "self.made = []\n        torch.save(self.given, 'given.pt')"},
        {"renew": "for name in ('given', 'made'):\n            setattr(self, name, [])"},
        {"renew": "self.made = []", "more": "    def forget(self):\n        self.__init__(self.layer)"},
        {"renew": "self.made = []", "more": "    def forget(self):\n        self.given = []"},
        {"before": "self.given = args[0]"},
        {"before": "self.given.append(args[0].shape)"},
        {"before": "self.given.append(args[0].norm().detach())"},
        {"after": "self.made.append(out.shape)"},
        {"after": "self.given.append(out)", "before": "self.made.append(len(args))"},
        {"base": "Observer"},
        {"empty": "{}, {}", "before": "self.given[layer].append(args[0])", "after": "self.made[layer].append(out)",
         "renew": "self.made = {}\n        self.forget()",
         "more": "    def forget(self):\n        for rows in self.given.values():\n            rows.clear()"},
        {"empty": "{}, {}", "before": "self.given[layer].append(args[0])", "after": "self.made[layer].append(out)",
         "renew": "for one in self.made:\n            self.made[one] = []",
         "more": "    def forget(self, one):\n        self.given[one] = []"},
        {"renew": "for rows in (self.given, self.made):\n            rows.clear()"},
    ],
)  # fmt: skip
def test_what_is_emptied_too_or_is_a_record_of_its_own_is_not(changed: dict[str, str]) -> None:
    assert told(**changed) == []


@pytest.mark.parametrize(("inside", "expected"), [(False, ["self.given in renew"]), (True, [])])
def test_an_object_of_one_step_goes_with_its_lists(*, inside: bool, expected: list[str]) -> None:
    lines = ["net = nn.Sequential(nn.Linear(3, 3))", "for x in loader:", "    net(x)", "    watch.renew()"]
    lines.insert(2 if inside else 1, f"{'    ' if inside else ''}watch = Watch(net[0])")
    assert told(more="\n".join(lines)) == expected


@pytest.mark.parametrize(
    ("emptying", "expected"),
    [("print(len(watch.given))", ["watch.py: TLK106 warning"]), ("watch.given.clear()", []), ("watch.given = []", [])],
)
def test_another_file_may_empty_it(tmp_path: Path, emptying: str, expected: list[str]) -> None:
    training = f"""
        from watch import Watch

        def train(net, loader, step):
            watch = Watch(net.body)
            for x, y in loader:
                step(net, x, y)
                watch.renew()
                {emptying}
    """
    keeping = {"before": "self.given.append(args[0].detach())", "after": "self.made.append(out.detach())"}
    text = "import torch\n" + WATCH.format(**{**USUAL, **keeping})
    project = Project(tmp_path, {"watch.py": text, "train.py": training})
    assert project.found() == expected
