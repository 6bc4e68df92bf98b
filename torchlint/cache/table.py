"""What the cache holds, and how it is written: one line with a digest, and JSON behind it.

A table is read in two steps: its columns come from JSON as they are, and a record's own list of what it depends on is
taken apart only when some of that changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

from torchlint.project.sights import FileSight, FolderSight, Kind, Stamp

__all__ = ["Columns", "Damaged", "Facts", "Record", "decode", "encode"]


class Damaged(Exception):
    """The bytes are no table of this version."""


@dataclass(frozen=True)
class Record:
    """The result of one file's check.

    Attributes:
        path: the file, absolute.
        job: the digest of the options under which it was checked.
        files, folders: what it depends on; ``path`` is among the files.
        asked: digests of names of functions, each with that of the files that guard a call of such a name; that of the
            path, with that of the files that import it.
        state: the state of all files of the run in which that was asked; "" if nothing was.
        whole: True when it holds in exactly that state.
        outcome: the result as JSON has it, see ``outcome.py``.
    """

    path: str
    job: str
    files: tuple[str, ...]
    folders: tuple[str, ...]
    asked: tuple[tuple[str, str], ...]
    state: str
    whole: bool
    outcome: Any


@dataclass
class Facts:
    """Records, and how everything that they depend on was seen.

    Attributes:
        files, folders: by absolute path.
        records: by file and job; those that were made or used last come first.
    """

    files: dict[str, FileSight] = field(default_factory=dict)
    folders: dict[str, FolderSight] = field(default_factory=dict)
    records: dict[tuple[str, str], Record] = field(default_factory=dict)

    def take_in(self, newer: Facts) -> None:
        """Add what was seen later in the same run."""
        self.files.update(newer.files)
        self.folders.update(newer.folders)
        self.records.update(newer.records)


class Columns:
    """A table as it was read. What is asked of it raises KeyError, IndexError, TypeError or ValueError where it is
    not what was written, which a digest makes unlikely.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        """Take what JSON gave."""
        self.stamps: str = data["stamps"]
        self.content: str = data["content"]
        self.files: tuple[list[str], list[list[int] | None], list[str | None]] = data["files"]
        self.folders: tuple[list[str], list[list[int] | None], list[str]] = data["folders"]
        self._jobs: list[str] = data["jobs"]
        self._states: list[str] = data["states"]
        self._records: list[list[Any]] = data["records"]

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The place of each file in its column."""
        return {path: number for number, path in enumerate(self.files[0])}

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {(record[0], record[1]): number for number, record in enumerate(self._records)}

    def __len__(self) -> int:
        """The number of records."""
        return len(self._records)

    def find(self, path: str, job: str) -> int | None:
        """The number of the record of a file's check; None where there is none."""
        if path not in self.number_of or job not in self._jobs:
            return None
        return self._numbers.get((self.number_of[path], self._jobs.index(job)))

    def files_of(self, number: int) -> list[int]:
        """The places of the files that a record depends on."""
        return [int(word) for word in self._records[number][2].split()]

    def folders_of(self, number: int) -> list[int]:
        """The places of the folders that a record depends on."""
        return [int(word) for word in self._records[number][3].split()]

    def state_of(self, number: int) -> str:
        """The state of the run in which a record was made; "" if it does not matter."""
        state: int = self._records[number][5]
        return "" if state < 0 else self._states[state]

    def outcome_of(self, number: int) -> Any:
        """The result that a record keeps."""
        return self._records[number][7]

    def record(self, number: int) -> Record:
        """All of a record."""
        file, job, _, _, asked, _, whole, outcome = self._records[number]
        pairs = (word.partition("=") for word in asked.split())
        return Record(
            self.files[0][file],
            self._jobs[job],
            tuple(self.files[0][place] for place in self.files_of(number)),
            tuple(self.folders[0][place] for place in self.folders_of(number)),
            tuple((name, files) for name, _, files in pairs),
            self.state_of(number),
            bool(whole),
            outcome,
        )

    def file(self, place: int) -> FileSight:
        """How a file was seen."""
        return FileSight(_stamp(self.files[1][place]), self.files[2][place])

    def folder(self, place: int) -> FolderSight:
        """How a folder was seen."""
        words = self.folders[2][place].split("/")
        return FolderSight(_stamp(self.folders[1][place]), tuple((word[1:], Kind(word[0])) for word in words))

    def facts(self) -> Facts:
        """All of the table."""
        records = [self.record(number) for number in range(len(self))]
        return Facts(
            {path: self.file(place) for place, path in enumerate(self.files[0])},
            {path: self.folder(place) for place, path in enumerate(self.folders[0])},
            {(record.path, record.job): record for record in records},
        )


def encode(facts: Facts, stamps: str, content: str) -> bytes:
    """The bytes of a table; the two digests are those of :class:`torchlint.cache.key.Key`.

    What no record depends on is left out.
    """
    records = list(facts.records.values())
    files = _places(record.files for record in records)
    folders = _places(record.folders for record in records)
    jobs = _places([record.job] for record in records)
    states = _places([record.state] for record in records if record.state)
    rows = [
        [
            files[record.path],
            jobs[record.job],
            " ".join([str(files[path]) for path in record.files]),
            " ".join([str(folders[path]) for path in record.folders]),
            " ".join([f"{name}={guards}" if guards else name for name, guards in record.asked]),
            states[record.state] if record.state else -1,
            int(record.whole),
            record.outcome,
        ]
        for record in records
    ]
    data = {
        "stamps": stamps,
        "content": content,
        "files": [
            list(files),
            [facts.files[path].stamp for path in files],
            [facts.files[path].digest for path in files],
        ],
        "folders": [
            list(folders),
            [facts.folders[path].stamp for path in folders],
            ["/".join(f"{kind.value}{name}" for name, kind in facts.folders[path].kinds) for path in folders],
        ],
        "jobs": list(jobs),
        "states": list(states),
        "records": rows,
    }
    body = json.dumps(data, separators=(",", ":")).encode()
    return _digest(body) + b"\n" + body


def decode(data: bytes) -> Columns:
    """The table in these bytes.

    Raises:
        Damaged: they are not what :func:`encode` wrote.
    """
    digest, _, body = data.partition(b"\n")
    if digest != _digest(body):
        raise Damaged
    try:
        return Columns(json.loads(body))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged from error


def _places(groups: Iterable[Sequence[str]]) -> dict[str, int]:
    """A number for each word, from 0, in the order in which they come."""
    found: dict[str, int] = {}
    for group in groups:
        for word in group:
            found.setdefault(word, len(found))
    return found


def _stamp(values: list[int] | None) -> Stamp | None:
    return None if values is None else (values[0], values[1], values[2])


def _digest(body: bytes) -> bytes:
    return blake2b(body, digest_size=16).hexdigest().encode()
