"""Terms of a loss that other code makes of a network: it may read whatever the layers have left there.

``loss = F.cross_entropy(net(x), y) + balance(net)``, ``loss = criterion(net, out, y)``, where ``balance`` is not seen,
or stands in another file in which the name of the attribute is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import Differentiable, External, Instance, Module, Unknown
from torchlint.facts.values.evidence import MODULE_ONLY
from torchlint.facts.values.frameworks import is_module_class, may_be_module
from torchlint.facts.values.graph import Class, Op, Place, Value
from torchlint.facts.values.kinds import PARTS

UNSEEN = (Unknown, External, Differentiable, Module)
"""What may be called that is no function and no class of the file; what proves to be a module is one of others."""


@dataclass(frozen=True)
class _Term:
    """A term of a loss.

    Attributes:
        call: what gives it.
        of_networks: it is given a network, with all its layers.
        classes: of which classes of the file it is given objects.
        is_written: it stands in another file, and reads what is mentioned there.
    """

    call: Value
    of_networks: bool
    classes: frozenset[Class]
    is_written: bool


class UnseenTerms:
    """Answers of which objects of one file such code may read the attributes."""

    def __init__(self, steps: Steps, mentioned_below: Callable[[str], bool]) -> None:
        """Look for what is trained on and made by such code of a network, or of another object of the file.

        Args:
            steps: of the file.
            mentioned_below: whether an attribute of a name is written in a file that this one imports.
        """
        self.steps, self.flows, self.solution = steps, steps.flows, steps.solution
        self._mentioned_below = mentioned_below

    def may_read(self, place: Place) -> bool:
        """Whether a term of the loss may be made of what objects of a class, or of one that derives of it, have there.

        A network is given with all of its layers.
        """
        return bool(self.reading(place))

    def reading(self, place: Place) -> list[Value]:
        """The CALLs that may make such a term."""
        owner = place.owner
        if not isinstance(owner, Class):
            return []
        is_network = is_module_class(owner)
        terms = [one for one in self._terms if owner.root() in one.classes or (one.of_networks and is_network)]
        unwritten = [one for one in terms if one.is_written]
        if unwritten and not self._mentioned_below(place.path.rpartition(".")[2]):
            terms = [one for one in terms if not one.is_written]
        return [one.call for one in terms]

    @cached_property
    def _terms(self) -> list[_Term]:
        found = []
        for call in self.solution.graph.of(Op.CALL):
            is_written = self._is_made_elsewhere(call)
            if call.arguments and (is_written or self._is_unseen_term(call)):
                atoms = [atom for given in call.arguments for atom in self.solution.final(given)]
                classes = frozenset(atom.cls.root() for atom in atoms if isinstance(atom, Instance))
                of_networks = any(map(self._may_be_network, call.arguments))
                found.append(_Term(call, of_networks, classes, is_written))
        return found

    def _is_made_elsewhere(self, call: Value) -> bool:
        """Whether a CALL of a function of another file gives something that is trained on, or trains there."""
        functions = self.solution.functions_of(call)
        if not functions or not all(one.is_foreign and one.name != "__init__" for one in functions):
            return False
        return call in self.flows.trained or any(map(self.steps.trains, functions))

    def _is_unseen_term(self, call: Value) -> bool:
        """Whether a CALL of what is not seen gives something that is trained on, and is no network itself."""
        if call not in self.flows.trained or may_be_module(self.solution, call) or call.calls:
            return False
        is_unseen = all(isinstance(atom, UNSEEN) for atom in self.solution.final(call.callee))
        return is_unseen and not call.callee.name.startswith(("torch.", "builtins."))

    def _may_be_network(self, given: Value) -> bool:
        """Whether an argument is a network, or one of its layers: ``for layer in net.modules()``."""
        while given.op in PARTS:
            given = given.inputs[0]
        if given.op is Op.CALL and given.callee.op is Op.ATTRIBUTE and given.callee.name in MODULE_ONLY:
            return "modules" in given.callee.name or given.callee.name.endswith("children")
        return may_be_module(self.solution, given)
