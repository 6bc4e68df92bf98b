"""What an attribute holds of one object, where the methods of several objects of a class are given different things."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import (
    OF_CLASSES,
    PLAIN,
    SYMBOLIC,
    UNKNOWN,
    Abstract,
    Atom,
    ClassReference,
    FunctionReference,
    Instance,
    join,
)
from torchlint.facts.values.graph import Function, Op, Place, Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


def of_this_object(solution: Solution, read: Value, kept: Abstract) -> Abstract:
    """What an ATTRIBUTE of an object may be, of all that its class keeps under the name.

    A meter of losses and one of hits share the class, and by it what ``update`` is given. Where the object is made in
    the same function, calls on objects that are made elsewhere tell nothing of it; what is given on objects of unknown
    origin may be given to it.
    """
    made = read.inputs[0]
    symbolic = [a for a in kept if isinstance(a, SYMBOLIC)] if made.op is Op.CALL else []
    if not symbolic or not _is_new(solution, made):
        return kept
    parts = [kept.difference(symbolic)]
    for atom in symbolic:
        function = atom.parameter.function
        solution.watch(function, read)
        calls = solution.callers.get(function, {})
        if function.owner is None or not calls:
            return kept
        for call, binding in list(calls.items()):
            receiver = call.callee.inputs[0] if call.op is Op.CALL and call.callee.op is Op.ATTRIBUTE else call
            if receiver is made or not _is_new(solution, receiver):
                given = binding.get(atom.parameter)
                solution.watch(given if given is not None else call, read)
                parts.append(solution.calls.substitution.of(call, atom, function, binding))
    return join(parts)


def of_its_calls(solution: Solution, read: Value, held: Abstract, function: Function) -> Abstract:
    """What an item is of that which a function of another file returns: its parameters are what this file passes."""
    symbolic = [a for a in held if isinstance(a, SYMBOLIC) and a.parameter.function is function]
    if not symbolic:
        return held
    solution.watch(function, read)
    parts = [held.difference(symbolic)]
    for call, binding in list(solution.callers.get(function, {}).items()):
        for atom in symbolic:
            given = binding.get(atom.parameter)
            solution.watch(given if given is not None else call, read)
            passed = solution.calls.substitution.of(call, atom, function, binding)
            parts.append(passed if UNKNOWN.isdisjoint(passed) else frozenset([atom]))  # still of what is not known
    return join(parts)


def with_what_was_there(found: Abstract, places: list[Place]) -> Abstract:
    """What an attribute of an object of unknown origin may be, of which ``found`` is what the file puts there.

    ``total = total + layer.kl; layer.kl = None``: who made the object left something there before.
    """
    is_cleared = bool(found) and found <= PLAIN and any(isinstance(place.owner, Value) for place in places)
    return found | UNKNOWN if is_cleared else found


def of_an_object(found: Abstract, name: str) -> Abstract:
    """What an attribute of an object is, of which ``found`` stands in its class: methods have their object there."""
    return frozenset(
        replace(atom, bound=not atom.function.is_static)
        if isinstance(atom, FunctionReference)
        and atom.function.owner is not None
        and atom.function.owner.methods.get(name) is atom.function
        else atom
        for atom in found
    )


def as_receiver(method: Function, receiver: Atom, given: Abstract) -> Abstract:
    """What a call of a method gives, of what it gives to all: ``return self`` gives the object that was asked.

    In the method of a base class that is any object of it; ``Tagger(8).place(device)`` is a tagger, and so is
    ``Tagger.made_for(device)`` where that gives ``cls(device)``.
    """
    if not isinstance(receiver, OF_CLASSES) or receiver.cls is method.owner or method.result is None:
        return given
    made, itself = Instance(receiver.cls), Instance(method.owner or receiver.cls)
    returned = [one.unnarrowed() for one in method.result.inputs]
    objects = [one.callee if isinstance(receiver, ClassReference) and one.op is Op.CALL else one for one in returned]
    if itself not in given or set(method.parameters[:1]).isdisjoint(objects):
        return given
    return given - {itself} | {made}


def _is_new(solution: Solution, value: Value) -> bool:
    """Whether a value is a new object of a class of the project: ``Meter("loss")``."""
    return value.op is Op.CALL and any(isinstance(atom, ClassReference) for atom in solution.of(value.callee))
