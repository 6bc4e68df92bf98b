"""Guards that a program makes itself, and what stands under them: in its own file, in another, as a decorator."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

HEAD = """
import torch
from torch import nn
from contextlib import contextmanager, ContextDecorator, ExitStack, nullcontext
"""

GUARDS = {
    "yields under one": """
@contextmanager
def quiet(model):
    model.eval()
    with {off}:
        yield
""",
    "yields under several": """
@contextmanager
def quiet(model):
    with torch.autocast("cuda"), {off}:
        yield model
""",
    "enters one by a stack": """
@contextmanager
def quiet(model):
    with ExitStack() as stack:
        stack.enter_context({off})
        stack.enter_context(torch.autocast("cuda"))
        yield
""",
    "sets the mode and puts it back": """
@contextmanager
def quiet(model):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled({flag})
    try:
        yield
    finally:
        torch.set_grad_enabled(before)
""",
    "yields under another of its own": """
@contextmanager
def inner():
    with {off}:
        yield

@contextmanager
def quiet(model):
    with inner():
        yield
""",
    "sets the mode when it is entered": """
class quiet(ContextDecorator):
    def __init__(self, model):
        self.model = model

    def __enter__(self):
        self.was = torch.is_grad_enabled()
        torch.set_grad_enabled({flag})
        return self.model

    def __exit__(self, *args):
        torch.set_grad_enabled(self.was)
""",
    "enters one that it has": """
class quiet(ContextDecorator):
    def __init__(self, model):
        self.guard = {off}

    def __enter__(self):
        self.guard.__enter__()

    def __exit__(self, *args):
        self.guard.__exit__(*args)
""",
    "enters one by a stack that it has": """
class quiet(ContextDecorator):
    def __init__(self, model):
        self.stack = ExitStack()

    def __enter__(self):
        self.stack.enter_context({off})

    def __exit__(self, *args):
        return self.stack.__exit__(*args)
""",
    "gives one": """
def quiet(model):
    model.eval()
    return {off}
""",
}
"""What a guard does, by which it is one."""

SOMETIMES = """
def quiet(model, on=True):
    return torch.no_grad() if on else nullcontext()
"""

DERIVED = """
class quiet(torch.no_grad):
    def __init__(self, model):
        super().__init__()
        self.model = model
"""

ROUND_IN_CIRCLES = """
@contextmanager
def quiet(model):
    guard = model.guard
    guard = guard if guard else other
    other = guard
    with guard:
        yield
"""

BLOCK = """
def answer(model, loader):
    found = []
    with quiet(model):
        for x in loader:
            found.append(model(x).argmax(1).tolist())
    return found

def main(loader):
    return answer(nn.Linear(3, 3), loader)
"""

DECORATOR = """
@quiet(None)
def answer(model, loader):
    return [model(x).argmax(1).tolist() for x in loader]

def main(loader):
    return answer(nn.Linear(3, 3), loader)
"""

WRAPPER = """
def scoring(function):
    def scored(model, *rest, **named):
        with quiet(model):
            return function(model, *rest, **named)
    return scored

@scoring
def answer(model, loader):
    return [model(x).argmax(1).tolist() for x in loader]

def main(loader):
    return answer(nn.Linear(3, 3), loader)
"""

USES = {"a block": BLOCK, "a decorator": DECORATOR, "a block in a decorator": WRAPPER}
WRITTEN = {
    "off": {"off": "torch.no_grad()", "flag": "False"},
    "by a flag": {"off": "torch.set_grad_enabled(False)", "flag": "False"},
    "on, as is asked for": {"off": "torch.enable_grad()", "flag": "True"},
}


def found(folder: Path, guard: str, use: str, *, elsewhere: bool) -> list[str]:
    """What is found under a guard of the same file, or of another one."""
    if not elsewhere:
        return Project(folder, {"main.py": HEAD + guard + use}).found()
    main = "import torch\nfrom torch import nn\nfrom guards import quiet\n" + use
    return Project(folder, {"guards.py": HEAD + guard, "main.py": main}).found()


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("mode", WRITTEN)
@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_of_ones_own_holds(tmp_path: Path, guard: str, mode: str, use: str, *, elsewhere: bool) -> None:
    assert found(tmp_path, GUARDS[guard].format(**WRITTEN[mode]), USES[use], elsewhere=elsewhere) == []


STACK = """
def quiet(model):
    stack = ExitStack()
    stack.callback(model.train, model.training)
    {entered}
    return {given}
"""


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("given", ["stack", "stack.pop_all()"])
def test_a_stack_that_has_entered_one_is_a_guard(tmp_path: Path, given: str, *, elsewhere: bool) -> None:
    guard = STACK.format(entered="stack.enter_context(torch.no_grad())", given=given)
    assert found(tmp_path, guard, BLOCK, elsewhere=elsewhere) == []


def test_a_stack_without_one_is_none(tmp_path: Path) -> None:
    guard = STACK.format(entered="stack.enter_context(torch.autocast('cuda'))", given="stack")
    assert found(tmp_path, guard, BLOCK, elsewhere=False) == ["main.py: TLK201 warning"]


STACKED = """
import functools
def scoring(function):
    @functools.wraps(function)
    def scored(model, *rest, **named):
        with ExitStack() as stack:
            stack.enter_context({off})
            return function(model, *rest, **named)
    return scored
"""

SCORED = """
@scoring
def answer(model, loader):
    return [model(x).argmax(1).tolist() for x in loader]

def main(loader):
    return answer(nn.Linear(3, 3), loader)
"""


def test_a_decorator_may_enter_it_by_a_stack(tmp_path: Path) -> None:
    assert found(tmp_path, STACKED.format(off="torch.no_grad()"), SCORED, elsewhere=False) == []


SWITCHED = """
import functools
def scoring(function):
    @functools.wraps(function)
    def scored(model, *rest, **named):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled({flag})
        try:
            return function(model, *rest, **named)
        finally:
            torch.set_grad_enabled(before)
    return scored
"""


@pytest.mark.parametrize("flag", ["False", "True", "model.training"])
def test_a_decorator_may_switch_them_off_or_on_and_put_them_back(tmp_path: Path, flag: str) -> None:
    assert found(tmp_path, SWITCHED.format(flag=flag), SCORED, elsewhere=False) == []


def test_a_decorator_that_enters_another_is_no_guard(tmp_path: Path) -> None:
    guard = STACKED.format(off="torch.autocast('cuda')")
    assert found(tmp_path, guard, SCORED, elsewhere=False) == ["main.py: TLK201 warning"]


SCORING = """
import torch

def score(model, loader):
    model.eval()
    return [model(x).argmax(1).tolist() for x in loader]
"""

STACKED_CALLER = """
from scoring import score

@scoring
def answer(model, loader):
    return score(model, loader)

def main(loader):
    return answer(nn.Linear(3, 3), loader)
"""


def test_what_it_calls_of_another_file_is_guarded_too(tmp_path: Path) -> None:
    main = HEAD + STACKED.format(off="torch.no_grad()") + STACKED_CALLER
    assert Project(tmp_path, {"scoring.py": SCORING, "main.py": main}).found() == []


CALLER = """
from scoring import score

def main(loader):
    model = nn.Linear(3, 3)
    with quiet(model):
        return score(model, loader)
"""


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("mode", ["off", "by a flag"])
@pytest.mark.parametrize("guard", GUARDS)
def test_so_it_does_for_what_a_third_file_defines(tmp_path: Path, guard: str, mode: str, *, elsewhere: bool) -> None:
    written = HEAD + GUARDS[guard].format(**WRITTEN[mode])
    files = {"guards.py": written, "main.py": "from torch import nn\nfrom guards import quiet\n" + CALLER}
    project = Project(tmp_path, {"scoring.py": SCORING, **(files if elsewhere else {"main.py": written + CALLER})})
    assert project.found() == []


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("guard", [one for one in GUARDS.values() if "{flag}" not in one])
def test_what_looks_like_one_and_leaves_gradients_alone_does_not(
    tmp_path: Path, guard: str, *, elsewhere: bool
) -> None:
    assert found(tmp_path, guard.format(off='torch.autocast("cuda")'), BLOCK, elsewhere=elsewhere)
    assert found(tmp_path, guard.format(off='torch.autocast("cuda")'), WRAPPER, elsewhere=elsewhere)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "elsewhere"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("guard", [SOMETIMES, DERIVED], ids=["that holds sometimes", "that derives from torch's"])
def test_so_does_one(tmp_path: Path, guard: str, use: str, *, elsewhere: bool) -> None:
    assert found(tmp_path, guard, USES[use], elsewhere=elsewhere) == []


def test_one_that_is_defined_by_itself_says_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, ROUND_IN_CIRCLES, BLOCK, elsewhere=False)


AT_REST = """
@contextmanager
def evaluating(model):
    before = model.training
    model.eval()
    {held}
        yield model
    finally:
        model.train(before)
"""

UNDER_IT = """
def score(model: nn.Module, loader):
    with evaluating(model):
        return [model(x).argmax(1).tolist() for x in loader]
"""


@pytest.mark.parametrize(
    ("held", "is_found"),
    [
        ("try:", True),
        ("print('at rest')\n    try:", True),
        ("lib.no_gradients()\n    try:", False),
        ("lib.freeze(model)\n    try:", False),
        ("torch.set_grad_enabled(False)\n    try:", False),
    ],
)
def test_a_name_says_nothing_where_the_definition_is_seen(tmp_path: Path, held: str, *, is_found: bool) -> None:
    text = f"import lib\n{HEAD}{AT_REST.format(held=held)}{UNDER_IT}"
    assert bool(Project(tmp_path, {"main.py": text}).found()) is is_found


def test_a_name_is_all_that_is_known_of_what_is_not_seen(tmp_path: Path) -> None:
    assert Project(tmp_path, {"main.py": f"from lib import evaluating\n{HEAD}{UNDER_IT}"}).found() == []


KEPT = """
class Evaluator:
    def __init__(self, network: nn.Module, manager=None):
        self.network = network
        {mode}

    def run(self, loader):
        for x in loader:
            with self.mode(self.network):
                print(self.network(x).argmax(1).tolist())
"""


@pytest.mark.parametrize(
    ("mode", "is_found"),
    [
        ("self.mode = quiet", False),
        ("self.mode = None\n        self.mode = quiet", False),
        ("self.mode = quiet if manager is None else loud", False),
        ("self.mode = loud", True),
    ],
)
def test_one_that_an_attribute_has_by_its_function(tmp_path: Path, mode: str, *, is_found: bool) -> None:
    guards = GUARDS["yields under one"].format(off="torch.no_grad()")
    guards += guards.replace("quiet", "loud").replace("torch.no_grad()", "torch.autocast('cuda')")
    assert bool(Project(tmp_path, {"main.py": f"{HEAD}{guards}{KEPT.format(mode=mode)}"}).found()) is is_found
