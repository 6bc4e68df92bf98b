"""Tensors that hooks are registered on: whether they are computed, and what that is computed from them holds them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.building.names import constant_of
from torchlint.facts.hooks.instances import Instances
from torchlint.facts.values.domain import FunctionReference, History, Tensor
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.homes import allocations_of

if TYPE_CHECKING:
    from torchlint.facts import Facts

TAKING = frozenset(["pop", "popitem", "clear"])
"""Methods of containers after which what was in them is there no more."""


class HookedTensors:
    """Says of tensors of one file what graph a hook of them lives in, and who keeps that."""

    def __init__(self, facts: Facts, instances: Instances) -> None:
        """Work on ``facts``; ``instances`` knows what objects keep."""
        self.facts = facts
        self.solution = facts.solution
        self.identity = facts.identity
        self.instances = instances

    def is_taken_out(self, held: Value, tensor: Value) -> bool:
        """Whether all that leads from a container to the tensor is taken out of it: ``act = got.pop("act")``."""
        made = set(allocations_of(self.solution, held))
        items = [item for one in made for item in self.solution.held.get(one, ()) if self.descends(item[1], tensor)]
        taken = [
            call
            for call in self.facts.calls()
            if call.callee.op is Op.ATTRIBUTE and call.callee.name in TAKING
            and not made.isdisjoint(allocations_of(self.solution, call.callee.inputs[0]))
        ]  # fmt: skip
        keys = {constant_of(call.arguments[0].syntax) for call in taken if call.arguments and call.arguments[0].syntax}
        is_emptied = any(not call.arguments for call in taken)
        return bool(items) and (is_emptied or all(key is not None and key in keys for key, _ in items))

    def is_leaf(self, tensor: Value) -> bool:
        """Whether a tensor is one at which a graph begins."""
        atoms = [atom for root in self.identity.roots(tensor) for atom in self.solution.final(root)]
        return any(isinstance(atom, Tensor) and atom.history is History.LEAF for atom in atoms)

    def is_computed(self, tensor: Value) -> bool:
        """Whether a tensor comes out of an operation: of what is passed in, that has to be seen; it may be a leaf."""
        if not all(root.op is Op.PARAMETER for root in self.identity.roots(tensor)):
            return True
        function = tensor.function
        result = [function.result] if function.result is not None else []
        return (
            self.facts.flows.live(tensor) is not None
            or (function.owner is not None and function.name == "forward")
            or function in self._forward_hooks
            or any(self.descends(value, tensor) for value in result)
        )

    @cached_property
    def _forward_hooks(self) -> frozenset[Function]:
        """The file's functions that are registered as hooks of modules, and so are given what modules compute."""
        hooks = [r.hook for r in self.facts.registrations if r.hook is not None and not r.is_of_tensor]
        atoms = (atom for hook in hooks for atom in self.solution.final(hook))
        return frozenset(atom.function for atom in atoms if isinstance(atom, FunctionReference))

    def descends(self, value: Value, tensor: Value) -> bool:
        """Whether ``value`` is ``tensor``, is computed from it with a graph, or has such a thing in it."""
        return not self.identity.roots(tensor).isdisjoint(self.facts.flows.ancestry.of(value))

    def reaches(self, owner: Class, tensor: Value) -> bool:
        """Whether an instance keeps ``tensor`` or what is computed from it."""
        return any(self.descends(value, tensor) for value in self.instances.kept_by(owner))

    def is_once(self, owner: Class, tensor: Value) -> bool:
        """Whether an instance keeps such a tensor once and for all: what is bound anew lets the last one go."""
        cached = set(self.instances.cached_by(owner))
        return any(
            self.descends(value, tensor) and (value in cached or value.function.name == "__init__")
            for value in self.instances.kept_by(owner)
        )
