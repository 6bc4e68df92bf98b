"""The file in which summaries are kept: one line with its digests, then a line for each, the latest first."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from itertools import islice

from torchlint.cache.key import Key

__all__ = ["read", "written"]

MOST = 20_000
"""So many are kept; those that were made longest ago go first."""


def read(file: str, key: Key) -> dict[str, bytes]:
    """The lines that a file holds, by the key of each; nothing where it is damaged or of another installation.

    Args:
        file: its path; it need not be there.
        key: of this installation.
    """
    try:
        with open(file, "rb") as stream:
            head, _, body = stream.read().partition(b"\n")
        digest, stamps, content = head.decode("ascii").split(" ")
        if _digest(body) != digest or not key.fits(stamps, content):
            return {}
        return {name.decode("ascii"): line for name, _, line in (row.partition(b" ") for row in body.splitlines())}
    except (OSError, ValueError):
        return {}


def written(older: Mapping[str, bytes], newer: Mapping[str, str], key: Key) -> bytes:
    """The bytes of a file with what was made now before what it held."""
    lines = {name: line.encode("ascii") for name, line in newer.items()}
    lines.update((name, line) for name, line in older.items() if name not in lines)
    body = b"\n".join(name.encode("ascii") + b" " + line for name, line in islice(lines.items(), MOST))
    return f"{_digest(body)} {key.stamps} {key.content}\n".encode("ascii") + body


def _digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()
