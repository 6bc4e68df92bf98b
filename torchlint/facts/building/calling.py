"""Calls: what is called with what, and what a method or a function does to what it is given."""

from __future__ import annotations

from abc import abstractmethod

import libcst as cst

from torchlint.facts.building.backwards import run_backward, run_gradients
from torchlint.facts.building.filling import is_taken_from_queue
from torchlint.facts.building.guards import is_setter, mode_of_argument
from torchlint.facts.building.iteration import COUNTING
from torchlint.facts.building.names import changes_receiver, constant_of, path_of
from torchlint.facts.building.own_items import begin_as_told
from torchlint.facts.building.running import run_by
from torchlint.facts.building.spreading import SpreadBuilder
from torchlint.facts.building.switching import switch_of
from torchlint.facts.values.graph import Key, Kind, Mode, Op, Reset, Value
from torchlint.facts.values.making import ADDING
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.frameworks import Holds, method_names
from torchlint.syntax.filling_names import INSERTING
from torchlint.syntax.tree import arguments_in_order

EMPTYING = frozenset(["clear", "pop", "popleft", "popitem", "get_nowait"])
"""Methods that take something out of their receiver."""

GRADIENT_FUNCTIONS = {
    "torch.autograd.grad": 0,
    "torch.autograd.backward": 0,
    "torch.Tensor.backward": 0,
    "torch.distributed.autograd.backward": 1,
}
"""Functions that run a backward, and the position of what they start from."""


class CallBuilder(SpreadBuilder):
    """Makes the values of calls, and keeps what they do."""

    def called(self, node: cst.Call) -> Value:
        """The value of a call, and all that it does: what it writes, switches, empties and differentiates."""
        own = self.of_dictionary(node) or self.set_by_method(node)
        if own is not None:
            return own
        callee = self.visit(node.func)
        inputs: list[Value] = [callee]
        keys: list[Key] = [None]
        further: list[tuple[Key, Value]] = []
        for argument, (key, expression) in zip(node.args, arguments_in_order(node.args), strict=True):
            given: list[tuple[Key, Value]] = [(key, self.visit(expression))]
            if argument.star == "**" and callee.name not in INSERTING:
                given = self.spread_arguments(expression, given[0][1]) or given
            elif argument.star == "*" and callee.op is not Op.EXTERNAL:
                self.make_items(given[0][1])
            # The first stands where the star is written, the others behind: what is written keeps its position.
            keys.append(given[0][0])
            inputs.append(given[0][1])
            further += given[1:]
        inputs += [value for _, value in further]
        keys += [key for key, _ in further]
        inputs, keys = self._meant(inputs, keys)
        callee = inputs[0]
        if callee.op is Op.EXTERNAL and (done := self.operator(node, callee.name, inputs[1:])) is not None:
            return done
        if callee.op is Op.ATTRIBUTE and callee.name == "_replace" and isinstance(node.func, cst.Attribute):
            return self.renewed(callee.inputs[0], node.func.value, zip(node.args, inputs[1:], strict=False))
        call = self.make(Op.CALL, tuple(inputs), node, keys=tuple(keys), name=callee.name)
        call.evaluating = self._is_evaluating(call)
        if callee.op is Op.EXTERNAL and callee.name == "collections.defaultdict":
            self.make_default(call)
        elif callee.name.endswith("__init__"):
            begin_as_told(self, call)
        if callee.op is Op.ATTRIBUTE and isinstance(node.func, cst.Attribute):
            self._method_call(node, node.func, call)
        elif callee.op is Op.EXTERNAL and callee.name in GRADIENT_FUNCTIONS:
            run_gradients(self, call, GRADIENT_FUNCTIONS[callee.name])
        elif callee.op is Op.ATTRIBUTE and isinstance(callee.syntax, cst.Attribute) and callee.name in INSERTING:
            self.insert(node, callee.syntax, call)  # `put = kept.append; put(x)`
        elif callee.op is Op.ATTRIBUTE and callee.name == "backward":
            run_backward(self, call, callee.inputs[0])  # `differentiate = loss.backward; differentiate()`
        self._forget_what_it_changes(call)
        self.set_by_keywords(node, call)
        call.is_bare = self.is_bare(node)
        if call.is_bare and is_setter(call):
            switch = switch_of(call, self.state.mode, self.tests, self.graph.decided)
            self.state.mode, self.state.switch = mode_of_argument(call, default=self.state.mode), switch
        elif self.switching_off and self._switches_off(callee):
            self.state.mode = Mode.OFF
        return call

    def _meant(self, inputs: list[Value], keys: list[Key]) -> tuple[list[Value], list[Key]]:
        """What a call is made of, and its keys, in the plainest way to write it.

        ``range(9)`` for a bar that counts, the network itself for what runs it, ``Sums(*values)`` for its ``_make``.
        """
        callee = inputs[0]
        if callee.op is Op.EXTERNAL and callee.name in COUNTING:
            return self.counting(inputs, keys)
        if callee.op is Op.ATTRIBUTE and callee.name == "_make" and self.is_tuple_class(callee.inputs[0]):
            return [callee.inputs[0], *inputs[1:]], [None] * len(inputs)
        return run_by(inputs, keys)

    @abstractmethod
    def is_tuple_class(self, named: Value) -> bool:
        """Whether a value is a class of named tuples."""

    @abstractmethod
    def mode_inside(self, manager: Value) -> Mode | None:
        """The grad mode in a block under a context manager; None where that leaves it alone."""

    def _switches_off(self, callee: Value) -> bool:
        """Whether what is called, a function of this file or a method of this object, switches gradients off."""
        owner = self.function.owner
        if callee.op is Op.ATTRIBUTE and owner is not None and callee.inputs[0] in self.function.parameters[:1]:
            return f"{owner.name}.{callee.name}" in self.switching_off
        return callee.op in (Op.READ, Op.FUNCTION) and callee.name in self.switching_off

    def _forget_what_it_changes(self, call: Value) -> None:
        """A method, a function of this file or one inside this one, also as an argument, may set variables anew.

        So may an object that runs one set its attributes.
        """
        callee = call.callee
        if callee.op is Op.READ:
            self.state.forget_all(self.declared_global)
        if callee.op is Op.EXTERNAL:
            settings = self.resetting.by_library(callee.name)
        else:
            is_own = callee.op is not Op.ATTRIBUTE or callee.inputs[0] in self.function.parameters[:1]
            settings = self.resetting.by(callee.name, is_own=is_own)
        self.forget_settings(settings)
        for named in call.inputs if self.names.rebound else ():
            scope = self.scopes.get(named.reference.syntax) if named.reference is not None else None
            if named.op is Op.FUNCTION and scope is not None:  # one of another file binds nothing here
                self.state.forget_all(self.names.rebound & scope.declared)

    def _is_evaluating(self, call: Value) -> bool:
        """Whether the called object, the object that has the method, or an argument was put into evaluation mode."""
        marked = self.state.evaluating
        if not marked:
            return False
        seen = call.callee
        while True:
            if seen in marked:
                return True
            if seen.op is Op.ATTRIBUTE or seen.op is Op.SUBSCRIPT or seen.op is Op.ELEMENT:
                seen = seen.inputs[0]
            elif seen.op is Op.CALL and seen.callee.op is Op.ATTRIBUTE and seen.callee.name in SAME_OBJECT:
                seen = seen.callee.inputs[0]  # `net = Net().eval().to(device)`
            else:
                break
        path = path_of(call.syntax.func) if isinstance(call.syntax, cst.Call) else None
        owner = (path or "").rpartition(".")[0]
        paths = [mark for mark in marked if isinstance(mark, str)]
        if path in paths or (owner and any(mark.startswith(f"{owner}.") for mark in paths)):
            return True
        return any(argument in marked for argument in call.arguments)

    def _method_call(self, node: cst.Call, function: cst.Attribute, call: Value) -> None:
        """What a method does to its receiver."""
        name, receiver = function.attr.value, call.callee.inputs[0]
        if name in ("eval", "train"):
            self._switch(name, function.value, receiver, call)
        elif name == "enter_context" and call.arguments:
            self.state.mode = self.mode_inside(call.arguments[0]) or self.state.mode
        elif name == "__enter__":
            self.state.mode = self.mode_inside(receiver) or self.state.mode
        elif name == "backward" or name in method_names(Holds.BACKWARD, distinctive=True):
            run_backward(self, call, receiver)
        elif name in ("register_buffer", "register_parameter"):
            self._register_on_module(node, receiver, call, is_buffer=name == "register_buffer")
        elif name in ADDING and receiver in self.function.parameters[:1]:
            self._register_on_module(node, receiver, call, is_buffer=False)
        elif name in method_names(Holds.REGISTERS, distinctive=True):
            self._set_attributes(node, receiver, call)
        elif name in INSERTING and call.arguments:
            self.insert(node, function, call)
        elif name in EMPTYING or (name == "get" and is_taken_from_queue(node)):
            self._empty(receiver, is_item=name.startswith(("pop", "get")), is_used=not self.is_bare(node))
        elif changes_receiver(name):
            added = call.arguments[0] if call.arguments else None
            self.update(function.value, call, added, node.args[0].value if node.args else None)

    def _empty(self, receiver: Value, *, is_item: bool, is_used: bool) -> None:
        """``rows.clear()``, and ``for one in (rows, sums): one.clear()``, which empties all that is written there."""
        emptied, loop = [receiver], self.loop
        if loop is not None and receiver.op is Op.ELEMENT and receiver.inputs[0] is loop.iterable:
            if isinstance(receiver.inputs[0].syntax, cst.Tuple | cst.List):
                emptied, loop = list(receiver.inputs[0].inputs), loop.parent
        is_thrown_away = is_item and not is_used
        self.graph.resets += [Reset(one, self.function, loop, is_item, is_thrown_away) for one in emptied]

    def _switch(self, name: str, syntax: cst.CSTNode, receiver: Value, call: Value) -> None:
        first = call.argument(0, "mode")
        if name == "eval" and call.arguments:
            return
        evaluates = name == "eval" or (first is not None and first.op is Op.CONSTANT and first.name == "False")
        marks: set[Value | str] = {receiver, call}
        written: cst.CSTNode = syntax
        while receiver.op is Op.CALL and receiver.callee.op is Op.ATTRIBUTE and receiver.callee.name in SAME_OBJECT:
            if not isinstance(written, cst.Call) or not isinstance(written.func, cst.Attribute):
                break
            receiver, written = receiver.callee.inputs[0], written.func.value  # `net.to(device).eval()`
            marks.add(receiver)
        path = path_of(written)
        if path is not None:
            marks.add(path)
        current = self.state.evaluating
        self.state.evaluating = current | marks if evaluates else current - marks

    def _register_on_module(self, node: cst.Call, receiver: Value, call: Value, *, is_buffer: bool) -> None:
        """``self.register_parameter("scale", nn.Parameter(start))``: a module has it as the attribute of that name."""
        written = {
            one.keyword.value if one.keyword else at: one.value for at, one in enumerate(node.args) if not one.star
        }
        given = dict(zip(call.keys[1:], call.arguments, strict=True))
        named = next((written[key] for key in (0, "name") if key in written), None)
        kept = next(
            (key for key in (1, "tensor", "param", "parameter", "module") if key in written and key in given), None
        )
        name = constant_of(named) if named is not None else None
        if isinstance(name, str) and kept is not None:
            if is_buffer:
                self.graph.buffers.append((receiver, name))
            self.keep(Kind.ASSIGN, given[kept], written[kept], holder=receiver, attribute=name)

    def _set_attributes(self, node: cst.Call, receiver: Value, call: Value) -> None:
        """``self.register_modules(unet=unet)``: an object keeps each argument as the attribute of its name."""
        for key, value, argument in zip(call.keys[1:], call.arguments, node.args, strict=True):
            if isinstance(key, str):
                self.keep(Kind.ASSIGN, value, argument.value, holder=receiver, attribute=key)

    def is_bare(self, node: cst.Call) -> bool:
        """True when the call is a statement of its own."""
        statement = self.statement
        return type(statement) is cst.SimpleStatementLine and any(
            type(small) is cst.Expr and small.value is node for small in statement.body
        )
