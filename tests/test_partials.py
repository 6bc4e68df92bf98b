"""``functools.partial``: what is called by its name later runs with what was bound to it before."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.values.graph import Value

HEAD = """
import torch
from functools import partial
from torch import nn
net, x, name = nn.Linear(3, 3), torch.rand(3), input()
"""

SCORE = """
def score(net, x, scale=1.0):
    return net(x) * scale
"""


def bindings(program: Program, name: str) -> list[dict[str, str]]:
    """What each call of a function gives to its parameters, as it is written."""
    calls = sorted(program.facts.solution.callers[program.function(name)].items(), key=lambda item: item[0].index)
    return [{p.name: _written(program, given) for p, given in binding.items()} for _, binding in calls]


def _written(program: Program, value: Value | None) -> str:
    if value is None:
        return ""
    return program.facts.code(value.syntax) if value.syntax is not None else value.name


@pytest.mark.parametrize(
    "call",
    [
        "f = partial(score, net, scale=2.0)\nf(x)",
        "partial(partial(score, net), scale=2.0)(x)",
        "table = {'a': partial(score, net, scale=2.0)}\ntable[name](x)",
        "partial(score, net)(x, 2.0)",
        "partial(score, scale=1.0, x=x)(net, scale=2.0)",
    ],
)
def test_what_was_bound_is_given_with_the_call(call: str) -> None:
    (given,) = bindings(Program(f"{SCORE}\n{call}\n", head=HEAD), "score")
    assert given == {"net": "nn.Linear(3, 3)", "x": "torch.rand(3)", "scale": "2.0"}


def test_through_a_return_value_and_an_argument() -> None:
    make = "def make(net):\n    return partial(score, net.eval())\n"
    use = "def use(scorer, xs):\n    for x in xs:\n        print(scorer(x))\n"
    program = Program(f"{SCORE}\n{make}\n{use}\nuse(make(net), load())\n", head=HEAD)
    assert [given["net"] for given in bindings(program, "score")] == ["net.eval()"]
    assert program.kinds(program.value("net(x)")) == {"live"}


def test_what_two_partials_of_one_function_disagree_on_cannot_be_told() -> None:
    program = Program(f"{SCORE}\nfor f in (partial(score, net, x), partial(score, net, x * 2)):\n    f()\n", head=HEAD)
    assert bindings(program, "score") == [{"net": "nn.Linear(3, 3)", "x": "", "scale": ""}]


def test_a_bound_method_has_its_receiver() -> None:
    journal = "class Journal:\n    def write(self, phase, value):\n        print(value)\n"
    program = Program(f"{journal}\njournal = Journal()\nemit = partial(journal.write, 'train')\nemit(x)\n", head=HEAD)
    assert bindings(program, "write") == [{"self": "Journal()", "phase": "'train'", "value": "torch.rand(3)"}]


def test_map_gives_the_items_to_what_is_left() -> None:
    program = Program(f"{SCORE}\nfor y in map(partial(score, net), load()):\n    print(y)\n", head=HEAD)
    assert bindings(program, "score") == [{"net": "nn.Linear(3, 3)", "x": "", "scale": ""}]
    assert "live" in program.kinds(program.shown())


def test_starred_arguments_bind_nobody_knows_what() -> None:
    program = Program(f"{SCORE}\npartial(score, *load())(x)\n", head=HEAD)
    assert bindings(program, "score") == []


def test_what_is_imported() -> None:
    program = Program("layer = partial(nn.Linear, 3)(4)\ny = layer(x)\nprint(y)\n", head=HEAD)
    assert program.kinds(program.shown()) == {"live"}
    program = Program("g = partial(torch.mul, net(x))\nprint(g(2))\n", head=HEAD)
    assert "live" not in program.kinds(program.shown())  # what stands where is not looked at


def test_a_partial_of_itself_ends() -> None:
    Program(f"{SCORE}\nf = score\nfor y in load():\n    f = partial(f, y)\nf()\n", head=HEAD)


def test_an_object_that_is_called_is_itself_the_receiver() -> None:
    mean = "class Mean:\n    def __call__(self, value, weight=1.0):\n        self.value = value * weight\n"
    program = Program(f"{mean}\nmean = Mean()\nnote = partial(mean, weight=0.5)\nnote(x)\n", head=HEAD)
    (given,) = bindings(program, "__call__")
    assert given == {"self": "Mean()", "value": "torch.rand(3)", "weight": "0.5"}


EVENTS = """
class Events:
    def __init__(self):
        self.handlers = {}
    def on(self, event, handler):
        self.handlers.setdefault(event, []).append(handler)
    def emit(self, event, **values):
        for handler in self.handlers.get(event, ()):
            handler(**values)
def keep(history, loss):
    history.append(loss)
events, first, second = Events(), [], []
events.on("step", partial(keep, first))
"""


def test_what_a_function_hands_on_by_name_reaches_a_partial() -> None:
    emitted = 'events.emit("step", loss=x)\n'
    assert {"history": "[]", "loss": "torch.rand(3)"} in bindings(Program(f"{EVENTS}{emitted}", head=HEAD), "keep")
    other = 'events.on("step", partial(keep, second))\n'
    found = bindings(Program(f"{EVENTS}{other}{emitted}", head=HEAD), "keep")
    assert {"history": "", "loss": "torch.rand(3)"} in found
