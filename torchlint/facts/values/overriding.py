"""Methods that a base class leaves to its subclasses: ``self.step(x)`` runs what a subclass of the file defines.

A base that raises, or only declares what is to be defined, says itself that another method runs. Where it does
something of its own that stands for itself, whatever a subclass may add.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import libcst as cst

from torchlint.facts.values.graph import Class, Function, Op, Value, ValueGraph


class Overriding:
    """Answers which methods of subclasses run for a method that a base of theirs leaves open."""

    def __init__(self, graph: ValueGraph) -> None:
        """Look at the classes of ``graph`` when first asked."""
        self.graph = graph

    def methods(self, receiver: Value, cls: Class, name: str) -> list[Function]:
        """The methods that ``receiver.name(...)`` may run, where ``cls`` leaves ``name`` to its subclasses.

        Of another receiver than ``self`` its class is known. Empty where ``cls`` defines the method, or none does.
        """
        function = receiver.function
        is_self = receiver.op is Op.PARAMETER and function.owner is cls and function.parameters[0] is receiver
        if not is_self or not self._subclasses.get(cls):
            return []
        own = cls.method(name)
        if own is not None and not is_left_open(own):
            return []
        return [below.methods[name] for below in self._subclasses[cls] if name in below.methods]

    @cached_property
    def _subclasses(self) -> dict[Class, list[Class]]:
        table: dict[Class, list[Class]] = defaultdict(list)
        for cls in self.graph.classes:
            for above in cls.lineage()[1:]:
                table[above].append(cls)
        return table


def is_left_open(method: Function) -> bool:
    """Whether a method raises, or does nothing at all: ``pass``, ``...``, a docstring."""
    if any(name.rpartition(".")[2] == "abstractmethod" for name in method.decorators):
        return True
    if method.is_foreign or not isinstance(method.syntax, cst.FunctionDef):
        return False
    return all(
        isinstance(statement, cst.Raise | cst.Pass)
        or (isinstance(statement, cst.Expr) and isinstance(statement.value, cst.BaseString | cst.Ellipsis))
        for line in method.syntax.body.body
        for statement in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    )
