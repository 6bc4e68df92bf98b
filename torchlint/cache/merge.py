"""Putting together what two runs learnt; a record stays where everything that it depends on is seen alike by both."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.cache.table import Facts, Record
from torchlint.project.sights import Consulted, FileSight, FolderSight

__all__ = ["gathered", "merged"]


def gathered(learnt: Iterable[tuple[Record, Consulted]]) -> Facts:
    """The records of one run, without those that depend on what changed while it ran."""
    facts, unsteady = Facts(), set[str]()
    for record, consulted in learnt:
        unsteady |= _add(facts, dict(consulted.files), dict(consulted.folders))
        facts.records[record.path, record.job] = record
    _forget(facts, unsteady)
    return facts


def merged(older: Facts, newer: Facts) -> Facts:
    """Both, and the newer where they differ: what depends on the older sight of something is left out."""
    facts = Facts(dict(older.files), dict(older.folders), dict(older.records))
    _forget(facts, _add(facts, newer.files, newer.folders))
    facts.files.update({path: sight for path, sight in newer.files.items() if path not in facts.files})
    facts.folders.update({path: sight for path, sight in newer.folders.items() if path not in facts.folders})
    facts.records = {**newer.records, **{key: one for key, one in facts.records.items() if key not in newer.records}}
    return facts


def _add(facts: Facts, files: dict[str, FileSight], folders: dict[str, FolderSight]) -> set[str]:
    """Add sights; returned are the paths of what was seen otherwise before, which keep their older sight."""
    changed = set()
    for path, sight in files.items():
        known = facts.files.setdefault(path, sight)
        if known is not sight:
            if known.digest != sight.digest:
                changed.add(path)
            elif sight.stamp is not None:
                facts.files[path] = sight
    for path, there in folders.items():
        before = facts.folders.setdefault(path, there)
        if before is not there and before != there:
            both = _united(before, there)
            if both is None:
                changed.add(path)
            else:
                facts.folders[path] = both
    return changed


def _united(one: FolderSight, other: FolderSight) -> FolderSight | None:
    """What was looked for in a folder by either; None when they saw something differently."""
    kinds, others = dict(one.kinds), dict(other.kinds)
    if any(kinds.get(name, kind) is not kind for name, kind in others.items()):
        return None
    # One that looked for all of it looked later than its own stamp; two halves with two stamps have none.
    if others.keys() >= kinds.keys():
        return other
    if kinds.keys() >= others.keys():
        return one
    stamp = one.stamp if one.stamp == other.stamp else None
    return FolderSight(stamp, tuple(sorted((kinds | others).items(), key=lambda item: item[0])))


def _forget(facts: Facts, places: set[str]) -> None:
    """Leave out what was seen in two ways, and all that depends on it."""
    if not places:
        return
    for place in places:
        facts.files.pop(place, None)
        facts.folders.pop(place, None)
    facts.records = {
        key: record
        for key, record in facts.records.items()
        if places.isdisjoint(record.files) and places.isdisjoint(record.folders)
    }
