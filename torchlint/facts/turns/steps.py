"""Which loops are steps, and which functions are the body of a loop that stands elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.turns.counts import counts_few, counts_to_size, is_new_each_turn
from torchlint.facts.turns.forwards import is_within_forward
from torchlint.facts.values.domain import Atom, FunctionReference, Instance, Module, Tool
from torchlint.facts.values.externals import TABULATED
from torchlint.facts.values.framework_objects import contract_of
from torchlint.facts.values.frameworks import (
    answers_requests,
    is_called_each_step,
    is_forward,
    is_module,
    is_module_class,
    may_be_module,
    may_be_optimizer,
    runs_without_gradients,
    trains_on_result,
)
from torchlint.facts.values.graph import Class, Function, Loop, Op, Value
from torchlint.facts.values.handing_on import handlers_of, is_of_some_events
from torchlint.facts.values.operations import may_derive_with_graph
from torchlint.facts.values.overriding import is_left_open
from torchlint.facts.values.parameters import LAYERS, before_moves, has_parameters
from torchlint.facts.values.solve import Solution
from torchlint.frameworks import Holds, Row, method_names

DEPTH = 4
"""How many calls deep a backward is looked for."""

COMPILER = "torch.compile"
"""It gives what runs as what it was given."""

TAKING = "builtins.next"
"""It gives one item of what it is given, and goes over none of the rest."""


class Steps:
    """Classifies the loops and functions of a file."""

    def __init__(self, solution: Solution, flows: Flows) -> None:
        """Collect what happens where."""
        self.solution = solution
        self.flows = flows
        self._calls: dict[Function, list[Value]] = defaultdict(list)
        for value in (*solution.graph.of(Op.CALL), *solution.graph.foreign.values):
            if value.op is Op.CALL:
                self._calls[value.function].append(value)
        self._training_loops: dict[Function, list[Loop | None]] = defaultdict(list)
        for backward in solution.graph.all_backwards():
            if not (backward.by_contract or backward.is_of_callers):
                loop = None if may_derive_with_graph(backward.call) else backward.loop
                self._training_loops[backward.function].append(loop)
        self._optimizer_loops: dict[Function, list[Loop | None]] = defaultdict(list)
        told = list[Value]()
        for value in solution.graph.of(Op.CALL):
            if self._is_optimizer_step(value):
                self._training_loops[value.function].append(value.loop)
                self._optimizer_loops[value.function].append(value.loop)
            elif _steps_what_it_zeroes(value):
                told.append(value)
        for value in told:
            # A training whose backward is forgotten, or stands elsewhere, is one nevertheless.
            if value.function not in self._training_loops:
                self._training_loops[value.function].append(value.loop)
        self._trains: dict[Function, bool] = {}
        self._forwarding: dict[Function, bool] = {}
        self._steps: dict[Loop, bool] = {}
        self._networks: dict[Class, bool] = {}
        self._of_modules: dict[Value, bool] = {}

    def _is_optimizer_step(self, value: Value) -> bool:
        if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or value.callee.name != "step":
            return False
        return may_be_optimizer(self.solution, value.callee.inputs[0])

    def calls_in(self, function: Function) -> list[Value]:
        """The CALL values of a function's own body."""
        return self._calls.get(function, [])

    def calls_within(self, loop: Loop) -> list[Value]:
        """The CALL values that run in each turn of a loop, in its function's own body."""
        return [call for call in self.calls_in(loop.function) if call.loop is not None and loop in call.loop.around()]

    def trains(self, function: Function, depth: int = DEPTH) -> bool:
        """Whether a backward or an optimizer step runs in ``function`` or in what it calls."""
        if function in self._trains:
            return self._trains[function]
        self._trains[function] = False
        result = bool(self._training_loops.get(function)) or (
            depth > 0
            and any(
                self.trains(callee, depth - 1)
                for call in self.calls_in(function)
                for callee in self.solution.functions_of(call)
            )
        )
        self._trains[function] = result
        return result

    def trains_in(self, loop: Loop) -> bool:
        """Whether a backward or an optimizer step runs in a turn of ``loop``, or in what is called there."""
        if any(at is not None and loop in at.around() for at in self._training_loops.get(loop.function, ())):
            return True
        calls = self.calls_within(loop)
        return any(self.trains(callee) for call in calls for callee in self.solution.functions_of(call))

    def is_step(self, loop: Loop) -> bool:
        """Whether each turn of ``loop`` is a step of training or inference, or holds such steps (an epoch)."""
        if loop not in self._steps:
            self._steps[loop] = self._is_step(loop)
        return self._steps[loop]

    def _is_part_of_step(self, loop: Loop) -> bool:
        """Whether the optimizer steps in a loop around this one only: micro-batches, several losses of one step."""
        outer = loop.around()[1:]
        stepping = self._optimizer_loops.get(loop.function, ())
        return any(at in outer for at in stepping) and not any(
            at is not None and loop in at.around() for at in stepping
        )

    def _is_step(self, loop: Loop) -> bool:
        if self._is_part_of_step(loop):
            return False
        if loop.iterable is not None and any(map(self._trains_as_it_yields, self.gone_over(loop.iterable))):
            return True
        if any(inner is not None and loop in inner.around() for inner in self._training_loops[loop.function]):
            return True
        if loop.iterable is not None and self.is_loader(loop.iterable):
            return True
        owner = loop.function.owner
        is_part = is_within_forward(self.solution, loop.function)
        # A network that runs its parts by its methods, a batch that is taken piece by piece: one step.
        is_one = (owner is not None and is_module_class(owner)) or counts_to_size(loop)
        for call in self.calls_in(loop.function):
            if call.loop is not None and loop in call.loop.around():
                callees = self.solution.functions_of(call)
                if any(map(self.trains, callees)) or (not callees and self._switches_to_training(call)):
                    return True
                if is_part or self.walks_modules(loop) or counts_few(loop):
                    continue
                if self._runs_forward(call, 0 if is_one else DEPTH):
                    return True
        return False

    def _switches_to_training(self, call: Value) -> bool:
        """``net.train()``: whoever says so in each turn trains there, be it by code that is not seen."""
        if call.callee.op is not Op.ATTRIBUTE or call.callee.name != "train" or not call.is_bare or call.arguments:
            return False
        return may_be_module(self.solution, call.callee.inputs[0])

    def _runs_forward(self, call: Value, depth: int) -> bool:
        """Whether a CALL runs a forward that records a graph, by functions that it calls as well.

        What makes an object may try out its layers: that is no step.
        """
        if self.is_forward(call) or not self.flows.method_answers.isdisjoint((call, *call.users)):
            return True
        if depth == 0 or not self.flows.modes.records(call):
            return False
        functions = self.solution.functions_of(call)
        return any(self._forwards(function, depth - 1) for function in functions if function.name != "__init__")

    def _forwards(self, function: Function, depth: int) -> bool:
        if function not in self._forwarding:
            self._forwarding[function] = False  # a circle of calls runs none by itself
            self._forwarding[function] = any(self._runs_forward(call, depth) for call in self.calls_in(function))
        return self._forwarding[function]

    def is_loader(self, value: Value) -> bool:
        """Whether iterating over ``value`` yields batches, through ``enumerate``, ``tqdm`` and the like."""
        return any(_is_loader(atom) for current in self.gone_over(value) for atom in self.solution.final(current))

    def _trains_as_it_yields(self, iterable: Value) -> bool:
        """``for epoch, loss in enumerate(epochs(net, loader))``: whether a generator trains from item to item."""
        return any(function.is_generator and self.trains(function) for function in self.solution.functions_of(iterable))

    def gone_over(self, value: Value) -> Iterator[Value]:
        """What is iterated over, and what ``enumerate``, ``tqdm`` and the like, around it, go over."""
        pending, seen = [value], set[Value]()
        while pending:
            current = pending.pop()
            if current in seen:
                continue
            seen.add(current)
            yield current
            if current.op is Op.CALL and current.callee.op is Op.EXTERNAL and current.callee.name != TAKING:
                pending.extend(current.arguments[:1])
            elif current.op is Op.PHI:
                pending.extend(current.inputs)

    def walks_modules(self, loop: Loop) -> bool:
        """Whether ``loop`` runs over layers: a container of modules, or a module itself."""
        if loop.iterable is None:
            return False
        items = self._elements.get(loop, ())
        if any(map(_is_layer, items)) or any(is_module(atom) for value in items for atom in self.solution.final(value)):
            return True
        calls = self.calls_within(loop)
        return any(self._is_layer_of_turn(call, loop) for call in calls)

    def _is_layer_of_turn(self, call: Value, loop: Loop) -> bool:
        """``self.layers[i](x)``: another layer runs in each turn of the loop."""
        callee = called_object(call)
        indices = self.solution.graph.indices.get(callee, ()) if callee.op is Op.SUBSCRIPT else ()
        return any(is_new_each_turn(index, loop) for index in indices) and self.calls_module(call)

    @cached_property
    def _elements(self) -> dict[Loop, list[Value]]:
        """The items that each loop runs over."""
        found: dict[Loop, list[Value]] = {}
        for value in self.solution.graph.of(Op.ELEMENT):
            if value.loop is not None and value.function is value.loop.function:
                found.setdefault(value.loop, []).append(value)
        return found

    def is_forward(self, call: Value) -> bool:
        """Whether a CALL runs a module's forward that records a graph, or a function of this file that does."""
        if call.op is not Op.CALL or not self.flows.modes.records(call):
            return False
        return self.calls_module(call) and bool(self.flows.live_parts(call))

    def calls_module(self, call: Value) -> bool:
        """Whether what is called is a module (or its ``forward``)."""
        if call.op is not Op.CALL:
            return False
        if call not in self._of_modules:
            atoms = self.solution.final(called_object(call))
            self._of_modules[call] = self.calls_network(call) or any(
                isinstance(atom, Module) and atom.has_parameters for atom in atoms
            )
        return self._of_modules[call]

    def runs_module(self, call: Value) -> bool:
        """Whether a module is called, or a method of one of which a framework says that it runs it: ``generate``.

        So is what was compiled before, whatever that is: a network, or what runs one.
        """
        if self.calls_module(call) or self._calls_compiled(call):
            return True
        if call.op is not Op.CALL or call.callee.op is not Op.ATTRIBUTE:
            return False
        if call.callee.name not in method_names(Holds.GUARDED):
            return False
        return may_be_module(self.solution, call.callee.inputs[0])

    def _calls_compiled(self, call: Value) -> bool:
        """Whether a CALL is of what ``torch.compile``, or a function of another file that compiles, has just given."""
        made = called_object(call).unnarrowed() if call.op is Op.CALL else call
        if made is call or made.op is not Op.CALL:
            return False
        effects = self.solution.graph.foreign.effects
        done = (effect for function in self.solution.functions_of(made) for effect in effects.get(function, ()))
        is_compiled = any(effect.kind is EffectKind.COMPILES and effect.is_returned for effect in done)
        return made.callee.name == COMPILER or is_compiled

    def calls_network(self, call: Value) -> bool:
        """Whether what is called is an object of a class that the project defines and that has parameters."""
        atoms = self.solution.final(called_object(call))
        return any(isinstance(atom, Instance) and self._is_network(atom.cls) for atom in atoms)

    def runs_layers_by_method(self, call: Value) -> bool:
        """Whether a CALL is of a method, not the forward, in which a network of the project runs layers of its own."""
        methods = self.solution.functions_of(call) if call.callee.op is Op.ATTRIBUTE else []
        return bool(methods) and all(
            method.owner is not None
            and self._is_network(method.owner)
            and any(map(self.calls_module, self.calls_in(method)))
            for method in methods
        )

    def _is_network(self, cls: Class) -> bool:
        """Whether the instances of a class begin graphs when they are called; a loss without parameters begins none."""
        if cls not in self._networks:
            self._networks[cls] = is_module_class(cls) and self.may_have_parameters(cls)
        return self._networks[cls]

    @cached_property
    def handed_over(self) -> frozenset[Function]:
        """Functions that a framework is given to call in each step: ``Engine(step)``."""
        return frozenset(function for function, _ in self._handovers) | self.request_handlers

    @cached_property
    def handed_over_for_each_step(self) -> frozenset[Function]:
        """Those of them that are called in every step, and not in every n-th or in one alone."""
        return frozenset(function for function, is_seldom in self._handovers if not is_seldom) | self.request_handlers

    @cached_property
    def _handovers(self) -> tuple[tuple[Function, bool], ...]:
        """Functions that a framework is given to call in steps, each with whether the event is restricted to some."""
        found: list[tuple[Function, bool]] = []
        for call in self.solution.graph.of(Op.CALL):
            row = contract_of(self.solution, call, Holds.EACH_STEP) if call.callee.op is Op.EXTERNAL else None
            found += [(function, False) for function in self._given_function(call, row)]
            handlers = handlers_of(self.solution, call, Holds.EACH_STEP)
            found += [(function, is_of_some_events(call)) for function in handlers]
        return tuple(found)

    @cached_property
    def request_handlers(self) -> frozenset[Function]:
        """Functions that a server is given to call for each request, ``button.click(answer)``, or knows by name."""
        calls = self.solution.graph.of(Op.CALL)
        handed = ((call, contract_of(self.solution, call, Holds.HANDLERS)) for call in calls)
        given = (function for call, row in handed for function in self._given_function(call, row))
        return frozenset([*given, *filter(answers_requests, self.solution.graph.functions)])

    def _given_function(self, call: Value, row: Row | None) -> list[Function]:
        given = call.argument(*row.argument) if row is not None else None
        atoms = self.solution.final(given) if given is not None else ()
        return [atom.function for atom in atoms if isinstance(atom, FunctionReference)]

    def may_have_parameters(self, cls: Class) -> bool:
        """Whether a module holds parameters, or may get them from a base that is not seen, a ``Sequential``, or below.

        A class that leaves its ``forward`` to others is a base of networks.
        """
        forward = cls.method("forward")
        if is_module_class(cls) and (forward is None or is_left_open(forward)):
            return True
        bases = [torch_api.torch_class(base) for base in cls.all_bases() if base != "object"]
        if any(base is None or base.wraps or base.has_parameters for base in bases):
            return True
        return has_parameters(self.solution, cls)

    def is_repeated(self, function: Function) -> bool:
        """Whether ``function``, of which no caller is seen, is by itself the body of a loop that stands elsewhere."""
        if trains_on_result(function) or runs_without_gradients(function) or self.trains(function):
            return True
        if is_called_each_step(function) or function in self.handed_over:
            return True
        return is_forward(function) or self._runs_own_forward(function)

    def _runs_own_forward(self, function: Function) -> bool:
        """Whether a method of a module runs its forward, ``F.mse_loss(self(x), y)``: whoever trains calls that."""
        return function.name != "__init__" and any(map(asks_itself, self.calls_in(function)))


def called_object(call: Value) -> Value:
    """The object that a CALL calls, or of which it calls the ``forward``."""
    callee = call.callee
    return callee.inputs[0] if callee.op is Op.ATTRIBUTE and callee.name in ("forward", "__call__") else callee


def asks_itself(call: Value) -> bool:
    """Whether a CALL in a method of a module is of this module: ``self(tokens)``, ``self.forward(tokens)``."""
    owner, own = call.function.owner, call.function.parameters[:1]
    return owner is not None and is_module_class(owner) and called_object(call).unnarrowed() in own


def applies_tables(call: Value) -> bool:
    """Whether a CALL is of a transform for which its function has just computed tables: ``Resample(8000)(wave)``."""
    made = before_moves(called_object(call)).unnarrowed()
    return made.op is Op.CALL and made.function is call.function and made.callee.name in TABULATED


def _steps_what_it_zeroes(call: Value) -> bool:
    """``optimizer.step()`` of a parameter that is told to ``zero_grad()`` as well: an optimizer, whoever passes it."""
    if call.op is not Op.CALL or call.callee.op is not Op.ATTRIBUTE or call.callee.name != "step":
        return False
    optimizer = call.callee.inputs[0]
    return optimizer.op is Op.PARAMETER and any(
        user.op is Op.ATTRIBUTE and user.name == "zero_grad" and user.calls for user in optimizer.users
    )


def _is_loader(atom: Atom) -> bool:
    """Whether an alternative is a loader of torch, or of a class of the project that is one."""
    if isinstance(atom, Instance):
        bases = map(torch_api.torch_class, atom.cls.all_bases())
        return any(base is not None and base.kind == "loader" for base in bases)
    return isinstance(atom, Tool) and atom.kind == "loader"


def _is_layer(item: Value) -> bool:
    """Whether an item is one of a module's layers by the method that gives them: ``for layer in net.children()``."""
    source = item.inputs[0]
    if source.op is Op.SUBSCRIPT:  # `list(net.children())[:-1]`
        source = source.inputs[0]
        source = source.arguments[0] if source.op is Op.CALL and source.arguments else source
    return source.op is Op.CALL and source.callee.op is Op.ATTRIBUTE and source.callee.name in LAYERS
