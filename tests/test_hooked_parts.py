"""Hooks on what a method gives, of the object's network or of one that is made anew."""

from __future__ import annotations

from textwrap import indent

import pytest
from programs import Program
from torchlint.rules.tlk303_hook_registered_again import HookRegisteredAgain

STEPS = """
def note(*args):
    pass

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 2)
    def forward(self, x):
        return self.head(self.body(x).relu())

class Hooked:
    kinds = (nn.Linear, nn.Conv1d)

    def parts(self):
{parts}

    def hook(self):
{hook}

class Stepper(Hooked):
    def __init__(self, net):
        self.net, self.handles = net, []
        self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step(self, x, y):
{first}
        loss = F.cross_entropy(self.net(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

{loop}
"""

EACH = "for part in self.parts():\n    part.register_forward_pre_hook(note)"
GIVEN = "return (part for part in self.net.modules() if isinstance(part, self.kinds))"
ONE = "stepper = Stepper(Net())\nfor x, y in DataLoader(rows):\n    stepper.step(x, y)"


def told(parts: str = GIVEN, hook: str = EACH, first: str = "self.hook()", loop: str = ONE) -> int:
    """How many statements pile up hooks."""
    blocks = {"parts": parts, "hook": hook, "first": first}
    source = STEPS.format(loop=loop, **{name: indent(block, " " * 8) for name, block in blocks.items()})
    return len(list(HookRegisteredAgain().check(Program(source).facts)))


@pytest.mark.parametrize(
    "parts",
    [
        GIVEN,
        "return [part for part in self.net.modules() if isinstance(part, self.kinds)]",
        "return filter(lambda part: isinstance(part, self.kinds), self.net.modules())",
        "return self.net.modules()",
        "for part in self.net.modules():\n    if isinstance(part, self.kinds):\n        yield part",
        "found = []\nfor part in self.net.children():\n    found.append(part)\nreturn found",
        "return [self.net.body, self.net.head]",
    ],
)
def test_parts_of_the_network_are_the_same_in_each_step(parts: str) -> None:
    assert told(parts) == 1


def test_a_single_part_too() -> None:
    assert told("return self.net.head", "self.parts().register_forward_hook(note)") == 1


def test_another_object_for_each_step_hooks_the_same_network() -> None:
    assert told(loop="net = Net()\nfor x, y in DataLoader(rows):\n    Stepper(net).step(x, y)") == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"parts": "return (nn.Linear(8, 8) for _ in range(3))"},
        {"parts": "return [nn.Linear(8, 8) for _ in range(3)]"},
        {"parts": "for _ in range(3):\n    yield nn.Linear(8, 8)"},
        {"parts": "found = []\nfor _ in range(3):\n    found.append(nn.Linear(8, 8))\nreturn found"},
        {"first": "pass", "loop": f"Stepper(Net()).hook()\n{ONE}"},
        {"first": "self.hook()\nfor handle in self.handles:\n    handle.remove()",
         "hook": "self.handles = [part.register_forward_hook(note) for part in self.parts()]"},
        {"parts": "return self.net.head",
         "hook": "with self.parts().register_forward_hook(note):\n    self.net(torch.zeros(1, 8))"},
        {"first": "if not self.handles:\n    self.hook()\n    self.handles = [True]"},
        {"first": "self.net = Net()\nself.hook()"},
        {"first": "self.net = Net()\nself.hook()",
         "hook": "for part in self.net.modules():\n    part.register_forward_hook(note)"},
        {"loop": "for x, y in DataLoader(rows):\n    stepper = Stepper(Net())\n    stepper.step(x, y)"},
    ],
)  # fmt: skip
def test_what_is_made_anew_or_hooked_once_or_let_go_piles_nothing_up(changed: dict[str, str]) -> None:
    assert told(**changed) == 0
