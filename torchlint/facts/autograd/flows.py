"""Where graphs go: which values a backward runs over, and which leave what is seen.

*Consumption*: a value that flows into a backward is used, not kept for nothing. *Spent*: a value over whose graph a
backward has run holds graph nodes only, its activations are freed. Both are questions about the ancestors of the
values from which backwards start. Edges err towards reaching too much, since consumption silences a finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from torchlint import torch_api
from torchlint.facts.autograd.ancestry import Ancestry
from torchlint.facts.autograd.belated import by_belated
from torchlint.facts.autograd.liveness import Liveness
from torchlint.facts.autograd.shown import shown
from torchlint.facts.autograd.trained_methods import answers_with_graph, graph_begun_at
from torchlint.facts.autograd.unseen_calls import SINKS, runs_unseen_code
from torchlint.facts.autograd.unseen_training import is_given_what_trains
from torchlint.facts.values.choices import choices
from torchlint.facts.values.dictionaries import of_pair
from torchlint.facts.values.domain import (
    Argument,
    Carrier,
    Container,
    Instance,
    Module,
    Tensor,
    surely_graphless,
)
from torchlint.facts.values.framework_objects import detaches
from torchlint.facts.values.graph import Backward, Function, Kind, Op, Store, Value
from torchlint.facts.values.overrides import is_called_by_others
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.record_fields import makes_record
from torchlint.syntax.filling_names import INSERTING

FILLING = INSERTING | {"clear"}
"""Methods of a container that read nothing of what is in it."""

GRAPH_READERS = frozenset(["requires_grad", "grad_fn", "is_leaf", "retain_grad", "register_hook"])
"""Attributes of a tensor that only a program which wants a graph reads."""


WANTING = GRAPH_READERS | {"grad"}
"""What a program that wants the graph of something that is kept reads of it."""


class Flows(Liveness):
    """Reachability queries over a solved graph; each closure is computed when it is first asked for."""

    @cached_property
    def ancestry(self) -> Ancestry:
        """What flows into values."""
        return Ancestry(self.solution)

    @cached_property
    def trained(self) -> frozenset[Value]:
        """All that flows into a backward."""
        return self._behind(list(self.solution.graph.all_backwards()))

    @cached_property
    def spent_roots(self) -> frozenset[Value]:
        """All over whose graph a backward runs that frees it."""
        return self._behind([backward for backward in self.solution.graph.all_backwards() if not backward.retains])

    @cached_property
    def _spent_by_callers(self) -> frozenset[Value]:
        """All that is in :attr:`spent_roots` for what functions of other files make for those who call them there."""
        backwards = [backward for backward in self.solution.graph.all_backwards() if not backward.retains]
        if not any(backward.is_of_callers for backward in backwards):
            return frozenset()
        return self.spent_roots - self._behind([one for one in backwards if not one.is_of_callers])

    def live(self, value: Value) -> Tensor | Carrier | None:
        """Evidence that ``value`` may have a graph on a real path, or None; see ``trained_methods.py`` as well."""
        known = super().live(value)
        is_told = known is None and value in self.method_answers and self.modes.records(value)
        return graph_begun_at(value) if is_told else known

    @cached_property
    def method_answers(self) -> frozenset[Value]:
        """What methods of networks give that are not seen, but known to record a graph."""
        return answers_with_graph(self)

    # -- consumption ----------------------------------------------------------------------------------------------

    def is_trained_on(self, value: Value) -> bool:
        """Whether ``value``, or what is in it, flows into a backward of this file."""
        return value in self.trained or any(
            isinstance(a, Container) and a.allocation in self.trained for a in self.solution.final(value)
        )

    def is_spent(self, value: Value) -> bool:
        """Whether a backward runs over all that ``value``'s graph holds (and does not retain it)."""
        seen = set[Value]()
        return self._is_spent(value, seen) and not self.spent_roots.isdisjoint(seen)

    def _is_spent(self, value: Value, seen: set[Value]) -> bool:
        value = of_pair(value)
        if value in seen:
            return True  # by itself a circle says neither: whoever asks looks whether a backward was met
        seen.add(value)
        if value in self.spent_roots:
            return True
        if value.op is Op.GIVEN:
            # A function of another file made it beside what is trained: the terms of a loss, with their sum.
            calls = self.spent_roots.intersection(self.solution.callers.get(value.function, ()))
            seen |= calls
            return bool(calls)
        if value.op is Op.PARAMETER:
            given = [argument for argument in self.solution.arguments_of(value) if self.carries(argument)]
            return bool(given) and all(self._is_spent(argument, seen) for argument in given)
        if value.op is Op.CALL:
            if self.solution.may_be(value.callee, Module):
                return False
            functions = self.solution.functions_of(value)
            if makes_record(self.solution, value):
                given = [argument for argument in value.arguments if self.carries(argument)]
                return bool(given) and all(self._is_spent(argument, seen) for argument in given)  # a record's fields
            if functions:
                # Each call records a graph of its own; only a backward within it has run over just that one.
                giving = [function for function in functions if not self._gives_no_graph(function)]
                return bool(giving) and all(self._gives_spent(function, value, seen) for function in giving)
        if value.op not in (
            Op.OPERATION,
            Op.CALL,
            Op.PHI,
            Op.SUBSCRIPT,
            Op.ELEMENT,
            Op.ATTRIBUTE,
            Op.READ,
            Op.CONTAINER,
        ):
            return False
        is_item = value.op is Op.ELEMENT and value.keys[0] is None  # any of a record, whose fields have the graphs
        sources = self.ancestry.sources(value)
        inputs = [one for one in sources if self.carries(one) or (is_item and one in self.spent_roots)]
        return bool(inputs) and all(self._is_spent(source, seen) for source in inputs)

    def _gives_no_graph(self, function: Function) -> bool:
        """Whether what a function gives has no graph, while another one that may run in its place gives one."""
        result = function.result
        return result is not None and (not result.inputs or surely_graphless(self.solution.final(result)))

    def _gives_spent(self, function: Function, call: Value, seen: set[Value]) -> bool:
        """Whether a backward has run over what a function gives a CALL, by itself or before it was given that."""
        if function.result is None:
            return False
        if function in self.training_functions:
            return self._is_spent(function.result, seen)
        returned = choices(function.result)
        atoms = (atom for one in returned if one.op is Op.GIVEN for atom in self.solution.final(one))
        handed_on = {*returned, *(atom.parameter for atom in atoms if isinstance(atom, Argument))}
        positions = [i for i, parameter in enumerate(function.parameters) if parameter in handed_on]
        if not positions or any(self.carries(one) for one in returned if one.op is not Op.PARAMETER):
            return False
        given = (self.solution.passed(call, function, position) for position in positions)
        return all(one is not None and self._is_spent(one, seen) for one in given)

    def touches_spent(self, value: Value) -> bool:
        """Whether a part of ``value``'s graph is spent: a backward from ``value`` would raise."""
        return any(current in self.spent_roots for current in self._graph_behind(value))

    def is_spent_by_callers(self, value: Value) -> bool:
        """Whether all that is spent of ``value``'s graph is so for others, who call a function that it is given to.

        They run the backward on what they get of that; whether anybody does on this is not seen.
        """
        spent = [current for current in self._graph_behind(value) if current in self.spent_roots]
        return bool(spent) and all(current in self._spent_by_callers for current in spent)

    def _graph_behind(self, value: Value) -> list[Value]:
        """What has a graph of all that flows into ``value``."""
        ways = reached([value], lambda current: self.ancestry.sources(current) if self.carries(current) else ())
        return [current for current in ways if self.carries(current)]

    def may_be_trained_on(self, value: Value) -> bool:
        """Like :meth:`is_trained_on`, where code that is not seen may run the backward."""
        return (
            self.is_trained_on(value)
            or value in self.escaped
            or any(isinstance(a, Container) and a.allocation in self.escaped for a in self.solution.final(value))
        )

    @cached_property
    def inspected(self) -> frozenset[Value]:
        """All that flows into a value whose graph the program looks at: it wants one."""
        given = (loss for call in self.solution.graph.of(Op.CALL) for loss in self._given_back(call))
        return self.ancestry.of_all([*self._read_for_graph, *given])

    @cached_property
    def loses_sight(self) -> bool:
        """Whether a backward runs over what comes from nowhere: ``eval("losses[-1]").backward()``.

        Nothing that is drawn, given or computed by a network is seen to flow into it, so anything that is kept may.
        """
        roots = (backward.root for backward in self.solution.graph.backwards if not backward.by_contract)
        return not all(map(self._comes_of_something, roots))

    def _comes_of_something(self, root: Value) -> bool:
        return any(
            one.op is Op.ELEMENT
            or (one.op is Op.PARAMETER and not self.solution.arguments_of(one))
            or (one.op is Op.CALL and self.solution.may_be(one.callee, Module | Instance))
            for one in self.ancestry.of(root)
        )

    def is_inspected_elsewhere(self, value: Value) -> bool:
        """Whether the program looks at the graph of something that ``value`` flows into: of a sum, of an item."""
        if value not in self.inspected:
            return False
        return any(value in self.ancestry.of(one) for one in self._read_for_graph - {value})

    @cached_property
    def _read_for_graph(self) -> frozenset[Value]:
        """What is asked for its graph: ``total`` of ``total.grad_fn``."""
        return frozenset(v.inputs[0] for v in self.solution.graph.of(Op.ATTRIBUTE) if v.name in GRAPH_READERS)

    @cached_property
    def wanted(self) -> frozenset[Value]:
        """All that flows into a value of which the program reads the gradient or the graph, or where gradients end.

        What something is kept in is among it only if that is done with what comes out of it again.
        """
        graph = self.solution.graph
        read = [v.inputs[0] for v in graph.of(Op.ATTRIBUTE) if v.name in WANTING]
        ends = [value for backward in graph.backwards for value in backward.inputs]
        return self.ancestry.of_all([*read, *(one for end in ends for one in (end, *self.ancestry.sources(end)))])

    def _given_back(self, call: Value) -> list[Value]:
        """``learner.adapt(loss(learner(x)))``, for nothing but what that does to the learner: it differentiates."""
        if call.callee.op is not Op.ATTRIBUTE or call.users or call.callee.name in SINKS:
            return []
        owner = call.callee.inputs[0]
        if self.solution.functions_of(call) or owner.op is Op.READ:
            return []
        return [
            given
            for given in call.arguments
            if any(part.op is Op.CALL and part.callee is owner for part in given.computed_from())
        ]

    @cached_property
    def detached(self) -> frozenset[Value]:
        """All that flows into a value of which the program takes ``.detach()`` or ``.data``: it knows of a graph."""
        graph = self.solution.graph
        calls = (v.callee.inputs[0] for v in graph.of(Op.CALL) if v.name == "detach" and v.callee.inputs)
        reads = (v.inputs[0] for v in graph.of(Op.ATTRIBUTE) if v.name == "data")
        return self.ancestry.of_all([*calls, *reads])

    @cached_property
    def escaped(self) -> frozenset[Value]:
        """All that flows to where the file does not show what becomes of it, with its graph."""
        return self.ancestry.of_all(self.exits())

    @cached_property
    def shown(self) -> frozenset[Value]:
        """All that flows into what objects show to code that is not seen; see ``shown.py``."""
        return shown(self, self.ancestry)

    def is_shown(self, value: Value) -> bool:
        """Whether ``value``, or what is in it, is computed into what an object shows to code that is not seen."""
        return value in self.shown or any(
            isinstance(a, Container) and a.allocation in self.shown for a in self.solution.final(value)
        )

    @cached_property
    def leaving(self) -> frozenset[Value]:
        """All that flows out of the function that computes it, or to where the file does not show more."""
        graph = self.solution.graph
        results = [function.result for function in graph.functions if function.result is not None]
        kept = [store.value for store in graph.stores if store.attribute or store.place is not None]
        return self.ancestry.of_all([*self.exits(), *results, *kept, *graph.foreign.leaving]) | self.put_away

    @cached_property
    def put_away(self) -> frozenset[Value]:
        """All that is put into objects which the function was given, or given to other files' functions that keep it.

        Who uses it then is not seen, even where all callers are.
        """
        put = [store.value for store in self.solution.graph.stores if self._is_put_into_what_was_given(store)]
        return self.ancestry.of_all(put) | self.kept_by_others

    @cached_property
    def kept_by_others(self) -> frozenset[Value]:
        """All that is given to other files' functions that keep it."""
        graph = self.solution.graph
        keeping = {f for f, keeps in graph.foreign.keeps.items() if not all(keep.of for keep in keeps)}
        keeping |= {call.function for call in graph.foreign.leaving if self._gives_nothing(call.function)}
        kept = (c for c in graph.of(Op.CALL) if not keeping.isdisjoint(self.solution.functions_of(c)))
        return self.ancestry.of_all([argument for call in kept for argument in call.arguments])

    def _gives_nothing(self, function: Function) -> bool:
        """Whether a function returns nothing that has a graph: one that leaves it stays with its object."""
        results = function.result.inputs if function.result is not None else ()
        return all(surely_graphless(self.solution.final(result)) for result in results)

    @cached_property
    def handed_out(self) -> frozenset[Value]:
        """All that is made in methods which code that is not seen calls, whoever calls them here, and returned."""
        functions = (function for function in self.solution.graph.functions if is_called_by_others(function))
        return self.ancestry.made_in(function.result for function in functions if function.result is not None)

    def _is_put_into_what_was_given(self, store: Store) -> bool:
        """``state.embeddings[word] = embedding``, where the state comes from the caller or hangs on an object.

        Who reads what a method puts on its own object is seen in the file; what is only collected there is for others.
        """
        holder, attribute = (store.holder if store.kind is Kind.INSERT else None), ""
        while holder is not None and holder.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT):
            attribute = holder.name if holder.op is Op.ATTRIBUTE else attribute
            holder = holder.inputs[0]
        if holder is None:
            return False
        if holder.function.owner is not None and holder in holder.function.parameters[:1]:
            return attribute not in self._read
        return bool(attribute) or holder.op in (Op.PARAMETER, Op.READ)

    @cached_property
    def _read(self) -> frozenset[str]:
        """The attributes of which the file reads what is in them, and does not only put something there."""
        reads = (value for value in self.solution.graph.of(Op.ATTRIBUTE) if any(map(_is_read_by, value.users)))
        return frozenset(value.name for value in reads)

    def exits(self) -> list[Value]:
        """Values that leave what is seen: returned to unknown callers, given to unknown functions or on to such."""
        graph, exits = self.solution.graph, []
        for function in graph.functions:
            calls = self.solution.callers.get(function, ())
            others = {call.function for call in calls} - {function}
            is_open = not others or function.is_replaced or self._is_handed_on_elsewhere(function, calls)
            if function.result is not None and is_open:
                exits.append(function.result)
        for call in graph.of(Op.CALL):
            if (call.is_bare or is_given_what_trains(self.solution, call)) and self.is_unknown_call(call):
                exits.extend(call.arguments)
        exits += [store.value for store in graph.stores if self._is_set_on_what_others_gave(store)]
        for parameter in graph.foreign.hands_on:
            exits.extend(self.solution.arguments_of(parameter))
        for call in graph.foreign.values:  # of what is given: whether that is seen shows here
            if call.op is Op.CALL and call.callee.op is Op.PARAMETER and self.is_unknown_call(call):
                exits.extend(given for one in call.arguments for given in self.solution.arguments_of(one))
        return exits

    def _is_set_on_what_others_gave(self, store: Store) -> bool:
        """``strategy.loss = strategy.loss + penalty``, where neither the object's class nor who gives it is seen."""
        holder = store.holder.unnarrowed() if store.attribute and store.holder is not None else None
        if holder is None or holder.op is not Op.PARAMETER or self.solution.arguments_of(holder):
            return False
        if holder.function.owner is not None and holder in holder.function.parameters[:1]:
            return False
        classes = [atom.cls for atom in self.solution.final(holder) if isinstance(atom, Instance)]
        return all(cls.is_foreign for cls in classes)

    def _is_handed_on_elsewhere(self, function: Function, calls: Iterable[Value]) -> bool:
        """Whether a base class of another file calls a method of this one, and gives its result to its own callers.

        Those that are seen here are not all.
        """
        leaving = self.solution.graph.foreign.leaving
        return not function.is_foreign and any(call.function.is_foreign and call in leaving for call in calls)

    def is_unknown_call(self, call: Value) -> bool:
        """Whether a CALL runs code that is not seen and that may train on its arguments."""
        return runs_unseen_code(self, call) and not detaches(self.solution, call)

    def is_arithmetic(self, call: Value) -> bool:
        """Whether a CALL is an operation of torch (or a built-in reduction) that computes with its arguments."""
        callee = call.callee
        if callee.op is Op.EXTERNAL:
            known = torch_api.function(callee.name)
            if known is not None:
                return known.history in (torch_api.History.KEEPS, torch_api.History.SELF)
            return callee.name == "builtins.sum"
        if callee.op is Op.ATTRIBUTE:
            method = torch_api.method(callee.name)
            return method is not None and method.history in (torch_api.History.KEEPS, torch_api.History.SELF)
        return False

    @cached_property
    def training_functions(self) -> frozenset[Function]:
        """The functions in which, or in whose calls, a backward runs."""
        direct = {backward.function for backward in self.solution.graph.all_backwards() if not backward.by_contract}
        return frozenset(direct | self.solution.callers_above(direct))

    def _behind(self, backwards: list[Backward]) -> frozenset[Value]:
        """All values that flow into the roots of ``backwards``, in time for them; a module trains meanwhile."""
        graph = self.solution.graph
        return frozenset().union(
            *(
                self.ancestry.of_all(roots, belated | graph.resting_choices, graph.resting)
                for belated, roots in by_belated(self.solution, backwards)
            )
        )


def _is_read_by(user: Value) -> bool:
    """Whether a user of an attribute takes something out of it: ``self.rows.append(row)`` does not."""
    return user.op is not Op.ATTRIBUTE or user.name not in FILLING
