"""Which of the values behind a backward may have brought its graph: what is computed, and of what it may be.

That something before a backward has a graph is sure. Which of several inputs it is, how they are made says: nothing is
differentiated that nobody computed, unless a function is given it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.differentiation import all_plain
from torchlint.facts.values.domain import (
    Abstract,
    Argument,
    Carrier,
    ClassReference,
    Container,
    Derived,
    FunctionReference,
    Instance,
    Module,
    Tensor,
    Unknown,
    is_graphless,
    is_live,
    join,
    sorted_values,
)
from torchlint.facts.values.graph import Key, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.loss_forms import added_in, imported_behind, is_imported, is_moved, weighed_in

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


class Candidates:
    """Says of values of one file whether they may have a graph."""

    def __init__(self, solution: Solution) -> None:
        """Work for ``solution``, as far as it is known when it is asked."""
        self.solution = solution
        self._given_graph: dict[Value, bool] = {}

    def begin_round(self) -> None:
        """Forget what was found of a solution that has changed since."""
        self._given_graph.clear()

    def terms(self, root: Value) -> list[Value]:
        """What a loss is the sum of, weights taken off: nobody adds to a loss what cannot be trained on."""
        terms: list[Value] = []
        pending, seen = [(root, False)], set[Value]()
        while pending:
            value, is_term = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if not is_term and (behind := self._given_on(value)):
                pending += [(source, False) for source in behind]
            elif added := added_in(value):
                pending += [(operand, True) for operand in added]
            elif (weighed := weighed_in(value)) is not None:
                pending += [(one, is_term) for one in weighed]
            elif is_term and value.op in (Op.SUBSCRIPT, Op.ELEMENT) and (items := self.sources(value)):
                pending += [(item, True) for item in items]
            elif is_term and self._is_computed(value):
                terms.append(value)
        return terms

    def _given_on(self, value: Value) -> list[Value]:
        """The values of which one is the whole of a loss: on another path, in a function, or in what that returns."""
        if value.op is Op.CALL:
            functions = self.solution.functions_of(value)
            return [one.result for one in functions if one.result is not None and not one.is_generator]
        return self.sources(value) if value.op in (Op.PHI, Op.READ, Op.CONTAINER, Op.SUBSCRIPT, Op.ELEMENT) else []

    def sources(self, value: Value) -> list[Value]:
        """The values that ``value`` is, or may be, without any computation."""
        solution = self.solution
        if value.op is Op.PHI:
            return list(value.inputs)
        if value.op is Op.READ and value.place is not None:
            return list(solution.stored.get(value.place, ()))
        if value.op is Op.ATTRIBUTE:
            return [v for p in solution.places(value.inputs[0], value.name) for v in solution.stored.get(p, ())]
        if value.op is Op.CONTAINER:
            return [v for key, v in solution.held.get(value, ()) if key == "loss" or "loss" not in value.keys]
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT):
            key = value.keys[0]
            if isinstance(key, int) and key < 0:
                key = None
            return [
                held
                for atom in sorted_values(solution.of(value.inputs[0]))
                if isinstance(atom, Container)
                for known, held in self.items(atom.allocation)
                if key is None or known is None or key == known
            ]
        return []

    def items(self, container: Value) -> list[tuple[Key, Value]]:
        """What is put into a container, with its keys; of what the call of a generator gives, what that yields."""
        functions = self.solution.functions_of(container) if container.op is Op.CALL else ()
        results = [one.result for one in functions if one.is_generator and one.result is not None]
        yielded = [(None, item) for result in results for item in result.inputs]
        return [*self.solution.held.get(container, ()), *yielded]

    def given_for(self, item: Value) -> list[Value]:
        """``loss`` for an item of ``as_tuple(loss)``: what alone an imported function is given for its parts."""
        call = imported_behind(item)
        given = call.arguments if call is not None else ()
        return list(given) if len(given) == 1 and self._comes_of_computing(given[0]) else []

    def only_given(self, operands: list[Value]) -> Value | None:
        """``loss / count`` of a function that is given the loss: nothing else can have the graph."""
        others = [one for one in operands if not all(map(is_graphless, self.solution.of(one) or [Unknown()]))]
        return others[0] if len(others) == 1 and others[0].op is Op.PARAMETER else None

    def among(self, inputs: list[Value]) -> list[Value]:
        """The inputs that may have the graph: computed ones, unless one is known to have it."""
        if any(abstract and all(map(is_live, abstract)) for abstract in map(self._of, inputs)):
            return [v for v in inputs if any(map(is_live, self._of(v)))]
        return [
            value
            for value in inputs
            if value.op in (Op.CALL, Op.OPERATION, Op.PHI, Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE, Op.READ)
            and self._is_computed(value)
        ]

    def _of(self, value: Value) -> Abstract:
        """What ``value`` may be; a field of a record is what the record is made with."""
        abstract = self.solution.of(value)
        if value.op is not Op.ATTRIBUTE:
            return abstract
        given = [a.parameter for a in abstract if isinstance(a, Argument)]
        given = [parameter for parameter in given if parameter.function is not value.function]
        made_with = [self.solution.of(one) for parameter in given for one in self.solution.arguments_of(parameter)]
        rest = frozenset(atom for atom in abstract if not isinstance(atom, Argument))
        return join([*made_with, rest]) if made_with else abstract

    def _comes_of_computing(self, value: Value) -> bool:
        """Whether a value is computed, or what the program has computed for an attribute: ``self.state.loss``."""
        stored = self.sources(value) if value.op is Op.ATTRIBUTE else ()
        return self._is_computed(value) or any(map(self._is_computed, stored))

    def _is_computed(self, value: Value) -> bool:
        """Whether ``value`` is the result of a call or an operation, and not known to be without a graph."""
        abstract = self._of(value)
        if abstract and all(is_graphless(a) or isinstance(a, FunctionReference | ClassReference) for a in abstract):
            return False
        if not any(isinstance(a, Unknown | Tensor | Derived | Carrier) for a in abstract):
            return False
        root = value
        while (root.op in (Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE) and root.inputs) or is_moved(root):
            root = root.callee.inputs[0] if root.op is Op.CALL else root.inputs[0]
        choices = root.inputs if root.op is Op.PHI else (root,)
        return any(self._is_given_graph(one) if is_imported(one) else self._is_result(one) for one in choices)

    def _is_result(self, value: Value) -> bool:
        return value.op is Op.OPERATION or (value.op is Op.CALL and not self.is_of_numbers(value))

    def is_of_numbers(self, call: Value) -> bool:
        """``self.weight_of(epoch)``: an object is given numbers alone, a schedule; a network is given data.

        Of its method that is not known: ``net.sample(10)`` is given no data either.
        """
        callee = call.callee
        if callee.op is Op.EXTERNAL or (callee.op is Op.ATTRIBUTE and not stored_at(self.solution, callee)):
            return False
        given = [self.solution.of(argument) for argument in call.arguments]
        return bool(given) and all(given) and all_plain(given)

    def _is_given_graph(self, call: Value) -> bool:
        """Whether an imported function is given what may have a graph, or a network; asked once in each round."""
        if call not in self._given_graph:
            self._given_graph[call] = False  # what comes of itself brings nothing
            self._given_graph[call] = any(map(self._may_bring_graph, call.arguments))
        return self._given_graph[call]

    def _may_bring_graph(self, given: Value) -> bool:
        """Whether what a function is given may have a graph, or makes one: a network."""
        return self._has_weights(given) or self._comes_of_computing(given)

    def _has_weights(self, value: Value) -> bool:
        atoms = self.solution.of(value)
        return any(isinstance(a, Instance) or (isinstance(a, Module) and a.has_parameters) for a in atoms)
