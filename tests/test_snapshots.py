"""Copies of a model that a container collects, and what shares the model's memory or goes away again."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

HEAD = """
import copy, heapq, random
from collections import deque
import torch
from torch import nn
from torch.utils.data import DataLoader
"""

LOOP = """
for step, (x, y) in enumerate(loader):
    model(x).sum().backward()
    optimizer.step()
"""


def collected(body: str, before: str = "kept = []") -> list[str]:
    """Of what copies are collected when ``body`` ends each step, each as "holder of subject"."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    facts = Program(f"{before}\n{TRAINING}{LOOP}{lines}", head=HEAD).facts
    return [f"{found.insertion.name} of {found.subject}" for found in facts.snapshots]


@pytest.mark.parametrize(
    ("body", "subject"),
    [
        ("kept.append(copy.deepcopy(model))", "model"),
        ("kept.append(copy.deepcopy(model.state_dict()))", "model"),
        ("kept.append(copy.deepcopy(optimizer.state_dict()))", "optimizer"),
        ("kept.append((step, {'model': copy.deepcopy(model)}))", "model"),
        ("kept.append(dict(model=copy.deepcopy(model)))", "model"),
        ("one = dict(step=step)\none['model'] = copy.deepcopy(model)\nkept.append(one)", "model"),
        ("one = dict(step=step)\none.update(model=copy.deepcopy(model))\nkept.append(one)", "model"),
        ("kept += [copy.deepcopy(model).eval()]", "model"),
        ("kept.append({k: v.clone() for k, v in model.state_dict().items()})", ""),
        ("kept.append({k: copy.deepcopy(v) for k, v in model.state_dict().items()})", ""),
        ("kept.append([torch.clone(p).detach() for p in model.parameters()])", ""),
        ("kept.append([p.detach().clone() for p in model.parameters()])", ""),
        ("state = {}\nfor k, v in model.state_dict().items():\n    state[k] = v.clone()\nkept.append(state)", ""),
        ("kept.append(torch.cat([p.data.view(-1) for p in model.parameters()]))", ""),
        ("kept.append(torch.nn.utils.parameters_to_vector(model.parameters()).detach())", "model"),
    ],
)
def test_copies_that_pile_up(body: str, subject: str) -> None:
    assert collected(body) == [f"kept of {subject}"]


@pytest.mark.parametrize(
    "body",
    [
        "kept.append(model.state_dict())",
        "kept.append(copy.deepcopy(y))",
        "kept.append({k: v.cpu() for k, v in model.state_dict().items()})",
        "kept.append({k: copy.deepcopy(v).cpu() for k, v in model.state_dict().items()})",
        "kept.append({k: v.detach().cpu().clone() for k, v in model.state_dict().items()})",
        "kept.append(copy.deepcopy(model).to('cpu'))",
        "kept.append(copy.deepcopy(model).to(torch.device('cpu')))",
        "kept.append([p.norm().item() for p in model.parameters()])",
        "kept.append(torch.stack([p.detach().norm() for p in model.parameters()]))",
        "kept.append(copy.deepcopy(model))\nkept.pop(0)",
        "kept.append(copy.deepcopy(model))\nkept = kept[-3:]",
        "kept.append((y, copy.deepcopy(model)))\nkept = sorted(kept, key=first)[:3]",
        "kept.append((y, copy.deepcopy(model)))\nif step > 3:\n    kept.remove(min(kept))",
        "kept.append((y, copy.deepcopy(model)))\nif step > 3:\n    heapq.heappop(kept)",
        "kept = [copy.deepcopy(model)]",
    ],
)
def test_what_is_small_or_on_the_host_or_goes_away(body: str) -> None:
    assert collected(body) == []


def test_a_bounded_container() -> None:
    assert collected("kept.append(copy.deepcopy(model))", "kept = deque(maxlen=3)") == []
    assert collected("kept[step % 3] = copy.deepcopy(model)", "kept = {}") == []
    assert collected("kept[step] = copy.deepcopy(model)", "kept = {}") == ["kept of model"]


def test_one_object_again_and_again_is_no_new_copy() -> None:
    assert collected("kept.append(first)", f"kept = []\n{TRAINING}first = copy.deepcopy(model)") == []


def test_a_helper_that_copies() -> None:
    helper = "kept = []\ndef snapshot(net):\n    return copy.deepcopy(net.state_dict())"
    assert collected("kept.append(snapshot(model))", helper) == ["kept of net"]


AVERAGE = """
def average(paths):
    kept = []
    for path in paths:
        kept.append({load})
    {end}
"""


@pytest.mark.parametrize(
    ("load", "end", "found"),
    [
        ("torch.load(path)['w']", "return sum(kept) / len(kept)", ["kept"]),
        ("torch.load(path)['w']", "return torch.stack(kept).mean(0)", ["kept"]),
        (
            "torch.load(path)['w']",
            "total = 0\n    for w in kept:\n        total = total + w\n    return total",
            ["kept"],
        ),
        ("torch.load(path)['w']", "total = 0\n    for w in kept:\n        total += w\n    return total", ["kept"]),
        ("torch.load(path)['w']", "return torch.stack(kept)", []),
        ("torch.load(path)['w']", "return torch.cat(kept)", []),
        ("torch.load(path)['w']", "return [w + 1 for w in kept]", []),
        ("torch.load('one.pt')[path]", "return sum(kept)", []),
        ("torch.load(path)['w'].norm()", "return sum(kept)", []),
    ],
)
def test_checkpoints_that_are_kept_until_they_are_added_up(load: str, end: str, found: list[str]) -> None:
    facts = Program(AVERAGE.format(load=load, end=end), head=HEAD).facts
    assert [one.name for one in facts.averaged_loads] == found


def test_a_search_that_tries_a_model_out_has_a_turn_for_each_try() -> None:
    source = """
class Search:
    def __init__(self, net, batches):
        self.net, self.batches = net.eval(), batches
        self.tries = []
    def grade(self):
        with torch.no_grad():
            return sum(self.net(x).mean().item() for x in self.batches)
    def consider(self):
        self.tries.append((self.grade(), copy.deepcopy(self.net.state_dict())))
    def run(self, budget):
        {run}
"""
    found = Program(source.format(run="while budget():\n            self.consider()"), head=HEAD).facts.snapshots
    assert [snapshot.subject for snapshot in found] == ["self.net"]
    assert Program(source.format(run="self.consider()"), head=HEAD).facts.snapshots == []


SWARM = """
def trained(start, part):
    {own}
    rule = torch.optim.SGD(own.parameters(), lr=0.1)
    for x, y in part:
        own(x).sum().backward()
        rule.step()
    return own.state_dict()

class Diary:
    def __init__(self):
        self.days = []
    def write(self, day, states):
        {write}

diary = Diary()
for day in range(days):
    {states}
    diary.write(day, states)
"""


@pytest.mark.parametrize(
    ("own", "states", "write", "count"),
    [
        ("own = copy.deepcopy(start)", "states = [trained(model, part) for part in parts]", "", 1),
        ("own = Net().to('cuda')", "states = [trained(model, part) for part in parts]", "", 1),
        ("own = start", "states = [trained(model, part) for part in parts]", "", 0),
        ("own = copy.deepcopy(start)", "states = [trained(model, part) for part in parts]", "self.days = [states]", 0),
        ("own = copy.deepcopy(start)", "states = trained(model, loader)", "", 0),
    ],
)
def test_lists_of_the_states_of_several_models(own: str, states: str, write: str, count: int) -> None:
    write = write or "self.days.append((day, states))"
    program = "class Net(nn.Linear):\n    pass\n" + TRAINING + SWARM.format(own=own, states=states, write=write)
    assert len(Program(program, head=HEAD).facts.snapshots) == count


@pytest.mark.parametrize(("made", "count"), [("copy.deepcopy(model)", 1), ("start", 0)])
def test_a_copy_that_is_handed_to_what_keeps_it(made: str, count: int) -> None:
    keeping = "def keep(one):\n    kept.append(one)\n"
    before = f"kept = []\n{keeping}start = copy.deepcopy(torch.nn.Linear(2, 2))"
    assert len(collected(f"keep({made})", before)) == count


CALLBACK = """
class Best:
    def __init__(self):
        self.seen = []
    def {name}(self, loop, score):
        {body}
    def close(self, loop):
        {close}
"""


@pytest.mark.parametrize(
    ("name", "body", "close", "supposed"),
    [
        ("on_epoch_end", "self.seen.append((score, copy.deepcopy(loop.model.state_dict())))", "pass", [True]),
        ("on_epoch_end", "self.seen.append(score)", "pass", []),
        ("on_epoch_end", "self.seen.append(copy.deepcopy(loop.model.state_dict()))", "self.seen.clear()", []),
        ("on_epoch_end", "self.seen = [copy.deepcopy(loop.model.state_dict())]", "pass", []),
        ("on_epoch_end", "kept = []; kept.append(copy.deepcopy(loop.model.state_dict()))", "pass", []),
        ("close_with", "self.seen.append(copy.deepcopy(loop.model))", "self.close_with(loop, 0)", []),
    ],
)
def test_a_method_that_others_call_collects_them(name: str, body: str, close: str, supposed: list[bool]) -> None:
    facts = Program(CALLBACK.format(name=name, body=body, close=close), head=HEAD).facts
    assert [found.is_supposed for found in facts.snapshots] == supposed


@pytest.mark.parametrize(
    ("chosen", "count"),
    [
        ("random.sample(workers, 3)", 1),
        ("random.choices(workers, k=3)", 1),
        ("[random.choice(workers) for _ in range(3)]", 1),
        ("heapq.nsmallest(3, workers, key=len)", 1),
        ("ask_operator(3)", 0),
    ],
)
def test_rounds_in_which_some_of_those_that_train_are_chosen(chosen: str, count: int) -> None:
    program = f"""
class Worker:
    def __init__(self, part):
        self.part = part
    def __len__(self):
        return len(self.part)
    def train(self, own):
        rule = torch.optim.SGD(own.parameters(), lr=0.1)
        for x, y in self.part:
            own(x).sum().backward()
            rule.step()

class Swarm:
    def __init__(self, workers):
        self.workers, self.shared, self.days = workers, nn.Linear(2, 2), []
    def work(self):
        workers = self.workers
        for worker in {chosen}:
            worker.train(self.shared)
        self.days.append(copy.deepcopy(self.shared))

swarm = Swarm([Worker(part) for part in parts])
for day in range(100):
    swarm.work()
"""
    assert len(Program(program, head=HEAD).facts.snapshots) == count


REWIND = """
class Rewind:
    def __init__(self):
        self.points = {{}}
    def after(self, run: "Run"):
        self.points[run.part] = copy.deepcopy(run.net)

class Run:
    def __init__(self, net):
        self.net, self.part, self.rewind = net, 0, Rewind()
    def fit(self, loader, optimizer):
        {loop}
            {part}
            self.net(x).sum().backward()
            optimizer.step()
            self.rewind.after(self)

Run(nn.Linear(3, 3)).fit(loader, optimizer)
"""


@pytest.mark.parametrize(
    ("loop", "part", "subjects"),
    [
        ("for self.part, x in enumerate(loader):", "pass", ["run.net"]),
        ("for step, x in enumerate(loader):", "self.part = step", ["run.net"]),
        ("for x in loader:", "self.part += 1", ["run.net"]),
        ("for x in loader:", "self.part = 'latest'", []),
    ],
)
def test_a_key_that_counts_the_steps_is_another_one_in_each(loop: str, part: str, subjects: list[str]) -> None:
    program = Program(REWIND.format(loop=loop, part=part), head=f"{HEAD}optimizer = torch.optim.SGD([], 0.1)\n")
    assert [snapshot.subject for snapshot in program.facts.snapshots] == subjects


def test_a_position_that_is_handed_round_counts_nothing() -> None:
    body = """
class Frames:
    def __init__(self):
        self.at, self.kept = 0, {}
    def move(self, to):
        self.at = to
    def read(self):
        self.kept[self.at] = copy.deepcopy(model)
        self.move(self.at)
"""
    assert Program(TRAINING + body, head=HEAD).facts.snapshots == []


@pytest.mark.parametrize(
    ("key", "count"), [("trainer.current_epoch", 1), ("trainer.global_step", 1), ("trainer.name", 0), ("'last'", 0)]
)
def test_a_copy_for_each_epoch_that_a_framework_counts(key: str, count: int) -> None:
    source = f"""
import copy
import pytorch_lightning as pl
class Path(pl.Callback):
    def __init__(self):
        self.kept = {{}}
    def on_train_epoch_end(self, trainer, module):
        self.kept[{key}] = copy.deepcopy(module.state_dict())
"""
    assert len(Program(source).facts.snapshots) == count


TRAINS_AS_IT_YIELDS = """
def epochs(count):
    for _ in range(count):
        for x, y in loader:
            model(x).sum().backward()
            optimizer.step()
        yield 0.5
"""


@pytest.mark.parametrize("over", ["epochs(3)", "enumerate(epochs(3))", "zip(epochs(3), range(3))", "tqdm(epochs(3))"])
def test_a_generator_may_train_from_item_to_item(over: str) -> None:
    program = f"kept = []\n{TRAINING}{TRAINS_AS_IT_YIELDS}\nfor _ in {over}:\n    kept.append(copy.deepcopy(model))\n"
    assert len(Program(program, head=f"{HEAD}from tqdm import tqdm\n").facts.snapshots) == 1


YIELDED = """
class Point(typing.NamedTuple):
    epoch: int
    weights: dict

def freeze(net):
    return {{k: copy.deepcopy(v) for k, v in net.state_dict().items()}}

def path(net, epochs):
    first = copy.deepcopy(net)
    for epoch in range(epochs):
        for x, y in loader:
            net(x).sum().backward()
            optimizer.step()
        yield {made}

def main():
    {taken}
    print(kept)
"""


def collected_of_generator(made: str, taken: str) -> int:
    """How many collections there are of what a generator yields after each of its epochs."""
    source = TRAINING + YIELDED.format(made=made, taken=taken)
    return len(Program(source, head=f"{HEAD}import typing\n").facts.snapshots)


@pytest.mark.parametrize(
    "taken",
    [
        "kept = list(path(model, 9))",
        "kept = sorted(path(model, 9), key=len)",
        "kept = [point for point in path(model, 9)]",
        "kept = {at: point for at, point in enumerate(path(model, 9))}",
        "kept = []\n    for point in path(model, 9):\n        kept.append(point)",
        "kept = []\n    for point in path(model, 9):\n        kept.append((0, point))",
    ],
)
@pytest.mark.parametrize(
    "made", ["Point(epoch, freeze(net))", "freeze(net)", "copy.deepcopy(net)", "(epoch, freeze(net))"]
)
def test_all_copies_that_a_generator_yields(made: str, taken: str) -> None:
    assert collected_of_generator(made, taken) == 1


@pytest.mark.parametrize(
    ("made", "taken"),
    [
        ("freeze(net)", "kept = max(path(model, 9), key=len)"),
        ("freeze(net)", "kept = deque(path(model, 9), maxlen=2)"),
        ("freeze(net)", "for kept in path(model, 9):\n        pass"),
        ("freeze(net)", "kept = [len(point) for point in path(model, 9)]"),
        ("(epoch, freeze(net))", "kept = []\n    for epoch, _ in path(model, 9):\n        kept.append(epoch)"),
        ("first", "kept = list(path(model, 9))"),
        ("first", "kept = []\n    for point in path(model, 9):\n        kept.append(point)"),
        ("net.state_dict()", "kept = list(path(model, 9))"),
        ("{k: v.cpu() for k, v in net.state_dict().items()}", "kept = list(path(model, 9))"),
        ("copy.deepcopy(net)", "kept = [copy.deepcopy(model) for _ in range(3)]"),
        ("freeze(net)", "for x, y in loader:\n        model(x).sum().backward()\n        kept = list(path(model, 9))"),
        ("3", "for epoch in path(model, 9):\n        kept = [freeze(model) for _ in path(model, 9)]"),
    ],
)
def test_what_a_generator_yields_goes_away_or_is_no_copy(made: str, taken: str) -> None:
    assert collected_of_generator(made, taken) == 0


def test_the_second_of_a_pair_that_a_generator_yields() -> None:
    taken = "kept = []\n    for epoch, weights in path(model, 9):\n        kept.append(weights)"
    assert collected_of_generator("(epoch, freeze(net))", taken) == 1


HISTORY = """
class Entry:
    def __init__(self, epoch, weights):
        self.epoch, self.weights = epoch, weights

class History:
    def __init__(self):
        self.entries = []

    def add(self, epoch, weights):
        self.entries.append({entry})

class Returning:
    def __init__(self):
        self.history = History()

    def {event}(self, trainer):
        {before}
        self.history.add(trainer.epoch, copy.deepcopy(trainer.model.state_dict()))
"""


@pytest.mark.parametrize(
    ("entry", "before", "event", "count"),
    [
        ("weights", "pass", "on_epoch_end", 1),
        ("weights", "pass", "on_fit_start", 0),
        ("weights", "pass", "before_run", 0),
        ("(epoch, weights)", "pass", "after_epoch", 1),
        ("Entry(epoch, weights)", "pass", "remember", 1),
        ("Entry(epoch, None)", "pass", "on_epoch_end", 0),
        ("weights", "self.history = History()", "on_epoch_end", 0),
    ],
)
def test_a_history_that_an_object_has_is_its_own(entry: str, before: str, event: str, count: int) -> None:
    facts = Program(HISTORY.format(entry=entry, before=before, event=event), head=HEAD).facts
    assert [one.insertion.name for one in facts.snapshots] == ["self.entries"] * count


STATES = """
class Returning:
    def __init__(self):
        self.states = []

    def {event}(self):
        self.states.clear()

    def after_epoch(self):
        self.states.append({{"weights": copy.deepcopy(self.learner.model.state_dict())}})
"""


@pytest.mark.parametrize(("event", "count"), [("before_fit", 1), ("on_train_begin", 1), ("before_epoch", 0)])
def test_what_is_emptied_before_all_grows_through_all_of_it(event: str, count: int) -> None:
    found = Program(STATES.format(event=event), head=HEAD).facts.snapshots
    assert len(found) == count
