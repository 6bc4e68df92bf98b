"""Which modules have parameters that train: what they hold, and whether they were frozen."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import (
    Argument,
    Container,
    FunctionReference,
    History,
    Instance,
    Module,
    Plain,
    Tensor,
    Unknown,
)
from torchlint.facts.values.graph import Class, Function, Op, Place, Value
from torchlint.facts.values.reaching import reached
from torchlint.frameworks import Holds, method_names

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

SAME_OBJECT = frozenset(
    ["to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "train", "eval", "requires_grad_", "apply",
     "share_memory", "share_memory_", "contiguous", "pin_memory", "to_empty", "ipu", "xpu", "compile", "unwrap"]
)  # fmt: skip
"""Methods that give a module (or an object of unknown type) back; on a tensor they keep the history."""

LAYERS = frozenset(["children", "named_children", "modules", "named_modules"])
"""Methods that nothing but a module has, and that give its layers."""

LISTING = frozenset(["builtins.list", "builtins.tuple"])
"""Functions that make a list of what they are given."""


def before_moves(value: Value) -> Value:
    """An object where it is made or named, seen through methods that give it back: ``Net().to(device).eval()``."""
    while gives_object_back(value):
        value = value.callee.inputs[0]
    return value


def gives_object_back(value: Value) -> bool:
    """Whether a value is a CALL of a method that gives its object back: ``net.to(device)``."""
    return value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT


def after_moves(value: Value) -> Iterator[Value]:
    """An object where it is made or named, and what methods give that give it back."""
    return reached([value], given_back)


def given_back(value: Value) -> list[Value]:
    """The calls of methods of an object that give it back."""
    methods = (user for user in value.users if user.op is Op.ATTRIBUTE and user.name in SAME_OBJECT)
    return [call for method in methods for call in method.calls]


def inputs_across_calls(solution: Solution, value: Value) -> list[Value]:
    """What a value is computed from, one step back; for a parameter what the calls in this file pass as well."""
    given = solution.arguments_of(value) if value.op is Op.PARAMETER else []
    return [*given, *value.inputs]


def spread_into(call: Value) -> list[Value]:
    """What a CALL spreads over the parameters that it does not name: ``f(*batch)``."""
    given = zip(call.keys[1:], call.arguments, strict=True) if call.op is Op.CALL else ()
    return [argument for key, argument in given if key is None]


def spread_as(call: Value, star: str) -> list[Value]:
    """What a CALL spreads with so many stars: the dictionary of ``book(**parts)``, which has all that it passes."""
    written = call.syntax.args if isinstance(call.syntax, cst.Call) else ()
    # What a dictionary of the file holds stands in its place, by name; what follows a star has no position either.
    given = zip(written, call.keys[1:], call.arguments, strict=False)
    return [argument for one, key, argument in given if one.star == star and key is None]


def is_of_self(value: Value, method: Function) -> bool:
    """Whether a value is an attribute of the object whose ``method`` it is: ``self.rows``, of its first parameter."""
    return value.op is Op.ATTRIBUTE and value.inputs[0] in method.parameters[:1]


def is_own_object(parameter: Value) -> bool:
    """Whether a parameter is the object whose method its function is."""
    function = parameter.function
    return function.owner is not None and not function.is_static and parameter in function.parameters[:1]


def star_of(parameter: Value) -> str:
    """The stars of a parameter: ``*values`` takes the arguments that no other does, ``**named`` those with a name."""
    return str(parameter.syntax.star or "") if isinstance(parameter.syntax, cst.Param) else ""


def gathers(parameter: Value) -> bool:
    """Whether a parameter takes what no other does: ``*values``, ``**named``."""
    return bool(star_of(parameter))


def has_parameters(solution: Solution, cls: Class) -> bool:
    """Whether a module of this file holds anything that trains, as far as its attributes or its methods tell."""
    if any(ancestor.has_parameters for ancestor in cls.lineage()):
        return True
    family = {ancestor.root() for ancestor in cls.lineage()}
    return any(
        may_train(solution, value) for owner in family for _, values in solution.stored_with(owner) for value in values
    )


def surely_has_parameters(solution: Solution, cls: Class) -> bool:
    """Whether each instance has something that trains: not only where it is made with an option for that."""
    family = {ancestor.root() for ancestor in cls.lineage()}
    kept = (values for owner in family for _, values in solution.stored_with(owner))
    return any(all(may_train(solution, value) and not _may_be_plain(solution, value) for value in one) for one in kept)


def _may_be_plain(solution: Solution, value: Value) -> bool:
    return any(
        isinstance(atom, Plain | Argument) or (isinstance(atom, Tensor) and atom.history is not History.LEAF)
        for atom in solution.of(value)
    )


def may_train(solution: Solution, attribute: Value) -> bool:
    """Whether an attribute of a module holds parameters: a module or its part, a leaf, what an unknown class makes."""
    made = attribute.op is Op.CALL and attribute.callee.op is Op.EXTERNAL
    if attribute.op is Op.ATTRIBUTE and attribute.inputs:  # `self.features = resnet50().layer4`
        made = any(isinstance(atom, Module) and atom.has_parameters for atom in solution.of(attribute.inputs[0]))
    atoms = solution.of(attribute)
    # What another file keeps of what this one passes.
    given = (atom.parameter for atom in atoms if attribute.op is Op.GIVEN and isinstance(atom, Argument))
    return any(
        (isinstance(atom, Module) and atom.has_parameters)
        or (isinstance(atom, Tensor) and atom.history is History.LEAF)
        or isinstance(atom, Instance)
        or (isinstance(atom, Unknown) and made)
        for atom in atoms.union(*(solution.objects.get(parameter, ()) for parameter in given))
    )


def is_frozen(solution: Solution, module: Value) -> bool:
    """Whether the parameters of a module were told not to require grad, wherever it comes from in this file."""
    return bool(solution.frozen) and _is_frozen(solution, module, set())


def is_frozen_for(solution: Solution, call: Value) -> bool:
    """Whether the parameters of the module that a CALL runs, or whose method, do not require grad, be it just then."""
    callee = call.callee
    called = [callee, *callee.inputs[:1]] if callee.op is Op.ATTRIBUTE else [callee]
    return call in solution.while_frozen or any(is_frozen(solution, one) for one in called)


def is_all_frozen(solution: Solution, cls: Class) -> bool:
    """Whether a class of the file freezes each part that it keeps and that has parameters."""
    family = dict.fromkeys(ancestor.root() for ancestor in cls.lineage())
    kept = [
        (place, value) for owner in family for place, values in solution.stored_with(owner) for value in values
        if may_train(solution, value)
    ]  # fmt: skip
    return bool(kept) and all(place in solution.frozen or is_frozen(solution, value) for place, value in kept)


def has_frozen_part(solution: Solution, module: Value) -> bool:
    """Whether a module is of a class of the project that keeps one of its parts frozen: a body under a new head."""
    owners = {place.owner for place in solution.frozen if isinstance(place, Place)}
    return any(isinstance(atom, Instance) and atom.cls.root() in owners for atom in solution.of(module))


def _is_frozen(solution: Solution, module: Value, seen: set[Value]) -> bool:
    pending = [module]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in solution.frozen or any(_is_frozen_place(solution, place) for place in solution.read_from(value)):
            return True
        if any(isinstance(a, Instance) and a.cls.root() in solution.frozen for a in solution.of(value)):
            return True
        items = _items_behind(solution, value) or _parts_given(solution, value)
        if items and all(_is_frozen(solution, item, set(seen)) for item in items):
            return True
        same = list(same_object(solution, value))
        if value.op is Op.PARAMETER and len(same) > 1:
            # An evaluation of a frozen teacher is one of its student as well.
            if all(_is_frozen(solution, one, set(seen)) for one in same):
                return True
            continue
        pending.extend(same)
        pending.extend(_networks_of_layer(solution, value))
    return False


def _networks_of_layer(solution: Solution, item: Value) -> Iterator[Value]:
    """The network of which ``item`` is a layer: ``for layer in list(net.children())[:-1]``, ``self.members[0]``."""
    if item.op not in (Op.ELEMENT, Op.SUBSCRIPT):
        return
    listed = item.inputs[0]
    if any(isinstance(atom, Module) and atom.allocation is not None for atom in solution.of(listed)):
        yield listed  # a list of modules; a `Sequential` has no items of its own
    while listed.op is Op.SUBSCRIPT or (listed.op is Op.CALL and listed.arguments and listed.callee.name in LISTING):
        listed = listed.inputs[0] if listed.op is Op.SUBSCRIPT else listed.arguments[0]
    if listed.op is Op.CALL and listed.callee.op is Op.ATTRIBUTE and listed.callee.name in LAYERS:
        yield listed.callee.inputs[0]


def _items_behind(solution: Solution, item: Value) -> list[Value]:
    """What is in the containers of which ``item`` is taken: ``for encoder in [first, second]``, ``built[name]``."""
    if item.op not in (Op.ELEMENT, Op.SUBSCRIPT):
        return []
    key = item.keys[0]
    written = slice(key, key + 1) if isinstance(key, int) and key >= 0 else slice(None)
    same = list(all_same_objects(solution, item.inputs[0]))
    rows = [row for row in same if row.op is Op.CONTAINER]
    put_in = (one for row in rows for _, one in solution.held.get(row, ()) if one not in row.inputs)
    listed = (part for one in same for part in _parts_given(solution, one))
    return [*(one for row in rows for one in row.inputs[written]), *put_in, *listed]


def _parts_given(solution: Solution, made: Value) -> list[Value]:
    """The modules with parameters of which a CALL makes one that has none of its own: ``nn.ModuleList(members)``."""
    known = torch_api.torch_class(made.callee.name) if made.op is Op.CALL else None
    if known is None or not known.wraps:
        return []
    parts = list[Value]()
    for argument in made.arguments:
        rows = [atom.allocation for atom in solution.of(argument) if isinstance(atom, Container)]
        parts += [item for row in rows for _, item in solution.held.get(row, ())] if rows else [argument]
    return [part for part in parts if may_train(solution, part)]


def _is_frozen_place(solution: Solution, place: Place) -> bool:
    return place in solution.frozen or place.owner in solution.frozen


def all_same_objects(solution: Solution, value: Value) -> Iterator[Value]:
    """The values that may be the same module as ``value``, itself among them, back to where it is made."""
    return reached([value], partial(same_object, solution))


def same_object(solution: Solution, value: Value) -> Iterator[Value]:
    """The values that may be the same module as ``value``, one step back."""
    for place in solution.read_from(value):
        yield from solution.stored.get(place, ())
    if value.op is Op.ATTRIBUTE:
        yield from (one.result for one in solution.functions_of(value) if one.is_property and one.result is not None)
    if value.op is Op.ATTRIBUTE and value.name in ("forward", "module"):
        yield value.inputs[0]
    elif value.op is Op.PHI:
        yield from value.inputs
    elif value.op is Op.PARAMETER:
        yield from solution.arguments_of(value)
    elif value.op is Op.CALL:
        if gives_object_back(value):
            yield value.callee.inputs[0]
        elif value.callee.name in method_names(Holds.RETURNS):
            yield from value.arguments[:1]  # `accelerator.prepare(net)`
        for atom in solution.of(value.callee):
            if isinstance(atom, FunctionReference) and atom.function.result is not None:
                yield atom.function.result
