"""TLK506."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.host.emptying import Emptying


class CacheEmptiedEveryStep(Rule):
    """The allocator's cache is emptied, or the cyclic collector run, in every step.

    ## What it does
    Finds `torch.cuda.empty_cache()` (of other devices, too) and `gc.collect()` in a loop of steps, in a method that
    a framework calls for each batch, in a request handler, and in helpers that these call; also where the function
    itself is handed to what calls it in each step.

    ## Why is this bad?
    `empty_cache()` frees nothing that torch could not use again: it hands cached blocks back to the driver, waits
    for the device, and the next step asks for the same blocks anew. `gc.collect()` looks at every object of the
    process. If memory grows without them, something else keeps it, and that is what to look for.

    ## Example
    ```python
    for x, y in loader:
        train_step(x, y)
        gc.collect()
        torch.cuda.empty_cache()
    ```

    ## Use instead
    ```python
    for x, y in loader:
        train_step(x, y)
    ```

    ## When it is not a leak
    Once for an epoch, every N steps, after an out-of-memory error, after each of several models; `gc.collect()` in a
    program that has switched the collector off.

    ## Fix safety
    There is no automatic fix: who wrote it had a reason, which is to be found first.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
    - https://docs.python.org/3/library/gc.html#gc.collect
    """

    code = "TLK506"
    name = "cache-emptied-every-step"
    level = Level.NOTE
    harms = (Harm.CHURN,)
    symptoms = (Symptom.SLOW,)
    triggers = (Trigger(names=frozenset(["empty_cache", "collect"])), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement that tidies up in a step."""
        for emptying in facts.emptyings:
            yield _finding(facts, emptying)


def _finding(facts: Facts, emptying: Emptying) -> Finding:
    place, call = emptying.repeated_by, emptying.call
    handed = emptying.handed.syntax if emptying.handed is not None else None
    node = facts.statement_of(call) if handed is None else handed
    written = f"`{emptying.imported or facts.called(call)}()`"
    written = written if emptying.by is None else facts.done_by(call, emptying.by)
    often = facts.each_turn(place)
    if emptying.step_call is not emptying.call:
        site = LineOf(facts.statement_of(emptying.step_call))
        often = (*often, f" (by `{facts.called(emptying.step_call)}` in line ", site, ")")
    cost = (
        ": it looks at every object of the process and costs time"
        if emptying.collects
        else ": it frees nothing that torch could not use again, and the next step waits for new memory"
    )
    return Finding(
        node=node,
        message=(f"{written} runs in ", *often, cost, "; drop it, or call it once for an epoch"),
        level=Level.NOTE,
        memory=Memory.TIME,
        evidence=(
            Step(place.syntax, "this is what repeats it"),
            Step(facts.statement_of(emptying.step_call), "memory is tidied up from here"),
        ),
    )
