"""From figures to a verdict: for each harm, what a leak is and what is none, with the sentence that explains it.

Survivors come first: what was made in a step and is still there three steps before the end or more, in *every* step
after the warm-up. A slope stands beside them, for what is replaced by something larger in each step and so survives
nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from torchlint.rule import Harm
from torchlint.verify.measurement import Pass, Series
from torchlint.verify.slope import MOSTLY, rising_share, theil_sen

__all__ = ["LATEST_STEPS", "PASSES", "Answer", "Figures", "Judgement", "judge"]

LATEST_STEPS = 3
"""Steps before the end whose survivors are not judged: a program may hold its last few batches in local variables."""

PEAK_MARGIN = 1.02
"""A peak this many times the repaired program's is a waste; below, allocation order alone may explain it."""

CALL_MARGIN = 1.1
"""Calls and operations this many times the repaired program's are churn; below, the repair itself may explain it."""

HEAP_MARGIN = 2048
"""Bytes of C heap a step that are growth: what the interpreter and the probes leave is some hundred."""

WORKER_MARGIN = 64 * 1024
"""Private bytes of workers a step that are growth: below are single pages."""

PASSES: Mapping[Harm, tuple[Pass, ...]] = {
    Harm.NODES: (Pass.PLAIN,),
    Harm.BYTES: (Pass.STORAGE,),
    Harm.CYCLE: (Pass.STORAGE,),
    Harm.PEAK: (Pass.STORAGE,),
    Harm.UNUSED: (Pass.SAVED,),
    Harm.CHURN: (Pass.CALLS, Pass.STORAGE),
    Harm.HOST: (Pass.HOST,),
    Harm.WORKERS: (Pass.HOST,),
}
"""The runs that measure a harm; on CUDA the allocator's figures come from the plain one, which every program has."""


class Answer(Enum):
    """What the figures say of one harm in one program."""

    LEAKS = "leaks"
    """It is there in every judged step."""
    PARTLY = "partly"
    """Something is there, but not in every step: enough to refuse a clean program, not to prove a leak."""
    QUIET = "quiet"
    """It is not there."""
    UNKNOWN = "not measurable"
    """It cannot be seen here, or there is nothing to compare with."""


@dataclass(frozen=True)
class Judgement:
    """What the figures say of one harm in one program.

    Attributes:
        harm: of what.
        answer: what they say.
        figure: the one number for tables, per step but for a peak; None where there is none.
        unit: of the figure: "nodes", "B", "calls", "built", "objects".
        sentence: why, in one line without a full stop.
    """

    harm: Harm
    answer: Answer
    figure: float | None
    unit: str
    sentence: str


@dataclass(frozen=True)
class Figures:
    """What one program measured.

    Attributes:
        series: all figures by name, of all its runs.
        drawn: steps it began.
        warm_up: steps that are not judged.
        payload: bytes that it is meant to keep, or to save for nothing, a step.
        builds: modules, optimizers and loaders that it is meant to build a step.
    """

    series: Mapping[str, Series]
    drawn: int
    warm_up: int
    payload: int = 0
    builds: int = 0

    def by_step(self, name: str) -> Series:
        """One number for each judged step, of a series that has one a step."""
        return self.series.get(name, ())[self.warm_up : self.drawn]

    def survivors(self, name: str) -> Series:
        """The same without the latest steps."""
        return self.series.get(name, ())[self.warm_up : self.drawn - LATEST_STEPS]

    def samples(self, name: str) -> Series:
        """One number for the beginning of each judged step and the end of the last."""
        return self.series.get(name, ())[self.warm_up :]


def judge(harm: Harm, figures: Figures, reference: Figures | None) -> Judgement:
    """What one program's figures say of one harm.

    Args:
        harm: of what.
        figures: the program's.
        reference: those of its repaired form, where there is one.
    """
    return _JUDGES[harm](figures, reference)


def _nodes(figures: Figures, reference: Figures | None) -> Judgement:
    return _judge_survivors(Harm.NODES, "nodes", figures.survivors("nodes.survivors"), 0, ("node", "nodes"))


def _unused(figures: Figures, reference: Figures | None) -> Judgement:
    words = "B saved for backward and never read"
    return _judge_survivors(Harm.UNUSED, "B", figures.survivors("saved.unused"), figures.payload, (words, words))


def _judge_survivors(harm: Harm, unit: str, counts: Series, allowed: int, words: tuple[str, str]) -> Judgement:
    """The first test of all: something of every step is left."""
    if not counts:
        return Judgement(harm, Answer.UNKNOWN, None, unit, "it was not measured")
    least, most = min(counts), max(counts)
    what = words[0] if most == 1 else words[1]
    if least > allowed:
        span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return Judgement(harm, Answer.LEAKS, least, unit, f"{span} {what} of every step")
    steps = sum(count > allowed for count in counts)
    if steps:
        return Judgement(harm, Answer.PARTLY, most, unit, f"up to {most:,} {what} of {steps} of {len(counts)} steps")
    return Judgement(harm, Answer.QUIET, most, unit, f"no {what}")


def _bytes(figures: Figures, reference: Figures | None) -> Judgement:
    allowed = figures.payload
    survivors = figures.survivors("storages.survivors")
    if not survivors:
        return Judgement(Harm.BYTES, Answer.UNKNOWN, None, "B", "it was not measured")
    least, most = min(survivors), max(survivors)
    growth = max((_growth(figures, name) for name in ("storages.live", "cuda.requested")), default=0.0)
    meant = f", {allowed:,} B are meant to be kept" if allowed else ""
    figure = max(float(least), growth)
    if least > allowed or growth > allowed:
        sentence = f"{least:,} B of every step are kept, live bytes grow by {growth:,.0f} B a step{meant}"
        return Judgement(Harm.BYTES, Answer.LEAKS, figure, "B", sentence)
    if most > allowed:
        sentence = f"up to {most:,} B of a step are kept, though not of every step{meant}"
        return Judgement(Harm.BYTES, Answer.PARTLY, float(most), "B", sentence)
    return Judgement(Harm.BYTES, Answer.QUIET, figure, "B", f"live bytes do not grow{meant}")


def _growth(figures: Figures, name: str) -> float:
    """The slope of a series where it rises nearly always, else 0."""
    samples = figures.samples(name)
    return max(0.0, theil_sen(samples)) if rising_share(samples) >= MOSTLY else 0.0


def _cycle(figures: Figures, reference: Figures | None) -> Judgement:
    # The first sample of the judged steps still shows what the last step of the warm-up left.
    freed = figures.samples("storages.cyclic")[1:]
    if not freed:
        return Judgement(Harm.CYCLE, Answer.UNKNOWN, None, "B", "it was not measured")
    words = "B a step that only the cyclic collector frees"
    return _judge_survivors(Harm.CYCLE, "B", freed, 0, (words, words))


def _peak(figures: Figures, reference: Figures | None) -> Judgement:
    peak = _largest_peak(figures)
    if peak is None:
        return Judgement(Harm.PEAK, Answer.UNKNOWN, None, "B", "it was not measured")
    fixed = None if reference is None else _largest_peak(reference)
    if fixed is None:
        return Judgement(Harm.PEAK, Answer.UNKNOWN, peak, "B", "there is no repaired program to compare the peak with")
    sentence = f"the largest peak is {peak:,} B against {fixed:,} B when repaired ({peak / max(fixed, 1) - 1:+.1%})"
    return Judgement(Harm.PEAK, Answer.LEAKS if peak >= PEAK_MARGIN * fixed else Answer.QUIET, peak, "B", sentence)


def _largest_peak(figures: Figures) -> int | None:
    name = "cuda.peak" if "cuda.peak" in figures.series else "storages.peak"
    return max(figures.by_step(name), default=None)


def _churn(figures: Figures, reference: Figures | None) -> Judgement:
    if not figures.by_step("calls.built"):
        return Judgement(Harm.CHURN, Answer.UNKNOWN, None, "built", "it was not measured")
    built = _mean(figures.by_step("calls.built"))
    if reference is None:
        answer = Answer.LEAKS if min(figures.by_step("calls.built")) > figures.builds else Answer.QUIET
        return Judgement(Harm.CHURN, answer, built, "built", f"{built:.3g} modules, optimizers or loaders built a step")
    for name, words, unit, margin in _COUNTS:
        mine, fixed = _mean(figures.by_step(name)), _mean(reference.by_step(name))
        if mine > margin * fixed:
            sentence = f"{mine:,.3g} {words} a step against {fixed:,.3g} when repaired"
            return Judgement(Harm.CHURN, Answer.LEAKS, mine, unit, sentence)
    sentence = f"no more is built, called or computed than when repaired ({built:.3g} built a step)"
    return Judgement(Harm.CHURN, Answer.QUIET, built, "built", sentence)


_COUNTS = (
    ("calls.built", "modules, optimizers or loaders built", "built", 1.0),
    ("storages.operations", "operations", "operations", CALL_MARGIN),
    ("calls.made", "calls", "calls", CALL_MARGIN),
)
"""What churn counts: the series, its name, its unit, how many times the repaired program's is too many."""


def _mean(counts: Sequence[int]) -> float:
    return sum(counts) / len(counts) if counts else 0.0


def _host(figures: Figures, reference: Figures | None) -> Judgement:
    objects = _excess("objects.live", figures, reference)
    heap = _excess("heap.bytes", figures, reference)
    if objects is None:
        return Judgement(Harm.HOST, Answer.UNKNOWN, None, "B", "it was not measured")
    against = " more than when repaired" if reference else ""
    if heap is not None and heap > HEAP_MARGIN + figures.payload:
        return Judgement(Harm.HOST, Answer.LEAKS, heap, "B", f"the C heap grows by {heap:,.0f} B a step{against}")
    if objects > 0:
        return Judgement(Harm.HOST, Answer.LEAKS, objects, "objects", f"{objects:,.3g} objects a step{against}")
    if heap is None:
        return Judgement(Harm.HOST, Answer.UNKNOWN, None, "B", "the C heap tells its size with glibc only")
    return Judgement(Harm.HOST, Answer.QUIET, max(heap, 0.0), "B", "neither objects nor the C heap grow")


def _workers(figures: Figures, reference: Figures | None) -> Judgement:
    private = _excess("workers.private", figures, reference)
    if private is None:
        return Judgement(Harm.WORKERS, Answer.UNKNOWN, None, "B", "only Linux tells the private memory of a process")
    answer = Answer.LEAKS if private > WORKER_MARGIN else Answer.QUIET
    return Judgement(Harm.WORKERS, answer, max(private, 0.0), "B", f"workers grow by {private:,.0f} B a step")


def _excess(name: str, figures: Figures, reference: Figures | None) -> float | None:
    """How much more a series grows than the repaired program's; None where it was not measured."""
    if not figures.samples(name):
        return None
    return _growth(figures, name) - (_growth(reference, name) if reference else 0.0)


_JUDGES: Mapping[Harm, Callable[[Figures, Figures | None], Judgement]] = {
    Harm.NODES: _nodes,
    Harm.BYTES: _bytes,
    Harm.CYCLE: _cycle,
    Harm.PEAK: _peak,
    Harm.UNUSED: _unused,
    Harm.CHURN: _churn,
    Harm.HOST: _host,
    Harm.WORKERS: _workers,
}
