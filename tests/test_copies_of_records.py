"""Losses in a dictionary, of which a list keeps a copy; terms that a helper takes by their names."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

COPIED = """
kept = []
for x, y in loader:
    parts = {{"near": F.mse_loss(model(x), y), "size": model.weight.norm()}}
    (parts["near"] + parts["size"]).backward()
    optimizer.step()
    kept.append({copy})
"""


def leaks(copy: str) -> bool:
    """Whether the list leaks that keeps ``copy``."""
    return bool(Program(TRAINING + COPIED.format(copy=copy)).leaks())


@pytest.mark.parametrize(
    "copy",
    [
        "dict(parts)",
        "dict(parts, epoch=1)",
        "dict(epoch=1, near=parts['near'])",
        "{**parts, 'epoch': 1}",
        "{'epoch': 1, **parts}",
        "{**parts, 'near': parts['near'].item()}",
        "list(parts.values())",
        "tuple(parts.values())",
    ],
)
def test_a_copy_has_the_graphs_of_all_that_it_copies(copy: str) -> None:
    assert leaks(copy)


@pytest.mark.parametrize(
    "copy",
    [
        "dict(parts, near=parts['near'].item(), size=0.0)",
        "{**parts, 'near': parts['near'].item(), 'size': 0.0}",
        "{key: part.item() for key, part in parts.items()}",
        "list(parts)",
        "sorted(parts)",
        "list(parts.keys())",
        "dict(epoch=1)",
    ],
)
def test_one_of_names_or_in_which_each_is_replaced_has_none(copy: str) -> None:
    assert not leaks(copy)


TERMS = """
class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
        self.trail = {"terms": [], "rewards": []}
    def choose(self, x):
        out = self.net(x)
        self.note(terms=out.sum())
        return out.argmax().item()
    def note(self, **items):
        for name, item in items.items():
            self.trail[name].append(item)
policy = Policy()
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
for x, y in loader:
    policy.choose(x)
    TRAINED
"""


def test_what_a_helper_puts_under_a_name_is_what_another_function_reads_there() -> None:
    trained = "torch.stack(policy.trail['terms']).sum().backward()\n    policy.trail['terms'].clear()"
    assert Program(TRAINING + TERMS.replace("TRAINED", trained)).infers() == []
    assert Program(TRAINING + TERMS.replace("TRAINED", "print(policy.trail['rewards'])")).infers() == ["choose"]
