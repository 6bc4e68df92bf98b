"""What is read from the same file again and again, and what only looks so."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project

from torchlint import check_source
from torchlint.facts.values.graph import Function

HEAD = """
import functools, pickle
import torch
from torch import nn
from torch.utils.data import DataLoader
from fastapi import FastAPI
from transformers import AutoModel, AutoTokenizer
app = FastAPI()
"""

SERVE = """
def main(loader: DataLoader):
    for x, y in loader:
        net = reader("net.pt")
        print(net(x))
"""


def reloaded(source: str) -> list[str]:
    """What is read again, each as "what by what"."""
    facts = Program(source, head=HEAD).facts
    return [
        f"{facts.called(found.load.call)} by {by.name if isinstance(by := found.repeated_by, Function) else 'loop'}"
        for found in facts.reloads
        if not found.is_named
    ]


def test_a_reader_with_its_device_bound_to_it() -> None:
    reader = "reader = functools.partial(torch.load, map_location='cpu')\n"
    assert reloaded(f"{reader}{SERVE}") == ["reader by loop"]
    table = "READERS = {'pt': functools.partial(torch.load, weights_only=False), 'ts': torch.jit.load}\n"
    assert reloaded(f"{table}{SERVE.replace('reader', 'READERS[kind]')}") == ["READERS[kind] by loop"]


OBJECT = """
class Reader:
    def __init__(self, path):
        self.net = {read}
    def read(self, x):
        return self.net(x)
def opened(path):
    net = torch.jit.load(path)
    return net.eval()
@app.post("/read")
def read(x):
    return Reader("net.pt").read(x)
"""


@pytest.mark.parametrize("read", ["torch.jit.load(path)", "opened(path)", "(lambda: opened(path))()"])
def test_an_object_that_reads_by_itself_or_by_helpers(read: str) -> None:
    assert reloaded(OBJECT.format(read=read)) == ["torch.jit.load by read"]


def test_an_object_that_is_made_once_reads_once() -> None:
    once = OBJECT.format(read="opened(path)").replace('return Reader("net.pt").read(x)', "return READER.read(x)")
    assert reloaded(f'{once}READER = Reader("net.pt")\n') == []


def test_a_helper_that_each_step_calls() -> None:
    assert reloaded(f"def reader(path):\n    return torch.jit.load(path)\n{SERVE}") == ["torch.jit.load by loop"]
    assert reloaded(f"def reader(path):\n    return torch.load(path).eval()\n{SERVE}") == ["torch.load by loop"]


@pytest.mark.parametrize(
    "reader",
    [
        "@functools.lru_cache\ndef reader(path):\n    return torch.jit.load(path)",
        "known = {}\ndef reader(path):\n    if path not in known:\n        known[path] = torch.jit.load(path)\n"
        "    return known[path]",
        "net = None\ndef reader(path):\n    global net\n    if net is None:\n        net = torch.jit.load(path)\n"
        "    return net",
        "net = None\ndef reader(path):\n    global net\n    if net is None:\n        fresh = torch.nn.Linear(4, 4)\n"
        "        fresh.load_state_dict(torch.load(path))\n        net = fresh.eval()\n    return net\n"
        "def forget():\n    global net\n    net = None",
    ],
)
def test_a_helper_that_remembers(reader: str) -> None:
    assert reloaded(f"{reader}\n{SERVE}") == []


def test_a_handler_that_a_framework_calls() -> None:
    handler = '@app.post("/ask")\ndef ask(text):\n    net = torch.load("net.pt")\n    return net(text)'
    assert reloaded(handler) == ["torch.load by ask"]
    assert reloaded(handler.replace('"net.pt"', "text")) == []


@pytest.mark.parametrize(
    ("read", "is_told"), [("torch.load(kind)", True), ("KINDS.setdefault(kind, load(kind))", False)]
)
def test_which_model_is_read_a_request_may_say(read: str, is_told: bool) -> None:
    handler = f'@app.post("/ask")\ndef ask(kind, text):\n    net = {read}\n    return net(text)'
    assert [found.is_named for found in Program(handler, head=HEAD).facts.reloads] == [True] * is_told


@pytest.mark.parametrize(
    "table, test, is_repeated",
    [
        ('{"a": "a.pt", "b": "b.pt"}', "kind not in KINDS", True),
        ('["a.pt", "b.pt"]', "kind not in KINDS", True),
        ('{"a": "a.pt", "b": "b.pt"}', "kind in KINDS", False),
        ('{"a": "a.pt", "b": "b.pt"}', "other not in KINDS", False),
        ('dict(load_table("kinds.json"))', "kind not in KINDS", False),
        ("{}", "kind not in KINDS", False),
    ],
)
def test_one_of_a_table_is_read_again(table: str, test: str, is_repeated: bool) -> None:
    handler = f"""
KINDS = {table}
@app.post("/ask")
def ask(kind, other, x):
    if {test}:
        raise KeyError(kind)
    return torch.jit.load(kind + ".pt")(x)
"""
    assert reloaded(handler) == ["torch.jit.load by ask"] * is_repeated
    assert reloaded(handler + "def more(kind):\n    KINDS[kind] = kind\n") == []


@pytest.mark.parametrize(
    "before, after, is_repeated",
    [
        ('if "text" not in request.form: return None', 'request.form["text"]', True),
        ("if name not in KINDS: return None", "KINDS.get(name)", True),
        ("if name not in open_jobs: return None", "open_jobs.remove(name)", False),
        ("if name not in open_jobs: return None", "open_jobs[name] = None", False),
        ("if name in done: return None", "done.add(name)", False),
    ],
)
def test_a_request_that_is_turned_away(before: str, after: str, is_repeated: bool) -> None:
    lines = [before, 'net.load_state_dict(torch.load("net.pt"))', after, "return net(x)"]
    handler = "\n    ".join(['@app.post("/ask")\ndef ask(name, x):', *lines])
    assert reloaded(f"net = torch.nn.Linear(4, 4)\n{handler}") == ["torch.load by ask"] * is_repeated


OFFLINE = """
def main(names, done):
    known = {**done}
    for name in names:
        if name in known:
            continue
        net = AutoModel.from_pretrained("small")
        with torch.no_grad():
            print(name, net.generate(torch.tensor([len(name)])))
"""


def test_turns_that_are_left_out_spare_the_others_nothing() -> None:
    assert reloaded(OFFLINE) == ["AutoModel.from_pretrained by loop"]
    assert reloaded(OFFLINE.replace("print(name, ", "known[name] = net, (")) == []
    assert reloaded(OFFLINE.replace("{**done}", "done").replace("in known", "in done")) == []


def test_a_file_for_each_turn() -> None:
    assert reloaded(SERVE.replace('reader("net.pt")', "torch.jit.load(y)")) == []
    assert reloaded(SERVE.replace('reader("net.pt")', 'torch.jit.load("net.pt")')) == ["torch.jit.load by loop"]


def test_a_file_that_the_turn_writes() -> None:
    source = SERVE.replace('reader("net.pt")', 'torch.jit.load("net.pt")')
    assert reloaded(source + '        torch.jit.save(net, "net.pt")\n') == []


def test_an_object_that_reads_when_it_is_made() -> None:
    source = """
class Reader:
    def __init__(self, path):
        self.net = torch.jit.load(path)
    def __call__(self, x):
        return self.net(x)
"""
    assert reloaded(source + SERVE.replace("reader(", "Reader(")) == ["torch.jit.load by loop"]


def test_a_tokenizer_has_no_weights() -> None:
    source = SERVE.replace('reader("net.pt")', 'AutoModel.from_pretrained("a")').replace(
        "print", 'words = AutoTokenizer.from_pretrained("a")\n        print'
    )
    facts = Program(source, head=HEAD).facts
    assert [found.weighs for found in facts.reloads] == [True, False]


def test_an_epoch_or_a_trial_may_read() -> None:
    source = """
def main(loader: DataLoader, model, optimizer):
    for epoch in range(3):
        model.load_state_dict(torch.load("start.pt"))
        for x, y in loader:
            model(x).sum().backward()
            optimizer.step()
"""
    assert reloaded(source) == []


def test_a_table_is_no_model() -> None:
    assert (
        reloaded(SERVE.replace('net = reader("net.pt")', 'net = torch.load("table.pt")').replace("(x))", "[x])")) == []
    )


PIPELINE = """
from diffusers import Pipe, Net
def main(path, other, loader, optimizer):
    unet = Net.from_pretrained(path, subfolder="unet")
    unet.to("cuda")
    plan = Net.from_pretrained(path, subfolder="plan")
    words = Net.from_pretrained(path, subfolder="words")
    print(words("a cat"))
    for epoch in range(9):
        for x in loader:
            unet(x).sum().backward()
            optimizer.step()
        if epoch % 3 == 0:
            pipe = {whole}
            print(pipe(x))
"""


@pytest.mark.parametrize(
    ("whole", "names"),
    [
        ("Pipe.from_pretrained(path)", ["unet"]),
        ("Pipe.from_pretrained(path, plan=plan)", ["unet"]),
        ("Pipe.from_pretrained(path, unet=unet)", []),
        ("Pipe.from_pretrained(path, **parts)", []),
        ("Pipe.from_pretrained(other)", []),
        ("Net.from_pretrained(path, subfolder='unet')", []),
        ("Pipe.from_config(path)", []),
    ],
)
def test_parts_that_are_read_once_more_with_the_whole(whole: str, names: list[str]) -> None:
    found = Program(PIPELINE.format(whole=whole), head=HEAD).facts.second_copies
    assert [name for copy in found for name in copy.parts] == names


def test_a_model_of_a_library_is_one_whatever_methods_it_has() -> None:
    source = PIPELINE.replace("Pipe, Net", "Pipe, AutoencoderKL as Net").replace(
        'unet.to("cuda")', "unet.enable_tiling()"
    )
    found = Program(source.format(whole="Pipe.from_pretrained(path)"), head=HEAD).facts.second_copies
    assert [name for copy in found for name in copy.parts] == ["unet", "plan", "words"]


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("", [("unet", "")]),
        ("del unet", []),
        ("guide = Pipe.from_pretrained(path, unet=unet)\n    del unet", [("unet", "guide")]),
        ("guide = Pipe.from_pretrained(path, unet=unet)\n    del unet, guide", []),
        ("given = unet('a cat', return_tensors='pt')", []),
    ],
)
def test_of_parts_that_were_given_up_those_are_in_memory_that_something_holds(
    before: str, found: list[tuple[str, str]]
) -> None:
    source = PIPELINE.replace("    for epoch", f"    {before}\n    for epoch").replace("unet(x).sum()", "net(x).sum()")
    copies = Program(source.format(whole="Pipe.from_pretrained(path)"), head=HEAD).facts.second_copies
    assert [(name, copy.held.get(name, "")) for copy in copies for name in copy.parts] == found


@pytest.mark.parametrize(("each", "found"), [("", 0), ("words = AutoTokenizer.from_pretrained(path)", 1)])
def test_what_a_loaded_tokenizer_is_called_with_is_read_from_no_file(each: str, found: int) -> None:
    source = f"""
def main(path, loader: DataLoader):
    net, words = AutoModel.from_pretrained(path), AutoTokenizer.from_pretrained(path)
    for texts in loader:
        {each}
        given = words(texts, padding=True)
        print(net(**given))
"""
    assert len(reloaded(source)) == found


def test_a_choice_that_comes_with_the_request_is_made_each_time() -> None:
    handler = """
from pydantic import BaseModel
class Job(BaseModel):
    style: str = "plain"
    detailed: bool = False
@app.post("/draw")
def draw(job: Job):
    if job.detailed:
        net = torch.jit.load("detailed.pt")
        return net(job.style)
"""
    assert reloaded(handler) == ["torch.jit.load by draw"]
    assert reloaded(f"{handler}def later(job):\n    job.detailed = True\n") == []


PROPERTY = """
class Answerer:
    def __init__(self, path):
        self.path, self._net = path, None
        self.words = AutoTokenizer.from_pretrained(path)
    @property
    def net(self):
        return AutoModel.from_pretrained(self.path).eval()
    def answer(self, text):
        return self.words.decode(self.net.generate(self.words(text)))
"""


def test_a_property_reads_at_each_access() -> None:
    assert reloaded(PROPERTY) == ["AutoModel.from_pretrained by answer"]
    assert reloaded(PROPERTY.replace("AutoModel.from_pretrained", "torch.jit.load")) == ["torch.jit.load by answer"]


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("@property", "@functools.cached_property"),
        ("@property", "@property\n    @functools.lru_cache"),
        (
            "return AutoModel.from_pretrained(self.path).eval()",
            "if self._net is None:\n            self._net = AutoModel.from_pretrained(self.path)\n"
            "        return self._net",
        ),
        ("self.net.generate(self.words(text))", "self.net.config[text]"),
        ("self.net.generate(self.words(text))", "self.net.state_dict()[text]"),
        ("self.net.generate(self.words(text))", "self.net.generate()"),
        ("def answer(self, text):", "def __init__(self, text):"),
    ],
)
def test_a_property_that_remembers_or_is_not_run(written: str, instead: str) -> None:
    assert written in PROPERTY
    assert reloaded(PROPERTY.replace(written, instead)) == []


@pytest.mark.parametrize(("kinds", "is_again"), [("('a', 'b')", True), ("{'a', other}", False), ("()", False)])
def test_one_of_the_few_that_the_condition_names_is_read_again(kinds: str, is_again: bool) -> None:
    handler = f"""
@app.post("/score/{{kind}}")
def score(kind: str, row: list):
    if kind not in {kinds}:
        return None
    net = torch.jit.load(kind)
    return net(torch.tensor(row)).tolist()
"""
    assert reloaded(handler) == (["torch.jit.load by score"] if is_again else [])


WRITTEN = """
def main(loader: DataLoader, net: nn.Module, trimmer, path="net.pt"):
    for x, y in loader:
        {before}
        net.load_state_dict(torch.load(path))
        print(net(x))
"""


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("trimmer.export_weights(path)", []),
        ("trimmer.export_weights(x, file=path)", []),
        ("trimmer.export_weights('other.pt')", ["torch.load by loop"]),
        ("trimmer.show(path)", ["torch.load by loop"]),
    ],
)
def test_what_a_turn_writes_to_the_same_path_is_not_the_same(before: str, found: list[str]) -> None:
    assert reloaded(WRITTEN.format(before=before)) == found


ENSEMBLE = """
def main(net: nn.Module, loader: DataLoader, paths):
    for x, names in loader:
        total = 0
        for {each}:
            net.load_state_dict(torch.load({path}))
            total = total + net(x)
        print(total)
"""


@pytest.mark.parametrize(
    ("each", "path", "found"),
    [
        ("path in paths", "path", ["torch.load by loop"]),
        ("n, path in enumerate(sorted(paths))", "path", ["torch.load by loop"]),
        ("n in range(len(paths))", "paths[n]", ["torch.load by loop"]),
        ("n in range(5)", "f'fold{n}.pt'", ["torch.load by loop"]),
        ("path in names", "path", []),
        ("n in range(5)", "names[n]", []),
        ("n in range(5)", "f'{names}{n}.pt'", []),
    ],
)
def test_all_files_of_an_ensemble_are_read_again_for_each_batch(each: str, path: str, found: list[str]) -> None:
    assert reloaded(ENSEMBLE.format(each=each, path=path)) == found


def test_an_item_by_the_number_of_the_turn_is_another_one() -> None:
    turns = """
def main(net: nn.Module, data, paths):
    for n in range(len(paths)):
        net.load_state_dict(torch.load({path}))
        print(net(data).argmax())
"""
    assert reloaded(turns.format(path="paths[n]")) == []
    assert reloaded(turns.format(path="paths[0]")) == ["torch.load by loop"]


IN_A_THREAD = """
import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Thread
from aiohttp import web
import torch

routes, pool = web.RouteTableDef(), ThreadPoolExecutor()

def answer(name):
    net = torch.jit.load("weights.pt", map_location="cpu").eval()
    with torch.inference_mode():
        return net(name).tolist()

@routes.post("/answer")
async def post(request):
    name = await request.text()
    {asked}
"""


@pytest.mark.parametrize(
    "asked",
    [
        "return await asyncio.to_thread(answer, name)",
        "return await request.loop.run_in_executor(None, answer, name)",
        "return pool.submit(answer, name)",
        "Thread(target=answer, args=(name,)).start()",
        "return answer(name)",
    ],
)
def test_a_handler_of_requests_hands_it_to_a_thread(asked: str) -> None:
    found = check_source(IN_A_THREAD.format(asked=asked))
    assert [one.code for one in found] == ["TLK302"]


REGISTRY = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
    def forward(self, x):
        return self.layer(x)

class Registry:
    def __init__(self):
        self.models = {}
    def load(self, name, path):
        net = Net()
        net.load_state_dict(torch.load(path, map_location="cpu"))
        self.models[name] = (net.eval(), path)
        return len(self.models)%s

registry = Registry()

@app.put("/models")
def put(name: str, path: str):
    return {"models": registry.load(name, path)}
"""


def test_what_a_request_asks_to_be_loaded_for_later_ones_is_registered() -> None:
    program = Program(REGISTRY % "", head=HEAD)
    assert (program.facts.reloads, program.facts.constructions) == ([], [])
    runs_it = Program(REGISTRY % " + net(torch.ones(4)).sum().item()", head=HEAD)
    assert ([found.is_named for found in runs_it.facts.reloads], len(runs_it.facts.constructions)) == ([True], 1)


SWAPPED = """
import asyncio
import torch
from fastapi import FastAPI
from torch import nn

app = FastAPI()

class Backend:
    def __init__(self, path):
        self.swap(path)

    def build(self, path):
        net = nn.Linear(8, 3)
        net.load_state_dict(torch.load(path, map_location="cpu"))
        return net.eval()

    def swap(self, path):
        self.net = self.build(path).to("cuda")

backend = Backend("first.pt")

@app.post("/swap")
async def swapped(path: str):
    return await asyncio.to_thread(backend.swap, {given})
"""


@pytest.mark.parametrize(("given", "level"), [("path", "note"), ("'other.pt'", "warning")])
def test_what_is_handed_to_another_thread_may_say_what_is_read(tmp_path: Path, given: str, level: str) -> None:
    found = Project(tmp_path, {"main.py": SWAPPED.format(given=given)}).found()
    assert f"main.py: TLK302 {level}" in found
    assert any("TLK301" in one for one in found) is (level == "warning")
