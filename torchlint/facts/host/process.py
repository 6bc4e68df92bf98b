"""Switches of the whole process: which functions prepare one, and which switches somebody asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.frameworks import is_start
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.running import run_by
from torchlint.syntax.tree import dotted, walk, walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts

SETTINGS = (
    "random.seed",
    "numpy.random.seed",
    "torch.manual_seed",
    "torch.cuda.manual_seed",
    "torch.cuda.set_device",
    "torch.set_",
    "torch.use_deterministic_algorithms",
    "torch.distributed.init_process_group",
    "torch.multiprocessing.set_",
)
"""Beginnings of what sets something for the whole process."""

OF_A_BLOCK = frozenset(["torch.set_grad_enabled"])
"""Names that begin so and are switched back and forth."""

BACKENDS = "torch.backends."

DEVICE_TESTS = frozenset(["is_available", "is_initialized", "device_count"])
"""Questions for the device: they decide where a program can run, not how it is to run."""

RANK_TESTS = frozenset(
    ["is_main_process", "is_local_main_process", "is_local_process_zero", "is_world_process_zero", "is_global_zero"]
)  # fmt: skip
"""What accelerate, transformers and Lightning call the question whether this is the first of several processes."""

HOPS = 4
"""How many callers up a condition is looked for."""


def prepares_process(facts: Facts, function: Function) -> bool:
    """Whether a function sets what holds for the whole process, as seeds and backends, and does nothing else.

    What it switches on is on for all that the process does afterwards, wherever that is written.
    """
    if function.parent is None or function.name == "__init__":
        return False
    inside = [function, *(one for one in run_by(facts.steps, facts.steps.calls_in(function)) if one is not function)]
    calls = [call for one in inside for call in facts.steps.calls_in(one)]
    if not all(call.callee.op is not Op.EXTERNAL or _is_of_library(call.callee.name) for call in calls):
        return False
    if not all(one.is_foreign or one.owner is None for one in inside[1:]) or any(_works(facts, c) for c in calls):
        return False
    is_set = any(call.callee.op is Op.EXTERNAL and _is_setting(call.callee.name) for call in calls)
    return is_set or any(_sets_backend(node) for one in inside for node in walk_scope(one.syntax))


def _works(facts: Facts, call: Value) -> bool:
    """Whether a call builds or runs a model, trains one, or computes a tensor."""
    if any(one in facts.graph.foreign.running or facts.steps.trains(one) for one in facts.solution.functions_of(call)):
        return True
    return facts.tensors.is_module(call) or facts.tensors.is_module(call.callee) or facts.tensors.is_tensor(call)


def _is_of_library(name: str) -> bool:
    root = name.partition(".")[0]
    return root in sys.stdlib_module_names or root in ("builtins", "torch", "numpy")


def _is_setting(name: str) -> bool:
    return name.startswith(SETTINGS) and name not in OF_A_BLOCK


def _sets_backend(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.AssignTarget) and (dotted(node.target) or "").startswith(BACKENDS)


def is_optional(facts: Facts, call: Value, covered: cst.CSTNode | None, hops: int = HOPS) -> bool:
    """Whether a condition decides on a call (and not on all that it covers), there or at all of its callers.

    Args:
        facts: of the file.
        call: the call.
        covered: what runs after it; None where that is not seen, and any condition counts.
        hops: how many callers up are asked.
    """
    if any(_is_condition(branch, call.syntax, covered) for branch in _branches(facts, call)):
        return True
    if covered is None and _is_left_before(call):
        return True
    callers = facts.solution.callers.get(call.function, ())
    return hops > 0 and bool(callers) and all(is_optional(facts, c, covered, hops - 1) for c in callers)


def _branches(facts: Facts, call: Value) -> Iterator[cst.CSTNode]:
    """The nodes around a call, in its function, that may leave it out."""
    node: cst.CSTNode | None = call.syntax
    while node is not None and node is not call.function.syntax:
        node = facts.parents.get(node)
        if isinstance(node, cst.If) and is_start(call.function) and _asks_for_stage(node.test, call.function):
            continue
        if isinstance(node, cst.If) and (_asks_for_gpu(node.test) or _asks_for_rank(node.test)):
            continue
        if isinstance(node, cst.If | cst.IfExp | cst.BooleanOperation | cst.ExceptHandler | cst.MatchCase):
            yield node


def _asks_for_gpu(test: cst.BaseExpression) -> bool:
    """``torch.cuda.is_available()``, ``device.type == "cuda"``: where there is none there is nothing to choose."""
    if isinstance(test, cst.Call):
        return dotted(test.func) == "torch.cuda.is_available"
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    target = test.comparisons[0]
    is_type = isinstance(test.left, cst.Attribute) and test.left.attr.value == "type"
    return is_type and isinstance(target.operator, cst.Equal) and constant_of(target.comparator) == "cuda"


def _asks_for_rank(test: cst.BaseExpression) -> bool:
    """``state.is_local_process_zero``, ``rank == 0``: one process of several always does it."""
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        name = dotted(test.left.func if isinstance(test.left, cst.Call) else test.left) or ""
        is_first = isinstance(target.operator, cst.Equal) and constant_of(target.comparator) == 0
        return is_first and name.rpartition(".")[2].endswith("rank")
    asked = dotted(test.func if isinstance(test, cst.Call) else test) or ""
    return asked.rpartition(".")[2] in RANK_TESTS


def _asks_for_stage(test: cst.BaseExpression, function: Function) -> bool:
    """``if stage == "fit":`` in what a framework calls at each start: whether a training is about to begin."""
    if not isinstance(test, cst.Comparison) or not isinstance(test.left, cst.Name):
        return False
    is_given = test.left.value in {parameter.name for parameter in function.parameters[1:]}
    return is_given and any(isinstance(node, cst.SimpleString) for node in walk(test))


def _is_left_before(call: Value) -> bool:
    """``if not debug: return`` before the call."""
    for node in walk_scope(call.function.syntax):
        if node is call.syntax:
            return False
        if isinstance(node, cst.If) and _returns(node.body) and not _asks_device(node.test):
            return True
    return False


def _returns(body: cst.BaseSuite) -> bool:
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Return)


def _is_condition(branch: cst.CSTNode, call: cst.CSTNode | None, covered: cst.CSTNode | None) -> bool:
    """Whether ``branch`` decides on the call alone: not on the whole script, nor on what is covered as well."""
    if not isinstance(branch, cst.If):
        return True
    if any(dotted(node) == "__name__" for node in walk(branch.test)) or _asks_device(branch.test):
        return False
    body = set(walk(branch.body))
    return branch.orelse is not None or call not in body or covered not in body


def _asks_device(test: cst.BaseExpression) -> bool:
    """``torch.cuda.is_available()`` or its opposite, and nothing else."""
    if isinstance(test, cst.UnaryOperation):
        test = test.expression
    return isinstance(test, cst.Call) and (dotted(test.func) or "").rpartition(".")[2] in DEVICE_TESTS
