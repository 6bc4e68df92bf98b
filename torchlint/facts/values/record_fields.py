"""Fields of the very records that a value may be: ``batch.reward`` of a batch that a replay memory has made anew.

All objects of a class share what is known of its attributes. Of a named tuple or a data class, which take what they are
made with, the calls that made the one at hand say more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import ClassReference, Instance
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.homes import allocations_of, stored_at
from torchlint.facts.values.parameters import gathers, is_own_object, spread_as, star_of
from torchlint.facts.values.reaching import ends, reached

if TYPE_CHECKING:
    from torchlint.facts.values.known import Known

INITIALIZER = "__init__"

CHOOSING = frozenset(["random.sample", "random.choices", "builtins.list", "builtins.tuple", "builtins.sorted"])
"""Functions that give some of the rows that they are given."""

NESTING = 3
"""So many records made of records are looked through."""


def given_for_field(solution: Known, field: Value) -> list[Value] | None:
    """What the records were made with of which an ATTRIBUTE is read.

    Args:
        solution: knows what functions return, who calls them, and which class is called.
        field: the ATTRIBUTE.

    Returns:
        what each of the calls that may have made the record has passed for it; None where one is not seen, or where
        the class is none that only takes what it is given.
    """
    kept = stored_at(solution, field)
    if len(kept) != 1 or not _is_of_record(kept[0]):
        return None
    return _given(solution, field.inputs[0], kept[0], NESTING)


def is_read_where_made(solution: Known, field: Value, given: Sequence[Value]) -> bool:
    """Whether the record of which an ATTRIBUTE is read comes from who makes it of that, and out of no container.

    Args:
        solution, field: as of :func:`given_for_field`.
        given: what that gives.
    """
    (kept,) = stored_at(solution, field)
    made = list(ends([field.inputs[0]], partial(_behind, solution, kept.function)))
    written = {argument for one in made for argument in one.arguments}
    return all(_makes(solution, kept.function.owner, one) for one in made) and written.issuperset(given)


def calls_between(solution: Known, field: Value) -> list[Value]:
    """The calls that give on the record of which an ATTRIBUTE is read, from who reads it to who makes it.

    Args:
        solution, field: as of :func:`given_for_field`, where that knows what the records were made with.

    Returns:
        ``out = net(batch)`` of ``out.loss``, where a forward returns the record; not what makes it.
    """
    (kept,) = stored_at(solution, field)
    behind = reached([field.inputs[0]], partial(_behind, solution, kept.function))
    giving = (one.inputs[0] if one.op in (Op.ELEMENT, Op.SUBSCRIPT) else one for one in behind)
    return [one for one in giving if one.op is Op.CALL and not _makes(solution, kept.function.owner, one)]


def makes_record(solution: Known, call: Value) -> bool:
    """Whether a CALL makes nothing but a named tuple, or an object of a data class, of what it is given."""
    functions = solution.functions_of(call)
    return bool(functions) and not any(function.is_written for function in functions)


def makers_of(solution: Known, record: Value) -> list[Value]:
    """The calls that make a record, be it returned by others: of a named tuple, or an object of a data class.

    Args:
        solution: as of :func:`given_for_field`.
        record: what may be one.

    Returns:
        those that are seen; nothing for all else.
    """
    classes = {atom.cls for atom in solution.final(record) if isinstance(atom, Instance) and atom.cls.is_record()}
    initializers = (cls.method(INITIALIZER) for cls in sorted(classes, key=lambda cls: cls.number))
    return [
        made
        for initializer in initializers
        if initializer is not None
        for made in ends([record], partial(_behind, solution, initializer))
        if _makes(solution, initializer.owner, made)
    ]


def _given(solution: Known, record: Value, taken: Value, depth: int) -> list[Value] | None:
    """What the calls that may have made a record have passed for a parameter; None where one is not seen."""
    initializer = taken.function
    made = list(ends([record], partial(_behind, solution, initializer)))
    if any(call.function.is_foreign for call in made):
        return None  # of another file a summary says what is made there, and not of what
    given: list[Value] = []
    for call in made:
        passed = solution.callers.get(initializer, {}).get(call, {}).get(taken)
        known = [passed] if passed is not None and not gathers(passed) else None
        if known is None and depth:
            known = _spread(solution, call, taken, depth)
        if known is None:
            return None
        given += known
    return given if made else None


def _spread(solution: Known, call: Value, taken: Value, depth: int) -> list[Value] | None:
    """What one value that a CALL spreads has for a parameter: ``Step(*values)``, ``Step(*zip(*rows))``."""
    spread = spread_as(call, "*")
    if len(spread) != 1 or list(call.arguments) != spread:
        return None
    position = taken.function.parameters.index(taken) - 1
    if star_of(spread[0]) == "*":
        return _taken_by_star(solution, spread[0], position)
    rows = _turned(spread[0])
    items = [one for made in allocations_of(solution, rows) for _, one in solution.held.get(made, ())] if rows else []
    found = [_given(solution, item.unnarrowed(), taken, depth - 1) for item in items]
    known = [one for one in found if one is not None]
    return [value for one in known for value in one] if items and len(known) == len(items) else None


def _taken_by_star(solution: Known, values: Value, position: int) -> list[Value] | None:
    """What calls pass by position for the items of a starred parameter, at one of these."""
    first = values.function.parameters.index(values) - (values.function.owner is not None) + position
    given: list[Value] = []
    for call in solution.callers.get(values.function, {}):
        if None in call.keys[1:] or first not in call.keys[1:]:
            return None
        given.append(call.arguments[call.keys[1:].index(first)])
    return given or None


def _turned(columns: Value) -> Value | None:
    """The rows of ``zip(*rows)``, or from which some are chosen there."""
    is_zip = columns.op is Op.CALL and columns.callee.name == "builtins.zip"
    spread = spread_as(columns, "*") if is_zip else []
    if len(spread) != 1 or list(columns.arguments) != spread:
        return None
    rows = spread[0]
    while rows.op is Op.CALL and rows.callee.name in CHOOSING and rows.arguments:
        rows = rows.arguments[0]
    return rows


def _is_of_record(kept: Value) -> bool:
    """Whether a value is a parameter of an ``__init__`` that nobody wrote: of a named tuple, a data class."""
    return kept.op is Op.PARAMETER and kept.function.name == INITIALIZER and not kept.function.is_written


def _behind(solution: Known, initializer: Function, value: Value) -> Sequence[Value]:
    """What a record may be, one step back; nothing for the call that makes it, and for what is not seen."""
    if _makes(solution, initializer.owner, value):
        return ()
    if value.op is Op.PARAMETER:
        return solution.arguments_of(value) or _receivers(solution, value)
    if value.op in (Op.PHI, Op.NARROWED):
        return value.inputs
    if value.op in (Op.READ, Op.ATTRIBUTE):
        return stored_at(solution, value)
    if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
        return _items_returned(solution, value)
    results = [function.result for function in solution.functions_of(value)] if value.op is Op.CALL else []
    return [one for one in results if one is not None] if None not in results else ()


def _items_returned(solution: Known, item: Value) -> Sequence[Value]:
    """What functions return as one item of several, ``logits, state = net.step(x, state)``; nothing if not seen."""
    call, key = item.inputs[0], item.keys[0]
    functions = solution.functions_of(call) if call.op is Op.CALL and key is not None else ()
    returned = [choice for function in functions for choice in choices(function.result)]
    written = [dict(zip(one.keys, one.inputs, strict=True)) for one in returned if one.op is Op.CONTAINER]
    items = [one[key] for one in written if key in one and None not in one]
    return items if len(items) == len(returned) else ()


def _receivers(solution: Known, parameter: Value) -> Sequence[Value]:
    """The objects of which calls ask for a method, for its ``self``; none where one is not seen."""
    method = parameter.function
    if not is_own_object(parameter):
        return ()
    found = [solution.passed(call, method, 0) for call in solution.callers.get(method, {})]
    known = [one for one in found if one is not None]
    return known if len(known) == len(found) else ()


def _makes(solution: Known, cls: Class | None, call: Value) -> bool:
    """Whether a CALL makes an object of a class."""
    atoms = solution.final(call.callee) if call.op is Op.CALL else ()
    return bool(atoms) and all(isinstance(atom, ClassReference) and atom.cls is cls for atom in atoms)
