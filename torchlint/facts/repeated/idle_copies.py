"""Copies of a network that a turn of a training makes for a look at it, and whose variable has them from then on.

Nobody reads the variable again before the next copy is bound to it: through the training in between, and while the next
one is made, there is one network more than is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.repeated.products import Product
from torchlint.facts.values.choices import held_in
from torchlint.facts.values.domain import PLAIN
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

TRAINING = frozenset(["train", "fit", "cpu", "to"])
"""Methods of a copy after which it may be trained, or be on the host."""


def idle_copy(facts: Facts, copy: Value, name: str, products: Mapping[Value, Product]) -> Loop | None:
    """The loop whose turns train one network, and look at another that ``copy`` makes and a local variable keeps.

    Args:
        facts: of the file.
        copy: the CALL that copies the network.
        name: the variable that keeps it.
        products: what the calls of the file build: an optimizer for the copy is more than a look.

    Returns:
        None where the copy is trained, moved, read in a later turn, kept elsewhere, or made in the last turn alone.
    """
    repetition = facts.repetitions.of(copy, now_and_then=True)
    loop = repetition.by if repetition is not None else None
    if not isinstance(loop, Loop) or loop.function is not copy.function or not facts.repetitions.trains(loop):
        return None
    same = _same_objects(copy)
    is_used = any(user not in same for one in same for user in one.users)
    if not is_used or _is_read_elsewhere(facts, name, copy) or _is_kept(facts, same, copy.function):
        return None
    if any(_trains(facts, one, same) for one in same):
        return None
    optimizers = (call for call, product in products.items() if product.kind == "optimizer")
    return None if any(copy in call.computed_from() for call in optimizers) else loop


def _same_objects(copy: Value) -> frozenset[Value]:
    """A copy, and what methods give that give back their object: ``copy.deepcopy(net).eval()``."""
    found, pending = {copy}, [copy]
    while pending:
        methods = [user for user in pending.pop().users if user.op is Op.ATTRIBUTE and user.name in SAME_OBJECT]
        calls = [call for method in methods for call in method.calls]
        pending += [call for call in calls if call not in found]
        found.update(calls)
    return frozenset(found)


def _is_kept(facts: Facts, same: frozenset[Value], function: Function) -> bool:
    """Whether an object, a container, a caller or another variable gets the copy, or what is made of it."""
    if any(user.op is Op.PHI for one in same for user in one.users):
        return True
    kept = (one.value for one in facts.graph.stores if one.holder is not None)
    if any(not same.isdisjoint(one.computed_from()) for one in kept if facts.solution.final(one) != PLAIN):
        return True
    result = function.result
    return function.is_generator or (result is not None and not same.isdisjoint(held_in(result)))


def _is_read_elsewhere(facts: Facts, name: str, copy: Value) -> bool:
    """Whether the variable is read or bound anywhere but behind the copy, in the block in which that is made."""
    statement = facts.statement_of(copy)
    block = facts.parents.get(statement)
    if not isinstance(block, cst.IndentedBlock):
        return True
    behind = block.body[block.body.index(statement) :]
    inside = sum(_mentions(facts, name, one) for one in behind)
    return _mentions(facts, name, copy.function.syntax) != inside


def _mentions(facts: Facts, name: str, node: cst.CSTNode) -> int:
    """How often a variable stands below a node; the name of an attribute or of a keyword is none."""
    found = (one for one in walk(node) if isinstance(one, cst.Name) and one.value == name)
    around = ((one, facts.parents.get(one)) for one in found)
    return sum(
        not (isinstance(parent, cst.Attribute) and parent.attr is one)
        and not (isinstance(parent, cst.Arg) and parent.keyword is one)
        for one, parent in around
    )


def _trains(facts: Facts, one: Value, same: frozenset[Value]) -> bool:
    """Whether something that is done with a copy may train it, or move it to the host."""
    for user in one.users:
        if user.op is Op.ATTRIBUTE and user.name in TRAINING:
            return True
        for call in (user, *user.calls) if user.op is Op.ATTRIBUTE else (user,):
            if call.op is Op.CALL and call not in same:
                if facts.flows.is_trained_on(call) or any(map(facts.steps.trains, facts.solution.functions_of(call))):
                    return True
    return False
