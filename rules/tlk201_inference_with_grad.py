"""TLK201."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Rule, Step, Symptom, peak
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.inference import Inference
    from torchlint.facts.autograd.phases import IdlePhase


CALLERS = 2
"""So many callers are named as evidence."""

KEPT = "every activation is kept until the output is dropped, GPU memory peaks"


class InferenceWithGrad(Rule):
    """Evaluation or prediction runs a network with gradients on.

    ## What it does
    Finds functions that run a module's forward with gradients on although no backward follows: the model was put into
    evaluation mode before, be it by what loads it, or every graph that is recorded is thrown away again. A function
    that trains only under a condition (`if optimizer is not None:`) is found where a call rules that out and nothing
    guards it. In a function that trains, a loop in which nothing is trained is found: a rollout, a validation. The
    `__call__` of a diffusers pipeline is for inference alone; where it steers by a gradient, what feeds no backward is
    found. It switches gradients off by itself, its `encode_prompt` does not. The `loss` of a Pyro ELBO gives a number,
    and runs model and guide with gradients on. The `prediction_step` of a `Trainer` of transformers and the
    `validation_step` of skorch are found where a program writes its own: those frameworks guard in these methods, and
    not around them.

    A network whose weights an object reads where it makes it is a note, where the object is no module, a method runs it
    on a text or an image that it prepares itself, and the answer leaves with its graph.

    What takes arrays as well as tensors, and gives arrays back for these, is a note: nobody trains through an array.

    What a method of a model does in code that is not seen is a note, where the model is in evaluation mode and the
    method is one that frameworks guard from outside (`validation_step`), or one that the same file guards elsewhere or
    trains by.

    ## Why is this bad?
    A forward with gradients on keeps every activation until its output is dropped: two to twenty times the peak of
    one without. It is the usual reason why a run that trains for hours dies at its first validation.
    `model.eval()` does not help: it changes layers such as dropout and has nothing to do with gradients.

    ## Example
    ```python
    def evaluate(model, loader):
        model.eval()
        correct = 0
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
        return correct
    ```

    ## Use instead
    ```python
    @torch.no_grad()
    def evaluate(model, loader):
        ...
    ```
    or `with torch.no_grad():` around the loop.

    ## When it is not a leak
    The forward is guarded in the function, in what it calls or in every caller; a framework guards it (Lightning's
    `validation_step`); gradients are wanted (`torch.autograd.grad`, saliency, adversarial examples); the parameters
    are frozen; a single forward on made-up numbers to learn a shape. What is read by `.numpy()` without `.detach()` has
    no graph, wherever the guard stands: with one it would raise. What is prepared for a forward that is guarded in the
    same function is left out of the guard on purpose.

    ## Fix safety
    The decorator is safe when nothing with a graph leaves the function, be it in what a network begins there and goes
    on with. Results stay the same, but for LSTM and the fast path of TransformerEncoderLayer, which round differently
    (below 1e-6).

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    - https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    code = "TLK201"
    name = "inference-with-grad"
    level = Level.WARNING
    harms = (Harm.UNUSED, Harm.PEAK)
    symptoms = (Symptom.DIES_AT_VALIDATION,)
    triggers = (
        Trigger(calls=frozenset(["eval", "train", "detach"])),
        Trigger(names=frozenset(["data"])),
        Trigger(defines=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each function that infers, or for each statement where it also trains."""
        for inference in facts.unguarded_inferences:
            if inference.is_target:
                continue  # TLK203 names the teacher
            if inference.elsewhere:
                yield from self._elsewhere(facts, inference)
            elif inference.inline:
                yield from self._inline(facts, inference)
            else:
                yield self._whole(facts, inference)
        yield from (self._idle(facts, phase) for phase in facts.idle_phases)

    def _idle(self, facts: Facts, phase: IdlePhase) -> Finding:
        forward, calls = phase.forwards[0], [facts.statement_of(call) for call in phase.calls[:CALLERS]]
        steps = [Step(call, "called here, with gradients on, to train nothing") for call in calls]
        return peak(
            facts.statement_of(forward),
            (
                f"`{facts.called(forward)}` runs with gradients on also for the call in line ", LineOf(calls[0]),
                ", where the backward in line ", LineOf(phase.backward), f" does not run: {KEPT}; put it under `with"
                " torch.set_grad_enabled(...)` and the condition of the backward, or that call under `with"
                " torch.no_grad():`",
            ),
            note=False,
            evidence=(Step(facts.statement_of(forward), "the forward records a graph here"), *steps),
        )  # fmt: skip

    def _whole(self, facts: Facts, inference: Inference) -> Finding:
        function, network = inference.function, inference.network
        reason = "no backward follows" if inference.leaves else "the graph is thrown away"
        doubt = ", unless that switches them off itself" if inference.unseen else ""
        doubt = ", where its caller does not switch them off" if inference.doubtful else doubt
        advice, fix = "decorate it with `@torch.no_grad()`", None
        if inference.for_arrays:  # who passes a tensor may train
            doubt = " where it is given an array"
            advice = "switch them off where that is so, or decorate it with `@torch.no_grad()`"
        elif inference.flag is None and facts.gives_lazily(function):
            advice = (
                "return a list and decorate it with `@torch.no_grad()`, or consume it under `with torch.no_grad():`"
            )
        elif inference.flag is None:
            fix = facts.guard(function, safe=not inference.hands_out)
        else:  # who passes it may train
            doubt = f" where `{inference.flag.name}` is left out"
            advice = f"put it under `with torch.set_grad_enabled({inference.flag.name}):`"
        return peak(
            function.syntax,
            (
                f"`{function.name}` runs `{facts.called(network)}` with gradients on (line ",
                LineOf(facts.statement_of(network)), f"){_inert(inference)} and {reason}{doubt}: {_kept(inference)};"
                f" {advice}",
            ),
            note=inference.is_in_doubt,
            evidence=_evidence(facts, inference),
            fix=fix,
        )  # fmt: skip

    def _elsewhere(self, facts: Facts, inference: Inference) -> Iterator[Finding]:
        forwards = {facts.called(forward): forward for forward in reversed(inference.forwards)}
        for called, forward in forwards.items():
            statement, file = facts.statement_of(forward), facts.inferences.elsewhere.files_of(forward)
            advice = "guard this call with `torch.no_grad()`"
            if not (inference.others_guard or inference.trained_there):
                advice = "decorate it there with `@torch.no_grad()`, or guard this call"
            yield peak(
                statement,
                (f"`{called}` runs forwards of {file} with gradients on and throws the graph away: {KEPT}; {advice}",),
                note=not inference.others_guard,
                evidence=(Step(statement, "called here with gradients on"),),
            )

    def _inline(self, facts: Facts, inference: Inference) -> Iterator[Finding]:
        forwards = {facts.statement_of(forward): forward for forward in reversed(inference.forwards)}
        when = " after `.eval()`" if inference.says_eval else ""
        for statement, forward in forwards.items():
            yield peak(
                statement,
                (
                    f"`{facts.called(forward)}` runs with gradients on{when}{_inert(inference)} and no"
                    f" backward follows: {_kept(inference)}; put the evaluation under `with torch.no_grad():`",
                ),
                note=inference.unseen or inference.partly_frozen or inference.given,
                evidence=(Step(statement, "the forward records a graph here"),),
            )


def _inert(inference: Inference) -> str:
    if inference.partly_frozen:
        return ", though a part of it is frozen,"
    if inference.given:
        return ", unless whoever gave it has frozen it,"
    return ", `volatile=True` does nothing since torch 0.4," if inference.volatile else ""


def _kept(inference: Inference) -> str:
    if inference.partly_frozen:
        return "from its first part on that is not frozen, activations are kept until the output is dropped"
    return KEPT


def _evidence(facts: Facts, inference: Inference) -> tuple[Step, ...]:
    calls = [facts.statement_of(call) for call in inference.forwards]
    steps = [Step(node, "a forward records a graph here") for node in dict.fromkeys(calls)]
    callers = facts.solution.callers_in_file(inference.function)
    steps += [] if callers else [Step(inference.function.syntax, "no caller that guards it is seen in this run")]
    recording = list(filter(facts.modes.records, callers))[:CALLERS]
    steps += [Step(facts.statement_of(call), "called from here with gradients on") for call in recording]
    return tuple(steps)
