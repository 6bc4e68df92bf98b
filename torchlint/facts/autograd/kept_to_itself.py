"""Methods that run a network for a state of their own, and give nothing else of it away: an actor that goes on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Op, Place, Store, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


def keeps_all_to_itself(facts: Facts, made: Value, store: Store, homes: Sequence[Place | Value]) -> bool:
    """Whether nothing with a graph leaves a method but a state that it keeps, of which no other file speaks.

    Args:
        facts: of the file.
        made: what makes the state.
        store: by which it is kept.
        homes: where.
    """
    others = [part for part in made.users if part.op in (Op.ELEMENT, Op.SUBSCRIPT) and part is not store.value]
    if made.op is not Op.CALL or len(others) + 1 < len(made.users) or made in facts.flows.trained:
        return False
    if any(one in facts.flows.leaving for one in others):
        return False
    result, names = store.function.result, [home.path for home in homes if isinstance(home, Place)]
    is_given = result is not None and made in facts.flows.ancestry.of(result)
    return not is_given and bool(names) and not any(map(facts.others_mention, names))
