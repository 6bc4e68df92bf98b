"""The parts of one forward: loops in it run over layers, heads and time steps of one sequence, and not over steps.

What a forward is given belongs to its caller, who makes it anew for each step: a batch, a graph with its features.
"""

from __future__ import annotations

from torchlint.facts.values.domain import ClassReference
from torchlint.facts.values.frameworks import (
    is_called_each_step,
    is_forward,
    is_module,
    runs_without_gradients,
    trains_on_result,
)
from torchlint.facts.values.graph import Function, Op, Place, Value
from torchlint.facts.values.solve import Solution

DEPTH = 3
"""How many functions deep a helper of a forward is one."""

PARTS = (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT)
"""What is a part of something else."""


def is_within_forward(solution: Solution, function: Function, depth: int = DEPTH) -> bool:
    """Whether a function is the forward of a module, or nothing but forwards call it."""
    if is_forward(function):
        return True
    callers = {call.function for call in solution.callers.get(function, {})} - {function}
    return depth > 0 and bool(callers) and all(is_within_forward(solution, one, depth - 1) for one in callers)


def is_made_within_forward(solution: Solution, root: Value) -> bool:
    """Whether an object begins, at ``root``, in a forward: by a class, or as what a module gives, seen or not.

    It is another one in the next forward, whatever is put into its attributes.
    """
    if root.function.is_foreign:
        return root.op in (Op.CALL, Op.GIVEN)
    if root.op is not Op.CALL or not is_within_forward(solution, root.function):
        return False
    return any(isinstance(atom, ClassReference) or is_module(atom) for atom in solution.final(root.callee))


def is_given_anew(function: Function) -> bool:
    """Whether each call of a function of which no caller is seen is given other objects, by a module or a framework."""
    by_framework = is_called_each_step(function) or trains_on_result(function) or runs_without_gradients(function)
    return by_framework or is_forward(function)


def given_object(homes: list[Place | Value]) -> tuple[Value, bool] | None:
    """The parameter, or the call, by which a function gets the object that all these are, and whether they are parts.

    None where one of them is something else; ``self`` is no such parameter.
    """
    roots = {_root(home) for home in homes}
    if len({root for root, _ in roots}) != 1:
        return None
    origin = next(iter(roots))[0]
    if origin is None or _is_self(origin):
        return None
    return origin, all(is_part for _, is_part in roots)


def _root(home: Place | Value) -> tuple[Value | None, bool]:
    owner = home.owner if isinstance(home, Place) else home
    if not isinstance(owner, Value):
        return None, False
    is_part = isinstance(home, Place)
    while owner.op in PARTS or owner.op is Op.NARROWED:
        owner, is_part = owner.inputs[0], is_part or owner.op in PARTS
    if owner.op is Op.PHI and is_part and all(one.op is Op.CALL for one in owner.inputs):
        return owner, True  # what a call gave on every path
    return (owner, is_part) if owner.op is Op.PARAMETER or (owner.op is Op.CALL and is_part) else (None, False)


def _is_self(origin: Value) -> bool:
    function = origin.function
    return function.owner is not None and not function.is_static and origin in function.parameters[:1]
