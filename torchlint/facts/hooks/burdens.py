"""What circles weigh: whether tensors hang on an object that are its own, or new in each turn."""

from __future__ import annotations

from collections.abc import Collection

from torchlint.facts.keeping.fates import FORMS
from torchlint.facts.values.domain import Carrier, Container, Derived, History, Instance, Module, Tensor
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Class, Op, Value
from torchlint.facts.values.identity import Identity
from torchlint.facts.values.making import makes
from torchlint.facts.values.solve import Solution

COMPUTED = frozenset([Op.CALL, Op.OPERATION, Op.ELEMENT, Op.SUBSCRIPT])


class Burdens:
    """Answers for one file."""

    def __init__(self, solution: Solution, identity: Identity) -> None:
        """Look at the values of ``solution``."""
        self.solution = solution
        self.identity = identity

    def is_network(self, owner: Class) -> bool:
        """Whether a class of another file is a module that makes layers with parameters, and wraps no module only."""
        stored = self.solution.stored.items()
        return is_module_class(owner) and any(
            self._makes_module(values) for place, values in stored if place.owner is owner.root()
        )

    def _makes_module(self, values: Collection[Value]) -> bool:
        """Whether an attribute of a class of another file is a module with parameters that no caller hands to it."""
        atoms = [atom for value in values for atom in self.solution.final(value)]
        return bool(atoms) and all(isinstance(atom, Module) and atom.has_parameters for atom in atoms)

    def is_fresh(self, value: Value, owner: Class | None) -> bool:
        """Whether a tensor hangs on ``value`` that is new in each turn, or weights that ``owner`` makes."""
        pending, seen = [value], set[Value]()
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            roots = self.identity.roots(current)
            if self._is_built_for(owner, current):
                return True
            if current not in roots:
                pending.extend(roots)
                continue
            if current.op is Op.PARAMETER and self._is_activation(current):
                return True
            is_own = owner is not None and current.op is Op.CALL and current.function.owner is owner
            is_local = current.function.parent is not None and current.op in COMPUTED
            for atom in self.solution.final(current):
                if isinstance(atom, Tensor) and atom.history is not History.LEAF:
                    if atom.history is History.LIVE or is_local or current.loop is not None:
                        return True
                elif isinstance(atom, Carrier) or (is_own and isinstance(atom, Module | Tensor)):
                    return True
                elif isinstance(atom, Derived):
                    if _is_computed_by(owner, current):
                        return True
                elif isinstance(atom, Container):
                    pending.extend(item for _, item in self.solution.held.get(atom.allocation, ()))
                elif is_own and isinstance(atom, Instance) and is_module_class(atom.cls):
                    return True
        return False

    def _is_built_for(self, owner: Class | None, value: Value) -> bool:
        """Whether a method of ``owner`` lets a function make a network with each call: ``self.net = stack(sizes)``."""
        if owner is None or value.op is not Op.CALL or value.function.owner is not owner:
            return False
        builders = self.solution.functions_of(value)
        is_network = any(isinstance(atom, Module) and atom.has_parameters for atom in self.solution.final(value))
        return is_network and bool(builders) and all(makes(self.solution, builder) for builder in builders)

    def _is_activation(self, parameter: Value) -> bool:
        """Whether a parameter is what a module is called with."""
        function = parameter.function
        return is_forward(function) and parameter in function.parameters[1:2]


def _is_computed_by(owner: Class | None, value: Value) -> bool:
    """Whether a method of a class lets a function of torch make a tensor of what it is given: no other form of it."""
    call = value.inputs[0] if value.op is Op.ELEMENT else value  # `q, r = torch.linalg.qr(rows)`
    if call.op is not Op.CALL or call.callee.op is not Op.EXTERNAL or call.function.owner is not owner:
        return False
    return owner is not None and call.callee.name.startswith("torch.") and call.callee.name not in FORMS
