"""Modules that are handed to what hooks them: whether each time it is another one, or there is only one time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.hooks.subjects import gives_part
from torchlint.facts.turns.repetition import HOPS
from torchlint.facts.values.domain import ClassReference
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.making import makes
from torchlint.facts.values.reaching import ends

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.hooks.instances import Instances


def is_another_each_time(facts: Facts, parameter: Value) -> bool:
    """Whether no two calls of a function give it the same object for a parameter."""
    roots = [facts.identity.roots(given) for given in facts.solution.arguments_of(parameter)]
    return len(frozenset().union(*roots)) == sum(map(len, roots))


def is_made_for_it(facts: Facts, parameter: Value) -> bool:
    """Whether whoever calls a function has just made what it gives: ``net = build(); watch = Watch(net)``."""
    calls = facts.solution.callers.get(parameter.function, {})
    handed = [(call, given.get(parameter)) for call, given in calls.items()]
    is_one_each = len({given for _, given in handed}) == len(handed)
    return bool(handed) and is_one_each and all(is_new(facts, call, given) for call, given in handed)


def is_new(facts: Facts, call: Value, given: Value | None) -> bool:
    """Whether ``given``, or what it is a part of, is made in the function and the turn in which it is handed over."""
    made = list(ends([given], partial(_made_of, facts))) if given is not None else []
    return bool(made) and all(
        one.op is Op.CALL
        and one.function is call.function
        and one.loop is call.loop
        and all(_makes(facts, root) for root in facts.identity.roots(one))
        for one in made
    )


def _makes(facts: Facts, root: Value) -> bool:
    """Whether a value is a CALL of a class, of what a library exports, or of functions that make what they return."""
    if root.op is not Op.CALL or root.callee.op in (Op.CLASS, Op.EXTERNAL):
        return root.op is Op.CALL
    called = facts.solution.final(root.callee)
    if called and all(isinstance(atom, ClassReference) for atom in called):
        return True
    functions = facts.solution.functions_of(root)
    return bool(functions) and all(makes(facts.solution, function) for function in functions)


def _made_of(facts: Facts, value: Value) -> Sequence[Value]:
    """Of what a value is a part, or the object itself; of an attribute what an ``__init__`` sets it to."""
    if value.op is Op.ATTRIBUTE and value.function.name == "__init__" and value.inputs[0] in value.function.parameters:
        return stored_at(facts.solution, value)
    if value.op is Op.CALL and gives_part(value):
        return value.callee.inputs[:1] if value.callee.op is Op.ATTRIBUTE else value.arguments[:1]
    if value.op is Op.PHI:
        return value.inputs
    return value.inputs[:1] if value.op in (Op.ATTRIBUTE, Op.SUBSCRIPT) else ()


def keeps_given(facts: Facts, instances: Instances, made: Function, parameter: Value) -> bool:
    """Whether an object keeps what its ``__init__`` is given for a parameter: in an attribute, or by a base class."""
    owner, roots = made.owner, facts.identity.roots(parameter)
    if owner is None or any(not roots.isdisjoint(facts.identity.roots(one)) for one in instances.kept_by(owner)):
        return owner is not None
    bases = [cls.methods["__init__"] for cls in owner.lineage() if "__init__" in cls.methods]
    return any(
        facts.solution.passed(call, base, position) is parameter
        for base in bases
        for call in facts.solution.callers.get(base, ())
        if call.function is made
        for position in facts.graph.foreign.holds.get(base, ())
    )


def runs_once(facts: Facts, function: Function, hooked: list[Value], hops: int = HOPS) -> bool:
    """Whether each call of a function is made once as a script runs, by functions that are called so, or others.

    Others may also make it once for each object that they make: the parameters ``hooked`` have to be such objects.
    """
    calls = list(facts.solution.callers.get(function, ()))
    if not calls:
        made = function.owner if function.name == "__init__" else None
        first = _first(function)
        parameters = [(function.parameters.index(one) - first, one.name) for one in hooked]
        return facts.others_call_once(function.name if made is None else made.name, parameters)
    if any(call.loop is not None for call in calls):
        return False
    others = [call for call in calls if call.function.parent is not None]
    return not others or (
        hops > 0
        and all(runs_once(facts, one.function, _handed(facts, one, function, hooked), hops - 1) for one in others)
    )


def _handed(facts: Facts, call: Value, function: Function, hooked: list[Value]) -> list[Value]:
    """The parameters of the function around a CALL that are passed on for ``hooked``; none where one is not."""
    binding, subjects = facts.solution.callers[function][call], facts.hook_lifetimes.subjects
    given = [binding.get(parameter) for parameter in hooked]
    ways = [set(subjects.way(one, ())) if one is not None else set() for one in given]
    own = call.function.parameters[_first(call.function) :]
    passed = [[parameter for parameter in own if parameter in way] for way in ways]
    return [parameter for one in passed for parameter in one] if all(passed) else []


def _first(function: Function) -> int:
    """The position of the first parameter that callers pass."""
    return 1 if function.owner is not None else 0
