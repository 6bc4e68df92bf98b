"""What is drawn at random: other numbers with each call."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

GENERATORS = ("random.", "secrets.", "numpy.random.", "torch.randint", "torch.randperm", "torch.multinomial")
"""How the names of functions begin that draw numbers, or make what draws them."""

DRAWING = frozenset(
    ["choice", "choices", "sample", "integers", "randint", "randrange", "permutation", "tolist", "cpu", "numpy",
     "item"]
)  # fmt: skip
"""Methods of a generator that draw, and those of an array that give its numbers."""


def is_drawn(solution: Solution, value: Value) -> bool:
    """Whether ``value`` is one of the numbers that a generator of random numbers gives, here or at a caller's."""
    calls = (one for one in reached([value], partial(_one_back, solution)) if one.op is Op.CALL)
    return any(call.callee.op is Op.EXTERNAL and call.callee.name.startswith(GENERATORS) for call in calls)


def _one_back(solution: Solution, value: Value) -> list[Value]:
    if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
        return list(value.inputs[:1])
    if value.op in (Op.CONTAINER, Op.PHI, Op.NARROWED):
        return list(value.inputs)
    if value.op is Op.PARAMETER:
        return solution.arguments_of(value)
    if value.op is Op.CALL:
        callee = value.callee
        if callee.name == "builtins.int":
            return list(value.arguments)
        results = [f.result for f in solution.functions_of(value) if f.result is not None]
        asked = [callee.inputs[0]] if callee.op is Op.ATTRIBUTE and callee.name in DRAWING and not results else []
        return [*asked, *(choice for result in results for choice in result.inputs)]
    return stored_at(solution, value)
