"""What views are taken of: whether it is a tensor and no tuple, how wide it is, and of how many rows."""

from __future__ import annotations

from collections.abc import Set

import libcst as cst

from torchlint import torch_api
from torchlint.facts.building.names import constant_of
from torchlint.facts.keeping.single_rows import has_single_row, may_have_single_row
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Container, History, Instance, Tensor, sorted_values
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.literals import is_true
from torchlint.facts.values.parameters import before_moves
from torchlint.facts.values.solve import Solution

RECURRENT = frozenset(f"torch.nn.{name}" for name in ("RNN", "GRU", "LSTM"))
"""Modules that return their outputs and their last states."""


STEPWISE = frozenset(
    f"torch.nn.{name}"
    for name in (
        "TransformerEncoder", "TransformerEncoderLayer", "TransformerDecoder", "TransformerDecoderLayer", "Transformer",
        "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    )
)  # fmt: skip
"""Modules that give something for each step of a sequence, or each place of a picture."""

OF_EACH_COLUMN = frozenset(
    f"torch.nn.{name}"
    for name in ("Linear", "LayerNorm", "Dropout", "Identity", "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid")
)
"""Modules that leave the dimensions before the last one as they are."""

OF_EACH_TOKEN = "last_hidden_state"
"""https://huggingface.co/docs/transformers/main_classes/output"""

DEPTH = 9
"""So many operations and functions back it is asked what makes a value."""

WHOLE = -1
"""What a function gives, by itself and not as an item of it."""

OF_OUTPUTS = frozenset([OF_EACH_TOKEN, "logits", "pooler_output", "image_embeds", "text_embeds"])
"""Attributes of what the models of transformers give that are tensors; their items are parts of them."""

OF_TENSORS = frozenset(["T", "mT", "H", "mH", "real", "imag", "data"])
"""Attributes of a tensor that are tensors; an array has some of them, too."""

ONLY_OF_TENSORS = frozenset(
    ["detach", "cpu", "cuda", "to", "requires_grad", "requires_grad_", "grad_fn", "softmax", "log_softmax", "sigmoid",
     "relu", "unsqueeze", "permute", "numpy", "backward", "half", "float", "double", "long", "topk", "norm", "exp",
     "log", "abs", "tanh", "dim", "contiguous", "expand", "chunk", "unbind", "narrow", "gather", "index_select",
     "numel", "masked_select", "is_cuda", "new_zeros", "new_tensor", "mm", "bmm", "matmul"]
)  # fmt: skip
"""Methods and attributes of tensors that arrays, texts and lists do not have."""


class Bases:
    """Answers it for the values of one file."""

    def __init__(self, solution: Solution, steps: Steps) -> None:
        """Look at the values of ``solution``."""
        self.solution = solution
        self.steps = steps

    def is_tensor(self, value: Value, depth: int = DEPTH) -> bool:
        """Whether ``value`` is a tensor for certain, by what makes it or by what is done with it."""
        if any(user.op is Op.ATTRIBUTE and user.name in ONLY_OF_TENSORS for user in value.users):
            return True
        if depth == 0:
            return False
        if value.op is Op.ATTRIBUTE:
            if value.name in OF_TENSORS:
                return self.is_tensor(value.inputs[0], depth - 1)
            return value.name in OF_OUTPUTS and self.steps.calls_module(value.inputs[0])
        if value.op is Op.OPERATION:
            # An array has no graph, and is no parameter.
            atoms = [atom for part in (value, *value.inputs) for atom in self.solution.final(part)]
            graphs = any(isinstance(a, Tensor) and a.history in (History.LIVE, History.LEAF) for a in atoms)
            return graphs or any(self.is_tensor(operand, depth - 1) for operand in value.inputs)
        if value.op is Op.PHI:
            return bool(value.inputs) and all(self.is_tensor(choice, depth - 1) for choice in value.inputs)
        if value.op is Op.PARAMETER:
            passed = self.solution.arguments_of(value)
            return bool(passed) and all(self.is_tensor(argument, depth - 1) for argument in passed)
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            if self.is_sequence(value) or _is_sound(value):
                return True
            if value.keys[0] in self._given_elsewhere(value.inputs[0]):
                return True
            if value.keys[0] is None and WHOLE in self._given_elsewhere(value):
                return True
            items = self._items(value)
            return bool(items) and all(self.is_tensor(item, depth - 1) for item in items)
        if value.op is not Op.CALL:
            return False
        callee = value.callee
        known = torch_api.function(callee.name) if callee.op is Op.EXTERNAL else None
        functions = self.solution.functions_of(value)
        if callee.op is Op.ATTRIBUTE and not functions and not self.steps.calls_module(value):
            known = torch_api.method(callee.name)
            if callee.name not in ONLY_OF_TENSORS and not self.is_tensor(callee.inputs[0], depth - 1):
                return False  # an array has methods of the same names
        if callee.op is Op.EXTERNAL and meaning_of(callee.name) is Meaning.REDUCES and value.arguments:
            return not callee.name.startswith("builtins.") and self.is_tensor(value.arguments[0], depth - 1)
        if known is not None:
            if is_tuple_of_places(value):
                return False
            return known.returns is torch_api.Returns.TENSOR and not known.elements
        made = self._made(callee)
        if made is not None:
            return made.callee.name not in RECURRENT and "MultiheadAttention" not in made.callee.name
        given = [function for function in functions if function.result is not None]
        return bool(given) and all(self._gives_tensor(function, depth - 1) for function in given)

    def _gives_tensor(self, function: Function, depth: int) -> bool:
        is_told = WHOLE in self.solution.graph.foreign.tensors.get(function, ())
        return is_told or (function.result is not None and self.is_tensor(function.result, depth))

    def _given_elsewhere(self, call: Value) -> Set[int | str | None]:
        """The items that are tensors of what a CALL of functions of other files gives, or a turn over a generator."""
        is_turn = call.op is Op.ELEMENT and call.keys[0] is None
        functions = self._generators_of(call.inputs[0]) if is_turn else self._functions_of(call)
        told = [frozenset(self.solution.graph.foreign.tensors.get(function, ())) for function in functions]
        return frozenset.intersection(*told) if told else frozenset()

    def _functions_of(self, call: Value) -> list[Function]:
        functions = self.solution.functions_of(call) if call.op is Op.CALL else []
        return [] if any(function.is_generator for function in functions) else functions

    def _generators_of(self, call: Value) -> list[Function]:
        functions = self.solution.functions_of(call) if call.op is Op.CALL else []
        return functions if all(function.is_generator for function in functions) else []

    def given_by(self, function: Function) -> tuple[int, ...]:
        """What a function gives that is a tensor for certain: :data:`WHOLE`, or items of the one tuple."""
        result = function.result
        if result is None or self.is_tensor(result):
            return (WHOLE,) if result is not None else ()
        given = choices(result)
        items = given[0].inputs if len(given) == 1 and isinstance(given[0].syntax, cst.Tuple) else ()
        return tuple(position for position, item in enumerate(items) if self.is_tensor(item))

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
        """The call of a class of torch, or of a transform, that makes a module, behind variables, ``.to(device)``."""
        for _ in range(8):
            stored = stored_at(self.solution, module)
            if len(stored) == 1:
                module = stored[0]
            elif module.op is Op.CALL and module.callee.op is Op.ATTRIBUTE and module.callee.inputs:
                module = module.callee.inputs[0]
            elif module.op is Op.PARAMETER and len(given := self.solution.arguments_of(module)) == 1:
                module = given[0]
            else:
                break
        if module.op is not Op.CALL:
            return None
        name = module.callee.name
        is_class = torch_api.torch_class(name) is not None or meaning_of(name) is Meaning.TRANSFORM
        return module if is_class else None

    def width(self, value: Value, depth: int = 10) -> int | None:
        """How many columns the last layer before ``value`` gives, where that is written; None otherwise."""
        if depth == 0 or value.op not in (Op.CALL, Op.PHI):
            return None
        if value.op is Op.PHI:
            return self.width(value.inputs[0], depth - 1) if len(value.inputs) == 1 else None
        if self.steps.calls_module(value) or self.solution.may_be(value.callee, Instance):
            made = self._made(value.callee)
            if made is not None:
                return self._width_of_layer(made)
            functions = self.solution.functions_of(value)
            if len(functions) == 1 and functions[0] in self.solution.graph.foreign.widths:
                return self.solution.graph.foreign.widths[functions[0]]
            results = [f.result for f in functions if f.result is not None]
            return self.width(results[0], depth - 1) if len(results) == 1 else None
        if value.callee.op is Op.ATTRIBUTE and value.callee.name in (
            "softmax",
            "log_softmax",
            "sigmoid",
            "tanh",
            "relu",
        ):
            return self.width(value.callee.inputs[0], depth - 1)
        return self.width(value.arguments[0], depth - 1) if value.callee.op is Op.EXTERNAL and value.arguments else None

    def _width_of_layer(self, made: Value) -> int | None:
        if made.callee.name == "torch.nn.Linear":
            given = made.argument(1, "out_features")
            return number_of(given.syntax) if given is not None else None
        if made.callee.name == "torch.nn.Sequential":
            layers = [layer for argument in reversed(made.arguments) if (layer := self._made(argument)) is not None]
            widths = [width for layer in layers if (width := self._width_of_layer(layer)) is not None]
            return widths[0] if widths else None
        return None

    def has_one_row(self, base: Value) -> bool:
        """Whether the base is computed for a single example: ``net(x.unsqueeze(0))``, ``net(x[None])``."""
        for part in base.computed_from():
            if part.op is Op.CALL and part.callee.name.rpartition(".")[2] == "unsqueeze":
                dim = part.argument(0 if part.callee.op is Op.ATTRIBUTE else 1, "dim")
                if dim is not None and number_of(dim.syntax) == 0:
                    return True
            if part.op is Op.SUBSCRIPT and (slices := slices_of(part)):
                first = slices[0].slice
                if isinstance(first, cst.Index) and isinstance(first.value, cst.Name) and first.value.value == "None":
                    return True
                if isinstance(first, cst.Slice) and is_of_one(first):
                    return True
        return has_single_row(self.steps, base)

    def may_have_one_row(self, base: Value) -> bool:
        """Whether it is, as far as the file says."""
        return may_have_single_row(self.steps, base)

    def is_sequence(self, base: Value) -> bool:
        """Whether the base is what a recurrent network, or an encoder of Hugging Face, gives for each time step."""
        if base.op is Op.ATTRIBUTE and base.name == OF_EACH_TOKEN:
            return self.steps.calls_module(base.inputs[0])
        return base.op is Op.ELEMENT and base.keys[0] == 0 and self._is_recurrent(base.inputs[0])

    def has_steps(self, base: Value, depth: int = DEPTH) -> bool:
        """Whether the base has rows, steps or places in them, and columns: what an encoder or a convolution gives."""
        if depth == 0:
            return False
        if base.op is Op.OPERATION:
            return any(self.has_steps(part, depth - 1) for part in base.inputs)
        if base.op is not Op.CALL or before_moves(base) is not base:
            return self.is_sequence(base) or (base.op is Op.CALL and self.has_steps(before_moves(base), depth - 1))
        made = self._made(base.callee) if self.steps.calls_module(base) else None
        if made is not None:
            is_kept = made.callee.name in OF_EACH_COLUMN and len(base.arguments) == 1
            return made.callee.name in STEPWISE or (is_kept and self.has_steps(base.arguments[0], depth - 1))
        functions = self.solution.functions_of(base)
        results = choices(functions[0].result) if len(functions) == 1 else []
        return bool(results) and all(self.has_steps(result, depth - 1) for result in results)

    def is_last_state(self, base: Value) -> bool:
        """Whether the base is a state with which a recurrent network ends."""
        return base.op is Op.ELEMENT and base.keys[0] != 0 and self._is_recurrent(base.inputs[0])

    def _is_recurrent(self, call: Value) -> bool:
        made = self._made(call.callee) if call.op is Op.CALL else None
        return made is not None and made.callee.name in RECURRENT


def _is_sound(item: Value) -> bool:
    """``wave, rate = torchaudio.load(path)``: whether an item is what was heard."""
    loaded = item.inputs[0]
    is_first = item.keys[0] == 0 and loaded.op is Op.CALL and loaded.callee.op is Op.EXTERNAL
    return is_first and meaning_of(loaded.callee.name) is Meaning.SOUND


def is_tuple_of_places(call: Value) -> bool:
    """``torch.where(mask)``, ``mask.nonzero(as_tuple=True)``: one tensor for each dimension."""
    name = call.callee.name
    if name == "torch.where":
        return len(call.arguments) == 1
    return name.rpartition(".")[2] == "nonzero" and is_true(call.argument(-1, "as_tuple"))


def is_of_one(node: cst.Slice) -> bool:
    """``x[i : i + 1]``, ``x[:1]``, ``x[3:4]``."""
    lower, upper = node.lower, node.upper
    if lower is None or number_of(lower) is not None:
        ends = number_of(upper)
        return ends is not None and ends - (number_of(lower) or 0) == 1
    if not isinstance(upper, cst.BinaryOperation) or not isinstance(upper.operator, cst.Add):
        return False
    return number_of(upper.right) == 1 and upper.left.deep_equals(lower)


def slices_of(value: Value) -> list[cst.SubscriptElement]:
    """The elements of an index, as they are written."""
    return list(value.syntax.slice) if isinstance(value.syntax, cst.Subscript) else []


def index_of(part: Value) -> list[cst.BaseSlice]:
    """What stands in the index of a SUBSCRIPT, dimension by dimension; nothing for any other value."""
    return [element.slice for element in slices_of(part)] if part.op is Op.SUBSCRIPT else []


def number_of(node: cst.CSTNode | None) -> int | None:
    """The whole number that is written there."""
    found = constant_of(node) if node is not None else None
    return found if isinstance(found, int) else None
