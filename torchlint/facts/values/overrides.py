"""Methods that others call by the name of a base's: who calls one in this file is not all who do."""

from __future__ import annotations

from torchlint import torch_api
from torchlint.facts.values.frameworks import is_forward, is_module_class
from torchlint.facts.values.graph import Class, Function


def may_be_called_by_base(function: Function) -> bool:
    """Whether a base class calls a method, or may: it has one of that name, or it is not seen."""
    owner = function.owner
    if owner is None:
        return False
    if any(function.name in above.methods for above in owner.lineage()[1:]):
        return True
    return has_unseen_base(owner)


def is_called_by_others(function: Function) -> bool:
    """Whether code that is not seen calls a method whoever calls it here: a base does, or all that hold a module."""
    return may_be_called_by_base(function) or is_forward(function)


KNOWN = (
    "builtins.", "torch.", "abc.", "collections.", "contextlib.", "enum.", "typing.", "typing_extensions.",
    "sklearn.base.",
)  # fmt: skip
"""Where base classes come from that run no backward and hook nothing: torch, Python, and the estimators of arrays."""


def is_known_base(base: str) -> bool:
    """Whether a base class, by its full dotted name, trains nothing by what a method of the class gives it."""
    return base.startswith(KNOWN) or torch_api.torch_class(base) is not None


def has_unseen_base(cls: Class) -> bool:
    """Whether a class has a base of which nobody knows what it does: none of :data:`KNOWN`, nor of the project."""
    return any(not is_known_base(base) for one in cls.lineage() for base in one.bases if base not in one.read)


def is_plain_class(cls: Class) -> bool:
    """Whether a class is seen whole, with all its bases, and none of these is a module."""
    return not is_module_class(cls) and not has_unseen_base(cls)
