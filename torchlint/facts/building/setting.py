"""Calls that set an attribute by its name, however they are written."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from torchlint.syntax.tree import dotted

SETTING = "__setattr__"
"""The method that sets an attribute."""


@dataclass(frozen=True)
class Setting:
    """A call that sets an attribute by its name.

    Attributes:
        object: whose.
        name: the expression that names it.
        value: what it is set to.
    """

    object: cst.BaseExpression
    name: cst.BaseExpression
    value: cst.BaseExpression

    def as_call(self) -> cst.Call:
        """The same as ``setattr(object, name, value)``."""
        return cst.Call(cst.Name("setattr"), [cst.Arg(one) for one in (self.object, self.name, self.value)])


def setting_of(node: cst.BaseExpression) -> Setting | None:
    """``setattr(o, name, x)``, ``object.__setattr__(o, name, x)`` and ``o.__setattr__(name, x)``; None for others.

    What ``super()`` is asked to set is left aside.
    """
    if not isinstance(node, cst.Call) or any(one.star or one.keyword is not None for one in node.args):
        return None
    given, function = [one.value for one in node.args], node.func
    if isinstance(function, cst.Name) and function.value == "setattr" and len(given) == 3:
        return Setting(*given)
    if not isinstance(function, cst.Attribute) or function.attr.value != SETTING:
        return None
    if len(given) == 3:
        return Setting(*given)
    is_of_object = len(given) == 2 and dotted(function.value) is not None
    return Setting(function.value, *given) if is_of_object else None
