"""Models and weights that are read from the same file again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.keeping.external_names import external_name
from torchlint.facts.keeping.loading import Load
from torchlint.facts.repeated.belonging import is_registered
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.summaries.effects import Effect, returns
from torchlint.facts.turns.changing import changes_with
from torchlint.facts.turns.repetition import HOPS
from torchlint.facts.turns.sources import sources_of
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Container
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.frameworks import is_decorated_handler, is_module_class, may_be_module
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.making import is_remembered
from torchlint.syntax.conditions import last_of
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts

WRITERS = frozenset(["torch.save", "torch.jit.save", "pickle.dump", "joblib.dump", "safetensors.torch.save_file"])
"""Functions that write such a file; what a turn writes it may well read again."""

WRITING = ("save", "export", "write", "dump", "store")
"""How the names of functions and methods begin that put something into the file whose path they are given."""

DEPTH = 3
"""How many calls deep a writer is looked for."""


@dataclass(frozen=True)
class Reload:
    """A model or weights that every turn or call reads again.

    Attributes:
        load: what reads them.
        repeated_by: the loop each turn of which does, or the method that does with each call.
        weighs: False for what comes without weights: a tokenizer, a configuration.
        by: what the call does by a function of another file; None where it does it itself.
        is_named: True when a request says which file it is, so that a few of them are read in turn.
    """

    load: Load
    repeated_by: Loop | Function
    weighs: bool
    by: Effect | None = None
    is_named: bool = False


def reloads(facts: Facts) -> list[Reload]:
    """Every load that is repeated with nothing new to read, or nothing but what requests name."""
    found = [_of(facts, load) for load in facts.loads.found]
    found += [_elsewhere(facts, effect) for effect in facts.effects.of(EffectKind.LOADS)]
    return [reload for reload in found if reload is not None]


def may_read_model(facts: Facts, call: Value) -> bool:
    """Whether a CALL reads a model from a file, for all that this file does with it, and does not register it."""
    load = facts.loads.of(call)
    if load is None or _is_registered(facts, call):
        return False
    # Whoever gets what is returned shows what it is.
    return load.is_model or returns(call.function, call) or is_a_model(facts, load)


def _elsewhere(facts: Facts, effect: Effect) -> Reload | None:
    """What a function of another file reads; if it is returned its use here says what it is."""
    is_model = not effect.done.is_returned or meaning_of(effect.done.name) is Meaning.MODULE
    load = Load(effect.call, effect.done.name, is_model, "host")
    return _of(facts, load, effect)


def _of(facts: Facts, load: Load, by: Effect | None = None) -> Reload | None:
    weighs = load.is_model or is_a_model(facts, load)
    if not weighs and not load.name.endswith("from_pretrained"):
        return None
    repetition = _repetition(facts, load.call)
    if repetition is None or repetition.turn is Turn.HOLDS or facts.unit_tests.has(load.call.function):
        return None
    names = by.given if by is not None else load.call.inputs
    if _differs(facts, names, repetition):
        around = _all_again(facts, names, repetition)
        if around is None:
            if not weighs or not _is_asked(facts, repetition.by) or _is_registered(facts, load.call):
                return None
            return Reload(load, repetition.by, weighs, by, is_named=True)
        repetition = around
    if isinstance(repetition.by, Loop):
        paths = _written_arguments(facts, load.call) if load.call.function is repetition.by.function else frozenset()
        within = facts.steps.calls_within(repetition.by)
        if any(_writes(facts, call) or _says_to_write(facts, call, paths) for call in within):
            return None
    return Reload(load, repetition.by, weighs, by)


def _is_registered(facts: Facts, load: Value) -> bool:
    """Whether a request is one to read what later ones run: what is read, or what is filled with it, is registered."""
    filled = [copy.callee.inputs[0] for copy in facts.loads.parts(load).copies if copy.callee.op is Op.ATTRIBUTE]
    return any(is_registered(facts, one) for part in (load, *filled) for one in choices(part))


def _is_asked(facts: Facts, by: Loop | Function) -> bool:
    """Whether a server calls a function for each request, or another file does so in a loop."""
    if not isinstance(by, Function):
        return False
    repetitions = facts.repetitions
    if by in repetitions.request_handlers or is_decorated_handler(by):
        return True
    return repetitions.is_asked_by_others(by)


def is_a_model(facts: Facts, load: Load) -> bool:
    """Whether what is loaded is copied into a model, or used as one: called, put into evaluation mode."""
    parts = facts.loads.parts(load.call)
    if parts.copies or parts.keeps:
        return True
    return any(_is_module(facts, part) for part in parts.whole)


def _is_module(facts: Facts, value: Value) -> bool:
    return bool(value.calls) or may_be_module(facts.solution, value)


def _repetition(facts: Facts, call: Value) -> Repetition | None:
    """What repeats a call; an object that loads when it is made is asked for by whoever makes it."""
    found = facts.repetitions.of(call)
    if found is None and "property" in call.function.decorators:
        return _access(facts, call)
    return found if found is not None else _of_object(facts, (call,), HOPS)


def _of_object(facts: Facts, chain: tuple[Value, ...], hops: int) -> Repetition | None:
    """What makes the objects whose ``__init__`` makes the last call of a chain, itself or by helpers."""
    function, owner = chain[-1].function, chain[-1].function.owner
    callers = sorted(facts.solution.callers.get(function, ()), key=lambda value: value.index)
    if function.name != "__init__":
        ways = callers if hops and not facts.skipping.is_skipped(chain[-1], function) else []
        found = (_of_object(facts, (*chain, one), hops - 1) for one in ways if one not in chain)
        return next(filter(None, found), None)
    if owner is None or is_module_class(owner):
        return None
    for maker in callers:
        found_there = facts.repetitions.of(maker)
        if found_there is not None:
            return Repetition(found_there.by, found_there.turn, (*chain, *found_there.chain))
    return None


def _access(facts: Facts, call: Value) -> Repetition | None:
    """The method that runs, on what it is given, the model that a property loads at each access."""
    prop = call.function
    if is_remembered(prop) or facts.skipping.is_skipped(call, prop):
        return None
    for access in sorted(facts.solution.callers.get(prop, ()), key=lambda value: value.index):
        method = access.function
        if method.owner is None or method.name == "__init__" or facts.steps.trains(method):
            continue
        if _is_run_on(access, method.parameters[1:]) and not facts.skipping.is_skipped(access, method):
            return Repetition(method, Turn.INFERS, (call, access))
    return None


def _is_run_on(model: Value, data: Sequence[Value]) -> bool:
    """Whether a model, or a method of it that not every module has, is called with something made of ``data``."""
    methods = [user for user in model.users if user.op is Op.ATTRIBUTE and user.name not in torch_api.module_methods()]
    calls = (call for run in (model, *methods) for call in run.calls)
    return any(part in data for call in calls for given in call.arguments for part in given.computed_from())


def _differs(facts: Facts, names: Sequence[Value], repetition: Repetition) -> bool:
    """Whether another file may be read each time: its name comes from the loop or from what is asked for."""
    by, sources = repetition.by, sources_of(facts.solution, names, repetition.chain)
    if isinstance(by, Loop):
        return any(changes_with(source, by) for source in sources)
    asked = [parameter for parameter in by.parameters[1 if by.owner is not None else 0 :] if parameter in sources]
    return not all(_is_one_of_few(facts, parameter) for parameter in asked)


def _all_again(facts: Facts, names: Sequence[Value], repetition: Repetition) -> Repetition | None:
    """The loop over batches each turn of which reads all of the same files, one after the other: an ensemble's."""
    inner = repetition.by
    if not isinstance(inner, Loop) or inner.iterable is None:
        return None
    batches = next((loop for loop in inner.around()[1:] if _goes_over_batches(facts, loop)), None)
    if batches is None or repetition.chain[-1].loop is not inner:
        return None
    sources = sources_of(facts.solution, [*names, inner.iterable], repetition.chain)
    if any(changes_with(source, batches) for source in sources if source.loop is not inner):
        return None
    return Repetition(batches, Turn.INFERS, repetition.chain)


def _goes_over_batches(facts: Facts, loop: Loop) -> bool:
    """Whether a loop is one over a loader, or what each turn takes goes into a network in it."""
    if loop.iterable is not None and facts.steps.is_loader(loop.iterable):
        return True
    taken = (
        part
        for call in facts.steps.calls_within(loop)
        if facts.steps.runs_module(call)
        for argument in call.arguments
        for part in argument.computed_from()
    )
    return any(part.op is Op.ELEMENT and part.loop is loop for part in taken)


def _is_one_of_few(facts: Facts, parameter: Value) -> bool:
    """Whether who asks for what is not in a table that is written out is turned away: ``if kind not in KINDS: raise``.

    What is read is then one of the few that the table names, again with each request for it.
    """
    body = getattr(parameter.function.syntax, "body", None)
    statements = body.body if isinstance(body, cst.IndentedBlock) else ()
    tests = [s.test for s in statements if isinstance(s, cst.If) and _turns_away(s, parameter.name)]
    return any(
        value.op is Op.COMPARISON and value.syntax in tests and _is_written_out(facts, value.inputs[-1])
        for value in (facts.graph.values if tests else ())
    )


def _turns_away(leaving: cst.If, name: str) -> bool:
    """Whether an ``if`` ends a function when what a variable holds is not in some container."""
    test, last = leaving.test, last_of(leaving.body)
    if not isinstance(test, cst.Comparison) or not isinstance(last, cst.Raise | cst.Return):
        return False
    operators = [type(target.operator) for target in test.comparisons]
    return operators == [cst.NotIn] and dotted(test.left) == name


def _is_written_out(facts: Facts, value: Value) -> bool:
    """Whether a value is a literal container, of a module or in the condition, into which nothing more is put."""
    if value.op is Op.CONTAINER and not isinstance(value.syntax, cst.BaseComp):
        return bool(value.inputs) and all(item.op is Op.CONSTANT for item in value.inputs)
    atoms = facts.solution.final(value)
    return bool(atoms) and all(
        isinstance(atom, Container)
        and (value.op is Op.GIVEN or atom.allocation.function.parent is None)
        and bool(atom.allocation.inputs)
        and None not in atom.allocation.keys
        and len(facts.solution.held.get(atom.allocation, ())) == len(atom.allocation.inputs)
        for atom in atoms
    )


def _writes(facts: Facts, call: Value, depth: int = DEPTH) -> bool:
    if external_name(facts, call) in WRITERS or (call.callee.op is Op.ATTRIBUTE and call.name == "save_pretrained"):
        return True
    return depth > 0 and any(
        _writes(facts, inner, depth - 1)
        for function in facts.solution.functions_of(call)
        for inner in facts.steps.calls_in(function)
    )


def _says_to_write(facts: Facts, call: Value, paths: frozenset[str]) -> bool:
    """``pruner.export_model(PATH)``: whether a CALL is told one of these paths, and by its name writes there."""
    name = call.callee.name.rpartition(".")[2]
    return name.startswith(WRITING) and not paths.isdisjoint(_written_arguments(facts, call))


def _written_arguments(facts: Facts, call: Value) -> frozenset[str]:
    """The arguments of a CALL as they are written: in one function the same text is the same path."""
    given = call.syntax.args if isinstance(call.syntax, cst.Call) else ()
    return frozenset(facts.code(argument.value) for argument in given)
