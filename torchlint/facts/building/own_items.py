"""Classes that are containers themselves, ``class Tally(dict)``: each object of one has items of its own."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.data_classes import DataField
from torchlint.facts.values.graph import Class
from torchlint.facts.values.known import OWN_ITEMS

BASES = {
    "builtins.dict": "dict", "collections.OrderedDict": "dict", "collections.defaultdict": "dict",
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
    kinds = {BASES[base] for base in cls.bases if base in BASES}
    if len(kinds) != 1:
        return None
    maker = cst.Name(kinds.pop())
    return DataField(OWN_ITEMS, None, None, (cst.Call(maker), maker), is_given=False, is_kept=True, statement=statement)
