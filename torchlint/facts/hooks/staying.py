"""Whether what is hooked in each turn is the same object each time, and not made anew together with its hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.autograd.trained_tensors import given_one_by_one
from torchlint.facts.hooks.subjects import gives_part
from torchlint.facts.turns.turn import Repetition
from torchlint.facts.values.domain import History, Instance, Module, Tensor
from torchlint.facts.values.graph import Loop, Op, Value
from torchlint.facts.values.homes import stored_at

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.hooks.registrations import Registration


def stays(facts: Facts, registration: Registration, repetition: Repetition) -> bool:
    """Whether the object with the hook is the same in each turn."""
    subject, by = registration.subject, repetition.by
    if subject is None:
        return True
    subjects = facts.hook_lifetimes.subjects
    way = list(subjects.way(subject, repetition.chain))
    if registration.is_of_tensor and not _is_lasting_leaf(facts, subject, way):
        return False
    for value in way:
        if isinstance(by, Loop) and value.op is Op.ELEMENT and value.loop is by:
            return False  # another object in each turn
        is_made = value.op is Op.CALL and not gives_part(value) and not subjects.looked_up_in(value)
        if is_made and _is_within(value, repetition):
            return False
    looked_up = (inner for value in way if value.op is Op.CALL for inner in subjects.inside(value))
    read = (value for value in (*way, *looked_up) if value.op is Op.ATTRIBUTE)
    return not any(_is_made_anew(facts, value, repetition) for value in read)


def _is_within(made: Value, repetition: Repetition) -> bool:
    """Whether a CALL stands in the loop that repeats, or in a function that a turn enters on the way to the hook."""
    by = repetition.by
    outer = by.function if isinstance(by, Loop) else None
    inner = {call.function for call in repetition.chain if call.function is not outer}
    in_loop = isinstance(by, Loop) and made.loop is not None and by in made.loop.around()
    return made.function in inner or in_loop


def _is_made_anew(facts: Facts, attribute: Value, repetition: Repetition) -> bool:
    """Whether an attribute holds what each turn makes anew: ``self.model = build()``, and not only the first."""
    kept = stored_at(facts.solution, attribute)
    roots = {root for one in kept for root in facts.identity.roots(one) if root.op is Op.CALL}
    return any(_is_within(root, repetition) and facts.repetitions.of(root) is not None for root in roots)


def _is_lasting_leaf(facts: Facts, subject: Value, way: list[Value]) -> bool:
    """Whether a tensor is a parameter, or another leaf made before; what is computed goes with its step."""
    if any(value.op is Op.CALL and value.callee.name.endswith("parameters") for value in way):
        return True  # be it that a function is given them, and does not know
    atoms = facts.solution.final(subject)
    is_leaf = all(isinstance(atom, Tensor) and atom.history is History.LEAF for atom in atoms)
    if not is_leaf and not _is_part_that_trains(facts, subject):
        return False
    return not any(v.op in (Op.ELEMENT, Op.SUBSCRIPT) and not _is_module(facts, v) for v in way)


def _is_part_that_trains(facts: Facts, tensor: Value) -> bool:
    """Whether an optimizer is given it by itself, out of the same object: ``Adam([self.table.weight])``."""
    if tensor.op is not Op.ATTRIBUTE:
        return False
    owners = _same_at_all_times(facts, tensor.inputs[0])
    given = map(_told_of_gradients, given_one_by_one(facts))
    same = (one for one in given if one.op is Op.ATTRIBUTE and one.name == tensor.name)
    return any(not owners.isdisjoint(_same_at_all_times(facts, one.inputs[0])) for one in same)


def _same_at_all_times(facts: Facts, value: Value) -> set[Value]:
    """What a value is, as far as one thing alone is ever kept in the attribute that it is read of."""
    kept = stored_at(facts.solution, value)
    return {value, *kept} if len(kept) == 1 else {value}


def _told_of_gradients(value: Value) -> Value:
    """``weight`` of ``weight.requires_grad_()``, which is the same tensor."""
    told = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name == "requires_grad_"
    return value.callee.inputs[0] if told else value


def _is_module(facts: Facts, value: Value) -> bool:
    return all(isinstance(atom, Module | Instance) for atom in facts.solution.final(value))
