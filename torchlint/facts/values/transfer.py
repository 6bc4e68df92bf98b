"""Transfer functions: what a value is, given what its inputs are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.carriers import has_parameter, is_made_in
from torchlint.facts.values.counts import is_count
from torchlint.facts.values.dictionaries import yields_keys
from torchlint.facts.values.differentiation import all_plain, apply, differentiate, live
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
    Derived,
    External,
    FrameworkObject,
    FunctionReference,
    History,
    Instance,
    Module,
    Plain,
    Tensor,
    Tool,
    Unknown,
    join,
)
from torchlint.facts.values.framework_objects import stands_for_itself
from torchlint.facts.values.frameworks import (
    annotated,
    is_given_model,
    is_model_of_given,
    is_module_class,
    is_told_number,
    is_used_as_scaler,
    server_of,
    told_of,
)
from torchlint.facts.values.graph import Class, Function, Mode, Op, Place, Value
from torchlint.facts.values.handing_on import handed_on
from torchlint.facts.values.known import OWN_ITEMS
from torchlint.facts.values.narrowed import narrowed
from torchlint.facts.values.objects import of_an_object, of_its_calls, of_this_object, with_what_was_there
from torchlint.facts.values.overrides import is_plain_class
from torchlint.facts.values.own_listings import listed_by_own
from torchlint.facts.values.own_operators import given_by_own, objects_in
from torchlint.facts.values.texts import is_written_text
from torchlint.facts.values.told_modules import OWN_PARTS
from torchlint.facts.values.tuples import fields_of_record, unpackable
from torchlint.facts.values.writing import slice_of
from torchlint.frameworks import Holds, method_names

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

LONGEST_CHAIN = 8
"""How many attributes deep a name of an imported object goes; deeper ones come of ``x = x.parent`` in a loop."""


def transfer(solution: Solution, value: Value) -> Abstract:
    """The abstract value of ``value`` by its operation and its inputs' abstract values."""
    return HANDLERS[value.op](solution, value)


def external(name: str) -> Abstract:
    """An imported object by its full dotted name; unknown when the chain is so long that a loop must have made it."""
    return UNKNOWN if name.count(".") > LONGEST_CHAIN else frozenset([External(name)])


# -- plain values -----------------------------------------------------------------------------------------------------


def _constant(solution: Solution, value: Value) -> Abstract:
    return PLAIN


def _external(solution: Solution, value: Value) -> Abstract:
    return frozenset([External(value.name)])


def _function(solution: Solution, value: Value) -> Abstract:
    assert isinstance(value.reference, Function)
    return frozenset([FunctionReference(value.reference)])


def _class(solution: Solution, value: Value) -> Abstract:
    assert isinstance(value.reference, Class)
    return frozenset([ClassReference(value.reference)])


def _parameter(solution: Solution, value: Value) -> Abstract:
    function = value.function
    is_first = bool(function.parameters) and function.parameters[0] is value
    if function.owner is not None and is_first and not function.is_static:
        takes_class = "classmethod" in function.decorators or function.name in ("__new__", "__init_subclass__")
        return frozenset([ClassReference(function.owner) if takes_class else Instance(function.owner)])
    syntax = value.syntax
    if isinstance(syntax, cst.Param):
        if syntax.star:
            return solution.objects.get(value, BOTTOM) | _passed_elsewhere(solution, value) | {Argument(value)}
        if syntax.annotation is not None:
            known = annotated(told_of(solution.graph, value))
            if known is not None:
                given = solution.objects.get(value, BOTTOM)
                return given | ({Argument(value)} if _is_doubted(solution, value, known, given) else known)
            items = annotated(solution.graph.told_items.get(value, ""))
            if items is not None and any(isinstance(atom, Module) for atom in items):
                solution.set_field(value, None, items)
                return solution.objects.get(value, BOTTOM) | {Container(value)}
            if isinstance(value.reference, Class) and is_module_class(value.reference):
                return solution.objects.get(value, BOTTOM) | {Instance(value.reference)}
    given = solution.objects.get(value, BOTTOM)
    if is_given_model(value):
        return given | {Module()}
    if is_used_as_scaler(value):
        return given | {Tool("scaler")}
    if solution.calls.passed.are_all(value):
        return given
    default = solution.of(value.inputs[0]) if value.inputs else BOTTOM
    objects = frozenset([atom for atom in default if atom.__class__ not in _NO_OBJECTS])
    if isinstance(value.reference, Class):
        objects |= {Instance(value.reference)}
    return given | objects | _passed_elsewhere(solution, value) | {Argument(value)}


def _passed_elsewhere(solution: Solution, parameter: Value) -> Abstract:
    """What other files pass for a parameter, where all of that is known to be objects."""
    passed = solution.given(parameter) if parameter in solution.graph.foreign.passed else BOTTOM
    function = parameter.function
    if function.owner is not None and is_module_class(function.owner) and not function.is_foreign:
        # Networks are made of each other, and known by their use.
        is_plain = all(isinstance(atom, Instance) and is_plain_class(atom.cls) for atom in passed)
        return passed if is_plain else BOTTOM
    return passed if all(isinstance(atom, Instance | Module | Tool | Container) for atom in passed) else BOTTOM


_NO_OBJECTS = frozenset([Plain, Unknown, Tensor])


def _is_doubted(solution: Solution, parameter: Value, told: Abstract, given: Abstract) -> bool:
    """Whether what a parameter is annotated to be is not to be relied on, or what is passed says otherwise.

    A pipeline that is exported passes its base, which names networks, what runs their graphs.
    """
    if not solution.graph.trusts_annotations and is_told_number(parameter):
        return True
    is_told_model = any(isinstance(atom, Module) for atom in told)
    return is_told_model and any(isinstance(atom, Instance) and is_plain_class(atom.cls) for atom in given)


def _phi(solution: Solution, value: Value) -> Abstract:
    return join(map(solution.of, value.inputs))


def _read(solution: Solution, value: Value) -> Abstract:
    assert value.place is not None
    return solution.read(value.place, value)


_OF_PYTHON = frozenset([cst.Is, cst.IsNot, cst.In, cst.NotIn])
"""Comparisons that give a boolean whatever is compared."""


def _comparison(solution: Solution, value: Value) -> Abstract:
    syntax = value.syntax
    if not isinstance(syntax, cst.Comparison) or all(c.operator.__class__ in _OF_PYTHON for c in syntax.comparisons):
        return PLAIN  # `not x`, `x in y`
    inputs = [solution.of(source) for source in value.inputs]
    return PLAIN if all(inputs) and all_plain(inputs) else NO_GRAPH


_OF_BITS = frozenset(["BitInvert", "BitAnd", "BitOr", "BitXor", "LeftShift", "RightShift", "BitAndAssign"])
"""Operators of whole numbers and booleans, and of tensors of these."""


_SUMS = frozenset(["Add", "AddAssign", "Multiply"])


def _operation(solution: Solution, value: Value) -> Abstract:
    inputs = [solution.of(source) for source in value.inputs]
    own = given_by_own(solution, value, objects_in(inputs))
    if own is not None:
        return own
    if value.name in _OF_BITS:
        return PLAIN if all(inputs) and all_plain(inputs) else NO_GRAPH
    if value.name == "Modulo" and is_written_text(value.inputs[0]):
        return PLAIN
    if value in solution.texts or (value.name == "Add" and any(map(is_written_text, value.inputs))):
        return PLAIN  # a string is joined with strings alone
    if value.mode is Mode.OFF and value.name.endswith("Assign"):
        return inputs[0]  # in place: what it was stays what it was
    if value.name == "AddAssign" and all(isinstance(atom, Container) for atom in inputs[0]):
        return inputs[0]  # a list that is made longer; as long as none is known, what is added is none yet
    containers = frozenset(a for abstract in inputs for a in abstract if isinstance(a, Container))
    # A list is repeated by numbers, and joined with lists: what is added to a number is none.
    if value.name in _SUMS and containers and any(map(_is_no_list, value.inputs, inputs)):
        return differentiate(value, [abstract - containers for abstract in inputs])
    if containers and value.name in _SUMS:
        others = [abstract - containers for abstract in inputs]
        if not all(others) or not any(isinstance(atom, Tensor | Derived) for other in others for atom in other):
            return containers
        return containers | differentiate(value, others)  # a loss here, a dict of losses there: a sum of either kind
    result, without = differentiate(value, inputs), Tensor(History.NONE)
    if value.mode is not Mode.OFF and without in result and not any(without in abstract for abstract in inputs):
        return result - {without} | PLAIN  # numbers and strings combine to numbers and strings
    return result


def _is_no_list(value: Value, abstract: Abstract) -> bool:
    """Whether a value may be a tensor, or begins with a number, and is no list."""
    kinds = {atom.__class__ for atom in abstract}
    if Container in kinds:
        return False
    begun = value.inputs[0] if value.op is Op.PHI and value.inputs else value
    return not kinds.isdisjoint((Tensor, Derived)) or isinstance(begun.syntax, cst.Integer | cst.Float)


def _container(solution: Solution, value: Value) -> Abstract:
    return frozenset([Container(value)])


# -- parts of values --------------------------------------------------------------------------------------------------


def _attribute(solution: Solution, value: Value) -> Abstract:
    handed = handed_on(solution, value)
    if handed is not None:
        return handed
    atoms = solution.of(value.inputs[0])
    if len(atoms) == 1:
        (atom,) = atoms  # the most, and to join one costs as much as to join several
        return _attribute_of(solution, value, atom)
    return join(_attribute_of(solution, value, atom) for atom in atoms)


def _is_given_by_unseen(value: Value) -> bool:
    """Whether a value is what a function of another package, or of a file that is not seen, makes of its arguments."""
    return value.op is Op.CALL and value.callee.op is Op.EXTERNAL and bool(value.arguments)


def _attribute_of(solution: Solution, value: Value, atom: Atom) -> Abstract:
    name = value.name
    if isinstance(atom, OF_CLASSES):
        method = atom.cls.method(name)
        if method is None or method.is_property:
            read = solution.calls.properties(value, atom.cls, method)
            if read:
                return join(solution.calls.run_function(value, one, bound=True) for one in read)
        if method is not None:
            meant = solution.calls.methods_meant(value, atom.cls, method)
            is_bound = isinstance(atom, Instance)
            return frozenset(FunctionReference(one, bound=is_bound and not one.is_static) for one in meant)
        place = Place(atom.cls.root(), name)
        kept = of_this_object(solution, value, solution.read(place, value))
        if name == "module" and not solution.stored.get(place) and not _is_own_object(value.inputs[0]):
            return frozenset([atom])  # the wrapper of DataParallel and its like, seen through
        if name in method_names(Holds.HAS_SERVER) and not solution.stored.get(place):
            server = server_of(solution.graph, atom.cls, name)
            return kept if server is None else frozenset([Instance(server)])
        return kept
    if isinstance(atom, External):
        return external(f"{atom.name}.{name}")
    if isinstance(atom, Container):
        found = solution.load(atom.allocation, name, value)
        return found if name in solution.fields.get(atom.allocation, {}) else UNKNOWN
    known = torch_api.attribute(name)
    if isinstance(atom, Tensor | Derived) or (isinstance(atom, Argument | Unknown) and known is not None):
        if name == "data" and isinstance(atom, Unknown) and _is_given_by_unseen(value.inputs[0]):
            return UNKNOWN  # of a tensor an alias; of another object, a packed sequence, the tensor with its graph
        if name == "grad" and any(backward.retains for backward in solution.graph.backwards):
            return UNKNOWN  # it may have been made with `create_graph`
        if known is not None:
            return apply(solution, value, known, [frozenset([atom])], ())
        return differentiate(value, [frozenset([atom])]) if torch_api.method(name) is None else UNKNOWN
    if isinstance(atom, Module) and name in ("weight", "bias"):
        return LEAF
    if isinstance(atom, Module | Argument | Unknown | Carrier | Tool):
        if isinstance(atom, Argument) and is_model_of_given(value):
            return frozenset([Module()])
        if has_parameter(atom, name):
            return live(value)
        if isinstance(atom, Module) and name == "module":
            return frozenset([atom])
        if isinstance(atom, Module) and name == OWN_PARTS:
            solution.set_field(value, None, UNKNOWN | {Module(atom.has_parameters)})
            return frozenset([Container(value)])
        places = solution.places(value.inputs[0], name)
        found = join(solution.read(place, value) for place in places) if places else UNKNOWN
        if not isinstance(atom, Argument | Unknown):
            return found
        return of_an_object(with_what_was_there(found, places), name)
    if isinstance(atom, FrameworkObject) and stands_for_itself(atom, name):
        return UNKNOWN | {atom}
    return PLAIN if isinstance(atom, Plain) else UNKNOWN


def _is_own_object(value: Value) -> bool:
    """Whether a value is the object of a method, ``self``, which nothing wraps there."""
    own = value.function.parameters[:1] if value.function.owner is not None else []
    return value.unnarrowed() in own and not value.function.is_static


def _subscript(solution: Solution, value: Value) -> Abstract:
    return _item(solution, value, value.inputs[0], value.keys[0])


def _element(solution: Solution, value: Value) -> Abstract:
    return _item(solution, value, value.inputs[0], value.keys[0])


def _item(solution: Solution, value: Value, base: Value, key: object) -> Abstract:
    assert key is None or isinstance(key, str | int)
    found = join(item_of(solution, value, atom, key) for atom in unpackable(solution, solution.of(base), value))
    if base.op is not Op.CALL or (base.mode is not Mode.OFF and not solution.calls.substitution.severed):
        return found
    functions = [f for f in solution.functions_of(base) if solution.calls.substitution.records_nothing(base, f)]
    carriers = {atom for atom in found if is_made_in(atom, functions)}
    tensors = {atom for atom in found if isinstance(atom, Tensor) and atom.inherits in functions}
    rest = found - carriers - tensors
    return rest | (NO_GRAPH if tensors else BOTTOM) | (UNKNOWN if carriers else BOTTOM)


def item_of(solution: Solution, value: Value, atom: Atom, key: str | int | None) -> Abstract:
    """What ``x[key]``, an unpacked part or an iterated item is, where ``x`` is ``atom``."""
    if isinstance(atom, Container):
        if value.op is Op.ELEMENT and not value.name and yields_keys(atom.allocation):
            return PLAIN
        taken = slice_of(value) if value.op is Op.SUBSCRIPT else None
        if taken is not None and (taken.lower is None or not _has_places(solution, atom.allocation, value)):
            return frozenset([atom])  # its items have the same places there, or none
        found = solution.load(atom.allocation, key, value)
        if atom.allocation.function.is_foreign:
            found = of_its_calls(solution, value, found, atom.allocation.function)
        return found if taken is None else found | {atom}
    if isinstance(atom, Tensor | Derived | Argument):
        # What has items by name, or is unpacked, may be no tensor after all: a number of examples beside a loss.
        is_named = isinstance(key, str) and value.op is Op.SUBSCRIPT
        is_unpacked = isinstance(key, int) and value.op is Op.ELEMENT
        if is_named and isinstance(atom, Tensor) and _holds_by_name(value.inputs[0]):
            return UNKNOWN
        is_number = (is_named or is_unpacked) and is_count(value)
        return NO_GRAPH if is_number else differentiate(value, [frozenset([atom])])
    if isinstance(atom, Carrier) and value.op is Op.ELEMENT and value.name == "values":
        return live(value) | UNKNOWN  # the one that is trained on is among them
    if isinstance(atom, Tool) and atom.kind == "loader":
        return NO_GRAPH
    if isinstance(atom, Instance):
        return _item_of_instance(solution, value, atom, key)
    if isinstance(atom, Module):
        if value.op is Op.SUBSCRIPT and slice_of(value) is not None:
            return frozenset([atom])  # a list of some of its modules
        held = BOTTOM if atom.allocation is None else solution.load(atom.allocation, key, value)
        known = frozenset(a for a in held if isinstance(a, Module | Instance | Tensor))
        metrics = frozenset(a for a in held if isinstance(a, FrameworkObject))
        return (known or frozenset([Module(atom.has_parameters)])) | metrics
    return PLAIN if isinstance(atom, Plain) else UNKNOWN


def _has_places(solution: Solution, container: Value, reader: Value) -> bool:
    """Whether it is told of items of a container where in it they stand; ``reader`` is run again when that changes."""
    solution.watch(container, reader)
    keys = [*(key for key, _ in solution.held.get(container, ())), *solution.fields.get(container, {})]
    return any(isinstance(key, int) for key in keys)


def _item_of_instance(solution: Solution, value: Value, atom: Instance, key: str | int | None) -> Abstract:
    """An item of an object whose class says what that is, or is a container itself."""
    is_subscript = value.op is Op.SUBSCRIPT
    listed = listed_by_own(solution, value, atom)
    if listed is not None:
        return listed
    if fields := fields_of_record(atom.cls, key):
        return join(solution.read(Place(atom.cls.root(), field), value) for field in fields)
    method = atom.cls.method("__getitem__" if is_subscript else "__iter__")
    solution.watch(Place(atom.cls.root(), OWN_ITEMS), value)
    place = solution.place_of_items(atom) if method is None else None
    # What a dict of its own kind has under a key that is new, it makes itself.
    method = method or atom.cls.method("__missing__")
    indices = solution.graph.indices.get(value, ())
    index = indices[0] if len(indices) == 1 else None
    asked = method if is_subscript else None
    given = None if asked is None else solution.calls.run_function(value, asked, bound=True, index=index)
    if place is None:
        return UNKNOWN if given is None else given
    held = [item_of(solution, value, Container(made), key) for made in solution.stored[place]]
    return join(held if given is None else [given, *held])


def _holds_by_name(value: Value) -> bool:
    """Whether what is asked for an item by a name is a dict in which anything may be, and no tensor.

    That is one beside an output (``out, state, extra = decoder(x)``), and the ``.data`` of a graph or a record:
    ``graph.nodes[one].data["feature"]``.
    """
    return _is_beside(value) or (value.op is Op.ATTRIBUTE and value.name == "data")


def _is_beside(value: Value) -> bool:
    """Whether a value is one of several results, and not the first."""
    # A join after a branch is younger than what it joins; to that of a loop a turn leads back.
    if value.op is Op.PHI and all(one.index < value.index for one in value.inputs):
        return all(map(_is_beside, value.inputs))
    return value.op is Op.ELEMENT and isinstance(value.keys[0], int) and value.keys[0] > 0


def _given(solution: Solution, value: Value) -> Abstract:
    return solution.given(value)


def _call(solution: Solution, value: Value) -> Abstract:
    return solution.calls.call(value)


def _unknown(solution: Solution, value: Value) -> Abstract:
    return UNKNOWN


HANDLERS: dict[Op, Callable[[Solution, Value], Abstract]] = {
    Op.CONSTANT: _constant, Op.EXTERNAL: _external, Op.FUNCTION: _function, Op.CLASS: _class,
    Op.PARAMETER: _parameter, Op.PHI: _phi, Op.READ: _read, Op.ATTRIBUTE: _attribute, Op.SUBSCRIPT: _subscript,
    Op.ELEMENT: _element, Op.OPERATION: _operation, Op.COMPARISON: _comparison, Op.CONTAINER: _container,
    Op.CALL: _call, Op.GIVEN: _given, Op.NARROWED: narrowed, Op.UNKNOWN: _unknown,
}  # fmt: skip
