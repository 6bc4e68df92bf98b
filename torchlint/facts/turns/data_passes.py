"""Loops over data: those that are seen to go over batches of a data set, and not over the parts of one sample.

The steps of a sampling, the words of a sentence, the references that one call is given and the rows of a tensor are as
many as one call brings. A loader, what a function hands out, a variable with nothing said against it and a table that
is cut from one batch to the next are data.
"""

from __future__ import annotations

import libcst as cst

from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.graph import Loop, Op, Value
from torchlint.facts.values.solve import Solution
from torchlint.tree import dotted, walk

COLLECTED = frozenset(
    ["list", "List", "tuple", "Tuple", "Sequence", "dict", "Dict", "Mapping", "set", "Set", "Tensor", "FloatTensor",
     "LongTensor", "ndarray"]
)  # fmt: skip
"""Types of what a caller has in memory as a whole."""

PASSED_ON = frozenset(["builtins.enumerate", "builtins.iter", "builtins.list", "builtins.reversed", "builtins.zip"])
"""Functions that yield items of their first argument."""

CUT = frozenset(["split", "chunk", "unbind", "tensor_split", "hsplit"])
"""Functions and methods that give all parts of one tensor."""


def is_over_data(solution: Solution, steps: Steps, loop: Loop, item: Value) -> bool:
    """Whether ``loop`` is seen to go over a data set, to which ``item``, that is computed in its turn, belongs."""
    if loop.iterable is None:
        return any(part.op is Op.CALL and part.callee.name == "builtins.next" for part in item.computed_from())
    if steps.is_loader(loop.iterable):
        return True
    source = _source(loop.iterable)
    if source.op is Op.CALL and source.callee.name == "builtins.range":
        return len(source.arguments) == 3 or any(_is_drawn(part, loop) for part in item.computed_from())
    return _may_be_data(source)


def _source(iterable: Value) -> Value:
    """What is run over, through ``enumerate``, ``tqdm`` and the like."""
    while iterable.op is Op.CALL and iterable.callee.op is Op.EXTERNAL and iterable.arguments:
        name = iterable.callee.name
        if name not in PASSED_ON and name.rpartition(".")[2] not in ("tqdm", "track", "progress_bar"):
            break
        iterable = iterable.arguments[0]
    return iterable


def _may_be_data(source: Value) -> bool:
    """Whether nothing says that there are only a few items in what is run over."""
    if source.op is Op.PARAMETER:
        return not _says_collected(source)
    if source.op is Op.ATTRIBUTE:
        owner = source.inputs[0]
        return owner.op is Op.PARAMETER and owner in owner.function.parameters[:1]
    if source.op is Op.CALL:
        return source.callee.name.rpartition(".")[2] not in CUT
    return source.op not in (Op.ELEMENT, Op.SUBSCRIPT, Op.OPERATION)


def _says_collected(parameter: Value) -> bool:
    """``references: list[Tensor] | None``"""
    syntax = parameter.syntax
    if not isinstance(syntax, cst.Param) or syntax.annotation is None:
        return False
    names = (dotted(node) or "" for node in walk(syntax.annotation))
    return any(name.rpartition(".")[2] in COLLECTED for name in names)


def _is_drawn(part: Value, loop: Loop) -> bool:
    """Whether a counted turn takes a batch of its own: ``next(batches)``, ``rows[i * size : (i + 1) * size]``."""
    if part.op is Op.CALL and part.callee.name == "builtins.next":
        return True
    if part.op is not Op.SUBSCRIPT or not isinstance(part.syntax, cst.Subscript):
        return False
    counters = _counters(loop)
    within = (node for element in part.syntax.slice for node in walk(element))
    return any(isinstance(node, cst.Name) and node.value in counters for node in within)


def _counters(loop: Loop) -> set[str]:
    if not isinstance(loop.syntax, cst.For):
        return set()
    return {node.value for node in walk(loop.syntax.target) if isinstance(node, cst.Name)}
