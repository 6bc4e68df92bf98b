"""What a layer sums up for its driver: another of its methods uses it and begins it anew, who knows how often."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.facts.turns.lifetimes import Lifetimes
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Op, Place, Value


def is_used_up_elsewhere(lifetimes: Lifetimes, function: Function, homes: Sequence[Place | Value]) -> bool:
    """Whether a layer sums up what a method of it uses and sets anew that nobody here is seen to call.

    ``decoder.move_centers()`` after each batch: how often that runs is up to whoever trains the layer. A method that
    only sets it anew, ``reset()``, is called once in an epoch, if it is.

    Args:
        lifetimes: knows who sets what anew.
        function: adds to it.
        homes: where it is kept.
    """
    solution, places = lifetimes.solution, {home for home in homes if isinstance(home, Place)}
    if function.owner is None or not is_module_class(function.owner) or not places.isdisjoint(lifetimes.buffers):
        return False
    ending = {method for method in lifetimes.resetters(list(places)) if not solution.callers.get(method)}
    ending = {method for method in ending - {function} if method.owner is not None and method.name != "__init__"}
    reads = (value for value in solution.graph.of(Op.READ, Op.ATTRIBUTE) if ending and value.function in ending)
    return any(not places.isdisjoint(solution.read_from(value)) and _is_used(value) for value in reads)


def _is_used(value: Value) -> bool:
    """Whether more is made of a value than another one of its size: ``torch.zeros_like(total)``."""
    return any(user.op is not Op.CALL or not user.callee.name.endswith("_like") for user in value.users)
