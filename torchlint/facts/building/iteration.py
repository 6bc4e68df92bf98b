"""Items: what a loop, an unpacking or a star takes out of something, one after the other."""

from __future__ import annotations

from torchlint.facts.building.context import Context
from torchlint.facts.values.graph import Key, Op, Value
from torchlint.facts.values.kinds import WHOLE_NUMBER
from torchlint.facts.values.starred_arguments import MOST

FIRST_ITEM_WRAPPERS = frozenset(
    ["builtins.list", "builtins.tuple", "builtins.sorted", "builtins.reversed", "builtins.iter", "itertools.islice",
     "itertools.cycle", "itertools.chain", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm",
     "rich.progress.track", "tqdm"]
)  # fmt: skip
"""Iterating over the call's result is iterating over its first argument."""

COUNTING = frozenset(["tqdm.trange", "tqdm.auto.trange", "tqdm.notebook.trange", "tqdm.std.trange"])
"""Functions that count as ``range`` does, and show how far they are: https://tqdm.github.io/docs/shortcuts/."""

NAMED = frozenset(["named_parameters", "named_buffers", "named_modules", "named_children"])
"""Methods of modules whose items are pairs of a name and an object."""


class IterationBuilder(Context):
    """Makes values of items."""

    def element(self, iterable: Value, key: int | None) -> Value:
        """An item of ``iterable``, looking through ``enumerate``, ``zip``, ``tqdm``, ``dict.items`` and the like."""
        if iterable.op is Op.CALL:
            callee, first = iterable.callee, iterable.argument(0)
            if callee.op is Op.EXTERNAL:
                if callee.name == "builtins.enumerate" and first is not None:
                    return self._pair(self._number(), self.element(first, None), key)
                if callee.name == "builtins.zip" and first is None and len(iterable.arguments) == 1:
                    return self._column(iterable.arguments[0], key)
                if callee.name == "builtins.zip":
                    items = tuple(self.element(value, None) for value in iterable.arguments)
                    return self.make(Op.CONTAINER, items, None, keys=tuple(range(len(items))))
                if callee.name == "builtins.range":
                    return self._number()
                if callee.name == "itertools.chain" and len(iterable.arguments) > 1:
                    parts = tuple(self.element(one, key) for one in iterable.arguments)
                    return self.make(Op.PHI, parts, iterable.syntax)
                if first is not None and callee.name in FIRST_ITEM_WRAPPERS and not _is_used_as_list(iterable):
                    return self.element(first, key)
            elif callee.op is Op.ATTRIBUTE and callee.name in NAMED:
                return self._pair(self.make(Op.CONSTANT, (), None), self.make_element(iterable, key), None)
            elif callee.op is Op.ATTRIBUTE and len(iterable.inputs) == 1:
                if callee.name == "items":
                    held = self._listed(iterable, None)
                    return self._pair(self.make(Op.CONSTANT, (), None), held, key)
                if callee.name == "values":
                    return self._listed(iterable, key)
                if callee.name == "keys":
                    return self.make(Op.CONSTANT, (), None)
        if iterable.op is Op.PHI and iterable.syntax is not None and iterable.inputs:
            choices = tuple(self.element(choice, key) for choice in iterable.inputs)
            return self.make(Op.PHI, choices, iterable.syntax)
        return self.make_element(iterable, key)

    def counting(self, inputs: list[Value], keys: list[Key]) -> tuple[list[Value], list[Key]]:
        """What ``range(10)`` is made of, and its keys, for ``trange(10, desc="steps")``."""
        counted = self.make(Op.EXTERNAL, (), inputs[0].syntax, name="builtins.range")
        kept = [(key, value) for key, value in zip(keys, inputs, strict=True) if not isinstance(key, str)][1:]
        return [counted, *(value for _, value in kept)], [None, *(key for key, _ in kept)]

    def _listed(self, call: Value, key: int | None) -> Value:
        """What a dict holds that is asked for its items or values, for all that is known here of what is asked."""
        held = self.make_element(call.callee.inputs[0], key, name="values")
        self.graph.listings[held] = call
        return held

    def _number(self) -> Value:
        """What counts."""
        return self.make(Op.CONSTANT, (), None, name=WHOLE_NUMBER)

    def _pair(self, first: Value, second: Value, key: int | None) -> Value:
        return self.make(Op.CONTAINER, (first, second), None, keys=(0, 1))

    def _column(self, rows: Value, key: int | None) -> Value:
        """An item of ``zip(*rows)``: what stands at ``key`` (None: anywhere) in each of the rows."""
        item = self.make_element(self.make_element(rows, None), key)
        return self.make(Op.CONTAINER, (item,), None, keys=(None,))

    def make_items(self, spread: Value) -> None:
        """Make values of the first items of what a star spreads over the parameters of what is called.

        None of the columns of ``Step(*zip(*rows))``, and none of what is handed on: ``def put(self, *fields)``.
        """
        if spread.op is Op.PARAMETER or (spread.op is Op.CALL and spread.callee.name == "builtins.zip"):
            return
        for position in range(MOST):
            self.make_element(spread, position)

    def make_element(self, iterable: Value, key: int | None, name: str = "") -> Value:
        """An ELEMENT value of ``iterable`` as it is; ``name`` is "values" where a dict's values are iterated."""
        return self.make(Op.ELEMENT, (iterable,), iterable.syntax, keys=(key,), name=name)


def _is_used_as_list(made: Value) -> bool:
    """Whether a list of the items of something is named, so that others may be put into it: ``rows = list(rows)``."""
    return made.callee.name in ("builtins.list", "builtins.sorted") and bool(made.users)
