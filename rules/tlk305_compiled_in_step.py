"""TLK305."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.repeated.compiling import Compilation

COMPILING = frozenset(
    ["compile", "trace", "trace_module", "script", "freeze", "optimize_for_inference", "export",
     "export_for_training", "symbolic_trace", "make_fx", "optimize"]
)  # fmt: skip


class CompiledInStep(Rule):
    """A model is compiled, traced or scripted in every step.

    ## What it does
    Finds `torch.compile`, `torch.jit.trace`, `torch.jit.script`, `torch.jit.freeze`, `torch.export.export`,
    `torch.fx.symbolic_trace` and the like in the steps of a loop, in `forward`, in a framework's step method, in a
    request handler, or in a helper that one of these calls; also as decorators of functions that are defined there.

    ## Why is this bad?
    Tracing and scripting take many times as long as running what comes of it. What `torch.jit.trace` and
    `torch.jit.freeze` have made stays in the host's memory when nobody has it any more, some hundred kilobytes for a
    small model. `torch.compile` finds by its code what it compiled before and only wraps it anew: a millisecond a step,
    and three small objects that stay. Of that a note speaks.

    ## Example
    ```python
    for x, y in loader:
        fast = torch.jit.trace(model, x)
        ...
    ```

    ## Use instead
    ```python
    fast = torch.jit.trace(model, example)
    for x, y in loader:
        ...
    ```

    ## When it is not a leak
    It is compiled when first needed, at start-up, behind a cache, once for an epoch or an export; the loop runs over
    models, each of which is compiled once.

    ## Fix safety
    There is no automatic fix: where to compile instead is for a person to say.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    - https://docs.pytorch.org/docs/stable/generated/torch.jit.trace.html
    """

    code = "TLK305"
    name = "compiled-in-step"
    level = Level.WARNING
    harms = (Harm.HOST, Harm.CHURN)
    symptoms = (Symptom.HOST_GROWS, Symptom.SLOW)
    unseen = True
    triggers = (Trigger(names=COMPILING), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each place that compiles again and again."""
        for compilation in facts.compilations:
            yield _finding(facts, compilation)


def _finding(facts: Facts, compilation: Compilation) -> Finding:
    place, definition = compilation.repeated_by, compilation.definition
    often, advice = ("in ", *facts.each_turn(place)), ("; do it once, ", *facts.outside(place))
    cost = ": it costs far more time than the step"
    if compilation.is_found_again:
        cost = ": the compiled code is found again, but the wrapping takes about a millisecond of each step"
    if compilation.grows:
        cost += ", and host memory grows by what was made"
    written = f"`@{compilation.name}`" if definition is not None else facts.done_by(compilation.at, compilation.by)
    return Finding(
        node=definition or facts.statement_of(compilation.at),
        message=(f"{written} {compilation.verb} anew ", *often, cost, *advice),
        level=Level.NOTE if compilation.is_found_again else Level.WARNING,
        memory=Memory.HOST_GROWS if compilation.grows else Memory.TIME,
        evidence=(Step(place.syntax, "this is what repeats it"),),
    )
