"""What the table says, compared with what lies on disk now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchlint.cache.table import Columns, Facts, Record
from torchlint.project.sights import Sights, given_state, stamp_of

__all__ = ["View"]

FEW = 4
"""A run over less than one in so many of the records looks only at what those depend on."""


class View:
    """The files and folders of a table as they are now; each is looked at once, and read only when its stamp is new.

    Attributes:
        refreshed: what has a new stamp and means the same.
    """

    def __init__(self, table: Columns, numbers: Sequence[int]) -> None:
        """Look at what the records with these ``numbers`` depend on.

        Raises:
            KeyError, IndexError, TypeError, ValueError: the table is not what was written.
        """
        self.refreshed = Facts()
        self._table = table
        self._sights = Sights()
        self._digests: dict[int, str | None] = {}
        self._changed_folders: set[int] = set()
        files: Iterable[int] = range(len(table.files[0]))
        folders: Iterable[int] = range(len(table.folders[0]))
        if len(numbers) * FEW < len(table):
            files = {place for number in numbers for place in table.files_of(number)}
            folders = {place for number in numbers for place in table.folders_of(number)}
        digests = table.files[2]
        self._changed_files = {place for place in files if self._file(place) != digests[place]}
        self._changed_folders = {place for place in folders if not self._folder_holds(place)}

    def holds(self, number: int) -> bool:
        """Whether all that a record depends on is as it was, apart from the other files of its run."""
        files, folders = self._changed_files, self._changed_folders
        return (not files or files.isdisjoint(self._table.files_of(number))) and (
            not folders or folders.isdisjoint(self._table.folders_of(number))
        )

    def digest(self, path: str) -> str | None:
        """The digest of a file (absolute path) as it is now; None for one that cannot be read."""
        place = self._table.number_of.get(path)
        return self._sights.file(path).digest if place is None else self._file(place)

    def state(self, given: Iterable[str]) -> str:
        """The state of the files of a run (absolute paths)."""
        return given_state([(path, self.digest(path)) for path in sorted(given)])

    def restate(self, record: Record) -> None:
        """Keep a record, all that it depends on being as it was, with another state of its run."""
        table = self._table
        self.refreshed.records[record.path, record.job] = record
        for place in (table.number_of[path] for path in record.files):
            self.refreshed.files.setdefault(table.files[0][place], table.file(place))
        names = dict(zip(table.folders[0], range(len(table.folders[0])), strict=True))
        for path in record.folders:
            self.refreshed.folders.setdefault(path, table.folder(names[path]))

    def _file(self, place: int) -> str | None:
        if place not in self._digests:
            paths, stamps, digests = self._table.files
            stamp, digest = stamp_of(paths[place]), digests[place]
            # What could not be read may be readable now, and nothing but reading tells.
            if stamp is None or digest is None or stamps[place] != [*stamp]:
                sight = self._sights.file(paths[place])
                if sight.digest == digest and sight.stamp is not None:
                    self.refreshed.files[paths[place]] = sight
                digest = sight.digest
            self._digests[place] = digest
        return self._digests[place]

    def _folder_holds(self, place: int) -> bool:
        paths, stamps, _ = self._table.folders
        stamp = stamp_of(paths[place])
        if stamp is not None and stamps[place] == [*stamp]:
            return True
        before = self._table.folder(place)
        now = self._sights.folder(paths[place], [name for name, _ in before.kinds])
        if now.kinds != before.kinds:
            return False
        if now.stamp is not None:
            self.refreshed.folders[paths[place]] = now
        return True
