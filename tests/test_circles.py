"""Reference circles through hooks, objects and local functions, and what only looks like one."""

from __future__ import annotations

from textwrap import indent

import libcst as cst
import pytest
from torchlint.rules.tlk407_reference_cycle import ReferenceCycle

from torchlint.facts import Facts
from torchlint.facts.hooks.circles import Through
from torchlint.rule import Level

HEAD = """
import functools
import weakref
import torch
from torch import nn
from torch.utils.data import DataLoader
model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

LOOP = """
for x, y in DataLoader(data):
    loss = {0}
    loss.backward()
    optimizer.step()
"""


def levels(source: str) -> list[Level]:
    return [finding.level for finding in ReferenceCycle().check(Facts(cst.parse_module(HEAD + source)))]


def ways(source: str) -> list[Through]:
    return [circle.through for circle in Facts(cst.parse_module(HEAD + source)).circles]


def step(body: str) -> str:
    """A function that is called in every step and registers hooks on ``h``."""
    return f"def step(x, k):\n    h = model(x)\n{indent(body, '    ')}\n    return h.sum()\n{LOOP.format('step(x, 3)')}"


@pytest.mark.parametrize(
    "body",
    [
        "h.register_hook(lambda g: g * h.mean())",
        "def hook(g):\n    return g * h\nh.register_hook(hook)",
        "z = h * 2\nh.register_hook(lambda g: g + z.sum())",
        "z = h * 2\nz.register_hook(lambda g: g + z.sum())",
        "h.register_hook(functools.partial(scale, h))",
        "h.register_hook(lambda g, t=h: g * t)",
        "h.grad_fn.register_hook(lambda *a: print(h.shape))",
        "kept = [h]\nh.register_hook(lambda g: g * kept[0])",
        "def inner(g):\n    return g * h\nh.register_hook(lambda g: inner(g))",
        "h.register_hook(lambda g: g * h)\nh = torch.relu(h)",
        "if h.requires_grad:\n    h.register_hook(lambda g: g * h)",
    ],
)
def test_a_hook_that_leads_back_to_its_tensor_stays_for_ever(body: str) -> None:
    assert levels(step(body)) == [Level.ERROR]


@pytest.mark.parametrize(
    "body",
    [
        "h.register_hook(lambda g: g * k)",
        "h.register_hook(lambda g: g * x)",
        "n = h.detach()\nh.register_hook(lambda g: g * n)",
        "n = h.shape[0]\nh.register_hook(lambda g: g * n)",
        "n = h.mean().item()\nh.register_hook(lambda g: g * n)",
        "h.register_hook(print)",
        "grads = []\nh.register_hook(grads.append)",
        "grads = []\nh.register_hook(lambda g: grads.append(g))",
        "handle = h.register_hook(lambda g: g * h)\nhandle.remove()",
        "h.register_hook(lambda g: g * h)\nh = h.detach()",
        "t = h\nh.register_hook(lambda g: g * t)\ndel t",
        "r = weakref.ref(h)\nh.register_hook(lambda g: g * r())",
        "h.register_hook(lambda g: g * model[0].weight.mean())",
    ],
)
def test_a_hook_that_does_not_lead_back_is_none(body: str) -> None:
    assert levels(step(body)) == []


def test_turns_of_one_loop_share_a_variable() -> None:
    body = "    h = model(x)\n    h.register_hook(lambda g: g * h)\n    loss = h.sum()"
    script = f"def train():\n{indent(LOOP.replace('    loss = {0}', body), '    ')}\ntrain()\n"
    assert levels(script) == []
    assert levels(script.replace("lambda g: g * h", "lambda g, h=h: g * h")) == [Level.ERROR]


def test_a_function_that_nobody_is_seen_to_call_is_a_warning() -> None:
    source = "def penalize(h):\n    {0}\n    h.register_hook(lambda g: g * h)\n    return h\n"
    assert levels(source.format("pass")) == [Level.WARNING]
    assert levels(source.format("pass") + "penalize(model(torch.rand(3)))\n") == []
    assert levels(source.replace("return h", "return 0").format("pass")) == []
    assert levels(source.format("pass") + "for p in model.parameters():\n    penalize(p)\n") == []


def test_what_a_forward_hook_is_given_was_computed() -> None:
    source = "def look(module, i, o):\n    o.register_hook(lambda g: print({0}))\nmodel.register_forward_hook({1})\n"
    assert levels(source.format("o.shape", "look")) == [Level.WARNING]
    assert levels(source.format("module", "look")) == []
    assert levels(source.format("o.shape", "print")) == []


FACTORY = """
def made(t, k):
    def hook(g):
        return g * {0}
    return hook
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
    def forward(self, x):
        out = self.inner(x)
        out.register_hook(made(out, 2))
        return out
"""


def test_factories_of_hooks_are_looked_through() -> None:
    assert levels(FACTORY.format("t")) == [Level.ERROR]
    assert levels(FACTORY.format("k")) == []
    assert levels(FACTORY.format("t").replace("made(out, 2)", "made(out.detach(), 2)")) == []


OBJECT = """
class Batch:
    def __init__(self, x):
        self.out = model(x)
        {0}
    def go(self, *args):
        return self.out.sum()
    @staticmethod
    def static(batch):
        return batch.out.sum()
    def close(self):
        {1}
"""


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ("self.run = self.go", Level.WARNING),
        ("self.run = lambda: self.out.sum()", Level.WARNING),
        ("self.run = functools.partial(Batch.static, self)", Level.WARNING),
        ("self.table = {'go': self.go, 'n': 1}", Level.WARNING),
        ("self.calls = []; self.calls.append(self.go)", Level.WARNING),
        ("self.out.register_hook(self.go)", Level.ERROR),
        ("self.out.grad_fn.register_hook(lambda *a: self.go())", Level.ERROR),
        ("self.twice = self.out * 2; self.out.register_hook(functools.partial(print, self))", Level.ERROR),
    ],
)
def test_an_object_for_each_step_that_holds_itself_is_found(line: str, level: Level) -> None:
    source = OBJECT.format(line, "pass")
    assert levels(source + LOOP.format("Batch(x).go()")) == [level]
    assert levels(source + "batch = Batch(1)\n" + LOOP.format("batch.go()")) == []


@pytest.mark.parametrize(
    ("line", "close"),
    [
        ("self.run = Batch.static", "pass"),
        ("self.run = weakref.WeakMethod(self.go)", "pass"),
        ("me = weakref.ref(self); self.run = lambda: me().go()", "pass"),
        ("self.run = self.go", "self.run = None"),
        ("self.run = self.go", "del self.run"),
        ("self.size = self.go().item()", "pass"),
        ("h = self.out.register_hook(self.go); h.remove()", "pass"),
        ("self.out.register_hook(self.go)", "self.out = None"),
        ("self.out = self.out.detach(); self.run = 1", "pass"),
    ],
)
def test_an_object_that_lets_go_is_left_alone(line: str, close: str) -> None:
    assert levels(OBJECT.format(line, close) + LOOP.format("Batch(x).go()")) == []


def test_an_object_without_tensors_may_wait_for_the_collector() -> None:
    source = "class Note:\n    def __init__(self, n):\n        self.n = n\n        self.run = self.go\n"
    assert levels(source + "    def go(self):\n        return self.n\n" + LOOP.format("model(x) * Note(3).go()")) == []


def test_what_was_handed_over_lives_on_anyway() -> None:
    source = "class Run:\n    def __init__(self, net):\n        self.net = net\n        self.run = self.go\n"
    source += "    def go(self, x):\n        return self.net(x).sum()\n"
    assert levels(source + LOOP.format("Run(model).go(x)")) == []
    source = source.replace("self.net = net", "self.net = nn.Linear(3, 3)")
    assert levels(source + LOOP.format("Run(model).go(x)")) == [Level.WARNING]


OPERAND = """
class Gram:
    def __init__(self, rows, noise):
        self.rows, self.noise = rows, noise
    def {operator}(self, other):
        return {sum}
    def solver(self):
        {root}
        def solve(target):
            return {used}
        self.solve = solve
        return solve
"""


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, [Level.NOTE]),
        ({"root": "self.root, scale = torch.linalg.qr(self.rows)"}, [Level.NOTE]),
        ({"operator": "__matmul__"}, [Level.NOTE]),
        ({"operator": "merge"}, []),
        ({"sum": "self.rows + other.rows"}, []),
        ({"root": "self.root = torch.reshape(self.rows, (-1, 3))"}, []),
        ({"root": "self.root = self.rows"}, []),
        ({"root": "root = torch.linalg.cholesky(self.rows)", "used": "root @ target"}, []),
    ],
)
def test_an_object_of_which_operators_make_more_is_made_as_often_as_is_computed(
    changed: dict[str, str], found: list[Level]
) -> None:
    parts = {
        "operator": "__add__",
        "sum": "Gram(self.rows, self.noise + other)",
        "root": "self.root = torch.linalg.cholesky(self.rows)",
        "used": "self.root @ target",
    }
    assert levels(OPERAND.format(**parts | changed)) == found


MODULE = """
class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.layer.{0}
    def note(self, *args):
        self.seen = True
"""


def test_hooks_on_own_layers_hold_the_module() -> None:
    used = LOOP.format("Probe().layer(x)")
    assert levels(MODULE.format("register_forward_hook(self.note)") + used) == [Level.WARNING]
    assert levels(MODULE.format("weight.register_hook(lambda g: self.note(g))") + used) == [Level.WARNING]
    assert levels(MODULE.format("weight.register_post_accumulate_grad_hook(self.note)") + used) == [Level.ERROR]
    assert levels(MODULE.format("register_forward_hook(print)") + used) == []
    once = "probe = Probe()\n" + LOOP.format("probe.layer(x)")
    assert levels(MODULE.format("register_forward_hook(self.note)") + once) == []


def test_what_a_forward_is_given_waits_with_its_local_function() -> None:
    source = """
class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, x):
        def go(n, h):
            return {0} if n == 0 else go(n - 1, self.layer(h))
        return go(2, x)
"""
    assert ways(source.format("h + x")) == [Through.FUNCTION]
    assert ways(source.format("h")) == []


RECURSIVE = """
def step(x):
    h = model(x)
    def walk(n):
        return {0} if n == 0 else {1}
    {2}
    return total
"""


@pytest.mark.parametrize(
    ("base", "recursion", "rest", "expected"),
    [
        ("h.sum()", "walk(n - 1)", "total = walk(3)", [Through.FUNCTION]),
        ("h.sum()", "h.mean()", "total = walk(3)", []),
        ("0", "walk(n - 1)", "total = walk(3)", []),
        ("model[0].weight.sum()", "walk(n - 1)", "total = walk(3)", []),
        ("h.sum()", "walk(n - 1)", "total = walk(3); del walk", []),
    ],
)
def test_a_local_function_that_calls_itself_holds_what_it_uses(
    base: str, recursion: str, rest: str, expected: list[Through]
) -> None:
    assert ways(RECURSIVE.format(base, recursion, rest) + LOOP.format("step(x)")) == expected


TRIALS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(3, 3), nn.Linear(3, 3)
        self.told, self.done = 0, []
        {registered}
    def note(self, *args):
        self.told += 1
    def after(self, task):
        self.done.append(task)
    def forward(self, x):
        return self.high(self.low(x))
def telling(net):
    def tell(loss):
        net.told += loss
    return tell
def build(other):
    net = Net()
    net.after({task})
    return net
def search(data):
    other, kept = Net(), []
    for trial in range(9):
        {net}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in DataLoader(data):
            loss = net(x).sum()
            loss.backward()
            optimizer.step()
"""

LISTED = """for name in ("low", "high"):
            getattr(self, name).register_forward_hook(lambda *args, name=name: self.note(name, *args))"""


@pytest.mark.parametrize(
    ("given", "circles"),
    [
        ({}, 0),
        ({"registered": LISTED}, 1),
        ({"registered": LISTED.replace('("low", "high")', "dir(self)")}, 0),
        ({"task": "telling(net)"}, 1),
        ({"task": "telling(other)"}, 0),
        ({"task": "telling(net)", "net": "net = next(net for net in [build(other) for _ in range(2)])"}, 1),
        ({"task": "telling(net)", "net": "kept = {trial: build(other)}; net = kept[trial]"}, 1),
        ({"task": "telling(net)", "net": "new = []; new.append(build(other)); net = new[0]"}, 1),
        ({"task": "telling(net)", "net": "kept = kept[:2] + [build(other) for _ in range(2)]; net = kept[0]"}, 1),
        ({"task": "telling(net)", "net": "kept = [build(other)] + kept; net = kept[0]"}, 0),
        ({"task": "telling(net)", "net": "new = [build(other)]; kept.append(new); net = new[0]"}, 0),
        ({"task": "telling(net)", "net": "kept.append(build(other)); net = kept[-1]"}, 0),
        ({"task": "telling(net)", "net": "data.nets.append(build(other)); net = data.nets[-1]"}, 0),
    ],
)
def test_a_net_of_each_trial_that_holds_itself(given: dict[str, str], circles: int) -> None:
    settings = {"registered": "pass", "task": "print", "net": "net = build(other)", **given}
    assert levels(TRIALS.format(**settings)) == [Level.NOTE] * circles


ATTEMPTS = """
import functools
{decorated}
def stack(sizes):
    return nn.Sequential(*[nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])])
class Attempt:
    def __init__(self, width, given):
        self.encoder = {encoder}
        self.seen = 0
        {handle}self.encoder.register_forward_hook(lambda *args: {hook})
    def count(self, out):
        self.seen += 1
    @property
    def share(self):
        return self.seen / 9
    {rest}
def attempt(width, data, given):
    made = Attempt(width, given)
    optimizer = torch.optim.SGD(made.encoder.parameters(), lr=0.1)
    for x, y in DataLoader(data):
        loss = made.encoder(x).sum()
        loss.backward()
        optimizer.step()
    return loss.item(), {result}
def search(data):
    board, given = [], stack([3, 3])
    for width in range(9):
        board.append(attempt(width, data, given))
    print(board)
"""


@pytest.mark.parametrize(
    ("given", "circles"),
    [
        ({}, 1),
        ({"result": "made"}, 0),
        ({"result": "made.count"}, 0),
        ({"encoder": "given"}, 0),
        ({"decorated": "@functools.lru_cache"}, 0),
        ({"hook": "print(args)"}, 0),
        ({"handle": "self.handle = ", "rest": "def close(self):\n        self.handle.remove()"}, 0),
    ],
)
def test_an_object_whose_net_a_function_makes_and_that_leaves_a_number(given: dict[str, str], circles: int) -> None:
    usual = {"decorated": "", "encoder": "stack([3, width])", "handle": "", "hook": "self.count(args)", "rest": "pass"}
    assert levels(ATTEMPTS.format(**{**usual, "result": "made.share", **given})) == [Level.NOTE] * circles


EPISODES = """
class Flight:
    def __init__(self, x):
        self.frames = torch.zeros(len(x), 3)
        self.finish = functools.partial(self.end, 0.9)
    def end(self, gamma):
        return self.frames * gamma
def fly(net, x):
    flight = Flight(x)
    for row in x:
        with torch.no_grad():
            flight.frames[0] = net(row)
    return flight
def train(net, optimizer, batches):
    kept = []
    for x in batches:
        flight = fly(net, x)
        {kept}
        (net(flight.finish()) - 1).pow(2).mean().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("kept", "found"), [("pass", [Level.NOTE]), ("kept.append(flight)", [])])
def test_a_record_that_a_rollout_gives_to_each_step(kept: str, found: list[Level]) -> None:
    optimizer = "    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n    kept = []"
    assert levels("import functools\n" + EPISODES.format(kept=kept).replace("    kept = []", optimizer)) == found


TRIAL = """
class Trial:
    def __init__(self, lr):
        self.net = nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=lr)
        self.kept = {kept}
    def factor(self, step):
        return 0.5
    def train(self):
        for _ in range(9):
            self.net(torch.ones(3)).sum().backward()
            self.optimizer.step()
for lr in (0.1, 0.2, 0.3):
    Trial(lr).train()
"""


@pytest.mark.parametrize(
    ("kept", "count"),
    [
        ("torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: self.factor(step))", 1),
        ("torch.optim.lr_scheduler.MultiplicativeLR(self.optimizer, lr_lambda=self.factor)", 1),
        ("torch.utils.data.DataLoader([1, 2], collate_fn=self.factor)", 1),
        ("torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 0.5)", 0),
        ("torch.optim.lr_scheduler.StepLR(self.optimizer, 3)", 0),
    ],
)
def test_a_schedule_or_a_loader_keeps_the_function_that_it_is_made_with(kept: str, count: int) -> None:
    assert len(levels(TRIAL.format(kept=kept))) == count


LAYERS = """
class Tapped(nn.Module):
    def __init__(self, widths):
        super().__init__()
        units = []
        for width in widths:
            units.append(nn.Linear(width, width))
        {kept}
        self.seen = {{}}
        for i, unit in enumerate(units):
            unit.register_forward_hook(lambda module, given, out, i=i: self.seen.__setitem__(i, out))
    def forward(self, x):
        return x

for trial in range(20):
    net = Tapped([3, 3])
    for x, y in DataLoader(data):
        net(x).sum().backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("self.body = nn.Sequential(*units)", 1),
        ("self.units = nn.ModuleList(units)", 1),
        ("self.count = len(units)", 0),
    ],
)
def test_a_layer_of_a_list_of_which_a_sequence_is_made_is_the_own_one(kept: str, expected: int) -> None:
    assert len(levels(LAYERS.format(kept=kept))) == expected


ROUNDS = """
class Member:
    def __init__(self, quick):
        self.net = nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.criterion = self.plain if quick else functools.partial(self.weighted, 0.5)
    def plain(self, x):
        return self.net(x).sum()
    def weighted(self, factor, x):
        return factor * self.plain(x)
    def train(self, data):
        for x, y in DataLoader(data):
            loss = self.criterion(x)
            loss.backward()
            self.optimizer.step()
        return {given}
def join(data, quick):
    member = Member(quick)
    gained = member.train(data)
    return len(data), gained
def rounds(data, quick):
    kept = []
    for turn in range(200):
        {turn}
"""


@pytest.mark.parametrize(
    ("given", "turn", "count"),
    [
        ("loss.item()", "count, gained = join(data, quick); kept.append(gained)", 1),
        ("0", "kept.append(join(data, quick))", 1),
        ("self", "count, gained = join(data, quick); kept.append(gained)", 0),
    ],
)
def test_an_own_method_named_as_one_of_modules_gives_what_it_returns(given: str, turn: str, count: int) -> None:
    assert len(levels(ROUNDS.format(given=given, turn=turn))) == count


SEARCH = """
import random

class Tree(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(3, width)
        self.head = nn.Linear(width, 3)
        self.seen = 0
        self.body.register_forward_hook(lambda module, given, out: self.count(out))

    def count(self, out):
        self.seen += len(out)

    def forward(self, x):
        return self.head(self.body(x))

def score(width, loader):
    net = Tree(width)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()

def search(loader, count, widths):
    scores = {{}}
    for {trial} in {trials}:
        {drawn}
        {test}
        {first}scores[width] = score(width, loader)
    return min(scores, key=scores.get)
"""


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ({}, 1),
        ({"drawn": "width = random.randrange(400)", "test": "if width not in scores:", "first": "    "}, 1),
        ({"drawn": "width = random.randrange(400)", "test": "if width in scores: continue"}, 1),
        ({"trial": "width", "trials": "widths", "test": "if width not in scores:", "first": "    "}, 1),
        # What is asked for is the same in each turn, or a turn ends the search.
        ({"drawn": "width = count", "test": "if count not in scores:", "first": "    "}, 0),
        ({"drawn": "width = random.randrange(400)", "test": "if width in scores: break"}, 0),
    ],
)
def test_a_search_makes_a_net_for_each_candidate_that_it_has_not_tried(parts: dict[str, str], count: int) -> None:
    given = {"trial": "turn", "trials": "range(count)", "drawn": "width = 8 + turn", "test": "", "first": "", **parts}
    assert len(ways(SEARCH.format(**given))) == count


SEARCHED = """
import functools
import optuna

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        self.body.register_forward_hook(lambda module, given, out: self.note(out))
    def note(self, out):
        self.last = float(out.abs().mean())
    def forward(self, x):
        return self.body(x)

def fit(width):
    net, x = Net(), torch.ones(2, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(100):
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
    return net.last

def objective(trial):
    return fit(trial.suggest_int("width", 1, 8))

def search(study):
    STARTS

search(optuna.create_study())
"""


@pytest.mark.parametrize(
    ("starts", "count"),
    [
        ("study.optimize(objective, n_trials=100)", 1),
        ("study.optimize(func=lambda trial: objective(trial), n_trials=100)", 1),
        ("study.optimize(functools.partial(fit, 3), n_trials=100)", 1),
        ("objective(study.ask())", 0),
        ("study.tell(3, objective)", 0),
    ],
)
def test_a_search_makes_one_in_each_trial(starts: str, count: int) -> None:
    assert levels(SEARCHED.replace("STARTS", starts)) == [Level.NOTE] * count


SCENE = """
from functools import partial
from torchvision.io import {reader}
class Scene:
    def __init__(self, name):
        {read}
        self.views = {views}
    def view(self, side=8):
        return nn.functional.interpolate(self.pictures, size=side)
{use}
"""
READ_FILM = {
    "reader": "read_video",
    "read": 'self.pictures = read_video(name)[0].to("cuda").float() / 255',
    "views": '{"small": partial(self.view, side=4)}',
    "use": "for name in names:\n    print(Scene(name).views)\n    model(torch.rand(3, 3))",
}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"read": "pictures, sound, said = read_video(name)\n        self.pictures = pictures[::2] - 0.5"},
        {"reader": "read_image", "read": "self.pictures = read_image(name)"},
        {"views": "[self.view]"},
    ],
)
def test_an_object_has_what_it_reads_from_a_film_or_a_picture(changed: dict[str, str]) -> None:
    assert ways(SCENE.format(**{**READ_FILM, **changed})) == [Through.OBJECT]


@pytest.mark.parametrize(
    "changed",
    [
        {"read": "pictures, sound, said = read_video(name)\n        self.speed = said['video_fps']"},
        {"read": "self.length = len(read_video(name)[0])"},
        {"views": '{"small": partial(Scene.view, side=4)}'},
        {"use": "scene = Scene(first)\nfor x in DataLoader(data):\n    model(scene.views)"},
    ],
)
def test_what_is_said_of_a_film_weighs_nothing(changed: dict[str, str]) -> None:
    assert not ways(SCENE.format(**{**READ_FILM, **changed}))


HOOKED = """
class Cells(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cells = nn.ModuleList([nn.Linear(3, width), nn.Linear(width, 3)])
    def forward(self, x):
        return self.cells[1](self.cells[0](x))

class Probe:
    def __init__(self, net):
        self.net, self.seen = net, {{}}
        for number, cell in enumerate(net.cells):
            cell.register_forward_hook(lambda module, given, out, number=number: self.keep(number, out))
    def keep(self, number, out):
        self.seen[number] = out.detach()
    def rank(self, x):
        with torch.no_grad():
            self.net(x)
        return sum(one.norm().item() for one in self.seen.values())

def rank(width, x):
    {made}
    return probe.rank(x)

def search(trials, x):
    return [rank(8 + trial, x) for trial in range(trials)]

search(100, torch.rand(2, 3))
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("probe = Probe(Cells(width))", [Through.OBJECT]),
        ("probe = Probe(Cells(width).to(x.device))", [Through.OBJECT]),
        ("net = Cells(width)\n    probe = Probe(net)", [Through.OBJECT]),
        ("probe = Probe(known[width])", []),
    ],
)
def test_a_net_of_the_file_that_is_made_for_the_object_which_hooks_it(made: str, found: list[Through]) -> None:
    assert ways(HOOKED.format(made=made)) == found
