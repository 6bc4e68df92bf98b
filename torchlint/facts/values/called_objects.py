"""Objects that are called and have a state or a mode: networks.

Optimizers, schedulers, scalers and loaders have a ``state_dict`` as well, and a trainer has a ``train``; but these are
not called with data for their answer.
"""

from __future__ import annotations

from collections import defaultdict

from torchlint.facts.values.domain import Tool
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.known import Known
from torchlint.facts.values.parameters import is_of_self

SHARED = frozenset(["state_dict", "load_state_dict", "train"])
"""Methods that modules have and other objects that a program trains with."""


class CalledObjects:
    """Finds networks by what a file does with them."""

    def __init__(self, solution: Known) -> None:
        """Read once which objects have such a method, and where they are called."""
        self.solution = solution
        self._receivers: list[Value] = []
        self._calls: dict[object, list[Value]] = defaultdict(list)
        calls = list(solution.graph.of(Op.CALL))
        for call in calls:
            if call.callee.op is Op.ATTRIBUTE and call.callee.name in SHARED and _has_state_or_mode(call):
                self._receivers.append(call.callee.inputs[0])
        wanted = set(map(_object, self._receivers))
        for call in calls if wanted else ():
            if (called := _object(call.callee)) in wanted:
                self._calls[called].append(call)

    def networks(self) -> list[Value]:
        """Those that answer wherever they are called: what is told an optimizer or parameters steps or scales."""
        return [one for one in self._receivers if self._answers(self._calls.get(_object(one), []))]

    def _answers(self, calls: list[Value]) -> bool:
        return bool(calls) and all(
            call.users and call.arguments and not any(map(self._is_of_optimizer, call.arguments)) for call in calls
        )

    def _is_of_optimizer(self, argument: Value) -> bool:
        hands_out = argument.op is Op.CALL and argument.callee.name == "parameters"
        return hands_out or any(isinstance(atom, Tool) for atom in self.solution.of(argument))


def _has_state_or_mode(call: Value) -> bool:
    """Whether a CALL of such a method is one that modules have: ``net.train()`` is given no data to train on."""
    return call.callee.name != "train" or (call.is_bare and not call.arguments)


def _object(value: Value) -> object:
    """What an object is known by: an attribute of the objects of a class, or the value itself."""
    value = value.unnarrowed()
    owner = value.function.owner
    return (owner.root(), value.name) if owner is not None and is_of_self(value, value.function) else value
