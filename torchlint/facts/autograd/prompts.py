"""Prompts that a pipeline encodes ahead: its call switches gradients off, the method for this alone does not."""

from __future__ import annotations

from torchlint.facts.values.framework_objects import FACTORIES, contract_of
from torchlint.facts.values.graph import Mode, Op, Value
from torchlint.facts.values.origins import origins
from torchlint.facts.values.parameters import SAME_OBJECT, before_moves, is_frozen
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution
from torchlint.frameworks import Holds

PARTS = (Op.PHI, Op.NARROWED, Op.SUBSCRIPT, Op.ELEMENT)
"""What gives an answer, or a part of it."""


class EncodedPrompts:
    """Answers which calls encode a prompt for a pipeline alone."""

    def __init__(self, solution: Solution) -> None:
        """Read the objects of frameworks from ``solution``."""
        self.solution = solution
        self._encoded: dict[Value, bool] = {}

    def are_of(self, call: Value) -> bool:
        """Whether a CALL is of such a method, by networks that are not frozen, for calls that need no graph."""
        if call not in self._encoded:
            is_guarded = any(one.guard is Mode.OFF for one in self.solution.functions_of(call))
            is_known = not is_guarded and contract_of(self.solution, call, Holds.ENCODES) is not None
            self._encoded[call] = is_known and self._has_own_networks(call) and self._goes_into_pipelines(call)
        return self._encoded[call]

    def _has_own_networks(self, call: Value) -> bool:
        """Whether a pipeline that may be meant has loaded its networks itself, or was given none that is frozen."""
        made = reached([call.callee.inputs[0]], self._made)
        loaded = [one for one in made if one.op is Op.CALL and before_moves(one) is one]
        return any(not any(is_frozen(self.solution, given) for given in one.arguments) for one in loaded)

    def _made(self, pipeline: Value) -> list[Value]:
        """Where a pipeline is made, or moved, one step before."""
        unmoved = before_moves(pipeline)
        if unmoved is not pipeline:
            return [unmoved]
        if pipeline.op is Op.CALL and pipeline.callee.name in FACTORIES:
            return []  # whether or not the framework itself is seen
        if pipeline.op is Op.PARAMETER and (given := self.solution.arguments_of(pipeline)):
            return given
        return [one for one in origins(self.solution, pipeline) if one is not pipeline]

    def _goes_into_pipelines(self, call: Value) -> bool:
        """Whether all that is encoded is only given, moved or not, to objects that switch gradients off."""
        pending, seen, is_given = [call], set[Value](), False
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            for user in value.users:
                if user.op in PARTS:
                    pending.append(user)
                elif user.op is Op.ATTRIBUTE:
                    pending += user.calls if user.name in SAME_OBJECT else []
                elif user.op is Op.CALL and contract_of(self.solution, user, Holds.GUARDED) is not None:
                    is_given = True
                else:
                    return False
        return is_given
