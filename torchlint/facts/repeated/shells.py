"""Modules of the project that are shells: all their weights are those of a model that was there before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.domain import Argument, Instance, Module, Unknown
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.graph import Class, Op, Value
from torchlint.facts.values.parameters import before_moves, has_parameters, may_train

if TYPE_CHECKING:
    from torchlint.facts.repeated.products import Product
    from torchlint.facts.values.solve import Solution

COPIERS = frozenset(["copy.deepcopy", "copy.copy"])

HAD = frozenset([Op.PARAMETER, Op.ATTRIBUTE, Op.READ, Op.CONSTANT])
"""How a value comes to be that is not made where it is used."""

IMPORTED = frozenset([Op.EXTERNAL, Op.GIVEN])
"""How a value comes to be that another file has."""

CHOSEN = frozenset([Op.SUBSCRIPT, Op.ELEMENT])
"""How a value is taken out of another."""


class Shells:
    """Says of the modules that a file makes whether they bring weights of their own."""

    def __init__(
        self, solution: Solution, product: Callable[[Value], Product | None], is_model: Callable[[Value], bool]
    ) -> None:
        """Ask ``product`` what a CALL builds, and ``is_model`` whether a value is a module with parameters."""
        self.solution = solution
        self.product = product
        self.is_model = is_model
        self._own: dict[Class, bool] = {}

    def is_shell(self, call: Value, cls: Class) -> bool:
        """Whether CALL ``call`` makes a ``cls`` that only has the weights it is given, and these were there before."""
        if self._has_own_weights(cls) or not has_parameters(self.solution, cls):
            return False
        return all(map(self._is_no_new_model, call.arguments))

    def _is_no_new_model(self, argument: Value) -> bool:
        """Whether an argument is a model that was there before, made of one, or no model at all."""
        if was_there(self.solution, argument) or argument.op in IMPORTED:
            return True
        if argument.op is Op.CALL:
            if (product := self.product(argument)) is not None:
                return product.is_shell
            if all(function.is_foreign for function in self.solution.functions_of(argument)):
                # A function that is not seen whole is given a model, and makes it of what that has.
                if any(self.is_model(given) and was_there(self.solution, given) for given in argument.arguments):
                    return True
        return not self.solution.may_be(argument, Module | Instance | Unknown)

    def _has_own_weights(self, cls: Class) -> bool:
        """Whether a class builds anything that trains, and does not only keep what it is given."""
        if cls not in self._own:
            self._own[cls] = self._builds_weights(cls)
        return self._own[cls]

    def _builds_weights(self, cls: Class) -> bool:
        bases = (torch_api.torch_class(base) for base in cls.all_bases())
        if any(base is not None and base.has_parameters for base in bases):
            return True
        family = {ancestor.root() for ancestor in cls.lineage()}
        kept = (value for owner in family for _, values in self.solution.stored_with(owner) for value in values)
        own = (value for value in kept if not (was_there(self.solution, value) or self._is_passed(value)))
        elsewhere = self.solution.graph.foreign.frozen_weights
        return any(v in elsewhere or may_train(self.solution, v) or has_frozen_weights(v) for v in own)

    def _is_passed(self, kept: Value) -> bool:
        """Whether what a class of another file keeps is what it is given, and nothing else."""
        atoms = self.solution.of(kept)
        return kept.op is Op.GIVEN and bool(atoms) and all(isinstance(atom, Argument) for atom in atoms)


def has_frozen_weights(value: Value) -> bool:
    """``vgg16().features.requires_grad_(False)``: whether torch, or a collection of models, makes weights on the way.

    Such a module trains nothing, and weighs as much as one that does.
    """
    return any(part.op is Op.CALL and _makes_weights(part.callee) for part in value.computed_from())


def _makes_weights(maker: Value) -> bool:
    if maker.op is not Op.EXTERNAL:
        return False
    made = torch_api.torch_class(maker.name)
    return made.has_parameters if made is not None else meaning_of(maker.name) is Meaning.MODULE


def was_there(solution: Solution, value: Value) -> bool:
    """Whether nothing new is made on the way to ``value``: given, kept, a part or copy of such, or None.

    A function of the project counts for what it hands back: ``adapt(model)`` whose result is ``model``.
    """
    pending, seen = [value], set[Value]()
    while pending:
        current = before_moves(pending.pop())
        if current in seen:
            continue
        seen.add(current)
        functions = solution.functions_of(current)  # those of a property as well
        if current.op is Op.PHI:
            pending.extend(current.inputs)
        elif current.op in CHOSEN or (current.op is Op.ATTRIBUTE and current.inputs[0].op is Op.CALL):
            pending.append(current.inputs[0])
        elif current.op is Op.CALL and current.callee.name in COPIERS and current.arguments:
            pending.append(current.arguments[0])
        elif functions and all(f.result is not None and not f.is_generator for f in functions):
            pending.extend(f.result for f in functions if f.result is not None)
        elif functions or current.op not in HAD:
            return False
    return True
