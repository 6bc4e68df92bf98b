"""How the suite is run so that it costs little: which file comes first, and how seldom cycles are collected."""

import gc

import pytest

# Files that take minutes. A file stays with one worker, so the other one waits for a long file that starts late.
_LONGEST_FIRST = ("test_verifier.py",)


def pytest_configure(config: pytest.Config) -> None:
    """Collect cycles seldom: syntax trees are many objects that live long, and each collection walks all of them."""
    gc.set_threshold(100_000, 50, 50)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of the longest files to the front; the order is otherwise kept, as the sort is stable."""
    items.sort(key=lambda item: item.path.name not in _LONGEST_FIRST)
