"""Standard output and standard error that no file name, no code page and no closed pipe can break."""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["complain", "discard_output", "write", "write_bytes"]


def write(text: str) -> None:
    """Write ``text`` to standard output; what its encoding cannot hold is written as an escape."""
    # As bytes, so that a text layer does not turn the line ends in a diff into others.
    write_bytes(text.encode(_encoding(sys.stdout), "backslashreplace"))


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output as they are; nothing happens when it was closed before the start."""
    if sys.stdout is None:
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def complain(line: str) -> None:
    """Write one line to standard error."""
    if sys.stderr is None:
        return
    encoding = _encoding(sys.stderr)
    text = f"{' '.join(line.splitlines())}\n"
    sys.stderr.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stderr.flush()


def discard_output() -> None:
    """Send the rest nowhere: whoever read it is gone, and the interpreter flushes once more at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _encoding(stream: TextIO | None) -> str:
    """The stream's own encoding."""
    return getattr(stream, "encoding", None) or "utf-8"
