"""What a file imports from its project is known: functions, classes, meters, models, wherever they stand."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import GUARDED, METER, OPEN, TAGGER, Project, loop

from torchlint.config import Settings
from torchlint.run import Job, check_files

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


def test_functions_of_two_files_that_return_what_the_other_does_end(tmp_path: Path) -> None:
    tools = "import other\n\n\ndef shown():\n    return other.shown()\n"
    other = tools.replace("other", "tools")
    each = "kept.append(loss); shown()"
    project = Project(
        tmp_path, {"tools.py": tools, "other.py": other, "train.py": loop("from tools import shown", each=each)}
    )
    assert project.found() == ["train.py: TLK102 warning"]


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


SHOWN = "def shown(value):\n    return value * 2\n"


@pytest.mark.parametrize(
    ("tools", "own", "leaks"),
    [
        (SHOWN, "", True),
        ("from doubled import *\n", "", True),
        (SHOWN, "def shown(value):\n    return value.item()\n", False),
    ],
)
def test_what_is_imported_with_all_of_another_file_is_known(tmp_path: Path, tools: str, own: str, leaks: bool) -> None:
    train = """
def train(loader, net: nn.Module):
    optimizer, kept = torch.optim.SGD(net.parameters(), lr=0.1), []
    for x, y in loader:
        loss = nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        kept.append(shown(loss))
    return kept
"""
    files = {
        "tools.py": f"import torch\nfrom torch import nn\n{tools}",
        "doubled.py": SHOWN,
        "train.py": f"from tools import *\n{own}{train}",
    }
    assert Project(tmp_path, files).found("train.py") == (["train.py: TLK102 error"] if leaks else [])


@pytest.mark.parametrize(("gives", "found"), [("", ["train.py: TLK403 note"]), ("__all__ = ['helper']\n", [])])
def test_torch_itself_is_brought_by_a_file_that_does_not_say_what_it_gives(
    tmp_path: Path, gives: str, found: list[str]
) -> None:
    files = {
        "tools.py": f"import torch\n{gives}",
        "train.py": """
            from tools import *

            def restore(net, path):
                net.load_state_dict(torch.load(path))
        """,
    }
    assert Project(tmp_path, files).found("train.py") == found


def test_a_name_that_a_file_binds_itself_is_not_that_of_all_that_it_imports(tmp_path: Path) -> None:
    files = {
        "tools.py": "import torch\n",
        "train.py": """
            from tools import *
            from storage import torch

            def restore(net, path):
                net.load_state_dict(torch.load(path))
        """,
    }
    assert Project(tmp_path, files).found("train.py") == []


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
        ("start = copy.deepcopy(net); net.eval(); known.append(start); return net, start", []),
        ("start = copy.deepcopy(net).eval(); start.train(); known.append(start); return net, start", []),
        ("start = copy.deepcopy(net).eval(); start.requires_grad_(False); return net, start", []),
    ],
)
def test_networks_that_another_file_makes_and_puts_into_evaluation_mode(
    tmp_path: Path, made: str, found: list[str]
) -> None:
    nets = f"""
        import copy
        from torch import nn

        known = []

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


def test_what_an_inner_function_captures_is_given_by_no_call(tmp_path: Path) -> None:
    rows = """
        def padded(values, size, pad, end=None):
            rows = values[0].new(len(values), size).fill_(pad)

            def copy(row, into):
                if end is None:
                    into[0] = row[-1]
                else:
                    into[0] = end
                into[1:] = row[:-1]

            for place, value in enumerate(values):
                copy(value, rows[place][: len(value)])
            return rows
    """
    use = """
        import torch
        from rows import padded

        print(padded([torch.ones(2)], 3, 0))
    """
    project = Project(tmp_path, {"rows.py": rows, "use.py": use})
    assert project.found("use.py") == []
