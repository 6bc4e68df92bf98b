"""TLK406."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.handling import Retry
    from torchlint.facts.keeping.kept_exceptions import KeptException


class ExceptionKeepsFrames(Rule):
    """An exception keeps the tensors of the step that failed.

    ## What it does
    Finds handlers of out-of-memory errors in which the step is done again, and exceptions (or their tracebacks) of a
    failed step that are stored: in a list, on an object, in a variable for the next attempt.

    ## Why is this bad?
    An exception holds its traceback, and that the frames in which the step failed, with all their variables: inputs,
    activations, the graph. Inside `except` they cannot be freed, so that the smaller batch has less memory than
    there would be. An exception that is stored keeps them for as long as it is stored.

    ## Example
    ```python
    try:
        loss = step(batch)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        loss = step(batch[:half])
    ```

    ## Use instead
    ```python
    failed = False
    try:
        loss = step(batch)
    except torch.cuda.OutOfMemoryError:
        failed = True
    if failed:
        torch.cuda.empty_cache()
        loss = step(batch[:half])
    ```

    ## When it is not a leak
    The handler only sets a flag, skips the batch or raises; `str(error)`, `repr(error)` or
    `traceback.format_exc()` is stored; the frames are cleared (`traceback.clear_frames`, `with_traceback(None)`).

    ## Fix safety
    There is no automatic fix: moving code behind the handler changes what is tried and what is raised.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-out-of-memory-exception-handler-can-t-allocate-memory
    """

    code = "TLK406"
    name = "exception-keeps-frames"
    level = Level.ERROR
    harms = (Harm.PEAK, Harm.BYTES)
    symptoms = (Symptom.NOT_FREED, Symptom.GROWS_EVERY_STEP)
    triggers = (Trigger(handles=True),)

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each step that is done again in a handler, and for each exception that is kept."""
        for retry in facts.retries:
            yield _of_retry(facts, retry)
        for kept in facts.kept_exceptions:
            yield _of_kept(facts, kept)


def _of_retry(facts: Facts, retry: Retry) -> Finding:
    statement, tried = facts.statement_of(retry.call), facts.statement_of(retry.tried)
    return Finding(
        node=statement,
        message=(
            f"`{facts.called(retry.call)}` runs inside `except` (line ",
            LineOf(retry.handler),
            f"), where the exception still holds every tensor of the `{facts.called(retry.tried)}` that failed: set a"
            " flag in the handler and do it again after the handler",
        ),
        level=Level.WARNING,
        memory=Memory.PEAK,
        evidence=(
            Step(tried, "this fails, and the frames in which it does hold tensors"),
            Step(retry.handler, "until the handler ends they stay"),
            Step(statement, "it is done again here"),
        ),
    )


def _of_kept(facts: Facts, kept: KeptException) -> Finding:
    tried = facts.statement_of(kept.tried)
    if kept.piles_up:
        cost = "GPU memory grows with each failure"
    elif kept.is_variable:
        cost = "they stay in memory through the next attempt"
    else:
        cost = "they stay in memory for as long as it does"
    return Finding(
        node=kept.statement,
        message=(
            f"`{kept.name}` keeps an exception, and its traceback every tensor of the `{facts.called(kept.tried)}`"
            " that failed (line ",
            LineOf(tried),
            f"): {cost}; keep `str(error)` or `traceback.format_exc()`",
        ),
        level=Level.ERROR if kept.piles_up else Level.WARNING,
        memory=Memory.DEVICE_GROWS if kept.piles_up else Memory.PEAK,
        evidence=(
            Step(tried, "this fails, and the frames in which it does hold tensors"),
            Step(kept.handler, "the exception is caught here"),
            Step(kept.statement, f"`{kept.name}` keeps it here"),
        ),
    )
