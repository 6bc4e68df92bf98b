"""What is loaded from files: where it goes, and what stays although it was copied."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project
from torchlint.rules.tlk403_checkpoint_on_device import CheckpointOnDevice

from torchlint import check_source
from torchlint.rule import Level

NET = """
import pickle, sys
from collections import OrderedDict
from safetensors.torch import load_file
def build():
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU())
model = build()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

LOOP = """
for x, y in DataLoader(dataset):
    model(x).sum().backward()
    optimizer.step()
"""

IN_MAIN = "\n".join(f"    {line}" for line in LOOP.strip().splitlines())


def kept(source: str) -> list[str]:
    """What is kept, each as its names."""
    return [", ".join(found.names) for found in Program(NET + source).facts.checkpoints]


def levels(source: str) -> list[Level]:
    """The levels of the rule's findings."""
    return [finding.level for finding in CheckpointOnDevice().check(Program(NET + source).facts)]


def is_safe(source: str) -> bool:
    """Whether the only load can be told a device without anybody seeing a difference."""
    facts = Program(NET + source).facts
    (load,) = facts.loads.found
    return facts.loads.is_only_copied(load)


@pytest.mark.parametrize(
    ("before", "names"),
    [
        ("state = torch.load(path)\nmodel.load_state_dict(state)", "state"),
        ("state = load_file(path)\nmodel.load_state_dict(state)", "state"),
        ("state = torch.load(path)['model']\nmodel.load_state_dict(state)", "state"),
        ("with open(path, 'rb') as f:\n    state = pickle.load(f)\nmodel.load_state_dict(state.get('m'))", "state"),
        ("old = torch.load(path)\nmodel.load_state_dict(old.state_dict())", "old"),
        ("state: dict = torch.load(path)\nmodel.load_state_dict(state)", "state"),
        ("if (state := torch.load(path)):\n    model.load_state_dict(state)", "state"),
        ("a, b = torch.load(path), 3\nmodel.load_state_dict(a)", "a"),
        ("a, b = torch.load(path)\nmodel.load_state_dict(a)", "a"),
        ("s = torch.load(path)\nw = s['w']\nmodel.load_state_dict(w)", "s, w"),
        ("s = torch.load(path)\nw = OrderedDict(s)\nmodel.load_state_dict(w)", "s, w"),
        ("s = torch.load(path)\ns = {k[7:]: v for k, v in s.items()}\nmodel.load_state_dict(s)", "s"),
        ("s = torch.load(path)\nassert isinstance(s, list)\nmodel.load_state_dict(s[0])", "s"),
        ("own = model.state_dict()\nown.update(torch.load(path))\nmodel.load_state_dict(own)", "own"),
        ("s = torch.load(path)\nfor p, q in zip(model.parameters(), s):\n    p.data.copy_(q)", "s"),
    ],
)
def test_a_name_that_stands_for_what_was_copied(before: str, names: str) -> None:
    assert kept(f"{before}\n{LOOP}") == [names]


RESUMED = "resume = len(sys.argv) > 1\nif resume:\n    state = torch.load(path)\n    model.load_state_dict(state)\n"


@pytest.mark.parametrize(
    "before",
    [
        "model.load_state_dict(torch.load(path))",
        "state = torch.load(path)\nmodel.load_state_dict(state)\ndel state",
        "state = torch.load(path)\nmodel.load_state_dict(state)\nstate = None",
        "state = torch.load(path)\nmodel.load_state_dict(state, assign=True)",
        "state = torch.load(path)\nprint(state['epoch'])",
        "if sys.argv:\n    state = torch.load(path)\n    model.load_state_dict(state)\n    sys.exit()",
        "def resume():\n    state = torch.load(path)\n    model.load_state_dict(state)\nresume()",
        "state = torch.load(path)\nmodel.load_state_dict(state)\ndef later():\n    return state",
        f"{RESUMED}if resume:\n    del state",
    ],
)
def test_what_is_dropped_or_needed_or_never_copied(before: str) -> None:
    assert kept(f"{before}\n{LOOP}") == []


@pytest.mark.parametrize("other", ["if again:", "if not resume:", "resume = again\nif resume:"])
def test_what_is_dropped_where_something_else_holds_stays(other: str) -> None:
    assert kept(f"again = path\n{RESUMED}{other}\n    del state\n{LOOP}") == ["state"]


def test_what_the_work_reads_itself_is_needed() -> None:
    source = "state = torch.load(path)\nmodel.load_state_dict(state)\n" + LOOP.replace("model(x)", "(state['w'] * x)")
    assert kept(source) == []


@pytest.mark.parametrize(("given", "is_needed"), [("3", False), ("state['words']", True)])
def test_where_more_was_loaded_that_the_work_needs_the_weights_alone_can_go(given: str, is_needed: bool) -> None:
    work = f"def work(words):{LOOP.replace(chr(10), chr(10) + '    ')}\n"
    source = f"{work}state = torch.load(path)\nmodel.load_state_dict(state['model'])\nwork({given})\n"
    assert [one.is_needed for one in Program(NET + source).facts.checkpoints] == [is_needed]


def test_two_branches_that_load_are_one_cause() -> None:
    source = f"""
if sys.argv:
    state = torch.load(path)
else:
    state = torch.load(path, map_location="cuda:0")
model.load_state_dict(state)
{LOOP}
"""
    assert kept(source) == ["state"]


def test_a_tuple_is_known_by_its_positions() -> None:
    source = f"""
def prepare(path):
    net, state = build(), torch.load(path)
    net.load_state_dict(state)
    return net, state["epoch"]
model, epoch = prepare(path)
{LOOP}
"""
    assert kept(source) == []


def test_the_training_runs_in_a_function_or_in_a_framework() -> None:
    train = f"def train(model):\n{IN_MAIN}\n"
    assert kept(f"{train}\nstate = torch.load(path)\nmodel.load_state_dict(state)\ntrain(model)") == ["state"]
    fit = "from transformers import Trainer\nstate = torch.load(path)\nmodel.load_state_dict(state)\n"
    assert kept(f"{fit}trainer = Trainer(model=model)\ntrainer.train()") == ["state"]


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ("", Level.WARNING), (", map_location=device", Level.WARNING), (", **options", Level.WARNING),
        (", map_location='cpu'", Level.NOTE), (", 'cpu'", Level.NOTE), (", torch.device('cpu')", Level.NOTE),
        (", map_location=lambda storage, loc: storage", Level.NOTE),
    ],
)  # fmt: skip
def test_what_lies_on_the_host_is_a_note(given: str, level: Level) -> None:
    assert levels(f"state = torch.load(path{given})\nmodel.load_state_dict(state)\n{LOOP}") == [level]


def test_a_load_that_says_no_device_is_a_note() -> None:
    assert levels("model.load_state_dict(torch.load(path))") == [Level.NOTE]
    assert levels("model.load_state_dict(torch.load(path, map_location=device))") == []


def test_what_becomes_the_models_own_is_there_once() -> None:
    renamed = "new = {}\nfor name, value in torch.load(path).items():\n    new[name.lower()] = value\n"
    assert levels(f"{renamed}model.load_state_dict(new)") == [Level.NOTE]
    assert levels(f"{renamed}model.load_state_dict(new, strict=True, assign=True)") == []


READING = """
    import torch

    def read(path, device={default}):
        return torch.load(path, map_location={given})
"""

RESUMING = """
    import torch
    from reading import read

    def resume(path, net: torch.nn.Module, loader, optimizer):
        state = read(path{told})
        net.load_state_dict(state["net"])
        for x, y in loader:
            loss = (net(x) - y).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("default", "given", "told", "is_told"),
    [
        ("None", "device", "", True),
        ("None", "device", ", None", True),
        ("None", "device", ", 'cpu'", False),
        ("'cpu'", "device", "", False),
        ("None", "'cpu'", "", False),
    ],
)
def test_a_function_elsewhere_that_leaves_the_device_to_its_callers(
    tmp_path: Path, default: str, given: str, told: str, is_told: bool
) -> None:
    files = {"reading.py": READING.format(default=default, given=given), "resuming.py": RESUMING.format(told=told)}
    assert any("resuming.py: TLK403" in one for one in Project(tmp_path, files).found()) is is_told


def test_data_is_no_checkpoint() -> None:
    assert (
        levels("class Words(torch.utils.data.Dataset):\n    def __init__(self, p):\n        self.w = torch.load(p)")
        == []
    )
    assert levels("x, y = torch.load(path)\nmodel.cuda()") == []


def test_what_is_only_copied_may_lie_anywhere() -> None:
    assert is_safe("model.load_state_dict(torch.load(path))")
    assert is_safe("s = torch.load(path)\nmodel.load_state_dict(s['m'])\noptimizer.load_state_dict(s['o'])")
    assert is_safe("s = torch.load(path)\nmodel.load_state_dict(s['m'])\nfor e in range(s['e'] + 1, 9):\n    print(e)")
    assert not is_safe("s = torch.load(path)\nmodel.load_state_dict(s['m'])\nfit(s['queue'])")
    assert not is_safe("s = torch.load(path)\nmodel.load_state_dict(s['m'])\nmean = s['mean'] * other")
    assert not is_safe("def f():\n    s = torch.load(path)\n    model.load_state_dict(s['m'])\n    return s")
    assert not is_safe("import ema\nshadow = ema.EMA()\nshadow.load_state_dict(torch.load(path))")


@pytest.mark.parametrize(
    ("before", "is_there"),
    [
        ("state = torch.load(path)\nmodel.load_state_dict(state)", True),
        ("if path:\n    state = torch.load(path)\n    model.load_state_dict(state)", True),
        ("with open(path) as f:\n    state = torch.load(f)\nmodel.load_state_dict(state)", True),
        ("if path and (state := torch.load(path)):\n    model.load_state_dict(state)", False),
        ("if path:\n    state = torch.load(path)\nif path:\n    model.load_state_dict(state)", False),
    ],
)
def test_where_the_name_is_surely_bound_it_can_be_deleted(before: str, is_there: bool) -> None:
    (found,) = Program(f"{NET}\n{before}\n{LOOP}").facts.checkpoints
    assert (found.drop_after is not None) == is_there


def test_what_went_wrong_drops_nothing() -> None:
    source = "try:\n    state = torch.load(path)\n    model.load_state_dict(state)\nexcept OSError:\n    state = None"
    assert kept(f"{source}\n{LOOP}") == ["state"]


def test_a_helper_gives_back_the_model_and_the_rest() -> None:
    source = f"""
def prepare(path):
    net, state = build(), torch.load(path)
    net.load_state_dict(state["model"])
    return net, state
model, state = prepare(path)
epoch = state["epoch"]
{LOOP}
"""
    assert kept(source) == ["state"]


def test_a_whole_model_that_is_loaded_is_there_once() -> None:
    assert levels("net = torch.load('best.pt')\nnet.eval()\nnet(torch.ones(1, 3).to('cuda'))") == []
    assert levels("model.load_state_dict(torch.load('best.pt'))") == [Level.NOTE]


def test_what_is_read_back_from_a_temporary_file_is_a_copy() -> None:
    text = """
        import tempfile
        def twin(net, other):
            with tempfile.NamedTemporaryFile() as file, tempfile.NamedTemporaryFile() as older:
                torch.save(net.state_dict(), file.name)
                other.load_state_dict(torch.load(file.name))
                other.load_state_dict(torch.load(older.name))
    """
    assert [load.device for load in Program(text).facts.loads.found] == ["given", "saved"]


@pytest.mark.parametrize(("source", "device"), [("io.BytesIO()", "given"), ("'net.pt'", "saved")])
def test_what_is_read_back_from_memory_is_a_copy(source: str, device: str) -> None:
    text = (
        f"import io\ndef twin(net):\n    place = {source}\n    torch.save(net, place)\n    return torch.load(place)\n"
    )
    assert [load.device for load in Program(text).facts.loads.found] == [device]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("model.load_state_dict(torch.load(path))\nmodel.cuda()", []),
        ("model.cuda()\nmodel.load_state_dict(torch.load(path))", [Level.NOTE]),
        ("model.load_state_dict(torch.load(path))", [Level.NOTE]),
        (
            "def restore():\n    state = torch.load(path)\n    model.load_state_dict(state)\n    model.cuda()",
            [Level.NOTE],
        ),
        (
            "class Notes(nn.Module):\n    def __init__(self, path):\n        super().__init__()\n"
            "        self.pitch = nn.Embedding(88, 12)\n        heard = torch.load(path)\n"
            "        self.pitch.weight.data.copy_(heard)\n",
            [],
        ),
    ],
)
def test_a_model_that_is_on_the_host_still_is_never_beside_what_was_loaded(source: str, expected: list[Level]) -> None:
    assert levels(source) == expected


ROWS = """
class Rows(Base):
    def __init__(self):
        super().__init__()
        self.rows, self.count = torch.zeros(9, 3), 0
    def load_state_dict(self, state):
        {}
    def restore(self, path):
        saved = torch.load(path)
        self.load_state_dict(saved)
        return self
"""


@pytest.mark.parametrize(
    "body",
    [
        "self.rows = state['rows']",
        "self.rows, self.count = state['rows'].to(self.device), state['count']",
        "[setattr(self, name, state[name]) for name in ('rows', 'count')]",
        "self.__dict__.update(state)",
        "self.take(state['rows'])\n    def take(self, rows):\n        self.rows = rows",
    ],
)
def test_an_object_that_takes_the_loaded_tensors_as_its_own_has_no_copy(body: str) -> None:
    assert levels("class Base: pass\n" + ROWS.format(body)) == []
    both = "rows = Rows()\ns = torch.load(path)\nmodel.load_state_dict(s['model'])\nrows.load_state_dict(s['rows'])\n"
    facts = Program(NET + "class Base: pass\n" + ROWS.format(body) + both).facts
    assert not any(map(facts.loads.is_only_copied, facts.loads.found))  # the rows would be on another device


@pytest.mark.parametrize(
    ("base", "body"),
    [
        ("object", "self.rows.copy_(state['rows'])"),
        ("object", "self.rows = state['rows'].clone()"),
        ("object", "model.load_state_dict(state['model'])"),
        ("object", "self.take(state['rows'])\n    def take(self, rows):\n        self.rows.data.copy_(rows)"),
        ("object", "fill(self, state)"),
        ("nn.Module", "return super().load_state_dict(state)"),
    ],
)
def test_an_object_that_copies_what_it_is_given_has_it_twice(base: str, body: str) -> None:
    text = "from elsewhere import fill\nBase = object\n" + ROWS.format(body).replace("(Base)", f"({base})")
    assert levels(text) == [Level.NOTE]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("model, state", [Level.NOTE]),
        ("to_load={'net': model}, checkpoint=state", [Level.NOTE]),
        ("kept, state", [Level.NOTE]),
        ("{'net': 3}, state", []),
    ],
)
def test_code_that_is_not_seen_copies_what_was_loaded_into_the_model_that_it_is_given(
    given: str, expected: list[Level]
) -> None:
    text = f"from elsewhere import restore\nkept = {{'net': model}}\nstate = torch.load(path)\nrestore({given})\n"
    assert levels(text) == expected


@pytest.mark.parametrize(
    ("restored", "expected"),
    [
        ("Checkpoint.load_objects(to_load=kept, checkpoint=torch.load(path))", [Level.NOTE]),
        ("Checkpoint.load_objects(kept, torch.load(path))", [Level.NOTE]),
        ("state = torch.load(path)\nif 'net' not in state:\n    state = {'net': state}\n"
         "Unseen.load_objects(to_load=kept, checkpoint=state)", [Level.NOTE]),
        ("Checkpoint.load_objects(kept, torch.load(path, map_location='cpu'))", []),
        ("Checkpoint.load_objects(to_load=torch.load(path), checkpoint=kept)", []),
        ("Unseen.load_objects(torch.load(path))", []),
        ("Checkpoint(kept, torch.load(path))", []),
        (f"state = torch.load(path, device)\nCheckpoint.load_objects(kept, state)\n{LOOP}", [Level.WARNING]),
        (f"state = torch.load(path, device)\nCheckpoint.load_objects(kept, state)\ndel state\n{LOOP}", []),
    ],
)  # fmt: skip
def test_a_framework_that_has_all_objects_copy_their_states(restored: str, expected: list[Level]) -> None:
    head = "from ignite.handlers import Checkpoint\nfrom elsewhere import Unseen\n"
    kept = "kept = {'net': make(), 'optimizer': optimizer}\n"
    assert levels(f"{head}from elsewhere import make\n{kept}{restored}\n") == expected


@pytest.mark.parametrize(
    ("maker", "expected"),
    [
        ("transformers.get_linear_schedule_with_warmup", []),
        ("transformers.get_constant_schedule", []),
        ("transformers.optimization.get_scheduler", []),
        ("diffusers.optimization.get_scheduler", []),
        ("transformers.get_rows", [Level.NOTE]),
    ],
)
def test_a_schedule_of_learning_rates_holds_no_tensors(maker: str, expected: list[Level]) -> None:
    package = maker.rpartition(".")[0]
    assert levels(f"import {package}\nrates = {maker}(1)\nrates.load_state_dict(torch.load(path))\n") == expected


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        ("with torch.no_grad():\n    for x in loader:\n        print(model(x))\n", [Level.NOTE]),
        ("for x in loader:\n    model(x).sum().backward()\n    optimizer.step()\n", [Level.WARNING]),
    ],
)
def test_weights_beside_a_model_that_only_predicts_are_a_note(work: str, expected: list[Level]) -> None:
    assert levels(f"state = torch.load(path, map_location='cuda')\nmodel.load_state_dict(state)\n{work}") == expected


def test_what_another_load_may_replace_is_given_up_with_the_rest() -> None:
    first = "if sys.argv:\n    s = torch.load(path)\n    w = s['w']\n    model.load_state_dict(w)\n"
    second = "if sys.flags:\n    s = torch.load(other)\n    model.load_state_dict(s)\n"
    assert kept(f"{first}{second}{LOOP}") == ["s, w", "s"]


def test_the_line_after_which_to_drop_is_the_last_of_its_statement() -> None:
    read = "state = torch.load(path)\nmodel.load_state_dict(state['net'])\nprint('loaded',\n      state['epoch'])\n"
    head = (
        "import torch\nfrom torch import nn\nmodel = nn.Linear(3, 3)\noptimizer = torch.optim.SGD(model.parameters())\n"
    )
    loop = "for x in loader:\n    model(x).sum().backward()\n    optimizer.step()\n"
    (found,) = (one for one in check_source(head + read + loop) if one.code == "TLK403")
    assert found.message.endswith("write `del state` after line 8")


TUNER = """
class Tuner:
    def __init__(self, net, loader):
        self.net, self.loader = net, loader
        {begin}
    def resume(self, path):
        self.read = torch.load(path, map_location="cpu")
        self.net.load_state_dict(self.read["net"])
        self.start = self.read["epoch"] + 1
        {end}
    def run(self, optimizer):
        for x, y in self.loader:
            loss = F.cross_entropy(self.net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        {after}
"""


@pytest.mark.parametrize(
    ("begin", "end", "after", "found"),
    [
        ("pass", "pass", "pass", [("self.read",)]),
        ("self.read = None", "pass", "pass", [("self.read",)]),
        ("self.read = None", "self.read = None", "pass", []),
        ("self.read = None", "del self.read", "pass", []),
        ("self.read = {}", "pass", "pass", []),
        ("self.read = None", "pass", "print(self.read['net'])", []),
    ],
)
def test_an_attribute_that_is_begun_with_nothing_keeps_what_it_is_given(
    begin: str, end: str, after: str, found: list[tuple[str, ...]]
) -> None:
    source = TUNER.format(begin=begin, end=end, after=after)
    assert [one.names for one in Program(source).facts.checkpoints] == found
