"""Checkpoints that stay: what was read from a file and copied into a model, and is kept while the model works.

``load_state_dict`` copies. What it copied from is a second set of weights (with the state of an optimizer often three),
and a name that still stands for it keeps it through all of the training.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_key, target_names
from torchlint.facts.keeping.bound_names import bindings, is_at, surely_binds
from torchlint.facts.keeping.loaded_parts import Parts
from torchlint.facts.keeping.loading import Load
from torchlint.facts.keeping.purposes import fills_optimizer
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.frameworks import is_framework_training
from torchlint.facts.values.graph import Class, Function, Kind, Op, Place, Value
from torchlint.facts.values.homes import readers_of, targets_of
from torchlint.syntax.conditions import LEAVING, last_of
from torchlint.syntax.tree import dotted, walk, walk_scope, walk_statements, whole_loop

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class Checkpoint:
    """Weights that are kept after they were copied.

    Attributes:
        load: what read them.
        names: the variables, or the attribute, that keep them.
        statement: where the first of them is bound.
        copied: what copied them.
        through: the loop of steps, or the call that runs one, during which they are kept; None for an attribute.
        drop_after: the statement after which the names can be deleted, None where that cannot be told.
        trains: True where that loop or call trains, which takes memory of its own; True for an attribute.
        is_needed: True where that loop or call reads what else was loaded with them.
    """

    load: Load
    names: tuple[str, ...]
    statement: cst.CSTNode
    copied: Value
    through: cst.CSTNode | None
    drop_after: cst.CSTNode | None
    trains: bool = True
    is_needed: bool = False


def checkpoints(facts: Facts) -> list[Checkpoint]:
    """Everything that was loaded, copied and kept, at most one for each call that loads."""
    search = _Search(facts)
    found: dict[tuple[tuple[str, ...], cst.CSTNode | None], Checkpoint] = {}
    for load in (*facts.loads.found, *facts.loads.given):
        kept = search.of(load)
        if kept is not None:
            known = found.get((kept.names, kept.through))
            if known is None or search.is_bound_anew(known, kept):
                found[kept.names, kept.through] = kept  # else it is one name that either of two branches binds
    return list(found.values())


@dataclass(frozen=True)
class _Work:
    """A place where steps run: a loop, or a call of a function that holds one."""

    node: cst.CSTNode
    at: int
    trains: bool


class _Search:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution = facts.solution

    def of(self, load: Load) -> Checkpoint | None:
        parts = self.facts.loads.parts(load.call)
        if not parts.copies or parts.keeps or all(fills_optimizer(self.facts, copy) for copy in parts.copies):
            return None
        here = sorted((v for v in parts.heavy if not v.function.is_foreign), key=lambda v: v.index)
        functions = dict.fromkeys(value.function for value in here)
        for function in functions:
            found = self._in_function(load, parts, function)
            if found is not None:
                return found
        return self._in_attribute(load, parts)

    def is_bound_anew(self, first: Checkpoint, second: Checkpoint) -> bool:
        """Whether the code goes on from one load to another, which binds the same name."""
        return self._reaches(first.statement, second.statement, second.load.call.function)

    @cached_property
    def _order(self) -> dict[cst.CSTNode, int]:
        """Each node's number in source order."""
        return {node: number for number, node in enumerate(walk(self.facts.module))}

    # -- variables --------------------------------------------------------------------------------------------------

    def _in_function(self, load: Load, parts: Parts, function: Function) -> Checkpoint | None:
        names = self._names(parts, function)
        works = self._works(function)
        kept: dict[str, tuple[cst.CSTNode, _Work]] = {}
        for name, statements in names.items():
            if self._is_captured(name, function) or self._is_needed_by_callers(name, function):
                return None
            ends = self._work_through(name, statements, function, works, parts)
            if ends is not None:
                kept[name] = (statements[0], ends)
            elif self._is_read_in(name, function, works, parts):
                return None  # what is needed later may well need all of it
        if not kept:
            return None
        first = min((s for s, _ in kept.values()), key=self._order.__getitem__)
        work = min((w for _, w in kept.values()), key=lambda w: w.at)
        copied = self._copy_before(parts, function, work)
        if copied is None:
            return None
        after = self._drop_after(kept, function, work) if first is not function.syntax else None
        loaded = self.facts.statement_of(load.call)
        # A parameter, or a dict that is made before it takes what is loaded: the load itself is the place to look at.
        is_earlier = load.call.function is function and self._order[first] < self._order[loaded]
        place = loaded if is_earlier or first is function.syntax else first
        is_needed = any(isinstance(node, cst.Name) and node.value in kept for node in walk(work.node))
        return Checkpoint(load, tuple(kept), place, copied, work.node, after, work.trains, is_needed)

    def _names(self, parts: Parts, function: Function) -> dict[str, list[cst.CSTNode]]:
        """The local variables that stand for weights, with the statements that bind them."""
        heavy: dict[cst.CSTNode, list[Value]] = defaultdict(list)
        for value in parts.heavy:
            if value.function is function and value.syntax is not None:
                heavy[value.syntax].append(value)
        names: dict[str, list[cst.CSTNode]] = {
            parameter.name: [function.syntax] for parameter in function.parameters if parameter in parts.heavy
        }
        for node in walk_scope(_body(function)):
            for name, expression, position in bindings(node):
                is_alias = isinstance(expression, cst.Name) and expression.value in names and position is None
                if is_alias or any(is_at(value, position) for value in heavy.get(expression, ())):
                    names.setdefault(name, []).append(self._statement(node))
        return names

    def _statement(self, node: cst.CSTNode) -> cst.CSTNode:
        while not isinstance(node, cst.BaseStatement | cst.Module):
            node = self.facts.parents[node]
        return node

    def _works(self, function: Function) -> list[_Work]:
        """The loops of steps and the calls that run some, in source order."""
        repetitions = self.facts.repetitions
        works = [
            _Work(node, self._order[node], repetitions.trains(loop))
            for loop in self.facts.graph.loops
            if loop.function is function and repetitions.turn(loop) is not Turn.OTHER
            for node in [whole_loop(self.facts.parents, loop.syntax)]
        ]
        for call in self.facts.steps.calls_in(function):
            is_training = is_framework_training(call)
            if call.syntax is not None and (is_training or self._holds(call)):
                works.append(_Work(call.syntax, self._order[call.syntax], is_training or self._trains(call)))
        return sorted(works, key=lambda work: work.at)

    def _trains(self, call: Value) -> bool:
        return any(map(self.facts.steps.trains, self.solution.functions_of(call)))

    def _holds(self, call: Value) -> bool:
        return any(map(self.facts.repetitions.holds, self.solution.functions_of(call)))

    def _is_captured(self, name: str, function: Function) -> bool:
        """Whether another function, or another file, reads the variable, at a time that is not known."""
        if function.parent is None and self.facts.others_mention(name):
            return True
        return any(
            value.op is Op.READ and value.place == Place(function, name) and value.function is not function
            for value in self.facts.graph.values
        )

    def _is_needed_by_callers(self, name: str, function: Function) -> bool:
        """Whether who calls a function reads what it gives for a parameter again: later, or in the next turn."""
        bindings = self.solution.callers.get(function, {}).items()
        given = ((call, one) for call, binding in bindings for to, one in binding.items() if to.name == name)
        return any(
            one is not None
            and one.function is call.function
            and (one.loop is not call.loop or any(user.index > call.index for user in one.users))
            for call, one in given
        )

    def _work_through(
        self, name: str, statements: list[cst.CSTNode], function: Function, works: list[_Work], parts: Parts
    ) -> _Work | None:
        """The first work during which the variable keeps what nobody reads any more."""
        last_read = max(self._reads(name, function, parts), default=-1)
        bound = [self._order[statement] for statement in statements]
        drops = [drop for drop in self._drops(name, function) if self._order[drop] not in bound]
        for work in works:
            reaching = [s for s in statements if self._order[s] < work.at and self._reaches(s, work.node, function)]
            if reaching and last_read < work.at:
                since = reaching[-1]
                after = [drop for drop in drops if self._order[since] < self._order[drop] < work.at]
                ends = (since, work.node)
                if not any(
                    self._reaches(since, drop, function) and self._is_passed(drop, ends, function) for drop in after
                ):
                    return work
        return None

    def _is_passed(self, drop: cst.CSTNode, ends: Sequence[cst.CSTNode], function: Function) -> bool:
        """Whether ``drop`` stands in no branch, or in that of one of the ``ends`` between which it lies.

        Or in one of the same condition: ``if resume:`` loads it, and a later ``if resume:`` drops it.
        """
        branch, outer = self._branch_of(drop), self._branch_of(ends[0])
        if branch is None or any(self._contains(branch, end) for end in ends):
            return True
        if outer is None or not isinstance(branch.test, cst.Name) or not branch.test.deep_equals(outer.test):
            return False
        is_same = self._contains(branch.body, drop) and self._contains(outer.body, ends[0])
        return is_same and len(list(self._drops(branch.test.value, function))) <= 1

    def _branch_of(self, node: cst.CSTNode) -> cst.If | None:
        """The innermost branch of the function in which a node stands."""
        node = self.facts.parents[node]
        while node in self.facts.parents and not isinstance(node, cst.If | cst.FunctionDef):
            node = self.facts.parents[node]
        return node if isinstance(node, cst.If) else None

    def _contains(self, outer: cst.CSTNode, node: cst.CSTNode) -> bool:
        while node is not outer and node in self.facts.parents:
            node = self.facts.parents[node]
        return node is outer

    def _reads(self, name: str, function: Function, parts: Parts | None = None) -> Iterator[int]:
        """Where the variable is read; with ``parts`` only where more of it is than an epoch's number."""
        parents = self.facts.parents
        for node in walk(_body(function)):
            if type(node) is cst.Name and node.value == name:
                parent = parents.get(node)
                if isinstance(parent, cst.Attribute) and parent.attr is node:
                    continue
                if isinstance(parent, cst.Arg) and parent.keyword is node:
                    continue
                if parts is not None and self._is_light(parent, parts):
                    continue
                if not isinstance(parent, cst.AssignTarget | cst.Del | cst.Param):
                    yield self._order[node]

    def _is_light(self, item: cst.CSTNode | None, parts: Parts) -> bool:
        """Whether an item is taken under a constant key, of which nothing is copied."""
        if not isinstance(item, cst.Subscript) or constant_key(item) is None:
            return False
        values = self._values.get(item, [])
        harmless = self.facts.loads.is_harmless
        return not any(v in parts.heavy or not all(harmless(user, parts) for user in v.users) for v in values)

    @cached_property
    def _values(self) -> dict[cst.CSTNode, list[Value]]:
        table: dict[cst.CSTNode, list[Value]] = defaultdict(list)
        for value in self.facts.graph.values:
            if value.syntax is not None:
                table[value.syntax].append(value)
        return table

    def _is_read_in(self, name: str, function: Function, works: list[_Work], parts: Parts) -> bool:
        return bool(works) and max(self._reads(name, function, parts), default=-1) > works[0].at

    def _drops(self, name: str, function: Function) -> Iterator[cst.CSTNode]:
        """The statements that delete the variable or bind it to something else."""
        for node in walk_scope(_body(function)):
            if (type(node) is cst.Del or type(node) is cst.AssignTarget) and name in target_names(node.target):
                yield self._statement(node)

    def _reaches(self, statement: cst.CSTNode, work: cst.CSTNode, function: Function) -> bool:
        """Whether the code goes on from ``statement`` to ``work``: no return between them, no other branch."""
        parents, around = self.facts.parents, {work}
        node = work
        while node is not function.syntax and node in parents:
            node = parents[node]
            around.add(node)
        node = statement
        while node not in around:
            parent = parents[node]
            if parent not in around and isinstance(parent, cst.IndentedBlock) and _leaves(parent):
                return False
            if isinstance(parent, cst.If) and parent in around and node is not parent.test:
                return False  # the work stands in the other branch
            if isinstance(parent, cst.Try) and parent in around and node is parent.body:
                if any(handler in around for handler in parent.handlers):
                    return False  # it stands where something went wrong
            node = parent
        return node is not work

    def _copy_before(self, parts: Parts, function: Function, work: _Work) -> Value | None:
        """The first copy in the function or in what it calls before the work."""
        here = [call for call in parts.copies if call.function is function and call.syntax is not None]
        before = [call for call in here if call.syntax is not None and self._order[call.syntax] < work.at]
        elsewhere = [call for call in parts.copies if call.function is not function]
        return min(before or elsewhere, key=lambda call: call.index, default=None)

    def _drop_after(
        self, kept: dict[str, tuple[cst.CSTNode, _Work]], function: Function, work: _Work
    ) -> cst.CSTNode | None:
        """The statement after which all the names can go, in the block that binds them."""
        parents = self.facts.parents
        block = parents[next(iter(kept.values()))[0]]
        if any(parents[s] is not block or not surely_binds(s, name) for name, (s, _) in kept.items()):
            return None
        deleted = (node.target for node in walk_scope(_body(function)) if isinstance(node, cst.Del))
        if any(name in kept for target in deleted for name in target_names(target)):
            return None  # deleted behind that line, it could not be deleted a second time
        last = max(at for name in kept for at in self._reads(name, function))
        if last > work.at:
            return None
        while isinstance(block, cst.IndentedBlock | cst.Module):
            ends = [child for child in block.body if self._order[child] <= last]
            spans = bool(ends) and any(self._order[node] == last for node in walk(ends[-1]))
            if spans:
                return ends[-1] if work.node not in set(walk(ends[-1])) else None
            owner = parents.get(block)
            if not isinstance(owner, cst.With):
                return None
            block = parents[owner]
        return None

    # -- attributes -------------------------------------------------------------------------------------------------

    def _in_attribute(self, load: Load, parts: Parts) -> Checkpoint | None:
        """``self.checkpoint = torch.load(path)``, copied by the methods that make the object ready."""
        copied = min(parts.copies, key=lambda call: call.index)
        for store in self.facts.graph.stores:
            if store.kind is not Kind.ASSIGN or store.value not in parts.heavy or store.function.parent is None:
                continue
            for place in targets_of(self.solution, store):
                owner = place.owner if isinstance(place, Place) else None
                if not isinstance(place, Place) or not (isinstance(owner, Class) or owner is self.facts.graph.module):
                    continue
                name = dotted(store.target)
                if name is None or self._is_dropped(place) or not self._is_only_copied(place, parts, store.function):
                    continue
                functions = owner.methods.values() if isinstance(owner, Class) else self.facts.graph.functions
                if any(self._works_in(function) for function in functions):
                    return Checkpoint(load, (name,), store.statement, copied, None, None)
        return None

    def _works_in(self, function: Function) -> bool:
        if self.facts.repetitions.stands_for_a_turn(function) or self.facts.repetitions.holds(function):
            return True
        return self.facts.steps.trains(function)

    def _is_dropped(self, place: Place) -> bool:
        """Whether something deletes the attribute, or sets it to another value."""
        attribute = place.path.rpartition(".")[2]
        for node in walk_statements(self.facts.module):
            if isinstance(node, cst.Del):
                if any((dotted(n) or "").rpartition(".")[2] == attribute for n in walk(node.target)):
                    return True
        # A global is set to None before, where it is declared, and an attribute where its object begins.
        stored = self.solution.stored.get(place, ())
        return sum(one.name != "None" or _gives_up(one, place) for one in stored) > 1

    def _is_only_copied(self, place: Place, parts: Parts, binding: Function) -> bool:
        """Whether only the methods that copy it, or take a number out of it before the work, read the attribute."""
        copying = {call.function for call in parts.copies} | {binding}
        return all(
            value.function in copying and not self._works_in(value.function)
            for value in readers_of(self.solution, [place])
        )


def _gives_up(nothing: Value, place: Place) -> bool:
    """Whether an attribute is set to None where something may have been kept in it."""
    return isinstance(place.owner, Class) and nothing.function.name != "__init__"


def _body(function: Function) -> cst.CSTNode:
    node = function.syntax
    return node.body if isinstance(node, cst.FunctionDef | cst.Lambda) else node


def _leaves(block: cst.IndentedBlock) -> bool:
    """Whether a block ends by leaving the function or the turn."""
    last = last_of(block)
    if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call):
        return dotted(last.value.func) in ("exit", "quit", "sys.exit")
    return isinstance(last, LEAVING)
