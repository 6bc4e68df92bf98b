"""Where anomaly detection covers a whole run, and where somebody asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import TRAINING, Program
from projects import Project

HEAD = (
    "import contextlib\nimport pytorch_lightning as pl\nfrom torch.autograd import detect_anomaly, set_detect_anomaly\n"
)

TRAIN = """
def train(batches):
    for x in batches:
        model(x).sum().backward()
        optimizer.step()
"""


def found(source: str) -> int:
    """How many places are found."""
    return len(Program(HEAD + TRAINING + TRAIN + source).facts.debuggings)


@pytest.mark.parametrize(
    "source",
    [
        "set_detect_anomaly(True)\ntrain(loader)\n",
        "with detect_anomaly():\n    train(loader)\n",
        "with contextlib.ExitStack() as stack:\n    stack.enter_context(detect_anomaly())\n    train(loader)\n",
        "if __name__ == '__main__':\n    set_detect_anomaly(mode=True)\n    train(loader)\n",
        "for x in loader:\n    with detect_anomaly():\n        model(x).sum().backward()\n",
        "def start():\n    set_detect_anomaly(True)\ndef main():\n    start()\n    train(loader)\n",
        "def play():\n    return [model(torch.ones(3)).argmax().item() for _ in range(20)]\n"
        "def learn(rows):\n    model(torch.tensor(rows)).sum().backward()\n    optimizer.step()\n"
        "set_detect_anomaly(True)\nfor episode in range(args.episodes):\n    learn(play())\n",
        "pl.Trainer(detect_anomaly=True).fit(model)\n",
        "class M(pl.LightningModule):\n    def on_fit_start(self):\n        set_detect_anomaly(True)\n",
        "class M(pl.LightningModule):\n    def training_step(self, x, i):\n"
        "        with detect_anomaly():\n            return model(x).sum()\n",
        "class M(nn.Module):\n    @property\n    def spread(self):\n        with set_detect_anomaly(True):\n"
        "            return self.scale.exp()\n",
    ],
)
def test_a_whole_run_is_covered(source: str) -> None:
    assert found(source) == 1


@pytest.mark.parametrize(
    "source",
    [
        "set_detect_anomaly(args.debug)\ntrain(loader)\n",
        "if args.debug:\n    set_detect_anomaly(True)\ntrain(loader)\n",
        "def start():\n    set_detect_anomaly(True)\nif args.debug:\n    start()\ntrain(loader)\n",
        "set_detect_anomaly(True)\ntrain(loader)\nset_detect_anomaly(False)\n",
        "with detect_anomaly() if args.debug else contextlib.nullcontext():\n    train(loader)\n",
        "if args.debug:\n    with detect_anomaly():\n        train(loader)\nelse:\n    train(loader)\n",
        "class M(nn.Module):\n    def checked(self):\n        with set_detect_anomaly(True):\n"
        "            return self.scale.exp()\n",
        "class M(nn.Module):\n    @property\n    def spread(self):\n        with set_detect_anomaly(self.debug):\n"
        "            return self.scale.exp()\n",
        "class M(nn.Module):\n    @property\n    def spread(self):\n        if self.debug:\n"
        "            with detect_anomaly():\n                return self.scale.exp()\n        return self.scale\n",
        "class Report:\n    @property\n    def spread(self):\n        with detect_anomaly():\n"
        "            return model(self.x).sum()\n",
        "def check(x):\n    with detect_anomaly():\n        model(x).sum().backward()\ncheck(torch.ones(3))\n",
        "for i, x in enumerate(loader):\n    with detect_anomaly():\n        model(x).sum().backward()\n"
        "    if i == 2:\n        break\n",
        "def test_it():\n    with detect_anomaly():\n        train(loader)\n",
        "import pytest\nset_detect_anomaly(True)\ntrain(loader)\n",
        "pl.Trainer(detect_anomaly=args.debug).fit(model)\n",
        "def debug():\n    set_detect_anomaly(True)\n",
    ],
)
def test_somebody_asked_for_it(source: str) -> None:
    assert found(f"args = input()\n{source}") == 0


def test_a_library_that_switches_it_on_does_so_for_all_that_import_it() -> None:
    source = f"{HEAD}set_detect_anomaly(True)\nclass Net(nn.Module):\n    pass\n"
    assert len(Program(source).facts.debuggings) == 1


SETTING_UP = """
import random
def configure(seed, debug=False):
    random.seed(seed)
    torch.set_num_threads(2)
    {}
"""


def test_what_sets_up_a_process_switches_it_on_for_all_of_it() -> None:
    source = HEAD + SETTING_UP.format("torch.autograd.set_detect_anomaly(True)")
    assert len(Program(source).facts.debuggings) == 1


@pytest.mark.parametrize(
    "switched",
    ["torch.autograd.set_detect_anomaly(debug)",
     "if debug:\n        torch.autograd.set_detect_anomaly(True)",
     "if not debug:\n        return\n    torch.autograd.set_detect_anomaly(True)",
     "torch.autograd.set_detect_anomaly(True)\n    model(torch.ones(3)).sum().backward()"],
)  # fmt: skip
def test_what_sets_up_a_process_may_be_told_to(switched: str) -> None:
    assert len(Program(HEAD + "model = nn.Linear(3, 1)\n" + SETTING_UP.format(switched)).facts.debuggings) == 0


@pytest.mark.parametrize(
    ("loops", "count"),
    [
        ("    for epoch in range(50):\n        for _ in range(20):\n", 1),
        ("    for epoch in range(4):\n        for _ in range(7):\n", 0),
        ("    for epoch in range(epochs):\n        for _ in range(20):\n", 0),
    ],
)
def test_short_loops_add_up_in_others(loops: str, count: int) -> None:
    body = "            model(torch.ones(3)).sum().backward()\n            optimizer.step()\n"
    assert found(f"with detect_anomaly():\n{loops}{body}") == count


PREPARE = """
import random
import torch
def seed_all(seed):
    random.seed(seed)
    torch.manual_seed(seed)

def prepare(seed, debug=False):
    {first}
    {switched}
    return torch.device("cpu")
"""

SWITCH = "torch.autograd.set_detect_anomaly(True)"


@pytest.mark.parametrize(
    ("first", "switched", "count"),
    [
        ("seed_all(seed)", SWITCH, 1),
        ("seed_all(seed)", f"if debug:\n        {SWITCH}", 0),
        ("seed_all(seed)", "torch.autograd.set_detect_anomaly(debug)", 0),
        ("seed_all(seed)\n    torch.nn.Linear(3, 1)(torch.ones(3)).sum().backward()", SWITCH, 0),
    ],
)
def test_what_sets_up_a_process_may_do_so_by_others(tmp_path: Path, first: str, switched: str, count: int) -> None:
    whole = PREPARE.format(first=first, switched=switched)
    assert len(Program(whole).facts.debuggings) == count
    seeds, prepares = whole.split("def prepare")
    prepares = prepares.replace("    seed_all", "    torch.set_num_threads(2)\n    seed_all", 1)
    files = {"seeds.py": seeds, "main.py": "import torch\nfrom seeds import seed_all\ndef prepare" + prepares}
    found = [one for one in Project(tmp_path, files).found() if "TLK505" in one]
    assert found == ["main.py: TLK505 note"] * count


DEBUGGING = """
    import torch

    def debug_on(wanted=False):
        {body}

    def debug_off():
        torch.autograd.set_detect_anomaly(False)
"""

DEBUGGED = """
    import torch
    from torch import nn
    from tools import debug_on, debug_off

    def run(loader, verbose):
        {before}
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for {turns}:
            net(x).sum().backward()
            optimizer.step()
        {after}
"""


@pytest.mark.parametrize(
    ("body", "ways", "count"),
    [
        (SWITCH, ("debug_on()", "x in loader", "pass"), 1),
        ("torch.autograd.set_detect_anomaly(mode=True)", ("debug_on()", "x in loader", "pass"), 1),
        (SWITCH, ("debug_on()", "x in loader", "debug_off()"), 0),
        (SWITCH, ("debug_on()", "x in loader", "torch.autograd.set_detect_anomaly(False)"), 0),
        (SWITCH, ("if verbose:\n            debug_on()", "x in loader", "pass"), 0),
        (SWITCH, ("debug_on()", "_, x in zip(range(5), loader)", "pass"), 0),
        (f"if wanted:\n            {SWITCH}", ("debug_on()", "x in loader", "pass"), 0),
        ("torch.autograd.set_detect_anomaly(wanted)", ("debug_on()", "x in loader", "pass"), 0),
        (f"{SWITCH}\n        debug_off()", ("debug_on()", "x in loader", "pass"), 0),
    ],
)
def test_a_helper_of_another_file_switches_it_on(
    tmp_path: Path, body: str, ways: tuple[str, str, str], count: int
) -> None:
    user = DEBUGGED.format(before=ways[0], turns=ways[1], after=ways[2])
    project = Project(tmp_path, {"tools.py": DEBUGGING.format(body=body), "main.py": user})
    assert [one for one in project.found() if "TLK505" in one] == ["main.py: TLK505 note"] * count


MANAGED = """
@contextlib.contextmanager
def checked(limit=1.0):
    {opening}
{body}

class Checked:
    def __init__(self, enabled=True):
        self.enabled, self.stack, self.mode = enabled, contextlib.ExitStack(), detect_anomaly()
    def __enter__(self):
        {entering}
        return self
    def __exit__(self, *error):
        {leaving}
        return False

@contextlib.contextmanager
def timed():
    with checked():
        yield

def probe(x):
    model(x).sum().backward()

{used}
"""

ENTERED = "self.mode.__enter__()", "self.mode.__exit__(*error)"


@pytest.mark.parametrize(
    ("opening", "body", "used"),
    [
        ("with detect_anomaly(), torch.autocast('cpu'):", "        yield", "with checked():\n    train(loader)"),
        ("with set_detect_anomaly(True):", "        yield",
         "with torch.autocast('cpu'), checked(2.0):\n    train(loader)"),
        ("with detect_anomaly():", "        yield", "with timed():\n    train(loader)"),
        ("with detect_anomaly():", "        yield", "for x in loader:\n    with checked():\n        probe(x)"),
        ("set_detect_anomaly(True)", "    yield\n    set_detect_anomaly(False)", "with checked():\n    train(loader)"),
        ("with contextlib.ExitStack() as stack:", "        stack.enter_context(detect_anomaly())\n        yield stack",
         "with checked():\n    train(loader)"),
    ],
)  # fmt: skip
def test_a_manager_has_it_on_where_it_yields(opening: str, body: str, used: str) -> None:
    parts = {"entering": "pass", "leaving": "pass"}
    assert found(MANAGED.format(opening=opening, body=body, used=used, **parts)) == 1


@pytest.mark.parametrize(
    ("opening", "body", "used"),
    [
        ("with detect_anomaly():", "        yield", "with checked():\n    probe(torch.ones(3))\ntrain(loader)"),
        ("with detect_anomaly():", "        pass\n    yield", "with checked():\n    train(loader)"),
        ("yield", "    with detect_anomaly():\n        probe(torch.ones(3))", "with checked():\n    train(loader)"),
        ("if args.debug:", "        with detect_anomaly():\n            yield\n    else:\n        yield",
         "with checked():\n    train(loader)"),
        ("with set_detect_anomaly(args.debug):", "        yield", "with checked():\n    train(loader)"),
        ("with detect_anomaly():", "        yield",
         "if args.debug:\n    with checked():\n        train(loader)\nelse:\n    train(loader)"),
        ("with detect_anomaly():", "        yield",
         "with checked() if args.debug else contextlib.nullcontext():\n    train(loader)"),
        ("with detect_anomaly():", "        yield",
         "try:\n    train(loader)\nexcept ValueError:\n    with checked():\n        train(loader)"),
        ("with detect_anomaly():", "        yield", "def test_it():\n    with checked():\n        train(loader)"),
        ("with contextlib.ExitStack() as stack:", "        stack.enter_context(detect_anomaly())\n        yield stack",
         "with checked():\n    probe(torch.ones(3))\ntrain(loader)"),
        ("with detect_anomaly():", "        yield",
         "manager = checked if args.debug else contextlib.nullcontext\nwith manager():\n    train(loader)"),
        ("with contextlib.ExitStack() as stack:",
         "        if args.debug:\n            stack.enter_context(detect_anomaly())\n        yield stack",
         "with checked():\n    train(loader)"),
    ],
)  # fmt: skip
def test_a_manager_has_it_on_for_somebody_who_asked(opening: str, body: str, used: str) -> None:
    program = MANAGED.format(opening=opening, body=body, used=used, entering="pass", leaving="pass")
    assert found(f"args = input()\n{program}") == 0


@pytest.mark.parametrize(
    ("entering", "leaving", "used", "count"),
    [
        (*ENTERED, "with Checked():\n    train(loader)", 1),
        (*ENTERED, "watch = Checked()\nwith watch as w:\n    train(loader)", 1),
        (*ENTERED, "def fit():\n    with Checked():\n        train(loader)\nfit()", 1),
        ("self.stack.enter_context(detect_anomaly())", "self.stack.close()", "with Checked():\n    train(loader)", 1),
        ("set_detect_anomaly(True)", "set_detect_anomaly(False)", "with Checked():\n    train(loader)", 1),
        (*ENTERED, "with Checked():\n    probe(torch.ones(3))\ntrain(loader)", 0),
        (*ENTERED, "with Checked() if args.debug else contextlib.nullcontext():\n    train(loader)", 0),
        (*ENTERED,
         "watch = contextlib.nullcontext()\nif args:\n    watch = Checked()\nwith watch:\n    train(loader)", 0),
        ("if self.enabled:\n            self.mode.__enter__()", "pass", "with Checked():\n    train(loader)", 0),
        ("self.stack.enter_context(detect_anomaly())", "self.stack.close()",
         "with Checked():\n    probe(torch.ones(3))\ntrain(loader)", 0),
        ("set_detect_anomaly(True)", "set_detect_anomaly(False)",
         "with Checked():\n    probe(torch.ones(3))\ntrain(loader)", 0),
        ("with detect_anomaly():\n            probe(torch.ones(3))", "pass", "with Checked():\n    train(loader)", 0),
        ("pass", "pass", "with Checked():\n    train(loader)", 0),
    ],
)  # fmt: skip
def test_an_object_has_it_on_behind_its_enter(entering: str, leaving: str, used: str, count: int) -> None:
    program = MANAGED.format(opening="pass", body="    yield", used=used, entering=entering, leaving=leaving)
    assert found(f"args = input()\n{program}") == count


LENDING = """
    from contextlib import contextmanager
    import torch

    @contextmanager
    def checked(wanted=False):
        {}
"""

BORROWING = """
    from torch import nn
    from tools import checked

    def run(loader, verbose):
        net = nn.Linear(8, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        {way}
            for x in loader:
                net(x).sum().backward()
                optimizer.step()
"""


@pytest.mark.parametrize(
    ("body", "way", "count"),
    [
        ("with torch.autograd.detect_anomaly():\n            yield", "with checked():", 1),
        ("with torch.autograd.set_detect_anomaly(True):\n            yield", "with checked():", 1),
        ("with torch.autograd.detect_anomaly():\n            yield", "if verbose:\n          with checked():", 1),
        ("with torch.autograd.set_detect_anomaly(wanted):\n            yield", "with checked():", 0),
        ("with torch.autograd.detect_anomaly():\n            pass\n        yield", "with checked():", 0),
        ("with torch.autograd.detect_anomaly():\n            yield",
         "with checked():\n            pass\n        if 1:", 0),
    ],
)  # fmt: skip
def test_a_manager_of_another_file_has_it_on(tmp_path: Path, body: str, way: str, count: int) -> None:
    files = {"tools.py": LENDING.format(body), "main.py": "    import torch" + BORROWING.format(way=way)}
    told = [one for one in Project(tmp_path, files).found() if "TLK505" in one]
    assert told == ["main.py: TLK505 note"] * count


KEPT = """
import argparse
from functools import partial
args = argparse.ArgumentParser().parse_args()
{before}

class Plan:
    opened = ()
    def __init__(self, opened=()):
        {made}
    def fit(self, rows):
        with contextlib.ExitStack() as stack:
            {entering}
            {body}

class Careful(Plan):
    opened = {opened}

{used}
"""
KEEPING = {
    "before": "SWITCH = partial(set_detect_anomaly, True)",
    "made": "pass",
    "entering": "for opening in self.opened:\n                stack.enter_context(opening())",
    "body": "for x in rows:\n                model(x).sum().backward()\n                optimizer.step()",
    "opened": "(partial(torch.autocast, 'cpu'), partial(set_detect_anomaly, True))",
    "used": "Careful().fit(loader)",
}


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"opened": "[partial(set_detect_anomaly, mode=True)]"},
        {"opened": "(detect_anomaly,)"},
        {"opened": "(SWITCH,)"},
        {"entering": "with SWITCH():\n                pass\n            for opening in [SWITCH]:\n"
                     "                stack.enter_context(opening())", "opened": "()"},
        {"made": "self.opened = opened", "opened": "()",
         "used": "Plan([partial(set_detect_anomaly, True)]).fit(loader)"},
        {"used": "def main():\n    plan = Careful()\n    plan.fit(loader)\nif __name__ == '__main__':\n    main()"},
    ],
)  # fmt: skip
def test_what_makes_a_manager_is_kept_and_called(changed: dict[str, str]) -> None:
    assert found(KEPT.format(**{**KEEPING, **changed})) == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"opened": "(partial(set_detect_anomaly, False),)"},
        {"opened": "(partial(set_detect_anomaly, args.debug),)"},
        {"opened": "(partial(set_detect_anomaly, True),) if args.debug else ()"},
        {"opened": "(partial(torch.autocast, 'cpu'),)"},
        {"used": "(Careful if args.debug else Plan)().fit(loader)"},
        {"used": "plan = Careful() if args.debug else Plan()\nplan.fit(loader)"},
        {"used": "if args.debug:\n    Careful().fit(loader)\nelse:\n    Plan().fit(loader)"},
        {"used": "PLANS = {'careful': Careful, 'quick': Plan}\nPLANS[args.plan]().fit(loader)"},
        {"used": "Plan().fit(loader)"},
        {"entering": "if args.debug:\n                for opening in self.opened:\n"
                     "                    stack.enter_context(opening())"},
        {"body": "pass"},
        {"made": "if not args.debug:\n            self.opened = []"},
        {"used": "class Quick(Plan):\n    opened = (partial(torch.autocast, 'cpu'),)\n"
                 "(Careful if args.debug else Quick)().fit(loader)\nCareful()"},
    ],
)  # fmt: skip
def test_what_makes_a_manager_is_kept_for_somebody_who_asked(changed: dict[str, str]) -> None:
    assert found(KEPT.format(**{**KEEPING, **changed})) == 0
