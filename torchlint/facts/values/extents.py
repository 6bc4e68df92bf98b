"""How much of a batch a value is: all of it, a few numbers for each example, or a few for the whole batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, auto
from functools import cached_property

import libcst as cst

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.dictionaries import DICTIONARIES, is_item
from torchlint.facts.values.domain import Container, Plain
from torchlint.facts.values.frameworks import is_given_on_device
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.network_methods import is_method_of_module
from torchlint.facts.values.reaching import reached

REDUCTIONS = frozenset(
    ["mean", "sum", "nanmean", "nansum", "prod", "norm", "std", "var", "median", "max", "min", "amax", "amin",
     "logsumexp", "count_nonzero", "all", "any", "argmax", "argmin", "trace", "dot"]
)  # fmt: skip
"""Operations that leave one number of many, or one along a dimension."""

CHOICES = frozenset(["argmax", "argmin", "topk", "max", "min", "sort", "multinomial", "any", "all"])
"""Operations that leave a few numbers of each example."""

NORMS = frozenset(f"torch.nn.utils.{name}" for name in ("clip_grad_norm_", "clip_grad_norm", "get_total_norm"))
"""Functions that give one number for the gradients of a whole model."""

ELEMENTWISE = frozenset(
    f"{name}{form}" for name in ("Add", "Subtract", "Multiply", "Divide") for form in ("", "Assign")
) | {"Minus"}  # fmt: skip
"""Operators whose result is as large as the larger operand."""


class Size(Enum):
    """How much of a batch a value is."""

    WHOLE = auto()
    """All that was computed."""
    CHOICE = auto()
    """A few numbers for each example."""
    REDUCED = auto()
    """A number, or a few, for the batch."""


class Extents:
    """Answers how much of a batch the values of one file are, by the operations that lead to them."""

    def __init__(self, flows: Flows, steps: Steps) -> None:
        """Look through the helpers that ``flows`` knows."""
        self.solution = flows.solution
        self.steps = steps
        self._sizes: dict[Value, Size] = {}

    # -- whether it is an output ----------------------------------------------------------------------------------

    def is_output(self, value: Value) -> bool:
        """Whether ``value`` is what a module gives for a batch, or a gradient, in whatever form."""
        return any(map(self._gives_output, reached([value], self._sources)))

    def is_gradient(self, value: Value) -> bool:
        """Whether ``value`` is a gradient that a backward has left on weights, in whatever form."""
        return any(map(_is_gradient, reached([value], self._sources)))

    def _gives_output(self, value: Value) -> bool:
        if (self.steps.calls_module(value) and not self.is_loss(value)) or self.is_method_of_module(value):
            return True
        if _is_gradient(value):
            return True  # as large as the weights, and another one in each step
        foreign = self.solution.graph.foreign.outputs
        return is_given_on_device(value) or not foreign.isdisjoint(self.solution.functions_of(value))

    def is_method_of_module(self, call: Value) -> bool:
        """Whether a CALL runs a method of a module that is not one of every module: ``model.generate(x)``."""
        return is_method_of_module(self.solution, call)

    def _sources(self, value: Value) -> list[Value]:
        """What ``value`` is another form of."""
        if value.op is Op.CALL:
            if value.callee.op is Op.ATTRIBUTE and torch_api.method(value.callee.name) is not None:
                return [value.callee.inputs[0]]
            if value.callee.op is Op.EXTERNAL and torch_api.function(value.callee.name) is not None:
                return [*value.arguments[:1], *self._written.get(value, ())]
            if value.callee.op is Op.EXTERNAL and value.callee.name in DICTIONARIES:
                return list(value.arguments)
            return [f.result for f in self.solution.functions_of(value) if f.result is not None]
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        if value.op in (Op.PHI, Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE, Op.CONTAINER, Op.OPERATION):
            return list(value.inputs)
        return []

    @cached_property
    def _written(self) -> Mapping[Value, list[Value]]:
        """What is written into parts of what a CALL makes: ``out = torch.zeros(n, 4)``, ``out[i] = net(x)``."""
        table = defaultdict[Value, list[Value]](list)
        for store in self.solution.graph.stores:
            if store.is_item and store.holder is not None and store.holder.op is Op.CALL:
                table[store.holder].append(store.value)
        return table

    def is_loss(self, call: Value) -> bool:
        """Whether a CALL calls a loss of torch."""
        made = call.callee
        stored = stored_at(self.solution, made)
        known = [torch_api.torch_class(v.callee.name) for v in (made, *stored) if v.op is Op.CALL]
        return any(one is not None and one.kind == "loss" for one in known)

    @cached_property
    def _terms(self) -> frozenset[Value]:
        """What losses are added up and weighed from: a loss is one number, and so is each part of such a sum."""
        losses = [b.root for b in self.solution.graph.backwards if b.call is None or not _has_gradient(b.call)]
        return frozenset(reached(losses, _terms_in))

    # -- its size -------------------------------------------------------------------------------------------------

    def of(self, value: Value) -> Size:
        """How much of a batch ``value`` is."""
        if value not in self._sizes:
            self._sizes[value] = Size.WHOLE  # a cycle is what it is without the cycle
            self._sizes[value] = self._compute(value)
        return self._sizes[value]

    def _compute(self, value: Value) -> Size:
        if value in self._terms:
            return Size.REDUCED
        if value.op is Op.CALL:
            return self._of_call(value)
        if value.op is Op.OPERATION:
            parts = [v for v in value.inputs if not all(isinstance(a, Plain) for a in self.solution.final(v))]
            return _largest(map(self.of, parts), Size.REDUCED)
        if value.op is Op.COMPARISON:
            return Size.CHOICE
        if items := self._items_behind(value):
            return _largest(map(self.of, items), Size.WHOLE)
        if value.op in (Op.SUBSCRIPT, Op.ELEMENT, Op.ATTRIBUTE) and value.inputs:
            size = self.of(value.inputs[0])
            return Size.CHOICE if size is Size.WHOLE and _takes_part(value) else size
        return Size.WHOLE

    def _items_behind(self, value: Value) -> list[Value]:
        """What a value may be as an item of a pair, or of a dictionary that is gone through and made in the file."""
        if value.op is not Op.ELEMENT:
            return []
        base, key = value.inputs[0], value.keys[0]
        if base.op is Op.CONTAINER and key is not None and key in base.keys:
            return [base.inputs[base.keys.index(key)]]
        atoms = self.solution.final(base) if is_item(value) else ()
        made = [atom.allocation for atom in atoms if isinstance(atom, Container)]
        is_known = len(made) == len(atoms) and all(one.op is Op.CONTAINER for one in made)
        return [item for one in made if is_known for _, item in self.solution.held.get(one, ())]

    def _of_call(self, call: Value) -> Size:
        name = call.callee.name.rpartition(".")[2]
        if self.steps.calls_module(call):
            return Size.REDUCED if self.is_loss(call) else Size.WHOLE
        is_method, is_external = call.callee.op is Op.ATTRIBUTE, call.callee.op is Op.EXTERNAL
        if self.is_loss(call) or is_loss_function(call):
            return Size.REDUCED if call.argument(-1, "reduction") is None else Size.CHOICE
        if is_external and call.callee.name in NORMS:
            return Size.REDUCED
        if name in REDUCTIONS | CHOICES and (is_method or is_external):
            return self._of_reduction(call, name, 0 if is_method else 1)
        if is_method and torch_api.method(name) is not None:
            return self.of(call.callee.inputs[0])
        if is_external and torch_api.function(call.callee.name) is not None and call.arguments:
            return self.of(call.arguments[0])
        results = [f.result for f in self.solution.functions_of(call) if f.result is not None]
        return _largest((self.of(choice) for result in results for choice in result.inputs), Size.WHOLE)

    def _of_reduction(self, call: Value, name: str, position: int) -> Size:
        dim = call.argument(position) or call.argument(-1, "dim")
        over_batch = dim is None or (isinstance(dim.syntax, cst.Integer) and dim.syntax.value == "0")
        return Size.REDUCED if name in REDUCTIONS and over_batch else Size.CHOICE


def _is_gradient(value: Value) -> bool:
    return value.op is Op.ATTRIBUTE and value.name == "grad"


def is_loss_function(call: Value) -> bool:
    """Whether a CALL calls a function of torch that gives a loss, by its name: ``F.mse_loss``."""
    return call.callee.op is Op.EXTERNAL and call.callee.name.endswith(("_loss", "cross_entropy", "kl_div"))


def _has_gradient(call: Value) -> bool:
    """Whether a backward is told the gradient of its root, which then may have any shape."""
    return call.argument(0, "gradient") is not None


def _terms_in(value: Value) -> Sequence[Value]:
    """What is added up or weighed in a loss, or a part of one."""
    is_weighed = value.op is Op.OPERATION and value.name in ELEMENTWISE
    return value.inputs if value.op is Op.PHI or is_weighed else ()


def _takes_part(value: Value) -> bool:
    """Whether an index takes a column or a few rows; ``out[0]`` may be all that matters of a tuple."""
    slices = [element.slice for element in value.syntax.slice] if isinstance(value.syntax, cst.Subscript) else []
    numbers = any(isinstance(one, cst.Index) and isinstance(one.value, cst.Integer) for one in slices)
    ends = any(isinstance(one, cst.Slice) and isinstance(one.upper, cst.Integer) for one in slices)
    return ends or (numbers and len(slices) > 1)


def _largest(sizes: Iterable[Size], otherwise: Size) -> Size:
    found = set(sizes)
    return next((size for size in Size if size in found), otherwise)
