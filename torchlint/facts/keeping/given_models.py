"""Functions that give up a model which they were given: their callers have it still."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.asking_back import AskingBack
from torchlint.facts.keeping.holders import Holders
from torchlint.facts.keeping.taken_out import RESTING
from torchlint.facts.keeping.unloaded import Holder, Unloading
from torchlint.facts.values.framework_objects import guards_itself
from torchlint.facts.values.graph import Drop, Function, Op, Value
from torchlint.facts.values.parameters import star_of
from torchlint.syntax.tree import dotted, walk_scope

if TYPE_CHECKING:
    from torchlint.facts import Facts


class GivenModels:
    """Finds who still holds a parameter that is given up."""

    def __init__(self, facts: Facts, asking: AskingBack, holders: Holders) -> None:
        """Work on ``facts``; ``asking`` knows who asks memory back, ``holders`` what is a model."""
        self.facts, self.solution = facts, facts.solution
        self.asking = asking
        self.holders = holders

    def of(self, drop: Drop, parameter: Value) -> Unloading | None:
        """``def free(model): del model; empty_cache()``: the caller's variable still holds it."""
        if not self.asking.is_asked_after(drop) or drop.loop is not None:
            return None
        calls = sorted(self.solution.callers.get(drop.function, {}).items(), key=lambda item: item[0].index)
        for call, binding in calls:
            given = binding.get(parameter)
            name = self._written(call, parameter)
            if given is None or name is None or not self._is_model(given):
                continue
            if self._goes_on(name, call):
                return Unloading(drop, (Holder(name, "itself", given),), True, call)
        return Unloading(drop, (), True) if not calls and self._does_nothing_else(drop.function, parameter) else None

    def is_one_of_names(self, drop: Drop, item: Value) -> bool:
        """Whether a loop gives up each of what callers list by name: ``free(net, judge)``, ``free([net, judge])``.

        Nobody here need call the function.
        """
        items = item.inputs[0] if item.op is Op.ELEMENT else None
        if items is None or items.op is not Op.PARAMETER or drop.loop is None or drop.loop.iterable is not items:
            return False
        calls = self.solution.callers.get(drop.function, {})
        listed = (True for call, binding in calls.items() for _ in self._items(call, binding.get(items), items))
        return not calls or any(listed)

    def of_items(self, drop: Drop, item: Value) -> Unloading | None:
        """``def free(*models): for model in models: del model``: the loop gives up no name but its own.

        Told of the first call that passes a variable of the caller, and leaves it bound to a model.
        """
        items = item.inputs[0]
        if not self.asking.is_asked_after(drop):
            return None
        calls = sorted(self.solution.callers.get(drop.function, {}).items(), key=lambda pair: pair[0].index)
        for call, binding in calls:
            for written, given in self._items(call, binding.get(items), items):
                name = dotted(written)
                if name is not None and self._is_model(given) and self._goes_on(name, call):
                    return Unloading(drop, (Holder(name, "itself", given),), True, call)
        is_all = len(_deletions(drop.function)) == 1 and self._does_nothing_else(drop.function, item)
        return Unloading(drop, (), True) if not calls and is_all else None

    def _items(self, call: Value, given: Value | None, items: Value) -> Iterator[tuple[cst.BaseExpression, Value]]:
        """What a CALL passes for a parameter of many, each as it is written: ``free([net, judge])``, ``free(net)``."""
        if not isinstance(call.syntax, cst.Call):
            return
        arguments = zip(call.syntax.args, call.keys[1:], call.arguments, strict=False)
        if star_of(items) == "*":
            first = items.function.parameters.index(items)
            yield from ((arg.value, value) for arg, key, value in arguments if isinstance(key, int) and key >= first)
        elif given is not None and given.op is Op.CONTAINER and isinstance(given.syntax, cst.List | cst.Tuple):
            if any(arg.value is given.syntax for arg in call.syntax.args):
                yield from ((e.value, value) for e, value in zip(given.syntax.elements, given.inputs, strict=False))

    def _is_model(self, given: Value) -> bool:
        """Whether a value is a module, or an object of a framework that holds some: a pipeline."""
        return self.holders.is_model(given) or guards_itself(self.solution, given)

    def _goes_on(self, name: str, call: Value) -> bool:
        """Whether something that needs memory is run behind a call, and the caller has not given up ``name``."""
        if self._is_dropped_behind(name, call):
            return False
        return call.loop is not None or any(
            later.index > call.index and not self.asking.is_neutral(later)
            for later in self.facts.steps.calls_in(call.function)
        )

    def _does_nothing_else(self, function: Function, parameter: Value) -> bool:
        """Whether a function only sets a module that it is given to rest, deletes it, and asks memory back."""
        if not isinstance(function.syntax, cst.FunctionDef) or function.owner is not None:
            return False
        harmless = (cst.Del, cst.Expr, cst.Pass, cst.Import, cst.ImportFrom)
        for node in walk_scope(function.syntax.body):
            if isinstance(node, cst.SimpleStatementLine) and not all(isinstance(s, harmless) for s in node.body):
                return False
        calls = self.facts.steps.calls_in(function)
        return all(
            self.asking.is_neutral(c)
            or self.asking.is_asked_by(c)
            or c.callee.name == "builtins.len"
            or _sets_to_rest(c, parameter)
            for c in calls
        )

    def _written(self, call: Value, parameter: Value) -> str | None:
        """How a call writes what it passes for a parameter, where that is a variable or an attribute."""
        if not isinstance(call.syntax, cst.Call):
            return None
        function = parameter.function
        position = function.parameters.index(parameter)
        if function.owner is not None and not function.is_static:
            position -= 1
        for index, argument in enumerate(call.syntax.args):
            keyword = argument.keyword.value if argument.keyword is not None else None
            if keyword == parameter.name or (keyword is None and index == position and not argument.star):
                return dotted(argument.value)
        return None

    def _is_dropped_behind(self, name: str, call: Value) -> bool:
        """Whether the caller gives up its variable too, or sets it anew by the call itself."""
        if any(d.path == name and d.function is call.function and d.index > call.index for d in self.facts.graph.drops):
            return True
        statement = call.statement
        if statement is None:
            return True
        return any(
            isinstance(node, cst.AssignTarget) and name in {dotted(part) for part in walk_scope(node.target)}
            for node in walk_scope(statement)
        )


def _deletions(function: Function) -> list[cst.Del]:
    body = function.syntax.body if isinstance(function.syntax, cst.FunctionDef) else None
    return [node for node in walk_scope(body) if isinstance(node, cst.Del)] if body is not None else []


def _sets_to_rest(call: Value, module: Value) -> bool:
    return call.callee.op is Op.ATTRIBUTE and call.callee.name in RESTING and before_rest(call) is module


def before_rest(value: Value) -> Value:
    """What a variable held before ``net.eval()`` and the like, which give the same module back."""
    while value.op is Op.CALL and value.is_bare and value.callee.op is Op.ATTRIBUTE and value.callee.name in RESTING:
        value = value.callee.inputs[0]
    return value
