"""Items that hooks sum up under one key: ``self.maps[name] = self.maps.get(name, 0) + output.mean(0)``."""

from __future__ import annotations

from collections.abc import Iterator

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.building.names import constant_of
from torchlint.facts.values.arithmetic import Arithmetic
from torchlint.facts.values.graph import Op, Store, Value
from torchlint.facts.values.homes import homes_of
from torchlint.facts.values.library_calls import read_from


def is_summed(flows: Flows, store: Store) -> bool:
    """Whether what is put under a key is computed of what stood there before, and has the graph of that.

    Args:
        flows: knows what is arithmetic.
        store: what puts it there.
    """
    arithmetic = Arithmetic(flows)
    return any(arithmetic.comes_from(store.value, read) for read in _read_before(flows, store))


def _read_before(flows: Flows, store: Store) -> Iterator[Value]:
    """What is read of the same container under the same key, and goes into what is put there."""
    if store.holder is None or store.index is None:
        return
    homes = set(homes_of(flows.solution, store.holder))
    for value in store.value.computed_from():
        container, index = _asked(flows, value)
        if container is None or homes.isdisjoint(homes_of(flows.solution, container)):
            continue
        if index is not None and _is_same(index, store.index):
            yield value


def _asked(flows: Flows, value: Value) -> tuple[Value | None, Value | None]:
    """The container of which ``d[k]`` or ``d.get(k, 0)`` is an item, and the key; None, None for all else."""
    if value.op is Op.SUBSCRIPT:
        indices = flows.solution.graph.indices.get(value, ())
        return value.inputs[0], indices[0] if len(indices) == 1 else None
    container = read_from(value)
    return (None, None) if container is None else (container, value.argument(0))


def _is_same(index: Value, other: Value) -> bool:
    """Whether two keys are one: the same value, the same text, the same variable of a function around this one."""
    written = [constant_of(one.syntax) for one in (index, other) if one.syntax is not None]
    if len(written) == 2 and written[0] is not None:
        return written[0] == written[1]
    return index is other or (index.place is not None and index.place == other.place)
