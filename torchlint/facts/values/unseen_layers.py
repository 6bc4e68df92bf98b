"""Layers that are not seen: what a network of the file has its own activations go through, and computes on with.

``q = self.rotary(q)`` in a forward, where nobody else takes that ``q``: if the answer had no graph, what computes ``q``
would never be trained. Of a mask or a statistic, which are made of what goes on beside them, nothing is said.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from torchlint import torch_api
from torchlint.facts.values.domain import External, Unknown, surely_graphless, surely_live
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.frameworks import is_module, is_module_class, is_of_others
from torchlint.facts.values.graph import Function, Mode, Op, Value
from torchlint.facts.values.kinds import PARTS
from torchlint.facts.values.known import Known
from torchlint.facts.values.loss_forms import is_index
from torchlint.facts.values.reaching import reached

SIZES = frozenset(["shape", "dtype", "device", "ndim", "size", "dim", "numel"])
"""What is asked of a tensor without computing with it."""


class UnseenLayers:
    """Finds the answers of such layers in one file."""

    def __init__(self, known: Known) -> None:
        """Read once which calls may be of such a layer; what their arguments are is asked with each :meth:`answers`."""
        self._known = known
        self._kept = {store.value for store in known.graph.stores}
        calls = known.graph.of(Op.CALL)
        self._calls = [call for call in calls if self._may_be_of_layer(call)]

    def answers(self) -> Iterator[Value]:
        """The values that have a graph since a layer that is not seen has made them of what has one."""
        behind: dict[Function, frozenset[Value]] = {}
        graphs: dict[Value, bool] = {}  # in the order of the program, so that one layer after the other is told at once
        for call in self._calls:
            if not self._is_unseen(call) or not any(self._has_graph(given, graphs) for given in self._own[call]):
                continue
            if call.function not in behind:
                behind[call.function] = frozenset(self._behind_result(call.function))
            if call in behind[call.function]:
                answers = list(self._computed_with(call, behind[call.function]))
                graphs.update(dict.fromkeys(answers, True))
                yield from answers

    # -- what does not change ---------------------------------------------------------------------------------------

    def _may_be_of_layer(self, call: Value) -> bool:
        """Whether a CALL in a method of a network is of a part of that, or of something that is imported."""
        function, callee = call.function, call.callee
        owner = function.owner
        if owner is None or function.is_static or not function.parameters or call.mode is Mode.OFF:
            return False
        is_part = callee.op is Op.ATTRIBUTE and callee.inputs[0] is function.parameters[0]
        is_unknown = meaning_of(callee.name) is Meaning.UNKNOWN and torch_api.function(callee.name) is None
        is_imported = callee.op is Op.EXTERNAL and is_unknown
        return (is_part or is_imported) and is_module_class(owner) and any(self._taken_by(call))

    def _taken_by(self, call: Value) -> Iterator[Value]:
        """The arguments of a CALL that nothing else takes, or keeps."""
        for given in call.arguments:
            others = (user for user in given.users if user is not call)
            if given not in self._kept and given is not call.function.result and all(map(_asks_size, others)):
                yield given

    @cached_property
    def _own(self) -> dict[Value, list[Value]]:
        return {call: list(self._taken_by(call)) for call in self._calls}

    # -- what evidence changes --------------------------------------------------------------------------------------

    def _is_unseen(self, call: Value) -> bool:
        """Whether nothing is known of what a CALL runs, nor of its answer."""
        if is_of_others(call) or not all(isinstance(atom, Unknown) for atom in self._known.of(call)):
            return False
        return all(isinstance(atom, Unknown | External) for atom in self._known.of(call.callee))

    def _has_graph(self, value: Value, graphs: dict[Value, bool]) -> bool:
        """Whether a value has a graph on every path, by what is known or by the answers that ``graphs`` has by now."""
        if value not in graphs:
            graphs[value] = False  # a circle says nothing by itself
            graphs[value] = surely_live(self._known.of(value)) or self._is_computed_with_graph(value, graphs)
        return graphs[value]

    def _is_computed_with_graph(self, value: Value, graphs: dict[Value, bool]) -> bool:
        if value.op is Op.PHI:
            return all(self._has_graph(choice, graphs) for choice in value.inputs)
        if value.op is Op.OPERATION:
            return any(self._has_graph(operand, graphs) for operand in value.inputs)
        if value.op is not Op.CALL:
            return False
        if value.callee.op is Op.ATTRIBUTE and _keeps(torch_api.method(value.callee.name)):
            return self._has_graph(value.callee.inputs[0], graphs)
        is_torch = value.callee.op is Op.EXTERNAL and _keeps(torch_api.function(value.callee.name))
        return is_torch and any(self._has_graph(argument, graphs) for argument in value.arguments)

    def _behind_result(self, function: Function) -> Iterator[Value]:
        """What a function computes its result of, without what has no graph."""
        result = function.result
        return reached([] if result is None else [result], self._sources)

    def _sources(self, value: Value) -> list[Value]:
        if value.op is Op.COMPARISON or self._is_without_graph(value):
            return []
        sources = [one for one in value.inputs if not is_index(one)]
        return [*sources, *value.callee.inputs] if value.op is Op.CALL else sources

    def _is_without_graph(self, value: Value) -> bool:
        return value.op is not Op.CONTAINER and surely_graphless(self._known.of(value))

    def _computed_with(self, call: Value, behind: frozenset[Value]) -> Iterator[Value]:
        """The answer of a CALL, or those parts of it, with which a tensor is computed that goes into the result."""
        parts = [user for user in call.users if user.op in PARTS and user.inputs[0] is call and user in behind]
        for answer in parts or [call]:
            if any(user in behind and self._computes(user, answer) for user in answer.users):
                yield answer

    def _computes(self, user: Value, answer: Value) -> bool:
        """Whether a user of an answer takes it for a tensor of which it computes another one."""
        if user.op is Op.OPERATION:
            return True
        if user.op is Op.ATTRIBUTE:
            return _keeps(torch_api.method(user.name))
        if user.op is not Op.CALL or answer not in user.arguments:
            return False
        if user.callee.op is Op.EXTERNAL:
            return _keeps(torch_api.function(user.callee.name))
        return any(map(is_module, self._known.of(user.callee)))


def _keeps(operation: torch_api.Operation | None) -> bool:
    """Whether an operation of torch gives what has the graph of what it is given."""
    return operation is not None and operation.history is torch_api.History.KEEPS


def _asks_size(user: Value) -> bool:
    return user.op is Op.ATTRIBUTE and user.name in SIZES
