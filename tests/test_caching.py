"""Caches that keep tensors: what is new in each turn, whose caches hold it, which dictionaries are caches."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project
from torchlint.rules.tlk404_cached_tensors import CachedTensors

from torchlint.rule import Level

IMPORTS = """
import functools
import torch
import torch.nn.functional as F
from functools import cache, lru_cache
from torch import nn
"""

LOOP = """
net = nn.Linear(3, 3)
for step, (x, y) in enumerate(loader):
    x = x.to("cpu")
    {}
"""


def found(source: str) -> list[str]:
    """Each cache that grows, as its function and the key, and each dictionary, as its name and the key."""
    facts = Program(source, head=IMPORTS).facts
    caches = [f"{g.cached.function.name}({g.key.name if g.key else ''})" for g in facts.growing_caches]
    return caches + [f"{memo.name}[{memo.written}]" for memo in facts.growing_memos]


def levels(source: str) -> list[Level]:
    """The levels of the rule's findings."""
    return [finding.level for finding in CachedTensors().check(Program(source, head=IMPORTS).facts)]


def is_new(expression: str, before: str = "") -> bool:
    """Whether an expression is another value in each turn of a loop over batches."""
    program = Program(before + LOOP.format(f"print({expression})"), head=IMPORTS)
    return program.facts.novelty.of(program.shown()) is not None


@pytest.mark.parametrize(
    "expression",
    ["x", "x[0]", "x * 2", "net(x)", "(step, 1)", "step", "f'{step}'", "id(x)", "str(x)", "tuple(x.tolist())",
     "x.sum().item()", "x.cpu().numpy().tobytes()", "nn.Linear(step, 3)", "step // 2"],
)  # fmt: skip
def test_what_is_new_in_each_turn(expression: str) -> None:
    assert is_new(expression)


@pytest.mark.parametrize(
    "expression",
    ["x.shape", "x.shape[0]", "x.size(1)", "len(x)", "step % 2", "y[0].item()", "'name'", "3", "net", "net.weight",
     "x.dtype", "step > 3", "x is None", "y.max().item()"],
)  # fmt: skip
def test_what_may_come_again(expression: str) -> None:
    assert not is_new(expression)


def test_a_counter_is_new_unless_it_begins_again_in_each_epoch() -> None:
    inner = "for epoch in range(epochs):\n    for step, x in enumerate(loader):\n        print({})\n"
    program = Program(inner.format("step"), head=IMPORTS)
    assert program.facts.novelty.of(program.shown()) is None
    counted = "n = 0\nfor epoch in range(epochs):\n    for x in loader:\n        print(n)\n        n += 1\n"
    program = Program(counted, head=IMPORTS)
    assert program.facts.novelty.of(program.shown()) is not None


@pytest.mark.parametrize("key", ["(epoch, step)", "f'{epoch}-{step}'", "epoch * 100 + step"])
def test_two_counters_together_are_new(key: str) -> None:
    inner = f"for epoch in range(3):\n    for step, x in enumerate(loader):\n        print({key})\n"
    program = Program(inner, head=IMPORTS)
    assert program.facts.novelty.of(program.shown()) is not None


def test_a_cache_that_every_turn_makes() -> None:
    source = "    @cache\n    def f(a):\n        return a + 1\n    f(x)\n"
    assert found(LOOP.format("pass") + source) == []


def test_an_attribute_that_is_counted_up() -> None:
    source = """
class Service:
    def __init__(self):
        self.served = 0
    def run(self):
        self.served += 1
        print(self.served)
"""
    program = Program(source, head=IMPORTS)
    assert program.facts.novelty.of(program.shown()) is not None


@pytest.mark.parametrize("decorator", ["lru_cache", "lru_cache()", "lru_cache(None)", "cache", "functools.cache"])
def test_a_cache_by_tensors(decorator: str) -> None:
    assert found(f"@{decorator}\ndef f(a):\n    return a + 1\n" + LOOP.format("f(x)")) == ["f(a)"]


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        ("def near(points):\n    return gaps(points) < 1", ["gaps(points)"]),
        ("class Net(nn.Module):\n    def forward(self, x):\n        return gaps(x)", ["gaps(points)"]),
        ("def near(n):\n    return gaps(torch.arange(n)) < 1", []),
        ("GRID = torch.arange(9)\ndef near():\n    return gaps(GRID)", []),
        ("class Net(nn.Module):\n    def forward(self, x):\n        return gaps(self.grid) + x", []),
        ("def near(points):\n    return gaps(points)\nnear(torch.zeros(3))", []),
        ("def near(points):\n    return gaps(tuple(points.tolist()))", []),
    ],
)
def test_a_cache_by_what_others_give_who_are_not_seen(asks: str, expected: list[str]) -> None:
    gaps = "@cache\ndef gaps(points):\n    return points.unsqueeze(1) - points.unsqueeze(0)\n"
    assert found(f"{gaps}\n{asks}\n") == expected
    asked = "    if isinstance(points, int):\n        points = torch.arange(points)\n"
    either = gaps.replace("    return", f"{asked}    return")
    assert found(f"{either}\n{asks}\n") == []


@pytest.mark.parametrize(("parts", "expected"), [("text.split()", []), ("net(text).split(1)", ["code(part)"])])
def test_words_are_no_tensors_where_nothing_records_a_graph(parts: str, expected: list[str]) -> None:
    source = f"""
net = nn.Linear(3, 3)

@lru_cache(maxsize=64)
def code(part):
    return sum(map(hash, part))

@torch.no_grad()
def embed(texts):
    for text in texts:
        net(torch.tensor([code(part) for part in {parts}]))
"""
    assert found(source) == expected


def test_a_function_that_is_wrapped_later() -> None:
    assert found("def f(a):\n    return a + 1\ng = lru_cache(maxsize=None)(f)\n" + LOOP.format("g(x)")) == ["f(a)"]


@pytest.mark.parametrize("call", ["f(3)", "f(x.shape[0])", "f(len(x))"])
def test_a_cache_by_sizes_does_not_grow(call: str) -> None:
    assert found("@cache\ndef f(n):\n    return torch.ones(n)\n" + LOOP.format(call)) == []


BY_LENGTH = "@{}\ndef f(n, d):\n    return torch.ones(n, device=d)\n" + LOOP


@pytest.mark.parametrize("key", ["x.shape[1]", "x.size(2)", "x.shape[-2]", "x.size(-2)"])
def test_a_cache_by_lengths_of_the_data_is_told(key: str) -> None:
    assert levels(BY_LENGTH.format("cache", f"f({key}, x.device)")) == [Level.NOTE]
    assert levels(BY_LENGTH.format("lru_cache(maxsize=8)", f"f({key}, x.device)")) == []


@pytest.mark.parametrize(
    ("taken", "length", "told"),
    [
        ("rows, length, width = x.shape", "length", True),
        ("rows, length, width = x.size()", "length", True),
        ("rows, length, width = x.shape", "width", False),
        ("rows, length, width = x.shape", "rows", False),
        ("length, width = x.shape", "length", False),
    ],
)
def test_the_length_of_a_sequence_may_be_taken_out_of_its_shape(taken: str, length: str, told: bool) -> None:
    given = f"({taken.partition(' = ')[0]}) = {taken.partition(' = ')[2]}\n    f({length}, x.device)"
    assert levels(BY_LENGTH.format("cache", given)) == [Level.NOTE] * told


KEPT_LENGTHS = """
    import torch
    from names import keep

    @keep
    def turns(n, device):
        return torch.ones(n, device=device)

    def turned(x):
        return x * turns(x.{length}, x.device)
"""

TURNING = """
    from torch import nn
    from turning import turned

    class Net(nn.Module):
        def {method}(self, x):
            return turned(x)
"""


@pytest.mark.parametrize(
    ("names", "length", "method", "told"),
    [
        ({}, "size(-2)", "forward", True),
        ({}, "shape[1]", "forward", True),
        ({}, "size(-1)", "forward", False),
        ({}, "size(-2)", "once", False),
        ({"asked": "len(known) < 8"}, "size(-2)", "forward", False),
    ],
)
def test_a_decorator_of_a_third_file_keeps_a_tensor_for_each_length(
    tmp_path: Path, names: dict[str, str], length: str, method: str, told: bool
) -> None:
    keep = f"def keep(function):\n    {TABLE}{FILLED.format(names.get('asked', 'key not in known'), 'key')}\n"
    turning = KEPT_LENGTHS.format(length=length)
    files = {"names.py": keep, "turning.py": turning, "net.py": TURNING.format(method=method)}
    found = Project(tmp_path, files).found()
    assert found == ["turning.py: TLK404 note"] * told


def test_a_dictionary_of_the_decorator_keeps_lengths() -> None:
    keep = f"def keep(function):\n    {TABLE}{FILLED.format('key not in known', 'key')}\n"
    assert levels(f"{keep}\n{BY_LENGTH.format('keep', 'f(x.shape[1], x.device)')}") == [Level.NOTE]
    assert levels(f"{keep}\n{BY_LENGTH.format('keep', 'f(x.shape[0], x.device)')}") == []


def test_a_cache_by_a_length_that_is_handed_on() -> None:
    source = BY_LENGTH.format("lru_cache(None)", "masked(x, x.shape[1])")
    assert levels("def masked(a, n):\n    return a + f(n, a.device)\n" + source) == [Level.NOTE]


@pytest.mark.parametrize(
    "call",
    [
        "f(x.shape[0], x.device)",
        "f(x.shape[-1], x.device)",
        "f(x.size(-1), x.device)",
        "f(net.weight.shape[1], 'cpu')",
        "f(16, 'cpu')",
    ],
)
def test_a_cache_by_what_the_data_does_not_say(call: str) -> None:
    assert levels(BY_LENGTH.format("cache", call)) == []


def test_a_cache_of_numbers_does_not_matter() -> None:
    assert found("@cache\ndef f(n):\n    return n * n\n" + LOOP.format("f(step)")) == []


def test_a_cache_that_is_emptied() -> None:
    source = "@cache\ndef f(a):\n    return a + 1\n" + LOOP.format("f(x)") + "    f.cache_clear()\n"
    assert found(source) == []


METHOD = """
class Net(nn.Module):
    @lru_cache({})
    def mask(self, n):
        return torch.ones(n)
"""


def test_a_method_keeps_the_object() -> None:
    assert levels(METHOD.format("None")) == [Level.WARNING]
    assert levels(METHOD.format("128")) == [Level.WARNING]
    assert levels(METHOD.format("4")) == [Level.NOTE]


def test_a_method_of_objects_that_every_turn_makes() -> None:
    assert levels(METHOD.format("None") + LOOP.format("Net().mask(3)")) == [Level.ERROR]


def test_a_method_of_the_only_object() -> None:
    assert levels(METHOD.format("None") + "net = Net()\n" + LOOP.format("net.mask(3)")) == [Level.NOTE]


MESH = """
class Mesh:
    def __init__(self, points):
        self.points = points

    def to(self, {}):
        return Mesh([moved(part, {}) for part in self.points])

    @property
    @lru_cache()
    def names(self):
        return [str(number) for number in range(len(self.points))]

    @property
    @lru_cache()
    def ranks(self):
        return len(self.names)

    def moved(self):
        type(self).{}.fget.cache_clear()
"""


@pytest.mark.parametrize(
    ("other", "emptied", "expected"),
    [
        ("device", "ranks", ["names(self)"]),
        ("device", "names", ["ranks(self)"]),
        ("unit", "names", []),
    ],
)
def test_what_goes_to_a_device_holds_tensors(other: str, emptied: str, expected: list[str]) -> None:
    assert found(MESH.format(other, other, emptied)) == expected


def test_what_is_emptied_by_a_name_that_is_not_seen_may_be_any_cache() -> None:
    assert not found(MESH.format("device", "device", "names") + "def empty(cache):\n    cache.cache_clear()\n")


def test_a_static_method_has_no_object() -> None:
    source = METHOD.format("None").replace("    @lru", "    @staticmethod\n    @lru").replace("self, ", "")
    assert found(source) == []


MEMO = "known = {{}}\n" + LOOP


@pytest.mark.parametrize(
    "body",
    ["if step not in known:\n        known[step] = x",
     "v = known.get(step)\n    if v is None:\n        known[step] = net(x)",
     "try:\n        known[step]\n    except KeyError:\n        known[step] = x",
     "known.setdefault(step, net(x))"],
)  # fmt: skip
def test_a_dictionary_that_is_a_cache(body: str) -> None:
    assert found(MEMO.format(body)) == ["known[step]"]


@pytest.mark.parametrize(
    "body",
    ["known[step] = x",
     "if step not in known:\n        known[step] = len(x)",
     "if step % 2 not in known:\n        known[step % 2] = x",
     "if step not in known:\n        known[step] = x\n    known.pop(step)",
     "if step not in known and len(known) < 8:\n        known[step] = x",
     "known = {}\n    if step not in known:\n        known[step] = x",
     "known.setdefault(step, []).append(x)",
     "if step not in known:\n        known[step] = []\n    known[step].append(x)"],
)  # fmt: skip
def test_a_dictionary_that_does_not_grow_as_a_cache(body: str) -> None:
    assert found(MEMO.format(body)) == []


OF_CALL = """
def search(net, data):
    net.eval()
    seen = {made}
    for item in {items}:
        h = net(item)
        if str(h) not in seen:
            seen[str(h)] = h
        {further}

def run(net, data):
    search(net, data)
"""


@pytest.mark.parametrize(
    ("items", "further", "expected"),
    [
        ("DataLoader(data)", "pass", ["seen[str(h)]"]),
        ("['a', 'b']", "pass", []),
        ("DataLoader(data)", "seen[str(h)] += h", []),
    ],
)
def test_a_dictionary_of_one_call(items: str, further: str, expected: list[str]) -> None:
    source = "from torch.utils.data import DataLoader\n"
    assert found(source + OF_CALL.format(made="{}", items=items, further=further)) == expected


def test_a_dictionary_of_an_object_that_every_turn_makes() -> None:
    source = """
class Holder:
    def __init__(self):
        self.known = {}
    def get(self, x):
        if x not in self.known:
            self.known[x] = x.exp()
        return self.known[x]
"""
    assert found(source + LOOP.format("Holder().get(x)")) == []
    assert found(source + "holder = Holder()\n" + LOOP.format("holder.get(x)")) == ["self.known[x]"]


@pytest.mark.parametrize(("declared", "expected"), [("name", ["self.known[name]"]), ("name: str", [])])
def test_what_is_declared_to_be_a_text_is_no_tensor_whatever_else_is_used_as_one(
    declared: str, expected: list[str]
) -> None:
    source = f"""
class Fields:
    def __init__(self):
        self.known = {{}}
    def find(self, {declared}):
        if name not in self.known:
            self.known[name] = shown(name)
        return self.known[name]
    def all(self, file):
        return [self.find(field.name) for field in torch.load(file)]
def shown(value):
    return value.exp() if isinstance(value, torch.Tensor) else value
"""
    assert found(source) == expected


@pytest.mark.parametrize("items", ["list(net.parameters())", "net.parameters()", "list(loader)", "[x, x * 2]"])
def test_keys_that_are_there_before(items: str) -> None:
    source = f"""
class Averages:
    def __init__(self, net):
        self.items, self.known = {items}, {{}}
    def update(self):
        for p in self.items:
            if p not in self.known:
                self.known[p] = torch.zeros_like(p)
"""
    assert found("x = torch.ones(3)\nnet = nn.Linear(3, 3)\n" + source) == []


def test_parameters_of_an_optimizer() -> None:
    source = """
class Momentum(torch.optim.Optimizer):
    def __init__(self, params):
        self.known = {}
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p not in self.known:
                    self.known[p] = torch.zeros_like(p)
                p.add_(p.grad)
"""
    assert found(source) == []


def test_a_dictionary_with_weak_keys() -> None:
    source = "import weakref\nknown = weakref.WeakKeyDictionary()\n"
    assert found(source + LOOP.format("if x not in known:\n        known[x] = x.exp()")) == []


SERVER = """
import gradio
from fastapi import FastAPI
from transformers import AutoModel, AutoTokenizer
app, known = FastAPI(), {{}}
reader = AutoTokenizer.from_pretrained("small")
net = AutoModel.from_pretrained("small").eval()

@torch.no_grad()
def encoded(key):
    if key not in known:
        known[key] = {made}
    return known[key]

{served}
"""
TOKENS = 'net(**reader(key, return_tensors="pt").to("cuda")).pooler_output'
ROUTE = '@app.post("/ask")\ndef ask(query):\n    return encoded(query.strip()).tolist()\n'
ASKED_OF_FLASK = """
from flask import Flask, request
site = Flask(__name__)
@site.route("/ask", methods=["POST"])
def ask():
    return str(encoded(hash(request.get_json()['text'].encode())))
"""
CLICK = "def ask(query):\n    return encoded(query).tolist()\ngradio.Button().click(ask, None, None)\n"


@pytest.mark.parametrize(
    ("served", "made", "count"),
    [
        (ROUTE, TOKENS, 1),
        (ROUTE, 'net(reader([key], return_tensors="pt").input_ids.to("cuda"))[0]', 1),
        (CLICK, TOKENS, 1),
        (
            CLICK.replace("Button().click(ask, None, None)", "Interface(fn=ask, inputs='text', outputs='text')"),
            TOKENS,
            1,
        ),
        (ASKED_OF_FLASK, "net(torch.tensor([len(key)]))", 1),
        (ASKED_OF_FLASK.replace("request.get_json()['text']", "'a fixed one'"), "net(torch.tensor([len(key)]))", 0),
        (ROUTE + '@app.get("/size")\ndef size():\n    return {"entries": len(known)}', TOKENS, 1),
        (ROUTE + '@app.get("/size")\ndef size():\n    if len(known) > 9:\n        known.popitem()', TOKENS, 0),
        (ROUTE, 'reader.decode(reader(key, return_tensors="pt").input_ids[0])', 0),
        (ROUTE, "torch.load(key)", 0),
        (ROUTE, "torch.ones(3) * len(key)", 0),
        (ROUTE.replace('@app.post("/ask")\n', ""), TOKENS, 0),
        (ROUTE.replace("query.strip()", "'a fixed one'"), TOKENS, 0),
    ],
)
def test_a_text_that_comes_with_a_request_is_whatever_is_typed(served: str, made: str, count: int) -> None:
    assert len(found(SERVER.format(made=made, served=served))) == count


UNSEEN = """
net = nn.Linear(3, 3).eval()
kept = {}
DECORATOR
def encode(text):
    with torch.no_grad():
        return net(torch.tensor([float(len(text)), 1.0, 2.0]))
"""

ASKED = """
def answer(text):
    if text not in kept:
        kept[text] = VALUE
    return kept[text]
"""


@pytest.mark.parametrize(
    ("decorator", "value", "expected"),
    [
        ("@lru_cache(maxsize=None)", "", [Level.NOTE]),
        ("@cache", "", [Level.NOTE]),
        ("@lru_cache(maxsize=8)", "", []),
        ("", "encode(text)", [Level.NOTE]),
        ("", "encode(text).sum().item()", []),
        ("", "torch.zeros(len(text))", []),
    ],
)
def test_a_cache_of_outputs_that_nobody_here_asks_is_a_note(decorator: str, value: str, expected: list[Level]) -> None:
    asked = ASKED.replace("VALUE", value) if value else ""
    assert levels(UNSEEN.replace("DECORATOR", decorator) + asked) == expected


ENCODER = """
encoder = nn.Sequential(nn.Embedding(300, 8), nn.Linear(8, 8))

{}
def vector(phrase):
    with torch.no_grad():
        return encoder(torch.tensor([ord(c) for c in phrase]))
"""


@pytest.mark.parametrize(
    "asking",
    ["for line in sys.stdin:\n    print(vector(line.strip().lower()).norm())\n",
     "def reply(phrase):\n    return vector(phrase)\n\nwhile True:\n    print(reply(input('? ')).norm())\n",
     "while True:\n    print(vector(sys.stdin.readline().rstrip()).norm())\n"],
)  # fmt: skip
def test_a_line_that_somebody_types_is_new_each_time(asking: str) -> None:
    assert found("import sys\n" + ENCODER.format("@cache") + asking) == ["vector(phrase)"]
    memo = (
        ENCODER.format("known = {}\n")
        + "def kept(text):\n    if text not in known:\n        known[text] = vector(text)\n"
    )
    source = (
        "import sys\n"
        + memo
        + "    return known[text]\n"
        + asking.replace(" vector(", " kept(").replace("(vector(", "(kept(")
    )
    assert found(source) == ["known[text]"]


ONCE = """
def once(make):
    had = {}
    def wrapper(text):
        if text not in had:
            had[text] = make(text)
        return had[text]
    return wrapper

class Vectors:
    def of(self, phrase):
        return vector(phrase)

class Worker:
    def __init__(self, queue):
        self.queue, self.goes_on, self.done, self.open = queue, True, threading.Event(), [1, 2]
        self.vector = once(Vectors().of)

    def stop(self):
        self.goes_on = False

    def answer(self, text):
        print(self.vector(text).norm())

    def run(self):
"""


@pytest.mark.parametrize(
    ("run", "changed", "count"),
    [
        ("while True:\n            self.answer(self.queue.get())", "", 1),
        ("while self.goes_on:\n            self.answer(self.queue.get())", "", 1),
        ("while not self.done.is_set():\n            self.answer(self.queue.get()['text'])", "", 1),
        ("while self.goes_on:\n            self.answer(self.queue.get())", "' '.join(text.split())", 1),
        ("while self.goes_on:\n            self.answer(self.queue.get())", "text.strip().lower()", 1),
        ("while self.goes_on:\n            self.answer(self.queue.get())", "text.split()[0]", 0),
        ("while self.goes_on:\n            self.answer(self.queue.get())", "len(text)", 0),
        ("while self.open:\n            self.answer(self.queue.get(self.open.pop()))", "", 0),
        ("while not self.queue.empty():\n            self.answer(self.queue.get())", "", 0),
        ("while self.goes_on:\n            self.answer('hello')", "", 0),
        ("for _ in range(3):\n            self.answer(self.queue.get())", "", 0),
        ("for text in self.queue.consume('texts'):\n            self.answer(text)", "", 1),
        ("for message in self.queue.listen():\n            self.answer(message['text'])", "", 1),
        ("for message in self.queue.listen():\n            self.answer(message['text'])", "len(text)", 0),
        ("for text in self.queue.names():\n            self.answer(text)", "", 0),
        ("for text in ['a', *self.queue.consume('texts')]:\n            self.answer('a')", "", 0),
    ],
)  # fmt: skip
def test_a_function_that_another_makes_keeps_what_a_worker_takes_from_a_queue(
    run: str, changed: str, count: int
) -> None:
    source = "import threading\n" + ENCODER.format("") + ONCE + f"        {run}\n"
    if changed:
        source = source.replace("    def wrapper(text):\n", f"    def wrapper(text):\n        text = {changed}\n")
    assert found(source) == ["had[text]"] * count
    assert found(source.replace("        return had[text]", "        return had.pop(text)")) == []


MEMOISED = """
def memoise(function):
    had = {{}}
    def wrapper(text):
        key = {key}
        if key not in had:
            had[key] = function(text)
        return had[key]
    return wrapper

@memoise
def answer(text):
    return vector(text)

def serve(texts):
    for text in texts:
        print(answer(text).norm())
"""


@pytest.mark.parametrize(
    ("key", "count"),
    [
        ("text", 1),
        ("text.strip().lower()", 1),
        ("hash(text)", 1),
        ("(str(text), 'en')", 1),
        ("len(text)", 0),
        ("text[0]", 0),
    ],
)
def test_a_decorator_keeps_a_result_for_each_text_however_it_is_written(key: str, count: int) -> None:
    assert len(levels(ENCODER.format("") + MEMOISED.format(key=key))) == count


DECLARED = """
from typing import Dict
from voices import load

model = load("voice").eval()
known{} = {{}}

@torch.no_grad()
def frames(name, wave):
    if name not in known:
        known[name] = {}
    return known[name]
"""


@pytest.mark.parametrize(
    ("told", "made", "count"),
    [
        (": Dict[str, torch.Tensor]", "model.frames(wave)", 1),
        (": dict[int, torch.Tensor]", "model.frames(wave)", 1),
        (": Dict[str, torch.Tensor]", "{}", 0),
        (": Dict[str, torch.Tensor]", "wave", 0),
        (": Dict[torch.Tensor, str]", "model.frames(wave)", 0),
        (": Dict[str, list]", "model.frames(wave)", 0),
        ("", "model.frames(wave)", 0),
    ],
)
def test_a_dictionary_that_is_said_to_hold_tensors(told: str, made: str, count: int) -> None:
    assert found(DECLARED.format(told, made)) == ["known[name]"] * count


@pytest.mark.parametrize(
    "asking",
    ["for line in sys.stdin:\n    print(vector(line.split()[0]).norm())\n",  # a command, of a few
     "print(vector(input('? ')).norm())\n",
     "for line in ['a', 'b']:\n    print(vector(line).norm())\n"],
)  # fmt: skip
def test_a_word_that_may_come_again(asking: str) -> None:
    assert found("import sys\n" + ENCODER.format("@cache") + asking) == []


def test_a_line_that_names_what_is_loaded_comes_again() -> None:
    source = "@cache\ndef load(name):\n    return torch.load(name)\nwhile True:\n    print(load(input()).eval())\n"
    assert found(source) == []


SESSIONS = """
from fastapi import FastAPI
app = FastAPI()
net = nn.GRU(4, 8).eval()

class Sessions:
    def __init__(self):
        self.table = {{}}

    def last(self, name):
        return self.table.get(name)

    def put(self, name, hidden):
        self.table[name] = hidden

sessions = Sessions()

def turn(name, x):
    with torch.no_grad():
        out, hidden = net(x, sessions.last(name))
    sessions.put(name, hidden)
    return out.tolist()

{}
def answer(request):
    return turn(request.session, torch.tensor(request.values))
"""


def test_a_state_for_each_name_that_requests_bring() -> None:
    assert found(SESSIONS.format("@app.post('/turn')")) == ["self.table[name]"]
    assert levels(SESSIONS.format("@app.post('/turn')")) == [Level.NOTE]
    assert found(SESSIONS.format("")) == []  # whoever calls it does so once, for all that is seen


def test_what_a_text_is_added_to_is_no_tensor() -> None:
    source = "seen = {}\n" + LOOP.format("name = x[0]\n    if name not in seen:\n        seen[name] = {}")
    assert found(source) == ["seen[name]"]
    assert found(source + "    print(name + '.csv')\n") == []


@pytest.mark.parametrize(("kind", "count"), [(": int", 0), (": int | None", 0), ("", 1)])
def test_a_key_that_is_declared_a_number_is_found_again(kind: str, count: int) -> None:
    source = f"""
class Waves(nn.Module):
    def forward(self, x, n{kind} = None):
        n = x.shape[1] if n is None else n
        return x + table(abs(n))
@lru_cache(64)
def table(n{kind}):
    return torch.arange(n).cos()
"""
    assert len(found(source)) == count


@pytest.mark.parametrize(("used", "count"), [("print(at)", 0), ("print(name.sum())", 1)])
def test_the_name_that_comes_with_a_sample_is_no_tensor(used: str, count: int) -> None:
    source = f"""
from torch.utils.data import DataLoader
def number(data):
    places, at = {{}}, 0
    for sample in DataLoader(data):
        name = sample["name"]
        {used}
        if name in places:
            continue
        places[name] = at
        at += 1
    return places
"""
    assert len(found(source)) == count


@pytest.mark.parametrize(("size", "keeps"), [(1, False), (2, True)])
def test_a_cache_of_one_entry_gives_up_the_last_one(size: int, keeps: bool) -> None:
    source = f"@lru_cache(maxsize={size})\ndef double(x):\n    return x * 2\n"
    assert found(source + LOOP.format("double(x)")) == (["double(x)"] if keeps else [])


REMEMBERED = """
known = {}
@torch.no_grad()
def asked(text):
    if text not in known:
        known[text] = net(encoded(text))
    return known[text]
"""

CACHED = """
@lru_cache(maxsize={})
def asked(text):
    with torch.no_grad():
        return net(encoded(text))
"""

READING = """
import fileinput, glob, json, sys
net = nn.Linear(3, 3)
{}
def compare(path, texts):
    return [float(asked(text).sum()) for text in texts]
def main(folder):
    {}
"""


@pytest.mark.parametrize(
    ("asked", "loop", "expected"),
    [
        (
            CACHED.format(None),
            "for line in open(folder): compare(folder, json.loads(line)['texts'])",
            [Level.NOTE],
        ),
        (REMEMBERED, "for line in open(folder): print(asked(line.strip()).sum())", [Level.NOTE]),
        (REMEMBERED, "for line in sys.stdin: print(asked(line.strip()).sum())", [Level.NOTE]),
        (REMEMBERED, "for line in fileinput.input(): print(asked(line.strip()).sum())", [Level.NOTE]),
        (CACHED.format(None), "for path in glob.glob(folder): print(asked(path).sum())", [Level.ERROR]),
        (CACHED.format(8), "for line in open(folder): compare(folder, [line])", []),
        (CACHED.format(None), "for name in ('cat', 'dog'): compare(folder, [name])", []),
        (CACHED.format(None), "compare(folder, NAMES)", []),
    ],
)
def test_what_a_network_gives_for_each_row_of_a_file(asked: str, loop: str, expected: list[Level]) -> None:
    assert levels(READING.format(asked, loop)) == expected


LAST = """
class Camera({}):
    def __init__(self):
        super().__init__()
        self.pose = nn.Parameter(torch.eye(4))

    @property
    @lru_cache(maxsize={})
    def parts(self):
        return [name for name, _ in self.named_children()]

{}
"""
"""A class with a cache on one of its methods."""


@pytest.mark.parametrize(
    ("base", "size", "rest", "expected"),
    [
        ("nn.Module", 1, "", [Level.NOTE]),
        ("nn.Module", 1, "for x in loader: Camera()(x).sum().backward()", [Level.NOTE]),
        ("nn.Module", 1, "camera = Camera()", []),
        ("nn.Module", 0, "", []),
        ("object", 1, "", []),
        ("nn.Module", 1, "    def __hash__(self):\n        return 1", []),
    ],
)
def test_a_cache_of_one_call_holds_the_last_module(base: str, size: int, rest: str, expected: list[Level]) -> None:
    assert levels(LAST.format(base, size, rest)) == expected


@pytest.mark.parametrize(
    ("cache", "expected"),
    [
        ("lru_cache(maxsize=None)", [Level.ERROR]),
        ("functools.lru_cache(None)", [Level.ERROR]),
        ("cache", [Level.ERROR]),
        ("lru_cache(maxsize=100)", [Level.NOTE]),
        ("lru_cache(maxsize=1)", []),
        ("functools.wraps(print)", []),
    ],
)
def test_a_cache_under_a_name_of_its_own(tmp_path: Path, cache: str, expected: list[Level]) -> None:
    asked = "\n@keep\ndef mask(n):\n    return torch.ones(n)\n" + LOOP.format("mask(step)")
    assert levels(f"keep = {cache}\n{asked}") == expected
    names = "import functools\nfrom functools import cache, lru_cache\n"
    files = {"names.py": f"{names}keep = {cache}\n", "masks.py": f"{IMPORTS}from names import keep\n{asked}"}
    found = Project(tmp_path, files).found("masks.py")
    # How many entries another file's cache has is known where it has no bound.
    assert found == (["masks.py: TLK404 error"] if expected == [Level.ERROR] else [])


TABLE = "known = {}\n    "
FILLED = """def inner(*key):
        if {}:
            known[{}] = function(*key)
        return known[key]
    return inner"""

OWN_DECORATORS = {
    "return cache(function)": True,
    "return functools.lru_cache(maxsize=None)(function)": True,
    "return functools.wraps(function)(cache(function))": True,
    "@cache\n    def inner(*key):\n        return function(*key)\n    return inner": True,
    "@cache\n    @functools.wraps(function)\n    def inner(n):\n        return function(n)\n    return inner": True,
    f"{TABLE}{FILLED.format('key not in known', 'key')}": True,
    f"{TABLE}{FILLED.format('(key, 1) not in known', '(key, 1)')}": True,
    f"{TABLE}{FILLED.format('key[0] not in known', 'key[0]')}": False,
    f"{TABLE}{FILLED.format('len(known) < 4', 'key')}": False,
    f"{TABLE}{FILLED.format('key not in known', 'key').replace('return inner', 'print(inner)')}": False,
    f"{TABLE}{FILLED.format('known.clear() or key not in known', 'key')}": False,
    f"{TABLE}{FILLED.format('key not in known', 'key').replace('function(*key)', 'len(key)')}": False,
    "return lru_cache(maxsize=1)(function)": False,
    "return function": False,
    "@cache\n    def inner(*key):\n        return len(key)\n    return inner": False,
    "def inner(*key):\n        return function(*key)\n    return inner": False,
    "print(cache(function))\n    return function": False,
}
"""What a decorator of the project does, and whether it keeps what the function returns."""


@pytest.mark.parametrize("body", OWN_DECORATORS)
def test_a_decorator_of_the_project_is_a_cache_where_it_makes_one(tmp_path: Path, body: str) -> None:
    asked = "\n@keep\ndef mask(n):\n    return torch.ones(n)\n" + LOOP.format("mask(step)")
    keep = f"def keep(function):\n    {body}\n"
    assert bool(levels(f"{keep}\n{asked}")) == OWN_DECORATORS[body]
    names = "import functools\nfrom functools import cache, lru_cache\n\n"
    files = {"names.py": names + keep, "masks.py": f"{IMPORTS}from names import keep\n{asked}"}
    assert bool(Project(tmp_path, files).found("masks.py")) == OWN_DECORATORS[body]


@pytest.mark.parametrize(("body", "told"), [("return cache(function)", False), ("return function", True)])
def test_what_a_decorator_of_the_project_remembers_is_read_once(tmp_path: Path, body: str, told: bool) -> None:
    serve = """
        import torch
        from flask import Flask, request
        from names import keep

        app = Flask(__name__)

        @keep
        def model_of(name):
            return torch.load(f"{name}.pt", map_location="cpu")

        @app.route("/say")
        @torch.no_grad()
        def say():
            return str(model_of(request.args["name"])(torch.ones(1, 3)).item())
    """
    files = {"names.py": f"from functools import cache\n\ndef keep(function):\n    {body}\n", "serve.py": serve}
    assert any("TLK302" in one for one in Project(tmp_path, files).found("serve.py")) == told


@pytest.mark.parametrize(("guard", "guarded"), [("torch.no_grad", True), ("contextlib.nullcontext", False)])
def test_what_another_file_calls_by_a_name_of_its_own_is_what_the_library_has(
    tmp_path: Path, guard: str, guarded: bool
) -> None:
    use = """
        import contextlib
        import torch
        from torch import nn
        from names import mode

        def evaluate(loader, net: nn.Module):
            net.eval()
            hits = 0
            with mode():
                for x, y in loader:
                    hits += (net(x).argmax(1) == y).sum().item()
            return hits
    """
    files = {"names.py": f"import contextlib\nimport torch\nmode = {guard}\n", "use.py": use}
    found = Project(tmp_path, files).found("use.py")
    assert found == Project(tmp_path / "own", {"use.py": use.replace("mode()", f"{guard}()")}).found("use.py")
    assert found == ([] if guarded else ["use.py: TLK201 warning"])


GROUPED = """
known = {{}}

def group(of):
    {asked}
    if key not in known:
        known[key] = describe(key)
    return known[key]

def groups(steps):
    for x in steps:
        group([net(x), x])

net = nn.Linear(3, 3)
"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("key = tuple(of)", ["known[key]"]),
        ("key = tuple(of) if len(of) > 1 else of[0]", ["known[key]"]),
        ("key = tuple(range(of)) if isinstance(of, int) else tuple(of)", []),
    ],
)
def test_keys_that_are_numbers_on_one_path_are_no_tensors(asked: str, expected: list[str]) -> None:
    assert found(GROUPED.format(asked=asked)) == expected


WORDS = """
from flask import Flask, request

class Embedder:
    def __init__(self):
        self.net = nn.EmbeddingBag(1000, 8).cuda().eval()

    @torch.no_grad()
    def vector(self, word):
        return self.net(torch.tensor([[len(word), ord(word[0])]], device="cuda"))

class Words({base}):
    def __init__(self, made_by):
        super().__init__()
        self.made_by, self.known = made_by, {{}}

    def {method}(self, word):
        {filled}

embedder = Embedder()
words = Words(embedder.vector)
app = Flask("words")

@app.post("/near")
def near():
    word = {asked}
    return str(words[word.lower()].sum().item())
"""
MISSING = {
    "base": "dict",
    "method": "__missing__",
    "filled": "self[word] = self.made_by(word)\n        return self[word]",
    "asked": "request.form['word']",
}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"filled": "vector = self[word] = self.made_by(word)\n        return vector"},
        {"filled": "return self.setdefault(word, self.made_by(word))"},
        {"asked": "request.get_json()['words'][0]"},
        {
            "base": "object",
            "method": "__getitem__",
            "filled": "if word not in self.known:\n            self.known[word] = self.made_by(word)\n"
            "        return self.known[word]",
        },
    ],
)
def test_an_object_that_makes_what_it_does_not_have_keeps_all_that_is_asked_for(changed: dict[str, str]) -> None:
    assert len(found(WORDS.format(**{**MISSING, **changed}))) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"filled": "return self.made_by(word)"},
        {"filled": "self[word] = self.made_by(word).tolist()\n        return torch.tensor(self[word])"},
        {"filled": "if len(self) > 99:\n            self.clear()\n        self[word] = self.made_by(word)\n"
                   "        return self[word]"},
        {"filled": "self['last'] = self.made_by(word)\n        return self['last']"},
        {"asked": "'a fixed one'"},
        {"method": "made"},
    ],
)  # fmt: skip
def test_an_object_that_makes_what_it_does_not_have_and_keeps_little(changed: dict[str, str]) -> None:
    assert found(WORDS.format(**{**MISSING, **changed})) == []


CONNECTIONS = """
import asyncio
import json
from torch import nn

class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.EmbeddingBag(256, 8)
    @torch.no_grad()
    def vector(self, word):
        return self.table(torch.tensor([list(word.encode())]))[0]

class Words(dict):
    def __missing__(self, word):
        self[word] = embedder.vector(word)
        return self[word]

embedder, words = Embedder(), Words()

async def talk(reader, writer):
    {read}
        asked = json.loads(line)
        near = words[{key}].sum().item()
        writer.write(str(near).encode())
        await writer.drain()
{later}

async def main():
    server = await {served}
    async with server:
        await server.serve_forever()
"""
OF_STREAM = {
    "read": "async for line in reader:",
    "key": "asked['word']",
    "served": "asyncio.start_server(talk, 'localhost', 9000)",
    "later": "",
}


@pytest.mark.parametrize(
    ("changed", "count"),
    [
        ({}, 1),
        ({"read": "while line := await reader.readline():"}, 1),
        ({"served": "asyncio.start_unix_server(client_connected_cb=talk, path='words.sock')"}, 1),
        ({"served": "asyncio.open_connection('localhost', 9000)"}, 0),
        ({"key": "'hello'"}, 0),
        ({"key": "len(asked['word']) % 16"}, 0),
        ({"later": "        if len(words) > 4096:\n            words.clear()"}, 0),
    ],
)
def test_what_clients_of_a_stream_ask_for(changed: dict[str, str], count: int) -> None:
    assert len(found(CONNECTIONS.format(**{**OF_STREAM, **changed}))) == count


ENGINE = """
from collections import deque
from transformers import AutoModel, AutoTokenizer

def digest(ids):
    return hash(ids.cpu().numpy().tobytes())

class Engine:
    def __init__(self, name):
        self.tokenizer, self.model = AutoTokenizer.from_pretrained(name), AutoModel.from_pretrained(name)
        self.seen, self.waiting = {}, deque()

    def encoded(self, ids):
        if digest(ids) not in self.seen:
            self.seen[digest(ids)] = self.model(ids).last_hidden_state
        return self.seen[digest(ids)]

    @torch.inference_mode()
    def answer(self, %s):
        return self.encoded(self.tokenizer(%s, return_tensors="pt").input_ids)
"""


def test_the_tokens_of_a_text_are_as_many_as_the_texts_that_others_ask_for() -> None:
    assert found(ENGINE % ("text", "text")) == ["self.seen[digest(ids)]"]


def test_a_request_that_has_waited_in_a_queue_of_its_own_asks_for_a_text() -> None:
    step = """
    def step(self):
        return self.answer(self.waiting.%s)
"""
    engine = ENGINE % ("request", "request.text")
    assert found(engine + step % "popleft()") == ["self.seen[digest(ids)]"]
    assert found(engine + step % "first") == []
