"""What a file imports from its project is known: functions, classes, meters, models, guards, wherever they stand."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from torchlint import check_paths
from torchlint.config import Settings
from torchlint.run import Job, check_files

LOOP = """
    import torch
    from torch import nn
    {imports}

    def train(loader, optimizer, net: nn.Module):
        kept = []
        {before}
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {each}
        return kept
"""

METER = """
    class Meter:
        def __init__(self):
            self.reset()

        def reset(self):
            self.total = 0
            self.count = 0

        def update(self, value, n=1):
            self.total += value{ending} * n
            self.count += n

        def average(self):
            return self.total / self.count
"""


class Project:
    """A folder of files that is checked in one run."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "pyproject.toml").touch()
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(text))

    def found(self, *names: str) -> list[str]:
        """``file: CODE level`` of each finding when the named files (all without names) are checked in one run."""
        paths = [self.folder / name for name in names] or [self.folder]
        notes = Settings(notes=True)
        return [
            f"{Path(one.path).relative_to(self.folder).as_posix()}: {one.code} {one.level.name.lower()}"
            for one in check_paths(paths, settings=notes)
        ]


def loop(imports: str = "", before: str = "pass", each: str = "pass") -> str:
    return LOOP.format(imports=imports, before=before, each=each)


# -- functions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("returned", "leaks"),
    [
        ("value * 2", True),
        ("value", True),
        ("value.detach()", False),
        ("value.item()", False),
        ("float(value)", False),
    ],
)
def test_what_a_helper_in_another_file_returns_is_known(tmp_path: Path, returned: str, leaks: bool) -> None:
    helper = f"def shown(value):\n    return {returned}\n"
    project = Project(
        tmp_path, {"tools.py": helper, "train.py": loop("from tools import shown", each="kept.append(shown(loss))")}
    )
    assert project.found() == (["train.py: TLK102 error"] if leaks else [])


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("(net(x) - y).pow(2).mean()", ["train.py: TLK101 error", "train.py: TLK203 warning"]),
        ("(net(x) - y).pow(2).mean().item()", []),
        ("(net(x) - y).pow(2).mean().detach()", []),
    ],
)
def test_what_a_helper_computes_with_the_model_that_it_is_given_is_known(
    tmp_path: Path, returned: str, found: list[str]
) -> None:
    files = {
        "tools.py": f"def cost(net, x, y):\n    return {returned}\n",
        "train.py": """
            import torch
            from torch import nn
            from tools import cost

            def train(loader):
                net = nn.Linear(4, 2)
                optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                total = 0.0
                for x, y in loader:
                    optimizer.zero_grad()
                    (net(x) - y).abs().mean().backward()
                    optimizer.step()
                    total += cost(net, x, y)
                return float(total)
        """,
    }
    told = Project(tmp_path, files).found("train.py")
    assert [one for one in told if "TLK201" not in one] == found


def test_a_name_is_followed_through_modules_that_only_import_it(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "lib/__init__.py": "from .tools import *\n",
            "lib/tools/__init__.py": "from .numbers import shown as displayed\n",
            "lib/tools/numbers.py": "def shown(value):\n    return value.item()\n",
            "train.py": loop("import lib", each="kept.append(lib.displayed(loss))"),
        },
    )
    assert project.found() == []


@pytest.mark.parametrize(
    ("imports", "called"),
    [
        ("from . import tools", "tools.shown"),
        ("from . import tools as helpers", "helpers.shown"),
        ("from .. import lib", "lib.tools.shown"),
        ("from ..lib import tools", "tools.shown"),
        ("from .tools import shown", "shown"),
        ("from lab.lib import tools", "tools.shown"),
    ],
)
@pytest.mark.parametrize(("returned", "leaks"), [("value * 2", True), ("value.item()", False)])
def test_modules_beside_it_are_known_however_they_are_imported(
    tmp_path: Path, imports: str, called: str, returned: str, leaks: bool
) -> None:
    project = Project(
        tmp_path,
        {
            "lab/__init__.py": "",
            "lab/lib/__init__.py": "",
            "lab/lib/tools.py": f"def shown(value):\n    return {returned}\n",
            "lab/lib/train.py": loop(imports, each=f"kept.append({called}(loss))"),
        },
    )
    assert project.found() == (["lab/lib/train.py: TLK102 error"] if leaks else [])


def test_a_helper_that_calls_another_of_its_file_is_known(tmp_path: Path) -> None:
    helper = "def _number(value):\n    return value.item()\n\ndef shown(value):\n    return _number(value)\n"
    project = Project(
        tmp_path, {"tools.py": helper, "train.py": loop("from tools import shown", each="kept.append(shown(loss))")}
    )
    assert project.found() == []


def test_modules_that_import_each_other_are_no_circle(tmp_path: Path) -> None:
    first = "from second import half\n\ndef shown(value):\n    return half(value)\n"
    second = "from first import shown\n\ndef half(value):\n    return shown(value) / 2\n"
    project = Project(
        tmp_path,
        {
            "first.py": first,
            "second.py": second,
            "train.py": loop("from first import shown", each="kept.append(shown(loss))"),
        },
    )
    assert project.found() == []


def test_what_lies_outside_of_the_project_stays_unknown(tmp_path: Path) -> None:
    project = Project(tmp_path, {"train.py": loop("from elsewhere import shown", each="kept.append(shown(loss))")})
    assert project.found() == []


# -- classes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "found"), [("", ["train.py: TLK105 error"]), (".item()", [])])
def test_a_meter_in_another_file_keeps_what_it_is_given(tmp_path: Path, ending: str, found: list[str]) -> None:
    project = Project(
        tmp_path,
        {
            "meters.py": METER.format(ending=ending),
            "train.py": loop("from meters import Meter", "meter = Meter()", "meter.update(net(x).mean())"),
        },
    )
    assert project.found("train.py") == found


def test_a_meter_that_is_made_or_reset_in_each_step_keeps_one(tmp_path: Path) -> None:
    files = {"meters.py": METER.format(ending="")}
    made = Project(
        tmp_path, files | {"train.py": loop("from meters import Meter", each="meter = Meter(); meter.update(loss)")}
    )
    assert made.found("train.py") == []
    reset = loop("from meters import Meter", "meter = Meter()", "meter.reset(); meter.update(loss)")
    assert Project(tmp_path, files | {"train.py": reset}).found("train.py") == []


def test_a_model_of_another_file_has_parameters(tmp_path: Path) -> None:
    model = """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.body = nn.Linear(3, 3)

            def forward(self, x):
                return self.body(x)
    """
    use = """
        from model import Net

        def collect(loader):
            net, outputs = Net(), []
            for x in loader:
                outputs.append(net(x).sum())
            return sum(float(o) for o in outputs)
    """
    project = Project(tmp_path, {"model.py": model, "use.py": use})
    assert "use.py: TLK102 error" in project.found("use.py")


def test_attributes_of_a_base_class_in_another_file_are_shared(tmp_path: Path) -> None:
    base = """
        class Base:
            def __init__(self):
                self.history = []

            def note(self, value):
                self.history.append(value)
    """
    trainer = """
        import torch
        from base import Base

        class Trainer(Base):
            def fit(self, loader, net: torch.nn.Module, optimizer):
                for x, y in loader:
                    loss = (net(x) - y).pow(2).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    self.history.append(loss)
                    self.note(loss)
    """
    project = Project(tmp_path, {"base.py": base, "trainer.py": trainer})
    assert project.found() == ["trainer.py: TLK102 warning", "trainer.py: TLK105 warning"]


# -- guards ---------------------------------------------------------------------------------------------------------

TAGGER = """
    import torch
    from torch import nn

    class Tagger:
        def __init__(self):
            self.net = nn.Linear(3, 3)

        def predict(self, x):
            self.net.eval()
            return self.net(x).argmax(1).tolist()
"""

USE = """
    {torch}
    from tagger import Tagger

    def tag(batches):
        tagger = Tagger()
        {guard}:
            return [tagger.predict(x) for x in batches]
"""

GUARDED = USE.format(torch="import torch", guard="with torch.no_grad()")
OPEN = USE.format(torch="", guard="if batches")


def test_a_function_whose_callers_in_other_files_all_guard_is_silent(tmp_path: Path) -> None:
    project = Project(tmp_path, {"tagger.py": TAGGER, "first.py": GUARDED, "second.py": GUARDED})
    assert project.found() == []
    assert project.found("tagger.py") == ["tagger.py: TLK201 warning"]


def test_of_callers_that_guard_and_callers_that_do_not_the_latter_are_told(tmp_path: Path) -> None:
    project = Project(tmp_path, {"tagger.py": TAGGER, "first.py": GUARDED, "second.py": OPEN})
    assert project.found() == ["second.py: TLK201 warning"]


def test_where_no_caller_guards_the_function_is_told_and_its_caller_gets_a_note(tmp_path: Path) -> None:
    project = Project(tmp_path, {"tagger.py": TAGGER, "second.py": OPEN})
    assert project.found() == ["second.py: TLK201 note", "tagger.py: TLK201 warning"]


def test_a_forward_through_which_a_training_runs_is_not_to_be_decorated(tmp_path: Path) -> None:
    net = """
        import torch
        from torch import nn

        class Tides(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.Linear(3, 3)

            def forward(self, x):
                levels = self.cell(x)
                return (levels - x).pow(2).mean(), levels.argmax(1).tolist()
    """
    forecast = """
        from tides import Tides

        def forecast(x):
            net = Tides()
            net.eval()
            _, highest = net(x)
            return highest
    """
    project = Project(tmp_path, {"tides.py": net, "forecast.py": forecast})
    (finding,) = check_paths([project.folder / "forecast.py"], settings=Settings(notes=True))
    assert finding.code == "TLK201"
    assert "decorate it there" not in finding.message


SHOP = "from tagger import Tagger\n\ndef made():\n    return Tagger()\n"
COUNTER = """
    import torch
    from shop import made

    def sell(batches):
        with torch.no_grad():
            return [made().{method}(x) for x in batches]
"""


@pytest.mark.parametrize(("method", "found"), [("predict", []), ("tag", ["tagger.py: TLK201 warning"])])
def test_who_guards_a_method_may_have_its_object_from_a_third_file(
    tmp_path: Path, method: str, found: list[str]
) -> None:
    files = {"tagger.py": TAGGER, "shop.py": SHOP, "counter.py": COUNTER.format(method=method)}
    assert Project(tmp_path, files).found() == found


STALL = """
    import torch
    {imports}

    def sell(path, batches):
        tagger = torch.load(path)["tagger"]
        {guard}:
            return [tagger.predict(x) for x in batches]
"""

QUIET = """
    import contextlib
    import torch

    @contextlib.contextmanager
    def at_rest(net):
        with {guard}:
            yield net
"""


def test_who_guards_a_method_may_be_given_its_object(tmp_path: Path) -> None:
    guarded = STALL.format(imports="", guard="with torch.no_grad()")
    assert Project(tmp_path, {"tagger.py": TAGGER, "stall.py": guarded}).found() == []
    is_open = STALL.format(imports="", guard="if batches")
    files = {"tagger.py": TAGGER, "stall.py": guarded, "other.py": is_open}
    assert Project(tmp_path / "mixed", files).found() == ["tagger.py: TLK201 note"]


def test_who_imports_another_class_with_the_method_is_given_that_one(tmp_path: Path) -> None:
    guesser = "class Guesser:\n    def predict(self, x):\n        return x\n"
    guarded = STALL.format(imports="from guesser import Guesser", guard="with torch.no_grad()")
    project = Project(tmp_path, {"tagger.py": TAGGER, "stall.py": guarded, "guesser.py": guesser})
    assert project.found() == ["tagger.py: TLK201 warning"]


@pytest.mark.parametrize(
    ("guard", "found"), [("torch.no_grad()", []), ("torch.enable_grad()", ["tagger.py: TLK201 warning"])]
)
def test_a_context_manager_of_the_project_may_be_a_guard(tmp_path: Path, guard: str, found: list[str]) -> None:
    stall = STALL.format(imports="from quiet import at_rest", guard="with at_rest(tagger)")
    files = {"tagger.py": TAGGER, "stall.py": stall, "quiet.py": QUIET.format(guard=guard)}
    assert Project(tmp_path, files).found() == found


def test_who_guards_a_function_imports_it(tmp_path: Path) -> None:
    function = """
        from torch import nn

        def predict(x):
            net = nn.Linear(3, 3).eval()
            return net(x).argmax(1).tolist()
    """
    shop = "from tagger import predict\nfrom elsewhere import made\n"
    files = {"tagger.py": function, "shop.py": shop, "counter.py": COUNTER.format(method="predict")}
    assert Project(tmp_path, files).found() == ["tagger.py: TLK201 warning"]


CLERK = """
    import torch

    class Clerk:
        def serve(self, rows):
            with torch.no_grad():
                return self.{method}(rows)
"""

TELLER = """
    from torch import nn
    from staff import {base}

    class Teller({base}):
        def __init__(self):
            self.net = nn.Linear(3, 3)

        def answer(self, rows):
            self.net.eval()
            return self.net(rows).argmax(1).tolist()
"""


@pytest.mark.parametrize(
    ("method", "base", "found"),
    [
        ("answer", "Clerk", []),
        ("answer", "Senior", []),
        ("ask", "Clerk", ["teller.py: TLK201 warning"]),
        ("answer", "Other", ["teller.py: TLK201 warning"]),
    ],
)
def test_a_base_class_in_another_file_guards_what_its_subclasses_define(
    tmp_path: Path, method: str, base: str, found: list[str]
) -> None:
    staff = "from clerk import Clerk\n\nclass Senior(Clerk):\n    pass\n\nclass Other:\n    pass\n"
    files = {"clerk.py": CLERK.format(method=method), "staff.py": staff, "teller.py": TELLER.format(base=base)}
    assert Project(tmp_path, files).found("teller.py") == found


CHECKED = """
    import torch

    class Recorder:
        def __init__(self, model, example):
            model.eval()
            self.outline = model(example)

    def record(model, example):
        model.eval()
        print(model(example).shape)
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("record(net, torch.rand(2, 3))", []),
        ("Recorder(net, x)", []),
        ("record(net, x)", ["trace.py: TLK201 note"]),
    ],
)
def test_one_trace_is_no_inference(tmp_path: Path, call: str, found: list[str]) -> None:
    trace = f"""
        import torch
        from torch import nn
        from recorders import Recorder, record

        def outline(x):
            net = nn.Linear(3, 3)
            return {call}
    """
    assert Project(tmp_path, {"recorders.py": CHECKED, "trace.py": trace}).found("trace.py") == found


CONVERT = """
    import torch

    def convert(model):
        return finish(model)

    def finish(model):
        for p in model.parameters():
            p.requires_grad = {flag}
        return model
"""

ASK = """
    import torch
    from torch import nn
    from tools import convert

    def ask(x):
        model = convert(nn.Linear(3, 3))
        print(model(x).argmax(1))
"""


@pytest.mark.parametrize(("flag", "found"), [("False", []), ("True", ["ask.py: TLK201 warning"])])
def test_a_model_that_another_file_freezes_records_nothing(tmp_path: Path, flag: str, found: list[str]) -> None:
    project = Project(tmp_path, {"tools.py": CONVERT.format(flag=flag), "ask.py": ASK})
    assert project.found("ask.py") == found


def test_a_summary_on_random_numbers_in_another_file_is_no_inference(tmp_path: Path) -> None:
    tools = """
        import torch

        def complexity(model, size):
            model.eval()
            model(torch.rand(size))
            return 1
    """
    use = """
        from torch import nn
        from tools import complexity

        def main():
            print(complexity(nn.Linear(3, 3), (1, 3)))
    """
    assert Project(tmp_path, {"tools.py": tools, "use.py": use}).found("use.py") == []


# -- runs -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed(tmp_path: Path) -> Project:
    files = {"tagger.py": TAGGER, "first.py": GUARDED, "second.py": OPEN, "meters.py": METER.format(ending="")}
    train = loop("from meters import Meter", "meter = Meter()", "meter.update(loss)")
    return Project(tmp_path, files | {"train.py": train})


def test_neither_workers_nor_the_order_of_files_change_a_finding(
    mixed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchlint.run.ENOUGH", 1)
    jobs = [Job(str(path), Settings().selection(str(path))) for path in sorted(mixed.folder.glob("*.py"))]
    alone = check_files(jobs)
    assert [file.diagnostics for file in check_files(jobs, workers=2)] == [file.diagnostics for file in alone]
    assert [file.diagnostics for file in check_files(jobs[::-1])][::-1] == [file.diagnostics for file in alone]
    assert any(file.diagnostics for file in alone)


def test_one_file_and_the_tree_agree_on_what_a_file_imports(mixed: Project) -> None:
    of_tree = [line for line in mixed.found() if line.startswith("train.py")]
    assert mixed.found("train.py") == of_tree == ["train.py: TLK105 warning"]


def test_an_import_that_cannot_be_read_is_unknown(tmp_path: Path) -> None:
    files = {
        "tools.py": "def shown(value:\n",
        "train.py": loop("from tools import shown", each="kept.append(shown(loss))"),
    }
    assert Project(tmp_path, files).found("train.py") == []


@pytest.mark.parametrize(("ends", "expected"), [("self.level = None", []), ("pass", ["layers.py: TLK103 warning"])])
def test_a_base_elsewhere_says_when_the_state_of_a_layer_ends(tmp_path: Path, ends: str, expected: list[str]) -> None:
    base = f"""
        from torch import nn
        class Stateful(nn.Module):
            def __init__(self):
                super().__init__()
                self.level = None
            def restart(self):
                {ends}
    """
    layers = """
        import torch
        from torch import nn
        from base import Stateful
        class Neuron(Stateful):
            def __init__(self):
                super().__init__()
                self.share = nn.Parameter(torch.ones(3))
            def forward(self, x):
                before = torch.zeros_like(x) if self.level is None else self.level
                self.level = self.share * before + x
                return torch.tanh(self.level)
    """
    assert Project(tmp_path, {"base.py": base, "layers.py": layers}).found("layers.py") == expected


def test_a_file_that_only_hands_over_is_not_screened_out(tmp_path: Path) -> None:
    bank = """
        import torch
        from torch import nn

        class Bank(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("rows", torch.zeros(100, 3))
                self.at = 0

            def enqueue(self, rows):
                self.rows[self.at : self.at + len(rows)] = rows
    """
    train = """
        import torch
        from torch import nn
        from bank import Bank

        def main(loader):
            net, bank = nn.Linear(3, 3), Bank()
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            for x in loader:
                rows = net(x)
                rows.mean().backward()
                optimizer.step()
                bank.enqueue(rows)
    """
    assert Project(tmp_path, {"bank.py": bank, "train.py": train}).found("train.py") == ["train.py: TLK105 warning"]


def test_a_method_elsewhere_of_a_module_that_is_not_trained(tmp_path: Path) -> None:
    nets = """
        from torch import nn

        class Coder(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 3)

            def encode(self, x):
                return self.net(x)
    """
    train = """
        import torch
        from torch import nn
        from nets import Coder

        def main(loader):
            coder, head = Coder(), nn.Linear(3, 1)
            optimizer = torch.optim.SGD({trained}, 0.1)
            for x in loader:
                code = coder.encode(x)
                loss = head(code).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """
    head_alone = Project(tmp_path / "a", {"nets.py": nets, "train.py": train.format(trained="head.parameters()")})
    assert head_alone.found("train.py") == ["train.py: TLK203 warning"]
    both = train.format(trained="[*head.parameters(), *coder.parameters()]")
    assert Project(tmp_path / "b", {"nets.py": nets, "train.py": both}).found("train.py") == []


@pytest.mark.parametrize(
    "made, found",
    [
        ("start = copy.deepcopy(net); start.eval(); return net, start", ["train.py: TLK203 warning"]),
        ("return net, copy.deepcopy(net).to(device).eval()", ["train.py: TLK203 warning"]),
        ("start = copy.deepcopy(net).to(device); start.eval(); return net, start", ["train.py: TLK203 warning"]),
        ("start = copy.deepcopy(net); net.eval(); return net, start", []),
        ("start = copy.deepcopy(net).eval(); start.train(); return net, start", []),
        ("start = copy.deepcopy(net).eval(); start.requires_grad_(False); return net, start", []),
    ],
)
def test_networks_that_another_file_makes_and_puts_into_evaluation_mode(
    tmp_path: Path, made: str, found: list[str]
) -> None:
    nets = f"""
        import copy
        from torch import nn

        def build(device):
            net = nn.Linear(3, 3).to(device)
            {made}
    """
    train = """
        import torch
        from nets import build

        class Run:
            def __init__(self, device):
                self.net, self.start = build(device)
                self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)

            def step(self, x):
                before = self.start(x)
                loss = (self.net(x) - before).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
    """
    assert Project(tmp_path, {"nets.py": nets, "train.py": train}).found("train.py") == found


JOURNAL = """
    class Journal:
        def __init__(self):
            self.rows = {}
            self.names = []

        def note(self, step, values):
            self.rows.setdefault(step, {}).update(values)

        def note_numbers(self, step, values):
            self.rows.setdefault(step, {}).update({name: float(value) for name, value in values.items()})

        def note_names(self, values):
            for name in values:
                self.names.append(name)

        def note_whole(self, values):
            self.names.append(values)

        def note_each(self, values):
            for name, value in values.items():
                self.rows.setdefault(name, []).append(value)

        def note_all(self, *values):
            self.names.append(values)
"""


@pytest.mark.parametrize(
    ("call", "leaks"),
    [
        ("note(step, parts)", True),
        ("note(step, {'loss': loss.detach()})", False),
        ("note_numbers(step, parts)", False),
        ("note_names(parts)", False),
        ("note_whole(parts)", True),
        ("note_each(parts)", True),
        ("note_each({'loss': loss.item()})", False),
        ("note_all(step, parts['fit'])", True),
        ("note_all(step, loss.item())", False),
    ],
)
def test_tensors_in_a_dict_that_another_file_keeps_are_told(tmp_path: Path, call: str, leaks: bool) -> None:
    text = f"""
        import torch
        from torch import nn
        from journal import Journal

        class Engine:
            def __init__(self, net: nn.Module, journal: Journal):
                self.net, self.journal = net, journal
                self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

            def losses(self, x, y):
                out = self.net(x)
                return {{"fit": (out - y).pow(2).mean(), "size": out.abs().mean()}}

            def step(self, step, x, y):
                parts = self.losses(x, y)
                loss = parts["fit"] + parts["size"]
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.journal.{call}
    """
    project = Project(tmp_path, {"journal.py": JOURNAL, "engine.py": text})
    assert [one.partition(" ")[2].partition(" ")[0] for one in project.found()] == (["TLK105"] if leaks else [])


AVERAGES = """
    import torch

    class Average:
        def __init__(self, weights):
            self.mean = {name: weight.detach().clone() for name, weight in weights.items()}

        def take_in(self, weights):
            for name, weight in weights.items():
                self.mean[name] = 0.9 * self.mean[name] + 0.1 * weight

        def take_in_numbers(self, weights):
            for name, weight in weights.items():
                self.mean[name] = 0.9 * self.mean[name] + 0.1 * weight.detach()

        def take_in_gradients(self, weights):
            for name, weight in weights.items():
                self.mean[name] = 0.9 * self.mean[name] + 0.1 * weight.grad

        @torch.no_grad()
        def take_in_guarded(self, weights):
            self.take_in(weights)

        def take_latest(self, weights):
            for name, weight in weights.items():
                self.mean[name] = 0.1 * weight

    def trained(net):
        return {name: weight for name, weight in net.named_parameters() if weight.requires_grad}
"""


@pytest.mark.parametrize(
    ("call", "leaks"),
    [
        ("average.take_in(trained(net))", True),
        ("average.take_in(net.state_dict())", False),
        ("average.take_in_numbers(trained(net))", False),
        ("average.take_in_gradients(trained(net))", False),
        ("average.take_in_guarded(trained(net))", False),
        ("average.take_latest(trained(net))", False),
        ("with torch.no_grad(): average.take_in(trained(net))", False),
    ],
)
def test_parameters_that_another_file_averages_are_told(tmp_path: Path, call: str, leaks: bool) -> None:
    text = f"""
        import torch
        from torch import nn
        from averages import Average, trained

        def fit(loader):
            net = nn.Linear(8, 3)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            average = Average(trained(net))
            for x, y in loader:
                loss = nn.functional.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                {call}
            return average
    """
    project = Project(tmp_path, {"averages.py": AVERAGES, "fit.py": text})
    assert [one.partition(" ")[2].partition(" ")[0] for one in project.found()] == (["TLK105"] if leaks else [])


SEARCH = """
    import torch
    from torch import nn
    from rank import ranked

    class Search:
        def __init__(self):
            self.net = nn.Linear(8, 30).eval()

        def find(self, words):
            return ranked(self.net(torch.tensor(words)))
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return [{'row': i, 'score': s} for i, s in enumerate(scores.tolist())]", ["search.py: TLK201 warning"]),
        ("return [{'row': i, 'score': s} for i, s in enumerate(scores)]", []),
        ("found = []\n        fill(found, scores)\n        return found", []),
        ("LAST.append(scores)\n        return [scores.tolist()]", []),
        ("scores.sum().backward()\n        return [scores.tolist()]", []),
    ],
)
def test_what_another_file_makes_numbers_of_is_thrown_away(tmp_path: Path, body: str, found: list[str]) -> None:
    rank = f"from elsewhere import fill\n    LAST = []\n    def ranked(scores):\n        {body}\n"
    assert Project(tmp_path, {"rank.py": f"\n    {rank}", "search.py": SEARCH}).found("search.py") == found


class TestWhatOthersPass:
    """The files of the run that import a file show of which classes the objects are that it is given."""

    NET = """
        from torch import nn

        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Linear(4, 4)

            def forward(self, x):
                return self.layers(x)

        def restore(device):
            return Encoder().to(device).eval()
    """

    INDEX = """
        import torch

        class Index:
            def __init__(self, net):
                self.net = net

            def encode(self, rows):
                return [self.net(row).detach().cpu().numpy() for row in rows]
    """

    @pytest.mark.parametrize(
        "passed",
        [
            "Index(restore('cpu'))",
            "Index(net=Encoder().cuda())",
            "net = restore('cpu')\nnet = net.half()\nIndex(net)",
            "import index\nindex.Index(restore('cpu') if quick else Encoder())",
            "class Search:\n    def __init__(self):\n        self.net = Encoder()\n        Index(self.net)",
        ],
    )
    def test_is_known(self, tmp_path: Path, passed: str) -> None:
        imports = "from net import Encoder, restore\nfrom index import Index\nquick = False\n"
        files = {"net.py": self.NET, "index.py": self.INDEX, "main.py": imports + passed + "\n"}
        assert Project(tmp_path, files).found() == ["index.py: TLK201 warning"]

    @pytest.mark.parametrize(
        "passed",
        [
            "Index(build())",
            "net = restore('cpu')\nnet = wrap(net)\nIndex(net)",
            "def build(net):\n    return Index(net)",
            "nets = [restore('cpu')]\nIndex(*nets)",
        ],
    )
    def test_stays_unknown_where_something_else_may_have_made_it(self, tmp_path: Path, passed: str) -> None:
        imports = "from net import Encoder, restore\nfrom index import Index\nfrom other import build, wrap\n"
        files = {"net.py": self.NET, "index.py": self.INDEX, "main.py": imports + passed + "\n"}
        assert not Project(tmp_path, files).found()

    def test_is_not_asked_of_files_that_are_not_given(self, tmp_path: Path) -> None:
        imports = "from net import Encoder, restore\nfrom index import Index\n"
        files = {"net.py": self.NET, "index.py": self.INDEX, "main.py": imports + "Index(restore('cpu'))\n"}
        assert not Project(tmp_path, files).found("index.py")

    def test_a_state_goes_through_a_model_of_another_file(self, tmp_path: Path) -> None:
        files = {
            "policy.py": """
                from torch import nn

                class Policy(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.cell = nn.GRUCell(4, 4)
                        self.head = nn.Linear(4, 2)

                    def core(self, x, state):
                        return self.cell(x, state)

                    def act(self, x, state):
                        state = self.core(x, state)
                        return self.head(state).argmax(-1), state
            """,
            "rollout.py": """
                import torch

                def play(policy, env, length):
                    seen, state = env.reset(), torch.zeros(1, 4)
                    played = 0
                    while played < length:
                        action, state = policy.act(seen, state)
                        seen = env.step(action.item())
                        played += 1
            """,
            "main.py": "from policy import Policy\nfrom rollout import play\nplay(Policy(), make(), 1000)\n",
        }
        assert "rollout.py: TLK104 error" in Project(tmp_path, files).found()


def test_a_loop_of_another_file_has_no_line_here(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "driver.py": """
                class Driver:
                    def __init__(self, net, loader, optimizer):
                        self.net, self.loader, self.optimizer = net, loader, optimizer

                    def run(self, objective):
                        for batch in self.loader:
                            self.optimizer.zero_grad()
                            objective(self.net, batch).backward()
                            self.optimizer.step()
            """,
            "main.py": """
                import torch
                from torch import nn
                from torch.utils.data import DataLoader
                import driver

                def main(dataset, net):
                    loop = driver.Driver(net, DataLoader(dataset), torch.optim.SGD(net.parameters(), lr=0.1))

                    def objective(net, batch):
                        x, y = batch
                        return nn.CrossEntropyLoss()(net(x), y)

                    loop.run(objective)
            """,
        },
    )
    found = check_paths([project.folder], settings=Settings(notes=True))
    assert [one.message for one in found] == [
        "`nn.CrossEntropyLoss` is built anew in each turn of the loop in another file: it costs time, and nothing is"
        " kept in it; build it once, before that loop, or call the function of `torch.nn.functional` that does the same"
    ]


def test_what_a_factory_gives_is_of_its_class(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "painter.py": """
                import torch
                from hub import Loadable

                class Painter(Loadable):
                    def __init__(self, net):
                        self.net = net

                    @torch.no_grad()
                    def __call__(self, prompt):
                        return self.net(prompt)
            """,
            "train.py": """
                import torch
                from torch import nn
                from painter import Painter

                def main(net: nn.Module, loader, name):
                    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                    painter = Painter.from_pretrained(name)
                    painter.to("cuda")
                    for x, y in loader:
                        picture = painter(x)
                        loss = (net(picture) - y).pow(2).mean()
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
            """,
        },
    )
    assert project.found() == []


def test_what_a_decorator_compiles_in_another_file_is_compiled_there(tmp_path: Path) -> None:
    files = {
        "boxes.py": """
            import torch
            @torch.jit.script
            def shift(boxes, by):
                return boxes + torch.exp(by)
        """,
        "head.py": """
            from torch import nn
            from boxes import shift
            class Head(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.by = nn.Linear(4, 4)
                def forward(self, x):
                    return shift(x, self.by(x))
        """,
    }
    assert Project(tmp_path, files).found() == []


@pytest.mark.parametrize(("create", "leaks"), [("True", False), ("False", True)])
def test_a_gradient_of_another_file_that_is_itself_differentiated_retains_its_graph(
    tmp_path: Path, create: str, leaks: bool
) -> None:
    files = {
        "slopes.py": f"""
            import torch

            def slope(y, x, create=True):
                return torch.autograd.grad(y, [x], torch.ones_like(y), create_graph={create})[0]
        """,
        "descent.py": """
            import torch
            from torch import nn
            from slopes import slope

            class Descent(nn.Module):
                def __init__(self, laws, rounds):
                    super().__init__()
                    self.laws, self.rounds = nn.ModuleList(laws), rounds

                def forward(self, given):
                    ends = {}
                    for name in given:
                        x = given[name]
                        for _ in range(self.rounds):
                            cost = torch.cat([law(x) for law in self.laws])
                            x = x - 0.1 * cost * slope(cost, x)
                        ends[name] = x
                    return ends
        """,
    }
    assert ("descent.py: TLK102 warning" in Project(tmp_path, files).found()) is leaks


@pytest.mark.parametrize(("own", "leaks"), [("training_epoch_end", True), ("other", False)])
def test_a_method_that_the_framework_has_to_be_overridden_takes_nothing(tmp_path: Path, own: str, leaks: bool) -> None:
    files = {
        "pytorch_lightning/core.py": """
            from torch import nn

            class ModelHooks:
                def training_epoch_end(self, outputs):
                    pass

            class LightningModule(ModelHooks, nn.Module):
                def log(self, name, value):
                    pass
        """,
        "task.py": f"""
            from torch import nn
            from pytorch_lightning.core import LightningModule

            class Task(LightningModule):
                def __init__(self):
                    super().__init__()
                    self.net = nn.Linear(3, 3)
                def training_step(self, batch, batch_idx):
                    cost = self.net(batch).sum()
                    return {{"loss": cost, "size": cost.norm()}}
                def {own}(self, outputs):
                    pass
        """,
    }
    assert any("TLK105" in one for one in Project(tmp_path, files).found("task.py")) is leaks


TASK = """
    from abc import abstractmethod
    from typing import Optional, Tuple, Union
    import torch
    from torch import nn

    class Task(nn.Module):
        @abstractmethod
        def cost(self, rows) -> {returned}:
            raise NotImplementedError
"""

FITTING = """
    import tasks

    def fit(task: tasks.Task, loader, optimizer):
        total = 0
        for rows in loader:
            cost, other = task.cost(rows)
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
            total += {added}
        return total
"""


@pytest.mark.parametrize(
    ("returned", "added", "leaks"),
    [
        ("Tuple[torch.Tensor, int]", "other", False),
        ("Optional[Tuple[torch.Tensor, float]]", "other", False),
        ("torch.Tensor | tuple[torch.Tensor, int]", "other * 2", False),
        ("Tuple[torch.Tensor, int]", "cost", True),
        ("Tuple[torch.Tensor, torch.Tensor]", "other.mean()", True),
        ("Tuple[torch.Tensor, ...]", "other.mean()", True),
    ],
)
def test_what_a_method_that_is_left_open_gives_is_what_its_annotation_says(
    tmp_path: Path, returned: str, added: str, leaks: bool
) -> None:
    files = {"tasks.py": TASK.format(returned=returned), "fitting.py": FITTING.format(added=added)}
    assert any("TLK101" in one for one in Project(tmp_path, files).found()) is leaks


BLANKED = """
    import torch
    from torch import nn
    from elsewhere import Decoder

    class Blank(nn.Module):
        def __init__(self, share):
            super().__init__()
            self.share = share

        def forward(self, x):
            blanks = torch.bernoulli(self.share * torch.ones(x.shape)).to(x.device)
            return (1 - blanks) * x, blanks

    class Blanked(nn.Module):
        def __init__(self, share):
            super().__init__()
            self.blank, self.decoder = Blank(share), Decoder()

        def forward(self, x):
            if self.training:
                shown, blanks = self.blank(x)
                return self.decoder(shown), blanks
            return self.decoder(x), torch.ones(x.shape).to(x.device)
"""

WATCHED = """
    import torch
    from elsewhere import Net

    class Fitted:
        def make(self, share, device):
            self.net = Net(share).to(device)

        def look(self):
            self.net.eval()
"""

BLANKED_LOOK = """
    from blanked import Blanked
    from watched import Fitted

    class Blanks(Fitted):
        def make(self, share, device):
            self.net = Blanked(share).to(device)

        def collect(self, loader):
            self.net.eval()
            kept = []
            for x in loader:
                {taken} = self.net(x)
                kept.append(one)
            print(len(kept))
"""


@pytest.mark.parametrize(("taken", "leaks"), [("_, one", False), ("one, _", True)])
def test_of_a_tuple_from_a_module_each_item_is_known_by_itself(tmp_path: Path, taken: str, leaks: bool) -> None:
    files = {"blanked.py": BLANKED, "watched.py": WATCHED, "look.py": BLANKED_LOOK.format(taken=taken)}
    assert any("TLK102" in one for one in Project(tmp_path, files).found()) is leaks


@pytest.mark.parametrize(("ending", "found"), [(".argmax(-1).tolist()", ["run.py: TLK201 note"]), ("", [])])
def test_a_helper_of_another_file_runs_a_network_by_its_methods(tmp_path: Path, ending: str, found: list[str]) -> None:
    files = {
        "model.py": """
            from torch import nn

            class Reader(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 4)

                def encode(self, x):
                    return self.inner(x)

                def decode(self, memory):
                    return self.outer(memory)

                def forward(self, x):
                    return self.decode(self.encode(x))
        """,
        "search.py": f"""
            def best(reader, x):
                memory = reader.encode(x)
                return reader.decode(memory){ending}
        """,
        "run.py": """
            import torch
            from model import Reader
            from search import best

            def main(train, test):
                reader = Reader()
                optimizer = torch.optim.SGD(reader.parameters(), 0.1)
                for x, y in train:
                    loss = (reader(x) - y).pow(2).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                reader.eval()
                return [best(reader, x) for x in test]
        """,
    }
    assert Project(tmp_path, files).found("run.py") == found


@pytest.mark.parametrize(
    ("steps", "given", "level"),
    [
        ("loss.backward()", "loss", "warning"),
        ("loss.backward()", "{'loss': loss, 'rows': len(x)}['loss']", "warning"),
        ("(0.5 * loss).backward()", "loss", "warning"),
        ("loss.backward(retain_graph=True)", "loss", "error"),
        ("loss.detach()", "loss", "error"),
    ],
)
def test_a_loss_whose_backward_has_run_in_another_file_holds_no_activations(
    tmp_path: Path, steps: str, given: str, level: str
) -> None:
    learner = f"""
        from torch.nn import functional as F

        def fit_batch(net, x, y):
            loss = F.mse_loss(net(x), y)
            {steps}
            return {given}
    """
    run = """
        import torch
        from learner import fit_batch

        def run(loader):
            net = torch.nn.Linear(3, 1)
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            seen = []
            for x, y in loader:
                optimizer.zero_grad()
                seen.append(fit_batch(net, x, y))
                optimizer.step()
            print(len(seen))
    """
    project = Project(tmp_path, {"learner.py": learner, "run.py": run})
    assert [f for f in project.found() if "TLK102" in f] == [f"run.py: TLK102 {level}"]


@pytest.mark.parametrize(
    ("results", "found"),
    [("out, self.loss(x, out)", []), ("out, float(self.loss(x, out))", ["model.py: TLK111 warning"])],
)
def test_a_base_in_another_file_gives_on_what_a_method_returns(tmp_path: Path, results: str, found: list[str]) -> None:
    files = {
        "base.py": f"""
            from torch import nn

            class Scored(nn.Module):
                def forward(self, x):
                    out = self.encode(x)
                    return {results}
        """,
        "model.py": """
            import torch
            from torch import nn
            from base import Scored

            class Tuned(Scored):
                def __init__(self):
                    super().__init__()
                    self.inner, self.width = nn.Linear(4, 4), nn.Parameter(torch.ones(4))

                def encode(self, x):
                    self.spread = self.width.exp() * x
                    return self.inner(x)

                def loss(self, x, out):
                    return (out / self.spread).mean()

                @torch.no_grad()
                def score(self, loader):
                    total = 0
                    for x in loader:
                        out, _ = self.forward(x)
                        total += (out / self.spread).mean().item()
                    return total

                def spread_of(self, x):
                    return self.encode(x).std().item()
        """,
    }
    assert [one for one in Project(tmp_path, files).found("model.py") if "TLK111" in one] == found


# -- memories of records -------------------------------------------------------------------------------------------

MEMORY = """
    import random
    from collections import deque, namedtuple
    from dataclasses import dataclass
    from typing import NamedTuple

    import torch

    Pair = namedtuple("Pair", ["shown", "told"])

    class Row(NamedTuple):
        shown: torch.Tensor
        told: torch.Tensor

    @dataclass
    class Entry:
        shown: torch.Tensor
        told: torch.Tensor

    class Memory:
        def __init__(self):
            self.data, self.at = [], 0

        def push(self, {parameters}):
            one = {record}
            if len(self.data) < 1000:
                self.data.append(one)
            else:
                self.data[self.at] = one
            self.at = (self.at + 1) % 1000

        def sample(self, number):
            rows = random.sample(self.data, number)
            return {drawn}

        def fit(self, optimizer):
            loss = torch.stack([one.told for one in self.data]).mean()
            loss.backward()
            optimizer.step()
"""

DETACHED = "[torch.stack(column).detach() for column in zip(*rows)]"


def remembered(folder: Path, parameters: str, record: str, drawn: str = DETACHED, more: str = "pass") -> list[str]:
    """What is found where each step pushes ``net(x)`` and trains on a sample."""
    drawing = "shown, told = memory.sample(8); optimizer.zero_grad()"
    training = f"(net(shown) - told).pow(2).mean().backward(); optimizer.step(); {more}"
    train = loop("from memory import Memory", "memory = Memory()", f"memory.push(x, net(x)); {drawing}; {training}")
    memory = MEMORY.format(parameters=parameters, record=record, drawn=drawn)
    return Project(folder, {"memory.py": memory, "train.py": train}).found("train.py")


@pytest.mark.parametrize(
    ("parameters", "record"),
    [
        ("shown, told", "Pair(shown, told)"),
        ("shown, told", "Row(shown=shown, told=told)"),
        ("shown, told", "Entry(shown, told)"),
        ("shown, told", "(shown, told)"),
        ("*fields", "Row(*fields)"),
        ("*fields", "Pair(*fields)"),
        ("*fields", "fields"),
    ],
)
def test_a_memory_in_another_file_keeps_the_graphs_of_records(tmp_path: Path, parameters: str, record: str) -> None:
    assert remembered(tmp_path, parameters, record) == ["train.py: TLK105 error"]


@pytest.mark.parametrize(
    ("record", "drawn", "more"),
    [
        ("Row(shown, told.detach())", DETACHED, "pass"),
        ("Row(shown, told.tolist())", DETACHED, "pass"),
        ("Row(shown, told)", "[torch.stack(column) for column in zip(*rows)]", "pass"),
        ("Row(shown, told)", "Pair(*map(torch.stack, zip(*rows)))", "pass"),
        ("Row(shown, told)", "Row(*zip(*rows))", "pass"),
        ("Row(shown, told)", DETACHED, "memory.fit(optimizer)"),
        ("Row(shown, told)", DETACHED, "torch.stack([row.told for row in memory.data]).mean().backward()"),
    ],
)
def test_a_memory_that_is_trained_on_or_keeps_no_graph_is_not_told(
    tmp_path: Path, record: str, drawn: str, more: str
) -> None:
    assert "train.py: TLK105 error" not in remembered(tmp_path, "shown, told", record, drawn, more)


NETS = """
    import functools
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.body, self.head = nn.Linear(3, width), nn.Linear(width, 1)

        def forward(self, x):
            return self.head(self.body(x).relu())

    SHARED = Net()

    @functools.lru_cache
    def remembered():
        return Net()

    def shared():
        return SHARED
"""


@pytest.mark.parametrize(
    ("body", "in_steps", "found"),
    [
        ("return Net(width)", False, ["train.py: TLK203 warning"]),
        ("return Net(width).to(device)", False, ["train.py: TLK203 warning"]),
        ("net = Net(width); net.to(device); return net", False, ["train.py: TLK203 warning"]),
        ("return Net(width).requires_grad_(False).to(device)", False, []),
        ("return remembered().to(device)", False, []),
        ("return shared()", False, []),
        ("return Net(width)", True, ["train.py: TLK301 warning", "train.py: TLK203 warning"]),
        ("return shared()", True, []),
    ],
)
def test_each_network_of_a_builder_in_another_file_is_another_one(
    tmp_path: Path, body: str, in_steps: bool, found: list[str]
) -> None:
    """What builds imports the class from a third file; each of two networks is trained, or is not, by itself."""
    build = f"""
        from nets import Net, remembered, shared

        def make_net(width, device):
            {body}
    """
    makes = "teacher = make_net(64, device)"
    train = f"""
        import torch
        from torch.nn import functional as F
        from build import make_net

        def distil(loader, device):
            pupil = make_net(8, device)
            {"pass" if in_steps else makes}
            optimizer = torch.optim.SGD(pupil.parameters(), 0.1)
            for x, y in loader:
                {makes if in_steps else "pass"}
                wanted = teacher(x)
                loss = F.mse_loss(pupil(x), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """
    assert Project(tmp_path, {"nets.py": NETS, "build.py": build, "train.py": train}).found("train.py") == found


@pytest.mark.parametrize(
    ("does", "hand", "found"),
    [
        ("return net(x).argmax(1)", "pool.submit(work.rank, net, x).result()", ["serve.py: TLK202 warning"]),
        ("return net(x).argmax(1)", "list(pool.map(partial(work.rank, net), [x]))", ["serve.py: TLK202 warning"]),
        ("return scores(net, x).argmax(1)", "pool.submit(work.rank, net, x).result()", ["serve.py: TLK202 warning"]),
        ("return x.flip(0)", "pool.submit(work.rank, net, x).result()", []),
        ("return net(x).argmax(1)", "processes.submit(work.rank, net, x).result()", []),
        ("return net(x).argmax(1)", "[work.rank(net, x)]", []),
    ],
)
def test_what_another_thread_runs_may_stand_in_another_file(
    tmp_path: Path, does: str, hand: str, found: list[str]
) -> None:
    work = f"""
        from torch import nn

        def scores(net: nn.Module, x):
            return net(x)

        def rank(net, x):
            {does}
    """
    serve = f"""
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
        from functools import partial
        import torch
        import work

        def serve(loader):
            net = torch.nn.Linear(3, 4).eval()
            ranks = []
            with ThreadPoolExecutor(2) as pool, ProcessPoolExecutor(2) as processes:
                for x in loader:
                    with torch.no_grad():
                        ranks.append({hand})
            return ranks
    """
    assert Project(tmp_path, {"work.py": work, "serve.py": serve}).found("serve.py") == found


@pytest.mark.parametrize(
    ("made", "leaks"),
    [
        ("Scorer(path)", True),
        ("ByMethod(path, 'cpu')", True),
        ("ByMethod(name, 'cpu')", False),
        ("Scorer(path=name)", False),
        ("Later(path)", False),
        ("Table(path)", False),
    ],
)
def test_an_object_of_another_file_that_reads_a_model_when_it_is_made(tmp_path: Path, made: str, leaks: bool) -> None:
    scorers = """
        import pickle
        import torch
        from torch import nn

        class Scorer:
            def __init__(self, path):
                with open(path, "rb") as file:
                    self.net = pickle.load(file)
                self.net.eval()

            def score(self, x):
                return self.net(x)

        class ByMethod:
            def __init__(self, path, device):
                self.path, self.device = path, device
                self.net = self._read()

            def _read(self):
                net = nn.Linear(3, 3)
                net.load_state_dict(torch.load(self.path))
                return net.to(self.device)

        class Later:
            def __init__(self, path):
                self.path, self.net = path, None

            def read(self):
                self.net = torch.jit.load(self.path)

        class Table:
            def __init__(self, path):
                self.rows = torch.load(path)
    """
    run = f"""
        import torch
        from scorers import ByMethod, Later, Scorer, Table

        def run(loader, path):
            net, best = torch.nn.Linear(3, 1), []
            for x, name in loader:
                made = {made}
                with torch.no_grad():
                    best.append(net(x).max().item() + len(str(made)))
            return best
    """
    found = Project(tmp_path, {"scorers.py": scorers, "run.py": run}).found("run.py")
    assert found == (["run.py: TLK302 warning"] if leaks else [])


@pytest.mark.parametrize(
    ("given", "used", "found"),
    [
        ("output, F.mse_loss(output, y)", "total += loss.item()", ["run.py: TLK201 warning"]),
        ("F.mse_loss(output, y), len(x)", "total += output.item()", ["run.py: TLK201 warning"]),
        ("output, F.mse_loss(output, y)", "loss.backward()", []),
        ("x, F.mse_loss(output, y)", "loss.backward()", []),
        ("len(x), x", "total += loss.sum().item()", []),
    ],
)
def test_of_what_a_helper_of_another_file_returns_each_item_is_known(
    tmp_path: Path, given: str, used: str, found: list[str]
) -> None:
    helper = f"""
        from torch.nn import functional as F

        def run_batch(net, batch):
            x, y = batch
            output = {"x" if "output" not in given else "net(x)"}
            return {given}
    """
    run = f"""
        import torch
        from helper import run_batch

        def run(loader):
            net, total = torch.nn.Linear(3, 1), 0.0
            net.{"train" if "backward" in used else "eval"}()
            for batch in loader:
                output, loss = run_batch(net, batch)
                {used}
            return total
    """
    assert Project(tmp_path, {"helper.py": helper, "run.py": run}).found("run.py") == found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("torch.nn.Linear(3, 2)", ["ask.py: TLK201 warning"]),
        ("net=torch.nn.Linear(3, 2)", ["ask.py: TLK201 warning"]),
        ("torch.nn.ReLU()", []),
    ],
)
def test_a_wrapper_of_another_file_has_the_parameters_that_it_is_given(
    tmp_path: Path, given: str, found: list[str]
) -> None:
    wrapper = """
        from torch import nn

        class Timed(nn.Module):
            def __init__(self, net):
                super().__init__()
                self.net, self.seconds = net, 0.0

            def forward(self, x):
                return self.net(x)
    """
    ask = f"""
        import torch
        from wrapper import Timed

        def ask(loader):
            timed = Timed({given})
            return [timed(x).argmax(1).tolist() for x in loader]
    """
    assert Project(tmp_path, {"wrapper.py": wrapper, "ask.py": ask}).found("ask.py") == found


@pytest.mark.parametrize(
    ("before", "each", "found"),
    [
        ("cam = Cam(net)", "cam(x)", ["run.py: TLK303 warning"]),
        ("cam = Cam(net)", "cam.explain(x)", ["run.py: TLK303 warning"]),
        ("cam = Tidy(net)", "cam(x)", []),
        ("cam = None", "Cam(torch.nn.Linear(3, 2))(x)", []),
    ],
)
def test_what_an_object_of_another_file_hooks_when_it_is_called(
    tmp_path: Path, before: str, each: str, found: list[str]
) -> None:
    cams = """
        class Cam:
            def __init__(self, layer):
                self.layer = layer

            def __call__(self, x):
                seen = []
                self.layer.register_forward_hook(lambda module, inputs, out: seen.append(out.mean().item()))
                self.layer(x)
                return seen[-1]

            def explain(self, x):
                return self(x)

        class Tidy(Cam):
            def __call__(self, x):
                seen = []
                hook = self.layer.register_forward_hook(lambda module, inputs, out: seen.append(out.mean().item()))
                self.layer(x)
                hook.remove()
                return seen[-1]
    """
    run = f"""
        import torch
        from cams import Cam, Tidy

        def run(loader):
            net = torch.nn.Linear(3, 2)
            {before}
            with torch.no_grad():
                return [({each}, net(x).sum().item()) for x in loader]
    """
    project = Project(tmp_path, {"cams.py": cams, "run.py": run})
    assert [one for one in project.found("run.py") if "TLK303" in one] == found


@pytest.mark.parametrize(
    ("beside", "leaks"),
    [
        ("print(gate_of(net).openness.mean().item())", True),
        ("gate_of(net).openness = None", True),
        ("loss = loss + gate_of(net).openness.mean()", False),
        ("loss = loss + getattr(gate_of(net), 'openness').mean()", False),
        ("loss = loss + sum(getattr(gate_of(net), name).mean() for name in terms)", False),
        ("loss = loss + penalty(net)", False),
    ],
)
def test_what_a_layer_leaves_on_itself_is_told_where_no_file_of_the_training_uses_it(
    tmp_path: Path, beside: str, leaks: bool
) -> None:
    files = {
        "layers.py": """
            import torch
            from torch import nn

            class Gate(nn.Module):
                def __init__(self, width):
                    super().__init__()
                    self.weigh = nn.Linear(width, width)
                    self.openness = None

                def forward(self, x):
                    share = torch.sigmoid(self.weigh(x))
                    self.openness = share.exp()
                    return x * share
        """,
        "network.py": """
            from torch import nn
            from layers import Gate

            class Network(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.gates = nn.ModuleList([Gate(8) for _ in range(3)])

                def forward(self, x):
                    for gate in self.gates:
                        x = gate(x)
                    return x
        """,
        "terms.py": f"""
            def penalty(net):
                return sum(gate.{"openness" if "penalty" in beside else "weigh"}.sum() for gate in net.gates)
        """,
        "run.py": f"""
            import torch
            from network import Network
            from terms import penalty

            def gate_of(net):
                return net.gates[0]

            def run(loader, terms):
                net = Network()
                optimizer = torch.optim.SGD(net.parameters(), 0.1)
                for x, y in loader:
                    loss = (net(x) - y).pow(2).mean()
                    {beside}
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        """,
    }
    project = Project(tmp_path, files)
    assert [f for f in project.found() if "TLK111" in f] == (["layers.py: TLK111 warning"] if leaks else [])
    assert project.found("layers.py", "network.py") == []  # nobody is seen to train it


@pytest.mark.parametrize(
    ("given", "taken", "leaks"),
    [
        ("loss", "print(tally.means())", True),
        ("loss", "return tally.means()", True),
        ("size", "return tally.means()", False),  # who called may train on it: no backward has run over it
        ("loss.detach()", "return tally.means()", False),
    ],
)
def test_what_others_may_read_of_a_meter_is_not_trained_on_once_its_graph_is_freed(
    tmp_path: Path, given: str, taken: str, leaks: bool
) -> None:
    tally = """
        class Tally:
            def __init__(self):
                self.sums, self.counts = {}, {}

            def note(self, name, value, rows):
                if name not in self.sums:
                    self.sums[name], self.counts[name] = 0.0, 0
                self.sums[name] += value * rows
                self.counts[name] += rows

            def means(self):
                return {name: self.sums[name] / self.counts[name] for name in self.sums}
    """
    run = f"""
        import torch
        from tally import Tally

        def run(loader, net: torch.nn.Module, optimizer):
            tally = Tally()
            for x, y in loader:
                out = net(x)
                loss, size = (out - y).pow(2).mean(), net(y).abs().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                tally.note("loss", {given}, len(x))
                tally.note("rows", len(x), 1)
            {taken}
    """
    project = Project(tmp_path, {"tally.py": tally, "run.py": run})
    assert [f for f in project.found() if "TLK105" in f] == (["run.py: TLK105 warning"] if leaks else [])


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("seen = torch.cat([past, new], dim=1)", True),
        ("seen = torch.cat([past.detach(), new], dim=1)", False),
        ("seen = new + past.sum(dim=1, keepdim=True)", True),
        ("seen = new", False),
    ],
)
def test_a_cache_that_a_network_of_another_file_adds_to_is_carried(tmp_path: Path, body: str, leaks: bool) -> None:
    files = {
        "memory.py": f"""
            import torch
            from torch import nn

            class Memory(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.lift = nn.Linear(8, 4)

                def forward(self, x, past):
                    new = self.lift(x).unsqueeze(1)
                    {body}
                    return seen.mean(dim=1), seen
        """,
        "listen.py": """
            import torch
            from memory import Memory

            def listen(stream):
                memory = Memory().eval()
                past, hits = torch.zeros(1, 1, 4), 0
                for x, y in stream:
                    scores, past = memory(x, past)
                    hits += (scores.argmax(dim=1) == y).sum().item()
                return hits
        """,
    }
    assert any("TLK104" in f for f in Project(tmp_path, files).found()) is leaks


@pytest.mark.parametrize(
    ("kept", "call", "found"),
    [
        ("out", "learn(net, F.cross_entropy, loader)", ["run.py: TLK106 warning"]),
        ("out.detach()", "learn(net, F.cross_entropy, loader)", []),
        ("out", "learn(net, sparse, loader)", []),  # the loss is computed from what the hook keeps
        ("out", "answers(net, loader)", []),
        ("out", "learn(other, F.cross_entropy, loader)", []),
        ("out", "handle.remove(); learn(net, F.cross_entropy, loader)", []),
        ("out", "learn(net, F.cross_entropy, loader); seen.clear()", ["run.py: TLK106 warning"]),
    ],
)
def test_a_training_of_another_file_runs_the_hooks_of_what_it_is_given(
    tmp_path: Path, kept: str, call: str, found: list[str]
) -> None:
    learning = """
        import torch

        def learn(net, criterion, loader):
            optimizer = torch.optim.Adam(net.parameters())
            for x, y in loader:
                loss = criterion(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        @torch.no_grad()
        def answers(net, loader):
            return [net(x).argmax(dim=1) for x, _ in loader]
    """
    run = f"""
        import torch
        import torch.nn.functional as F
        from torch import nn
        from learning import answers, learn

        seen = []

        def note(layer, args, out):
            seen.append({kept})

        def sparse(out, y):
            return F.cross_entropy(out, y) + seen[-1].abs().mean()

        def run(loader):
            seen.clear()
            net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
            other = nn.Linear(8, 4)
            handle = net[1].register_forward_hook(note)
            {call}
            print(len(seen))
    """
    assert Project(tmp_path, {"learning.py": learning, "run.py": run}).found() == found


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ("self.recent.append(value)", "note"),
        ("self.recent.append(value); self.total += value", "warning"),
        ("self.total += value; self.recent.append(value)", "warning"),
        ("self.ring[self.at] = value; self.at = (self.at + 1) % 9", "note"),
        ("self.everything.append(value)", "warning"),
    ],
)
def test_a_window_of_another_file_keeps_as_many_as_it_has_room_for(tmp_path: Path, body: str, level: str) -> None:
    window = f"""
        from collections import deque

        class Window:
            def __init__(self):
                self.recent, self.total, self.everything = deque(maxlen=9), 0.0, []
                self.ring, self.at = [None] * 9, 0

            def put(self, value):
                {body}
    """
    each = "window.put(loss)"
    files = {"window.py": window, "run.py": loop("from window import Window", "window = Window()", each)}
    assert Project(tmp_path, files).found() == [f"run.py: TLK105 {level}"]


COLLECTOR = """
    from collections import deque

    class Collector:
        def __init__(self):
            self.rows, self.latest, self.window, self.size = [], {}, deque(maxlen=4), 0.0

        def __call__(self, layer, args, out):
            self.rows.append(out)

        def keep_norm(self, layer, args, out):
            self.rows.append(out.norm())

        def keep_detached(self, layer, args, out):
            self.rows.append(out.detach())

        def keep_latest(self, layer, args, out):
            self.latest[layer] = out

        def keep_window(self, layer, args, out):
            self.window.append(out)

        def sum_up(self, layer, args, out):
            self.size += out.abs().mean()

        def mean(self):
            return sum(row.mean() for row in self.rows)

        def forget(self):
            self.rows, self.size = [], 0.0

    def note(rows, layer, args, out):
        rows.append(out)
"""


@pytest.mark.parametrize(
    ("hook", "more", "leaks"),
    [
        ("collector", "pass", True),
        ("collector.keep_norm", "pass", True),
        ("collector.sum_up", "pass", True),
        ("partial(note, rows)", "pass", True),
        ("collector.keep_detached", "pass", False),
        ("collector.keep_latest", "pass", False),
        ("collector.keep_window", "pass", False),
        ("collector", "collector.forget()", False),
        ("partial(note, rows)", "rows.clear()", False),
        ("collector", "loss = loss + collector.rows[-1].mean()", False),
        ("collector", "loss = loss + collector.mean()", False),
        ("partial(note, rows)", "loss = loss + rows[-1].mean()", False),
    ],
)
def test_a_hook_of_another_file_keeps_what_it_is_given(tmp_path: Path, hook: str, more: str, leaks: bool) -> None:
    run = f"""
        from functools import partial
        import torch
        from torch import nn
        from collector import Collector, note

        def run(loader):
            net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
            optimizer = torch.optim.Adam(net.parameters())
            rows, collector = [], Collector()
            net[1].register_forward_hook({hook})
            for x, y in loader:
                loss = (net(x) - y).pow(2).mean()
                {more}
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return [row.mean().item() for row in (rows or collector.rows)]
    """
    project = Project(tmp_path, {"collector.py": COLLECTOR, "run.py": run})
    assert project.found() == (["run.py: TLK106 warning"] if leaks else [])


def test_a_hook_of_another_file_keeps_no_graph_where_gradients_are_off(tmp_path: Path) -> None:
    run = """
        import torch
        from torch import nn
        from collector import Collector

        def run(loader, net: nn.Module):
            collector = Collector()
            net.head.register_forward_hook(collector)
            with torch.no_grad():
                for x, _ in loader:
                    net(x)
            return torch.stack(collector.rows)
    """
    found = Project(tmp_path, {"collector.py": COLLECTOR, "run.py": run}).found()
    assert [one for one in found if "TLK106" in one] == []


@pytest.mark.parametrize(
    ("update", "given", "leaks"),
    [
        ("self.level = 0.9 * self.level + 0.1 * loss", "loss", True),
        ("self.level = 0.9 * self.level + 0.1 * loss.detach()", "loss", False),
        ("self.level = 0.9 * self.level.detach() + 0.1 * loss", "loss", False),
        ("self.level = 0.9 * self.level + 0.1 * loss", "loss / self.level", False),
        ("self.levels.append(loss)", "loss", True),
        ("self.level = loss", "loss", False),
    ],
)
def test_what_a_criterion_of_another_file_keeps_is_not_what_it_gives(
    tmp_path: Path, update: str, given: str, leaks: bool
) -> None:
    criterion = f"""
        import torch
        from torch import nn

        class Levelled(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("level", torch.ones(1))
                self.levels = []

            def forward(self, out, y):
                loss = (out - y).pow(2).mean()
                {update}
                return {given}
    """
    run = """
        import torch
        from criterion import Levelled

        class Fitting:
            def __init__(self, net: torch.nn.Module, optimizer):
                self.net, self.optimizer, self.criterion = net, optimizer, Levelled()

            def run(self, loader):
                for x, y in loader:
                    loss = self.criterion(self.net(x), y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
    """
    project = Project(tmp_path, {"criterion.py": criterion, "run.py": run})
    assert project.found() == (["run.py: TLK105 warning"] if leaks else [])
    # What the criterion is given is what is trained: a fix that detaches it there would end the training.
    assert all(one.repair is None for one in check_paths([tmp_path], settings=Settings(notes=True)))


def test_what_a_layer_in_a_row_keeps_is_told_where_it_is_written(tmp_path: Path) -> None:
    layer = """
        import torch
        from torch import nn

        class Levelled(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("level", torch.ones(1))

            def forward(self, x):
                if self.training:
                    self.level = 0.9 * self.level + 0.1 * x.mean()
                return x / self.level.detach()
    """
    run = """
        import torch
        from torch import nn
        from layer import Levelled

        def run(loader):
            net = nn.Sequential(nn.Linear(8, 8), Levelled(), nn.Linear(8, 4))
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            for x, y in loader:
                loss = nn.functional.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """
    assert Project(tmp_path, {"layer.py": layer, "run.py": run}).found() == ["layer.py: TLK103 note"]
