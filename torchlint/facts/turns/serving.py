"""What a web server calls once, as it starts: its handlers of that event, its lifespan before the first request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import FunctionReference
from torchlint.facts.values.frameworks import promises
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.literals import literal
from torchlint.frameworks import Holds, Row
from torchlint.syntax.tree import walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts

HOPS = 4
"""How many callers up a start is looked for."""

BEGINNING = "startup"
"""The name of the event."""


def runs_at_start(facts: Facts, call: Value, hops: int = HOPS) -> bool:
    """Whether a CALL runs as a server starts, before it answers its first request."""
    if any(function is call.function and _stands_before_yield(call) for function in _start_handlers(facts)):
        return True
    callers = facts.solution.callers.get(call.function, ()) if hops else ()
    return any(runs_at_start(facts, caller, hops - 1) for caller in callers)


def _start_handlers(facts: Facts) -> list[Function]:
    """The functions that an object of a web framework is given to call as it starts."""
    calls = [call for call in facts.calls() if _takes_start_handler(facts, call)]
    atoms = (atom for call in calls for argument in call.arguments for atom in facts.solution.final(argument))
    return [*decorated_by(facts, calls), *(atom.function for atom in atoms if isinstance(atom, FunctionReference))]


def decorated_by(facts: Facts, calls: Iterable[Value]) -> list[Function]:
    """The functions of the file of which one of some CALLs is a decorator."""
    decorators = {call.syntax for call in calls}
    return [
        function
        for function in facts.graph.functions
        if isinstance(function.syntax, cst.FunctionDef)
        and any(decorator.decorator in decorators for decorator in function.syntax.decorators)
    ]


def _takes_start_handler(facts: Facts, call: Value) -> bool:
    """``FastAPI(lifespan=lifespan)``, ``app.on_event("startup")``, ``app.add_event_handler("startup", load)``."""
    if call.callee.op is Op.EXTERNAL:
        rows = (row for row in promises(call.callee.name, Holds.STARTS) if not row.methods)
        return any(call.argument(*row.argument) is not None for row in rows)
    return any(
        literal(facts.solution, call.argument(*row.argument)) == BEGINNING
        for row in rows_of_method(facts, call.callee, Holds.STARTS)
    )


def rows_of_method(facts: Facts, method: Value, holds: Holds) -> list[Row]:
    """The rows that say it of a method of an object that the file, or one that it has it of, makes of a class."""
    name = method.name.rpartition(".")[2]
    return [row for cls in _classes_of(facts, method) for row in promises(cls, holds) if name in row.methods]


def _classes_of(facts: Facts, method: Value) -> list[str]:
    """What was called to make the object of a method: in this file, or in the one that it is imported from."""
    if method.op is Op.EXTERNAL:
        return facts.graph.foreign.globals_made.get(method.name.rpartition(".")[0], [])
    if method.op is not Op.ATTRIBUTE:
        return []
    made = [method.inputs[0]]
    if made[0].place is not None:
        made = facts.solution.stored.get(made[0].place, [])
    return [value.callee.name for value in made if value.op is Op.CALL]


def _stands_before_yield(call: Value) -> bool:
    """Whether a call of a function stands before that yields for the first time."""
    for node in walk_scope(call.function.syntax):
        if node is call.syntax:
            return True
        if isinstance(node, cst.Yield):
            return False
    return True
