"""What a layer hands to a method that it inherits from another file, and which leaves it on the layer.

``self.expose(weights)`` with ``def expose(self, value): self.latest = value`` in a base class of another module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.autograd.handovers import Handovers
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere, own_object
from torchlint.facts.values.graph import Place, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class LeftByBase:
    """A call of an inherited method leaves what it is given on the object.

    Attributes:
        kept: what the method keeps.
        places: the attributes that hold it from then on.
        live: what has a graph of that.
    """

    kept: KeptElsewhere
    places: tuple[Place, ...]
    live: tuple[Value, ...]


def left_by_bases(facts: Facts) -> Iterator[LeftByBase]:
    """Each call by which a method of this file leaves a live tensor on its own object, where no backward asks for it.

    Args:
        facts: of the file.

    Yields:
        What is left until the next call takes its place; what a method adds to something is none of this.
    """
    handovers = Handovers(facts)
    for kept in kept_elsewhere(facts):
        call, keep, holder = kept.call, kept.keep, kept.holder
        replaces = keep.into == 0 and bool(keep.attribute) and not (keep.grows or keep.keyed or keep.of)
        if not replaces or holder is None or own_object(call, holder) is None or kept.is_let_go(facts.solution):
            continue
        live = facts.flows.live_parts(kept.given.value)
        if live and handovers.keeps_graph(call, keep) and not handovers.is_used(live[0], kept):
            places = [home for home in kept.homes if isinstance(home, Place)]
            yield LeftByBase(kept, tuple(places), tuple(live))
