"""What is built in every step, and what is built once although it stands in a loop."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from programs import TRAINING, Program
from projects import Project
from torchlint.rules.tlk301_built_in_step import BuiltInStep

from torchlint.facts import Facts
from torchlint.facts.repeated.construction import constructions
from torchlint.facts.values.graph import Function
from torchlint.rule import Level

IMPORTS = """
import functools
import torch
from torch import nn, optim
from torch.utils.data import DataLoader
"""


def built(source: str) -> list[str]:
    """What is found to be built again and again, each as "what by what"."""
    facts = Facts(cst.parse_module(IMPORTS + source))
    return [
        f"{facts.called(found.call)} by {by.name if isinstance(by := found.repeated_by, Function) else 'loop'}"
        + (f" in {found.holder}" if found.trial else "")
        for found in constructions(facts)
    ]


def levels(source: str) -> list[Level]:
    """The levels of the rule's findings."""
    return [finding.level for finding in BuiltInStep().check(Facts(cst.parse_module(IMPORTS + source)))]


def message(source: str) -> str:
    """The message of the only finding, lines left out."""
    (finding,) = BuiltInStep().check(Facts(cst.parse_module(IMPORTS + source)))
    return "".join(piece if isinstance(piece, str) else "N" for piece in finding.message)


def train(body: str, before: str = "") -> str:
    """A function with a training loop that holds ``body``."""
    return (
        "def train(model, loader, optimizer, args, criterion=None):\n"
        + "".join(f"    {line}\n" for line in before.splitlines())
        + "    for step, (x, y) in enumerate(loader):\n"
        + "".join(f"        {line}\n" for line in body.splitlines())
        + "        loss = criterion(model(x), y)\n"
        + "        loss.backward()\n"
        + "        optimizer.step()\n"
    )


# -- what may be skipped ------------------------------------------------------------------------------------


def test_each_turn_of_a_training_loop() -> None:
    assert built(train("criterion = nn.CrossEntropyLoss()")) == ["nn.CrossEntropyLoss by loop"]


@pytest.mark.parametrize(
    "body",
    [
        "if criterion is None:\n    criterion = nn.MSELoss()",
        "if not hasattr(args, 'loss'):\n    args.loss = nn.MSELoss()",
        "if step == 0:\n    criterion = nn.MSELoss()",
        "if x.shape[0] != 4:\n    criterion = nn.MSELoss()",
        "try:\n    criterion = args.loss\nexcept AttributeError:\n    criterion = args.loss = nn.MSELoss()",
        "criterion = criterion or nn.MSELoss()",
        "criterion = nn.MSELoss() if step < 100 else criterion",
    ],
)
def test_built_when_first_needed_or_later_on(body: str) -> None:
    assert built(train(body)) == []


def test_a_condition_that_never_changes_does_not_save_it() -> None:
    body = "if args.loss == 'mse':\n    criterion = nn.MSELoss()\nelse:\n    criterion = nn.L1Loss()"
    assert built(train(body)) == ["nn.MSELoss by loop", "nn.L1Loss by loop"]


WARM = {
    "if step >= args.warm:\n    criterion = nn.MSELoss()": ["nn.MSELoss by loop"],
    "if step < args.warm:\n    pass\nelse:\n    criterion = nn.MSELoss()": ["nn.MSELoss by loop"],
    "if step < args.warm:\n    criterion = nn.MSELoss()": [],
    "if step == args.warm:\n    criterion = nn.MSELoss()": [],
    "if step > y:\n    criterion = nn.MSELoss()": [],
}


@pytest.mark.parametrize("body", WARM)
def test_what_is_built_in_all_turns_but_the_first_ones(body: str) -> None:
    assert built(train(body)) == WARM[body]


COUNTED = """
def train(model, loader, optimizer, args):
    seen = 0
    for x, y in loader:
        if {test}:
            criterion = nn.MSELoss()
            loss = criterion(model(x), y)
        else:
            loss = model(x).mean()
        loss.backward()
        optimizer.step()
        {count}
"""


@pytest.mark.parametrize(
    ("test", "count", "is_built"),
    [
        ("seen >= args.warm", "seen += 1", True),
        ("seen > args.warm", "seen += len(x)", True),
        ("seen < args.warm", "seen += 1", False),
        ("seen == args.warm", "seen += 1", False),
        ("seen >= args.warm", "seen = 0 if seen > 9 else seen + 1", False),
        ("seen >= args.warm", "seen -= 1", False),
        ("seen >= y", "seen += 1", False),
    ],
)
def test_what_is_built_from_a_counted_turn_on(test: str, count: str, is_built: bool) -> None:
    assert built(COUNTED.format(test=test, count=count)) == ["nn.MSELoss by loop"] * is_built


def test_the_loop_is_left_after_it_was_built() -> None:
    source = """
def probe(loader: DataLoader):
    for x, y in loader:
        net = nn.Linear(x.shape[1], 4)
        break
    return net(x)
"""
    assert built(source) == []


def test_forward_that_looks_into_its_cache_first() -> None:
    source = """
class Net(nn.Module):
    def forward(self, x):
        return self.layer(x.size(1))(x)
    def layer(self, width):
        if width in self.cache:
            return self.cache[width]
        made = nn.Linear(width, width)
        self.cache[width] = made
        return made
"""
    assert built(source) == []


def test_an_early_return_for_another_reason_does_not_save_it() -> None:
    source = """
class Net(nn.Module):
    def forward(self, x, labels=None):
        logits = self.head(x)
        if labels is None:
            return logits
        return nn.CrossEntropyLoss()(logits, labels)
"""
    assert built(source) == ["nn.CrossEntropyLoss by forward"]


def test_a_parameter_that_may_be_missing_is_not_a_memory() -> None:
    source = """
class Net(nn.Module):
    def forward(self, x, labels=None):
        if labels is not None:
            labels = labels.view(-1)
            loss_fct = nn.CrossEntropyLoss()
            return loss_fct(self.head(x), labels)
"""
    assert built(source) == ["nn.CrossEntropyLoss by forward"]


# -- builders and helpers -----------------------------------------------------------------------------------


def test_layers_that_are_tried_out_while_they_are_made() -> None:
    source = """
def width_after(layer, x):
    return layer(x).shape[1]

class Block(nn.Module):
    def __init__(self, depth, x):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(depth):
            layer = nn.Linear(4, 4)
            self.layers.append(layer)
            print(width_after(layer, x))

def stack(depth, x):
    layers = []
    for _ in range(depth):
        layers.append(nn.Linear(4, 4))
        x = layers[-1](x)
    return nn.Sequential(*layers)
"""
    assert built(source) == []


def test_a_class_that_wraps_its_input() -> None:
    source = """
class Given(nn.Module):
    def __init__(self, out):
        super().__init__()
        self.out = out
    def forward(self):
        return self.out

class Both(nn.Module):
    def forward(self, x):
        return self.loss(Given(x))
"""
    assert built(source) == []


def test_a_cached_builder_builds_once() -> None:
    source = "@functools.lru_cache\ndef make():\n    return nn.MSELoss()\n" + train("criterion = make()")
    assert built(source) == []
    assert built(source.replace("@functools.lru_cache\n", "")) == ["make by loop"]


def test_a_builder_of_a_model_with_its_optimizer() -> None:
    source = """
def make(width):
    layers = []
    for _ in range(3):
        layers += [nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(*layers)
    return model.cuda(), optim.Adam(model.parameters())

def main(loader: DataLoader):
    for x in loader:
        model, optimizer = make(8)
        with torch.no_grad():
            model(x)
"""
    assert built(source) == ["make by loop"]


def test_a_getter_that_returns_what_a_global_holds() -> None:
    source = """
NET = None

def net():
    global NET
    if NET is None:
        NET = nn.Linear(4, 4)
    return NET

def main(loader: DataLoader):
    for x in loader:
        net()(x)
"""
    assert built(source) == []


def test_what_a_helper_builds_for_an_epoch_is_no_step() -> None:
    source = """
def main(model, loader, optimizer, args):
    for epoch in range(9):
        train(model, loader, optimizer, args)
"""
    before = "criterion = nn.MSELoss()\nscaler = torch.amp.GradScaler('cuda')"
    assert built(train("pass", before) + source) == []


def test_a_step_without_callers_in_the_file() -> None:
    source = """
class Agent:
    def __init__(self, net):
        self.net = net
        self.optimizer = optim.Adam(net.parameters())
    def update(self, x, y):
        loss = nn.SmoothL1Loss()(self.net(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
"""
    assert built(source) == ["nn.SmoothL1Loss by update"]


def test_a_test_that_trains_its_own_model_once() -> None:
    source = """
def test_one_step():
    model = nn.Linear(4, 4)
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    nn.MSELoss()(model(torch.ones(4)), torch.ones(4)).backward()
    optimizer.step()
"""
    assert built(source) == []


# -- what belongs to its turn -------------------------------------------------------------------------------


@pytest.mark.parametrize("tensor", ["torch.zeros(4, requires_grad=True)", "torch.tensor(1.0, requires_grad=True)"])
def test_an_optimizer_for_a_tensor_that_is_new_in_each_turn(tensor: str) -> None:
    source = f"""
def attack(model, loader: DataLoader):
    for x in loader:
        delta = {tensor}
        optimizer = optim.SGD([delta], lr=0.1)
        model(x + delta).sum().backward()
        optimizer.step()
"""
    assert built(source) == []


def test_a_loop_over_a_few_cases_is_no_step() -> None:
    source = """
def test_aggregations(x):
    for bias in [True, False]:
        model = nn.Linear(4, 4, bias=bias)
        assert model(x).shape == (4,)
"""
    assert built(source) == []


def test_a_loop_over_widths_builds_different_layers() -> None:
    source = """
def scan(x, widths):
    for width in widths:
        net = nn.Linear(4, width)
        print(net(x).shape)
"""
    assert built(source) == []


@pytest.mark.parametrize(
    ("seeding", "expected"),
    [
        ("torch.manual_seed(seed)", []),
        ("fix(seed)", []),
        ("torch.manual_seed(0)", ["nn.Linear by loop"]),
        ("print(seed)", ["nn.Linear by loop"]),
    ],
)
def test_a_loop_over_seeds_draws_other_weights(seeding: str, expected: list[str]) -> None:
    source = f"""
def fix(seed):
    torch.manual_seed(seed)
def measure(x, args):
    for seed in range(args.seeds):
        {seeding}
        net = nn.Linear(4, 4)
        print(net(x).sum().item())
"""
    assert built(source) == expected


# -- frameworks and servers ---------------------------------------------------------------------------------


def test_methods_that_a_framework_calls_each_step_and_each_epoch() -> None:
    source = """
import lightning as L

class Task(L.LightningModule):
    def training_step(self, batch, index):
        return nn.CrossEntropyLoss()(self.net(batch[0]), batch[1])
    def validation_epoch_end(self, outputs):
        self.criterion = nn.CrossEntropyLoss()
    def configure_optimizers(self):
        return optim.Adam(self.parameters())
    def train_dataloader(self):
        return DataLoader(self.data)
"""
    assert built(source) == ["nn.CrossEntropyLoss by training_step"]


def test_request_handlers_of_a_web_framework() -> None:
    source = """
from fastapi import FastAPI
app = FastAPI()

@app.post("/predict")
async def predict(x):
    net = nn.Linear(4, 4)
    return net(x)

@app.on_event("startup")
async def start():
    app.net = nn.Linear(4, 4)
"""
    assert built(source) == ["nn.Linear by predict"]


# -- folds and trials ---------------------------------------------------------------------------------------


def folds(body: str, after: str = "pass") -> str:
    """Cross-validation with ``body`` before the inner loop and ``after`` behind it."""
    return f"""
def search(folds):
    models = []
    for fold in folds:
        {body}
        optimizer = optim.SGD(model.parameters(), lr=0.1)
        for x, y in fold:
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        {after}
    return models
"""


def test_the_last_model_is_dropped_before_the_next() -> None:
    assert built(folds("model = nn.Linear(4, 4).cuda()", "del model, optimizer")) == []
    assert built(folds("model = None\n        model = nn.Linear(4, 4)")) == []


def test_the_last_model_still_has_a_name() -> None:
    source = folds("model = nn.Linear(4, 4).cuda()")
    assert built(source) == ["nn.Linear by loop in model"]
    assert levels(source) == [Level.NOTE]


def test_all_models_are_kept() -> None:
    source = folds("model = nn.Linear(4, 4).cuda()", "models.append(model)")
    assert built(source) == ["nn.Linear by loop in models"]
    assert levels(source) == [Level.WARNING]


TRIALS = """
from dataclasses import dataclass
@dataclass
class Trial:
    net: nn.Module
    error: float
def run(x, width):
    net = nn.Linear(4, width)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        loss = net(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {given}
def search(x, widths):
    trials = []
    for width in widths:
        trial = run(x, width)
        {kept}
    return trials
"""


@pytest.mark.parametrize("given", ["Trial(net, loss.item())", "{'net': net, 'error': loss.item()}", "net, loss.item()"])
def test_what_trials_give_beside_a_score_is_kept_with_it(given: str) -> None:
    assert built(TRIALS.format(given=given, kept="trials.append(trial)")) == ["run by loop in trials"]


@pytest.mark.parametrize("given", ["Trial(net, loss.item())", "{'net': net, 'error': loss.item()}"])
def test_a_record_of_which_a_number_is_kept_is_dropped_with_its_model(given: str) -> None:
    assert built(TRIALS.format(given=given, kept="print(trial)")) == []


def test_cases_that_train_nothing_are_no_trials() -> None:
    source = """
def show(x, cases):
    for case in cases:
        net = nn.Linear(4, 4)
        for _ in range(3):
            net(x)
"""
    assert built(source) == []


# -- what is said -------------------------------------------------------------------------------------------


def test_levels_follow_the_cost() -> None:
    assert levels(train("criterion = nn.MSELoss()")) == [Level.NOTE]
    assert levels(train("scaler = torch.amp.GradScaler('cuda')")) == [Level.WARNING]
    layer = "class Net(nn.Module):\n    def forward(self, x):\n        return nn.{}(x)\n"
    assert levels(layer.format("Tanh()")) == [Level.NOTE]
    assert levels(layer.format("Linear(4, 4)")) == [Level.WARNING]
    assert levels(layer.format("Sequential(nn.Linear(4, 4), nn.ReLU())")) == [Level.WARNING]
    assert levels(layer.format("Sequential(nn.Tanh(), nn.ReLU())")) == [Level.NOTE]


def test_the_message_names_what_how_often_and_the_way_out() -> None:
    assert message(train("optimizer = optim.Adam(model.parameters())")) == (
        "`optim.Adam` is built anew in each turn of the loop in line N: it costs time, and its state (momentum,"
        " averages) is lost each time; build it once, before line N"
    )


def test_what_follows_the_input_cannot_be_built_before() -> None:
    source = """
class Net(nn.Module):
    def forward(self, x, w):
        return nn.CrossEntropyLoss(weight=w)(self.net(x), x)
"""
    assert "in `__init__`" not in message(source)
    assert "torch.nn.functional" in message(source)


def test_an_iterator_for_one_batch() -> None:
    source = train("old = next(iter(old_loader))", before="old_loader = DataLoader(args.data)")
    assert "`next(iter(old_loader))`" in message(source)
    assert "make one iterator, before line N" in message(source)
    assert built(source.replace("next(iter(old_loader))", "next(old_iter)")) == []


# -- copies of a model ----------------------------------------------------------------------------------------


def test_a_copy_of_the_model_in_every_step_or_for_every_task_of_one() -> None:
    head = "import copy\n"
    assert built(head + train("other = copy.deepcopy(model)", "model.train()\nmodel.eval()")) == [
        "copy.deepcopy by loop"
    ]
    tasks = "for task in range(4):\n    other = copy.deepcopy(model)\n    other(x[task])"
    assert built(head + train(tasks, "model.eval()")) == ["copy.deepcopy by loop"]
    assert levels(head + train(tasks, "model.eval()")) == [Level.NOTE]


@pytest.mark.parametrize(
    "made_over",
    [
        "torch.ao.quantization.convert(torch.ao.quantization.prepare(other), inplace=True)",
        "if step:\n    other = torch.ao.quantization.quantize_fx.prepare_fx(other, args.table, x)",
        "torch.nn.utils.prune.random_unstructured(other, 'weight', 0.5)",
    ],
)
def test_a_copy_that_is_made_over_is_needed_each_time(made_over: str) -> None:
    body = f"other = copy.deepcopy(model)\n{made_over}\nother(x)"
    assert built("import copy\n" + train(body, "model.eval()")) == []


@pytest.mark.parametrize(
    "body",
    [
        "other = copy.deepcopy(x)",
        "if step % 100 == 0:\n    best = copy.deepcopy(model)",
        "state = copy.deepcopy(model.state_dict())",
    ],
)
def test_what_is_no_copy_of_a_model_in_every_step(body: str) -> None:
    assert built("import copy\n" + train(body, "model.eval()")) == []


def test_a_class_of_a_table() -> None:
    table = "KINDS = {'sgd': optim.SGD, 'adam': functools.partial(optim.Adam, betas=(0.5, 0.9))}\n"
    assert built(table + train("opt = KINDS[args.kind](model.parameters(), lr=0.1)\nopt.step()")) == [
        "KINDS[args.kind] by loop"
    ]
    mixed = "KINDS = {'sgd': optim.SGD, 'plain': make}\n"
    assert built(mixed + train("opt = KINDS[args.kind](model.parameters(), lr=0.1)")) == []
    numbers = "KINDS = {'sin': torch.sin, 'cos': torch.cos}\n"
    assert built(numbers + train("z = KINDS[args.kind](x)")) == []


STAGES = """
def grow(data, kept):
    net, {holder} = nn.Sequential(nn.Linear(3, 3)), {made}
    optimizer = optim.SGD(net.parameters(), lr=0.1)
    for stage in range(6):
        block = nn.Linear(3, 3)
        {holder}.append(block)
        for x, y in DataLoader(data):
            loss = net(x).sum()
            loss.backward()
            optimizer.step()
"""


def test_a_layer_for_each_stage_of_a_net_that_grows() -> None:
    assert built(STAGES.format(holder="blocks", made="[]")) == ["nn.Linear by loop in blocks"]
    assert built(STAGES.format(holder="blocks", made="nn.ModuleList()")) == []


def test_containers_round_the_parts_of_the_object_itself_would_have_them_twice() -> None:
    source = """
class Encoder(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body
    def forward(self, x):
        {}
encoder = Encoder(nn.Linear(3, 3))
for x in DataLoader(data):
    encoder(x).sum().backward()
"""
    assert built(source.format("return nn.Sequential(self.body.stem, self.body.pool)(x)")) == []
    group = "group = []\n        for part in self.body:\n            group.append(part)\n"
    group += "        return nn.Sequential(*group)(x)"
    assert built(source.format(group)) == []
    assert built(source.format("return nn.Softmax(self.dim)(x)")) == ["nn.Softmax by forward"]


def test_a_copy_that_a_given_dict_keeps_under_each_key_is_wanted() -> None:
    source = """
def keep(model, step, kept):
    copied = copy.deepcopy(model)
    {}
class Task(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net, self.kept = nn.Linear(3, 3), dict()
    def training_step(self, batch, index):
        keep(self.net, index, self.kept)
        return self.net(batch).sum()
"""
    head = "import copy\nimport lightning as L\n"
    assert built(head + source.format("kept[step] = copied.cpu().state_dict()")) == []
    assert built(head + source.format("return copied.cpu().state_dict()")) == ["copy.deepcopy by training_step"]


def test_a_module_that_is_nothing_but_a_form_is_not_told() -> None:
    assert built(train("root = nn.Module()")) == []


@pytest.mark.parametrize(
    ("data", "expected"),
    [("Subset(args.data, y)", []), ("TensorDataset(x, y)", ["DataLoader by loop"])],
)
def test_a_loader_without_workers_over_other_data_in_each_turn(data: str, expected: list[str]) -> None:
    source = train(f"some = {data}\npart = DataLoader(some, batch_size=3)")
    source = source.replace("for step, (x, y) in enumerate(loader)", "for step, (x, y) in enumerate(args.parts)")
    assert built("from torch.utils.data import Subset, TensorDataset\n" + source) == expected


def test_a_class_that_a_property_gives_is_called_and_not_the_property() -> None:
    source = """
class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

class Plan:
    width = 3
    @property
    def scaling(self):
        return Scale

class Reactor(nn.Module):
    def __init__(self, plan: Plan):
        super().__init__()
        self.scale = plan.scaling(plan.width)
    def forward(self, x):
        return self.scale(x)

reactor = Reactor(Plan())
"""
    assert built(source) == []


ASKED = """
    from builders import create

    class Asked:
        rate = 1e-3
        {decorator}
        def optimizer(self):
            return {given}
"""

TABLE = """
    import torch

    BUILDERS = {
        "adam": lambda weights, rate: torch.optim.Adam(weights, lr=rate),
        "decayed": lambda weights, rate: torch.optim.AdamW(weights, lr=rate),
    }

    def create(name, model, rate):
        weights = [w for w in model.parameters() if w.requires_grad]
        return BUILDERS[name](weights, rate)
"""

ASKING = """
    import torch.nn.functional as F
    from asked import Asked

    class Trainer(Asked):
        def __init__(self, model, device):
            self.model, self.device = model.to(device), device

        def step(self, x, y):
            loss = F.cross_entropy(self.model(x.to(self.device)), y.to(self.device))
            self.model.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss.item()
"""


@pytest.mark.parametrize(
    ("decorator", "given", "is_told"),
    [
        ("@property", 'create("adam", self.model, self.rate)', True),
        ("@functools.cached_property", 'create("adam", self.model, self.rate)', False),
        ("@property", "self._optimizer", False),
    ],
)
def test_a_property_of_a_base_elsewhere_builds_for_each_who_reads_it(
    tmp_path: Path, decorator: str, given: str, is_told: bool
) -> None:
    asked = "    import functools\n" + ASKED.format(decorator=decorator, given=given).lstrip("\n")
    files = {"builders.py": TABLE, "asked.py": asked, "trainer.py": ASKING}
    assert any("trainer.py: TLK301" in one for one in Project(tmp_path, files).found()) is is_told


SHELL = (
    "class Shell(nn.Module):\n"
    "    def __init__(self, body):\n"
    "        super().__init__()\n"
    "        self.body = body\n"
    "{more}"
    "    def forward(self, x):\n"
    "        return self.body(x)\n"
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.stem = nn.Linear(3, 3)\n"
    "    def forward(self, x):\n"
    "        return self.shell()(x)\n"
    "    def shell(self):\n"
    "        return Shell({given})\n"
)


@pytest.mark.parametrize("given", ["self.stem", "copy.deepcopy(self.stem)"])
def test_a_shell_that_a_helper_puts_round_a_part_has_no_new_weights(given: str) -> None:
    assert built("import copy\n" + SHELL.format(more="", given=given)) == []


@pytest.mark.parametrize(
    ("more", "given"),
    [
        ("", "nn.Linear(3, 3)"),
        ("", "nn.Linear(3, 3).to(self.device)"),
        ("        self.head = nn.Linear(3, 2)\n", "self.stem"),
    ],
)
def test_a_shell_with_new_weights_that_a_helper_makes(more: str, given: str) -> None:
    assert built(SHELL.format(more=more, given=given)) == ["self.shell by forward"]


SWEEP = """
def sharpness(width, scale):
    net = nn.Linear(width, width)
    {set}
    with torch.no_grad():
        return net(torch.randn(8, width)).std().item()

def sweep(scales):
    return {{scale: sharpness(64, scale) for scale in scales}}

def sweep_slowly(scales):
    table = []
    for scale in scales:
        table.append(sharpness(64, scale))
    return table
"""


@pytest.mark.parametrize(
    ("set", "count"),
    [
        ("pass", 1),
        ("nn.init.normal_(net.weight, std=0.02)", 1),
        ("nn.init.normal_(torch.empty(width), std=scale)", 1),
        ("nn.init.normal_(net.weight, std=scale)", 0),
        ("for layer in net.modules():\n        if isinstance(layer, nn.Linear):\n"
         "            nn.init.orthogonal_(layer.weight, scale)", 0),
        ("for p in net.parameters():\n        p.data.mul_(scale)", 0),
        ("net.load_state_dict(torch.load(f'{scale}.pt'))", 0),
        ("net.load_state_dict(torch.load('first.pt'))", 1),
    ],
)  # fmt: skip
def test_a_net_whose_weights_are_set_by_what_each_turn_says_is_another_one(set: str, count: int) -> None:
    assert len(built(SWEEP.format(set=set))) == count


ADAPTED = """
import copy
from meta import clone_of

class Learner(nn.Module):
    def __init__(self, body, rate=0.1):
        super().__init__()
        self.body, self.rate, self.head = body, rate, nn.Linear(3, 3)
    def forward(self, x):
        return self.head(self.body(x))
    def clone(self):
        return {made}

def fit(tasks, optimizer):
    learner = Learner(nn.Linear(3, 3))
    for x, y in tasks:
        loss = (learner.clone()(x) - y).pow(2).mean() + learner(x).mean()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("Learner(clone_of(self.body), self.rate)", []),
        ("Learner(clone_of(self.body), self.rate).to(self.device)", []),
        ("Learner(nn.Linear(3, 3), float(self.rate))", ["learner.clone by loop"]),
        ("copy.deepcopy(self)", ["learner.clone by loop"]),
    ],
)
def test_a_method_that_makes_its_own_kind_of_its_own_weights_gives_what_is_trained_through(
    made: str, expected: list[str]
) -> None:
    assert built(ADAPTED.format(made=made)) == expected


def test_an_attribute_that_is_a_class_or_what_that_class_makes_is_run() -> None:
    body = """
class Mean(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Linear(3, 3)

class Pool(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.pool = kind or Mean
        {then}
    def forward(self, x):
        return self.pool(x)

def train(loader, optimizer):
    pool = Pool(None)
    for x in loader:
        pool(x).sum().backward()
        optimizer.step()
"""
    assert built(body.format(then="self.pool = self.pool()")) == []
    assert built(body.format(then="pass")) == ["self.pool by forward"]


@pytest.mark.parametrize(
    ("built_by", "expected"),
    [
        ("torch.optim.Adam(net.parameters(), lr=rate)", ["torch.optim.Adam by loop"]),
        ("torch.optim.Adam([{'params': net.parameters()}], rate)", ["torch.optim.Adam by loop"]),
        ("torch.optim.LBFGS(net.parameters(), lr=rate)", []),
        ("torch.optim.Adam([x.clone().requires_grad_()], lr=rate)", []),
    ],
)
def test_an_optimizer_for_each_rate_of_a_schedule(built_by: str, expected: list[str]) -> None:
    body = (
        "def update(net, x, rate):\n"
        f"    optimizer = {built_by}\n"
        "    net(x).sum().backward()\n"
        "    optimizer.step()\n\n"
        "def train(net, batches):\n"
        "    for step, x in enumerate(batches):\n"
        "        update(net, x, 0.1 / (1 + step))\n"
    )
    assert built(body) == expected


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("self.heads.add_module(name, head)", []),
        ("self.heads[name] = head", []),
        ("self.names.append(name)", ["net.open by loop in head"]),
    ],
)
def test_a_method_that_adds_to_the_layers_what_it_gives_makes_one_more(kept: str, expected: list[str]) -> None:
    body = f"""
class Survey(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads, self.names = nn.ModuleDict(), []
    def open(self, name):
        head = nn.Linear(3, 3)
        {kept}
        return head

def run(names, loader):
    net, optimizer = Survey(), optim.Adam([torch.zeros(3, requires_grad=True)])
    for name in names:
        head = net.open(name)
        for x in loader:
            head(x).sum().backward()
            optimizer.step()
"""
    assert built(body) == expected


@pytest.mark.parametrize(
    ("size", "expected"), [("len(rows)", ["nn.Linear by loop"]), ("rows[0]", []), ("len(x[step])", [])]
)
def test_how_many_items_a_list_has_does_not_depend_on_what_they_are(size: str, expected: list[str]) -> None:
    body = f"rows = [x[step] for layer in args.layers]\nmix = nn.Linear({size}, 2)\nx = mix(x)"
    assert built(train(body)) == expected


@pytest.mark.parametrize(("when", "expected"), [("if step % 100 == 0", []), ("if args.fresh", ["next by loop"])])
def test_an_iterator_that_other_turns_go_on_with_is_not_made_for_one_batch(when: str, expected: list[str]) -> None:
    assert (
        built(train(f"{when}:\n    batches = iter(pairs)\na, b = next(batches)", "pairs = DataLoader(args.rows)"))
        == expected
    )


LOOKS = """
import copy
def tune(net, rows):
    for x in rows:
        net(x).mean().backward()
def train(net, optimizer, loader, other):
    net = net.eval()
    seen = net
    for epoch in range(9):
        for x in loader:
            {step}.mean().backward()
            optimizer.step()
        if {when}:
            look = {copied}
            {use}
    return {result}
"""


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({}, 1),
        ({"use": "other.show(look)"}, 1),
        ({"copied": "copy.deepcopy(net).eval()"}, 1),
        ({"copied": "copy.deepcopy(net).cpu()"}, 0),
        ({"copied": "copy.deepcopy(net.state_dict())", "use": "other.load_state_dict(look)"}, 0),
        ({"use": "pass"}, 0),
        ({"use": "look(other)\n            del look"}, 0),
        ({"use": "other.nets.append(look)"}, 0),
        ({"use": "other.nets.append(other.wrap(look))"}, 0),
        ({"use": "other.scores.append(look(other).item())"}, 1),
        ({"use": "other.net = look"}, 0),
        ({"use": "tune(look, other)"}, 0),
        ({"use": "look(other).sum().backward()"}, 0),
        ({"use": "inner = optim.SGD(look.parameters(), 0.1)"}, 0),
        ({"when": "epoch == 8"}, 0),
        ({"result": "look(other)"}, 0),
        ({"use": "look(other)\n            seen = look", "step": "(net(x) - seen(x).detach())"}, 0),
        ({"step": "look(net(x))"}, 0),
        ({"use": "other.later(lambda: look(other))"}, 0),
    ],
)
def test_a_copy_for_a_look_stays_through_the_training_that_follows(changed: dict[str, str], count: int) -> None:
    usual = {"step": "net(x)", "when": "epoch % 3 == 0", "copied": "copy.deepcopy(net)", "use": "look(other)"}
    source = LOOKS.format(**usual | {"result": "None"} | changed)
    assert levels(source) == [Level.NOTE] * count


ROLLOUTS = """
class Agent:
    def __init__(self, net):
        self.net = net
    @torch.no_grad()
    def collect(self, env):
        return [self.net(env.step()) for _ in range(16)]
    def learn(self, x):
        optimizer = optim.{optimizer}(self.net.parameters())
        optimizer.zero_grad()
        {step}
def main(env):
    agent = Agent(nn.Linear(3, 3))
    for turn in range(200):
        agent.learn(agent.collect(env))
"""


@pytest.mark.parametrize(
    ("optimizer", "step", "expected"),
    [
        ("Adam", "self.net(x).sum().backward(); optimizer.step()", ["optim.Adam by loop"]),
        ("Adam", "[self.net(one).sum().backward() or optimizer.step() for one in x]", []),
        ("LBFGS", "optimizer.step(lambda: self.net(x).sum().backward())", []),
    ],
)
def test_what_one_step_builds_after_a_rollout(optimizer: str, step: str, expected: list[str]) -> None:
    assert built(ROLLOUTS.format(optimizer=optimizer, step=step)) == expected


PERCEPTUAL = """
from torchvision.models import vgg16

class Distance(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = {body}
    def forward(self, a, b):
        return (self.body(a) - self.body(b)).abs().mean()

def loss_of(a, b):
    distance = Distance().to(a.device)
    return distance(a, b)

def train(net, optimizer, loader):
    for x, y in loader:
        loss_of(net(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("vgg16().features[:16].eval().requires_grad_(False)", [Level.WARNING]),
        ("vgg16().features", [Level.WARNING]),
        ("nn.Conv2d(3, 8, 3).requires_grad_(False)", [Level.WARNING]),
        ("nn.Sigmoid()", [Level.NOTE]),
    ],
)
def test_frozen_weights_weigh_as_much(body: str, expected: list[Level]) -> None:
    assert levels(PERCEPTUAL.format(body=body)) == expected


@pytest.mark.parametrize(
    ("workers", "drawn", "expected"),
    [
        (2, "next(iter(probe))", [Level.NOTE]),
        (0, "next(iter(probe))", []),
        (2, "next(rows)", []),
    ],
)
def test_an_iterator_that_starts_workers_now_and_then_is_a_note(
    workers: int, drawn: str, expected: list[Level]
) -> None:
    source = f"""
def train(net, optimizer, loader, data):
    probe = DataLoader(data, 8, num_workers={workers})
    rows = iter(probe)
    for step, (x, y) in enumerate(loader):
        net(x).sum().backward()
        optimizer.step()
        if step % 10 == 0:
            print({drawn})
"""
    assert levels(source) == expected


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        ("BUILDERS[kind](3)", [Level.WARNING]),
        ("named(kind)", [Level.WARNING]),
        ("SHARED[kind]()", []),
    ],
)
def test_a_table_of_builders_builds(built: str, expected: list[Level]) -> None:
    source = f"""
ONE = nn.Linear(3, 3)
BUILDERS = {{"a": lambda n: nn.Linear(n, n), "b": lambda n: nn.Bilinear(n, n, n)}}
SHARED = {{"a": lambda: ONE, "b": lambda: ONE}}

def named(kind):
    return BUILDERS[kind](3)

def train(net, optimizer, loader, kind):
    for x, y in loader:
        head = {built}
        head(net(x)).sum().backward()
        optimizer.step()
"""
    assert levels(source) == expected


UPDATES = """
class Agent:
    def __init__(self, actor: nn.Module):
        self.actor = actor
    def update_actor(self, x):
        opt = optim.Adam(self.actor.parameters())
        loss = self.actor(x).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return {given}
    def update(self, x):
        {stats}
        return stats
def train(agent: Agent, loader):
    for x in loader:
        print(agent.update(x))
"""


@pytest.mark.parametrize(
    ("given", "stats", "expected"),
    [
        ("loss.item()", "stats = {'actor': self.update_actor(x)}", ["optim.Adam by loop"]),
        ("loss.item()", "stats = self.update_actor(x)", ["optim.Adam by loop"]),
        ("opt", "stats = {'actor': self.update_actor(x)}", []),
    ],
)
def test_a_number_that_a_step_gives_is_not_what_it_built(given: str, stats: str, expected: list[str]) -> None:
    assert built(UPDATES.format(given=given, stats=stats)) == expected


TERMS = """
class Pixel(nn.Module):
    def forward(self, a, b):
        return (a - b).abs().mean()
class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(3, 8, 3)
    def forward(self, a, b):
        return (self.net(a) - self.net(b)).abs().mean()
TERMS = {{"pixel": Pixel, "features": Features}}

def train(net, loader, optimizer, names):
    {before}
    for x, y in loader:
        out, total = net(x), 0
        for name in {names}:
            term = {term}
            total = total + term(out, y)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "names", "term", "expected"),
    [
        ("pass", "names", "TERMS[name]()", ["? by loop"]),
        ("pass", "names", "nn.Conv2d(3, len(name), 3)", ["nn.Conv2d by loop"]),
        ("pass", "x.unbind()", "nn.Linear(len(name), 3)", []),
        ("terms = {name: TERMS[name]() for name in names}", "names", "terms[name]", []),
    ],
)
def test_what_each_turn_of_a_loop_within_a_step_builds(before: str, names: str, term: str, expected: list[str]) -> None:
    found = built(TERMS.format(before=before, names=names, term=term))
    assert [one.partition(" by ")[2] for one in found] == [one.partition(" by ")[2] for one in expected]


OBJECTIVE = """
class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(3, 8, 3)
    def forward(self, a, b):
        return (self.net(a) - self.net(b)).abs().mean()
class Edges(Features):
    pass

MADE = {{}}

def build(name):
    return Features() if name == "features" else Edges()

class Objective:
    def __init__(self, weights):
        self.weights = weights
        self.terms = {{name: build(name) for name in weights}}
    def __call__(self, out, y):
        total = 0
        {goes}
            term = {term}
            total = total + term(out, y)
        return total

def train(net, loader, optimizer):
    objective = Objective({{"features": 1, "edges": 2}})
    for epoch in range(9):
        for x, y in loader:
            loss = {loss}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        {after}
"""


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"goes": "for name in self.terms:"}, 1),
        ({"goes": "for i, name in enumerate(self.weights):", "term": "build(name).to(y.device)"}, 1),
        ({"term": "self.terms[name]"}, 0),
        ({"term": "MADE.setdefault(name, None) or build(name)"}, 0),
        ({"loss": "net(x).sum()", "after": "objective(torch.ones(3), torch.ones(3))"}, 0),
    ],
)
def test_what_a_function_builds_for_each_term_of_a_loss(changes: dict[str, str], count: int) -> None:
    pieces = {
        "goes": "for name, weight in self.weights.items():",
        "term": "build(name)",
        "loss": "objective(net(x), y)",
    }
    assert len(built(OBJECTIVE.format(**pieces | {"after": "pass"} | changes))) == count


LOSSES = """
    from .pixel import Pixel
    from .features import Features

    LOSSES = {"pixel": Pixel, "features": Features}

    def build(options):
        return {built}
"""

FEATURES = """
    from torch import nn

    class Features(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.net = nn.Conv2d(3, width, 3)

        def forward(self, a, b):
            return (self.net(a) - self.net(b)).abs().mean()
"""

MODEL = """
    import torch
    from torch import nn
    from losses import build

    class Model:
        def __init__(self, options):
            self.options = options
            self.net = nn.Conv2d(3, 3, 3)
            self.optimizer = torch.optim.Adam(self.net.parameters())

        def optimize(self, x, y):
            out, total = self.net(x), 0
            for options in self.options:
                total = total + build(options)(out, y)
            self.optimizer.zero_grad()
            total.backward()
            self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("built", "is_told"),
    [
        ('LOSSES[options.pop("kind")](**options)', True),
        ('LOSSES[options["kind"]]()', True),
        ("Features()", True),
        ("options.kept", False),
    ],
)
def test_a_builder_elsewhere_makes_one_of_a_table_of_imported_classes(
    tmp_path: Path, built: str, is_told: bool
) -> None:
    files = {
        "losses/__init__.py": LOSSES.replace("{built}", built),
        "losses/features.py": FEATURES,
        "losses/pixel.py": FEATURES.replace("Features", "Pixel"),
        "model.py": MODEL,
    }
    assert any("model.py: TLK301" in one for one in Project(tmp_path, files).found()) is is_told


SCALED = """
class Scaled(nn.Module):
    def __init__(self, scale=None, trainable=False):
        super().__init__()
        {kept}
    def __call__(self, x):
        return x * (self.scale or x.abs().max())
class Net(nn.Module):
    def forward(self, x):
        return Scaled()(x)
"""


@pytest.mark.parametrize(
    ("kept", "level"),
    [
        ("self.scale = nn.Parameter(scale) if trainable else scale", Level.NOTE),
        ("self.scale = scale", Level.NOTE),
        ("self.scale = nn.Parameter(torch.ones(1))", Level.WARNING),
    ],
)
def test_a_parameter_that_is_an_option_is_not_new_each_time(kept: str, level: Level) -> None:
    assert levels(SCALED.format(kept=kept)) == [level]


@pytest.mark.parametrize(
    ("call", "is_same"),
    [
        ("mapped(x)", True),
        ("mapped(x=x)", True),
        ("mapped(x, 8)", True),
        ("mapped(x, x.shape[-1])", False),
        ("mapped(x, width=len(x))", False),
        ("mapped(*pair)", False),
        ("mapped(x, **sizes(x))", False),
    ],
)
def test_what_is_left_to_its_default_is_the_same_in_each_turn(call: str, is_same: bool) -> None:
    source = f"""
def mapped(x, width=4):
    layer = nn.AdaptiveAvgPool1d(width)
    return layer(x)

def run(model, optimizer, pairs):
    for pair in pairs:
        x, y = pair
        (model({call}) - y).sum().backward()
        optimizer.step()
"""
    assert built(source) == (["nn.AdaptiveAvgPool1d by loop"] if is_same else [])


FROZEN_LOSS = """
    from torch import nn
    from torch.nn import functional as F


    class TextureLoss(nn.Module):
        def __init__(self, size=3):
            super().__init__()
            self.bank = {bank}
            self.bank.requires_grad_(False)

        def forward(self, image, target):
            return F.l1_loss(self.bank(image), self.bank(target))


    def loss_for(kind, **options):
        return TextureLoss(**options) if kind == "texture" else nn.L1Loss()
"""

PAINTER = """
    import torch

    from losses import loss_for


    class Painter:
        def __init__(self, net, kind):
            self.net, self.kind = net, kind
            self.optimizer = torch.optim.Adam(net.parameters())

        def step(self, image, target):
            objective = loss_for(self.kind)
            self.optimizer.zero_grad()
            loss = objective(self.net(image), target)
            loss.backward()
            self.optimizer.step()
            return loss.item()
"""


@pytest.mark.parametrize(("bank", "level"), [("nn.Conv2d(3, 32, size)", "warning"), ("nn.AvgPool2d(size)", "note")])
def test_what_a_function_of_another_file_makes_of_frozen_weights_weighs(tmp_path: Path, bank: str, level: str) -> None:
    project = Project(tmp_path, {"losses.py": FROZEN_LOSS.format(bank=bank), "painter.py": PAINTER})
    assert f"painter.py: TLK301 {level}" in project.found()


LEAGUE = """
class League:
    def __init__(self):
        self.players, self.last = [], None

    def join(self, player):
        {joins}

def main(loader):
    league = League()
    for x, y in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
        league.join(copy.deepcopy(model))
"""


@pytest.mark.parametrize(
    ("joins", "count"),
    [("self.players.append(player)", 0), ("self.players.append((player, 1))", 0), ("print(player)", 1)],
)
def test_a_copy_that_a_method_puts_into_a_list_is_another_in_each_turn(joins: str, count: int) -> None:
    program = Program(f"import copy\n{TRAINING}{LEAGUE.format(joins=joins)}")
    assert len(program.facts.constructions) == count


REFIT = """
class Scores(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 2)
    def forward(self, x):
        return self.layer(x)

def fitted(model, x, y):
    optimizer = optim.LBFGS(model.parameters(), max_iter=20)
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        return loss
    optimizer.step(closure)

def loss_without(x, y, row):
    others = torch.arange(len(x)) != row
    model = Scores(8)
    fitted(model, x[others], y[others])
    with torch.no_grad():
        return nn.functional.cross_entropy(model(x), y).item()

def main(x, y, unsure):
    fitted(Scores(8), x, y)
    for row in unsure[:3]:
        print(loss_without(x, y, row))
"""


def test_a_model_that_is_fitted_again_by_functions_of_the_turn_has_its_own_optimizer() -> None:
    assert built(REFIT) == []


@pytest.mark.parametrize(
    "made",
    [
        "functools.partial(optim.Adam, lr=cfg.lr)",
        "functools.partial(optim.Adam, **cfg.optimizer)",
        "functools.partial(KINDS[cfg.kind], **cfg.optimizer)",
        "factory(cfg)",
    ],
)
def test_a_partial_that_an_object_keeps_builds_what_it_is_made_for(made: str) -> None:
    source = f"""
KINDS = {{'adam': optim.Adam, 'adamw': optim.AdamW}}
def factory(cfg):
    options = dict(cfg.optimizer)
    return functools.partial(KINDS[options.pop('type')], **options)
class Engine:
    def __init__(self, net, cfg):
        self.net, self.make = net, {made}
    def step(self, x):
        optimizer = self.make(self.net.parameters())
        loss = self.net(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
def run(cfg, loader):
    engine = Engine(nn.Linear(3, 3), cfg)
    for x in loader:
        engine.step(x)
"""
    assert built(source) == ["self.make by loop"]


BANKS = """
import torchaudio
class Distance(nn.Module):
    def __init__(self, sizes=(512, 1024)):
        super().__init__()
        self.sizes = sizes
    def bank(self, size, like):
        made = torchaudio.transforms.MelSpectrogram(16000, n_fft=GIVEN)
        return made.to(like.device)
    def forward(self, x):
        return sum(self.bank(size, x)(x).mean() for size in self.sizes)
net = Distance()
for x in DataLoader([]):
    print(net(x).item())
"""


@pytest.mark.parametrize(("given", "expected"), [("size", ["self.bank by forward"]), ("like.shape[0] * size", [])])
def test_what_only_says_where_a_thing_is_to_lie_does_not_decide_what_it_is(given: str, expected: list[str]) -> None:
    assert built(BANKS.replace("GIVEN", given)) == expected


ADAPTING = """
class Tasks:
    def __init__(self, rows):
        self.rows = rows
    def draw(self):
        return next(iter(DataLoader(self.rows, batch_size=4)))

def adapt(net, fast, x, y, steps, first_order):
    for _ in range(steps):
        loss = (torch.func.functional_call(net, fast, (x,)) - y).pow(2).mean()
        grads = torch.autograd.grad(loss, list(fast.values()), create_graph={flag})
        fast = {{name: p - 0.1 * g for (name, p), g in zip(fast.items(), grads)}}
    return fast

def step(net, optimizer, tasks, first_order):
    optimizer.zero_grad()
    for x, y in tasks:
        fast = adapt(net, dict(net.named_parameters()), x, y, 5, first_order)
        (torch.func.functional_call(net, fast, (x,)) - y).pow(2).mean().backward()
    optimizer.step()

def train(net, rows, args):
    optimizer, tasks = optim.Adam(net.parameters()), Tasks(rows)
    for _ in range(args.turns):
        step(net, optimizer, tasks.draw(), args.first_order)
"""


@pytest.mark.parametrize("flag", ["True", "not first_order"])
def test_a_derivative_that_may_have_a_graph_ends_no_step(flag: str) -> None:
    assert built(ADAPTING.format(flag=flag)) == ["next by loop"]
