"""TLK505."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.host.debugging import Debugging


class AnomalyModeOn(Rule):
    """Anomaly detection is on for a whole training.

    ## What it does
    Finds `torch.autograd.set_detect_anomaly(True)`, `with torch.autograd.detect_anomaly():` and
    `Trainer(detect_anomaly=True)` that cover a whole training, or stand where the process is set up, with its seeds and
    backends, and that no condition switches off.

    ## Why is this bad?
    Each operation of the forward records the stack of Python that led to it, and each function of the backward has
    its results searched for NaN, which makes the device wait. A step takes much longer for something that is wanted
    once.

    ## Example
    ```python
    torch.autograd.set_detect_anomaly(True)
    for x, y in loader:
        train_step(x, y)
    ```

    ## Use instead
    ```python
    torch.autograd.set_detect_anomaly(args.debug)
    ```

    ## When it is not a leak
    It is behind a flag or in a test, covers a few steps, or is switched off again.

    ## Fix safety
    There is no automatic fix: whether it is still needed is for a person to say.

    ## References
    - https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
    """

    code = "TLK505"
    name = "anomaly-mode-on"
    level = Level.NOTE
    harms = (Harm.CHURN,)
    symptoms = (Symptom.SLOW,)
    triggers = (
        Trigger(names=frozenset(["detect_anomaly", "set_detect_anomaly"])),
        Trigger(constructs=True),
        Trigger(imports=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each place that switches it on for a whole run."""
        for debugging in facts.debuggings:
            yield _finding(facts, debugging)


def _finding(facts: Facts, debugging: Debugging) -> Finding:
    statement, covered = facts.statement_of(debugging.call), debugging.covered
    kept = debugging.kept
    subject = facts.done_by(debugging.call, debugging.by) if kept is None else f"`{kept.name}`"
    where: tuple[str | LineOf, ...] = (" for all that follows",)
    if covered is not statement:
        where = (" for all of line ", LineOf(covered))
    return Finding(
        node=kept.written.syntax or statement if kept is not None else statement,
        message=(
            f"{subject} leaves anomaly detection on",
            *where,
            ": each operation records a stack and each gradient is searched for NaN; "
            "remove it, or put it behind a debug flag",
        ),
        level=Level.NOTE,
        memory=Memory.TIME,
        evidence=(Step(statement, "it is switched on here"), Step(covered, "this runs under it")),
    )
