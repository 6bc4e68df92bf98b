"""The flake8 plugin: the same findings as the command line's, where flake8 and editors show theirs.

flake8 applies ``# noqa`` and its own ``--select`` and ``--ignore``; ``[tool.torchlint]`` counts besides. An
exception in a plugin ends flake8's whole run, so none leaves this module. There is no cache: flake8 hands over a text
that need not be the file's, in processes that know nothing of each other.
"""

from __future__ import annotations

import ast
import logging
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from torchlint import __version__

if TYPE_CHECKING:
    from torchlint.config import Settings
    from torchlint.project.project import Project

__all__ = ["Plugin"]

_LOG = logging.getLogger("flake8.torchlint")
_NAMELESS = ("stdin", "-")


class Plugin:
    """One file's check, as flake8 wants it.

    Attributes:
        name, version: what ``flake8 --version`` says.
        extended: the codes given to flake8's own ``--select`` and ``--extend-select``: a code that is named
            whole there shows its notes, as it does on our command line.
        project: what the files of this process import; None before the first one asks.
    """

    name: ClassVar[str] = "torchlint"
    version: ClassVar[str] = __version__
    extended: ClassVar[tuple[str, ...]] = ()
    project: ClassVar[Project | None] = None

    def __init__(self, tree: ast.Module, filename: str, lines: Sequence[str]) -> None:
        """Take what flake8 has of a file.

        Args:
            tree: its syntax tree.
            filename: its name; "stdin" or "-" when it has none.
            lines: its decoded lines with their ends, without a byte order mark.
        """
        self._tree = tree
        self._filename = filename
        self._lines = lines

    @classmethod
    def parse_options(cls, options: Namespace) -> None:
        """Remember which codes flake8 was asked for; flake8 calls this once in each of its processes."""
        named = (getattr(options, "select", None), getattr(options, "extend_select", None))
        cls.extended = tuple(code for codes in named for code in codes or ())
        cls.project = None

    def run(self) -> Iterator[tuple[int, int, str, type[Any]]]:
        """Yield the findings as (line from 1, column from 0, "TLK101 message", this class); never raises."""
        try:
            found = list(self._findings())
        except Exception as error:
            _LOG.warning("%s: cannot be checked: %s: %s", self._filename, type(error).__name__, error)
            return
        for line, column, text in found:
            yield line, column, text, type(self)

    def _findings(self) -> Iterator[tuple[int, int, str]]:
        """The findings; raises whatever goes wrong."""
        from torchlint.run import look
        from torchlint.source import Source

        source = Source(self._filename, "".join(self._lines))
        settings = self._settings()
        if len(source.text) > settings.max_file_size or settings.excludes(self._filename):
            return
        selection = settings.selection(self._filename)
        project = None if self._filename in _NAMELESS else self._project()
        for one in look(source, selection, tree=self._tree, heed_noqa=False, project=project).shown:
            yield one.line, one.column - 1, f"{one.code} {' '.join(one.message.split())}"

    @classmethod
    def _project(cls) -> Project:
        """What the files of this process import: each definition is read once."""
        from torchlint.project.project import Project

        if cls.project is None:
            cls.project = Project()
        return cls.project

    def _settings(self) -> Settings:
        """What counts for this file; the defaults where a pyproject.toml is broken."""
        from torchlint.catalog import codes
        from torchlint.config import BadConfig, Overrides, Settings, nearest_settings
        from torchlint.selection import Choice

        nameless = self._filename in _NAMELESS
        folder = Path.cwd() if nameless else Path(self._filename).parent
        # Only whole codes: "--select TLK" must not turn on again what pyproject.toml ignores.
        named = tuple(code for code in codes() if code in self.extended)
        try:
            return nearest_settings(folder).overridden(Overrides(choice=Choice(extend_select=named)))
        except BadConfig as error:
            # Silence would look like a clean file.
            _LOG.warning("%s", error)
            return Settings()
