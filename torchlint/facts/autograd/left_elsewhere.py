"""What a step hands to a function of another file which leaves it somewhere until the next call.

``self.expose(weights)`` with ``def expose(self, value): self.latest = value`` in a base class of another module, or
``note(weights)`` with ``global latest`` in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.autograd.handovers import Handovers
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere, own_object
from torchlint.facts.values.graph import Op, Place, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class LeftElsewhere:
    """A call of a function of another file leaves what it is given on its own object, or in a global variable there.

    Attributes:
        kept: what the function keeps.
        places: the attributes of the object that hold it from then on; none for a global.
        live: what has a graph of that.
    """

    kept: KeptElsewhere
    places: tuple[Place, ...]
    live: tuple[Value, ...]


def left_elsewhere(facts: Facts) -> Iterator[LeftElsewhere]:
    """Each call by which this file leaves a live tensor there, where no backward asks for it.

    Args:
        facts: of the file.

    Yields:
        What is left until the next call takes its place; what a function adds to something is none of this.
    """
    handovers = Handovers(facts)
    for kept in kept_elsewhere(facts):
        keep = kept.keep
        if not keep.attribute or keep.grows or keep.keyed or keep.of:
            continue
        if not (_is_of_own_object(kept) or _is_of_unread_global(facts, kept)) or kept.is_let_go(facts.solution):
            continue
        live = facts.flows.live_parts(kept.given.value)
        if live and handovers.keeps_graph(kept.call, keep) and not handovers.is_used(live[0], kept):
            places = [home for home in kept.homes if isinstance(home, Place)]
            yield LeftElsewhere(kept, tuple(places), tuple(live))


def _is_of_own_object(kept: KeptElsewhere) -> bool:
    return kept.keep.into == 0 and kept.holder is not None and own_object(kept.call, kept.holder) is not None


def _is_of_unread_global(facts: Facts, kept: KeptElsewhere) -> bool:
    """Whether it is a global variable of the other file, and this one reads nothing of such a name."""
    is_read = any(value.name == kept.keep.attribute for value in facts.graph.of(Op.ATTRIBUTE, Op.READ))
    return kept.keep.into < 0 and kept.holder is None and not is_read
