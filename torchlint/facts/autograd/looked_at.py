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
        False as well where other files may read them: the name is no private one, and stands there or nobody is seen.
    """
    if not places or not all(isinstance(place.owner, Class) and is_module_class(place.owner) for place in places):
        return False
    ended = [read for read in reads if read in facts.flows.detached]
    wanted = (read for read in reads if read in facts.flows.escaped or read in facts.flows.shown)
    return bool(ended) and not any(wanted) and all(_is_hidden(facts, place.path) for place in places)


def _is_hidden(facts: Facts, attribute: str) -> bool:
    """Whether no other file reads an attribute, as far as names tell."""
    is_private = attribute.startswith("_") and not attribute.endswith("__")
    return facts.others_never_mention(attribute) or (is_private and not facts.others_mention(attribute))
