"""What is built in each turn and has to be, or costs nothing: what wraps a given model, or remembers nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.building.names import constant_of
from torchlint.facts.values.choices import held_in
from torchlint.facts.values.graph import Kind, Loop, Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.facts.values.reaching import reached
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts

CHANCE = ("random.", "numpy.random.", "torch.rand")
"""How the names of functions begin that give something else each time."""

LOADING = "load_state_dict"


def is_of_chance(value: Value) -> bool:
    """Whether a CALL gives something else each time."""
    return value.op is Op.CALL and value.callee.name.startswith(CHANCE)


def has_momentum(call: Value) -> bool:
    """Whether plain gradient descent is told to remember anything."""
    momentum = call.argument(2, "momentum")
    if momentum is None:
        return False
    return not isinstance(momentum.syntax, cst.Integer | cst.Float) or constant_of(momentum.syntax) != 0


def is_told_module(value: Value) -> bool:
    """``model: torch.nn.Module``."""
    if value.op is not Op.PARAMETER or not isinstance(value.syntax, cst.Param) or value.syntax.annotation is None:
        return False
    told = dotted(value.syntax.annotation.annotation) or ""
    return told.rpartition(".")[2] == "Module"


def passed_on(value: Value) -> Iterator[Value]:
    """What ``value`` may be, or is made of by functions to which it is handed."""
    return reached([value], _one_back)


def _one_back(value: Value) -> Sequence[Value]:
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
        return value.callee.inputs[:1] if value.callee.name in SAME_OBJECT else ()
    if value.op is Op.CALL:
        return value.arguments
    return value.inputs if value.op is Op.PHI else ()


def is_given_weights(facts: Facts, made: Value) -> bool:
    """``cell.weight = layer.weight``: what is built is a form for weights that are there."""
    return any(
        "weight" in (store.attribute or "") and store.value.op is not Op.CALL for store in facts.graph.stores_on(made)
    )


def set_by(facts: Facts, made: Value) -> list[Value]:
    """By what the function that builds a model sets its weights in place: ``nn.init.normal_(layer.weight, std=scale)``.

    Or from what it reads them: ``model.load_state_dict(torch.load(path))``.
    A model whose weights are set by what each turn says is another one in each turn.
    """
    found: list[Value] = []
    for call in facts.steps.calls_in(made.function):
        name = call.callee.name.rpartition(".")[2]
        if name != LOADING and (not name.endswith("_") or name.endswith("__")):
            continue
        if call.callee.op is Op.ATTRIBUTE:
            changed, given = call.callee.inputs[0], call.arguments
        elif call.callee.name.startswith("torch.nn.init.") and call.arguments:
            changed, given = call.arguments[0], call.arguments[1:]
        else:
            continue
        found += given if made in changed.computed_from() else ()
    return found


def wraps_own_parts(facts: Facts, call: Value) -> bool:
    """Whether a module without weights is put around parts of the very object: kept, it would have them twice.

    ``self.dim`` may be a number as well: of a class of the project only a part of a part is taken for a module.
    """
    made = torch_api.torch_class(call.callee.name) if call.callee.op is Op.EXTERNAL else None
    least = 1 if made is not None and made.wraps else 2
    return any(_depth_in_self(value) >= least for value in reached(call.arguments, partial(_held_by, facts)))


def _held_by(facts: Facts, value: Value) -> list[Value]:
    if value.op not in (Op.CONTAINER, Op.ELEMENT, Op.SUBSCRIPT, Op.PHI):
        return []
    return [*value.inputs, *(held for _, held in facts.solution.held.get(value, ()))]


def is_kept(facts: Facts, copy: Value) -> bool:
    """Whether a container, or who takes what a generator yields, gets a copy, or what a function makes of it.

    Then each turn has to have its own.
    """
    loop = copy.loop
    if _is_handed_to_container(facts, copy):
        return True
    if (loop is None and _is_kept_by_caller(facts, copy)) or _is_yielded(copy) or _is_listed(facts, copy):
        return True
    return any(
        store.kind is Kind.INSERT and store.loop is not None and loop in store.loop.around()
        and not (store.holder is not None and loop is not None and is_born_in(store.holder, loop))
        and copy in passed_on(store.value)
        for store in facts.graph.stores
    )  # fmt: skip


def _is_yielded(copy: Value) -> bool:
    """``yield epoch, deepcopy(model)``"""
    result = copy.function.result if copy.function.is_generator else None
    return result is not None and any(copy in passed_on(one) for one in held_in(result))


def _is_listed(facts: Facts, copy: Value) -> bool:
    """``[deepcopy(model) for _ in train(model, loader)]``"""
    made = (one for one in facts.graph.of(Op.CONTAINER) if isinstance(one.syntax, cst.BaseComp))
    return any(copy.loop is one.inputs[0].loop is not one.loop and copy in passed_on(one.inputs[0]) for one in made)


def _is_handed_to_container(facts: Facts, copy: Value) -> bool:
    """``league.join(deepcopy(policy))``, whose method puts it into a container of its object."""
    calls = [user for user in copy.users if user.op is Op.CALL and copy in user.arguments]
    taken = {
        parameter
        for call in calls for function in facts.solution.functions_of(call)
        for parameter, given in facts.solution.callers[function][call].items() if given is copy
    }  # fmt: skip
    return any(
        store.kind is Kind.INSERT and store.holder is not None and store.holder.op in (Op.ATTRIBUTE, Op.READ)
        and any(not taken.isdisjoint(passed_on(one)) for one in held_in(store.value))
        for store in facts.graph.stores if taken
    )  # fmt: skip


def _is_kept_by_caller(facts: Facts, copy: Value) -> bool:
    """``saved[step] = deepcopy(model).cpu().state_dict()``: a dict that is given takes each copy."""
    return any(
        store.kind is Kind.INSERT and store.function is copy.function and store.key is None
        and store.holder is not None and store.holder.op is Op.PARAMETER and copy in bases_of(store.value)
        for store in facts.graph.stores
    )  # fmt: skip


def is_registered(facts: Facts, made: Value) -> bool:
    """``models[name] = model.eval()``: whether a table that lives on gets what is made, under a name, for later.

    Where the function that makes it runs networks as well, or returns it, each of its calls makes it for itself.
    """
    if made.function.result is not None and made in passed_on(made.function.result):
        return False
    is_kept = any(
        store.is_item and store.key is None and store.function is made.function and _lives_on(store.holder)
        and any(made in passed_on(one) for one in held_in(store.value, SAME_OBJECT))
        for store in facts.graph.stores
    )  # fmt: skip
    return is_kept and not any(map(facts.steps.calls_module, facts.steps.calls_in(made.function)))


def _lives_on(holder: Value | None) -> bool:
    """Whether a container is one of the module, or an attribute of an object."""
    return holder is not None and holder.op in (Op.ATTRIBUTE, Op.READ, Op.GIVEN)


def _depth_in_self(value: Value) -> int:
    """How many attributes down from ``self`` a value is taken: two of ``self.body.stem``; 0 where it is not."""
    depth = 0
    while value.op is Op.ATTRIBUTE:
        value, depth = value.inputs[0], depth + 1
    function = value.function
    is_self = value.op is Op.PARAMETER and function.owner is not None and function.parameters[:1] == [value]
    return depth if is_self else 0


def is_born_in(holder: Value, loop: Loop) -> bool:
    """Whether a container is made anew in each turn of ``loop``."""
    inside = holder.loop is not None and loop in holder.loop.around()
    return inside and holder.op in (Op.CONTAINER, Op.CALL)


def bases_of(value: Value) -> list[Value]:
    """A value and what it is taken from by methods without arguments."""
    found = [value]
    while value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and not value.arguments:
        value = value.callee.inputs[0]
        found.append(value)
    return found
