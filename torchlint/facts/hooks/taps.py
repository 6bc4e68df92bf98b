"""Forwards that run for what hooks take out of them: ``net(x)`` by itself, and then ``found["layer3"]``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.domain import Argument, Derived, Instance, Module, Unknown
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.torch_api.hook_names import OF_FORWARDS

if TYPE_CHECKING:
    from torchlint.facts import Facts

MAY_BE_MODULE = Module | Instance | Argument | Derived | Unknown
"""What a value may be that is a module, or a part of one, after all."""


class Taps:
    """Answers it for one file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution, self.hooks = facts, facts.solution, facts.hooks

    def is_used(self, forward: Value) -> bool:
        """Whether a hook gives, or may give, what a forward computes to a backward, though its result is dropped."""
        return self.hooks.is_used(forward) or (
            forward in self._tapped_elsewhere and self.facts.steps.trains(forward.function)
        )

    @cached_property
    def escaped(self) -> frozenset[Value]:
        """The forwards of which a hook takes something to where the file does not show what becomes of it."""
        return self.hooks.run_with(self.facts.flows.escaped)

    @cached_property
    def leaving(self) -> frozenset[Value]:
        """The forwards of which a hook, or one that is not seen, takes something out of the function that runs them."""
        unseen = {one for call in self._unseen for one in self.hooks.module_calls(call.callee.inputs[0])}
        return self.hooks.run_with(self.facts.flows.leaving) | unseen | self._left_to_others

    @cached_property
    def tapping(self) -> frozenset[Function]:
        """The functions that register a hook which takes something out of a forward, or which is not seen."""
        leaving = self.facts.flows.leaving
        taking = [hook.registration for hook in self.hooks.found if not leaving.isdisjoint(hook.tensors)]
        return frozenset(call.function for call in (*taking, *self._unseen))

    @cached_property
    def _unseen(self) -> list[Value]:
        """The calls that register a hook on a module of which the file does not show what it does."""
        seen = {hook.registration for hook in self.hooks.found}
        methods = (call for call in self.facts.calls() if call.callee.op is Op.ATTRIBUTE)
        return [call for call in methods if call.callee.name in OF_FORWARDS and call not in seen]

    @cached_property
    def _left_to_others(self) -> frozenset[Value]:
        """The forwards whose result nobody looks at, of modules that code which is not seen was given a part of.

        ``Recorder(net[3])`` may register a hook, and ``net(x)`` by itself is of use only then.
        """
        idle = [call for call in self.facts.calls() if not call.users and call.callee.op is not Op.EXTERNAL]
        calls = [call for call in self.facts.calls() if self.facts.flows.is_unknown_call(call)] if idle else []
        given = (one for call in calls for one in call.arguments if self.solution.may_be(one, MAY_BE_MODULE))
        forwards = (call for part in dict.fromkeys(given) for call in self.hooks.module_calls(part))
        return frozenset(idle).intersection(forwards)

    @cached_property
    def _tapped_elsewhere(self) -> frozenset[Value]:
        """The forwards whose result nobody looks at, of modules on which functions of other files put such hooks."""
        given = (one for effect in self.facts.effects.of(EffectKind.TAPS) for one in effect.call.arguments)
        forwards = (call for module in dict.fromkeys(given) for call in self.hooks.module_calls(module))
        return frozenset(call for call in forwards if not call.users)
