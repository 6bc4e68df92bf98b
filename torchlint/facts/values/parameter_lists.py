"""``net.parameters()``: what a module lists of itself for an optimizer, a clipping of gradients, a freezing."""

from __future__ import annotations

from collections.abc import Iterable

from torchlint.facts.values.graph import Op, Value

__all__ = ["PARAMETERS", "lists_parameters", "modules_listed"]

PARAMETERS = frozenset(["parameters", "named_parameters"])
"""Methods of modules that hand out what can be differentiated by."""


def lists_parameters(value: Value) -> bool:
    """Whether a value is a call of such a method: ``net.parameters()``."""
    return value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in PARAMETERS


def modules_listed(values: Iterable[Value]) -> list[Value]:
    """The modules of which such a method is named among ``values``, each as often as it is."""
    return [value.inputs[0] for value in values if value.op is Op.ATTRIBUTE and value.name in PARAMETERS]
