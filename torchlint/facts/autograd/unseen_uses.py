"""What may become of the graph or the gradients of a network that no optimizer trains, for all that is seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.facts.autograd.optimized import Optimized
from torchlint.facts.autograd.trainees import Trainees
from torchlint.facts.values.graph import Backward, Op, Value
from torchlint.facts.values.parameter_lists import modules_listed

if TYPE_CHECKING:
    from torchlint.facts import Facts

PARAMETRIZING = "torch.nn.utils.parametri"
"""How the functions of torch are called by which other modules make a network's parameters, or norms scale them."""


class UnseenUses:
    """Answers for the networks of one file whether to run one without gradients could change a result."""

    def __init__(self, facts: Facts, optimized: Optimized, trainees: Trainees) -> None:
        """Work on ``facts``; ``optimized`` says which modules are one, ``trainees`` whose gradients are clipped."""
        self.facts, self.flows, self.steps = facts, facts.flows, facts.steps
        self.optimized, self.trainees = optimized, trainees

    def uses(self, network: Value, backwards: Sequence[Backward]) -> bool:
        """Whether something may bring a graph into a network, or look at the gradients that it gets.

        Others are clipped with it; its gradients are read; code that is not seen is given it in the loop of one of the
        ``backwards``; a hook runs in it, or another module makes its parameters.
        """
        if self.trainees.is_clipped(network):
            return True
        given = (*self._given_unseen(backwards), *self._altered(), *self._graded())
        return any(self.optimized.overlap(network, one) for one in given)

    def _given_unseen(self, backwards: Sequence[Backward]) -> Iterator[Value]:
        loops = {backward.loop for backward in backwards if backward.loop is not None}
        unseen = (call for loop in loops for call in self.steps.calls_within(loop) if self.flows.is_unknown_call(call))
        return (argument for call in unseen for argument in call.arguments)

    def _altered(self) -> Iterator[Value]:
        """The modules that run hooks, be it in a layer, or parameters of which other modules make."""
        for registration in self.facts.registrations:
            if not registration.is_of_tensor and registration.subject is not None:
                yield from _with_owners(registration.subject)
        calls = (call for call in self.facts.calls() if call.callee.name.startswith(PARAMETRIZING))
        yield from (call.arguments[0] for call in calls if call.arguments)

    def _graded(self) -> Iterator[Value]:
        """The modules of whose parameters gradients are read: ``[p.grad.norm() for p in net.parameters()]``."""
        read = (value.inputs[0] for value in self.facts.graph.of(Op.ATTRIBUTE) if value.name == "grad")
        for value in read:
            yield from _with_owners(value)
            yield from modules_listed(value.computed_from())


def _with_owners(value: Value) -> Iterator[Value]:
    """A value and those of which it is a part: ``net.layers[0].weight``, ``net.layers[0]``, ``net.layers``, ``net``."""
    yield value
    while value.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT):
        value = value.inputs[0]
        yield value
