"""Where tensors are: on the host, on the device, or nobody knows.

A device that is given by a name or a variable counts as one that is not the host: a program that names it means to run
there. What is made without a device is on the host, unless a default was set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from functools import cached_property

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.domain import Container, External, History, Instance, Module, Plain, Tensor, sorted_values
from torchlint.facts.values.frameworks import is_forward, is_given_on_device, may_be_module
from torchlint.facts.values.graph import Function, Op, Place, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.partials import called

TO_HOST = frozenset(["cpu", "numpy", "tolist", "item"])
"""Methods of tensors whose result is on the host."""

DEVICES = frozenset(["cuda", "xpu", "mps", "npu", "hpu"])
"""Methods that move a tensor to a device of that name."""


MOVES = DEVICES | {"cpu", "to"}
"""Methods that move a module where it stands."""


_WEIGHT = Tensor(History.LEAF)
"""What goes where its module is moved."""


class Residence(Enum):
    """Where a tensor is."""

    HOST = "host"
    DEVICE = "device"
    UNKNOWN = "unknown"
    OPEN = "open"
    """Where it is anyway: a value that is computed from itself. No answer to those who ask."""


class Residences:
    """Answers where the tensors of one file are."""

    def __init__(self, flows: Flows) -> None:
        """Follow values as ``flows`` knows them."""
        self.solution = flows.solution
        self._known: dict[Value, Residence] = {}
        self._open: list[Value] = []
        self._depth = 0

    def of(self, value: Value) -> Residence:
        """Where ``value`` is, if it is a tensor."""
        if value not in self._known:
            self._known[value] = Residence.OPEN  # a cycle adds nothing to itself
            self._depth += 1
            found = self._known[value] = self._compute(value)
            self._depth -= 1
            if found is Residence.OPEN:
                self._open.append(value)
            if not self._depth:
                self._close(value, found)
        return self._known[value]

    def _close(self, value: Value, found: Residence) -> None:
        """Forget what was left open within: asked by itself it may be known, since the cycle then begins elsewhere."""
        for one in self._open:
            del self._known[one]
        self._open.clear()
        self._known[value] = Residence.UNKNOWN if found is Residence.OPEN else found

    def _compute(self, value: Value) -> Residence:
        if value.op is Op.CALL:
            return self._of_call(value)
        if value.op in (Op.OPERATION, Op.COMPARISON, Op.CONTAINER):
            return _any(map(self.of, value.inputs))
        if is_given_on_device(value):
            return Residence.DEVICE
        if iterators := self._iterators(value):
            return _all([self._of_result(iterator, value) for iterator in iterators])
        return _all([self.of(source) for source in self._alternatives(value)])

    def _alternatives(self, value: Value) -> list[Value]:
        """What ``value`` is without any computation, or what it is a part of."""
        if value.op is Op.PHI:
            return self._choices(value)
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        stored = stored_at(self.solution, value)
        if stored:
            return stored
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT):
            key = value.keys[0]
            held = [
                item
                for atom in sorted_values(self.solution.final(value.inputs[0]))
                if isinstance(atom, Container)
                for known, item in self.solution.held.get(atom.allocation, ())
                if key is None or known is None or known == key
            ]
            is_told = any(item.function.is_foreign for item in held)  # by what the function of another file gives
            return held if held and not is_told else [value.inputs[0]]
        if value.op is Op.ATTRIBUTE and value.inputs:
            return list(value.inputs)
        return []

    def _choices(self, phi: Value) -> list[Value]:
        """What a PHI may be; of ``x.cuda() if use_cuda else x`` what it is where there is a device."""
        given = [choice for choice in phi.inputs if choice.name != "None"]
        moved = {one.callee.inputs[0].unnarrowed() for one in given if self._is_moved_to_device(one)}
        return [one for one in given if one.unnarrowed() not in moved]

    def _is_moved_to_device(self, value: Value) -> bool:
        is_method = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in DEVICES | {"to"}
        return is_method and self.of(value) is Residence.DEVICE

    def _iterators(self, item: Value) -> list[Function]:
        """The methods that give what a loop over an object takes from it: ``__iter__`` of its class."""
        if item.op is not Op.ELEMENT:
            return []
        atoms = self.solution.final(item.inputs[0])
        found = [atom.cls.method("__iter__") for atom in sorted_values(atoms) if isinstance(atom, Instance)]
        methods = [method for method in found if method is not None and method.result is not None]
        return methods if len(methods) == len(atoms) else []

    def _of_call(self, call: Value) -> Residence:
        callee = call.callee
        if callee.op is Op.ATTRIBUTE and not self._is_external(callee):
            return self._of_method(call, callee)
        if any(map(_is_host, call.arguments)):
            return Residence.HOST  # `moved(x, "cpu")`
        functions = [f for f in self.solution.functions_of(call) if f.result is not None]
        if functions:
            return _all([self._of_result(function, call) for function in functions])
        makers = (made for bound in called(self.solution, call) for made in bound.makers)
        for one in (call, *makers):  # `move = partial(torch.Tensor.to, device=device)`
            if (given := one.argument(-1, "device")) is not None:
                return self.named(given)
        operation = torch_api.function(callee.name) if callee.op is Op.EXTERNAL else None
        if operation is not None and operation.history is torch_api.History.FRESH:
            like = callee.name.endswith("_like") and call.arguments
            return self.of(call.arguments[0]) if like else Residence.HOST
        if self._is_of_unseen_library(callee) and any(map(_is_device, call.arguments)):
            return Residence.DEVICE  # who is given a device gives what is there
        return _any([self._of_module(callee), *map(self.of, call.arguments)])

    def _is_of_unseen_library(self, callee: Value) -> bool:
        return callee.op is Op.EXTERNAL and not callee.name.startswith(("torch.", "builtins.", "numpy."))

    def _of_result(self, function: Function, call: Value) -> Residence:
        """Where what a CALL of a function gives is: its own file says it, but a forward runs where its batch is."""
        if self._is_for_a_given_function(function, call):
            return Residence.UNKNOWN
        if not function.is_foreign:
            return self.of(function.result) if function.result is not None else Residence.UNKNOWN
        told = self.solution.graph.foreign.residences.get(function)
        if told is not None:
            return Residence(told)
        if not is_forward(function):
            return Residence.UNKNOWN
        return _any([self._of_module(call.callee), *map(self.of, call.arguments)])

    def _is_for_a_given_function(self, function: Function, call: Value) -> bool:
        """``apply_to(batch, float)``: whether a CALL gives a function something to call, which says where it goes."""
        binding = self.solution.callers.get(function, {}).get(call, {})
        given = (to for to, one in binding.items() if one is not None and one.op in (Op.FUNCTION, Op.EXTERNAL))
        return any(parameter.calls for parameter in given)

    def _of_module(self, module: Value) -> Residence:
        """Where a module's weights were moved, and so where its outputs are: ``net.to(device)``."""
        if not may_be_module(self.solution, module):
            return Residence.UNKNOWN
        moved = [self._of_method(call, call.callee) for key in self._keys(module) for call in self._moves.get(key, ())]
        return _all(moved or [self.of(module)])

    @cached_property
    def _moves(self) -> dict[Value | Place, list[Value]]:
        """The calls that move what is in a variable or an attribute to where it stays."""
        table: dict[Value | Place, list[Value]] = defaultdict(list)
        for call in self.solution.graph.of(Op.CALL):
            callee = call.callee
            if callee.op is Op.ATTRIBUTE and callee.name in MOVES:
                if may_be_module(self.solution, callee.inputs[0]):
                    for key in self._keys(callee.inputs[0]):
                        table[key].append(call)
        return table

    def _keys(self, value: Value) -> list[Value | Place]:
        return [value, *self.solution.read_from(value)]

    def _of_method(self, call: Value, callee: Value) -> Residence:
        receiver = callee.inputs[0]
        if callee.name in TO_HOST:
            return Residence.HOST
        if callee.name in DEVICES:
            return Residence.DEVICE
        if callee.name == "to":
            found = [self.named(argument) for argument in call.arguments]
            return next((one for one in found if one in (Residence.HOST, Residence.DEVICE)), self.of(receiver))
        functions = [f for f in self.solution.functions_of(call) if f.result is not None]
        if functions:
            return _all([self._of_result(function, call) for function in functions])
        if self.solution.may_be(receiver, Module):
            return _any([self._of_module(receiver), *map(self.of, call.arguments)])
        if callee.name == "forward":
            return _any([self._of_module(receiver), *map(self.of, [receiver, *call.arguments])])
        return _any(map(self.of, [receiver, *call.arguments]))

    def _is_external(self, callee: Value) -> bool:
        return self.solution.may_be(callee, External)

    def named(self, argument: Value) -> Residence:
        """What the argument of ``to`` names: a device, another tensor, or (UNKNOWN) a type."""
        if argument.op is Op.CALL and argument.callee.name == "torch.device" and argument.arguments:
            return self.named(argument.arguments[0])
        text = _constant_text(argument)
        if text is not None:
            return Residence.HOST if text.startswith("cpu") else Residence.DEVICE
        atoms = self.solution.final(argument)
        if argument.op is Op.CONSTANT or any(isinstance(a, External) and a.name.startswith("torch.") for a in atoms):
            return Residence.UNKNOWN
        where = self.of(argument)
        if any(isinstance(atom, Tensor) for atom in atoms) or where in (Residence.HOST, Residence.DEVICE):
            return where
        if argument.op is Op.ATTRIBUTE and argument.name in ("dtype", "type"):
            return Residence.UNKNOWN
        if argument.op is Op.ATTRIBUTE and argument.name == "device":
            owner = argument.inputs[0]
            return Residence.DEVICE if self._may_have_device(owner) else self.of(owner)
        return Residence.DEVICE

    def _may_have_device(self, owner: Value) -> bool:
        """Whether a value is a model, its weights, an object, or the options of a program: ``args.device``."""
        atoms = self.solution.final(owner)
        if any(isinstance(atom, Module | Instance) or atom == _WEIGHT for atom in atoms):
            return True
        return bool(atoms) and all(isinstance(atom, Plain) for atom in atoms)


def _is_device(argument: Value) -> bool:
    """Whether an argument is a device, and not the host: it is made as one, or something is moved to it as well."""
    if argument.op is Op.CALL:
        return argument.callee.name == "torch.device" and not _is_host(argument)
    if argument.op is Op.ATTRIBUTE and argument.name == "device":
        return True
    calls = (user for user in argument.users if user.op is Op.CALL and user.callee.op is Op.ATTRIBUTE)
    is_moved_to = any(user.callee.name == "to" and user.argument(0, "device") is argument for user in calls)
    return argument.op is not Op.CONSTANT and is_moved_to


def _is_host(argument: Value) -> bool:
    """Whether an argument names the host: ``"cpu"``, ``torch.device("cpu")``."""
    if argument.op is Op.CALL and argument.callee.name == "torch.device" and argument.arguments:
        return _is_host(argument.arguments[0])
    return (_constant_text(argument) or "").startswith("cpu")


def _constant_text(value: Value) -> str | None:
    """The text of a string constant, None for any other value."""
    from torchlint.facts.building.names import constant_of

    found = constant_of(value.syntax) if value.op is Op.CONSTANT and value.syntax is not None else None
    return found if isinstance(found, str) else None


def _any(found: Iterable[Residence]) -> Residence:
    """Where the result of an operation is: it runs where one of its operands is."""
    residences = set(found)
    if Residence.DEVICE in residences:
        return Residence.DEVICE
    if Residence.HOST in residences:
        return Residence.HOST
    return Residence.OPEN if residences == {Residence.OPEN} else Residence.UNKNOWN


def _all(found: list[Residence]) -> Residence:
    """Where one of several alternatives is: only what they agree upon is known."""
    kinds = set(found)
    if len(kinds) > 1:
        kinds.discard(Residence.OPEN)
    return kinds.pop() if len(kinds) == 1 else Residence.UNKNOWN
