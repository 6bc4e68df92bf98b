"""Writing a file: whoever looks sees the old content or the new, also when the writer is killed half-way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from torchlint.rewrite import write_atomic

ROOT = Path(__file__).parents[1]
OLD, NEW = b"old\r\n" * 1000, b"new\n" * 5000

KILLED = """
import os, sys
from torchlint.rewrite import write_atomic

path, last = sys.argv[1], int(sys.argv[2])
steps = 0

def counted(name, original):
    def call(*arguments, **options):
        global steps
        steps += 1
        if steps == last:
            if name == "write":
                original(arguments[0], arguments[1][: len(arguments[1]) // 2])
            os._exit(17)
        if name == "write":
            return original(arguments[0], arguments[1][:7000])
        return original(*arguments, **options)
    return call

names = "open write close fsync replace rename link unlink chmod chown stat lstat access umask readlink"
for name in names.split():
    if hasattr(os, name):
        setattr(os, name, counted(name, getattr(os, name)))
write_atomic(path, b"new\\n" * 5000)
"""


def names_in(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def test_a_process_killed_at_any_step_leaves_the_old_file_or_the_new(tmp_path: Path) -> None:
    seen = []
    for step in range(1, 100):
        folder = tmp_path / str(step)
        folder.mkdir()
        path = folder / "a.py"
        path.write_bytes(OLD)
        path.chmod(0o640)
        done = subprocess.run(
            [
                sys.executable,
                "-I",
                "-c",
                f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{KILLED}",
                path,
                str(step),
            ],
            check=False,
            capture_output=True,
        )
        assert done.returncode in (0, 17), done.stderr
        content = path.read_bytes()
        assert content in (OLD, NEW)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        # A leftover must not be taken for a source file.
        assert not [name for name in names_in(folder) if name.endswith(".py") and name != "a.py"]
        seen.append(content)
        if done.returncode == 0:
            break
    assert len(seen) > 10
    assert seen == sorted(seen, reverse=True), "once new, always new"
    assert seen[-1] == NEW


def test_only_the_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    write_atomic(str(path), NEW)
    assert path.read_bytes() == NEW
    assert names_in(tmp_path) == ["a.py"]


@pytest.mark.parametrize("data", [b"", b"x", NEW])
def test_a_missing_file_is_made(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.py"
    write_atomic(str(path), data)
    mask = os.umask(0)
    os.umask(mask)
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomic("a.py", NEW)
    assert (tmp_path / "a.py").read_bytes() == NEW


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    path.chmod(mode)
    write_atomic(str(path), NEW)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "chown") or os.getuid() != 0, reason="only root may give a file away")
def test_the_owner_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    os.chown(path, 1234, 2345)
    path.chmod(0o6750)
    write_atomic(str(path), NEW)
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 2345, 0o6750)


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    path = tmp_path / "real" / "a.py"
    path.write_bytes(OLD)
    (tmp_path / "link.py").symlink_to("middle.py")
    (tmp_path / "middle.py").symlink_to("real/a.py")
    write_atomic(str(tmp_path / "link.py"), NEW)
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "middle.py").is_symlink()
    assert path.read_bytes() == NEW
    assert names_in(tmp_path / "real") == ["a.py"]
    assert names_in(tmp_path) == ["link.py", "middle.py", "real"]


@pytest.mark.parametrize("step", ["write", "fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(error)):
        write_atomic(str(path), NEW)
    assert path.read_bytes() == OLD
    assert names_in(tmp_path) == ["a.py"]


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    for path in (tmp_path, tmp_path / "pipe.py", Path(os.devnull), tmp_path / "missing" / "a.py"):
        with pytest.raises(OSError, match=r".") as caught:
            write_atomic(str(path), NEW)
        assert caught.value.strerror
    assert names_in(tmp_path) == ["pipe.py"]


def test_a_read_only_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(OLD)
    path.chmod(0o444)
    # Root may write everything; let the system say what it says to everybody else.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(PermissionError):
        write_atomic(str(path), NEW)
    assert path.read_bytes() == OLD


def test_a_link_in_a_circle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to("b.py")
    (tmp_path / "b.py").symlink_to("a.py")
    with pytest.raises(OSError, match=r"."):
        write_atomic(str(tmp_path / "a.py"), NEW)
    assert (tmp_path / "a.py").is_symlink()
    assert (tmp_path / "b.py").is_symlink()


def test_a_name_that_is_not_utf8(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff.py")
    write_atomic(os.fsdecode(path), NEW)
    with open(path, "rb") as stream:
        assert stream.read() == NEW
