"""Tables of functions that a program keeps for itself: ``@task("translate")`` puts one in, a dispatcher calls it.

Who calls the dispatcher runs one of the functions, whichever the message names. In a loop that goes through the table
each turn is another function; in a ``while``, which waits for messages, each of them runs again and again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Argument, FunctionReference
from torchlint.facts.values.graph import Function, Kind, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

_BY_NAME = (Op.PARAMETER, Op.FUNCTION, Op.READ, Op.ATTRIBUTE)
"""What is called is no item of a table: it has a name, or was handed over."""


def is_dispatched(facts: Facts, function: Function) -> bool:
    """Whether a decorator puts a function into a table of which a ``while`` calls the functions, be it elsewhere."""
    if not function.decorators:
        return False
    decorators = (value for value, decorated in facts.graph.decorated if decorated is function)
    return any(_is_run_from_table(facts, made) for value in decorators for made in _decorating(facts, value))


def _decorating(facts: Facts, value: Value) -> Iterator[Function]:
    """``task`` of ``@task`` and of ``@task("translate")``."""
    if value.op is Op.CALL:
        yield from facts.solution.functions_of(value)
    else:
        yield from (a.function for a in facts.solution.final(value) if isinstance(a, FunctionReference))


def _is_run_from_table(facts: Facts, decorator: Function) -> bool:
    if not decorator.is_foreign:
        return any(_is_called_openly(facts, one) for one in dispatchers(facts, decorator))
    foreign = facts.graph.foreign
    names = [done.name for done in foreign.effects.get(decorator, ()) if done.kind is EffectKind.TABLES]
    return any(foreign.found[decorator].imports.repeats(name, is_open=True) for name in names)


def _is_called_openly(facts: Facts, dispatcher: Function) -> bool:
    calls = facts.solution.callers.get(dispatcher, ())
    loops = (loop for call in calls for loop in (call.loop.around() if call.loop is not None else ()))
    return any(isinstance(loop.syntax, cst.While) for loop in loops) or facts.repeats(dispatcher.name, is_open=True)


def dispatchers(facts: Facts, decorator: Function) -> list[Function]:
    """The functions that call what a decorator of the file has put into a table, and those that call these, by name."""
    made = [one.reference for one in choices(decorator.result) if one.op is Op.FUNCTION]
    inner = [one for one in made if isinstance(one, Function) and one.parent is decorator]
    given = {one.parameters[0] for one in (decorator, *inner) if one.parameters}
    if given.isdisjoint(store.value for store in facts.graph.stores if store.kind is Kind.INSERT):
        return []  # it keeps what it decorates nowhere
    known = {a for one in given for a in facts.solution.final(one) if isinstance(a, FunctionReference)}
    calls = (c for c in facts.calls() if c.callee.op not in _BY_NAME and not c.function.is_inside(decorator))
    found = {
        call.function
        for call in calls
        for atom in facts.solution.final(call.callee)
        if atom in known or (isinstance(atom, Argument) and atom.parameter in given)
    }
    asked = {one for one in (*found, *facts.solution.callers_above(found)) if one.parent is not None}
    return sorted(asked, key=lambda one: one.name)
