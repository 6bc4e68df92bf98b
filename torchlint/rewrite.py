"""Writing a file so that nobody ever sees half of it."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from contextlib import suppress

__all__ = ["TEMPORARY", "write_atomic"]

TEMPORARY = ".torchlint-"
"""How the names of temporary files begin; one that is left was broken off with its process."""


def write_atomic(path: str, data: bytes) -> None:
    """Replace the content of a file: whoever looks, also after a crash, sees the old content or the new.

    The new content is written to a temporary file in the same folder, which then takes the file's place. Its
    mode and, where this user may, its owner stay. A symbolic link stays a link: the file that it leads to is
    replaced. Other hard links to the file keep the old content.

    Args:
        path: the file; it may be missing, its folder may not.
        data: the whole new content.

    Raises:
        OSError: the file is read-only or no regular file, or it cannot be written; it is unchanged then.
    """
    target = os.path.realpath(path)
    before = _status(target)
    descriptor, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=os.path.dirname(target))
    try:
        try:
            _write(descriptor, data)
            _take_over(temporary, before)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(os.path.dirname(target))


def _status(target: str) -> os.stat_result | None:
    """What is known of the file, or None when it is missing; raises OSError when it must not be replaced."""
    try:
        status = os.stat(target)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", target)
    # Renaming over a read-only file would work, and would be against what its mode says.
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    return status


def _write(descriptor: int, data: bytes) -> None:
    """Write all of ``data``."""
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _take_over(temporary: str, before: os.stat_result | None) -> None:
    """Give the temporary file the owner and the mode of the one it replaces, or those of any new file."""
    if before is None:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        return
    # The owner comes first, since a change of owner clears bits of the mode.
    now = os.stat(temporary)
    if hasattr(os, "chown") and (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):
            os.chown(temporary, before.st_uid, before.st_gid)
    os.chmod(temporary, stat.S_IMODE(before.st_mode))


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power failure, where the system can."""
    if os.name != "posix":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
