"""Statements: control flow becomes PHI values; definitions are made in a module of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import libcst as cst

from torchlint.facts.building.annotations import tell
from torchlint.facts.building.beginnings import unset_where
from torchlint.facts.building.data_classes import is_field_call
from torchlint.facts.building.definitions import DefinitionBuilder, entered_mode
from torchlint.facts.building.entering import enter, leave
from torchlint.facts.building.guards import STACKS, mode_of_guard
from torchlint.facts.building.names import assigned_in, bound_targets, import_names, path_of, target_names
from torchlint.facts.building.narrowing import excluded_by, flags_of, says_at_rest, says_training
from torchlint.facts.building.patterns import bind_pattern
from torchlint.facts.building.state import State, merge
from torchlint.facts.building.switching import switch_of
from torchlint.facts.values.graph import Drop, Function, Loop, Mode, Op, Place, Reset, Value
from torchlint.syntax.tree import dotted


class StatementBuilder(DefinitionBuilder):
    """Runs statements abstractly, once each, in source order."""

    breaks: list[State]
    continues: list[State]

    def run(self, body: cst.BaseSuite) -> None:
        """The statements of a block."""
        is_suite = isinstance(body, cst.SimpleStatementSuite)
        for statement in body.body:
            if self.state is None:
                return
            if is_suite:
                self._small(statement)
            elif type(statement) is cst.SimpleStatementLine:
                self.statement = statement
                for small in statement.body:
                    if self.state is not None:
                        self._small(small)
            else:
                self.statement = statement
                handler = self._COMPOUND.get(type(statement))
                if handler is not None:
                    handler(self, statement)

    def _small(self, node: cst.CSTNode) -> None:
        handler = self._SMALL.get(type(node))
        if handler is not None:
            handler(self, node)

    # -- simple statements ----------------------------------------------------------------------------------------

    def _expression(self, node: cst.Expr) -> None:
        self.visit(node.value)

    def _assign(self, node: cst.Assign) -> None:
        value = _guarded(self.visit(node.value), node)
        is_none = value.op is Op.CONSTANT and value.name == "None"
        for target in node.targets:
            held = self._held_by(target.target) if is_none else None
            self.keep_added(target.target, node.value, value, self.state.variables.get(path_of(target.target) or ""))
            self.assign(target.target, value, node.value)
            if is_none:
                self._drop(target.target, held, is_deleted=False)

    def _held_by(self, target: cst.CSTNode) -> Value | None:
        """What a variable holds before it is set to None."""
        if not isinstance(target, cst.Name):
            return None
        known = self.state.variables.get(target.value)
        return self.read(target.value, target) if known is None and target.value in self.names.declared else known

    def _drop(self, target: cst.CSTNode, held: Value | None, *, is_deleted: bool) -> None:
        """Note that ``target`` no longer holds what it held."""
        path, holder, attribute = dotted(target), None, ""
        if isinstance(target, cst.Attribute):
            holder, attribute = self.visit(target.value), target.attr.value
        if path is not None and (held is not None or holder is not None):
            bound, index = dict(self.state.variables), len(self.graph.values)
            self.graph.drops.append(
                Drop(path, held, self.function, self.loop, self.statement, index, holder, attribute, bound, is_deleted)
            )

    def _annotated(self, node: cst.AnnAssign) -> None:
        is_told = self.cls is not None and is_field_call(node.value, self.full_name)
        if node.value is not None and not is_told:
            value = self.visit(node.value)
            tell(self, value, node.annotation)
            self.assign(node.target, value, node.value)
        elif self.cls is not None and isinstance(node.target, cst.Name):
            tell(self, Place(self.cls.root(), node.target.value), node.annotation)

    def _augmented(self, node: cst.AugAssign) -> None:
        old, added = self.visit(node.target), self.visit(node.value)
        new = self.make(Op.OPERATION, (old, added), node, name=type(node.operator).__name__)
        if added.op is Op.CONTAINER or (isinstance(node.operator, cst.AddAssign) and _begins_as_list(old)):
            self.spread(added, node.value, old, node.target)
        self.update(node.target, new, added, node.value)

    def _return(self, node: cst.Return) -> None:
        if node.value is not None:
            self.hand_out(self.returned(node.value))
        self.state = None  # type: ignore[assignment]

    def _raise(self, node: cst.Raise) -> None:
        if node.exc is not None:
            self.visit(node.exc)
        self.state = None  # type: ignore[assignment]

    def _break(self, _: cst.Break) -> None:
        self.breaks.append(self.state)
        self.state = None  # type: ignore[assignment]

    def _continue(self, _: cst.Continue) -> None:
        self.continues.append(self.state)
        self.state = None  # type: ignore[assignment]

    def _assert(self, node: cst.Assert) -> None:
        self.narrow(self.visit(node.test), holds=True)

    def _delete(self, node: cst.Del) -> None:
        targets = [e.value for e in node.target.elements] if isinstance(node.target, cst.Tuple) else [node.target]
        for written in targets:
            target = self.own_attribute(written) or written
            if isinstance(target, cst.Subscript):
                is_item = all(isinstance(element.slice, cst.Index) for element in target.slice)
                is_part = not any(isinstance(e.slice, cst.Slice) and _takes_all(e.slice) for e in target.slice)
                self.graph.resets.append(Reset(self.visit(target.value), self.function, self.loop, is_item, is_part))
            elif isinstance(target, cst.Attribute):
                self.graph.resets.append(Reset(self.visit(target), self.function, self.loop))
                if (path := path_of(target)) is not None:
                    self.state.forget(path)
                self._drop(target, None, is_deleted=True)
            elif isinstance(target, cst.Name):
                held = self.read(target.value, target)
                self.state.forget(target.value)
                self._drop(target, held, is_deleted=True)

    def _import(self, node: cst.Import | cst.ImportFrom) -> None:
        for local, full in import_names(node):
            self.assign(cst.Name(local), self.imported(full, node), None)

    # -- compound statements --------------------------------------------------------------------------------------

    def _if(self, node: cst.If) -> None:
        if _is_never(node.test):
            self._otherwise(node.orelse)
            return
        test = self.visit(node.test)
        before, unset = self.state.copy(), self.unset
        self._suppose(test, holds=True)
        self.unset = unset | unset_where(node.test, holds=True) | self.first_times.begun_under(node, holds=True)
        self.run(node.body)
        after_body, self.state = self.state, before
        self._suppose(test, holds=False)
        if node.orelse is None:
            self.unset = unset
        else:
            self.unset = unset | unset_where(node.test, holds=False) | self.first_times.begun_under(node, holds=False)
            self._otherwise(node.orelse)
        self.unset = unset
        self._leave_nothing(node.test, after_body)
        self.state = merge([after_body, self.state], self.phi)  # type: ignore[assignment]

    def _suppose(self, test: Value, *, holds: bool) -> None:
        """Take into the present state what a condition says where it ``holds``, or where it does not."""
        self.narrow(test, holds=holds)
        self.switch_by(test, holds=holds)
        self.state.rests |= says_at_rest(test, holds=holds)
        self.state.trains |= says_training(test, holds=holds)
        self.state.flags |= flags_of(test, holds=holds)
        self.state.excluded |= excluded_by(test, holds=holds)

    def _otherwise(self, node: cst.If | cst.Else | None) -> None:
        if isinstance(node, cst.If):
            self.statement = node
            self._if(node)
        elif node is not None:
            self.run(node.body)

    def _leave_nothing(self, test: cst.BaseExpression, after_body: State | None) -> None:
        """After ``if x is not None: x = x.detach()`` the ``x`` of the other way, which has not run, is None."""
        if self.state is None or after_body is None or not isinstance(test, cst.Comparison):
            return
        for name in unset_where(test, holds=False):
            left, bound = self.state.variables.get(name), after_body.variables.get(name)
            if left is not None and left.op in (Op.PHI, Op.PARAMETER) and bound is not None and bound is not left:
                nothing = test.comparisons[0].comparator
                self.state.variables[name] = self.make(Op.CONSTANT, (), nothing, name="None")

    def _for(self, node: cst.For) -> None:
        iterable = self.visit(node.iter)
        self._loop(node, iterable, lambda: self.assign(node.target, self.element(iterable, None), None))

    def _while(self, node: cst.While) -> None:
        self._loop(node, None, lambda: self.visit(node.test))

    def _loop(self, node: cst.For | cst.While, iterable: Value | None, enter: Callable[[], object]) -> None:
        outer_breaks, outer_continues = self.breaks, self.continues
        self.breaks, self.continues = [], []
        loop = self.loop = self.new_loop(node, iterable)
        self._open_phis(loop, assigned_in(node.body) | assigned_in_header(node))
        self.forget_settings(self.resetting.in_calls(node.body, self.itself))
        header = self.state.copy()
        enter()
        self.run(node.body)
        back = merge([self.state, *self.continues], self.phi)
        for phi in loop.phis:
            value = back.variables.get(phi.name) if back is not None else None
            if value is not None and value is not phi:
                phi.feed(value)
        self.loop = loop.parent
        self.statement = node
        self.state = self._after_loop(header, back, self.breaks)
        self.breaks, self.continues = outer_breaks, outer_continues
        if node.orelse is not None:
            self.run(node.orelse.body)

    def _open_phis(self, loop: Loop, assigned: set[str]) -> None:
        for path in sorted(assigned | self.names.rebound):
            before = self.state.variables.get(path)
            self.state.forget(path)
            elsewhere = path in self.names.declared or path in self.names.rebound
            if before is not None and path.isidentifier() and not elsewhere:
                phi = self.make(Op.PHI, (before,), None, name=path)
                loop.phis.append(phi)
                self.state.variables[path] = phi

    def _after_loop(self, header: State, back: State | None, breaks: list[State]) -> State:
        after = header.copy()
        if back is not None:
            for name, value in back.variables.items():
                if name.isidentifier():
                    after.variables.setdefault(name, value)
            if back.mode is not header.mode:
                after.mode = Mode.MAYBE
            after.evaluating |= back.evaluating
        return merge([after, *breaks], self.phi) or after

    def _with(self, node: cst.With) -> None:
        before, guarded, managers = (self.state.mode, self.state.switch), False, list[Value]()
        for item in node.items:
            value = self.visit(item.item)
            guarded |= value.op is Op.CALL and value.callee.name in STACKS  # leaves all guards that are entered on it
            inside = self.mode_inside(value)
            if inside is not None:
                self.state.switch = switch_of(value, self.state.mode, self.tests, self.graph.decided)
                self.state.mode, guarded = inside, True
            managers.append(value)
            entered = enter(self, value)
            if item.asname is not None:
                self.assign(item.asname.name, entered, None)
        self.run(node.body)
        self.statement = node
        for manager in managers:  # however the block ends
            leave(self, manager)
        if guarded and self.state is not None:
            self.state.mode, self.state.switch = before

    def mode_inside(self, manager: Value) -> Mode | None:
        """The grad mode in a block under a context manager; None where that leaves it alone."""
        helping = self._mode_of_helper(manager)
        if helping is None and manager.op is Op.CALL and self.own_guards.leave_alone(manager.callee.name):
            return None
        return helping or mode_of_guard(manager) or self._mode_of_unseen(manager)

    def _mode_of_helper(self, manager: Value) -> Mode | None:
        """The mode inside ``with helper():``, ``with self.helper:`` where the file defines what gives the manager."""
        if manager.op is Op.ATTRIBUTE:
            return self.own_guards.named(manager.name)
        if manager.op is not Op.CALL or manager.callee.op is Op.EXTERNAL:
            return None
        known = entered_mode(manager) or self.own_guards.named(manager.callee.name)
        return known or (self.own_guards.kept(manager.callee.name) if manager.callee.op is Op.ATTRIBUTE else None)

    def _mode_of_unseen(self, manager: Value) -> Mode | None:
        """The mode inside ``with self.guard():``, which may be any of the guards that the file hands around."""
        named = manager.callee if manager.op is Op.CALL else manager
        while named.op is Op.ELEMENT:
            named = named.inputs[0]  # `for guard in guards: stack.enter_context(guard)`
        if named.op in (Op.EXTERNAL, Op.FUNCTION, Op.CLASS, Op.CALL) or self.own_guards.defined(named.name):
            return None
        return Mode.UNKNOWN if self.own_guards.are_handed_around else None

    def _try(self, node: cst.Try | cst.TryStar) -> None:
        before = self.state.copy()
        self.run(node.body)
        ends = []
        handlers_start = merge([before, self.state], self.phi)
        if self.state is not None and node.orelse is not None:
            self.run(node.orelse.body)
        ends.append(self.state)
        for handler in node.handlers:
            self.state = handlers_start.copy()  # type: ignore[union-attr]
            if handler.name is not None:
                self.assign(handler.name.name, self.unknown(handler.name), None)
            self.run(handler.body)
            ends.append(self.state)
        joined = merge(ends, self.phi)
        if node.finalbody is not None:
            self.state = joined.copy() if joined is not None else before.copy()
            self.run(node.finalbody.body)
            joined = None if joined is None else self.state
        self.state = joined  # type: ignore[assignment]

    def _match(self, node: cst.Match) -> None:
        subject = self.visit(node.subject)
        before, ends = self.state, [None if any(map(_takes_anything, node.cases)) else self.state]
        for case in node.cases:
            self.state = before.copy()
            bind_pattern(self, case.pattern, subject)
            if case.guard is not None:
                self.visit(case.guard)
            if isinstance(case.body, cst.SimpleStatementSuite):
                self.statement = case.body  # on the line of its case, and not on that of the match
            self.run(case.body)
            ends.append(self.state)
        self.state = merge(ends, self.phi)  # type: ignore[assignment]

    _SMALL: ClassVar[dict[type[cst.CSTNode], Callable[..., None]]] = {
        cst.Expr: _expression, cst.Assign: _assign, cst.AnnAssign: _annotated, cst.AugAssign: _augmented,
        cst.Return: _return, cst.Raise: _raise, cst.Break: _break, cst.Continue: _continue, cst.Assert: _assert,
        cst.Del: _delete, cst.Import: _import, cst.ImportFrom: _import,
    }  # fmt: skip
    _COMPOUND: ClassVar[dict[type[cst.CSTNode], Callable[..., None]]] = {
        cst.If: _if, cst.For: _for, cst.While: _while, cst.With: _with, cst.Try: _try, cst.TryStar: _try,
        cst.Match: _match, cst.FunctionDef: DefinitionBuilder.function_defined,
        cst.ClassDef: DefinitionBuilder.class_defined,
    }  # fmt: skip


def _is_never(test: cst.BaseExpression) -> bool:
    """``if False:``, ``if 0:``: what stands there is switched off."""
    return (isinstance(test, cst.Name) and test.value == "False") or (
        isinstance(test, cst.Integer) and test.value == "0"
    )


def _takes_anything(case: cst.MatchCase) -> bool:
    """``case _:``, ``case other:``: whether a match goes no further."""
    is_open = isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None
    return is_open and case.guard is None


def assigned_in_header(node: cst.For | cst.While) -> set[str]:
    """What the loop's own first line assigns: the target of a ``for``, walruses of a ``while``."""
    if isinstance(node, cst.For):
        targets = bound_targets(node)
        paths = {path for target in targets if (path := path_of(target)) is not None}
        return assigned_in(node.target) | paths | {name for target in targets for name in target_names(target)}
    return assigned_in(node.test)


def _takes_all(node: cst.Slice) -> bool:
    """``rows[:]``"""
    return node.lower is None and node.upper is None


def _guarded(value: Value, node: cst.Assign) -> Value:
    """The function itself of ``evaluate = torch.no_grad()(evaluate)``, which has that guard; else what is assigned."""
    made = value.callee if value.op is Op.CALL else None
    mode = mode_of_guard(made) if made is not None and made.op is Op.CALL else None
    function = value.arguments[0].reference if mode is not None and value.arguments else None
    if mode is None or not isinstance(function, Function) or path_of(node.targets[0].target) != function.name:
        return value
    function.guard = mode
    return value.arguments[0]


def _begins_as_list(value: Value) -> bool:
    """Whether a variable was made as a list that is written there, be it before the loop that goes on with it."""
    while value.op is Op.PHI and value.inputs and value.inputs[0] is not value:
        value = value.inputs[0]
    return value.op is Op.CONTAINER and isinstance(value.syntax, cst.List | cst.ListComp)
