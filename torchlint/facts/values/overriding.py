"""Methods of subclasses that a base class runs: ``self.step(x)`` is what the class of the object defines.

A base that raises, or only declares what is to be defined, says itself that another method runs: that of any subclass
that is seen. Where it does something of its own, that stands for itself, and beside it what a subclass has instead of
which objects are made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import libcst as cst

from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.known import Known


class Made(NamedTuple):
    """That objects are made of classes below ``cls``: what one watches that asks for the methods of these."""

    cls: Class


class Overriding:
    """Answers which methods of subclasses run for a method of a base of theirs."""

    def __init__(self, solution: Known) -> None:
        """Look at the classes of a file when first asked."""
        self._solution, self.graph = solution, solution.graph
        self._table: dict[Class, list[Class]] = {}
        self._known = -1
        self._made: dict[Class, list[Class]] = defaultdict(list)

    def note_made(self, cls: Class) -> Sequence[Class]:
        """Objects of a class are made; gives its bases where that is new: what their methods run may be another."""
        above = cls.lineage()[1:]
        if not above or cls in self._made[above[0]]:
            return ()
        for base in above:
            self._made[base].append(cls)
        return above

    def has_others(self, cls: Class) -> bool:
        """Whether objects are made of classes below one, for all that is known so far."""
        return bool(self._made.get(cls))

    def methods(self, function: Function, cls: Class, name: str) -> list[Function]:
        """The methods that ``self.name(...)`` may run in ``function``, a method of ``cls``, beside its own.

        Empty where only ``cls`` defines the method, or none does.
        """
        own = cls.method(name)
        if own is None or is_left_open(own):
            return self._below(cls, name)
        if _is_abstract(cls) and (below := [one for one in self._subclasses.get(cls, ()) if not _is_abstract(one)]):
            instead = dict.fromkeys(method for one in below if (method := one.method(name)) is not None)
            if own not in instead:
                return list(instead)  # no object has the base's
        made = (below for below in self._made.get(cls, ()) if self._is_run_by(below, function, cls))
        instead = dict.fromkeys(method for below in made if (method := below.method(name)) is not None)
        return [] if instead.keys() <= {own} else list({own: None, **instead})

    def instead_of_abstract(self, cls: Class, name: str) -> list[Function]:
        """The methods that ``model.loss(x)`` may run where ``model`` is some ``cls``, which only declares it.

        Empty where the method is not abstract: an object may be made of the class then, which does nothing when asked.
        """
        own = cls.method(name)
        return self._below(cls, name) if own is not None and own.is_abstract else []

    def _below(self, cls: Class, name: str) -> list[Function]:
        return [below.methods[name] for below in self._subclasses.get(cls, ()) if name in below.methods]

    def _is_run_by(self, below: Class, function: Function, cls: Class) -> bool:
        """Whether an object of a class runs a method of a base of it, be it by ``super()`` from one of its own."""
        if below.method(function.name) is function:
            return True
        own = set(below.lineage()).difference(cls.lineage())
        return any(call.function.owner in own for call in self._solution.callers.get(function, ()))

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


def _is_abstract(cls: Class) -> bool:
    """Whether a class has a method that is abstract: no object is made of it."""
    return any(
        one.is_abstract and cls.method(one.name) is one for above in cls.lineage() for one in above.methods.values()
    )


def is_own_object(receiver: Value, cls: Class) -> bool:
    """Whether a value is ``self`` of a method of a class: of another object its class is known."""
    function = receiver.function
    return receiver.op is Op.PARAMETER and function.owner is cls and function.parameters[0] is receiver


def is_super(value: Value) -> bool:
    """``super()``"""
    return value.op is Op.CALL and value.callee.name == "builtins.super"


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
