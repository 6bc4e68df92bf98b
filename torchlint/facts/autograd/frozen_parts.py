"""Parts of networks that others froze: ``vae.requires_grad_(False)``, and then ``vae.encode(images)``."""

from __future__ import annotations

from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.parameters import is_frozen
from torchlint.facts.values.solve import Solution

__all__ = ["runs_for_frozen"]

HOPS = 4
"""So many methods of a network may call each other."""


def runs_for_frozen(solution: Solution, method: Function, hops: int = HOPS) -> bool:
    """Whether a function is a method of a module that is called of frozen ones alone, be it by another one of its."""
    is_of_module = method.owner is not None and is_module_class(method.owner)
    callers = solution.callers.get(method, ()) if is_of_module and hops else ()
    return bool(callers) and all(_is_called_of_frozen(solution, caller, method, hops) for caller in callers)


def _is_called_of_frozen(solution: Solution, caller: Value, method: Function, hops: int) -> bool:
    is_named = caller.callee.op is Op.ATTRIBUTE and not is_forward(method)
    called = (caller.callee.inputs[0] if is_named else called_object(caller)).unnarrowed()
    if called in caller.function.parameters[:1]:
        return runs_for_frozen(solution, caller.function, hops - 1)
    return is_frozen(solution, called)
