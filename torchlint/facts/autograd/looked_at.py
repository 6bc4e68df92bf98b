"""What a layer leaves on itself only to be looked at: all that its class makes of it later has no graph.

``self._shares = shares`` in the forward, and ``return self._shares[0].detach().cpu()`` in a method. Whoever trains the
layer, which another file does, has no use for the graph that stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Class, Place, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


def is_only_looked_at(facts: Facts, places: Sequence[Place], reads: Sequence[Value]) -> bool:
    """Whether attributes of layers are read for numbers alone, with a read that ends the graph.

    Args:
        facts: of the file.
        places: the attributes.
        reads: all that may read them in the file.

    Returns:
        True as well where other files, of which one trains, read such numbers of attributes of these names alone.
        False where they may read more: the name is no private one, and stands there or nobody is seen.
    """
    if not places or not all(isinstance(place.owner, Class) and is_module_class(place.owner) for place in places):
        return False
    if any(read in facts.flows.escaped or read in facts.flows.shown for read in reads):
        return False
    ended = [read for read in reads if read in facts.flows.detached]
    if ended and all(_is_hidden(facts, place.path) for place in places):
        return True
    if any(not _is_of_own(read, places) for read in ended):
        return True
    return facts.others_train() and all(facts.others_look_at(place.path) for place in places)


def _is_of_own(read: Value, places: Sequence[Place]) -> bool:
    """Whether a method of the layer reads its own attribute."""
    owner = read.function.owner
    return owner is not None and any(place.owner in owner.lineage() for place in places)


def _is_hidden(facts: Facts, attribute: str) -> bool:
    """Whether no other file reads an attribute, as far as names tell."""
    is_private = attribute.startswith("_") and not attribute.endswith("__")
    return facts.others_never_mention(attribute) or (is_private and not facts.others_mention(attribute))
