"""Worker processes: one that dies costs the file that it held, and an end of the run is the end of all of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from invoking import INTERRUPTIBLE, LEAK, ROOT, by_marks, write

from torchlint import engine, run
from torchlint.config import Settings
from torchlint.parallel import results_of, shares
from torchlint.run import Checked, Job, check_files

METHODS = [name for name in ("fork", "spawn") if name in multiprocessing.get_all_start_methods()]
FASTEST = METHODS[0]


def begin() -> Callable[[int], str]:
    return answer


def answer(number: int) -> str:
    """What a worker does: seven kills it, eight ends it, nine gives back what cannot travel."""
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 8:
        os._exit(0)
    if number == 9:
        return lambda: "cannot be pickled"  # type: ignore[return-value]
    return f"did {number}"


def begin_nowhere() -> Callable[[int], str]:
    """Fails in every process but the one that waits."""
    if multiprocessing.parent_process() is not None:
        raise OSError
    return answer


def lost(number: int) -> str:
    return f"lost {number}"


def done(numbers: list[int], workers: int = 2, method: str = FASTEST, begin: Any = begin) -> list[str]:
    return results_of(numbers, begin, lost, workers, multiprocessing.get_context(method))


class TestResults:
    @pytest.mark.parametrize("method", METHODS)
    def test_come_in_the_order_of_the_jobs(self, method):
        numbers = list(range(100, 150))
        assert done(numbers, method=method) == [f"did {number}" for number in numbers]

    @pytest.mark.parametrize("workers", [1, 2, 5])
    def test_are_the_same_for_any_number_of_processes(self, workers):
        assert done([1, 2, 3], workers) == ["did 1", "did 2", "did 3"]

    def test_of_nothing_are_nothing(self):
        assert done([]) == []


@pytest.mark.parametrize(
    ("jobs", "workers", "expected"),
    [(6, 2, [[0, 1, 2], [3, 4, 5]]), (5, 2, [[0, 1], [2, 3, 4]]), (3, 1, [[0, 1, 2]]), (2, 2, [[0], [1]]), (0, 0, [])],
)
def test_neighbours_stay_together(jobs: int, workers: int, expected: list[list[int]]) -> None:
    assert [list(share) for share in shares(jobs, workers)] == expected


class TestAWorkerThatDies:
    @pytest.mark.skipif(os.name == "nt", reason="signals are POSIX's")
    @pytest.mark.parametrize("method", METHODS)
    def test_costs_the_job_that_it_held(self, method):
        assert done([1, 7, 2, 3], 1, method) == ["did 1", "lost 7", "did 2", "did 3"]

    @pytest.mark.parametrize("deadly", [8, 9])
    def test_may_end_in_any_way(self, deadly, capfd):
        assert done([1, deadly, 2, 3, 4, 5]) == ["did 1", f"lost {deadly}", *(f"did {n}" for n in range(2, 6))]
        assert capfd.readouterr() == ("", "")

    def test_may_be_every_one(self):
        assert done([8] * 6) == ["lost 8"] * 6

    def test_before_its_first_job_costs_nothing(self):
        assert done([1, 2, 3], begin=begin_nowhere) == ["did 1", "did 2", "did 3"]

    def test_may_never_have_been_there(self, monkeypatch):
        def refuse(_: object) -> None:
            raise BlockingIOError("no more processes")

        context = multiprocessing.get_context(FASTEST)
        monkeypatch.setattr(context.Process, "start", refuse)
        assert results_of([1, 2], begin, lost, 2, context) == ["did 1", "did 2"]


class TestFiles:
    @pytest.fixture(autouse=True)
    def few_are_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(run, "ENOUGH", 1)

    @pytest.fixture
    def started(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The numbers of processes that were asked for."""
        numbers: list[int] = []

        def noted(*arguments: Any) -> Any:
            numbers.append(arguments[3])
            return results_of(*arguments)

        monkeypatch.setattr("torchlint.parallel.results_of", noted)
        return numbers

    def jobs(self, folder: Path, *texts: str) -> list[Job]:
        selection = Settings().selection("a.py")
        return [Job(str(write(folder, f"{n}.py", text)), selection) for n, text in enumerate(texts)]

    @pytest.mark.skipif(FASTEST != "fork", reason="the stand-in does not travel to a spawned process")
    def test_the_one_that_ended_its_worker_is_not_checkable_and_the_others_are(self, tmp_path, monkeypatch, started):
        by_marks(monkeypatch)
        examined = engine.check

        def deadly(source, *arguments, **options):
            if "segmentation fault" in source.text:
                os._exit(139)
            return examined(source, *arguments, **options)

        monkeypatch.setattr(engine, "check", deadly)
        leak = "x = 1  # finds TLK101 error\n"
        results = check_files(self.jobs(tmp_path, leak, "segmentation fault", leak, leak), workers=2)
        assert started == [2]
        assert [len(result.diagnostics) for result in results] == [1, 0, 1, 1]
        assert results[1] == Checked(str(tmp_path / "1.py"), failure="cannot be checked: a worker process died")

    def test_findings_are_the_same_for_any_number_of_processes(self, tmp_path, started):
        jobs = self.jobs(tmp_path, LEAK, LEAK.replace("total", "count"), "import torch\n", "x = (\n")
        alone, several = check_files(jobs), check_files(jobs, workers=2)
        assert alone == several and len(alone[0].diagnostics) == 1
        assert started == [2]

    def test_that_are_little_work_need_no_process(self, tmp_path, monkeypatch, started):
        monkeypatch.setattr(run, "ENOUGH", 10_000)
        check_files(self.jobs(tmp_path, LEAK, LEAK), workers=2)
        assert started == []


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are looked for where Linux lists them")
class TestTheEnd:
    @pytest.fixture
    def stuck(self, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
        """torchlint, whose workers both read a file that never ends."""
        (tmp_path / "conftest.py").write_text(LEAK + "#" * 200_000)
        program = INTERRUPTIBLE[2].replace(
            "from torchlint.cli import main\n",
            "import time\nfrom torchlint import run\nfrom torchlint.cli import main\n"
            "run._examined = lambda job, project: time.sleep(600)\nrun.ENOUGH = 1\n",
        )
        write(tmp_path, "a.py", LEAK)
        process = subprocess.Popen(
            [sys.executable, "-c", program, "--fix", "-j", "2", "."],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        with process:
            yield process
            process.kill()

    def children(self, process: subprocess.Popen[bytes]) -> list[int]:
        """Its two workers, once both are there."""
        path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while len(found := path.read_text().split()) < 2:
            assert process.poll() is None
        return [int(one) for one in found]

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_comes_at_once_and_leaves_no_process(self, stuck, number, tmp_path):
        workers = self.children(stuck)
        stuck.send_signal(number)
        out, err = stuck.communicate(timeout=20)
        assert (stuck.returncode, out, err) == (130 if number == signal.SIGINT else -number, b"", b"")
        # Its output is at its end only when every process that holds it is gone, so none is left by now.
        assert not any(Path(f"/proc/{worker}/exe").exists() for worker in workers)
        assert sorted(os.listdir(tmp_path)) == ["a.py", "conftest.py"] and (tmp_path / "a.py").read_text() == LEAK
