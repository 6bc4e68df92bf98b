"""Queues are containers: what is put in comes out again, and what nobody takes out stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, fit

CONSUMER = """
    def drain(inbox):
        while True:
            one = inbox.get()
            if one is None:
                break
            print(float(one))
"""


@pytest.mark.parametrize("made", ["queue.Queue()", "queue.SimpleQueue()", "asyncio.Queue()"])
@pytest.mark.parametrize("put", ["inbox.put(loss)", "inbox.put_nowait(loss)"])
def test_a_queue_that_nobody_empties_keeps_what_is_put_in(tmp_path: Path, made: str, put: str) -> None:
    source = fit("import asyncio, queue", f"inbox = {made}", put, "print(inbox.qsize())")
    assert Project(tmp_path, {"run.py": source}).found() == ["run.py: TLK102 warning"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("inbox = queue.Queue(); threading.Thread(target=drain, args=(inbox,)).start()", "inbox.put(None)"),
        ("inbox = queue.Queue()", "drain(inbox)"),
        ("inbox = queue.Queue(); start(inbox)", "pass"),
    ],
)
def test_one_that_another_thread_may_empty_does_not(tmp_path: Path, before: str, after: str) -> None:
    source = fit(
        f"import queue, threading\n    from elsewhere import start\n{CONSUMER}", before, "inbox.put(loss)", after
    )
    assert Project(tmp_path, {"run.py": source}).found() == []


@pytest.mark.parametrize("taken", ["inbox.get()", "inbox.get_nowait()", "inbox.get(timeout=1)"])
def test_what_comes_out_has_its_graph(tmp_path: Path, taken: str) -> None:
    source = fit("import queue", "inbox = queue.Queue()", f"inbox.put(loss); kept.append({taken})")
    assert Project(tmp_path, {"run.py": source.replace("inbox = ", "kept = []; inbox = ")}).found() == [
        "run.py: TLK102 warning"
    ]
