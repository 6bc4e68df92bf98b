"""TLK502."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.host.profiling import Profiling


class ProfilerWithoutSchedule(Rule):
    """A profiler records a whole training.

    ## What it does
    Finds `torch.profiler.profile` without a `schedule`, and `torch.autograd.profiler.profile`, around a loop of steps
    that runs as long as there is data.

    ## Why is this bad?
    Without a schedule every event of every step is kept in host memory until the profiler ends, tens of kilobytes
    for a small step and megabytes for a large one; and then all of it is put into one trace, which no viewer opens.

    ## Example
    ```python
    with torch.profiler.profile() as prof:
        for x, y in loader:
            train_step(x, y)
    ```

    ## Use instead
    ```python
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=3, repeat=1)
    with torch.profiler.profile(schedule=schedule) as prof:
        for x, y in loader:
            train_step(x, y)
            prof.step()
    ```

    ## When it is not a leak
    A schedule is given; the loop runs a few counted steps, or is left after them; the profiler is entered in each
    step anew. One that an option switches on is a note.

    ## Fix safety
    There is no automatic fix: which steps are of interest is for a person to say.

    ## References
    - https://docs.pytorch.org/docs/stable/profiler.html#torch.profiler.schedule
    """

    code = "TLK502"
    name = "profiler-without-schedule"
    level = Level.WARNING
    harms = (Harm.HOST,)
    symptoms = (Symptom.HOST_GROWS, Symptom.SLOW)
    triggers = (Trigger(names=frozenset(["profile"])), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each profiler around a long training."""
        for profiling in facts.profilings:
            yield _finding(facts, profiling)


def _finding(facts: Facts, profiling: Profiling) -> Finding:
    statement = facts.statement_of(profiling.call)
    advice = "; give it `schedule=torch.profiler.schedule(...)` and call `step()`, or leave the loop after a few steps"
    if not profiling.has_schedule:
        advice = "; profile a few steps, or use `torch.profiler.profile` with a `schedule`"
    return Finding(
        node=statement,
        message=(
            f"`{facts.called(profiling.call)}` keeps every event of the training in line ",
            LineOf(profiling.training),
            " until it ends: host memory grows each step, GPU memory does not",
            advice,
        ),
        level=Level.NOTE if profiling.is_asked_for else Level.WARNING,
        memory=Memory.HOST_GROWS,
        evidence=(Step(statement, "the profiler is made here"), Step(profiling.training, "this is what it records")),
    )
