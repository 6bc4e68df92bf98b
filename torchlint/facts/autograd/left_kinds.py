"""What kind of thing a step leaves, and where: a network, an item whose key is written, something for a backward."""

from __future__ import annotations

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.evidence import MODULE_ONLY
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Op, Value


def is_text(constant: Value) -> bool:
    return constant.syntax is not None and isinstance(constant_of(constant.syntax), str)


def is_asked_as_module(value: Value) -> bool:
    """``self.net_.named_parameters()``: whether something is asked of a value that only modules have."""
    return any(user.op is Op.ATTRIBUTE and user.name in MODULE_ONLY for user in value.users)


def is_differentiated_by_hand(function: Function) -> bool:
    """Whether it belongs to an ``autograd.Function``, whose ``ctx`` is another matter."""
    owner = function.owner
    return owner is not None and not is_module_class(owner) and any("autograd" in b for b in owner.all_bases())
