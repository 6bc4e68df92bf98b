"""What the callers of a function name there, as their text says: keywords, and texts that they pass.

It is read by names alone, since nothing is solved yet where the graph is built.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.graph import Function, Value
from torchlint.syntax.tree import nodes_of


class NamedByCallers:
    """Answers for one file."""

    def __init__(self, module: cst.Module) -> None:
        """Read ``module`` when it is first asked."""
        self._module = module

    @cached_property
    def _calls(self) -> dict[str, list[cst.Call]]:
        """The calls of the file by the last name of what they call."""
        found: dict[str, list[cst.Call]] = defaultdict(list)
        for call in nodes_of(cst.Call, self._module):
            function = call.func
            if isinstance(function, cst.Name):
                found[function.value].append(call)
            elif isinstance(function, cst.Attribute):
                found[function.attr.value].append(call)
        return found

    def _calls_of(self, function: Function) -> list[cst.Call]:
        is_made = function.name == "__init__" and function.owner is not None
        return self._calls.get(function.owner.name if is_made and function.owner else function.name, [])

    def keywords_of(self, function: Function) -> list[str]:
        """The keywords by which it is called and that none of its parameters takes."""
        taken = {parameter.name for parameter in function.parameters}
        written = (one.keyword.value for call in self._calls_of(function) for one in call.args if one.keyword)
        return [name for name in dict.fromkeys(written) if name not in taken]

    def texts_for(self, parameter: Value) -> list[str]:
        """The identifiers that are passed for a parameter, where all that is passed are such texts."""
        function = parameter.function
        if parameter not in function.parameters:
            return []
        is_bound = function.owner is not None and not function.is_static
        position = function.parameters.index(parameter) - is_bound
        found = [_passed(call, position, parameter.name) for call in self._calls_of(function)]
        texts = [one for one in found if isinstance(one, str) and one.isidentifier()]
        return list(dict.fromkeys(texts)) if len(texts) == len(found) else []


def _passed(call: cst.Call, position: int, name: str) -> str | int | None:
    """The constant that a call passes by position (from 0) or by keyword; None for anything else."""
    plain = [one.value for one in call.args if not one.star and one.keyword is None]
    named = (one.value for one in call.args if one.keyword is not None and one.keyword.value == name)
    given = plain[position] if position < len(plain) else next(named, None)
    return None if given is None or any(one.star for one in call.args) else constant_of(given)
