"""Lists that are gone when the backward of what they hold runs: until then the graph is needed, and afterwards free.

``states.append(h)`` in a function that computes a loss of all ``h``, and returns nothing else of the list with a graph.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.graph import Place, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.running import run_by

__all__ = ["is_gone_before_backward"]


def is_gone_before_backward(
    steps: Steps, flows: Flows, store: Store, homes: Sequence[Place | Value], parts: Sequence[Value]
) -> bool:
    """Whether a container ends with the function that fills it, and callers of that run the backwards.

    Args:
        steps: of the file.
        flows: of the file.
        store: what puts something into the container.
        homes: where that is kept.
        parts: the live tensors that go in.
    """
    function, solution = store.function, steps.solution
    # A generator stands still between its turns, with all that it has, while its caller goes on.
    if store.holder is None or function.parent is None or function.is_generator:
        return False
    made = allocations_of(solution, store.holder)
    if not made or any(one.function is not function for one in made) or any(isinstance(home, Place) for home in homes):
        return False
    if function.result is not None and not flows.ancestry.of(function.result).isdisjoint(made):
        return False
    run = {function, *run_by(steps, steps.calls_in(function))}
    over = [b for b in solution.graph.backwards if not flows.ancestry.of(b.root).isdisjoint(parts)]
    return bool(over) and all(map(flows.is_spent, parts)) and all(b.by_contract or b.function not in run for b in over)
