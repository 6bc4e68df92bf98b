"""What becomes of a value: where a program takes it, through variables, attributes, containers and calls of the file.

Moving is no use: ``cat``, ``view``, an index, a variable. A fate is what ends the way: the host, a computation where
the value is, code that is not seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property

import libcst as cst

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.unseen_calls import SINKS
from torchlint.facts.values.domain import Container
from torchlint.facts.values.externals import COLLECTIONS, Meaning, meaning_of
from torchlint.facts.values.graph import Function, Key, Kind, Op, Place, Value
from torchlint.facts.values.homes import allocations_of, targets_of
from torchlint.facts.values.residence import Residence, Residences

JOINS = frozenset(
    f"torch.{name}"
    for name in ("cat", "concat", "concatenate", "stack", "vstack", "hstack", "dstack", "row_stack", "column_stack")
)
"""Functions that make one tensor of many."""

VIEWS = frozenset(
    ["detach", "view", "view_as", "reshape", "reshape_as", "flatten", "unflatten", "squeeze", "unsqueeze", "transpose",
     "permute", "t", "swapaxes", "movedim", "expand", "expand_as", "select", "narrow", "unbind", "split", "chunk",
     "contiguous", "clone", "float", "double", "half", "bfloat16", "long", "int", "to", "type", "type_as",
     "index_select", "resolve_conj", "requires_grad_"]
)  # fmt: skip
"""Methods that give the same numbers in another form."""

FORMS = frozenset([*(f"torch.{name}" for name in VIEWS), "torch.nn.functional.pad"])
"""Functions that give the numbers of their first argument in another form."""

TENSOR_PARTS = frozenset(["data", "T", "mT", "H", "mH", "real"])
"""Attributes of a tensor that are its numbers again."""

LOOKS = frozenset(["size", "dim", "numel", "ndimension", "stride", "is_contiguous", "element_size", "nelement", "keys"])
"""Methods that tell something of a tensor and leave it where it is."""

LOOKING = frozenset(
    f"builtins.{name}" for name in ("len", "print", "isinstance", "type", "id", "hasattr", "repr", "str", "format")
)
"""Built-ins that only look at what they are given."""


class Fate(Enum):
    """How the way of a value ends."""

    HOST = auto()
    """It is moved to the host."""
    IS_ON_HOST = auto()
    """Something is done with it that only works on the host: ``numpy()`` of a tensor on a device raises."""
    COMPUTED = auto()
    """Something is computed from it where it is."""
    LEAVES = auto()
    """It is returned to callers that are not seen, or given to code that is not seen."""


@dataclass(frozen=True)
class End:
    """One end of a value's way: what it is, and the value (a CALL, mostly) where it comes."""

    fate: Fate
    at: Value


class Fates:
    """Follows values onward."""

    def __init__(self, flows: Flows, residences: Residences) -> None:
        """Search in the file of ``flows``."""
        self.flows = flows
        self.solution = flows.solution
        self.residences = residences

    # -- where the same object is seen again ----------------------------------------------------------------------

    @cached_property
    def _kept_at(self) -> dict[Value, list[Place]]:
        table: dict[Value, list[Place]] = defaultdict(list)
        for store in self.solution.graph.stores:
            if store.kind is not Kind.INSERT:
                table[store.value] += [place for place in targets_of(self.solution, store) if isinstance(place, Place)]
        return table

    @cached_property
    def _holders(self) -> dict[Value, list[tuple[Value, Key]]]:
        """For each value the containers into which it is put, and the keys under which it is."""
        table: dict[Value, list[tuple[Value, Key]]] = defaultdict(list)
        for container, items in self.solution.held.items():
            for key, item in items:
                table[item].append((container, key))
        return table

    @cached_property
    def _aliases(self) -> dict[Value, list[Value]]:
        """For each container the values that may be it."""
        table: dict[Value, list[Value]] = defaultdict(list)
        for value in self.solution.graph.values:
            for atom in self.solution.final(value):
                if isinstance(atom, Container):
                    table[atom.allocation].append(value)
        return table

    @cached_property
    def _parameters(self) -> dict[tuple[Value, Value], list[Value]]:
        """For each CALL and argument the parameters that get it."""
        table: dict[tuple[Value, Value], list[Value]] = defaultdict(list)
        for calls in self.solution.callers.values():
            for call, binding in calls.items():
                for parameter, argument in binding.items():
                    if argument is not None:
                        table[call, argument].append(parameter)
        return table

    @cached_property
    def _results(self) -> dict[Value, Function]:
        return {f.result: f for f in self.solution.graph.functions if f.result is not None}

    def aliases(self, allocation: Value) -> list[Value]:
        """The values that may be the container which ``allocation`` makes."""
        return self._aliases.get(allocation, [])

    # -- where it ends --------------------------------------------------------------------------------------------

    def of(self, value: Value) -> list[End]:
        """How the ways of a value, or of what is in a container, end."""
        containers = allocations_of(self.solution, value)
        return self._ends([value, *(alias for made in containers for alias in self.aliases(made))])

    def of_item(self, container: Value, key: Key) -> list[End]:
        """How the ways of what stands in a container under a key end, as far as it is taken of that."""
        return self._behind(self._from_container(container, key))

    def of_argument(self, call: Value, argument: Value) -> list[End]:
        """How the ways of what a CALL is given end, by that call alone."""
        return self._behind(self._argument(argument, call))

    def _behind(self, first: Iterable[Value | End]) -> list[End]:
        steps = list(first)
        ends = [step for step in steps if isinstance(step, End)]
        return [*ends, *self._ends([step for step in steps if not isinstance(step, End)])]

    def _ends(self, pending: list[Value]) -> list[End]:
        seen: set[Value] = set()
        ends: list[End] = []
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            for step in self._steps(current):
                if isinstance(step, End):
                    ends.append(step)
                else:
                    pending.append(step)
        return sorted(ends, key=lambda end: end.at.index)

    def _steps(self, value: Value) -> Iterator[Value | End]:
        for place in self._kept_at.get(value, ()):
            yield from self.solution.readers.get(place, ())
        for container, key in self._holders.get(value, ()):
            yield from self._from_container(container, key)
        yield from self._result(value)
        for user in value.users:
            if user.op is not Op.CONTAINER:  # what is in it is followed by its keys
                yield from self._use(value, user)

    def _from_container(self, container: Value, key: Key) -> Iterator[Value | End]:
        """Where an item of a container goes: to who reads it there, and with the container."""
        aliases = self.aliases(container)
        for alias in aliases:
            steps = list(self._result(alias))
            for user in alias.users:
                is_item = user.op in (Op.SUBSCRIPT, Op.ELEMENT)
                if user.op is not Op.CONTAINER and (not is_item or _may_be(user.keys[0], key)):
                    steps += self._use(alias, user)
            yield from (step for step in steps if isinstance(step, End) or step not in aliases)

    def _result(self, value: Value) -> Iterator[Value | End]:
        function = self._results.get(value)
        if function is not None:
            yield from self.solution.callers.get(function, ()) or [End(Fate.LEAVES, value)]

    def _use(self, value: Value, user: Value) -> Iterator[Value | End]:
        if user.op in (Op.PHI, Op.SUBSCRIPT, Op.ELEMENT) or _is_scaled(value, user):
            yield user
        elif user.op is Op.COMPARISON:
            if not any(other.name == "None" for other in user.inputs):
                yield End(Fate.COMPUTED, user)
        elif user.op is Op.OPERATION:
            is_list = any(isinstance(other.syntax, cst.List) for other in user.inputs)
            if not is_list and not isinstance(next(iter(self.solution.final(value)), None), Container):
                yield End(Fate.COMPUTED, user)
        elif user.op is Op.ATTRIBUTE:
            if user.name in TENSOR_PARTS:
                yield user
            for call in user.calls:
                yield from self._method(user.name, call, value)
        elif user.op is Op.CALL and user.callee is not value:
            yield from self._argument(value, user)

    def _method(self, name: str, call: Value, receiver: Value) -> Iterator[Value | End]:
        """What a method does to its receiver."""
        if name == "numpy":
            yield End(Fate.IS_ON_HOST, call)
        elif name in ("cpu", "tolist", "item") or (name == "to" and self.residences.of(call) is Residence.HOST):
            yield End(Fate.HOST, call)
        elif name in VIEWS or name in ("pop", "get", "popleft", "values", "items", "copy"):
            yield call
        elif name in LOOKS or name in SINKS:
            return
        elif torch_api.method(name) is not None:
            yield End(Fate.COMPUTED, call)

    def _argument(self, value: Value, call: Value) -> Iterator[Value | End]:
        """What a CALL does to an argument."""
        parameters = self._parameters.get((call, value))
        if parameters:
            yield from parameters
            return
        callee = call.callee
        if callee.op is Op.EXTERNAL:
            yield from self._external(value, call, callee.name)
        elif callee.op is Op.ATTRIBUTE and callee.name in SINKS:
            return
        elif "skip_special_tokens" in call.keys:
            yield End(Fate.HOST, call)  # a tokenizer makes text of it
        elif callee.op is Op.ATTRIBUTE and torch_api.method(callee.name) is not None:
            yield End(Fate.COMPUTED, call)
        else:
            yield End(Fate.LEAVES, call)

    def _external(self, value: Value, call: Value, name: str) -> Iterator[Value | End]:
        operation = torch_api.function(name)
        moves = name in JOINS | COLLECTIONS | FORMS or name in VIEWS
        if moves or meaning_of(name) in (Meaning.FIRST, Meaning.ITEM):
            yield call
        elif name == "torch.save":
            yield End(Fate.HOST, call)
        elif operation is not None:
            yield End(Fate.COMPUTED, call)
        elif name in LOOKING or name.startswith("logging."):
            return
        elif name.startswith(("numpy.", "sklearn.", "scipy.", "pandas.")):
            yield End(Fate.IS_ON_HOST, call)
        elif meaning_of(name) is Meaning.PLAIN:
            yield End(Fate.HOST, call)
        else:
            yield End(Fate.LEAVES, call)


def _is_scaled(value: Value, user: Value) -> bool:
    """``mask > 0.5``, ``score / 2``: of each number another one, wherever the tensor is."""
    numbers = [other for other in user.inputs if other is not value]
    is_written = bool(numbers) and all(isinstance(one.syntax, cst.Float | cst.Integer) for one in numbers)
    return user.op in (Op.COMPARISON, Op.OPERATION) and is_written


def _may_be(key: Key, other: Key) -> bool:
    return key is None or other is None or key == other or (isinstance(key, int) and key < 0)
