"""What the calls of a file build: torch's own things that are meant to outlive a step, and what builders give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.autograd.records import makes_record
from torchlint.facts.host.datasets import NUM_WORKERS
from torchlint.facts.repeated.kindred_loaders import draws_from_kin
from torchlint.facts.repeated.shells import Shells, has_frozen_weights
from torchlint.facts.summaries.effect_kinds import WORKERS, EffectKind
from torchlint.facts.turns.data_passes import source_of_one
from torchlint.facts.turns.handoffs import origins
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import (
    Atom,
    ClassReference,
    Container,
    External,
    FunctionReference,
    Instance,
    Module,
    Partial,
    Tool,
    sorted_values,
)
from torchlint.facts.values.externals import TABULATED, Meaning, meaning_of
from torchlint.facts.values.frameworks import is_module_class, may_be_module
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.literals import literal
from torchlint.facts.values.making import is_remembered, keeps_what_it_gives, makes, may_build
from torchlint.facts.values.parameters import SAME_OBJECT, surely_has_parameters
from torchlint.facts.values.partials import called

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect
    from torchlint.facts.values.solve import Solution

BUILT = frozenset(["module", "loss", "optimizer", "scheduler", "scaler", "loader"])
"""Kinds of classes of torch that are meant to outlive a step."""

EMPTY = frozenset(["torch.nn.Module", "torch.nn.modules.module.Module"])
"""Classes that compute nothing and have no weights: what is made of them is the form of something else."""

NAMED_LOSSES = ("Loss", "Criterion")
"""Ends of the names of classes that compute a loss."""

LOADERS_OF_WEIGHTS = ("load", "from_pretrained")
"""Functions that build a model and read its weights from a file: another matter than building it."""


@dataclass(frozen=True)
class Product:
    """What a CALL builds.

    Attributes:
        kind: "module", "loss", "optimizer", "scheduler", "scaler", "loader"; "iterator" of a loader for one batch;
            "copy" of a model.
        weighs: True for a module that has parameters.
        is_operation: True for a module of torch that only computes, as a function of ``torch.nn.functional`` does.
        starts_workers: False for an iterator of a loader that is made in this file without workers, and for a loader
            that another one makes.
        is_shell: True for a module of the project without weights of its own, put around what was there before.
        has_tables: True for a module without weights that computes tables of numbers when it is made.
        file: the name of the file whose function makes it, and hands it to nobody; "" for any other.
    """

    kind: str
    weighs: bool = False
    is_operation: bool = False
    starts_workers: bool = True
    is_shell: bool = False
    has_tables: bool = False
    file: str = ""


class Products:
    """What is built in one file; the tables are filled as they are asked for."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts, self.solution = facts, facts.solution
        self._shells = Shells(facts.solution, self.of, self.is_model)
        self._made_by: dict[Function, Product | None] = {}

    def let_go(self) -> None:
        """Forget everything, once all is asked: this and its shells go round in a circle, and hold the whole tree."""
        vars(self).clear()

    @cached_property
    def found(self) -> dict[Value, Product]:
        """Each call that builds something, in the order of the walk, then each read of a property that does.

        And the calls that let another file do so.
        """
        here = {call: product for call in self.facts.calls() if (product := self.of(call)) is not None}
        reads = (read for read in self.facts.graph.of(Op.ATTRIBUTE) if read in self.solution.callees)
        here |= {read: product for read in reads if (product := self._read(read)) is not None}
        drawn = ((effect, self._drawn_by(effect)) for effect in self.facts.effects.of(EffectKind.STARTS))
        return {effect.call: product for effect, product in drawn if product is not None} | here

    def _drawn_by(self, effect: Effect) -> Product | None:
        """The iterator that a function of another file makes for one batch of its own loader, or of one it is given."""
        starts = effect.done.name == WORKERS
        if effect.done.of:
            loader = effect.given[0] if effect.given else None
            if loader is None or not is_loader(self.solution, loader):
                return None
            starts = not _has_no_workers(self.facts, loader)
        return Product("iterator", starts_workers=starts, file=effect.file)

    def _read(self, read: Value) -> Product | None:
        """What a property gives that builds it anew for whoever reads it, or None."""
        properties = self.solution.functions_of(read)
        is_anew = len(properties) == 1 and not is_remembered(properties[0])
        return self.made_by(properties[0]) if is_anew else None

    def of(self, call: Value) -> Product | None:
        """What a CALL builds, or None."""
        callee = call.callee
        if callee.op is Op.EXTERNAL:
            return self._of_external(call, callee.name)
        alternatives = sorted_values(self.solution.final(callee))
        if any(isinstance(atom, Instance | Module) for atom in alternatives):
            return None  # what may be a network by itself is run here
        of_classes = [
            self._of_class(call, atom.cls)
            for atom in alternatives
            if isinstance(atom, ClassReference) and is_module_class(atom.cls)
        ]
        if of_classes:
            return next((product for product in of_classes if product.weighs), of_classes[0])
        for atom in alternatives:
            if isinstance(atom, FunctionReference):
                return self.made_by(atom.function)
        return self._of_table(call)

    def _of_class(self, call: Value, cls: Class) -> Product:
        is_shell = self._shells.is_shell(call, cls)
        return Product("module", self._has_parameters(cls) and not is_shell, is_shell=is_shell)

    def _of_table(self, call: Value) -> Product | None:
        """``OPTIMIZERS[name](parameters)``, ``self.make(parameters)``: what all classes of a table or a partial are."""
        is_made = all(isinstance(atom, Partial) for atom in self.solution.final(call.callee))
        bounds = list(called(self.solution, call)) if is_made or call.callee.op is not Op.ATTRIBUTE else []
        products = {
            self._of_external(call, bound.atom.name) if isinstance(bound.atom, External) else None for bound in bounds
        }
        kinds = {product.kind if product is not None else "" for product in products}
        return next(iter(sorted(_known(products), key=_weight))) if len(kinds) == 1 and "" not in kinds else None

    def _of_external(self, call: Value, name: str) -> Product | None:
        made = torch_api.torch_class(name)
        if made is not None:
            if made.kind not in BUILT or name in EMPTY:
                return None
            inside = made.wraps and any(p.weighs for p in self._products_in(call))
            is_module = made.kind in ("module", "loss")
            weighs = is_module and (made.has_parameters or inside)
            return Product(made.kind, weighs, is_operation=is_module and not weighs and not made.wraps)
        if meaning_of(name) is Meaning.MODULE and not name.endswith(LOADERS_OF_WEIGHTS):
            return Product("module", weighs=True)
        if meaning_of(name) is Meaning.TRANSFORM:
            return Product("module", has_tables=name in TABULATED)
        if meaning_of(name) is Meaning.OPTIMIZER:
            return Product("optimizer")
        if name == "copy.deepcopy" and call.arguments and self.is_model(call.arguments[0]):
            return Product("copy")
        if is_written_as_class(name) and self._is_new_network(call):
            return Product("module", weighs=True)
        return drawn_anew(self.facts, call, or_kin=True)

    def _is_new_network(self, call: Value) -> bool:
        """Whether what a CALL gives is used as a network and made of none: a wrapper has the weights it is given.

        What says itself that it is a loss is used so as well, and seldom has weights: of one that is not seen it is
        unknown.
        """
        if call.callee.name.endswith(NAMED_LOSSES):
            return False
        if not any(isinstance(atom, Module) and atom.has_parameters for atom in self.solution.final(call)):
            return False
        return not any(may_be_module(self.solution, given) for given in call.arguments)

    def is_model(self, value: Value) -> bool:
        """Whether ``value`` is a module with parameters."""
        atoms = self.solution.final(value)
        modules = (a.has_parameters if isinstance(a, Module) else self._is_network(a) for a in atoms)
        return any(modules)

    def _is_network(self, atom: Atom) -> bool:
        return isinstance(atom, Instance) and is_module_class(atom.cls) and self._has_parameters(atom.cls)

    def _products_in(self, call: Value) -> Iterator[Product]:
        """What is built among the arguments of a call, in lists as well."""
        pending = list(call.arguments)
        while pending:
            value = pending.pop()
            if value.op in (Op.CONTAINER, Op.ELEMENT):
                pending.extend(value.inputs)
            elif value.op is Op.CALL and (product := self.of(value)) is not None:
                yield product

    def _has_parameters(self, cls: Class) -> bool:
        bases = (torch_api.torch_class(base) for base in cls.all_bases())
        if any(base is not None and base.has_parameters for base in bases):
            return True
        return surely_has_parameters(self.solution, cls) or self._holds_frozen_weights(cls)

    def _holds_frozen_weights(self, cls: Class) -> bool:
        kept = self.solution.stored_with(cls.root())
        elsewhere = self.solution.graph.foreign.frozen_weights
        return any(value in elsewhere or has_frozen_weights(value) for _, values in kept for value in values)

    def made_by(self, function: Function) -> Product | None:
        """What a builder builds: a function each of whose results is fresh. None for any other function."""
        if function not in self._made_by:
            self._made_by[function] = None  # a cycle of calls builds nothing
            if function.is_foreign:
                self._made_by[function] = self._made_elsewhere(function)
            elif may_build(self.solution, function):
                made = self._fresh(function.result, function)
                self._made_by[function] = None if made and keeps_what_it_gives(self.solution, function) else made
        return self._made_by[function]

    def _made_elsewhere(self, function: Function) -> Product | None:
        """What a builder of another file builds, as far as that shows in what it returns."""
        if function.result is None or not makes(self.solution, function):
            return None
        products = [self._of_atom(atom) for atom in self.solution.final(function.result)]
        return max(_known(products), key=_weight) if products and all(products) else None

    def _of_tuple(self, made: Value) -> Product | None:
        """What a tuple holds of what is built, the weightiest: ``return optimizer, scheduler``."""
        atoms = (atom for item in made.inputs for atom in self.solution.final(item) if not isinstance(atom, Container))
        return max(_known(map(self._of_atom, atoms)), key=_weight, default=None)

    def _of_atom(self, atom: Atom) -> Product | None:
        """What is built where no more is seen than what it is."""
        if isinstance(atom, Instance) and is_module_class(atom.cls):
            return Product("module", self._has_parameters(atom.cls))
        if isinstance(atom, Module):
            return Product("module", atom.has_parameters)
        if isinstance(atom, Container):
            return self._of_tuple(atom.allocation)
        if not isinstance(atom, Tool) or atom.kind not in BUILT:
            return None
        return Product(atom.kind, starts_workers=atom.kind != "loader")  # of which nobody sees whether it has any

    def _fresh(self, value: Value | None, function: Function) -> Product | None:
        """What is built within ``function`` on every path to ``value``; of a tuple or a record the weightiest item."""
        products = [self._fresh_choice(choice, function) for choice in choices(value) if choice.name != "None"]
        return max(_known(products), key=_weight) if products and all(products) else None

    def _fresh_choice(self, value: Value, function: Function) -> Product | None:
        if value.function is not function:
            return None
        given = self._put_together(value)
        if given:
            return max(_known(self._fresh(item, function) for item in given), key=_weight, default=None)
        while value.op is Op.CALL:
            product = self.of(value)
            if product is not None:
                return product if product.kind != "iterator" else None
            if value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT:
                value = value.callee.inputs[0]
            elif meaning_of(value.callee.name) is Meaning.FIRST and value.arguments:
                value = value.arguments[0]
            else:
                return None
        return None

    def _put_together(self, value: Value) -> Sequence[Value]:
        """What a tuple, a dictionary or a record is made of; nothing for anything else."""
        if value.op is Op.CONTAINER and isinstance(value.syntax, cst.Tuple | cst.Dict):
            return value.inputs
        is_record = makes_record(self.facts, value) and not self.is_model(value)
        return value.arguments if is_record else ()


def is_written_as_class(name: str) -> bool:
    """Whether the last part of a dotted name is written as those of classes are: https://peps.python.org/pep-0008/."""
    last = name.rpartition(".")[2]
    return last[:1].isupper() and not last.isupper() and "_" not in last


def drawn_anew(facts: Facts, call: Value, *, or_kin: bool = False) -> Product | None:
    """The iterator that ``next(iter(loader))`` makes for one batch; None for any other CALL.

    Args:
        facts: the facts of the file.
        call: a CALL.
        or_kin: True to count what is a loader as far as what was given beside it says; of its workers nothing is known.
    """
    loader = source_of_one(call)
    is_known = loader is not None and is_loader(facts.solution, loader)
    if loader is None or not (is_known or (or_kin and draws_from_kin(facts, call))):
        return None
    source = call.arguments[0]
    if source.loop is not call.loop:
        return None
    is_apart = source.statement is not call.statement
    if source.loop is not None and facts.skipping.is_skipped(source, source.loop, by_number=is_apart):
        return None  # the other turns draw from the iterator that an earlier one has made
    return Product("iterator", starts_workers=is_known and not _has_no_workers(facts, loader))


def is_loader(solution: Solution, value: Value) -> bool:
    """Whether ``value`` is a loader of batches."""
    return any(isinstance(atom, Tool) and atom.kind == "loader" for atom in solution.final(value))


def _has_no_workers(facts: Facts, loader: Value) -> bool:
    """Whether a loader is made in this file without workers: then nothing is started for its iterator."""
    made = [origin for origin in origins(facts, loader) if origin.op is Op.CALL]
    numbers = [call.argument(*NUM_WORKERS) for call in made]
    return bool(made) and all(number is None or literal(facts.solution, number) == 0 for number in numbers)


def _known(products: Iterable[Product | None]) -> list[Product]:
    return [product for product in products if product is not None]


def _weight(product: Product) -> tuple[bool, bool]:
    return product.weighs, product.kind == "module"
