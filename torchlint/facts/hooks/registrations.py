"""Hooks: where a file registers them, on what, be it by functions of other files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.graph import Op, Value
from torchlint.torch_api.hook_names import OF_ALL, OF_OBJECTS, OF_TENSORS

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect


@dataclass(frozen=True)
class Registration:
    """A hook is registered.

    Attributes:
        call: the call; its value is the handle.
        subject: the object on which, None for all objects.
        hook: what is registered.
        is_of_tensor: the object is a tensor (or a ``grad_fn``).
        by: what the call does by a function of another file; None where it registers the hook itself.
    """

    call: Value
    subject: Value | None
    hook: Value | None
    is_of_tensor: bool
    by: Effect | None = None

    @property
    def is_of_keeper(self) -> bool:
        """Whether an object of another file hooks what it holds, and keeps the handle."""
        return self.by is not None and self.by.done.kind is EffectKind.HOOKS_OWN


def registrations(facts: Facts) -> list[Registration]:
    """Every hook that the file registers."""
    return [found for call in facts.calls() if (found := _registration(facts, call)) is not None]


def registrations_elsewhere(facts: Facts) -> list[Registration]:
    """The calls of the file by which functions of other files register hooks on what they are given.

    What an object keeps the handles of is told where that stands; but not if a base class of another file does it.
    """
    return [
        Registration(effect.call, effect.given[0], None, is_of_tensor=False, by=effect)
        for kind in (EffectKind.HOOKS, EffectKind.HOOKS_OWN)
        for effect in facts.effects.of(kind)
        if effect.given and (kind is EffectKind.HOOKS or effect.given[0] in effect.call.function.parameters[:1])
    ]


def _registration(facts: Facts, call: Value) -> Registration | None:
    callee = call.callee
    if callee.name.rpartition(".")[2] not in OF_ALL | OF_OBJECTS | OF_TENSORS or facts.solution.functions_of(call):
        return None  # a method of the file's own may happen to be called like this
    if not call.arguments:
        return None  # nor is it torch's, which is given the hook
    if callee.op is Op.EXTERNAL:
        everywhere = callee.name.startswith("torch.") and callee.name.rpartition(".")[2] in OF_ALL
        return Registration(call, None, call.argument(0, "hook"), False) if everywhere else None
    if callee.op is not Op.ATTRIBUTE or callee.name not in OF_OBJECTS | OF_TENSORS:
        return None
    return Registration(call, callee.inputs[0], call.argument(0, "hook"), callee.name in OF_TENSORS)
