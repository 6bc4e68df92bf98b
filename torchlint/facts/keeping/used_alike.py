"""Objects of which nobody sees the class, used as those of a class of the file are: they may well be some of them.

``for metric in self.metrics: metric.update(scores, labels)`` of a list that a caller gives. That a method has the same
name says little, ``update`` is one of dictionaries as well; but an object that is reset, updated and asked for a result
by the methods that the class has, and by no other, is used as its author meant it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import Argument, Derived, Tensor, Unknown
from torchlint.facts.values.graph import Class, Function, Op, Place, Value
from torchlint.facts.values.parameters import star_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


def used_alike(facts: Facts, method: Function) -> Iterator[tuple[Value, list[Value]]]:
    """The calls by which unseen objects of a file may run a method that none of its calls is seen to run.

    Args:
        facts: the facts of the file.
        method: a method of a class of it.

    Yields:
        each call, with the calls of the other methods of the same objects: one at least.
    """
    cls = method.owner
    if cls is None or not method.parameters or any(_is_rival(one, cls, method) for one in facts.graph.classes):
        return
    for call in facts.calls():
        if call.callee.op is Op.ATTRIBUTE and call.callee.name == method.name and _may_take(method, call):
            others = _others(facts, call, cls) if _is_unseen(facts, call) else None
            if others:
                yield call, others


def _is_rival(other: Class, cls: Class, method: Function) -> bool:
    """Whether a class that is no kin of another one has a method of the same name: the objects may be of that."""
    is_kin = other.root() is cls.root() or not set(other.all_bases()).isdisjoint(cls.all_bases())
    return not is_kin and other.method(method.name) is not None


def _is_unseen(facts: Facts, call: Value) -> bool:
    """Whether nothing is known of the object whose method is called; an item of what is given may look as a tensor."""
    atoms = facts.solution.final(call.callee.inputs[0])
    unseen = Unknown | Argument | Derived | Tensor
    return not facts.solution.functions_of(call) and all(isinstance(atom, unseen) for atom in atoms)


def _may_take(method: Function, call: Value) -> bool:
    """Whether a method has parameters for all that a CALL gives, and needs no more."""
    told, given = method.parameters[1:], call.keys[1:]
    if None in given or len(given) > len(told) or any(map(star_of, told)):
        return False
    left = told[sum(isinstance(key, int) for key in given) :]
    named = {key for key in given if isinstance(key, str)}
    return named <= {one.name for one in left} and all(one.name in named or _has_default(one) for one in left)


def _has_default(parameter: Value) -> bool:
    return isinstance(parameter.syntax, cst.Param) and parameter.syntax.default is not None


def _others(facts: Facts, call: Value, cls: Class) -> list[Value] | None:
    """The calls of other methods of the same objects; None where the class lacks one of them, or a tensor has all."""
    mine = _whose(facts, call)
    calls = [one for one in facts.calls() if one.callee.op is Op.ATTRIBUTE and _whose(facts, one) == mine]
    names = {one.callee.name for one in calls}
    if any(cls.method(name) is None for name in names) or all(torch_api.method(name) for name in names):
        return None
    return [one for one in calls if one.callee.name != call.callee.name]


def _whose(facts: Facts, call: Value) -> tuple[frozenset[Place | Value], bool]:
    """Where the object comes from whose method is called, or what it is an item of; True for an item."""
    receiver, is_item = call.callee.inputs[0], False
    while (around := _around(receiver)) is not None:
        receiver, is_item = around, True
    places = facts.solution.read_from(receiver)
    return (frozenset(places) if places else frozenset([receiver])), is_item


def _around(value: Value) -> Value | None:
    """What a value is an item of; of a pair of ``metrics.items()`` it is the item that stands there."""
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name == "values":
        return value.callee.inputs[0]
    if value.op not in (Op.ELEMENT, Op.SUBSCRIPT):
        return None
    base, key = value.inputs[0], value.keys[0]
    is_pair = base.op is Op.CONTAINER and isinstance(key, int) and 0 <= key < len(base.inputs)
    return base.inputs[key] if is_pair and isinstance(key, int) else base
