"""Methods that add layers to the modules of their own object with each call, for other files to know."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.repeated.additions import Addition, Additions, takes_out
from torchlint.facts.repeated.grouped import behind
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts


class OwnGrowth:
    """Finds them in one file; the table is made when it is first asked."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self._facts, self._search = facts, Additions(facts)

    def by(self, method: Function) -> Iterator[tuple[Value, EffectSummary]]:
        """What a method adds to its object without end if it is called without end, each after what does that."""
        for addition in self._in_methods.get(method, ()) if method.owner is not None else ():
            path, given = _path(addition.holder, method), self._given(addition, method)
            if path is not None and given is not None and self._stays(addition, method):
                name = addition.at.callee.name.rpartition(".")[2] if addition.at.op is Op.CALL else method.name
                yield addition.at, EffectSummary(EffectKind.GROWS_OWN, f"{path}.{name}", (0, *given))

    def _given(self, addition: Addition, method: Function) -> list[int] | None:
        """The parameters that are added; None where something else is that the same call of a method does not make."""
        parts = [part for part in behind(addition.added) if part.op is not Op.CONTAINER]
        given = [method.parameters.index(part) for part in parts if part in method.parameters[1:]]
        is_module = self._facts.tensors.is_module
        made = [p for p in parts if p.op is Op.CALL and p.function is method and is_module(p)]
        return given if parts and len(given) + len(made) == len(parts) else None

    def _stays(self, addition: Addition, method: Function) -> bool:
        """Whether the method neither asks how many there are nor takes one back."""
        if self._search.is_limited(addition, [addition.at]) or self._search.is_cut(addition):
            return False
        return not any(takes_out(node, {addition.name, f"{addition.name}._modules"}) for node in walk(method.syntax))

    @cached_property
    def _in_methods(self) -> dict[Function, list[Addition]]:
        found: dict[Function, list[Addition]] = defaultdict(list)
        for addition in self._search.all():
            method = addition.at.function
            if method.owner is not None and method.parameters and not addition.is_optimizer:
                found[method].append(addition)
        return found


def _path(holder: Value, method: Function) -> str | None:
    """The attributes by which the object of a method has something; None where it has not."""
    names: list[str] = []
    while holder.op is Op.ATTRIBUTE:
        names.append(holder.name)
        holder = holder.inputs[0]
    return ".".join(reversed(names)) if holder is method.parameters[0] else None
