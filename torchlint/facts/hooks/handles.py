"""Handles of hooks: whether they are removed, entered, or given to code that is not seen, and when."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.turns.turn import Repetition
from torchlint.facts.values.domain import Container
from torchlint.facts.values.graph import Class, Function, Kind, Loop, Op, Value
from torchlint.facts.values.overrides import has_unseen_base
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.running import run_by
from torchlint.syntax.conditions import always_run
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

TABLES = frozenset(["_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_state_dict_hooks"])
"""Where a module keeps its hooks; whoever mentions these removes them in a way of their own."""

PASSING = frozenset(
    ["builtins.getattr", "builtins.list", "builtins.tuple", "builtins.dict", "builtins.enumerate", "builtins.zip",
     "builtins.reversed", "builtins.next", "builtins.iter", "builtins.filter", "itertools.chain",
     "collections.OrderedDict"]
)  # fmt: skip
"""Functions that hand on what they are given, or parts of it."""

_HARMLESS = frozenset(["builtins.len", "builtins.print", "builtins.enumerate", "builtins.bool", "builtins.str"])


class Handles:
    """Answers for one file; a handle is the value of the call that registers the hook."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution = facts.solution

    def lets_go(self, call: Value) -> bool:
        """Whether the hook may be removed at some time, or its handle is given to code that is not seen."""
        return self.mentions_tables or self.escapes(call) or self.is_managed(call) or bool(self.removals(call))

    def is_left(self, call: Value) -> bool:
        """Whether a function drops the handle, or only its caller has it: by itself, or in a list that it returns.

        A variable or a list of the function goes with it. Nor is a handle ever removed that only an object has which
        does not remove it.
        """
        function = call.function
        if self.lets_go(call):
            return False
        if call.is_bare:
            return True
        homes = {home for home, items in self.solution.held.items() for _, item in items if item is call}
        if self._is_hidden(function, homes):
            return True
        is_put_where_unknown = not homes and any(store.value is call for store in self.facts.graph.stores)
        if is_put_where_unknown or any(home.function is not function for home in homes):
            return False
        kept = [value for values in self.solution.stored.values() for value in values]
        atoms = {atom for value in kept for atom in self.solution.final(value)}
        is_kept = any(isinstance(atom, Container) and atom.allocation in homes for atom in atoms)
        return call not in kept and not is_kept

    def is_kept_by_object(self, call: Value) -> bool:
        """Whether only the object of a method, which hooks what it holds, has the handle, and no method removes any."""
        owner = call.function.owner
        if owner is None or has_unseen_base(owner) or self.lets_go(call) or self.takers(owner):
            return False
        homes = {home for home, items in self.solution.held.items() for _, item in items if item is call}
        places = [place for place, stored in self.solution.stored.items() if not {call, *homes}.isdisjoint(stored)]
        return bool(places) and all(place.owner is owner.root() for place in places)

    def _is_hidden(self, function: Function, homes: set[Value]) -> bool:
        """Whether a list of handles is an object's own affair: ``self._handles``, of which no base class knows."""
        if function.owner is None or has_unseen_base(function.owner):
            return False
        places = [place for place, stored in self.solution.stored.items() if not homes.isdisjoint(stored)]
        own = function.owner.root()
        return bool(places) and all(place.owner is own and place.path.startswith("_") for place in places)

    @cached_property
    def mentions_tables(self) -> bool:
        """Whether the file goes to where modules keep their hooks."""
        return any(value.name in TABLES for value in self.facts.graph.of(Op.ATTRIBUTE))

    def is_managed(self, call: Value) -> bool:
        """Whether the handle is entered: ``with module.register_forward_hook(hook):``."""
        node = call.syntax
        while node is not None and not isinstance(node, cst.WithItem | cst.BaseSuite | cst.SimpleStatementLine):
            node = self.facts.parents.get(node)
        return isinstance(node, cst.WithItem) or self._is_entered_by_name(call)

    def _is_entered_by_name(self, call: Value) -> bool:
        """``handle = module.register_forward_hook(hook)`` and then ``with handle:``."""
        assignment = self.facts.parents.get(call.syntax) if call.syntax is not None else None
        if not isinstance(assignment, cst.Assign):
            return False
        names = {dotted(target.target) for target in assignment.targets}
        items = (node for node in walk(call.function.syntax) if isinstance(node, cst.WithItem))
        return any(isinstance(item.item, cst.Name) and item.item.value in names for item in items)

    def escapes(self, call: Value) -> bool:
        """Whether the handle, or the container that has it, is given to code that is not seen."""
        homes = {home for home, items in self.solution.held.items() for _, item in items if item is call}
        for user in call.users:
            if user.op is Op.CALL and call in user.arguments and not self._is_insertion(user):
                if self._is_unseen(user):
                    return True
        for other in self.facts.calls() if homes else ():
            if other.callee.name in _HARMLESS or not self._is_unseen(other):
                continue
            for argument in other.arguments:
                atoms = self.solution.final(argument)
                if any(isinstance(atom, Container) and atom.allocation in homes for atom in atoms):
                    if not self._is_insertion(other) and other.callee.name not in PASSING:
                        return True
        return False

    def _is_unseen(self, call: Value) -> bool:
        """Whether a call may run what stands in no function of this file."""
        functions = self.solution.functions_of(call)
        return not functions or any(function.is_foreign for function in functions)

    def _is_insertion(self, call: Value) -> bool:
        """``handles.append(handle)``: the container is asked for instead.

        ``session.add(handle)`` gives it to an object of which nobody here knows what it does.
        """
        receiver = call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else None
        if receiver is None or (call.statement, receiver) not in self._insertions:
            return False
        known = [receiver, *(self.solution.arguments_of(receiver) if receiver.op is Op.PARAMETER else ())]
        return any(isinstance(atom, Container) for value in known for atom in self.solution.final(value))

    @cached_property
    def _insertions(self) -> set[tuple[cst.CSTNode, Value | None]]:
        return {(store.statement, store.holder) for store in self.facts.graph.stores if store.kind is Kind.INSERT}

    def takers(self, owner: Class) -> list[Function]:
        """The methods of a class and its bases that take hooks off, and that anybody may call."""
        return [method for method in methods_of(owner) if removes(method) and not self._is_forgotten(method)]

    def _is_forgotten(self, method: Function) -> bool:
        """Whether nobody calls what is an object's own affair, ``def _remove_hooks(self)``, nor speaks of it."""
        name, owner = method.name, method.owner
        is_own = name.startswith("_") and not name.startswith("__")
        if owner is None or not is_own or has_unseen_base(owner) or self.solution.callers.get(method):
            return False
        return name not in self._spoken_of and not self.facts.others_mention(name)

    @cached_property
    def _spoken_of(self) -> set[str]:
        """The attributes that are read, and the texts that may name one."""
        graph = self.facts.graph
        texts = (constant_of(value.syntax) for value in graph.of(Op.CONSTANT) if value.syntax is not None)
        return {*(value.name for value in graph.of(Op.ATTRIBUTE)), *(text for text in texts if isinstance(text, str))}

    def removals(self, call: Value) -> list[Value]:
        """Where ``remove`` of this handle is read, whether it is called there or handed on."""
        return [
            read
            for read, handles in self._removers.items()
            if call in handles and not self._is_forgotten(read.function)
        ]

    def forgotten_taker(self, call: Value) -> Function | None:
        """A method that would take the hook off, and that nobody calls."""
        methods = (read.function for read, handles in self._removers.items() if call in handles)
        return next(filter(self._is_forgotten, methods), None)

    def goes_with_first_run(self, call: Value, hook: Function) -> bool:
        """Whether a hook begins by taking its own handle away, be it after others: it runs in one forward alone."""
        always = always_run(hook.syntax)
        return any(read.function is hook and read.statement in always and read.calls for read in self.removals(call))

    def are_taken_elsewhere(self, call: Value, by: Loop | Function | None) -> bool:
        """Whether a base class of another file empties the attribute that has the handle, or the list with it.

        Where this file is seen to call what does so, it counts in a turn of ``by`` alone.
        """
        homes = {home for home, items in self.solution.held.items() for _, item in items if item is call}
        places = {place for place, kept in self.solution.stored.items() if not {call, *homes}.isdisjoint(kept)}
        endings = self.solution.graph.foreign.endings
        names = {name for place, name in endings if place in places and name != "__init__"}
        calls = [one for one in self.facts.calls() if one.callee.op is Op.ATTRIBUTE and one.callee.name in names]
        if not names or not calls or not isinstance(by, Loop):
            return bool(names)
        run = self._run_in(by)
        return any((one.loop is not None and by in one.loop.around()) or one.function in run for one in calls)

    @property
    def are_removed(self) -> bool:
        """Whether the file removes anything: it may be handles that an object of another file keeps."""
        return bool(self._removers)

    @cached_property
    def _removers(self) -> dict[Value, set[Value]]:
        """For each ``x.remove`` all that ``x`` may be."""
        reads = [value for value in self.facts.graph.of(Op.ATTRIBUTE) if value.name == "remove"]
        return {read: set(reached([read.inputs[0]], self.facts.flows.ancestry.sources)) for read in reads}

    def is_removed(self, call: Value, repetition: Repetition) -> bool:
        """Whether the hook is removed in the same turn, or by code of which nobody knows when it runs."""
        removals = self.removals(call)
        by = repetition.by
        if not removals or not isinstance(by, Loop):
            return bool(removals)
        run = self._run_in(by)
        for removal in removals:
            function = removal.function
            if function is by.function:
                if removal.loop is not None and by in removal.loop.around():
                    return True
            elif function in run or self._may_run_unseen(function):
                return True
        return False

    def _may_run_unseen(self, function: Function) -> bool:
        """Whether Python, or whoever got hold of it, may call ``function`` in each turn: ``__exit__``, a hook."""
        if self.solution.callers.get(function):
            return False
        if function.owner is None or function.name.startswith("__"):
            return function.owner is not None or function.parent is None or function.parent.parent is not None
        handed = (v for v in self.facts.graph.of(Op.ATTRIBUTE) if v.name == function.name)
        return any(user.op is not Op.CALL or user.callee is not value for value in handed for user in value.users)

    def _run_in(self, loop: Loop) -> set[Function]:
        """The functions that run in a turn of ``loop``."""
        calls = self.facts.steps.calls_within(loop)
        return set(run_by(self.facts.steps, calls))


def methods_of(owner: Class) -> list[Function]:
    """The methods of a class and its bases."""
    return [method for cls in owner.lineage() for method in cls.methods.values()]


def removes(method: Function) -> bool:
    """Whether a method calls ``remove`` of anything."""
    return any(isinstance(node, cst.Attribute) and node.attr.value == "remove" for node in walk(method.syntax))
