"""Forward hooks: which functions of the file run in a module's forward, on which module, and when.

A hook has no call in the file: the module calls it, in each forward. So what the hook does, it does as often, and in
the same grad mode, as the calls of the module (or of one that holds it) that the file shows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import Argument, FunctionReference, Instance, Module, Unknown, sorted_values
from torchlint.facts.values.externals import COLLECTIONS, Meaning, meaning_of
from torchlint.facts.values.frameworks import is_module_class, runs_without_gradients
from torchlint.facts.values.graph import Class, Function, Loop, Op, Place, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.literals import is_true
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.facts.values.reaching import ends
from torchlint.torch_api.hook_names import OF_ALL, OF_FORWARDS, OF_OBJECTS, OF_TENSORS

if TYPE_CHECKING:
    from torchlint.facts import Facts

Origin: TypeAlias = "Value | Place | Class"

NO_SINGLE_TENSOR = ("LSTM", "GRU", "RNN", "MultiheadAttention", "Module", "ParameterList", "ParameterDict", "Adaptive")
"""How the names of layers begin that return a tuple or are not called."""

HOPS = 4
"""How many callers up two places are compared."""

WALKS = frozenset(
    ["modules", "children", "named_modules", "named_children", "get_submodule", "values", "items", "parameters"]
)
"""Methods that give parts of a module (or of a container of modules)."""


@dataclass(frozen=True)
class Hook:
    """A function of the file that a module runs in its forward.

    Attributes:
        registration: the call that registers it.
        function: the hook.
        tensors: its parameters that are given inputs or outputs of the module.
        module: on what it is registered; None when on every module.
        given: what ``partial`` gives it, by parameter.
        subject: its parameter that is given the module.
    """

    registration: Value
    function: Function
    tensors: tuple[Value, ...]
    module: Value | None
    given: dict[Value, Value]
    subject: Value | None = None


class Hooks:
    """The forward hooks of one file; the tables are filled as they are asked for."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution = facts.solution

    @cached_property
    def found(self) -> list[Hook]:
        """Every function that is registered as a forward hook, by every call that does so."""
        return [hook for call in self.facts.calls() for hook in self._registered(call)]

    def _registered(self, call: Value) -> Iterator[Hook]:
        callee = call.callee
        name = callee.name.rpartition(".")[2] if callee.op is Op.EXTERNAL else callee.name
        if name not in OF_FORWARDS or callee.op not in (Op.ATTRIBUTE, Op.EXTERNAL):
            return
        positions = list(OF_FORWARDS[name])
        if name == "register_forward_hook" and is_true(call.argument(-1, "with_kwargs")):
            positions[1] = 3
        module = callee.inputs[0] if callee.op is Op.ATTRIBUTE else None
        for function, parameters, filled in self._hooked(call.argument(0, "hook")):
            tensors = tuple(parameters[i] for i in positions if i < len(parameters))
            yield Hook(call, function, tensors, module, filled, parameters[0] if parameters else None)

    @cached_property
    def of_backwards(self) -> frozenset[Function]:
        """Every function of the file that runs in a backward as a hook."""
        forward = {hook.function for hook in self.found}
        hooks = (
            one.hook
            for one in self.facts.registrations
            # A forward hook that hooks its output would raise where that has no graph.
            if _runs_in_backward(one.call.callee.name) and one.call.function not in forward
        )
        return frozenset(function for hook in hooks for function, _, _ in self._hooked(hook))

    def _hooked(self, hook: Value | None) -> Iterator[tuple[Function, list[Value], dict[Value, Value]]]:
        """The functions that a hook may be, behind ``partial``; see :meth:`_functions`."""
        given, named = list[Value](), dict[str, Value]()
        while hook is not None and hook.op is Op.CALL and hook.callee.name == "functools.partial" and hook.arguments:
            pairs = list(zip(hook.keys[2:], hook.arguments[1:], strict=True))
            given = [value for key, value in pairs if isinstance(key, int)] + given
            named |= {key: value for key, value in pairs if isinstance(key, str)}
            hook = hook.arguments[0]
        if hook is not None:
            yield from self._functions(hook, given, named)

    def _functions(
        self, hook: Value, given: list[Value], named: dict[str, Value]
    ) -> Iterator[tuple[Function, list[Value], dict[Value, Value]]]:
        """The functions that a hook may be, each with the parameters that a module gives it and what the others get."""
        for atom in sorted_values(self.solution.final(hook)):
            function = _function_of(atom)
            if function is not None:
                function.open()
                bound = isinstance(atom, Instance) or (isinstance(atom, FunctionReference) and atom.bound)
                parameters = function.for_arguments(bound=bound)
                filled = dict(zip(parameters, given, strict=False))
                filled |= {p: named[p.name] for p in parameters if p.name in named}
                yield function, [p for p in parameters if p not in filled], filled
        for maker in self.solution.functions_of(hook) if not given and not named else ():
            closure = self.facts.graph.foreign.closures.get(maker)
            if closure is not None:
                outer = len(maker.parameters)
                passed = (self.solution.passed(hook, maker, i) for i in range(outer))
                pairs = zip(closure.parameters[:outer], passed, strict=True)
                yield closure, closure.parameters[outer:], {p: value for p, value in pairs if value is not None}

    def is_used(self, forward: Value) -> bool:
        """Whether a hook hands what a forward computes to a backward, though its result may be dropped."""
        return forward in self._used

    @cached_property
    def used_through(self) -> frozenset[Value]:
        """All that flows into a forward of which a hook hands something to a backward."""
        given = (argument for forward in self._used for argument in forward.arguments)
        return self.facts.flows.ancestry.of_all(given)

    @cached_property
    def _used(self) -> frozenset[Value]:
        return self.run_with(self.facts.flows.trained | self.facts.flows.inspected)

    def run_with(self, wanted: frozenset[Value]) -> frozenset[Value]:
        """The forwards that run hooks one of whose tensors is ``wanted``."""
        using = [hook for hook in self.found if not wanted.isdisjoint(hook.tensors)]
        # Each of them, and not only the outermost: a loss that is a module runs the extractor that it holds.
        runs = ((hook, call) for hook in using for call in self.module_calls(hook.module))
        return frozenset(call for hook, call in runs if not self._is_outside(hook, call))

    def gets_tensors(self, hook: Hook) -> bool:
        """Whether the hooked module is a layer of torch that takes tensors and returns one."""
        layers = self._layers(hook.module) if hook.module is not None else []
        names = [layer.callee.name for layer in layers if layer.op is Op.CALL and layer.callee.op is Op.EXTERNAL]
        return bool(layers) and len(names) == len(layers) and all(map(_returns_tensor, names))

    def _layers(self, module: Value) -> list[Value]:
        """What may have made a module; a value that is no CALL stands for what is not known."""
        return list(ends([module], self._under_coats))

    def _under_coats(self, value: Value) -> list[Value]:
        if value.op is Op.SUBSCRIPT:
            rows, key = self._layers(value.inputs[0]), value.keys[0]
            items = [row.arguments[key] for row in rows if _has_item(row, key) and isinstance(key, int)]
            return items if len(items) == len(rows) else []
        if value.op is Op.CALL and value.callee.op is Op.EXTERNAL and not _is_coat(value.callee.name):
            return []
        return self._behind(value)

    # -- the forwards that run a hook -----------------------------------------------------------------------------

    def forwards(self, hook: Hook) -> list[Value]:
        """The calls that run ``hook``: of its module or of one that holds it, while it is registered.

        A function of another file runs what this one gives it.
        """
        calls = dict.fromkeys(self.module_calls(hook.module))
        # `self.head(x)` within `forward` is run by `model(x)`, which tells more of when.
        outermost = [call for call in calls if not any(above in calls for above in self._lifted(call)[1:])]
        return [call for call in outermost or calls if not self._is_outside(hook, call)]

    def seen_at(self, forward: Value) -> Value | None:
        """A call of a module, or the call of this file by which another file comes to make it."""
        return next((call for call in self._lifted(forward) if not call.function.is_foreign), None)

    def records(self, forward: Value) -> bool:
        """Whether a forward that runs a hook may record a graph."""
        if not self.facts.modes.records(forward) or runs_without_gradients(forward.function):
            return False
        unknown = self.solution.may_be(forward, Unknown)
        return unknown or bool(self.facts.flows.live_parts(forward)) or self.facts.flows.carries(forward)

    def with_graph(self, hook: Hook, forward: Value) -> tuple[Value, ...]:
        """The tensors that ``hook`` is given in a forward, without the inputs of the whole model that have no graph."""
        module, called = hook.module, _called_object(forward)
        if module is not None and module.op is Op.SUBSCRIPT and module.keys[0] == 0:
            module = module.inputs[0]  # the first layer gets what the whole row gets
        if module is None or called is None:
            return hook.tensors
        is_whole = not self._origins(module).isdisjoint(self._origins(called))
        if not is_whole or any(map(self.facts.flows.carries, forward.arguments)):
            return hook.tensors
        return hook.tensors[1:]

    def module_calls(self, module: Value | None) -> list[Value]:
        """The calls of a module, or of one that holds it, here or for this file in another; of any where it is None."""
        if module is None:
            return [call for call in self.facts.calls() if self.facts.steps.calls_module(call)]
        wanted = self._origins(module, owners=True)
        return [call for call, origins in self._called_modules if not wanted.isdisjoint(origins)]

    @cached_property
    def _called_modules(self) -> list[tuple[Value, frozenset[Origin]]]:
        """The calls of what may be a module, each with what that is known by."""
        elsewhere = (value for value in self.solution.graph.foreign.values if value.op is Op.CALL)
        from_here = [call for call in elsewhere if self.seen_at(call) is not None]
        return [
            (call, self._origins(called, parts=True))
            for call in (*self.facts.calls(), *from_here)
            if (called := _called_object(call)) is not None and self._is_module(called)
        ]

    def _is_module(self, value: Value) -> bool:
        """Whether a called object may be a module, and is not known to be something else."""
        return any(
            isinstance(atom, Module | Unknown | Argument) or (isinstance(atom, Instance) and is_module_class(atom.cls))
            for atom in self.solution.final(value)
        )

    def _origins(self, value: Value, *, owners: bool = False, parts: bool = False) -> frozenset[Origin]:
        """What a module is known by: the calls that may have made it, places and classes.

        Args:
            value: the module.
            owners: with what it is a part of.
            parts: with all modules in the rows that it may be, and not only with the first, which gets its input.
        """
        found: set[Origin] = set()
        pending = [value]
        while pending:
            current = pending.pop()
            if current in found:
                continue
            found.add(current)
            found.update(self.solution.read_from(current))
            found.update(a.cls.root() for a in self.solution.final(current) if isinstance(a, Instance))
            pending.extend(self._behind(current))
            if parts:
                pending.extend(_wrapped(current))
            if owners:
                pending.extend(self._owners(current))
        return frozenset(found)

    def _behind(self, value: Value) -> list[Value]:
        """The same object under the names that it had before."""
        found = stored_at(self.solution, value)
        if value.op is Op.PARAMETER:
            found += self.solution.arguments_of(value)
        elif value.op is Op.PHI:
            found += value.inputs
        elif value.op is Op.CALL:
            callee = value.callee
            if callee.op is Op.ATTRIBUTE and callee.name in SAME_OBJECT:
                found.append(callee.inputs[0])
            elif callee.op is Op.EXTERNAL:
                found += _wrapped(value)[:1]
            found += [f.result for f in self.solution.functions_of(value) if f.result is not None]
        return found

    def _owners(self, value: Value) -> list[Value]:
        """The objects of which ``value`` is a part: the model of a layer, the list of an item."""
        if value.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT, Op.CONTAINER):
            return list(value.inputs)
        if value.op is Op.CALL:
            callee = value.callee
            if callee.op is Op.ATTRIBUTE and callee.name in WALKS:
                return [callee.inputs[0]]
            if callee.op is Op.EXTERNAL and callee.name in COLLECTIONS | {"builtins.getattr", "builtins.next"}:
                return list(value.arguments[:1])
            if not self.solution.functions_of(value) and not self.facts.steps.calls_module(value):
                # `find_layer(model, name)` of another file: a part of what it is given, if that is a module.
                return [v for v in value.arguments if self.solution.may_be(v, Module)]
        return []

    # -- when it is registered ------------------------------------------------------------------------------------

    def _is_outside(self, hook: Hook, forward: Value) -> bool:
        """Whether ``forward`` runs before the hook is registered, or after it was removed."""
        if self._precedes(forward, hook.registration):
            return True
        within = hook.registration.function
        if self._is_removed_within(hook.registration) and not any(
            at.function.is_inside(within) for at in self._lifted(forward)
        ):
            return True
        return any(self._precedes(removal, forward) for removal in self.removals(hook.registration))

    def _is_removed_within(self, registration: Value) -> bool:
        """Whether the function that registers a hook removes it again: by ``with``, or by its handle."""
        entered = self.facts.parents.get(registration.syntax) if registration.syntax is not None else None
        removals = self.removals(registration)
        return isinstance(entered, cst.WithItem) or any(one.function is registration.function for one in removals)

    def removals(self, registration: Value) -> list[Value]:
        """``handle.remove()`` of what ``registration`` gave, directly or by a list of handles.

        What a context manager of the file removes after its ``yield`` is there as long as its block runs.
        """
        return [call for call, handles in self._removed if registration in handles and not call.function.is_generator]

    @cached_property
    def _removed(self) -> list[tuple[Value, frozenset[Value]]]:
        flows = self.facts.flows
        calls = (c for c in self.facts.calls() if c.callee.op is Op.ATTRIBUTE and c.callee.name == "remove")
        return [(call, flows.ancestry.of_all(call.callee.inputs)) for call in calls]

    def _precedes(self, first: Value, second: Value) -> bool:
        """Whether ``first`` runs before ``second`` and not again after it, as far as the file shows the order."""
        seconds: dict[Function, list[Value]] = {}
        for at in self._lifted(second):
            seconds.setdefault(at.function, []).append(at)
        pairs = [(a, b) for a in self._lifted(first) for b in seconds.get(a.function, ()) if a is not b]
        return bool(pairs) and all(a.index < b.index and not _share_loop(a.loop, b.loop) for a, b in pairs)

    def _lifted(self, value: Value) -> list[Value]:
        """A call, the calls of the function in which it stands, and so on."""
        found, frontier = [value], [value]
        for _ in range(HOPS):
            calls = [call for at in frontier for call in self.solution.callers.get(at.function, {})]
            frontier = [call for call in dict.fromkeys(calls) if call not in found]
            found += frontier
        return found


def _function_of(atom: object) -> Function | None:
    if isinstance(atom, FunctionReference):
        return atom.function
    return atom.cls.method("__call__") if isinstance(atom, Instance) else None


def _runs_in_backward(registering: str) -> bool:
    """Whether what a method or function of this name registers runs in the backward."""
    name = registering.rpartition(".")[2]
    return name in OF_TENSORS or ("backward" in name and name in OF_OBJECTS | OF_ALL)


def _returns_tensor(name: str) -> bool:
    """Whether a class of torch is a layer from tensor to tensor: no recurrent one, no attention, no container."""
    made = torch_api.torch_class(name)
    return made is not None and made.kind == "module" and not name.rpartition(".")[2].startswith(NO_SINGLE_TENSOR)


def _is_coat(name: str) -> bool:
    return meaning_of(name) is Meaning.FIRST


def _has_item(row: Value, key: str | int | None) -> bool:
    """Whether ``row`` is a ``Sequential`` whose items are written out, with an item ``key``."""
    is_row = row.op is Op.CALL and row.callee.name.endswith(".Sequential") and None not in row.keys[1:]
    return is_row and isinstance(key, int) and -len(row.arguments) <= key < len(row.arguments)


def _called_object(call: Value) -> Value | None:
    """The object whose forward a CALL may run."""
    callee = call.callee
    if callee.op is Op.ATTRIBUTE and callee.name in ("forward", "__call__"):
        return callee.inputs[0]
    if callee.op is Op.ATTRIBUTE and callee.name in torch_api.module_methods():
        return None
    return callee


def _wrapped(call: Value) -> tuple[Value, ...]:
    """The modules that a call of torch gives back in another coat (``compile``) or in a row (``Sequential``)."""
    if call.op is not Op.CALL or call.callee.op is not Op.EXTERNAL:
        return ()
    made = torch_api.torch_class(call.callee.name)
    if made is not None and made.wraps:
        return call.arguments
    return call.arguments[:1] if meaning_of(call.callee.name) is Meaning.FIRST else ()


def _share_loop(first: Loop | None, second: Loop | None) -> bool:
    around = set(first.around()) if first is not None else set()
    return second is not None and not around.isdisjoint(second.around())
