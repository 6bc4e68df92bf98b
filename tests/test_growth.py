"""What every step adds to a module or an optimizer, and what only looks like that."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import HEAD, TRAINING, Program
from projects import Project

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.table = nn.ModuleDict()
        self.layers = nn.ModuleList().to("cpu")
        for _ in range(2):
            self.layers.append(nn.Linear(3, 3))
    def forward(self, x):
        BODY
        return self.layers[-1](x)
"""

LOOP = """
for step, (x, y) in enumerate(loader):
    BODY
    model(x).sum().backward()
    optimizer.step()
"""


def grown(source: str) -> list[str]:
    """The names of what grows."""
    return [found.name for found in Program(source, head=HEAD).facts.growths]


def in_forward(body: str) -> list[str]:
    """What grows when ``body`` begins a network's forward."""
    return grown(NET.replace("BODY", body.replace("\n", "\n        ")))


def in_loop(body: str, before: str = "") -> list[str]:
    """What grows when ``body`` begins each step."""
    return grown(f"{before}\n{TRAINING}{LOOP.replace('BODY', body.replace(chr(10), chr(10) + '    '))}")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("self.layers.append(nn.Linear(3, 3))", "self.layers"),
        ("self.layers.extend([nn.Linear(3, 3), nn.ReLU()])", "self.layers"),
        ("self.layers += [nn.Linear(3, 3)]", "self.layers"),
        ("self.table[str(self.count)] = nn.Linear(3, 3)", "self.table"),
        ("self.add_module(f'extra{self.count}', nn.Linear(3, 3))", "self"),
        ("setattr(self, 'extra%d' % self.count, nn.Linear(3, 3))", "self"),
        ("self.register_buffer('mean' + str(self.count), x.detach())", "self"),
    ],
)
def test_each_forward_adds(body: str, name: str) -> None:
    assert in_forward(body) == [name]


def replaced(source: str) -> list[str]:
    """The attributes of modules that get a new layer in the place of the last one."""
    return [found.member for found in Program(source, head=HEAD).facts.constructions if found.member]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("self.head = nn.Linear(3, 3)", "self.head"),
        ("self.head = nn.Linear(x.shape[-1], 3).to(x.device)", "self.head"),
        ("self.layers[0] = nn.Linear(3, 3)", "self.layers[...]"),
    ],
)
def test_each_forward_puts_a_layer_in_the_place_of_the_last_one(body: str, name: str) -> None:
    assert replaced(NET.replace("BODY", body)) == [name]
    assert in_forward(body) == []


@pytest.mark.parametrize(
    "body",
    [
        "head = nn.Linear(3, 3)",
        "self.loss = nn.MSELoss()",
        "self.last = nn.Linear(3, 3)(x)",
        "self.count = [nn.Linear(3, 3)]",
        "self.layers.append(nn.Linear(3, 3))",
    ],
)
def test_no_layer_is_put_in_the_place_of_another(body: str) -> None:
    assert replaced(NET.replace("BODY", body)) == []


def test_a_step_puts_a_layer_into_a_model_but_not_into_another_object() -> None:
    step = f"{TRAINING}{LOOP}"
    assert replaced(step.replace("BODY", "model.head = nn.Linear(3, 3)")) == ["model.head"]
    assert replaced(step.replace("BODY", "args.head = nn.Linear(3, 3)")) == []


@pytest.mark.parametrize(
    "body",
    [
        "self.layers[0] = nn.Linear(3, 3)",
        "self.table['one'] = nn.Linear(3, 3)",
        "self.add_module('extra', nn.Linear(3, 3))",
        "setattr(self, f'count{x}', 3)",
        "if len(self.layers) < 4:\n    self.layers.append(nn.Linear(3, 3))",
        "if len(self.layers) < 4: self.layers.append(nn.Linear(3, 3))",
        "while len(self.layers) < 4:\n    self.layers.append(nn.Linear(3, 3))",
        "self.layers = nn.ModuleList()\nself.layers.append(nn.Linear(3, 3))",
        "chosen = nn.ModuleList()\nchosen.append(nn.ReLU())",
        "self.layers.append(nn.Linear(3, 3))\ndel self.layers[0]",
        "self.layers.append(nn.Linear(3, 3))\nself.layers = self.layers[-4:]",
    ],
)
def test_what_is_replaced_limited_or_taken_back(body: str) -> None:
    assert in_forward(body) == []


def test_groups_of_an_optimizer() -> None:
    assert in_loop("optimizer.add_param_group({'params': nn.Parameter(torch.zeros(3))})") == ["optimizer"]
    assert in_loop("if step == 5:\n    optimizer.add_param_group({'params': model.bias})") == []
    taken = "optimizer.add_param_group({'params': nn.Parameter(torch.zeros(3))})\noptimizer.param_groups.pop()"
    assert in_loop(taken) == []


def test_a_stage_may_add() -> None:
    source = f"""
{TRAINING}
net = nn.Sequential(model)
for stage in range(3):
    net.append(nn.Linear(3, 3))
    for x, y in loader:
        net(x).sum().backward()
        optimizer.step()
"""
    assert grown(source) == []


@pytest.mark.parametrize("result", ["net", "net, sizes", "(sizes, net)", "{'net': net, 'sizes': sizes}"])
def test_a_builder_may_look_at_what_comes_out(result: str) -> None:
    source = f"""
def build(sizes, x):
    net = nn.Sequential()
    for number, size in enumerate(sizes):
        net.add_module(str(number), nn.Linear(net(x).shape[1], size))
    return {result}
"""
    assert grown(source) == []


def test_who_returns_something_else_is_no_builder() -> None:
    source = """
def build(sizes, net, x):
    for number, size in enumerate(sizes):
        net.add_module(str(number), nn.Linear(net(x).shape[1], size))
        x.detach_()
    return sizes
build([3, 4], nn.Sequential(nn.Linear(3, 3)), torch.zeros(3))
"""
    assert grown(source) == ["net"]


def test_a_layer_that_is_built_to_be_added_is_one_cause() -> None:
    from torchlint.rules.tlk301_built_in_step import BuiltInStep

    facts = Program(
        NET.replace("BODY", "layer = nn.Linear(3, 3).to(x.device)\n        self.layers.append(layer)")
    ).facts
    assert [found.name for found in facts.growths] == ["self.layers"]
    assert list(BuiltInStep().check(facts)) == []


def test_what_is_moved_again_and_again_ends() -> None:
    assert in_loop("model = model.to('cpu')\nmodel.add_module('extra', nn.ReLU())\nmodel.append(nn.ReLU())") == []


FITTED = """
net = nn.Linear(3, 3).requires_grad_(False)
everything = torch.optim.Adam([nn.Parameter(torch.zeros(1))])
def fit(optimizer, target):
    {made}
    optimizer.add_param_group({{"params": {params}}})
    for _ in range(50):
        loss = (net({used}) - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {result}
"""

BY_CALL = "for target in torch.load('targets.pt'):\n    print(fit(everything, target))\n"


def in_line(source: str) -> str:
    """The function's body, as the body of the loop that called it."""
    lines = source.replace("(optimizer, target)", "").replace("optimizer.", "everything.").splitlines()
    at = lines.index("def fit:")
    return "\n".join([*lines[:at], "for target in torch.load('targets.pt'):", *lines[at + 1 : -1]])


@pytest.mark.parametrize(
    ("made", "params", "used", "result", "grows"),
    [
        ("code = nn.Parameter(torch.zeros(3))", "[code]", "code", "code.detach()", True),
        ("code = torch.zeros(3, requires_grad=True)", "code", "code", "loss.item()", True),
        ("code = torch.empty(3).normal_()\n    code.requires_grad_(True)", "[code]", "code", "code.detach()", True),
        ("code = torch.empty(3).normal_()", "[code]", "code", "code.detach()", False),
        ("warp = nn.Linear(3, 3)", "warp.parameters()", "warp(target)", "loss.item()", True),
        ("code = net.codes[target]", "[code]", "code", "loss.item()", False),
        ("net.code = code = nn.Parameter(torch.zeros(3))", "[code]", "code", "loss.item()", False),
    ],
)
def test_what_is_trained_for_one_turn_stays_in_the_optimizer_of_all(
    made: str, params: str, used: str, result: str, grows: bool
) -> None:
    source = FITTED.format(made=made, params=params, used=used, result=result)
    for written, name in ((f"{source}{BY_CALL}", "optimizer"), (in_line(source), "everything")):
        found = Program(written, head=HEAD).facts.growths
        assert [(one.name, one.of_one_turn) for one in found] == ([(name, True)] if grows else [])


def test_what_the_caller_gets_or_a_list_keeps_is_meant_to_stay() -> None:
    source = FITTED.format(made="code = nn.Parameter(torch.zeros(3))", params="[code]", used="code", result="code")
    assert grown(f"{source}{BY_CALL}") == []
    assert grown(in_line(source).replace("    everything.add", "    kept.append(code)\n    everything.add")) == []
    own = "def fit(_, target):\n    optimizer = torch.optim.Adam([nn.Parameter(torch.zeros(1))])"
    source = source.replace("def fit(optimizer, target):", own).replace("return code", "return loss.item()")
    assert grown(f"{source}{BY_CALL}") == []


TABLES = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.names = {}
        self.seen = {}
        self.layer = nn.Linear(3, 3)
    def tabulated(self, size, device):
        BODY
    def forward(self, x):
        return self.layer(x) + self.tabulated(len(x), x.device)
"""

REGISTERED = "self.register_buffer(name, torch.zeros(size, 3, device=device))\nreturn getattr(self, name)"


@pytest.mark.parametrize(
    ("known", "adds"),
    [
        ("name = f'of_{size}'", True),
        ("name = f'of_{size}'\nif hasattr(self, name):\n    return getattr(self, name)", False),
        ("name = f'of_{size}'\nif hasattr(self, name):\n    found = getattr(self, name)\n"
         "    if found.device == device:\n        return found", False),
        ("name = f'of_{size}'\nif hasattr(self, name):\n    if size > 3:\n        print(size)", True),
        ("name = self.names.get(size)\nif name is not None:\n    return getattr(self, name)\n"
         "name = self.names[size] = f'of_{size}'", False),
        ("name = self.seen.get(size)\nif name is not None:\n    return name\n"
         "name = self.names[size] = f'of_{size}'", True),
    ],
)  # fmt: skip
def test_one_for_each_size_is_made_once(known: str, adds: bool) -> None:
    body = f"{known}\n{REGISTERED}".replace("\n", "\n        ")
    assert grown(TABLES.replace("BODY", body)) == (["self"] if adds else [])


STARTED = """
    import torch
    from torch import nn

    def start(optimizer, size, rate=0.1):
        code = {made}
        optimizer.add_param_group({{"params": [code], "lr": rate}})
        {more}
        return code
"""

FIT = """
    import torch
    from torch import nn
    {imported}

    def fit(net, optimizer, target):
        code = start(optimizer, 3)
        for _ in range(50):
            loss = (net(code) - target).abs().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        {last}
        return {result}
"""

DRIVE = """
    import torch
    from torch import nn
    {imported}

    def main(targets):
        net, codes = nn.Linear(3, 3), []
        optimizer = torch.optim.Adam(net.parameters())
        {turns}:
            {each}
            print(fit(net, optimizer, target))
"""

PIECES = {"made": "nn.Parameter(torch.zeros(size))", "more": "pass", "last": "pass", "result": "loss.item()"}
PIECES |= {"turns": "for target in targets", "each": "pass"}

LAYOUTS = {
    "one": {"drive.py": (STARTED, FIT, DRIVE)},
    "start": {"start.py": (STARTED,), "drive.py": (FIT, DRIVE)},
    "fit": {"fit.py": (STARTED, FIT), "drive.py": (DRIVE,)},
    "three": {"start.py": (STARTED,), "fit.py": (FIT,), "drive.py": (DRIVE,)},
}
"""Which pieces stand in which file."""


def written(layout: str, changes: dict[str, str]) -> dict[str, str]:
    """The files of a layout, each with the imports that it needs."""
    files = LAYOUTS[layout]
    imports = [f"from {file[:-3]} import {file[:-3]}" for file in files if file != "drive.py"]
    return {
        file: "".join(
            piece.format(**{**PIECES, **changes, "imported": "\n    ".join(i for i in imports if file[:-3] not in i)})
            for piece in pieces
        )
        for file, pieces in files.items()
    }


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("changes", "grows"),
    [
        ({}, True),
        ({"made": "torch.zeros(size, requires_grad=True)"}, True),
        ({"last": "del optimizer.param_groups[-1]"}, False),
        ({"turns": "if target := targets[0]"}, False),
        ({"each": "optimizer = torch.optim.Adam(net.parameters())"}, False),
        ({"more": "KEPT.append(code)\n\n    KEPT = []\n    def unused(code):"}, False),
    ],
)
def test_a_helper_starts_what_is_trained_for_one_turn(
    tmp_path: Path, layout: str, changes: dict[str, str], grows: bool
) -> None:
    found = [one for one in Project(tmp_path, written(layout, changes)).found() if "TLK304" in one]
    assert bool(found) == grows, found
    assert len(found) < 2


def test_what_the_caller_of_the_training_is_given_may_be_kept(tmp_path: Path) -> None:
    files = written("three", {"result": "code"})
    assert not [one for one in Project(tmp_path, files).found() if "TLK304" in one]


ASKED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(3, 3)])
        self.known = 0
    def forward(self, x):
        return sum(head(x) for head in self.heads)
    def grow(self):
        BEFORE
        self.heads.append(nn.Linear(3, 3))

def update(net, optimizer, x):
    loss = net(x).sum()
    loss.backward()
    optimizer.step()
    return loss.item()

def train(net, batches, bound=0.5):
    optimizer = torch.optim.Adam(net.parameters())
    for x in batches:
        surprise = update(net, optimizer, x)
        ASK
            net.grow()

train(Net(), batches)
"""


@pytest.mark.parametrize(
    ("ask", "before", "grows"),
    [
        ("if surprise > bound:", "pass", True),
        ("if surprise - bound > 0:", "pass", True),
        ("if float(net(x).mean()) > bound:", "pass", True),
        ("if surprise > bound and len(net.heads) < 4:", "pass", False),
        ("if len(net.heads) == 4: continue\n        if surprise > bound:", "pass", False),
        ("if surprise > bound:", "if len(self.heads) == 4: return", False),
        ("if surprise > bound:\n            bound = 2 * surprise", "pass", False),
        ("if int(x.max()) > net.known:\n            net.known = int(x.max())", "pass", False),
    ],
)
def test_a_number_of_the_step_asks_for_more(ask: str, before: str, grows: bool) -> None:
    assert bool(grown(ASKED.replace("ASK", ask).replace("BEFORE", before))) == grows


ALIGNING = """
class Aligning:
    def start_aligning(self, width):
        self.width = width
        self.lateral = nn.ModuleList()

    def align(self, x):
        if x.size(1) != self.width:
            layer = nn.Conv2d(x.size(1), self.width, 1)
            self.lateral.append(layer)
            x = layer(x)
        return x

class Neck(Aligning, nn.Module):
    def __init__(self, width):
        super().__init__()
        self.start_aligning(width)

    def forward(self, maps):
        {before}
        return sum(self.align(one) for one in maps)
"""


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("pass", ["self.lateral"]),
        ("self.start_aligning(maps[0].size(1))", []),
        ("self.width = maps[0].size(1)", []),
    ],
)
def test_what_initializers_alone_call_settles_a_setting(before: str, found: list[str]) -> None:
    assert grown(ALIGNING.format(before=before)) == found


STATISTICS = """
class Statistics:
    def __init__(self, loss=0.0, count=0):
        self.loss, self.count = loss, count

    def update(self, other):
        self.loss += {added}
        self.count += other.count

def train(loader):
    report = Statistics()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report.update(Statistics({given}, len(x)))
    return report.loss
"""


@pytest.mark.parametrize(
    ("added", "given", "leaks"),
    [
        ("other.loss", "loss", ["self.loss"]),
        ("other.loss * other.count", "loss.clone()", ["self.loss"]),
        ("other.loss", "loss.item()", []),
        ("float(other.loss)", "loss", []),
    ],
)
def test_one_object_adds_up_what_others_of_its_class_have(added: str, given: str, leaks: list[str]) -> None:
    assert Program(TRAINING + STATISTICS.format(added=added, given=given)).leaks() == leaks


@pytest.mark.parametrize(
    ("condition", "grows"),
    [
        ("error.max().item() > 2", True),
        ("error.mean() > 2 * error.std()", True),
        ("self.training and error.mean() > 3", True),
        ("self.training and self.is_new(error.detach())", True),
        ("is_far(error, 3)", True),
        ("self.has_room(error)", False),
        ("len(self.layers) < 9 and error.mean() > 3", False),
    ],
)
def test_a_forward_adds_where_its_data_ask_for_it(condition: str, grows: bool) -> None:
    asked = f"error = (self.layers[0](x) - x).pow(2)\nif {condition}:\n    self.layers.append(nn.Linear(3, 3))"
    answers = """
    @staticmethod
    def is_new(values):
        return bool((values > values.mean() + 3 * values.std()).any())
    def has_room(self, values):
        return len(self.layers) < 9 and values.max().item() > 3
def is_far(values, bound):
    return values.norm().item() > bound
"""
    source = NET.replace("BODY", asked.replace("\n", "\n        ")) + answers
    assert grown(source) == (["self.layers"] if grows else [])
