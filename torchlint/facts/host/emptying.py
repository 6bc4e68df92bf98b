"""Memory that is tidied up in every step: the allocator's cache emptied, the cyclic collector run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.host.handed_functions import handed_at
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.summaries.effects import Effect
from torchlint.facts.turns.switches import is_left_off
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.domain import ClassReference, External, sorted_values
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Drop, Function, Kind, Loop, Op, Value
from torchlint.facts.values.literals import literal

if TYPE_CHECKING:
    from torchlint.facts import Facts

COLLECT = "gc.collect"
"""Runs the cyclic collector; of its generations the first alone is cheap."""

TIDIES = (
    "gc.",
    "torch.cuda.",
    "torch.mps.",
    "torch.xpu.",
    "torch.npu.",
    "torch.backends.",
    "torch.accelerator.",
)
"""Beginnings of what a helper calls that tidies up and does nothing else."""

HOPS = 4
"""How many helpers up a call is followed."""

OWN_COLLECTION = frozenset(["gc.disable", "gc.freeze"])
"""A program that calls these decides by itself when the collector runs."""

LOADS = frozenset(["load", "from_pretrained", "from_config", "create_model", "load_checkpoint"])
"""Last names of functions and methods that bring a whole model."""


@dataclass(frozen=True)
class Emptying:
    """A call that tidies up in every step.

    Attributes:
        call: what empties the cache or collects.
        step_call: the call in the step itself: the same, or the first call of the helper that does it.
        repeated_by: the loop each turn of which runs it, or the function that stands for a turn.
        by: what the call does by a function of another file; None where it does it itself.
        imported: the full dotted name of what it calls, where that was handed to it: ``handler()``; "" elsewhere.
        handed: where that is handed over, if there is one such place.
    """

    call: Value
    step_call: Value
    repeated_by: Loop | Function
    by: Effect | None = None
    imported: str = ""
    handed: Value | None = None

    @property
    def collects(self) -> bool:
        """True for the cyclic collector, False for the allocator's cache."""
        return (self.by.done.name if self.by is not None else self.imported or self.call.callee.name) == COLLECT


def empties_cache(name: str) -> bool:
    """Whether the function with this full dotted name gives the cache of torch's allocator back."""
    return name.startswith("torch.") and name.endswith(".empty_cache")


def emptyings(facts: Facts) -> list[Emptying]:
    """Every call that tidies up in each step, one for each statement that does."""
    own = any(call.callee.name in OWN_COLLECTION for call in facts.calls())
    found: dict[object, Emptying] = {}
    for call in facts.calls():
        if tidies(facts, call) and not (own and call.callee.name == COLLECT) and not _follows_unloading(facts, call):
            for site in _sites(facts, call, HOPS):
                by = _repeated_by(facts, site)
                if by is not None:
                    found.setdefault(facts.statement_of(call), Emptying(call, site, by))
    for effect in facts.effects.of(EffectKind.TIDIES):
        if is_left_off(facts, effect.call):
            continue
        by = None if own and effect.done.name == COLLECT else _repeated_by(facts, effect.call)
        if by is not None:
            found.setdefault(facts.statement_of(effect.call), Emptying(effect.call, effect.call, by, effect))
    for call, imported in _calls_of_handed(facts):
        by = None if own and imported == COLLECT else _repeated_by(facts, call, imported)
        if by is not None and not _follows_unloading(facts, call) and not is_left_off(facts, call):
            handed = handed_at(facts, imported)
            found.setdefault((facts.statement_of(call), imported), Emptying(call, call, by, None, imported, handed))
    return list(found.values())


def _calls_of_handed(facts: Facts) -> Iterator[tuple[Value, str]]:
    """Each CALL without arguments of a variable, ``handler()``, with what it may call that tidies up."""
    for call in facts.calls():
        if call.callee.op in (Op.ELEMENT, Op.SUBSCRIPT, Op.PARAMETER) and not call.arguments:
            for atom in sorted_values(facts.solution.final(call.callee)):
                if isinstance(atom, External) and (atom.name == COLLECT or empties_cache(atom.name)):
                    yield call, atom.name


def _follows_unloading(facts: Facts, call: Value) -> bool:
    """``del model`` before it in the same function: a whole model is to be given back, whenever that is."""
    drops = (drop for drop in facts.graph.drops if drop.function is call.function and drop.index <= call.index)
    return any(map(facts.tensors.is_module, (held for drop in drops for held in _held_before(facts, drop))))


def _held_before(facts: Facts, drop: Drop) -> list[Value]:
    """What a name held that is deleted, or set to None; of ``self.net = None`` all that is ever kept there."""
    if drop.value is not None:
        return [drop.value]
    places = facts.solution.places(drop.holder, drop.attribute) if drop.holder is not None else []
    return [kept for place in places for kept in facts.solution.stored.get(place, ()) if kept.name != "None"]


def tidies(facts: Facts, call: Value) -> bool:
    """Whether a CALL empties the cache or collects."""
    if call.callee.op is not Op.EXTERNAL:
        return False
    if call.callee.name == COLLECT:
        return literal(facts.solution, call.argument(0, "generation")) != 0
    return empties_cache(call.callee.name)


def _sites(facts: Facts, call: Value, hops: int) -> list[Value]:
    """The call itself, or the calls of the helper around it that does nothing else each time.

    None where a switch stands before it that nobody turns on. Which event it is kept for is for the helper itself to
    be asked.
    """
    if is_left_off(facts, call):
        return []
    helper = call.function
    others = (other.callee for other in facts.steps.calls_in(helper))
    if hops and helper.parent is not None and all(_is_tidying(callee) for callee in others):
        callers = sorted(facts.solution.callers.get(helper, ()), key=lambda value: value.index)
        is_fired = any(facts.repetitions.events.asked_by(caller) is not None for caller in callers)
        if callers and not is_fired and not facts.skipping.is_skipped(call, helper):
            return [site for caller in callers for site in _sites(facts, caller, hops - 1)]
    return [call]


def _is_tidying(callee: Value) -> bool:
    return callee.op is Op.EXTERNAL and callee.name.startswith(TIDIES)


def _repeated_by(facts: Facts, site: Value, imported: str = "") -> Loop | Function | None:
    if facts.unit_tests.may_have(site.function):
        return None
    repetition = facts.repetitions.of(site, handed=External(imported) if imported else None)
    if repetition is None and not imported and _counts_its_calls(facts, site):
        return site.function
    if repetition is None or repetition.turn is Turn.HOLDS:
        return None
    if isinstance(repetition.by, Loop):
        if facts.loop_lengths.is_trial(repetition.by) or _brings_model(facts, repetition.by):
            return None
    return repetition.by


def _counts_its_calls(facts: Facts, site: Value) -> bool:
    """``def step(self, parameters): self.steps += 1``: what has torch's name for a step, and counts how many it did.

    So do averages of weights, optimizers and environments, and whoever uses them calls it for each step. What runs in
    a loop of it, or not each time, is none of the step itself.
    """
    function = site.function
    is_step = function.owner is not None and function.name == "step" and site.loop is None
    if not is_step or facts.solution.callers.get(function) or facts.skipping.is_skipped(site, function):
        return False
    body = function.syntax.body if isinstance(function.syntax, cst.FunctionDef) else None
    return any(
        store.kind is Kind.UPDATE
        and store.function is function
        and bool(store.attribute)
        and store.holder in function.parameters[:1]
        and literal(facts.solution, store.added) == 1
        and isinstance(store.statement, cst.SimpleStatementLine)
        and facts.parents.get(store.statement) is body
        for store in facts.graph.stores
    )


def _brings_model(facts: Facts, loop: Loop) -> bool:
    """Whether each turn of ``loop`` has a model of its own, after which there is much to give back."""
    calls = facts.steps.calls_within(loop)
    for _ in range(HOPS):
        if any(_is_model(facts, call) for call in calls):
            return True
        callees = {callee for call in calls for callee in facts.solution.functions_of(call)}
        calls = [call for callee in callees for call in facts.steps.calls_in(callee)]
    return False


def _is_model(facts: Facts, call: Value) -> bool:
    callee = call.callee
    if callee.op is Op.EXTERNAL:
        made = torch_api.torch_class(callee.name)
        if meaning_of(callee.name) is Meaning.MODULE or (made is not None and made.has_parameters):
            return True
        if callee.name.endswith(".load") and not callee.name.startswith("torch."):
            return False
    if callee.op in (Op.EXTERNAL, Op.ATTRIBUTE) and callee.name.rpartition(".")[2] in LOADS:
        return True
    return any(
        isinstance(atom, ClassReference) and is_module_class(atom.cls)
        for atom in sorted_values(facts.solution.final(callee))
    )
