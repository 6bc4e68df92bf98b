"""How long holders live: what outlives a step, and what sets it anew within one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.births import Births, Position
from torchlint.facts.turns.forwards import given_object, is_given_anew, is_within_forward
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import ClassReference
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Class, Function, Kind, Loop, Op, Place, Reset, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution

HOPS = 6
"""How many callers up a holder's life is followed."""


@dataclass(frozen=True)
class _Steps:
    """Which loops count as steps, and which functions without callers run in each of them."""

    is_step: Callable[[Loop], bool]
    comes_again: Callable[[Function], bool]


class Lifetimes:
    """Answers how long a holder lives."""

    def __init__(self, solution: Solution, flows: Flows, steps: Steps) -> None:
        """Work on ``solution``; where places are set anew is collected when it is first asked for."""
        self.solution = solution
        self.flows = flows
        self.steps = steps
        self.births = Births(solution)
        self._anew: dict[Store, bool] = {}

    def _resets(self, home: Place | Value, *, wholly: bool = False) -> Iterator[Position]:
        """Where a holder is cleared, be it of one item, or given something else without a graph."""
        yield from (Position(s.function, s.loop) for s in self._assigned.get(home, ()) if self._is_anew(s))
        yield from self._cleared.get(home, ())
        yield from self._thinned.get(home, ()) if not wholly else ()

    def _cuts(self, home: Place | Value) -> Iterator[Position]:
        """Where a holder is cleared, or given something without a graph, be it what it held."""
        assigned = self._assigned.get(home, ())
        yield from (Position(s.function, s.loop) for s in assigned if not self.flows.carries(s.value))
        yield from self._cleared.get(home, ())
        yield from self._thinned.get(home, ())

    @cached_property
    def _assigned(self) -> dict[Place | Value, list[Store]]:
        """What is assigned to each place, but for what it begins with."""
        table: dict[Place | Value, list[Store]] = defaultdict(list)
        graph = self.solution.graph
        for store in graph.stores:
            if store.kind is Kind.ASSIGN and store.value not in graph.beginnings:
                for target in targets_of(self.solution, store):
                    table[target].append(store)
        return table

    @cached_property
    def _cleared(self) -> dict[Place | Value, list[Position]]:
        """Where each holder is cleared."""
        table = self._reset_by(reset for reset in self.solution.graph.resets if not reset.is_thrown_away)
        for place, function, loop in self.solution.graph.foreign.resets:
            table[place].append(Position(function, loop))
        return table

    @cached_property
    def _thinned(self) -> dict[Place | Value, list[Position]]:
        """Where some of what a holder has is thrown away."""
        return self._reset_by(reset for reset in self.solution.graph.resets if reset.is_thrown_away)

    def _reset_by(self, resets: Iterable[Reset]) -> dict[Place | Value, list[Position]]:
        table: dict[Place | Value, list[Position]] = defaultdict(list)
        for reset in resets:
            for target in homes_of(self.solution, reset.holder):
                table[target].append(Position(reset.function, reset.loop))
        return table

    @cached_property
    def buffers(self) -> frozenset[Place]:
        """Where modules keep what they have registered as buffers."""
        registered = self.solution.graph.buffers
        return frozenset(place for holder, name in registered for place in self.solution.places(holder, name))

    def _is_anew(self, store: Store) -> bool:
        """Whether an assignment drops the old content for something without a graph; most are never asked about."""
        if store not in self._anew:
            self._anew[store] = self._sets_anew(store)
        return self._anew[store]

    def _sets_anew(self, store: Store) -> bool:
        if self.flows.live_parts(store.value) or self._is_object_of_live(store.value):
            return False
        if (
            store.value.op is Op.CALL
            and store.value.callee.name.startswith("torch.")
            and store.value.name.endswith("_like")
        ):
            return True  # of what `zeros_like` is given only the size is read
        targets = targets_of(self.solution, store)
        read = (place for value in store.value.computed_from() for place in self.solution.read_from(value))
        return not any(place in targets for place in read)

    def outlives(
        self,
        homes: list[Place | Value],
        function: Function,
        loop: Loop | None,
        *,
        chained: bool = False,
        is_step: Callable[[Loop], bool] | None = None,
        begun_in: Function | None = None,
        wholly: bool = False,
        comes_again: Callable[[Function], bool] | None = None,
    ) -> bool:
        """Whether a holder, changed at this position, lives through a step without being set anew in it.

        ``chained``: asked is whether the graph of its content lives on; ``self.h = self.h.detach()`` ends that as well,
        and a new list does not where what is in it has the graph of what was in the old one.
        ``is_step``: which loops count as steps, those of ``steps.py`` without it.
        ``begun_in``: the function that sets it anew to fill it, so that this ends what the step before has left.
        ``wholly``: asked is whether anything in it lives on, be it that some of it is thrown away.
        ``comes_again``: which functions run in each step of which no caller is seen, those of ``steps.py`` without it.
        """
        given = given_object(homes)
        if given is not None and self._is_of_one_step(*given):
            return False
        if any(map(self._is_emptied_unseen, homes)):
            return False
        # One that is begun where an attribute has nothing is that attribute, be it read before a condition on it.
        homes = [
            *homes,
            *(place for home in homes if isinstance(home, Value) for place in self.births.begun_at.get(home, ())),
        ]
        ends = self._cuts if chained else partial(self._resets, wholly=wholly)
        resets = [end for home in homes for end in ends(home) if begun_in is None or end.function is not begun_in]
        resets += [Position(owner, None) for home in homes if (owner := self._owner_of_local(home)) is not None]
        containers = [home for home in homes if isinstance(home, Value)]
        # `kept += [x]` makes a list only to add it to the one that stays, `[*kept, x]` one that has the last one's.
        staying = [
            made
            for made in containers
            if not any(user.op is Op.OPERATION for user in made.users) and not self._takes_over(made)
        ]
        for made in staying or containers:
            resets += self.births.of(made)
        if given is not None:
            resets += self._births_of_given(given[0], HOPS)
            resets += self._births_of_outputs(given[0])
        steps = _Steps(is_step or self.steps.is_step, comes_again or self.steps.is_repeated)
        return self._outlives(Position(function, loop), self._lifted(resets), HOPS, set(), steps)

    def homes_around(self, homes: list[Place | Value]) -> list[Place | Value]:
        """Where the containers are kept into which one goes before its place gets another: ``rows.append(self.row)``.

        Nothing where it is emptied instead, and for one that nothing else has.
        """
        made = [home for home in homes if isinstance(home, Value)]
        around = [one for one in reached(made, lambda value: self.births.kept_in.get(value, ())) if one not in made]
        if not around or any(self._cleared.get(home) or self._thinned.get(home) for home in homes):
            return []
        places = [place for place, values in self.solution.stored.items() if not set(values).isdisjoint(around)]
        return [*places, *around] if places else []

    def _takes_over(self, made: Value) -> bool:
        """Whether a list is made of what it had itself in the last turn, or its attribute in the last call."""
        if made.op is not Op.CONTAINER:
            return False
        sources = [item.inputs[0] for item in made.inputs if item.op is Op.ELEMENT]
        if any(source.op is Op.PHI and made in source.inputs for source in sources):
            return True
        attributes = (source for source in sources if source.op is Op.ATTRIBUTE)
        homes = (home for attribute in attributes for home in self.solution.read_from(attribute))
        return any(store.value is made for home in homes for store in self._assigned.get(home, ()))

    def _owner_of_local(self, home: Place | Value) -> Function | None:
        """The function that has a place for a variable, another one with each call; None for all else."""
        if not isinstance(home, Place) or not isinstance(home.owner, Function) or not home.path.isidentifier():
            return None
        return None if home.owner is self.solution.graph.module else home.owner

    def _is_emptied_unseen(self, home: Place | Value) -> bool:
        """Whether functions of another file empty a global of theirs, and this file is not seen to call any."""
        emptying = [function for one, function, _ in self.solution.graph.foreign.resets if one is home]
        calls = (call for function in emptying for call in self.solution.callers.get(function, ()))
        is_global = isinstance(home, Value) and bool(emptying)
        return is_global and all(call.function.is_foreign for call in calls)

    def cut_by(self, homes: Iterable[Place | Value]) -> frozenset[Function]:
        """The functions that clear holders, or give them something without a graph, and those that call them."""
        return frozenset(
            position.function for position in self._lifted(end for home in homes for end in self._cuts(home))
        )

    def _is_of_one_step(self, origin: Value, is_part: bool) -> bool:
        """Whether what a function is given, or a part of it, belongs to the step of which this is a call."""
        function = origin.function
        if is_part and is_within_forward(self.solution, function):
            return True
        return origin.op is Op.PARAMETER and self._is_given_by_others(origin, HOPS)

    def _is_given_by_others(self, parameter: Value, hops: int) -> bool:
        """Whether callers that are not seen pass it, who give other objects each time: a framework, a model."""
        function = parameter.function
        callers = self.solution.callers.get(function, {})
        if not callers:
            return is_given_anew(function) or self._helps_forward(function)
        given = [value.unnarrowed() for passed in callers.values() if (value := passed.get(parameter)) is not None]
        is_handed_on = len(given) == len(callers) and all(value.op is Op.PARAMETER for value in given)
        return hops > 0 and is_handed_on and all(self._is_given_by_others(value, hops - 1) for value in given)

    def _helps_forward(self, function: Function) -> bool:
        """Whether a method of a module does a part of a step, as its forward does: it trains nothing and has no steps.

        What it is given, such as the cache of a decoder, belongs to whoever holds the module.
        """
        if function.owner is None or not is_module_class(function.owner) or self.steps.trains(function):
            return False
        return not any(loop.function is function and self.steps.is_step(loop) for loop in self.solution.graph.loops)

    def _births_of_given(self, parameter: Value, hops: int) -> list[Position]:
        """Where what is passed for a parameter is made, or drawn from what a loop runs over."""
        made: list[Position] = []
        for call, passed in self.solution.callers.get(parameter.function, {}).items():
            given = passed.get(parameter)
            value = given.unnarrowed() if given is not None else None
            if value is not None and value.op is Op.PARAMETER and hops:
                made += self._births_of_given(value, hops - 1)
            elif value is not None and value.op in (Op.ELEMENT, Op.CALL, Op.CONTAINER) and value.loop is not None:
                made += [Position(value.function, value.loop)] if value.function is call.function else []
        return made

    def _births_of_outputs(self, origin: Value) -> list[Position]:
        """Where modules make what they give, such as an output with a loss: another object for each call."""
        calls = origin.inputs if origin.op is Op.PHI else (origin,)
        is_output = all(call.op is Op.CALL and self.steps.calls_module(call) for call in calls)
        return [Position(call.function, call.loop) for call in calls] if is_output else []

    def passes_without(
        self, function: Function, loop: Loop | None, positions: Iterable[tuple[Function, Loop | None]]
    ) -> bool:
        """Whether a step around this position may end without running one of ``positions``."""
        resets = {Position(*position) for position in positions}
        steps = _Steps(self.steps.is_step, self.steps.is_repeated)
        return self._outlives(Position(function, loop), self._lifted(resets), HOPS, set(), steps)

    def resetters(self, homes: list[Place | Value]) -> set[Function]:
        """The functions that set a holder anew; that of its birth is none of them by that alone."""
        return {position.function for home in homes for position in self._resets(home)}

    def reset_in(self, home: Place | Value, function: Function) -> list[Loop | None]:
        """The innermost loops of a function in which it sets a holder anew, None for where it does so in no loop."""
        return [position.loop for position in self._resets(home) if position.function is function]

    def is_reset(self, homes: list[Place | Value]) -> bool:
        """Whether anything in the file sets one of these anew, or takes something out of it."""
        return any(True for home in homes for _ in self._resets(home))

    def is_ended_from_outside(self, homes: list[Place | Value], function: Function) -> bool:
        """Whether another method of the object ends what ``function`` carries on, and nobody here is seen to call it.

        ``neuron.reset()`` between two samples: how often that runs is up to whoever drives the object.
        """
        foreign = self.solution.graph.foreign
        known = {(place, method.name) for place, method, _ in foreign.resets}
        if any(place in homes and name != "__init__" and (place, name) not in known for place, name in foreign.endings):
            return True
        ending = {position.function for home in homes for position in self._cuts(home)}
        return any(
            method is not function and method.name != "__init__" and method.owner is not None
            and all(call.function.name == "__init__" for call in self.solution.callers.get(method, ()))
            for method in ending
        )  # fmt: skip

    def _is_object_of_live(self, value: Value) -> bool:
        """Whether a value is an object of the file that is made of a tensor with a graph."""
        is_made = value.op is Op.CALL and any(isinstance(a, ClassReference) for a in self.solution.final(value.callee))
        is_live = is_made and any(self.flows.live(argument) is not None for argument in value.arguments)
        return is_live or self.flows.is_live_record(value)

    def _outlives(
        self,
        at: Position,
        resets: set[Position],
        hops: int,
        seen: set[Function],
        steps: _Steps,
    ) -> bool:
        around = at.loop.around() if at.loop is not None else []
        levels = [around.index(r.loop) if r.loop in around else len(around) for r in resets if _encloses(r, at)]
        inside = around[: min(levels)] if levels else around
        if any(map(steps.is_step, inside)):
            return True
        if levels or hops == 0 or at.function in seen:
            return False
        callers = self.solution.callers.get(at.function, {})
        if not callers:
            return steps.comes_again(at.function)
        return any(
            self._outlives(Position(call.function, call.loop), resets, hops - 1, seen | {at.function}, steps)
            for call in sorted(callers, key=lambda value: value.index)
        )

    def _lifted(self, resets: Iterable[Position]) -> set[Position]:
        """The positions of resets, and of the calls that lead to them, but for those by which something begins."""
        found: set[Position] = set()
        frontier = set(resets)
        for _ in range(HOPS):
            found |= frontier
            frontier = {
                lifted
                for position in frontier
                for call in self.solution.callers.get(position.function, {})
                for lifted in self._led_to_by(call, position.function)
            } - found
        return found

    def _led_to_by(self, call: Value, function: Function) -> list[Position]:
        """Where a CALL of ``function`` sets things anew: an object that is made only for what has none is no new one.

        ``self.sums.setdefault(name, Sum())``: its sum is set anew where the dictionary is, or is emptied.
        """
        stores = self._firsts.get(call, ()) if function.name == "__init__" else ()
        if not stores:
            return [Position(call.function, call.loop)]
        homes = [
            home
            for store in stores
            for home in (targets_of(self.solution, store) or homes_of(self.solution, store.holder or call)[1:])
        ]
        found = [end for home in homes for end in self._resets(home)]
        for home in homes:
            if isinstance(home, Value):
                found += self.births.of(home)
            elif isinstance(home.owner, Class):
                found += [Position(made.function, made.loop) for made in self.births.objects_of.get(home.owner, ())]
        return found

    @cached_property
    def _firsts(self) -> dict[Value, list[Store]]:
        """What is put or assigned somewhere only where nothing was before, with the stores that do so."""
        table: dict[Value, list[Store]] = defaultdict(list)
        for store in self.solution.graph.stores:
            is_default = store.call is not None and store.call.callee.name == "setdefault"
            is_default = is_default or (store.kind is Kind.INSERT and store.function.name == "__missing__")
            if store.value.op is Op.CALL and (is_default or store.value in self.solution.graph.beginnings):
                table[store.value].append(store)
        return table


def _encloses(reset: Position, at: Position) -> bool:
    """Whether a reset runs in the same turn of the loops around it as ``at``."""
    if reset.function is not at.function:
        return False
    return reset.loop is None or (at.loop is not None and reset.loop in at.loop.around())
