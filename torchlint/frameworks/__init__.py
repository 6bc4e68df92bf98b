"""What frameworks promise of the code that they call, as data; ``facts/values/frameworks.py`` asks it.

The table (``table.py``) says which methods run without gradients, what is trained on, what is kept and what is
detached, and who calls what how often. It needs no other part of torchlint, so that the screen can read it.
"""

from functools import cache

from torchlint.frameworks.row import Holds, Row
from torchlint.frameworks.searching import SEARCHING
from torchlint.frameworks.serving import SERVING
from torchlint.frameworks.table import ROWS

__all__ = [
    "ROWS",
    "SERVING",
    "Holds",
    "Row",
    "method_names",
    "names",
    "packages",
    "rows_holding",
    "rows_named",
    "rows_receiving",
]


@cache
def rows_named(full_name: str) -> tuple[Row, ...]:
    """All rows of a class or function with this full dotted name."""
    is_known = full_name.partition(".")[0] in _packages()  # next to no name is of one
    return tuple(row for row in (ROWS if is_known else _rows_of_any_package()) if row.names(full_name))


@cache
def _packages() -> frozenset[str]:
    return frozenset(name.partition(".")[0] for row in ROWS for name in row.of)


@cache
def _rows_of_any_package() -> tuple[Row, ...]:
    return tuple(row for row in ROWS if row.distinctive or row.is_generated)


@cache
def rows_holding(holds: Holds) -> tuple[Row, ...]:
    """All rows of which this is promised."""
    return tuple(row for row in ROWS if row.holds is holds)


@cache
def rows_receiving(holds: Holds, count: int) -> tuple[Row, ...]:
    """The rows that tell such methods by what they receive, where that is so many parameters beside ``self``."""
    return tuple(row for row in rows_holding(holds) if len(row.receives) == count > 0)


def packages() -> tuple[str, ...]:
    """The top-level packages of the table that are built on torch, each once."""
    built = (row for row in ROWS if row not in SERVING and row not in SEARCHING)
    return tuple(dict.fromkeys(name.partition(".")[0] for row in built for name in row.of))


def names(*holds: Holds) -> frozenset[str]:
    """The last names of the classes and functions of which one of these is promised."""
    return frozenset(name.rpartition(".")[2] for row in ROWS if row.holds in holds for name in row.of)


@cache
def method_names(holds: Holds, *, distinctive: bool = False) -> frozenset[str]:
    """The names of the methods of which this is promised; where asked, only those that nobody else has."""
    rows = (row for row in rows_holding(holds) if row.distinctive or not distinctive)
    return frozenset(method for row in rows for method in row.methods)
