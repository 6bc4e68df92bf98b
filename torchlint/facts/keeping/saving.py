"""What a program writes into files itself, and where the tensors are that it writes.

``torch.save`` writes down the device of each tensor, and ``torch.load`` puts it back there: what a program reads is on
the host if it wrote it from the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.domain import Derived, Plain, Tensor, Tool
from torchlint.facts.values.frameworks import may_be_module
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import all_same_objects
from torchlint.facts.values.residence import DEVICES, Residence, Residences
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

OFFLOADING = frozenset(["offload_to_cpu", "cpu_offload"])
"""Options of sharded training that put a whole state dict on the host.

https://docs.pytorch.org/docs/stable/fsdp.html, https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

WHOLE = frozenset(["items", "values", "copy"])
"""Methods of a dict that give what is in it."""


@dataclass(frozen=True)
class Save:
    """A call of ``torch.save``.

    Attributes:
        call: the call.
        path: what says to which file.
        modules: the modules whose weights are saved.
        is_state: True when a module's or an optimizer's state is saved, False for data.
        is_seen: False when something is saved of which nobody knows where it is.
    """

    call: Value
    path: Value | None
    modules: tuple[Value, ...]
    is_state: bool
    is_seen: bool


class Saves:
    """What one file saves."""

    def __init__(self, facts: Facts) -> None:
        """Search when first asked."""
        self.facts = facts
        self.solution = facts.solution
        self.residences = Residences(facts.flows)

    @cached_property
    def found(self) -> list[Save]:
        """Every ``torch.save`` in the order of the walk."""
        return [self._save(call) for call in self.facts.calls() if call.callee.name in ("torch.save",)]

    def wrote_from_host(self, path: Value | None) -> bool:
        """Whether the program writes the file that it reads from ``path`` with tensors of the host.

        Where it writes other files only, they stand for this one if all of them are written so.
        """
        same = [save for save in self.found if self._is_same(save.path, path)]
        return bool(same or self.found) and all(map(self._is_from_host, same or self.found))

    def wrote_data(self, path: Value | None) -> bool:
        """Whether the program writes the file that it reads from ``path``, and no state of a model that it knows."""
        same = [save for save in self.found if self._is_same(save.path, path)]
        return bool(same) and not any(save.is_state for save in same)

    # -- what is saved ----------------------------------------------------------------------------------------------

    def _save(self, call: Value) -> Save:
        saved, path = call.argument(0, "obj"), call.argument(1, "f")
        modules: list[Value] = []
        is_state, is_seen = False, saved is not None
        pending, seen = [saved] if saved is not None else [], set[Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            state = self._state_of(value)
            if state is not None:
                is_state = True
                modules += [] if self.solution.may_be(state, Tool) else [state]
                continue
            inside = self._inside(value)
            if inside is not None:
                pending += inside
            elif self.residences.of(value) is not Residence.HOST:
                is_seen = is_seen and all(isinstance(atom, Plain) for atom in self.solution.final(value))
        return Save(call, path, tuple(modules), is_state, is_seen)

    def _state_of(self, value: Value) -> Value | None:
        """The module or the optimizer whose state a value is."""
        if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name == "state_dict":
            return value.callee.inputs[0]
        return value if may_be_module(self.solution, value) or self.solution.may_be(value, Tool) else None

    def _inside(self, value: Value) -> list[Value] | None:
        """What a dict, a list or a join holds; None for all else."""
        if value.op is Op.CONTAINER:
            stores = (store.value for store in self.facts.graph.stores if store.holder is value)
            return [*value.inputs, *stores]
        if value.op is Op.PHI:
            return list(value.inputs)
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return [value.inputs[0]]
        if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in WHOLE:
            return [value.callee.inputs[0]]
        return None

    # -- where it is ------------------------------------------------------------------------------------------------

    def _is_from_host(self, save: Save) -> bool:
        if save.is_state and self._offloads:
            return True
        return save.is_seen and all(self._is_on_host(module, save.call) for module in save.modules)

    @cached_property
    def _offloads(self) -> bool:
        """Whether state dicts are gathered on the host."""
        return any(
            key in OFFLOADING and argument.name == "True"
            for call in self.facts.calls()
            for key, argument in zip(call.keys[1:], call.arguments, strict=True)
        )

    def _is_on_host(self, module: Value, at: Value) -> bool:
        """Whether a module is on the host at a call: the last move before it goes there, or nothing is ever moved."""
        itself = self._same(module)
        moves = [move for move in self._moves if not itself.isdisjoint(self._same(move.callee.inputs[0]))]
        before = [move for move in moves if move.function is at.function and move.index < at.index]
        if before:
            return self._target(before[-1]) is Residence.HOST
        if any(self._target(move) is Residence.DEVICE for move in self._moves) or itself & self._given_away:
            return False
        return any(value.op is Op.CALL and not self._is_loaded(value) for value in itself)

    def _is_loaded(self, call: Value) -> bool:
        return call.callee.name.endswith((".load", "from_pretrained")) and not self.solution.functions_of(call)

    def _same(self, module: Value) -> frozenset[Value]:
        """All values that may be the same module, back to where it is made."""
        return frozenset(all_same_objects(self.solution, module))

    @cached_property
    def _moves(self) -> list[Value]:
        """The calls that may move a module, in the order of the program."""
        names = DEVICES | {"to", "cpu"}
        calls = (call for call in self.facts.calls() if call.callee.op is Op.ATTRIBUTE and call.callee.name in names)
        return sorted(
            (call for call in calls if self._target(call) is not Residence.UNKNOWN and not self._moves_tensor(call)),
            key=lambda call: call.index,
        )

    def _moves_tensor(self, call: Value) -> bool:
        abstract = self.solution.final(call.callee.inputs[0])
        return bool(abstract) and all(isinstance(atom, Tensor | Derived) for atom in abstract)

    def _target(self, move: Value) -> Residence:
        """Where a move goes; UNKNOWN where it gives another type only."""
        if move.callee.name != "to":
            return Residence.HOST if move.callee.name == "cpu" else Residence.DEVICE
        given = zip(move.keys[1:], move.arguments, strict=True)
        found = [self.residences.named(argument) for key, argument in given if key != "dtype"]
        return next((one for one in found if one is not Residence.UNKNOWN), Residence.UNKNOWN)

    @cached_property
    def _given_away(self) -> frozenset[Value]:
        """Modules that are given to a function that is not seen, which may move them."""
        found: set[Value] = set()
        for call in self.facts.calls():
            name = call.callee.name if call.callee.op is Op.EXTERNAL else ""
            if self.solution.functions_of(call) or name.startswith(("torch.", "builtins.", "copy.")):
                continue
            for argument in call.arguments:
                if may_be_module(self.solution, argument):
                    found |= self._same(argument)
        return frozenset(found)

    # -- files --------------------------------------------------------------------------------------------------------

    def _is_same(self, one: Value | None, other: Value | None) -> bool:
        """Whether two paths are written in the same way, variables looked through."""
        if one is None or other is None:
            return False
        return one is other or (bool(one.syntax) and tuple(_words(one)) == tuple(_words(other)))


def _words(path: Value) -> Iterator[str]:
    """The names and constants of which a path is written, in their order."""
    for node in walk(path.syntax) if path.syntax is not None else ():
        if isinstance(node, cst.Name | cst.SimpleString | cst.Integer | cst.FormattedStringText):
            yield node.value
