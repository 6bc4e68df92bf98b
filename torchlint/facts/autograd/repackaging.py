"""Containers without a graph: ``repackage(hidden)`` gives a tuple of detached states, whatever it is given."""

from __future__ import annotations

from torchlint.facts.values.domain import Atom, Container, is_graphless
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.solve import Solution


class Repackaging:
    """Answers which calls of a file's own functions give tensors without a graph, be it in a container."""

    def __init__(self, solution: Solution) -> None:
        """Read the finished ``solution``."""
        self.solution = solution
        self._known: dict[Value, bool] = {}

    def ends_graphs(self, call: Value) -> bool:
        """Whether all that a CALL of functions of this file gives is without a graph, so that none goes through it.

        A container that nothing is seen to be put into may be filled elsewhere, and is not taken for one.
        """
        functions = self.solution.functions_of(call)
        if not functions or any(function.is_foreign for function in functions):
            return False
        abstract = self.solution.final(call)
        return any(isinstance(atom, Container) for atom in abstract) and all(map(self._is_without, abstract))

    def _is_without(self, atom: Atom) -> bool:
        if not isinstance(atom, Container):
            return is_graphless(atom)
        made = atom.allocation
        if made not in self._known:
            self._known[made] = True  # what a container holds of itself adds nothing
            held = [self.solution.final(item) for _, item in self.solution.held.get(made, ())]
            held += self.solution.fields.get(made, {}).values()
            # Only a display or a comprehension is seen whole; what a call has made may hold more.
            is_seen = made.op is Op.CONTAINER or made.callee.name == "builtins.tuple"
            self._known[made] = is_seen and bool(held) and all(all(map(self._is_without, one)) for one in held)
        return self._known[made]
