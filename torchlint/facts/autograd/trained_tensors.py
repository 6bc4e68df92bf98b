"""Tensors that an optimizer changes by themselves, and no network with them: a picture that is to look like another.

What goes through a network on the way to such a tensor's gradient is wanted; what the same network gives for the
other picture is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.autograd.optimized import Optimized
from torchlint.facts.values.domain import History, Tensor
from torchlint.facts.values.frameworks import may_be_optimizer
from torchlint.facts.values.graph import Backward, Op, Value
from torchlint.facts.values.loss_forms import is_made_a_leaf

if TYPE_CHECKING:
    from torchlint.facts import Facts


class TrainedTensors:
    """Answers for one file which values are computed from such tensors."""

    def __init__(self, facts: Facts, optimized: Optimized) -> None:
        """Work on ``facts``; ``optimized`` says which networks are one."""
        self.facts, self.solution, self.identity = facts, facts.solution, facts.identity
        self.optimized = optimized

    def go_through(self, network: Value, backward: Backward, networks_of: Callable[[Value], list[Value]]) -> bool:
        """Whether a backward is there for such a tensor, which it reaches through a forward of ``network``.

        Args:
            network: the network.
            backward: the backward.
            networks_of: which networks a CALL runs.
        """
        if not self._known:
            return False
        before = self.facts.flows.ancestry.of(backward.root)
        given = (call for call in self.facts.calls() if call in before and any(map(self.reach_in, call.arguments)))
        return any(self.optimized.overlap(network, one) for call in given for one in networks_of(call))

    def reach_in(self, value: Value) -> bool:
        """Whether ``value`` is such a tensor, or is computed from one, be it in a function that reads it."""
        if not self._known:
            return False
        before = self.facts.flows.ancestry.of(value) | frozenset(value.computed_from())
        return any(not self._known.isdisjoint(self.identity.roots(one)) for one in before)

    @cached_property
    def _known(self) -> frozenset[Value]:
        """Where the tensors are made that optimizers of the file are given one by one; no parts of a network."""
        made = (root for one in given_one_by_one(self.facts) if self._is_leaf(one) for root in self.identity.roots(one))
        return frozenset(root for root in made if root.op is Op.CALL)

    def _is_leaf(self, value: Value) -> bool:
        if any(isinstance(a, Tensor) and a.history is History.LEAF for a in self.solution.final(value)):
            return True
        same = (value, *self.identity.roots(value))
        return any(map(is_made_a_leaf, same)) or any(
            is_made_a_leaf(call) for one in same for user in one.users for call in user.users
        )


def given_one_by_one(facts: Facts) -> Iterator[Value]:
    """The tensors that optimizers of a file are given by themselves; each takes leaves alone, as torch sees to."""
    for call in facts.calls():
        if call.arguments and may_be_optimizer(facts.solution, call):
            yield from _items(call.arguments[0])


def _items(given: Value) -> Iterable[Value]:
    """The tensors of a literal, or of the groups in one: ``[a, b]``, ``[{"params": [a, b]}]``."""
    for item in given.inputs if given.op is Op.CONTAINER else ():
        is_group = item.op is Op.CONTAINER and "params" in item.keys
        yield from _items(item.inputs[item.keys.index("params")]) if is_group else [item]
