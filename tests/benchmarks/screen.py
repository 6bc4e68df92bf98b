"""Compare the findings with the screen and without it, over folders of real code: there must be no difference.

usage: python tests/benchmarks/screen.py FOLDER...

Every rule runs, notes count, knowledge across files is used. It prints each file whose findings differ, how many files
there were and how many of them the screen kept from being parsed, and exits 1 when there was a difference.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from torchlint.catalog import rules  # noqa: E402
from torchlint.config import Settings  # noqa: E402
from torchlint.discover import discover  # noqa: E402
from torchlint.project.project import Project  # noqa: E402
from torchlint.run import Job, check_file  # noqa: E402
from torchlint.screen import passing  # noqa: E402
from torchlint.source import Unreadable, read_source  # noqa: E402
from torchlint.syntax.depth import parse_shallow  # noqa: E402


def is_screened_out(path: str, project: Project) -> bool:
    """Whether no rule at all can find anything in a file."""
    try:
        tree = parse_shallow(read_source(path).text)
        return not passing(tree, rules(), is_imported=lambda: bool(project.importers(path)))
    except (Unreadable, SyntaxError):
        return False


def compare(paths: Iterable[str]) -> int:
    """Check each file twice; returns how many differ."""
    files = discover(list(paths), respect_gitignore=False).files
    project, settings = Project(files), Settings(preview=True, notes=True)
    differing = using = screened = 0
    for path in files:
        job = Job(path, settings.selection(path))
        shipped = check_file(job, project)
        if not shipped.uses_torch:
            continue
        using += 1
        screened += is_screened_out(path, project)
        whole = check_file(replace(job, use_screen=False), project)
        if whole != shipped:
            differing += 1
            lost = [f"{d.line} {d.code}" for d in whole.diagnostics if d not in shipped.diagnostics]
            print(f"{path}: {', '.join(lost) or whole.failure or 'other words'}", flush=True)
    print(f"{len(files)} files, {using} use torch, {screened} of them are screened out, {differing} differ")
    return differing


if __name__ == "__main__":
    sys.exit(1 if compare(sys.argv[1:]) else 0)
