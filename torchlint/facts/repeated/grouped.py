"""Groups of parameters that are added to an optimizer: what is in them, and whether it is made there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.choices import held_in
from torchlint.facts.values.domain import History, Tensor
from torchlint.facts.values.graph import Kind, Op, Store, Value
from torchlint.facts.values.loss_forms import is_made_a_leaf
from torchlint.facts.values.parameters import SAME_OBJECT

if TYPE_CHECKING:
    from torchlint.facts import Facts

GROUPING = "add_param_group"
"""The method of optimizers that gives them more parameters."""


def behind(added: Value) -> frozenset[Value]:
    """What is added and all that it is there: the items of a literal, the layer whose parameters a group has."""
    return held_in(added, SAME_OBJECT | {"parameters"})


def made_for_group(facts: Facts, added: Value) -> frozenset[Value]:
    """The calls that make all of the parameters of a group; empty where it has others as well, or makes none."""
    parts = behind(_parameters_of(added))
    given = [part for part in parts if part.op not in (Op.CALL, Op.CONTAINER, Op.PHI, Op.CONSTANT)]
    made = (_trained(facts, part) for part in parts if part.op is Op.CALL) if not given else ()
    return frozenset(one for one in made if one is not None)


def kept_for_good(facts: Facts) -> frozenset[Value]:
    """All that the file puts into an attribute, a container or a variable of another function."""
    return frozenset(value for store in facts.graph.stores if _is_lasting(store) for value in behind(store.value))


def _parameters_of(added: Value) -> Value:
    """``[code]`` of ``{"params": [code], "lr": rate}``."""
    is_group = added.op is Op.CONTAINER and "params" in added.keys
    return added.inputs[added.keys.index("params")] if is_group else added


def _trained(facts: Facts, part: Value) -> Value | None:
    """The CALL that makes what an optimizer changes, a parameter or a module; None where a CALL gives none."""
    roots = facts.identity.roots(part)
    made = next(iter(roots)) if len(roots) == 1 else part
    if made.op is not Op.CALL or made.callee.op is Op.ATTRIBUTE:
        return None
    is_leaf = Tensor(History.LEAF) in facts.solution.final(made) or _becomes_leaf(part)
    return made if is_leaf or facts.tensors.is_module(made) else None


def _becomes_leaf(value: Value) -> bool:
    """``code.requires_grad_()``, be it a statement of its own"""
    return any(is_made_a_leaf(call) for user in value.users for call in user.users)


def _is_lasting(store: Store) -> bool:
    is_elsewhere = store.place is not None and store.place.owner is not store.function
    return store.kind is Kind.INSERT or bool(store.attribute) or is_elsewhere
