"""Whether a value is a tensor with a graph, with the callers of its function looked through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import libcst as cst

from torchlint.facts.autograd.made_without import MadeWithout
from torchlint.facts.turns.modes import Modes
from torchlint.facts.values.choices import choices
from torchlint.facts.values.dictionaries import DICTIONARIES, is_dictionary
from torchlint.facts.values.domain import (
    SYMBOLIC,
    Argument,
    Carrier,
    Container,
    Derived,
    History,
    Instance,
    Tensor,
    is_graphless,
    is_live,
    sorted_values,
)
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Function, Key, Mode, Op, Value
from torchlint.facts.values.parameters import gathers
from torchlint.facts.values.record_fields import makers_of
from torchlint.facts.values.solve import Solution

CUTTING = frozenset(["detach", "data", "item"])
"""Attributes of a tensor that give it, or its number, without its graph."""

ENDS = frozenset(["detach", "item", "tolist", "numpy", "float", "print", "len", "argmax"])
"""Calls behind which nothing is trained on, by the last part of their names."""

COPYING = frozenset(
    ["builtins.dict", "builtins.list", "builtins.tuple", "builtins.sorted", "collections.OrderedDict"]
)  # fmt: skip
"""Functions that make a container of all that another one has."""

HOPS = 3
"""Through so many functions it is followed who gives what is made with gradients off."""

NESTED = 3
"""So many containers deep a tensor is looked for: the states of the cells of the layers of a network."""


class Liveness:
    """Answers what hangs on values."""

    def __init__(self, solution: Solution, modes: Modes) -> None:
        """Work on ``solution``."""
        self.solution = solution
        self.modes = modes
        self._made_without = MadeWithout(solution, modes)
        self._known: dict[Value, Tensor | Carrier | None] = {}

    def live(self, value: Value) -> Tensor | Carrier | None:
        """Evidence that ``value`` may have a graph on a real path, or None."""
        if value not in self._known:
            found = self._live(value, set())
            self._known[value] = None if found is not None and self._made_without.is_surely(value) else found
        return self._known[value]

    def is_made_without(self, value: Value) -> bool:
        """Whether ``value`` is surely computed with gradients off, from nothing that has a graph."""
        return self._made_without.is_surely(value)

    def _live(self, value: Value, seen: set[Value]) -> Tensor | Carrier | None:
        if value in seen:
            return None
        seen.add(value)
        if self._is_detached_on_a_path(value) or _is_position(value):
            return None
        for atom in sorted_values(self.solution.final(value)):
            if isinstance(atom, Tensor) and atom.history is History.LIVE:
                inherits = atom.inherits
                if inherits is None or (Mode.ON in self.modes.entry(inherits) and not self._is_off(value, inherits)):
                    return atom
            elif isinstance(atom, Carrier):
                if self.modes.records(atom.origin) and not self._is_cleaned(atom.origin):
                    return atom
            elif isinstance(atom, SYMBOLIC):
                if isinstance(atom, Derived) and atom.inherits and Mode.ON not in self.modes.entry(atom.inherits):
                    continue
                for argument in self._passed_for(atom, value):
                    found = self._live(argument, seen)
                    if found is not None:
                        return found
        return None

    def _passed_for(self, atom: Argument | Derived, value: Value) -> Sequence[Value]:
        """What ``value`` is where it is a parameter for all that is known: what calls of the function give.

        What is read of a record is that of the very call that has given it: under a guard it has no graph.
        """
        if atom.parameter.function.is_written:
            return self.solution.arguments_of(atom.parameter)
        if value.op is Op.PHI:
            return [one for one in value.inputs if atom in self.solution.final(one)]
        return () if self._is_off(value, atom.parameter.function) else self.solution.arguments_of(atom.parameter)

    def _is_off(self, item: Value, maker: Function, hops: int = HOPS) -> bool:
        """Whether what a call returns, or an item of it, is made by ``maker`` in that call, with gradients off.

        Or in a call with gradients off by which a function that it runs gets what that returns.
        """
        call = item
        while call.op in (Op.ELEMENT, Op.SUBSCRIPT, Op.ATTRIBUTE):
            call = call.inputs[0]
        if call.op is not Op.CALL:
            return False
        functions = self.solution.functions_of(call)
        if self.modes.records(call) and not self.solution.calls.substitution.is_severed(call):
            return hops > 0 and bool(functions) and all(self._returns_off(one, maker, hops - 1) for one in functions)
        return maker in functions or not self.solution.callers_above([maker]).isdisjoint(functions)

    def _returns_off(self, function: Function, maker: Function, hops: int) -> bool:
        returned = choices(function.result) if function is not maker else []
        return bool(returned) and all(self._is_off(one, maker, hops) for one in returned)

    def _is_detached_on_a_path(self, value: Value) -> bool:
        """``if done: x = x.detach()``: whoever detaches on one path keeps the graph on the other on purpose."""
        if value.op is not Op.PHI:
            return False
        cuts = (choice.callee if choice.op is Op.CALL else choice for choice in value.inputs)
        return any(cut.op is Op.ATTRIBUTE and cut.name in CUTTING and cut.inputs[0] in value.inputs for cut in cuts)

    def _is_cleaned(self, carrier: Value) -> bool:
        """``out["loss"] = out["loss"].detach()``: what carried a graph has had it taken out."""
        return any(
            store.is_item and store.holder is carrier and all(map(is_graphless, self.solution.final(store.value)))
            and any(store.key == use.keys[0] for use in carrier.users if use.op is Op.SUBSCRIPT)
            for store in self.solution.graph.stores
        )  # fmt: skip

    def surely_live(self, value: Value) -> bool:
        """Whether ``value`` is a tensor with a graph on every path that reaches it."""
        return self._surely(value, (History.LIVE, History.LEAF), {})

    def _surely(self, value: Value, histories: tuple[History, ...], known: dict[Value, bool]) -> bool:
        if value not in known:
            known[value] = True  # what goes round a loop is what comes into it
            known[value] = self._is_surely(value, histories, known)
        return known[value]

    def _is_surely(self, value: Value, histories: tuple[History, ...], known: dict[Value, bool]) -> bool:
        if value.op is Op.OPERATION and any(self._surely(operand, histories, known) for operand in value.inputs):
            return True  # a tensor times anything is a tensor
        if any(map(_may_be_empty, (value, *(value.inputs if value.op in (Op.OPERATION, Op.PHI) else ())))):
            return False
        abstract = self.solution.final(value)
        for atom in abstract:
            if isinstance(atom, Tensor) and atom.history in histories:
                continue
            if isinstance(atom, SYMBOLIC):
                given = self.solution.arguments_of(atom.parameter)
                if given and all(self._surely(argument, histories, known) for argument in given):
                    continue
                if isinstance(atom, Derived) and History.NONE in histories and not gathers(atom.parameter):
                    continue  # computed by an operation of torch from whatever is passed
            return False
        return bool(abstract)

    def passed_by(self, value: Value) -> Value | None:
        """The call that passes the graph in, where ``value`` has it from a parameter of its function."""
        for atom in sorted_values(self.solution.final(value)):
            if isinstance(atom, SYMBOLIC):
                calls = self.solution.callers.get(atom.parameter.function, {})
                for call in sorted(calls, key=lambda call: call.index):
                    given = calls[call].get(atom.parameter)
                    if given is not None and self.live(given) is not None:
                        return call
        return None

    def surely_tensor(self, value: Value) -> bool:
        """Whether ``value`` is a tensor on every path, so that ``.detach()`` works."""
        return self._surely(value, (History.LIVE, History.LEAF, History.NONE), {})

    def is_gathered(self, value: Value) -> bool:
        """Whether ``value`` is a named argument that a parameter gathers: ``for name, v in values.items()``."""
        atoms = self.solution.final(value)
        return any(isinstance(atom, SYMBOLIC) and gathers(atom.parameter) for atom in atoms)

    def brings_graph(self, value: Value) -> bool:
        """Whether an operation on ``value`` has a graph when gradients are on: it is live, a leaf, or an activation."""
        if self.live(value) is not None:
            return True
        if self.is_leaf(value):
            return True
        atoms = self.solution.final(value)
        return any(isinstance(a, SYMBOLIC) and self._is_activation(a.parameter) for a in atoms)

    def is_leaf(self, value: Value) -> bool:
        """Whether ``value`` may be a tensor that requires grad by itself: a parameter."""
        return any(isinstance(a, Tensor) and a.history is History.LEAF for a in self.solution.final(value))

    def _is_activation(self, parameter: Value) -> bool:
        """Whether a parameter is what a layer is called with from code that is not seen: the output of other layers."""
        function = parameter.function
        owner = function.owner
        if owner is None or function.name != "forward" or not is_module_class(owner):
            return False
        # Without a backward in the file nothing says that the layer is ever trained.
        if all(backward.by_contract for backward in self.solution.graph.backwards):
            return False
        return not self.solution.callers.get(function)

    def live_parts(self, value: Value) -> list[Value]:
        """The live tensors in ``value``: itself, or items of a tuple, list or dict that is built on the spot.

        Or fields of a record, where a forward returns one.
        """
        if self.live(value) is not None:
            return [value]
        if self._made_without.is_surely(value):
            return []
        if any(map(is_forward, self.solution.functions_of(value))):
            if fields := self._fields_of(value):
                return fields
        made = [atom.allocation for atom in sorted_values(self.solution.final(value)) if isinstance(atom, Container)]
        made = [one for one in made if not self._is_off(value, one.function)]
        return list(dict.fromkeys(part for one in made for part in (*self._written_in(one), *self._copied_by(one))))

    def _fields_of(self, record: Value) -> list[Value]:
        """The live tensors that are kept on objects of the file that are no networks: ``Output(logits=logits)``."""
        made = (atom.cls for atom in sorted_values(self.solution.final(record)) if isinstance(atom, Instance))
        owners = dict.fromkeys(cls.root() for cls in made if not is_module_class(cls))
        kept = (value for owner in owners for _, values in self.solution.stored_with(owner) for value in values)
        return [value for value in kept if self.live(value) is not None]

    def is_live_record(self, value: Value) -> bool:
        """Whether ``value`` is a named tuple, or an object of a data class, made of a tensor that may have a graph."""
        made = [one for one in makers_of(self.solution, value) if not self._is_off(value, one.function)]
        if not made or self._made_without.is_surely(value):
            return False
        return any(self.live(given) is not None for one in made for given in one.arguments)

    def _written_in(self, made: Value, but: Set[Key] = frozenset()) -> list[Value]:
        """The live tensors that a container was built with, or has under a key, ``but`` for some keys."""
        return [
            held
            for key, held in self.solution.held.get(made, ())
            if (key not in but if key is not None else held in made.inputs) and self.live(held) is not None
        ]

    def _copied_by(self, call: Value) -> list[Value]:
        """What ``dict(parts, epoch=1)``, ``{**parts, "epoch": 1}``, ``list(parts.values())`` have of others."""
        if call.op is Op.CONTAINER:
            return [
                part
                for mapping, replaced in self.solution.graph.spreads.get(call, ())
                for atom in sorted_values(self.solution.final(mapping))
                if isinstance(atom, Container)
                for part in self._written_in(atom.allocation, replaced)
            ]
        if call.op is not Op.CALL or call.callee.name not in COPYING:
            return []
        given = list(zip(call.keys[1:], call.arguments, strict=True))
        named = {key for key, _ in given if isinstance(key, str)}
        found = [argument for key, argument in given if key in named and self.live(argument) is not None]
        for argument in (argument for key, argument in given if key not in named):
            for atom in sorted_values(self.solution.final(argument)):
                if isinstance(atom, Container) and not self._gives_keys(call, argument, atom.allocation):
                    found += self._written_in(atom.allocation, named)
        return found

    def _gives_keys(self, call: Value, argument: Value, made: Value) -> bool:
        """Whether a list is made of a dictionary's keys: ``list(parts)``, and not ``list(parts.values())``."""
        is_read = argument.op is Op.CALL and argument.callee.name in ("values", "items")
        return not is_read and is_dictionary(made) and call.callee.name not in DICTIONARIES

    def carries(self, value: Value) -> bool:
        """Whether ``value`` is, or holds, a tensor with a graph, be it in a field of a record."""
        if self._holds_graph(value) or any(map(self._holds_graph, self._given_for_items(value))):
            return True
        return self.is_live_record(value)

    def _given_for_items(self, value: Value) -> Iterator[Value]:
        """What this file passes to a function of another file, of which it computes the items of what it returns."""
        for atom in self.solution.final(value):
            if isinstance(atom, Container) and atom.allocation.function.is_foreign:
                for _, held in self.solution.held.get(atom.allocation, ()):
                    computed = (one for one in self.solution.final(held) if isinstance(one, Derived))
                    for one in computed:
                        yield from self.solution.arguments_of(one.parameter)

    def _holds_graph(self, value: Value) -> bool:
        latest, seen = {value}, set[Value]()
        for _ in range(NESTED):
            if any(self.live(one) is not None for one in latest):
                return True
            containers = {made for one in latest for made in self._containers_of(one)} - seen
            fields = (field for made in containers for field in self.solution.fields.get(made, {}).values())
            if any(is_live(item) for field in fields for item in field):
                return True
            seen |= containers  # one that holds itself, or is held by many, is looked into once
            latest = {held for made in containers for _, held in self.solution.held.get(made, ())}
        return any(self.live(one) is not None for one in latest)

    def _containers_of(self, value: Value) -> list[Value]:
        """The containers that a value may be, by what makes each; none where it is made without a graph."""
        containers = [atom.allocation for atom in self.solution.final(value) if isinstance(atom, Container)]
        if not containers or self._made_without.is_surely(value):
            return []
        return [made for made in containers if not self._is_off(value, made.function)]


def _is_position(value: Value) -> bool:
    """Whether a value says which of several things is meant: it is held against a length, or differs by a number."""
    while value.op is Op.OPERATION and value.name in ("Add", "Subtract") and value.inputs[-1].op is Op.CONSTANT:
        value = value.inputs[0]
    if value.op is not Op.PARAMETER:
        return False
    compared = (user for user in value.users if user.op is Op.COMPARISON)
    return any(
        other.op is Op.CALL and other.callee.name == "builtins.len" for user in compared for other in user.inputs
    )


def _may_be_empty(value: Value) -> bool:
    """Whether a value is a sum that may have no terms, and is 0 then: ``sum(p for p in parts if test(p))``."""
    if value.op is not Op.CALL or value.callee.name != "builtins.sum" or len(value.arguments) != 1:
        return False
    node = value.arguments[0].syntax
    return isinstance(node, cst.GeneratorExp | cst.ListComp) and bool(node.for_in.ifs)
