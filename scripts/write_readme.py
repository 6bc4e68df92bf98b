"""Write what README.md shows of torchlint from torchlint itself: one finding, its picture, the table of symptoms.

``python scripts/write_readme.py`` rewrites what stands between the markers; a test fails when it is old.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from draw_finding import picture  # noqa: E402

from torchlint.catalog import fixture_folder, rules  # noqa: E402
from torchlint.cli import main as torchlint  # noqa: E402
from torchlint.explanation import symptom_table  # noqa: E402

PICTURE = ROOT / "docs" / "finding.svg"

SHOWN = ("TLK101", "leak_epoch_sum.py")
"""The program whose finding is shown."""


def parts() -> Mapping[str, str]:
    """What stands between the markers, by the markers' names."""
    return {"finding": f"```console\n{finding()}```\n", "symptoms": symptom_table(rules())}


def written(readme: str, texts: Mapping[str, str]) -> str:
    """``readme`` with the given texts between their markers.

    Raises:
        ValueError: a pair of markers is missing.
    """
    for name, text in texts.items():
        marked = re.compile(rf"(<!-- {name}:[^>]*-->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not marked.search(readme):
            raise ValueError(f"README.md has no markers for {name!r}")
        readme = marked.sub(lambda match, text=text: f"{match[1]}{text}{match[2]}", readme)
    return readme


def finding() -> str:
    """A command and what it prints."""
    code, name = SHOWN
    folder = fixture_folder(code)
    assert folder is not None
    file = (folder / name).relative_to(ROOT).as_posix()
    captured = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        with contextlib.redirect_stdout(captured):
            torchlint(["--output-format", "full", file])
    finally:
        os.chdir(before)
    captured.seek(0)
    return f"$ torchlint --output-format full {file}\n{captured.read()}"


def main() -> None:
    """Rewrite README.md."""
    path = ROOT / "README.md"
    path.write_text(written(path.read_text(encoding="utf-8"), parts()), encoding="utf-8")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(finding()), encoding="utf-8")


if __name__ == "__main__":
    main()
