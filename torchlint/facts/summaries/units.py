"""What is made of one definition of another file, as far as it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import cached_property

from torchlint.facts.summaries.imports import Found
from torchlint.facts.summaries.summary import ClassSummary, FunctionSummary, Summary
from torchlint.facts.values.graph import Class, Function


@dataclass
class Unit:
    """The definitions that one top-level name of another file needs, and what was made of them."""

    found: Found
    hops: int
    module: Function
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)

    @cached_property
    def summary(self) -> Summary | None:
        return self.found.summarise()


class Methods(dict[str, Function]):
    """The methods of a class of another file, each made when it is first asked for: most are never called here."""

    def __init__(self, summary: ClassSummary, make: Callable[[FunctionSummary], Function]) -> None:
        super().__init__()
        self._known = {method.name: method for method in summary.methods}
        self._make = make

    def working_with(self, names: Set[str]) -> list[str]:
        """Those that call a method of one of these names on their own object, or train on what that has."""
        return [name for name, method in self._known.items() if _calls(method, names) or _trains_on_own(method)]

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def __missing__(self, name: str) -> Function:
        self[name] = self._make(self._known[name])
        return self[name]


def _calls(method: FunctionSummary, names: Set[str]) -> bool:
    return any(call.base == 0 and len(call.path) == 1 and call.path[0] in names for call in method.calls)


def _trains_on_own(method: FunctionSummary) -> bool:
    return bool(method.parameters) and bool(method.parameters[0].trained_parts)
