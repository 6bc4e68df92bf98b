"""Loops over what lies on a disk: the files of a folder, the rows of a file."""

from __future__ import annotations

from collections.abc import Set

from torchlint.facts.values.graph import Loop, Op

LISTING = frozenset(["glob.glob", "glob.iglob", "os.listdir", "os.scandir", "os.walk"])
LISTING_METHODS = frozenset(["glob", "rglob", "iterdir"])

READERS = frozenset(["json.load", "json.loads", "csv.reader", "csv.DictReader", "builtins.open", "gzip.open",
                     "jsonlines.open", "pandas.read_csv", "pandas.read_json", "pandas.read_table",
                     "fileinput.input"])  # fmt: skip
"""Functions that open or read a file of records."""

OPENING = frozenset(["open", "read_text"])
"""Methods that do, of a path."""


def goes_over_files(loop: Loop) -> bool:
    """``for path in sorted(glob.glob(pattern))``: whether a loop goes over the files of a folder."""
    return _calls(loop, LISTING, LISTING_METHODS)


def goes_over_rows(loop: Loop) -> bool:
    """``for line in tqdm(file)``, ``for line in sys.stdin``: whether a loop goes over the rows of a file."""
    return _calls(loop, READERS, OPENING) or _reads_standard_input(loop)


def _reads_standard_input(loop: Loop) -> bool:
    parts = loop.iterable.computed_from() if loop.iterable is not None else ()
    return any(part.op is Op.EXTERNAL and part.name == "sys.stdin" for part in parts)


def _calls(loop: Loop, functions: Set[str], methods: Set[str]) -> bool:
    if loop.iterable is None:
        return False
    calls = (part.callee for part in loop.iterable.computed_from() if part.op is Op.CALL)
    return any(c.name in (methods if c.op is Op.ATTRIBUTE else functions) for c in calls)
