"""Items that a later line puts back without their graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import surely_graphless
from torchlint.facts.values.graph import Place, Store, Value
from torchlint.facts.values.homes import homes_of

if TYPE_CHECKING:
    from torchlint.facts import Facts


def is_cut_behind(facts: Facts, store: Store, homes: Sequence[Place | Value]) -> bool:
    """Whether a later line of its block puts an item back without its graph: ``state[key] = state[key].detach()``.

    Args:
        facts: of the file.
        store: what puts the item there with a graph.
        homes: where that is.
    """
    block = facts.parents.get(store.statement)
    body: Sequence[cst.CSTNode] = block.body if isinstance(block, cst.IndentedBlock | cst.Module) else ()
    behind = body[body.index(store.statement) + 1 :] if store.statement in body else ()
    return store.key is not None and any(
        other.statement in behind
        and other.is_item
        and other.key == store.key
        and other.holder is not None
        and not set(homes).isdisjoint(homes_of(facts.solution, other.holder))
        and surely_graphless(facts.solution.final(other.value))
        for other in facts.graph.stores
    )
