"""TLK101."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.accumulations import Accumulation
    from torchlint.facts.autograd.retention import Retention


class GraphAccumulated(Rule):
    """A sum over steps keeps the autograd graph of every step.

    ## What it does
    Finds values that outlive a training or evaluation step and are updated from themselves and from a tensor with
    a graph: `total += loss`, `total = total + loss`, `stats[k] += loss`, `meter.sum += v * n`, `stat.add_(loss)`,
    `best = torch.minimum(best, loss)`.

    ## Why is this bad?
    The sum is itself part of the graph. It holds the graph of its last addend and of the sum before, and so of every
    step since it was set to zero. After `backward()` the activations are gone and only graph nodes stay: some
    kilobytes of host memory a step, not a byte on the GPU. Without a backward every activation of every step stays.

    ## Example
    ```python
    total = 0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        total += loss
    ```

    ## Use instead
    ```python
        total += loss.detach()
    ```
    `.item()` ends the graph too, but waits for the GPU in every step and rounds differently.

    ## When it is not a leak
    The sum, an alias or a value computed from it reaches a backward; it is set anew within the step; the addend has
    no graph (computed under `no_grad`, detached, a Python number, a count of correct answers). A layer that gives its
    own state on, and has a method that ends it for whoever drives the layer to call, carries it on purpose.

    What a call that is not seen returns beside the loss is a note: it has a graph unless that call detached it.

    ## Fix safety
    Safe where the addend is a tensor with a graph on every path: the numbers stay the same to the bit. Unsafe where
    it may be something else on another path, or where the sum goes to callers that are not seen and no backward has run
    over its graph: they may differentiate it.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TLK101"
    name = "graph-accumulated"
    level = Level.ERROR
    harms = (Harm.NODES, Harm.BYTES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.HOST_GROWS)
    triggers = (Trigger(accumulates=True), Trigger(calls=frozenset(["sum"])))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each accumulation that is no running state (TLK103) and is not trained on."""
        for accumulation in facts.accumulations:
            if accumulation.is_state:
                continue
            retention = facts.retention(accumulation.held, accumulation.added)
            if retention is not None:
                yield self._finding(facts, accumulation, retention)
        for accumulation in facts.supposed_accumulations:
            if not accumulation.is_state and facts.retention(accumulation.held, accumulation.added) is not None:
                yield _supposed(facts, accumulation)

    def _finding(self, facts: Facts, accumulation: Accumulation, retention: Retention) -> Finding:
        born = accumulation.first.statement if accumulation.first is not None else None
        where: tuple[str | LineOf, ...] = (" (bound in line ", LineOf(born), ")") if born is not None else ()
        message = (
            f"`{accumulation.name}`", *where, f" keeps the graph of every `{retention.name}`", *retention.cost(),
            f"; add `{facts.detached(accumulation.added[0])}`",
        )  # fmt: skip
        return Finding(
            node=accumulation.statement,
            message=message,
            level=retention.level,
            memory=retention.memory,
            evidence=(
                *((Step(born, f"`{accumulation.name}` begins here, and lives on"),) if born is not None else ()),
                *retention.evidence(),
                Step(accumulation.statement, f"`{accumulation.name}` keeps it here"),
            ),
            fix=facts.detach("Detach what is added", accumulation.added),
            explained_by="TLK201" if retention.inferred else None,
        )


def _supposed(facts: Facts, accumulation: Accumulation) -> Finding:
    added = accumulation.added[0]
    return Finding(
        node=accumulation.statement,
        message=(
            f"`{accumulation.name}` keeps the graph of every `{facts.name_of(added)}` if it has one: it comes with a"
            f" loss whose backward has run, from code that is not seen; add `{facts.detached(added)}`",
        ),
        level=Level.NOTE,
        memory=Memory.HOST_GROWS,
        evidence=(Step(accumulation.statement, f"`{accumulation.name}` keeps it here"),),
    )
