"""TLK109."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.contexts import OnContext


class TensorOnContext(Rule):
    """An output of an `autograd.Function`, or a view of one, is an attribute of its context.

    ## What it does
    Finds `ctx.y = y` in `forward` or `setup_context` where `y` (or a tuple, list, dict or record with `y` in it) is
    what the function gives back, or a view of that; also through a helper that gets the context or makes the record.

    ## Why is this bad?
    The context is the graph node that made the output, and the output knows its node: the two hold each other. No
    `backward()` ends that. Python's cyclic collector does, whenever it comes by; it counts objects and knows nothing
    of GPU memory, so many steps can pile up before. A view of an output holds it inside of C++, where the collector
    does not look, and of two outputs on one context it does not see that nobody else knows them: then nothing frees
    them, ever.

    ## Example
    ```python
    @staticmethod
    def forward(ctx, x):
        y = x.sigmoid()
        ctx.y = y
        return y
    ```

    ## Use instead
    ```python
        ctx.save_for_backward(y)
        return y
    ```
    and `(y,) = ctx.saved_tensors` in `backward`.

    ## When it is not a leak
    Numbers, shapes and options; a detached or cloned copy; outputs without a gradient (`mark_non_differentiable`,
    integers); an input. A tensor that was computed on the way stays as long as the graph, which is a note, and so is
    an output that `backward` takes off the context again: it stays only where no backward runs.

    ## Fix safety
    Unsafe. Results are the same to the bit, but torch checks what is saved: it then refuses a backward over an output
    that was changed in place since, and a second backward over one graph without `retain_graph`.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/extending.html#how-to-use
    - https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.save_for_backward.html
    """

    code = "TLK109"
    name = "tensor-on-ctx"
    level = Level.ERROR
    harms = (Harm.CYCLE, Harm.BYTES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.NOT_FREED)
    triggers = (
        Trigger(names=frozenset(["Function", "InplaceFunction", "NestedIOFunction"]), defines=True),
        Trigger(calls=frozenset(["register_autograd"]), defines=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement that keeps a tensor on a context."""
        for kept in facts.on_contexts:
            level, memory, cost = _consequence(kept)
            yield Finding(
                node=kept.statement,
                message=(f"`{kept.holder}` keeps `{kept.tensor}`, {kept.share.value} of `{kept.name}`{cost}",),
                level=level,
                memory=memory,
                evidence=(
                    Step(facts.statement_of(kept.value), f"`{kept.tensor}` comes from here"),
                    Step(kept.forward.syntax, "this fills the context of each call"),
                ),
                fix=facts.save_for_backward(kept),
            )


def _consequence(kept: OnContext) -> tuple[Level, Memory, str]:
    """How grave it is, which memory it costs, and how to say so with the way out."""
    save = "; hand it to `save_for_backward`"
    if kept.share.name == "VIEW":
        save = "; hand the output to `save_for_backward` and take the view in `backward`"
    if not kept.is_circle:
        return Level.NOTE, Memory.PEAK, f": it stays as long as the graph, backward does not free it{save}"
    if kept.cleared and kept.is_forever:
        cost = ": `backward` drops it, but where no backward runs they hold each other where no collector looks"
        return Level.NOTE, Memory.DEVICE_GROWS, f"{cost}{save}"
    if kept.cleared:
        cost = ": `backward` drops it, but where no backward runs the two hold each other until the cyclic collector"
        return Level.NOTE, Memory.PEAK, f"{cost} comes by{save}"
    if kept.is_forever:
        cost = ": they hold each other where no collector looks, and GPU memory grows each step"
        return Level.ERROR, Memory.DEVICE_GROWS, f"{cost}{save}"
    cost = ": the two hold each other, and only Python's cyclic collector frees their GPU memory, at some later step"
    return Level.WARNING, Memory.PEAK, f"{cost}{save}"
