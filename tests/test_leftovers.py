"""What a step leaves on an object or in a global variable, and what only looks left behind."""

from __future__ import annotations

import pytest
from programs import HEAD, TRAINING, Program
from rule_programs import diagnose

from torchlint.source import Source

LAYER = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, x):
        h = self.a(x)
        {body}
        return self.b(h)
model = Layer()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(dataset):
    loss = F.cross_entropy(model(x), y){more}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def left(source: str) -> list[tuple[str, bool]]:
    """What is left: its holder, and whether only nodes stay."""
    return [(found.name, found.spent) for found in Program(source).facts.leftovers]


def layer(body: str, more: str = "") -> str:
    """A layer that does ``body`` in its forward, and a training whose loss has ``more`` in it."""
    return LAYER.format(body=body, more=more)


@pytest.mark.parametrize(
    "body",
    [
        "self.side = self.c(h)",
        "self.side = self.c(h).mean()",
        "self.side, self.other = self.c(h), 3",
        "self.side = [self.c(h), 2]",
        'self.side = {"h": h, "c": self.c(h)}',
        "if self.training: self.side = self.c(h)",
        "self.side = torch.exp(h)",
        "self.side = (h * h).sum(1)",
    ],
)
def test_a_branch_that_nothing_trains_is_left(body: str) -> None:
    assert left(layer(body)) == [("self.side", False)]


@pytest.mark.parametrize(
    "body",
    ["self.side = h", "self.side = h.sum(1)", "self.side = 2 * h", "self.side = -h", "self.side, self.n = h, len(h)"],
)
def test_of_what_is_trained_only_nodes_stay(body: str) -> None:
    assert left(layer(body)) == [("self.side", True)]


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("self.side = self.c(h)", " + model.side.mean()"),
        ("self.side = self.c(h)", " + sum(getattr(m, 'side', 0) for m in model.modules())"),
        ("self.side = self.c(h)", " + sum(m.side.mean() for m in model.modules())"),
        ("self.side = self.c(h)", " + sum(getattr(model, name).mean() for name in names)"),
        ("self.side = self.c(h).detach()", ""),
        ("self.side = self.c(h).argmax(1)", ""),
        ("self.side = self.c(h); print(self.side); self.side = None", ""),
        ("self.side = self.c(h); print(self.side); del self.side", ""),
        ("self.h = self.c(h); h = self.h", ""),
        ("self.side = x", ""),
    ],
)
def test_what_is_used_or_cleared_is_not_left(body: str, more: str) -> None:
    assert left(layer(body, more)) == []


@pytest.mark.parametrize(
    ("kept", "expected"), [("h.clone()", []), ("h.mean(0)", []), ("h.exp()", [("self.side", False)])]
)
def test_a_copy_or_a_sum_of_what_is_handed_on_is_freed_with_it(kept: str, expected: list[tuple[str, bool]]) -> None:
    assert (
        left(f"""
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 3)
    def forward(self, x):
        h = self.a(x)
        self.side = {kept}
        return h
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()
    def forward(self, x):
        return self.layer(x)
def run(loader):
    net = Net()
    for x, y in loader:
        yield net(x)
""")
        == expected
    )


LISTED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
        self.side = nn.Linear(3, 3)
        self.maps = []
    def forward(self, x):
        {begun}
        for layer in self.layers:
            x = layer(x)
            {kept}
        return x
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(dataset):
    loss = F.cross_entropy(model(x), y){more}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
"""


@pytest.mark.parametrize(
    ("begun", "kept", "more", "after", "expected"),
    [
        ("self.maps = []", "self.maps.append(x)", "", "pass", [("self.maps", True)]),
        ("self.maps = []", "self.maps.append(self.side(x))", "", "pass", [("self.maps", False)]),
        ("self.maps = {}", "self.maps[layer] = x", "", "pass", [("self.maps", True)]),
        ("self.maps = []", "self.maps.append(x.detach())", "", "pass", []),
        ("self.maps = []", "self.maps.append(self.side(x))", " + sum(m.mean() for m in model.maps)", "pass", []),
        ("self.maps = []", "self.maps.append(x)", "", "model.maps = []", []),
        ("self.maps = []", "self.maps.append(x)", "", "model.maps.clear()", []),
        ("maps = []", "maps.append(x)", "", "pass", []),
        ("self.maps = []", "self.maps.append(x)\n        self.maps = []", "", "pass", []),
        ("self.maps = []", "self.maps.append(x)\n        self.maps.clear()", "", "pass", []),
        ("pass", "self.maps.append(x)", "", "pass", []),
    ],
    ids=[
        "freed", "beside the loss", "by the layer", "detached", "in the loss", "begun anew", "emptied", "a variable",
        "begun anew in the end", "emptied in the end", "never begun anew, which is another matter",
    ],
)  # fmt: skip
def test_a_list_that_each_forward_begins_and_fills_leaves_what_is_in_it(
    begun: str, kept: str, more: str, after: str, expected: list[tuple[str, bool]]
) -> None:
    assert left(LISTED.format(begun=begun, kept=kept, more=more, after=after)) == expected


TERMS = """
from losses import Criterion, balance
criterion = Criterion()
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, x):
        h = self.a(x)
        self.side = self.c(h)
        return self.b(h)
model = Layer()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(dataset):
    out = model(x)
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
"""


@pytest.mark.parametrize(
    ("loss", "after", "is_left"),
    [
        ("F.cross_entropy(out, y) + balance(model)", "pass", False),
        ("F.cross_entropy(out, y) + sum(balance(layer) for layer in model.modules())", "pass", False),
        ("criterion(model, out, y)", "pass", False),
        ("criterion(out, y)", "pass", True),
        ("F.cross_entropy(out, y)", "balance(model)", True),
    ],
)
def test_who_makes_a_term_of_the_loss_of_a_network_may_read_what_its_layers_left(
    loss: str, after: str, is_left: bool
) -> None:
    assert left(TERMS.format(loss=loss, after=after)) == ([("self.side", False)] if is_left else [])


def test_what_is_asked_for_its_parameters_is_a_network_and_no_tensor() -> None:
    source = layer("self.side = self.c(h)")
    assert left(source) == [("self.side", False)]
    assert left(source + "print(list(model.side.named_parameters()))\n") == []


def test_a_layer_whose_training_is_not_seen_is_not_judged() -> None:
    assert left(layer("self.side = self.c(h)").partition("model =")[0]) == []


def test_what_the_steps_object_holds_dies_with_it() -> None:
    source = """
class Outcome:
    def __init__(self, x):
        self.value = model(2 * x)
for x, y in loader:
    outcome = Outcome(x)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""
    assert left(TRAINING + source) == []


def test_a_global_variable_that_a_function_sets_is_left_but_not_the_scripts_own() -> None:
    source = """
last = None
def look(x):
    global last
    last = model(2 * x)
for x, y in loader:
    other = model(3 * x)
    look(x)
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""
    assert left(TRAINING + source) == [("last", False)]


def test_an_item_under_a_fixed_key_is_left_and_a_container_that_is_trained_on_is_not() -> None:
    assert left(layer('self.kept["side"] = self.c(h)').replace("self.a,", "self.kept = {}; self.a,", 1)) == [
        ('self.kept["side"]', False)
    ]
    trained = layer('self.kept["side"] = self.c(h)', ' + model.kept["side"].sum()')
    assert left(trained.replace("self.a,", "self.kept = {}; self.a,", 1)) == []


def test_what_is_set_once_after_the_steps_is_not_left() -> None:
    source = """
class Trainer:
    def finish(self, x):
        self.result = model(x)
trainer = Trainer()
for x, y in loader:
    F.cross_entropy(model(x), y).backward()
    optimizer.step()
trainer.finish(x)
"""
    assert left(TRAINING + source) == []


def test_what_is_computed_from_itself_is_no_leftover() -> None:
    assert left(layer("self.side = 0.9 * self.side + self.c(h)").replace("self.a,", "self.side = 0; self.a,", 1)) == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("h.exp().max(1)[-1]", []),
        ("h.exp().max(1)[-2]", [("self.kept", False)]),
        ("h.exp().topk(2)[-1]", []),
        ("h.exp().argmax(1) if y is None else y", []),
    ],
)
def test_positions_of_the_largest_have_no_graph(value: str, expected: list[tuple[str, bool]]) -> None:
    assert left(layer(f"y = None; self.kept = {value}")) == expected


STAGES = """
class Stages(nn.Module):
    def __init__(self, stages):
        super().__init__()
        self.stages = nn.ModuleList(stages)
    def choose(self, number):
        {check}
        self.chosen = number - 1
def first(value, other):
    return other() if callable(other) else value
net = nn.Linear(3, 3)
model = Stages([net])
for x in DataLoader(dataset):
    score = first(net(x).exp(), lambda: net(x).exp())
    model.choose(score)
"""


def test_what_is_held_against_a_length_is_a_number() -> None:
    assert left(STAGES.format(check="pass")) == [("self.chosen", False)]
    assert left(STAGES.format(check="assert 0 < number <= len(self.stages)")) == []


@pytest.mark.parametrize("asked", ["hasattr(part, 'side')", "isinstance(part, Layer)"])
@pytest.mark.parametrize("use", ["loss = loss + part.side.mean()", "terms.append(part.side)"])
@pytest.mark.parametrize("after", ["part.side = None", "del part.side", "pass"])
def test_what_a_walk_over_all_layers_takes_into_the_loss_is_not_left(asked: str, use: str, after: str) -> None:
    walk = f"for part in model.modules():\n        if {asked}:\n            {use}\n            {after}"
    more = f"; terms = []\n    {walk}\n    loss = loss + sum(terms)"
    assert left(layer("self.side = self.c(h)", more)) == []
    assert left(layer("self.side = self.c(h)", more.replace(use, "print(part.side.sum().item())"))) != []


GIVEN = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.map = nn.Linear(3, 3), nn.Linear(3, 3), None
    def forward(self, x):
        h = self.a(x).softmax(1)
        self.map = h
        return self.b(h)
    def look(self):
        return self.map.detach().numpy()

def train(model, loader, optimizer):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y){more}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
{rest}
"""


@pytest.mark.parametrize(
    ("more", "rest", "found"),
    [
        ("", "", [("self.map", True)]),
        (" + model.map.mean()", "", []),
        ("", "def penalty(model):\n    return model.map.mean()", []),
        ("", "def shown(model):\n    return model.map.detach()", [("self.map", True)]),
        ("", "train(build(), loader, optimizer)", [("self.map", True)]),
        ("", "class Other(nn.Linear):\n    pass\ntrain(Other(3, 3), loader, optimizer)", []),
    ],
)
def test_a_layer_beside_a_training_that_is_handed_its_network(
    more: str, rest: str, found: list[tuple[str, bool]]
) -> None:
    assert left(GIVEN.format(more=more, rest=rest)) == found


def test_an_attribute_with_a_setter_keeps_what_that_makes_of_it() -> None:
    setter = """    @property
    def side(self):
        return self._side
    @side.setter
    def side(self, value):
        self._side = value{ending}
model = Layer()
"""
    source = layer("self.side = self.c(h)")
    assert left(source.replace("model = Layer()\n", setter.format(ending=".detach()"))) == []
    assert left(source) == [("self.side", False)]


RECORD = """
from dataclasses import dataclass
@dataclass
class Pair:
    near: torch.Tensor
    far: torch.Tensor
    def gap(self):
        return float(self.near.sum() - self.far.sum())
"""


def test_a_record_leaves_what_it_is_made_of() -> None:
    assert left(RECORD + layer("self.pair = Pair(h, torch.exp(self.c(h)))")) == [("self.pair", False)]
    assert left(RECORD + layer("self.pair = Pair(near=h.detach(), far=self.c(h))")) == [("self.pair", False)]


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ("self.pair = Pair(h, torch.exp(self.c(h)))", " + model.pair.near.mean() + model.pair.far.mean()"),
        ("self.pair = Pair(h.detach(), self.c(h).detach())", ""),
        ("pair = Pair(h, torch.exp(self.c(h)))", ""),
        ("self.pair = Pair(h, self.c(h)); self.pair = None", ""),
    ],
)
def test_a_record_that_is_trained_through_or_cut_leaves_nothing(body: str, more: str) -> None:
    assert left(RECORD + layer(body, more)) == []


KEEPING = """
    def keep(self, name, value):
        self.kept[name] = value
        return value
"""


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ('self.keep("side", self.c(h))', "self.kept[name]"),
        ('self.keep("a" if self.training else "b", self.c(h))', "self.kept[name]"),
        ('name = "a" if self.training else "b"; self.kept[name] = self.c(h)', "self.kept[...]"),
    ],
)
def test_an_item_under_one_of_some_names_is_left(body: str, name: str) -> None:
    source = layer(body).replace("    def forward", f"        self.kept = {{}}\n{KEEPING}\n    def forward")
    assert left(source) == [(name, False)]


@pytest.mark.parametrize(
    ("body", "more"),
    [
        ('self.keep("side", self.c(h))', ' + model.kept["side"].mean()'),
        ('self.keep("side", self.c(h).detach())', ""),
        ("self.keep(x.shape, self.c(h))", ""),  # under more and more keys: that grows, and is told as such
    ],
)
def test_an_item_that_is_used_or_cut_or_grows_is_not_left(body: str, more: str) -> None:
    source = layer(body, more).replace("    def forward", f"        self.kept = {{}}\n{KEEPING}\n    def forward")
    assert left(source) == []


DEEP = """
class Mixing(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, x):
        return self.b(self.mixed(self.a(x)))
    def mixed(self, h):
        shares = h.softmax(-1)
        self.shares = shares{ending}
        return shares
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.mixing = Mixing()
    def forward(self, x):
        return x + self.mixing(x)
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(3)])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
class Fit:
    def __init__(self):
        self.model = Stack()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
    def step(self, x, y):
        loss = F.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
def run(loader):
    {fit}
    for x, y in loader:
        {each}
        fit.step(x, y)
"""


@pytest.mark.parametrize(
    ("given", "is_left"),
    [
        ({}, True),
        ({"ending": ".detach()"}, False),
        ({"each": "fit = Fit()", "fit": "pass"}, False),  # what is made in each step is gone with it
    ],
)
def test_what_a_layer_far_down_in_a_network_leaves(given: dict[str, str], is_left: bool) -> None:
    source = DEEP.format(**{"ending": "", "fit": "fit = Fit()", "each": "pass", **given})
    assert left(source) == ([("self.shares", True)] if is_left else [])


MEAN_OF_A_SUM = """
class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0
    def update(self, value, n):
        self.sum += {added} * n
        self.count += n
    @property
    def mean(self):
        return self.sum / max(1, self.count)
class Best:
    def __init__(self):
        self.value = float("inf")
    def see(self, value):
        self.value = min(self.value, value)
meter, best = Meter(), Best()
for x, y in DataLoader(dataset):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter.update(loss, len(x))
    best.see(meter.mean)
"""


@pytest.mark.parametrize(
    ("added", "told"),
    [("value", {"TLK101"}), ("value.item()", set())],
)
def test_what_comes_of_a_sum_that_is_told_is_not_told_again(added: str, told: set[str]) -> None:
    source = HEAD + TRAINING + MEAN_OF_A_SUM.format(added=added)
    assert {one.code for one in diagnose(Source("train.py", source))} == told
