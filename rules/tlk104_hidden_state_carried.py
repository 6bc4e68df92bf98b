"""TLK104."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Fix, Harm, Level, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.carrying import Carried


class HiddenStateCarried(Rule):
    """A recurrent state is carried from step to step with its graph.

    ## What it does
    Finds hidden states, memories and caches that a module returns in one step and is given again in the next, with
    the graph of all steps before: in a variable of the loop, in an attribute, through a helper that returns it.

    ## Why is this bad?
    The state of step n holds the activations of all n steps, and nothing ever frees them: memory and the time of a
    backward grow with each step until memory is full. In training a second backward raises ("Trying to backward through
    the graph a second time"), and is a warning where all that makes the state is seen; `retain_graph=True` silences the
    error and keeps everything.

    ## Example
    ```python
    for x, _ in loader:
        features, h = encoder(x, h)
        ...
    ```

    ## Use instead
    ```python
        features, h = encoder(x, h)
        h = h.detach()
    ```

    ## When it is not a leak
    The state is detached or wrapped anew before the next step, it begins anew with each sequence, or gradients are
    off. A loop over the parts of one sequence whose loss is trained through is what a recurrent network is for.

    ## Fix safety
    Detaching the state is exact where nothing is trained through it. Where a backward runs through it, detaching makes
    it truncated backpropagation through time, and gradients change: unsafe. What the state is made of must be known.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TLK104"
    name = "hidden-state-carried"
    level = Level.ERROR
    harms = (Harm.NODES, Harm.BYTES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.DIES_AT_VALIDATION)
    triggers = (Trigger(calls=frozenset(["forward", "backward"])), Trigger(constructs=True), Trigger(defines=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each state that is carried with its graph."""
        for carried in facts.carried_states:
            if carried.statement not in facts.accumulating:
                yield _finding(facts, carried)


def _finding(facts: Facts, carried: Carried) -> Finding:
    inferred = facts.inferences.is_inference(carried.value)
    name = carried.name
    way_out = {
        "pair": f"go on with `tuple(part.detach() for part in {name})`",
        "tensor": f"go on with `{name}.detach()`",
    }.get(carried.kind, "detach it before the next step")
    grows = "GPU memory grows each step"
    cost = f"the graphs of all steps hang on it and no backward frees them, {grows}"
    if carried.retained:
        cost = f"each backward retains the graphs of all steps before, {grows}"
    if carried.breaks:
        cost = f"the next backward raises, since this one frees it, or, where it is retained, {grows}"
    return Finding(
        node=carried.statement,
        message=(f"`{name}` goes into the next step with its graph: {cost}; {way_out}",),
        level=_level(carried),
        memory=Memory.PEAK if carried.bounded else Memory.DEVICE_GROWS,
        evidence=(
            Step(facts.statement_of(carried.old), f"the old `{name}` is taken here"),
            Step(carried.statement, f"the new `{name}` is made of it here with gradients on"),
        ),
        fix=_fix(facts, carried),
        explained_by="TLK201" if inferred else None,
    )


def _level(carried: Carried) -> Level:
    if carried.is_supposed and not (carried.bounded or carried.breaks or carried.retained):
        return Level.NOTE
    return Level.WARNING if carried.bounded or carried.breaks else Level.ERROR


def _fix(facts: Facts, carried: Carried) -> Fix | None:
    """Detach the state in a statement of its own, where it is known what it is.

    A state through which the step still trains is detached before the next step takes it, and not where it is made.
    """
    text = {
        "tensor": f"{carried.name} = {carried.name}.detach()",
        "pair": f"{carried.name} = tuple(part.detach() for part in {carried.name})",
    }.get(carried.kind)
    is_written = "..." not in carried.name
    if text is None or not is_written or (carried.retained and not facts.flows.surely_tensor(carried.old)):
        return None
    if not carried.retained and any(carried.value in facts.flows.ancestry.of(b.root) for b in facts.graph.backwards):
        return None  # the step differentiates through the state that it makes
    before, safe = carried.retained, not carried.retained
    return facts.add_line("Detach the state", carried.statement, text, before=before, safe=safe)
