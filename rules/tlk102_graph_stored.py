"""TLK102."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.insertions import Insertion
    from torchlint.facts.autograd.retention import Retention


class GraphStored(Rule):
    """A container that outlives the step holds tensors with their graph.

    ## What it does
    Finds tensors with a graph that are put into a list, set, dict or deque which lives longer than the step:
    `append`, `extend`, `insert`, `add`, `d[k] = loss`, a list comprehension over steps, a default argument or a
    global list; also inside a tuple or dict that goes in.

    ## Why is this bad?
    A stored tensor keeps its whole graph: after `backward()` its nodes in host memory, and without a backward every
    activation on the GPU. The container looks small, what hangs on it does not.

    ## Example
    ```python
    losses = []
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        losses.append(loss)
    ```

    ## Use instead
    ```python
        losses.append(loss.detach())
    ```

    ## When it is not a leak
    What is stored reaches a backward (`torch.stack(losses).mean().backward()`, policy gradients, values popped in a
    backward loop); the container is made or cleared within the step; a list of layer outputs inside `forward`. A
    `deque(maxlen=...)` is bounded and only a note, as is a list whose places are filled round and round.

    ## Fix safety
    None where the program puts a tensor there first and trains on what it reads there. Safe where the stored value is a
    tensor with a graph on every path; the stored numbers stay the same to the bit. Unsafe where the
    program asks which of the tensors one is (`is`, `id`, as a key), changes one in place by what keeps it before its
    backward, or gives a graph over which no backward has run to callers that are not seen, or where it is not seen
    what a backward runs over.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TLK102"
    name = "graph-stored"
    level = Level.ERROR
    harms = (Harm.NODES, Harm.BYTES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.HOST_GROWS, Symptom.DIES_AT_VALIDATION)
    triggers = (Trigger(inserts=True), Trigger(calls=frozenset(["map", "starmap"])))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each insertion into a container that is not trained on and no accumulation."""
        for insertion in facts.insertions:
            if insertion.statement in facts.accumulating:
                continue
            holders = [insertion.allocation or insertion.holder, insertion.holder]
            retention = facts.retention_in(insertion.statement, holders, insertion.parts)
            if retention is None:
                continue
            if retention.inferred or not facts.flows.is_shown(insertion.holder):
                yield self._finding(facts, insertion, retention)

    def _finding(self, facts: Facts, insertion: Insertion, retention: Retention) -> Finding:
        made = insertion.allocation.statement if insertion.allocation is not None else None
        made = None if made is insertion.statement else made  # `rows.setdefault(name, []).append(x)` says it itself
        where: tuple[str | LineOf, ...] = (" (made in line ", LineOf(made), ")") if made is not None else ()
        kept = next(use for use in insertion.parts if use.value is retention.value)
        advice = f"; store `{facts.detached(kept)}`"
        if facts.is_read_again(kept):
            advice = "; the program trains on what it reads there: detach it there after the backward"
        level, memory = retention.level, retention.memory
        cost = retention.cost()
        if insertion.bounded:
            level, memory = Level.NOTE, Memory.PEAK
            cost = (", as many as it has room for",)
        return Finding(
            node=insertion.statement,
            message=(
                f"`{insertion.name}`",
                *where,
                f" keeps the graph of every `{retention.name}`",
                *cost,
                advice,
            ),
            level=level,
            memory=memory,
            evidence=(
                *((Step(made, f"`{insertion.name}` is made here, and lives on"),) if made is not None else ()),
                *retention.evidence(),
                Step(insertion.statement, f"`{insertion.name}` keeps it here"),
            ),
            fix=facts.detach("Detach what is stored", insertion.parts),
            explained_by="TLK201" if retention.inferred else None,
        )
