"""Queues: what one part of a program puts into them another one takes out, so that they hold little for long."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.facts.turns.lifetimes import Lifetimes
from torchlint.facts.values.externals import QUEUES
from torchlint.facts.values.graph import Op, Place, Value


def is_handed_over(lifetimes: Lifetimes, homes: Iterable[Place | Value]) -> bool:
    """Whether something is put into a queue out of which something takes it, be that another thread.

    Whoever is given the queue may be the one who does.

    Args:
        lifetimes: of the file.
        homes: where what takes it in may be kept, and what makes that.
    """
    queues = [home for home in homes if isinstance(home, Value) and home.op is Op.CALL and home.callee.name in QUEUES]
    return any(not _is_only_filled(one) or lifetimes.is_reset([one]) for one in queues)


def _is_only_filled(queue: Value) -> bool:
    """Whether a variable that holds a queue is asked for its methods, and given to nobody."""
    return all(user.op in (Op.ATTRIBUTE, Op.PHI, Op.NARROWED) for user in queue.users)
