"""The abstract domain: what one value of a program may be.

An abstract value is a set of alternatives (a ``frozenset`` of atoms). The join of two abstract values is their union,
the empty set is bottom ("no run reaches this"). An alternative is only added with evidence, and :class:`Unknown` is an
alternative like any other: a set that holds it says that the value may be anything.

A tensor's autograd history is one of four: NONE, LEAF, LIVE, UNKNOWN. Whether a live history is *spent* (its backward
has run, the activations are freed) is no property of the value but of the moment at which it is asked for;
``flows.py`` answers that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from torchlint.symbol import Symbol

if TYPE_CHECKING:
    from torchlint.facts.values.graph import Class, Function, Value


class History(Symbol):
    """What hangs on a tensor."""

    NONE = "none"
    """Made without gradients, detached, integer or boolean: it keeps nothing."""
    LEAF = "leaf"
    """It requires grad but was not computed: a parameter. It keeps only itself."""
    LIVE = "live"
    """It was computed with gradients on from something that requires grad: it keeps the graph."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Plain:
    """A number, string, None, shape, NumPy array ...: nothing that can hold a graph."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Anything."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor.

    Attributes:
        history: its autograd history.
        origin: for LIVE, the value with which the graph begins: the evidence.
        inherits: a function whose callers decide; the history is LIVE only if that function may be entered with
            gradients on. None when gradients are on for certain.
    """

    history: History
    origin: Value | None = None
    inherits: Function | None = None


@dataclass(frozen=True, slots=True)
class Module:
    """A module of torch or of a framework, or an object that is used as one (``.eval()``, ``.parameters()``).

    Attributes:
        has_parameters: False for ``nn.ReLU`` and the like, whose result has a graph only if an input has one.
        allocation: for a list or dictionary of modules, or of parameters, the value that made it, by which its items
            are known.
    """

    has_parameters: bool = True
    allocation: Value | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """An object of torch that is no tensor and no module: "optimizer", "scheduler", "scaler", "loader", "dataset"."""

    kind: str


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance of a class of this file."""

    cls: Class


@dataclass(frozen=True, slots=True)
class FunctionReference:
    """A function of this file; ``bound`` when its first parameter is already given."""

    function: Function
    bound: bool = False


@dataclass(frozen=True, slots=True)
class Partial:
    """What ``functools.partial`` makes, by the call that made it: a callable with some arguments given."""

    allocation: Value


@dataclass(frozen=True, slots=True)
class ClassReference:
    """A class of this file."""

    cls: Class


@dataclass(frozen=True, slots=True)
class External:
    """A name that was imported or is built in, by its full dotted name: ``torch.nn.functional.relu``."""

    name: str


@dataclass(frozen=True, slots=True)
class Container:
    """A list, tuple, dict, set or deque, by the value that allocated it."""

    allocation: Value


@dataclass(frozen=True, slots=True)
class Carrier:
    """An object of unknown type that holds a live tensor somewhere (``output`` when ``output["loss"].backward()``)."""

    origin: Value


@dataclass(frozen=True, slots=True)
class Argument:
    """Whatever the caller passes for this parameter."""

    parameter: Value


@dataclass(frozen=True, slots=True)
class Derived:
    """A tensor computed, differentiably, from what the caller passes; ``inherits`` as for :class:`Tensor`."""

    parameter: Value
    inherits: Function | None = None


@dataclass(frozen=True, slots=True)
class Differentiable:
    """A callable whose result was trained on: given a live tensor it returns a live tensor."""


@dataclass(frozen=True, slots=True)
class FrameworkObject:
    """An object of a framework's class, by the class's full dotted name; beside Unknown, for what else it may do.

    ``allocation`` is the call that made it, where it hands on what a function returned that it was given there.
    """

    name: str
    allocation: Value | None = None


Atom: TypeAlias = (
    Plain | Unknown | Tensor | Module | Tool | Instance | FunctionReference | Partial | ClassReference | External
    | Container | Carrier | Argument | Derived | Differentiable | FrameworkObject
)  # fmt: skip
AnyAtom = TypeVar("AnyAtom", bound=Atom)
Abstract: TypeAlias = frozenset[Atom]

BOTTOM: Abstract = frozenset()
PLAIN: Abstract = frozenset([Plain()])
UNKNOWN: Abstract = frozenset([Unknown()])
NO_GRAPH: Abstract = frozenset([Tensor(History.NONE)])
LEAF: Abstract = frozenset([Tensor(History.LEAF)])


WIDEST = 48
"""So many alternatives tell as little as none; joining more is widened to unknown."""


def join(parts: Iterable[Abstract]) -> Abstract:
    """The least upper bound of ``parts``: their union, with one live origin kept for each ``inherits``.

    Keeping the earliest origin and widening large sets bounds the height of the lattice, so that the fixpoint ends.
    """
    union: Abstract = BOTTOM.union(*parts)
    if len(union) < 2:
        return union
    if len(union) > WIDEST:
        return UNKNOWN
    live = [atom for atom in union if isinstance(atom, Tensor) and atom.history is History.LIVE]
    if len(live) < 2:
        return union
    earliest: dict[Function | None, Tensor] = {}
    for atom in live:
        kept = earliest.get(atom.inherits)
        if kept is None or _index(atom) < _index(kept):
            earliest[atom.inherits] = atom
    return union.difference(live).union(earliest.values())


def _index(atom: Tensor) -> int:
    return atom.origin.index if atom.origin is not None else -1


def sorted_values(abstract: Collection[AnyAtom]) -> list[AnyAtom]:
    """The alternatives in an order that does not depend on hashing."""
    return sorted(abstract, key=_order) if len(abstract) > 1 else list(abstract)


OF_CLASSES = (Instance, ClassReference)
"""What belongs to a class of the file; a tuple, since a union is put together anew each time."""


SYMBOLIC = (Argument, Derived)
"""What hangs on what the callers pass."""


def _order(atom: Atom) -> tuple[str, str, int, str]:
    kind, decider = type(atom).__name__, getattr(atom, "inherits", None)
    by = "" if decider is None else _place_of(decider)
    if isinstance(atom, OF_CLASSES):
        return kind, atom.cls.name, atom.cls.number, by
    if isinstance(atom, FunctionReference):
        result = atom.function.result
        return (
            kind,
            atom.function.name,
            -1 if result is None else result.index,
            f"{_place_of(atom.function)} {atom.bound}",
        )
    if isinstance(atom, Tensor):
        return kind, atom.history.value, _index(atom), by
    named, has_parameters = str(getattr(atom, "name", getattr(atom, "kind", ""))), getattr(atom, "has_parameters", 0)
    for name in ("allocation", "origin", "parameter"):
        value = getattr(atom, name, None)
        if value is not None:
            return kind, named, value.index, f"{by}{has_parameters}"
    return kind, named, has_parameters, by


def _place_of(function: Function) -> str:
    """What tells functions of one name apart: the class, and the first of its values."""
    first = function.parameters[0] if function.parameters else function.result
    owner = "" if function.owner is None else f"{function.owner.name}.{function.owner.number}"
    return f"{owner}.{function.name}.{-1 if first is None else first.index}"


def is_live(atom: Atom) -> bool:
    """True for a tensor that has a graph, whoever decides on the grad mode."""
    return isinstance(atom, Tensor) and atom.history is History.LIVE


_GRAPHLESS = frozenset([Plain, Tool, External])


def is_optimizer(atom: Atom) -> bool:
    """True for an optimizer of torch."""
    return isinstance(atom, Tool) and atom.kind == "optimizer"


def is_graphless(atom: Atom) -> bool:
    """True for what cannot hold a graph at all."""
    return atom.__class__ in _GRAPHLESS or (isinstance(atom, Tensor) and atom.history is History.NONE)


def is_only_containers(abstract: Abstract) -> bool:
    """True when every alternative is a container that is seen to be made."""
    return bool(abstract) and all(isinstance(atom, Container) for atom in abstract)


def surely_live(abstract: Abstract) -> bool:
    """True when every alternative is a tensor with a graph."""
    return bool(abstract) and all(map(is_live, abstract))


def surely_graphless(abstract: Abstract) -> bool:
    """True when no alternative can hold a graph."""
    return bool(abstract) and all(map(is_graphless, abstract))
