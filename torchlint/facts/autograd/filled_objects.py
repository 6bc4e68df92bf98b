"""Objects that are filled after they are made and then kept: ``row = Row(step); row.loss = loss; rows.append(row)``."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.domain import Instance
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Op, Store, Value


class FilledObjects:
    """Knows what the objects of a file have been given since they were made."""

    def __init__(self, flows: Flows) -> None:
        """Ask ``flows`` what has a graph."""
        self.flows, self.solution = flows, flows.solution

    def parts(self, kept: Store) -> list[Value]:
        """The live tensors in an object that ``kept`` puts somewhere in the turn that makes it; nothing for all else.

        They are its attributes, or stand in a list or a dictionary that is one. A network is told where it is filled.
        """
        made = kept.value.unnarrowed()
        if made not in self._given or made.loop is not kept.loop or not self._is_plain_object(made):
            return []
        given = self._given[made]
        ended = {store.attribute for store in given if store.attribute and not self.flows.live_parts(store.value)}
        lasting = (store for store in given if not store.attribute or store.attribute not in ended)
        return list(dict.fromkeys(part for store in lasting for part in self.flows.live_parts(store.value)))

    def _is_plain_object(self, made: Value) -> bool:
        atoms = self.solution.final(made)
        return bool(atoms) and all(isinstance(a, Instance) and not is_module_class(a.cls) for a in atoms)

    @cached_property
    def _given(self) -> dict[Value, list[Store]]:
        """What is put on each object that a call makes, or into what it has, by the function that makes it."""
        table: dict[Value, list[Store]] = defaultdict(list)
        for store in self.solution.graph.stores:
            holder = store.holder
            while holder is not None and holder.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.NARROWED):
                holder = holder.inputs[0]
            if holder is not None and holder.op is Op.CALL and (store.attribute or holder is not store.holder):
                table[holder].append(store)
        return dict(table)
