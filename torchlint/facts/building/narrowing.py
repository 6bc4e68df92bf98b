"""What a condition says of the type of a variable: in ``v if isinstance(v, float) else v.item()`` no tensor is left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from torchlint import torch_api
from torchlint.facts.building.names import constant_of, path_of
from torchlint.facts.values.externals import OF_PYTHON
from torchlint.facts.values.graph import Flag, Op, Value
from torchlint.facts.values.kinds import Rest
from torchlint.facts.values.parameters import is_of_self

PLAIN_TYPES = frozenset(
    f"builtins.{name}" for name in ("int", "float", "str", "bool", "complex", "bytes")
) | {"numbers.Number", "numbers.Real", "numbers.Integral"}  # fmt: skip
"""Types of which no object holds a tensor; those of NumPy are others."""

ITEM_TYPES = frozenset(["builtins.tuple", "builtins.list"])
"""Types of what a module may give in the place of a tensor; a dict that is asked for is loaded or filled more often."""

TENSOR_TYPES = frozenset(["torch.Tensor", "torch.autograd.Variable", "torch.FloatTensor", "torch.cuda.FloatTensor"])
"""What is of none of these is no tensor."""

MODULE_TYPES = frozenset(["torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module"])
"""What is of none of these is no module."""

_CONTAINERS = {
    Rest.NO_DICTIONARY: frozenset(
        ["builtins.dict", "collections.abc.Mapping", "collections.abc.MutableMapping", "typing.Mapping"]
    ),
    Rest.NO_LIST: frozenset(["builtins.list", "collections.abc.Sequence", "typing.Sequence", "typing.List"]),
    Rest.NO_TUPLE: frozenset(["builtins.tuple", "collections.abc.Sequence", "typing.Sequence", "typing.Tuple"]),
}
"""The types of which every dictionary, list or tuple is: what is of none of them is none."""


@dataclass(frozen=True)
class Narrowing:
    """What is left of a variable where a condition holds, or does not.

    Attributes:
        path: the variable, or an attribute or item of one.
        value: its value before.
        rest: what it can still be.
    """

    path: str
    value: Value
    rest: Rest


def narrowings(test: Value, *, holds: bool) -> Iterator[Narrowing]:
    """What follows where the condition ``test`` ``holds``, or where it does not."""
    for part, truth in parts_of(test, holds=holds):
        syntax = part.syntax
        if part.op is Op.ATTRIBUTE and part.name == "requires_grad" and isinstance(syntax, cst.Attribute):
            if not truth:
                yield from _narrowing(syntax.value, part.inputs[0], Rest.GRAPHLESS)
        elif part.op is Op.CALL and isinstance(syntax, cst.Call) and part.callee.op is Op.EXTERNAL and part.arguments:
            rest = _left(part, truth)
            if rest is not None:
                yield from _narrowing(syntax.args[0].value, part.arguments[0], rest)


def parts_of(test: Value, *, holds: bool) -> Iterator[tuple[Value, bool]]:
    """What a condition is made of by ``not``, ``and`` and ``or``, as far as it says whether that holds.

    Args:
        test: the condition.
        holds: whether it does.

    Yields:
        conditions, each with whether it holds as well.
    """
    syntax = test.syntax
    if type(syntax) is cst.UnaryOperation and isinstance(syntax.operator, cst.Not) and test.inputs:
        yield from parts_of(test.inputs[0], holds=not holds)
    elif type(syntax) is cst.BooleanOperation and test.op is Op.PHI:
        if isinstance(syntax.operator, cst.And) is holds:
            for part in test.inputs:
                yield from parts_of(part, holds=holds)
    else:
        yield test, holds


def excluded_by(test: Value, *, holds: bool) -> frozenset[tuple[Value, Rest]]:
    """The containers that values are not where the condition ``test`` ``holds``, or where it does not.

    It is told apart from what :func:`narrowings` says: a variable stays what it is for all but what is returned.
    """
    found = set[tuple[Value, Rest]]()
    for part, truth in parts_of(test, holds=holds):
        is_denied = not truth and part.op is Op.CALL and part.callee.name == "builtins.isinstance"
        if is_denied and len(part.arguments) == 2:
            value, types = part.arguments[0].unnarrowed(), _types(part.arguments[1])
            found |= {(value, rest) for rest, names in _CONTAINERS.items() if not names.isdisjoint(types)}
    return frozenset(found)


def flags_of(test: Value, *, holds: bool) -> frozenset[Flag]:
    """What the parameters that ``test`` asks for are where it ``holds``, or where it does not."""
    return frozenset(one for one in parts_of(test, holds=holds) if one[0].op is Op.PARAMETER)


def says_at_rest(test: Value, *, holds: bool) -> bool:
    """Whether a module does not train where the condition ``test`` ``holds``, or where it does not.

    That is what ``self.training`` says, or its contrary.
    """
    return any(_is_at_rest(part, truth) for part, truth in parts_of(test, holds=holds))


def says_training(test: Value, *, holds: bool) -> bool:
    """Whether a module trains where the condition ``test`` ``holds``, or where it does not.

    That is what the ``.training`` of one says, be it beside something else: ``step % 10 == 0 and module.training``.
    """
    return any(_is_training(part, truth) for part, truth in parts_of(test, holds=holds))


def _is_at_rest(test: Value, holds: bool) -> bool:
    return not holds and is_of_self(test, test.function) and test.name == "training"


def _is_training(test: Value, holds: bool) -> bool:
    return holds and test.op is Op.ATTRIBUTE and test.name == "training"


def _narrowing(written: cst.BaseExpression, value: Value, rest: Rest) -> Iterator[Narrowing]:
    path = path_of(written)
    if path is not None:
        yield Narrowing(path, value, rest)


def _left(test: Value, holds: bool) -> Rest | None:
    """What is left of the first argument of a call that asks for its type; None where it says too little."""
    name = test.callee.name
    if name == "torch.is_tensor":
        return None if holds else Rest.NO_TENSOR
    if len(test.arguments) != 2:
        return None
    asked = test.arguments[1]
    if name == "builtins.hasattr":
        return Rest.NO_TENSOR if not holds and _is_of_tensors(asked) else None
    if name != "builtins.isinstance":
        return None
    types = _types(asked)
    if holds:
        if not types or len(types) < len(_parts(asked)):
            return None
        return Rest.ITEMS if ITEM_TYPES.issuperset(types) else Rest.PLAIN if all(map(_is_plain, types)) else None
    if not MODULE_TYPES.isdisjoint(types):
        return Rest.NO_MODULE
    return Rest.NO_TENSOR if any(one in TENSOR_TYPES for one in types) else None


def _types(asked: Value) -> list[str]:
    """The types of which ``isinstance`` asks, as far as they are known by name."""
    return [part.name for part in _parts(asked) if part.op is Op.EXTERNAL]


def _parts(asked: Value) -> list[Value]:
    """The alternatives of ``(int, float)``, ``int | float``."""
    if asked.op is not Op.CONTAINER and not (asked.op is Op.OPERATION and asked.name == "BitOr"):
        return [asked]
    return [part for one in asked.inputs for part in _parts(one)]


def _is_plain(name: str) -> bool:
    return name in PLAIN_TYPES or name.startswith("numpy.")


def _is_of_tensors(asked: Value) -> bool:
    """Whether every tensor has the attribute that is asked for, and numbers and containers have not."""
    name = constant_of(asked.syntax) if asked.syntax is not None else None
    if not isinstance(name, str) or name in OF_PYTHON:
        return False
    return torch_api.method(name) is not None or torch_api.attribute(name) is not None
