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

HEAP = "heap bytes a step"
"""The unit of what is found of the C heap."""

HEAP_MARGIN = 2048
"""Bytes of C heap a step that are growth: what the interpreter and the probes leave is some hundred."""

WORKER_MARGIN = 64 * 1024
"""Private bytes of workers a step that are growth: below are single pages."""

PASSES: Mapping[Harm, tuple[Pass, ...]] = {
    Harm.NODES: (Pass.PLAIN,),
    Harm.BYTES: (Pass.STORAGE,),
    Harm.DEVICE: (Pass.STORAGE,),
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
        unit: what is counted: "nodes a step", "peak bytes".
        figure: how much of it; None where it was not measured.
        sentence: why, in one line without a full stop.
        against: the repaired program's figure, where the harm is judged by comparing the two.
    """

    harm: Harm
    answer: Answer
    unit: str
    figure: float | None
    sentence: str
    against: float | None = None


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
    return _judge_survivors(Harm.NODES, "nodes a step", "nodes", figures.survivors("nodes.survivors"), 0)


def _unused(figures: Figures, reference: Figures | None) -> Judgement:
    saved = figures.survivors("saved.unused")
    return _judge_survivors(Harm.UNUSED, "unread bytes a step", "bytes that no backward reads", saved, figures.payload)


def _cycle(figures: Figures, reference: Figures | None) -> Judgement:
    # The first sample of the judged steps still shows what the last step of the warm-up left.
    freed = figures.samples("storages.cyclic")[1:]
    return _judge_survivors(Harm.CYCLE, "cyclic bytes a step", "bytes that only the cyclic collector frees", freed, 0)


def _judge_survivors(harm: Harm, unit: str, what: str, counts: Series, allowed: int) -> Judgement:
    """The first test of all: something of every step is left."""
    if not counts:
        return _unmeasured(harm, unit)
    least, most = min(counts), max(counts)
    if least > allowed:
        span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return Judgement(harm, Answer.LEAKS, unit, least, f"{span} {what} are left of every step")
    steps = sum(count > allowed for count in counts)
    if steps:
        sentence = f"up to {most:,} {what} are left of {steps} of {len(counts)} steps"
        return Judgement(harm, Answer.PARTLY, unit, most, sentence)
    return Judgement(harm, Answer.QUIET, unit, most, f"no {what} are left{_meant(allowed)}")


def _unmeasured(harm: Harm, unit: str, why: str = "it was not measured") -> Judgement:
    return Judgement(harm, Answer.UNKNOWN, unit, None, why)


def _meant(allowed: int) -> str:
    """What the program says that it keeps on purpose."""
    return f" beyond the {allowed:,} that are meant" if allowed else ""


def _bytes(figures: Figures, reference: Figures | None) -> Judgement:
    return _judge_kept(Harm.BYTES, "bytes a step", figures, "storages.survivors", "storages.live")


def _device(figures: Figures, reference: Figures | None) -> Judgement:
    unit = "device bytes a step"
    if "cuda.requested" not in figures.series:
        return _unmeasured(Harm.DEVICE, unit, "the host has no memory apart from its own")
    return _judge_kept(Harm.DEVICE, unit, figures, "storages.survivors_off_host", "storages.live_off_host")


def _judge_kept(harm: Harm, unit: str, figures: Figures, survivors: str, live: str) -> Judgement:
    """Bytes that survive their step, by the names of the series of survivors and of what is alive."""
    allowed, counts = figures.payload, figures.survivors(survivors)
    if not counts:
        return _unmeasured(harm, unit)
    least, most = min(counts), max(counts)
    growth = max(_growth(figures, name) for name in (live, "cuda.requested"))
    figure, meant = max(float(least), growth), _meant(allowed)
    if figure > allowed:
        sentence = f"{least:,} bytes are left of every step, live bytes grow by {growth:,.0f} a step{meant}"
        return Judgement(harm, Answer.LEAKS, unit, figure, sentence)
    if most > allowed:
        steps = sum(count > allowed for count in counts)
        sentence = f"up to {most:,} bytes are left of {steps} of {len(counts)} steps{meant}"
        return Judgement(harm, Answer.PARTLY, unit, float(most), sentence)
    return Judgement(harm, Answer.QUIET, unit, figure, f"live bytes do not grow{meant}")


def _growth(figures: Figures, name: str) -> float:
    """The slope of a series where it rises nearly always, else 0."""
    samples = figures.samples(name)
    return max(0.0, theil_sen(samples)) if rising_share(samples) >= MOSTLY else 0.0


def _peak(figures: Figures, reference: Figures | None) -> Judgement:
    unit, peaks = "peak bytes", _largest_peaks(figures)
    if not peaks:
        return _unmeasured(Harm.PEAK, unit)
    others = _largest_peaks(reference) if reference else ()
    if not others:
        why = "there is no repaired program to compare the peak with"
        return Judgement(Harm.PEAK, Answer.UNKNOWN, unit, peaks[0], why)
    # One that failed on the way has the device's peak alone.
    pairs = tuple(zip(peaks, others, strict=False))
    wasted = (pair for pair in pairs if pair[0] >= PEAK_MARGIN * pair[1])
    peak, fixed = next(wasted, pairs[0])
    sentence = f"the largest peak is {peak:,} bytes against {fixed:,} when repaired ({peak / max(fixed, 1) - 1:+.1%})"
    answer = Answer.LEAKS if peak >= PEAK_MARGIN * fixed else Answer.QUIET
    return Judgement(Harm.PEAK, answer, unit, peak, sentence, fixed)


def _largest_peaks(figures: Figures) -> tuple[int, ...]:
    """That of the device, where there is one, and that of the host."""
    found = (figures.by_step(name) for name in ("cuda.peak", "storages.peak"))
    return tuple(max(peaks) for peaks in found if peaks)


def _churn(figures: Figures, reference: Figures | None) -> Judgement:
    if not figures.by_step("calls.built"):
        return _unmeasured(Harm.CHURN, _BUILT.unit)
    if reference is None:
        built = figures.by_step("calls.built")
        answer = Answer.LEAKS if min(built) > figures.builds else Answer.QUIET
        mean = _mean(built)
        sentence = f"{mean:.3g} {_BUILT.words} a step{_meant(figures.builds)}"
        return Judgement(Harm.CHURN, answer, _BUILT.unit, mean, sentence)
    for count in (_BUILT, *_REPEATED):
        mine, fixed = _mean(figures.by_step(count.series)), _mean(reference.by_step(count.series))
        if mine > count.margin * fixed + count.allowance:
            sentence = f"{mine:,.4g} {count.words} a step against {fixed:,.4g} when repaired"
            return Judgement(Harm.CHURN, Answer.LEAKS, count.unit, mine, sentence, fixed)
    mine, fixed = _mean(figures.by_step(_BUILT.series)), _mean(reference.by_step(_BUILT.series))
    sentence = "no more is built, called or computed than when repaired"
    return Judgement(Harm.CHURN, Answer.QUIET, _BUILT.unit, mine, sentence, fixed)


@dataclass(frozen=True)
class _Count:
    """Something that churn counts: its series, and how much beyond the repaired program's is too many.

    Attributes:
        series: one number a step.
        words, unit: what is counted, in a sentence and in a table.
        margin: this many times the repaired program's ...
        allowance: ... and so many a step more may be chance.
    """

    series: str
    words: str
    unit: str
    margin: float
    allowance: float = 0.0


_BUILT = _Count("calls.built", "modules, optimizers or loaders built", "built a step", 1.0)
_REPEATED = (
    _Count("storages.operations", "operations", "operations a step", CALL_MARGIN),
    _Count("cuda.taken", "segments taken from the driver", "segments a step", CALL_MARGIN, allowance=0.5),
    _Count("calls.made", "calls", "calls a step", CALL_MARGIN),
)


def _mean(counts: Sequence[int]) -> float:
    return sum(counts) / len(counts) if counts else 0.0


def _host(figures: Figures, reference: Figures | None) -> Judgement:
    heap = _Growth.of("heap.bytes", figures, reference)
    objects = _Growth.of("objects.live", figures, reference)
    if objects is None:
        return _unmeasured(Harm.HOST, HEAP)
    if heap is not None and heap.excess > HEAP_MARGIN + figures.payload:
        sentence = f"the C heap grows by {heap}"
        return Judgement(Harm.HOST, Answer.LEAKS, HEAP, heap.mine, sentence, heap.reference)
    if objects.excess > 0:
        sentence = f"tracked objects grow by {objects}"
        return Judgement(Harm.HOST, Answer.LEAKS, "objects a step", objects.mine, sentence, objects.reference)
    if heap is None:
        return _unmeasured(Harm.HOST, HEAP, "the C heap tells its size with glibc only")
    sentence = "neither tracked objects nor the C heap grow"
    return Judgement(Harm.HOST, Answer.QUIET, HEAP, heap.mine, sentence, heap.reference)


def _workers(figures: Figures, reference: Figures | None) -> Judgement:
    unit, private = "worker bytes a step", _Growth.of("workers.private", figures, reference)
    if private is None:
        return _unmeasured(Harm.WORKERS, unit, "only Linux tells the private memory of a process")
    answer = Answer.LEAKS if private.excess > WORKER_MARGIN + figures.payload else Answer.QUIET
    return Judgement(Harm.WORKERS, answer, unit, private.mine, f"workers grow by {private}", private.reference)


@dataclass(frozen=True)
class _Growth:
    """Growth a step of one series, beside the repaired program's."""

    mine: float
    reference: float | None

    @classmethod
    def of(cls, name: str, figures: Figures, reference: Figures | None) -> _Growth | None:
        """The growth of a series; None where it was not measured."""
        if not figures.samples(name):
            return None
        return cls(_growth(figures, name), _growth(reference, name) if reference else None)

    @property
    def excess(self) -> float:
        """What the repair would spare."""
        return self.mine - (self.reference or 0.0)

    def __str__(self) -> str:
        """As it stands in a sentence."""
        against = f" against {self.reference:,.0f} when repaired" if self.reference is not None else ""
        return f"{self.mine:,.0f} a step{against}"


_JUDGES: Mapping[Harm, Callable[[Figures, Figures | None], Judgement]] = {
    Harm.NODES: _nodes,
    Harm.BYTES: _bytes,
    Harm.DEVICE: _device,
    Harm.CYCLE: _cycle,
    Harm.PEAK: _peak,
    Harm.UNUSED: _unused,
    Harm.CHURN: _churn,
    Harm.HOST: _host,
    Harm.WORKERS: _workers,
}
