"""TLK203."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.frameworks import Holds, names
from torchlint.rule import Finding, Fix, Harm, Level, LineOf, Rule, Step, Symptom, peak
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.inference import Inference
    from torchlint.facts.autograd.references import ReferenceForward
    from torchlint.facts.autograd.untrained import UntrainedForward
    from torchlint.facts.values.graph import Backward, Value


class FrozenForwardWithGrad(Rule):
    """A network that a training step does not train runs with gradients on.

    ## What it does
    Finds forwards in a training step that record a graph although nothing is trained through them: of a teacher, a
    target network or a fixed extractor that is in no optimizer, and of the generator in the discriminator's step,
    whose gradients are zeroed before its own optimizer steps; or samples that the step only looks at; of a teacher
    that a module of another file makes for itself and runs. Where the training stands in another file, of a network
    that only takes the weights of another one, or averages of them, and of one whose answer is detached beside that of
    another one. A network in evaluation mode whose answer is what that of another one ought to be is a note there.

    ## Why is this bad?
    All activations of the network stay in GPU memory until the backward, which then computes gradients for all its
    parameters (one more copy of the network, which nothing frees) and nobody uses them. `eval()` does not help: it
    has nothing to do with gradients.

    ## Example
    ```python
    optimizer = torch.optim.Adam(student.parameters())
    for x, y in loader:
        target = teacher(x)
        loss = F.mse_loss(student(x), target)
        loss.backward()
    ```

    ## Use instead
    ```python
        with torch.no_grad():
            target = teacher(x)
    ```

    ## When it is not a leak
    The parameters are frozen; the forward is guarded; gradients are wanted through it, since what it is given has
    a graph (a perceptual loss, the discriminator in the generator's step); its parameters may be in some optimizer;
    the result is detached in the same statement.

    ## Fix safety
    Safe where the network is made in the file and no optimizer of the file trains it; results stay the same. Where its
    gradients are thrown away by a `zero_grad()`, the fix is unsafe: `.grad` then holds what it held before.
    So it is where others are clipped with them, where a hook or another module may bring a graph into the network, and
    where code that is not seen is given it in the step.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "TLK203"
    name = "frozen-forward-with-grad"
    level = Level.WARNING
    harms = (Harm.PEAK,)
    symptoms = (Symptom.SLOW,)
    triggers = (
        Trigger(names=frozenset(["backward", "grad"]) | names(Holds.TRAINED, Holds.BACKWARD)),
        # The backward may run in another file.
        Trigger(calls=frozenset(["step", "deepcopy", "detach", "eval", "load_state_dict"])),
        Trigger(names=frozenset(["data"])),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement with such a forward."""
        for forward in facts.untrained_forwards:
            yield self._finding(facts, forward)
        told = {facts.statement_of(forward.call) for forward in facts.untrained_forwards}
        for reference in facts.reference_forwards:
            statement = facts.statement_of(reference.call)
            if statement not in told:
                told.add(statement)
                yield _compared(facts, reference)
        for inference in facts.unguarded_inferences:
            if inference.is_target:
                yield from _targets(facts, inference)

    def _finding(self, facts: Facts, forward: UntrainedForward) -> Finding:
        statement = facts.statement_of(forward.call)
        if forward.made is not None:
            return _elsewhere(facts, forward, forward.made)
        reason = "stays in evaluation mode" if forward.supposed else "is trained by no optimizer"
        if forward.trained:
            zeroed = "gets gradients here that are zeroed before its optimizer steps"
            reason = zeroed if forward.backward is not None else "is not trained on this output"
        evidence = [Step(statement, "the forward records a graph here")]
        through: tuple[str | LineOf, ...] = (": its graph is never used",)
        if forward.backward is not None:
            evidence.append(Step(forward.backward.statement, "backward goes through it here, for nothing"))
            through = (
                ": its activations stay until the backward", *_where(forward.backward),
                ", which computes gradients for all its parameters",
            )  # fmt: skip
        advice = "put the statement under" if forward.whole else "compute it before, under"
        return peak(
            statement,
            (
                f"`{forward.name}` {reason}, yet runs with gradients on", *through,
                f"; GPU memory peaks; {advice} `with {facts.torch_name('no_grad')}():`",
            ),
            note=forward.supposed,
            evidence=tuple(evidence),
            fix=_fix(facts, forward),
        )  # fmt: skip


def _elsewhere(facts: Facts, forward: UntrainedForward, made: Value) -> Finding:
    """A network that an object of another file runs: one that it was given, or a part that its class makes."""
    assert forward.backward is not None
    statement, making = facts.statement_of(forward.call), facts.statement_of(made)
    which, after = "a network that it was given", ", which computes gradients for all its parameters"
    if forward.part:
        which, after = f"its `{forward.part}`", " is over"
    why, freeze = "which is trained by no optimizer", "freeze it with `.requires_grad_(False)`, or "
    if forward.trained:
        why, freeze = "whose gradients are zeroed before its optimizer steps", ""
    return peak(
        statement,
        (
            f"`{forward.name}` runs {which} (made in line ", LineOf(making), f"), {why}, with gradients on: its"
            " activations stay until the backward", *_where(forward.backward), f"{after}; GPU memory peaks; {freeze}run"
            " it there under `torch.no_grad()`",
        ),
        note=forward.supposed,
        evidence=(
            Step(making, "made here, with parameters that require grad"),
            Step(statement, "it records a graph here, in another file"),
            Step(forward.backward.statement, "backward runs here, and nobody uses the gradients of those parameters"),
        ),
    )  # fmt: skip


def _where(backward: Backward) -> tuple[str | LineOf, ...]:
    """Where a backward stands; one that a framework runs is in no line of the file."""
    return (" that the framework runs",) if backward.by_contract else (" in line ", LineOf(backward.statement))


def _compared(facts: Facts, found: ReferenceForward) -> Finding:
    """A momentum encoder, or a former model, in a loss whose training stands in another file."""
    statement, shown = facts.statement_of(found.call), facts.statement_of(found.shown)
    name, frozen = facts.name_in(found.call, found.network), ""
    what: tuple[str | LineOf, ...] = (f"`{name}` stays in evaluation mode (line ", LineOf(shown), ")")
    why = "it is put into evaluation mode here"
    if found.follows:
        why = "nothing but this changes its parameters"
        what = (f"`{name}` only follows another network (line ", LineOf(shown), ")")
    if found.is_given:
        frozen = ", unless who gave it has frozen them"
    return peak(
        statement,
        (
            *what, ", yet runs with gradients on: a backward over what is computed from it and another network keeps"
            f" its activations, and computes gradients for all its parameters{frozen}; GPU memory peaks; run it under"
            f" `with {facts.torch_name('no_grad')}():`",
        ),
        note=not found.follows,
        evidence=(
            Step(statement, "the forward records a graph here"),
            Step(shown, why),
        ),
    )  # fmt: skip


def _targets(facts: Facts, inference: Inference) -> Iterator[Finding]:
    """A teacher in the loss of another network, whose training stands in another file."""
    first = {facts.statement_of(forward): forward for forward in reversed(inference.forwards)}
    for statement, forward in first.items():
        yield peak(
            statement,
            (
                f"`{facts.called(forward)}` runs with gradients on, though only what is detached of its answer goes"
                f" into what `{inference.function.name}` returns: every activation is kept until the output is dropped,"
                f" GPU memory peaks; run it under `with {facts.torch_name('no_grad')}():`",
            ),
            note=inference.unseen or inference.partly_frozen,
            evidence=(Step(statement, "the forward records a graph here"),),
        )


def _fix(facts: Facts, forward: UntrainedForward) -> Fix | None:
    """The guard around the statement, or ``.detach()`` where it computes other things as well."""
    statement, call = facts.statement_of(forward.call), forward.call
    if forward.whole:
        return facts.run_without_gradients("Run the forward under `no_grad`", statement, safe=forward.certain)
    if call.evaluating or not facts.steps.trains(call.function):
        return None  # detached, it would still be inference with gradients on
    return facts.detach_results("Detach the result of the forward", forward.results, safe=forward.certain)
