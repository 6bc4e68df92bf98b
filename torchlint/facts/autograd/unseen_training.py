"""Code that is not seen and that trains: it is given what it trains, ``norm = scale(loss, optimizer, parameters)``.

Where a model was just put into training mode, a loss that such code is given is taken for one that it trains on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchlint.facts.values.frameworks import may_be_optimizer
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.loss_forms import is_loss
from torchlint.facts.values.parameter_lists import lists_parameters
from torchlint.facts.values.solve import Solution

__all__ = ["given_while_training", "is_given_what_trains"]

OF_OPTIMIZERS = frozenset(["param_groups", "zero_grad"])
"""What a program asks of an optimizer, whoever made it."""


def is_given_what_trains(solution: Solution, call: Value) -> bool:
    """Whether an argument of a CALL is an optimizer, or the parameters of a module."""
    return any(_is_optimizer(solution, given) or lists_parameters(given) for given in call.arguments)


def _is_optimizer(solution: Solution, given: Value) -> bool:
    if given.op is Op.PARAMETER and any(user.op is Op.ATTRIBUTE and user.name in OF_OPTIMIZERS for user in given.users):
        return True
    return may_be_optimizer(solution, given)


def given_while_training(solution: Solution, is_unknown: Callable[[Value], bool]) -> Iterator[Value]:
    """What code that is not seen is given in functions that put a model into training mode, and none into the other.

    A function that was passed in may train on a loss wherever it is called for nothing else: ``adapt(loss)``.

    Args:
        solution: what is known of the file.
        is_unknown: whether a CALL runs code that is not seen.
    """
    switches = [call for call in solution.graph.of(Op.CALL) if call.callee.op is Op.ATTRIBUTE]
    training = {call.function for call in switches if call.callee.name == "train" and _is_switch_to_training(call)}
    training -= {call.function for call in switches if call.callee.name == "eval"}
    for call in solution.graph.of(Op.CALL):
        if call.function in training and is_unknown(call):
            yield from call.arguments
        elif call.is_bare and call.callee.op is Op.PARAMETER:
            yield from filter(is_loss, call.arguments)


def _is_switch_to_training(call: Value) -> bool:
    """``model.train()``, ``model.train(True)``"""
    mode = call.argument(0, "mode")
    return mode is None or (mode.op is Op.CONSTANT and mode.name == "True")
