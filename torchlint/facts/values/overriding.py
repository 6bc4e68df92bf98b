"""Methods that a base class leaves to its subclasses: ``self.step(x)`` runs what a subclass that is seen defines.

A base that raises, or only declares what is to be defined, says itself that another method runs. Where it does
something of its own that stands for itself, whatever a subclass may add.
"""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from torchlint.facts.values.graph import Class, Function, Op, Value, ValueGraph


class Overriding:
    """Answers which methods of subclasses run for a method that a base of theirs leaves open."""

    def __init__(self, graph: ValueGraph) -> None:
        """Look at the classes of ``graph`` when first asked."""
        self.graph = graph
        self._table: dict[Class, list[Class]] = {}
        self._known = -1

    def methods(self, receiver: Value, cls: Class, name: str) -> list[Function]:
        """The methods that ``receiver.name(...)`` may run, where ``cls`` leaves ``name`` to its subclasses.

        Of another receiver than ``self`` its class is known. Empty where ``cls`` defines the method, or none does.
        """
        function = receiver.function
        is_self = receiver.op is Op.PARAMETER and function.owner is cls and function.parameters[0] is receiver
        subclasses = self._subclasses.get(cls, ()) if is_self else ()
        if not subclasses:
            return []
        own = cls.method(name)
        if own is not None and not is_left_open(own):
            return []
        return [below.methods[name] for below in subclasses if name in below.methods]

    @property
    def _subclasses(self) -> dict[Class, list[Class]]:
        """The classes below each, of this file and of those of others that are in use so far."""
        opened = [cls for cls in self.graph.foreign.classes if cls.opener is None]
        if len(opened) != self._known:
            table: dict[Class, list[Class]] = defaultdict(list)
            for cls in (*self.graph.classes, *opened):
                for above in cls.lineage()[1:]:
                    table[above].append(cls)
            self._table, self._known = table, len(opened)
        return self._table


def is_left_open(method: Function) -> bool:
    """Whether a method raises, or does nothing at all: ``pass``, ``...``, a docstring."""
    if method.is_left_open or any(name.rpartition(".")[2] == "abstractmethod" for name in method.decorators):
        return True
    if method.is_foreign or not isinstance(method.syntax, cst.FunctionDef):
        return False
    return all(
        isinstance(statement, cst.Raise | cst.Pass)
        or (isinstance(statement, cst.Expr) and isinstance(statement.value, cst.BaseString | cst.Ellipsis))
        for line in method.syntax.body.body
        for statement in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
    )
