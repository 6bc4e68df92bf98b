"""Which functions make what they return: a builder gives another object with each call, an accessor the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import ClassReference, External
from torchlint.facts.values.frameworks import is_module_class, may_be_module
from torchlint.facts.values.graph import Class, Function, Kind, Op, Value
from torchlint.facts.values.parameters import before_moves

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

ADDING = frozenset(["add_module", "register_module"])
"""Methods of a module that make what they are given one of its layers."""


DEPTH = 3
"""How many functions deep a builder is followed: ``BUILDERS[name](classes)``."""


def makes(solution: Solution, function: Function, depth: int = DEPTH) -> bool:
    """Whether what a function returns is made in it, or in what it calls, on every path and with each call."""
    if function.is_foreign:
        is_made = solution.graph.foreign.makers.get(function)
        return is_made is not None and is_made()
    if function.result is None or not may_build(solution, function):
        return False
    return _is_made(solution, function.result, depth) and not keeps_what_it_gives(solution, function)


def may_build(solution: Solution, function: Function) -> bool:
    """Whether nothing about a function says that it gives what was there before, or that many calls give one object."""
    return not (function.is_generator or is_remembered(function) or _gives_own_kind(solution, function))


def keeps_what_it_gives(solution: Solution, function: Function) -> bool:
    """Whether a function adds what it returns to layers that it was given: ``self.heads.add_module(name, head)``.

    Who calls it has one more each time, and not another one.
    """
    given = set(map(before_moves, choices(function.result)))
    kept = [
        (store.holder, store.value, False)
        for store in solution.graph.stores_in(function)
        if store.kind is Kind.INSERT and store.holder is not None
    ]
    kept += [
        (user.callee.inputs[0], argument, True)
        for value in given
        for user in value.users
        if user.op is Op.CALL and user.callee.op is Op.ATTRIBUTE and user.callee.name in ADDING
        for argument in user.arguments
    ]
    return any(
        before_moves(value) in given
        and _root(holder) in function.parameters
        and (may_be_module(solution, holder) or has_layers)
        for holder, value, has_layers in kept
        if holder is not None
    )


def _gives_own_kind(solution: Solution, function: Function) -> bool:
    """Whether a method of a network gives another of its own class that is made of the weights it has.

    learn2learn's ``maml.clone()`` is one: such a copy is trained through, another network would not do.
    """
    owner = function.owner
    if owner is None or not is_module_class(owner) or function.is_static or not function.parameters:
        return False
    built = [value for value in map(before_moves, choices(function.result)) if value.op is Op.CALL]
    return any(
        _is_akin(solution, call, owner) and any(_is_part_of(given, function.parameters[0]) for given in call.arguments)
        for call in built
    )


def _is_akin(solution: Solution, call: Value, owner: Class) -> bool:
    """Whether a CALL makes an object of ``owner``, of one of its bases or of a class that has it as a base."""
    made = (atom.cls for atom in solution.final(call.callee) if isinstance(atom, ClassReference))
    return any(cls in owner.lineage() or owner in cls.lineage() for cls in made)


def _is_part_of(given: Value, owner: Value) -> bool:
    """Whether ``given`` is what a function that is not Python's own makes of ``owner`` or of one of its parts."""
    if given.op is not Op.CALL or given.callee.name.startswith("builtins."):
        return False
    return any(_root(argument) is owner for argument in given.arguments)


def _root(value: Value) -> Value:
    while value.op is Op.ATTRIBUTE:
        value = value.inputs[0]
    return value


def is_remembered(function: Function) -> bool:
    """Whether a decorator keeps what ``function`` returned, so that it runs once for each argument; one unseen may."""
    if function.is_memoised or function.is_replaced:
        return True
    return any("cache" in name.rpartition(".")[2] for name in function.decorators)


def _is_made(solution: Solution, result: Value, depth: int) -> bool:
    """Whether a result is made where it is returned, or is a tuple of what is made there."""
    pending, seen = [result], set[Value]()
    while pending:
        value = _whole(solution, before_moves(pending.pop()))
        if value in seen:
            continue
        seen.add(value)
        if value.op is Op.PHI or (value.op is Op.CONTAINER and isinstance(value.syntax, cst.Tuple)):
            pending.extend(value.inputs)
        elif value.function is not result.function or not _is_construction(solution, value, depth):
            return False
    return len(seen) > 1


def _whole(solution: Solution, value: Value) -> Value:
    """The network of which a value is a part: ``vgg16()`` of ``vgg16().features[:16]``."""
    whole = value
    while whole.op in (Op.ATTRIBUTE, Op.SUBSCRIPT):
        whole = before_moves(whole.inputs[0])
    is_part = all(may_be_module(solution, one) for one in (value, whole))
    return whole if is_part else value


def _is_construction(solution: Solution, value: Value, depth: int) -> bool:
    """Whether a value is what a class of this file, something imported, or another builder is called for."""
    made_by = solution.final(value.callee) if value.op is Op.CALL else ()
    if any(isinstance(atom, ClassReference | External) for atom in made_by):
        return True
    builders = solution.functions_of(value) if depth else []
    return bool(builders) and all(makes(solution, builder, depth - 1) for builder in builders)
