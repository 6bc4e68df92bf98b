"""``torchlint clean``: remove what earlier runs kept."""

from __future__ import annotations

from argparse import Namespace

from torchlint.cache import remove_caches
from torchlint.config import BadConfig
from torchlint.console import complain

__all__ = ["run"]


def run(options: Namespace) -> int:
    """Remove the caches of the given paths, and say which.

    Returns:
        0, also when there were none; 2 when one could not be removed.
    """
    try:
        removed = remove_caches(options.paths)
    except BadConfig as error:
        complain(f"torchlint: {error}")
        return 2
    except OSError as error:
        complain(f"torchlint: {error.filename}: cannot be removed: {error.strerror}")
        return 2
    for folder in removed:
        complain(f"Removing cache at: {folder}")
    return 0
