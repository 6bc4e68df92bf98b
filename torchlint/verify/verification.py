"""The whole way for folders of programs: read them, run them, judge them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from torchlint.report.summary import plural
from torchlint.rule import Harm
from torchlint.verify.measurement import DEFAULT_STEPS, Ending, Outcome, Pass, Task, warm_up_steps
from torchlint.verify.pool import Runs, measure_all
from torchlint.verify.programs import Folder, Kind, Program, imports_of
from torchlint.verify.results import difference
from torchlint.verify.verdict import HEAP, LATEST_STEPS, PASSES, Answer, Figures, Judgement, judge

__all__ = ["Options", "Row", "Verdict", "least_steps", "verify"]


@dataclass(frozen=True)
class Options:
    """How programs are run.

    Attributes:
        device: "cpu", "cuda" or "cuda:N".
        steps: batches in all.
        jobs: processes that measure at the same time; 0 for one a core.
        time_limit: seconds for each run.
        memory_limit: bytes for each run.
    """

    device: str = "cpu"
    steps: int = DEFAULT_STEPS
    jobs: int = 0
    time_limit: float = 30.0
    memory_limit: int = 2 << 30


class Verdict(Enum):
    """Whether a program is what its name says."""

    HOLDS = "holds"
    FAILS = "fails"
    SKIPPED = "skipped"
    """It needs a device that this is not."""


@dataclass(frozen=True)
class Row:
    """One program and what was found of it; a leaking program stands together with its repaired form.

    Attributes:
        label: the rule's code, or the folder's name.
        program: leaking or clean.
        device: where it ran.
        harm: which harm the figures of this row are about.
        judgements: what the figures of the program say, for each harm.
        fixed: the same for the repaired form; () where there is none.
        results: "identical", "within the tolerance", "meant to differ" or what differs; "" where nothing is compared.
        verdict: whether it is what its name says.
        sentence: why, in one line.
        remarks: what else is worth a line: what it printed.
        figures: what the program measured; None where it could not run.
        fixed_figures: the same for the repaired form.
    """

    label: str
    program: Program
    device: str
    harm: Harm
    judgements: tuple[Judgement, ...]
    fixed: tuple[Judgement, ...]
    results: str
    verdict: Verdict
    sentence: str
    remarks: tuple[str, ...] = ()
    figures: Figures | None = None
    fixed_figures: Figures | None = None

    @property
    def foremost(self) -> Judgement | None:
        """What was found of this row's harm."""
        return next((found for found in self.judgements if found.harm is self.harm), None)

    def fixed_figure(self, judgement: Judgement) -> float | None:
        """The repaired form's figure beside one of the program's."""
        if judgement.against is not None:
            return judgement.against
        return next((found.figure for found in self.fixed if found.unit == judgement.unit), None)


def least_steps(device: str) -> int:
    """The fewest steps that leave something to judge."""
    return warm_up_steps(device) + LATEST_STEPS + 2


def verify(folders: Sequence[Folder], options: Options, on_done: Callable[[], None] = lambda: None) -> tuple[Row, ...]:
    """Run the programs of some folders and judge them.

    Args:
        folders: what to run.
        options: how.
        on_done: called after each program, from any thread.

    Returns:
        One row for each leaking and each clean program, in the order of the folders, what leaks first.
    """
    groups = [[_runs(p, _harms(folder, p), options) for p in _to_run(folder, options)] for folder in folders]
    jobs = options.jobs or _worthwhile_jobs(sum(len(group) for group in groups))
    modules = sorted({m for folder in folders for p in _to_run(folder, options) for m in imports_of(p)})
    outcomes = measure_all(groups, options.device, jobs, on_done, modules)
    rows = _all_rows(folders, outcomes, options)
    again = [_once_more(folder, row, options) for folder, row in rows if _is_by_heap(row)]
    if again:
        outcomes |= measure_all(again, options.device, 1, lambda: None, modules)
        rows = _all_rows(folders, outcomes, options)
    return tuple(row for _, row in rows)


def _all_rows(
    folders: Sequence[Folder], outcomes: Mapping[Task, Outcome], options: Options
) -> list[tuple[Folder, Row]]:
    by_program: dict[str, dict[Pass, Outcome]] = {}
    for task, outcome in outcomes.items():
        by_program.setdefault(task.path, {})[task.probes] = outcome
    return [(folder, row) for folder in folders for row in _rows(folder, by_program, options)]


def _is_by_heap(row: Row) -> bool:
    """Whether what is said to keep nothing failed by the C heap, which torch's own threads and caches move as well.

    What a program keeps it keeps in each run; what else moved the heap seldom does so twice.
    """
    judged = row.fixed if row.program.kind is Kind.LEAK else row.judgements
    return row.verdict is Verdict.FAILS and any(found.unit == HEAP and found.answer is Answer.LEAKS for found in judged)


def _once_more(folder: Folder, row: Row, options: Options) -> list[Runs]:
    """The runs of a row's program and of its repaired form."""
    twin = folder.twin(row.program) if row.program.kind is Kind.LEAK else None
    return [_runs(p, _harms(folder, p), options) for p in (row.program, twin) if p is not None]


_PROGRAMS_WORTH_A_PROCESS = 12
"""To import torch costs about as much as to run so many programs."""


def _worthwhile_jobs(programs: int) -> int:
    """One process a core, but for few programs."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cores, programs // _PROGRAMS_WORTH_A_PROCESS))


def _to_run(folder: Folder, options: Options) -> Iterator[Program]:
    return (p for p in folder.programs if not p.mistake and not _needs_another_device(p, options))


def _needs_another_device(program: Program, options: Options) -> bool:
    return program.settings.needs == "cuda" and not options.device.startswith("cuda")


def _harms(folder: Folder, program: Program) -> tuple[Harm, ...]:
    return program.settings.harms or folder.harms


def _runs(program: Program, harms: Iterable[Harm], options: Options) -> Runs:
    """The plain run first: it gives the result, and where it fails the others are not tried."""
    needed = dict.fromkeys((Pass.PLAIN, *(kind for harm in harms for kind in PASSES[harm])))
    task = Task(
        path=str(program.path.resolve()),
        probes=Pass.PLAIN,
        device=options.device,
        steps=options.steps,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit,
    )
    return tuple(replace(task, probes=kind) for kind in needed)


@dataclass(frozen=True)
class _Run:
    """What became of one program."""

    program: Program
    outcomes: Mapping[Pass, Outcome]
    figures: Figures

    @property
    def mishap(self) -> str:
        """How it failed to run to its end, in one line; "" when it did."""
        failed = (outcome for outcome in self.outcomes.values() if outcome.ending is not Ending.RAN)
        return next((outcome.detail for outcome in failed), self.program.mistake)


def _rows(folder: Folder, outcomes: Mapping[str, Mapping[Pass, Outcome]], options: Options) -> Iterator[Row]:
    for program in sorted(folder.programs, key=lambda program: (program.kind is not Kind.LEAK, program.name)):
        if program.kind is Kind.FIXED:
            if not folder.has_leak(program):
                yield _refused(folder, program, options, f"there is no leak_{program.name}.py beside it")
            continue
        twin = folder.twin(program) if program.kind is Kind.LEAK else None
        run = _run(program, outcomes, options)
        fixed = None if twin is None else _run(twin, outcomes, options)
        yield _row(folder, run, fixed, options)


def _refused(folder: Folder, program: Program, options: Options, why: str) -> Row:
    harm = _harms(folder, program)[0]
    return Row(folder.label, program, options.device, harm, (), (), "", Verdict.FAILS, why)


def _run(program: Program, outcomes: Mapping[str, Mapping[Pass, Outcome]], options: Options) -> _Run:
    found = outcomes.get(str(program.path.resolve()), {})
    series = {name: values for outcome in found.values() for name, values in outcome.series.items()}
    drawn = found[Pass.PLAIN].drawn if Pass.PLAIN in found else 0
    settings = program.settings
    figures = Figures(series, drawn, warm_up_steps(options.device), settings.payload, settings.builds)
    return _Run(program, found, figures)


def _row(folder: Folder, run: _Run, fixed: _Run | None, options: Options) -> Row:
    program = run.program
    harms = _harms(folder, program)
    if _needs_another_device(program, options):
        return Row(folder.label, program, options.device, harms[0], (), (), "", Verdict.SKIPPED, "it needs CUDA")
    reference = fixed.figures if fixed and fixed.figures.series else None
    found = tuple(judge(harm, run.figures, reference) for harm in harms) if run.figures.series else ()
    repaired = tuple(judge(harm, reference, None) for harm in harms) if reference else ()
    row = Row(
        label=folder.label,
        program=program,
        device=options.device,
        harm=_foremost(harms, found),
        judgements=found,
        fixed=repaired,
        results=_compare(run, fixed) if fixed else "",
        verdict=Verdict.HOLDS,
        sentence="",
        remarks=tuple(_remarks(run, fixed)),
        figures=run.figures,
        fixed_figures=reference,
    )
    judged = _objection_to_leak(row) if program.kind is Kind.LEAK else _objection(found, "")
    objection = _mishap(run, fixed, least_steps(options.device)) or judged
    if objection:
        return replace(row, verdict=Verdict.FAILS, sentence=objection)
    return replace(row, sentence="; ".join(j.sentence for j in found if j.harm is row.harm))


def _foremost(harms: Sequence[Harm], found: Iterable[Judgement]) -> Harm:
    """The first harm that is shown, else the first that could be measured, else the first that is declared."""
    by_answer = {answer: [j.harm for j in found if j.answer is answer] for answer in Answer}
    ranked = [*by_answer[Answer.LEAKS], *by_answer[Answer.PARTLY], *by_answer[Answer.QUIET], *harms]
    return ranked[0]


def _mishap(run: _Run, fixed: _Run | None, least: int) -> str:
    """A run that went wrong, in one line; "" when none did."""
    for one in (run, fixed):
        if one is None:
            continue
        if one.mishap:
            return f"{one.program.path.name}: {one.mishap}"
        if one.figures.drawn < least:
            return f"{one.program.path.name}: it drew {one.figures.drawn} batches, too few to judge"
    return ""


def _objection_to_leak(row: Row) -> str:
    """Why a leaking program is not what its name says, in one line; "" when it is."""
    name = row.program.name
    if row.fixed_figures is None:
        return f"there is no fixed_{name}.py beside it"
    if not any(found.answer is Answer.LEAKS for found in row.judgements):
        return "it does not leak: " + "; ".join(found.sentence for found in row.judgements)
    if objection := _objection(row.fixed, f"fixed_{name}.py: "):
        return objection
    return f"the repair changes the result: {row.results}" if row.results not in _SAME else ""


def _objection(found: Iterable[Judgement], whose: str) -> str:
    """Why a program that is said to keep nothing is not such a one; "" when it is."""
    judged = tuple(found)
    guilty = [j.sentence for j in judged if j.answer in (Answer.LEAKS, Answer.PARTLY)]
    if guilty:
        return f"{whose}it leaks: {'; '.join(guilty)}"
    if judged and all(j.answer is Answer.UNKNOWN for j in judged if j.harm is not Harm.PEAK):
        reasons = [j.sentence for j in judged if j.harm is not Harm.PEAK]
        return f"{whose}not measurable: {'; '.join(reasons)}" if reasons else ""
    return ""


_SAME = ("identical", "within the tolerance", "meant to differ")


def _compare(leaking: _Run, fixed: _Run) -> str:
    """How the results of the two compare."""
    if leaking.mishap or fixed.mishap:
        return ""
    settings = leaking.program.settings
    if settings.results_differ:
        return _SAME[2]
    one, other = leaking.outcomes[Pass.PLAIN].result, fixed.outcomes[Pass.PLAIN].result
    if all(value is None for _, value in one):
        return "it returns nothing to compare: return numbers or tensors, or say results=differ"
    if not difference(one, other, 0.0):
        return _SAME[0]
    return difference(one, other, settings.tolerance) or _SAME[1]


def _remarks(run: _Run, fixed: _Run | None) -> Iterator[str]:
    for one in (run, fixed):
        printed = max((outcome.printed for outcome in one.outcomes.values()), default=0) if one else 0
        if one and printed:
            yield f"{one.program.path.name} prints {plural(printed, 'line')}"
