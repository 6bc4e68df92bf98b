"""Who holds an object: which values keep a module alive, and by what.

An optimizer holds the parameters it was given and a scheduler its optimizer; a wrapper, a list, a bound method, a
``partial`` and a function with a default hold what they were made with; a tensor with a graph holds the parameters
that it was computed with, even when its backward has run.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.hooks.holding import Holding
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Container, Instance, Tool
from torchlint.facts.values.graph import Function, Kind, Mode, Op, Place, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.overriding import is_super
from torchlint.facts.values.parameter_lists import lists_parameters
from torchlint.facts.values.parameters import SAME_OBJECT, is_frozen
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.told_modules import unwraps
from torchlint.frameworks import Holds, method_names

if TYPE_CHECKING:
    from torchlint.facts import Facts

DEPTH = 6
"""How many holders of holders are followed."""

_KEEPERS = frozenset(["functools.partial", "torch.compile", "torch.jit.script", "torch.jit.trace"])
"""Functions whose result holds what they are given."""


class Holders:
    """Answers which values hold an object."""

    def __init__(self, facts: Facts) -> None:
        """Read the solution of ``facts``."""
        self.facts = facts
        self.solution = facts.solution
        self.holding = Holding(facts.solution, facts.identity)
        self._objects: dict[Value, frozenset[Value]] = {}

    def objects(self, value: Value) -> frozenset[Value]:
        """The values that made the object which ``value`` may be."""
        if value not in self._objects:
            self._objects[value] = frozenset(ends([value], self._behind))
        return self._objects[value]

    def is_model(self, value: Value) -> bool:
        """Whether ``value``, or what made the object that it is, is a module."""
        is_module = self.facts.tensors.is_module
        return is_module(value) or any(map(is_module, self.objects(value)))

    def _behind(self, value: Value) -> list[Value]:
        if value.op is Op.PHI:
            return list(value.inputs)
        if value.op in (Op.READ, Op.ATTRIBUTE):
            return [stored for stored in stored_at(self.solution, value) if not is_none(stored)]
        if value.op is Op.CALL and self._gives_back(value):
            return [value.callee.inputs[0]]
        if value.op is Op.CALL and unwraps(self.solution, value):
            return [value.arguments[0]]
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        return []

    def _gives_back(self, call: Value) -> bool:
        """Whether a CALL is of a method that gives its object back; of one that is seen, its result has to say so."""
        if call.callee.op is not Op.ATTRIBUTE or call.callee.name not in SAME_OBJECT:
            return False
        seen = [method for method in self.solution.functions_of(call) if not method.is_foreign]
        return not seen or any(_may_give_itself(method) for method in seen)

    def how(self, value: Value, held: frozenset[Value]) -> str:
        """By what ``value`` keeps one of ``held`` alive, or "" when nothing says that it does.

        Returns:
            "itself", "parameters", "group", "wrapper", "container", "function" or "graph".
        """
        return self._how(value, held, DEPTH, set())

    def _how(self, value: Value, held: frozenset[Value], depth: int, seen: set[Value]) -> str:
        if depth == 0:
            return ""
        if value.op is Op.ATTRIBUTE and self._is_method(value) and self.objects(value.inputs[0]) & held:
            return "function"  # `encode = net.encode`, which is bound to the object
        for made in sorted(self.objects(value), key=lambda one: one.index):
            if made in held:
                return "itself"
            if made in seen:
                continue
            seen.add(made)
            found = self._how_made(made, held, depth, seen)
            if found:
                return found
        return ""

    def _how_made(self, made: Value, held: frozenset[Value], depth: int, seen: set[Value]) -> str:
        if made.op is Op.CALL:
            return self._how_called(made, held, depth, seen)
        if made.op is Op.CONTAINER:
            items = [item for _, item in self.solution.held.get(made, ())]
            return "container" if any(self._how(item, held, depth - 1, seen) for item in items) else ""
        if made.op is Op.FUNCTION and isinstance(made.reference, Function):
            inside = (one.value for one in self.holding.held_by(made))
            return "function" if any(self._how(one, held, depth - 1, seen) == "itself" for one in inside) else ""
        if made.op in (Op.ELEMENT, Op.SUBSCRIPT) and self._is_group_of(made, held, depth, seen):
            return "group"
        return self._how_along_with(made, held, depth, seen) if made.op is Op.ELEMENT else ""

    def _is_group_of(self, item: Value, held: frozenset[Value], depth: int, seen: set[Value]) -> bool:
        """Whether an item is the one group of an optimizer, ``for group in optimizer.param_groups``.

        It is a dictionary that has the parameters themselves, whatever becomes of the optimizer.
        """
        group = unpacked(item)
        groups = group.inputs[0].unnarrowed() if group.inputs else group
        if groups.op is not Op.ATTRIBUTE or groups.name != "param_groups":
            return False
        made = self.objects(groups.inputs[0])
        is_one = bool(made) and all(one.op is Op.CALL and _makes_one_group(one) for one in made)
        return is_one and any(self._how(one, held, depth - 1, seen) == "parameters" for one in made)

    def _how_along_with(self, item: Value, held: frozenset[Value], depth: int, seen: set[Value]) -> str:
        """What an item of a tuple that a function makes has of the others, or of what the function is given.

        ``net, optimizer = build()``, ``optimizer, schedule = around(net)``.
        """
        call = item.inputs[0]
        functions = self.solution.functions_of(call) if call.op is Op.CALL else []
        made = choices(functions[0].result) if len(functions) == 1 else []
        if len(made) != 1 or made[0].op is not Op.CONTAINER or not isinstance(made[0].syntax, cst.Tuple):
            return ""
        items = dict(zip(made[0].keys, made[0].inputs, strict=True))
        others = [one for one in held if one.op is Op.ELEMENT and one.inputs[0] is call]
        there = frozenset(v for one in others if one.keys[0] in items for v in self.objects(items[one.keys[0]]))
        passed = self._passed(call, functions[0], held, depth, seen)
        there = there.union(passed, *map(self.objects, passed))
        own = items.get(item.keys[0])
        return self._how(own, there, depth - 1, set(seen)) if there and own is not None else ""

    def _is_method(self, value: Value) -> bool:
        if value.name in ("forward", "__call__"):
            return True
        classes = [a.cls for a in self.solution.final(value.inputs[0]) if isinstance(a, Instance)]
        methods = [cls.method(value.name) for cls in classes]
        return any(method is not None and not method.is_property for method in methods)

    def _how_called(self, call: Value, held: frozenset[Value], depth: int, seen: set[Value]) -> str:
        if self._is_optimizer(call):
            if any(self._passes_parameters(argument, held, depth, seen) for argument in call.arguments):
                return "parameters"
            return (
                "parameters" if any(self._how(a, held, depth - 1, seen) == "parameters" for a in call.arguments) else ""
            )
        if self._is_keeper(call):
            return "wrapper" if any(self._how(a, held, depth - 1, seen) for a in call.arguments) else ""
        if any(self._how(part, held, depth - 1, seen) in ("itself", "wrapper") for part in self._parts_of(call)):
            return "wrapper"
        functions = self.solution.functions_of(call)
        for function in functions:
            found = self._how_by_function(call, function, held, depth, seen)
            found = found or self._how_by_method(call, function, held, depth, seen)
            if found:
                return found
        # Where one of them guards itself, that it is another one which runs is not certain.
        is_live = self.facts.flows.live(call) is not None and all(f.guard is not Mode.OFF for f in functions)
        if is_live and self._is_computed_with(call, held, depth, seen):
            return "graph"
        if any(isinstance(a, Container) and a.allocation is call for a in self.solution.final(call)):
            items = [item for _, item in self.solution.held.get(call, ())]
            return "container" if any(self._how(item, held, depth - 1, seen) for item in items) else ""
        return ""

    def _is_optimizer(self, call: Value) -> bool:
        atoms = self.solution.final(call)
        if any(isinstance(a, Tool) and a.kind in ("optimizer", "scheduler") for a in atoms):
            return not self.solution.functions_of(call)
        is_used = any(user.op is Op.ATTRIBUTE and user.name == "zero_grad" for user in call.users)
        return call.callee.op is Op.EXTERNAL and is_used

    def _is_keeper(self, call: Value) -> bool:
        name = call.callee.name if call.callee.op is Op.EXTERNAL else ""
        known = torch_api.torch_class(name)
        copies = name.endswith("AveragedModel")
        return name in _KEEPERS or (known is not None and known.wraps and not copies)

    def _parts_of(self, call: Value) -> list[Value]:
        """What an object of a library is made of: what its constructor is given by name it has as an attribute."""
        name = call.callee.name
        method = name.rpartition(".")[2]
        is_made = method == "from_pretrained" or (call.callee.op is Op.EXTERNAL and method[:1].isupper())
        if not is_made or name.startswith("torch.") or self.solution.functions_of(call):
            return []
        return [part for part, key in zip(call.inputs, call.keys, strict=True) if isinstance(key, str)]

    def _passes_parameters(self, argument: Value, held: frozenset[Value], depth: int, seen: set[Value]) -> bool:
        """Whether what is passed is computed from ``model.parameters()`` (of the model or a part of it)."""
        lists = filter(lists_parameters, argument.computed_from())
        return any(self._is_part(value.callee.inputs[0], held, depth, seen) for value in lists)

    def _is_part(self, value: Value, held: frozenset[Value], depth: int, seen: set[Value]) -> bool:
        """Whether ``value`` is one of ``held``, or a wrapper around it."""
        return bool(self.objects(value) & held) or self._how(value, held, depth - 1, set(seen)) == "wrapper"

    def _passed(
        self, call: Value, function: Function, held: frozenset[Value], depth: int, seen: set[Value]
    ) -> list[Value]:
        """The parameters for which a CALL passes one of ``held``, or what has it."""
        binding = self.solution.callers.get(function, {}).get(call, {})
        given = [(parameter, argument) for parameter, argument in binding.items() if argument is not None]
        return [parameter for parameter, argument in given if self._how(argument, held, depth - 1, set(seen))]

    def _how_by_function(
        self, call: Value, function: Function, held: frozenset[Value], depth: int, seen: set[Value]
    ) -> str:
        """What a function or a class of the file makes of what it is given."""
        passed = self._passed(call, function, held, depth, seen)
        if not passed:
            return ""
        if function.name == "__init__":
            return "wrapper" if any(self._is_stored(parameter, function, seen, depth) for parameter in passed) else ""
        inside = frozenset(passed)
        given = inside.union(*map(self.objects, passed))
        for choice in function.result.inputs if function.result is not None else ():
            if choice in inside:
                return "itself"
            if choice.op is Op.FUNCTION and self._is_captured(choice, inside):
                return "function"
            found = self._how(choice, given, depth - 1, seen)
            if found and (found != "graph" or self.facts.flows.live(call) is not None):
                return found
        return ""

    def _how_by_method(
        self, call: Value, function: Function, held: frozenset[Value], depth: int, seen: set[Value]
    ) -> str:
        """What an object has that its ``__init__`` builds, or what a method makes of that: an optimizer for it."""
        if function.name == "__init__":
            is_only = len(self.solution.callers.get(function, ())) == 1  # one object of the class is as good as another
            built = {made for one in self._put_on_objects.get(function, ()) for made in self.objects(one)}
            return "wrapper" if is_only and any(one.function is function for one in built & held) else ""
        receiver = call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else None
        if receiver is None or function.result is None or not self._how(receiver, held, depth - 1, set(seen)):
            return ""
        ways = (self._how(choice, held, depth - 1, set(seen)) for choice in function.result.inputs)
        return next((way for way in ways if way in ("parameters", "wrapper", "container")), "")

    def _is_stored(self, parameter: Value, function: Function, seen: set[Value], depth: int) -> bool:
        """Whether an initializer keeps what it is given, or an optimizer for it, on the object."""
        if function.is_foreign:
            return function.parameters.index(parameter) in self.facts.graph.foreign.holds.get(function, ())
        kept = self._put_on_objects.get(function, ())
        if parameter in kept or not kept:
            return bool(kept)
        given = frozenset([parameter]) | self.objects(parameter)
        return any(self._how(value, given, depth - 1, set(seen)) != "" for value in kept)

    @cached_property
    def _put_on_objects(self) -> dict[Function, list[Value]]:
        """What each function assigns to attributes."""
        table: dict[Function, list[Value]] = defaultdict(list)
        for store in self.facts.graph.stores:
            if store.kind is Kind.ASSIGN and store.attribute:
                table[store.function].append(store.value)
        return table

    def held_from(self, initializer: Function) -> tuple[int, ...]:
        """The parameters of an initializer, from 0 and without ``self``, that its object has from then on."""
        given = enumerate(initializer.parameters[1:], start=1)
        return tuple(i for i, parameter in given if self._is_stored(parameter, initializer, set(), DEPTH))

    def _is_captured(self, closure: Value, parameters: frozenset[Value]) -> bool:
        """Whether a function that is defined in another one reads one of its parameters."""
        places = {Place(parameter.function, parameter.name) for parameter in parameters}
        return any(
            value.op is Op.READ and value.place in places and value.function is closure.reference
            for value in self.facts.graph.values
        )

    def _is_computed_with(self, value: Value, held: frozenset[Value], depth: int, seen: set[Value]) -> bool:
        """Whether a tensor with a graph comes from a call of the object, or from one to which it is passed."""
        for part in value.computed_from():
            if part.op is Op.CALL:
                callee = part.callee
                receiver = callee.inputs[0] if callee.op is Op.ATTRIBUTE else callee
                if self._is_frozen(receiver):
                    continue
                if self._is_part(receiver, held, depth, seen) or any(
                    self.objects(a) & held and not self._is_frozen(a) for a in part.arguments
                ):
                    return True
        return False

    def _is_frozen(self, model: Value) -> bool:
        """Whether a model was told not to train: after the backward no graph holds its parameters.

        What was added to it since may train, and is a small part of it.
        """
        for made in self.objects(model):
            base, key = (made.inputs[0], made.keys[0]) if made.op in (Op.ELEMENT, Op.SUBSCRIPT) else (made, None)
            returned = base.op is Op.CALL and base.callee.name in method_names(Holds.RETURNS)
            given = base.argument(key if isinstance(key, int) else 0) if returned else None
            if is_frozen(self.solution, made) or (given is not None and is_frozen(self.solution, given)):
                return True
        return is_frozen(self.solution, model)

    def is_let_go(self, closure: Value, held: frozenset[Value], variable: Place) -> bool:
        """Whether a function has what is ``held`` only by its variable: who binds that anew takes it away."""
        made = [one for one in self.objects(closure) if one.op is Op.FUNCTION]
        inside = [one for function in made for one in self.holding.held_by(function)]
        holding = [one for one in inside if self._how(one.value, held, DEPTH, set()) == "itself"]
        return bool(holding) and all(one.cell == variable for one in holding)

    def is_sure(self, value: Value, held: frozenset[Value]) -> bool:
        """Whether ``value`` keeps whichever of ``held`` there is: that itself, or what that was made around."""
        kept = self.objects(value)
        return all(one in kept or is_none(one) or self._how(one, kept, DEPTH, set()) for one in held)


def _may_give_itself(method: Function) -> bool:
    """``return self``, ``return super().train(mode)``: whether a method may return the object that has it."""
    results = choices(method.result)
    called = (one.callee.inputs[0] for one in results if one.op is Op.CALL and one.callee.op is Op.ATTRIBUTE)
    is_left_to_base = any(map(is_super, called))
    return is_left_to_base or not set(results).isdisjoint(method.parameters[:1])


def _makes_one_group(optimizer: Value) -> bool:
    """``Adam(net.parameters())``, and no list of dictionaries, of which each is a group."""
    trained = optimizer.argument(0, "params")
    return trained is not None and trained.op is Op.CALL


def is_none(value: Value) -> bool:
    """Whether a value is written ``None``."""
    return value.op is Op.CONSTANT and value.name == "None"
