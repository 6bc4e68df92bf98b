"""Abstract values as plain data: what a value of one file is, in words that another file understands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import libcst as cst

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.repeated.shells import has_frozen_weights
from torchlint.facts.summaries.parts import FROZEN, UNKNOWN, Part, PartKind, Shape
from torchlint.facts.values.dictionaries import is_dictionary
from torchlint.facts.values.domain import (
    Abstract,
    Argument,
    Atom,
    ClassReference,
    Container,
    Derived,
    Differentiable,
    External,
    FunctionReference,
    History,
    Instance,
    Module,
    Plain,
    Tensor,
    Tool,
    sorted_values,
)
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.literals import UNWRITTEN, literal
from torchlint.facts.values.parameters import after_moves, before_moves, is_frozen
from torchlint.facts.values.resting import is_put_to_rest

NESTING = 3
"""How many containers deep a shape is told."""

NETWORKS = (PartKind.MODULE, PartKind.INSTANCE, PartKind.MADE)
"""What a network may be told as."""

MAKING = (PartKind.MADE, PartKind.REGISTERED)
"""What is told as made by what stands in another file."""

BUILDERS = 3
"""So many choices, and functions of the file, are followed to what is built."""

WIDEST = 12
"""So many alternatives tell as little as none."""


def name_of(function: Function) -> str:
    """The name of a function within its file: ``Meter.update``; "" for one that stands in another function.

    Or that nobody finds by it: what a property is set by has the name of what gives it.
    """
    if function.parent is None or function.parent.parent is not None or function.name == "<lambda>":
        return ""
    if function.owner is not None and function.owner.methods.get(function.name) is not function:
        return ""
    return function.full_name


class Shapes:
    """Turns the abstract values of one solved file into shapes."""

    def __init__(self, flows: Flows, classes: frozenset[Class]) -> None:
        """Work on the solution of ``flows``; ``classes`` are those at the file's top level, which others may name."""
        self.flows, self.solution = flows, flows.solution
        self.classes = classes

    def of(self, value: Value) -> Shape:
        """The shape of a value, as a caller may rely on it."""
        if handed := self._handed_in(value):
            return handed
        made = self._made_by(value) if self._is_vague(value) else ()
        if not made:
            return self._as_made(self.shape(self.solution.final(value)), [value])
        used = (atom for atom in sorted_values(self.solution.final(value)) if isinstance(atom, Module))
        parts = (*made, *(Part(PartKind.MODULE, flag=atom.has_parameters) for atom in used))
        return self._as_made(tuple(dict.fromkeys(parts)), [value])

    def constant(self, values: Sequence[Value], owner: Class | Function | Value) -> Part | None:
        """The one number or truth that an attribute is, or that an initializer gives it where it is given nothing."""
        given = [value for value in values if value.op is Op.PARAMETER and value.function.name == "__init__"]
        written = [value.inputs[0] if value in given and value.inputs else value for value in values]
        known = {literal(self.solution, one) if one.op is Op.CONSTANT else UNWRITTEN for one in written}
        is_own = len(given) < 2 and all(one.function.owner is owner for one in given)
        constant = known.pop() if len(known) == 1 and is_own else UNWRITTEN
        position = given[0].function.parameters.index(given[0]) if given else 0
        return Part(PartKind.PLAIN, repr(constant), position) if isinstance(constant, int) else None

    def _handed_in(self, value: Value) -> Shape:
        """The parameter of an initializer that is used as a network: whoever makes the object says which it is."""
        given, function = before_moves(value), value.function
        if given.op is not Op.PARAMETER or function.name != "__init__" or function.owner not in self.classes:
            return ()
        is_network = all(isinstance(atom, Module) for atom in self.solution.final(given))
        if not is_network or is_frozen(self.solution, value):
            return ()
        return (Part(PartKind.GIVEN, name_of(function), function.parameters.index(given)),)

    def shape(self, abstract: Abstract, depth: int = NESTING) -> Shape:
        """The shape of an abstract value."""
        known = abstract - self._passed_here(abstract)
        parts = dict.fromkeys(self._part(atom, depth) for atom in sorted_values(known))
        return tuple(parts) if 0 < len(parts) <= WIDEST else UNKNOWN

    def _made_by(self, value: Value, depth: int = BUILDERS) -> Shape:
        """What calling an imported name makes a value, be it in a method that builds it; empty where that is not known.

        ``self.model = self.build(args) if args else None``, and ``build`` returns ``Network(args)``.
        """
        value = before_moves(value)
        if (name := _called_elsewhere(value)) is not None:
            return (Part(PartKind.MADE, name),)
        if registered := self._of_registry(value):
            return registered
        if names := self._of_table(value):
            return tuple(Part(PartKind.MADE, name) for name in names)
        if value.op is Op.CONSTANT:
            return (Part(PartKind.PLAIN),)
        made = [self._made_by(one, depth - 1) for one in self._chosen_or_returned(value)] if depth else []
        parts = dict.fromkeys(part for shape in made for part in shape)
        return tuple(parts) if all(made) and any(part.kind in MAKING for part in parts) else ()

    def _of_registry(self, value: Value) -> Shape:
        """What is made of a class that a decorator of the file has put into a table: ``METRICS[name]()``."""
        callee = value.callee if value.op is Op.CALL else None
        if callee is None or callee.op in (Op.PARAMETER, Op.ATTRIBUTE):
            return ()
        atoms = sorted_values(self.solution.final(callee))
        functions = {atom.parameter.function for atom in atoms if isinstance(atom, Argument)}
        if not all(isinstance(atom, Argument) for atom in atoms) or value.function in functions:
            return ()
        decorators = {
            name_of(function) or (name_of(function.parent) if function.parent else "") for function in functions
        }
        return tuple(Part(PartKind.REGISTERED, name) for name in sorted(decorators)) if all(decorators) else ()

    def _of_table(self, value: Value) -> Sequence[str]:
        """The imported classes one of which makes a value: ``LOSSES[name](**options)``."""
        if value.op is not Op.CALL or value.callee.op is not Op.SUBSCRIPT:
            return ()
        atoms = sorted_values(self.solution.final(value.callee))
        names = [atom.name for atom in atoms if isinstance(atom, External)]
        is_known = len(names) == len(atoms) <= WIDEST and all(name.rpartition(".")[2][:1].isupper() for name in names)
        return names if is_known else ()

    def _chosen_or_returned(self, value: Value) -> Sequence[Value]:
        """What a value may be, of several, or as the result of functions of this file."""
        if value.op is Op.PHI:
            return value.inputs
        functions = self.solution.functions_of(value) if value.op is Op.CALL else ()
        results = [function.result for function in functions if not (function.is_async or function.is_generator)]
        return [one for result in results if result is not None for one in result.inputs]

    def _is_vague(self, value: Value) -> bool:
        """Whether this file knows no more of a value than that it is a network, since it is used as one."""
        return not any(
            isinstance(a, Tensor | Container | Argument | Tool | External) for a in self.solution.final(value)
        )

    def _passed_here(self, abstract: Abstract) -> Abstract:
        """What a parameter may be only since this file passes it: no business of other callers."""
        parameters = (atom.parameter for atom in abstract if isinstance(atom, Argument))
        return frozenset().union(*(self.solution.objects.get(parameter, ()) for parameter in parameters))

    def _part(self, atom: Atom, depth: int) -> Part:
        if isinstance(atom, Plain):
            return Part(PartKind.PLAIN)
        if isinstance(atom, Tensor):
            by = name_of(atom.inherits) if atom.inherits is not None else ""
            return Part(PartKind.TENSOR, atom.history.value, by=by)
        if isinstance(atom, Module):
            return Part(PartKind.MODULE, flag=atom.has_parameters)
        if isinstance(atom, Tool):
            return Part(PartKind.TOOL, atom.kind)
        if isinstance(atom, External):
            return Part(PartKind.IMPORTED, atom.name)
        if isinstance(atom, Differentiable):
            return Part(PartKind.DIFFERENTIABLE)
        if isinstance(atom, Container) and depth > 0:
            is_dict = is_dictionary(atom.allocation)
            return Part(PartKind.CONTAINER, flag=is_dict, items=self._items(atom.allocation, depth))
        return self._reference(atom) or Part(PartKind.UNKNOWN)

    def _reference(self, atom: Atom) -> Part | None:
        if isinstance(atom, Instance | ClassReference) and atom.cls in self.classes:
            return Part(PartKind.INSTANCE if isinstance(atom, Instance) else PartKind.CLASS, atom.cls.name)
        if isinstance(atom, FunctionReference) and (name := name_of(atom.function)):
            return Part(PartKind.FUNCTION, name, flag=atom.bound)
        if isinstance(atom, Argument | Derived) and (name := name_of(atom.parameter.function)):
            position = atom.parameter.function.parameters.index(atom.parameter)
            if isinstance(atom, Argument):
                return Part(PartKind.GIVEN, name, position)
            by = name_of(atom.inherits) if atom.inherits is not None else ""
            return Part(PartKind.COMPUTED, name, position, by=by)
        return None

    def _items(self, allocation: Value, depth: int) -> tuple[tuple[str | int | None, Shape], ...]:
        """What a container holds, one shape for each key."""
        found: dict[str | int | None, Abstract] = dict(self.solution.fields.get(allocation, {}))
        items: dict[str | int | None, list[Value]] = {key: [] for key in found}
        for key, item in self.solution.held.get(allocation, ()):
            found[key] = found.get(key, frozenset()) | self.solution.final(item)
            items.setdefault(key, []).append(item)
        order = sorted(found, key=lambda key: (str(type(key)), str(key)))
        return tuple((key, self._item(found[key], items[key], depth)) for key in order[:WIDEST])

    def _item(self, abstract: Abstract, values: Sequence[Value], depth: int) -> Shape:
        """The shape of an item of a container that is one of some values."""
        registered = [self._of_registry(value) for value in values]
        if values and all(registered):
            return tuple(dict.fromkeys(part for shape in registered for part in shape))
        return self._as_made(self.shape(abstract, depth - 1), values)

    def _as_made(self, shape: Shape, values: Sequence[Value]) -> Shape:
        """A shape, with what is done here to the networks and tensors among the values that it stands for."""
        if values and all(is_frozen(self.solution, value) for value in values):
            weighs = any(map(has_frozen_weights, values))
            shape = tuple(_frozen(part, FROZEN if weighs else "") for part in shape)
        if values and any(map(_is_live, shape)) and all(map(self.flows.is_spent, values)):
            shape = tuple(replace(part, is_spent=True) if _is_live(part) else part for part in shape)
        return tuple(map(_evaluated, shape)) if values and all(map(is_evaluated, values)) else shape


def is_evaluated(value: Value) -> bool:
    """Whether a network is made where a value is, and put into evaluation mode there for good.

    One that is handed to what makes another thing, ``nn.Sequential(encoder, head)``, may be trained as a part of that.
    """
    made = before_moves(value)
    users = (user for one in after_moves(made) for user in one.users)
    is_part = any(user.op is Op.CALL and user.callee is not made and not user.is_bare for user in users)
    return is_put_to_rest(made) and not is_part


def _frozen(part: Part, name: str) -> Part:
    """A module whose parameters do not require grad is to others one without, but for what it weighs."""
    return Part(PartKind.MODULE, name) if part.kind in NETWORKS else part


def _is_live(part: Part) -> bool:
    return part.kind is PartKind.TENSOR and part.name == History.LIVE.value


def _evaluated(part: Part) -> Part:
    return replace(part, is_evaluated=True) if part.kind in NETWORKS else part


def _called_elsewhere(value: Value) -> str | None:
    """The name that a CALL calls and that is defined elsewhere: imported or, with a colon before it, left out here.

    A definition is read with some of what it mentions in its file, and not with all of it.
    """
    if value.op is not Op.CALL:
        return None
    callee = value.callee
    if callee.op is Op.UNKNOWN and isinstance(callee.syntax, cst.Name):
        return f":{callee.syntax.value}"
    is_imported = callee.op is Op.EXTERNAL and not callee.name.startswith("builtins.")
    return callee.name if is_imported else None
