"""Which networks are trained for certain, and which not: by optimizers that are seen, by ``train()`` and ``eval()``.

What might be trained, ``optimized.py`` says; where a file says of a network neither, nothing is said here.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.autograd.optimized import Optimized
from torchlint.facts.values.frameworks import is_given_model, may_be_optimizer
from torchlint.facts.values.graph import Op, Place, Value
from torchlint.facts.values.parameter_lists import modules_listed

if TYPE_CHECKING:
    from torchlint.facts import Facts


CLIPPING = "torch.nn.utils.clip_grad_"
"""How the functions of torch are called that clip gradients."""


class Trainees:
    """Answers what one file says of whether its networks are trained."""

    def __init__(self, facts: Facts, optimized: Optimized) -> None:
        """Work on ``facts``; ``optimized`` says what might be trained, and what contains what."""
        self.facts, self.solution = facts, facts.solution
        self.optimized = optimized

    def is_no_trainee(self, module: Value) -> bool:
        """Whether something says that a module is not trained: others are, or it was put into evaluation mode.

        Networks that have their optimizers say nothing of another one, which may have its own.
        """
        roots = self.optimized.roots(module)
        if any(isinstance(root, Value) and root.op is not Op.PARAMETER for root in roots) or self._is_attribute(roots):
            if self.optimized.handed_on:
                return all(self._is_made(root) for root in roots) or self.is_evaluated(module)
        return self.is_evaluated(module)

    def _is_attribute(self, roots: frozenset[Value | Place]) -> bool:
        return all(isinstance(root, Place) for root in roots)

    def _is_made(self, root: Value | Place) -> bool:
        """Whether a root is where the network is made or loaded, so that all that happens to it is seen.

        What a method of a network that is trained gives, ``learner.clone()``, may share its parameters or its graph; a
        module makes its teacher by a method of its own.
        """
        if not isinstance(root, Value) or root.op is not Op.CALL:
            return False
        if root.callee.op is not Op.ATTRIBUTE:
            return True
        giver = root.callee.inputs[0]
        is_own = self.solution.functions_of(root) and giver in root.function.parameters[:1]
        return bool(is_own) or not self.is_optimized(giver)

    def is_evaluated(self, module: Value) -> bool:
        """Whether a module is put into evaluation mode in this file, and nowhere back into training mode."""
        return self.is_switched(module, trains=False) and not self.is_switched(module, trains=True)

    def is_switched(self, module: Value, *, trains: bool) -> bool:
        """Whether ``.train()``, or ``.eval()``, is called on a module."""
        return not self.optimized.roots(module).isdisjoint(self._put_into[trains])

    @cached_property
    def _put_into(self) -> dict[bool, set[Value | Place]]:
        """The roots of all modules that are put into training mode (True), and into evaluation mode."""
        found: dict[bool, set[Value | Place]] = {True: set(), False: set(self.facts.graph.foreign.evaluated)}
        for call in self.facts.calls():
            if call.callee.op is Op.ATTRIBUTE and call.callee.name in ("eval", "train"):
                flag = call.argument(0, "mode")
                trains = call.callee.name == "train" and (flag is None or flag.name != "False")
                found[trains] |= self.optimized.roots(call.callee.inputs[0])
            elif is_prepared_to_rest(call):
                found[False] |= self.optimized.roots(call.arguments[0]) | self.optimized.roots(call)
        return found

    def is_clipped(self, module: Value) -> bool:
        """Whether the gradients of a module are clipped: an optimizer that is not seen takes them."""
        return any(self.optimized.overlap(module, one) for one in self._clipped)

    @cached_property
    def _clipped(self) -> list[Value]:
        """The modules of whose parameters torch clips the gradients."""
        clipping = (call for call in self.facts.calls() if call.callee.name.startswith(CLIPPING) and call.arguments)
        parts = (part for call in clipping for part in call.arguments[0].computed_from())
        return modules_listed(parts)

    def is_optimized(self, module: Value) -> bool:
        """Whether a module is trained for certain: by an optimizer of the file, by its mode, or by a framework."""
        if module.op is Op.PARAMETER and is_given_model(module):
            return True
        if any(self.optimized.overlap(module, one) for one in self._optimized):
            return True
        return self.is_switched(module, trains=True) and not self.is_switched(module, trains=False)

    @cached_property
    def _optimized(self) -> list[Value]:
        """The modules whose parameters are given to an optimizer that is seen."""
        made = [call for call in self.facts.calls() if may_be_optimizer(self.solution, call)]
        given = [part for call in made for part in call.computed_from()]
        yielded = [f.result for part in given if part.op is Op.CALL for f in self.solution.functions_of(part)]
        given += [part for result in yielded if result is not None for part in result.computed_from()]
        return list(dict.fromkeys([*modules_listed(given), *self.optimized.with_own_optimizer]))


def is_prepared_to_rest(call: Value) -> bool:
    """``accelerator.prepare_model(teacher, evaluation_mode=True)``, which gives the network back and trains it not.

    https://huggingface.co/docs/accelerate/package_reference/accelerator#accelerate.Accelerator.prepare_model
    """
    mode = call.argument(2, "evaluation_mode") if call.callee.name == "prepare_model" and call.arguments else None
    return mode is not None and mode.op is Op.CONSTANT and mode.name == "True"
