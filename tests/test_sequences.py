"""``Sequential`` runs the forwards of its items, the first on what it is given, the others on what items give."""

from __future__ import annotations

import pytest
from programs import Program

NET = """
import collections
class Same(nn.Module):
    def forward(self, x):
        return x
class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, z):
        return self.layer(z)
net = {net}
print(net(torch.rand(2, 3)))
"""


def given(net: str, class_name: str) -> set[str]:
    """The kinds of what ``forward`` of a class gets."""
    program = Program(NET.format(net=net))
    forwards = [function for function in program.facts.graph.functions if function.name == "forward"]
    forward = next(f for f in forwards if f.owner is not None and f.owner.name == class_name)
    arguments = program.facts.solution.arguments_of(forward.parameters[1])
    return set().union(*map(program.kinds, arguments))


def test_the_first_item_gets_what_the_sequence_is_given() -> None:
    assert given("nn.Sequential(Same(), nn.Linear(3, 3))", "Same") == {"without graph"}


@pytest.mark.parametrize(
    "net",
    [
        "nn.Sequential(nn.Linear(3, 3), Same())",
        "nn.Sequential(*[nn.Linear(3, 3), Same()])",
        "nn.Sequential(Dense(), Same())",
        "nn.Sequential(collections.OrderedDict(a=Dense(), b=Same()))",
    ],
)
def test_what_stands_behind_gets_what_an_item_gives(net: str) -> None:
    assert given(net, "Same") == {"live"}


def test_a_backward_over_a_sequence_says_nothing_of_what_it_is_given() -> None:
    program = Program(
        NET.replace("torch.rand(2, 3)", "x").format(net="nn.Sequential(Same(), nn.Linear(3, 3))")
        + "for x in loader:\n    net(x).sum().backward()\n    print(x)\n"
    )
    assert "live" not in program.kinds(program.printed()[-1])


def test_layers_alone_are_run_by_torch() -> None:
    program = Program("net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())\nprint(net(torch.rand(2, 3)))")
    assert program.kinds(program.shown()) == {"live"}


@pytest.mark.parametrize("items", ["*list(net.children())[:-1], nn.Flatten()", "*net.children(), nn.ReLU()", "given"])
def test_a_sequence_of_what_is_not_known_may_have_parameters(items: str) -> None:
    source = f"""
def run(given, x):
    net = torch.hub.load('a', 'b')
    print(nn.Sequential({items})(x))
"""
    program = Program(source)
    assert program.kinds(program.shown()) == {"live"}
