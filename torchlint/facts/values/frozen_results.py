"""What methods of frozen modules give: within the class the parameters train, for other instances."""

from __future__ import annotations

from collections.abc import Sequence

from torchlint.facts.values.differentiation import differentiate
from torchlint.facts.values.domain import UNKNOWN, Abstract, Atom, Carrier, Container, Instance, Tensor, join
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Value

__all__ = ["of_frozen"]


def of_frozen(call: Value, result: Abstract, given: Sequence[Abstract]) -> Abstract:
    """What a method of a frozen module gives, which has the graph of what it gets and no other.

    Args:
        call: that runs the method.
        result: what the method gives where its module trains.
        given: the arguments.
    """
    without = frozenset(atom for atom in result if not _may_hold_graph(atom))
    return result if without == result else join((without, differentiate(call, given or [UNKNOWN])))


def _may_hold_graph(atom: Atom) -> bool:
    """Whether what a method of a module returns has a graph for the parameters: a tensor, or several in a tuple."""
    if isinstance(atom, Tensor):
        return atom.origin is not None
    if isinstance(atom, Instance):
        return not is_module_class(atom.cls)
    return isinstance(atom, Container | Carrier)
