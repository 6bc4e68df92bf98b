"""Hooks that a method of another file's object registers, and a loop here that calls it again and again."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

MONITOR = """
    import torch
    from torch import nn

    class Monitor:
        def __init__(self, net):
            self.net, self.handles, self.norms = net, [], []

        def note(self, layer, args, out):
            self.norms.append(out.detach().norm().item())

        def start(self):
            {started}

        def stop(self):
            for handle in self.handles:
                handle.remove()
            self.handles.clear()
"""

WATCH = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from monitor import Monitor

    def watch(loader, data):
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        monitor = Monitor(net)
        {before}
        for x, y in DataLoader(data):
            {each}
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        monitor.stop()
"""

ALL = "for layer in self.net:\n                self.handles.append(layer.register_forward_hook(self.note))"


@pytest.mark.parametrize(
    ("monitor", "watch", "told"),
    [
        ({}, {"each": "monitor.start()"}, ["monitor.py: TLK303 note"]),
        ({"started": ALL}, {"each": "monitor.start()"}, ["monitor.py: TLK303 note"]),
        ({"started": "self.net[0].register_forward_hook(self.note)"}, {"each": "monitor.start()"},
         ["watch.py: TLK303 warning"]),
        ({"started": "self.net[0].register_forward_hook(self.note)"}, {"each": "if x.isfinite(): monitor.start()"},
         ["watch.py: TLK303 warning"]),
        ({"started": "self.net[0].register_forward_hook(self.note)"}, {"each": "if monitor.is_new(x): monitor.start()"},
         []),
        ({}, {"before": "monitor.start()"}, []),
        ({}, {"each": "monitor.start(); net(x); monitor.stop()"}, []),
        ({"started": "self.net[0].register_forward_hook(self.note).remove()"}, {"each": "monitor.start()"}, []),
        ({"started": "if not self.handles: self.handles += [self.net[0].register_forward_hook(self.note)]"},
         {"each": "monitor.start()"}, []),
    ],
)  # fmt: skip
def test_a_method_that_hooks_what_its_object_holds(
    tmp_path: Path, monitor: dict[str, str], watch: dict[str, str], told: list[str]
) -> None:
    of_monitor = {"started": "self.handles.append(self.net[0].register_forward_hook(self.note))", **monitor}
    files = {
        "monitor.py": MONITOR.format(**of_monitor),
        "watch.py": WATCH.format(**{"before": "pass", "each": "pass", **watch}),
    }
    found = Project(tmp_path, files).found()
    assert [one for one in found if "TLK303" in one] == told


TAPS = """
    import torch
    from torch import nn

    class Taps:
        def __init__(self, net):
            self.seen = []
            for layer in net:
                layer.register_forward_hook(self.note)

        def note(self, layer, args, out):
            self.seen.append(out.mean().item())

    class Pair:
        def __init__(self, net):
            self.taps = Taps(net)
"""


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("def main(net):\n    taps = Pair(net)\n", False),
        ("import builder\ntaps = Pair(builder.net)\n", False),
        ("def look(net):\n    return Taps(net)\n", True),
        ("def main(nets):\n    return [Pair(net) for net in nets]\n", True),
        ("def main(net):\n    print(net)\n", True),
        ("class Net:\n    def __init__(self):\n        self.taps = Pair(self.children())\n", False),
        ("class Net:\n    def __init__(self):\n        self.taps = Pair(net=self)\n", False),
        ("class Net:\n    def __init__(self, net):\n        self.taps = Pair(net)\n", True),
        ("class Net:\n    def reset(self):\n        self.taps = Pair(self.children())\n", True),
        ("class Net:\n    def __init__(self):\n        self.taps = [Pair(self) for _ in range(3)]\n", True),
    ],
)
def test_an_object_that_leaves_hooks_and_is_made_once(tmp_path: Path, use: str, told: bool) -> None:
    files = {"taps.py": TAPS, "use.py": f"from taps import Pair, Taps\n{use}"}
    found = [one for one in Project(tmp_path, files).found() if "TLK303" in one]
    assert found == ["taps.py: TLK303 note"] * told


LOSS = """
    import torch
    from functools import cache
    from torch import nn
    from torchvision import models
    from torchvision.models import vgg16
    from taps import Pair

    def trunk(depth):
        net = vgg16(weights="DEFAULT").features[:depth]
        return net.eval()

    @cache
    def shared(depth):
        return vgg16(weights="DEFAULT").features[:depth]

    NET = shared(9)

    def known(depth):
        global NET
        if NET is None:
            NET = vgg16().features
        return NET

    class Loss{base}:
        def __init__(self, depth, given=None):
            {made}

        def again(self, depth):
            {again}
"""


@pytest.mark.parametrize("base", ["", "(nn.Module)"])
@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("self.net = vgg16().features[:depth].eval().requires_grad_(False); self.taps = Pair(self.net)", False),
        ("net = vgg16().features[:depth].eval(); self.taps = Pair(net)", False),
        ("net = trunk(depth); net = net.to('cuda'); self.taps = Pair(net=net)", False),
        ("self.taps = Pair(trunk(depth).children())", False),
        ("self.net = getattr(models, depth)(); self.taps = Pair(self.net)", False),
        ("self.net = getattr(given, depth)(); self.taps = Pair(self.net)", True),
        ("self.net = self.build(depth); self.taps = Pair(self.net)", True),
        ("self.net = given; self.taps = Pair(self.net)", True),
        ("self.net = given or vgg16(); self.taps = Pair(self.net)", True),
        ("net = trunk(depth); net = given; self.taps = Pair(net)", True),
        ("net = nn.Sequential(*given.children()); self.taps = Pair(net)", True),
        ("net = nn.Sequential(*trunk(depth)); self.taps = Pair(net)", False),
        ("net = shared(depth); self.taps = Pair(net)", True),
        ("net = known(depth); self.taps = Pair(net)", True),
        ("net = NET; self.taps = Pair(net)", True),
        ("net = trunk(depth); self.taps = [Pair(net) for _ in range(3)]", True),
    ],
)
def test_an_object_that_leaves_hooks_on_what_was_just_made(tmp_path: Path, base: str, made: str, told: bool) -> None:
    files = {"taps.py": TAPS, "loss.py": LOSS.format(base=base, made=made, again="pass")}
    found = [one for one in Project(tmp_path, files).found() if "TLK303" in one]
    assert found == ["taps.py: TLK303 note"] * told


def test_an_attribute_that_another_method_binds_may_be_an_old_one(tmp_path: Path) -> None:
    again = "if self.net is None: self.net = trunk(depth)\n            self.taps = Pair(self.net)"
    files = {"taps.py": TAPS, "loss.py": LOSS.format(base="", made="self.net = None", again=again)}
    found = [one for one in Project(tmp_path, files).found() if "TLK303" in one]
    assert found == ["taps.py: TLK303 note"]


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("def main(net): loss = Loss(9, net)\n", False),
        ("def fit(net): loss = Loss(9, net)\nif __name__ == '__main__':\n    fit(make())\n", False),
        ("from torchvision import models\ndef fit(): net = models.vgg16(); loss = Loss(9, given=net)\n", False),
        ("def fit(net): loss = Loss(9, net)\n", True),
        ("def fit(net): loss = Loss(9, net)\nfor net in [1, 2]:\n    fit(net)\n", True),
        ("def main(net):\n    for step in range(3): loss = Loss(9, net)\n", True),
        ("def main(net): loss = Loss(9, net)\nclass Trainer:\n    def go(self): loss = Loss(9, self.net)\n", True),
    ],
)
def test_an_object_that_leaves_hooks_is_made_by_one_that_is_made_once(tmp_path: Path, use: str, told: bool) -> None:
    loss = LOSS.format(base="(nn.Module)", made="self.taps = Pair(given)", again="pass")
    files = {"taps.py": TAPS, "loss.py": loss, "use.py": f"from loss import Loss\n{use}"}
    found = [one for one in Project(tmp_path, files).found() if "TLK303" in one]
    assert found == ["taps.py: TLK303 note"] * told


KEEPER = """
    from collections import defaultdict
    from functools import partial
    from torch import nn

    class Monitor:
        def __init__(self, net):
            self.seen = defaultdict(list)
            for name, layer in net.named_modules():
                if isinstance(layer, nn.ReLU):
                    layer.register_forward_hook(partial(self.note, name))

        def note(self, name, layer, given, out):
            self.seen[name].append(out)

        def forget(self):
            self.seen.clear()
"""

KEPT = """
    import torch
    from torch import nn
    from monitor import Monitor

    def fit(loader):
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer, monitor = torch.optim.SGD(net.parameters(), lr=0.1), Monitor(net)
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {after}
"""


@pytest.mark.parametrize(("after", "is_told"), [("pass", True), ("monitor.forget()", False)])
def test_what_nobody_in_the_run_asks_for_empties_nothing(tmp_path: Path, after: str, is_told: bool) -> None:
    files = {"monitor.py": KEEPER, "fit.py": KEPT.format(after=after)}
    found = [one for one in Project(tmp_path, files).found() if "TLK106" in one]
    assert found == (["monitor.py: TLK106 warning"] if is_told else [])
    assert not [one for one in Project(tmp_path, files).found("monitor.py") if "TLK106" in one]


SEEN = """
    class Seen:
        def __init__(self):
            self.outputs = []

        def note(self, layer, given, out):
            {kept}

        def largest(self):
            {read}

        def begin_anew(self):
            {anew}
"""

WATCHING = """
    from torch import nn
    from seen import Seen

    def watch(net):
        seen = Seen()
        hooks = [layer.register_forward_hook(seen.note) for layer in net.modules() if isinstance(layer, nn.ReLU)]
        return seen, hooks
"""

WATCHED = """
    import torch
    from torch import nn
    from watch import watch

    def fit(loader):
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 3))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        seen, hooks = watch(net)
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y){more}
            optimizer.zero_grad()
            {trains}
            {after}
        print(seen.largest())
"""


@pytest.mark.parametrize(
    ("parts", "is_told"),
    [
        ({}, True),
        ({"kept": "self.outputs.append((type(layer), given[0], out))"}, True),
        ({"kept": "self.outputs.append(out.detach())"}, False),
        ({"kept": "self.outputs = out"}, False),
        ({"read": "return self.outputs[-1]"}, False),
        ({"anew": "self.outputs.clear()"}, True),
        ({"anew": "self.outputs.clear()", "after": "seen.begin_anew()"}, False),
        ({"after": "seen.outputs = []"}, False),
        ({"more": " + seen.outputs[-1].mean()"}, False),
        ({"trains": "pass"}, False),
    ],
)
def test_three_files_have_a_hook_its_module_and_the_training(
    tmp_path: Path, parts: dict[str, str], is_told: bool
) -> None:
    filled = {
        "kept": "self.outputs.append(out)",
        "read": "return max(out.abs().max().item() for out in self.outputs)",
        "anew": "pass",
        "more": "",
        "trains": "loss.backward(); optimizer.step()",
        "after": "pass",
        **parts,
    }
    texts = {"seen.py": SEEN, "watch.py": WATCHING, "fit.py": WATCHED}
    project = Project(tmp_path, {name: text.format(**filled) for name, text in texts.items()})
    assert [one for one in project.found() if "TLK106" in one] == ["watch.py: TLK106 warning"] * is_told
