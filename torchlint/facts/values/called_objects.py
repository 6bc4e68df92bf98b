"""Objects that are called and have a state or a mode, or that are moved to a device: networks.

Optimizers, schedulers, scalers and loaders have a ``state_dict`` as well, and a trainer has a ``train``; but these are
not called with data for their answer. A tensor is moved as well, and never called; a loss, a metric, a transform and a
pipeline are both, and of what these give nobody takes the softmax.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import Tool
from torchlint.facts.values.graph import Kind, Op, Value
from torchlint.facts.values.known import Known
from torchlint.facts.values.parameters import is_of_self
from torchlint.facts.values.reaching import reached
from torchlint.frameworks import Holds, method_names

SHARED = frozenset(["state_dict", "load_state_dict", "train"])
"""Methods that modules have and other objects that a program trains with."""

MOVED = frozenset(["to", "cuda", "cpu"])
"""Methods by which modules are moved, and tensors."""

AWAY = frozenset(["cpu", "to"])
"""Methods by which something is moved from a device, to make room there."""

OF_SCORES = frozenset(["argmax", "softmax", "log_softmax", "sigmoid", "topk"])
"""Methods and functions of torch that make decisions or probabilities of what a network answers."""

PARTS = (Op.PHI, Op.SUBSCRIPT, Op.ELEMENT, Op.NARROWED)
"""What gives an answer, or a part of it."""


class CalledObjects:
    """Finds networks by what a file does with them."""

    def __init__(self, solution: Known) -> None:
        """Read once which objects have such a method, where they are kept, and where they are called."""
        self.solution = solution
        self._receivers: list[Value] = []
        moved: list[Value] = []
        self._calls: dict[object, list[Value]] = defaultdict(list)
        calls = list(solution.graph.of(Op.CALL))
        for call in calls:
            if call.callee.op is Op.ATTRIBUTE and call.callee.name in SHARED and _has_state_or_mode(call):
                self._receivers.append(call.callee.inputs[0])
            elif call.callee.op is Op.ATTRIBUTE and call.callee.name in MOVED and not call.is_bare:
                moved.append(call)
        self._homes = _homes(solution, {*map(_object, self._receivers), *moved})
        wanted = {name for one in (*self._receivers, *moved) for name in self._names(one)}
        for call in calls if wanted else ():
            if (called := _object(call.callee)) in wanted:
                self._calls[called].append(call)
        asked = [one for one in moved if self._calls_of(one)]
        others = self._objects_with_other_methods() if asked else frozenset()
        self._making_room = [one for one in asked if self._makes_room(one)]
        self._receivers += [
            one for one in asked if others.isdisjoint(self._names(one)) and any(map(_is_scored, self._calls_of(one)))
        ]

    def networks(self) -> list[Value]:
        """Those that answer wherever they are called: what is told an optimizer or parameters steps or scales.

        What is moved away after its calls, to make room, need not answer.
        """
        return [*self._making_room, *(one for one in self._receivers if self._answers(self._calls_of(one)))]

    def _names(self, one: Value) -> list[object]:
        """All by which an object is known: itself, and the attributes and variables that hold it."""
        known = _object(one)
        return [known, *self._homes.get(known, ())]

    def _calls_of(self, one: Value) -> list[Value]:
        return [call for name in self._names(one) for call in self._calls.get(name, ())]

    def _answers(self, calls: list[Value]) -> bool:
        return bool(calls) and all(
            _is_used(call) and call.arguments and not any(map(self._is_of_optimizer, call.arguments)) for call in calls
        )

    def _makes_room(self, moved: Value) -> bool:
        """``layer = layers[i].to(device)``, and ``layers[i] = layer.cpu()`` after its calls: what takes memory there.

        A pipeline is moved away as well, but has attributes of its own, as has what it gives.
        """
        calls = self._calls_of(moved)
        if not all(call.arguments for call in calls):
            return False
        users = [user for user in moved.users if user.op is Op.ATTRIBUTE]
        if not any(user.name in AWAY and user.calls for user in users):
            return False
        read = (user for call in calls for part in reached([call], _parts) for user in part.users)
        attributes = [*users, *(user for user in read if user.op is Op.ATTRIBUTE)]
        return all(user.calls and _is_of_modules_or_tensors(user.name) for user in attributes)

    def _objects_with_other_methods(self) -> frozenset[object]:
        """The objects of which the file calls a method that modules do not have."""
        others = (value for value in self.solution.graph.of(Op.ATTRIBUTE) if not _is_of_modules(value.name))
        return frozenset(_object(value.inputs[0]) for value in others if value.calls)

    def _is_of_optimizer(self, argument: Value) -> bool:
        hands_out = argument.op is Op.CALL and argument.callee.name == "parameters"
        return hands_out or any(isinstance(atom, Tool) for atom in self.solution.of(argument))


def _is_used(call: Value) -> bool:
    """Whether what a CALL gives is more than yes or no: a trigger that says when, and has a state, is no network."""
    return any(not _is_test(user) for user in call.users)


def _is_test(user: Value) -> bool:
    """``not trigger(manager)``, ``is_first or trigger(manager)`` of which only the truth is asked."""
    is_alternative = user.op is Op.PHI and isinstance(user.syntax, cst.BooleanOperation)
    return (user.op is Op.COMPARISON and user.name == "Not") or (is_alternative and all(map(_is_test, user.users)))


def _is_of_modules(name: str) -> bool:
    return name in torch_api.module_methods() or name in method_names(Holds.OF_MODULES)


def _is_of_modules_or_tensors(name: str) -> bool:
    return _is_of_modules(name) or torch_api.method(name) is not None


def _has_state_or_mode(call: Value) -> bool:
    """Whether a CALL of such a method is one that modules have: ``net.train()`` is given no data to train on."""
    return call.callee.name != "train" or (call.is_bare and not call.arguments)


def _object(value: Value) -> object:
    """What an object is known by: an attribute of the objects of a class, a variable, or the value itself."""
    value = value.unnarrowed()
    owner = value.function.owner
    if owner is not None and is_of_self(value, value.function):
        return (owner.root(), value.name)
    return value.place if value.op is Op.READ and value.place is not None else value


def _homes(solution: Known, wanted: Iterable[object]) -> dict[object, list[object]]:
    """For each of these values the attributes of objects, and the variables seen by other functions, that hold it."""
    values, homes = frozenset(wanted), dict[object, list[object]]()
    for store in solution.graph.stores if values else ():
        if store.kind is not Kind.ASSIGN or store.value not in values:
            continue
        owner, holder = store.function.owner, store.holder
        if store.attribute and owner is not None and holder in store.function.parameters[:1]:
            homes.setdefault(store.value, []).append((owner.root(), store.attribute))
        elif store.place is not None:
            homes.setdefault(store.value, []).append(store.place)
    return homes


def _is_scored(answer: Value) -> bool:
    """Whether decisions or probabilities are made of an answer, or a part of it: ``net(x).argmax(1)``."""
    users = (user for part in reached([answer], _parts) for user in part.users)
    return any(map(_reads_scores, users))


def _reads_scores(user: Value) -> bool:
    if user.op is Op.CALL:
        package, _, name = user.callee.name.rpartition(".")
        return user.callee.op is Op.EXTERNAL and package in ("torch", "torch.nn.functional") and name in OF_SCORES
    return user.op is Op.ATTRIBUTE and user.name in OF_SCORES and bool(user.calls)


def _parts(value: Value) -> list[Value]:
    """The parts of an answer, its attributes, and what methods that tensors have give of it."""
    parts = [user for user in value.users if user.op in PARTS]
    for attribute in (user for user in value.users if user.op is Op.ATTRIBUTE):
        methods = attribute.calls
        is_of_tensor = torch_api.method(attribute.name) is not None
        parts += (methods if is_of_tensor else []) if methods else [attribute]
    return parts
