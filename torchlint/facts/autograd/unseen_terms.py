"""Terms of a loss that code which is not seen makes of a network: it may read whatever the layers have left there.

``loss = F.cross_entropy(net(x), y) + balance(net)``, ``loss = criterion(net, out, y)``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Differentiable, External, Instance, Module, Unknown
from torchlint.facts.values.evidence import MODULE_ONLY
from torchlint.facts.values.frameworks import is_module_class, may_be_module
from torchlint.facts.values.graph import Class, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

UNSEEN = (Unknown, External, Differentiable, Module)
"""What may be called that is no function and no class of the file; what proves to be a module is one of others."""

PARTS = (Op.ELEMENT, Op.SUBSCRIPT)
"""What is taken out of what ``modules()`` gives."""


class UnseenTerms:
    """Answers of which objects of one file such code may read the attributes."""

    def __init__(self, facts: Facts) -> None:
        """Look once for what is trained on and made by such code of a network, or of another object of the file."""
        self.facts, self.solution = facts, facts.solution
        given = [given for call in facts.calls() if self._is_term(call) for given in call.arguments]
        self._networks = any(map(self._may_be_network, given))
        atoms = (atom for one in given for atom in self.solution.final(one))
        self._classes = frozenset(atom.cls.root() for atom in atoms if isinstance(atom, Instance))

    def may_read(self, owner: Class) -> bool:
        """Whether a term of the loss may be made of an attribute of objects of a class, or of one that derives of it.

        A network is given with all of its layers.
        """
        return owner.root() in self._classes or (self._networks and is_module_class(owner))

    def _is_term(self, call: Value) -> bool:
        """Whether a CALL of what is not seen gives something that is trained on, and is no network itself."""
        if call not in self.facts.flows.trained or not call.arguments or may_be_module(self.solution, call):
            return False
        if any(user.op is Op.CALL and user.callee is call for user in call.users):
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
