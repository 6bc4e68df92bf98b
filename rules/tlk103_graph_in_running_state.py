"""TLK103."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.accumulations import Accumulation
    from torchlint.facts.autograd.records import Record
    from torchlint.facts.autograd.retention import Retention
    from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere
    from torchlint.facts.values.writing import Use


class GraphInRunningState(Rule):
    """A running state is updated with gradients on and becomes part of an endless graph.

    ## What it does
    Finds running averages, buffers, target copies, fast weights and perturbations that are updated from themselves
    and from parameters or activations with a graph: `self.mean = 0.9 * self.mean + 0.1 * x.mean(0)`,
    `t.mul_(m).add_(s)` on a teacher's parameters, `self.load += gate.sum(0)` on a registered buffer. The loop is often
    not to be seen: `forward` or `update` is its body. What a class of another file averages is told where it is called.

    ## Why is this bad?
    The state's history grows by some nodes with each step and never ends: kilobytes of host memory a step, and
    every activation that no backward has freed. A frozen teacher whose parameters become part of a graph this way
    raises no error.

    ## Example
    ```python
    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0)
    ```

    ## Use instead
    ```python
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()
    ```
    or the update under `with torch.no_grad():`.

    ## When it is not a leak
    The update runs under `no_grad`, on `.data`, or on detached values; in meta-learning the state is trained through.
    A layer that gives its own state on, and has a method that ends it for whoever drives the layer, carries it on
    purpose.

    What a layer computes from its input under `if self.training:` by code that is not seen is a note: it has a graph
    unless that code ended it. So is what an observer of torch's quantization keeps of the activations that it watches,
    which have one where the network trains.

    ## Fix safety
    Safe where the operand is a tensor with a graph on every path; the numbers stay the same to the bit.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "TLK103"
    name = "graph-in-running-state"
    level = Level.ERROR
    harms = (Harm.NODES, Harm.BYTES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.HOST_GROWS)
    triggers = (Trigger(accumulates=True), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each state that is updated with a graph and not trained through."""
        for accumulation in facts.accumulations:
            if not accumulation.is_state:
                continue
            is_local = accumulation.first is not None
            carriers = [facts.carrier(use) for use in accumulation.added]
            retention = facts.retention(accumulation.held, carriers, may_leave=is_local)
            if retention is not None:
                yield self._finding(facts, accumulation, carriers, retention)
        for accumulation in facts.supposed_accumulations:
            if accumulation.is_state and not facts.flows.is_trained_on(accumulation.held):
                yield _supposed(facts, accumulation)
        for record in facts.records:
            if record.averages:
                yield _elsewhere(facts, record)
        for kept in facts.supposed_records:
            yield _supposed_elsewhere(facts, kept)

    def _finding(self, facts: Facts, accumulation: Accumulation, carriers: list[Use], retention: Retention) -> Finding:
        costliest = next((use for use in carriers if facts.name_of(use) == retention.name), carriers[0])
        return Finding(
            node=accumulation.statement,
            message=(
                f"`{accumulation.name}` is updated from itself and `{retention.name}` with gradients on: its graph"
                " grows with every step", *retention.cost(), f"; use `{facts.detached(costliest)}` or update it"
                " under `torch.no_grad()`",
            ),
            level=Level.NOTE if facts.is_of_a_mode(accumulation.statement) else retention.level,
            memory=retention.memory,
            evidence=(*retention.evidence(), Step(accumulation.statement, f"`{accumulation.name}` keeps it here")),
            fix=facts.detach("Detach what the state is updated from", carriers, allow_any_tensor=True),
        )  # fmt: skip


def _elsewhere(facts: Facts, record: Record) -> Finding:
    """What a class of another file averages with each call: ``average.update(model)``, ``self.stats.follow(x)``."""
    given = record.parts[0]
    retention, is_live = facts.cost_of(given), facts.flows.live(given.value) is not None
    averaged = f"`{facts.name_of(given)}`" if is_live else f"the parameters of `{facts.name_of(given)}`"
    advice = "call it under `torch.no_grad()`"
    if is_live:
        advice = "detach what is kept there" if record.trained else f"hand over `{facts.detached(given)}` or {advice}"
    return Finding(
        node=record.statement,
        message=(
            f"`{record.into}` updates a state from itself and {averaged} with gradients on: its graph grows with every"
            " step", *retention.cost(), f"; {advice}",
        ),
        level=retention.level,
        memory=retention.memory,
        evidence=(Step(record.kept, record.keeper),),
        fix=facts.detach("Detach what is averaged", record.parts) if is_live and not record.trained else None,
    )  # fmt: skip


def _supposed(facts: Facts, accumulation: Accumulation) -> Finding:
    use = accumulation.added[0]
    return Finding(
        node=accumulation.statement,
        message=(
            f"`{accumulation.name}` is updated from itself and `{facts.name_of(use)}` with gradients on: where that has"
            f" a graph, the state's own grows with every step; use `{facts.detached(use)}` or update it under"
            " `torch.no_grad()`",
        ),
        level=Level.NOTE,
        memory=Memory.HOST_GROWS,
        evidence=(Step(accumulation.statement, f"`{accumulation.name}` keeps it here"),),
    )


def _supposed_elsewhere(facts: Facts, kept: KeptElsewhere) -> Finding:
    """What a layer hands to its base class or to a part of its own, as a batch comes in: ``self.follow(x.mean(0))``."""
    use, statement = kept.given, facts.statement_of(kept.call)
    return Finding(
        node=statement,
        message=(
            f"`{facts.called(kept.call)}` updates a state from itself and `{facts.name_of(use)}` with gradients on:"
            f" where that has a graph, the state's own grows with every step; hand over `{facts.detached(use)}` or call"
            " it under `torch.no_grad()`",
        ),
        level=Level.NOTE,
        memory=Memory.HOST_GROWS,
        evidence=(Step(statement, f"`{kept.name}` keeps it"),),
    )
