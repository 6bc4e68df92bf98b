"""Modes of torch belong to a thread; here is how one is entered in every thread that a program starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

__all__ = ["in_every_thread"]


@contextmanager
def in_every_thread(enter: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
    """Hold ``enter()`` in this thread and in each that is started while this block lasts.

    Args:
        enter: makes a new context manager; called once a thread, in that thread.
    """
    run = threading.Thread.run

    def run_inside(thread: threading.Thread) -> None:
        with enter():
            run(thread)

    threading.Thread.run = run_inside  # type: ignore[method-assign,assignment]
    try:
        with enter():
            yield
    finally:
        threading.Thread.run = run  # type: ignore[method-assign]
