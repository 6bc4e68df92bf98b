"""From the facts of a file to summaries of what it defines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.autograd.chains import Chains
from torchlint.facts.autograd.forwarded import Forwarded
from torchlint.facts.autograd.insertions import is_bounded
from torchlint.facts.hooks import own_circles
from torchlint.facts.hooks.circles import Circles
from torchlint.facts.host import debugging, emptying, figures, profiling, recording
from torchlint.facts.keeping import loading
from torchlint.facts.keeping.copies import Copies
from torchlint.facts.keeping.gathering import Gathering
from torchlint.facts.keeping.handed_over import HandedOver
from torchlint.facts.keeping.holders import Holders
from torchlint.facts.keeping.holding_attributes import HoldingAttributes
from torchlint.facts.keeping.letting_go import LettingGo
from torchlint.facts.keeping.views import Views
from torchlint.facts.repeated import compiling, reloading
from torchlint.facts.summaries.cutting import cut_by
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.summaries.effects import Doings
from torchlint.facts.summaries.given_parts import parameters_with_captured
from torchlint.facts.summaries.giving_several import given_several
from torchlint.facts.summaries.handing_over import handed_over
from torchlint.facts.summaries.keeps import Keeps
from torchlint.facts.summaries.loops import NO_LOOP, Loops
from torchlint.facts.summaries.own_states import OwnStates
from torchlint.facts.summaries.parameters import Parameters
from torchlint.facts.summaries.parts import UNKNOWN, Part, PartKind, Shape
from torchlint.facts.summaries.results import Results, path_from_parameter
from torchlint.facts.summaries.shapes import Shapes, name_of
from torchlint.facts.summaries.summary import MOST_CALLS, CallSummary, ClassSummary, FunctionSummary, Summary
from torchlint.facts.summaries.writes import writes_of
from torchlint.facts.turns.disk_passes import goes_over_disk
from torchlint.facts.turns.registries import dispatchers
from torchlint.facts.values.arithmetic import Arithmetic
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Container, is_live, surely_graphless
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Class, Function, Op, Place, Value
from torchlint.facts.values.making import makes
from torchlint.facts.values.overriding import is_left_open
from torchlint.facts.values.own_backwards import may_run_unseen
from torchlint.facts.values.residence import Residence, Residences
from torchlint.facts.values.running import run_by
from torchlint.facts.values.severing import severing_flag
from torchlint.facts.values.sizes import Sizes
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts import Facts

EFFECTS: dict[EffectKind, Callable[[Facts, Value], bool]] = {
    EffectKind.TIDIES: emptying.tidies,
    EffectKind.COMPILES: compiling.compiles,
    EffectKind.LOADS: reloading.may_read_model,
    EffectKind.GIVES_LOADED: loading.gives_loaded,
    EffectKind.DRAWS: figures.leaves_open,
    EffectKind.DRAWS_BY: figures.leaves_given_open,
    EffectKind.CLOSES: figures.may_close_any,
    EffectKind.PROFILES: profiling.records_all,
    EffectKind.SWITCHES_OFF: lambda facts, call: any(one.switches_off(facts, call) for one in (recording, debugging)),
}
"""What is told of functions that do it on each call, with what says so of the call of something imported."""

UNDONE: dict[EffectKind, Callable[[Facts, Value, bool], bool]] = {
    EffectKind.DRAWS: figures.closes_what_comes_of,
    EffectKind.DRAWS_BY: figures.closes_what_comes_of,
}
"""What a function may undo that another function of its file does."""


def summarise(facts: Facts, name: str) -> Summary:
    """What the top-level ``name`` of a file, or of the excerpt that defines it, is to other files."""
    return _Summariser(facts).summary(name)


class _Summariser:
    def __init__(self, facts: Facts) -> None:
        self.facts, self.solution, self.flows = facts, facts.solution, facts.flows
        top = facts.graph.module
        self.functions = [f for f in facts.graph.functions if f.parent is top and f.name != "<lambda>"]
        at_top = {f.owner for f in self.functions if f.owner is not None}
        bound = {v.reference for v in facts.graph.of(Op.CLASS) if v.function is top}
        self.classes = [c for c in facts.graph.classes if c in bound or c in at_top]
        self.shapes = Shapes(facts.flows, frozenset(self.classes))
        self._results = Results(facts, self.shapes, frozenset(self.classes))
        self._residences, self._own_states = Residences(facts.flows), OwnStates(facts.flows)
        self._gathering = Gathering(facts, self._residences)
        self._sizes, self._views = Sizes(facts), Views(facts.solution, facts.steps)
        self._doings = Doings(facts, EFFECTS, UNDONE)
        self._circles, self._holders = Circles(facts), Holders(facts)
        self._letting_go, self._handed_over = LettingGo(facts, self._holders), HandedOver(facts, self._holders)
        self._holding = HoldingAttributes(facts, self._holders)
        self._parameters, self._loops = Parameters(facts, self.shapes), Loops(facts)
        self._keeps, self._copies = Keeps(facts), Copies(facts, sees_callers=False)
        self._chains, self._forwarded = Chains(facts, is_open=True), Forwarded(facts)
        self._arithmetic = Arithmetic(facts.flows)

    def summary(self, name: str) -> Summary:
        functions = tuple(self._function(f) for f in self.functions if f.owner is None)
        classes = tuple(map(self._class, self.classes))
        return Summary(name, self._named(name), functions, classes)

    def _named(self, name: str) -> Shape:
        if any(cls.name == name for cls in self.classes):
            return (Part(PartKind.CLASS, name),)
        if any(f.name == name and f.owner is None for f in self.functions):
            return (Part(PartKind.FUNCTION, name),)
        place = Place(self.facts.graph.module, name)
        made = (atom for value in self.solution.stored.get(place, ()) for atom in self.solution.final(value))
        # What has room for so many only says nothing of that as a shape.
        is_open = not any(isinstance(atom, Container) and is_bounded(atom.allocation) for atom in made)
        return self._stored(place) if is_open else UNKNOWN

    def _stored(self, place: Place) -> Shape:
        """What a global or an attribute may hold."""
        stored = self.solution.stored.get(place, ())
        constant = self.shapes.constant(stored, place.owner)
        parts = [part for value in stored for part in self.shapes.of(value)] if constant is None else [constant]
        evidence = frozenset(self.solution.evidence.get(place, ()))
        if evidence:
            parts = [part for part in parts if part.kind is not PartKind.UNKNOWN]
            parts += self.shapes.shape(evidence)
        return tuple(dict.fromkeys(parts))

    # -- classes --------------------------------------------------------------------------------------------------

    def _class(self, cls: Class) -> ClassSummary:
        places = [*self.solution.stored, *(p for p in self.solution.evidence if isinstance(p, Place))]
        names = {p.path for p in places if p.owner is cls and "." not in p.path and p.path not in cls.methods}
        decorators = tuple(filter(None, (dotted(_undressed(d.decorator)) for d in cls.syntax.decorators)))
        return ClassSummary(
            name=cls.name,
            # What the file does not import it defines, be it that it is not read along.
            bases=(*(f":{parent.name}" for parent in cls.parents), *(b if "." in b else f":{b}" for b in cls.bases)),
            decorators=decorators,
            methods=tuple(map(self._function, cls.methods.values())),
            attributes=tuple((name, self._stored(Place(cls, name))) for name in sorted(names)),
            held=tuple(self._holding.of(cls)),
        )

    # -- functions ------------------------------------------------------------------------------------------------

    def _function(self, function: Function) -> FunctionSummary:
        calls, trains = self._calls(function), self.facts.steps.trains(function)
        told = list(calls)
        keeps = self._keeps.of(function)
        return FunctionSummary(
            name=function.name,
            parameters=tuple(map(self._parameters.of, function.parameters)),
            result=self._results.of(function, told),
            decorators=function.decorators,
            guard=function.guard.value,
            is_left_open=is_left_open(function),
            is_written=function.is_written,
            wraps=function.wraps.value if function.wraps is not None else "",
            alters=function.alters,
            is_altered=function.is_altered,
            converts=function.converts,
            is_converted=function.is_converted,
            memoises=function.memoises,
            is_async=function.is_async,
            is_generator=function.is_generator,
            calls=(*calls.values(), *self._handed(function)),
            keeps=keeps,
            writes=writes_of(
                function,
                self._keeps.stores_of(function),
                partial(self._results.shape_of, function=function, calls=told),
            ),
            effects=(
                *self._doings.of(function),
                *self._given_back(function),
                *self._in_circles(function),
                *self._tabled(function),
                *self._tapping(function),
            ),
            loops=self._loops.of(function),
            resets=tuple(sorted({*self._resets(function), *self._resets_through(function)})),
            leaves=self._own_states.left_by(function),
            continues=self._own_states.continued_by(function),
            chains=tuple(dict.fromkeys(self._chains.of(function))) if calls else (),
            trains=trains or may_run_unseen(self.solution, function),
            trains_long=trains and self.facts.loop_lengths.trains_long(function),
            repeats_steps=self.facts.repetitions.holds(function),
            lists=self._sizes.gives_many(function),
            goes_over_disk=any(map(partial(goes_over_disk, self.solution, self.facts.steps), function.yielding_loops)),
            yielded_outputs=tuple(self._gathering.yielded_outputs(function)),
            makes=makes(self.solution, function),
            tensors=self._views.bases.given_by(function),
            runs=self._runs(function),
            gives_output=function.result is not None and self.facts.extents.is_output(function.result),
            residence=self._residence(function),
            view=self._views.given_by(function),
            holds=self._holders.held_from(function) if function.name == "__init__" else (),
            releases=self._letting_go.by(function),
            hands_over=tuple(dict.fromkeys(handed_over(self.facts, function))),
            severed=severing_flag(self.solution, function),
            differentiates_by=tuple(dict.fromkeys(given_several(self.facts, function))),
            width=self._width(function),
            lengthened=tuple(self._arithmetic.lengthened(function)),
            cuts=cut_by(self.flows, function, self._parameters.handed_on) if not keeps else (),
            closure=self._closure(function),
        )

    def _width(self, function: Function) -> int | None:
        return self._views.bases.width(function.result) if is_forward(function) and function.result else None

    def _residence(self, function: Function) -> str:
        if function.result is None or is_forward(function):
            return ""  # a forward runs where each of its callers has the batch
        found = self._residences.of(function.result)
        return found.value if found is not Residence.UNKNOWN else ""

    def _closure(self, function: Function) -> FunctionSummary | None:
        """The function that is made in ``function`` and is all that it returns, where that keeps something."""
        results = choices(function.result) if not function.is_generator else []
        made = results[0].reference if len(results) == 1 and results[0].op is Op.FUNCTION else None
        keeps = self._keeps.of(made) if isinstance(made, Function) and made.parent is function else ()
        if not isinstance(made, Function) or not keeps:
            return None
        parameters = map(self._parameters.of, parameters_with_captured(made))
        return FunctionSummary(function.name, tuple(parameters), guard=made.guard.value, keeps=keeps)

    def _given_back(self, function: Function) -> Iterator[EffectSummary]:
        """What a function returns: a copy of a model, what its module keeps, a function that holds what it is given."""
        held = self._circles.holding.held_by(function.result) if function.result is not None else []
        of = tuple(i for i, one in enumerate(function.parameters) if any(one is each.value for each in held))
        if of:
            yield EffectSummary(EffectKind.BINDS, function.name, of, is_returned=True)
        for name in self._handed_over.keeping_result(function) if function.owner is None else ():
            yield EffectSummary(EffectKind.GIVES_KEPT, name, is_returned=True)
        copied = self._copies.given_by(function)
        if copied is not None:
            yield EffectSummary(EffectKind.COPIES, *copied, is_returned=True)

    def _in_circles(self, function: Function) -> Iterator[EffectSummary]:
        """The circles that an object is in as its ``__init__`` makes it, or will be by what it inherits or is given."""
        for name, position, is_returned in own_circles.tied_by(self._circles, function):
            yield EffectSummary(EffectKind.TIES, name, (position,), is_returned)
        if function.name != "__init__":
            return
        for name, position in own_circles.handed_to_itself(self._circles, function):
            yield EffectSummary(EffectKind.HANDS_ITSELF, name, (position,))
        for name, position, is_returned in own_circles.parts_handed_to_itself(self._circles, function):
            yield EffectSummary(EffectKind.HANDS_PART, name, (position,), is_returned)
        if function.owner is not None and own_circles.is_built_on_unseen(self._circles, function):
            yield EffectSummary(EffectKind.BUILDS_ON, function.name)
        for attribute, of in own_circles.closed_by(self._circles, function):
            yield EffectSummary(EffectKind.CIRCLES, attribute, of)
        for attribute, name, position in own_circles.closed_by_others(self._circles, function):
            yield EffectSummary(EffectKind.CIRCLES_BY, f"{attribute} {name}", (position,))
        for name, of in own_circles.closed_around_given(self._circles, function):
            yield EffectSummary(EffectKind.ENCLOSES if len(of) == 1 else EffectKind.HANDS_UP, name, of)

    def _tabled(self, function: Function) -> Iterator[EffectSummary]:
        """The functions of the file that call what this one, as a decorator, puts into a table."""
        for dispatcher in dispatchers(self.facts, function) if function.parameters else ():
            yield EffectSummary(EffectKind.TABLES, dispatcher.name)

    def _tapping(self, function: Function) -> Iterator[EffectSummary]:
        """The hooks of a function, or of the object that it makes, by which others get what modules compute."""
        methods = function.owner.methods.values() if function.owner is not None else ()
        if not self.facts.taps.tapping.isdisjoint([function, *(methods if function.name == "__init__" else ())]):
            yield EffectSummary(EffectKind.TAPS, function.name)

    def _calls(self, function: Function) -> dict[Value, CallSummary]:
        """The calls of modules and of what ``self`` holds."""
        found: dict[Value, CallSummary] = {}
        for call in self.facts.steps.calls_in(function):
            base, path = path_from_parameter(call.callee, function)
            if path and path[-1] in torch_api.module_methods() and not _may_be_own(function, base, path):
                continue
            called = self._called(call) if base < 0 else ""
            is_told = base >= 0 or called or self.facts.steps.calls_module(call)
            if is_told and not self.facts.inferences.on_a_dummy(call):
                found[call] = CallSummary(
                    function=called,
                    base=base,
                    path=path,
                    arguments=tuple(_passed_on(call, function)),
                    mode=call.mode.value,
                    gives_more=not all(map(self._is_parameter_or_number, call.arguments)),
                    evaluating=call.evaluating,
                    loop=self._loops.number(call.loop),
                    is_skipped=(base < 1 or not path) and self.facts.skipping.is_skipped(call, call.loop or function),
                    is_trained_on=call in self.flows.trained,
                    is_live=any(map(is_live, self.solution.final(call))),
                    leaves=call in self.flows.leaving or call in self.facts.taps.leaving,
                )
        found = dict(list(found.items())[:MOST_CALLS])
        return {call: replace(told, computed=self._computed(call, told, list(found))) for call, told in found.items()}

    def _computed(self, call: Value, told: CallSummary, calls: list[Value]) -> tuple[tuple[str | int, int, bool], ...]:
        """The arguments of a function or method of the file that come of an earlier one of ``calls``."""
        is_own = bool(told.function) or (told.base == 0 and len(told.path) == 1)
        if not is_own or not self.solution.functions_of(call):
            return ()
        earlier, found = calls[: calls.index(call)], list[tuple[str | int, int, bool]]()
        for key, argument in zip(call.keys[1:], call.arguments, strict=True):
            of = self._results.call_behind(argument, earlier) if key is not None and earlier else None
            if key is not None and of is not None:
                found.append((key, earlier.index(of), of is not argument))
        return tuple(found)

    def _handed(self, function: Function) -> Iterator[CallSummary]:
        """``_run(self.teacher, x)``: the calls of functions that run what an object hands to them, as if it did."""
        for call in self.facts.steps.calls_in(function) if function.owner is not None else ():
            has_graph = call in self.flows.leaving and any(map(is_live, self.solution.final(call)))
            handed = self._forwarded.by_helper(call) if has_graph else None
            base, path = path_from_parameter(handed.network, function) if handed is not None else (-1, ())
            if handed is not None and base == 0 and path:
                others = [one for one in call.arguments if one is not handed.network]
                yield CallSummary(
                    function="",
                    base=base,
                    path=path,
                    arguments=tuple(
                        (place, function.parameters.index(one))
                        for place, one in enumerate(others)
                        if one in function.parameters
                    ),
                    mode=call.mode.value,
                    gives_more=not all(map(self._is_parameter_or_number, others)),
                    is_trained_on=call in self.flows.trained,
                    is_live=True,
                    leaves=True,
                )

    def _is_parameter_or_number(self, argument: Value) -> bool:
        return argument in argument.function.parameters or surely_graphless(self.solution.final(argument))

    def _called(self, call: Value) -> str:
        """The function of the file that a CALL calls, where that is one."""
        functions = [f for f in self.solution.functions_of(call) if f.owner is None]
        return name_of(functions[0]) if len(functions) == 1 else ""

    def _runs(self, function: Function) -> bool:
        """Whether a function runs a network, by itself or by functions of its file."""
        inside = run_by(self.facts.steps, self.facts.steps.calls_in(function))
        return any(self.facts.steps.runs_module(c) for f in (function, *inside) for c in self.facts.steps.calls_in(f))

    def _resets(self, function: Function) -> Iterator[tuple[str, int]]:
        """The attributes that a method sets anew, each with the number of the loop in which it does."""
        root = function.owner.root() if function.owner is not None else None
        for place, _ in self.solution.stored_with(root) if root is not None else ():
            for loop in self.facts.lifetimes.reset_in(place, function):
                yield place.path, self._loops.number(loop)
        own = function.parameters[:1] if root is not None else []
        for reset in self.facts.graph.resets if own else ():  # of what a class below sets, too
            is_own = reset.holder.op is Op.ATTRIBUTE and reset.holder.inputs[0] in own
            if reset.function is function and is_own and not reset.is_thrown_away:
                yield reset.holder.name, self._loops.number(reset.loop)

    def _resets_through(self, function: Function) -> Iterator[tuple[str, int]]:
        """The attributes whose objects a method resets: ``for meter in self.meters.values(): meter.reset()``."""
        for call in self.facts.steps.calls_in(function) if function.owner is not None else ():
            methods = self.solution.functions_of(call) if call.callee.op is Op.ATTRIBUTE else []
            if any(one.owner is not function.owner and self._begins_anew(one) for one in methods):
                found = self._keeps.holder_of(call.callee.inputs[0], function)
                if found is not None and found[0] == 0 and found[1]:
                    yield found[1], NO_LOOP

    def _begins_anew(self, method: Function) -> bool:
        """Whether a method resets its object; ``self.last = value; self.sum += value`` goes on with the sum."""
        called = (one for call in self.facts.steps.calls_in(method) for one in self.solution.functions_of(call))
        own = [method, *(one for one in called if one.owner is method.owner)]
        anew = {name for one in own for name, _ in self._resets(one)}
        return bool(anew) and anew.issuperset(keep.attribute for keep in self._keeps.of(method) if keep.grows)


def _may_be_own(function: Function, base: int, path: tuple[str, ...]) -> bool:
    """Whether a method that modules have as well may be one of the program: ``self.apply(loss)`` of a trainer."""
    owner = function.owner if base == 0 and len(path) == 1 else None
    return path[-1] == "forward" or (owner is not None and not is_module_class(owner))


def _passed_on(call: Value, function: Function) -> Iterator[tuple[str | int, int]]:
    """The parameters of a function that a call in it is given as they are, each with its position or keyword there."""
    for key, argument in zip(call.keys[1:], call.arguments, strict=True):
        if key is not None and argument in function.parameters:
            yield key, function.parameters.index(argument)


def _undressed(decorator: cst.BaseExpression) -> cst.BaseExpression:
    return decorator.func if isinstance(decorator, cst.Call) else decorator
