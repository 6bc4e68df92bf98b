"""What runs when something is called, however far down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Function, Value
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts.turns.steps import Steps


def run_by(steps: Steps, calls: Iterable[Value]) -> Iterator[Function]:
    """The functions that ``calls`` run, and those that are called from them, each once."""
    return reached(_called(steps, calls), lambda function: _called(steps, steps.calls_in(function)))


def _called(steps: Steps, calls: Iterable[Value]) -> Iterator[Function]:
    for call in calls:
        yield from steps.solution.functions_of(call)
