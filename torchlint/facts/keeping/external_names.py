"""What a call is of that a library has, by its full dotted name, also where arguments were bound to it before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import External, Partial
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.partials import called

if TYPE_CHECKING:
    from torchlint.facts import Facts


def external_name(facts: Facts, call: Value) -> str | None:
    """The full dotted name of the imported or built-in object that a CALL calls, by whatever name; None for others."""
    names = external_names(facts, call)
    return names[0] if len(names) == 1 else None


def external_names(facts: Facts, call: Value) -> list[str]:
    """The full dotted names of all that it may be, also of what was given arguments by name before."""
    if call.callee.op is Op.EXTERNAL:
        return [call.callee.name]
    if not any(isinstance(atom, (External, Partial)) for atom in facts.solution.of(call.callee)):
        return []  # the most
    bounds = (bound for bound in called(facts.solution, call) if bound.by_name_only)
    return list(dict.fromkeys(bound.atom.name for bound in bounds if isinstance(bound.atom, External)))
