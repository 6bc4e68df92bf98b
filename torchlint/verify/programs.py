"""A folder of programs: which leak, which do not, and what each says of itself in its first comment."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from torchlint.catalog import rule_of
from torchlint.rule import Harm

__all__ = [
    "BadFolder",
    "BadSettings",
    "Folder",
    "Kind",
    "Program",
    "Settings",
    "imports_of",
    "read_folder",
    "read_settings",
]

DEFAULT_HARMS = (Harm.NODES, Harm.BYTES, Harm.CYCLE, Harm.UNUSED)
"""What a folder is judged by that belongs to no rule and says nothing."""


class BadFolder(Exception):
    """A folder that cannot be verified; its text is one line."""


class BadSettings(Exception):
    """A "# verify:" comment that cannot be understood; its text is one line."""


class Kind(Enum):
    """What a program is there for: the first word of its name."""

    LEAK = "leak"
    CLEAN = "clean"
    FIXED = "fixed"


@dataclass(frozen=True)
class Settings:
    """What a program says of itself: ``# verify: payload=2560 tolerance=2e-7 because: ...``.

    Attributes:
        payload: bytes that it is meant to keep, or to save for nothing, a step.
        builds: modules, optimizers and loaders that it is meant to build a step.
        tolerance: the greatest relative difference between its result and its twin's.
        results_differ: True where the repair is meant to change results.
        needs: "cuda" for a program that can only be judged there, else "".
        harms: what it is judged by, where that is not what its rule declares; () otherwise.
        fix: "safe", "unsafe" or "manual": how the engine repairs it; the verifier does not ask.
        because: the reason.
    """

    payload: int = 0
    builds: int = 0
    tolerance: float = 0.0
    results_differ: bool = False
    needs: str = ""
    harms: tuple[Harm, ...] = ()
    fix: str = "safe"
    because: str = ""


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes:
        path: its file.
        kind: leak, clean or fixed.
        name: its name without the first word.
        settings: what it says of itself.
        mistake: why its settings cannot be read, in one line; "" otherwise.
    """

    path: Path
    kind: Kind
    name: str
    settings: Settings
    mistake: str = ""


@dataclass(frozen=True)
class Folder:
    """The programs of one rule.

    Attributes:
        path: the folder.
        label: the rule's code, or the folder's name.
        harms: what its programs are judged by.
        programs: sorted by file name.
    """

    path: Path
    label: str
    harms: tuple[Harm, ...]
    programs: tuple[Program, ...]

    def twin(self, program: Program) -> Program | None:
        """The repaired form of a leaking program, if there is one."""
        return next((p for p in self.programs if p.kind is Kind.FIXED and p.name == program.name), None)

    def has_leak(self, program: Program) -> bool:
        """Whether the program that a repaired one comes from is there."""
        return any(p.kind is Kind.LEAK and p.name == program.name for p in self.programs)


_NAME = re.compile(r"(leak|clean|fixed)_(\w+)\.py")
_COMMENT = re.compile(r"^# verify:(.*)$", re.MULTILINE)
_CODE = re.compile(r"(TLK\d{3})\b")


def read_folder(path: Path, only: Iterable[str] = ()) -> Folder:
    """Read a folder of programs.

    Args:
        path: holds ``leak_*.py``, each with its ``fixed_*.py``, and ``clean_*.py``.
        only: the names (without their first word) of the programs that are wanted; all when empty.

    Raises:
        BadFolder: it holds no such program.
    """
    wanted = frozenset(only)
    found = [program for file in sorted(path.glob("*.py")) if (program := _program(file)) is not None]
    programs = tuple(program for program in found if not wanted or program.name in wanted)
    if not any(program.kind is not Kind.FIXED for program in programs):
        raise BadFolder(f"{path}: no leak_*.py and no clean_*.py in it")
    code = _CODE.match(path.name)
    rule = rule_of(code[1]) if code else None
    return Folder(path, rule.code if rule else path.name, rule.harms if rule else DEFAULT_HARMS, programs)


def _program(file: Path) -> Program | None:
    named = _NAME.fullmatch(file.name)
    if named is None:
        return None
    kind = Kind(named[1])
    try:
        return Program(file, kind, named[2], read_settings(file.read_text(encoding="utf-8")))
    except (BadSettings, OSError, UnicodeDecodeError) as error:
        return Program(file, kind, named[2], Settings(), " ".join(str(error).split()))


def read_settings(text: str) -> Settings:
    """What a program's "# verify:" comment says.

    Args:
        text: the whole source.

    Raises:
        BadSettings: a word in it means nothing.
    """
    comment = _COMMENT.search(text)
    if comment is None:
        return Settings()
    words, _, because = comment[1].partition("because:")
    given = dict(_pairs(words))
    try:
        settings = Settings(
            payload=int(given.pop("payload", "0")),
            builds=int(given.pop("builds", "0")),
            tolerance=float(given.pop("tolerance", "0")),
            results_differ=_one_of(given.pop("results", ""), "differ"),
            needs="cuda" if _one_of(given.pop("needs", ""), "cuda") else "",
            harms=tuple(Harm[name.upper()] for name in given.pop("harms", "").split(",") if name),
            fix=given.pop("fix", "safe"),
            because=because.strip(),
        )
    except (KeyError, ValueError) as error:
        raise BadSettings(f'"# verify:{words.rstrip()}" cannot be read: {error}') from None
    if given:
        raise BadSettings(f'"# verify:{words.rstrip()}" cannot be read: {sorted(given)[0]} is no setting')
    return settings


def imports_of(program: Program) -> frozenset[str]:
    """The modules that a program imports, and those that torch imports when the program first asks for something.

    What lies beside the program is not among them: that is the program's own, and is imported anew in each run.
    """
    try:
        text = program.path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return frozenset()
    found = {module for words, modules in _LAZY.items() if words in text for module in modules}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found.add(node.module)
    beside = {path.stem for path in program.path.parent.iterdir()}
    return frozenset(module for module in found if module.partition(".")[0] not in beside)


_LAZY: Mapping[str, tuple[str, ...]] = {
    "torch.compile": ("torch._dynamo",),
    "torch.export": ("torch._dynamo", "torch.export"),
    "jit": ("torch._dynamo",),
}
"""By words in a program: what torch 2.13 imports only then, half a second each time."""


def _pairs(words: str) -> Iterator[tuple[str, str]]:
    for word in words.split():
        name, separator, value = word.partition("=")
        if not separator:
            raise BadSettings(f'"# verify:{words.rstrip()}" cannot be read: {word} has no value')
        yield name, value


def _one_of(given: str, known: str) -> bool:
    if given not in ("", known):
        raise ValueError(f"{given} is not {known}")
    return given == known
