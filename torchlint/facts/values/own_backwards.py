"""Methods of the program that are called ``backward`` and run none: a chain walked back, a linker, hand-made layers.

The name alone says that a backward runs, as long as nobody sees what the method does. Where it is seen, that counts.
"""

from __future__ import annotations

from torchlint import torch_api
from torchlint.facts.values.domain import Argument, External, FunctionReference, Unknown
from torchlint.facts.values.graph import Backward, Function, Op, Value
from torchlint.facts.values.known import Known
from torchlint.facts.values.overriding import is_left_open
from torchlint.syntax.filling_names import INSERTING

NAME = "backward"
"""What is taken for a backward by its name."""

HARMLESS = ("builtins.", "torch.")
"""Where the functions come from that run no backward, but for those that are known to."""

DEPTH = 4
"""How many calls deep a backward is looked for."""


def retract_named(known: Known) -> bool:
    """Take the backwards from the graph of which only a name spoke; True when there were any."""
    backwards = known.graph.backwards
    named = [backward for backward in backwards if _is_one_by_name_only(known, backward)]
    backwards[:] = [backward for backward in backwards if backward not in named]
    return bool(named)


def _is_one_by_name_only(known: Known, backward: Backward) -> bool:
    """Whether all that the call can run are functions of the program, in none of which a backward runs."""
    call = backward.call
    if call is None or call.callee.op is not Op.ATTRIBUTE or call.callee.name != NAME:
        return False
    found = known.of(call.callee)
    if not found or not all(isinstance(atom, FunctionReference) for atom in found):
        return False
    running = {one.function for one in known.graph.all_backwards() if one is not backward}
    return not any(_may_run(known, function, running, DEPTH) for function in known.functions_of(call))


def may_run_unseen(known: Known, function: Function) -> bool:
    """Whether a FUNCTION called ``backward`` hands something to a callee that is not seen: that may run one."""
    return function.name == NAME and _may_run(known, function, set(), DEPTH)


def _may_run(known: Known, function: Function, running: set[Function], depth: int) -> bool:
    if function in running or not depth or is_left_open(function):
        return True
    if function.is_foreign:  # its summary says whether it trains, and `running` holds it then
        return False
    calls = [call for call in known.graph.of(Op.CALL) if call.function is function]
    return any(_is_unseen(known, call) for call in calls) or any(
        _may_run(known, callee, running, depth - 1)
        for call in calls
        for callee in known.functions_of(call)
        if callee is not function
    )


def _is_unseen(known: Known, call: Value) -> bool:
    """Whether nothing is known of what a CALL with arguments runs, not even by the name of a method."""
    callee = call.callee
    if not call.arguments:
        return False
    if callee.op is Op.ATTRIBUTE and (callee.name in INSERTING or torch_api.method(callee.name) is not None):
        return False
    return any(
        isinstance(atom, Unknown | Argument) or (isinstance(atom, External) and not atom.name.startswith(HARMLESS))
        for atom in known.of(callee)
    )
