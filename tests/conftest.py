"""How the suite is run so that it costs little: which file comes first, and how seldom cycles are collected."""

import gc

import pytest

# Files that take minutes by themselves. A file stays with one worker, so one that starts late is what the other waits for.
_LONGEST_FIRST = ("test_verifier.py",)


def pytest_configure(config: pytest.Config) -> None:
    """Collect cycles seldom: syntax trees are many objects that live long, and each collection walks all of them."""
    gc.set_threshold(100_000, 50, 50)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of the longest files to the front; the order is otherwise kept, as the sort is stable."""
    items.sort(key=lambda item: item.path.name not in _LONGEST_FIRST)
