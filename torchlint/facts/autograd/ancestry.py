"""The walk back over the value graph: all that flows into a value, through calls, containers and attributes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from torchlint.facts.autograd.belated import Edges, is_belated
from torchlint.facts.autograd.columns import lists_of_rows, parts_read
from torchlint.facts.autograd.repackaging import Repackaging
from torchlint.facts.autograd.written import brings_graph, made_of, written_into
from torchlint.facts.values.dictionaries import surely_lists_keys
from torchlint.facts.values.domain import Abstract, Container, FunctionReference, is_graphless, sorted_values
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.frameworks import may_be_module
from torchlint.facts.values.graph import Function, Kind, Mode, Op, Place, Value
from torchlint.facts.values.handing_on import results_behind
from torchlint.facts.values.homes import allocations_of, homes_of, readers_of
from torchlint.facts.values.known import OWN_ITEMS
from torchlint.facts.values.parameters import gathers
from torchlint.facts.values.record_fields import calls_between, given_for_field
from torchlint.facts.values.solve import Solution

PARTS = (Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE)
"""What is read of an object: an item, one in a loop over it, an attribute."""


class _Between(NamedTuple):
    """The calls that give a record on, from where it is made to where a field of it is read, and what they run."""

    calls: tuple[Value, ...]
    makers: frozenset[Function]


_NOTHING_BETWEEN = _Between((), frozenset())


class Ancestry:
    """Answers what flows into a value. Edges err towards reaching too much, since who is reached is said nothing of.

    Attributes:
        given_for_fields: for each field that was met what the records were made with of which it is read.
    """

    def __init__(self, solution: Solution) -> None:
        """Prepare the edges of what is put into containers."""
        self.solution = solution
        self._repackaging = Repackaging(solution)
        self._into: dict[Place | Value, list[Value]] = defaultdict(list)
        self._sources: dict[Value, list[Value]] = {}
        self.given_for_fields: dict[Value, list[Value]] = {}
        self._between: dict[Value, _Between] = {}
        self._brings_none: dict[Value, bool] = {}
        self._ancestors: dict[Value, frozenset[Value]] = {}
        self._given_on: dict[Function, frozenset[Value] | None] = {}
        for store in solution.graph.stores:
            if (store.kind is Kind.INSERT or store.is_item) and store.holder is not None:
                if not brings_graph(solution, store):
                    continue
                around: list[Place | Value] = [*solution.read_from(store.holder), *self._around(store.holder)]
                for home in (store.holder, *around):
                    self._into[home].append(store.value)
            elif store.attribute and store.holder is not None:
                for made in allocations_of(solution, store.holder):  # `walk = SimpleNamespace()`, `walk.rows = []`
                    self._into[made].append(store.value)
        for holder, written in written_into(solution).items():
            homes: list[Place | Value] = [holder, *solution.read_from(holder)]
            for home in homes:
                self._into[home] += [value for value in written if value not in self._into[home]]
        kept = readers_of(solution, self._into)
        self._holding = made_of(solution, [*(one for one in self._into if isinstance(one, Value)), *kept])
        self._ends = self._ends_of_gradients()
        own = (values for place, values in solution.stored.items() if place.path == OWN_ITEMS)
        self._own_items = frozenset(value for values in own for value in values)
        lasting = (held for made, held in solution.held.items() if _is_made_to_last(made))
        self._kept_items = self._own_items.union(item for items in lasting for _, item in items)
        self.rows = {one.made: one for one in lists_of_rows(solution)}
        self._read_of_rows = dict(parts_read(list(self.rows.values())))

    def _around(self, holder: Value) -> Iterator[Value]:
        """What a part is taken of, as far as nothing is known to be that part.

        ``rows[key].append(x)`` puts something into what a ``defaultdict(list)`` has made, ``walk.rows.append(x)`` into
        what a ``SimpleNamespace(rows=[])`` was made with.
        """
        while holder.op in PARTS and not homes_of(self.solution, holder)[1:]:
            holder = holder.inputs[0]
            yield holder
            yield from allocations_of(self.solution, holder)

    def of(self, value: Value) -> frozenset[Value]:
        """The :meth:`of_all` of one value, remembered: they are asked for with each value that may be among them."""
        if value not in self._ancestors:
            self._ancestors[value] = self.of_all([value])
        return self._ancestors[value]

    def of_all(
        self, roots: Iterable[Value], belated: Edges = frozenset(), unread: Set[Value] = frozenset()
    ) -> frozenset[Value]:
        """All values that flow into ``roots``; not by what is put into an object too late (``belated``), or ``unread``.

        A path may leave a function through its parameters (to the callers' arguments) or enter one through its result,
        but not leave by another call than it entered: once inside a callee, its parameters lead nowhere, since the
        call's own arguments are followed from the call.
        """
        return self._walk([(root, True) for root in roots], belated, unread)

    def made_in(self, results: Iterable[Value]) -> frozenset[Value]:
        """What flows into ``results`` of functions, but for what these are given."""
        return self._walk([(result, False) for result in results])

    def _walk(
        self, pending: list[tuple[Value, bool]], belated: Edges = frozenset(), unread: Set[Value] = frozenset()
    ) -> frozenset[Value]:
        """See :meth:`of_all`; each root is given with whether the path may leave its function by its parameters."""
        seen: dict[Value, bool] = {}
        between: set[Value] = set()  # what gives a record on is behind its field, and what else it is given is not
        while pending:
            value, may_ascend = pending.pop()
            if value in seen and (seen[value] or not may_ascend):
                continue
            brings_none = self._brings_none.get(value)
            if brings_none is None:
                brings_none = self._brings_none[value] = self._is_without_graph(value)
            if brings_none:
                continue
            seen[value] = may_ascend
            if value in self._ends or value in unread:
                continue
            if value.op is Op.PARAMETER:
                if may_ascend:
                    pending.extend((source, True) for source in self.sources(value))
                continue
            through_place = value.op in (Op.READ, Op.ATTRIBUTE)
            sources = self.sources(value)
            if not may_ascend and value in self.given_for_fields and self._is_given_by_several(value):
                pending.append((value.inputs[0], False))
                continue
            giving = self._between.get(value, _NOTHING_BETWEEN)
            for call in giving.calls:  # who makes the record has been given what these calls give, and nobody else's
                is_above = call.function not in giving.makers and (may_ascend or call.function is not value.function)
                pending.extend((given, is_above) for given in self.given_to(call))
            for source in sources:
                if source.function in giving.makers:
                    pending.append((source, False))
                    continue
                if belated and is_belated(self.solution, value, source, belated):
                    continue
                if unread and _is_receiver(source, value) and value.callee in unread:
                    continue  # `self.net(x)` needs no more of the object than its network
                is_here = source.function is value.function
                # What another method has put into an attribute came from whoever called that.
                is_kept = (through_place or source in self._kept_items) and not is_here
                ascends = is_kept or (may_ascend and (is_here or self._is_lasting(value, source)))
                pending.append((source, ascends))
            between.update(giving.calls)
        return frozenset(between.union(seen))

    def _is_given_by_several(self, field: Value) -> bool:
        """Whether a field is read of a record that several callers give: the one that is meant is followed there."""
        record = field.inputs[0].unnarrowed()
        return record.op is Op.PARAMETER and len(self.solution.callers.get(record.function, ())) > 1

    def _is_lasting(self, value: Value, source: Value) -> bool:
        """Whether one function reads what another has put into a container that both know, as of an object's attribute.

        ``torch.stack(self.trail["terms"])`` of ``self.trail[name].append(term)``: no call leads from one to the other.
        """
        if value.op is Op.CONTAINER or value in self._own_items:
            return True
        is_item = value.op in (Op.SUBSCRIPT, Op.ELEMENT)
        return is_item and source.op is Op.CONTAINER and _is_made_to_last(source)

    def _is_without_graph(self, value: Value) -> bool:
        if all(map(is_graphless, self.solution.final(value))) and not self._may_hold(value):
            return True
        return value.op is Op.CALL and (
            self._repackaging.ends_graphs(value) or self._is_guarded_method(value) or self._makes_numbers(value)
        )

    def _makes_numbers(self, call: Value) -> bool:
        """``map(float, row)``: a number of each item."""
        is_mapping = call.callee.op is Op.EXTERNAL and meaning_of(call.callee.name) is Meaning.APPLIES
        return is_mapping and self._holds_numbers(self.solution.final(call), ())

    def _is_guarded_method(self, call: Value) -> bool:
        """Whether an unseen method of a module is called with gradients off: what it computes has no graph."""
        if call.mode is not Mode.OFF or call.callee.op is not Op.ATTRIBUTE or self.solution.functions_of(call):
            return False
        return may_be_module(self.solution, call.callee.inputs[0])

    def _may_hold(self, value: Value) -> bool:
        """Whether a graph may be in a value without one: what is put into a tensor, `rows[i] = x`, brings its own."""
        return value.op in (Op.CONTAINER, Op.PHI) or value in self._holding

    def sources(self, value: Value) -> list[Value]:
        """The values that ``value`` is made of, or may be."""
        if value not in self._sources:
            self._sources[value] = self._find_sources(value)
        return self._sources[value]

    def _find_sources(self, value: Value) -> list[Value]:
        solution = self.solution
        if value.op is Op.COMPARISON:
            return []
        if value in self._read_of_rows:
            return self._read_of_rows[value]
        found = self.given_to(value) if value.op is Op.CALL else list(value.inputs)
        if value.place is not None:
            found += solution.stored.get(value.place, ())
            found += self._into.get(value.place, ())
        elif value.op is Op.ATTRIBUTE:
            found += results_behind(solution, value)
            found += [one.result for one in solution.functions_of(value) if one.is_property and one.result is not None]
            given = given_for_field(solution, value)
            if given is not None:
                self.given_for_fields[value] = given
                calls = calls_between(solution, value)
                makers = frozenset(function for call in calls for function in solution.functions_of(call))
                self._between[value] = _Between(tuple(calls), makers)
                return given
            for place in solution.places(value.inputs[0], value.name):
                found += solution.stored.get(place, ())
                found += self._into.get(place, ())
        elif value.op is Op.PARAMETER:
            found += self.solution.arguments_of(value)
        elif value.op is Op.CALL:
            found += [f.result for f in self.solution.functions_of(value) if f.result is not None]
        found += self._into.get(value, ())
        for atom in sorted_values(solution.final(value)):
            if isinstance(atom, Container):
                found.append(atom.allocation)
                found += [held for _, held in solution.held.get(atom.allocation, ())]
        return found

    def given_to(self, call: Value) -> list[Value]:
        """What a call computes with: its arguments, but for those of whose graph what it runs gives nothing on."""
        receiver = [call.callee.inputs[0]] if call.callee.op is Op.ATTRIBUTE else []
        functions = self.solution.functions_of(call)
        if surely_lists_keys(self.solution, call):
            return [call.callee]
        is_seen = all(isinstance(atom, FunctionReference) for atom in self.solution.final(call.callee))
        if is_seen and functions and all(map(self._gives_numbers, functions)):
            return [call.callee, *receiver]
        if not is_seen or None in call.keys[1:] or any(f.is_generator for f in functions):
            return [*call.inputs, *receiver]
        if any(function.is_foreign for function in functions):
            cut = self._cut_by(call, functions)
            return [*(one for one in call.inputs if one not in cut), *receiver]
        given = [
            argument
            for function in functions
            for parameter, argument in self.solution.callers[function][call].items()
            if argument is not None and self.gives_on(parameter)
        ]
        gathering = (one for function in functions for one in function.parameters if gathers(one))
        for parameter in gathering:
            given += self.solution.given_by(call, parameter) if self.gives_on(parameter) else ()
        return [call.callee, *receiver, *given]

    def _gives_numbers(self, function: Function) -> bool:
        """Whether a function of another file keeps nothing, trains nothing, and returns containers of numbers."""
        foreign = self.solution.graph.foreign
        if not function.is_foreign or function.result is None or foreign.keeps.get(function):
            return False
        if any(backward.function is function for backward in foreign.backwards):
            return False
        return self._holds_numbers(self.solution.final(function.result), ())

    def _holds_numbers(self, abstract: Abstract, around: tuple[Value, ...]) -> bool:
        """Whether no graph is in a value, as deep as its containers are known; an empty one may be filled unseen."""
        for atom in abstract:
            if isinstance(atom, Container) and atom.allocation not in around:
                fields = self.solution.fields.get(atom.allocation, {}).values()
                held = [self.solution.final(item) for _, item in self.solution.held.get(atom.allocation, ())]
                inner = (*around, atom.allocation)
                if not all(self._holds_numbers(inside, inner) for inside in (*fields, *held)) or not (fields or held):
                    return False
            elif not is_graphless(atom):
                return False
        return bool(abstract)

    def _cut_by(self, call: Value, functions: Sequence[Function]) -> frozenset[Value]:
        """The arguments of a call that all functions of other files which it may run only take without their graph."""
        cuts = self.solution.graph.foreign.cuts
        if not all(function in cuts for function in functions):
            return frozenset()
        bindings = [(cuts[function], function, self.solution.callers[function][call]) for function in functions]
        bound = [
            (given, of.parameters.index(one) in cut) for cut, of, passed in bindings for one, given in passed.items()
        ]
        kept = {given for given, is_cut in bound if not is_cut}
        return frozenset(given for given, _ in bound if given is not None and given not in kept)

    def gives_on(self, parameter: Value) -> bool:
        """Whether what a function returns is made of a parameter, as far as is known."""
        function = parameter.function
        if function not in self._given_on:
            self._given_on[function] = None  # a function that calls itself gives on what it may
            results = () if function.result is None else (function.result,)
            self._given_on[function] = self._walk([(result, False) for result in results])
        known = self._given_on[function]
        return known is None or parameter in known

    def _ends_of_gradients(self) -> frozenset[Value]:
        """Values at which ``autograd.grad`` stops, where no other backward goes on behind them."""
        graph = self.solution.graph
        if not all(backward.inputs for backward in graph.backwards):
            return frozenset()
        ends = {value for backward in graph.backwards for value in backward.inputs if not backward.retains}
        places = {place for value in ends for place in self.solution.read_from(value)}
        return frozenset(ends.union(readers_of(self.solution, places)))


def _is_receiver(source: Value, value: Value) -> bool:
    """Whether ``source`` is that of which a CALL calls an attribute, and is given to it by no other way."""
    is_method = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE
    return is_method and value.callee.inputs[0] is source and source not in value.arguments


def _is_made_to_last(made: Value) -> bool:
    """Whether what makes a container is run with its object or its file, before the methods that share it."""
    return made.function.name in ("__init__", "<module>")
