"""Functions that read the gradients of what they are given: a step written by hand, a clipping, a log of norms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchlint.facts.autograd.trainees import CLIPPING
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.values.graph import Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

HOPS = 3
"""Through how many calls of the file what is given is followed."""


def gradients_read_in(facts: Facts, function: Function) -> Iterator[EffectSummary]:
    """That a function reads gradients of what it is given, and for which of its parameters."""
    of = facts.gradient_readers.get(function, frozenset())
    if of:
        yield EffectSummary(EffectKind.READS_GRADIENTS, "grad", tuple(sorted(of)))


def gradient_readers(facts: Facts) -> Mapping[Function, frozenset[int]]:
    """The functions of a file that read gradients of what they are given, each with the parameters, from 0."""
    read = [value.inputs[0] for value in facts.graph.of(Op.ATTRIBUTE) if value.name == "grad"]
    read += [one for call in facts.calls() if call.callee.name.startswith(CLIPPING) for one in call.arguments[:1]]
    found: dict[Function, set[int]] = defaultdict(set)
    latest = _given_for(read)
    for _ in range(HOPS):
        latest = {parameter for parameter in latest if _position(parameter) not in found[parameter.function]}
        if not latest:
            break
        for parameter in latest:
            found[parameter.function].add(_position(parameter))
        latest = _given_for([one for parameter in latest for one in facts.solution.arguments_of(parameter)])
    return {function: frozenset(positions) for function, positions in found.items() if positions}


def _given_for(values: list[Value]) -> set[Value]:
    """The parameters from which values come, each in the function of the value."""
    behind = ((value, source) for value in values for source in (value, *value.computed_from()))
    return {
        source
        for value, source in behind
        if source.op is Op.PARAMETER and source.function is value.function and source in source.function.parameters
    }


def _position(parameter: Value) -> int:
    return parameter.function.parameters.index(parameter)
