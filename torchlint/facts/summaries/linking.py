"""Linking: summaries of other files become functions, classes and values of a file's own value graph.

What is linked stands apart in :class:`~torchlint.facts.values.graph.Foreign`: the solver computes with it and calls
resolve to it, but nobody who walks over the file's own functions and stores meets it, and no finding can stand in it.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.summaries.atoms import Atoms
from torchlint.facts.summaries.bodies import Bodies
from torchlint.facts.summaries.imports import Found, Imports, Kind, Passing
from torchlint.facts.summaries.parts import Part, PartKind, Shape
from torchlint.facts.summaries.passed import Passed, gathered, made_of_classes, of_first_file, passed_shape
from torchlint.facts.summaries.skeletons import class_named, class_syntax, function_named
from torchlint.facts.summaries.summary import ClassSummary, FunctionSummary
from torchlint.facts.summaries.units import Methods, Unit
from torchlint.facts.values.domain import UNKNOWN, Abstract, Instance
from torchlint.facts.values.foreign import Foreign
from torchlint.facts.values.graph import Backward, Class, Function, Loop, Mode, Op, Place, Value
from torchlint.facts.values.parameters import star_of

if TYPE_CHECKING:
    from torchlint.project.arguments import Maker

FURTHEST = 3
"""How many imports away from the file what it needs is followed."""

FIRST_INDEX = 1_000_000_000
"""Values of other files come after the file's own ones wherever an order is asked for."""


class Linker:
    """Makes what a file imports part of its value graph, when it is first asked for.

    Attributes:
        foreign: what is made.
        imports: what the file imports.
        containers: what stands for a container that a part of a shape says, by the value that has the shape, or by the
            body of the module whose global it is.
    """

    def __init__(self, foreign: Foreign, imports: Imports, own: Sequence[Class] = ()) -> None:
        """Put what is made into ``foreign``; ``own`` are the classes of the file, as far as they are built."""
        self.foreign = foreign
        self.imports = imports
        self._own = own
        self._units: dict[tuple[str, str], Unit] = {}
        self.containers: dict[tuple[Value | Function, Part], Value] = {}
        self._shapes: dict[Value, tuple[Shape, Unit]] = {}
        self._realised: dict[Value, Abstract] = {}
        self._asked: set[Function] = set()
        self._passed: dict[Value, list[Passed]] = {}
        self._imported_here: dict[str, tuple[Class | Function | Shape, Unit] | None] = {}
        foreign.realise = self.realise

    def link(self, name: str) -> Class | Function | Shape | None:
        """What an imported dotted name stands for; None for what is not of the project.

        Args:
            name: as the file imports it, relative names with their dots.

        Returns:
            the class or function that was made of its summary, or the shape of a global.
        """
        linked = self._linked_here(name)
        if linked is None:
            return None
        if isinstance(linked[0], tuple) and (made := [part.name for part in linked[0] if part.kind is PartKind.MADE]):
            self.foreign.globals_made[self.imports.absolute(name)] = made
        return linked[0]

    def given(self, name: str, value: Value) -> None:
        """Say that ``value`` of the file is the global ``name`` of another."""
        linked = self._linked_here(name)
        if linked is not None and isinstance(linked[0], tuple):
            self._shapes[value] = (linked[0], linked[1])
            self._say_constant(value, linked[0], linked[1], name.rpartition(".")[2], ClassSummary(""))

    def passed_to(self, function: Function) -> None:
        """Say what other files pass to a function of this one, as far as they show it; the first that does counts."""
        for parameter, known in self._known(function, self.imports):
            passing, makers = known[0]
            self._say_passed(parameter, passing, makers)
            self._passed[parameter] = known
            if all(maker.in_evaluation for maker in makers):
                self.foreign.evaluated.add(parameter)
            if all(maker.is_frozen for maker in makers):
                self.foreign.given_frozen.add(parameter)

    def objects_passed_to(self, function: Function) -> None:
        """Say what other files pass to a module that is made, as far as it is made of classes: be it its memory."""
        for parameter, known in self._known(function, self.imports):
            if made_of_classes(*known[0]):
                self._say_passed(parameter, *known[0])

    def added(self, parameter: Value) -> None:
        """Say that a function adds its parameter to a list: what it is passed call by call is all in there."""
        known = self._passed.get(parameter, [])
        if len(known) > 1:
            self._say_passed(parameter, known[0][0], of_first_file(known))

    def passed_elsewhere(self, method: Function, unit: Unit) -> None:
        """Say what the files of the run pass to a method of a class of another file, call by call."""
        known = self._known(method, unit.found.imports) if method not in self._asked else ()
        self._asked.add(method)
        for parameter, passed in known:
            self._say_passed(parameter, passed[0][0], of_first_file(passed))

    def _say_passed(self, parameter: Value, passing: Passing, makers: Sequence[Maker]) -> None:
        self._shapes[parameter] = passed_shape(makers), self._caller(passing)
        self.foreign.passed.add(parameter)

    def _known(self, function: Function, imports: Imports) -> Iterator[tuple[Value, list[Passed]]]:
        """The parameters of which is known what files pass, each with that, call by call."""
        name, owner = function.name, function.owner
        if owner is not None:
            name = owner.name if name == "__init__" else f"{owner.name}.{name}"
        first, passings = 0 if owner is None else 1, imports.passed(name)
        for position, parameter in enumerate(function.parameters[first:]):
            keys = (position, parameter.name)
            known = [(one, makers) for one in passings for key, makers in one.makers if key in keys]
            if star_of(parameter) == "*":
                known = [(one, rest) for one in passings if (rest := gathered(one, position))]
            if known:
                yield parameter, known

    def inherited_by(self, cls: Class) -> None:
        """Make the methods part of the graph that a class has of a base in another file, and that work with its own."""
        for above in cls.lineage()[1:]:
            if isinstance(above.methods, Methods):
                for name in above.methods.working_with(cls.methods.keys()):
                    cls.method(name)

    def derived_from(self, cls: Class) -> None:
        """Make the classes of other files that derive from one of this file part of the graph."""
        for found in self.imports.subclasses(cls.name):
            below = self._class_at_top(self._unit(found, 1))
            below.lineage()
            if isinstance(below.methods, Methods):
                for name in below.methods.working_with(cls.methods.keys()):
                    below.method(name)

    def _caller(self, passing: Passing) -> Unit:
        return self._unit(Found(passing.path, "", Kind.OTHER, (), passing.imports, lambda: None), 0)

    def realise(self, value: Value) -> Abstract:
        """The abstract value of a GIVEN value; the file that gives it says it once and for all."""
        if value not in self._realised:
            known = self._shapes.get(value)
            self._realised[value] = UNKNOWN if known is None else self._realise(value, *known)
        return self._realised[value]

    def _realise(self, value: Value, shape: Shape, unit: Unit) -> Abstract:
        atoms = Atoms(self)  # not kept: the two would go round in a circle, and hold the whole tree
        told = [atoms.atom(part, unit, value) for part in shape]
        kinds = [part.kind for part in shape]
        found = frozenset(told)
        for name, there in atoms.registries:
            found = found - UNKNOWN | self._registered(name, there)
        if PartKind.MADE in kinds and PartKind.MODULE in kinds and PartKind.UNKNOWN not in kinds:
            made = [atom for kind, atom in zip(kinds, told, strict=True) if kind is PartKind.MADE]
            used = [atom for kind, atom in zip(kinds, told, strict=True) if kind is PartKind.MODULE]
            # It is known by its use where who makes it is not seen, and else by that.
            is_seen = not UNKNOWN.intersection(made)
            found -= frozenset(used) - frozenset(made) if is_seen else UNKNOWN
        return found or UNKNOWN

    def _registered(self, decorator: str, unit: Unit) -> Abstract:
        """An object of any of the classes that a function of a unit's file decorates; unknown where none is seen."""
        found = unit.found.imports.decorated(decorator)
        classes = [self._own_class(one) or self._class_at_top(self._unit(one, unit.hops + 1)) for one in found]
        return frozenset(map(Instance, classes)) or UNKNOWN

    def _linked_here(self, name: str) -> tuple[Class | Function | Shape, Unit] | None:
        if name not in self._imported_here:
            self._imported_here[name] = self.linked(name, self.imports, 1)
        return self._imported_here[name]

    # -- definitions ----------------------------------------------------------------------------------------------

    def linked(self, name: str, imports: Imports, hops: int) -> tuple[Class | Function | Shape, Unit] | None:
        """What a dotted name, imported by a file with these imports, stands for, and the unit that defines it."""
        found = imports.find(name) if hops <= FURTHEST else None
        if found is None:
            return None
        unit = self._unit(found, hops)
        if found.kind is Kind.CLASS and len(found.rest) < 2:
            cls = self._own_class(found) or self._class_at_top(unit)
            linked = cls.method(found.rest[0]) if found.rest else cls
            return None if linked is None else (linked, unit)
        if found.rest:
            return None
        if found.kind is Kind.FUNCTION:
            return self._function_at_top(unit), unit
        summary = unit.summary
        return None if summary is None else (summary.shape, unit)

    def _own_class(self, found: Found) -> Class | None:
        """The class of the file itself that another file names."""
        named = (cls for cls in self._own if cls.name == found.name) if found.path == self.imports.path else ()
        return next(iter(named), None)

    def _unit(self, found: Found, hops: int) -> Unit:
        key = (found.path, found.name)
        if key not in self._units:
            module = Function("<module>", cst.Module([]), None, None)
            module.result = None
            self._units[key] = Unit(found, hops, module)
        return self._units[key]

    def _class_at_top(self, unit: Unit) -> Class:
        """The class that was asked for by name; what it is is read when that is needed."""
        name = unit.found.name
        if name not in unit.classes:
            self._new_class(name, unit)
        return unit.classes[name]

    def class_named(self, name: str, unit: Unit) -> Class | None:
        """A class of the unit by its name; None where the unit has none."""
        if name not in unit.classes:
            if unit.summary is None or all(cls.name != name for cls in unit.summary.classes):
                return None
            self._new_class(name, unit)
        return unit.classes[name]

    def _new_class(self, name: str, unit: Unit) -> None:
        cls = unit.classes[name] = Class(name, class_named(name), FIRST_INDEX + len(self.foreign.classes))
        cls.is_foreign, cls.opener = True, partial(self._open_class, cls, unit)
        cls.full_name = unit.found.imports.absolute(f".{name}")
        self.foreign.nodes.add(cls.syntax)
        self.foreign.classes.append(cls)

    def _open_class(self, cls: Class, unit: Unit) -> None:
        classes = unit.summary.classes if unit.summary is not None else ()
        summary = next((one for one in classes if one.name == cls.name), None)
        if summary is None:
            return
        cls.syntax = class_syntax(summary)
        self.foreign.nodes.add(cls.syntax)
        parents, bases, read = [], [], []
        for base in summary.bases:
            is_own = base.startswith(":")
            known = self.class_named(base[1:], unit) if is_own else None
            if known is not None:
                parents.append(known)
                continue
            bases.append(base[1:] if is_own else unit.found.imports.absolute(base))
            linked = self.linked(base, unit.found.imports, unit.hops + 1)
            if linked is not None and isinstance(linked[0], Class) and cls not in linked[0].lineage():
                parents.append(linked[0])
                read.append(bases[-1])
        cls.bases, cls.parents, cls.read = tuple(bases), tuple(parents), tuple(read)
        cls.methods = Methods(summary, lambda method: self._method(method, cls, unit))
        root = cls.root()
        for attribute, shape in summary.attributes:
            kept = self._kept(shape, cls, unit)
            self._say_constant(kept[0], shape, unit, attribute, summary)
            self.foreign.attributes += [(Place(root, attribute), value) for value in kept]
        if summary.held:
            self.foreign.held_by[cls] = summary.held
        taken = (name for method in summary.methods for position, name in method.releases if position == 0)
        self.foreign.let_go[cls] = frozenset(taken)
        for method in summary.methods:
            self.foreign.endings += [(Place(root, attribute), method.name) for attribute, _ in method.resets]

    def _kept(self, shape: Shape, cls: Class, unit: Unit) -> list[Value]:
        """What an attribute holds: what its object was made with is whatever this file passes there."""
        given = [part for part in shape if part.kind is PartKind.GIVEN and part.name == f"{cls.name}.__init__"]
        others = tuple(part for part in shape if part not in given)
        maker = cls.method("__init__") if given else None
        if maker is None:
            return [self.value_of(shape, unit, unit.module)]
        kept = [maker.parameters[part.position] for part in given]
        return [*kept, self.value_of(others, unit, unit.module)] if others else kept

    def _say_constant(self, value: Value, shape: Shape, unit: Unit, attribute: str, cls: ClassSummary) -> None:
        """Say that a value is a constant, if the shape of what has it says so, and as long as nobody changes it."""
        part = shape[0] if len(shape) == 1 else Part(PartKind.UNKNOWN)
        if part.kind is PartKind.PLAIN and part.name:
            makers = [method for method in cls.methods if method.name == "__init__"]
            if part.position and (not makers or part.position >= len(makers[0].parameters)):
                return
            parameter = makers[0].parameters[part.position].name if part.position else ""
            constant, imports = ast.literal_eval(part.name), unit.found.imports
            is_left = partial(imports.leave_constant, cls.name, attribute, (part.position - 1, parameter), constant)
            self.foreign.constants[value] = constant, is_left

    def _method(self, summary: FunctionSummary, cls: Class, unit: Unit) -> Function:
        made = self.new_function(summary.name, cls, unit)
        loops, root, foreign = Bodies(self).fill(made, summary, unit), cls.root(), self.foreign
        for attribute, number in summary.resets:
            foreign.resets.append((Place(root, attribute), made, loops[number] if number >= 0 else None))
        foreign.leaves += [(Place(root, attribute), made) for attribute in summary.leaves]
        foreign.continues += [(Place(root, attribute), made) for attribute in summary.continues]
        return made

    def _function_at_top(self, unit: Unit) -> Function:
        """The function that was asked for by name; what it is is read when it is called."""
        name = unit.found.name
        if name not in unit.functions:
            function = unit.functions[name] = self.new_function(name, None, unit)
            function.opener = partial(self._open_function, function, unit)
        return unit.functions[name]

    def function(self, name: str, unit: Unit) -> Function | None:
        """A function of the unit, or a method as ``Class.method``; None where the unit has none."""
        owner, _, method = name.rpartition(".")
        if owner:
            cls = self.class_named(owner, unit)
            return cls.method(method) if cls is not None else None
        if name not in unit.functions:
            if unit.summary is None or all(function.name != name for function in unit.summary.functions):
                return None
            function = unit.functions[name] = self.new_function(name, None, unit)
            function.opener = partial(self._open_function, function, unit)
        unit.functions[name].open()
        return unit.functions[name]

    def _open_function(self, function: Function, unit: Unit) -> None:
        functions = unit.summary.functions if unit.summary is not None else ()
        summary = next((one for one in functions if one.name == function.name), None)
        if summary is not None:
            Bodies(self).fill(function, summary, unit)

    def empties(self, name: str, container: Value, unit: Unit) -> None:
        """Say that a function at the top level of the unit's file takes things out of a global."""
        linked = self.linked(f":{name}", unit.found.imports, unit.hops)
        if linked is not None and isinstance(linked[0], Function):
            self.foreign.resets.append((container, linked[0], None))

    def new_function(self, name: str, owner: Class | None, unit: Unit) -> Function:
        """A function of another file of which nothing is known yet but its name."""
        function = Function(name, function_named(name), owner, unit.module, is_foreign=True)
        self.foreign.called_elsewhere[function] = partial(unit.found.imports.guarding, name)
        self.foreign.nodes.add(function.syntax)
        self.foreign.files[function] = os.path.basename(unit.found.path)
        return function

    def is_made_anew(self, result: Shape, unit: Unit) -> bool:
        """Whether nothing of a result, made where it is returned, is what a third file gives to everybody."""
        names = (part.name for part in result if part.kind is PartKind.MADE)
        linked = (self.linked(name, unit.found.imports, unit.hops + 1) for name in names)
        return all(one is None or self._is_maker(one[0]) for one in linked)

    def _is_maker(self, linked: Class | Function | Shape) -> bool:
        if not isinstance(linked, Function):
            return isinstance(linked, Class)
        linked.open()
        is_made = self.foreign.makers.pop(linked, None)  # asked again on the way, it makes nothing itself
        if is_made is None:
            return False
        answer = is_made()
        self.foreign.makers[linked] = is_made
        return answer

    def function_linked(self, name: str, unit: Unit) -> Function | None:
        """A function that the unit's file imports, with what is known of it."""
        linked = self.linked(name, unit.found.imports, unit.hops + 1)
        if linked is None or not isinstance(linked[0], Function):
            return None
        linked[0].open()
        return linked[0]

    def add_backward(
        self, root: Value, function: Function, loop: Loop | None, *, retains: bool = False, proves: bool = True
    ) -> None:
        """Say that a backward runs in a function of another file; for the arguments see ``Backward``."""
        self.foreign.backwards.append(Backward(root, retains, function, loop, function.syntax, proves=proves))

    def value_of(self, shape: Shape, unit: Unit, function: Function) -> Value:
        """A value of another file that is what a shape says."""
        value = self.make(Op.GIVEN, (), function)
        self._shapes[value] = (shape, unit)
        if shape and all(part.is_evaluated for part in shape):
            self.foreign.evaluated.add(value)
        if any(part.is_spent for part in shape):
            trains = any(one.function is function and not one.is_of_callers for one in self.foreign.backwards)
            self.add_backward(value, function, None)
            self.foreign.backwards[-1].is_of_callers = not trains  # an item of a tuple is read when all else is told
        return value

    def make(
        self,
        op: Op,
        inputs: tuple[Value, ...],
        function: Function,
        *,
        name: str = "",
        keys: tuple[str | int | None, ...] = (),
        syntax: cst.CSTNode | None = None,
        mode: Mode = Mode.INHERITED,
        loop: Loop | None = None,
    ) -> Value:
        """A value that stands in another file; see :class:`~torchlint.facts.values.graph.Value`."""
        index = FIRST_INDEX + len(self.foreign.values)
        value = Value(index, op, inputs, function, loop, mode, name, keys, syntax)
        for source in inputs:
            source.users.append(value)
        self.foreign.values.append(value)
        return value
