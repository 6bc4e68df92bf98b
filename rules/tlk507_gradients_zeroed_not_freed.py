"""TLK507."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.gradients import Zeroing


class GradientsZeroedNotFreed(Rule):
    """Gradients are filled with zeros before each step, although they could be freed.

    ## What it does
    Finds `optimizer.zero_grad(set_to_none=False)` and `model.zero_grad(set_to_none=False)` in a step of training.

    ## Why is this bad?
    The gradients, as much memory as the parameters, stay through the whole forward, when activations are at their
    largest; freed, they come back one by one in the backward while activations go. Filling them costs a kernel for
    each parameter, and adding to the zeros another one.

    ## Example
    ```python
    optimizer.zero_grad(set_to_none=False)
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    ```

    ## Use instead
    ```python
    optimizer.zero_grad()
    ```

    ## When it is not a leak
    The program reads `.grad` after that and before the next backward, where `None` would not do; the call runs once,
    or every few steps (gradient accumulation keeps the gradients anyway).

    ## Fix safety
    Unsafe: an optimizer leaves out a parameter whose gradient is `None`, while momentum and weight decay still move
    one whose gradient is zero. For parameters that get a gradient in every step the results are the same.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    """

    code = "TLK507"
    name = "gradients-zeroed-not-freed"
    level = Level.NOTE
    harms = (Harm.PEAK,)
    symptoms = (Symptom.SLOW,)
    triggers = (Trigger(names=frozenset(["zero_grad"])), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each call that keeps zeros in every step."""
        for zeroing in facts.zeroings:
            yield _finding(facts, zeroing)


def _finding(facts: Facts, zeroing: Zeroing) -> Finding:
    if zeroing.is_handed:
        subject = f"the `zero_grad` that `{facts.called(zeroing.call)}` asks for keeps the gradients"
    elif zeroing.by is None:
        subject = f"`{zeroing.inherits or facts.called(zeroing.call).rpartition('.')[0]}` keeps its gradients"
    else:
        subject = f"{facts.done_by(zeroing.call, zeroing.by)} keeps the gradients"
    return Finding(
        node=(zeroing.call.syntax if zeroing.is_handed else None) or facts.statement_of(zeroing.call),
        message=(
            f"{subject} through the forward, filled with zeros: as much memory as the parameters at the peak; "
            f"{_advice(facts, zeroing)}",
        ),
        level=Level.NOTE,
        memory=Memory.PEAK,
        evidence=(Step(zeroing.repeated_by.syntax, "this is what repeats it"),),
        fix=facts.free_gradients(zeroing),
    )


def _advice(facts: Facts, zeroing: Zeroing) -> str:
    if zeroing.by is not None:
        return "drop `set_to_none=False` there and they are freed"
    asking = zeroing.call.arguments[zeroing.argument]
    if zeroing.is_passed_in and asking.syntax is not None and zeroing.call.keys[zeroing.argument + 1] is not None:
        asked = asking.name if asking in zeroing.call.function.parameters else facts.code(asking.syntax)
        return f"`{asked}` is False unless a caller says otherwise: with True they are freed"
    return "drop `set_to_none=False` and they are freed"
