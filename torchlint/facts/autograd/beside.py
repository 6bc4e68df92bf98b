"""What else a function computes beside forwards whose graph nobody uses."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.graph import Function, Value


@dataclass(frozen=True)
class Beside:
    """The graphs of a function that are not those of the forwards which it runs for nothing.

    Attributes:
        trains: True when one of them reaches a backward: the function may not run without gradients as a whole.
        leaves: True when anything with a graph leaves the function.
        gives: True when nothing says of what leaves that it has a graph, but the answer of a network goes into that.
    """

    trains: bool
    leaves: bool
    gives: bool


def beside(flows: Flows, steps: Steps, function: Function, forwards: Collection[Value]) -> Beside:
    """Say what becomes of all graphs of ``function`` but those of ``forwards``."""
    others = [call for call in steps.calls_in(function) if call not in forwards and flows.modes.records(call)]
    trained = any(call in flows.trained and flows.live_parts(call) for call in others)
    leaves = trained or any(map(flows.carries, _results(flows, function)))
    gives = not leaves and any(
        steps.calls_module(call) and call in flows.escaped and flows.live_parts(call) for call in others
    )
    return Beside(trained, leaves, gives)


def _results(flows: Flows, function: Function) -> list[Value]:
    """What a function returns, and what it puts where others find it."""
    stores = [store for store in flows.solution.graph.stores if store.function is function]
    kept = [store.value for store in stores if store.attribute or store.place is not None]
    return kept if function.result is None else [*kept, function.result]
