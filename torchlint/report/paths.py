"""File names as a server that sees only the repository wants them."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

__all__ = ["relative", "uri"]


def relative(path: str) -> str:
    """``path`` from the working directory, with forward slashes; absolute when it lies elsewhere."""
    absolute = Path(os.path.abspath(path))
    here = Path.cwd()
    return (absolute.relative_to(here) if absolute.is_relative_to(here) else absolute).as_posix()


def uri(path: str) -> str:
    """A percent-encoded URI: relative inside the working directory, ``file://`` elsewhere."""
    name = relative(path)
    encoded = quote(os.fsencode(name), safe="/")
    if Path(name).is_absolute():
        return f"file://{encoded}" if encoded.startswith("/") else f"file:///{encoded}"
    # A first segment with a colon would read as a scheme; quote() has made it %3A.
    return encoded
