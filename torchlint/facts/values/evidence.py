"""Evidence that comes from use: what a backward proves about the values before it, what ``.eval()`` proves.

A backward on a value proves that the value has a graph, and that something it was computed from has one. Where only
one of the inputs can be that something, it is proven too; where none can, the called object must hold parameters.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.candidates import Candidates
from torchlint.facts.values.differentiation import heir
from torchlint.facts.values.distributions import DIFFERENTIABLE
from torchlint.facts.values.domain import (
    Argument,
    Atom,
    Carrier,
    ClassReference,
    Container,
    Derived,
    Differentiable,
    External,
    FunctionReference,
    History,
    Instance,
    Module,
    Partial,
    Tensor,
    Unknown,
    is_graphless,
    is_only_containers,
    sorted_values,
    surely_live,
)
from torchlint.facts.values.framework_objects import contract_of, guards_itself
from torchlint.facts.values.frameworks import is_of_others, is_trained_by_framework, trains_on_result
from torchlint.facts.values.given_attributes import GivenAttributes
from torchlint.facts.values.graph import Backward, Function, Mode, Op, Place, Value
from torchlint.facts.values.loss_forms import (
    MOVING,
    SUMS,
    is_around,
    is_index,
    is_loss,
    is_made_a_leaf,
    is_of_method,
    is_share,
    losses_of,
    not_drawn,
)
from torchlint.facts.values.operations import derived_in_training, keeps_graph
from torchlint.facts.values.own_backwards import retract_named
from torchlint.facts.values.parameters import SAME_OBJECT, is_frozen
from torchlint.facts.values.partials import tasks
from torchlint.facts.values.told_modules import ToldModules, has_other_methods, is_converted, is_loaded
from torchlint.facts.values.unseen_layers import UnseenLayers
from torchlint.facts.values.written_tables import WrittenTables
from torchlint.frameworks import Holds

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

MODULE_ONLY = frozenset(
    ["eval", "parameters", "named_parameters", "modules", "named_modules", "children", "named_children"]
)  # fmt: skip
"""Methods without an argument that modules have and neither tensors nor optimizers do."""

BACKWARD = External("torch.autograd.backward")
"""What runs a backward over what it is given, whatever it is called in the program."""

READERS = frozenset(["get", "pop", "setdefault"])
"""Methods that give an item of a container of unknown type."""


class Evidence:
    """Draws evidence from a solution and writes it into it."""

    def __init__(self, solution: Solution) -> None:
        """Look for contracts once: a framework's training step has its result trained on."""
        self.solution = solution
        self.changed = False
        self._may_carry = Candidates(solution)
        graph = solution.graph
        for function in graph.functions:
            if trains_on_result(function) and function.result is not None:
                for root in losses_of(function.result):
                    self._add_contract(root, function)
        for given in filter(is_trained_by_framework, graph.of(Op.ATTRIBUTE, Op.PARAMETER)):
            if given in graph.training or not _asks_whether_it_trains(solution, given.function):
                self._add_contract(given, given.function)

    def draw(self) -> bool:
        """Add what follows from the present solution; True when that was new."""
        self.changed = retract_named(self.solution)
        self._may_carry.begin_round()
        for call in self.solution.graph.of(Op.CALL):
            callee = call.callee
            self._from_contract(call)
            self._from_transform(call)
            if callee.op not in (Op.EXTERNAL, Op.ATTRIBUTE):
                self._from_name(call)
            if callee.op is Op.ATTRIBUTE:
                self._from_method(call)
            elif is_loaded(self.solution, callee):
                self._prove(callee, Module())
        for subject, atom in self._told_modules.subjects():
            if isinstance(subject, Place):
                self._prove_place(subject, atom, set())
            else:
                self._prove(subject, atom)
        for answer in self._unseen_layers.answers():
            self._add(answer, Tensor(History.LIVE, answer, heir(answer)))
        for attribute, graph in self._given_attributes.with_graph():
            self._add(attribute, graph)
        for table, graph in self._written_tables.with_graph():
            self._add(table, graph)
        for backward in self.solution.graph.all_backwards():
            if backward.proves:
                for term in (backward.root, *self._may_carry.terms(backward.root)):
                    self._prove_live(term, backward)
        return self.changed

    @cached_property
    def _told_modules(self) -> ToldModules:
        return ToldModules(self.solution)

    @cached_property
    def _unseen_layers(self) -> UnseenLayers:
        return UnseenLayers(self.solution)

    @cached_property
    def _of_training(self) -> frozenset[Value]:
        return derived_in_training(self.solution.graph)

    @cached_property
    def _given_attributes(self) -> GivenAttributes:
        return GivenAttributes(self.solution)

    @cached_property
    def _written_tables(self) -> WrittenTables:
        return WrittenTables(self.solution)

    def _from_contract(self, call: Value) -> None:
        """A framework's object runs the backward: ``accelerator.backward(loss)``, ``loss_scaler(loss, optimizer)``.

        Or it asks for the gradients of its own parameters, as ``learner.adapt(loss)`` does.
        """
        row = contract_of(self.solution, call, Holds.BACKWARD)
        own = contract_of(self.solution, call, Holds.DIFFERENTIATES) if row is None else None
        told = row or own
        root = call.argument(*told.argument) if told is not None else None
        if root is None:
            return
        ends = call.callee.inputs[:1] if own is not None else ()
        backwards = self.solution.graph.backwards
        known = next((backward for backward in backwards if backward.call is call), None)
        if known is None:
            statement = call.statement or call.function.syntax
            retains = keeps_graph(call) or own is not None  # a gradient that is learnt from has the graph of the loss
            backwards.append(Backward(root, retains, call.function, call.loop, statement, inputs=ends, call=call))
            self.changed = True
        elif known.root is not root:
            known.root = root
            self.changed = True

    def _from_name(self, call: Value) -> None:
        """``differentiate = partial(torch.autograd.backward, retain_graph=True)``, and then ``differentiate(loss)``."""
        for atom in self.solution.of(call.callee):
            bound = list(tasks(self.solution, atom)) if isinstance(atom, Partial) else []
            makers = [made for one in bound if one.atom == BACKWARD and one.by_name_only for made in one.makers]
            root = call.argument(0, "tensors") if makers or atom == BACKWARD else None
            if root is not None and not any(one.call is call for one in self.solution.graph.backwards):
                retains, statement = any(map(keeps_graph, (call, *makers))), call.statement or call.function.syntax
                backward = Backward(root, retains, call.function, call.loop, statement, call=call)
                self.solution.graph.backwards.append(backward)
                self.changed = True

    def _from_transform(self, call: Value) -> None:
        """A framework trains, and then asks a function of the file what to make of it: ``output_transform=...``."""
        row = contract_of(self.solution, call, Holds.GIVES_TRAINED) if call.callee.op is Op.EXTERNAL else None
        given = call.argument(*row.argument) if row is not None else None
        if row is None or given is None:
            return
        for atom in self.solution.of(given):
            if isinstance(atom, FunctionReference):
                for position, parameter in enumerate(atom.function.for_arguments(bound=atom.bound)):
                    if position in row.trained:
                        self._add_contract(parameter, atom.function)

    def _add_contract(self, root: Value, function: Function) -> None:
        backwards = self.solution.graph.backwards
        if not any(backward.root is root for backward in backwards):
            backwards.append(Backward(root, False, function, None, function.syntax, True))
            self.changed = True

    # -- modules --------------------------------------------------------------------------------------------------

    def _from_method(self, call: Value) -> None:
        name, receiver = call.callee.name, call.callee.inputs[0]
        # A tensor's `.to(device)` as a statement of its own would do nothing; a module's moves it.
        moves = name in MOVING and call.is_bare and not has_other_methods(self.solution, receiver)
        if moves or (name in MODULE_ONLY and not call.arguments) or (name == "train" and _is_given_a_mode(call)):
            self._prove(receiver, Module())

    def _prove(self, value: Value, atom: Atom, seen: set[Value] | None = None) -> None:
        """``value``, wherever it comes from, is ``atom`` if it is nothing that is known better."""
        seen = set() if seen is None else seen
        if value in seen:
            return
        seen.add(value)
        if not any(isinstance(a, Unknown | Argument) for a in self.solution.of(value)) and not self._is_item(value):
            return
        if guards_itself(self.solution, value) or is_of_others(value):
            return
        if value.op is Op.PHI:
            for choice in value.inputs:
                self._prove(choice, atom, seen)
        elif value.op is Op.READ and value.place is not None:
            self._prove_place(value.place, atom, seen)
        elif value.op is Op.ATTRIBUTE:
            for place in self.solution.places(value.inputs[0], value.name):
                self._prove_place(place, atom, seen)
        else:
            self._add(value, atom)
            if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT:
                self._prove(value.callee.inputs[0], atom, seen)  # `net.to(device).eval()`
            if value.op is Op.PARAMETER:
                for argument in self.solution.arguments_of(value):
                    self._prove(argument, atom, seen)

    def _is_item(self, value: Value) -> bool:
        """Whether a value is an item of what is passed in, moved as may be, and something that only modules do."""
        if not any(isinstance(atom, Derived) for atom in self.solution.of(value)):
            return False
        users = [user for user in value.users if user.op is Op.ATTRIBUTE and user.calls]
        if any(user.name in MODULE_ONLY for user in users):
            return True
        moved = (call for user in users if user.name in SAME_OBJECT for call in user.calls)
        return any(map(self._is_item, moved))

    def _prove_place(self, place: Place, atom: Atom, seen: set[Value]) -> None:
        stored = self.solution.stored.get(place)
        if stored:
            for value in stored:
                self._prove(value, atom, seen)
        else:
            self._add(place, atom)

    def _add(self, subject: Value | Place, atom: Atom) -> None:
        known = self.solution.evidence.get(subject, ())
        if any(type(a) is type(atom) for a in known):
            return
        if isinstance(atom, Module) and isinstance(subject, Value) and is_converted(self.solution, subject):
            return
        self.changed |= self.solution.add_evidence(subject, atom)

    # -- tensors --------------------------------------------------------------------------------------------------

    def _prove_live(self, value: Value, backward: Backward, seen: set[Value] | None = None) -> None:
        """``value`` has a graph, since a backward starts from it or from what is computed from it."""
        seen = set() if seen is None else seen
        if value in seen or value.mode is Mode.OFF:
            return
        seen.add(value)
        if value in backward.inputs or value in self._of_training or is_made_a_leaf(value) or is_index(value):
            return  # here the graph begins, or never comes; what the value was made of needs none
        abstract = self.solution.of(value)
        if abstract and all(map(is_graphless, abstract)) and value is not backward.root:
            return
        again = [value for value in self._may_carry.sources(value) if value not in seen]
        if value.op in (Op.PHI, Op.READ, Op.CONTAINER):
            beside = value.op is Op.CONTAINER and backward.by_contract and isinstance(value.syntax, cst.Tuple)
            for source in again:
                if not (beside and is_only_containers(self.solution.of(source))):  # `return loss, outputs`
                    self._prove_live(source, backward, seen)
            return
        if not is_only_containers(abstract) and not surely_live(abstract):
            self._add(value, Tensor(History.LIVE, value, heir(value)))
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE):
            self._mark_carrier(value.inputs[0])
            for source in (*again, *self._may_carry.given_for(value)):
                self._prove_live(source, backward, seen)
        elif value.op is Op.PARAMETER:
            for argument in self.solution.arguments_of(value):
                self._prove_live(argument, backward, seen)
        elif value.op is Op.OPERATION:
            divides = value.name.startswith(("Divide", "FloorDivide"))
            operands = list(value.inputs[:1] if divides else value.inputs)
            given = self._may_carry.only_given(operands)
            if given is not None:
                self._prove_live(given, backward, seen)
            else:
                around = [
                    one for one in self._may_carry.among(operands) if value.name in SUMS and is_around(one, operands)
                ]
                self._prove_candidates(around or operands, backward, seen)
        elif value.op is Op.CALL:
            self._prove_through_call(value, backward, seen)

    def _mark_carrier(self, base: Value, *, of_callers: bool = False) -> None:
        """The unknown object from which the live part was taken carries a graph, be it what callers pass."""
        base = base.unnarrowed()
        abstract = self.solution.of(base)
        vague = not abstract or any(isinstance(a, (Unknown, Argument) if of_callers else Unknown) for a in abstract)
        if (
            vague
            and base.op in (Op.CALL, Op.PARAMETER, Op.UNKNOWN, Op.SUBSCRIPT, Op.ELEMENT)
            and base.mode is not Mode.OFF
        ):
            if base.op is Op.CALL and base.callee.op is Op.EXTERNAL:
                return
            self._add(base, Carrier(base))

    def _prove_through_call(self, call: Value, backward: Backward, seen: set[Value]) -> None:
        callees = self.solution.of(call.callee)
        if any(isinstance(a, Module) and a.allocation is not None for a in callees):
            return  # the graph may begin in any item of the sequence
        functions = [f for f in self.solution.functions_of(call) if f.result is not None]
        for function in functions:
            given = self._made_of(function, call)
            if given:
                # What another call gives that passes something else has no graph for that.
                self._prove_candidates(given, backward, seen)
            elif function.result is not None:
                self._prove_live(function.result, backward, seen)
        if functions:
            return
        if call.callee.op is Op.ATTRIBUTE and torch_api.method(call.callee.name) is not None:
            self._prove_candidates([call.callee.inputs[0], *call.arguments], backward, seen)
            return
        if call.callee.op is Op.ATTRIBUTE and call.callee.name in READERS and call.arguments:
            self._mark_carrier(call.callee.inputs[0])  # `outputs.get("loss")` is an item, and no forward
            return
        if call.callee.op is Op.ATTRIBUTE and call.callee.name in DIFFERENTIABLE:
            # A distribution: the actions say nothing, and what else it is asked for has the same graph.
            self._mark_carrier(call.callee.inputs[0], of_callers=True)
            self._prove(call.callee, Module())
            return
        if any(isinstance(a, External | ClassReference | Container) for a in callees):
            for argument in call.arguments:
                for atom in sorted_values(self.solution.of(argument)):
                    if isinstance(atom, Container):
                        for _, held in self._may_carry.items(atom.allocation):
                            self._prove_live(held, backward, seen)
            self._prove_candidates(not_drawn(call.arguments), backward, seen)
            return
        if any(isinstance(a, Module) and a.has_parameters for a in callees):
            if is_frozen(self.solution, call.callee):
                self._prove_candidates(list(call.arguments), backward, seen)
            return  # else the graph begins here, and says nothing of the arguments
        if any(isinstance(a, Module | Instance) for a in callees):
            self._prove_candidates(list(call.arguments), backward, seen)
            return
        given = not_drawn(call.arguments)
        if self._may_carry.among(given):
            self._prove(call.callee, Differentiable())
            self._prove_candidates(given, backward, seen)
        elif not is_of_method(call) and not self._may_carry.is_of_numbers(call):
            self._prove(call.callee, Module())

    def _made_of(self, function: Function, call: Value) -> list[Value]:
        """The arguments of a call, if what it gives has no other graph than theirs; nothing for the only call."""
        if len(self.solution.callers[function]) == 1:
            return []
        atoms = [] if function.result is None else self.solution.of(function.result)
        made_of = [atom.parameter for atom in atoms if isinstance(atom, Derived)]
        if any(not isinstance(atom, Derived) and not is_graphless(atom) for atom in atoms):
            return []
        bound = self.solution.callers[function].get(call, {})
        given = [bound.get(parameter) for parameter in made_of]
        return [one for one in given if one is not None] if None not in given else []

    def _prove_candidates(self, inputs: list[Value], backward: Backward, seen: set[Value]) -> None:
        if any(isinstance(a, Module) and a.has_parameters for one in inputs for a in self.solution.of(one)):
            return  # a function that is given a network runs it: `compute_loss(net, batch)`
        candidates = self._may_carry.among(inputs)
        if len(candidates) > 1:
            terms = [one for one in candidates if not is_share(one)]
            candidates = (
                terms if len(terms) == 1 else [one for one in terms if is_loss(one)]
            )  # who adds up other losses?
        for one in candidates:
            self._prove_live(one, backward, seen)


def _is_given_a_mode(call: Value) -> bool:
    """``model.train(False)``, ``model.train(training)`` where ``training=False``: what fits itself takes data."""
    if len(call.arguments) != 1 or call.keys[1] not in (0, "mode"):
        return False
    given = call.arguments[0]
    modes = given.inputs if given.op is Op.PARAMETER else [given]
    return any(mode.op is Op.CONSTANT and mode.name in ("True", "False") for mode in modes)


def _asks_whether_it_trains(solution: Solution, function: Function) -> bool:
    """Whether a callback does one thing in training and another one in evaluation: ``if not self.training: return``."""
    return any(value.function is function and value.name == "training" for value in solution.graph.of(Op.ATTRIBUTE))
