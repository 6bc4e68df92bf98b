"""Which modules an optimizer trains: whose parameters go to one, and what contains what.

Whatever is done with ``parameters()`` but look at them counts as training: a call that is not seen through may build an
optimizer. So a module is left alone as soon as it might be trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from torchlint import torch_api
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.keeping.fates import LOOKING
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.values.domain import (
    Atom,
    ClassReference,
    Container,
    FunctionReference,
    Instance,
    Module,
    Tool,
    sorted_values,
)
from torchlint.facts.values.externals import COLLECTIONS, Meaning, meaning_of
from torchlint.facts.values.frameworks import is_module_class, may_be_optimizer
from torchlint.facts.values.graph import Class, Function, Kind, Op, Place, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.making import makes
from torchlint.facts.values.overrides import has_unseen_base, is_plain_class
from torchlint.facts.values.parameters import SAME_OBJECT, gives_object_back
from torchlint.facts.values.reaching import ends
from torchlint.frameworks import Holds, method_names

PARAMETERS = frozenset(["parameters", "named_parameters", "children", "named_children", "modules", "named_modules"])
"""Methods of modules that hand out parameters, or modules with them."""

HANDING_ON = COLLECTIONS | {"builtins.next", "builtins.zip", "builtins.enumerate", "builtins.iter"}
"""Functions that give on what they are given."""

LOOKING_AT_PARAMETERS = (*LOOKING, "builtins.sum", "builtins.all", "builtins.any", "torch.nn.utils.", "torch.nn.init.",
                         "torch.norm", "torch.numel", "torch.save", "torch.equal", "torch.sum")  # fmt: skip
"""Functions that get parameters and train nothing."""


class Optimized:
    """Answers which modules of one file are trained."""

    def __init__(self, flows: Flows) -> None:
        """Follow modules as ``flows`` knows them."""
        self.flows = flows
        self.solution = flows.solution
        self._roots: dict[Value, frozenset[Value | Place]] = {}
        self._extents: dict[Value, frozenset[Value | Place]] = {}

    # -- the same object ------------------------------------------------------------------------------------------

    def roots(self, module: Value) -> frozenset[Value | Place]:
        """Where a module comes from: what makes it, or the variable behind which nothing is seen."""
        if module not in self._roots:
            self._roots[module] = self._roots_of(module)
        return self._roots[module]

    def _roots_of(self, module: Value) -> frozenset[Value | Place]:
        found: set[Value | Place] = set()
        for value in ends([module], self._behind):
            if value.name != "None":
                found.update(self.solution.read_from(value) or [value])
        return frozenset(found)

    def _behind(self, value: Value) -> list[Value]:
        """The values that may be the same object, one step back."""
        if value.op is Op.ATTRIBUTE and (read := self.solution.functions_of(value)):
            return [one.result for one in read if one.result is not None]  # of a property
        stored = stored_at(self.solution, value)
        if stored:
            return stored
        if value.op is Op.PHI:
            return list(value.inputs)
        if value.op is Op.PARAMETER:
            return self.solution.arguments_of(value)
        if value.op is Op.ATTRIBUTE and value.name in ("module", "forward", "__call__"):
            return [value.inputs[0]]
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return self._items_behind(value)
        return self._behind_call(value) if value.op is Op.CALL else []

    def _items_behind(self, value: Value) -> list[Value]:
        base, key = value.inputs[0], value.keys[0]
        if base.op is Op.CALL and base.callee.name in method_names(Holds.RETURNS) and isinstance(key, int):
            given = base.argument(key)  # accelerator.prepare(model, optimizer) gives them back in their order
            return [given] if given is not None else []
        made = [self._listing(atom) for atom in sorted_values(self.solution.final(base))]
        return [
            item
            for one in made
            if one is not None
            for known, item in self.solution.held.get(one, ())
            if key is None or known is None or known == key
        ]

    def _listing(self, atom: Atom) -> Value | None:
        """The list in which the items of an object stand; that of ``nn.ModuleList(networks)`` is what it is given."""
        if isinstance(atom, Container):
            return atom.allocation
        made = atom.allocation if isinstance(atom, Module) else None
        if made is None or made.op is not Op.CALL or made.callee.name != "torch.nn.ModuleList" or not made.arguments:
            return None
        given = [a for a in self.solution.final(made.arguments[0]) if isinstance(a, Container)]
        return given[0].allocation if len(given) == 1 else None

    def _behind_call(self, call: Value) -> list[Value]:
        callee = call.callee
        if callee.op is Op.ATTRIBUTE and callee.name in SAME_OBJECT:
            return [callee.inputs[0]]
        if callee.name in method_names(Holds.RETURNS) and call.arguments:
            return [call.arguments[0]]
        if callee.op is Op.EXTERNAL and call.arguments:
            made = torch_api.torch_class(callee.name)
            wraps_one = made is not None and made.wraps and callee.name.endswith(("Parallel", "AveragedModel"))
            copies = callee.name.startswith("copy.")
            if wraps_one or (meaning_of(callee.name) is Meaning.FIRST and not copies):
                return [call.arguments[0]]
        # What a builder makes is new with each call, and so is a copy.
        is_built = all(makes(self.solution, a.function) or self._copies(a.function) for a in self._functions(call))
        return [] if is_built else self._results(call)

    def _results(self, call: Value) -> list[Value]:
        """What the functions of a CALL give; of one that gives back what it is given, what this call passes."""
        found = list[Value]()
        for function in (atom.function for atom in self._functions(call)):
            binding = self.solution.callers.get(function, {}).get(call, {})
            back = list(ends([function.result], _handed_back)) if function.result is not None else []
            given = [one for value in back if (one := binding.get(value)) is not None]
            found += given if len(given) == len(back) else filter(None, [function.result])
        return found

    def _copies(self, function: Function) -> bool:
        """Whether a function of another file returns a copy of what it is given."""
        effects = self.solution.graph.foreign.effects.get(function, ())
        return any(effect.kind is EffectKind.COPIES and effect.is_returned for effect in effects)

    def _functions(self, call: Value) -> list[FunctionReference]:
        return [atom for atom in self.solution.final(call.callee) if isinstance(atom, FunctionReference)]

    def making(self, module: Value) -> Value | None:
        """The one place of this file where a module is made, be it by a builder elsewhere that makes several."""
        roots = self.roots(module)
        made = next(iter(roots)) if len(roots) == 1 else None
        if not isinstance(made, Value) or made.statement is not None:
            return made if isinstance(made, Value) else None
        is_builder = made.function.is_foreign and made.function.owner is None
        builds = list(self.solution.callers.get(made.function, ())) if is_builder else []
        return builds[0] if len(builds) == 1 and builds[0].statement is not None else None

    # -- what is in it --------------------------------------------------------------------------------------------

    def extent(self, module: Value) -> frozenset[Value | Place]:
        """Where a module and all the modules in it come from."""
        if module not in self._extents:
            self._extents[module] = self._extent([module])
        return self._extents[module]

    def _extent(self, modules: Iterable[Value]) -> frozenset[Value | Place]:
        found: set[Value | Place] = set()
        classes: set[Class] = set()
        pending, seen = list(modules), set[Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            for root in self.roots(value):
                found.add(root)
                if isinstance(root, Value):
                    pending.extend(self._parts(root))
            for atom in sorted_values(self.solution.final(value)):
                made = atom.allocation if isinstance(atom, Container | Module) else None
                if made is not None:  # `modules[name] = nn.Linear(3, 3)`
                    pending.extend(item for _, item in self.solution.held.get(made, ()) if self._is_module(item))
                if isinstance(atom, Instance) and atom.cls.root() not in classes:
                    classes.add(atom.cls.root())
                    for place, modules_there in self._modules_on.get(atom.cls.root(), ()):
                        found.add(place)
                        pending.extend(modules_there)
        return frozenset(found)

    @cached_property
    def _modules_on(self) -> dict[object, list[tuple[Place, list[Value]]]]:
        """For each family of classes its attributes, with the modules that are kept there."""
        found: dict[object, list[tuple[Place, list[Value]]]] = {}
        for place, stored in self.solution.stored.items():
            if isinstance(place.owner, Class):
                modules = [kept for kept in stored if self._is_module(kept)]
                found.setdefault(place.owner, []).append((place, modules))
        return found

    def _parts(self, made: Value) -> list[Value]:
        """What a wrapper of torch is made of, and of what an attribute is a part."""
        if made.op is Op.CALL and made.callee.op is Op.EXTERNAL:
            known = torch_api.torch_class(made.callee.name)
            if known is not None and known.wraps:
                parts = list(made.arguments)
                for argument in made.arguments:
                    parts += _givers(argument)
                    containers = [a for a in self.solution.final(argument) if isinstance(a, Container)]
                    parts += [item for a in containers for _, item in self.solution.held.get(a.allocation, ())]
                return parts
        return self._results(made) if made.op is Op.CALL else []

    def _is_network(self, value: Value) -> bool:
        return self.solution.may_be(value, Module) or self._is_instance(value)

    def _is_instance(self, value: Value) -> bool:
        return any(isinstance(atom, Instance) and is_module_class(atom.cls) for atom in self.solution.final(value))

    def _is_module(self, value: Value) -> bool:
        return self.solution.may_be(value, Module | Container) or self._is_instance(value)

    # -- what is trained ------------------------------------------------------------------------------------------

    def is_trained(self, module: Value) -> bool:
        """Whether parameters of a module, of a part of it or of what it is a part of may be trained."""
        mine = self.roots(module)
        owner = module
        while owner.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT) and owner.inputs:
            owner = owner.inputs[0]
            if self._only_holds(owner):
                break
            mine |= self.roots(owner)
        if not mine.isdisjoint(self._trained):
            return True
        extent = self.extent(module)
        return any(not self.roots(trainee).isdisjoint(extent) for trainee in self.trainees)

    def overlap(self, module: Value, other: Value) -> bool:
        """Whether one of two modules is, or is in, the other; two instances of one class are not."""
        return not (
            self.roots(module).isdisjoint(self.extent(other)) and self.roots(other).isdisjoint(self.extent(module))
        )

    @cached_property
    def _trained(self) -> frozenset[Value | Place]:
        """Where the modules come from that some optimizer, or code that is not seen, may train."""
        return self._extent(self.trainees)

    @cached_property
    def trainees(self) -> list[Value]:
        """The modules that may be trained: what is handed on, what has an optimizer, what shares a part with them."""
        found = [*self.handed_on, *self.with_own_optimizer]
        return found + self._sharing(found)

    @cached_property
    def handed_on(self) -> list[Value]:
        """The modules whose parameters go anywhere, and those that are given to code that is not seen."""
        graph = self.solution.graph
        found: list[Value] = []
        for call in graph.of(Op.CALL):
            if call.callee.op is Op.ATTRIBUTE and call.callee.name in PARAMETERS and self._goes_on(call):
                found += self._with_owners(call.callee.inputs[0])
            elif not call.is_bare and self._may_build_optimizer(call):
                found += [argument for argument in call.arguments if self._is_module(argument)]
        return [*found, *self._trained_by_weights(), *self._descended_elsewhere()]

    def _trained_by_weights(self) -> Iterator[Value]:
        """The modules of which an optimizer is given a weight by its name: ``Adagrad([net.users.weight])``."""
        made = (call for call in self.solution.graph.of(Op.CALL) if may_be_optimizer(self.solution, call))
        for part in (part for call in made for part in call.computed_from()):
            if part.op is Op.ATTRIBUTE and self._is_network(part.inputs[0]) and self.flows.is_leaf(part):
                yield from self._with_owners(part.inputs[0])

    @cached_property
    def with_own_optimizer(self) -> list[Value]:
        """Networks that have the optimizer which steps for them: ``critic`` of ``critic.optimizer.step()``."""
        # A world steps by a move.
        calls = (call.callee for call in self.solution.graph.of(Op.CALL) if not call.arguments)
        optimizers = (one.inputs[0] for one in calls if one.op is Op.ATTRIBUTE and one.name == "step")
        # An object that steps by itself has optimizers for parts of it, which may be several.
        owners = (one.inputs[0] for one in optimizers if one.op is Op.ATTRIBUTE)
        return [owner for owner in owners if owner.op is not Op.PARAMETER and self._is_network(owner)]

    def _descended_elsewhere(self) -> Iterator[Value]:
        """The modules of which functions of other files read the gradients: a step written by hand there."""
        known = list(self.solution.graph.foreign.effects.items())  # to ask what a value is may open more of other files
        for function, effects in known:
            of = [position for done in effects if done.kind is EffectKind.READS_GRADIENTS for position in done.of]
            for call in self.solution.callers.get(function, ()) if of else ():
                given = (self.solution.passed(call, function, position) for position in of)
                for one in given:
                    if one is not None:
                        yield from filter(self._is_module, (one, *one.computed_from()))

    def _sharing(self, trained: Sequence[Value]) -> list[Value]:
        """The modules that share a part with one of those that are ``trained``: ``head.weight = table.weight``."""
        ties = [
            (store.holder, store.value.inputs[0])
            for store in self.solution.graph.stores
            if (store.attribute or store.is_item) and store.holder is not None
            if store.value.op in (Op.ATTRIBUTE, Op.SUBSCRIPT) and self._is_network(store.holder)
            if self.flows.is_leaf(store.value) or self._is_network(store.value)
        ]
        extent = self._extent(trained) if ties else frozenset()
        shared = [pair for pair in ties if any(not self.roots(one).isdisjoint(extent) for one in pair)]
        return [one for pair in shared for one in pair]

    def _with_owners(self, module: Value) -> Iterator[Value]:
        """``encoder.head`` and ``encoder``: what is trained in part cannot run without gradients as a whole.

        A method hands out a part, too: ``encoder.get_input_embeddings()``. Of an object whose parts are seen, its
        extent says that; the other parts of it may be left alone.
        """
        yield module
        while module.op is Op.ATTRIBUTE or (module.op is Op.CALL and module.callee.op is Op.ATTRIBUTE):
            if module.op is Op.ATTRIBUTE and self._shows_parts(module):
                break
            module = module.inputs[0] if module.op is Op.ATTRIBUTE else module.callee.inputs[0]
            if self._only_holds(module):
                break
            yield module

    def _shows_parts(self, part: Value) -> bool:
        """Whether a part is an attribute that the class of its network sets, where that is seen with all its bases."""
        classes = [a.cls for a in self.solution.final(part.inputs[0]) if isinstance(a, Instance)]
        is_set = bool(stored_at(self.solution, part))
        return is_set and all(is_module_class(cls) or not has_unseen_base(cls) for cls in classes)

    def _only_holds(self, owner: Value) -> bool:
        """Whether the parts of an object are trained, or are not, by themselves: ``self``, or no network at all."""
        atoms = self.solution.final(owner)
        is_plain = bool(atoms) and all(isinstance(atom, Instance) and is_plain_class(atom.cls) for atom in atoms)
        return _is_self(owner) or is_plain

    def _goes_on(self, parameters: Value) -> bool:
        """Whether the result of ``parameters()`` is kept, or given to anything that does more than look at it."""
        pending, seen = [parameters], set[Value]()
        while pending:
            value = pending.pop()
            if value in seen:
                continue
            seen.add(value)
            if value in self._kept:
                return True
            pending += self._read_later.get(value, ())
            for user in value.users:
                if user.op in (Op.PHI, Op.ELEMENT, Op.CONTAINER, Op.OPERATION, Op.SUBSCRIPT):
                    pending.append(user)
                elif user.op is Op.ATTRIBUTE and user.name == "grad":
                    return True  # a step written by hand
                elif user.op is Op.CALL and user.callee is not value:
                    if user.callee.name in HANDING_ON:
                        pending.append(user)
                    elif not self._only_looks(user):
                        return True
        return False

    @cached_property
    def _kept(self) -> frozenset[Value]:
        """Values that are returned, or kept where other code finds them."""
        graph = self.solution.graph
        kept = [s.value for s in graph.stores if s.attribute or s.kind is Kind.INSERT]
        kept += [s.value for s in graph.stores if s.place is not None and not isinstance(s.place.owner, Function)]
        return frozenset([*kept, *(f.result for f in graph.functions if f.result is not None)])

    @cached_property
    def _read_later(self) -> dict[Value, list[Value]]:
        """For what a variable of a script or a captured one holds, the values that read it in other functions."""
        reads = self.solution.graph.of(Op.READ)
        return {
            store.value: [read for read in reads if read.place == store.place]
            for store in self.solution.graph.stores
            if store.place is not None and isinstance(store.place.owner, Function)
        }

    def _only_looks(self, call: Value) -> bool:
        """Whether a CALL with a parameter among its arguments trains nothing: a norm, a copy, a number."""
        callee = call.callee
        if callee.op is Op.EXTERNAL:
            is_optimizer = self.solution.may_be(call, Tool)
            return not is_optimizer and callee.name.startswith(LOOKING_AT_PARAMETERS)
        return callee.op is Op.ATTRIBUTE and torch_api.method(callee.name) is not None

    def _may_build_optimizer(self, call: Value) -> bool:
        """Whether a CALL is of code that is not seen, and gives back an object that something is done with."""
        if not self.flows.is_unknown_call(call) or call.callee.name in method_names(Holds.RETURNS):
            return False
        if self.solution.may_be(call.callee, ClassReference | FunctionReference):
            return False
        uses = [user for user in call.users if user.op is Op.ATTRIBUTE]
        places = [s.place for s in self.solution.graph.stores if s.value is call]
        return any(use.name in ("step", "zero_grad", "fit", "train") for use in uses) or bool(places)


def _givers(argument: Value) -> list[Value]:
    """The modules whose layers ``*list(network.children())[:3]`` has."""
    calls = (part for part in argument.computed_from() if part.op is Op.CALL and part.callee.op is Op.ATTRIBUTE)
    return [call.callee.inputs[0] for call in calls if call.callee.name in PARAMETERS]


def _is_self(value: Value) -> bool:
    function = value.function
    return value.op is Op.PARAMETER and function.owner is not None and value in function.parameters[:1]


def _handed_back(value: Value) -> Sequence[Value]:
    """What a result is as it was given: on each of the ways through a function, whether it was moved or not."""
    if value.op in (Op.PHI, Op.NARROWED):
        return value.inputs
    return value.callee.inputs[:1] if gives_object_back(value) else ()
