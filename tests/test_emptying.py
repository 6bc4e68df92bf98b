"""What tidies up in every step, and what does so once in a while."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

from torchlint.facts import Facts
from torchlint.facts.values.graph import Value

HEAD = "import gc\n"


def written(facts: Facts, call: Value) -> str:
    """A call as it is written."""
    assert call.syntax is not None
    return facts.code(call.syntax)


def emptied(source: str) -> list[str]:
    """What tidies up in steps, each as its statement and the call in the step."""
    facts = Program(HEAD + TRAINING + source).facts
    pairs = [(written(facts, found.call), written(facts, found.step_call)) for found in facts.emptyings]
    return [call if call == site else f"{call} by {site}" for call, site in pairs]


def in_step(*lines: str) -> str:
    """A training loop that ends each turn with these lines."""
    body = ["loss = model(x).sum()", "loss.backward()", "optimizer.step()", *lines]
    return "for step, x in enumerate(loader):\n" + "".join(f"    {line}\n" for line in body)


@pytest.mark.parametrize(
    "call", ["gc.collect()", "torch.cuda.empty_cache()", "torch.mps.empty_cache()", "torch.cuda.memory.empty_cache()"]
)
def test_a_step_tidies_up(call: str) -> None:
    assert emptied(in_step(call)) == [call]


@pytest.mark.parametrize(
    "lines",
    [
        ["if step % 10 == 0:", "    gc.collect()"],
        ["if step % 10:", "    continue", "gc.collect()"],
        ["try:", "    pass", "except RuntimeError:", "    torch.cuda.empty_cache()"],
        ["gc.collect(0)"],
        ["gc.disable()", "gc.collect()"],
        ["model = nn.Linear(3, 3)", "gc.collect()"],
    ],
)
def test_once_in_a_while_is_none_of_a_step(lines: list[str]) -> None:
    assert emptied(in_step(*lines)) == []


@pytest.mark.parametrize(("done", "is_told"), [("return model(x)", False), ("model(x)", True)])
def test_what_stands_behind_an_attempt_that_returned_is_for_a_failure(done: str, *, is_told: bool) -> None:
    source = f"""
def attempt(x):
    try:
        {done}
    except torch.cuda.OutOfMemoryError:
        print(x.shape)
    torch.cuda.empty_cache()
    return model(x[:4])

for x in loader:
    attempt(x)
"""
    assert emptied(source) == ["torch.cuda.empty_cache()"] * is_told


UPDATE = """
def update(batches):
    failed = 0
    for x in batches:
        try:
            model(x).sum().backward()
        except torch.cuda.OutOfMemoryError:
            HANDLER
    if failed:
        torch.cuda.empty_cache()
    optimizer.step()

for x in loader:
    update(x)
"""


def test_what_a_handler_says_is_asked_for_after_it() -> None:
    assert emptied(UPDATE.replace("HANDLER", "failed += 1")) == []
    assert emptied(UPDATE.replace("HANDLER", "raise")) == ["torch.cuda.empty_cache()"]


ATTEMPTED = """
def attempt(x):
    failed, out = False, None
    try:
        out = model(x)
    except torch.cuda.OutOfMemoryError:
        HANDLER
    return RETURNED

def halved(x):
    BOUND = attempt(x)
    if ASKED:
        torch.cuda.empty_cache()
        first, second = x.chunk(2)
        return torch.cat([halved(first), halved(second)])
    return out

for x in loader:
    halved(x)
"""


@pytest.mark.parametrize(
    ("handler", "returned", "bound", "asked", "is_told"),
    [
        ("failed = True", "out, failed", "out, failed", "failed", False),
        ("return False", "True", "done", "not done", False),
        ("return None, False", "out, True", "out, done", "not done", False),
        ("failed = True", "out, failed", "out, verbose", "out", True),
        ("raise", "out, failed", "out, failed", "failed", True),
        ("pass\n    else:\n        return out", "None", "out", "out is None", False),
        ("pass", "None", "out", "out is None", True),
    ],
)
def test_what_a_function_says_of_its_failure_is_asked_for_after_it(
    handler: str, returned: str, bound: str, asked: str, is_told: bool
) -> None:
    parts = {"HANDLER": handler, "RETURNED": returned, "BOUND": bound, "ASKED": asked}
    source = ATTEMPTED
    for name, text in parts.items():
        source = source.replace(name, text)
    assert emptied(source) == ["torch.cuda.empty_cache()"] * is_told


SWITCHED = """
def search(x, settings, tidy=False):
    for _ in range(100):
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        if tidy and x.is_cuda:
            torch.cuda.empty_cache()

"""


@pytest.mark.parametrize(
    ("calls", "is_told"),
    [
        ("search(x, 1)", False),
        ("search(x, 1, tidy=False)", False),
        ("def run(x, **more):\n    search(x, 1, **more)", False),
        ("search(x, 1, True)", True),
        ("search(x, 1, tidy=x is None)", True),
        ("def run(x, **more):\n    search(x, 1, **more)\nrun(x, tidy=True)", True),
        ("pass", True),
    ],
)
def test_a_switch_that_no_call_turns_on_is_off(calls: str, is_told: bool) -> None:
    assert emptied(SWITCHED + calls + "\n") == ["torch.cuda.empty_cache()"] * is_told


def test_each_call_of_a_helper_that_only_tidies_up_is_named() -> None:
    helper = "def tidy():\n    if torch.cuda.is_available():\n        torch.cuda.empty_cache()\n    gc.collect()\n"
    assert emptied(helper + "tidy()\n" + in_step("tidy()")) == [
        "torch.cuda.empty_cache() by tidy()",
        "gc.collect() by tidy()",
    ]


def test_a_method_that_does_more_is_named_where_it_tidies_up() -> None:
    helper = "def after(x):\n    print(x)\n    gc.collect()\n"
    assert emptied(helper + in_step("after(x)")) == ["gc.collect()"]


def test_a_hook_of_a_framework_runs_in_every_step() -> None:
    source = (
        "from lightning.pytorch import Callback\n"
        "class Tidy(Callback):\n"
        "    def on_train_batch_end(self, *args):\n"
        "        gc.collect()\n"
        "    def on_train_epoch_end(self, *args):\n"
        "        torch.cuda.empty_cache()\n"
    )
    assert emptied(source) == ["gc.collect()"]


def test_a_turn_may_get_its_model_from_a_function() -> None:
    helper = "def build():\n    return nn.Linear(3, 3)\n"
    assert emptied(helper + in_step("model = build()", "gc.collect()")) == []


SCORING = """
class Batches(DataLoader):
    def __iter__(self):
        return map(list, super().__iter__())

def scores(data, device, shows):
    batches = Batches(data, batch_size=4)
    rows = []
    for batch in {iterable}:
        rows.append(batch[0])
        if device.type == "cuda":
            torch.cuda.empty_cache()
    return rows
"""


@pytest.mark.parametrize(
    ("iterable", "expected"),
    [
        ("batches", ["torch.cuda.empty_cache()"]),
        ("enumerate(batches)", ["torch.cuda.empty_cache()"]),
        ("shown(batches) if shows else batches", ["torch.cuda.empty_cache()"]),
        ("data", []),
    ],
)
def test_a_loader_of_the_project_yields_batches(iterable: str, expected: list[str]) -> None:
    assert emptied(SCORING.format(iterable=iterable)) == expected


@pytest.mark.parametrize(("event", "count"), [("", 1), ("(every=500)", 0), ("(once=1)", 0)])
def test_an_event_may_come_at_some_steps_only(event: str, count: int) -> None:
    source = f"""
from ignite.engine import Engine, Events
trainer = Engine(lambda engine, batch: model(batch))
@trainer.on(Events.ITERATION_COMPLETED{event})
def tidy(engine):
    torch.cuda.empty_cache()
"""
    assert len(emptied(source)) == count


@pytest.mark.parametrize(("given_up", "expected"), [("del net", []), ("del x", ["torch.cuda.empty_cache()"])])
def test_a_model_that_was_given_up_is_worth_it(given_up: str, expected: list[str]) -> None:
    shelf = f"""
shelf = {{}}
def release(name, x):
    net = shelf.pop(name).eval()
    {given_up}
    torch.cuda.empty_cache()
"""
    assert [call.partition(" by ")[0] for call in emptied(shelf + in_step("release(step, x)"))] == expected


DECORATED = """
def lean(f):
    @functools.wraps(f)
    def inner(*args):
        out = f(*args)
        torch.cuda.empty_cache()
        return out
    return inner
def named(tag):
    return lean
@{decorator}
def {step}(x):
    model(x).sum().backward()
    optimizer.step()
def epoch():
    for x, y in loader:
        step(x)
"""


@pytest.mark.parametrize(
    ("decorator", "step", "count"),
    [("lean", "step", 1), ("named('t')", "step", 1), ("lean", "other", 0), ("functools.cache", "step", 0)],
)
def test_what_a_decorator_puts_in_the_place_of_a_step_runs_in_each_turn(decorator: str, step: str, count: int) -> None:
    source = DECORATED.format(decorator=decorator, step=step)
    assert len(Program("import functools\n" + TRAINING + source).facts.emptyings) == count


AVERAGE = """
class Average:
    def __init__(self, parameters, start=0):
        self.shadow = [one.detach().clone() for one in parameters]
        self.steps, self.rate = start, 0.999

    @torch.no_grad()
    def {name}(self, parameters, every=100):
        {counted}
        rate = min(self.rate, (1 + self.steps) / (10 + self.steps))
        for mean, one in zip(self.shadow, parameters):
            mean.lerp_(one, 1 - rate)
        {tidied}
"""


@pytest.mark.parametrize(
    ("name", "counted", "tidied", "expected"),
    [
        ("step", "self.steps += 1", "torch.cuda.empty_cache()", ["torch.cuda.empty_cache()"]),
        ("step", "self.steps += 1", "gc.collect()", ["gc.collect()"]),
        ("step", "print(rate); self.steps += 1", "torch.mps.empty_cache()", ["torch.mps.empty_cache()"]),
        ("step", "pass", "torch.cuda.empty_cache()", []),
        ("step", "self.rate += 0.5", "torch.cuda.empty_cache()", []),
        ("close", "self.steps += 1", "torch.cuda.empty_cache()", []),
        ("step", "if every: self.steps += 1", "torch.cuda.empty_cache()", []),
        ("step", "self.steps += 1", "if self.steps % every == 0: torch.cuda.empty_cache()", []),
        ("step", "self.steps += 1", "del parameters", []),
    ],
)
def test_a_step_that_counts_itself_is_called_for_each(
    name: str, counted: str, tidied: str, expected: list[str]
) -> None:
    average = AVERAGE.format(name=name, counted=counted, tidied=tidied)
    assert emptied(average) == expected
    once = "\naverage = Average(model.parameters())\naverage.step(model.parameters())\n"
    assert emptied(average + once) == []


HOLDER = """
class Backend:
    def __init__(self):
        self.net, self.last = nn.Linear(3, 3), 0

    def step(self, x):
        loss = self.net(x).sum()
        loss.backward()
        optimizer.step()
        {given_up} = None
        torch.cuda.empty_cache()

backend = Backend()
for x in loader:
    backend.step(x)
"""


@pytest.mark.parametrize(("given_up", "is_told"), [("self.net", False), ("self.last", True), ("loss", True)])
def test_where_a_model_is_given_up_its_memory_is_to_come_back(given_up: str, *, is_told: bool) -> None:
    assert bool(emptied(HOLDER.format(given_up=given_up))) is is_told
