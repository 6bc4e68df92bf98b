"""TLK107."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.diagnostic import Level, Memory
from torchlint.frameworks import Holds, method_names
from torchlint.rule import Finding, Harm, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.retaining import Retaining


class GraphRetained(Rule):
    """A backward keeps its graph, and no other backward runs over it.

    ## What it does
    Finds `backward(retain_graph=True)` (and `torch.autograd.grad(..., retain_graph=True)`) after which no backward
    runs over any part of the same graph.

    ## Why is this bad?
    A backward frees the activations as it goes, layer by layer. With `retain_graph=True` all of them stay until the
    loss itself is dropped, which is often only when the next step has computed its own: two graphs are in memory at
    once. When the loss is stored as well, every step's activations stay for good.

    ## Example
    ```python
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward(retain_graph=True)
        optimizer.step()
    ```

    ## Use instead
    ```python
        loss.backward()
    ```

    ## When it is not a leak
    A second backward runs over a part of the same graph (two losses on shared features, a generator and a
    discriminator without `detach()`, a gradient for each output), also in the next turn of a loop; the graph goes to
    code that is not seen.

    ## Fix safety
    Unsafe: where a second backward does run after all, it raises without the argument. One run shows it.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "TLK107"
    name = "graph-retained"
    level = Level.ERROR
    harms = (Harm.PEAK, Harm.BYTES)
    symptoms = (Symptom.GROWS_EVERY_STEP,)
    triggers = (Trigger(calls=frozenset(["backward", "grad"]) | method_names(Holds.BACKWARD)), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each backward that keeps its graph for nothing."""
        for retaining in facts.retained_in_vain:
            yield _finding(facts, retaining)


def _finding(facts: Facts, retaining: Retaining) -> Finding:
    call = retaining.call
    root = retaining.backward.root
    name = facts.name_in(call, root)
    cost = f"; `{retaining.stored}` keeps it, so GPU memory grows each step" if retaining.stored else ""
    where = "this backward" if retaining.by is None else f"the backward of {facts.done_by(call, retaining.by)}"
    there = "" if retaining.by is None else " there"
    return Finding(
        node=facts.statement_of(call),
        message=(
            f"`{name}` keeps all its activations on the GPU after {where}, which runs with `retain_graph=True`, ",
            f"and no other backward uses them{cost}; drop the argument{there}",
        ),
        level=Level.ERROR if retaining.stored else Level.WARNING,
        memory=Memory.DEVICE_GROWS if retaining.stored else Memory.PEAK,
        evidence=(Step(facts.statement_of(root), "the graph ends here"), Step(facts.statement_of(call), "it is kept")),
        fix=facts.drop_argument(call, "retain_graph") if retaining.by_keyword else None,
    )
