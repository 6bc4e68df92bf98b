"""The verifier end to end: every rule's programs hold, and programs that are not what their names say are rejected."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest
from invoking import INTERRUPTIBLE

pytest.importorskip("torch", reason="the verifier needs torch, and it is not installed")

from torchlint.catalog import codes, fixture_folder
from torchlint.verify import pool
from torchlint.verify.output.structured import to_json
from torchlint.verify.programs import Folder, Kind, read_folder
from torchlint.verify.verification import Options, Row, Verdict, verify

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@pytest.fixture(scope="module")
def proven() -> tuple[Row, ...]:
    """All programs of all rules, run once."""
    folders = [folder for code in codes() if (folder := fixture_folder(code)) is not None]
    return verify([read_folder(folder) for folder in folders], Options())


@pytest.mark.parametrize("code", codes())
def test_every_program_of_a_rule_is_what_its_name_says(code: str, proven: Sequence[Row]) -> None:
    rows = [row for row in proven if row.label == code]
    assert rows
    assert [f"{row.program.path.name}: {row.sentence}" for row in rows if row.verdict is Verdict.FAILS] == []


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Row, ...]:
    """Of each rule a leaking program under the name of a clean one, and the other way round."""
    place = tmp_path_factory.mktemp("switched")
    folders = [folder for code in codes() if (folder := fixture_folder(code)) is not None]
    provable = [folder for folder in folders if _provable(folder, "leak") and _provable(folder, "clean")]
    return verify([_switch(folder, place / folder.name) for folder in provable], Options())


def _switch(folder: Path, place: Path) -> Folder:
    place.mkdir()
    for leak, clean in zip(_provable(folder, "leak"), _provable(folder, "clean"), strict=False):
        shutil.copy(leak, place / leak.name.replace("leak_", "clean_", 1))
        shutil.copy(clean, place / leak.name)
        shutil.copy(clean, place / leak.name.replace("leak_", "fixed_", 1))
    return read_folder(place)


def _provable(folder: Path, kind: str) -> list[Path]:
    """The first program of a kind that needs no GPU."""
    return [path for path in sorted(folder.glob(f"{kind}_*.py")) if "needs=cuda" not in path.read_text()][:1]


@pytest.mark.parametrize("code", codes())
def test_a_rule_whose_leaking_and_clean_programs_are_switched_fails(code: str, switched: Sequence[Row]) -> None:
    rows = [row for row in switched if row.label == code]
    if not rows:
        pytest.skip("its programs need CUDA")
    assert {row.verdict for row in rows if row.program.kind is Kind.LEAK} == {Verdict.FAILS}


# -- wrong programs of each kind --------------------------------------------------------------------------------------

HEAD = "import gc\nimport torch\nfrom torch import nn\n"

QUIET = "def main(loader, device):\n    return sum(x.sum().item() for x, _ in loader)\n"

LEAKING = {
    "nodes": """
        def main(loader, device):
            weight, total = torch.ones(16, requires_grad=True), 0
            for x, _ in loader:
                loss = (x @ weight).sum()
                loss.backward()
                total = total + loss
            return total
        """,
    "bytes": """
        def main(loader, device):
            kept = [x.clone() for x, _ in loader]
            return len(kept)
        """,
    "cycle": """
        class Holder:
            def __init__(self, tensor):
                self.tensor, self.itself = tensor, self

        def main(loader, device):
            return [Holder(x + 1).tensor.sum().item() for x, _ in loader]
        """,
    "unused": """
        def main(loader, device):
            model = nn.Sequential(nn.Linear(16, 16), nn.Tanh())
            return [model(x).argmax().item() for x, _ in loader]
        """,
    "churn": """
        def main(loader, device):
            return [nn.ReLU()(x).sum().item() for x, _ in loader]
        """,
    "host": """
        def main(loader, device):
            kept = [bytearray(10_000) for _ in loader]
            return len(kept)
        """,
    "workers": """
        import multiprocessing

        def work(orders, answers):
            kept = []
            while orders.get():
                kept.append(bytearray(1 << 20))
                answers.put(len(kept))

        def main(loader, device):
            context = multiprocessing.get_context("fork")
            orders, answers = context.SimpleQueue(), context.SimpleQueue()
            worker = context.Process(target=work, args=(orders, answers))
            worker.start()
            for _ in loader:
                orders.put(True)
                last = answers.get()
            orders.put(False)
            worker.join()
            return last
        """,
}
"""By harm: a program that does it, in every step."""

PEAKS = {
    "high": """
        def main(loader, device):
            for x, _ in loader:
                both = x.repeat(64, 1), x.repeat(64, 1)
            return sum(part.sum().item() for part in both)
        """,
    "low": """
        def main(loader, device):
            for x, _ in loader:
                total = x.repeat(64, 1).sum().item() + x.repeat(64, 1).sum().item()
            return total
        """,
}


CALM = "def main(loader, device):\n    for x, _ in loader:\n        pass\n    return 1\n"
LOSSES = dedent(LEAKING["nodes"])
DETACHED = LOSSES.replace("total + loss", "total + loss.detach()")


def returning_one(source: str) -> str:
    """The same program with a result that its repair has, too."""
    return f"{dedent(source).replace('return ', 'result = ').rstrip()}\n    return 1\n"


def with_varying_batches(source: str) -> str:
    """The same program on batches of 8, 30, 17 and 5 rows in turn."""
    cut = "        x = x[: (8, 30, 17, 5)[len(seen) % 4]]\n        seen.append(0)\n"
    began = source.replace("def main(loader, device):\n", "def main(loader, device):\n    seen = []\n")
    return began.replace("for x, _ in loader:\n", f"for x, _ in loader:\n{cut}")


Case = tuple[str, dict[str, str], str]
"""The words of the "# verify:" comment, the programs by name, and what the row must say; "" when it must hold."""


def cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for harm, leak in LEAKING.items():
        words = f"harms={harm}"
        found[f"{harm}, right"] = (words, {"leak_a": returning_one(leak), "fixed_a": CALM, "clean_b": QUIET}, "")
        found[f"{harm}, leak does not leak"] = (words, {"leak_a": QUIET, "fixed_a": QUIET}, "it does not leak")
        found[f"{harm}, clean leaks"] = (words, {"clean_a": leak}, "it leaks")
        found[f"{harm}, repaired still leaks"] = (words, {"leak_a": leak, "fixed_a": leak}, "leak")
        other = QUIET.replace("return sum", "return 1 + sum")
        found[f"{harm}, repair changes result"] = (
            words,
            {"leak_a": returning_one(leak), "fixed_a": other},
            "the result",
        )
    high, low = PEAKS["high"], PEAKS["low"]
    found["peak, right"] = ("harms=peak", {"leak_a": high, "fixed_a": low}, "")
    found["peak, leak does not leak"] = ("harms=peak", {"leak_a": low, "fixed_a": low}, "it does not leak")
    found["peak, repaired is worse"] = ("harms=peak", {"leak_a": low, "fixed_a": high}, "it does not leak")
    found["peak, repair changes result"] = ("harms=peak", {"leak_a": high, "fixed_a": QUIET}, "the result")
    nearly = DETACHED.replace("return total", "return total * (1 + 1e-6)")
    near = {"leak_a": LOSSES, "fixed_a": nearly}
    found["within no tolerance"] = ("harms=nodes", near, "the result")
    found["within the tolerance"] = ("harms=nodes tolerance=1e-5", near, "")
    found["results are meant to differ"] = ("harms=nodes results=differ", near, "")
    found["nothing to compare"] = (
        "harms=nodes",
        {"leak_a": LOSSES.replace("return total", "pass"), "fixed_a": DETACHED.replace("return total", "pass")},
        "nothing to compare",
    )
    found["no repair"] = ("harms=nodes", {"leak_a": LOSSES}, "there is no fixed_a.py beside it")
    found["repair of nothing"] = (
        "harms=nodes",
        {"fixed_a": DETACHED, "clean_b": QUIET},
        "there is no leak_a.py beside it",
    )
    leak, clean = with_varying_batches(LOSSES), with_varying_batches(DETACHED)
    varying = {"leak_a": leak, "fixed_a": clean, "clean_b": clean}
    found["batches of varying size"] = ("harms=nodes,bytes", varying, "")
    found["needs CUDA"] = ("harms=nodes needs=cuda", {"clean_a": LOSSES}, "it needs CUDA")
    loud = QUIET.replace("    return", "    print('a')\n    print('b')\n    return")
    found["prints"] = ("harms=nodes", {"clean_a": loud}, "")
    saving = QUIET.replace("    return", "    torch.save({}, 'checkpoint.pt')\n    return")
    found["saves a file"] = ("harms=nodes", {"clean_a": saving}, "")
    return found


CASES = cases()


def folder_of(place: Path, words: str, programs: dict[str, str]) -> Folder:
    """A folder of programs by name, each with the same "# verify:" comment."""
    place.mkdir(exist_ok=True)
    for name, source in programs.items():
        (place / f"{name}.py").write_text(f"# verify: {words} because: a test\n{HEAD}{dedent(source)}")
    return read_folder(place)


def rows_of(folder: Folder, **options: float) -> dict[str, Row]:
    found = verify([folder], Options(**options))  # type: ignore[arg-type]
    return {row.program.path.stem: row for row in found}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """The rows of each case; all are run at once."""
    place = tmp_path_factory.mktemp("cases")
    folders = [
        folder_of(place / f"{number:02}", words, programs) for number, (words, programs, _) in enumerate(CASES.values())
    ]
    rows = verify(folders, Options())
    assert not list(place.rglob("*.pt"))
    return {name: [row for row in rows if row.label == f"{number:02}"] for number, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
@needs_fork
def test_a_folder_is_judged_by_what_its_programs_do(name: str, judged: dict[str, list[Row]]) -> None:
    expected = CASES[name][2]
    said = [row.sentence for row in judged[name] if row.verdict is not Verdict.HOLDS]
    assert bool(said) == bool(expected)
    assert all(expected in sentence for sentence in said)


@needs_fork
def test_what_a_program_prints_is_a_remark(judged: dict[str, list[Row]]) -> None:
    assert [row.remarks for row in judged["prints"]] == [("clean_a.py prints 2 lines",)]


@needs_fork
def test_two_runs_give_the_same_figures(judged: dict[str, list[Row]]) -> None:
    """Of bytes, nodes, objects and peaks; what the C library and the kernel account for is not promised."""
    names = [name for name in CASES if name.endswith("right") and name.partition(",")[0] not in ("host", "workers")]
    again = verify([read_folder(judged[name][0].program.path.parent) for name in names], Options())
    assert to_json(again) == to_json([row for name in names for row in judged[name]])


@pytest.mark.parametrize(("runs", "verdict"), [(2, Verdict.HOLDS), (9, Verdict.FAILS)])
@needs_fork
def test_what_the_heap_shows_of_a_clean_program_has_to_show_twice(tmp_path: Path, runs: int, verdict: Verdict) -> None:
    tally = tmp_path / "tally"
    source = f"""
        def main(loader, device):
            with open({str(tally)!r}, "a+") as tally:
                tally.write("x")
                tally.seek(0)
                is_moved = len(tally.read()) <= {runs}
            kept = [bytearray(10_000) if is_moved else None for _ in loader]
            return len(kept)
        """
    rows = rows_of(folder_of(tmp_path / "programs", "harms=host", {"clean_a": source}))
    assert rows["clean_a"].verdict is verdict
    assert len(tally.read_text()) == 4


# -- programs that go wrong -------------------------------------------------------------------------------------------

MISHAPS = {
    "raises": ("raise ValueError('no\\nsuch thing')", "ValueError: no such thing (line 6)"),
    "exits": ("raise SystemExit(3)", "SystemExit: 3"),
    "dies": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
    "crashes": ("import ctypes; ctypes.string_at(0)", "killed by SIGSEGV"),
    "leaves": ("import os; os._exit(7)", "ended by itself with exit code 7"),
    "hangs": ("while True: pass", "still running after 6 s"),
    "sleeps": ("import time; time.sleep(1000)", "still running after 6 s"),
    "fills_memory": ("kept = []\n    while True: kept.append(torch.ones(1 << 22))", "needs more than 0.25 GiB"),
    "fills_python": ("kept = []\n    while True: kept.append(bytes(1 << 22))", "needs more than 0.25 GiB"),
    "draws_too_little": ("next(iter(loader))", "drew 1 batches"),
    "returns_anything": ("[*loader]; return object()", "returns a object"),
    "asks": ("input()", "EOFError"),
}


@needs_fork
def test_each_mishap_is_one_line_and_the_rest_goes_on(tmp_path: Path) -> None:
    programs = {f"clean_{name}": f"def main(loader, device):\n    {body}\n" for name, (body, _) in MISHAPS.items()}
    (tmp_path / "clean_no_main.py").write_text("x = 1\n")
    (tmp_path / "clean_no_python.py").write_text("def main(:\n")
    (tmp_path / "clean_bad_words.py").write_text("# verify: payload=much because: of that\n")
    folder = folder_of(tmp_path, "harms=nodes", {**programs, "clean_good": QUIET})
    rows = rows_of(folder, time_limit=6.0, memory_limit=256 << 20)
    assert rows["clean_good"].verdict is Verdict.HOLDS
    for name, (_, words) in MISHAPS.items():
        row = rows[f"clean_{name}"]
        assert row.verdict is Verdict.FAILS
        assert words in row.sentence
        assert "\n" not in row.sentence
    assert "it defines no main" in rows["clean_no_main"].sentence
    assert "SyntaxError" in rows["clean_no_python"].sentence
    assert "cannot be read" in rows["clean_bad_words"].sentence


# -- the processes ----------------------------------------------------------------------------------------------------


def test_without_fork_programs_share_a_process_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "can_fork", lambda device: False)
    mishaps = {f"clean_{name}": f"def main(loader, device):\n    {MISHAPS[name][0]}\n" for name in ("dies", "hangs")}
    keeps = "kept = []\ndef main(loader, device):\n    kept.extend(x for x, _ in loader)\n    return 1\n"
    others = {"clean_a": QUIET, "leak_b": LOSSES, "fixed_b": DETACHED, "clean_c": keeps, "clean_z": QUIET}
    folder = folder_of(tmp_path, "harms=nodes,bytes", {**mishaps, **others})
    rows = rows_of(folder, time_limit=4.0)
    failing = {name for name, row in rows.items() if row.verdict is Verdict.FAILS}
    assert failing == {"clean_dies", "clean_hangs", "clean_c"}


@needs_fork
def test_a_measuring_process_that_is_killed_takes_no_other_program_with_it(tmp_path: Path) -> None:
    kills_parent = "def main(loader, device):\n    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)\n"
    programs = {"clean_a": kills_parent, "clean_b": QUIET, "clean_c": QUIET}
    rows = rows_of(folder_of(tmp_path, "harms=nodes", programs), jobs=1)
    assert "killed by SIGKILL" in rows["clean_a"].sentence
    assert rows["clean_b"].verdict is rows["clean_c"].verdict is Verdict.HOLDS


@needs_fork
def test_nothing_goes_on_when_the_user_stops_it(tmp_path: Path) -> None:
    mark = tmp_path / "started"
    endless = f"def main(loader, device):\n    open({str(mark)!r}, 'w').write(str(__import__('os').getpid()))\n"
    folder_of(tmp_path / "programs", "harms=nodes", {"clean_a": endless + "    while True: pass\n"})
    process = _start(["verify", "--device", "cpu", str(tmp_path / "programs")])
    while not (mark.exists() and mark.read_text()):
        assert process.poll() is None
        time.sleep(0.05)
    child = int(mark.read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert _is_gone(child)


def _start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([*INTERRUPTIBLE, *words], stdout=-3, stderr=-3, start_new_session=True)


def _is_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
