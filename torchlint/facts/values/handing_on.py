"""What an object of a framework hands on of a function that it runs: ``engine.state.output`` is what that returned."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import (
    UNKNOWN,
    Abstract,
    Argument,
    Derived,
    FrameworkObject,
    FunctionReference,
    join,
    sorted_values,
)
from torchlint.facts.values.framework_objects import rows_of
from torchlint.facts.values.frameworks import promises
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.frameworks import ROWS, Holds, Row, method_names

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


@cache
def _last_names() -> frozenset[str]:
    """The last names of all attributes that hand a result on: most attributes have another one."""
    paths = (path for row in ROWS if row.holds is Holds.HANDS_ON for path in row.methods)
    return frozenset(path.rpartition(".")[2] for path in paths)


def results_behind(solution: Solution, value: Value) -> list[Value]:
    """The results of functions of which an ATTRIBUTE is the last one, where a framework promises it."""
    if value.name not in _last_names():
        return []
    return [
        atom.function.result
        for given in _run_by_owner(solution, value)
        for atom in sorted_values(solution.of(given))
        if isinstance(atom, FunctionReference) and atom.function.result is not None
    ]


def _run_by_owner(solution: Solution, value: Value) -> Iterator[Value]:
    """What the object of which ``value`` is an attribute, maybe of an attribute, was given to run when it was made."""
    base, path = value, ""
    while base.op is Op.ATTRIBUTE:
        path = f"{base.name}.{path}" if path else base.name
        base = base.inputs[0]
        for atom in sorted_values(solution.of(base)):
            if isinstance(atom, FrameworkObject) and atom.allocation is not None:
                rows = (row for row in promises(atom.name, Holds.HANDS_ON) if path in row.methods)
                given = (atom.allocation.argument(*row.argument) for row in rows)
                yield from (argument for argument in given if argument is not None)


def handed_on(solution: Solution, value: Value) -> Abstract | None:
    """What an ATTRIBUTE is that hands on what a function returned; of what that was given nothing is known."""
    results = results_behind(solution, value)
    for result in results:
        solution.watch(result, value)
    if not results:
        return None
    returned = join(map(solution.of, results))
    symbolic = frozenset(atom for atom in returned if isinstance(atom, Argument | Derived))
    return returned - symbolic | UNKNOWN if symbolic else returned


def handlers_of(solution: Solution, call: Value, holds: Holds) -> list[Function]:
    """The functions that ``engine.on(event)`` decorates, or ``engine.add_event_handler(event, f)`` is given."""
    return [function for function, _ in bound_handlers(solution, call, holds)]


def bound_handlers(solution: Solution, call: Value, holds: Holds) -> list[tuple[Function, bool]]:
    """The :func:`handlers_of` a CALL, each with whether its first parameter is already given."""
    if call.callee.op is not Op.ATTRIBUTE or call.callee.name not in method_names(holds):
        return []
    known = (row for row in rows_of(solution, call.callee.inputs[0], holds) if call.callee.name in row.methods)
    rows = [row for row in known if _is_at_event(call, row)]
    given = [argument for row in rows if (argument := call.argument(*row.argument)) is not None]
    references = [atom for value in given for atom in sorted_values(solution.of(value))]
    found = [(atom.function, atom.bound) for atom in references if isinstance(atom, FunctionReference)]
    decorated = next((function for by, function in solution.graph.decorated if by is call), None) if rows else None
    return found if decorated is None else [*found, (decorated, False)]


def is_of_some_events(call: Value) -> bool:
    """Whether the event that a CALL names is restricted: ``Events.ITERATION_COMPLETED(every=500)``, ``(once=1)``."""
    event = call.argument(0)
    return event is not None and event.op is Op.CALL and bool(event.arguments)


def is_of_one_event(call: Value) -> bool:
    """Whether the event that a CALL names comes once in a run: ``Events.EPOCH_COMPLETED(once=5)``."""
    event = call.argument(0)
    return event is not None and event.op is Op.CALL and "once" in event.keys


def _is_at_event(call: Value, row: Row) -> bool:
    """Whether the event that a CALL names is one of those of which a row is true."""
    event = call.argument(0)
    while event is not None and event.op is Op.CALL:  # `Events.ITERATION_COMPLETED(every=10)`
        event = event.callee
    if event is None or not row.events:
        return not row.events
    told = f".{event.name}"  # a framework in the project itself has the event as an attribute of its class
    return any(fnmatchcase(told, f"*.{name}") for name in row.events)


def receiving_parameter(function: Function, *, bound: bool) -> Value | None:
    """The parameter of a handler that gets the object which calls it; one without parameters is called without."""
    return next(iter(function.for_arguments(bound=bound)), None)
