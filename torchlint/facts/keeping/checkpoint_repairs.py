"""Repairs of loads: a checkpoint that was copied is deleted, a load is told to put its tensors on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.fix.edits import give_argument, put_beside
from torchlint.rule import Fix

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.checkpoints import Checkpoint
    from torchlint.facts.keeping.loading import Load
    from torchlint.facts.keeping.unheeded import Unheeded


def drop(kept: Checkpoint) -> Fix | None:
    """``del`` behind the last line that reads the names; None where that cannot be told."""
    if kept.drop_after is None:
        return None
    names = ", ".join(kept.names)
    return Fix(f"Delete `{names}`", (put_beside(kept.drop_after, f"del {names}"),), safe=True)


def load_on_host(facts: Facts, load: Load) -> Fix | None:
    """``map_location="cpu"``, safe where what is loaded is only copied."""
    node = load.call.syntax
    if not isinstance(node, cst.Call):
        return None
    edit = give_argument(node, "map_location", '"cpu"')
    return Fix('Load with `map_location="cpu"`', (edit,), safe=facts.loads.is_only_copied(load))


def hand_location_on(unheeded: Unheeded) -> Fix | None:
    """``map_location=map_location``, unsafe: callers whose wish went nowhere now get it."""
    node = unheeded.call.syntax
    if not isinstance(node, cst.Call) or not unheeded.can_pass_it:
        return None
    return Fix("Hand `map_location` on", (give_argument(node, "map_location", "map_location"),), safe=False)
