"""torchlint finds the lines in PyTorch code that make a process keep or waste memory, and repairs them.

The public API is small: :func:`check_source` and :func:`check_paths` return :class:`Diagnostic` values,
:class:`Rule` is the base class of every rule. Nothing here imports torch, libcst or flake8 until a file needs it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = ["Diagnostic", "Rule", "__version__", "check_paths", "check_source"]

if TYPE_CHECKING:
    from torchlint.api import check_paths, check_source
    from torchlint.diagnostic import Diagnostic
    from torchlint.rule import Rule

# `rules/` and `fixtures/` stand beside this package in a checkout and inside it in a wheel. In a checkout the
# root joins the package's path, so that both layouts see one module name: `torchlint.rules.x`.
_here = os.path.dirname(os.path.realpath(__file__))
_above = os.path.dirname(_here)
if not os.path.isdir(os.path.join(_here, "rules")) and os.path.isdir(os.path.join(_above, "rules")):
    __path__.append(_above)

_HOMES = {
    "Diagnostic": "torchlint.diagnostic",
    "Rule": "torchlint.rule",
    "check_paths": "torchlint.api",
    "check_source": "torchlint.api",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562), since a plugin's start-up must not pay for libcst."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
