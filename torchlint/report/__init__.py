"""How a run is told: one module a format, each with ``render(run) -> str``; none knows a rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.run import Run

__all__ = ["FORMATS", "renderer"]

# "ruff_json", since a module called json would shadow the standard library's within this package.
_MODULES: Mapping[str, str] = {
    "text": "text",
    "full": "full",
    "json": "ruff_json",
    "github": "github",
    "sarif": "sarif",
}

FORMATS = tuple(_MODULES)
"""The names that ``--output-format`` takes; the first is the default."""


def renderer(name: str) -> Callable[[Run], str]:
    """The function that turns a run into text in this format, each line of which ends with a line feed.

    Args:
        name: one of :data:`FORMATS`.

    Raises:
        KeyError: it is none of them.
    """
    module = import_module(f"torchlint.report.{_MODULES[name]}")
    render: Callable[[Run], str] = module.render
    return render
