"""One file's way through the engine: what is looked at, what is refused, what is said."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.catalog import rules
from torchlint.engine import Outcome, check
from torchlint.facts.values.graph import Value
from torchlint.project.project import Project
from torchlint.screen import passing
from torchlint.source import Source, Unreadable

LEAK = """\
import torch

def train(model, loader, criterion):
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        total += loss
    return total
"""


def outcome(text: str) -> Outcome:
    return check(Source("program.py", text), rules())


def test_a_leak_is_found_with_its_place_its_evidence_and_its_repair() -> None:
    [diagnostic] = outcome(LEAK).diagnostics
    assert (diagnostic.path, diagnostic.line, diagnostic.column, diagnostic.code) == ("program.py", 8, 9, "TLK101")
    assert diagnostic.message.startswith("`total` (bound in line 4) keeps the graph of every `loss`")
    assert [step.line for step in diagnostic.evidence] == [4, 6, 7, 8]
    assert diagnostic.repair is not None
    assert [LEAK[: r.start].count("\n") + 1 for r in diagnostic.repair.replacements] == [8]


def test_a_file_without_torch_is_not_parsed() -> None:
    assert outcome("this is no Python") == Outcome((), uses_torch=False)


def test_a_file_that_does_not_parse_is_refused() -> None:
    with pytest.raises(Unreadable, match="syntax error in line 2"):
        outcome("import torch\nthis is no Python\n")


def test_a_file_that_is_nested_too_deep_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(Unreadable, match="deep"):
        outcome("import torch\nx = " + "+".join(["1"] * 20_000) + "\n")


def test_a_file_in_which_no_rule_can_find_anything_is_not_given_to_libcst() -> None:
    program = (
        "import sys\n"
        "from torchlint.catalog import rules\n"
        "from torchlint.engine import check\n"
        "from torchlint.source import Source\n"
        "print(check(Source('a.py', 'import torch\\nprint(torch.ones(3))\\n'), rules()).uses_torch)\n"
        "print('libcst' in sys.modules, 'torch' in sys.modules)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "False", "False"]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n",
        "import torch\nclass A(A): pass\nA()()\n",
        "import torch\ndef f(x): return f(x)\nf(1)\n",
        "import torch\nx = x\nwhile x: x = x.y\n",
        "import torch\nfor x in x: x += x\nelse: del x\n",
        "import torch\ntry:\n    raise X\nexcept* X as e:\n    pass\nfinally:\n    y = e\n",
        "import torch\nmatch a:\n    case [x, *y]: z = x\n    case {'k': v, **w}: z = v\n    case _: pass\n",
        "import torch\nlambda: (yield)\nglobal q\nq += q\n",
        "import torch\nclass B:\n    def __init__(s): s.a = s.a + s\n    a = property(lambda s: s.a)\nB().a += B().a\n",
        "import torch\nf = lambda f: f(f)\nf(f)\n",
        "import torch\nasync def g():\n    async with a as b: [c async for c in b if await c]\n",
        "import torch\n(a := [b := 1, *a])[0][a] = {**a, 'x': a}\n",
    ],
)
def test_odd_programs_are_read_to_the_end(text: str) -> None:
    assert outcome(text).uses_torch


def test_a_file_of_data_passes_no_rule() -> None:
    text = "import torch\n\nTABLE = [[1, 'a', -2.5], {'b': (None, b'c'), 'd': torch.float32}]\nNAME: str\n"
    assert passing(ast.parse(text), rules()) == []


@pytest.mark.parametrize(
    ("head", "uses"),
    [
        ("from mxnet import nd", False),
        ("from flax import nnx", False),
        ("import mxnet, torch", True),
        ("from mine import net", True),
    ],
)
def test_a_backward_may_be_another_library_s(head: str, uses: bool) -> None:
    assert outcome(f"{head}\nloss = f(x)\nloss.backward()\n").uses_torch is uses
    assert outcome(f"{head}\nnet.eval()\nprint(f(x))\nnet.train()\n").uses_torch is uses


def test_a_mode_that_is_only_entered_says_nothing() -> None:
    assert not outcome("frame.eval()\n").uses_torch
    assert not outcome("corpus.train(rows)\n").uses_torch
    assert not outcome("import tensorflow\nprint(x.eval())\nestimator.train(rows)\n").uses_torch


FIXTURES = Path(__file__).parent.parent / "fixtures"

IMPORTING = "from nets import Net, widths\n" + LEAK.replace(
    "    total = 0\n", "    model, total = model or Net(widths()), 0\n"
)

NETS = """\
import torch

class Net(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = [torch.nn.Linear(size, 1) for size in sizes]

def widths():
    return [1, 2]
"""


def left_to_the_collector(path: Path) -> list[Value]:
    """The values of a file that are still there after its check, until the garbage collector finds them."""
    gc.freeze()  # what was there before is nobody's business here
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        check(Source(str(path), path.read_text()), rules(), project=Project([str(path)]))
        gc.collect()
        return [found for found in gc.garbage if isinstance(found, Value)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.unfreeze()


@pytest.mark.parametrize(
    "path",
    [min(folder.glob("leak_*.py")) for folder in sorted(FIXTURES.glob("TLK*"))],
    ids=lambda path: path.parent.name,
)
def test_what_is_known_of_a_file_goes_round_in_no_circle_that_outlives_its_check(path: Path) -> None:
    assert len(left_to_the_collector(path)) == 0


def test_what_a_file_imports_goes_round_in_no_circle_that_outlives_its_check(tmp_path: Path) -> None:
    (tmp_path / "nets.py").write_text(NETS)
    (tmp_path / "program.py").write_text(IMPORTING)
    assert len(left_to_the_collector(tmp_path / "program.py")) == 0
