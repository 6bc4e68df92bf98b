"""Copies of a model, of an optimizer, or of the tensors of one, on the device on which those are.

``state_dict()`` alone is no copy: its tensors share their memory with the model's own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.records import makes_record
from torchlint.facts.building.names import constant_of
from torchlint.facts.keeping.external_names import external_name
from torchlint.facts.summaries.effect_kinds import DEEPCOPY, EffectKind
from torchlint.facts.values.collecting import yielded_by
from torchlint.facts.values.domain import Argument, ClassReference, Instance, Module, Unknown, is_optimizer
from torchlint.facts.values.externals import KEYWORD_ITEMS
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Function, Op, Store, Value
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.parameters import SAME_OBJECT, before_moves

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.effects import Effect

STATES = frozenset(["state_dict", "parameters", "named_parameters", "buffers", "named_buffers"])
"""Methods that give the tensors of a model or an optimizer."""

SAME_MEMORY = frozenset(["detach", "contiguous", "view", "reshape", "flatten", "float", "to", "cuda", "requires_grad_"])
"""Methods of a tensor that keep it where it is, or may."""

JOINING = frozenset(
    ["torch.cat", "torch.concat", "torch.nn.utils.parameters_to_vector",
     "torch.nn.utils.convert_parameters.parameters_to_vector"]
)  # fmt: skip
"""Functions that make one new tensor of all that they are given."""

CLONING = frozenset([DEEPCOPY, "torch.clone"])
"""Functions that copy a tensor where it is."""

DEPTH = 6
"""How many steps back a copy is looked for."""


class Copies:
    """Answers which values of one file are such copies."""

    def __init__(self, facts: Facts, *, sees_callers: bool = True) -> None:
        """Work on ``facts``; what callers in the file pass may be a copy if they are seen."""
        self.facts = facts
        self.solution = facts.solution
        self.sees_callers = sees_callers

    def of(self, value: Value) -> Value | None:
        """What makes ``value`` a copy: a CALL, or a comprehension; None where it is none."""
        return self._copy(value, DEPTH)

    def given_by(self, function: Function) -> tuple[str, tuple[int, ...]] | None:
        """Whether a function returns a copy: what copies, and the parameter that it takes whatever that is."""
        if function.result is None or function.is_generator:
            return None
        made = self.of(function.result)
        if made is None:
            return None
        is_deepcopy = made.op is Op.CALL and external_name(self.facts, made) == DEEPCOPY
        if not is_deepcopy or self._is_model_or_state(made.arguments[0]):
            return "state_dict", ()
        if made.arguments[0] in function.parameters:
            return DEEPCOPY, (function.parameters.index(made.arguments[0]),)
        return None

    def copied_in(self, kept: Value, given: Sequence[Value]) -> Value | None:
        """Which of the parameters ``given`` is copied in ``kept``, be it by its state; None where no single one is."""
        made = self.of(kept)
        behind = set(made.computed_from()) if made is not None else set()
        copied = [parameter for parameter in given if parameter in behind]
        return copied[0] if len(copied) == 1 else None

    def may_be_copied(self, value: Value) -> bool:
        """Whether a copy of ``value`` is one of a model, of an optimizer or of the state of one."""
        return self._is_model_or_state(value)

    def _copy(self, value: Value, depth: int) -> Value | None:
        """What makes ``value`` a copy of a model's tensors on their own device."""
        if depth == 0:
            return None
        if value.op is Op.PHI:
            return self._first(value.inputs, depth)
        if value.op is Op.PARAMETER:
            if not self.sees_callers:
                return None
            calls = self.solution.callers.get(value.function, {})
            given = ((call, binding.get(value)) for call, binding in calls.items())
            return self._first((v for call, v in given if v is not None and is_made_beside(v, call)), depth)
        if value.op is Op.CONTAINER:
            if isinstance(value.syntax, cst.BaseComp):
                return value if self._clones(value.inputs[0]) or self._are_states([value.inputs[0]], value) else None
            held = [item for _, item in self.solution.held.get(value, ())]
            is_made_of_them = any(map(self._clones, held)) or self._are_states(held, value)
            return value if is_made_of_them else self._first(held, depth)
        if value.op is Op.ELEMENT and (item := unpacked(value)) is not value:
            return self._copy(item, depth)  # of `enumerate(path)`
        if value.op is Op.ELEMENT:
            return self._of_item(value, depth)
        return self._of_call(value, depth) if value.op is Op.CALL else None

    def _of_item(self, item: Value, depth: int) -> Value | None:
        """What is copied anew for each item that a generator yields, be it beside others: ``yield epoch, weights``."""
        key = item.keys[0]
        iterable = item if key is None else item.inputs[0]
        yielded = yielded_by(self.solution, iterable.inputs[0]) if iterable.op is Op.ELEMENT else []
        if key is not None:
            yielded = [
                one
                for row in yielded if row.op is Op.CONTAINER
                for at, one in zip(row.keys, row.inputs, strict=True) if at == key
            ]  # fmt: skip
        found = ((one, self._copy(one, depth - 1)) for one in yielded if one.loop is not None)
        return next((made for one, made in found if made is not None and _is_made_for(made, one)), None)

    def _are_states(self, items: list[Value], whole: Value) -> bool:
        """Whether a list has the states of several models, each of them trained in a function that gives its state.

        One state for each turn may be what a loop is for: the clients of a round, the members of an ensemble. A list
        of them for each turn is more than that.
        """
        return isinstance(whole.syntax, cst.List | cst.ListComp) and any(map(self._is_state_of_new, items))

    def _is_state_of_new(self, item: Value) -> bool:
        """Whether a call gives the state of a model that the called function has made, and which nobody else has."""
        results = [f.result for f in self.solution.functions_of(item) if f.result is not None]
        return any(
            self._is_state(one) and self._is_new_model(one.callee) for result in results for one in result.inputs
        )

    def _is_new_model(self, method: Value) -> bool:
        """Whether the receiver of a METHOD is a copy, or is built, in the function in which it is asked."""
        model = before_moves(method.inputs[0] if method.op is Op.ATTRIBUTE else method)
        if model.op is not Op.CALL:
            return False
        is_built = self.solution.may_be(model.callee, ClassReference)
        return is_built or external_name(self.facts, model) == DEEPCOPY

    def _first(self, values: Iterable[Value], depth: int) -> Value | None:
        return next((found for value in values if (found := self._copy(value, depth - 1)) is not None), None)

    def _of_call(self, call: Value, depth: int) -> Value | None:
        name = external_name(self.facts, call) or ""
        if name == DEEPCOPY:
            return call if call.arguments and self._may_be_model_or_state(call.arguments[0]) else None
        if name in JOINING:
            return call if any(map(self._is_state_or_parts, call.arguments[:1])) else None
        if name in KEYWORD_ITEMS or makes_record(self.facts, call):
            return self._first([*call.arguments, *(item for _, item in self.solution.held.get(call, ()))], depth)
        if call.callee.op is Op.ATTRIBUTE and call.callee.name in SAME_OBJECT | SAME_MEMORY:
            return None if _goes_to_host(call) else self._copy(call.callee.inputs[0], depth)
        if any(map(self._is_of_model, self._by_others.get(call, ()))):
            return call
        functions = self.solution.functions_of(call)
        left = (
            given
            for one in functions
            for kept in self._kept.get(one, ())
            for given in self.solution.given_by(call, kept)
        )
        return self._first([*(one.result for one in functions if one.result is not None), *left], depth)

    @cached_property
    def _kept(self) -> dict[Function, list[Value]]:
        """The parameters of initializers that become attributes of the object."""
        found: defaultdict[Function, list[Value]] = defaultdict(list)
        for store in self.solution.graph.stores:
            is_own = store.function.name == "__init__" and store.holder in store.function.parameters[:1]
            if is_own and store.attribute and store.value in store.function.parameters:
                found[store.function].append(store.value)
        return found

    def _may_be_model_or_state(self, value: Value) -> bool:
        """Whether callers who are not looked at may know more than the file does."""
        given = value.inputs[0] if value.op is Op.ATTRIBUTE else value
        return self._is_model_or_state(value) or (given.op is Op.PARAMETER and not self.sees_callers)

    def _is_of_model(self, effect: Effect) -> bool:
        """Whether a function of another file copies a model or a state."""
        return effect.done.name != DEEPCOPY or any(map(self._is_model_or_state, effect.given))

    @cached_property
    def _by_others(self) -> dict[Value, list[Effect]]:
        """What functions of other files copy, by the call."""
        found: dict[Value, list[Effect]] = {}
        for effect in self.facts.effects.of(EffectKind.COPIES):
            found.setdefault(effect.call, []).append(effect)
        return found

    def _is_state_or_parts(self, value: Value) -> bool:
        """``model.parameters()``, ``[p.view(-1) for p in model.parameters()]``."""
        if value.op is not Op.CONTAINER or not isinstance(value.syntax, cst.BaseComp):
            return self._is_state(value)
        return self._is_same_memory(value.inputs[0])

    def _clones(self, item: Value) -> bool:
        """``v.clone()`` of a model's tensor, not moved to the host."""
        clones = [step for step in _chain(item) if _method(step) == "clone"]
        is_of_one = not any(_is_cloning(step) and self._is_state(step.arguments[0]) for step in clones)
        return bool(clones) and is_of_one and self._is_same_memory(item)

    def _is_same_memory(self, item: Value) -> bool:
        """Whether a model's tensor is neither computed with nor moved to the host."""
        *steps, base = _chain(item)
        stays = all(_method(step) in SAME_MEMORY | {"clone", "data"} and not _goes_to_host(step) for step in steps)
        return stays and any(map(self._is_state, _bases(base)))

    def _is_model_or_state(self, value: Value) -> bool:
        if self._is_state(value) or self._has_state(value, DEPTH):
            return True
        if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and _goes_to_host(value):
            return False
        return any(
            (isinstance(atom, Module) and atom.has_parameters)
            or (isinstance(atom, Instance) and is_module_class(atom.cls))
            or is_optimizer(atom)
            for atom in self.solution.final(value)
        )  # fmt: skip

    def _has_state(self, value: Value, depth: int) -> bool:
        """``{"net": net.state_dict(), "epoch": epoch}``, or what a function gives that puts one together."""
        if depth == 0:
            return False
        parts = [item for _, item in self.solution.held.get(value, ())] if value.op is Op.CONTAINER else []
        if value.op is Op.CALL:
            parts = [one.result for one in self.solution.functions_of(value) if one.result is not None]
        elif value.op is Op.PHI:
            parts = list(value.inputs)
        return any(self._is_state(part) or self._has_state(part, depth - 1) for part in parts)

    def _is_state(self, value: Value) -> bool:
        """``model.state_dict()``, ``list(model.parameters())``."""
        if value.op is not Op.CALL:
            return False
        if value.callee.op is Op.ATTRIBUTE and value.callee.name in STATES:
            owner = self.solution.final(value.callee.inputs[0])
            return any(isinstance(atom, Module | Instance | Unknown | Argument) or is_optimizer(atom) for atom in owner)
        name = external_name(self.facts, value)
        return name in ("builtins.list", "builtins.dict") and any(map(self._is_state, value.arguments[:1]))


def is_made_beside(made: Value, at: Value | Store) -> bool:
    """Whether a value is made in the same function as ``at``, and in the same turn of the loop around that."""
    if made.function is not at.function or at.loop is None:
        return made.function is at.function
    return made.loop is not None and at.loop in made.loop.around()


def _is_made_for(made: Value, item: Value) -> bool:
    """Whether a copy is made in the turn that yields it, be it by a function that is called there."""
    return made.function is not item.function or is_made_beside(made, item)


def _chain(item: Value) -> Iterator[Value]:
    """The methods and attributes that lead to ``item``, the last one first, and what they begin with."""
    while _method(item) is not None:
        yield item
        item = _before(item)
    yield item


def _before(step: Value) -> Value:
    """That of which a step of a chain is a method, an attribute or a copy."""
    if _is_cloning(step):
        return step.arguments[0]
    return (step.callee if step.op is Op.CALL else step).inputs[0]


def _is_cloning(value: Value) -> bool:
    """``copy.deepcopy(v)``, ``torch.clone(v)``: a copy of one tensor where that is what ``v`` is."""
    return value.op is Op.CALL and value.callee.name in CLONING and bool(value.arguments)


def _method(value: Value) -> str | None:
    if _is_cloning(value):
        return "clone"
    attribute = value.callee if value.op is Op.CALL else value
    return attribute.name if attribute.op is Op.ATTRIBUTE and attribute.name not in STATES else None


def _bases(item: Value) -> Iterator[Value]:
    """What an item of a loop is taken from, through the pairs that ``items()`` and the like give."""
    pending = [item]
    while pending:
        value = pending.pop()
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            pending.append(value.inputs[0])
        elif value.op is Op.CONTAINER:
            pending.extend(value.inputs)
        else:
            yield value


def _goes_to_host(value: Value) -> bool:
    """``.cpu()``, ``.to("cpu")``, ``.numpy()``."""
    if value.op is not Op.CALL:
        return False
    if value.callee.name in ("cpu", "numpy", "tolist"):
        return True
    told = value.argument(0, "device") if value.callee.name == "to" else None
    if told is not None and told.op is Op.CALL and told.callee.name == "torch.device":
        told = told.argument(0)
    return told is not None and told.syntax is not None and constant_of(told.syntax) == "cpu"
