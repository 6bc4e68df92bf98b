"""Classes that are containers themselves, ``class Tally(dict)``: each object of one has items of its own."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.data_classes import DataField
from torchlint.facts.building.filling import FillingBuilder
from torchlint.facts.values.graph import Class, Key, Kind, Op, Value
from torchlint.facts.values.known import OWN_ITEMS
from torchlint.facts.values.overriding import is_super

DEFAULTDICT = "collections.defaultdict"

BASES = {
    "builtins.dict": "dict", "collections.OrderedDict": "dict", DEFAULTDICT: "dict",
    "collections.UserDict": "dict", "builtins.list": "list", "collections.UserList": "list",
    "collections.deque": "list",
}  # fmt: skip
"""Bases of such classes, each with the function that makes a container of that kind."""


def own_items(cls: Class, statement: cst.CSTNode) -> DataField | None:
    """What an object of a class has its items in, as if that were an attribute; None for other classes.

    Args:
        cls: the class, with its bases.
        statement: where it is defined.
    """
    base = _base_of(cls)
    if base is None:
        return None
    maker = cst.Name(BASES[base])
    return DataField(OWN_ITEMS, None, None, (cst.Call(maker), maker), is_given=False, is_kept=True, statement=statement)


def begin_as_told(builder: FillingBuilder, call: Value) -> None:
    """Let an object have the items that its base is told of: ``super().__init__(Meter)`` below a ``defaultdict``.

    Args:
        builder: stands in a method, and has just made ``call``.
        call: a CALL of ``__init__``.
    """
    function, callee = builder.function, call.callee
    base = _base_of(function.owner) if function.owner is not None and function.name == "__init__" else None
    is_of_base = callee.op is Op.ATTRIBUTE and is_super(callee.inputs[0])
    if base is None or not (is_of_base or callee.name == f"{base}.__init__"):
        return
    given = list(zip(call.keys[1:], call.arguments, strict=True))
    given = given if is_of_base else [(_before(key), value) for key, value in given[1:]]
    if given:
        keys, values = zip(*given, strict=True)
        maker = builder.make(Op.EXTERNAL, (), None, name=base)
        items = builder.make(Op.CALL, (maker, *values), None, keys=(None, *keys), name=base)
        if base == DEFAULTDICT:
            builder.make_default(items)
        itself, target = function.parameters[0], cst.Attribute(cst.Name("self"), cst.Name(OWN_ITEMS))
        builder.keep(Kind.ASSIGN, items, None, holder=itself, attribute=OWN_ITEMS, target=target)


def _base_of(cls: Class) -> str | None:
    """The container of Python that a class derives from, if there is one kind of it alone."""
    bases = [base for base in cls.bases if base in BASES]
    return bases[0] if len({BASES[base] for base in bases}) == 1 else None


def _before(key: Key) -> Key:
    """The position of an argument where ``self`` is not among them."""
    return key - 1 if isinstance(key, int) else key
