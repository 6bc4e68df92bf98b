"""What the builder carries along: the graph, the present function, loop, statement and state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from functools import cached_property

import libcst as cst

from torchlint import torch_api
from torchlint.facts.building.beginnings import NOTHING
from torchlint.facts.building.first_times import FirstTimes
from torchlint.facts.building.names import ScopeNames, changes_receiver, constant_key, path_of
from torchlint.facts.building.narrowing import narrowings
from torchlint.facts.building.properties import set_property
from torchlint.facts.building.resetting import Resetting, Settings
from torchlint.facts.building.state import State
from torchlint.facts.building.switching import Switch
from torchlint.facts.summaries.imports import Imports
from torchlint.facts.summaries.linking import Linker
from torchlint.facts.values.graph import (
    Class,
    Flag,
    Function,
    Key,
    Kind,
    Loop,
    Mode,
    Op,
    Place,
    Store,
    Value,
    ValueGraph,
)
from torchlint.facts.values.kinds import Rest
from torchlint.facts.values.own_operators import SETTING

READING = frozenset([Op.ATTRIBUTE, Op.READ])
"""What may read what an earlier step left."""


class Context(ABC):
    """Makes values and remembers where the builder stands.

    Attributes:
        graph: what has been found.
        scopes: the names of each function, by node.
        imports: names that the module's imports alone bind, to full dotted names.
        classes: the file's classes by node.
        function, loop, statement, state: where the builder stands; ``state`` is None after ``return`` or ``raise``,
            and then statements are skipped.
        cls: the class whose body runs, if any.
        unset: the paths of which the conditions around say that they are not set yet.
        pending: functions whose bodies are still to be built.
        switching_off: the functions at the top level, and the methods as ``Class.method``, after which gradients are
            off.
        tests: for each value that an expression chooses, the condition by which it does.
        switched: what the grad mode hung on where a value was computed.
    """

    def __init__(
        self,
        module: cst.Module,
        scopes: dict[cst.CSTNode, ScopeNames],
        imports: dict[str, str],
        project: Imports,
    ) -> None:
        """Begin at the first statement of ``module``."""
        self._module = module
        self.function = Function("<module>", module, None, None)
        self.graph = ValueGraph(self.function, functions=[self.function])
        self.linker = Linker(self.graph.foreign, project, self.graph.classes)
        self.project = project
        self.scopes = scopes
        self.imports = imports
        self.classes: dict[cst.ClassDef, Class] = {}
        self.loop: Loop | None = None
        self.statement: cst.CSTNode = module
        self.state = State()
        self.cls: Class | None = None
        self.pending: list[tuple[Function, cst.FunctionDef | cst.Lambda]] = []
        self.switching_off: set[str] = set()
        self.unset: frozenset[str] = NOTHING
        self.first_times = FirstTimes(module)
        self.tests: dict[Value, Value] = {}
        self.switched: dict[Value, Switch] = {}

    @cached_property
    def resetting(self) -> Resetting:
        """What the calls of the file may set anew."""
        return Resetting(self._module, self.imports)

    @property
    def itself(self) -> str:
        """The name of the object whose method is built, ``self``; "" outside of methods."""
        return self.function.parameters[0].name if self.function.owner is not None and self.function.parameters else ""

    def forget_settings(self, settings: Settings) -> None:
        """Forget what is known at paths that something has set anew, for all that is seen."""
        if not settings:
            return
        cls = self.function.owner.name if self.function.owner is not None else ""
        for path in self.resetting.among(self.state.variables, settings, self.itself, cls):
            if not path.isidentifier() or self.resolve(path) is not None:
                self.state.forget(path)

    @cached_property
    def defines_items(self) -> bool:
        """Whether a class of the file says what an assignment of an item does."""
        return any(isinstance(node, cst.FunctionDef) and node.name.value == SETTING for node in self.scopes)

    @cached_property
    def declared_global(self) -> frozenset[str]:
        """Names that some function of the file says ``global`` and may set anew."""
        return frozenset(name for names in self.scopes.values() for name in names.declared)

    @property
    def names(self) -> ScopeNames:
        """The names of the present function."""
        return self.scopes[self.function.syntax]

    def make(
        self,
        op: Op,
        inputs: tuple[Value, ...],
        syntax: cst.CSTNode | None,
        *,
        name: str = "",
        keys: tuple[Key, ...] = (),
        place: Place | None = None,
        reference: Function | Class | None = None,
    ) -> Value:
        """A new value at the present point."""
        # Where branches join that all return, there is no state, and nobody will ask for the mode.
        mode = self.state.mode if self.state is not None else Mode.INHERITED
        value = Value(
            len(self.graph.values), op, inputs, self.function, self.loop, mode, name, keys, syntax,
            self.statement, False, False, place, reference,
        )  # fmt: skip
        for source in inputs:
            source.users.append(value)
        self.graph.values.append(value)
        if self.state is not None:
            if op in READING and self.state.rests:
                self.graph.resting.add(value)
            if self.state.trains:
                self.graph.training.add(value)
            if mode is Mode.MAYBE and self.state.switch is not None:
                self.switched[value] = self.state.switch
        return value

    def unknown(self, syntax: cst.CSTNode | None) -> Value:
        """A value of which nothing is known."""
        return self.make(Op.UNKNOWN, (), syntax)

    def narrow(self, test: Value, *, holds: bool) -> dict[str, Value]:
        """From here on the condition ``test`` holds, or does not: variables are what that leaves of them.

        Returns:
            the variables that are narrowed, as they were.
        """
        before: dict[str, Value] = {}
        for one in narrowings(test, holds=holds):
            rest = self.make(Op.NARROWED, (one.value,), one.value.syntax, name=one.rest.value)
            before.setdefault(one.path, one.value)
            self.state.variables[one.path] = rest  # what hangs on it stays known
        return before

    def switch_by(self, test: Value, *, holds: bool) -> None:
        """From here on gradients are on or off as they are where the condition ``test`` holds, or does not."""
        if self.state.switch is not None:
            self.state.mode = self.state.switch.under(test, holds=holds) or self.state.mode
        for path, value in list(self.state.variables.items()) if self.switched else ():
            switch = self.switched.get(value)
            if switch is not None and switch.under(test, holds=holds) is Mode.OFF:
                name = Rest.GRAPHLESS.value
                self.state.variables[path] = self.make(Op.NARROWED, (value,), value.syntax, name=name)

    def without_excluded(self, value: Value) -> Value:
        """What is left of a value here, of which conditions say that it is no dictionary, no list or no tuple."""
        for name in sorted(rest.value for one, rest in self.state.excluded if one is value.unnarrowed()):
            value = self.make(Op.NARROWED, (value,), value.syntax, name=name)
        return value

    def phi(
        self, name: str, choices: list[Value], resting: Set[Value], decided: Mapping[Value, frozenset[Flag]]
    ) -> Value:
        """The value of ``name`` where branches with different values of it join; see :func:`merge`."""
        value = self.make(Op.PHI, tuple(choices), None, name=name)
        self.graph.resting_choices.update((value, choice) for choice in resting)
        self.graph.decided.update({(value, choice): (flags,) for choice, flags in decided.items()})
        return value

    def resolve(self, name: str) -> Place | None:
        """Where a variable that is not bound here is kept: in a function around this one or in the module."""
        if name in self.names.assigned and self.function.parent is None:
            return Place(self.function, name)
        around = self.function if name in self.names.declared else self.function.parent
        if name in self.names.assigned and name not in self.names.declared:
            return Place(self.function, name) if name in self.names.captured else None
        while around is not None:
            if name in self.scopes[around.syntax].assigned:
                return Place(around, name)
            around = around.parent
        if name in self.names.declared:
            return Place(self.graph.module, name)
        return None

    # -- binding --------------------------------------------------------------------------------------------------

    def assign(self, target: cst.CSTNode, value: Value, syntax: cst.CSTNode | None) -> None:
        """Bind ``target`` to ``value``: names, attributes, items, tuples of these."""
        if self.unset and path_of(target) in self.unset:
            self.graph.beginnings.add(value)
        if type(target) is cst.Name:
            self._assign_name(target, value, syntax)
        elif type(target) is cst.Attribute:
            if target.attr.value == "data" and self._is_of_tensor(target):
                self.graph.renumbered.append((self.visit(target.value), value))
            else:
                self._assign_attribute(target, value, syntax)
        elif isinstance(target, cst.Tuple | cst.List):
            self._unpack(target, value)
        elif isinstance(target, cst.StarredElement):
            self.assign(target.value, value, None)
        elif isinstance(target, cst.Subscript):
            self._assign_item(target, value, syntax)

    def _assign_name(
        self, target: cst.Name, value: Value, syntax: cst.CSTNode | None, added: Value | None = None
    ) -> None:
        name, names = target.value, self.names
        self.state.bind(name, value)
        if self.cls is not None:
            place: Place | None = Place(self.cls.root(), name)
        elif name in names.declared:
            place = self.resolve(name)
        elif self.function.parent is None or name in names.captured:
            place = Place(self.function, name)
        else:
            return
        self.keep(_kind(added), value, syntax, added=added, place=place, target=target)

    def _unpack(self, target: cst.Tuple | cst.List, value: Value) -> None:
        starred = next((i for i, e in enumerate(target.elements) if isinstance(e, cst.StarredElement)), None)
        parts = self.parts_of(value, len(target.elements), starred)
        for element, part in zip(target.elements, parts, strict=True):
            self.assign(element.value, part, part.syntax)

    def parts_of(self, value: Value, count: int, starred: int | None) -> list[Value]:
        """The parts that so many targets get when ``value`` is taken apart; from the ``starred`` one on, anywhere."""
        literal = value.op is Op.CONTAINER and isinstance(value.syntax, cst.Tuple | cst.List) and starred is None
        if literal and value.keys == tuple(range(count)):
            return list(value.inputs)
        known = count if starred is None else starred
        keys = (position if position < known else None for position in range(count))
        return [self.make(Op.ELEMENT, (value,), value.syntax, keys=(key,)) for key in keys]

    def _assign_attribute(
        self, target: cst.Attribute, value: Value, syntax: cst.CSTNode | None, added: Value | None = None
    ) -> None:
        base = self.visit(target.value)
        path = path_of(target)
        if path is not None:
            self.state.bind(path, value)
        if base.op is not Op.EXTERNAL:
            self.keep(_kind(added), value, syntax, added=added, holder=base, attribute=target.attr.value, target=target)
            set_property(self, base, target, value)
        owner = self.function.owner
        if owner is not None and base in self.function.parameters[:1] and _is_parameter(value):
            owner.has_own_parameters = True

    def _assign_item(
        self, target: cst.Subscript, value: Value, syntax: cst.CSTNode | None, added: Value | None = None
    ) -> None:
        base = self.visit(target.value)
        path = path_of(target)
        if path is not None:
            self.state.bind(path, value)
        keys = [self.visit(element.slice.value) for element in target.slice if isinstance(element.slice, cst.Index)]
        index = keys[-1] if keys else None
        if 1 < len(keys) == len(target.slice):  # `seen[step, name]`: the key is a tuple
            index = self.make(Op.CONTAINER, tuple(keys), None, keys=tuple(range(len(keys))))
        self.keep(
            Kind.INSERT if added is None else Kind.UPDATE, value, syntax,
            added=added, holder=base, is_item=True, key=constant_key(target), index=index,
            target=target.value if added is None else target,
        )  # fmt: skip
        if index is not None and self.defines_items:
            method = self.make(Op.ATTRIBUTE, (base,), None, name=SETTING)
            self.make(Op.CALL, (method, index, value), None, name=SETTING, keys=(None, 0, 1))

    def update(self, target: cst.CSTNode, value: Value, added: Value | None, syntax: cst.CSTNode | None) -> None:
        """``target`` now holds ``value``, made of its old content and ``added`` (None: of nothing else)."""
        while isinstance(target, cst.Call) and isinstance(target.func, cst.Attribute):
            if not changes_receiver(target.func.attr.value):
                return
            target = target.func.value  # x.mul_(a).add_(b) changes x
        if isinstance(target, cst.Name):
            self._assign_name(target, value, syntax, added)
        elif isinstance(target, cst.Attribute) and not self._is_of_tensor(target):
            self._assign_attribute(target, value, syntax, added)
        elif isinstance(target, cst.Subscript):
            self._assign_item(target, value, syntax, added)

    def _is_of_tensor(self, target: cst.Attribute) -> bool:
        """``p.data``, ``p.grad``, which keep no state; what a method keeps on its own object by such a name is one."""
        own = self.function.parameters[:1] if self.function.owner is not None else []
        return target.attr.value in ("data", "grad") and path_of(target.value) not in [one.name for one in own]

    def keep(
        self,
        kind: Kind,
        value: Value,
        syntax: cst.CSTNode | None,
        *,
        added: Value | None = None,
        place: Place | None = None,
        holder: Value | None = None,
        attribute: str = "",
        is_item: bool = False,
        key: Key = None,
        index: Value | None = None,
        target: cst.CSTNode | None = None,
        call: Value | None = None,
    ) -> None:
        """Record that ``value`` is kept; the arguments are those of :class:`Store`."""
        store = Store(
            kind, value, self.function, self.loop, self.state.mode, self.statement, syntax, added, place,
            holder, attribute, is_item, key, index, target, call,
        )  # fmt: skip
        self.graph.stores.append(store)
        if self.state.trains:
            self.graph.training.add(store)

    def hand_out(self, value: Value) -> None:
        """``value`` is returned or yielded."""
        result = self.function.result
        if result is not None:
            flags = self.state.flags if self.state is not None else frozenset()
            ways = self.graph.decided.get((result, value))
            if ways is not None or (flags and value not in result.inputs):
                self.graph.decided[result, value] = (*(ways or ()), flags)
            result.feed(value)

    @abstractmethod
    def visit(self, node: cst.CSTNode) -> Value:
        """The value of an expression (given by the expression builder)."""

    @abstractmethod
    def define(self, node: cst.FunctionDef | cst.Lambda) -> Value:
        """A function's value (given by the definition builder)."""


def _kind(added: Value | None) -> Kind:
    return Kind.ASSIGN if added is None else Kind.UPDATE


def _is_parameter(value: Value) -> bool:
    """``nn.Parameter(...)``"""
    made = torch_api.torch_class(value.callee.name) if value.op is Op.CALL and value.callee.op is Op.EXTERNAL else None
    return made is not None and made.kind == "parameter"
