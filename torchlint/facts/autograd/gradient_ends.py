"""Where ``autograd.grad`` goes to: to a tensor that its own step made, and so through no step before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.autograd.chains import DEPTH
from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Backward, Loop, Op, Value
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.torch_calls import ALIASING

if TYPE_CHECKING:
    from torchlint.facts import Facts

__all__ = ["ends_in_its_step"]


def ends_in_its_step(facts: Facts, backward: Backward, old: Value) -> bool:
    """Whether ``autograd.grad`` goes only to tensors that are made in the turn that reads the ``old`` state.

    Args:
        facts: what is known of the file.
        backward: a backward of the file; one of ``loss.backward()`` goes to all parameters.
        old: the state that the step before left.
    """
    ends = backward.inputs if not backward.retains else ()
    return bool(ends) and all(
        _is_made_beside(facts, one, backward, old) and old not in facts.flows.ancestry.of(one)
        for end in ends
        for one in choices(end)
    )


def _is_made_beside(facts: Facts, end: Value, backward: Backward, old: Value) -> bool:
    function, loop, is_told = backward.function, backward.loop, False
    for _ in range(DEPTH):
        made = _before_requires_grad(end)
        is_told |= any(user.op is Op.ATTRIBUTE and user.name == "requires_grad_" for user in made.users)
        if made.op is not Op.PARAMETER:
            break
        calls = list(facts.solution.callers.get(made.function, {}).items())
        given = calls[0][1].get(made) if len(calls) == 1 else None
        if given is None:
            return False
        end, function, loop = given, calls[0][0].function, calls[0][0].loop
    # What requires grad by that method, and is no module since a gradient is asked for it, is one tensor.
    is_tensor = is_told or made is not end or facts.flows.surely_tensor(end)
    is_new = unpacked(made).op in (Op.CALL, Op.ELEMENT) or _is_part_of_tensor(facts, made)
    if not is_tensor or not is_new or made.function is not function:
        return False
    return made.loop is loop or (old.function is made.function and _loops(old) <= _loops(made))


def _is_part_of_tensor(facts: Facts, value: Value) -> bool:
    """Whether a value is a new tensor by its index; what is taken out of a list is as old as what was put there."""
    if value.op is not Op.SUBSCRIPT:
        return False
    whole = value.inputs[0]
    return facts.flows.surely_tensor(whole) or (whole.op is Op.CALL and whole.callee.name in ALIASING)


def _before_requires_grad(value: Value) -> Value:
    """``x`` of ``x.requires_grad_()``."""
    while value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name == "requires_grad_":
        value = value.callee.inputs[0]
    return value


def _loops(value: Value) -> set[Loop]:
    return set(value.loop.around()) if value.loop is not None else set()
