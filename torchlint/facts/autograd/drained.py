"""Iterators of which a call takes all there is at once: ``list(steps(net, loader))``, ``sum(step(b) for b in loader)``.

Nothing runs before: what a generator, a generator expression or ``map`` yields in each of its turns then meets in one
list or one sum, as if a loop had put it there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.choices import choices
from torchlint.facts.values.collecting import COLLECTING, unwrapped, yielded_by
from torchlint.facts.values.domain import FunctionReference
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.graph import Loop, Op, Value

SUMMING = frozenset(["builtins.sum"])
"""Functions that add up all items: https://docs.python.org/3/library/functions.html#sum"""


@dataclass(frozen=True)
class Yielded:
    """What an iterator yields in one of its turns.

    Attributes:
        item: the value.
        written: the expression that stands for it, where the iterator is written as one.
    """

    item: Value
    written: cst.BaseExpression | None


def drained(steps: Steps, functions: frozenset[str]) -> Iterator[tuple[Value, Yielded]]:
    """The CALLs of one of ``functions`` that take all of an iterator whose turns are steps, with what that yields."""
    for call in steps.solution.graph.of(Op.CALL):
        callee = call.callee
        if callee.op is Op.EXTERNAL and callee.name in functions and call.arguments and call.keys[1] == 0:
            first = call.arguments[0]
            if first.op is not Op.CALL or first.callee.name not in COLLECTING:  # which is told by itself
                yield from ((call, one) for one in yielded(steps, first))


def yielded(steps: Steps, iterable: Value) -> list[Yielded]:
    """What an iterator yields in turns that are steps; nothing for another one, and for what is no iterator."""
    source = unwrapped(iterable)
    written = source.syntax.elt if isinstance(source.syntax, cst.GeneratorExp) else None
    return [Yielded(item, written) for item in _items(steps, source)]


def _items(steps: Steps, source: Value) -> Sequence[Value]:
    if source.op is Op.CONTAINER and (source.syntax is None or isinstance(source.syntax, cst.GeneratorExp)):
        items = [item for item in source.inputs if any(map(steps.is_step, _loops_between(item, source)))]
        return items if source.syntax is not None else _returned(steps, items)
    if source.op is not Op.CALL:
        return []
    if source.callee.op is Op.EXTERNAL:
        return _mapped(steps, source) if meaning_of(source.callee.name) is Meaning.APPLIES else []
    return [one for one in yielded_by(steps.solution, source) if any(map(steps.is_step, _around(one)))]


def _around(item: Value) -> list[Loop]:
    return item.loop.around() if item.loop is not None else []


def _loops_between(item: Value, source: Value) -> list[Loop]:
    """The loops in which an item is computed of what is made around them."""
    around = _around(item)
    return around[: around.index(source.loop)] if source.loop in around else around


def _returned(steps: Steps, items: Sequence[Value]) -> Sequence[Value]:
    """What functions return that a ``map`` calls for each item, of which nothing is written where it stands."""
    functions = (function for item in items if item.op is Op.CALL for function in steps.solution.functions_of(item))
    return [result for function in functions if not function.is_generator for result in choices(function.result)]


def _mapped(steps: Steps, call: Value) -> Sequence[Value]:
    """What ``map(step, loader)`` gives for each item, where that trains, or the items are batches."""
    if not call.arguments:
        return []
    task, *iterables = call.arguments
    atoms = steps.solution.final(task)
    functions = [atom.function for atom in atoms if isinstance(atom, FunctionReference)]
    if len(functions) != len(atoms) or any(function.is_generator for function in functions):
        return []
    is_step = any(map(steps.trains, functions)) or any(map(steps.is_loader, iterables))
    return [item for function in functions for item in choices(function.result)] if is_step else []
