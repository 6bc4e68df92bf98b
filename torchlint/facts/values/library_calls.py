"""What libraries give: by imported functions and classes, by the methods of containers, and by those of tensors.

Nothing here runs a function of the program; who calls one, or hands one to a library, is in ``calls.py``.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.building.names import constant_of
from torchlint.facts.values import distributions
from torchlint.facts.values.differentiation import apply, differentiate
from torchlint.facts.values.domain import (
    LEAF,
    NO_GRAPH,
    PLAIN,
    UNKNOWN,
    Abstract,
    Argument,
    Atom,
    Carrier,
    Container,
    Derived,
    External,
    History,
    Instance,
    Module,
    Partial,
    Tensor,
    Tool,
    Unknown,
    join,
)
from torchlint.facts.values.externals import MAPPING, Meaning, meaning_of
from torchlint.facts.values.framework_objects import object_made
from torchlint.facts.values.graph import Class, Mode, Op, Value
from torchlint.facts.values.method_callers import MAKER as METHOD_CALLER
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.facts.values.partials import hand_over
from torchlint.facts.values.torch_calls import by_type, chooses_overload, collected, contents_of, of_torch
from torchlint.facts.values.transfer import item_of

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

LIKE_ANOTHER = frozenset(["to", "type", "type_as", "view_as", "expand_as", "reshape_as", "resize_as_", "sum_to_size"])
"""Methods of tensors that take a type or a shape from their argument, and no graph."""

OF_TEXTS = "skip_special_tokens"
"""What only those are told who write texts: https://huggingface.co/docs/transformers/main_classes/tokenizer."""

MODULE = "torch.nn.Module"
"""The base of all modules, whose own methods run none."""

CONTAINER_READERS = frozenset(["pop", "get", "get_nowait", "popleft", "setdefault", "popitem"])
"""Methods of containers that give one of the items."""


def read_from(value: Value) -> Value | None:
    """The container of which a CALL gives an item, ``d.get(k, 0)``, ``d.pop(k)``; None for any other value."""
    is_read = value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in CONTAINER_READERS
    return value.callee.inputs[0] if is_read else None


METHODS_OF_CONTAINERS = frozenset(
    name for kind in (dict, list, deque) for name in dir(kind) if not name.startswith("__")
)  # fmt: skip
"""What Python's own dictionaries, lists and deques are asked for."""

_TUPLES: dict[Meaning, tuple[Abstract, ...]] = {
    Meaning.SOUND: (NO_GRAPH, PLAIN),
    Meaning.FILM: (NO_GRAPH, NO_GRAPH, PLAIN),
    Meaning.MODEL_FIRST: (frozenset([Module()]), UNKNOWN, UNKNOWN),
}
"""What is in the tuples that libraries give."""


def given_by_library(solution: Solution, value: Value, name: str) -> Abstract:
    """What a CALL of an imported or built-in function or class gives.

    Args:
        solution: to record the items of what is given, and what is asked of containers.
        value: the CALL.
        name: the full dotted name of what it calls.
    """
    arguments = _arguments(solution, value)
    if name.startswith("torch") and name not in MAPPING:
        known = distributions.made(solution, value, name, arguments)
        known = of_torch(solution, value, name, arguments) if known is None else known
        if known is not None:
            return known
    meaning = meaning_of(name)
    if meaning is Meaning.PLAIN:
        return PLAIN
    if meaning is Meaning.MODULE or meaning is Meaning.TRANSFORM:
        return frozenset([Module(has_parameters=meaning is Meaning.MODULE)])
    if meaning is Meaning.LOADER:
        return frozenset([Tool("loader")])
    if meaning is Meaning.OPTIMIZER:
        return frozenset([Tool("optimizer")])
    if meaning is Meaning.SCHEDULE:
        return frozenset([Tool("scheduler")])
    if meaning in _TUPLES:
        for position, item in enumerate(_TUPLES[meaning]):
            solution.set_field(value, position, item)
        return frozenset([Container(value)])
    if meaning is Meaning.PICTURE:
        return NO_GRAPH
    if meaning is Meaning.FIRST and arguments:
        return arguments[0]
    if meaning in (Meaning.REDUCES, Meaning.CALLS) and arguments:
        given = arguments[1:] if meaning is Meaning.CALLS else arguments
        return differentiate(value, [contents_of(solution, value, abstract) for abstract in given])
    if meaning is Meaning.ITEM and arguments:
        return join(item_of(solution, value, atom, None) for atom in arguments[0])
    if meaning is Meaning.CHOOSES:
        return _chosen(solution, value, arguments)
    if meaning is Meaning.COLLECTS:
        return collected(solution, value, name, arguments)
    if meaning is Meaning.BINDS and arguments and _is_told_what_it_binds(value, arguments[0]):
        partial = Partial(value)
        hand_over(solution, partial)
        return frozenset([partial])
    if name == METHOD_CALLER and arguments and None not in value.keys[1:]:
        return frozenset([Partial(value)])
    if meaning is Meaning.MEMOIZES and _is_unbounded(value):
        return frozenset([External("functools.cache")])  # which is made just so
    if meaning is Meaning.SUPER and value.function.owner is not None:
        return _above(value.function.owner)
    return object_made(solution, value, name)


def _above(cls: Class) -> Abstract:
    """What ``super()`` stands for in a method of a class: its bases, of which one may be a layer of torch."""
    layers = [known for base in cls.bases if (known := torch_api.torch_class(base)) is not None and base != MODULE]
    modules = frozenset(
        Module(known.has_parameters or known.wraps) for known in layers if known.kind in ("module", "loss")
    )
    return frozenset(Instance(parent) for parent in cls.parents) | modules or UNKNOWN


def _is_told_what_it_binds(partial: Value, task: Abstract) -> bool:
    """Whether no star hides what a partial gives, or what it calls is a library's, of which that says nothing more."""
    return None not in partial.keys[1:] or all(isinstance(atom, External) for atom in task)


def _chosen(solution: Solution, call: Value, arguments: list[Abstract]) -> Abstract:
    """One of the arguments of ``max(best, loss)``, or an item of the only one; what ``default`` says, too."""
    given = [argument for key, argument in zip(call.keys[1:], arguments, strict=True) if not isinstance(key, str)]
    if len(given) == 1:
        given = [item_of(solution, call, atom, None) for atom in given[0]]
    named = [argument for key, argument in zip(call.keys[1:], arguments, strict=True) if key == "default"]
    return join([*given, *named])


def _is_unbounded(call: Value) -> bool:
    """``lru_cache(maxsize=None)``"""
    size = call.argument(0, "maxsize")
    return size is not None and size.name == "None"


def given_by_container(solution: Solution, value: Value, container: Container, name: str) -> Abstract:
    """What a CALL of the method ``name`` of a container gives: an item, all of them, or a number."""
    if name in CONTAINER_READERS:
        first = value.arguments[0] if value.arguments else None
        key = constant_of(first.syntax) if first is not None and first.syntax is not None else None
        found = solution.load(container.allocation, key, value)
        more = _arguments(solution, value)[1:] if name in ("get", "setdefault", "pop") else []
        return join([found, *more, *([PLAIN] if name == "get" else [])])
    if name in ("values", "items", "copy"):
        return frozenset([container])
    return PLAIN


def given_by_tensor(solution: Solution, value: Value, atom: Atom, name: str) -> Abstract | None:
    """What a CALL of the method ``name`` gives of what is a tensor, or may be one; None where tensors have none."""
    if name == "requires_grad_" and isinstance(atom, Tensor):
        flag = value.argument(0, "requires_grad")
        is_off = flag is not None and flag.name == "False"
        return frozenset([atom]) if is_off or atom.history is History.LIVE else LEAF
    typed = by_type(value, name)
    if typed is not None:
        return typed
    drawn = distributions.asked(value, atom, name)
    if drawn is not None:
        return drawn
    if OF_TEXTS in value.keys:
        return PLAIN
    operation = torch_api.method(name)
    if isinstance(atom, Argument | Unknown | Carrier) and name in SAME_OBJECT and value.mode is not Mode.OFF:
        return frozenset([atom])
    if operation is None:
        return None
    if isinstance(atom, Unknown | Carrier) and operation.history is torch_api.History.KEEPS:
        return UNKNOWN if value.mode is not Mode.OFF else NO_GRAPH
    arguments = [
        a for a in _arguments(solution, value) if any(isinstance(x, Tensor | Derived | Unknown | Argument) for x in a)
    ]
    chooses = bool(operation.elements) and chooses_overload(solution, value, 0)
    inputs = [frozenset([atom]), *([] if chooses or name in LIKE_ANOTHER else arguments)]
    return apply(solution, value, operation, inputs, [PLAIN] if chooses else [])


def _arguments(solution: Solution, value: Value) -> list[Abstract]:
    return [solution.of(argument) for argument in value.arguments]
