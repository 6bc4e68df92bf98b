"""Snapshots: copies of a model or of its state that a container collects from turn to turn.

``state_dict()`` alone is no copy: its tensors share their memory with the model's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.insertions import Insertion, Insertions
from torchlint.facts.building.names import constant_of
from torchlint.facts.keeping.loading import external_name
from torchlint.facts.turns.repetition import Turn
from torchlint.facts.values.domain import Argument, ClassReference, Instance, Module, Tool, Unknown
from torchlint.facts.values.externals import KEYWORD_ITEMS
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Kind, Loop, Op, Store, Value
from torchlint.facts.values.homes import allocations_of
from torchlint.facts.values.parameters import SAME_OBJECT, before_moves
from torchlint.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

STATES = frozenset(["state_dict", "parameters", "named_parameters", "buffers", "named_buffers"])
"""Methods that give the tensors of a model or an optimizer."""

SAME_MEMORY = frozenset(["detach", "contiguous", "view", "reshape", "flatten", "float", "to", "cuda", "requires_grad_"])
"""Methods of a tensor that keep it where it is, or may."""

JOINING = frozenset(
    ["torch.cat", "torch.concat", "torch.nn.utils.parameters_to_vector",
     "torch.nn.utils.convert_parameters.parameters_to_vector"]
)  # fmt: skip
"""Functions that make one new tensor of all that they are given."""

DEPTH = 6
"""How many steps back a copy is looked for."""


@dataclass(frozen=True)
class Snapshot:
    """A copy that goes into a container which outlives a turn.

    Attributes:
        insertion: what takes it.
        copy: the CALL (or the comprehension) that makes the copy.
        subject: of what, as the program writes it; "" where that is not written there.
        is_supposed: nobody is seen to run this more than once.
    """

    insertion: Insertion
    copy: Value
    subject: str
    is_supposed: bool = False


def snapshots(facts: Facts) -> list[Snapshot]:
    """Every collection of copies, in source order."""
    search = _Search(facts)
    return [found for store in facts.graph.stores if (found := search.of(store)) is not None]


def _is_turn(facts: Facts, loop: Loop) -> bool:
    """Whether each turn of a loop is a step, or an epoch or a trial of which helpers run the steps."""
    return facts.steps.is_step(loop) or facts.repetitions.turn(loop) is Turn.HOLDS


class _Search:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows
        # A method of this object would hold it and all facts in a circle, for the garbage collector to find.
        self.insertions = Insertions(facts.lifetimes, partial(_is_turn, facts))

    def of(self, store: Store) -> Snapshot | None:
        """What ``store`` collects, None where that is no copy or goes away again."""
        if store.kind is not Kind.INSERT or self.flows.live_parts(store.value):
            return None  # with a graph on it, that is what has to be said first
        copy = self._copy(store.value, DEPTH)
        if copy is None or not self._is_new(store):
            return None
        seen = self.insertions.of_store(store, [store.value])
        insertion = seen or self.insertions.of_unseen_callers(store, [store.value])
        if insertion is None or insertion.bounded or self._is_cut(store) or self._is_of_round(insertion):
            return None
        return Snapshot(insertion, copy, self._subject(copy), is_supposed=seen is None)

    def _is_new(self, store: Store) -> bool:
        """Whether what goes in is made in the same turn, and is not one object again and again."""
        return store.loop is None or _is_made_beside(store.value, store)

    def _is_cut(self, store: Store) -> bool:
        """``kept = sorted(kept)[:5]``, ``kept.remove(worst)``, ``heappop(kept)`` anywhere beside it: a window."""
        name = dotted(store.target)
        return name is not None and any(_cuts(node, name) for node in walk(store.function.syntax))

    def _is_of_round(self, insertion: Insertion) -> bool:
        """Whether each round of a training makes the container anew, fills it, and then goes through all of it."""
        made = insertion.allocation
        roots = self._roots(made) if made is not None else []
        return bool(roots) and all(map(self._is_gone_through, roots))

    def _roots(self, made: Value) -> list[Value]:
        """The containers that are in no other one and hold ``made``, or are it."""
        roots, pending, seen = [], [made], set[Value]()
        while pending:
            inner = pending.pop()
            seen.add(inner)
            outer = [
                one
                for store in self.facts.graph.stores
                if store.kind is Kind.INSERT and store.holder is not None and store.value is inner
                for one in allocations_of(self.solution, store.holder)
            ]
            roots += [] if outer else [inner]
            pending += [one for one in outer if one not in seen]
        return roots

    def _is_gone_through(self, made: Value) -> bool:
        """Whether a turn of the loop in which a container is made takes up every item of it."""
        around = made.loop
        if around is None or not _is_turn(self.facts, around):
            return False
        inside = (loop for loop in self.facts.graph.loops if loop is not around and around in loop.around())
        if any(loop.iterable is not None and made in loop.iterable.computed_from() for loop in inside):
            return True
        calls = (call for call in self.facts.calls() if call.loop is not None and around in call.loop.around())
        return any(made in call.arguments and bool(self.solution.functions_of(call)) for call in calls)

    # -- what is a copy -----------------------------------------------------------------------------------------------

    def _copy(self, value: Value, depth: int) -> Value | None:
        """What makes ``value`` a copy of a model's tensors on their own device."""
        if depth == 0:
            return None
        if value.op is Op.PHI:
            return self._first(value.inputs, depth)
        if value.op is Op.PARAMETER:
            calls = self.solution.callers.get(value.function, {})
            given = ((call, binding.get(value)) for call, binding in calls.items())
            return self._first((v for call, v in given if v is not None and _is_made_beside(v, call)), depth)
        if value.op is Op.CONTAINER:
            if isinstance(value.syntax, cst.BaseComp):
                return value if self._clones(value.inputs[0]) or self._are_states([value.inputs[0]], value) else None
            held = [item for _, item in self.solution.held.get(value, ())]
            is_made_of_them = any(map(self._clones, held)) or self._are_states(held, value)
            return value if is_made_of_them else self._first(held, depth)
        return self._of_call(value, depth) if value.op is Op.CALL else None

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
        is_built = any(isinstance(atom, ClassReference) for atom in self.solution.final(model.callee))
        return is_built or external_name(self.facts, model) == "copy.deepcopy"

    def _first(self, values: Iterable[Value], depth: int) -> Value | None:
        return next((found for value in values if (found := self._copy(value, depth - 1)) is not None), None)

    def _of_call(self, call: Value, depth: int) -> Value | None:
        name = external_name(self.facts, call) or ""
        if name == "copy.deepcopy":
            return call if call.arguments and self._is_model_or_state(call.arguments[0]) else None
        if name in JOINING:
            return call if any(map(self._is_state_or_parts, call.arguments[:1])) else None
        if name in KEYWORD_ITEMS:
            return self._first(call.arguments, depth)
        if call.callee.op is Op.ATTRIBUTE and call.callee.name in SAME_OBJECT | SAME_MEMORY:
            return None if _goes_to_host(call) else self._copy(call.callee.inputs[0], depth)
        results = [function.result for function in self.solution.functions_of(call)]
        return self._first((result for result in results if result is not None), depth)

    def _is_state_or_parts(self, value: Value) -> bool:
        """``model.parameters()``, ``[p.view(-1) for p in model.parameters()]``."""
        if value.op is not Op.CONTAINER or not isinstance(value.syntax, cst.BaseComp):
            return self._is_state(value)
        return self._is_same_memory(value.inputs[0])

    def _clones(self, item: Value) -> bool:
        """``v.clone()`` of a model's tensor, not moved to the host."""
        return any(_method(step) == "clone" for step in _chain(item)) and self._is_same_memory(item)

    def _is_same_memory(self, item: Value) -> bool:
        """Whether a model's tensor is neither computed with nor moved to the host."""
        *steps, base = _chain(item)
        stays = all(_method(step) in SAME_MEMORY | {"clone", "data"} and not _goes_to_host(step) for step in steps)
        return stays and any(map(self._is_state, _bases(base)))

    def _is_model_or_state(self, value: Value) -> bool:
        if self._is_state(value):
            return True
        if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and _goes_to_host(value):
            return False
        return any(
            (isinstance(atom, Module) and atom.has_parameters)
            or (isinstance(atom, Instance) and is_module_class(atom.cls))
            or (isinstance(atom, Tool) and atom.kind == "optimizer")
            for atom in self.solution.final(value)
        )  # fmt: skip

    def _is_state(self, value: Value) -> bool:
        """``model.state_dict()``, ``list(model.parameters())``."""
        if value.op is not Op.CALL:
            return False
        if value.callee.op is Op.ATTRIBUTE and value.callee.name in STATES:
            owner = self.solution.final(value.callee.inputs[0])
            return any(
                isinstance(atom, Module | Instance | Unknown | Argument)
                or (isinstance(atom, Tool) and atom.kind == "optimizer")
                for atom in owner
            )
        name = external_name(self.facts, value)
        return name in ("builtins.list", "builtins.dict") and any(map(self._is_state, value.arguments[:1]))

    def _subject(self, copy: Value) -> str:
        """``model`` of ``copy.deepcopy(model.state_dict())``."""
        if not isinstance(copy.syntax, cst.Call) or not copy.syntax.args:
            return ""
        node: cst.BaseExpression = copy.syntax.args[0].value
        while isinstance(node, cst.Call | cst.Attribute) and dotted(node) is None:
            node = node.func if isinstance(node, cst.Call) else node.value
        owner, _, last = (dotted(node) or "").rpartition(".")
        return owner if last in STATES else dotted(node) or ""


def _is_made_beside(made: Value, at: Value | Store) -> bool:
    """Whether a value is made in the same function as ``at``, and in the same turn of the loop around that."""
    if made.function is not at.function or at.loop is None:
        return made.function is at.function
    return made.loop is not None and at.loop in made.loop.around()


def _cuts(node: cst.CSTNode, name: str) -> bool:
    """Whether one statement or call takes something out of the container called ``name``."""
    if isinstance(node, cst.Assign):
        value = node.value
        is_slice = isinstance(value, cst.Subscript) and isinstance(value.slice[0].slice, cst.Slice)
        is_same = any(dotted(target.target) == name for target in node.targets)
        return is_slice and is_same and any(dotted(part) == name for part in walk(value))
    if not isinstance(node, cst.Call):
        return False
    owner, _, last = (dotted(node.func) or "").rpartition(".")
    if last in ("heappop", "heappushpop", "heapreplace"):
        return bool(node.args) and dotted(node.args[0].value) == name
    return owner == name and last in ("remove", "discard")


def _chain(item: Value) -> Iterator[Value]:
    """The methods and attributes that lead to ``item``, the last one first, and what they begin with."""
    while _method(item) is not None:
        yield item
        item = (item.callee if item.op is Op.CALL else item).inputs[0]
    yield item


def _method(value: Value) -> str | None:
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
