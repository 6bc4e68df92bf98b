"""Measure how fast torchlint is on a folder of code, side by side with whatever peers are installed.

usage: python tests/benchmarks/speed.py FOLDER [--rounds N] [--plain FOLDER] [--only WORD]

FOLDER holds real Python files that use torch; nothing is fetched, nothing in it is written. ``--plain`` names a folder
of Python files that do not use torch; the standard library serves without it. The table on standard output says what
was measured, and what is asked for. Processor time is that of the whole process and its children, user and system,
the least of N rounds that take turns; ratios compare runs of the same table. B, the yardstick, is to read every file
and to parse each that says ``torch`` once with libcst, and nothing else.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
YARDSTICK = str(Path(__file__).parent / "yardstick.py")
PYTHON = sys.executable
TORCHLINT = (PYTHON, "-m", "torchlint", "check", "--exit-zero", "--no-respect-gitignore")
MIB = 1024 * 1024


@dataclass(frozen=True)
class Cost:
    """What one process took.

    Attributes:
        processor: seconds, user and system, with its children.
        wall: seconds.
        peak: bytes of the largest process among it and its children.
    """

    processor: float
    wall: float
    peak: int


@dataclass(frozen=True)
class Row:
    """One line of the table; ``asked`` is the most that ``measured`` may be, None for a peer's figure."""

    what: str
    measured: float
    unit: str
    asked: float | None = None

    def __str__(self) -> str:
        asked = "" if self.asked is None else f"{self.asked:g} {self.unit}"
        verdict = "" if self.asked is None else "yes" if self.measured <= self.asked else "no"
        return f"| {self.what} | {self.measured:.3g} {self.unit} | {asked} | {verdict} |"


def run(command: Sequence[str], folder: Path | None = None) -> Cost:
    """Run a command to its end; what it prints is thrown away."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": ""}
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, env=environment
    )
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    scale = 1 if sys.platform == "darwin" else 1024
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss * scale)


def in_turns(commands: dict[str, Sequence[str]], rounds: int) -> dict[str, Cost]:
    """The cheapest of ``rounds`` runs of each command; they take turns, so that a slow minute hits all of them."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(run(command))
    return {
        name: Cost(min(c.processor for c in of), min(c.wall for c in of), max(c.peak for c in of))
        for name, of in costs.items()
    }


@dataclass(frozen=True)
class Bench:
    """What is measured: a folder of code, a folder without torch, and a place for what is written on the way."""

    code: Path
    plain: Path
    scratch: Path
    rounds: int

    @cached_property
    def files(self) -> list[str]:
        """The Python files below ``code``, as torchlint finds them."""
        from torchlint.discover import discover

        return list(discover([str(self.code)], respect_gitignore=False).files)

    @cached_property
    def listing(self) -> str:
        """A file that names them, one a line."""
        file = self.scratch / "files.txt"
        file.write_text("\n".join(self.files), encoding="utf-8", errors="surrogateescape")
        return str(file)

    @cached_property
    def plain_files(self) -> list[str]:
        """The files without torch, copied beside each other."""
        _copied_without_torch(self.plain, self.scratch / "plain")
        return sorted(map(str, (self.scratch / "plain").glob("*.py")))

    def cold(self) -> Iterator[Row]:
        """A first run: with the screen, without it, and without knowledge across files."""
        code = str(self.code)
        costs = in_turns(
            {
                "parse": (PYTHON, YARDSTICK, "parse", self.listing),
                "no screen": (*TORCHLINT, "--no-cache", "--no-screen", code),
                "shipped": (*TORCHLINT, "--no-cache", code),
                "alone": (PYTHON, YARDSTICK, "alone", self.listing),
                "two": (*TORCHLINT, "--no-cache", "-j2", code),
            },
            self.rounds,
        )
        yardstick = costs["parse"].processor
        yield Row(f"B: libcst's parser alone, {len(self.files)} files", yardstick, "s")
        yield Row("every rule on libcst (`--no-screen`)", costs["no screen"].processor / yardstick, "B", 1.6)
        yield Row("as shipped, no cache", costs["shipped"].processor / yardstick, "B", 0.6)
        across = costs["shipped"].processor / costs["alone"].processor
        yield Row("knowledge across files, with it to without it", across, "x", 1.3)
        yield Row("two workers to one, wall clock", costs["two"].wall / costs["shipped"].wall, "x", 0.6)
        peak = max(costs["shipped"].peak, costs["two"].peak)
        yield Row("peak memory of a process", peak / MIB, "MiB", 250)

    def peers(self) -> Iterator[Row]:
        """Others on the same files; those that are not installed are left out."""
        commands: dict[str, Sequence[str]] = {"parse": (PYTHON, YARDSTICK, "parse", self.listing)}
        if ruff := shutil.which("ruff", path=_path()):
            commands["ruff, cold"] = (ruff, "check", "--quiet", "--no-cache", "--exit-zero", str(self.code))
        if _has("flake8"):
            commands["flake8"] = (PYTHON, "-m", "flake8", "-j1", "--isolated", "--exit-zero", str(self.code))
        if torchfix := shutil.which("torchfix", path=_path()):
            commands["torchfix"] = (torchfix, str(self.code))
        if fixit := shutil.which("fixit", path=_path()):
            commands["fixit"] = (fixit, "lint", str(self.code))
        costs = in_turns(commands, 1)
        for name in list(commands)[1:]:
            yield Row(f"{name}, a peer on the same files", costs[name].processor / costs["parse"].processor, "B")

    def warm(self) -> Iterator[Row]:
        """A second run over files that did not change."""
        mine = (*TORCHLINT, "--cache-dir", str(self.scratch / "torchlint"), str(self.code))
        run(mine)
        commands: dict[str, Sequence[str]] = {"torchlint": mine}
        if ruff := shutil.which("ruff", path=_path()):
            cache = str(self.scratch / "ruff")
            commands["ruff"] = (ruff, "check", "--statistics", "--exit-zero", "--cache-dir", cache, str(self.code))
            run(commands["ruff"])
        costs = in_turns(commands, max(self.rounds, 5))
        yield Row("a warm run, walk included", costs["torchlint"].processor * 1000, "ms")
        if "ruff" in costs:
            ratio = costs["torchlint"].processor / costs["ruff"].processor
            yield Row("a warm run to ruff's with its default rules, counting alone", ratio, "x", 1.0)

    def without_torch(self) -> Iterator[Row]:
        """A tree in which nothing uses torch."""
        copied = len(self.plain_files)
        costs = in_turns(
            {
                "torchlint": (*TORCHLINT, "--no-cache", str(self.scratch / "plain")),
                "argparse": (PYTHON, "-c", "import argparse"),
            },
            max(self.rounds, 5),
        )
        spent = costs["torchlint"].processor - costs["argparse"].processor
        yield Row(f"{copied} files without torch, over `import argparse`", spent / copied * 1e6, "us a file", 30)

    def flake8(self) -> Iterator[Row]:
        """The plugin, on files without torch and on files with it."""
        if not _has("flake8") or _is_registered():
            return
        config = self.scratch / "flake8.cfg"
        paths = f"paths = {ROOT}\n"
        config.write_text(f"[flake8:local-plugins]\nextension =\n  TLK = torchlint.flake8_plugin:Plugin\n{paths}")
        with_torch = [file for file in self.files if b"torch" in Path(file).read_bytes()]
        sample = with_torch[:: max(1, len(with_torch) // 200)]
        plain = self.plain_files[:300]
        for what, files, asked in (("files without torch", plain, 1.10), ("files with torch", sample, 1.35)):
            bare = (PYTHON, "-m", "flake8", "-j1", "--exit-zero")
            plugged = (*bare, "--config", str(config))
            kept = (*plugged, f"--torchlint-cache-dir={self.scratch / 'flake8'}", *files)
            run(kept)
            commands = {"bare": (*bare, "--isolated", *files), "anew": (*plugged, "--torchlint-no-cache", *files)}
            costs = in_turns({**commands, "again": kept}, self.rounds)
            for name, when in (("anew", "the first time"), ("again", "nothing has changed")):
                ratio = costs[name].processor / costs["bare"].processor
                yield Row(f"flake8 with the plugin to flake8 alone, {len(files)} {what}, {when}", ratio, "x", asked)

    def start(self) -> Iterator[Row]:
        """How long it takes to say nothing much."""
        for option in ("--version", "--help"):
            costs = in_turns({"it": (PYTHON, "-m", "torchlint", option)}, max(self.rounds, 5))
            yield Row(f"`torchlint {option}`", costs["it"].processor * 1000, "ms", 40)

    def length(self) -> Iterator[Row]:
        """Whether long files cost more a line than short ones."""
        short, long = _program(500), _program(20_000)
        folder = self.scratch / "short"
        folder.mkdir()
        for number in range(40):
            (folder / f"part{number}.py").write_text(
                f"# {number}\n{short}"
            )  # one text is parsed once, whatever its name
        (self.scratch / "long.py").write_text(long)
        costs = in_turns(
            {
                "none": (*TORCHLINT, "--no-cache", str(self.scratch / "empty.py")),
                "short": (*TORCHLINT, "--no-cache", str(folder)),
                "long": (*TORCHLINT, "--no-cache", str(self.scratch / "long.py")),
            },
            1,
        )
        start = costs["none"].processor
        lines = 40 * short.count("\n"), long.count("\n")
        each = [(costs[name].processor - start) / n for name, n in zip(("short", "long"), lines, strict=True)]
        yield Row("500 lines at a time", each[0] * 1e6, "us a line")
        yield Row("20,000 lines to 500 lines, time a line", each[1] / each[0], "x", 1.5)

    def data(self) -> Iterator[Row]:
        """A large file of numbers."""
        file = self.scratch / "data.py"
        rows = "".join(f"    [{n}, {n * 7 % 1000}.5, 'item {n}'],\n" for n in range(160_000))
        file.write_text(f"import torch\n\nTABLE = [\n{rows}]\n")
        mine = (*TORCHLINT, "--no-cache", "--max-file-size", "10000000", str(file))
        costs = in_turns({"mine": mine, "ast": (PYTHON, YARDSTICK, "ast", str(file))}, self.rounds)
        size = file.stat().st_size / 1e6
        ratio = costs["mine"].processor / costs["ast"].processor
        yield Row(f"a {size:.1f} MB file of data to `ast.parse` of it", ratio, "x", 1.3)

    def measurements(self) -> dict[str, Callable[[], Iterator[Row]]]:
        """All measurements, in the table's order."""
        of = (self.cold, self.warm, self.without_torch, self.flake8, self.start, self.length, self.data, self.peers)
        return {one.__name__: one for one in of}


def _path() -> str:
    return os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])


def _has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _is_registered() -> bool:
    """Whether flake8 loads the plugin by itself here: then flake8 alone cannot be measured."""
    points = importlib.metadata.entry_points(group="flake8.extension")
    return any(point.name == "TLK" for point in points)


def _copied_without_torch(source: Path, target: Path, most: int = 885) -> None:
    """Copy Python files that do not say torch, up to ``most`` of them."""
    target.mkdir()
    count = 0
    for file in sorted(source.rglob("*.py")):
        data = file.read_bytes()
        if b"torch" not in data and "site-packages" not in file.parts and count < most:
            (target / f"m{count}_{file.name}").write_bytes(data)
            count += 1


def _program(lines: int) -> str:
    """A training program of about so many lines: networks, loops, meters, again and again under other names."""
    part = """

class Net{n}(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Linear(width, 32)
        self.second = nn.Linear(32, 10)
        self.seen = []

    def forward(self, x):
        hidden = torch.relu(self.first(x))
        if self.training:
            self.seen.append(hidden.mean().item())
        return self.second(hidden)


def train{n}(loader, epochs, device):
    model = Net{n}(64).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    history, best = [], None
    for epoch in range(epochs):
        total, count = 0.0, 0
        for step, (x, y) in enumerate(loader):
            x, y = x.to(device), y.to(device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
            count += 1
            if step % 50 == 0:
                print(f"{{epoch}} {{step}} {{total / count:.3f}}")
        history.append(total / max(count, 1))
        best = min(history)
    return model, history, best


@torch.no_grad()
def evaluate{n}(model, loader, device):
    model.eval()
    right = 0
    for x, y in loader:
        right += (model(x.to(device)).argmax(-1).cpu() == y).sum().item()
    return right
"""
    head = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
    return head + "".join(part.format(n=n) for n in range(round(lines / part.count("\n"))))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plain", type=Path, default=Path(sysconfig.get_path("stdlib")))
    parser.add_argument("--only", action="append", help="a measurement: cold, warm, without_torch, flake8, ...")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(options.folder.resolve(), options.plain, Path(scratch), options.rounds)
        (bench.scratch / "empty.py").write_text("")
        print("| what | measured | at most | reached |\n| --- | --- | --- | --- |")
        for name, measure in bench.measurements().items():
            if options.only and name not in options.only:
                continue
            for row in measure():
                print(row, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
