"""Guards that are there by a condition, and what is known of them where that condition is asked for again.

``with torch.set_grad_enabled(train):`` records gradients or does not; under ``if not train:`` it surely does not, and
what was computed before in the block has no graph there either.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from torchlint.facts.building.guards import SETTERS, mode_of_guard
from torchlint.facts.building.narrowing import parts_of
from torchlint.facts.values.graph import Flag, Mode, Op, Value


@dataclass(frozen=True)
class Switch:
    """What the grad mode hangs on.

    Attributes:
        test: a condition, as a value.
        modes: the mode where it does not hold, and the one where it does.
    """

    test: Value
    modes: tuple[Mode, Mode]

    def under(self, condition: Value, *, holds: bool) -> Mode | None:
        """The mode where another condition holds, or where it does not; None where that says nothing of the test."""
        said = (truth for part, truth in parts_of(condition, holds=holds) if _is_same(part, self.test))
        return next((self.modes[truth] for truth in said), None)


def switch_of(
    manager: Value,
    outside: Mode,
    tests: Mapping[Value, Value],
    decided: Mapping[tuple[Value, Value], tuple[frozenset[Flag], ...]],
) -> Switch | None:
    """What the mode inside ``with manager:`` hangs on; None where that is not one condition.

    Args:
        manager: what is entered, or a call that sets the mode.
        outside: the mode before.
        tests: the condition of each PHI that an expression chooses.
        decided: the parameters by which a statement chooses.
    """
    if manager.op is Op.CALL:
        return _of_argument(manager)
    if manager.op is not Op.PHI or len(manager.inputs) != 2:
        return None
    modes = [mode_of_guard(one) or outside for one in manager.inputs]
    if manager in tests:
        return _switch(tests[manager], modes[1], modes[0])
    flags = [flag for one in manager.inputs for flags in decided.get((manager, one), ()) for flag in flags]
    if len(flags) != 2 or flags[0][0] is not flags[1][0] or flags[0][1] is flags[1][1]:
        return None
    return _switch(flags[0][0], modes[flags[0][1]], modes[flags[1][1]])


def _of_argument(call: Value) -> Switch | None:
    """``torch.set_grad_enabled(train)``, ``torch.inference_mode(not train)``."""
    is_setter = call.callee.name in SETTERS
    given = call.argument(0, "mode")
    if given is None or given.op is Op.CONSTANT or not (is_setter or call.callee.name.endswith("inference_mode")):
        return None
    return _switch(given, Mode.OFF, Mode.ON) if is_setter else _switch(given, Mode.ON, Mode.OFF)


def _switch(condition: Value, where_not: Mode, where_so: Mode) -> Switch | None:
    """What hangs on a condition of one part, be that negated; None for one of several."""
    parts = list(parts_of(condition, holds=True))
    if len(parts) != 1:
        return None
    test, truth = parts[0]
    return Switch(test, (where_not, where_so) if truth else (where_so, where_not))


def _is_same(one: Value, other: Value) -> bool:
    """Whether two conditions are one: the same value, or ``phase == "train"`` of the same value, written twice."""
    if one is other:
        return True
    if one.op is not Op.COMPARISON or other.op is not Op.COMPARISON or len(one.inputs) != len(other.inputs):
        return False
    if not isinstance(one.syntax, cst.Comparison) or not isinstance(other.syntax, cst.Comparison):
        return False
    compared = zip(one.syntax.comparisons, other.syntax.comparisons, strict=True)
    if any(type(mine.operator) is not type(yours.operator) for mine, yours in compared):
        return False
    return all(a is b or _is_same_constant(a, b) for a, b in zip(one.inputs, other.inputs, strict=True))


def _is_same_constant(one: Value, other: Value) -> bool:
    if one.op is not Op.CONSTANT or other.op is not Op.CONSTANT or one.syntax is None or other.syntax is None:
        return False
    return one.syntax.deep_equals(other.syntax)
