"""TLK110."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.diagnostic import Level, Memory
from torchlint.frameworks import Holds, method_names
from torchlint.rule import Finding, Harm, LineOf, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.summed_loss import SummedLoss


class LossesSummedForOneBackward(Rule):
    """Losses of independent forwards are summed in a loop, and one backward runs over all of them.

    ## What it does
    Finds a loop whose turns each run a forward and add their loss to a sum (`total += loss`, `losses.append(loss)`, a
    comprehension) on which one backward runs after the loop. So do the losses of the pieces into which a loop cuts
    embeddings that were detached before.

    ## Why is this bad?
    Until that backward the activations of every turn are in memory at once. A sum's gradient is the sum of the
    gradients, and `.grad` adds them up by itself: a backward in each turn gives the same and needs the activations of
    one turn only.

    ## Example
    ```python
    optimizer.zero_grad()
    total = 0
    for part in batch.split(8):
        total = total + criterion(model(part.x), part.y) / parts
    total.backward()
    optimizer.step()
    ```

    ## Use instead
    ```python
    optimizer.zero_grad()
    for part in batch.split(8):
        loss = criterion(model(part.x), part.y) / parts
        loss.backward()
    optimizer.step()
    ```

    ## When it is not a leak
    The losses share a part of their graph (several heads on the same features, the steps of a recurrent network) that
    is more than leaves put together, as `torch.cat` does; what is done with them is not linear (a maximum, a logarithm,
    a product); the backward keeps its graph for another one.
    It is a note in any case: the loop bounds what it costs, and many a program means to pay it.

    ## Fix safety
    There is no automatic fix: scaling and `zero_grad()` have to move with it, and the gradients are added in another
    order, so that they differ by rounding.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TLK110"
    name = "losses-summed-for-one-backward"
    level = Level.NOTE
    harms = (Harm.PEAK,)
    symptoms = (Symptom.GROWS_EVERY_STEP,)
    triggers = (Trigger(calls=frozenset(["backward"]) | method_names(Holds.BACKWARD)), Trigger(defines=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each place at which a loss joins such a sum."""
        for loss in facts.summed_losses:
            yield _finding(facts, loss)


def _finding(facts: Facts, loss: SummedLoss) -> Finding:
    backward, is_elsewhere = loss.backward.statement, loss.backward.by_contract
    until = (
        (" until the backward of another file",) if is_elsewhere else (" until the backward in line ", LineOf(backward))
    )
    holder = f"`{loss.name}`" if loss.name else "the sum"
    return Finding(
        node=loss.statement,
        message=(
            f"{holder} holds the graph of every `{facts.name_of(loss.summand)}` of the loop in line ",
            LineOf(loss.loop.syntax),
            *until,
            ": all their activations are on the GPU at once; run each backward (scaled alike) in its turn",
        ),
        level=Level.NOTE,
        memory=Memory.PEAK,
        evidence=(
            Step(facts.statement_of(loss.summand.value), "each turn computes a graph of its own"),
            Step(loss.statement, "it joins the others here"),
            Step(backward, "what it returns is trained on" if is_elsewhere else "one backward runs over all of them"),
        ),
    )
