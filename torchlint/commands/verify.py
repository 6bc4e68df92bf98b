"""``torchlint verify``: run the programs of rules or of the user's own folders; is each what it claims to be?"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from torchlint.catalog import codes, fixture_folder
from torchlint.console import complain, write
from torchlint.verify.devices import Device, NoDevice, find_device, has_torch
from torchlint.verify.programs import BadFolder, Folder, Kind, read_folder
from torchlint.verify.record import Place, record, refusal
from torchlint.verify.verification import Options, Row, Verdict, least_steps, verify

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["run"]

EXTRA = "pip install 'torchlint[verify]'"
HOLDS, FAILS, COULD_NOT = 0, 1, 2


class BadRequest(Exception):
    """What was asked for cannot be done; its text is one line."""


def run(options: Namespace) -> int:
    """Verify what was asked for; returns 0 when all hold, 1 when one does not, 2 when it could not be done."""
    try:
        folders = _folders(options.targets)
        _check(options, folders)
        device = find_device(options.device)
        _check_steps(options.steps, device)
    except (BadRequest, BadFolder, NoDevice) as error:
        complain(f"torchlint: {error}")
        return COULD_NOT
    chosen = Options(
        device=device.place,
        steps=options.steps,
        jobs=options.jobs,
        time_limit=options.time_limit,
        memory_limit=options.memory_limit << 20,
    )
    with _progress(sum(len(folder.programs) for folder in folders)) as advance:
        rows = verify(folders, chosen, advance)
    write(_rendered(rows, options.output_format))
    done = _extras(options, folders, rows, device)
    held = all(row.verdict is not Verdict.FAILS for row in rows)
    return COULD_NOT if not done else HOLDS if held else FAILS


def _rendered(rows: Sequence[Row], form: str) -> str:
    if form == "table":
        from torchlint.verify.output.table import table

        return table(rows)
    from torchlint.verify.output.structured import junit, to_json

    return to_json(rows) if form == "json" else junit(rows)


def _extras(options: Namespace, folders: Sequence[Folder], rows: Sequence[Row], device: Device) -> bool:
    """The record and the picture; False when one of them could not be made."""
    problems = []
    if options.record:
        place = Place(device.name, device.torch, options.steps)
        for folder in folders:
            own = [row for row in rows if row.program in folder.programs]
            try:
                problems.append(record(folder.path, own, place))
            except OSError as error:
                problems.append(f"{folder.path}: {error.strerror or error}")
    if options.plot:
        from torchlint.verify.output.plot import draw

        try:
            draw(rows, Path(options.plot))
        except OSError as error:
            problems.append(f"{options.plot}: {error.strerror or error}")
    for problem in filter(None, problems):
        complain(f"torchlint: {problem}")
    return not any(problems)


def _check(options: Namespace, folders: Sequence[Folder]) -> None:
    """Find out what cannot be done before anything runs.

    Raises:
        BadRequest: something cannot.
    """
    if not has_torch():
        raise BadRequest(f'torch is not installed; "torchlint verify" needs it: {EXTRA}')
    if options.plot:
        from torchlint.verify.output.plot import FORMATS

        if Path(options.plot).suffix not in FORMATS:
            raise BadRequest(f"--plot {options.plot}: the name must end in {' or '.join(FORMATS)}")
        if find_spec("matplotlib") is None:
            raise BadRequest(f"matplotlib is not installed; --plot needs it: {EXTRA}")
    if options.record:
        refused = filter(None, (refusal(folder.path) for folder in folders))
        if (first := next(refused, None)) is not None:
            raise BadRequest(f"--record: {first}")
    for name, value in (("--jobs", options.jobs), ("--time-limit", options.time_limit - 1e-9)):
        if value < 0:
            raise BadRequest(f"{name} must not be negative or none")
    if options.memory_limit < 1:
        raise BadRequest("--memory-limit must be 1 MiB or more")


def _check_steps(steps: int, device: Device) -> None:
    """Raise BadRequest when nothing would be left to judge."""
    if steps < (least := least_steps(device.place)):
        raise BadRequest(
            f"--steps {steps} leaves nothing to judge after the warm-up on {device.place}: {least} or more"
        )


def _folders(targets: Sequence[str]) -> list[Folder]:
    """The folders of what was asked for, each once.

    Raises:
        BadRequest, BadFolder: a word is neither a code nor a path, or holds no programs.
    """
    words = targets or list(codes())
    found = {(folder.path.resolve(), folder.programs): folder for word in words for folder in _folders_of(word)}
    return list(found.values())


def _folders_of(word: str) -> Iterator[Folder]:
    named = [code for code in codes() if code.startswith(word)] if word.isalnum() else []
    path = Path(word)
    if named:
        yield from map(_folder_of_rule, named)
    elif path.is_dir():
        inner = [path] if _holds_programs(path) else sorted(filter(_holds_programs, path.iterdir()))
        if not inner:
            raise BadRequest(f"{word}: no leak_*.py and no clean_*.py in it or in its folders")
        yield from map(read_folder, inner)
    elif path.is_file():
        yield read_folder(path.parent, only=[path.stem.partition("_")[2]])
    else:
        raise BadRequest(f'{word}: no such rule and no such path ("torchlint rules" lists the rules)')


def _folder_of_rule(code: str) -> Folder:
    folder = fixture_folder(code)
    if folder is None:
        raise BadRequest(f"the programs of {code} are not installed")
    return read_folder(folder)


def _holds_programs(folder: Path) -> bool:
    return folder.is_dir() and any(next(folder.glob(f"{kind.value}_*.py"), None) for kind in (Kind.LEAK, Kind.CLEAN))


def _progress(programs: int) -> AbstractContextManager[Callable[[], None]]:
    """A progress bar on a terminal, nothing elsewhere; what it yields is called after each program."""
    if sys.stderr is None or not sys.stderr.isatty() or find_spec("rich") is None:
        return nullcontext(lambda: None)
    return _bar(programs)


@contextmanager
def _bar(programs: int) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("running programs", total=programs)
        yield lambda: progress.advance(task)
