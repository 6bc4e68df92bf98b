"""TLK504."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.host.recording import Recording


class MemoryHistoryUnbounded(Rule):
    """The allocator's history is recorded through a training, without a bound.

    ## What it does
    Finds `torch.cuda.memory._record_memory_history()` without `max_entries` in a program that goes on to train, or to
    run a network in a loop, be it in another thread, in an `__enter__` whose file never switches it off, in the
    `__init__` of what has a method that trains, in functions that set up the process, with its seeds and backends, and
    in what a web server runs as it starts.

    ## Why is this bad?
    By default the history has `sys.maxsize` entries. Each allocation and each free adds one with its stack, some
    kilobytes of host memory: a step of training has hundreds of them, and the process grows until it is killed. It
    looks like the leak that the history was to explain.

    ## Example
    ```python
    torch.cuda.memory._record_memory_history()
    for x, y in loader:
        train_step(x, y)
    ```

    ## Use instead
    ```python
    torch.cuda.memory._record_memory_history(max_entries=100000)
    ```

    ## When it is not a leak
    `max_entries` is given; the history is switched off (`enabled=None`); only what is allocated is recorded
    (`enabled="state"`); a few steps are looked at; somebody asked for it by a flag.

    ## Fix safety
    Safe: the newest entries are kept, the program does the same.

    ## References
    - https://docs.pytorch.org/docs/stable/torch_cuda_memory.html
    """

    code = "TLK504"
    name = "memory-history-unbounded"
    level = Level.WARNING
    harms = (Harm.HOST,)
    symptoms = (Symptom.HOST_GROWS,)
    unseen = True
    triggers = (Trigger(names=frozenset(["_record_memory_history"])), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each recording that a training fills without end."""
        for recording in facts.recordings:
            yield _finding(facts, recording)


def _recorder(facts: Facts, recording: Recording) -> str:
    if recording.by is not None:
        return facts.done_by(recording.call, recording.by)
    return f"`{facts.called(recording.call).rpartition('.')[2]}`"


def _finding(facts: Facts, recording: Recording) -> Finding:
    statement = facts.statement_of(recording.call)
    begins, training = Step(statement, "recording begins here"), recording.training
    work = "loop" if recording.infers else "training"
    filled: tuple[str | LineOf, ...] = (f"the {work} in line ", LineOf(training)) if training is not None else ()
    return Finding(
        node=statement,
        message=(
            f"{_recorder(facts, recording)} keeps an entry with its stack for every allocation and free of ",
            *(filled or ("the process, and nothing switches it off",)),
            ": host memory grows each step, GPU memory does not; write `max_entries=100000`",
        ),
        level=Level.WARNING,
        memory=Memory.HOST_GROWS,
        evidence=(begins,) if training is None else (begins, Step(training, "this is what fills it")),
        fix=facts.bound_history(recording),
    )
