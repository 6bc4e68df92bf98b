"""Where graphs come from and where they go: reachability over the value graph.

*Consumption*: a value that flows into a backward is used, not kept for nothing. *Spent*: a value over whose graph a
backward has run holds graph nodes only, its activations are freed. Both are questions about the ancestors of the
values from which backwards start. Edges err towards reaching too much, since consumption silences a finding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from torchlint import torch_api
from torchlint.facts.autograd.belated import Edges, by_belated, is_belated
from torchlint.facts.autograd.repackaging import Repackaging
from torchlint.facts.turns.modes import Modes
from torchlint.facts.values.domain import (
    Argument,
    Carrier,
    Container,
    Derived,
    History,
    Instance,
    Module,
    Tensor,
    Unknown,
    is_graphless,
    is_live,
    sorted_values,
)
from torchlint.facts.values.framework_objects import detaches
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Backward, Function, Kind, Mode, Op, Place, Value
from torchlint.facts.values.homes import places_of
from torchlint.facts.values.solve import Solution

SINKS = frozenset(
    ["log", "log_dict", "log_metrics", "add_scalar", "add_scalars", "set_postfix", "set_postfix_str", "set_description",
     "info", "debug", "warning", "write", "print", "format", "report", "step", "append", "extend", "add", "insert"]
)  # fmt: skip
"""Methods of unknown objects that read a value for a person; they train on nothing."""

GRAPH_READERS = frozenset(["requires_grad", "grad_fn", "is_leaf", "retain_grad", "register_hook"])
"""Attributes of a tensor that only a program which wants a graph reads."""


class Flows:
    """Reachability queries over a solved graph."""

    def __init__(self, solution: Solution, modes: Modes) -> None:
        """Prepare the edges; each closure is computed when it is first asked for."""
        self.solution = solution
        self.modes = modes
        self._repackaging = Repackaging(solution)
        self._into: dict[Place | Value, list[Value]] = defaultdict(list)
        self._ancestors: dict[Value, frozenset[Value]] = {}
        for store in solution.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None:
                self._into[store.holder].append(store.value)
                for place in places_of(solution, store.holder):
                    self._into[place].append(store.value)
        graph = solution.graph
        self._ends = self._ends_of_gradients()
        backwards = list(graph.all_backwards())
        self.trained = self._behind(backwards)
        self.spent_roots = self._behind([b for b in backwards if not b.retains])

    # -- what a value is, with callers looked through -------------------------------------------------------------

    def live(self, value: Value) -> Tensor | Carrier | None:
        """Evidence that ``value`` may have a graph on a real path, or None."""
        return self._live(value, set())

    def _live(self, value: Value, seen: set[Value]) -> Tensor | Carrier | None:
        if value in seen:
            return None
        seen.add(value)
        if self._is_detached_on_a_path(value):
            return None
        for atom in sorted_values(self.solution.final(value)):
            if isinstance(atom, Tensor) and atom.history is History.LIVE:
                inherits = atom.inherits
                if inherits is None or (Mode.ON in self.modes.entry(inherits) and not self._is_off(value, inherits)):
                    return atom
            elif isinstance(atom, Carrier):
                if self.modes.records(atom.origin) and not self._is_cleaned(atom.origin):
                    return atom
            elif isinstance(atom, Argument | Derived):
                if isinstance(atom, Derived) and atom.inherits and Mode.ON not in self.modes.entry(atom.inherits):
                    continue
                for argument in self.solution.arguments_of(atom.parameter):
                    found = self._live(argument, seen)
                    if found is not None:
                        return found
        return None

    def _is_off(self, item: Value, maker: Function) -> bool:
        """Whether what a call returns, or an item of it, is made by ``maker`` in that call, with gradients off."""
        call = item
        while call.op in (Op.ELEMENT, Op.SUBSCRIPT, Op.ATTRIBUTE):
            call = call.inputs[0]
        if call.op is not Op.CALL or self.modes.records(call):
            return False
        functions = self.solution.functions_of(call)
        return maker in functions or not self.solution.callers_above([maker]).isdisjoint(functions)

    def _is_detached_on_a_path(self, value: Value) -> bool:
        """``if done: x = x.detach()``: whoever detaches on one path keeps the graph on the other on purpose."""
        if value.op is not Op.PHI:
            return False
        return any(
            choice.op is Op.CALL and choice.callee.name == "detach" and choice.callee.inputs
            and choice.callee.inputs[0] in value.inputs
            for choice in value.inputs
        )  # fmt: skip

    def _is_cleaned(self, carrier: Value) -> bool:
        """``out["loss"] = out["loss"].detach()``: what carried a graph has had it taken out."""
        return any(
            store.is_item and store.holder is carrier and all(map(is_graphless, self.solution.final(store.value)))
            and any(store.key == use.keys[0] for use in carrier.users if use.op is Op.SUBSCRIPT)
            for store in self.solution.graph.stores
        )  # fmt: skip

    def surely_live(self, value: Value) -> bool:
        """Whether ``value`` is a tensor with a graph on every path that reaches it."""
        return self._surely(value, (History.LIVE, History.LEAF), set())

    def _surely(self, value: Value, histories: tuple[History, ...], seen: set[Value]) -> bool:
        if value in seen:
            return True
        seen.add(value)
        if value.op is Op.OPERATION and any(self._surely(operand, histories, seen) for operand in value.inputs):
            return True  # a tensor times anything is a tensor
        abstract = self.solution.final(value)
        for atom in abstract:
            if isinstance(atom, Tensor) and atom.history in histories:
                continue
            if isinstance(atom, Argument | Derived):
                given = self.solution.arguments_of(atom.parameter)
                if given and all(self._surely(argument, histories, seen) for argument in given):
                    continue
                if isinstance(atom, Derived) and History.NONE in histories:
                    continue  # computed by an operation of torch from whatever is passed
            return False
        return bool(abstract)

    def passed_by(self, value: Value) -> Value | None:
        """The call that passes the graph in, where ``value`` has it from a parameter of its function."""
        for atom in sorted_values(self.solution.final(value)):
            if isinstance(atom, Argument | Derived):
                calls = self.solution.callers.get(atom.parameter.function, {})
                for call in sorted(calls, key=lambda call: call.index):
                    given = calls[call].get(atom.parameter)
                    if given is not None and self.live(given) is not None:
                        return call
        return None

    def surely_tensor(self, value: Value) -> bool:
        """Whether ``value`` is a tensor on every path, so that ``.detach()`` works."""
        return self._surely(value, (History.LIVE, History.LEAF, History.NONE), set())

    def brings_graph(self, value: Value) -> bool:
        """Whether an operation on ``value`` has a graph when gradients are on: it is live, a leaf, or an activation."""
        if self.live(value) is not None:
            return True
        if self.is_leaf(value):
            return True
        atoms = self.solution.final(value)
        return any(isinstance(a, Argument | Derived) and self._is_activation(a.parameter) for a in atoms)

    def is_leaf(self, value: Value) -> bool:
        """Whether ``value`` may be a tensor that requires grad by itself: a parameter."""
        return any(isinstance(a, Tensor) and a.history is History.LEAF for a in self.solution.final(value))

    def _is_activation(self, parameter: Value) -> bool:
        """Whether a parameter is what a layer is called with from code that is not seen: the output of other layers."""
        function = parameter.function
        owner = function.owner
        if owner is None or function.name != "forward" or not is_module_class(owner):
            return False
        # Without a backward in the file nothing says that the layer is ever trained.
        if all(backward.by_contract for backward in self.solution.graph.backwards):
            return False
        return not self.solution.callers.get(function)

    def live_parts(self, value: Value) -> list[Value]:
        """The live tensors in ``value``: itself, or items of a tuple, list or dict that is built on the spot."""
        if self.live(value) is not None:
            return [value]
        return [
            held
            for atom in sorted_values(self.solution.final(value))
            if isinstance(atom, Container) and not self._is_off(value, atom.allocation.function)
            for key, held in self.solution.held.get(atom.allocation, ())
            if (key is not None or held in atom.allocation.inputs) and self.live(held) is not None
        ]

    # -- consumption ----------------------------------------------------------------------------------------------

    def is_trained_on(self, value: Value) -> bool:
        """Whether ``value``, or what is in it, flows into a backward of this file."""
        return value in self.trained or any(
            isinstance(a, Container) and a.allocation in self.trained for a in self.solution.final(value)
        )

    def is_spent(self, value: Value) -> bool:
        """Whether a backward runs over all that ``value``'s graph holds (and does not retain it)."""
        return self._is_spent(value, set())

    def _is_spent(self, value: Value, seen: set[Value]) -> bool:
        if value in self.spent_roots or value in seen:
            return True
        seen.add(value)
        if value.op is Op.PARAMETER:
            given = [argument for argument in self.solution.arguments_of(value) if self.carries(argument)]
            return bool(given) and all(self._is_spent(argument, seen) for argument in given)
        if value.op is Op.CALL:
            if any(isinstance(a, Module) for a in self.solution.final(value.callee)):
                return False
            functions = self.solution.functions_of(value)
            if functions:
                # Each call records a graph of its own; only a backward within it has run over just that one.
                return all(
                    f in self.training_functions and f.result is not None and self._is_spent(f.result, seen)
                    for f in functions
                )
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
        inputs = [source for source in self.sources(value) if self.carries(source)]
        return bool(inputs) and all(self._is_spent(source, seen) for source in inputs)

    def carries(self, value: Value) -> bool:
        """Whether ``value`` is, or holds, a tensor with a graph."""
        if self.live(value) is not None:
            return True
        containers = [a.allocation for a in self.solution.final(value) if isinstance(a, Container)]
        containers = [made for made in containers if not self._is_off(value, made.function)]
        return any(
            any(self.live(held) is not None for _, held in self.solution.held.get(container, ()))
            or any(is_live(item) for field in self.solution.fields.get(container, {}).values() for item in field)
            for container in containers
        )

    def touches_spent(self, value: Value) -> bool:
        """Whether a part of ``value``'s graph is spent: a backward from ``value`` would raise."""
        pending, seen = [value], set()
        while pending:
            current = pending.pop()
            if current in seen or not self.carries(current):
                continue
            if current in self.spent_roots:
                return True
            seen.add(current)
            pending.extend(self.sources(current))
        return False

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
        values = self.solution.graph.values
        return self.ancestors(v.inputs[0] for v in values if v.op is Op.ATTRIBUTE and v.name in GRAPH_READERS)

    @cached_property
    def detached(self) -> frozenset[Value]:
        """All that flows into a value of which the program takes ``.detach()`` or ``.data``: it knows of a graph."""
        values = self.solution.graph.values
        calls = (v.callee.inputs[0] for v in values if v.op is Op.CALL and v.name == "detach" and v.callee.inputs)
        reads = (v.inputs[0] for v in values if v.op is Op.ATTRIBUTE and v.name == "data")
        return self.ancestors([*calls, *reads])

    @cached_property
    def escaped(self) -> frozenset[Value]:
        """All that flows to where the file does not show what becomes of it, with its graph."""
        return self.ancestors(self._exits())

    @cached_property
    def leaving(self) -> frozenset[Value]:
        """All that flows out of the function that computes it, or to where the file does not show more."""
        graph = self.solution.graph
        results = [function.result for function in graph.functions if function.result is not None]
        kept = [store.value for store in graph.stores if store.attribute or store.place is not None]
        return self.ancestors([*self._exits(), *results, *kept, *graph.foreign.leaving])

    def _exits(self) -> list[Value]:
        """Values that leave what is seen: returned to unknown callers, given to unknown functions or on to such."""
        graph, exits = self.solution.graph, []
        for function in graph.functions:
            if function.result is not None and not self.solution.callers.get(function):
                exits.append(function.result)
        for value in graph.values:
            if value.op is Op.CALL and value.is_bare and self.is_unknown_call(value):
                exits.extend(value.arguments)
        for parameter in graph.foreign.hands_on:
            exits.extend(self.solution.arguments_of(parameter))
        return exits

    def is_unknown_call(self, call: Value) -> bool:
        """Whether a CALL runs code that is not seen and that may train on its arguments."""
        return self._runs_unseen_code(call) and not detaches(self.solution, call)

    def _runs_unseen_code(self, call: Value) -> bool:
        callee = call.callee
        if callee.op is Op.ATTRIBUTE:
            if self._is_left_to_a_base(callee):
                return True
            if (
                torch_api.method(callee.name) is not None
                or callee.name in SINKS
                or callee.name in torch_api.module_methods()
            ):
                return False
            receiver = self.solution.final(callee.inputs[0])
            # An item of what is passed in may be a tensor; one that has a method which no tensor has is none.
            return any(isinstance(a, Unknown | Argument | Derived) for a in receiver) and not any(
                isinstance(a, Container) for a in receiver
            )
        if callee.op is Op.EXTERNAL:
            known = callee.name.startswith(("torch.", "builtins.", "numpy.", "math."))
            return not known and any(isinstance(a, Unknown) for a in self.solution.final(call))
        return any(isinstance(a, Unknown | Argument) for a in self.solution.final(callee))

    def _is_left_to_a_base(self, method: Value) -> bool:
        """Whether an ATTRIBUTE is a method that an object of this file has from a base that is not seen."""
        if any(self.solution.stored.get(place) for place in places_of(self.solution, method)):
            return False
        classes = [a.cls for a in self.solution.final(method.inputs[0]) if isinstance(a, Instance)]
        return bool(classes) and all(
            cls.method(method.name) is None
            and method.name not in torch_api.module_methods()
            and any(torch_api.torch_class(base) is None for base in cls.all_bases() if base != "builtins.object")
            for cls in classes
        )

    def is_arithmetic(self, call: Value) -> bool:
        """Whether a CALL is an operation of torch (or a built-in reduction) that computes with its arguments."""
        callee = call.callee
        if callee.op is Op.EXTERNAL:
            known = torch_api.function(callee.name)
            if known is not None:
                return known.history in (torch_api.History.KEEPS, torch_api.History.SELF)
            return callee.name in ("builtins.sum", "builtins.max", "builtins.min")
        if callee.op is Op.ATTRIBUTE:
            method = torch_api.method(callee.name)
            return method is not None and method.history in (torch_api.History.KEEPS, torch_api.History.SELF)
        return False

    # -- edges ----------------------------------------------------------------------------------------------------

    def sources(self, value: Value) -> list[Value]:
        """The values that ``value`` is made of, or may be."""
        solution = self.solution
        if value.op is Op.COMPARISON:
            return []
        found = list(value.inputs)
        if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
            found.append(value.callee.inputs[0])
        if value.place is not None:
            found += solution.stored.get(value.place, ())
            found += self._into.get(value.place, ())
        elif value.op is Op.ATTRIBUTE:
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

    @cached_property
    def training_functions(self) -> frozenset[Function]:
        """The functions in which, or in whose calls, a backward runs."""
        direct = {backward.function for backward in self.solution.graph.all_backwards() if not backward.by_contract}
        return frozenset(direct | self.solution.callers_above(direct))

    def _ends_of_gradients(self) -> frozenset[Value]:
        """Values at which ``autograd.grad`` stops, where no other backward goes on behind them."""
        graph = self.solution.graph
        if not all(backward.inputs for backward in graph.backwards):
            return frozenset()
        ends = {value for backward in graph.backwards for value in backward.inputs if not backward.retains}
        places = {place for value in ends for place in places_of(self.solution, value)}
        alike = (v for v in graph.values if v.op in (Op.READ, Op.ATTRIBUTE))
        return frozenset(ends | {v for v in alike if any(place in places for place in places_of(self.solution, v))})

    def _behind(self, backwards: list[Backward]) -> frozenset[Value]:
        """All values that flow into the roots of ``backwards``, in time for them."""
        groups = by_belated(self.solution, backwards)
        return frozenset().union(*(self.ancestors(roots, belated) for belated, roots in groups))

    def ancestors_of(self, value: Value) -> frozenset[Value]:
        """The :meth:`ancestors` of one value, remembered: they are asked for with each value that may be among them."""
        if value not in self._ancestors:
            self._ancestors[value] = self.ancestors([value])
        return self._ancestors[value]

    def ancestors(self, roots: Iterable[Value], belated: Edges = frozenset()) -> frozenset[Value]:
        """All values that flow into ``roots``; not by what is put into an object too late (``belated``).

        A path may leave a function through its parameters (to the callers' arguments) or enter one through its result,
        but not leave by another call than it entered: once inside a callee, its parameters lead nowhere, since the
        call's own arguments are followed from the call.
        """
        seen: dict[Value, bool] = {}
        pending = [(root, True) for root in roots]
        while pending:
            value, may_ascend = pending.pop()
            if value in seen and (seen[value] or not may_ascend):
                continue
            abstract = self.solution.final(value)
            if all(map(is_graphless, abstract)) and value.op is not Op.CONTAINER:
                continue
            if value.op is Op.CALL and self._repackaging.ends_graphs(value):
                continue
            seen[value] = may_ascend
            if value in self._ends:
                continue
            if value.op is Op.PARAMETER:
                if may_ascend:
                    pending.extend((source, True) for source in self.sources(value))
                continue
            through_place = value.op in (Op.READ, Op.ATTRIBUTE)
            for source in self.sources(value):
                if belated and is_belated(self.solution, value, source, belated):
                    continue
                stays = through_place or source.function is value.function
                pending.append((source, may_ascend and stays))
        return frozenset(seen)
