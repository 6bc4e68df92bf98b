"""What puts values into containers and objects: methods, functions, operators and ``setattr``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from torchlint.facts.building.data_classes import RENEWING
from torchlint.facts.building.literals import LiteralBuilder
from torchlint.facts.building.names import OWN, constant_of, path_of
from torchlint.facts.values.graph import Key, Kind, Loop, Op, Value
from torchlint.facts.values.writing import shortened
from torchlint.syntax.filling_names import OPERATORS, PUSHING

ADDING = frozenset(["operator.add", "operator.iadd", "torch.add"])
"""Functions by which ``functools.reduce`` sums up."""

CALLED_BY_NAME = (Op.FUNCTION, Op.READ)
"""Functions of the file, by a name or a ``lambda``: what others that ``reduce`` is given do is not said here."""

ONE_BY_ONE = frozenset(["append", "appendleft", "add"])
"""Methods of lists, deques and sets that take one thing at a time."""


class FillingBuilder(LiteralBuilder):
    """Records what is put where."""

    # -- methods of containers --------------------------------------------------------------------------------------

    def insert(self, node: cst.Call, function: cst.Attribute, call: Value) -> None:
        """``receiver.append(x)`` and its like, as ``node``; ``function`` is what stands for the method."""
        receiver, name, target = self.as_holder(call.callee.inputs[0]), function.attr.value, function.value
        if name in ONE_BY_ONE and len(call.arguments) > 1:
            return  # a meter's `add(loss, n)`, a table's
        if name in ("extend", "extendleft", "update"):
            if sum(isinstance(key, int) for key in call.keys[1:]) > 1:
                return  # a metric's: what a dictionary or a list is extended by is one object
            for key, given, argument in zip(call.keys[1:], call.arguments, node.args, strict=True):
                if isinstance(key, str):
                    self._put_item(given, argument.value, receiver, target, key=key, call=call)
                else:
                    self.spread(given, argument.value, receiver, target, call, merges=name == "update")
            return
        position = 1 if name in ("insert", "setdefault") and len(call.arguments) > 1 else 0
        key = constant_of(node.args[0].value) if name == "setdefault" else None
        written = node.args[position].value
        self.keep(Kind.INSERT, call.arguments[position], written, holder=receiver, key=key, target=target, call=call)

    def spread(
        self,
        value: Value,
        written: cst.CSTNode,
        receiver: Value,
        target: cst.CSTNode,
        call: Value | None = None,
        *,
        merges: bool = False,
    ) -> None:
        """Each item of ``value`` is put into ``receiver``; only the items of a literal are written there.

        What ``merges`` with a dictionary is one as well, or pairs: its values are put in, and not its keys.
        """
        if value.op is Op.CONTAINER and isinstance(written, cst.List | cst.Tuple | cst.Set | cst.Dict):
            if not (merges and self._keep_pairs(value, receiver, target, call)):
                self.keep_items(value, written, receiver, target, call)
        else:
            item = self._merged(value) if merges and not _is_set(receiver) else self.element(value, None)
            self.keep(Kind.INSERT, item, None, holder=receiver, target=target, call=call)

    def _keep_pairs(self, value: Value, holder: Value, target: cst.CSTNode, call: Value | None) -> bool:
        """``losses.update([("l1", loss)])``: put the second halves in, and say so, where all items are pairs."""
        pairs = [one for one in value.inputs if one.op is Op.CONTAINER and one.keys == (0, 1)]
        if not pairs or len(pairs) < len(value.inputs):
            return False
        for name, item in (one.inputs for one in pairs):
            key = constant_of(name.syntax) if name.syntax is not None else None
            self.keep(
                Kind.INSERT, item, None, holder=holder, is_item=True, key=key, index=name, target=target, call=call
            )
        return True

    def _merged(self, value: Value) -> Value:
        """What a dictionary takes of another one, or of ``zip(names, values)`` and ``other.items()``."""
        is_pairs = value.op is Op.CALL and value.callee.name in ("builtins.zip", "items")
        item = self.element(value, None) if is_pairs else None
        if item is not None and item.op is Op.CONTAINER and len(item.inputs) == 2:
            return item.inputs[1]
        return self.make_element(value, None, name="values")

    def keep_items(
        self,
        value: Value,
        literal: cst.List | cst.Tuple | cst.Set | cst.Dict,
        holder: Value,
        target: cst.CSTNode,
        call: Value | None = None,
    ) -> None:
        """Each item of ``literal``, whose value is ``value``, is put into ``holder``; of a table the first ones."""
        for item, key, element in zip(value.inputs, value.keys, literal.elements, strict=False):
            if isinstance(element, cst.DictElement):
                index = self.visit(element.key) if key is None else None
                self._put_item(item, element.value, holder, target, key=key, index=index, call=call)
            elif not (isinstance(element, cst.StarredElement) and path_of(element.value) == path_of(target)):
                self.keep(Kind.INSERT, item, element.value, holder=holder, target=target, call=call)

    def _put_item(
        self,
        value: Value,
        syntax: cst.CSTNode,
        holder: Value,
        target: cst.CSTNode,
        *,
        key: Key,
        index: Value | None = None,
        call: Value | None = None,
    ) -> None:
        """``holder[key] = value``, written in another way."""
        self.keep(
            Kind.INSERT, value, syntax, holder=holder, is_item=True, key=key, index=index, target=target, call=call
        )

    def keep_added(self, target: cst.CSTNode, node: cst.CSTNode, value: Value, old: Value | None) -> None:
        """``kept = kept + [x]``, ``kept = [*kept, x]``: what ``node`` adds to the ``old`` list is put into it.

        Args:
            target: what is assigned.
            node: the expression that is assigned.
            value: its value.
            old: what ``target`` was before.
        """
        path = path_of(target)
        if path is None or old is None:
            return
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add) and len(value.inputs) == 2:
            added = value.inputs[1]
            if path_of(node.left) == path and isinstance(node.right, cst.List | cst.Tuple) and added.op is Op.CONTAINER:
                self.keep_items(added, node.right, old, target)
        elif isinstance(node, cst.List | cst.Tuple) and value.op is Op.CONTAINER:
            first = node.elements[0] if node.elements else None
            if isinstance(first, cst.StarredElement) and path_of(first.value) == path:
                self.keep_items(value, node, old, target)

    def make_default(self, table: Value) -> None:
        """Make what ``defaultdict(list)`` has under a key that is new: a list, the same one for all keys."""
        factory = table.argument(0)
        if factory is not None and factory.op is Op.EXTERNAL and factory.name in _FACTORIES:
            self.graph.defaults[table] = self.make(Op.CALL, (factory,), None, keys=(None,), name=factory.name)

    # -- functions that stand for operators -------------------------------------------------------------------------

    def operator(self, node: cst.Call, name: str, given: Sequence[Value]) -> Value | None:
        """What a call of an imported function is where it stands for an operator or a statement; None for others.

        Args:
            node: the call.
            name: the function's full dotted name.
            given: the values of its arguments, in order.
        """
        if any(argument.star for argument in node.args):
            return None
        if name in RENEWING and given:
            return self.renewed(given[0], node.args[0].value, zip(node.args[1:], given[1:], strict=True))
        operation = OPERATORS.get(name)
        if operation is not None and len(given) == 2:
            return self.make(Op.OPERATION, tuple(given), None, name=operation)
        if name == "operator.setitem" and len(given) == 3:
            target, key = node.args[0].value, constant_of(node.args[1].value)
            self._put_item(given[2], node.args[2].value, given[0], target, key=key, index=given[1])
            return self.unknown(node)
        if name in PUSHING and len(given) > 1:
            self.keep(Kind.INSERT, given[1], node.args[1].value, holder=given[0], target=node.args[0].value)
            return self.unknown(node)
        if name == "builtins.setattr" and len(given) == 3 and self.set_attribute(node, given):
            return self.unknown(node)
        is_read = name == "builtins.getattr" and (len(given) == 2 or (len(given) == 3 and given[2].op is Op.CONSTANT))
        if is_read and (found := self.get_attribute(node, given[0], given[1])) is not None:
            return found if len(given) == 2 else self.make(Op.PHI, (found, given[2]), node)
        if name == "builtins.vars" and len(given) == 1:
            return self.make(Op.ATTRIBUTE, (given[0],), node, name=OWN)
        if name == "builtins.map" and len(given) == 3:
            return self._mapped(node, given)
        if name == "builtins.sum" and given and _is_map(given[0]):
            return self._sum(self._each(given[0]), *given[1:])
        if name == "functools.reduce" and len(given) > 1 and given[0].name in ADDING and given[0].op is Op.EXTERNAL:
            return self._sum(self._each(given[1]) if _is_map(given[1]) else given[1], *given[2:])
        if name == "functools.reduce" and len(given) > 1 and given[0].op in CALLED_BY_NAME:
            return self._folded(node, *given)
        return None

    def renewed(self, old: Value, syntax: cst.BaseExpression, fields: Iterable[tuple[cst.Arg, Value]]) -> Value:
        """``replace(old, total=x)``, ``old._replace(total=x)``: the object goes on, and has another value there.

        Args:
            old: the object whose fields are taken over.
            syntax: how it is written.
            fields: the keyword arguments with their values.
        """
        for argument, value in fields:
            if argument.keyword is not None:
                target = cst.Attribute(syntax, argument.keyword)
                name = argument.keyword.value
                self.keep(Kind.ASSIGN, value, argument.value, holder=old, attribute=name, target=target)
        return old

    def _sum(self, *given: Value) -> Value:
        """``sum(values, start)``, also where it is written ``reduce(operator.add, values, start)``."""
        callee = self.make(Op.EXTERNAL, (), None, name="builtins.sum")
        return self.make(Op.CALL, (callee, *given), None, keys=(None, *range(len(given))), name=callee.name)

    def _each(self, mapped: Value) -> Value:
        """``[f(x) for x in xs]`` for ``map(f, xs)`` that is used up at once."""
        function, *iterables = mapped.arguments
        assert mapped.syntax is not None
        outside, self.loop = self.loop, Loop(mapped.syntax, self.function, self.loop, iterables[0])
        self.graph.loops.append(self.loop)
        items = [self.element(iterable, None) for iterable in iterables]
        keys = (None, *range(len(items)))
        item = self.make(Op.CALL, (function, *items), None, keys=keys, name=function.name)
        self.loop = outside
        return self.make(Op.CONTAINER, (item,), None, keys=(None,))

    def _folded(self, node: cst.Call, function: Value, items: Value, *start: Value) -> Value:
        """``for item in items: result = function(result, item)``, as it stands in a call of ``reduce``."""
        items = self._each(items) if _is_map(items) else items
        outside, loop = self.loop, _loop_of(items, self.graph.loops)
        if loop is None:
            loop = Loop(node, self.function, self.loop, items)
            self.graph.loops.append(loop)
        self.loop = loop
        item = items.inputs[0] if loop.syntax is not node else self.element(items, None)
        result = self.make(Op.PHI, start or (item,), None, name=_name_in(self.statement, node))
        loop.phis.append(result)
        call = self.make(Op.CALL, (function, result, item), None, keys=(None, 0, 1), name=function.name)
        result.feed(call)
        self.loop = outside
        return result

    def _mapped(self, node: cst.Call, given: Sequence[Value]) -> Value | None:
        """``map(operator.add, xs, ys)``: a container of sums."""
        operation = OPERATORS.get(given[0].name) if given[0].op is Op.EXTERNAL else None
        if operation is None:
            return None
        items = tuple(self.element(value, None) for value in given[1:])
        item = self.make(Op.OPERATION, items, None, name=operation)
        return self.make(Op.CONTAINER, (item,), node, keys=(None,))


def _loop_of(items: Value, loops: Sequence[Loop]) -> Loop | None:
    """The loop that makes the items of a generator or a list, one in each turn; None for what is there already."""
    if items.op is not Op.CONTAINER or items.keys != (None,):
        return None
    clause = items.syntax.for_in if isinstance(items.syntax, cst.BaseSimpleComp) else None
    while clause is not None and clause.inner_for_in is not None:
        clause = clause.inner_for_in
    made = items.inputs[0].loop if items.syntax is None else None
    return made if clause is None else next((loop for loop in reversed(loops) if loop.syntax is clause), None)


def _name_in(statement: cst.CSTNode, node: cst.BaseExpression) -> str:
    """The variable that a statement binds to an expression; the expression itself where it does something else."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    targets = small.targets if isinstance(small, cst.Assign) and small.value is node else ()
    names = (one.target.value for one in targets if isinstance(one.target, cst.Name))
    return next(names, shortened(" ".join(cst.Module([]).code_for_node(node).split())))


def _is_map(value: Value) -> bool:
    is_call = value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name == "builtins.map"
    return is_call and len(value.arguments) > 1 and value.syntax is not None and None not in value.keys[1:]


_FACTORIES = frozenset(["builtins.list", "builtins.dict", "builtins.set", "collections.deque"])
"""Classes of containers that begin empty."""


def _is_set(made: Value) -> bool:
    """Whether a value is written as a set, which takes the keys of a dictionary."""
    is_literal = made.op is Op.CONTAINER and isinstance(made.syntax, cst.Set | cst.SetComp)
    return is_literal or (made.op is Op.CALL and made.callee.name == "builtins.set")


def is_taken_from_queue(node: cst.Call) -> bool:
    """Whether a call of ``get`` has no key, as no dictionary is asked: ``inbox.get()``, ``inbox.get(timeout=1)``."""
    return all(
        argument.keyword is not None and argument.keyword.value in ("block", "timeout") for argument in node.args
    )
