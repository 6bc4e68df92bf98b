"""What earlier runs found, so that files that did not change cost next to nothing.

It only saves time: a file is checked again when it, the options, torchlint itself, or anything that its check looked at
may have changed. Nothing of a project's code is kept, neither lines nor what a repair would write: findings are kept as
they are told, files by their names and digests, and modules that were looked for by their names.
"""

from __future__ import annotations

from torchlint.cache.cache import Cache, Detail
from torchlint.cache.folder import cache_file, remove_caches

__all__ = ["Cache", "Detail", "cache_file", "remove_caches"]
