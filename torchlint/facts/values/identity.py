"""Which values are one object: through branches, in-place operations and calls; and which are views of one tensor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.solve import Solution

VIEWS = frozenset(
    ["view", "view_as", "reshape", "reshape_as", "flatten", "unflatten", "ravel", "squeeze", "unsqueeze", "expand",
     "expand_as", "transpose", "t", "permute", "swapaxes", "swapdims", "movedim", "moveaxis", "narrow", "select",
     "diagonal", "as_strided", "unfold", "adjoint", "chunk", "split", "tensor_split", "unbind", "hsplit", "vsplit",
     "dsplit"]
)  # fmt: skip
"""Operations whose result shares the memory of a tensor and holds that tensor; all but ``reshape`` always do."""

VIEW_ATTRIBUTES = frozenset(["T", "mT", "H", "mH"])

_BASIC = (cst.Integer, cst.Ellipsis)


class Identity:
    """Answers for one file; what a value may be is computed once."""

    def __init__(self, solution: Solution) -> None:
        """Read calls and containers from ``solution``."""
        self.solution = solution
        self._roots: dict[Value, frozenset[Value]] = {}
        self._open: set[Value] = set()

    def roots(self, value: Value) -> frozenset[Value]:
        """Where the object that ``value`` may be was made: never a join, a parameter of a seen call or a result."""
        if value not in self._roots:
            self._roots[value] = frozenset(self._walk([value]))
        return self._roots[value]

    def bases(self, value: Value) -> frozenset[Value]:
        """The tensors of which ``value`` is a view, however many views lie between; its own roots if it is none."""
        pending, seen, found = list(self.roots(value)), set[Value](), set[Value]()
        while pending:
            root = pending.pop()
            if root in seen:
                continue
            seen.add(root)
            base = _viewed(root)
            if base is None:
                found.add(root)
            else:
                pending.extend(self.roots(base))
        return frozenset(found)

    def _walk(self, pending: list[Value]) -> Iterator[Value]:
        seen: set[Value] = set()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            behind = self._behind(value)
            if behind:
                pending.extend(behind)
            else:
                yield value

    def _behind(self, value: Value) -> list[Value]:
        """The values one of which ``value`` is; none where it is made there."""
        if value.op is Op.PHI:
            return list(value.inputs)
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        if value.op is Op.OPERATION and value.name.endswith("Assign"):
            return [value.inputs[0]]
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return self._item(value)
        if value.op is Op.CALL:
            changed = _changed(value)
            if changed is not None:
                return [changed]
            results = [function.result for function in self.solution.functions_of(value)]
            return [result for result in results if result is not None and result.inputs]
        return []

    def _item(self, value: Value) -> list[Value]:
        """What lies under the key of a container that is written out."""
        key = value.keys[0] if value.keys else None
        if key is None:
            return []
        if value in self._open:
            return []  # a loop that takes a thing out of what it was taken from
        self._open.add(value)
        made = [root for root in self.roots(value.inputs[0]) if root.op is Op.CONTAINER]
        self._open.discard(value)
        return [item for root in made for known, item in zip(root.keys, root.inputs, strict=True) if known == key]


def _changed(call: Value) -> Value | None:
    """What an operation changes in place and gives back; ``contiguous`` gives back what is."""
    callee = call.callee
    if callee.op is Op.ATTRIBUTE:
        operation, subject = torch_api.method(callee.name), callee.inputs[0]
        if callee.name in ("contiguous", "requires_grad_"):
            return subject
    elif callee.op is Op.EXTERNAL and call.arguments:
        operation, subject = torch_api.function(callee.name), call.arguments[0]
    else:
        return None
    in_place = (torch_api.History.SELF, torch_api.History.DETACHES_SELF)
    return subject if operation is not None and operation.history in in_place else None


def _viewed(value: Value) -> Value | None:
    """The tensor that a view shows."""
    if value.op is Op.CALL:
        callee = value.callee
        if callee.op is Op.ATTRIBUTE and callee.name in VIEWS:
            return callee.inputs[0]
        if callee.op is Op.EXTERNAL and callee.name.startswith("torch.") and value.arguments:
            return value.arguments[0] if callee.name.removeprefix("torch.") in VIEWS else None
        return None
    if value.op is Op.ATTRIBUTE and value.name in VIEW_ATTRIBUTES:
        return value.inputs[0]
    if value.op is Op.ELEMENT:
        return value.inputs[0]
    if value.op is Op.SUBSCRIPT and isinstance(value.syntax, cst.Subscript) and _is_basic(value.syntax):
        return value.inputs[0]
    return None


def _is_basic(node: cst.Subscript) -> bool:
    """Whether an index gives a view: numbers and slices; a tensor as index copies."""
    for element in node.slice:
        index = element.slice
        if isinstance(index, cst.Index):
            is_none = isinstance(index.value, cst.Name) and index.value.value == "None"
            if not isinstance(index.value, _BASIC) and not is_none:
                return False
    return True
