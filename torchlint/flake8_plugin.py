"""The flake8 plugin: the same findings as the command line's, where flake8 and editors show theirs.

flake8 applies ``# noqa`` and its own ``--select`` and ``--ignore``; ``[tool.torchlint]`` counts besides. An
exception in a plugin ends flake8's whole run, so none leaves this module. What did not change since flake8 last ran
is not checked again: its findings come from the cache that the command line uses, too.
"""

from __future__ import annotations

import ast
import logging
from argparse import ArgumentError, Namespace
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from torchlint import __version__

if TYPE_CHECKING:
    from torchlint.cache import Cache
    from torchlint.config import Settings
    from torchlint.diagnostic import Diagnostic
    from torchlint.run import Job
    from torchlint.session import Session
    from torchlint.source import Source

__all__ = ["Plugin"]

_LOG = logging.getLogger("flake8.torchlint")
_NAMELESS = ("stdin", "-")


class Plugin:
    """One file's check, as flake8 wants it.

    Attributes:
        name, version: what ``flake8 --version`` says.
        extended: the codes given to flake8's own ``--select`` and ``--extend-select``: a code that is named
            whole there shows its notes, as it does on our command line.
        caches: whether results may be kept for the next run.
        cache_folder: where, if not beside the pyproject.toml.
        session: what the files of this process are checked by; None before the first one asks.
    """

    name: ClassVar[str] = "torchlint"
    version: ClassVar[str] = __version__
    extended: ClassVar[tuple[str, ...]] = ()
    caches: ClassVar[bool] = False
    cache_folder: ClassVar[str | None] = None
    session: ClassVar[Session | None] = None

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
    def add_options(cls, manager: Any) -> None:
        """Tell flake8's ``OptionManager``, which has no types, of our own options."""
        # A plugin that is installed and named as a local one as well asks twice.
        with suppress(ArgumentError):
            manager.add_option(
                "--torchlint-no-cache",
                action="store_true",
                parse_from_config=True,
                help="Neither use nor keep what torchlint found in earlier runs.",
            )
            manager.add_option(
                "--torchlint-cache-dir",
                metavar="DIR",
                parse_from_config=True,
                normalize_paths=True,
                help="Keep what torchlint found there, and not beside the pyproject.toml.",
            )

    @classmethod
    def parse_options(cls, options: Namespace) -> None:
        """Remember what flake8 was asked for; it calls this once in each of its processes, an editor more often."""
        named = (getattr(options, "select", None), getattr(options, "extend_select", None))
        cls.extended = tuple(code for codes in named for code in codes or ())
        cls.caches = not getattr(options, "torchlint_no_cache", True)
        cls.cache_folder = getattr(options, "torchlint_cache_dir", None)
        if cls.session is not None:
            cls.session.close()
            cls.session = None

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
        from torchlint.run import Job
        from torchlint.source import Source

        source = Source(self._filename, "".join(self._lines))
        settings = self._settings()
        if len(source.text) > settings.max_file_size or settings.excludes(self._filename):
            return
        job = Job(self._filename, settings.selection(self._filename), settings.max_file_size, heed_noqa=False)
        for one in self._shown(source, job):
            yield one.line, one.column - 1, f"{one.code} {' '.join(one.message.split())}"

    def _shown(self, source: Source, job: Job) -> Sequence[Diagnostic]:
        if self._filename in _NAMELESS:
            from torchlint.run import look

            return look(source, job.selection, tree=self._tree, heed_noqa=False).shown
        return self._session().check(source, job, self._tree)

    def _session(self) -> Session:
        """What the files of this process are checked by, from the first one on."""
        from torchlint.session import Session

        session = self.session
        if session is None:
            session = type(self).session = Session(self._cache() if self.caches else None)
        return session

    def _cache(self) -> Cache | None:
        """The cache of the first file's project; None where its pyproject.toml is broken."""
        from torchlint.cache import Cache, cache_file
        from torchlint.config import BadConfig

        try:
            return Cache(cache_file(self._filename, self.cache_folder))
        except BadConfig:
            return None

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
