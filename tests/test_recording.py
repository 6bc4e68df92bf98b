"""Histories of the allocator that a training fills without end, and how they are bounded."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import TRAINING, Program
from projects import Project

from torchlint.catalog import rule_of
from torchlint.engine import check
from torchlint.fix.applying import fix_source
from torchlint.source import Source

HEAD = "import sys\nimport torch.cuda.memory as memory\nfrom itertools import islice\n"

TRAIN = """
def train(batches):
    for x in batches:
        model(x).sum().backward()
        optimizer.step()
"""


def recorded(source: str) -> int:
    """How many unbounded recordings are found."""
    return len(Program(HEAD + TRAINING + TRAIN + source).facts.recordings)


@pytest.mark.parametrize(
    "call",
    [
        "memory._record_memory_history()",
        "memory._record_memory_history('all', stacks='python')",
        "torch.cuda.memory._record_memory_history(max_entries=sys.maxsize)",
    ],
)
def test_a_history_without_bound_is_found(call: str) -> None:
    assert recorded(f"{call}\ntrain(loader)\n") == 1


@pytest.mark.parametrize(
    "call",
    [
        "memory._record_memory_history(max_entries=1000)",
        "memory._record_memory_history('all', 'all', 'python', 1000)",
        "memory._record_memory_history('state')",
        "memory._record_memory_history(True)",
        "memory._record_memory_history(*options)",
    ],
)
def test_another_history_is_not(call: str) -> None:
    assert recorded(f"options = []\n{call}\ntrain(loader)\n") == 0


def test_it_takes_a_long_training_afterwards() -> None:
    start = "memory._record_memory_history()\n"
    assert recorded(start) == 1, "whoever imports it calls `train`"
    assert recorded("train(loader)\n" + start) == 0
    assert recorded(f"{start}model(torch.ones(3)).sum().backward()\n") == 0
    assert recorded(start + "for step, x in zip(range(3), loader):\n    model(x).sum().backward()\n") == 0


def test_a_framework_may_train() -> None:
    source = (
        "from lightning import Trainer\nmemory._record_memory_history()\nTrainer(max_epochs=3).fit(model, loader)\n"
    )
    assert recorded(source) == 1


def test_who_switches_it_off_ends_it() -> None:
    assert recorded("memory._record_memory_history()\ntrain(loader)\nmemory._record_memory_history(None)\n") == 0


PREPARING = """
import random
def prepare(seed, record=True):
    random.seed(seed)
    torch.backends.cudnn.benchmark = True
    {}
"""
"""Sets up a process of which the rest is written elsewhere."""


@pytest.mark.parametrize(
    "switched",
    ["memory._record_memory_history()",
     "if torch.cuda.is_available():\n        memory._record_memory_history(stacks='all')",
     "if not torch.cuda.is_available():\n        return\n    memory._record_memory_history()"],
)  # fmt: skip
def test_who_sets_up_the_process_records_all_that_it_does(switched: str) -> None:
    assert len(Program(HEAD + PREPARING.format(switched)).facts.recordings) == 1


@pytest.mark.parametrize(
    "switched",
    ["memory._record_memory_history(max_entries=5000)",
     "if record:\n        memory._record_memory_history()",
     "if not record:\n        return\n    memory._record_memory_history()",
     "memory._record_memory_history()\n    run(model)\n    memory._dump_snapshot('one.pickle')",
     "memory._record_memory_history()\ndef end():\n    memory._record_memory_history(enabled=None)"],
)  # fmt: skip
def test_who_sets_up_the_process_and_was_asked_to_record_does_not(switched: str) -> None:
    source = HEAD + "from library import model, run\n" + PREPARING.format(switched)
    assert len(Program(source).facts.recordings) == 0


def test_a_helper_that_only_records_is_called_by_who_wants_it() -> None:
    assert len(Program(HEAD + "def record():\n    memory._record_memory_history()\n").facts.recordings) == 0


CALLBACK = """
from transformers import TrainerCallback
class Watch(TrainerCallback):
    def {}(self, args, state, control, **kwargs):
        {}
"""


@pytest.mark.parametrize(
    ("method", "switched", "recordings"),
    [
        ("on_train_begin", "memory._record_memory_history()", 1),
        ("on_train_begin", "memory._record_memory_history(max_entries=5000)", 0),
        ("on_train_begin", "if self.wanted:\n            memory._record_memory_history()", 0),
        ("on_train_begin", "if state == 'fit':\n            memory._record_memory_history()", 1),
        ("on_train_end", "memory._record_memory_history()", 0),
    ],
)
def test_a_callback_that_records_from_the_start_of_a_training(method: str, switched: str, recordings: int) -> None:
    assert len(Program(HEAD + CALLBACK.format(method, switched)).facts.recordings) == recordings
    ends = "    def on_train_end(self, *args, **kwargs):\n        memory._record_memory_history(enabled=None)\n"
    assert len(Program(HEAD + CALLBACK.format(method, switched) + ends).facts.recordings) == 0


ENTERED = """
class Watch:
    def __enter__(self):
        memory._record_memory_history()
        return self
    def __exit__(self, *error):
        {}
"""


def test_a_block_that_begins_to_record_and_does_not_end_it() -> None:
    snapshot = "memory._dump_snapshot('memory.pickle')"
    assert len(Program(HEAD + ENTERED.format(snapshot)).facts.recordings) == 1
    assert len(Program(HEAD + "import pytest\n" + ENTERED.format(snapshot)).facts.recordings) == 0
    off = "memory._record_memory_history(enabled=None)"
    assert len(Program(HEAD + ENTERED.format(off)).facts.recordings) == 0


MADE = """
class Pilot:
    def __init__(self, net, rule, watch=False):
        self.net, self.rule = net, torch.optim.SGD(net.parameters(), lr=rule)
        {made}
    def watch(self):
        {watch}
    def {method}(self, x):
        self.net(x).sum().{done}
"""


@pytest.mark.parametrize(
    ("made", "watch", "method", "done", "recordings"),
    [
        ("memory._record_memory_history()", "pass", "train_step", "backward()", 1),
        ("self.watch()", "memory._record_memory_history()", "train_step", "backward()", 1),
        ("memory._record_memory_history(max_entries=9)", "pass", "train_step", "backward()", 0),
        ("if watch: memory._record_memory_history()", "pass", "train_step", "backward()", 0),
        ("pass", "memory._record_memory_history()", "train_step", "backward()", 0),
        ("memory._record_memory_history()", "pass", "predict", "item()", 0),
    ],
)
def test_what_trains_and_records_from_when_it_is_made(
    made: str, watch: str, method: str, done: str, recordings: int
) -> None:
    source = HEAD + "import torch\n" + MADE.format(made=made, watch=watch, method=method, done=done)
    assert len(Program(source).facts.recordings) == recordings
    ends = "    def end(self):\n        memory._record_memory_history(enabled=None)\n"
    assert len(Program(source + ends).facts.recordings) == 0


@pytest.mark.parametrize(
    ("call", "fixed"),
    [
        ("memory._record_memory_history()", "memory._record_memory_history(max_entries=100000)"),
        (
            "memory._record_memory_history('all', stacks='all')",
            "memory._record_memory_history('all', stacks='all', max_entries=100000)",
        ),
        (
            "memory._record_memory_history(max_entries=sys.maxsize)",
            "memory._record_memory_history(max_entries=100000)",
        ),
        ("memory._record_memory_history(\n    'all',\n)", "memory._record_memory_history(\n    'all',\n)"),
    ],
)
def test_the_repair_bounds_it(call: str, fixed: str) -> None:
    before = Program(f"{HEAD}{TRAINING}{TRAIN}{call}\ntrain(loader)\n").text
    rule = rule_of("TLK504")
    assert rule is not None
    source = Source("program.py", before, "utf-8", False)
    outcome = fix_source(source, lambda s: check(s, [rule]).diagnostics, unsafe=False)
    assert outcome.text == before.replace(call, fixed)


OPTIONS = """
def options(args):
    found = {{"context": "all", "stacks": "python"{}}}
    return found

class Log:
    def __init__(self, options, most=sys.maxsize):
        self.options, self.most = options, most
    def begin(self):
        memory._record_memory_history({})

log = Log(options(sys.argv){})
log.begin()
train(loader)
"""


@pytest.mark.parametrize(
    ("more", "call", "given", "count"),
    [
        ("", "**self.options", "", 1),
        (", 'max_entries': 1000", "**self.options", "", 0),
        (", 'max_entries': sys.maxsize", "**self.options", "", 1),
        (", 'enabled': 'state'", "**self.options", "", 0),
        ("", "max_entries=self.most", "", 1),
        ("", "max_entries=self.most", ", most=1000", 0),
        ("", "max_entries=self.most", ", most=int(sys.argv[1])", 0),
    ],
)
def test_options_that_are_made_elsewhere(more: str, call: str, given: str, count: int) -> None:
    assert recorded(OPTIONS.format(more, call, given)) == count


SERVER = """
from contextlib import asynccontextmanager
from fastapi import FastAPI

class Watch:
    def begin(self):
        memory._record_memory_history()

watch = Watch()

@asynccontextmanager
async def life(app):
    {before}
    yield
    {after}

def load():
    {loaded}

app = FastAPI({given})
{added}

@app.{asked}("/answer")
def answer(x):
    {answered}
"""


@pytest.mark.parametrize(
    ("places", "recordings"),
    [
        ({"before": "watch.begin()", "given": "lifespan=life"}, 1),
        ({"before": "watch.begin()"}, 0),  # nobody is seen to run it
        ({"after": "watch.begin()", "given": "lifespan=life"}, 0),
        ({"loaded": "watch.begin()", "added": "app.add_event_handler('startup', load)"}, 1),
        ({"loaded": "watch.begin()", "added": "app.add_event_handler('shutdown', load)"}, 0),
        ({"loaded": "if flag: watch.begin()", "added": "app.add_event_handler('startup', load)"}, 0),
        ({"answered": "watch.begin()"}, 0),  # somebody asks for it
        ({"added": "watch.begin()"}, 1),
        ({"added": "memory._record_memory_history()"}, 1),
        ({"added": "memory._record_memory_history()", "asked": "template"}, 0),
    ],
)
def test_a_server_that_records_from_its_start_records_for_its_life(places: dict[str, str], recordings: int) -> None:
    names = dict.fromkeys(("before", "after", "loaded", "answered"), "pass")
    source = SERVER.format(**{**names, "given": "", "added": "", "asked": "post", **places})
    assert len(Program(HEAD + source).facts.recordings) == recordings


def test_a_decorated_start_handler_runs_once() -> None:
    source = SERVER.format(
        before="pass", after="pass", loaded="pass", given="", asked="post", answered="pass",
        added="@app.on_event('{}')\nasync def start():\n    watch.begin()",
    )  # fmt: skip
    assert len(Program(HEAD + source.format("startup")).facts.recordings) == 1
    assert len(Program(HEAD + source.format("shutdown")).facts.recordings) == 0


@pytest.mark.parametrize(
    ("test", "count"),
    [
        ("torch.cuda.is_available()", 1),
        ("device.type == 'cuda'", 1),
        ("device.type == kind", 0),
        ("sys.flags.debug", 0),
    ],
)
def test_that_there_is_a_gpu_is_nobodys_choice(test: str, count: int) -> None:
    body = f"if {test}:\n            memory._record_memory_history()\n"
    source = (
        f"class Run:\n    def __init__(self, device, kind):\n        {body}    def go(self):\n        train(loader)\n"
    )
    assert recorded(source) == count


WATCHING = """
import asyncio

class Seer:
    def __init__(self):
        self.model = nn.Linear(3, 3).eval()

    def look(self, frames):
        with torch.inference_mode():
            return self.model(frames).argmax()

    def name(self):
        return "seer"

async def watch(seer, camera):
    loop = asyncio.get_running_loop()
    {turns}
        frames = camera.read()
        print({answer})

async def run(camera):
    memory._record_memory_history({bound})
    await watch(Seer(), camera)
"""


@pytest.mark.parametrize(
    ("changed", "recordings"),
    [
        ({}, 1),
        ({"answer": "await asyncio.to_thread(seer.look, frames)"}, 1),
        ({"answer": "seer.look(frames)"}, 1),
        ({"answer": "await loop.run_in_executor(None, seer.name)"}, 0),
        ({"answer": "await loop.run_in_executor(None, camera.look, frames)"}, 0),
        ({"turns": "for turn in range(5):"}, 0),
        ({"bound": "max_entries=1000"}, 0),
    ],
)
def test_a_loop_that_waits_for_a_network_in_another_thread_fills_it(changed: dict[str, str], recordings: int) -> None:
    plain = {"turns": "while True:", "answer": "await loop.run_in_executor(None, seer.look, frames)", "bound": ""}
    assert recorded(WATCHING.format(**{**plain, **changed})) == recordings


HELPER = """
    import torch

    def start(device, wanted=False):
        {body}

    def stop():
        torch.cuda.memory._record_memory_history(enabled=None)
"""

USER = """
    import torch
    from torch import nn
    from {module} import start, stop

    def run(loader, device, debug):
        {before}
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for {turns}:
            net(x).sum().backward()
            optimizer.step()
        {after}
"""

ON = "torch.cuda.memory._record_memory_history()"


@pytest.mark.parametrize(
    ("body", "ways", "count"),
    [
        (ON, ("start(device)", "x in loader", "pass"), 1),
        (ON, ("start(device=device)", "x in loader", "pass"), 1),
        (f"if device.type == 'cuda':\n            {ON}", ("start(device)", "x in loader", "pass"), 1),
        (f"def inner():\n            {ON}\n        inner()", ("start(device)", "x in loader", "pass"), 1),
        (ON, ("start(device)", "x in torch.rand(100, 3, 8)", "pass"), 1),
        (ON, ("start(device)", "x in loader", "stop()"), 0),
        (ON, ("if debug:\n            start(device)", "x in loader", "pass"), 0),
        (ON, ("start(device)", "_, x in zip(range(5), loader)", "pass"), 0),
        (ON, ("pass", "x in loader", "start(device)"), 0),
        (f"if wanted:\n            {ON}", ("start(device)", "x in loader", "pass"), 0),
        (f"{ON[:-1]}max_entries=9000)", ("start(device)", "x in loader", "pass"), 0),
        (f"{ON[:-1]}'state')", ("start(device)", "x in loader", "pass"), 0),
        (f"{ON}\n        device.warm_up()\n        stop()", ("start(device)", "x in loader", "pass"), 0),
    ],
)
def test_a_helper_of_another_file_begins_to_record(
    tmp_path: Path, body: str, ways: tuple[str, str, str], count: int
) -> None:
    user = USER.format(module="tools", before=ways[0], turns=ways[1], after=ways[2])
    files = {
        "tools/__init__.py": "from .watch import start, stop\n",
        "tools/watch.py": HELPER.format(body=body),
        "main.py": user,
    }
    found = [one for one in Project(tmp_path, files).found() if "TLK504" in one]
    assert found == ["main.py: TLK504 warning"] * count


def test_a_recorder_of_another_file_is_told_once_and_where_it_is_called(tmp_path: Path) -> None:
    watch = "import torch\nclass Watch:\n    def begin(self):\n        self.open()\n    def open(self):\n"
    watch += f"        {ON}\n"
    user = USER.format(module="tools", before="Watch().begin()", turns="x in loader", after="pass")
    files = {"watch.py": watch, "main.py": user.replace("from tools import start, stop", "from watch import Watch")}
    assert Project(tmp_path, files).found() == ["main.py: TLK504 warning"]
    files["watch.py"] += "    def end(self):\n        " + ON[:-1] + "enabled=None)\n"
    assert Project(tmp_path / "ended", files).found() == []


def test_thirty_turns_are_many() -> None:
    loop = "for step in range({}):\n    model(torch.ones(3)).sum().backward()\n    optimizer.step()\n"
    assert recorded("memory._record_memory_history()\n" + loop.format(30)) == 1
    assert recorded("memory._record_memory_history()\n" + loop.format(29)) == 0


BESIDE_A_TRIAL = """
from transformers import TrainerCallback

class Trace(TrainerCallback):
    def on_train_begin(self, args, state, control, **kwargs):
        {begin}

def smoke(model, batch):
    {smoke}
    for _ in range(3):
        model(batch).sum().backward()
        optimizer.step()
    {done}
"""

OFF = "memory._record_memory_history(enabled=None)"


@pytest.mark.parametrize(
    ("begin", "smoke", "done", "count"),
    [
        (ON, "pass", "pass", 1),
        (f"if state.is_local_process_zero:\n            {ON}", "pass", "pass", 1),
        (f"if state.rank == 0:\n            {ON}", "pass", "pass", 1),
        (f"if accelerator.is_main_process:\n            {ON}", "pass", "pass", 1),
        (f"if state.wanted:\n            {ON}", "pass", "pass", 0),
        (f"if state.rank > 0:\n            {ON}", "pass", "pass", 0),
        (ON, "memory._record_memory_history(max_entries=1000)", OFF, 1),
        (ON, "pass", OFF, 0),
        (f"{ON}\n        {OFF}", "memory._record_memory_history(max_entries=1000)", OFF, 0),
    ],
)
def test_a_callback_that_begins_a_training_begins_to_record(begin: str, smoke: str, done: str, count: int) -> None:
    assert recorded(BESIDE_A_TRIAL.format(begin=begin, smoke=smoke, done=done)) == count
