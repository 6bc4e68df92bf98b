"""What a module is built by, wherever that stands in the file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.turns.handoffs import origins
from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import before_moves, gives_object_back
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts


def builders(facts: Facts, module: Value) -> list[Value]:
    """The calls that may have built ``module``, looked for through ``.to(device)`` and the like."""
    ways = reached(origins(facts, module), partial(_before_move, facts))
    return [value for value in ways if value.op is Op.CALL and not gives_object_back(value)]


def built_by(facts: Facts, module: Value) -> set[str]:
    """The names of what may have built ``module``, be it in the file of a class whose objects have it."""
    elsewhere = facts.graph.foreign.made
    found = {call.callee.name for call in builders(facts, module)}
    return found.union(*(elsewhere.get(value, ()) for value in origins(facts, module)))


def deciding(facts: Facts, call: Value) -> Sequence[Value]:
    """What of that which a CALL is given decides what it builds, be it by a function of the file.

    That a batch says where it is to lie, ``make(size, x)`` of ``return Bank(size).to(x.device)``, decides nothing.
    """
    functions = facts.solution.functions_of(call)
    made = [before_moves(one) for function in functions for one in choices(function.result)]
    if not made or len(made) != len(functions) or any(one.op is not Op.CALL for one in made):
        return call.inputs
    needed = {part for one in made for part in one.computed_from() if part.op is Op.PARAMETER}
    bound = [facts.solution.callers[function][call].items() for function in functions]
    return [given for pairs in bound for parameter, given in pairs if given is not None and parameter in needed]


def _before_move(facts: Facts, value: Value) -> list[Value]:
    return origins(facts, value.callee.inputs[0]) if gives_object_back(value) else []
