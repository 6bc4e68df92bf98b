"""Reference circles of which one half stands in another file: a factory of hooks, a class that watches itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_across_files import Project

FACTORY = """
    import weakref
    from functools import partial

    def scaled(reference, factor=1.0):
        {before}
        def hook(grad):
            return grad * {used}
        return {returned}

    def _apply(factor, reference, grad):
        return grad
"""

BLOCK = """
    import torch
    from torch import nn
    from hooks import scaled

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(4, 4)

        def forward(self, h):
            out = torch.relu(self.inner(h))
            if out.requires_grad:
                out.register_hook({hook})
            return out
"""


@pytest.mark.parametrize(
    ("factory", "hook", "circles"),
    [
        ({}, "scaled(out)", 1),
        ({}, "scaled(reference=out, factor=0.1)", 1),
        ({}, "scaled(factor=0.1, reference=out.abs())", 1),
        ({"returned": "partial(_apply, factor, reference)", "used": "1"}, "scaled(out)", 1),
        ({}, "scaled(h)", 0),
        ({}, "scaled(out.detach())", 0),
        ({"used": "factor"}, "scaled(out)", 0),
        ({"used": "size", "before": "size = reference.abs().mean().item()"}, "scaled(out)", 0),
        ({"used": "known().mean()", "before": "known = weakref.ref(reference)"}, "scaled(out)", 0),
        ({"returned": "hook(reference)"}, "lambda grad: grad", 0),
    ],
)
def test_a_hook_holds_what_its_factory_in_another_file_is_given(
    tmp_path: Path, factory: dict[str, str], hook: str, circles: int
) -> None:
    given = {"before": "pass", "used": "reference.abs().mean()", "returned": "hook", **factory}
    files = {"hooks.py": FACTORY.format(**given), "block.py": BLOCK.format(hook=hook)}
    found = [one for one in Project(tmp_path, files).found("block.py") if "TLK407" in one]
    assert found == ["block.py: TLK407 error"] * circles


NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self, low=None):
            super().__init__()
            self.low, self.high = {low}, nn.Linear(3, 3)
            self.told, self.done = 0, []
            {registered}

        def note(self, *args):
            self.told += 1

        def observe(self):
            self.high.register_forward_hook(self.note)

        def count(self):
            print(self.told)

        def after(self, task):
            {kept}

        def forward(self, x):
            return self.high(self.low(x))
"""

TRIALS = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from {package} import Net

    def telling(net):
        def tell(loss):
            net.told += loss
        return tell

    def search(data):
        other, low = Net(), nn.Linear(3, 3)
        for trial in range(9):
            net = {made}
            net.after({task})
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            for x, y in DataLoader(data):
                loss = net(x).sum()
                loss.backward()
                optimizer.step()
"""

EACH_LAYER = "for layer in (self.low, self.high):\n                layer.register_forward_hook(self.note)"
PARTS = """parts = [nn.Linear(3, 3) for _ in range(3)]
            self.parts = nn.Sequential(*parts)
            for part in parts[1:]:
                part.register_forward_hook(self.note)"""


@pytest.mark.parametrize(
    ("net", "trials", "circles"),
    [
        ({}, {}, 0),
        ({"registered": "self.low.register_forward_hook(lambda *args: self.note(*args))"}, {}, 1),
        ({"registered": "self.low.register_forward_hook(self.note)"}, {"package": "nets"}, 1),
        ({"registered": EACH_LAYER}, {}, 1),
        ({"registered": PARTS}, {}, 1),
        ({"registered": "self.observe()"}, {}, 1),
        ({"registered": "low and self.observe()"}, {}, 0),
        ({"registered": "self.count()"}, {}, 0),
        ({"registered": "self.watch = lambda loss: self.note(loss)"}, {}, 1),
        ({"registered": "if low is None: self.watch = lambda loss: self.note(loss)"}, {}, 1),
        ({"registered": "if low is not None: self.watch = lambda loss: self.note(loss)"}, {}, 0),
        ({"registered": "if low: self.high.register_forward_hook(self.note)"}, {}, 0),
        ({"registered": "self.low.register_forward_hook(lambda *args: print(args))"}, {}, 0),
        ({"registered": "self.low.register_forward_hook(self.note).remove()"}, {}, 0),
        ({"registered": "low and low.register_forward_hook(self.note)"}, {"made": "Net(low)"}, 0),
        ({"registered": "self.low.register_forward_hook(self.note)"}, {"made": "other"}, 0),
        ({}, {"task": "telling(net)"}, 1),
        ({"kept": "self.listener = task"}, {"task": "telling(net)"}, 1),
        ({}, {"task": "lambda loss: net.note(loss)"}, 1),
        ({}, {"task": "telling(other)"}, 0),
        ({"kept": "task(self)"}, {"task": "telling(net)"}, 0),
        ({"kept": "self.done.append(repr(task))"}, {"task": "telling(net)"}, 0),
    ],
)
def test_a_net_of_each_trial_whose_class_stands_in_another_file(
    tmp_path: Path, net: dict[str, str], trials: dict[str, str], circles: int
) -> None:
    of_net = {"low": "nn.Linear(3, 3)", "registered": "pass", "kept": "self.done.append(task)", **net}
    of_trials = {"package": "nets.net", "made": "Net()", "task": "print", **trials}
    files = {
        "nets/__init__.py": "from nets.net import Net",
        "nets/net.py": NET.format(**of_net),
        "search.py": TRIALS.format(**of_trials),
    }
    found = [one for one in Project(tmp_path, files).found("search.py") if "TLK407" in one]
    assert found == ["search.py: TLK407 note"] * circles


METERS = """
    import weakref

    def rate(owner, momentum=0.9):
        {before}
        def note(*args):
            {noted}
        return note
"""

WATCHED = """
    from torch import nn
    from meters import rate

    class Net(nn.Module):
        def __init__(self, watch=False):
            super().__init__()
            self.low, self.rate = {low}, 0.0
            {registered}

        def told(self):
            {told}

        def forward(self, x):
            return self.low(x)
"""


@pytest.mark.parametrize(
    ("meters", "net", "circles"),
    [
        ({}, {}, 1),
        ({}, {"registered": "note = rate(self, 0.5)\n            self.low.register_forward_hook(note)"}, 1),
        ({}, {"registered": "self.listener = rate(self)"}, 1),
        ({}, {"registered": "self.low.register_forward_hook(rate(0, self))"}, 1),
        ({"noted": "owner.rate *= 2"}, {"registered": "self.low.register_forward_hook(rate(0, self))"}, 0),
        ({}, {"registered": "self.low.register_forward_hook(rate(self.rate))"}, 0),
        ({}, {"registered": "if watch: self.low.register_forward_hook(rate(self))"}, 0),
        ({}, {"told": "self.handle.remove()"}, 0),
        ({}, {"low": "print", "registered": "self.listener = rate(self)"}, 0),
        ({"before": "owner = weakref.ref(owner)", "noted": "owner().rate *= momentum"}, {}, 0),
        ({"before": "start = owner.rate", "noted": "print(start)"}, {}, 0),
    ],
)
def test_what_a_third_file_makes_holds_the_object_that_keeps_it(
    tmp_path: Path, meters: dict[str, str], net: dict[str, str], circles: int
) -> None:
    of_meters = {"before": "pass", "noted": "owner.rate *= momentum", **meters}
    registered = "self.handle = self.low.register_forward_hook(rate(self))"
    of_net = {"low": "nn.Linear(3, 3)", "registered": registered, "told": "print(self.rate)", **net}
    files = {
        "meters.py": METERS.format(**of_meters),
        "net.py": WATCHED.format(**of_net),
        "search.py": TRIALS.format(package="net", made="Net()", task="print").replace("net.after(print)", "pass"),
    }
    found = [one for one in Project(tmp_path, files).found("search.py") if "TLK407" in one]
    assert found == ["search.py: TLK407 note"] * circles


SEEN = """
    class Seen:
        def __init__(self, name, features):
            self.name, self.features, self.gradient = name, {kept}, None
            {registered}

        def on_gradient(self, gradient):
            self.gradient = gradient
"""

LOOK = """
    from torch import nn
    from seen import Seen

    def look(loader):
        body, head = nn.Linear(16, 24), nn.Linear(24, 4)
        for x, y in loader:
            seen = Seen("body", {features})
            head(seen.features).sum().backward()
            print(seen.gradient)
"""


@pytest.mark.parametrize(
    ("seen", "features", "circles"),
    [
        ({}, "body(x)", 1),
        ({"registered": "self.features.register_hook(self.on_gradient)"}, "body(x)", 1),
        ({"registered": "features.register_hook(lambda grad: self.on_gradient(grad))"}, "body(x)", 1),
        ({"registered": "features.register_hook(print)"}, "body(x)", 0),
        ({"registered": "features.register_hook(self.on_gradient).remove()"}, "body(x)", 0),
        ({"kept": "features.shape"}, "body(x)", 0),
        ({}, "body.weight", 0),
    ],
)
def test_an_object_of_another_file_hooks_the_tensor_that_it_keeps(
    tmp_path: Path, seen: dict[str, str], features: str, circles: int
) -> None:
    given = {"kept": "features", "registered": "features.register_hook(self.on_gradient)", **seen}
    files = {"seen.py": SEEN.format(**given), "look.py": LOOK.format(features=features)}
    found = [one for one in Project(tmp_path, files).found("look.py") if "TLK407" in one]
    assert found == ["look.py: TLK407 error"] * circles


STUDY = """
    from nets.net import Net
    import torch

    def study(data):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x in data:
            loss = net(x).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return {returned}
"""


@pytest.mark.parametrize(
    ("each", "returned", "circles"),
    [
        ("for data in sets: print(study(data))", "loss.item()", 1),
        ("print([study(data) for data in sets])", "loss.item()", 1),
        ("print(study(sets[0]))", "loss.item()", 0),
        ("for data in sets: print(study(data))", "net", 0),
    ],
)
def test_who_makes_one_is_asked_again_by_a_third_file(tmp_path: Path, each: str, returned: str, circles: int) -> None:
    net = NET.format(low="nn.Linear(3, 3)", registered="self.low.register_forward_hook(self.note)", kept="print(task)")
    files = {
        "nets/net.py": net,
        "study.py": STUDY.format(returned=returned),
        "run.py": f"from study import study\n\ndef run(sets):\n    {each}\n",
    }
    found = [one for one in Project(tmp_path, files).found() if "TLK407" in one]
    assert found == ["study.py: TLK407 note"] * circles


COUNTING = """
from torch import nn

class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {{}}
        self.handles = []

    def tap(self, name, layer):
        {tap}
        return {given}

    def note(self, name, out):
        self.seen[name] = out.mean().item()
"""

STACKED = """
from torch import nn
from counting import Counting

class Stacked(Counting):
    def __init__(self, widths, act=None):
        super().__init__()
        layers = []
        for i, width in enumerate(widths):
            layers.append(nn.Linear(width, width))
            {added}
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)
"""

EVOLVING = """
import torch
from torch.utils.data import DataLoader
from stacked import Stacked

def score(widths, act, data):
    net = Stacked(widths, act)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in DataLoader(data):
        loss = net(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {returned}

def search(pool, act, data):
    for turn in range(50):
        for widths, known in list(pool.items()):
            {asked}
                pool[widths] = score(widths, act, data)
"""

TAP = "layer.register_forward_hook(lambda module, given, out: self.note(name, out))"


@pytest.mark.parametrize(
    ("changed", "circles"),
    [
        ({}, 1),
        ({"added": "layers.append(nn.ReLU())\n            self.tap(i, layers[-1])"}, 1),
        ({"added": "relu = nn.ReLU()\n            self.tap(i, relu)\n            layers.append(relu)"}, 1),
        ({"added": "layers.append(self.tap(i, act))"}, 0),
        ({"added": "self.tap(i, nn.ReLU())"}, 0),
        ({"added": "layers.append(act and self.tap(i, nn.ReLU()))"}, 0),
        ({"given": "nn.Sequential(nn.Tanh())"}, 0),
        ({"tap": "layer.register_forward_hook(print)"}, 0),
        ({"tap": f"self.handles.append({TAP})"}, 0),
        ({"tap": f"if name: {TAP}"}, 0),
        ({"returned": "net"}, 0),
        ({"asked": "if True:"}, 1),
        ({"asked": "if known == turn:"}, 0),
    ],
)
def test_a_base_class_hooks_the_layer_that_it_is_handed(tmp_path: Path, changed: dict[str, str], circles: int) -> None:
    plain = {
        "tap": TAP,
        "given": "layer",
        "added": "layers.append(self.tap(i, nn.ReLU()))",
        "returned": "loss.item()",
        "asked": "if known is None:",
    }
    sources = [source.format(**{**plain, **changed}) for source in (COUNTING, STACKED, EVOLVING)]
    files = dict(zip(("counting.py", "stacked.py", "evolving.py"), sources, strict=True))
    found = [one for one in Project(tmp_path, files).found() if "TLK407" in one]
    assert found == ["evolving.py: TLK407 note"] * circles


def test_a_base_class_of_the_same_file_does_so(tmp_path: Path) -> None:
    given = {"tap": TAP, "given": "layer", "added": "layers.append(self.tap(i, nn.ReLU()))"}
    given |= {"returned": "loss.item()", "asked": "if known is None:"}
    source = "".join(part.format(**given) for part in (COUNTING, STACKED, EVOLVING))
    alone = source.replace("from counting import Counting\n", "").replace("from stacked import Stacked\n", "")
    found = [one for one in Project(tmp_path, {"alone.py": alone}).found() if "TLK407" in one]
    assert found == ["alone.py: TLK407 note"]


PROXY = """
    class Proxy:
        def __init__(self, net):
            self.net = {kept}
            self.total = 0.0
"""

CODES = """
    import weakref
    from torch import nn
    {imported}

    class Codes({base}):
        def __init__(self, net):
            {above}
            for layer in net.modules():
                if isinstance(layer, nn.ReLU):
                    {hooked}

        def count(self, layer, given, out):
            self.total += out.mean().item()

        def score(self, x):
            self.net(x)
            return self.total

    KINDS = {{"codes": Codes}}
"""

SEARCH = """
    import random
    import torch
    from torch import nn
    {imported}

    NET = nn.Sequential(nn.Linear(8, 8), nn.ReLU())

    def build(width):
        net = nn.Sequential(nn.Linear(8, width), nn.ReLU())
        return net

    def fitness(width, x, kept):
        net = {made}
        found = {object}
        {after}
        return found.score(x)

    def main(x):
        best, kept = 0.0, []
        for turn in {turns}:
            best = max(best, fitness(turn, x, kept))
        print(best)
"""


@pytest.mark.parametrize("are_together", [False, True])
@pytest.mark.parametrize(
    ("changed", "circles"),
    [
        ({}, 1),
        ({"object": "KINDS[random.choice(list(KINDS))](net)"}, 1),
        ({"object": "KINDS['codes'](net)"}, 1),
        ({"made": "nn.Sequential(nn.Linear(8, width), nn.ReLU())"}, 1),
        ({"made": "build(width).to('cuda').eval()"}, 1),
        ({"base": "object", "above": "self.net, self.total = net, 0.0"}, 1),
        ({"hooked": "self.handle = layer.register_forward_hook(self.count)"}, 1),
        ({"made": "NET"}, 0),
        ({"kept": "None"}, 0),
        ({"base": "object", "above": "self.net, self.total = weakref.ref(net), 0.0"}, 0),
        ({"above": "super().__init__(None); net = net.eval()"}, 0),
        ({"hooked": "layer.register_forward_hook(self.count).remove()"}, 0),
        ({"hooked": "layer.register_forward_hook(print)"}, 0),
        ({"after": "kept.append(found)"}, 0),
        ({"turns": "(8, 16, 32)"}, 0),
    ],
)
def test_an_object_keeps_the_network_that_it_is_made_for(
    tmp_path: Path, changed: dict[str, str], circles: int, *, are_together: bool
) -> None:
    usual = {
        "kept": "net", "base": "Proxy", "above": "super().__init__(net)", "made": "build(width)", "after": "pass",
        "hooked": "layer.register_forward_hook(self.count)", "object": "Codes(net)", "turns": "range(5000)",
    }  # fmt: skip
    lines = {**usual, **changed}
    proxy = PROXY.format(**lines)
    codes = CODES.format(imported="" if are_together else "from proxy import Proxy", **lines)
    search = SEARCH.format(imported="" if are_together else "from codes import KINDS, Codes", **lines)
    files = {"one.py": proxy + codes + search} if are_together else {}
    files |= {} if are_together else {"proxy.py": proxy, "codes.py": codes, "search.py": search}
    found = [one for one in Project(tmp_path, files).found() if "TLK407" in one]
    assert found == [f"{'one' if are_together else 'search'}.py: TLK407 note"] * circles
