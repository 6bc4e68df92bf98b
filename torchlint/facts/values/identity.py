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

EXPORTS = frozenset(["torch.to_dlpack", "torch.utils.dlpack.to_dlpack"])
"""What gives a tensor's memory away in a capsule, for another library to hold."""

EXCHANGES = EXPORTS | frozenset(["torch.from_dlpack", "torch.utils.dlpack.from_dlpack", "numpy.from_dlpack"])
"""The data exchange of arrays (DLPack): both ends share the memory, and the new one holds the tensor it came from."""

DEPTH = 4
"""Through how many calls, one in another, it is remembered by which of them a function was entered."""

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
            self._roots[value] = frozenset(self._walk(value, through_views=False))
        return self._roots[value]

    def bases(self, value: Value) -> frozenset[Value]:
        """The tensors of which ``value`` is a view, however many views lie between; its own roots if it is none."""
        return frozenset(self._walk(value, through_views=True))

    def _walk(self, value: Value, *, through_views: bool) -> Iterator[Value]:
        """The ends of the ways behind ``value``; a way that went into a function leaves it by the same call."""
        pending: list[tuple[Value, tuple[Value, ...]]] = [(value, ())]
        seen = set(pending)
        while pending:
            current, calls = pending.pop()
            behind = self._behind(current, calls)
            if not behind and through_views and (base := _viewed(current)) is not None:
                behind = [(base, calls)]
            if not behind:
                yield current
            fresh = [way for way in behind if way not in seen]
            seen.update(fresh)
            pending.extend(fresh)

    def _behind(self, value: Value, calls: tuple[Value, ...]) -> list[tuple[Value, tuple[Value, ...]]]:
        """The values one of which ``value`` is, with the calls by which they were entered; none where it is made."""
        if value.op is Op.PHI:
            return [(choice, calls) for choice in value.inputs]
        if value.op is Op.PARAMETER:
            bound = self.solution.callers.get(value.function, {}).get(calls[-1], {}) if calls else {}
            given = bound.get(value)
            if given is not None:
                return [(given, calls[:-1])]
            return [(argument, ()) for argument in self.solution.arguments_of(value)]
        if value.op is Op.OPERATION and value.name.endswith("Assign"):
            return [(value.inputs[0], calls)]
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return [(item, calls if item.function is value.function else ()) for item in self._item(value)]
        if value.op is Op.CALL:
            subject = changed(value)
            if subject is not None:
                return [(subject, calls)]
            # What a function of another file gives is told once for all of its calls: each makes an object of its own.
            results = [one.result for one in self.solution.functions_of(value) if not one.is_foreign]
            entered = (*calls, value)[-DEPTH:]
            return [(result, entered) for result in results if result is not None and result.inputs]
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


def changed(call: Value) -> Value | None:
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
        if callee.op is Op.ATTRIBUTE and (callee.name in VIEWS or callee.name == "__dlpack__"):
            return callee.inputs[0]
        if callee.op is not Op.EXTERNAL or not value.arguments:
            return None
        if callee.name.removeprefix("torch.") in VIEWS or callee.name in EXCHANGES:
            return value.arguments[0]
        # Whoever is given the capsule holds the tensor until the array that he makes of it is gone.
        return next((argument for argument in value.arguments if _is_capsule(argument)), None)
    if value.op is Op.ATTRIBUTE and value.name in VIEW_ATTRIBUTES:
        return value.inputs[0]
    if value.op is Op.ELEMENT:
        return value.inputs[0]
    if value.op is Op.SUBSCRIPT and isinstance(value.syntax, cst.Subscript) and _is_basic(value.syntax):
        return value.inputs[0]
    return None


def _is_capsule(value: Value) -> bool:
    """Whether a value is a tensor's memory in a capsule."""
    callee = value.callee if value.op is Op.CALL else None
    return callee is not None and (callee.name in EXPORTS or callee.name == "__dlpack__")


def _is_basic(node: cst.Subscript) -> bool:
    """Whether an index gives a view: numbers and slices; a tensor as index copies."""
    for element in node.slice:
        index = element.slice
        if isinstance(index, cst.Index):
            is_none = isinstance(index.value, cst.Name) and index.value.value == "None"
            if not isinstance(index.value, _BASIC) and not is_none:
                return False
    return True
