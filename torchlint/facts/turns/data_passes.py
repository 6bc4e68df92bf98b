"""Loops over data: those that are seen to go over batches of a data set, and not over the parts of one sample.

The steps of a sampling, the words of a sentence, the references that one call is given and the rows of a tensor are as
many as one call brings. A loader, what a function hands out, a variable with nothing said against it and a table that
is cut from one batch to the next are data.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.turns.changing import changes_with
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import Instance
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.solve import Solution
from torchlint.syntax.tree import dotted, walk

COLLECTED = frozenset(
    ["list", "List", "tuple", "Tuple", "Sequence", "dict", "Dict", "Mapping", "set", "Set", "Tensor", "FloatTensor",
     "LongTensor", "ndarray"]
)  # fmt: skip
"""Types of what a caller has in memory as a whole."""

ZIP = "builtins.zip"

PASSED_ON = frozenset(["builtins.enumerate", "builtins.iter", "builtins.list", "builtins.reversed", ZIP])
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
    return _may_be_data(solution, source) and not (source.op is Op.PARAMETER and _is_of_what_is_there(item, loop))


def is_over_few(by: Loop | Function) -> bool:
    """Whether a loop is said to go over what one call is given: a list, the rows of a tensor, the items of an item."""
    if not isinstance(by, Loop) or by.iterable is None:
        return False
    pending, seen = [by.iterable], set[Value]()
    while pending:
        source = _source(pending.pop())
        if (source.op is Op.PARAMETER and _says_collected(source)) or _is_cut(source):
            return True
        if source not in seen:
            pending += source.inputs if source.op is Op.PHI else _run_over(source)
        seen.add(source)
    return False


def cut_through(loop: Loop) -> Value | None:
    """The tensor through which ``for start in range(0, x.size(1), size)`` goes piece by piece; None for other loops."""
    end = _end_of_pieces(loop)
    if end is not None and end.op is Op.SUBSCRIPT:
        end = end.inputs[0]
    if end is not None and end.op is Op.CALL and end.callee.name == "builtins.len" and end.arguments:
        return end.arguments[0]
    sized = end.callee if end is not None and end.op is Op.CALL else end
    is_size = sized is not None and sized.op is Op.ATTRIBUTE and sized.name in ("size", "shape")
    return sized.inputs[0] if sized is not None and is_size else None


def cuts_pieces(loop: Loop) -> bool:
    """Whether a loop goes from one start of a piece to the next: ``for start in range(0, len(x), size)``."""
    return _end_of_pieces(loop) is not None


def cuts_samples(loop: Loop) -> bool:
    """Whether the pieces that a loop goes through are cut along another dimension than the first: those of a sample."""
    end = _end_of_pieces(loop)
    if end is None:
        return False
    if end.op is Op.SUBSCRIPT:
        return end.inputs[0].name == "shape" and end.keys[0] not in (0, None)
    if end.op is not Op.CALL or end.callee.op is not Op.ATTRIBUTE or end.callee.name != "size":
        return False
    along = end.arguments[0].syntax if end.arguments else None
    return along is not None and constant_of(along) not in (0, None)


def counts_through_tensor(loop: Loop) -> bool:
    """Whether a loop counts the positions of a tensor along one dimension: ``for t in range(x.size(1))``.

    Also where the sizes are unpacked before: ``rows, steps, _ = x.shape``.
    """
    given = _of_range(loop)
    end = given[-1] if len(given) in (1, 2) else None
    while end is not None and end.op in (Op.SUBSCRIPT, Op.ELEMENT):
        end = end.inputs[0]
    sized = end.callee if end is not None and end.op is Op.CALL else end
    return sized is not None and sized.op is Op.ATTRIBUTE and sized.name in ("size", "shape")


def cutting(iterable: Value) -> Loop | None:
    """The loop that cuts a table into batches beforehand: ``[rows[at : at + size] for at in range(0, n, size)]``.

    Args:
        iterable: what another loop goes over.

    Returns:
        the loop within the brackets; None for any other value.
    """
    source = _source(iterable)
    if source.op is not Op.CONTAINER or not isinstance(source.syntax, cst.ListComp):
        return None
    loop = source.inputs[0].loop
    if loop is None or loop is source.loop or loop.iterable is None:
        return None
    return loop if source.inputs[0].op is Op.SUBSCRIPT and _counts_by_size(loop.iterable) else None


def _counts_by_size(iterable: Value) -> bool:
    return iterable.op is Op.CALL and iterable.callee.name == "builtins.range" and len(iterable.arguments) == 3


def _end_of_pieces(loop: Loop) -> Value | None:
    """``x.size(1)`` of ``for start in range(0, x.size(1), size)``, be the pieces cut beforehand."""
    before = cutting(loop.iterable) if loop.iterable is not None else None
    given = _of_range(before or loop)
    return given[1] if len(given) == 3 else None


def _of_range(loop: Loop) -> tuple[Value, ...]:
    """What a ``range`` is given that a loop goes over; nothing for any other loop."""
    source = _source(loop.iterable) if loop.iterable is not None else None
    is_range = source is not None and source.op is Op.CALL and source.callee.name == "builtins.range"
    return source.arguments if source is not None and is_range else ()


def _source(iterable: Value) -> Value:
    """What is run over, through ``enumerate``, ``tqdm`` and the like."""
    while iterable.op is Op.CALL and iterable.callee.op is Op.EXTERNAL and iterable.arguments:
        name = iterable.callee.name
        if name not in PASSED_ON and name.rpartition(".")[2] not in ("tqdm", "track", "progress_bar"):
            break
        iterable = iterable.arguments[0]
    return iterable


def _run_over(item: Value) -> list[Value]:
    """What is run over around: ``groups`` for a loop over ``group``, the item of another loop."""
    while item.op is Op.ELEMENT and item.inputs[0].op is Op.ELEMENT:
        item = item.inputs[0]
    if item.op is not Op.ELEMENT:
        return []
    base = item.inputs[0]
    return list(base.arguments) if base.op is Op.CALL and base.callee.name == ZIP else [base]


def _is_cut(source: Value) -> bool:
    return source.op is Op.CALL and source.callee.name.rpartition(".")[2] in CUT


def _may_be_data(solution: Solution, source: Value) -> bool:
    """Whether nothing says that there are only a few items in what is run over."""
    if source.op is Op.PARAMETER:
        return not _says_collected(source)
    if source.op is Op.ATTRIBUTE:
        owner = source.inputs[0]
        is_own = owner.op is Op.PARAMETER and owner in owner.function.parameters[:1]
        return is_own or (owner.op is not Op.ATTRIBUTE and solution.may_be(owner, Instance))
    if source.op is Op.ELEMENT:
        return all(_may_be_data(solution, _source(one)) for one in _run_over(source))
    return source.op not in (Op.SUBSCRIPT, Op.OPERATION) and not _is_cut(source)


def _says_collected(parameter: Value) -> bool:
    """``references: list[Tensor] | None``"""
    syntax = parameter.syntax
    if not isinstance(syntax, cst.Param) or syntax.annotation is None:
        return False
    return not COLLECTED.isdisjoint(_types_named(syntax.annotation.annotation))


def _types_named(annotation: cst.BaseExpression) -> Iterator[str]:
    """The types that an annotation names, and not what they have in them: ``Iterable`` of ``Iterable[Tensor]``."""
    if isinstance(annotation, cst.BinaryOperation):
        yield from (name for one in (annotation.left, annotation.right) for name in _types_named(one))
        return
    name = (dotted(annotation.value if isinstance(annotation, cst.Subscript) else annotation) or "").rpartition(".")[2]
    if isinstance(annotation, cst.Subscript) and name in ("Optional", "Union", "Annotated"):
        parts = (part.slice.value for part in annotation.slice if isinstance(part.slice, cst.Index))
        yield from (inner for part in parts for inner in _types_named(part))
    yield name


def _is_of_what_is_there(item: Value, loop: Loop) -> bool:
    """Whether each turn computes an item of one tensor that is there before the loop, with another setting written in.

    ``z = mean.clone()``, ``z[:, k] = value``, ``net(z)``: the values are no batches, which a network would be given.
    """
    parts = list(item.computed_from())
    is_gradient = any(part.op is Op.ATTRIBUTE and part.name == "grad" for part in parts)
    return item.function is loop.function and not is_gradient and not any(changes_with(part, loop) for part in parts)


def _is_drawn(part: Value, loop: Loop) -> bool:
    """Whether a counted turn takes a batch of its own: ``next(batches)``, ``rows[i * size : (i + 1) * size]``.

    What is cut along another dimension than the first, ``x[:, t]``, is a step of each sample.
    """
    if part.op is Op.CALL and part.callee.name == "builtins.next":
        return True
    if part.op is not Op.SUBSCRIPT or not isinstance(part.syntax, cst.Subscript):
        return False
    counters = _counters(loop)
    within = walk(part.syntax.slice[0])
    return any(isinstance(node, cst.Name) and node.value in counters for node in within)


def _counters(loop: Loop) -> set[str]:
    if not isinstance(loop.syntax, cst.For):
        return set()
    return {node.value for node in walk(loop.syntax.target) if isinstance(node, cst.Name)}


def source_of_one(call: Value) -> Value | None:
    """``loader`` of ``next(iter(loader))``; None for any other CALL."""
    source = call.arguments[0] if call.callee.name == "builtins.next" and call.arguments else None
    if source is None or source.op is not Op.CALL or source.callee.name != "builtins.iter" or not source.arguments:
        return None
    return source.arguments[0]
