"""The order in which values are run until nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heappop, heappush

from torchlint.facts.values.graph import Value

__all__ = ["WorkList"]


class WorkList:
    """Values that have to be run, in sweeps from the first to the last of the file.

    What is added beyond the value that runs belongs to the same sweep, so that a long chain settles in one; what is
    added before it waits for the next, so that a loop gathers what a whole turn says before it begins again.

    Source: the round robin of Kam and Ullman, "Global data flow analysis and iterative algorithms", JACM 23 (1976),
    without what has not changed.
    """

    def __init__(self) -> None:
        """Nothing has to be run."""
        self._added: set[Value] = set()
        self._sweep: list[int] = []
        self._in_sweep: dict[int, Value] = {}
        self._next: set[Value] = set()
        self._here = -1

    def add(self, values: Iterable[Value]) -> None:
        """Have these run, each once."""
        self._added.update(values)

    def __iter__(self) -> Iterator[Value]:
        """Each value when it is to be run, until there is none; more may be added while one runs."""
        added = self._added
        while True:
            if added:
                for value in added:
                    number = value.index
                    if number <= self._here:
                        self._next.add(value)
                    elif number not in self._in_sweep:
                        self._in_sweep[number] = value
                        heappush(self._sweep, number)
                added.clear()
            if not self._sweep:
                if not self._next:
                    return
                self._in_sweep = {value.index: value for value in self._next}
                self._sweep = sorted(self._in_sweep)
                self._next.clear()
            self._here = heappop(self._sweep)
            yield self._in_sweep.pop(self._here)
