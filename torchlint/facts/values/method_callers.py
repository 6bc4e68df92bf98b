"""``operator.methodcaller``: what calls a method, by its name, of whatever it is given.

``call = methodcaller("step", closure)``: ``call(optimizer)`` is ``optimizer.step(closure)``. Like a partial it has its
arguments from where it is made: https://docs.python.org/3/library/operator.html#operator.methodcaller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Partial, sorted_values
from torchlint.facts.values.graph import Value
from torchlint.facts.values.literals import literal

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

MAKER = "operator.methodcaller"
"""The function that makes one."""


def method_callers(solution: Solution, call: Value, name: str) -> list[Partial]:
    """What a CALL with one argument may call that asks this for the method ``name``."""
    if len(call.arguments) != 1:
        return []
    partials = [atom for atom in sorted_values(solution.final(call.callee)) if isinstance(atom, Partial)]
    return [
        one
        for one in partials
        if one.allocation.callee.name == MAKER and literal(solution, one.allocation.argument(0)) == name
    ]
