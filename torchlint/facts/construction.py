"""What is built again and again: modules, losses, optimizers, schedulers, scalers and loaders that every step makes.

Two questions are asked of each place where one is built. *How often does it run?* Every turn of a loop whose turns
are steps, every call of a method that stands for the body of a loop elsewhere; but a loop that holds whole loops of
steps is one of epochs, folds or trials, and what is built there is meant to be built there. *May it be skipped?*
A branch that is taken when something is first needed builds once, however often it is passed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.build.names import assigned_in, path_of
from torchlint.facts.calls import SAME_OBJECT
from torchlint.facts.domain import ClassReference, FunctionReference, History, Tensor, Tool, sorted_values
from torchlint.facts.externals import Meaning, meaning_of
from torchlint.facts.frameworks import is_module_class, runs_without_gradients, trains_on_result
from torchlint.facts.graph import Class, Function, Kind, Loop, Op, Value
from torchlint.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

HOPS = 4
"""How many callers up a repetition is looked for."""

BUILT = frozenset(["module", "loss", "optimizer", "scheduler", "scaler", "loader"])
"""Kinds of classes of torch that are meant to outlive a step."""

LOADERS_OF_WEIGHTS = ("load", "from_pretrained")
"""Functions that build a model and read its weights from a file: another matter than building it."""

PER_STEP: dict[str, frozenset[str]] = {
    # https://huggingface.co/docs/transformers/main_classes/trainer
    "Trainer": frozenset(["compute_loss", "training_step", "prediction_step"]),
    "Seq2SeqTrainer": frozenset(["compute_loss", "training_step", "prediction_step"]),
    # https://docs.python.org/3/library/http.server.html
    "BaseHTTPRequestHandler": frozenset(["do_GET", "do_POST"]),
    # https://www.tornadoweb.org/en/stable/web.html, https://flask.palletsprojects.com/en/stable/views/
    "RequestHandler": frozenset(["get", "post", "put"]),
    "MethodView": frozenset(["get", "post", "put"]),
    "Resource": frozenset(["get", "post", "put"]),
    # https://pytorch.org/serve/custom_service.html
    "BaseHandler": frozenset(["handle", "preprocess", "inference", "postprocess"]),
    # https://cog.run/python/
    "BasePredictor": frozenset(["predict"]),
}
"""Methods that a framework calls once for each step or request, by the name of a base class."""

WEB = ("fastapi.", "flask.", "starlette.", "sanic.", "bottle.", "aiohttp.", "quart.", "litestar.", "robyn.")
"""Packages whose objects decorate request handlers: ``@app.post("/predict")``."""

ROUTES = frozenset(["route", "get", "post", "put", "patch", "websocket"])


class Turn(Enum):
    """What one turn of a loop is."""

    TRAINS = auto()
    """A step of training."""
    INFERS = auto()
    """A batch or a forward, without training."""
    HOLDS = auto()
    """Whole loops of steps: an epoch, a fold, a trial."""
    OTHER = auto()


@dataclass(frozen=True)
class Product:
    """What a CALL builds.

    Attributes:
        kind: "module", "loss", "optimizer", "scheduler", "scaler", "loader", or "iterator" (of a loader, for one batch).
        weighs: True for a module that has parameters.
    """

    kind: str
    weighs: bool = False


@dataclass(frozen=True)
class Construction:
    """Something that is built again and again.

    Attributes:
        call: what builds it.
        product: what it builds.
        repeated_by: the loop each turn of which builds it, or the method that does with each call.
        follows_input: True when it is built from what differs from step to step, and so cannot be built before.
        trial: True when each turn is a whole training and the last model is still referenced.
        holder: TRIAL: the variable or the container that references it.
        piles_up: TRIAL: the holder is a container and keeps all of them.
    """

    call: Value
    product: Product
    repeated_by: Loop | Function
    follows_input: bool = False
    trial: bool = False
    holder: str = ""
    piles_up: bool = False


@dataclass(frozen=True)
class _Repetition:
    by: Loop | Function
    turn: Turn
    chain: tuple[Value, ...]
    """What is built, the call of the function in which it is, the call of the function in which that is ..."""


def constructions(facts: Facts) -> list[Construction]:
    """Everything that is built again and again, at most one for each statement, the weightiest."""
    return _Search(facts).found()


class _Search:
    """One file's search; the tables are filled as they are asked for."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution, self.flows, self.steps = facts.solution, facts.flows, facts.steps
        self._turns: dict[Loop, Turn] = {}
        self._holds: dict[Function, bool] = {}
        self._made_by: dict[Function, Product | None] = {}

    def found(self) -> list[Construction]:
        """See :func:`constructions`."""
        best: dict[cst.CSTNode, Construction] = {}
        for call in self.products:
            construction = self._of(call)
            if construction is None:
                continue
            statement = self.facts.statement_of(call)
            known = best.get(statement)
            if known is None or self._rank(construction) > self._rank(known):
                best[statement] = construction
        return list(best.values())

    def _rank(self, construction: Construction) -> tuple[bool, int]:
        """Weights first, then what holds the rest: the outermost of nested calls comes last in the walk."""
        return construction.product.weighs, construction.call.index

    def _of(self, call: Value) -> Construction | None:
        repetition = self._repetition(call, call, (call,), HOPS)
        if repetition is None:
            return None
        product, loop = self.products[call], repetition.by
        follows = self._follows_input(call, repetition)
        if isinstance(loop, Function):
            return Construction(call, product, loop, follows)
        if repetition.turn is Turn.HOLDS or (product.weighs and self._is_trained_in_turn(call, loop)):
            return self._trial(call, product, loop)
        if self._belongs_to_turn(call, product, repetition):
            return None
        return Construction(call, product, loop, follows)

    # -- what is built --------------------------------------------------------------------------------------------

    @cached_property
    def products(self) -> dict[Value, Product]:
        """Each call that builds something, in the order of the walk."""
        return {call: product for call in self.facts.calls() if (product := self.product(call)) is not None}

    def product(self, call: Value) -> Product | None:
        """What a CALL builds, or None."""
        callee = call.callee
        if callee.op is Op.EXTERNAL:
            return self._of_external(call, callee.name)
        for atom in sorted_values(self.solution.final(callee)):
            if isinstance(atom, ClassReference) and is_module_class(atom.cls):
                return Product("module", self._has_parameters(atom.cls))
            if isinstance(atom, FunctionReference):
                return self.made_by(atom.function)
        return None

    def _of_external(self, call: Value, name: str) -> Product | None:
        made = torch_api.torch_class(name)
        if made is not None:
            if made.kind not in BUILT:
                return None
            inside = made.wraps and any(p.weighs for p in self._products_in(call))
            return Product(made.kind, made.kind in ("module", "loss") and (made.has_parameters or inside))
        if meaning_of(name) is Meaning.MODULE and not name.endswith(LOADERS_OF_WEIGHTS):
            return Product("module", weighs=True)
        if name == "builtins.next" and call.arguments:
            source = call.arguments[0]
            if source.op is Op.CALL and source.callee.name == "builtins.iter" and source.arguments:
                if self._is_loader(source.arguments[0]) and source.loop is call.loop:
                    return Product("iterator")
        return None

    def _is_loader(self, value: Value) -> bool:
        atoms = self.solution.final(value)
        return any(isinstance(atom, Tool) and atom.kind == "loader" for atom in atoms)

    def _products_in(self, call: Value) -> Iterator[Product]:
        """What is built among the arguments of a call, in lists as well."""
        pending = list(call.arguments)
        while pending:
            value = pending.pop()
            if value.op in (Op.CONTAINER, Op.ELEMENT):
                pending.extend(value.inputs)
            elif value.op is Op.CALL and (product := self.product(value)) is not None:
                yield product

    def _has_parameters(self, cls: Class) -> bool:
        bases = (torch_api.torch_class(base) for base in cls.all_bases())
        if any(base is not None and base.has_parameters for base in bases):
            return True
        family = {one.root() for one in cls.lineage()}
        return any(
            self.solution.calls._may_train(value)
            for place, values in self.solution.stored.items()
            if place.owner in family
            for value in values
        )

    def _is_builder_of(self, call: Value) -> bool:
        """Whether the function around ``call`` builds for its caller, or hands out this one."""
        function = call.function
        if self.made_by(function) is not None:
            return True
        handed = _choices(function.result)
        handed += [choice for v in handed if v.op is Op.CONTAINER for item in v.inputs for choice in _choices(item)]
        return any(self._is_same(value, call) for value in handed)

    def made_by(self, function: Function) -> Product | None:
        """What a builder builds: a function each of whose results is fresh. None for any other function."""
        if function not in self._made_by:
            self._made_by[function] = None  # a cycle of calls builds nothing
            if not any(name.endswith("cache") for name in function.decorators) and not function.is_generator:
                self._made_by[function] = self._fresh(function.result, function)
        return self._made_by[function]

    def _fresh(self, value: Value | None, function: Function) -> Product | None:
        """What is built within ``function`` on every path to ``value``; of a tuple the weightiest item."""
        products = [self._fresh_choice(choice, function) for choice in _choices(value) if choice.name != "None"]
        return max(_known(products), key=_weight) if products and all(products) else None

    def _fresh_choice(self, value: Value, function: Function) -> Product | None:
        if value.function is not function:
            return None
        if value.op is Op.CONTAINER and isinstance(value.syntax, cst.Tuple):
            items = (choice for item in value.inputs for choice in _choices(item) if choice.op is Op.CALL)
            return max(_known(self._fresh_choice(item, function) for item in items), key=_weight, default=None)
        while value.op is Op.CALL:
            product = self.product(value)
            if product is not None:
                return product if product.kind != "iterator" else None
            if value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT:
                value = value.callee.inputs[0]
            elif meaning_of(value.callee.name) is Meaning.FIRST and value.arguments:
                value = value.arguments[0]
            else:
                return None
        return None

    # -- what a turn of a loop is ---------------------------------------------------------------------------------

    @cached_property
    def _trainings(self) -> dict[Function, list[Loop | None]]:
        """For each function the innermost loops in which its optimizers step, else those of its backwards."""
        stepping, backwards = defaultdict(list), defaultdict(list)
        for call in self.facts.calls():
            if self._steps_optimizer(call):
                stepping[call.function].append(call.loop)
        for backward in self.facts.graph.backwards:
            if not backward.by_contract:
                backwards[backward.function].append(backward.loop)
        return {**backwards, **stepping}

    def _steps_optimizer(self, call: Value) -> bool:
        """``optimizer.step()``, ``scaler.step(optimizer)``."""
        if call.callee.op is not Op.ATTRIBUTE or call.callee.name != "step":
            return False
        subjects = [call.callee.inputs[0], *call.arguments[:1]]
        atoms = (atom for subject in subjects for atom in self.solution.final(subject))
        return any(isinstance(atom, Tool) and atom.kind == "optimizer" for atom in atoms)

    def turn(self, loop: Loop) -> Turn:
        """What each turn of ``loop`` is."""
        if loop not in self._turns:
            self._turns[loop] = Turn.OTHER
            self._turns[loop] = self._turn(loop)
        return self._turns[loop]

    def _turn(self, loop: Loop) -> Turn:
        calls = [c for c in self.steps.calls_in(loop.function) if c.loop is not None and loop in c.loop.around()]
        if loop in self._trainings.get(loop.function, ()):
            return Turn.TRAINS
        callees = [function for call in calls for function in self.flows.functions_of(call)]
        inner = [self.turn(one) for one in self._loops[loop.function] if loop in one.around()[1:]]
        is_loader = loop.iterable is not None and self.steps.is_loader(loop.iterable)
        if Turn.TRAINS in inner or Turn.HOLDS in inner or any(map(self.holds, callees)):
            return Turn.HOLDS
        if loop.iterable is not None and loop.iterable.op is Op.CONTAINER:
            return Turn.OTHER  # over what is written out: a few cases, no steps
        if any(map(self.steps.trains, callees)):
            return Turn.TRAINS
        if is_loader:
            return Turn.INFERS
        if Turn.INFERS in inner:
            return Turn.HOLDS
        if not self.steps._walks_modules(loop) and self._runs_module(calls, callees):
            return Turn.INFERS
        return Turn.TRAINS if self.steps.is_step(loop) else Turn.OTHER

    def _runs_module(self, calls: list[Value], callees: list[Function]) -> bool:
        if any(map(self.steps.calls_module, calls)):
            return True
        inside = (call for function in callees for call in self.steps.calls_in(function))
        return any(map(self.steps.calls_module, inside))

    @cached_property
    def _loops(self) -> dict[Function, list[Loop]]:
        table: dict[Function, list[Loop]] = defaultdict(list)
        for loop in self.facts.graph.loops:
            table[loop.function].append(loop)
        return table

    def holds(self, function: Function) -> bool:
        """Whether a whole loop of steps runs in ``function`` or in what it calls; micro-batches of one step do not."""
        if function not in self._holds:
            self._holds[function] = False
            trainings = self._trainings.get(function, ())
            loops = [] if None in trainings else [self.turn(loop) for loop in self._loops[function]]
            self._holds[function] = any(turn is not Turn.OTHER for turn in loops) or any(
                self.holds(callee) for call in self.steps.calls_in(function) for callee in self.flows.functions_of(call)
            )
        return self._holds[function]

    # -- how often it is built ------------------------------------------------------------------------------------

    def _repetition(self, call: Value, at: Value, chain: tuple[Value, ...], hops: int) -> _Repetition | None:
        """By what ``at`` is repeated: a CALL that builds, or one that leads to it."""
        function = at.function
        if self._stands_for_a_turn(function):
            repeats = not self._is_skipped(at, function)
            return _Repetition(function, Turn.INFERS, chain) if repeats else None
        for loop in at.loop.around() if at.loop is not None else ():
            turn = self.turn(loop)
            if turn is not Turn.OTHER:
                return None if self._is_skipped(at, loop) else _Repetition(loop, turn, chain)
        if function.parent is None or function.name == "__init__" or hops == 0 or self._is_builder_of(at):
            return None
        if self.holds(function) or self._is_skipped(at, function):
            return None
        callers = sorted(self.solution.callers.get(function, ()), key=lambda value: value.index)
        if not callers:
            return _Repetition(function, Turn.TRAINS, chain) if self._is_lone_step(function) else None
        for caller in callers:
            if caller not in chain:
                found = self._repetition(call, caller, (*chain, caller), hops - 1)
                if found is not None and found.turn is not Turn.HOLDS:
                    return found
        return None

    def _stands_for_a_turn(self, function: Function) -> bool:
        """Whether a module, a framework or a server calls ``function`` once for each step or request."""
        owner = function.owner
        if owner is not None:
            if function.name == "forward" and is_module_class(owner):
                return True
            if trains_on_result(function):
                return True
            if runs_without_gradients(function) and (function.name.endswith("_step") or "batch" in function.name):
                return True
            names = {base.rpartition(".")[2] for base in owner.all_bases()}
            if any(function.name in methods for base, methods in PER_STEP.items() if base in names):
                return True
        return function in self._request_handlers

    @cached_property
    def _request_handlers(self) -> frozenset[Function]:
        """Functions that an object of a web framework decorates."""
        routes = {
            call.syntax for call in self.facts.calls() if call.callee.name in ROUTES and self._is_of_web(call.callee)
        }
        return frozenset(
            function
            for function in self.facts.graph.functions
            if isinstance(function.syntax, cst.FunctionDef)
            and any(decorator.decorator in routes for decorator in function.syntax.decorators)
        )

    def _is_of_web(self, method: Value) -> bool:
        if method.op is not Op.ATTRIBUTE:
            return False
        made = [method.inputs[0]]
        if made[0].place is not None:
            made = self.solution.stored.get(made[0].place, [])
        return any(value.op is Op.CALL and value.callee.name.startswith(WEB) for value in made)

    def _is_lone_step(self, function: Function) -> bool:
        """Whether a function without callers in this file steps an optimizer once that it did not build itself."""
        return any(
            call.loop is None
            and self._steps_optimizer(call)
            and call.callee.inputs[0].op in (Op.PARAMETER, Op.READ, Op.ATTRIBUTE)
            for call in self.steps.calls_in(function)
        )

    # -- what belongs to one turn ---------------------------------------------------------------------------------

    def _belongs_to_turn(self, call: Value, product: Product, repetition: _Repetition) -> bool:
        """Whether what is built is another thing in each turn, so that it cannot be built once.

        A loader over what a training step splits into parts can be done without.
        """
        loop = repetition.by
        if not isinstance(loop, Loop):
            return False
        sources = self._sources(call, repetition.chain)
        if any(self._is_trained_thing(s) and s.loop is not None and loop in s.loop.around() for s in sources):
            return True  # an optimizer for what is new as well
        if loop.iterable is not None and self.steps.is_loader(loop.iterable):
            return False
        if product.kind == "loader" and repetition.turn is Turn.TRAINS:
            return False
        return any(_changes_with(source, loop) for source in sources)

    def _follows_input(self, call: Value, repetition: _Repetition) -> bool:
        """Whether what a step is given decides how ``call`` builds."""
        sources, by = self._sources(call, repetition.chain), repetition.by
        if isinstance(by, Loop):
            return any(_changes_with(source, by) for source in sources)
        return any(source in by.parameters[1 if by.owner is not None else 0 :] for source in sources)

    def _is_trained_thing(self, value: Value) -> bool:
        """Whether a CALL makes a model, or a tensor that requires grad."""
        if value.op is not Op.CALL:
            return False
        if value in self.products:
            return self.products[value].weighs
        atoms = self.solution.final(value)
        return any(isinstance(atom, Tensor) and atom.history is History.LEAF for atom in atoms)

    def _sources(self, call: Value, chain: tuple[Value, ...] = ()) -> set[Value]:
        """All that ``call`` is computed from, in its function and in those that led to it by ``chain``."""
        pending, seen = list(call.inputs), set[Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            pending.extend(value.inputs)
            if value.op is Op.PARAMETER:
                bindings = self.solution.callers.get(value.function, {})
                for caller in chain:
                    if value in bindings.get(caller, ()):
                        given = bindings[caller][value]
                        pending.extend(caller.arguments if given is None else (given,))
        return seen

    def _is_trained_in_turn(self, model: Value, loop: Loop) -> bool:
        """Whether an optimizer is built for ``model`` in the same turn: the turn is a trial by itself."""
        return any(
            product.kind == "optimizer" and other.loop is not None and loop in other.loop.around()
            and model in self._sources(other)
            for other, product in self.products.items()
        )  # fmt: skip

    # -- models of folds and trials -------------------------------------------------------------------------------

    def _trial(self, call: Value, product: Product, loop: Loop) -> Construction | None:
        """A model of each turn while the last one is still referenced."""
        if not product.weighs or call.function is not loop.function or not self._trains(loop):
            return None
        for store in self.facts.graph.stores:
            if store.kind is Kind.INSERT and store.holder is not None and self._is_same(store.value, call):
                if store.function is loop.function and not _is_born_in(store.holder, loop):
                    holder = dotted(store.target) or store.holder.name
                    return Construction(call, product, loop, trial=True, holder=holder, piles_up=True)
        name = self._bound_to(call)
        if name is None or name in _dropped_in(loop.syntax):
            return None
        return Construction(call, product, loop, trial=True, holder=name)

    def _trains(self, loop: Loop) -> bool:
        """Whether something is trained in each turn of ``loop``."""
        if any(at is not None and loop in at.around() for at in self._trainings.get(loop.function, ())):
            return True
        calls = (c for c in self.steps.calls_in(loop.function) if c.loop is not None and loop in c.loop.around())
        return any(self.steps.trains(function) for call in calls for function in self.flows.functions_of(call))

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

    # -- what may be skipped --------------------------------------------------------------------------------------

    def _is_skipped(self, at: Value, within: Loop | Function) -> bool:
        """Whether ``at`` need not run each time that ``within`` does, or ends it."""
        node, parents = at.syntax or at.statement, self.facts.parents
        boundary = _boundary(within, parents)
        while node is not None and node is not boundary:
            parent = parents.get(node)
            if isinstance(parent, cst.ExceptHandler | cst.MatchCase):
                return True
            if isinstance(parent, cst.If | cst.IfExp) and node is not parent.test:
                if self._differs(parent.test, parent, at, within):
                    return True
            if isinstance(parent, cst.BooleanOperation) and node is parent.right:
                return True
            if isinstance(parent, cst.IndentedBlock | cst.Module) and parent is not boundary:
                if self._is_left(parent, node, within):
                    return True
            node = parent
        return False

    def _is_left(self, block: cst.IndentedBlock | cst.Module, node: cst.CSTNode, within: Loop | Function) -> bool:
        """Whether the block around ``node`` leaves the loop after it, or left before it when it was built already."""
        if isinstance(within, Loop) and isinstance(_last(block), cst.Break | cst.Return | cst.Raise):
            return True
        for statement in block.body:
            if statement is node:
                return False
            if isinstance(statement, cst.If) and isinstance(
                _last(statement.body), cst.Return | cst.Continue | cst.Break
            ):
                if _is_memory(statement.test, within.syntax):
                    return True
        return False

    def _differs(self, test: cst.BaseExpression, branch: cst.CSTNode, at: Value, within: Loop | Function) -> bool:
        """Whether ``test`` can come out otherwise from time to time: a first time, an n-th step, a late phase."""
        bound = assigned_in(at.statement) if isinstance(at.statement, cst.SimpleStatementLine) else set()
        if _is_memory(test, branch, bound):
            return True
        assigned = assigned_in(within.syntax) if isinstance(within, Loop) else frozenset()
        parameters = {p.name for p in within.parameters[:]} if isinstance(within, Function) else set()
        for node in walk(test):
            path = path_of(node) if isinstance(node, cst.Name | cst.Attribute | cst.Subscript) else None
            if path is not None and path in assigned:
                return True
            if isinstance(node, cst.Attribute) and node.attr.value in self._changing:
                return True
            if isinstance(node, cst.Call) and dotted(node.func) not in ("isinstance", "len", "torch.cuda.is_available"):
                return True
            if isinstance(node, cst.Comparison) and _compares_number(node, parameters):
                return True
        return False

    @cached_property
    def _changing(self) -> frozenset[str]:
        """Attributes that are assigned outside ``__init__``."""
        later = [s for s in self.facts.graph.stores if s.function.name not in ("__init__", "__post_init__")]
        named = {store.attribute for store in later if store.attribute}
        places = (store.place for store in later if store.place is not None)
        return frozenset(named | {p.path.rpartition(".")[2] for p in places if not isinstance(p.owner, Function)})


def _known(products: Iterable[Product | None]) -> list[Product]:
    return [product for product in products if product is not None]


def _choices(value: Value | None) -> list[Value]:
    """What ``value`` is on the paths that join in it."""
    pending, seen = [value] if value is not None else [], dict[Value, None]()
    while pending:
        current = pending.pop()
        if current not in seen:
            seen[current] = None
            if current.op is Op.PHI:
                pending.extend(current.inputs)
    return [choice for choice in seen if choice.op is not Op.PHI]


def _weight(product: Product) -> tuple[bool, bool]:
    return product.weighs, product.kind == "module"


def _changes_with(value: Value, loop: Loop) -> bool:
    """Whether ``value`` is the loop's own variable, a counter of it, or what an earlier turn left."""
    if value in loop.phis:
        return True
    if value.loop is None or loop not in value.loop.around():
        return False
    return value.op is Op.ELEMENT or (value.op is Op.CONSTANT and value.syntax is None)


def _is_born_in(holder: Value, loop: Loop) -> bool:
    """Whether a container is made anew in each turn of ``loop``."""
    inside = holder.loop is not None and loop in holder.loop.around()
    return inside and holder.op in (Op.CONTAINER, Op.CALL)


def _dropped_in(loop: cst.CSTNode) -> set[str]:
    """Variables and attributes that a loop deletes or sets to None."""
    found: set[str] = set()
    for node in walk(loop):
        if isinstance(node, cst.Del):
            found.update(filter(None, map(dotted, walk(node.target))))
        elif isinstance(node, cst.Assign) and isinstance(node.value, cst.Name) and node.value.value == "None":
            found.update(filter(None, (dotted(target.target) for target in node.targets)))
    return found


def _boundary(within: Loop | Function, parents: dict[cst.CSTNode, cst.CSTNode]) -> cst.CSTNode:
    """The node at which a search upwards ends; the whole comprehension for a loop of one."""
    node = within.syntax
    while isinstance(node, cst.CompFor):
        node = parents[node]
    return node


def _last(block: cst.CSTNode) -> cst.CSTNode | None:
    """The last small statement of a block."""
    if not isinstance(block, cst.IndentedBlock) or not block.body:
        return None
    line = block.body[-1]
    return line.body[-1] if isinstance(line, cst.SimpleStatementLine) else None


def _is_memory(test: cst.BaseExpression, body: cst.CSTNode, bound: Set[str] = frozenset()) -> bool:
    """Whether ``test`` asks for what is set when something is built: ``if self.net is None``, ``if not hasattr(...)``.

    Args:
        test: the condition.
        body: the code under it, of which attributes, items and globals count: they outlive the function.
        bound: the names to which the thing itself is bound.
    """
    settled = {path for path in assigned_in(body) if not path.isidentifier()} | bound
    settled.update(item.name.value for node in walk(body) if isinstance(node, cst.Global) for item in node.names)
    for node in walk(test):
        if isinstance(node, cst.Call) and dotted(node.func) in ("hasattr", "getattr"):
            return True
        if isinstance(node, cst.ComparisonTarget) and isinstance(node.operator, cst.In | cst.NotIn):
            if not isinstance(node.comparator, cst.Tuple | cst.List | cst.Set):
                return True
        if isinstance(node, cst.Attribute | cst.Name | cst.Subscript) and path_of(node) in settled:
            return True
    return False


def _compares_number(comparison: cst.Comparison, parameters: set[str]) -> bool:
    nodes = list(walk(comparison))
    if not any(isinstance(node, cst.Integer | cst.Float) for node in nodes):
        return False
    return any(isinstance(node, cst.Name) and node.value in parameters - {"self"} for node in nodes)
