"""Objects that are called as networks are, and of whose answer the program takes ``.detach()``: it knows of a graph."""

from __future__ import annotations

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.domain import Argument, Derived, Unknown
from torchlint.facts.values.framework_objects import contract_of
from torchlint.facts.values.frameworks import is_module
from torchlint.facts.values.graph import Kind, Mode, Op, Value
from torchlint.facts.values.parameters import is_of_self
from torchlint.facts.values.residence import MOVES, Residence, Residences
from torchlint.frameworks import Holds

SAME_GRAPH = (Op.PHI, Op.NARROWED, Op.SUBSCRIPT, Op.ELEMENT, Op.OPERATION)
"""What gives a part of what it is made of, or computes with it."""


READERS = frozenset(["items", "values", "get"])
"""Methods of an answer with names that give its parts: tensors and modules have none of these."""


def is_detached_answer(flows: Flows, call: Value) -> bool:
    """Whether a CALL is of an object that a function was given, or keeps, and its very answer is detached.

    What is given to another such call on the way is that one's business; operations of torch keep the graph. What is
    detached in the statement of the call itself is gone with it.
    """
    if not _is_of_unknown_object(flows, call):
        return False
    pending, seen = [call], set[Value]()
    while pending:
        value = pending.pop()
        if value in seen or value not in flows.detached:
            continue
        seen.add(value)
        pending += _lists_with(flows, value)
        for user in value.users:
            if user.op is Op.ATTRIBUTE:
                methods = user.calls
                if (user.name == "detach" and methods) or (user.name == "data" and _is_of_tensor(flows, user)):
                    return user.statement is not call.statement
                pending += (
                    [one for one in methods if user.name in READERS or _goes_on(flows, one)] if methods else [user]
                )
            elif user.op in SAME_GRAPH or (user.op is Op.CALL and _hands_on(flows, user, value)):
                pending.append(user)
    return False


def _is_of_tensor(flows: Flows, data: Value) -> bool:
    """Whether ``data`` is read of a tensor, as what is computed with it says: other objects have such a field."""
    owner = data.inputs[0]
    if owner.op is Op.OPERATION or (owner.op is Op.CALL and flows.is_arithmetic(owner)):
        return True
    return any(user.op is Op.ATTRIBUTE and torch_api.method(user.name) is not None for user in data.users)


def _goes_on(flows: Flows, call: Value) -> bool:
    """Whether a method of an answer gives its graph on; what is moved to the device is data, no network's."""
    is_moved = call.callee.name in MOVES and Residences(flows).of(call) is Residence.DEVICE
    return flows.is_arithmetic(call) and not is_moved


def _hands_on(flows: Flows, call: Value, value: Value) -> bool:
    """Whether the answer of a CALL has the graph of what it is given: by torch, or by a function of the program."""
    return flows.is_arithmetic(call) or (bool(flows.solution.functions_of(call)) and value in flows.ancestry.of(call))


def _lists_with(flows: Flows, value: Value) -> list[Value]:
    """The lists and tuples that a value is put into: ``torch.cat(rows)`` has the graph of each row."""
    stores = flows.solution.graph.stores
    lists = [s.holder for s in stores if s.kind is Kind.INSERT and s.value is value and not isinstance(s.key, str)]
    built = (user for user in value.users if user.op is Op.CONTAINER)
    lists += [made for made in built if not any(isinstance(key, str) for key in made.keys)]
    return [holder for holder in lists if holder is not None]


def _is_of_unknown_object(flows: Flows, call: Value) -> bool:
    callee = call.callee.unnarrowed()
    if contract_of(flows.solution, call, Holds.ANSWERS) is not None:
        return True
    if not is_called_as_network(call):
        return False
    if any(is_module(atom) for argument in call.arguments for atom in flows.solution.final(argument)):
        return False  # what is given a network is a procedure, and may train it
    if any(part.mode is Mode.OFF for argument in call.arguments for part in argument.computed_from()):
        return False  # the forward before it is guarded, on purpose without what comes after
    kinds = Unknown | Argument | Derived if callee.op is Op.SUBSCRIPT else Unknown | Argument
    return all(isinstance(atom, kinds) for atom in flows.solution.final(callee))


def is_called_as_network(call: Value) -> bool:
    """Whether a CALL is of an object that a function was given, or that its own object holds.

    Be it one of several, ``self.players[turn]``; what a loop goes over may as well be transforms or metrics.
    """
    callee = call.callee.unnarrowed()
    if callee.op is Op.SUBSCRIPT:
        callee = callee.inputs[0].unnarrowed()
    return bool(call.arguments) and (callee.op is Op.PARAMETER or (callee.op is Op.ATTRIBUTE and _is_own(callee)))


def _is_own(attribute: Value) -> bool:
    """``self.encoder``: what an object holds, and no method; another object's would be seen by its name alone."""
    owner = attribute.function.owner
    if owner is None or attribute.name in owner.methods or attribute.name in torch_api.module_methods():
        return False
    return not attribute.name.startswith("__") and is_of_self(attribute, attribute.function)
