"""Runs generated programs, or the files of a folder, through the whole analysis and counts what should not happen.

    python scripts/fuzz.py 100000                      training programs, mutated fixtures, and any valid Python
    python scripts/fuzz.py 1000 --kind spliced         of one kind
    python scripts/fuzz.py --corpus FOLDER             real files, each with ``import torch`` before it, in memory alone

Nothing is written but what is reported; a program is named by its kind and its seed: ``--show KIND SEED`` prints it.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from generated_programs import training_program  # noqa: E402
from program_properties import place_of, verdict  # noqa: E402
from spliced_programs import spliced_program  # noqa: E402

from torchlint.source import SIZE_LIMIT, Source, Unreadable, read_source  # noqa: E402

SLOW = 10
"""Seconds of computing after which a program is given up and reported."""

_FUTURE = "from __future__"


def any_program(random: Random) -> str:
    """Any valid Python, with ``import torch`` before it, as hypothesmith draws it."""
    import hypothesmith
    from hypothesis import HealthCheck, Phase, given, seed, settings

    drawn: list[str] = []

    @seed(random.getrandbits(32))
    @settings(
        max_examples=1, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
    )
    @given(hypothesmith.from_node())
    def draw(text: str) -> None:
        drawn.append(text)

    draw()
    return with_torch(drawn[-1] if drawn else "")


KINDS: dict[str, Callable[[Random], str]] = {
    "training": training_program,
    "spliced": spliced_program,
    "any": any_program,
}
SHARES = {"training": 69, "spliced": 30, "any": 1}
"""So many of a hundred programs are of each kind."""


@dataclass(frozen=True)
class Trial:
    """What became of one program: its name, how many findings, why it is not checkable, and what should not be."""

    name: str
    findings: int
    refusal: str | None
    problems: tuple[str, ...]


def with_torch(text: str) -> str:
    """The text as one that uses torch; what must stand first stays there."""
    lines = text.splitlines(keepends=True)
    behind = max((n for n, line in enumerate(lines, 1) if line.startswith(_FUTURE)), default=0)
    return "".join([*lines[:behind], "import torch\n", *lines[behind:]]) if not behind else text + "\nimport torch\n"


class TooSlow(BaseException):
    """A program has taken its time; no exception that the analysis would catch."""


def give_up(*_: object) -> None:
    """Answer the alarm."""
    raise TooSlow


def tried(name: str, source: Source) -> Trial:
    """Put one program through everything."""
    signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, SLOW)
    try:
        findings, refusal, problems = verdict(source)
    except TooSlow as error:
        findings, refusal, problems = 0, None, [f"takes more than {SLOW} s in {place_of(error)}"]
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return Trial(name, findings, None if refusal is None else refusal.partition(" in line")[0], tuple(problems))


def try_generated(names: list[tuple[str, int]]) -> list[Trial]:
    """Programs by kind and seed."""
    return [tried(f"{kind} {seed}", Source("generated.py", KINDS[kind](Random(seed)))) for kind, seed in names]


def try_files(paths: list[str]) -> list[Trial]:
    """Files, read and left alone."""
    trials = []
    for path in paths:
        try:
            text = read_source(path, limit=SIZE_LIMIT).text
        except Unreadable as error:
            trials.append(Trial(path, 0, error.reason.partition(" (line")[0], ()))
            continue
        trials.append(tried(path, Source(path, with_torch(text))))
    return trials


def kinds_in_turn(count: int, first: int, kind: str | None) -> Iterator[tuple[str, int]]:
    """Kinds and seeds, mixed by their shares."""
    mixed = [kind] if kind else [name for name, share in SHARES.items() for _ in range(share)]
    for seed in range(first, first + count):
        yield mixed[seed % len(mixed)], seed


def report(trials: Iterator[list[Trial]], total: int) -> int:
    """Print what happens and, at the end, how often; return the exit code."""
    done, found, clean = 0, 0, Counter[str]()
    problems: Counter[str] = Counter()
    for some in trials:
        for trial in some:
            done += 1
            found += trial.findings
            clean[trial.refusal or "checked"] += 1
            for problem in trial.problems:
                problems[problem] += 1
                if problems[problem] <= 5:
                    print(f"{trial.name}: {problem}", flush=True)
        if done % 2000 < len(some):
            print(f"{done} of {total}, {found} findings, {sum(problems.values())} problems", flush=True)
    print(f"{done} programs, {found} findings; {dict(clean.most_common())}")
    for problem, count in problems.most_common():
        print(f"{count:6} {problem}")
    return int(bool(problems))


def batches(items: Iterator[object], size: int) -> Iterator[list[object]]:
    while batch := list(islice(items, size)):
        yield batch


def main() -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("count", nargs="?", type=int, default=1000, help="how many programs")
    parser.add_argument("--kind", choices=KINDS, help="only programs of this kind")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--corpus", type=Path, help="a folder of real files in place of generated ones")
    parser.add_argument("--show", nargs=2, metavar=("KIND", "SEED"), help="print one program")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    if options.show:
        print(KINDS[options.show[0]](Random(int(options.show[1]))), end="")
        return 0
    if options.corpus:
        paths = sorted(str(path) for path in options.corpus.rglob("*.py") if path.is_file())
        work, total, function = batches(iter(paths), 5), len(paths), try_files
    else:
        names = kinds_in_turn(options.count, options.first, options.kind)
        work, total, function = batches(names, 50), options.count, try_generated
    if options.jobs == 1:
        return report(map(function, work), total)
    with ProcessPoolExecutor(options.jobs) as pool:
        return report(pool.map(function, work), total)


if __name__ == "__main__":
    sys.exit(main())
