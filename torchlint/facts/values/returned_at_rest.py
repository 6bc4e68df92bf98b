"""What a function returns to a call, where the network is evaluated: ``if not self.training: return out.detach()``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Abstract, join
from torchlint.facts.values.graph import Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


def returned_to(solution: Solution, call: Value, result: Value) -> Abstract:
    """What a function returns to a CALL, which is run again when that changes.

    Args:
        solution: of the file, not yet final.
        call: of the function; after ``.eval()`` it gets nothing that is made in training alone.
        result: what the function returns, by any of its statements.
    """
    solution.watch(result, call)
    at_rest = [one for one in result.inputs if one not in solution.graph.training] if call.evaluating else []
    if not 0 < len(at_rest) < len(result.inputs):
        return solution.of(result)
    for one in at_rest:
        solution.watch(one, call)
    return join(map(solution.of, at_rest))
