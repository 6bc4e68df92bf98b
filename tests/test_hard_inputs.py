"""Hard inputs, each with a leak in it: it is found, or one line says why the file cannot be checked.

No traceback, no endless run, no dead process, no changed byte; by the command line, with and without worker processes,
with ``--fix``, and as a plugin of flake8.
"""

from __future__ import annotations

import ast
import codecs
import errno
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from invoking import LEAK, REPAIRED, torchlint, write

from torchlint import run
from torchlint.catalog import rules
from torchlint.cli import main
from torchlint.config import Settings
from torchlint.engine import check
from torchlint.flake8_plugin import Plugin
from torchlint.run import Job, check_files
from torchlint.source import Source


@dataclass(frozen=True)
class Hard:
    """A file and what is said of it.

    Attributes:
        data: its bytes.
        refusal: why it cannot be checked; None where its leak is found like in any file.
        fixable: whether ``--fix`` repairs the leak.
    """

    data: bytes
    refusal: str | None = None
    fixable: bool = True


def hard(
    before: str, after: str = "", refusal: str | None = None, encoding: str = "utf-8", fixable: bool = True
) -> Hard:
    """The leaking program with something hard before it or behind it."""
    return Hard((before + LEAK + after).encode(encoding, "surrogateescape"), refusal, fixable)


def nested(count: int) -> str:
    return "".join(" " * level + "if a:\n" for level in range(count)) + " " * count + "pass\n"


def elifs(count: int) -> str:
    return "if a:\n    pass\n" + "elif b:\n    pass\n" * count


def initializers(count: int) -> str:
    """Classes each of which may call the initializer of the one before in two ways, and an object of the last."""
    calls = "        if a:\n            super().__init__(a)\n        else:\n            super().__init__(a)\n"
    classes = [f"class C{n}(C{n - 1}):\n    def __init__(self, a):\n{calls}" for n in range(1, count)]
    first = "class C0:\n    def __init__(self, a):\n        self.a = a\n"
    kept = f"try:\n    a()\nexcept OSError as error:\n    b.last = C{count - 1}(str(error))\n"
    return first + "".join(classes) + kept


def cases(count: int) -> str:
    """A table of objects that are made of objects, of two classes all of them."""
    given = "class Given:\n    def __init__(self, *a, **b):\n        self.a, self.b = a, b\n"
    case = "class Case:\n    def __init__(self, a, b=Given()):\n        self.a, self.b = a, b\n"
    return given + case + "table = []\n" + "table.append(Case(Given(a, 2), b=Given(b)))\n" * count


FORMS = {
    "10,000 additions": hard("", "x = a" + " + a" * 10_000 + "\n", "nested too deep"),
    "400 additions": hard("", "x = a" + " + a" * 400 + "\n"),
    "3,000 elifs": hard("", elifs(3000), "nested too deep"),
    "400 elifs": hard("", elifs(400)),
    "1,000 chained calls": hard("", "x = a" + ".b()" * 1000 + "\n", "nested too deep"),
    "200 chained calls": hard("", "x = a" + ".b()" * 200 + "\n"),
    "500 nested lists": hard("", "x = " + "[" * 500 + "]" * 500 + "\n", "nested too deep"),
    "80 nested lists": hard("", "x = " + "[" * 80 + "]" * 80 + "\n"),
    "100 nested ifs": hard("", nested(100), "syntax error in line 113"),
    "99 nested ifs": hard("", nested(99)),
    "12 brackets around a pattern": hard(
        "", "match a:\n case " + "(" * 12 + "b" + ")" * 12 + ":\n  pass\n", "nested too deep"
    ),
    "60 comprehensions in one": hard("", "x = " + "[a for a in " * 60 + "b" + "]" * 60 + "\n"),
    "18 loops in one": hard(
        "", "".join(" " * n + "for a in loader:\n" for n in range(18)) + " " * 18 + "total = total + loss\n"
    ),
    "functions among the defaults of functions": hard("", "f = lambda a=lambda b=(lambda: 1): b: a\n"),
    "a variable that loops may leave as it is": hard(
        "", "for a in b:\n    if a:\n        c = a\nfor a in b:\n    print(c.data)\n"
    ),
    "30 initializers, each called in two ways": hard("", initializers(30)),
    "600 objects made of objects": hard("", cases(600)),
    "2,000 arguments": hard("", "f(" + "a, " * 2000 + ")\n"),
    "500 statements in a line": hard("", "x = 1; " * 500 + "\n"),
    "a line of 200,000 characters": hard("", "x = '" + "a" * 200_000 + "'\n"),
    "a number of 10,000 digits": hard("", "x = " + "9" * 10_000 + "\n"),
    "a syntax error": hard("", "x = = 1\n", "syntax error in line 13"),
    "an open bracket": hard("", "x = (\n", "syntax error in line 13"),
    "an open string": hard("", "x = '''\n", "syntax error in line 13"),
    "a bad indentation": hard("", "  x = 1\n", "syntax error in line 13"),
    "tabs and blanks": hard("", "def f():\n    x = 1\n\ty = 2\n", "syntax error in line 15"),
    "Python 2": hard("", "print 'a'\n", "syntax error in line 13"),
    "an end mark of DOS": hard("", "\x1a", "syntax error in line 13"),
    "a null byte": hard("", "x = '\0'\n", "contains null bytes"),
    "UTF-16": hard("", "", "encoded as UTF-16, which Python does not accept for source files", "utf-16"),
    "an unknown codec": hard("# coding: klingon\n", "", "names the unknown encoding 'klingon'"),
    "a codec that is wrong": hard("# coding: ascii\n", "# é\n", "not valid ascii (line 14)"),
    "latin-1 that is not declared": hard("", "# \udce9\n", "not valid utf-8 (line 13)"),
    "latin-1 that is declared": hard("# coding: latin-1\n", "# é\n", encoding="latin-1"),
    "a byte order mark": Hard(codecs.BOM_UTF8 + LEAK.encode()),
    "CRLF": Hard(LEAK.replace("\n", "\r\n").encode()),
    "lone CR": Hard(LEAK.replace("\n", "\r").encode(), fixable=False),
    "mixed line ends": Hard(LEAK.replace("\n", "\r\n", 5).replace("\r\n", "\r", 2).encode()),
    "form feeds": hard("\x0c\n", "\n\x0c\nx = 1\n\x0c"),
    # libcst does not give back a form feed that stands before a statement.
    "a form feed before a statement": hard("", "\x0cx = 1\n", fixable=False),
    "line separators of Unicode": hard("", "x = '\x85\u2028'  # \u2029\n"),
    "no final newline": Hard(LEAK.removesuffix("\n").encode()),
    "a backslash at the end": hard("", "x = \\", "syntax error in line 13"),
}
if sys.version_info < (3, 12):
    FORMS["syntax newer than this Python"] = hard("", "type X[T] = list[T]\n")
if sys.version_info < (3, 14):
    FORMS["syntax newer than this Python, too"] = hard("", "try:\n    pass\nexcept A, B:\n    pass\n")

SILENT = {"an empty file": b"", "white space alone": b" \n\t\n\x0c"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines_of(capsys: pytest.CaptureFixture[str]) -> tuple[list[str], list[str]]:
    """What was printed to standard output, without its last line, and to standard error."""
    out, err = capsys.readouterr()
    return out.splitlines()[:-1], err.splitlines()


class TestForms:
    @pytest.mark.parametrize("name", FORMS)
    def test_are_checked_or_refused_in_one_line(self, here, capsys, name):
        file = FORMS[name]
        write(here, "a.py", file.data)
        code = main(["a.py"])
        found, refused = lines_of(capsys)
        if file.refusal is None:
            assert (code, refused) == (1, [])
            assert any(" TLK101 `total`" in line for line in found)
        else:
            assert (code, found, refused) == (2, [], [f"a.py: cannot be checked: {file.refusal}"])

    @pytest.mark.parametrize("name", FORMS)
    def test_are_repaired_in_one_place_or_left_as_they_are(self, here, capsys, name):
        file = FORMS[name]
        path = write(here, "a.py", file.data)
        main(["a.py", "--fix", "--no-cache"])
        is_repaired = file.refusal is None and file.fixable
        after = file.data.replace(b"total += loss", b"total += loss.detach()") if is_repaired else file.data
        assert path.read_bytes() == after
        assert os.listdir(here) == ["a.py"]

    @pytest.mark.parametrize("name", FORMS)
    def test_do_not_end_flake8(self, name):
        file = FORMS[name]
        try:
            text = file.data.decode("utf-8-sig")
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return  # flake8 says so itself, and no plugin is asked
        found = [text for _, _, text, _ in Plugin(tree, "-", text.splitlines(keepends=True)).run()]
        # What is refused for its codec comes decoded from flake8.
        assert file.refusal is not None or any(one.startswith("TLK101 ") for one in found)

    def test_do_not_end_the_run_of_a_worker(self, here, monkeypatch):
        monkeypatch.setattr(run, "ENOUGH", 1)
        selection = Settings().selection("a.py")
        jobs = [Job(str(write(here, f"{n}.py", file.data)), selection) for n, file in enumerate(FORMS.values())]
        several = check_files(jobs, workers=2)
        assert several == check_files(jobs)
        refusals = [file.refusal and f"cannot be checked: {file.refusal}" for file in FORMS.values()]
        assert [result.failure for result in several] == refusals

    @pytest.mark.parametrize("name", SILENT)
    def test_of_nothing_say_nothing(self, here, capsys, name):
        path = write(here, "a.py", SILENT[name])
        assert main(["a.py", "--fix"]) == 0
        assert path.read_bytes() == SILENT[name]
        assert lines_of(capsys) == ([], [])


class TestSize:
    def test_larger_files_than_usual_are_refused_in_one_line(self, here, capsys):
        write(here, "a.py", LEAK + "#" * 2_000_000)
        assert main(["a.py"]) == 2
        assert lines_of(capsys) == ([], ["a.py: cannot be checked: larger than 2000000 bytes"])

    def test_and_checked_where_that_is_asked_for(self, here, capsys):
        write(here, "a.py", LEAK + "#" * 2_000_000)
        assert main(["a.py", "--max-file-size", "3000000"]) == 1

    def test_data_without_a_candidate_needs_no_libcst(self, here, monkeypatch):
        def refuse(*_: object) -> None:
            raise AssertionError

        monkeypatch.setattr("torchlint.engine._parse", refuse)
        text = "import torch\n\nDATA = [\n" + "    [0.5, -1, 'label', {'a': (1, 2)}],\n" * 2000 + "]\n"
        assert check(Source("a.py", text), rules()).diagnostics == ()

    def test_work_grows_with_the_lines_and_no_faster(self):
        def calls_for(copies: int) -> float:
            text = "import torch\n" + "".join(
                LEAK.removeprefix("import torch\n").replace("train", f"train_{number}") for number in range(copies)
            )
            counted = 0

            def count(*_: object) -> None:
                nonlocal counted
                counted += 1

            sys.setprofile(count)
            try:
                found = check(Source("a.py", text), rules()).diagnostics
            finally:
                sys.setprofile(None)
            assert len([one for one in found if one.code == "TLK101"]) == copies
            return counted / copies

        calls_for(1)
        assert calls_for(32) < 1.2 * calls_for(8)


@pytest.mark.skipif(os.name == "nt", reason="file systems of POSIX")
class TestFileSystem:
    def test_a_folder_named_like_a_file_is_looked_into(self, here, capsys):
        write(here, "x.py/a.py", LEAK)
        assert main(["x.py", "--fix"]) == 0
        assert (here / "x.py" / "a.py").read_text() == REPAIRED

    @pytest.mark.parametrize("target", ["gone.py", "a.py"])
    def test_a_link_to_nothing_or_to_itself_is_one_line(self, here, capsys, target):
        (here / "a.py").symlink_to(target)
        assert main(["a.py"]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1 and err.split(":")[0] in ("a.py", "torchlint")
        assert main(["."]) == 0

    def test_a_pipe_is_not_waited_for(self, here):
        os.mkfifo(here / "a.py")
        write(here, "b.py", LEAK)
        done = torchlint("a.py", "b.py", "-j", "2", cwd=here)
        assert done.stderr == b"a.py: cannot be checked: is a pipe and no file\n"
        assert (done.returncode, done.stdout.count(b"TLK101")) == (2, 1)

    def test_a_file_that_may_not_be_read_is_one_line(self, here, capsys, monkeypatch):
        def refuse(*_: object) -> int:
            raise PermissionError(errno.EACCES, "Permission denied")

        write(here, "a.py", LEAK)
        # Root may read everything.
        monkeypatch.setattr("torchlint.source._open_at_once", refuse)
        assert main(["a.py"]) == 2
        assert lines_of(capsys) == ([], ["a.py: cannot be checked: cannot be read: Permission denied"])

    def test_a_file_that_vanishes_before_it_is_read_is_one_line(self, here):
        job = Job(str(here / "a.py"), Settings().selection("a.py"))
        (result,) = check_files([job])
        assert result.failure == "cannot be checked: cannot be read: No such file or directory"

    @pytest.mark.parametrize("change", ["edited", "gone", "broken"])
    def test_a_file_that_changes_before_it_is_repaired_keeps_its_change(self, here, capsys, monkeypatch, change):
        path = write(here, "a.py", LEAK)
        written = run.write_repaired

        def meanwhile(*arguments):
            if change == "gone":
                path.unlink()
            else:
                path.write_text(LEAK + "x = 1\n" if change == "edited" else LEAK + "x = (\n")
            return written(*arguments)

        monkeypatch.setattr(run, "write_repaired", meanwhile)
        assert main(["a.py", "--fix"]) == 2
        _, (line,) = lines_of(capsys)
        assert line.startswith("a.py: cannot be fixed: ")
        assert path.exists() == (change != "gone")
        assert not path.exists() or "detach" not in path.read_text()

    @pytest.mark.parametrize(
        ("function", "number"),
        [
            ("tempfile.mkstemp", errno.EROFS),
            ("os.write", errno.ENOSPC),
            ("os.fsync", errno.EIO),
            ("os.replace", errno.EACCES),
        ],
    )
    def test_a_full_or_read_only_disk_is_one_line_and_leaves_the_file(
        self, here, capsys, monkeypatch, function, number
    ):
        def refuse(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        path = write(here, "a.py", LEAK)
        with monkeypatch.context() as patched:
            patched.setattr(function, refuse)
            code = main(["a.py", "--fix", "--no-cache"])
        found, refused = lines_of(capsys)
        assert (code, refused) == (2, [f"a.py: cannot be fixed: {os.strerror(number)}"])
        assert found[0].startswith("a.py:11:9: TLK101 ")
        assert path.read_text() == LEAK and os.listdir(here) == ["a.py"]

    @pytest.mark.skipif(sys.platform != "linux", reason="other file systems refuse such names")
    def test_a_name_that_is_no_text_is_checked_and_repaired(self, here):
        name = os.fsencode(here) + b"/\xff.py"
        with open(name, "wb") as file:
            file.write(LEAK.encode())
        done = torchlint("--fix", "-j", "2", ".", cwd=here)
        assert (done.returncode, done.stderr) == (0, b"")
        with open(name, "rb") as file:
            assert file.read().decode() == REPAIRED


def test_all_of_them_together_are_a_line_each(here: Path) -> None:
    for number, file in enumerate(FORMS.values()):
        write(here, f"{number:02}.py", file.data)
    done = torchlint("-j", "2", ".", cwd=here)
    assert done.returncode == 2
    refusals = [f"{n:02}.py: cannot be checked: {f.refusal}" for n, f in enumerate(FORMS.values()) if f.refusal]
    assert done.stderr.decode().splitlines() == refusals
    assert done.stdout.count(b"TLK101") == len(FORMS) - len(refusals)
