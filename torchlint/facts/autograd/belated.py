"""What is put into an object only after the backward that starts from it: it cannot be part of that backward's graph.

``output["loss"].backward()`` trains on what is in ``output`` at that moment. ``output["mean"] = torch.stack(losses)``
some lines later changes an object that the next step makes anew, so no backward ever sees it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from torchlint.facts.values.domain import Container
from torchlint.facts.values.graph import Backward, Kind, Loop, Op, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.solve import Solution

Edges = frozenset[tuple[Value, Value]]
"""Pairs of an object and what is put into it."""


def by_belated(solution: Solution, backwards: Iterable[Backward]) -> Iterator[tuple[Edges, list[Value]]]:
    """The roots of ``backwards``, in groups for which the same insertions come too late; each with those."""
    candidates = list(_insertions(solution))
    groups: dict[Edges, list[Value]] = defaultdict(list)
    for backward in backwards:
        late = frozenset(edge for edges, store in candidates if _is_belated(store, backward) for edge in edges)
        groups[late].append(backward.root)
    yield from groups.items()


def is_belated(solution: Solution, value: Value, source: Value, belated: Edges) -> bool:
    """Whether ``source`` was put into what ``value`` is too late."""
    if (value, source) in belated:
        return True
    return any(isinstance(a, Container) and (a.allocation, source) in belated for a in solution.final(value))


def _insertions(solution: Solution) -> Iterator[tuple[list[tuple[Value, Value]], Store]]:
    """What is put into objects that a call has made and that only its own turn of a loop knows."""
    kept = {store.value for store in solution.graph.stores}
    for store in solution.graph.stores:
        made = store.holder
        if store.kind is not Kind.INSERT or made is None or made.op is not Op.CALL:
            continue
        functions, allocations = solution.functions_of(made), allocations_of(solution, made)
        if any(user in solution.loop_variables for user in made.users) or made in kept:
            continue  # else the next turn sees this turn's object
        if all(allocation.function in functions and allocation not in kept for allocation in allocations):
            yield [(holder, store.value) for holder in (made, *allocations)], store


def _is_belated(store: Store, backward: Backward) -> bool:
    """Whether ``store`` puts something into an object after ``backward`` has run over what it held in that turn."""
    call, made = backward.call, store.holder
    if call is None or made is None or not made.function is store.function is backward.function:
        return False
    if not made.index < call.index < store.value.index:
        return False
    # A loop around both, in which the object is not made anew, would come back to the backward with what was put in.
    return all(loop in _around(made.loop) for loop in _around(store.loop) if loop in _around(backward.loop))


def _around(loop: Loop | None) -> list[Loop]:
    return loop.around() if loop is not None else []
