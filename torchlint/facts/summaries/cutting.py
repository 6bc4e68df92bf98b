"""What a function detaches of what it is given, so that nothing which it returns has the graph of that."""

from __future__ import annotations

from collections.abc import Set

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Function, Value


def cut_by(flows: Flows, function: Function, handed_on: Set[Value]) -> tuple[int, ...]:
    """The parameters, from 0, that a function detaches, and with whose graph it returns nothing.

    Args:
        flows: of the file.
        function: it; a generator may go on with what it is given after it has yielded.
        handed_on: all that flows into code that is not seen, which may return it.

    Returns:
        Also those that it keeps elsewhere, which is another matter.
    """
    if function.is_generator or flows.detached.isdisjoint(function.parameters):
        return ()
    cut = (one for one in function.parameters if one in flows.detached and one not in handed_on)
    return tuple(function.parameters.index(one) for one in cut if not flows.ancestry.gives_on(one))
