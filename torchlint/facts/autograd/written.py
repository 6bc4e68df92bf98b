"""What is written in place into tensors that begin without a graph, and which values hold it then.

``out = zeros(n)``, then ``out[:k] = layer(x)`` or ``out[:k].copy_(layer(x))``: the memory is that of ``out``, and what
is computed from ``out`` later has the graph of the layer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial

from torchlint import torch_api
from torchlint.facts.values.domain import PLAIN, surely_graphless
from torchlint.facts.values.graph import Function, Mode, Op, Store, Value
from torchlint.facts.values.kinds import PARTS
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution
from torchlint.facts.values.written_tables import writes

GIVING_ON = (torch_api.History.KEEPS, torch_api.History.SELF)


def written_into(solution: Solution) -> dict[Value, list[Value]]:
    """For each tensor, and each that it is a view of, what may bring a graph and is written into it."""
    found: dict[Value, list[Value]] = defaultdict(list)
    for write in writes(solution.graph, (store for store in solution.graph.stores if brings_graph(solution, store))):
        if write.mode is not Mode.OFF and not surely_graphless(solution.final(write.written)):
            for base in _views_behind(write.holder):
                found[base].append(write.written)
    return found


def brings_graph(solution: Solution, store: Store) -> bool:
    """Whether what is put into something may bring a graph: a number brings none, and an array takes none.

    Of an array the places are chosen that answer a question: ``labels[labels < first] = other``.
    """
    if solution.final(store.value) == PLAIN:
        return False
    is_mask = store.index is not None and store.index.op is Op.COMPARISON
    return not (is_mask and store.holder is not None and solution.final(store.holder) == PLAIN)


def _views_behind(value: Value) -> list[Value]:
    """A value and the tensors of which it is a part: ``out`` for ``out[0]``."""
    found = [value]
    while value.op in PARTS:
        value = value.inputs[0]
        found.append(value)
    return found


def made_of(solution: Solution, bases: list[Value]) -> frozenset[Value]:
    """The values that torch, or a function of the project, computes from ``bases`` and such values, or gives back."""
    returning = {function.result: function for function in solution.graph.functions if function.result is not None}
    return frozenset(reached(bases, partial(_made_of, solution, returning)))


def _made_of(solution: Solution, returning: dict[Value, Function], value: Value) -> Iterator[Value]:
    """What is made of a value, or gives it back, one step on."""
    yield from solution.callers.get(returning[value], ()) if value in returning else ()
    for user in value.users:
        for made in _results(solution, user, value):
            if made.op in (Op.PHI, Op.PARAMETER) or made.mode is not Mode.OFF:  # else it is new, and has none
                yield made


def _results(solution: Solution, user: Value, value: Value) -> list[Value]:
    if user.op in (Op.SUBSCRIPT, Op.ELEMENT):
        return [user] if user.inputs[0] is value else []
    if user.op in (Op.PHI, Op.OPERATION):
        return [user]
    if user.op is Op.ATTRIBUTE:
        operation = torch_api.method(user.name)
        is_known = operation is not None and operation.history in GIVING_ON
        return user.calls if is_known else []
    if user.op is Op.CALL and value in user.arguments and solution.functions_of(user):
        bindings = [solution.callers[function].get(user, {}) for function in solution.functions_of(user)]
        return [user, *(taken for binding in bindings for taken, given in binding.items() if given is value)]
    if user.op is Op.CALL and user.callee.op is Op.EXTERNAL and value in user.arguments:
        operation = torch_api.function(user.callee.name)
        return [user] if operation is not None and operation.history in GIVING_ON else []
    return []
