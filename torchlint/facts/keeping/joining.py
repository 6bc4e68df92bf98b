"""Joins: functions that join what they are given (``def grown(old, new): ...``), and what a join begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.keeping.fates import FORMS, JOINS, VIEWS
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.choices import choices, with_joins
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.parameters import is_of_self
from torchlint.facts.values.torch_calls import WHOLE

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.values.solve import Solution

NESTING = 3
"""So many functions deep a form is looked through."""

FILLED = frozenset(f"torch.{name}" for name in ("zeros", "ones", "full", "empty", "zeros_like", "ones_like"))
"""Functions whose tensors hold nothing of the data."""


def is_join(call: Value) -> bool:
    """Whether a CALL makes one tensor of many."""
    return call.op is Op.CALL and call.callee.op is Op.EXTERNAL and call.callee.name in JOINS and bool(call.arguments)


def brought_beside(item: Value) -> Value:
    """What an item of a join is, wherever it is moved for that: ``torch.cat((rows.to(new.device), new))``."""
    if item.op is not Op.CALL or item.callee.op is not Op.ATTRIBUTE or item.callee.name != "to":
        return item
    where = item.argument(0, "device")
    is_place = where is not None and where.op is Op.ATTRIBUTE and where.name == "device"
    return item.callee.inputs[0] if is_place else item


def joined_by(facts: Facts, function: Function) -> tuple[int, ...]:
    """The parameters of a function, by position, that it joins in what it returns; none where it makes more of them."""
    for call in filter(is_join, _returned(function)):
        items = call.arguments[0].inputs if call.arguments[0].op is Op.CONTAINER else ()
        parameters = [_form_of(facts, item, NESTING) for item in items]
        found = tuple(i for i, parameter in enumerate(function.parameters) if parameter in parameters)
        if len(found) > 1 and len(found) == len(items):
            return found
    return ()


def _returned(function: Function) -> list[Value]:
    """What a function may return."""
    return choices(function.result) if not function.is_generator else []


def _form_of(facts: Facts, value: Value, depth: int) -> Value | None:
    """The parameter whose numbers a value holds in another form."""
    while value.op is Op.CALL:
        callee, functions = value.callee, facts.solution.functions_of(value)
        if functions:
            value_or_none = _passed_through(facts, value, functions[0], depth) if len(functions) == 1 else None
            if value_or_none is None:
                return None
            value = value_or_none
        elif callee.op is Op.ATTRIBUTE and callee.name in VIEWS:
            value = callee.inputs[0]
        elif callee.op is Op.EXTERNAL and callee.name in FORMS and value.arguments:
            value = value.arguments[0]
        else:
            return None
    return value if value.op is Op.PARAMETER else None


def _passed_through(facts: Facts, call: Value, function: Function, depth: int) -> Value | None:
    """What a CALL of a function gives for the parameter of which that returns a form."""
    forms = {_form_of(facts, choice, depth - 1) for choice in _returned(function)} if depth else set()
    form = forms.pop() if len(forms) == 1 else None
    if form is None or form not in function.parameters:
        return None
    return facts.solution.passed(call, function, function.parameters.index(form))


def lives_through(old: Value, by: Loop | Function) -> bool:
    """Whether what a variable held goes on in the next turn: that of a loop does so, and begins anew in each call."""
    joins = {value for value in with_joins([old]) if value.op is Op.PHI}
    return not joins or (isinstance(by, Loop) and not joins.isdisjoint(by.phis))


def joins_other_dimension(call: Value) -> bool:
    """``torch.cat((acc, out), dim=1)``: samples are joined along the first."""
    dimension = call.argument(1, "dim") if is_join(call) else None
    return dimension is not None and dimension.name != "0"


def begins_with_numbers(old: Value) -> bool:
    """Whether a tensor begins as an empty row of whole numbers: labels, of which each is a few bytes."""
    first = old.inputs[0] if old.op is Op.PHI else old
    dtype = first.argument(-1, "dtype") if first.op is Op.CALL else None
    return dtype is not None and dtype.name in WHOLE and not _has_columns(first)


def _has_columns(call: Value) -> bool:
    """``torch.empty(0, width)``, ``torch.zeros((0, width))``."""
    if call.callee.name not in ("torch.empty", "torch.zeros", "torch.ones"):
        return False
    sizes = [size for key, size in zip(call.keys[1:], call.arguments, strict=True) if isinstance(key, int)]
    return len(sizes) > 1 or any(size.op is Op.CONTAINER and len(size.inputs) > 1 for size in sizes)


def is_padding(new: Value) -> bool:
    """``torch.zeros(n, missing)``: what brings a tensor to its size collects nothing."""
    return new.op is Op.CALL and new.callee.name in FILLED


def of_collector(solution: Solution, old: Value, call: Value) -> Repetition | None:
    """``self.rows = torch.cat((self.rows, new))`` in a method that nobody here calls: it is made to be called again."""
    function = call.function
    if function.owner is None or is_module_class(function.owner) or solution.callers.get(function):
        return None
    is_collecting = is_of_self(old, function) and not function.name.startswith("__")
    return Repetition(function, Turn.INFERS, (call,)) if is_collecting else None
