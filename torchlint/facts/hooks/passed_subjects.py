"""Modules that are handed to what hooks them: whether each time it is another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


def is_another_each_time(facts: Facts, parameter: Value) -> bool:
    """Whether no two calls of a function give it the same object for a parameter."""
    roots = [facts.identity.roots(given) for given in facts.solution.arguments_of(parameter)]
    return len(frozenset().union(*roots)) == sum(map(len, roots))


def is_made_for_it(facts: Facts, parameter: Value) -> bool:
    """Whether whoever calls a function has just made what it gives: ``net = build(); watch = Watch(net)``."""
    calls = facts.solution.callers.get(parameter.function, {})
    handed = [(call, given.get(parameter)) for call, given in calls.items()]
    is_one_each = len({given for _, given in handed}) == len(handed)
    return bool(handed) and is_one_each and all(_is_new(facts, call, given) for call, given in handed)


def _is_new(facts: Facts, call: Value, given: Value | None) -> bool:
    """Whether ``given`` is made in the function and the turn in which it is handed over."""
    if given is None or given.op is not Op.CALL or given.function is not call.function or given.loop is not call.loop:
        return False
    roots = facts.identity.roots(given)
    return bool(roots) and all(one.op is Op.CALL and one.callee.op in (Op.CLASS, Op.EXTERNAL) for one in roots)
