"""What a context of an ``autograd.Function`` keeps, and what of it is an output that knows the context."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import libcst as cst
import pytest
from torchlint.rules.tlk109_tensor_on_ctx import TensorOnContext

from torchlint.engine import check
from torchlint.facts import Facts
from torchlint.facts.autograd.contexts import OnContext, Share
from torchlint.fix.applying import fix_source
from torchlint.rule import Level
from torchlint.source import Source

HEAD = "import lib\nimport torch\nfrom torch import autograd\n"
READ = "return grad * ctx.kept"


LENT = """
def lend(t):
    return torch.from_dlpack(t.contiguous())
"""


def kept(source: str) -> list[OnContext]:
    return Facts(cst.parse_module(HEAD + source)).on_contexts


def function(forward: str, backward: str = READ, *, base: str = "autograd.Function") -> str:
    """A function with a backward of its own, from the bodies of its two halves."""
    head = f"class Own({base}):\n    @staticmethod\n    def forward(ctx, x, n):\n{indent(forward, ' ' * 8)}\n"
    return f"{head}    @staticmethod\n    def backward(ctx, grad):\n{indent(backward, ' ' * 8)}\n"


def shares(forward: str, backward: str = READ, *, rest: str = "") -> list[Share]:
    found = kept(function(forward, backward) + rest)
    return [one.share for one in found if one.share is not Share.OTHER and not one.cleared]


@pytest.mark.parametrize(
    "forward",
    [
        "y = x.exp()\nctx.kept = y\nreturn y",
        "ctx.kept = x.exp()\nreturn ctx.kept",
        "ctx.kept = y = torch.tanh(x)\nreturn y",
        "y = x * n\nctx.n, ctx.kept = n, y\nreturn y",
        "y = torch.empty_like(x)\nrun(x, y)\nctx.kept = y\nreturn y",
        "y = run(x)\nctx.kept = [x, y]\nreturn y, n",
        "y = x.exp()\nctx.kept = {'y': y}\nreturn y",
        "y = x.exp()\nctx.kept = dict(y=y, n=n)\nreturn y",
        "ctx.kept = []\ny = x.exp()\nctx.kept.append(y)\nreturn y",
        "y = x.exp()\nctx.kept = y\nreturn y.mul_(2)",
        "y = x.exp()\ny += 1\nctx.kept = y\nreturn y",
        "y = x.exp().contiguous()\nctx.kept = y\nreturn y.contiguous()",
        "y = x.clone()\nfor _ in range(n):\n    y = y * 2\nctx.kept = y\nreturn y",
        "y = x.exp() if n else x.sin()\nctx.kept = y\nreturn y",
        "if n:\n    y = x.exp()\n    ctx.kept = y\n    return y\nreturn x.sin()",
        "x.exp_()\nctx.mark_dirty(x)\nctx.kept = x\nreturn x",
        "y = (x > 0).float()\nctx.kept = y\nreturn y",
        "y = x.detach().exp().detach()\nctx.kept = y\nreturn y",
    ],
)
def test_an_output_on_the_context_is_found(forward: str) -> None:
    assert shares(forward) == [Share.OUTPUT]


RECORDS = """
from dataclasses import dataclass
from typing import NamedTuple

@dataclass
class Kept:
    result: torch.Tensor
    power: int = 1

class Pair(NamedTuple):
    result: torch.Tensor
    mask: torch.Tensor

class Holder:
    def __init__(self, result, power=1):
        self.result = result
        self.norm = result.norm().item()

class Summary:
    def __init__(self, result):
        self.shape, self.copy = result.shape, result.detach().clone()

def pack(result):
    return Kept(result, power=2)
"""


@pytest.mark.parametrize("record", ["Kept(y)", "Kept(power=n, result=y)", "Pair(y, x > 0)", "Holder(y, n)", "pack(y)"])
def test_an_output_in_a_record_on_the_context_is_found(record: str) -> None:
    assert shares(f"y = x.exp()\nctx.kept = {record}\nreturn y", rest=RECORDS) == [Share.OUTPUT]


@pytest.mark.parametrize(
    "record", ["Kept(y.detach().clone())", "Kept(x)", "Holder(x)", "Summary(y)", "Pair(None, y > 0)", "pack(x)"]
)
def test_a_record_without_one_is_left_alone(record: str) -> None:
    assert shares(f"y = x.exp()\nctx.kept = {record}\nreturn y", rest=RECORDS) == []


@pytest.mark.parametrize(
    "view",
    [
        "y[0]", "y.view(-1)", "y.t()", "y.T", "y[:, 1:]", "y.chunk(2)[0]", "torch.flatten(y)", "y.__dlpack__()",
        "torch.to_dlpack(y)", "torch.from_dlpack(torch.utils.dlpack.to_dlpack(y))", "lib.array(torch.to_dlpack(y))",
    ],
)  # fmt: skip
def test_a_view_of_an_output_is_worse(view: str) -> None:
    source = function(f"y = x.exp()\nctx.kept = {view}\nreturn y")
    assert [one.share for one in kept(source)] == [Share.VIEW]
    assert [finding.level for finding in TensorOnContext().check(Facts(cst.parse_module(HEAD + source)))] == [
        Level.ERROR
    ]


def test_a_function_that_lends_both_input_and_output_is_entered_by_each_call_alone() -> None:
    forward = "y = x.new_empty(n)\na, b = lend(x), lend(y)\nrun(a, b)\nctx.kept = {}\nreturn y"
    assert shares(forward.format("b"), rest=LENT) == [Share.VIEW]
    assert shares(forward.format("a"), rest=LENT) == []


def test_two_outputs_on_one_context_are_worse_than_one() -> None:
    two = "y, z = x.exp(), x.sin()\nctx.kept = y\nctx.other = z\nreturn y, z"
    assert shares(two) == [Share.OUTPUTS, Share.OUTPUTS]
    assert shares("y, z = x.exp(), x.sin()\nctx.kept = y\nctx.other = y\nreturn y, z") == [Share.OUTPUT, Share.OUTPUT]


@pytest.mark.parametrize(
    "forward",
    [
        "ctx.kept = x\nreturn x.exp()",
        "ctx.kept = x\nreturn x",
        "x = x.contiguous()\nctx.kept = x\nreturn x",
        "y = x.exp()\nctx.kept = y.detach()\nreturn y",
        "y = x.exp()\nctx.kept = y.detach().clone()\nreturn y",
        "y = x.exp()\nctx.kept = y.clone()\nreturn y",
        "y = x.exp()\nctx.kept = y.shape, y.mean().item(), n\nreturn y",
        "y = x.exp()\nctx.kept = y\nreturn y * 2",
        "y = x.exp()\nctx.kept = y\ny = y * 2\nreturn y",
        "y = x.exp()\nctx.kept = y\nreturn y.view(-1)",
        "y = x.exp()\nctx.save_for_backward(y)\nreturn y",
        "y = x.exp()\nctx.kept = y\nprint(ctx.kept)\ndel ctx.kept\nreturn y",
        "y = x.exp()\nctx.kept = y\nctx.kept = None\nreturn y",
        "y, i = x.max(0)\nctx.kept = i\nreturn y, i",
        "m = x > 0\nctx.kept = m\nreturn x * m, m",
        "m = (x > 0).float()\nctx.kept = m\nctx.mark_non_differentiable(m)\nreturn x * m, m",
        "i = torch.zeros(3, dtype=torch.long)\nctx.kept = i\nreturn x.exp(), i",
        "y, i = run(x)\nctx.kept = i\nreturn y, i",
        "y = x.exp()\nctx.kept = y[y > 1]\nreturn y",
    ],
)
def test_what_knows_no_context_is_left_alone(forward: str) -> None:
    assert shares(forward) == []


@pytest.mark.parametrize(
    ("forward", "expected"),
    [
        ("ctx.kept = x.exp() * n", 1),
        ("h = x.exp()\nfor _ in range(n):\n    h = n - h\nctx.kept = h", 1),
        ("h = x.new_empty(n)\nkernels.run(x, h)\nctx.kept = h", 1),
        ("ctx.kept = [x.new_empty(n)]\nkernels.run(x, ctx.kept[0])", 1),
        ("ctx.kept = n * 2", 0),
        ("ctx.kept = x.shape[0] * n", 0),
        ("ctx.kept = x.exp().sum().item() / n", 0),
        ("ctx.kept = not x.exp().any()", 0),
        ("h = torch.zeros(1)\nctx.kept = h", 0),
        ("h = torch.zeros(1)\nctx.save_for_backward(h)\nctx.kept = h", 0),
        ("h = torch.zeros(n)\nprint(h, h.shape)\nctx.kept = h", 0),
        ("h = torch.tensor(0.5)\nkernels.run(x, h)\nctx.kept = h", 0),
    ],
)
def test_what_is_computed_on_the_way_may_be_a_buffer_that_others_fill(forward: str, expected: int) -> None:
    found = kept("import kernels\n" + function(f"{forward}\nreturn x.sin()"))
    assert [one.share for one in found] == [Share.OTHER] * expected


@pytest.mark.parametrize(
    "backward",
    [
        "y = ctx.kept\ndel ctx.kept\nreturn y",
        "y = ctx.kept\nctx.kept = None\nreturn y",
        "y = ctx.kept\ndelattr(ctx, 'kept')\nreturn y",
        "return drop(ctx)",
    ],
)
def test_what_backward_drops_stays_only_without_one(backward: str) -> None:
    source = function("y = x.exp()\nctx.kept = y\nreturn y", backward)
    found = kept(source + "def drop(c):\n    y = c.kept\n    del c.kept\n    return y\n")
    assert [one.cleared for one in found] == [True]


def test_functions_that_are_applied_without_gradients_make_no_node() -> None:
    forward = "y = x.exp()\nctx.kept = y\nreturn y"
    assert shares(forward, rest="with torch.no_grad():\n    print(Own.apply(batch, 1))\n") == []
    assert shares(forward, rest="own = Own.apply\n") == [Share.OUTPUT]
    assert shares(forward, rest="print(Own.apply(batch, 1))\n") == [Share.OUTPUT]


def test_only_functions_with_a_backward_have_such_a_context() -> None:
    assert kept(function("y = x.exp()\nctx.kept = y\nreturn y", base="Stage")) == []
    assert kept(function("y = x.exp()\nctx.kept = y\nreturn y", base="torch.nn.Module")) == []


SPLIT = """
class Own(torch.autograd.Function):
    @staticmethod
    def forward(x, n):
        {forward}
    @staticmethod
    def setup_context(ctx, inputs, output):
        {setup}
    @staticmethod
    def backward(ctx, *grads):
        return grads[0] * ctx.kept, None
"""


@pytest.mark.parametrize(
    ("forward", "setup", "expected"),
    [
        ("return x.exp()", "ctx.kept = output", [Share.OUTPUT]),
        ("return x.exp()", "ctx.kept = output[0]", [Share.VIEW]),
        ("return x.exp()", "ctx.kept = inputs[0]", []),
        ("return x.exp(), x.argmax()", "ctx.kept, _ = output", [Share.OUTPUT]),
        ("return x.exp(), x.argmax()", "_, ctx.kept = output", []),
        ("return x.argmax()", "ctx.kept = output", []),
        ("return x.exp()", "ctx.kept = output.detach()", []),
    ],
)
def test_a_context_may_be_set_up_apart(forward: str, setup: str, expected: list[Share]) -> None:
    assert [one.share for one in kept(SPLIT.format(forward=forward, setup=setup))] == expected


def test_operations_of_a_library_have_contexts_too() -> None:
    source = """
def setup(ctx, inputs, output):
    ctx.kept = output
def back(ctx, grad):
    return grad * ctx.kept
torch.library.register_autograd("own::op", back, setup_context=setup)
"""
    assert [one.share for one in kept(source)] == [Share.OUTPUT]
    assert [one.cleared for one in kept(source.replace("return grad * ctx.kept", "ctx.kept = None"))] == [True]
    with_keywords = source.replace("inputs, output", "inputs, keyword_only_inputs, output")
    assert [one.share for one in kept(with_keywords)] == [Share.OUTPUT]
    assert kept(with_keywords.replace("ctx.kept = output", "ctx.kept = keyword_only_inputs['scale']")) == []


def repaired(forward: str, backward: str, rest: str = "") -> str | None:
    """The program after the repair of its only finding, from the first line of ``forward`` on; None without one."""
    source = Source(Path("x.py"), HEAD + function(forward, backward) + rest, "utf-8", False)
    text = fix_source(source, lambda given: check(given, [TensorOnContext()]).diagnostics, unsafe=True).text
    return None if text == source.text else text


def test_the_repair_saves_what_was_kept_and_unpacks_it() -> None:
    text = repaired("y = x.exp()\nctx.kept = y  # why\nreturn y", "y = ctx.kept  # and why\nreturn grad * y")
    assert text is not None
    assert "ctx.save_for_backward(y)  # why\n" in text
    assert "(y,) = ctx.saved_tensors  # and why\n" in text
    text = repaired("y = x.exp()\nctx.kept = y\nreturn y", "a = grad * ctx.kept\nreturn a + ctx.kept")
    assert text is not None
    assert "a = grad * ctx.saved_tensors[0]\n        return a + ctx.saved_tensors[0]\n" in text


@pytest.mark.parametrize(
    ("forward", "backward", "rest"),
    [
        ("y = x.exp()\nctx.save_for_backward(x)\nctx.kept = y\nreturn y", READ, ""),
        ("y = x.exp()\nctx.kept = (x, y)\nreturn y", "return grad * ctx.kept[1]", ""),
        ("y = x.exp()\nctx.kept = y[0]\nreturn y", READ, ""),
        ("y = x.exp()\nctx.kept = ctx.other = y\nreturn y", READ, ""),
        ("y = x.exp()\nctx.kept = y\nreturn y", "return grad", ""),
        ("y = x.exp()\nctx.kept = y\nreturn y", READ, "print(Own.apply(batch, 1).grad_fn.kept)\n"),
        ("y = x.exp()\nctx.kept = y\nreturn y", "c = ctx\nreturn grad * c.kept", ""),
    ],
)
def test_there_is_no_repair_where_more_would_have_to_move(forward: str, backward: str, rest: str) -> None:
    assert shares(forward, backward, rest=rest) != []
    assert repaired(forward, backward, rest) is None


def test_a_method_that_torch_refuses_to_run_fills_no_context() -> None:
    source = function("y = x.exp()\nctx.kept = y\nreturn y")
    assert len(kept(source)) == 1
    assert kept(source.replace("    @staticmethod\n", "")) == []
