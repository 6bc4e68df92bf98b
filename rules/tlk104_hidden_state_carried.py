"""TLK104."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Fix, Harm, Level, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.carried import Carried


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
    it truncated backpropagation through time, and gradients change: unsafe, as it is where the program asks the state
    for its graph. What the state is made of must be known.

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
        """Yield one finding for each statement that carries states with their graph, alike."""
        alike: dict[tuple[object, ...], list[Carried]] = {}
        for carried in facts.carried_states:
            if carried.statement not in facts.accumulating:
                alike.setdefault((carried.statement, carried.retained, carried.breaks, _level(carried)), []).append(
                    carried
                )
        yield from (_finding(facts, together) for together in alike.values())


def _finding(facts: Facts, together: Sequence[Carried]) -> Finding:
    carried, names = together[0], [one.name for one in together]
    inferred = all(facts.inferences.is_inference(one.value) for one in together)
    states, is_one = " and ".join(f"`{name}`" for name in names), len(together) == 1
    repaired = list(filter(None, map(_detached, together)))
    detached = " and ".join(f"`{expression}`" for expression in repaired)
    goes, hang = ("goes into the next step with its", "it") if is_one else ("go into the next step with their", "them")
    is_known = len(repaired) == len(together)
    way_out = f"go on with {detached}" if is_known else f"detach {hang} before the next step"
    made = "is made of it" if is_one else "are made of them"
    grows = "GPU memory grows each step"
    cost = f"the graphs of all steps hang on {hang} and no backward frees them, {grows}"
    if carried.retained:
        cost = f"each backward retains the graphs of all steps before, {grows}"
    if carried.breaks:
        cost = f"the next backward raises, since this one frees it, or, where it is retained, {grows}"
    old = [Step(facts.statement_of(one.old), f"the old `{one.name}` is taken here") for one in together]
    return Finding(
        node=carried.statement,
        message=(f"{states} {goes} graph: {cost}; {way_out}",),
        level=_level(carried),
        memory=Memory.PEAK if carried.bounded else Memory.DEVICE_GROWS,
        evidence=(*old, Step(carried.statement, f"the new {states} {made} here with gradients on")),
        fix=_fix(facts, together),
        explained_by="TLK201" if inferred else None,
    )


def _level(carried: Carried) -> Level:
    if carried.is_supposed and not (carried.bounded or carried.breaks or carried.retained):
        return Level.NOTE
    return Level.WARNING if carried.bounded or carried.breaks else Level.ERROR


def _detached(carried: Carried) -> str | None:
    """How the program writes the state without its graph; None where it is not known what it is."""
    if carried.kind == "pair":
        return f"tuple(part.detach() for part in {carried.name})"
    return f"{carried.name}.detach()" if carried.kind == "tensor" else None


def _fix(facts: Facts, together: Sequence[Carried]) -> Fix | None:
    """Detach the states in a statement of its own, where it is known what they are.

    A state through which the step still trains is detached before the next step takes it, and not where it is made.
    """
    detached, names = list(map(_detached, together)), [one.name for one in together]
    retained = together[0].retained
    if None in detached or any("..." in name for name in names):
        return None
    for carried in together:
        if retained and not facts.flows.surely_tensor(carried.old):
            return None
        if not retained and any(carried.value in facts.flows.ancestry.of(b.root) for b in facts.graph.backwards):
            return None  # the step differentiates through the state that it makes
    text = f"{', '.join(names)} = {', '.join(filter(None, detached))}"
    safe = not retained and not any(one.value in facts.flows.inspected for one in together)
    return facts.add_line("Detach the state", together[0].statement, text, before=retained, safe=safe)
