"""Views: parts of a tensor that keep the memory of all of it.

An index of numbers and slices gives a view, one of tensors, lists or masks a copy. A view is followed back to what was
computed, through other views; where anything on the way may copy, it is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import libcst as cst

from torchlint import torch_api
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.domain import Container, History, Instance, Tensor, sorted_values
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import places_of
from torchlint.facts.values.solve import Solution

RESHAPED = frozenset(
    ["detach", "view", "view_as", "squeeze", "unsqueeze", "transpose", "permute", "t", "swapaxes", "movedim",
     "unflatten"]
)  # fmt: skip
"""Methods that give all of a tensor's memory in another shape, and never copy."""

PARTS = frozenset(["select", "narrow", "diagonal"])
"""Methods that give a view of a part."""

PIECES = frozenset(["chunk", "split", "unbind", "tensor_split", "hsplit", "vsplit"])
"""Methods that give views of all parts, one after the other."""

RECURRENT = frozenset(f"torch.nn.{name}" for name in ("RNN", "GRU", "LSTM"))
"""Modules that return their outputs and their last states."""


ONLY_OF_TENSORS = frozenset(
    ["detach", "cpu", "cuda", "to", "requires_grad", "requires_grad_", "grad_fn", "softmax", "log_softmax", "sigmoid",
     "relu", "unsqueeze", "permute", "numpy", "backward", "half", "float", "double", "long", "topk", "norm", "exp",
     "log", "abs", "tanh", "dim", "contiguous", "expand", "chunk", "unbind", "narrow", "gather", "index_select",
     "numel", "masked_select", "is_cuda", "new_zeros", "new_tensor", "mm", "bmm", "matmul"]
)  # fmt: skip
"""Methods and attributes of tensors that arrays, texts and lists do not have."""


@dataclass(frozen=True)
class View:
    """A tensor that is a part of another.

    Attributes:
        base: what was computed and holds the memory.
        is_piece: True for one of ``chunk`` and the like.
        surely_smaller: False where the base may have one row, or one column, and no more.
    """

    base: Value
    is_piece: bool
    surely_smaller: bool


class Views:
    """Answers which values of one file are views of a part."""

    def __init__(self, solution: Solution, steps: Steps, *, windows: bool = False) -> None:
        """Look at the values of ``solution``; with ``windows``, ``x[i : i + n]`` is a part too."""
        self.solution = solution
        self.windows = windows
        self.steps = steps
        self._followed: set[Value] = set()

    def of(self, value: Value) -> View | None:
        """The tensor of which ``value`` is a part, None for a tensor of its own or where that is not certain."""
        found = self._walk(value)
        if found is None:
            return None
        base, parts = found
        if not parts or not self._is_tensor(base, parts) or self._has_one_row(base):
            return None
        width = self._width(base)
        if width == 1 and all(self._selects_column(part) for part in parts):
            return None
        sure = width is not None or any(self._surely_smaller(part, base) for part in parts)
        return View(base, any(part.op is Op.ELEMENT or _is_piece(part) for part in parts), sure)

    def base_of(self, value: Value) -> Value | None:
        """What holds the memory of ``value``, whether it is all of it or a part."""
        found = self._walk(value)
        return found[0] if found is not None else None

    def _walk(self, value: Value) -> tuple[Value, list[Value]] | None:
        """The computed value behind views, and those of the views that take a part; None when all is copied."""
        parts: list[Value] = []
        seen: set[Value] = set()
        while value not in seen:
            seen.add(value)
            kind, source = self._view(value)
            if kind == "none":
                return (value, parts)
            if kind == "unknown" or source is None:
                return None
            if kind == "part":
                parts.append(value)
            value = source
        return None

    def _view(self, value: Value) -> tuple[str, Value | None]:
        """One step back: "whole" or "part" of the source, "none" for what is no view, "unknown"."""
        if value.op is Op.SUBSCRIPT:
            return self._subscript(value)
        if value.op is Op.ELEMENT:
            base = value.inputs[0]
            pieces = _pieces_of(base)
            if pieces is None:
                return ("none", None)
            return ("part", pieces) if value.loop is base.loop else ("unknown", None)
        if value.op is Op.ATTRIBUTE:
            if value.name in ("data", "T", "mT"):
                return ("whole", value.inputs[0])
            return self._place(value)
        if value.op is Op.PARAMETER:
            given = self.solution.arguments_of(value)
            return ("whole", given[0]) if len(given) == 1 else ("unknown" if given else "none", None)
        if value.op is Op.PHI or value.op is Op.READ:
            return ("unknown", None)
        return self._call(value) if value.op is Op.CALL else ("none", None)

    def _place(self, value: Value) -> tuple[str, Value | None]:
        """What is stored there may be a view; where nothing is, as for the weight of a layer, it is no view."""
        is_stored = any(self.solution.stored.get(place) for place in places_of(self.solution, value))
        return ("unknown" if is_stored else "none", None)

    def _call(self, call: Value) -> tuple[str, Value | None]:
        callee = call.callee
        name = callee.name.rpartition(".")[2]
        source = callee.inputs[0] if callee.op is Op.ATTRIBUTE else call.arguments[0] if call.arguments else None
        if callee.op is Op.ATTRIBUTE or callee.name == f"torch.{name}":
            if name in RESHAPED:
                return ("whole", source)
            if name in PARTS:
                return ("part", source)
            if name in ("to", "cpu", "cuda", "float", "half", "double", "contiguous", "reshape", "flatten", "numpy"):
                return ("unknown", None)  # a copy, or not
        functions = self.solution.functions_of(call)
        if len(functions) == 1 and functions[0].result is not None and len(functions[0].result.inputs) == 1:
            result = functions[0].result.inputs[0]
            if call in self._followed or self.steps.calls_module(call):
                return ("none", None)  # a function that returns what it returns itself says nothing
            self._followed.add(call)
            kind = self._view(result)[0]
            self._followed.discard(call)
            if kind in ("whole", "part"):
                return ("whole", result)
        return ("none", None)

    # -- an index -------------------------------------------------------------------------------------------------

    def _subscript(self, value: Value) -> tuple[str, Value | None]:
        pieces = _pieces_of(value.inputs[0])
        if pieces is not None:
            return ("part", pieces)
        if any(isinstance(atom, Container) for atom in self.solution.final(value.inputs[0])):
            return ("none", None)  # an item of a tuple or a list, and not of a tensor
        kinds = [self._index(element.slice, value) for element in _slices(value)]
        if "copy" in kinds or not kinds:
            return ("none", None) if kinds == ["copy"] else ("unknown", None)
        if "unknown" in kinds:
            return ("unknown", None)
        return ("part" if "part" in kinds else "whole", value.inputs[0])

    def _index(self, node: cst.BaseSlice, value: Value) -> str:
        """What one element of an index does: "part", "whole", "copy" or "unknown"."""
        if isinstance(node, cst.Slice):
            return "part" if self.windows and _is_window(node) else _slice(node)
        assert isinstance(node, cst.Index)
        index = node.value
        if isinstance(index, cst.Ellipsis) or (isinstance(index, cst.Name) and index.value == "None"):
            return "whole"
        if _number(index) is not None:
            return "part"
        if isinstance(index, cst.List | cst.Comparison):
            return "copy"
        known = self._by_syntax.get(index)
        atoms = self.solution.final(known) if known is not None else frozenset()
        return "copy" if atoms and all(isinstance(atom, Tensor) for atom in atoms) else "unknown"

    @cached_property
    def _by_syntax(self) -> dict[cst.CSTNode, Value]:
        return {value.syntax: value for value in self.solution.graph.values if value.syntax is not None}

    # -- whether it is smaller -------------------------------------------------------------------------------------

    def _is_tensor(self, base: Value, parts: list[Value]) -> bool:
        """Whether the base is a tensor and no tuple, of which an item is a tensor of its own."""
        return self.is_tensor(base) or any(self._says_tensor(part) for part in parts)

    def _says_tensor(self, part: Value) -> bool:
        """Whether a part can only be one of a tensor (or of an array, whose views cost as much)."""
        if part.op is Op.CALL:
            return True
        if _pieces_of(part.inputs[0]) is not None:
            return False
        slices = _slices(part)
        if len(slices) > 1:
            return True
        # A slice of a list is a list; an item of a tuple may be anything.
        is_range = bool(slices) and isinstance(slices[0].slice, cst.Slice)
        return is_range and any(user.op is Op.ATTRIBUTE and user.name in ONLY_OF_TENSORS for user in part.users)

    def is_tensor(self, value: Value, depth: int = 6) -> bool:
        """Whether ``value`` is a tensor for certain, by what makes it or by what is done with it."""
        if any(user.op is Op.ATTRIBUTE and user.name in ONLY_OF_TENSORS for user in value.users):
            return True
        if depth == 0:
            return False
        if value.op is Op.OPERATION:
            # An array has no graph, and is no parameter.
            atoms = [atom for part in (value, *value.inputs) for atom in self.solution.final(part)]
            graphs = any(isinstance(a, Tensor) and a.history in (History.LIVE, History.LEAF) for a in atoms)
            return graphs or any(self.is_tensor(operand, depth - 1) for operand in value.inputs)
        if value.op is Op.PHI:
            return bool(value.inputs) and all(self.is_tensor(choice, depth - 1) for choice in value.inputs)
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            items = self._items(value)
            return bool(items) and all(self.is_tensor(item, depth - 1) for item in items)
        if value.op is not Op.CALL:
            return False
        callee = value.callee
        known = torch_api.function(callee.name) if callee.op is Op.EXTERNAL else None
        if callee.op is Op.ATTRIBUTE and not self.steps.calls_module(value):
            known = torch_api.method(callee.name)
            if callee.name not in ONLY_OF_TENSORS and not self.is_tensor(callee.inputs[0], depth - 1):
                return False  # an array has methods of the same names
        if known is not None:
            return known.returns is torch_api.Returns.TENSOR and not known.elements
        made = self._made(callee)
        if made is not None:
            return made.callee.name not in RECURRENT and "MultiheadAttention" not in made.callee.name
        functions = self.solution.functions_of(value)
        results = [f.result for f in functions if f.result is not None]
        return bool(results) and all(self.is_tensor(result, depth - 1) for result in results)

    def _items(self, value: Value) -> list[Value]:
        """What is in the containers of which ``value`` is an item."""
        return [
            item
            for atom in sorted_values(self.solution.final(value.inputs[0]))
            if isinstance(atom, Container)
            for key, item in self.solution.held.get(atom.allocation, ())
            if key is None or key == value.keys[0]
        ]

    def _made(self, module: Value) -> Value | None:
        """The call of a class of torch that makes a module, looked for behind variables and ``.to(device)``."""
        for _ in range(8):
            stored = [v for place in places_of(self.solution, module) for v in self.solution.stored.get(place, ())]
            if len(stored) == 1:
                module = stored[0]
            elif module.op is Op.CALL and module.callee.op is Op.ATTRIBUTE and module.callee.inputs:
                module = module.callee.inputs[0]
            elif module.op is Op.PARAMETER and len(given := self.solution.arguments_of(module)) == 1:
                module = given[0]
            else:
                break
        is_class = module.op is Op.CALL and torch_api.torch_class(module.callee.name) is not None
        return module if is_class else None

    def _width(self, value: Value, depth: int = 10) -> int | None:
        """How many columns the last layer before ``value`` gives, where that is written; None otherwise."""
        if depth == 0 or value.op not in (Op.CALL, Op.PHI):
            return None
        if value.op is Op.PHI:
            return self._width(value.inputs[0], depth - 1) if len(value.inputs) == 1 else None
        if self.steps.calls_module(value) or any(isinstance(a, Instance) for a in self.solution.final(value.callee)):
            made = self._made(value.callee)
            if made is not None:
                return self._width_of_layer(made)
            results = [f.result for f in self.solution.functions_of(value) if f.result is not None]
            return self._width(results[0], depth - 1) if len(results) == 1 else None
        if value.callee.op is Op.ATTRIBUTE and value.callee.name in (
            "softmax",
            "log_softmax",
            "sigmoid",
            "tanh",
            "relu",
        ):
            return self._width(value.callee.inputs[0], depth - 1)
        return (
            self._width(value.arguments[0], depth - 1) if value.callee.op is Op.EXTERNAL and value.arguments else None
        )

    def _width_of_layer(self, made: Value) -> int | None:
        if made.callee.name == "torch.nn.Linear":
            given = made.argument(1, "out_features")
            return _number(given.syntax) if given is not None else None
        if made.callee.name == "torch.nn.Sequential":
            layers = [layer for argument in reversed(made.arguments) if (layer := self._made(argument)) is not None]
            widths = [width for layer in layers if (width := self._width_of_layer(layer)) is not None]
            return widths[0] if widths else None
        return None

    def _has_one_row(self, base: Value) -> bool:
        """Whether the base is computed for a single example: ``net(x.unsqueeze(0))``, ``net(x[None])``."""
        for part in base.computed_from():
            if part.op is Op.CALL and part.callee.name.rpartition(".")[2] == "unsqueeze":
                dim = part.argument(0 if part.callee.op is Op.ATTRIBUTE else 1, "dim")
                if dim is not None and _number(dim.syntax) == 0:
                    return True
            if part.op is Op.SUBSCRIPT and (slices := _slices(part)):
                first = slices[0].slice
                if isinstance(first, cst.Index) and isinstance(first.value, cst.Name) and first.value.value == "None":
                    return True
        return False

    def _surely_smaller(self, part: Value, base: Value) -> bool:
        """Whether an index leaves out something, whatever the shape is likely to be."""
        if part.op is not Op.SUBSCRIPT or _pieces_of(part.inputs[0]) is not None:
            return True
        slices = [element.slice for element in _slices(part)]
        if len(slices) != 2 or not isinstance(slices[0], cst.Slice) or _slice(slices[0]) != "whole":
            return not self._is_last_state(base)
        second = slices[1]
        number = _number(second.value) if isinstance(second, cst.Index) else None
        return number is None or number > 0 or self._is_sequence(base)

    def _selects_column(self, part: Value) -> bool:
        slices = [element.slice for element in _slices(part)] if part.op is Op.SUBSCRIPT else []
        return len(slices) == 2 and isinstance(slices[0], cst.Slice) and isinstance(slices[1], cst.Index)

    def _is_sequence(self, base: Value) -> bool:
        """Whether the base is what a recurrent network gives for each time step."""
        return base.op is Op.ELEMENT and base.keys[0] == 0 and self._is_recurrent(base.inputs[0])

    def _is_last_state(self, base: Value) -> bool:
        return base.op is Op.ELEMENT and base.keys[0] != 0 and self._is_recurrent(base.inputs[0])

    def _is_recurrent(self, call: Value) -> bool:
        made = self._made(call.callee) if call.op is Op.CALL else None
        return made is not None and made.callee.name in RECURRENT


def _slices(value: Value) -> list[cst.SubscriptElement]:
    return list(value.syntax.slice) if isinstance(value.syntax, cst.Subscript) else []


def _slice(node: cst.Slice) -> str:
    """What a slice takes: a part when it ends, or begins, at a number that is written there."""
    if node.step is not None and (_number(node.step) or 1) > 1:
        return "part"
    lower, upper = _number(node.lower), _number(node.upper)
    if node.upper is not None and upper is None:
        return "unknown"
    if upper is not None and upper > 0:
        return "part"
    if lower is not None and lower < 0:
        return "part"
    if node.lower is not None and lower is None:
        return "unknown"
    return "whole"  # all of it, or nearly


def _is_window(node: cst.Slice) -> bool:
    """``i : i + n``: one of the pieces of which the whole is made."""
    upper = node.upper
    if not isinstance(upper, cst.BinaryOperation) or not isinstance(upper.operator, cst.Add):
        return False
    return isinstance(node.lower, cst.Name) and any(
        isinstance(side, cst.Name) and side.value == node.lower.value for side in (upper.left, upper.right)
    )


def _number(node: cst.CSTNode | None) -> int | None:
    from torchlint.facts.building.names import constant_of

    found = constant_of(node) if node is not None else None
    return found if isinstance(found, int) else None


def _pieces_of(value: Value) -> Value | None:
    """The tensor that ``chunk`` and the like cut, None for any other value."""
    if value.op is not Op.CALL or value.callee.name.rpartition(".")[2] not in PIECES:
        return None
    if value.callee.op is Op.ATTRIBUTE:
        return value.callee.inputs[0] if value.callee.name != "split" or not _is_text(value) else None
    return value.arguments[0] if value.callee.name.startswith("torch.") and value.arguments else None


def _is_text(call: Value) -> bool:
    """``text.split(",")`` and ``text.split()`` cut no tensor."""
    return not call.arguments or isinstance(call.arguments[0].syntax, cst.SimpleString)


def _is_piece(part: Value) -> bool:
    return part.op is Op.SUBSCRIPT and _pieces_of(part.inputs[0]) is not None
