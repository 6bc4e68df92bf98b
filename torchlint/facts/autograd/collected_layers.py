"""Forwards that return a list which they fill themselves: what several layers gave, one after the other."""

from __future__ import annotations

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Value
from torchlint.facts.values.homes import allocations_of


def collects_live(flows: Flows, call: Value) -> bool:
    """Whether the function that a CALL runs puts something with a graph into a list, which it makes and returns."""
    solution = flows.solution
    functions = solution.functions_of(call)
    made = [one for one in allocations_of(solution, call) if one.function in functions]
    return any(flows.live(held) is not None for one in made for _, held in solution.held.get(one, ()))
