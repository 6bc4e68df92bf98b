"""Calls: of the file's own functions through their summaries, of modules, of methods by receiver.

What libraries give is in ``library_calls.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.beginning_items import begin_with_items
from torchlint.facts.values.differentiation import differentiate, live
from torchlint.facts.values.domain import (
    BOTTOM,
    LEAF,
    NO_GRAPH,
    OF_CLASSES,
    PLAIN,
    UNKNOWN,
    Abstract,
    Argument,
    Atom,
    Carrier,
    ClassReference,
    Container,
    Differentiable,
    External,
    FrameworkObject,
    FunctionReference,
    Instance,
    Module,
    Partial,
    Plain,
    Tool,
    Unknown,
    join,
    sorted_values,
)
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.framework_objects import FACTORIES, given_back
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.frozen_results import of_frozen
from torchlint.facts.values.graph import Class, Function, Op, Place, Value
from torchlint.facts.values.handing_on import bound_handlers, receiving_parameter
from torchlint.facts.values.known import OWN_ITEMS
from torchlint.facts.values.library_calls import (
    METHODS_OF_CONTAINERS,
    given_by_container,
    given_by_library,
    given_by_tensor,
)
from torchlint.facts.values.named_methods import (
    Named,
    callers_through,
    handed_through,
    is_handing_over,
    named_methods,
)
from torchlint.facts.values.objects import as_receiver
from torchlint.facts.values.overriding import Made, Overriding, is_left_open, is_own_object
from torchlint.facts.values.own_backward import applied, has_own_backward
from torchlint.facts.values.parameters import LAYERS, SAME_OBJECT, has_parameters, is_frozen, is_frozen_for, star_of
from torchlint.facts.values.partials import Bound, bind, hand_to_thread, is_told, tasks
from torchlint.facts.values.passed_objects import PassedObjects
from torchlint.facts.values.pure import PureFunctions
from torchlint.facts.values.returned_at_rest import returned_to
from torchlint.facts.values.sequences import forwards
from torchlint.facts.values.severing import severs
from torchlint.facts.values.substitution import Substitution
from torchlint.facts.values.threads import handed_over
from torchlint.frameworks import Holds

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


class Calls:
    """What calls return, and who calls whom."""

    def __init__(self, solution: Solution) -> None:
        """Work for ``solution``."""
        self.solution = solution
        self._overriding = Overriding(solution)
        self.passed = PassedObjects(solution)
        self.substitution = Substitution(solution)
        self._pure = PureFunctions(solution)

    def call(self, value: Value) -> Abstract:
        """The result of a CALL."""
        callee = value.callee
        if (handed := handed_over(value)) is not None:
            hand_to_thread(self.solution, value, *handed)
        parts: list[Abstract] = []
        if callee.op is Op.ATTRIBUTE:
            receiver = self.solution.of(callee.inputs[0])
            parts += [self._method(value, atom, callee.name) for atom in sorted_values(receiver)]
            if not receiver:
                return BOTTOM
        else:
            abstract = self.solution.of(callee)
            if not abstract:
                return BOTTOM
            # In order, since who calls whom is noted on the way.
            parts += [self._called(value, atom) for atom in sorted_values(abstract)]
            parts += [self._called_by_name(named, value) for named in named_methods(self.solution, value)]
        return join(parts)

    def _arguments(self, value: Value) -> list[Abstract]:
        return [self.solution.of(argument) for argument in value.arguments]

    def _called(self, value: Value, atom: Atom) -> Abstract:
        """The result of calling an object that is ``atom``."""
        if isinstance(atom, FunctionReference):
            return self.run_function(value, atom.function, bound=atom.bound)
        if isinstance(atom, Partial):
            return join(self._called_with(value, bound) for bound in tasks(self.solution, atom, value))
        if isinstance(atom, ClassReference):
            initializer = atom.cls.method("__init__")
            if initializer is not None:
                self.run_function(value, initializer, bound=True)
            begin_with_items(self.solution, value, atom.cls)
            return self._made(atom.cls)
        if isinstance(atom, Instance):
            return self._call_instance(value, atom)
        if isinstance(atom, Module):
            return self._forward(value, atom)
        if isinstance(atom, External):
            return self._external(value, atom.name)
        if isinstance(atom, Differentiable):
            return differentiate(value, self._arguments(value) or [UNKNOWN])
        return PLAIN if isinstance(atom, Plain) else UNKNOWN

    def _made(self, cls: Class) -> Abstract:
        """A new object of a class of the file."""
        for base in self._overriding.note_made(cls):
            self.solution.touch(Made(base))
        return frozenset([Instance(cls)])

    def _called_with(self, value: Value, bound: Bound, *, by_items: bool = False) -> Abstract:
        """The result of calling what has arguments bound to it; ``by_items`` when ``map`` calls it."""
        atom, receiver = bound.atom, bound.receiver
        called = atom.cls.method("__call__") if isinstance(atom, Instance) else None
        if called is not None:
            atom, receiver = FunctionReference(called, bound=True), bound.makers[0].arguments[0]
        if isinstance(atom, FunctionReference):
            atom.function.open()
            binding = bind(None if by_items else value, atom.function, bound=atom.bound, makers=bound.makers)
            if atom.bound and receiver is not None:
                binding[atom.function.parameters[0]] = receiver
            result = self._run_bound(value, atom.function, binding)
            for caller in () if by_items else callers_through(self.solution, value):
                self._run_bound(caller, atom.function, self._bound_through(value, caller, binding))
            return result
        if isinstance(atom, ClassReference):
            initializer = atom.cls.method("__init__")
            if initializer is not None and not by_items:
                self._run(value, initializer, bind(value, initializer, bound=True, makers=bound.makers))
            return self._made(atom.cls)
        if isinstance(atom, External) and not by_items:
            result = self._external(value, atom.name)
            return result if bound.by_name_only or all(map(is_told, result)) else UNKNOWN
        return UNKNOWN

    def _run_bound(self, value: Value, function: Function, binding: dict[Value, Value | None]) -> Abstract:
        known = self.solution.callers[function].get(value)
        if known is not None:  # by another partial of the same function, maybe with other arguments
            known.update({p: None for p, given in binding.items() if known.get(p) is not given})
        return self._run(value, function, binding)

    def _bound_through(
        self, call: Value, caller: Value, binding: dict[Value, Value | None]
    ) -> dict[Value, Value | None]:
        """What a partial has not been given, where a CALL of it hands on what ``caller`` gives: ``f(**values)``."""
        handed = handed_through(self.solution, caller, call)
        return {
            to: handed.get(to.name) if given is None and not star_of(to) else given for to, given in binding.items()
        }

    def _called_by_name(self, named: Named, call: Value) -> Abstract:
        """The result of what a CALL runs by a name, of which somebody else may be the caller."""
        results = []
        for atom in sorted_values(self.solution.of(named.receiver)):
            method = atom.cls.method(named.name) if isinstance(atom, Instance) else None
            if method is not None and not method.is_property:
                binding = self._handed_on(call, named.caller, method, bound=not method.is_static)
                if not method.is_static:
                    binding[method.parameters[0]] = named.receiver
                results.append(self._run(named.caller, method, binding))
        return join(results)

    # -- modules --------------------------------------------------------------------------------------------------

    def _forward(self, value: Value, module: Module) -> Abstract:
        for forward, binding in forwards(self.solution, value, module):
            self._run(value, forward, binding)
        if module.has_parameters and not is_frozen_for(self.solution, value):
            return live(value)
        return differentiate(value, self._arguments(value) or [UNKNOWN])

    def _call_instance(self, value: Value, instance: Instance) -> Abstract:
        overridden = self._run_overriding(value, value.callee, instance.cls, "__call__")
        if overridden is not None:
            return overridden
        method = instance.cls.method("__call__")
        if method is None and is_module_class(instance.cls):
            return self._run_forward(value, instance)
        return self.run_function(value, method, bound=True) if method is not None else UNKNOWN

    def _run_forward(self, value: Value, instance: Instance) -> Abstract:
        forward = instance.cls.method("forward")
        receiver = value.callee.inputs[0] if value.callee.op is Op.ATTRIBUTE else value.callee
        overridden = self._run_overriding(value, receiver, instance.cls, "forward")
        if overridden is None and (forward is None or is_left_open(forward)) and self._is_own(value, receiver):
            return live(value)  # a base of networks that others define
        if overridden is not None:
            result = overridden
        else:
            result = UNKNOWN if forward is None else self.run_function(value, forward, bound=True)
        if is_frozen_for(self.solution, value):
            return of_frozen(value, result, self._arguments(value))
        if not self._has_parameters(value, instance.cls):
            return result
        vague = any(isinstance(atom, Unknown | Carrier) for atom in result)
        return join((result - {Unknown()}, live(value))) if vague else result

    def _is_own(self, call: Value, receiver: Value) -> bool:
        """Whether an object calls itself: ``self(x)`` in a method of it."""
        function = call.function
        return function.owner is not None and not function.is_static and receiver in function.parameters[:1]

    def _has_parameters(self, value: Value, cls: Class) -> bool:
        """Whether a module of this file trains; ``value`` is run again when it holds more."""
        if has_parameters(self.solution, cls):
            return True
        for ancestor in cls.lineage():
            self.solution.watch(ancestor.root(), value)
        return False

    # -- methods --------------------------------------------------------------------------------------------------

    def _method(self, value: Value, atom: Atom, name: str) -> Abstract:
        """The result of ``receiver.name(...)`` for a receiver that is ``atom``."""
        if isinstance(atom, OF_CLASSES):
            return self._method_of_class(value, atom, name)
        if isinstance(atom, Container):
            return given_by_container(self.solution, value, atom, name)
        if isinstance(atom, Module):
            return self._method_of_module(value, atom, name)
        if isinstance(atom, External):
            return self._external(value, f"{atom.name}.{name}")
        if isinstance(atom, Tool):
            # `scaler.scale(loss)` is the loss, times a number.
            is_scaled = atom.kind == "scaler" and name == "scale" and value.arguments
            return differentiate(value, self._arguments(value)[:1]) if is_scaled else PLAIN
        if isinstance(atom, Plain):
            return PLAIN
        if isinstance(atom, Partial):
            return UNKNOWN
        if isinstance(atom, FrameworkObject):
            self._hand_to_handlers(value)
            return given_back(self.solution, value, atom, name)
        return self._method_of_tensor(value, atom, name)

    def _method_of_class(self, value: Value, atom: Instance | ClassReference, name: str) -> Abstract:
        result = self._found_in_class(value, atom, name)
        # What loads an object is seldom seen through; by convention it gives one of the class that it is asked of.
        is_factory = isinstance(atom, ClassReference) and name in FACTORIES
        return frozenset([Instance(atom.cls)]) if is_factory and result <= UNKNOWN else result

    def _found_in_class(self, value: Value, atom: Instance | ClassReference, name: str) -> Abstract:
        method = atom.cls.method(name)
        if name == "forward" and isinstance(atom, Instance) and is_module_class(atom.cls):
            return self._run_forward(value, atom)
        given = self._run_overriding(value, value.callee.inputs[0], atom.cls, name)
        if given is None and method is not None and not method.is_property:
            bound = isinstance(atom, Instance) or "classmethod" in method.decorators
            given = as_receiver(method, atom, self.run_function(value, method, bound=bound and not method.is_static))
            if isinstance(atom, ClassReference) and Instance(atom.cls) in given:
                self._made(atom.cls)  # by a method of the class, which calls `cls(...)`
        if given is not None:
            return self._of_method(value, atom, given)
        if name == "apply" and has_own_backward(atom.cls):
            return applied(value, atom.cls, self._arguments(value))
        if isinstance(atom, Instance) and is_module_class(atom.cls):
            if name in torch_api.module_methods():
                return self._method_of_module(value, Module(), name, itself=atom)
        self.solution.watch(Place(atom.cls.root(), OWN_ITEMS), value)
        if own := self.solution.own_items(atom) if name in METHODS_OF_CONTAINERS else ():
            return join(given_by_container(self.solution, value, Container(made), name) for made in own)
        stored = join(self._called(value, kept) for kept in sorted_values(self.solution.of(value.callee)))
        return self._of_method(value, atom, stored) or UNKNOWN

    def _of_method(self, value: Value, atom: Instance | ClassReference, given: Abstract) -> Abstract:
        is_frozen_module = is_module_class(atom.cls) and is_frozen_for(self.solution, value)
        return of_frozen(value, given, self._arguments(value)) if is_frozen_module else given

    def methods_meant(self, value: Value, cls: Class, method: Function) -> list[Function]:
        """The methods that an ATTRIBUTE stands for which finds ``method``: of subclasses, where these have another."""
        return self._instead(value, value.inputs[0], cls, method.name) or [method]

    def properties(self, value: Value, cls: Class, own: Function | None) -> list[Function]:
        """What reading an ATTRIBUTE runs: the ``own`` property of ``cls``, or those of subclasses in its place."""
        read = self._instead(value, value.inputs[0], cls, value.name) or ([] if own is None else [own])
        return [one for one in read if one.is_property]

    def _run_overriding(self, value: Value, receiver: Value, cls: Class, name: str) -> Abstract | None:
        """What ``self.name(...)`` gives in a base class of which subclasses have the method; else None."""
        methods = self._instead(value, receiver, cls, name)
        if not methods or any(method.is_property for method in methods):
            return None
        return join(self.run_function(value, method, bound=not method.is_static) for method in methods)

    def _instead(self, value: Value, receiver: Value, cls: Class, name: str) -> list[Function]:
        """The methods that run for ``receiver.name``, where that may be another one than ``cls`` has."""
        if not is_own_object(receiver, cls):
            return self._overriding.instead_of_abstract(cls, name)
        self.solution.watch(Made(cls), value)
        if self._overriding.has_others(cls):
            self.solution.watch(receiver.function, value)  # who calls it by `super()`
        return self._overriding.methods(receiver.function, cls, name)

    def _method_of_module(self, value: Value, module: Module, name: str, itself: Atom | None = None) -> Abstract:
        if name == "apply":
            return self._apply_to_layers(value, itself or module)
        if name in SAME_OBJECT or name == "module":  # that of an exported program
            return frozenset([itself or module])
        if name in ("forward", "__call__"):
            return self._forward(value, module)
        if name in ("parameters", "buffers", "named_parameters", "named_buffers"):
            frozen = not module.has_parameters or is_frozen(self.solution, value.callee.inputs[0])
            kept = NO_GRAPH if frozen or name.endswith("buffers") else LEAF
            self.solution.set_field(value, None, kept)
            return frozenset([Container(value)])
        if name in ("state_dict", "named_buffers"):
            self.solution.set_field(value, None, NO_GRAPH)
            return frozenset([Container(value)])
        if name in LAYERS:
            self.solution.set_field(value, None, UNKNOWN | {Module(module.has_parameters)})
            return frozenset([Container(value)])
        if name in torch_api.module_methods():
            return UNKNOWN
        found = sorted_values(self.solution.of(value.callee))
        kept_there = join(self._called(value, kept) for kept in found if isinstance(kept, Differentiable))
        return kept_there or UNKNOWN

    def _apply_to_layers(self, value: Value, module: Atom) -> Abstract:
        """``net.apply(initialize)``: the function is called with each layer, and with the module, which comes back."""
        for atom in sorted_values(self.solution.of(value.arguments[0])) if value.arguments else ():
            if isinstance(atom, FunctionReference):
                atom.function.open()
                given = atom.function.for_arguments(bound=atom.bound)[:1]
                self._run(value, atom.function, dict.fromkeys(given, value.callee.inputs[0]))
        return frozenset([module])

    def _method_of_tensor(self, value: Value, atom: Atom, name: str) -> Abstract:
        known = given_by_tensor(self.solution, value, atom, name)
        if known is not None:
            return known
        kept = self.solution.of(value.callee) if isinstance(atom, Argument | Unknown | Carrier) else BOTTOM
        return join(self._called(value, k) for k in sorted_values(kept) if not isinstance(k, Unknown)) or UNKNOWN

    # -- the file's own functions ---------------------------------------------------------------------------------

    def _external(self, value: Value, name: str) -> Abstract:
        """The result of a call of what was imported; what maps a function of the file over items runs that."""
        if meaning_of(name) is Meaning.APPLIES:
            return self._apply_to_items(value)
        return given_by_library(self.solution, value, name)

    def _apply_to_items(self, value: Value) -> Abstract:
        """``map(f, xs)``: each item is what ``f`` gives; when it runs is another matter (``handoffs.py``)."""
        for atom in sorted_values(self.solution.of(value.arguments[0])) if value.arguments else ():
            if isinstance(atom, FunctionReference):
                atom.function.open()
                binding = dict.fromkeys(atom.function.for_arguments(bound=atom.bound))
                self.solution.set_field(value, None, self._run(value, atom.function, binding))
            elif isinstance(atom, Partial):
                results = [
                    self._called_with(value, bound, by_items=True) for bound in tasks(self.solution, atom, value)
                ]
                self.solution.set_field(value, None, join(results))
            else:
                self.solution.set_field(value, None, self._called(value, atom))
        return frozenset([Container(value)])

    def run_function(self, value: Value, function: Function, *, bound: bool, index: Value | None = None) -> Abstract:
        """The result of a call of ``function`` from ``value``, and what the call tells about its parameters.

        ``index``: what a method gets that is run by the read of an item, ``table[name]``.
        """
        function.open()
        binding = bind(value, function, bound=bound)
        if index is not None and len(binding) == 1:
            binding = dict.fromkeys(binding, index)
            self.solution.watch(index, value)  # which is no input of it
        result = self._run(value, function, binding)
        for caller in callers_through(self.solution, value):
            self._run(caller, function, self._handed_on(value, caller, function, bound=bound))
        return result

    def _handed_on(self, call: Value, caller: Value, function: Function, *, bound: bool) -> dict[Value, Value | None]:
        """What a CALL gives a function, where it only hands on what ``caller`` has given to the function around it."""
        binding = bind(call, function, bound=bound)
        handed = handed_through(self.solution, caller, call)
        # What stands in another file is what its caller here gives.
        own = call.function.parameters if is_handing_over(self.solution, call) else ()
        for position, parameter in enumerate(function.for_arguments(bound=bound)):
            if binding[parameter] is None or binding[parameter] in own:
                binding[parameter] = handed.get(parameter.name, handed.get(position))
        if bound and call.callee.op is Op.ATTRIBUTE:
            binding[function.parameters[0]] = call.callee.inputs[0]
        return binding

    def _run(self, value: Value, function: Function, binding: dict[Value, Value | None]) -> Abstract:
        self.solution.add_call(value, function, binding)
        is_spread = value.op is Op.CALL and None in value.keys[1:]
        for parameter, argument in binding.items():
            if is_spread and argument is not None:
                self.solution.watch(argument, value)  # an item of what is spread, which is no input
            self.passed.hand(value, parameter, argument)
        if function.is_converted:
            return UNKNOWN  # callers get what a decorator makes of it
        result = function.result
        if result is None or not result.inputs:
            return UNKNOWN if is_left_open(function) else PLAIN
        returned = returned_to(self.solution, value, result)
        cut_off = severs(self.solution, value, function, binding)
        self.substitution.note(value, function, cut_off or self._pure.given(value, function, returned))
        summary = join(self.substitution.of(value, atom, function, binding) for atom in returned)
        if function.is_foreign and not returned.isdisjoint(UNKNOWN):
            # What a function that is not seen whole gives back may have been frozen there, or quantized.
            summary = frozenset(atom for atom in summary if not isinstance(atom, Module | Instance) or atom in returned)
            summary -= frozenset([Module(), Module(has_parameters=False)])
        if function.is_generator:
            self.solution.set_field(value, None, summary)
            return frozenset([Container(value)])
        return summary

    def _hand_to_handlers(self, value: Value) -> None:
        """Let an object reach the functions that it calls at its events with itself: ``engine.on(event)``."""
        for function, bound in bound_handlers(self.solution, value, Holds.HANDS_ITSELF):
            parameter = receiving_parameter(function, bound=bound)
            if parameter is not None:
                self.passed.give(parameter, self.solution.of(value.callee.inputs[0]))
