"""What is built again and again: modules, losses, optimizers, schedulers, scalers and loaders that every step makes.

How often a place runs is ``repetition.py``'s to say. What is built there is left alone when it belongs to its turn (an
optimizer for a model that is new as well), and what a builder builds counts where the builder is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.host.datasets import NUM_WORKERS
from torchlint.facts.repeated.belonging import (
    has_momentum,
    is_born_in,
    is_given_weights,
    is_kept,
    is_of_chance,
    is_registered,
    is_told_module,
    set_by,
    wraps_own_parts,
)
from torchlint.facts.repeated.builders import deciding
from torchlint.facts.repeated.idle_copies import idle_copy
from torchlint.facts.repeated.making_over import is_made_over
from torchlint.facts.repeated.products import Product, Products
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.turns.changing import changes_with, is_computed_with
from torchlint.facts.turns.sources import sources_of
from torchlint.facts.turns.turn import Repetition, Turn
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import History, Tensor
from torchlint.facts.values.graph import Function, Kind, Loop, Op, Value
from torchlint.facts.values.literals import literal
from torchlint.facts.values.parameters import SAME_OBJECT, before_moves
from torchlint.facts.values.writing import text_of
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts


SEEDS = frozenset(["manual_seed", "manual_seed_all", "seed_everything", "set_seed"])
"""Functions that decide what weights are drawn from then on, by the last part of the name."""

BUILDERS = 2
"""So many builders may call each other before one builds."""

WHEREABOUTS = frozenset(["device", "dtype", "is_cuda"])
"""Attributes of a batch that are the same in each step."""


@dataclass(frozen=True)
class Construction:
    """Something that is built again and again.

    Attributes:
        call: what builds it: a CALL, or the read of a property that builds it for each who reads it.
        product: what it builds.
        repeated_by: the loop each turn of which builds it, or the method that does with each call.
        follows_input: True when it is built from what differs from step to step, and so cannot be built before.
        trial: True when each turn is a whole training and the last model is still referenced.
        holder: TRIAL: the variable or the container that references it.
        piles_up: TRIAL: the holder is a container and keeps all of them.
        is_now_and_then: an iterator that starts workers in every n-th turn only.
        is_idle: a copy of a network for a look at it, whose ``holder`` keeps it through the training that follows.
        member: a layer that each turn registers in the place of the last one: the attribute of a module that gets it.
    """

    call: Value
    product: Product
    repeated_by: Loop | Function
    follows_input: bool = False
    trial: bool = False
    holder: str = ""
    piles_up: bool = False
    is_now_and_then: bool = False
    is_idle: bool = False
    member: str = ""

    @property
    def is_read(self) -> bool:
        """Whether the program only reads a property, which builds it."""
        return self.call.op is Op.ATTRIBUTE


def constructions(facts: Facts) -> list[Construction]:
    """Everything that is built again and again, at most one for each statement, the weightiest."""
    search = _Search(facts)
    found = search.found()
    search.kinds.let_go()
    return found


class _Search:
    """One file's search; the tables are filled as they are asked for."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution, self.steps = facts.solution, facts.steps
        self.repetitions = facts.repetitions
        self.kinds = Products(facts)
        self.products = self.kinds.found
        self._loading = {effect.call for effect in facts.effects.of(EffectKind.LOADS)}
        # A model that a request names and puts in the place of the last one is told of the load.
        named = (reload.load.call.function for reload in facts.reloads if reload.is_named)
        calls = (call for function in named for call in self.solution.callers.get(function, ()))
        self._loading.update(filter(self._is_put_in_place, calls))

    def _is_put_in_place(self, call: Value) -> bool:
        """``self.net = self.build(path).to(device)`` of a function that runs no network."""
        stores = (store for store in self.facts.graph.stores if store.attribute and store.function is call.function)
        is_kept = any(before_moves(store.value) is call for store in stores)
        return is_kept and not any(map(self.steps.calls_module, self.steps.calls_in(call.function)))

    def found(self) -> list[Construction]:
        """See :func:`constructions`."""
        best: dict[cst.CSTNode, Construction] = {}
        for call in self.products:
            construction = self._of(call) or self._idle(call)
            if construction is None:
                continue
            statement = self.facts.statement_of(call)
            known = best.get(statement)
            if known is None or self._rank(construction) > self._rank(known):
                best[statement] = construction
        return [replace(one, member=self._member(one)) for one in best.values()]

    def _member(self, construction: Construction) -> str:
        """``self.head`` of ``self.head = nn.Linear(8, 8).to(x.device)`` where ``self`` is a module."""
        if construction.trial or construction.product.kind != "module" or not construction.product.weighs:
            return ""
        for store in self.facts.graph.stores:
            if store.holder is not None and (store.attribute or store.is_item):
                is_it = any(self._is_same(value, construction.call) for value in choices(store.value))
                if is_it and self.facts.tensors.is_module(store.holder):
                    return text_of(store.target, store.holder) + "[...]" * store.is_item
        return ""

    def _rank(self, construction: Construction) -> tuple[bool, int]:
        """Weights first, then what holds the rest: the outermost of nested calls comes last in the walk."""
        return construction.product.weighs, construction.call.index

    def _of(self, call: Value) -> Construction | None:
        if self._is_of_tests(call) or is_given_weights(self.facts, call):
            return None
        if call.callee.name == "torch.optim.SGD" and not has_momentum(call):
            return None  # it remembers nothing that could be lost
        product, rare = self.products[call], None
        repetition = self.repetitions.of(call, self._is_builder_of)
        is_dear = product.kind == "optimizer" or (product.kind == "iterator" and product.starts_workers)
        if repetition is None and is_dear:
            # To start the workers takes as long as many steps do, and what an optimizer remembers is lost each time.
            repetition = rare = self.repetitions.of(call, self._is_builder_of, now_and_then=True)
        if repetition is None:
            return None
        if call in self._loading:
            return None  # what another file builds and reads from a file is told as read
        loop = repetition.by
        follows = self._follows_input(call, repetition)
        is_weightless = product.kind == "module" and not product.weighs and not product.is_operation
        if is_weightless and wraps_own_parts(self.facts, call):
            return None
        wraps = product.is_shell or self._wraps_given(call) or (follows and not product.weighs)
        if wraps and product.kind != "optimizer" and call.callee.op is not Op.EXTERNAL:
            return None  # a class of the project that wraps its input
        if product.kind == "copy" and (is_kept(self.facts, call) or is_made_over(call)):
            return None
        if isinstance(loop, Function):
            if loop in self.repetitions.request_handlers and is_registered(self.facts, call):
                return None
            is_trifle = is_weightless and (follows or not product.has_tables)
            if is_trifle and self.repetitions.is_asked_by_others(loop):
                return None  # whatever it answers takes longer than to make what keeps nothing
            return Construction(call, product, loop, follows)
        if product.kind == "copy" and self._is_part_of_step(loop) and not follows:
            return Construction(call, product, loop)
        if repetition.turn is Turn.HOLDS or (product.weighs and self._is_trained_in_turn(call, loop)):
            return self._trial(call, product, loop)
        if self._belongs_to_turn(call, product, repetition):
            return self._again_in_each_step(call, product, loop)
        return Construction(call, product, loop, follows, is_now_and_then=rare is not None)

    def _again_in_each_step(self, call: Value, product: Product, loop: Loop) -> Construction | None:
        """What each turn of a loop within a step builds anew: ``for name in names: loss = build(name)``."""
        step = self.repetitions.of(call, self._is_builder_of, beyond=loop)
        if step is None or step.turn is Turn.HOLDS or self._belongs_to_turn(call, product, step):
            return None
        return None if self._follows_input(call, step) else Construction(call, product, step.by)

    def _is_of_tests(self, call: Value) -> bool:
        """Whether a test makes it, or a function that only tests call."""
        return self.facts.unit_tests.may_have(call.function) or self.facts.unit_tests.has(call.function)

    def _wraps_given(self, call: Value) -> bool:
        """Whether a class is given the model that it runs: it has no weights of its own to be new."""
        return any(self.kinds.is_model(given) or is_told_module(given) for given in call.arguments)

    def _is_part_of_step(self, loop: Loop) -> bool:
        """Whether a loop runs within one step of an optimizer: over its tasks, its parts of a batch."""
        return any(self.repetitions.turn(around) is Turn.TRAINS for around in loop.around()[1:])

    def _is_builder_of(self, call: Value) -> bool:
        """Whether the function around ``call`` builds for its caller, or hands out this one.

        A batch is handed out without the iterator that it is the first of.
        """
        function, product = call.function, self.products.get(call)
        if product is not None and product.kind == "iterator":
            return False
        if self.kinds.made_by(function) is not None:
            return True
        if product is None:
            return False  # a number that a step gives: what is built for it stays with the step
        handed = choices(function.result)
        handed += [choice for v in handed if v.op is Op.CONTAINER for item in v.inputs for choice in choices(item)]
        return any(self._is_same(value, call) for value in handed)

    # -- what belongs to one turn ---------------------------------------------------------------------------------

    def _belongs_to_turn(self, call: Value, product: Product, repetition: Repetition) -> bool:
        """Whether what is built is another thing in each turn, so that it cannot be built once.

        A loader over what a training step splits into parts can be done without.
        """
        loop = repetition.by
        if not isinstance(loop, Loop):
            return False
        if product.kind == "module" and self._is_seeded_in(loop):
            return True
        made_of = [*self._decisive(call, product), *(set_by(self.facts, call) if product.weighs else ())]
        sources = sources_of(self.solution, made_of, repetition.chain)
        if any(self._is_trained_thing(s) and self._is_made_in_turn(s, loop, repetition.chain) for s in sources):
            return True  # an optimizer for what is new as well
        if product.kind == "iterator" and any(s.op is Op.ELEMENT and s.loop is loop for s in call.computed_from()):
            return True  # ``for loader in loaders: first = next(iter(loader))``
        if loop.iterable is not None and self.steps.is_loader(loop.iterable):
            return False
        if product.kind == "loader" and repetition.turn is Turn.TRAINS and not self._reads_other_data(call, loop):
            return False
        return any(_changes_with(source, loop) for source in sources)

    def _decisive(self, call: Value, product: Product) -> Sequence[Value]:
        """What decides which thing a CALL builds: of an optimizer what it trains, its rates could be set in place.

        Where a batch lies, ``Features(x.device)``, decides nothing.
        """
        trained = self._trained_by(call) if product.kind == "optimizer" else []
        return trained or [one for one in call.inputs if not (one.op is Op.ATTRIBUTE and one.name in WHEREABOUTS)]

    def _trained_by(self, call: Value, depth: int = BUILDERS) -> list[Value]:
        """What an optimizer that a CALL builds is to train, as its class is told, be it in a builder of the file.

        LBFGS goes through many steps in one of its own.
        """
        builders = self.solution.functions_of(call)
        if not builders:
            trained = call.argument(0, "params")
            return [] if trained is None or call.callee.name.endswith(".LBFGS") else [trained]
        built = (one for builder in builders for one in choices(builder.result) if one.op is Op.CALL)
        return [trained for one in built for trained in self._trained_by(one, depth - 1)] if depth else []

    def _is_seeded_in(self, loop: Loop) -> bool:
        """``for seed in range(5): torch.manual_seed(seed)``: each turn draws other weights, and is meant to."""
        seeding = (
            call for call in self.steps.calls_in(loop.function)
            if call.loop is not None and loop in call.loop.around() and self._seeds(call)
        )  # fmt: skip
        return any(changes_with(given, loop) for call in seeding for given in call.arguments)

    def _seeds(self, call: Value) -> bool:
        inner = (one for function in self.solution.functions_of(call) for one in self.steps.calls_in(function))
        return any(one.callee.name.rpartition(".")[2] in SEEDS for one in (call, *inner))

    def _reads_other_data(self, call: Value, loop: Loop) -> bool:
        """Whether a loader without workers reads a data set that each turn makes, and not tensors of the step."""
        data = call.argument(0, "dataset")
        workers = call.argument(*NUM_WORKERS)
        if data is None or data.op is not Op.CALL or (workers is not None and literal(self.solution, workers) != 0):
            return False
        is_made_here = data.loop is not None and loop in data.loop.around()
        return is_made_here and data.callee.name.rpartition(".")[2] != "TensorDataset"

    def _follows_input(self, call: Value, repetition: Repetition) -> bool:
        """Whether what a step is given decides how ``call`` builds."""
        sources, by = sources_of(self.solution, deciding(self.facts, call), repetition.chain), repetition.by
        if isinstance(by, Loop):
            return any(_changes_with(source, by) for source in sources)
        given = self._given_by_others(by)
        return any(source in given or is_of_chance(source) for source in sources)

    def _given_by_others(self, function: Function) -> list[Value]:
        """The parameters of a function that runs in each step, but for those that no other file is seen to give it."""
        first = 1 if function.owner is not None else 0
        given = self.facts.others_give(function.name) if self.repetitions.is_asked_by_others(function) else None
        parameters = enumerate(function.parameters[first:])
        return [one for at, one in parameters if given is None or not given.isdisjoint((at, one.name))]

    def _is_trained_thing(self, value: Value) -> bool:
        """Whether a CALL makes a model, or a tensor that requires grad."""
        if value.op is not Op.CALL:
            return False
        if value in self.products:
            return self.products[value].weighs or self.products[value].is_shell
        if value.argument(-1, "requires_grad") is not None:
            return True
        atoms = self.solution.final(value)
        return any(isinstance(atom, Tensor) and atom.history is History.LEAF for atom in atoms)

    def _is_trained_in_turn(self, model: Value, loop: Loop) -> bool:
        """Whether an optimizer is built for ``model`` in the same turn: the turn is a trial by itself."""
        for optimizer, repetition in self._optimizers.items():
            chain = repetition.chain if repetition is not None and repetition.by is loop else ()
            if self._is_made_in_turn(optimizer, loop, chain):
                if model in sources_of(self.solution, optimizer.inputs, chain):
                    return True
        return False

    @cached_property
    def _optimizers(self) -> dict[Value, Repetition | None]:
        """The calls that build optimizers, and how often each does."""
        built = (call for call, product in self.products.items() if product.kind == "optimizer")
        return {call: self.repetitions.of(call, self._is_builder_of) for call in built}

    def _is_made_in_turn(self, value: Value, loop: Loop, chain: tuple[Value, ...]) -> bool:
        """Whether a turn of ``loop`` makes ``value``, be it in a function of those that ``chain`` calls."""
        if value.loop is not None and loop in value.loop.around():
            return True
        return any(value.function in self.solution.functions_of(call) for call in chain)

    # -- models of folds and trials -------------------------------------------------------------------------------

    def _trial(self, call: Value, product: Product, loop: Loop) -> Construction | None:
        """A model of each turn while the last one is still referenced."""
        if not product.weighs or call.function is not loop.function or not self.repetitions.trains(loop):
            return None
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None and self._is_same(store.value, call):
                if store.function is loop.function and not is_born_in(store.holder, loop):
                    if self.facts.tensors.is_module(store.holder):
                        return None  # a layer of a model that grows with each stage
                    holder = dotted(store.target) or store.holder.name
                    return Construction(call, product, loop, trial=True, holder=holder, piles_up=True)
        name = self._bound_to(call)
        if name is None or name in _dropped_in(loop.syntax) or not self.facts.tensors.is_module(call):
            return None
        return Construction(call, product, loop, trial=True, holder=name)

    def _idle(self, call: Value) -> Construction | None:
        """A copy of a network that a variable keeps through a training which does not need it."""
        name = self._bound_to(call) if self.products[call].kind == "copy" and not self._is_of_tests(call) else None
        if name is None or "." in name or is_made_over(call):
            return None
        loop = idle_copy(self.facts, call, name, self.products)
        if loop is None or name in _dropped_in(loop.syntax):
            return None
        return Construction(call, self.products[call], loop, holder=name, is_idle=True)

    def _is_same(self, value: Value, call: Value) -> bool:
        """Whether ``value`` is what ``call`` built, by ``model.to(device)`` and the like."""
        while value is not call:
            if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or value.callee.name not in SAME_OBJECT:
                return False
            value = value.callee.inputs[0]
        return True

    def _bound_to(self, call: Value) -> str | None:
        """The variable or attribute to which the statement of ``call`` binds what it builds."""
        statement = call.statement
        if not isinstance(statement, cst.SimpleStatementLine):
            return None
        for small in statement.body:
            if isinstance(small, cst.Assign) and len(small.targets) == 1:
                node: cst.BaseExpression = small.value
                while isinstance(node, cst.Call) and node is not call.syntax and isinstance(node.func, cst.Attribute):
                    node = node.func.value
                if node is call.syntax:
                    return dotted(small.targets[0].target)
        return None


def _changes_with(source: Value, loop: Loop) -> bool:
    """Like :func:`changes_with`, but an item of a loop within the turn is the same if that goes over the same."""
    inner = source.loop
    if source.op is not Op.ELEMENT or inner is None or inner is loop or inner.iterable is None:
        return changes_with(source, loop)
    return is_computed_with(inner.iterable, loop)


def _dropped_in(loop: cst.CSTNode) -> set[str]:
    """Variables and attributes that a loop deletes or sets to None."""
    found: set[str] = set()
    for node in walk(loop):
        if isinstance(node, cst.Del):
            found.update(filter(None, map(dotted, walk(node.target))))
        elif isinstance(node, cst.Assign) and isinstance(node.value, cst.Name) and node.value.value == "None":
            found.update(filter(None, (dotted(target.target) for target in node.targets)))
    return found
