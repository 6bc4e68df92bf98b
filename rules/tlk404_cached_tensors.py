"""TLK404."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.caching import Cached, CacheGrowth
    from torchlint.facts.keeping.memos import Memo

LARGE = 16
"""A cache of fewer entries is a small one."""


class CachedTensors(Rule):
    """A cache keeps tensors or modules that no later call asks for.

    ## What it does
    Finds `functools.lru_cache` and `functools.cache` on functions that are called with new tensors or modules, on
    methods of modules and of other objects that hold tensors, on functions that return a tensor for each step; and
    dictionaries that are used as caches (looked up, filled, never emptied) with a new key in each step. The cache of a
    function in another file is told where it is called.

    ## Why is this bad?
    A cache holds the arguments of each call and the result. Tensors are compared by identity: a new batch is never
    found in the cache, and all that went in stays, with its graph if it has one. On a method the cache belongs to the
    class and holds `self`: the model, its parameters and buffers stay in memory after `del model`.

    ## Example
    ```python
    class Camera(nn.Module):
        @property
        @functools.lru_cache()
        def inverse(self):
            return self.pose.inverse()
    ```

    ## Use instead
    ```python
    class Camera(nn.Module):
        @functools.cached_property
        def inverse(self):
            return self.pose.inverse()
    ```

    ## When it is not a leak
    The cache is bounded and its keys are numbers, shapes or strings (`@lru_cache(maxsize=8)` on a function that builds
    a mask for a length); there are only a few keys; the dictionary has weak keys, is emptied or evicts, adds to what it
    finds under a key (sums of groups), or is made anew in each call that fills it from something small; the program
    calls `cache_clear()`. A cache on a method of an object that is seen to be made once is a note, and so is one for a
    single call on a method of a module, which holds the last one when nobody needs it any more, one
    without a bound whose keys are lengths of the data, or that keeps a network's outputs and that nobody in the file
    asks, or a worker for what it takes from a queue.

    ## Fix safety
    There is no automatic fix: whether the result is to be computed again, kept on the object
    (`functools.cached_property`) or cached under another key is for a person to say.

    ## References
    - https://docs.python.org/3/library/functools.html#functools.lru_cache
    - https://docs.python.org/3/faq/programming.html#how-do-i-cache-method-calls
    """

    code = "TLK404"
    name = "cached-tensors"
    level = Level.ERROR
    harms = (Harm.BYTES, Harm.NODES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.NOT_FREED)
    triggers = (
        Trigger(names=frozenset(["lru_cache", "cache", "alru_cache", "lru_cache_unless_export"]), defines=True),
        Trigger(inserts=True),
        Trigger(imports=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each cache, and one for each statement that fills a dictionary."""
        for growth in facts.growing_caches:
            yield _of_lengths(facts, growth) if growth.is_length else _of_cache(facts, growth)
        for memo in facts.growing_memos:
            yield _of_memo(facts, memo, "TLK102" if memo.statement in facts.inserting else None)


def _of_cache(facts: Facts, growth: CacheGrowth) -> Finding:
    cached, key = growth.cached, growth.key
    itself = key is not None and key is cached.itself
    bound = "for ever" if cached.size is None else f"for {cached.size} calls"
    name, cache = cached.function.name, cached.name
    if itself:
        owner = cached.function.owner
        kind = owner.name if owner is not None else "object"
        which, until = ("the last", "until another one calls it") if cached.size == 1 else ("each", bound)
        held = f"`{cache}` on the method `{name}` holds `self`: {which} `{kind}` that calls it stays in memory {until}"
        advice = "; keep the result on the object, with `functools.cached_property` or an attribute"
    elif growth.identity:
        held = (
            f"the cache of `{name}` keeps each `{key.name if key else 'argument'}` and its result {bound}: tensors and"
            " modules are compared by identity, a new one is never found"
        )
        advice = f"; remove `{cache}`, or cache by a number or a string"
    else:
        held = f"the cache of `{name}` keeps a tensor for each `{key.name if key else 'argument'}` {bound}"
        advice = f"; remove `{cache}`" if cached.size is not None else f"; remove `{cache}`, or {_bounding(cached)}"
    brings = _brings(growth)
    return Finding(
        node=cached.node,
        message=(held, *brings, advice),
        level=_level(growth),
        memory=Memory.DEVICE_GROWS if cached.size is None else Memory.PEAK,
        evidence=(
            Step(cached.node, f"`{cache}` keeps what goes in and what comes out"),
            *(() if growth.at is None else (Step(facts.statement_of(growth.at), "it is called here"),)),
            *(() if growth.by is None else (Step(growth.by.syntax, "this brings a new one each time"),)),
        ),
    )


def _of_lengths(facts: Facts, growth: CacheGrowth) -> Finding:
    cached, key = growth.cached, growth.key
    kept = Step(cached.node, f"`{cached.name}` keeps what goes in and what comes out")
    asked = (Step(facts.statement_of(growth.at), "a length of the data is the key here"),) if growth.at else ()
    return Finding(
        node=cached.node,
        message=(
            f"the cache of `{cached.function.name}` keeps a tensor for each `{key.name if key else 'length'}` for ever:"
            f" as many as there are lengths in the data; {_bounding(cached)}",
        ),
        level=Level.NOTE,
        memory=Memory.DEVICE_GROWS,
        evidence=(kept, *asked),
    )


def _bounding(cached: Cached) -> str:
    """How a cache is bounded; only that of a library is known to be told so."""
    return "bound it: `maxsize=8`" if cached.name.endswith("cache") else "bound it"


def _level(growth: CacheGrowth) -> Level:
    size = growth.cached.size
    if growth.single or growth.unseen or (size is not None and (size < LARGE or not growth.identity)):
        return Level.NOTE
    only_kept = growth.by is None and growth.key is growth.cached.itself
    return Level.ERROR if size is None and not only_kept else Level.WARNING


def _brings(found: CacheGrowth | Memo) -> tuple[str | LineOf, ...]:
    if found.by is None:
        return ()
    if found.unseen and found.function is not None:
        return (f", one for each that `{found.function.name}` is ever asked for",)
    if found.function is not None:
        return (f", and `{found.function.name}` brings a new one with each call",)
    return (", and each turn of the loop in line ", LineOf(found.by.syntax), " brings a new one")


def _of_memo(facts: Facts, memo: Memo, explained_by: str | None) -> Finding:
    made: tuple[str | LineOf, ...] = (" (made in line ", LineOf(memo.made), ")") if memo.made is not None else ()
    return Finding(
        node=memo.statement,
        message=(
            f"`{memo.name}`",
            *made,
            f" keeps a tensor for each `{memo.written}` and nothing takes one out: GPU memory grows",
            *_brings(memo),
            "; use a key that comes again, weak keys, or take old entries out",
        ),
        level=Level.NOTE if memo.unseen else Level.ERROR,
        memory=Memory.DEVICE_GROWS,
        evidence=(
            Step(memo.looked_up, f"`{memo.name}` is asked for the key here"),
            Step(memo.statement, "what was not found is kept here"),
            Step(memo.by.syntax, "this brings a new key each time"),
        ),
        explained_by=explained_by,
    )
