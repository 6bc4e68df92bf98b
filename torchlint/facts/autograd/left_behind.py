"""What an inference leaves behind, on objects, in globals and in their containers, and a backward goes over later.

Without gradients it would be left without a graph. A training that runs the forward as well sets most of it anew before
it reads that; where an inference comes in between, or a state goes on from there, it is that one's which is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.unseen_terms import UnseenTerms
from torchlint.facts.summaries.imports import Imports
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.graph import Class, Function, Kind, Loop, Op, Place, Store, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.facts.values.running import run_by
from torchlint.syntax.tree import children, walk_statements

HOPS = 6
"""Through so many callers it is looked for what sets a place before it is read."""


ASKING = frozenset(["torch.is_grad_enabled", "torch.is_inference_mode_enabled"])
"""Functions that tell the grad mode."""

LAST = 1 << 60
"""Behind all values of a statement."""


class LeftBehind:
    """Answers for the functions of one file whether a backward needs the graphs that they leave behind."""

    def __init__(self, steps: Steps, project: Imports) -> None:
        """Look when first asked; ``project``: what other files do."""
        self.steps, self.flows, self.solution = steps, steps.flows, steps.solution
        self._run: dict[Function, frozenset[Function]] = {}
        self._orders: dict[Function, _Order] = {}
        self._others_train_on = project.train_on
        self._terms = UnseenTerms(steps, project.mention_below)

    def is_trained(self, function: Function) -> bool:
        """Whether a backward may start from what ``function``, or what it runs, has left somewhere."""
        run = self.run_by(function)
        places = {place for store in self._live_stores if store.function in run for place in self.places(store)}
        places |= self._left_by_other_files(run)
        return any(
            self._is_trained_by_others(place)
            or not all(self._is_set_before(read, place, function, HOPS) for read in self._reads(place))
            for place in sorted(places, key=lambda place: place.path)
        )

    def asks_for_mode(self, function: Function) -> bool:
        """Whether ``function``, or what it runs, asks whether gradients are on, and so may do something else there."""
        calls = (call for one in self.run_by(function) for call in self.steps.calls_in(one))
        return any(call.callee.name in ASKING for call in calls)

    def run_by(self, function: Function) -> frozenset[Function]:
        """``function`` and all that it calls, however deep."""
        if function not in self._run:
            self._run[function] = frozenset([function, *run_by(self.steps, self.steps.calls_in(function))])
        return self._run[function]

    def _is_run_by(self, function: Function, call: Value) -> bool:
        return any(function in self.run_by(one) for one in self.solution.functions_of(call))

    # -- what is left, and who reads it -------------------------------------------------------------------------------

    @cached_property
    def _live_stores(self) -> list[Store]:
        """What is kept with a graph."""
        return [store for store in self.solution.graph.stores if self.flows.live_parts(store.value)]

    def _left_by_other_files(self, run: frozenset[Function]) -> set[Place]:
        """The attributes of which methods of other files, that are run, leave a graph, or add one to what is there."""
        foreign = self.solution.graph.foreign
        return {place for place, method in (*foreign.leaves, *foreign.continues) if method in run}

    def _is_trained_by_others(self, place: Place) -> bool:
        """Whether another file trains on such an attribute, whenever that is."""
        return isinstance(place.owner, Class) and self._others_train_on(place.path.rpartition(".")[2])

    def _reads(self, place: Place) -> list[Value]:
        """What reads a place, and flows into a backward."""
        return [*self.trained_reads.get(place, ()), *self._terms.reading(place), *self._going_on_from(place)]

    def _going_on_from(self, place: Place) -> list[Value]:
        """The CALLs, trained on, of methods of other files that go on from what is there."""
        methods = {method for home, method in self.solution.graph.foreign.continues if home == place}
        if not methods:
            return []
        calls = (call for call in self.solution.graph.of(Op.CALL) if call in self.flows.trained)
        return [call for call in calls if not methods.isdisjoint(self.solution.functions_of(call))]

    def _setting_elsewhere(self, place: Place) -> set[Function]:
        foreign = self.solution.graph.foreign
        setting = [(home, method) for home, method, _ in foreign.resets]
        return {method for home, method in (*setting, *foreign.leaves) if home == place}

    def places(self, store: Store) -> list[Place]:
        """Where a store keeps it: an attribute or a variable, or the container that one has."""
        homes = targets_of(self.solution, store)
        if store.kind is Kind.INSERT and store.holder is not None:
            homes = homes_of(self.solution, store.holder)
        return [home for home in homes if isinstance(home, Place)]

    @cached_property
    def trained_reads(self) -> dict[Place, list[Value]]:
        """What is read at each place and flows into a backward."""
        trained, readers = self.flows.trained, self.solution.readers
        table = {place: [read for read in reads if read in trained] for place, reads in readers.items()}
        return {place: reads for place, reads in table.items() if reads}

    # -- what sets it before it is read -------------------------------------------------------------------------------

    def _is_set_before(self, at: Value, place: Place, inferring: Function, hops: int) -> bool:
        """Whether a place is set anew before a read, or a call that reads it, and no inference runs in between."""
        function = at.function
        if function is inferring:
            return True  # it would be without gradients as a whole
        order = self._order(function)
        settings = [one for one in self._settings(function, place, inferring) if order.leads(one, at)]
        if settings:
            last = max(settings, key=order.of)
            calls = self.steps.calls_in(function)
            return not any(order.is_between(last, call, at) and self._is_run_by(inferring, call) for call in calls)
        callers = list(self.solution.callers.get(function, {}))
        if not callers or hops == 0:
            return False
        return all(self._is_set_before(call, place, inferring, hops - 1) for call in callers)

    def _settings(self, function: Function, place: Place, inferring: Function) -> Iterator[Value | Store]:
        """All in a function that sets a place anew, or empties what it has."""
        for store in self._assignments.get(place, ()):
            if store.function is function:
                yield store
        setting = {store.function for store in self._assignments.get(place, ())}
        setting |= self._setting_elsewhere(place)
        for call in self.steps.calls_in(function):
            run = [self.run_by(one) for one in self.solution.functions_of(call)]
            if run and not any(inferring in one for one in run) and any(not setting.isdisjoint(one) for one in run):
                yield call
            elif call.callee.op is Op.ATTRIBUTE and call.callee.name == "clear":
                if place in homes_of(self.solution, call.callee.inputs[0]):
                    yield call

    @cached_property
    def _assignments(self) -> dict[Place, list[Store]]:
        table: dict[Place, list[Store]] = {}
        for store in self.solution.graph.stores:
            if store.kind is Kind.ASSIGN:
                for place in targets_of(self.solution, store):
                    if isinstance(place, Place):
                        table.setdefault(place, []).append(store)
        return table

    def _order(self, function: Function) -> _Order:
        if function not in self._orders:
            self._orders[function] = _Order(function)
        return self._orders[function]


class _Order:
    """What comes before what in the text of one function."""

    def __init__(self, function: Function) -> None:
        self._top, self._positions = function.syntax, dict[cst.CSTNode, int]()
        self._blocks: dict[cst.CSTNode, tuple[cst.CSTNode, ...]] = {}
        around: dict[cst.CSTNode, tuple[cst.CSTNode, ...]] = {}
        for position, node in enumerate(walk_statements(function.syntax)):
            blocks = around.get(node, ())
            self._positions[node], self._blocks[node] = position, blocks
            for child in children(node):
                is_body = isinstance(node, cst.If | cst.For | cst.While | cst.ExceptHandler | cst.Else | cst.MatchCase)
                around[child] = (*blocks, child) if is_body else blocks

    def of(self, one: Value | Store) -> tuple[int, int]:
        """Where something stands, in the order of the text."""
        statement = one.statement or self._top
        index = one.index if isinstance(one, Value) else LAST
        return self._positions.get(statement, -1), index

    def leads(self, one: Value | Store, at: Value) -> bool:
        """Whether ``one`` runs before ``at`` whenever that runs."""
        blocks, others = self._around(one), self._around(at)
        return self.of(one) < self.of(at) and others[: len(blocks)] == blocks

    def _around(self, one: Value | Store) -> tuple[cst.CSTNode, ...]:
        """The bodies that need not run around something."""
        return self._blocks.get(one.statement or self._top, ())

    def is_between(self, first: Value | Store, one: Value, last: Value) -> bool:
        """Whether ``one`` may run after ``first`` and before ``last``, be it in the turn of a loop before."""
        if self.of(first) < self.of(one) < self.of(last):
            return True
        inner = set(_around(last.loop)) - set(_around(first.loop))
        return not inner.isdisjoint(_around(one.loop))


def _around(loop: Loop | None) -> Iterator[Loop]:
    return iter(()) if loop is None else iter(loop.around())
