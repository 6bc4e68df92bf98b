"""Calls of torch's own functions and classes, and of built-ins that collect: what they return, by torch's data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.dictionaries import is_pair, lists_keys, takes_pairs, zipped_values
from torchlint.facts.values.differentiation import apply, live
from torchlint.facts.values.domain import (
    BOTTOM,
    LEAF,
    NO_GRAPH,
    PLAIN,
    UNKNOWN,
    Abstract,
    Atom,
    ClassReference,
    Container,
    External,
    FrameworkObject,
    FunctionReference,
    Instance,
    Module,
    Tool,
    is_only_containers,
    join,
)
from torchlint.facts.values.externals import CHOOSING, COUNTER, FROM_KEYS, KEYWORD_ITEMS, Meaning, meaning_of
from torchlint.facts.values.framework_objects import object_made
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.literals import is_true
from torchlint.facts.values.sequences import SEQUENCES
from torchlint.facts.values.transfer import item_of

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


ALIASING = frozenset(["torch.Tensor", "torch.FloatTensor", "torch.as_tensor", "torch.asarray"])
"""What gives a tensor back as it is, with its graph, and copies the numbers out of a list."""

OPTIONS = frozenset(["device", "dtype", "layout", "memory_format", "pin_memory", "generator"])
"""Keywords that say where a tensor is to be, and of which kind: it is computed of none of these."""

OBSERVERS = ("torch.quantization.observer.", "torch.ao.quantization.observer.")
"""Modules that look at ranges of numbers; each detaches what it is given."""

WHOLE = frozenset(
    f"torch.{name}" for name in ("bool", "uint8", "int8", "short", "int16", "int", "int32", "long", "int64")
)
"""Types of whole numbers and booleans, which have no gradient."""

OF_WHOLE = frozenset(f"{module}.{name}Tensor" for module in ("torch", "torch.cuda") for name in ("Long", "Int", "Bool"))
"""The same as classes of tensors, which ``type`` takes."""

LISTS_OF_MODULES = frozenset(["torch.nn.ModuleList", "torch.nn.ModuleDict"])
"""Whose items are called one by one; what a ``Sequential`` holds it calls itself (``sequences.py``)."""

LISTS_OF_PARAMETERS = frozenset(["torch.nn.ParameterList", "torch.nn.ParameterDict"])
"""Whose items are tensors."""


def of_torch(solution: Solution, value: Value, name: str, arguments: list[Abstract]) -> Abstract | None:
    """What a CALL of torch's ``name`` gives; None for what torch's data do not know.

    Args:
        solution: to record the parts of a tuple, and what is asked of containers.
        value: the CALL.
        name: the full dotted name of what it calls.
        arguments: the abstract values of its arguments.
    """
    made = torch_api.torch_class(name)
    if made is not None:
        if made.wraps:
            return _wrapped(solution, value, name, arguments)
        if made.kind in ("module", "loss"):
            return frozenset([Module(made.has_parameters and not _is_told_to_have_none(value))])
        if made.kind == "parameter":
            flag = value.argument(1, "requires_grad")
            return NO_GRAPH if flag is not None and flag.name == "False" else LEAF
        if made.kind != "other":
            return frozenset([Tool(made.kind)])
    if name.startswith(OBSERVERS) and name.rpartition(".")[2][:1].isupper():
        return frozenset([Module(has_parameters=False)])
    operation = torch_api.function(name)
    if operation is None:
        return None
    if operation.returns is torch_api.Returns.MODULE and meaning_of(name) is Meaning.FIRST:
        given = value.argument(0)  # `torch.compile(mode=...)` is given nothing yet
        return UNKNOWN if given is None else solution.of(given)
    if name == "torch.autograd.grad" and (flag := value.argument(4, "create_graph")) is not None:
        if is_true(flag):
            return live(value)  # as ever in a tuple, of which each item has the graph
        if flag.op is not Op.CONSTANT:
            return UNKNOWN  # `create_graph=self.training`
    if name in ALIASING and arguments and is_only_containers(arguments[0]):
        return NO_GRAPH
    counted = [one for key, one in zip(value.keys[1:], value.arguments, strict=True) if key not in OPTIONS]
    contents = [part for argument in counted for part in _given_by(solution, value, argument)]
    chooses = bool(operation.elements) and chooses_overload(solution, value, 1)
    inputs = [c for c in (contents[:1] if chooses else contents) if c != PLAIN] or [NO_GRAPH]
    return apply(solution, value, operation, inputs, [PLAIN] if chooses else [])


def _is_told_to_have_none(made: Value) -> bool:
    """``nn.LayerNorm(n, elementwise_affine=False)``: a norm that has nothing to learn."""
    flags = (made.argument(-1, name) for name in ("affine", "elementwise_affine"))
    return any(flag is not None and flag.name == "False" for flag in flags)


def _wrapped(solution: Solution, value: Value, name: str, arguments: list[Abstract]) -> Abstract:
    """``DataParallel(model)`` is the model to its user, ``Sequential(a, b)`` a module of its own."""
    if name in LISTS_OF_PARAMETERS:
        solution.set_field(value, None, LEAF)
        return frozenset([Module(allocation=value)])
    contents = [contents_of(solution, value, abstract) for abstract in arguments]
    modules = frozenset(a for abstract in contents for a in abstract if isinstance(a, Module | Instance))
    if modules and name.rpartition(".")[2].endswith(("Parallel", "AveragedModel")):
        return modules
    # `Sequential(*list(net.children())[:-1], Flatten())`: what is not known may have parameters.
    is_known = all(abstract <= modules for abstract in contents)
    bare = bool(modules) and is_known and all(isinstance(a, Module) and not a.has_parameters for a in modules)
    if name in LISTS_OF_MODULES or (name in SEQUENCES and any(isinstance(a, Instance) for a in modules)):
        metrics = frozenset(a for abstract in contents for a in abstract if isinstance(a, FrameworkObject))
        solution.set_field(value, None, modules | metrics)
        return frozenset([Module(not bare, value)])
    return frozenset([Module(not bare)])


def _given_by(solution: Solution, value: Value, argument: Value) -> list[Abstract]:
    """What an argument gives an operation: each item of a literal, or what is in any other container."""
    is_literal = argument.op is Op.CONTAINER and isinstance(argument.syntax, cst.List | cst.Tuple)
    if is_literal and len(solution.held.get(argument, ())) == len(argument.inputs) > 0:
        solution.watch(argument, value)
        return [contents_of(solution, value, solution.of(item)) for item in argument.inputs]
    return [contents_of(solution, value, solution.of(argument))]


def contents_of(solution: Solution, value: Value, abstract: Abstract) -> Abstract:
    """``abstract`` with containers replaced by what is in them, for functions that take lists of tensors."""
    if not any(isinstance(atom, Container) for atom in abstract):
        return abstract
    return join(
        solution.load(atom.allocation, None, value) if isinstance(atom, Container) else frozenset([atom])
        for atom in abstract
    )


def collected(solution: Solution, value: Value, name: str, arguments: list[Abstract]) -> Abstract:
    """``list(x)``, ``dict(a=b)``, ``deque()``: a container of its own with what is in the arguments."""
    for key, argument in zip(value.keys[1:], arguments, strict=True):
        if isinstance(key, str):
            if name in KEYWORD_ITEMS:
                solution.set_field(value, key, argument)
        elif name in FROM_KEYS:
            if key == 1:
                solution.set_field(value, None, argument)
        elif name == COUNTER:
            continue
        elif name == "collections.defaultdict" and key == 0:
            made = join(_made_by(solution, value, atom) for atom in argument)
            if made:
                solution.set_field(value, None, made)
        elif (under := zipped_values(value)) is not None:
            solution.watch(under, value)
            solution.set_field(value, None, join(item_of(solution, value, a, None) for a in solution.of(under)))
        elif CHOOSING.get(name, key) == key:
            items = PLAIN if lists_keys(value, argument) else join(_items(solution, value, a) for a in argument)
            solution.set_field(value, None, items)
    return frozenset([Container(value)])


def _items(solution: Solution, value: Value, argument: Atom) -> Abstract:
    """What a new container takes of another one: its items, or what is second in the pairs of a dictionary."""
    items = item_of(solution, value, argument, None)
    if not takes_pairs(value, argument):
        return items
    pairs = [atom for atom in items if is_pair(atom)]
    return items.difference(pairs).union(*(item_of(solution, value, pair, 1) for pair in pairs))


def _made_by(solution: Solution, value: Value, factory: Atom) -> Abstract:
    """The object that a ``defaultdict`` makes for a key it has not got: ``defaultdict(Meter)``."""
    if isinstance(factory, ClassReference):
        return frozenset([Instance(factory.cls)])
    result = factory.function.result if isinstance(factory, FunctionReference) else None
    if result is not None:
        solution.watch(result, value)
        return frozenset(atom for atom in solution.of(result) if isinstance(atom, Instance | FrameworkObject))
    return object_made(solution, value, factory.name) - UNKNOWN if isinstance(factory, External) else BOTTOM


def chooses_overload(solution: Solution, value: Value, position: int) -> bool:
    """Whether ``max`` and the like are told a dimension and so return a tuple."""
    if value.argument(-1, "dim") is not None or value.argument(-1, "axis") is not None:
        return True
    given = value.argument(position)
    return given is not None and solution.of(given) == PLAIN


def by_type(call: Value, name: str) -> Abstract | None:
    """What CALL ``call`` of a method ``name`` gives by the type that it is told, or asks for; else None.

    ``x.type()`` gives a text; what is cast to whole numbers or booleans, ``x.to(torch.long)``, has no graph.
    """
    if name == "type" and not call.arguments:
        return PLAIN
    types = (one.name for one in call.arguments if one.op is Op.EXTERNAL) if name in ("to", "type") else ()
    return NO_GRAPH if any(one in WHOLE | OF_WHOLE for one in types) else None
