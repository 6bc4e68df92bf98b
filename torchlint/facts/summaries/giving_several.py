"""To which functions of other files a forward gives several tensors: they may differentiate one by another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.facts.summaries.passing import may_be_followed
from torchlint.facts.values.domain import Argument, Derived, Tensor, Unknown
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

__all__ = ["given_several"]


def given_several(facts: Facts, function: Function) -> Iterator[str]:
    """The dotted names of those with whose results a forward goes on; nothing for any other FUNCTION."""
    for call in facts.steps.calls_in(function) if is_forward(function) else ():
        is_elsewhere = call.callee.op is Op.EXTERNAL and may_be_followed(call.callee.name)
        if is_elsewhere and call.users and sum(_may_be_tensor(facts, given) for given in call.arguments) > 1:
            yield call.callee.name


def _may_be_tensor(facts: Facts, given: Value) -> bool:
    return any(isinstance(atom, Tensor | Derived | Argument | Unknown) for atom in facts.solution.final(given))
