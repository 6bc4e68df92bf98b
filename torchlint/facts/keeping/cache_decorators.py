"""Caches that a decorator makes of functions, and how many results they keep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import External
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
    names = [atom.name for atom in facts.solution.final(decorator) if isinstance(atom, External)]
    return CACHES.get(names[0], DEFAULT_SIZE) if len(names) == 1 and is_cache(names[0]) else 0


def is_cache(name: str) -> bool:
    """Whether a full dotted name is that of a decorator which caches by arguments."""
    return name in CACHES or name.endswith(WRAPPERS)


def size_of(name: str, written: cst.CSTNode) -> int | None:
    """How many results a cache keeps, None for any number; the default where its size is a variable."""
    default = CACHES.get(name, DEFAULT_SIZE)
    if not isinstance(written, cst.Call):
        return default
    for position, argument in enumerate(written.args):
        keyword = argument.keyword.value if argument.keyword is not None else None
        if keyword == "maxsize" or (keyword is None and position == 0):
            if isinstance(argument.value, cst.Name) and argument.value.value == "None":
                return None
            if isinstance(argument.value, cst.Integer):
                return argument.value.evaluated_value
    return default
