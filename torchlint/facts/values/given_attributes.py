"""Attributes of what a function is given: ``out.loss`` has the graph there that its callers see it to have.

``meter.add(out)`` beside ``out.loss.backward()``: what stands in ``add`` under that name is the same tensor.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchlint import torch_api
from torchlint.facts.values.domain import Atom, Instance, Unknown, is_live, sorted_values
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.known import Known


class GivenAttributes:
    """Finds the attributes of parameters of one file that have a graph."""

    def __init__(self, known: Known) -> None:
        """Read once which attributes there are; what the callers have is asked with each :meth:`with_graph`."""
        self._known = known
        self._read = [value for value in known.graph.of(Op.ATTRIBUTE) if _is_of_given(value)]

    def with_graph(self) -> Iterator[tuple[Value, Atom]]:
        """Each attribute of which nothing is known but that a caller reads one with a graph there, with that graph."""
        for value in self._read:
            if any(isinstance(atom, Unknown) for atom in self._known.of(value)):
                graph = next(self._seen_by_callers(value), None)
                if graph is not None:
                    yield value, graph

    def _seen_by_callers(self, value: Value) -> Iterator[Atom]:
        for given in self._known.arguments_of(value.inputs[0]):
            if not any(isinstance(atom, Instance) for atom in self._known.of(given)):
                alike = (one for one in given.users if one.op is Op.ATTRIBUTE and one.name == value.name)
                yield from (atom for one in alike for atom in sorted_values(self._known.of(one)) if is_live(atom))


def _is_of_given(value: Value) -> bool:
    """Whether an ATTRIBUTE is of a parameter, and none that every tensor has."""
    base = value.inputs[0]
    if base.op is not Op.PARAMETER or (base.function.owner is not None and base is base.function.parameters[0]):
        return False
    return torch_api.attribute(value.name) is None and torch_api.method(value.name) is None
