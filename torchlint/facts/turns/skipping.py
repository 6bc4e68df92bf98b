"""What need not run each time: a branch for when something is first needed, for every n-th step, or for the end."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import assigned_in, path_of, paths_read
from torchlint.facts.turns.bindings import Bindings
from torchlint.facts.turns.chosen_items import chooses_items
from torchlint.facts.turns.failures import Failures, leaves_if_done
from torchlint.facts.turns.later_turns import LaterTurns
from torchlint.facts.turns.memory import asked_of_libraries, is_memory
from torchlint.facts.turns.numbered_turns import beside_number, counts_turns
from torchlint.facts.turns.of_data import asked_of_data
from torchlint.facts.values.graph import Function, Loop, Store, Value
from torchlint.syntax.conditions import last_of
from torchlint.syntax.tree import dotted, walk, whole_loop

if TYPE_CHECKING:
    from torchlint.facts import Facts

STEADY = ("isinstance", "len", "is_available")
"""Ends of names of functions whose answer does not change from step to step."""

INITIALIZERS = ("__init__", "__post_init__")
"""Methods that run once in the life of an object."""

READING = frozenset(["get", "keys", "values", "items", "index", "count"])
"""Methods that leave a container as it is."""


SIZES = {"size": 1, "dim": 0}
"""Methods of tensors whose answer, the number of rows left aside, does not change from batch to batch.

With how many arguments they give one number.
"""


class Skipping:
    """Answers whether something need not run each time that a loop or a function around it does."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.bindings = Bindings()
        self._later_turns = LaterTurns(facts)
        self._failures = Failures(facts, self.bindings)

    def is_skipped(
        self,
        at: Value,
        within: Loop | Function,
        *,
        by_data: bool = True,
        by_number: bool = True,
        by_absence: bool = True,
        by_item: bool = True,
    ) -> bool:
        """Whether ``at`` need not run each time that ``within`` does, or ends it.

        Args:
            at: what runs.
            within: what repeats it.
            by_data: whether a branch that the data decide counts; it is taken again and again, though not each time.
            by_number: whether a branch for every n-th turn counts, which is taken again and again as well.
            by_absence: whether a branch counts that is for those items of a loop which have no result yet.
            by_item: whether a branch counts that is for some of the items of a loop, whatever was done in its turns.
        """
        if at.function.is_foreign:
            return at in self.facts.graph.foreign.skipped
        node, parents = at.syntax or at.statement, self.facts.parents
        boundary = whole_loop(parents, within.syntax)
        while node is not None and node is not boundary:
            parent = parents.get(node)
            if type(parent) is cst.ExceptHandler:
                return True
            if type(parent) is cst.MatchCase and self._is_chosen(parent, at, within):
                return True
            if (type(parent) is cst.If or type(parent) is cst.IfExp) and node is not parent.test:
                holds = node is parent.body
                if isinstance(within, Loop) and self._later_turns.are_meant(parent.test, within, holds=holds):
                    node = parent
                    continue
                if not by_absence and holds and _asks_for_absence(parent.test, within):
                    node = parent
                    continue
                if not by_item and isinstance(within, Loop) and chooses_items(parent.test, within, self.facts.graph):
                    node = parent
                    continue
                by_turn = not by_number and node is parent.body
                tests = beside_number(self._spelled(parent.test, at), within) if by_turn else [parent.test]
                if any(self._differs(test, parent, at, within, by_data=by_data) for test in tests):
                    return True
            if type(parent) is cst.While and parent is not boundary:
                if self._is_memory(parent.test, parent.body):
                    return True  # `while len(self.layers) < depth:`
            if type(parent) is cst.BooleanOperation and node is parent.right:
                return True
            if isinstance(parent, cst.IndentedBlock | cst.Module) and parent is not boundary:
                if self._is_left(parent, node, within, by_number=by_number, by_absence=by_absence):
                    return True
            node = parent
        return False

    def is_steady(self, test: cst.BaseExpression, loop: Loop) -> bool:
        """Whether a condition is the same in all turns of a loop, and of those around it: ``rank == 0``."""
        asked = list(walk(test))
        if any(isinstance(node, cst.Call | cst.NamedExpr | cst.Subscript) for node in asked):
            return False
        is_changed = any(isinstance(node, cst.Attribute) and node.attr.value in self._changing for node in asked)
        assigned = (self.bindings.assigned(around.syntax) for around in loop.around())
        return not is_changed and all(map(paths_read(test).isdisjoint, assigned))

    def _spelled(self, test: cst.BaseExpression, at: Value) -> cst.BaseExpression:
        """``due = step % 50 == 0``, then ``if due:``: what is asked, where a variable has it that is bound once."""
        meant = self.bindings.bound_once(at.function.syntax).get(test.value) if isinstance(test, cst.Name) else None
        return meant if meant is not None and counts_turns(meant) else test

    def _is_chosen(self, case: cst.MatchCase, at: Value, within: Loop | Function) -> bool:
        """Whether another case may be taken from time to time: not of a setting, ``match self.mode:``."""
        match = self.facts.parents[case]
        if case.guard is not None or not isinstance(case.pattern, cst.MatchValue) or not isinstance(match, cst.Match):
            return True
        return self._differs(match.subject, case, at, within, by_data=True)

    def _differs(
        self, test: cst.BaseExpression, branch: cst.CSTNode, at: Value, within: Loop | Function, *, by_data: bool
    ) -> bool:
        """Whether ``test`` can come out otherwise from time to time: a first time, an n-th step, a late phase."""
        if counts_turns(test):
            return True
        bound = assigned_in(at.statement) if isinstance(at.statement, cst.SimpleStatementLine) else set()
        if self._is_memory(test, branch, bound) or self._sets_outliving(branch, test, at.function):
            return True
        asked = paths_read(test)
        if not self._assigned_in(within).isdisjoint(asked):
            return True
        # `net = nets.get(name)`, `if net is None:`, be it that `nets[name] = net` stands after the branch.
        if not asked.isdisjoint(self.bindings.looked_up(at.function.syntax)):
            return True
        parameters = {p.name for p in within.parameters} if isinstance(within, Function) else set()
        on_data = self._installed.union(() if by_data else asked_of_data(self.facts, test, within))
        for node in walk(test):
            if isinstance(node, cst.Attribute) and node.attr.value in self._changing:
                return True
            if isinstance(node, cst.Call) and node not in on_data and not self._is_steady(node, branch):
                return True
            if isinstance(node, cst.Comparison) and _compares_number(node, parameters):
                return True
        return False

    def _is_steady(self, call: cst.Call, branch: cst.CSTNode) -> bool:
        """Whether a call in a test gives the same each time, as far as its name says, or what each time brings."""
        told = (*STEADY, *self._enumerations)
        return _is_of_shape(call) or self._asks_given(call, branch) or (dotted(call.func) or "").endswith(told)

    def _asks_given(self, call: cst.Call, branch: cst.CSTNode) -> bool:
        """``body.get("explain")``: what is written as ``body["explain"]`` where that has to be there; no memo."""
        if _method(call) != "get" or not call.args or not isinstance(call.args[0].value, cst.SimpleString):
            return False
        asked = path_of(call.func.value) if isinstance(call.func, cst.Attribute) else None
        kept = self.bindings.filled(branch) | self.bindings.assigned(branch)
        return asked is not None and not any(path == asked or path.startswith(f"{asked}[") for path in kept)

    def _is_memory(self, test: cst.BaseExpression, body: cst.CSTNode, bound: Set[str] = frozenset()) -> bool:
        return is_memory(test, body, self.bindings, bound, self._installed)

    @cached_property
    def _installed(self) -> frozenset[cst.CSTNode]:
        return asked_of_libraries(self.facts.solution)

    def _sets_outliving(self, branch: cst.CSTNode, test: cst.BaseExpression, function: Function) -> bool:
        """Whether ``branch`` sets what ``test`` asks for, and the function says that this is ``global``: a memo."""
        declared = self.bindings.declared(function.syntax) if function.parent is not None else ()
        asked = paths_read(test).intersection(declared)
        return bool(asked) and not asked.isdisjoint(self.bindings.assigned(branch))

    def _is_left(
        self,
        block: cst.IndentedBlock | cst.Module,
        node: cst.CSTNode,
        within: Loop | Function,
        *,
        by_number: bool,
        by_absence: bool,
    ) -> bool:
        """Whether the block around ``node`` leaves the loop after it, or left before it when it was built already.

        Before it it is left as well where nothing failed, which is what the names that handlers set say.
        """
        if isinstance(within, Loop) and isinstance(last_of(block), cst.Break | cst.Return | cst.Raise):
            return True
        failures = self._failures.names_in(within)
        for statement in block.body:
            if statement is node:
                return False
            if leaves_if_done(statement):
                return True
            for leaving in leaving_in(statement):
                if by_number and counts_turns(leaving.test):
                    return True
                if not by_absence and _goes_on(leaving) and _is_looked_up(leaving.test, cst.In, within):
                    continue  # `if genome in scores: continue`
                is_reused = not self._is_settled_before(leaving, within) and not self._turns_away(leaving, within)
                if is_reused and self._is_memory(leaving.test, within.syntax):
                    return True
                if failures and not failures.isdisjoint(paths_read(leaving.test)):
                    return True
        return False

    def _is_settled_before(self, leaving: cst.If, within: Loop | Function) -> bool:
        """``if name in done: continue`` where no turn adds to ``done``: those turns are left out, others reuse nothing.

        Whatever else is done with it in the loop, or in functions that it may run, may add to it.
        """
        if not isinstance(within, Loop) or not isinstance(last_of(leaving.body), cst.Continue):
            return False
        test = leaving.test
        if not isinstance(test, cst.Comparison) or [type(c.operator) for c in test.comparisons] != [cst.In]:
            return False
        asked = test.comparisons[0].comparator
        if not isinstance(asked, cst.Name) or asked.value in {p.name for p in within.function.parameters}:
            return False
        around = within.function.syntax
        run = (n for n in walk(around) if isinstance(n, cst.FunctionDef | cst.Lambda) and n is not around)
        return not any(
            isinstance(node, cst.Name) and node.value == asked.value and node is not asked
            for part in (within.syntax, *run)
            for node in walk(part)
        )

    def _turns_away(self, leaving: cst.If, within: Loop | Function) -> bool:
        """Whether a condition ends it for what is not there: what is built for the others is no memory.

        ``if name not in known: return``, with ``known`` only read there, ``if image is None: return`` for a variable of
        the function, or one of these.
        """
        return all(
            self._asks_for_unknown(part, within) or self._asks_for_nothing(part, within)
            for part in _alternatives(leaving.test)
        )

    def _asks_for_unknown(self, test: cst.BaseExpression, within: Loop | Function) -> bool:
        if not isinstance(test, cst.Comparison) or [type(c.operator) for c in test.comparisons] != [cst.NotIn]:
            return False
        asked = test.comparisons[0].comparator
        path = path_of(asked)
        if path is None or path in self.bindings.assigned(within.syntax):
            return False
        return all(self._is_read(node) for node in walk(within.syntax) if node is not asked and path_of(node) == path)

    def _asks_for_nothing(self, test: cst.BaseExpression, within: Loop | Function) -> bool:
        name = _said_to_be_none(test)
        if not isinstance(within, Function) or name is None:
            return False
        return name in self.bindings.assigned(within.syntax) and name not in self.bindings.declared(within.syntax)

    def _is_read(self, node: cst.CSTNode) -> bool:
        """Whether an item is taken of a container, or it is asked for one, and nothing else is done with it."""
        parent = self.facts.parents.get(node)
        if isinstance(parent, cst.Attribute):
            return parent.attr.value in READING
        if isinstance(parent, cst.Subscript):
            around = self.facts.parents.get(parent)
            return not isinstance(around, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.Del)
        return isinstance(parent, cst.ComparisonTarget)

    def _assigned_in(self, within: Loop | Function) -> Set[str]:
        """What each turn of a loop sets; of a function what says that something failed."""
        if isinstance(within, Function):
            return self._failures.names_in(within)
        return self.bindings.assigned(within.syntax)

    @cached_property
    def _changing(self) -> frozenset[str]:
        """Attributes that are assigned after an object was made, and not only in the body of a class: a default."""
        later = [
            store
            for store in self.facts.graph.stores
            if not self._initializes(store.function) and not self._is_field(store)
        ]
        named = {store.attribute for store in later if store.attribute}
        places = (store.place for store in later if store.place is not None)
        return frozenset(named | {p.path.rpartition(".")[2] for p in places if not isinstance(p.owner, Function)})

    def _initializes(self, function: Function) -> bool:
        """Whether a function runs while an object is made, and then no more: ``__init__`` alone calls it."""
        if function.name in INITIALIZERS:
            return True
        callers = self.facts.solution.callers.get(function, ()) if function.owner is not None else ()
        return bool(callers) and all(call.function.name in INITIALIZERS for call in callers)

    @cached_property
    def _enumerations(self) -> tuple[str, ...]:
        """The enumerations of the file: called, they say what an argument stands for."""
        classes = self.facts.graph.classes
        return tuple(cls.name for cls in classes if any(base.startswith("enum.") for base in cls.bases))

    def _is_field(self, store: Store) -> bool:
        block = self.facts.parents.get(store.statement)
        return isinstance(block, cst.IndentedBlock) and isinstance(self.facts.parents.get(block), cst.ClassDef)


def leaving_in(statement: cst.CSTNode) -> list[cst.If]:
    """The conditions, one within the other, under which a statement leaves the code around it at its end."""
    conditions: list[cst.If] = []
    last: cst.CSTNode | None = statement
    while type(last) is cst.If:
        conditions.append(last)
        inner = last.body.body[-1] if isinstance(last.body, cst.IndentedBlock) and last.body.body else None
        last = inner if type(inner) is cst.If else last_of(last.body)
    return conditions if isinstance(last, cst.Return | cst.Continue | cst.Break) else []


def _alternatives(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """``[a, b, c]`` of ``a or b or c``."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or):
        return [*_alternatives(test.left), *_alternatives(test.right)]
    return [test]


def _goes_on(leaving: cst.If) -> bool:
    return isinstance(last_of(leaving.body), cst.Continue)


def _asks_for_absence(test: cst.BaseExpression, within: Loop | Function) -> bool:
    """``for genome, score in pool.items(): if score is None:``: whether an item of a loop has nothing yet.

    Or what a turn has drawn: ``if genome not in scores:``.
    """
    loop = within.syntax
    if _is_looked_up(test, cst.NotIn, within):
        return True
    name = _said_to_be_none(test)
    if not isinstance(loop, cst.For) or name is None:
        return False
    is_item = any(isinstance(node, cst.Name) and node.value == name for node in walk(loop.target))
    return is_item and name not in assigned_in(loop.body)


def _said_to_be_none(test: cst.BaseExpression) -> str | None:
    """``score`` of ``score is None``; None for any other condition."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(test.left, cst.Name):
        return None
    compared = test.comparisons[0]
    is_none = isinstance(compared.operator, cst.Is) and dotted(compared.comparator) == "None"
    return test.left.value if is_none else None


def _is_looked_up(test: cst.BaseExpression, operator: type[cst.In] | type[cst.NotIn], within: Loop | Function) -> bool:
    """``genome not in scores``: whether what a turn of a loop draws, or goes over, is asked for in a container."""
    loop = within.syntax
    if not isinstance(loop, cst.For | cst.While) or not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    if not isinstance(test.left, cst.Name) or not isinstance(test.comparisons[0].operator, operator):
        return False
    over = {node.value for node in walk(loop.target) if isinstance(node, cst.Name)} if isinstance(loop, cst.For) else ()
    return test.left.value in over or test.left.value in assigned_in(loop.body)


def _is_of_shape(call: cst.Call) -> bool:
    """``x.size(-1)``, ``x.dim()``; how many rows a batch has, ``x.size(0)``, does change."""
    rows = [one.value for one in call.args if isinstance(one.value, cst.Integer) and one.value.value == "0"]
    return SIZES.get(_method(call)) == len(call.args) and not rows


def _method(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _compares_number(comparison: cst.Comparison, parameters: set[str]) -> bool:
    nodes = list(walk(comparison))
    # Of `x.size(-1)` the number is that of a dimension.
    shapes = [node for node in nodes if isinstance(node, cst.Call) and _is_of_shape(node)]
    inside = {part for shape in shapes for part in walk(shape)}
    nodes = [node for node in nodes if node not in inside]
    if not any(isinstance(node, cst.Integer | cst.Float) for node in nodes):
        return False
    return any(isinstance(node, cst.Name) and node.value in parameters - {"self"} for node in nodes)
