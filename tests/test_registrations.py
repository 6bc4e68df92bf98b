"""Which hooks pile up, and which are removed, new with their object, or registered once."""

from __future__ import annotations

from textwrap import indent

import libcst as cst
import pytest
from torchlint.rules.tlk303_hook_registered_again import HookRegisteredAgain

from torchlint.facts import Facts
from torchlint.rule import Level

HEAD = """
import contextlib
import torch
from torch import nn
from torch.utils.data import DataLoader
"""

OBJECTS = """
def note(*args):
    pass
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
handles = []
"""


def levels(source: str) -> list[Level]:
    return [finding.level for finding in HookRegisteredAgain().check(Facts(cst.parse_module(HEAD + source)))]


def loop(body: str, before: str = "", after: str = "") -> str:
    """A training loop in a script, with ``body`` before the forward."""
    return (
        f"{OBJECTS}{before}\nfor x, y in DataLoader(data):\n{indent(body, '    ')}\n"
        f"    loss = nn.functional.cross_entropy(net(x), y)\n    loss.backward()\n    optimizer.step()\n{after}"
    )


@pytest.mark.parametrize(
    "body",
    [
        "net.register_forward_hook(note)",
        "net[0].register_forward_pre_hook(note)",
        "_ = net.register_full_backward_hook(note)",
        "handle = net[0].register_forward_hook(note)",
        "handles.append(net[0].register_forward_hook(note))",
        "hooks = [m.register_forward_hook(note) for m in net.modules()]",
        "for m in net.children():\n    m.register_forward_hook(note)",
        "for name, m in net.named_modules():\n    if isinstance(m, nn.Linear):\n        m.register_forward_hook(note)",
        "getattr(net, '0').register_forward_hook(note)",
        "dict(net.named_modules())['0'].register_forward_hook(note)",
        "net[0].weight.register_hook(note)",
        "for p in net.parameters():\n    p.register_post_accumulate_grad_hook(note)",
        "for _, p in net.named_parameters():\n    p.register_hook(lambda g: g * 0.5)",
        "optimizer.register_step_post_hook(note)",
        "torch.nn.modules.module.register_module_forward_hook(note)",
        "if verbose:\n    net.register_forward_hook(note)",
        "if step % 50 == 0:\n    net.register_forward_hook(note)",
        "if step > 0 and step % 50 == 0:\n    net.register_forward_hook(note)",
        "if step == 0 or step % 50 == 0:\n    net.register_forward_hook(note)",
        "if not step % every:\n    net.register_forward_hook(note)",
        "if step % 50:\n    continue\nnet.register_forward_hook(note)",
    ],
)
def test_a_hook_for_each_step_piles_up(body: str) -> None:
    assert levels(loop(body)) == [Level.WARNING]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ('name.endswith("weight")', [Level.WARNING]),
        ("weight.dim() > 1", [Level.WARNING]),
        ("name not in seen", []),
        ("not hasattr(weight, 'seen')", []),
        ("getattr(weight, 'seen', None) is None", []),
        ("hasattr(weight, 'main_grad')", [Level.WARNING]),
        ("hasattr(weight, 'main_grad') and weight.main_grad is not None", [Level.WARNING]),
        ("getattr(weight, 'main_grad', None) is not None", [Level.WARNING]),
    ],
)
def test_which_parts_an_epoch_hooks_is_no_matter_of_how_often(chosen: str, expected: list[Level]) -> None:
    source = f"""
{OBJECTS}
def epoch(net, loader):
    for name, weight in net.named_parameters():
        if {chosen}:
            weight.register_hook(note)
    for x in loader:
        net(x).sum().backward()
        optimizer.step()

for _ in range(9):
    epoch(net, DataLoader(data))
"""
    assert levels(source) == expected


@pytest.mark.parametrize(
    "body",
    [
        "handle = net.register_forward_hook(note)\nnet(x)\nhandle.remove()",
        "with net.register_forward_hook(note):\n    net(x)",
        "handle = net.register_forward_hook(note)\nwith handle:\n    net(x)",
        "with contextlib.ExitStack() as stack:\n    stack.enter_context(net.register_forward_hook(note))\n    net(x)",
        "hooks = [m.register_forward_hook(note) for m in net]\nnet(x)\nfor h in hooks:\n    h.remove()",
        "hooks = {}\nhooks['a'] = net.register_forward_hook(note)\nnet(x)\n[h.remove() for h in hooks.values()]",
        "hooks = []\nhooks.append(net.register_forward_hook(note))\nnet(x)\nwhile hooks:\n    hooks.pop().remove()",
        "handle = net.register_forward_hook(note)\nstop(handle)",
        "handle = net.register_forward_hook(note)\natexit(handle.remove)",
        "hidden = net[0](x)\nhidden.register_hook(note)",
        "loss = net(x).sum()\nloss.grad_fn.register_hook(note)",
        "x.requires_grad_()\nx.register_hook(note)",
        "other = nn.Linear(3, 3)\nother.register_forward_hook(note)",
        "other = copy_of(net)\nparts = list(filter(callable, other.parts))\nparts[0].register_forward_hook(note)",
        "net._forward_hooks.clear()\nnet.register_forward_hook(note)",
        "if first is None:\n    first = net.register_forward_hook(note)",
        "if not hooked:\n    net.register_forward_hook(note)\n    hooked = True",
        "if first is None and step % 50 == 0:\n    first = net.register_forward_hook(note)",
        "for m in net.modules():\n    if not hasattr(m, 'h'):\n        m.h = m.register_forward_hook(note)",
    ],
)
def test_what_goes_with_its_turn_does_not(body: str) -> None:
    assert levels(loop(body, "hooked, first = False, None")) == []


FOUND = """
def part(whole, path):
    found = whole
    for name in path.split("."):
        found = getattr(found, name)
    return {returned}
"""


@pytest.mark.parametrize(("returned", "expected"), [("found", [Level.WARNING]), ("nn.Sequential(found)", [])])
def test_a_function_that_looks_up_a_part_makes_nothing(returned: str, expected: list[Level]) -> None:
    before = FOUND.format(returned=returned)
    assert levels(loop('part(net, "0").register_forward_hook(note)', before=before)) == expected


def test_a_function_that_looks_up_a_part_may_call_itself() -> None:
    walks = "def part(whole, path):\n    return part(part(whole, path[0]), path[1:]) if path else whole"
    assert levels(loop('part(net, "0").register_forward_hook(note)', before=walks)) == []


def test_to_remove_them_after_the_loop_is_too_late() -> None:
    body = "handles.append(net.register_forward_hook(note))"
    assert levels(loop(body, after="for h in handles:\n    h.remove()\n")) == [Level.WARNING]
    assert levels(loop(body, "handle = net.register_forward_hook(note)", "handle.remove()")) == [Level.WARNING]


def test_the_last_handle_may_be_removed_first() -> None:
    body = "if handle is not None:\n    handle.remove()\nhandle = net.register_forward_hook(note)"
    assert levels(loop(body, "handle = None")) == []


def test_once_before_the_loop_is_enough() -> None:
    assert levels(loop("pass", "net.register_forward_hook(note)")) == []
    each = "for p in net.parameters():\n    p.register_hook(note)\nfor m in net:\n    m.register_forward_hook(note)"
    assert levels(loop("pass", each)) == []


HELPER = """
def attach(module, where):
    {body}
"""


@pytest.mark.parametrize(
    ("helper", "body", "expected"),
    [
        ("module.register_forward_hook(note)", "attach(net, handles)", [Level.WARNING]),
        ("where.append(module.register_forward_hook(note))", "attach(net, handles)", [Level.WARNING]),
        ("return module.register_forward_hook(note)", "attach(net, handles)", [Level.WARNING]),
        ("return module.register_forward_hook(note)", "h = attach(net, handles)\nh.remove()", []),
        ("return module.register_forward_hook(note)", "with attach(net, handles):\n    net(x)", []),
        ("where.append(module.register_forward_hook(note))", "mine = []\nattach(net, mine)\nmine[0].remove()", []),
        ("module.register_forward_hook(note)", "attach(nn.Linear(3, 3), handles)", []),
    ],
)
def test_helpers_are_looked_through(helper: str, body: str, expected: list[Level]) -> None:
    assert levels(HELPER.format(body=helper) + loop(body)) == expected


FORWARD = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.handles = []
    def note(self, *args):
        pass
    def forward(self, x):
        {body}
        return self.inner(x)
    def close(self):
        {close}
"""


@pytest.mark.parametrize(
    ("body", "close", "expected"),
    [
        ("self.inner.register_forward_hook(self.note)", "pass", [Level.WARNING]),
        ("self.handles.append(self.inner.register_forward_hook(self.note))", "pass", [Level.WARNING]),
        ("self.handles.append(self.inner.register_forward_hook(self.note))", "self.handles.pop().remove()", []),
        ("x.register_hook(self.note)", "pass", []),
        ("h = self.inner.register_forward_hook(self.note); self.inner(x); h.remove()", "pass", []),
    ],
)
def test_a_forward_is_a_turn(body: str, close: str, expected: list[Level]) -> None:
    assert levels(FORWARD.format(body=body, close=close)) == expected


def test_an_object_for_each_turn_leaves_its_hooks_on_what_it_is_given() -> None:
    source = """
class Cam:
    def __init__(self, module):
        {0} = module.register_forward_hook(self.take)
    def take(self, *args):
        self.out = args[-1]
    def close(self):
        {1}
"""
    assert levels(source.format("_", "pass") + loop("cam = Cam(net)")) == [Level.WARNING]
    removed = source.format("self.handle", "self.handle.remove()")
    assert levels(removed + loop("cam = Cam(net)\nnet(x)\ncam.close()")) == []
    assert levels(removed + loop("cam = Cam(net)")) == [Level.WARNING]
    assert levels(removed.replace("close", "__exit__") + loop("with Cam(net):\n    net(x)")) == []
    assert levels(source.format("_", "pass") + loop("pass", "cam = Cam(net)")) == []


def test_a_function_that_leaves_its_hook_behind_is_a_note() -> None:
    source = """
def features(model, x):
    kept = []
    {0}
    model(x)
    {1}
    return kept[0]
"""
    hook = "model.layer.register_forward_hook(lambda m, i, o: kept.append(o))"
    assert levels(source.format(hook, "pass")) == [Level.NOTE]
    assert levels(source.format(f"h = {hook}", "h.remove()")) == []


EPOCHS = """
def note(*args):
    pass
def validate(model, loader):
    handle = model.inner.register_forward_hook(note)
    for x in loader:
        print(model(x))
    {0}
def main(loader):
    model = nn.Sequential()
    for epoch in range(10):
        {1}
        validate(model, loader)
"""


def test_hooks_outlive_epochs_too() -> None:
    assert levels(EPOCHS.format("pass", "pass")) == [Level.WARNING]
    assert levels(EPOCHS.format("handle.remove()", "pass")) == []
    assert levels(EPOCHS.format("pass", "model = nn.Sequential()")) == []
    assert levels(EPOCHS.format("pass", "pass").replace("for epoch in range(10)", "if True")) == []


OF_PARAMETERS = """
class Trainer:
    def __init__(self, net):
        self.net, self.opt, self.handles = net, torch.optim.SGD(net.parameters(), lr=0.1), []
    def watch(self):
        {watch}
    def note(self, grad):
        return grad.clamp(-1, 1)
    def epoch(self, loader):
        {before}
        for x, y in loader:
            nn.functional.mse_loss(self.net(x), y).backward()
            self.opt.step()
        {after}
def main(data):
    {made}
    for epoch in {epochs}:
        {anew}
        trainer.epoch(DataLoader(data))
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ({}, [Level.WARNING]),
        ({"watch": "self.net.register_forward_hook(note)"}, [Level.WARNING]),
        ({"watch": "self.handles = [p.register_hook(self.note) for p in self.net.parameters()]"}, [Level.WARNING]),
        (
            {
                "watch": "self.handles = [p.register_hook(self.note) for p in self.net.parameters()]",
                "after": "for handle in self.handles:\n            handle.remove()",
            },
            [],
        ),
        ({"before": "if not self.handles:\n            self.watch()"}, []),
        ({"watch": "if self.handles: return\n        self.handles.append(self.net.register_forward_hook(note))"}, []),
        ({"anew": "trainer = Trainer(nn.Linear(3, 3))"}, []),
        ({"anew": "trainer.net = nn.Linear(3, 3)"}, []),
        ({"before": "pass", "made": "trainer = Trainer(nn.Linear(3, 3))\n    trainer.watch()"}, []),
    ],
)
def test_a_method_that_hooks_for_each_epoch_is_repeated_by_the_loop_of_epochs(
    lines: dict[str, str], expected: list[Level]
) -> None:
    usual = {
        "watch": "for p in self.net.parameters():\n            p.register_hook(self.note)",
        "before": "self.watch()",
        "after": "print(len(self.handles))",
        "made": "trainer = Trainer(nn.Linear(3, 3))",
        "epochs": "range(10)",
        "anew": "pass",
    }
    assert levels(OF_PARAMETERS.format(**{**usual, **lines})) == expected


def test_callbacks_of_frameworks_are_turns() -> None:
    source = """
from lightning.pytorch import Callback
class Watch(Callback):
    def {0}(self, trainer, module, *args):
        module.encoder.register_forward_hook(self.take)
    def take(self, *args):
        pass
"""
    assert levels(source.format("on_train_batch_start")) == [Level.WARNING]
    assert levels(source.format("on_fit_start")) == []


WATCHER = """
class Watcher:
    def __init__(self, module):
        self.module = module
        self.handles = []
    def on(self):
        self.handles.append(self.module.register_forward_hook(self.take))
    def {0}(self, *args):
        for handle in self.handles:
            handle.remove()
    def take(self, *args):
        pass
"""


def test_a_method_that_removes_has_to_be_called() -> None:
    before = "watcher = Watcher(net)"
    assert levels(WATCHER.format("off") + loop("watcher.on()", before)) == [Level.WARNING]
    assert levels(WATCHER.format("off") + loop("watcher.on()\nnet(x)\nwatcher.off()", before)) == []
    assert levels(WATCHER.format("off") + loop("watcher.on()\nlater(watcher.off)", before)) == []
    assert levels(WATCHER.format("__exit__") + loop("watcher.on()", before)) == []


MANAGER = """
@contextlib.contextmanager
def tapped(module):
    handle = module.register_forward_hook(print)
    yield handle
    {0}
"""


def test_a_manager_has_to_remove_what_it_registers() -> None:
    assert levels(MANAGER.format("handle.remove()") + loop("with tapped(net):\n    net(x)")) == []
    assert levels(MANAGER.format("pass") + loop("with tapped(net) as h:\n    net(x)\n    h.remove()")) == []
    silent = MANAGER.format("pass").replace("yield handle", "yield []")
    assert levels(silent + loop("with tapped(net):\n    net(x)")) == [Level.WARNING]


WATCH = """
class Watch({base}):
    def __init__(self, model, width):
        super().__init__()
        self.model = {model}
        self.hooks = []
        self.start()
    def start(self):
        for layer in self.model.modules():
            {register}
    {rest}
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ({}, [Level.NOTE]),
        ({"rest": "def calibrate(self):\n        self.start()"}, []),
        ({"base": "nn.Module"}, []),
        ({"model": "nn.Linear(width, width)"}, []),
        ({"register": "self.hooks.append(layer.register_forward_hook(note))"}, []),
        ({"register": "layer.handle = layer.register_forward_hook(note)"}, []),
        ({"rest": "def stop(self):\n        for hook in self.hooks:\n            hook.remove()"}, []),
    ],
)
def test_an_object_that_leaves_hooks_on_the_model_it_was_given(lines: dict[str, str], found: list[Level]) -> None:
    usual = {"base": "object", "model": "model", "register": "layer.register_forward_hook(note)", "rest": "pass"}
    assert levels(f"{OBJECTS}{WATCH.format(**{**usual, **lines})}") == found


@pytest.mark.parametrize(
    ("check", "mark", "found"),
    [
        ("assert not hasattr(model, 'watched')", "watched", []),
        ("assert not hasattr(model, 'watched'), 'once'", "watched", []),
        ("if hasattr(model, 'watched'):\n            raise ValueError", "watched", []),
        ("assert not hasattr(model, 'watched')", "other", [Level.NOTE]),
        ("assert hasattr(model, 'watched')", "watched", [Level.NOTE]),
        ("assert not hasattr(width, 'watched')", "watched", [Level.NOTE]),
        ("if hasattr(model, 'watched'):\n            pass", "watched", [Level.NOTE]),
    ],
)
def test_an_object_that_refuses_a_model_with_its_mark(check: str, mark: str, found: list[Level]) -> None:
    lines = {"base": "object", "register": "layer.register_forward_hook(note)", "rest": "pass"}
    marking = f"model\n        {check}\n        model.{mark} = True"
    assert levels(f"{OBJECTS}{WATCH.format(model=marking, **lines)}") == found


@pytest.mark.parametrize(
    ("use", "found"),
    [
        ("Watch(net, 3)", []),
        ("def main():\n    Watch(net, 3)\nmain()", []),
        ("def main(net):\n    Watch(net, 3)", [Level.NOTE]),
        ("Watch(net, 3)\nWatch(net, 4)", [Level.NOTE]),
        ("def main():\n    Watch(net, 3)\n    Watch(nn.Linear(3, 3), 4)\nmain()", []),
    ],
)
def test_an_object_that_a_script_makes_once_has_no_successor(use: str, found: list[Level]) -> None:
    lines = {"base": "object", "model": "model", "register": "layer.register_forward_hook(note)", "rest": "pass"}
    assert levels(f"{OBJECTS}{WATCH.format(**lines)}\n{use}\n") == found


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("self.net = resnet18().layer1[:2].eval(); self.watch = Watch(self.net, 3)", []),
        ("net = resnet18().to('cuda').layer1; self.watch = Watch(net, 3)", []),
        ("self.net = net; self.watch = Watch(self.net, 3)", [Level.NOTE]),
        ("self.net = given.layer1[:2].eval(); self.watch = Watch(self.net, 3)", [Level.NOTE]),
        ("self.net = resnet18() if given is None else given; self.watch = Watch(self.net, 3)", [Level.NOTE]),
        ("net = resnet18(); self.watches = [Watch(net, n) for n in range(3)]", [Level.NOTE]),
    ],
)
def test_an_object_that_its_maker_gives_a_part_of_a_new_network(made: str, found: list[Level]) -> None:
    lines = {"base": "object", "model": "model", "register": "layer.register_forward_hook(note)", "rest": "pass"}
    maker = f"class Loss(nn.Module):\n    def __init__(self, given=None):\n        super().__init__(); {made}\n"
    program = f"from torchvision.models import resnet18\n{OBJECTS}{WATCH.format(**lines)}\n{maker}"
    assert levels(program) == found


FILMS = """
import os, pathlib
seen = set()
def is_known(path):
    return path in seen
class Maps:
    def __init__(self, model):
        self.model = model
    def listen(self):
        self.model[0].register_forward_hook(note)
def main(index):
    maps = Maps(net)
    for {items} in {paths}:
        if {asked}:
            maps.listen()
            net(torch.load(path))
            index.done = path
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ({}, [Level.WARNING]),
        ({"asked": "not os.path.exists(path.with_suffix('.png')) and path.is_file()"}, [Level.WARNING]),
        ({"items": "number, path", "paths": "enumerate(pathlib.Path('in').iterdir())"}, [Level.WARNING]),
        ({"asked": "not hasattr(path, 'done')"}, []),
        ({"asked": "not path.exists() and not is_known(path)"}, []),
        ({"asked": "not index.has(path)"}, []),
        ({"asked": "index.done is None"}, []),
        ({"items": "path", "paths": "range(9)", "asked": "path.bit_length()"}, []),
    ],
)
def test_turns_for_some_of_the_items_are_turns(lines: dict[str, str], found: list[Level]) -> None:
    usual = {"items": "path", "paths": "pathlib.Path('in').glob('*.pt')", "asked": "not path.with_suffix('').exists()"}
    assert levels(OBJECTS + FILMS.format(**{**usual, **lines})) == found


EXPLAINED = """
class Explained:
    def __init__(self, model, layer):
        self.model, self.layer, self.seen = model.eval(), layer, None
    def note(self, module, inputs, output):
        self.seen = output.detach()
    def {name}(self, x):
        {body}
"""


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("explain", "self.layer.register_forward_hook(self.note); return self.model(x)", [Level.NOTE]),
        ("explain", "h = self.layer.register_forward_hook(self.note); y = self.model(x); h.remove(); return y", []),
        ("explain", "self.layer.register_forward_hook(self.note); self.model.eval()", []),
        ("explain", "self.layer.register_forward_hook(self.note); return [self.model(one) for one in x]", []),
        ("__enter__", "self.layer.register_forward_hook(self.note); return self.model(x)", []),
    ],
)
def test_a_method_that_hooks_what_its_object_holds_and_runs_it_is_a_note(
    name: str, body: str, expected: list[Level]
) -> None:
    assert levels(EXPLAINED.format(name=name, body=body)) == expected


MONITOR = """
def note(*args):
    return None

def build(width):
    return nn.Sequential(nn.Linear(3, width), nn.ReLU())

class Monitor:
    def __init__(self, net):
        for layer in net.children():
            layer.register_forward_hook(note)

class Search:
    def __init__(self):
        self.net = build(3)

    def score(self, width):
        net = {net}
        monitor = Monitor(net)
        return net(torch.ones(3)).sum().item()
"""


@pytest.mark.parametrize(
    ("net", "expected"),
    [("build(width)", []), ("nn.Linear(3, width)", []), ("self.net", [Level.NOTE])],
)
def test_an_object_for_a_network_that_was_just_made_has_no_successor(net: str, expected: list[Level]) -> None:
    assert levels(MONITOR.format(net=net)) == expected


@pytest.mark.parametrize(
    ("kept", "expected"),
    [("session.add(", []), ("self.handles.append(", [Level.WARNING]), ("handles.append(", [])],
)
def test_a_handle_that_is_given_to_an_unknown_object_may_be_removed_by_it(kept: str, expected: list[Level]) -> None:
    source = f"""
class Looker:
    def __init__(self, net):
        self.net, self.handles = net.eval(), []

    def look(self, x, session, handles):
        seen = []
        {kept}self.net.register_forward_hook(lambda m, i, o: seen.append(o.sum().item())))
        self.net(x)
        return seen

looker = Looker(nn.Linear(3, 3))
for x in DataLoader(data):
    looker.look(x, session, handles)
"""
    assert levels(source) == expected


GIVEN_PARAMETERS = """
class Norms:
    def __init__(self, model):
        self.model, self.found = model, {{}}

    def note(self, name):
        def hook(slope):
            self.found[name] = slope.norm().item()
        return hook

    def watch(self, named):
        for name, part in named:
            part.register_hook(self.note(name))

def train(model, loader, optimizer):
    norms = Norms(model)
    for x, y in DataLoader(loader):
        norms.watch({given})
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ("model.named_parameters()", 1),
        ("norms.model.named_parameters()", 1),
        ("nn.Linear(3, 3).named_parameters()", 0),
        ("[('x', model(x))]", 0),
    ],
)
def test_parameters_that_a_method_is_given_to_hook(given: str, count: int) -> None:
    assert len(levels(GIVEN_PARAMETERS.format(given=given))) == count


NEW_ROWS = """
class NewRows:
    def __init__(self, model):
        self.model, self.table = model, model.get_input_embeddings()
        self.table.weight.requires_grad_(True)
        self.optimizer = torch.optim.Adam([GIVEN])

    def step(self, ids, labels, keep):
        loss = nn.functional.cross_entropy(self.model(ids), labels)
        self.table.weight.register_hook(lambda slope: slope * keep)
        loss.backward()
        self.optimizer.step()

def main(model, loader):
    rows = NewRows(model)
    for ids, labels, keep in loader:
        rows.step(ids, labels, keep)
"""


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ("self.table.weight", 1),
        ("{'params': [self.table.weight]}", 1),
        ("model.head.weight", 0),
        ("self.table.bias", 0),
    ],
)
def test_what_an_optimizer_is_given_by_itself_is_a_parameter(given: str, count: int) -> None:
    assert len(levels(NEW_ROWS.replace("GIVEN", given))) == count
