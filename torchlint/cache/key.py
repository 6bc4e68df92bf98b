"""What every result depends on: torchlint's own sources and its rules', Python, and libcst."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cached_property
from hashlib import blake2b
from importlib import import_module
from importlib.util import find_spec

import torchlint
from torchlint.project.sights import stamp_of, text_digest

__all__ = ["Key"]

_SUFFIXES = (".py", ".json")


class Key:
    """The key of this installation, as far as it is asked for: the sources are read when their stamps do not tell."""

    @cached_property
    def stamps(self) -> str:
        """One digest for names, times and sizes of the sources; "" when one of them was written a moment ago."""
        stamps = [(path, stamp_of(path)) for path in self._sources]
        return "" if any(stamp is None for _, stamp in stamps) else text_digest(repr([self._versions, stamps]))

    @cached_property
    def content(self) -> str:
        """One digest for what the sources say."""
        return text_digest(repr([self._versions, [(os.path.basename(path), _content(path)) for path in self._sources]]))

    def fits(self, stamps: str, content: str) -> bool:
        """Whether a cache with these two digests is one of this installation."""
        return (bool(stamps) and stamps == self.stamps) or content == self.content

    @cached_property
    def _versions(self) -> tuple[str, ...]:
        return torchlint.__version__, sys.version, _libcst()

    @cached_property
    def _sources(self) -> list[str]:
        package = os.path.dirname(os.path.abspath(torchlint.__file__))
        folders = {package, *import_module("torchlint.rules").__path__}
        return sorted({path for folder in folders for path in _files_below(folder)})


def _files_below(folder: str) -> Iterator[str]:
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(_SUFFIXES):
                    yield entry.path
                elif "." not in entry.name and entry.name not in ("__pycache__", "fixtures") and entry.is_dir():
                    pending.append(entry.path)


def _libcst() -> str:
    """What tells libcst's versions apart; it is not imported, which would cost more than all the rest."""
    spec = find_spec("libcst")
    return "" if spec is None or spec.origin is None else _content(os.path.join(os.path.dirname(spec.origin), _VERSION))


_VERSION = "_version.py"


def _content(path: str) -> str:
    try:
        with open(path, "rb") as stream:
            return blake2b(stream.read(), digest_size=16).hexdigest()
    except OSError:
        return ""
