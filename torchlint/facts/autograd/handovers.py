"""Handovers: tensors with a graph that are given to functions of other files which keep them beyond the step.

``meter.update(loss)`` with a meter that the project defines elsewhere: what the meter does is known from its summary,
and the call that hands the graph over is where it can be detached.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.records import Record
from torchlint.facts.autograd.returned_terms import called_by, is_trained_by_others
from torchlint.facts.keeping.by_field import asks_for_part
from torchlint.facts.keeping.kept_elsewhere import KeptElsewhere, kept_elsewhere, own_object
from torchlint.facts.summaries.summary import KeepSummary
from torchlint.facts.values.domain import LEAF, Container, Tensor
from torchlint.facts.values.frameworks import is_forward, may_be_module
from torchlint.facts.values.graph import Function, Mode, Op, Place, Value
from torchlint.facts.values.homes import homes_of, is_handed_to_method, readers_of
from torchlint.facts.values.parameters import is_frozen, is_of_self
from torchlint.facts.values.writing import Use

if TYPE_CHECKING:
    from torchlint.facts import Facts


class Handovers:
    """Finds what a file hands over to be kept elsewhere."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows

    def found(self) -> Iterator[Record]:
        """A record for each call and each holder in another file that keeps a live argument of it step after step."""
        seen = set[tuple[Value, KeepSummary]]()
        told = set[tuple[Value, str, tuple[Use, ...]]]()
        # A meter that has a window of values and their sum keeps them all by its sum.
        for kept in sorted(kept_elsewhere(self.facts), key=lambda kept: kept.keep.bounded):
            record = self._record(kept) if kept.keep.grows and (kept.call, kept.keep) not in seen else None
            if record is not None:
                seen.add((kept.call, kept.keep))
                if (kept.call, record.name, record.parts) not in told:
                    told.add((kept.call, record.name, record.parts))
                    yield record

    def _record(self, kept: KeptElsewhere) -> Record | None:
        """What is handed over with a graph; of several things that one starred parameter takes the first."""
        call, keep, function, holder = kept.call, kept.keep, kept.function, kept.holder
        given = kept.given.value
        parts = self._live_parts(given, keep)
        terms = self._terms(given, keep) if not parts and not keep.of else []
        is_term, parts = bool(terms), parts or terms
        keep = replace(keep, is_computed=keep.is_computed or kept.is_written_into_tensor(self.solution))
        if not parts or not self.keeps_graph(call, keep) or kept.is_replaced(self.solution):
            return None
        is_own = is_forward(function) and keep.into == 0
        if holder is None and is_own:
            return None  # a layer in a row: what it is given is written nowhere
        is_kept = (is_term and holder is None) or kept.outlives(self.facts) or self._goes_on_elsewhere(kept, parts[0])
        if not is_kept or self.is_used(parts[0], kept):
            return None
        part, name, statement = parts[0], kept.name, self.facts.statement_of(call)
        file, into = self.solution.graph.foreign.files[function], self.facts.called(call)
        keeper = f"`{function.name}` in {file} adds it to `{keep.attribute or name}`"
        # A container has no `detach`: what is in it is to be detached where it is put in.
        # Nor may an attribute of what is handed over be without a graph for everybody.
        is_given = part is given
        whole = is_given and not keep.of
        use = kept.given if is_given else Use(part, kept.given.node)
        is_average = keep.is_state or (keep.averages and self._is_trained(part))
        is_beside = holder is not None and not is_own and self._is_beside(holder, part, kept)
        keeps = call if holder is None or is_beside else holder
        # What the call gives may be computed from what it is given: without a graph that is not trained.
        is_trained = self.flows.may_be_trained_on(call)
        return Record(statement, (use,), keeps, name, statement, into, keep.bounded, not whole or is_trained,
                      # By what it gives a module flows into the loss; what it keeps may not.
                      into_container=not is_own, keeper=keeper, averages=is_average, returned=is_trained)  # fmt: skip

    def _goes_on_elsewhere(self, kept: KeptElsewhere, part: Value) -> bool:
        """Whether a method hands over what it has just computed, and only other files call it, in a loop.

        The object of the method keeps it, by a method that it inherits and nobody wants anything of, or has what keeps
        it from its beginning, and is not made in that loop; nothing is seen to give up what is kept.
        """
        method, holder = kept.call.function, kept.holder
        if holder is None or method.owner is None or method.name == "__init__" or is_forward(method):
            return False
        if self.solution.callers.get(method) or part.function is not method:
            return False
        if not is_of_self(holder, method) and (own_object(kept.call, holder) is None or kept.wanting(self.solution)):
            return False
        resetters = self.facts.lifetimes.resetters([*kept.homes, *homes_of(self.solution, holder)])
        if kept.is_let_go(self.solution) or any(one.name != "__init__" for one in resetters):
            return False
        return self.facts.repeats(called_by(method), [method.owner.name])

    def _live_parts(self, argument: Value, keep: KeepSummary) -> list[Value]:
        """The tensors with a graph that are kept of an argument: itself, or what is in it.

        No dict is made longer by a tensor: what ``part.update(loss)`` asks of a part that is not known is no dict.
        """
        live = self.flows.live(argument)
        if live is not None:
            return [] if isinstance(live, Tensor) and keep.is_dict else [argument]
        if keep.averages and keep.is_computed and self._is_trained(argument):
            return [argument]
        held = self._held(argument, keep)
        if held is None:
            return []
        parameters = [part for part in held if keep.averages and keep.is_computed and self.flows.is_leaf(part)]
        return self.flows.live_parts(argument) or parameters[:1]

    def _terms(self, argument: Value, keep: KeepSummary) -> list[Value]:
        """The terms of what other files train on that are kept of an argument: itself, or what is in it."""
        parts = (argument, *(self._held(argument, keep) or ()))
        return [part for part in parts if is_trained_by_others(self.facts, part)]

    def _held(self, argument: Value, keep: KeepSummary) -> list[Value] | None:
        """What the containers hold that an argument may be; None where only the keys of them are kept."""
        containers = [atom.allocation for atom in self.solution.final(argument) if isinstance(atom, Container)]
        has_keys = not all(isinstance(made.syntax, cst.List | cst.Tuple) for made in containers)
        # Who goes over a dict goes over its keys.
        if has_keys and keep.is_computed and not keep.merges and not (keep.some_item and self._are_live(containers)):
            return None
        return [part for made in containers for _, part in self.solution.held.get(made, ())]

    def _are_live(self, containers: list[Value]) -> bool:
        """Whether all that is in containers has a graph, so that it does not matter which item is kept."""
        held = [[part for _, part in self.solution.held.get(made, ())] for made in containers]
        return bool(held) and all(parts and all(map(self.flows.live, parts)) for parts in held)

    def _is_trained(self, value: Value) -> bool:
        """Whether a value is a parameter, a container of some, or a network whose parameters require gradients."""
        if self.flows.is_leaf(value) or self._lists_parameters(value):
            return True
        is_network = may_be_module(self.solution, value)
        return is_network and not is_frozen(self.solution, value)

    def _lists_parameters(self, value: Value) -> bool:
        """``net.named_parameters()``, ``dict(net.named_parameters())``: whether parameters make up a container."""
        made = [atom.allocation for atom in self.solution.final(value) if isinstance(atom, Container)]
        return any(not LEAF.isdisjoint(item) for one in made for item in self.solution.fields.get(one, {}).values())

    def keeps_graph(self, call: Value, keep: KeepSummary) -> bool:
        """Whether gradients are on where the tensor is kept, or do not matter since it is kept as it is."""
        if not keep.is_computed:
            return True
        mode = Mode(keep.mode)
        return mode is Mode.ON or (mode is Mode.INHERITED and self.facts.modes.records(call))

    def _places(self, function: Function, keep: KeepSummary) -> Iterator[Place]:
        if keep.into == 0 and function.owner is not None:
            yield Place(function.owner.root(), keep.attribute)

    def is_used(self, part: Value, kept: KeptElsewhere) -> bool:
        """Whether what is kept may be trained on: read as an attribute, or by a method, on the way to a backward.

        Code that is not seen runs none over a graph that is freed.
        """
        function, keep = kept.function, kept.keep
        if any(place in self._trained_places for place in self._places(function, keep)):
            return True
        owner = function.owner
        wanting = kept.wanting(self.solution)
        readers: list[Function | None] = [owner.method(name) for name in wanting] if owner is not None else []
        known = self.solution.callers if owner is None and wanting else ()
        readers += [one for one in known if one.is_foreign and one.owner is None and one.name in wanting]
        if keep.into > 0 and kept.holder is None:
            readers.append(function)  # `def keep(value=None, kept=[])`: its default container is its own
        calls = [(reader, call) for reader in readers if reader for call in self.solution.callers.get(reader, {})]
        training = {backward.function for backward in self.solution.graph.foreign.backwards}
        is_inherited = kept.holder is not None and own_object(kept.call, kept.holder) is not None
        if is_inherited and not training.isdisjoint(readers):
            return True  # whoever runs the training of a base class
        is_spent = self.flows.touches_spent(part)
        is_wanted = self.flows.is_trained_on if is_spent else self.flows.may_be_trained_on
        if keep.into < 0 and any(map(is_wanted, self._globals_of_others.get(keep.attribute, ()))):
            return True
        # What a reader computes where gradients are off is trained on by nobody: `distance(x)` of an evaluation.
        used = (
            is_wanted(call) and not self._leaves(kept, reader, call) and not self.flows.is_made_without(call)
            for reader, call in calls
        )
        if any(reader in training for reader, _ in calls) or any(used) or self._is_given_to_objective(kept, is_wanted):
            return True
        # Who made the object may train on what others add to it: `terms.total.backward()`.
        names = [keep.attribute, *wanting] if keep.attribute and not is_spent else []
        # What the methods of its own class do with it is known.
        return any(self.facts.others_train_on(name, by_bases=not is_inherited) for name in names)

    def _is_given_to_objective(self, kept: KeptElsewhere, is_wanted: Callable[[Value], bool]) -> bool:
        """Whether the object that keeps it is an argument of a function of another file whose result is trained on.

        What that asks of the object by name, ``rows.stacked("value")``, no summary says.
        """
        if kept.holder is None:
            return False
        same = {kept.holder, *readers_of(self.solution, kept.homes)}
        given = {user for one in same for user in one.users if user.op is Op.CALL and one in user.arguments}
        return any(
            is_wanted(call) and any(callee.is_foreign for callee in self.solution.functions_of(call)) for call in given
        )

    @cached_property
    def _globals_of_others(self) -> dict[str, list[Value]]:
        """What this file reads of other files, ``bank.ROWS``, by its last name."""
        found: dict[str, list[Value]] = defaultdict(list)
        for value in self.solution.graph.of(Op.GIVEN, Op.EXTERNAL, Op.ATTRIBUTE):
            found[value.name.rpartition(".")[2]].append(value)
        return found

    def _leaves(self, kept: KeptElsewhere, reader: Function, call: Value) -> bool:
        """Whether all that is used of the records which a reader gives in a CALL are other fields than that one."""
        field = kept.field(self.solution) if reader.name in kept.keep.by_field else ""
        is_open = not field or call.function.is_foreign or call in self._stored
        return not is_open and all(self._uses_others(field, call, user) for user in call.users)

    @cached_property
    def _stored(self) -> frozenset[Value]:
        """What is put into attributes, containers and variables that other functions read."""
        return frozenset(store.value for store in self.solution.graph.stores)

    def _uses_others(self, field: str, record: Value, user: Value) -> bool:
        """Whether a use of a record goes on with other fields alone, here or in a function of another file."""
        if asks_for_part(user):
            return user.name != field or not self.flows.may_be_trained_on(user)
        if user in self._items_of_no_container:
            return True
        parts, callees = self.solution.graph.foreign.parts, self.solution.functions_of(user)
        bindings = [self.solution.callers[callee][user] for callee in callees if user.op is Op.CALL]
        taking = [[parameter for parameter, given in binding.items() if given is record] for binding in bindings]
        return bool(taking) and all(
            any(taken) and all(one in parts and field not in parts[one] for one in taken) for taken in taking
        )

    @cached_property
    def _items_of_no_container(self) -> frozenset[Value]:
        """What ``learner.update(batch)`` would add to a dictionary, which a learner is not."""
        stores = (store for store in self.solution.graph.stores if is_handed_to_method(self.solution, store))
        return frozenset(store.value for store in stores if not store.value.users)

    def _is_beside(self, holder: Value, part: Value, kept: KeptElsewhere) -> bool:
        """Whether what is trained on of an object is not what it keeps there: a replay buffer gives detached samples,
        a logger the batches that it is given to go over. Code that is not seen runs no backward over a graph that is
        freed.

        None of the methods and attributes by which a backward gets something of the object reads that attribute, or
        gives the field under which it is kept to anybody who trains on that.
        """
        keep, owner = kept.keep, kept.function.owner
        if owner is None or keep.into != 0 or holder not in self.flows.trained:
            return False
        wanting = kept.wanting(self.solution)
        wanted = {keep.attribute, *wanting}
        methods = {method for cls in owner.lineage() for method in cls.methods.values()}
        calls = [(method, call) for method in methods for call in self.solution.callers.get(method, {})]
        others = {user for user in holder.users if user.op is Op.ATTRIBUTE and user.name not in wanted}
        exits = () if self.flows.touches_spent(part) else self.flows.exits()
        roots = [*(backward.root for backward in self.solution.graph.all_backwards()), *exits]
        unread = others.union(
            call for method, call in calls if method.name not in wanted or self._leaves(kept, method, call)
        )
        return holder not in self.flows.ancestry.of_all(roots, unread=unread)

    @cached_property
    def _trained_places(self) -> frozenset[Place]:
        """The attributes that are read on the way to a backward, of this file or where others are known to train on."""
        roots = {backward.root for backward in self.solution.graph.foreign.backwards}
        trained = (one for one in self.flows.trained if not one.function.is_foreign or one in roots)
        reads = (value for value in trained if value.op is Op.ATTRIBUTE)
        return frozenset(place for value in reads for place in self.solution.read_from(value))
