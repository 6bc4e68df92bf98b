"""States that an object of the program's own takes over as they are: `self.rows = state["rows"]` copies nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Instance
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.running import run_by
from torchlint.syntax.filling_names import INSERTING

if TYPE_CHECKING:
    from torchlint.facts import Facts

BINDING = frozenset(["get", "pop", "items", "values", "keys", "to", "cuda", "cpu"]) | INSERTING
"""Methods of a dict, a list or a tensor that take a part, put it somewhere, or give the very same tensor back."""


def adopts(facts: Facts, call: Value) -> bool:
    """Whether a CALL of ``load_state_dict`` runs the program's own code, and none of that copies a tensor.

    What was loaded is then what the object works with afterwards, and is there once.
    """
    if not facts.solution.functions_of(call) or call.callee.op is not Op.ATTRIBUTE:
        return False
    receivers = facts.solution.final(call.callee.inputs[0])
    return all(isinstance(atom, Instance) for atom in receivers) and all(
        not function.is_foreign and all(_binds(facts, inner) for inner in _given_state(facts, function))
        for function in run_by(facts.steps, [call])
    )


def _given_state(facts: Facts, function: Function) -> Iterator[Value]:
    """The calls in a function that work with something it was given."""
    given = frozenset(function.parameters[1:] if function.owner is not None else function.parameters)
    for call in facts.steps.calls_in(function):
        if any(not given.isdisjoint(source.computed_from()) for source in (call.callee, *call.arguments)):
            yield call


def _binds(facts: Facts, call: Value) -> bool:
    """Whether a call only takes parts, binds them or looks at them, as far as it is not followed itself."""
    if facts.solution.functions_of(call):
        return True
    if call.callee.op is Op.ATTRIBUTE:
        return call.callee.name in BINDING
    return call.callee.op is Op.EXTERNAL and call.callee.name.startswith(("builtins.", "collections."))
