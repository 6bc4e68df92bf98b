"""Compare torchlint's findings in real repositories with the judgements beside this script.

usage: python tests/benchmarks/compare.py DIR    DIR holds bare git copies, OWNER+NAME/repo
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def git(repository: Path, *words: str) -> bytes:
    return subprocess.run(["git", "-C", str(repository), *words], capture_output=True, check=True).stdout


def code_of(path: str, data: bytes) -> str:
    """The text of a Python file, or the code cells of a notebook joined to one."""
    if not path.endswith(".ipynb"):
        return data.decode("utf-8", "surrogateescape")
    cells = [cell for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
    texts = ["".join(cell["source"]) for cell in cells]
    lines = [["#" + line if line.lstrip().startswith(("!", "%")) else line for line in t.split("\n")] for t in texts]
    return "\n\n".join("\n".join(cell) for cell in lines) + "\n"


def check_out(repository: Path, commit: str, suffix: str, target: Path) -> None:
    names = git(repository, "ls-tree", "-r", "--name-only", "-z", commit).decode("utf-8", "surrogateescape")
    for name in names.split("\0"):
        if name.endswith(suffix):
            file = target / Path(name).with_suffix(".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            text = code_of(name, git(repository, "show", f"{commit}:{name}"))
            file.write_bytes(text.encode("utf-8", "surrogateescape"))


def findings(folder: Path) -> set[tuple[str, int, str]]:
    """(path, line, rule) of each finding, notes too."""
    command = [sys.executable, "-m", "torchlint", "--output-format", "json", "--notes", "--no-respect-gitignore"]
    run = subprocess.run([*command, str(folder)], capture_output=True, text=True, cwd=ROOT, check=False)
    base = folder.resolve()
    return {
        (Path(d["filename"]).resolve().relative_to(base).as_posix(), d["location"]["row"], d["code"])
        for d in json.loads(run.stdout)
    }


def main() -> int:
    mirror = Path(sys.argv[1])
    judged: dict[str, dict[tuple[str, int, str], str]] = {}
    for line in (HERE / "judgements.jsonl").read_text(encoding="utf-8").splitlines():
        j = json.loads(line)
        judged.setdefault(j["repository"], {})[j["path"], j["line"], j["rule"]] = j["verdict"]
    total: Counter[str] = Counter()
    for repository in json.loads((HERE / "repositories.json").read_text(encoding="utf-8")):
        name, commit = repository["repository"], repository["commit"]
        with tempfile.TemporaryDirectory() as folder:
            source = mirror / name.replace("/", "+", 1) / "repo"
            check_out(source, commit, repository.get("suffix", ".py"), Path(folder))
            found = findings(Path(folder))
        known = judged.get(name, {})
        print(f"{name}: {len(found)} found, {len(found & set(known))} of them judged")
        for path, row, rule in sorted(found - set(known)):
            print(f"  not judged: {path}:{row} {rule}")
        for path, row, rule in sorted(set(known) - found):
            print(f"  not found:  {path}:{row} {rule} ({known[path, row, rule]})")
        total.update(known[key] for key in found & set(known))
    print(dict(total))
    return 0


if __name__ == "__main__":
    sys.exit(main())
