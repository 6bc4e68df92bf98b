"""Recorders that keep an entry for every event of a run: the history of the allocator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.host.process import is_optional, prepares_process
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.turns.serving import runs_at_start
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.frameworks import is_start
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.origins import agreed, origins, spread_options
from torchlint.fix.edits import replace
from torchlint.rule import Edit

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

RECORDERS = frozenset(
    ["torch.cuda.memory._record_memory_history", "torch.cuda._record_memory_history",
     "torch.xpu.memory._record_memory_history"]
)  # fmt: skip

ENABLED, MAX_ENTRIES = (0, "enabled"), (3, "max_entries")
"""The parameters, by position and by keyword."""

REASONABLE = 100_000
"""The bound of torch's own documentation."""


@dataclass(frozen=True)
class Recording:
    """The history of the allocator is recorded without a bound.

    Attributes:
        call: what switches it on.
        training: the loop that fills it, or the call that runs one; None where all that the process does fills it.
        infers: that loop runs a network, and trains none.
        by: what the call does by a function of another file; None where it switches the history on itself.
    """

    call: Value
    training: cst.CSTNode | None
    infers: bool = False
    by: Effect | None = None


def recordings(facts: Facts) -> list[Recording]:
    """Every unbounded recording over a long training, or for the life of the process, that the file does not end."""
    own = [(call, None) for call in facts.calls() if _is_unbounded(facts, call) and not _is_ended(facts, call)]
    theirs = [(effect.call, effect) for effect in facts.effects.of(EffectKind.RECORDS)]
    begun = [*own, *(one for one in theirs if not _is_ended(facts, one[0]))]
    if not begun or any(effect.done.name in RECORDERS for effect in facts.effects.of(EffectKind.SWITCHES_OFF)):
        return []
    inferring = {loop.syntax for loop in facts.graph.loops if facts.repetitions.turn(loop) is Turn.INFERS}
    return [
        Recording(call, training, training in inferring, by)
        for call, by in begun
        for training in (facts.loop_lengths.training_after(call),)
        if (_is_left_on_by(facts, call, training) if by is not None else training is not None or _stays_on(facts, call))
    ]


def leaves_on(facts: Facts, call: Value) -> bool:
    """Whether a CALL records for whoever runs its function, and not for what is seen in its file."""
    if not _is_unbounded(facts, call) or _is_ended(facts, call):
        return False
    return all(recording.call is not call for recording in facts.recordings)


def _is_left_on_by(facts: Facts, call: Value, training: cst.CSTNode | None) -> bool:
    """Whether what a function of another file switches on is on for a training, or for good, and nobody chose it."""
    if training is None:
        return _stays_on(facts, call)
    return not facts.unit_tests.may_have(call.function) and not is_optional(facts, call, training)


def _stays_on(facts: Facts, call: Value) -> bool:
    """Whether nobody chose to record, and what is done meanwhile is not seen: the process goes on recording.

    A server answers requests for as long as it lives.
    """
    if facts.unit_tests.may_have(call.function) or is_optional(facts, call, None):
        return False
    if _begins_training(call.function):
        return True
    if facts.loop_lengths.has_few_steps:
        return False
    if call.function.parent is None:
        return not facts.steps.trains(call.function) and (
            _offers_training(facts) or bool(facts.repetitions.request_handlers)
        )
    if runs_at_start(facts, call) or _runs_with_server(facts, call.function):
        return True
    if _makes_trainer(facts, call.function):
        return True
    return prepares_process(facts, call.function) or _enters(call.function)


def _runs_with_server(facts: Facts, function: Function) -> bool:
    """Whether a file that answers requests calls a function as it is imported."""
    callers = facts.solution.callers_above([function]) if facts.repetitions.request_handlers else ()
    return facts.graph.module in callers


def _makes_trainer(facts: Facts, function: Function) -> bool:
    """Whether a function makes, or helps to make, an object that trains: whoever makes one has it train."""
    makers = (one for one in (function, *facts.solution.callers_above([function])) if one.name == "__init__")
    classes = {cls for maker in makers if maker.owner is not None for cls in maker.owner.lineage()}
    return any(facts.steps.trains(method) for cls in classes for method in cls.methods.values())


def _offers_training(facts: Facts) -> bool:
    """Whether a file has functions that train for whoever imports it."""
    trainings = (function for function in facts.graph.functions if facts.steps.trains(function))
    return any(not facts.solution.callers.get(function) for function in trainings)


def _enters(function: Function) -> bool:
    """``__enter__``: the block that is entered decides how much is recorded, and its end leaves the history on."""
    return function.owner is not None and function.name in ("__enter__", "__aenter__")


def _begins_training(function: Function) -> bool:
    """``on_train_begin``: a framework calls it before the training that fills the history."""
    return is_start(function) and "init" not in function.name


def _is_ended(facts: Facts, call: Value) -> bool:
    """Whether the file switches off what a CALL switches on: in its function, or in one that begins no other one."""
    recorders = list(filter(_is_recorder, facts.calls()))
    ends = [one for one in recorders if switches_off(facts, one)]
    begins = {one.function for one in recorders if one not in ends and one is not call}
    return any(end.function is call.function or end.function not in begins for end in ends)


def switches_off(facts: Facts, call: Value) -> bool:
    """Whether a CALL ends the recording."""
    return _is_recorder(call) and agreed(facts.solution, call.argument(*ENABLED)) in (None, False)


def _is_recorder(call: Value) -> bool:
    return call.callee.op is Op.EXTERNAL and call.callee.name in RECORDERS


def _is_unbounded(facts: Facts, call: Value) -> bool:
    if not _is_recorder(call):
        return False
    options = spread_options(facts.solution, call)
    if options is None:
        return False  # what a star brings is not known
    enabled = call.argument(*ENABLED) or options.get(ENABLED[1])
    # True and False are the older signature, whose history has one entry.
    if enabled is not None and agreed(facts.solution, enabled) != "all":
        return False
    most = call.argument(*MAX_ENTRIES) or options.get(MAX_ENTRIES[1])
    return most is None or all(
        origin.op is Op.EXTERNAL and origin.name == "sys.maxsize" for origin in origins(facts.solution, most)
    )


def bound(recording: Recording) -> Edit | None:
    """The call with a bound; None where it stands elsewhere, on several lines, or takes a dictionary of options."""
    node = recording.call.syntax if recording.by is None else None
    if not isinstance(node, cst.Call) or "\n" in cst.Module([]).code_for_node(node):
        return None
    if any(argument.star for argument in node.args):
        return None

    def build(call: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(call, cst.Call)
        tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        keyword = cst.Arg(cst.Integer(str(REASONABLE)), cst.Name("max_entries"), tight)
        kept = [a for a in call.args if a.keyword is None or a.keyword.value != "max_entries"]
        if recording.call.argument(MAX_ENTRIES[0]) is not None:
            kept = kept[: MAX_ENTRIES[0]] + kept[MAX_ENTRIES[0] + 1 :]
        if kept:
            kept[-1] = kept[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
        return call.with_changes(args=[*kept, keyword])

    return replace(node, build)
