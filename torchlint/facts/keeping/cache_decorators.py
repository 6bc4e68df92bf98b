"""Caches that a decorator makes of functions, and how many results they keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import External, FunctionReference
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts


DEFAULT_SIZE = 128
"""``maxsize`` of ``functools.lru_cache``: https://docs.python.org/3/library/functools.html#functools.lru_cache."""


CACHES: dict[str, int | None] = {
    "functools.lru_cache": DEFAULT_SIZE,
    "functools.cache": None,
    # https://github.com/aio-libs/async-lru
    "async_lru.alru_cache": DEFAULT_SIZE,
    # https://cachetools.readthedocs.io/en/stable/#module-cachetools.func
    "cachetools.func.lru_cache": DEFAULT_SIZE,
    "cachetools.func.fifo_cache": DEFAULT_SIZE,
    "cachetools.func.lfu_cache": DEFAULT_SIZE,
}
"""Decorators that cache results by arguments, and how many of them without being told."""

UNBOUNDED = "unbounded"
"""How a summary says that a cache keeps any number of results."""

WRAPPERS = ("utils.torch_utils.lru_cache_unless_export",)
"""Functions of libraries that apply ``functools.lru_cache`` with what they are given (diffusers)."""


def caches_of(facts: Facts, function: Function) -> Iterator[tuple[str, int | None]]:
    """The caches that decorate a function, each by the name under which that is written, and its size.

    ``memo = lru_cache(maxsize=None)`` may stand in another file as well.
    """
    if function.is_foreign or not function.decorators or not isinstance(function.syntax, cst.FunctionDef):
        return
    decorating = (decorator for decorator, decorated in facts.graph.decorated if decorated is function)
    for written, by in zip(function.syntax.decorators, decorating, strict=True):
        node = written.decorator.func if isinstance(written.decorator, cst.Call) else written.decorator
        named = stored_at(facts.solution, by)
        size = _size_of_decorator(facts, named[0] if len(named) == 1 else by)
        if size != 0:
            yield dotted(node) or by.name, size


def _size_of_decorator(facts: Facts, decorator: Value) -> int | None:
    """How many results a decorator keeps, None for any number, 0 where it is no cache."""
    if decorator.op is Op.CALL and is_cache(decorator.callee.name) and decorator.syntax is not None:
        return size_of(decorator.callee.name, decorator.syntax)
    atoms = facts.solution.final(decorator)
    names = [atom.name for atom in atoms if isinstance(atom, External)]
    if len(names) == 1 and is_cache(names[0]):
        return CACHES.get(names[0], DEFAULT_SIZE)
    functions = [atom.function for atom in atoms if isinstance(atom, FunctionReference)]
    return memory_made_by(facts, functions[0]) if len(functions) == len(atoms) == 1 else 0


def memory_made_by(facts: Facts, function: Function) -> int | None:
    """How many results the cache keeps that a function of the project returns for the one it is given; 0 for no cache.

    ``def memoise(function): return lru_cache(maxsize=None)(function)``, also in another file.
    """
    if function.is_foreign:
        told = (done for done in facts.graph.foreign.effects.get(function, ()) if done.kind is EffectKind.MEMOISES)
        sizes = [None if done.name == UNBOUNDED else int(done.name) for done in told]
        return sizes[0] if len(sizes) == 1 else 0
    made = _made_by(function)
    if made is None:
        return 0
    given = function.parameters[0]
    if made.op is Op.FUNCTION and isinstance(made.reference, Function):
        inner = made.reference
        sizes = [size for _, size in caches_of(facts, inner)]
        calls = (call.callee for call in facts.steps.calls_in(inner))
        runs = any(given in (one, *stored_at(facts.solution, one)) for one in calls)
        is_known = len(sizes) == 1 and runs and inner.parent is function and not _is_size_given(inner)
        if is_known:
            return sizes[0]
        return 0 if _filled_in(facts, function, made) is None else None
    return _size_around(made, given)


def filled_at(facts: Facts, function: Function) -> cst.CSTNode | None:
    """Where a decorator of the same file keeps the results of a function, if it does so in a dictionary of its own."""
    found = (
        _filled_in(facts, atom.function, _made_by(atom.function))
        for decorator, decorated in facts.graph.decorated
        if decorated is function
        for atom in facts.solution.final(decorator)
        if isinstance(atom, FunctionReference) and not atom.function.is_foreign
    )
    return next(filter(None, found), None)


def _made_by(decorator: Function) -> Value | None:
    """All that a function returns which is given something, where that is one thing."""
    results = choices(decorator.result) if decorator.parameters and not decorator.is_generator else []
    return results[0] if len(results) == 1 else None


def _filled_in(facts: Facts, decorator: Function, made: Value | None) -> cst.CSTNode | None:
    """Where what a decorator makes keeps results without a bound: ``if key not in table: table[key] = ...``."""
    inner = made.reference if made is not None and made.op is Op.FUNCTION else None
    if not isinstance(inner, Function) or inner.parent is not decorator:
        return None
    return facts.own_caches.filled_by(inner, decorator.parameters[0])


def _is_size_given(function: Function) -> bool:
    """Whether a variable says how many results the cache of a function keeps: who makes the decorator may say so."""
    decorators = function.syntax.decorators if isinstance(function.syntax, cst.FunctionDef) else ()
    calls = (one.decorator for one in decorators if isinstance(one.decorator, cst.Call))
    caches = (call for call in calls if (dotted(call.func) or "").endswith("cache"))
    given = (argument.value for call in caches for argument in call.args)
    return any(isinstance(value, cst.Name) and value.value not in ("None", "True", "False") for value in given)


def _size_around(made: Value, given: Value) -> int | None:
    """How many results of a function a CALL keeps, ``lru_cache(maxsize=8)(function)``; 0 where it is no cache."""
    if made.op is not Op.CALL or not made.arguments:
        return 0
    maker = made.callee
    if maker.op is Op.CALL and maker.callee.name == "functools.wraps":
        return _size_around(made.arguments[0], given)
    cache = maker.callee if maker.op is Op.CALL else maker
    if made.arguments[0] is not given or not is_cache(cache.name) or made.syntax is None:
        return 0
    return size_of(
        cache.name, (maker if maker.op is Op.CALL else made).syntax or made.syntax, is_maker=maker is not cache
    )


def memoised_by(facts: Facts, function: Function) -> Iterator[EffectSummary]:
    """That a function returns a cache of the one that it is given, for other files."""
    size = memory_made_by(facts, function) if function.owner is None and not function.is_foreign else 0
    if size != 0:
        yield EffectSummary(EffectKind.MEMOISES, UNBOUNDED if size is None else str(size), (0,), is_returned=True)


def is_cache(name: str) -> bool:
    """Whether a full dotted name is that of a decorator which caches by arguments."""
    return name in CACHES or name.endswith(WRAPPERS)


def size_of(name: str, written: cst.CSTNode, *, is_maker: bool = True) -> int | None:
    """How many results a cache keeps, None for any number; the default where its size is a variable.

    ``is_maker``: whether what is written says so, and not ``lru_cache(function)`` alone.
    """
    default = CACHES.get(name, DEFAULT_SIZE)
    if not isinstance(written, cst.Call):
        return default
    for position, argument in enumerate(written.args if is_maker else ()):
        keyword = argument.keyword.value if argument.keyword is not None else None
        if keyword == "maxsize" or (keyword is None and position == 0):
            if isinstance(argument.value, cst.Name) and argument.value.value == "None":
                return None
            if isinstance(argument.value, cst.Integer):
                return argument.value.evaluated_value
    return default
