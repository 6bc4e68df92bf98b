"""What exceptions keep: work that is done again while one is handled, exceptions that are stored."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project

IMPORTS = """
import sys
from dataclasses import dataclass
import traceback
import torch
from torch import nn
net = nn.Linear(3, 3)
kept = []
"""

STEP = """
for step, (x, y) in enumerate(loader):
    try:
        out = net(x)
    except {}:
        {}
"""


def again(source: str) -> list[str]:
    """What is done again in a handler."""
    facts = Program(source, head=IMPORTS).facts
    return [facts.called(retry.call) for retry in facts.retries]


def kept(source: str) -> list[str]:
    """What keeps an exception, and whether it piles up."""
    found = Program(source, head=IMPORTS).facts.kept_exceptions
    return [f"{one.name}{' +' if one.piles_up else ''}" for one in found]


@pytest.mark.parametrize(
    "caught", ["torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError", "MemoryError", "(ValueError, MemoryError)"]
)
def test_the_same_module_runs_again(caught: str) -> None:
    assert again(STEP.format(caught, "out = net(x[:8])")) == ["net"]


@pytest.mark.parametrize("caught", ["RuntimeError", "Exception as error", "BaseException"])
def test_a_broad_handler_has_to_mean_memory(caught: str) -> None:
    assert again(STEP.format(caught, "out = net(x)")) == []
    assert again(STEP.format(caught, "torch.cuda.empty_cache()\n        out = net(x)")) == ["net"]
    tidy = "\ndef tidy():\n    gc.collect()\n    torch.cuda.empty_cache()\n"
    assert again("import gc" + tidy + STEP.format(caught, "tidy()\n        out = net(x)")) == ["net"]
    test = "if 'out of memory' in str(error):\n            out = net(x)"
    assert again(STEP.format("RuntimeError as error", test)) == ["net"]


@pytest.mark.parametrize(
    "body",
    ["failed = True", "continue", "out = None", "raise", "torch.cuda.empty_cache()", "out = other(x)",
     "error = 1\n    out = net(x[:8])"],
)  # fmt: skip
def test_a_handler_that_does_not_do_it_again(body: str) -> None:
    assert again(STEP.format("MemoryError", body)) == []


def test_another_function_that_comes_to_the_same_module() -> None:
    source = "def first(x):\n    return net(x)\ndef second(x):\n    return first(x[:8])\n"
    step = STEP.replace("net(x)", "first(x)").format("MemoryError", "out = second(x)")
    assert again(source + step) == ["second"]


UNKNOWN = """
class Trainer:
    def valid(self, batch, last=False):
        try:
            loss = self.task.step(batch, self.model)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            {}
        return loss
"""


def test_a_function_that_calls_itself_in_its_handler() -> None:
    assert again(UNKNOWN.format("return self.valid(batch, last=True)")) == ["self.valid"]


def test_the_same_method_of_an_unknown_object() -> None:
    assert again(UNKNOWN.format("loss = self.task.step(batch[:8], self.model)")) == ["self.task.step"]
    assert again(UNKNOWN.format("loss = self.task.last(batch)")) == []
    assert again(UNKNOWN.format("self.task.log(error)\n            raise")) == []


def test_frames_that_are_cleared() -> None:
    clear = "traceback.clear_frames(error.__traceback__)\n        "
    assert again(STEP.format("MemoryError as error", clear + "out = net(x[:8])")) == []
    assert kept(STEP.format("MemoryError as error", clear + "kept.append(error)")) == []


@pytest.mark.parametrize(
    "item", ["error", "(step, error)", "{'error': error}", "error.__traceback__", "sys.exc_info()"]
)
def test_an_exception_in_a_list(item: str) -> None:
    assert kept(STEP.format("ValueError as error", f"kept.append({item})")) == ["kept +"]


@pytest.mark.parametrize(
    "item",
    ["str(error)", "repr(error)", "f'{error}'", "type(error)", "error.args", "traceback.format_exc()",
     "error.with_traceback(None)", "step"],
)  # fmt: skip
def test_what_is_no_exception(item: str) -> None:
    assert kept(STEP.format("ValueError as error", f"kept.append({item})")) == []


def test_work_without_tensors() -> None:
    source = STEP.replace("net(x)", "int(step)").format("ValueError as error", "kept.append(error)")
    assert kept(source) == []


def test_a_list_that_ends_with_the_turn_or_is_emptied() -> None:
    source = STEP.replace("    try:", "    kept = []\n    try:").format("ValueError as error", "kept.append(error)")
    assert kept(source) == []
    assert kept(STEP.format("ValueError as error", "kept.append(error)") + "    kept.clear()\n") == []


def test_an_attribute_and_a_global() -> None:
    source = """
last = None
class Worker:
    def run(self, x):
        try:
            return net(x)
        except ValueError as error:
            {} = error
"""
    assert kept(source.format("self.error")) == ["self.error"]
    assert kept(source.format("last").replace("        try", "        global last\n        try")) == ["last"]


def test_a_variable_that_lives_into_the_next_attempt() -> None:
    assert kept(STEP.format("ValueError as error", "last = error")) == ["last"]
    assert kept(STEP.format("ValueError as error", "last = error") + "    del last\n") == []
    alone = "def run(x):\n    try:\n        return net(x)\n    except ValueError as error:\n        last = error\n"
    assert kept(alone) == []


def test_an_exception_that_a_function_returns() -> None:
    source = """
def attempt(x):
    try:
        return net(x), None
    except ValueError as error:
        return None, error
for x in loader:
    out, failure = attempt(x)
    kept.append({})
"""
    assert kept(source.format("failure")) == ["kept +"]
    assert kept(source.format("out")) == []


@pytest.mark.parametrize("part", ["x[:8]", "x.chunk(2)[0]", "x.narrow(0, 0, 8)"])
def test_a_part_of_the_batch_tells_what_is_meant(part: str) -> None:
    assert again(STEP.format("RuntimeError", f"out = net({part})")) == ["net"]
    assert again(STEP.format("KeyError", f"out = net({part})")) == []
    assert again(STEP.format("RuntimeError", "out = net(x.float())")) == []


@pytest.mark.parametrize(
    ("body", "keeps"),
    [("    error: Exception", True),
     ("    def __init__(self, error):\n        self.error = error", True),
     ("    def __init__(self, error):\n        self.error = str(error)", False),
     ("    def __init__(self, error):\n        self.error = error\n        error.__traceback__ = None", False),
     ("    error: Exception\n    def __post_init__(self):\n        self.error = repr(self.error)", False),
     ("    def __init__(self, error):\n        super().__init__(error)", True),
     ("    def __init__(self, error):\n        super().__init__(repr(error))", False)],
)  # fmt: skip
def test_an_object_that_keeps_the_exception(body: str, keeps: bool) -> None:
    base = "class Base:\n    def __init__(self, why):\n        self.why = why\n"
    failure = f"@dataclass\nclass Failure:\n{body}\n" if "error: " in body else f"class Failure(Base):\n{body}\n"
    source = base + failure + STEP.format("ValueError as error", "kept.append(Failure(error))")
    assert kept(source) == (["kept +"] if keeps else [])


@pytest.mark.parametrize(("flag", "keeps"), [("rank != 0", False), ("x != 0", True)])
def test_a_number_that_is_compared_is_no_tensor_that_a_frame_holds(flag: str, keeps: bool) -> None:
    source = f"""
def fetch(name, wait):
    copy(name, wait)
rank = 3
for step, (x, y) in enumerate(loader):
    x = x.float()
    try:
        fetch("part", wait={flag})
    except ValueError as error:
        kept.append(error)
"""
    assert kept(source) == (["kept +"] if keeps else [])


JOURNAL = """
    from dataclasses import dataclass

    @dataclass
    class Entry:
        where: int
        what: object

    class Journal:
        def __init__(self):
            self.entries = []

        def note(self, where, error):
            self.entries.append(Entry(where, {kept}))
"""

RUN = """
    import torch
    from torch import nn
    from journal import Journal

    def run(net: nn.Module, loader):
        journal, hits = Journal(), 0
        with torch.no_grad():
            for number, (x, y) in enumerate(loader):
                try:
                    hits += (net(x).argmax(1) == y).sum().item()
                except RuntimeError as error:
                    journal.note(number, {given})
        return hits, len(journal.entries)
"""


@pytest.mark.parametrize(
    ("kept", "given", "found"),
    [
        ("error", "error", ["run.py: TLK406 error"]),
        ("str(error)", "error", []),
        ("error", "str(error)", []),
        ("error", "error.with_traceback(None)", []),
    ],
)
def test_a_journal_of_another_file(tmp_path: Path, kept: str, given: str, found: list[str]) -> None:
    files = {"journal.py": JOURNAL.format(kept=kept), "run.py": RUN.format(given=given)}
    assert Project(tmp_path, files).found("run.py") == found


FAILURES = """
    import traceback
    from dataclasses import InitVar, dataclass
    from typing import NamedTuple

    {failure}
"""

SEARCH = """
    import torch
    from torch import nn
    from failures import Failure

    def search(net: nn.Module, sizes):
        failures = []
        for size in sizes:
            try:
                net(torch.zeros(size, 8)).sum().backward()
            except RuntimeError as error:
                failures.append(Failure(size, {given}))
        return failures
"""

IN_A_DATA_CLASS = """@dataclass
    class Failure:
        size: int
        why: {type}

        {method}
"""

WRITTEN_OUT = """class Base:
        def __init__(self, error):
            self.error = {of_base}

    class Failure(Base):
        def __init__(self, size, error, keep=True):
            super().__init__(error)
            self.size = size
            {own}
"""


def _written_out(own: str = "pass", of_base: str = "None") -> str:
    return WRITTEN_OUT.format(own=own, of_base=of_base)


@pytest.mark.parametrize(
    ("failure", "given", "leaks"),
    [
        (IN_A_DATA_CLASS.format(type="BaseException", method="pass"), "error", True),
        (IN_A_DATA_CLASS.format(type="object", method="pass"), "why=error", True),
        (IN_A_DATA_CLASS.format(type="str", method="pass"), "str(error)", False),
        (IN_A_DATA_CLASS.format(type="InitVar[Exception]", method="pass"), "error", False),
        (IN_A_DATA_CLASS.format(
            type="Exception",
            method="def __post_init__(self):\n            self.why.__traceback__ = None"), "error", False),
        (IN_A_DATA_CLASS.format(
            type="Exception",
            method="def __post_init__(self):\n            self.why = repr(self.why)"), "error", False),
        ("class Failure(NamedTuple):\n        size: int\n        why: Exception", "error", True),
        (_written_out("self.error = error"), "error", True),
        (_written_out("self.parts = [size, error]"), "error", True),
        (_written_out(of_base="error"), "error", True),
        (_written_out("self.error = f'{error}'"), "error", False),
        (_written_out("self.error = error.with_traceback(None)"), "error", False),
        (_written_out("self.error = error\n            traceback.clear_frames(error.__traceback__)"), "error", False),
        (_written_out("self.error = type(error)"), "error", False),
        (_written_out("print(error)"), "error", False),
        (_written_out("if keep:\n                self.error = error"), "error, keep=False", False),
    ],
)  # fmt: skip
def test_an_object_of_a_class_of_another_file_keeps_the_exception(
    tmp_path: Path, failure: str, given: str, leaks: bool
) -> None:
    files = {"failures.py": FAILURES.format(failure=failure), "search.py": SEARCH.format(given=given)}
    assert Project(tmp_path, files).found() == (["search.py: TLK406 error"] if leaks else [])


@pytest.mark.parametrize(("asked", "count"), [("sys.exc_info()", 1), ("str(sys.exc_info()[1])", 0)])
def test_a_method_may_ask_for_the_exception_that_its_caller_handles(asked: str, count: int) -> None:
    source = f"""
import sys

class Summary:
    def __init__(self):
        self.broken = {{}}

    def note(self, name):
        self.broken[name] = {asked}

def run(net: nn.Module, loader):
    summary = Summary()
    for name, x in loader:
        try:
            net(x)
        except RuntimeError:
            summary.note(name)
"""
    assert len(Program(source).facts.kept_exceptions) == count


SMALLER = """
def smaller(trainer, factor):
    size = getattr(trainer, "size") * factor
    trainer.loop.set_up()
    return size

def search(trainer, size):
    while True:
        try:
            {work}
            size = smaller(trainer, 2.0)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            size = {again}
"""


def test_a_function_that_only_chooses_another_size_does_nothing_again() -> None:
    assert again(SMALLER.format(work="trainer.fit(size)", again="smaller(trainer, 0.5)")) == []
    assert again(SMALLER.format(work="size = trainer.fit(size)", again="trainer.fit(size // 2)")) == ["trainer.fit"]


TRAINER = """
class Trainer:
    def __init__(self, net: nn.Module, rows):
        self.net, self.rows = net, rows
    def run(self):
        return self.net(self.rows)

def chosen(trainer, factor):
    return int(len(trainer.rows) * factor)

def search(trainer: Trainer):
    try:
        trainer.run()
        size = chosen(trainer, 2.0)
    except torch.cuda.OutOfMemoryError:
        size = {again}
    return size
"""


def test_who_asks_the_trainer_for_a_number_does_not_train_again() -> None:
    assert again(TRAINER.format(again="chosen(trainer, 0.5)")) == []
    assert again(TRAINER.format(again="trainer.run()")) == ["trainer.run"]


FORGIVING = """
from contextlib import contextmanager
lost = []

class Forgiving:
    def __init__(self):
        self.seen, self.last = [], None
    def __enter__(self):
        return self
    def __exit__(self, {told}):
        {exiting}
        {ending}
    def note(self, failure):
        self.seen.append(failure)

@contextmanager
def forgiving():
    try:
        yield
    except RuntimeError as failure:
        lost.append({noted})

forgive = Forgiving()
for x, y in loader:
    {used}
"""
FORGIVEN = {
    "told": "kind, failure, trace",
    "exiting": "self.seen.append((kind, failure))",
    "ending": "return kind is not None",
    "noted": "str(failure)",
    "used": "with forgive:\n        net(x).sum().backward()",
}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, ["self.seen +"]),
        ({"exiting": "self.seen.append(trace)"}, ["self.seen +"]),
        ({"exiting": "self.seen += [failure]"}, ["self.seen +"]),
        ({"exiting": "self.note(failure)"}, ["self.seen +"]),
        ({"exiting": "lost.append(failure)"}, ["lost +"]),
        ({"exiting": "self.last = failure", "ending": "return True"}, ["self.last"]),
        ({"told": "*error", "exiting": "self.seen.append(error)"}, ["self.seen +"]),
        ({"told": "*error", "exiting": "self.seen.append(error[1])"}, ["self.seen +"]),
        ({"told": "*error", "exiting": "kind, value, trace = error\n        self.seen.append(value)",
          "ending": "return kind is not None"}, ["self.seen +"]),
        ({"used": "with forgiving():\n        net(x).sum().backward()", "noted": "failure"}, ["lost +"]),
        ({"used": "with Forgiving():\n        net(x)", "exiting": "lost.append(failure)"}, ["lost +"]),
    ],
)  # fmt: skip
def test_what_a_context_manager_keeps_of_the_failures_of_its_block(changed: dict[str, str], found: list[str]) -> None:
    changed = {"ending": "return True", **changed} if "told" in changed else changed
    assert kept(FORGIVING.format(**{**FORGIVEN, **changed})) == found


@pytest.mark.parametrize(
    "changed",
    [
        {"exiting": "self.seen.append(str(failure))"},
        {"exiting": "self.seen.append(kind)"},
        {"exiting": "self.seen.append(traceback.format_exception(kind, failure, trace))"},
        {"exiting": "traceback.clear_frames(trace)\n        self.seen.append(failure)"},
        {"exiting": "failure.__traceback__ = None\n        self.seen.append(failure)"},
        {"ending": "return False"},
        {"ending": "print('left')"},
        {"told": "*error", "exiting": "self.seen.append(error[0])", "ending": "return True"},
        {"used": "with Forgiving():\n        net(x).sum().backward()"},
        {"used": "with Forgiving() as forgive:\n        net(x)", "exiting": "self.last = failure"},
        {"used": "with forgive:\n        print(len(y))"},
        {"used": "with open('rows') as rows:\n        net(x)"},
        {"used": "with forgiving():\n        net(x).sum().backward()"},
        {"used": "with forgiving():\n        print(len(y))", "noted": "failure"},
        {"used": "pass\nwith forgive:\n    net(x)"},
    ],
)
def test_a_context_manager_that_keeps_no_frames_of_the_failures_of_its_blocks(changed: dict[str, str]) -> None:
    assert kept(FORGIVING.format(**{**FORGIVEN, **changed})) == []


INFERER = """
from scans import Inferer, read
class Reader:
    def __init__(self):
        self.net, self.infer = nn.Linear(3, 3), Inferer(4)
    def __call__(self, path):
        x = torch.from_numpy(read(path)).cuda()
        return GIVEN
class Result:
    def __init__(self):
        self.failed = {}
    def guard(self, work, path):
        try:
            return work(path)
        except RuntimeError as error:
            self.failed[path] = error
def main(paths):
    reader, result = Reader(), Result()
    for path in paths:
        result.guard(reader, path)
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [("self.infer(x, self.net)", ["self.failed +"]), ("self.infer(path, self.net)", []), ("self.infer(x)", [])],
)
def test_who_is_given_a_network_and_tensors_runs_it(given: str, found: list[str]) -> None:
    assert kept(INFERER.replace("GIVEN", given)) == found


WORKERS = """
def answers(nets, batches):
    results, rest = {{}}, {{}}
    def work(i, x):
        try:
            {answer} = net(x)
        except Exception as error:
            results[i] = error
    for i, x in enumerate(batches):
        work(i, x)
    return [results[i] for i in range(len(batches))]
"""


def test_what_workers_put_among_their_results_is_raised_by_who_waits_for_them() -> None:
    assert kept(WORKERS.format(answer="results[i]")) == []
    assert kept(WORKERS.format(answer="rest[i]")) == ["results +"]


PROBES = """
class Probe(typing.Protocol):
    def __call__(self, size: int) -> float:
        ...

class Tuner:
    def __init__(self, probe: Probe):
        self.probe, self.failures = probe, []

    def fits(self, size):
        failure = None
        try:
            self.probe(size)
        except Exception as error:
            failure = {kept}
        if failure is not None:
            self.failures.append(failure)
            {after}
        return failure is None

    def largest(self):
        size = 1
        while self.fits(size):
            size *= 2
        return size
"""


@pytest.mark.parametrize(
    ("kept_of_it", "after", "expected"),
    [
        ("error", "torch.cuda.empty_cache()", ["self.failures +"]),
        ("(size, error)", "print(torch.cuda.max_memory_allocated())", ["self.failures +"]),
        ("str(error)", "torch.cuda.empty_cache()", []),
        ("error", "print(size)", []),
    ],
)
def test_what_is_tried_beside_a_look_at_the_memory_of_the_gpu_works_there(
    kept_of_it: str, after: str, expected: list[str]
) -> None:
    assert kept("import typing\n" + PROBES.format(kept=kept_of_it, after=after)) == expected
