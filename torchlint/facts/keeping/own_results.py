"""What methods of other files keep of what their objects make of it: ``self.rows.append(self.measure(x, y))``.

The class that keeps leaves ``measure`` to another one, of a third file maybe; which it is, the object says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchlint.facts.summaries.summary import KeepSummary, method_in
from torchlint.facts.values.domain import Argument, Derived, Instance, is_graphless, sorted_values
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.solve import Solution


def measured_by_own(
    solution: Solution, call: Value, function: Function, keep: KeepSummary
) -> Iterator[tuple[KeepSummary, Value]]:
    """What a CALL gives to a method of another file that keeps what its object makes of it by a method of a third.

    Args:
        solution: of the file.
        call: the call.
        function: what it calls.
        keep: what that keeps of its own object: what a method gives.

    Returns:
        each argument of which something is kept, with what is kept of that.
    """
    receiver = solution.passed(call, function, 0)
    classes = [atom.cls for atom in solution.final(receiver) if isinstance(atom, Instance)] if receiver else []
    for measuring in {cls.method(method_in(keep.of)) for cls in classes} if len(classes) == 1 else ():
        for inner in solution.callers.get(measuring, ()) if measuring is not None and measuring.is_foreign else ():
            if inner.function is function and inner.op is Op.CALL and measuring is not None:
                yield from _given_on(solution, call, inner, measuring, keep)


def _given_on(
    solution: Solution, call: Value, inner: Value, measuring: Function, keep: KeepSummary
) -> Iterator[tuple[KeepSummary, Value]]:
    """What of the arguments of ``call`` comes back from ``measuring``, to which ``inner`` gives them on."""
    atoms = sorted_values(solution.final(measuring.result)) if measuring.result is not None else []
    if any(map(is_graphless, atoms)):
        return  # detached, or made a number, on one path: the program looks after it
    for atom in atoms:
        if isinstance(atom, Argument | Derived) and atom.parameter.function is measuring:
            handed = solution.callers[measuring][inner].get(atom.parameter)
            if handed in inner.function.parameters:
                position, is_computed = inner.function.parameters.index(handed), isinstance(atom, Derived)
                own = replace(keep, position=position, of="", is_computed=is_computed, is_shared=not is_computed)
                yield from ((own, given) for given in solution.given_by(call, handed))
