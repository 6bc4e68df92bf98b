"""Decorators of a project that hand on other arguments than they are given: detached, moved to the host, as floats."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.names import all_parameters, assigned_in
from torchlint.syntax.tree import walk_scope


def alters_arguments(decorator: cst.FunctionDef) -> bool:
    """Whether what a decorator puts in the place of a function calls that with anything but its own arguments.

    Args:
        decorator: a function with a function in it that calls what the outer one is given, or one that makes such.
    """
    if not isinstance(decorator.body, cst.IndentedBlock):
        return False
    given = {parameter.name.value for parameter in decorator.params.params}
    return any(
        _alters(inner, given) or alters_arguments(inner)
        for inner in decorator.body.body
        if isinstance(inner, cst.FunctionDef)
    )


def _alters(wrapper: cst.FunctionDef, given: set[str]) -> bool:
    calls = (node for node in walk_scope(wrapper.body) if isinstance(node, cst.Call))
    replaced = [call for call in calls if isinstance(call.func, cst.Name) and call.func.value in given]
    own = {parameter.name.value for parameter in all_parameters(wrapper.params)} - assigned_in(wrapper.body)
    return any(
        not isinstance(argument.value, cst.Name) or argument.value.value not in own
        for call in replaced
        for argument in call.args
    )
