"""Records: tensors with a graph that are handed to something that keeps them beyond the step.

An object that is made of a tensor and put into a list (a record, a named tuple), a callback that is given a dict of
values, a buffer into which a tensor is written in place: the holder does not say that it holds a graph, the call that
hands it over does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from torchlint.facts.autograd.insertions import Insertions
from torchlint.facts.autograd.liveness import ENDS
from torchlint.facts.autograd.used_up import is_used_up_elsewhere
from torchlint.facts.autograd.written_buffers import buffers_of, is_trained_on, whole_of
from torchlint.facts.building.data_classes import replaces_fields
from torchlint.facts.turns.births import MADE
from torchlint.facts.turns.handoffs import origins
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Carrier, ClassReference, Instance, sorted_values
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Class, Kind, Mode, Op, Place, Store, Value
from torchlint.facts.values.homes import is_data_of_tensor
from torchlint.facts.values.parameters import is_frozen_for
from torchlint.facts.values.writing import Use, text_of, written_for, written_in

if TYPE_CHECKING:
    from torchlint.facts import Facts

RECORD_TYPES = frozenset(["types.SimpleNamespace", "collections.namedtuple", "argparse.Namespace"])
"""What keeps all that it is called with."""

DEPTH = 6
"""How many containers, objects and calls deep a tensor is looked for."""


@dataclass(frozen=True)
class Record:
    """Tensors with a graph that one statement hands over to be kept.

    Attributes:
        statement: where they are handed over.
        parts: the tensors, as they are written there.
        holder: what keeps them in the end: a container, or the buffer they are written into.
        name: how the program writes it.
        kept: where they are put in, another statement when the object or the values were made before.
        into: the object or the call that takes them on the way, "" for a buffer.
        bounded: True for a ``deque(maxlen=...)``, and for a list whose places are filled round and round.
        trained: True when the program trains through what is handed over, too: it cannot be detached there.
        into_container: False for a buffer that is written in place.
        keeper: what keeps it in another file, in words; "" for a holder of this one.
        averages: that computes an average of it, or another running state, which needs no gradients.
        returned: that gives back what the program trains on.
        is_given: a function makes the record of what it is given, which may be a number for who else calls it.
    """

    statement: cst.CSTNode
    parts: tuple[Use, ...]
    holder: Value
    name: str
    kept: cst.CSTNode
    into: str
    bounded: bool
    trained: bool
    into_container: bool = True
    keeper: str = ""
    averages: bool = False
    returned: bool = False
    is_given: bool = False


@dataclass(frozen=True)
class _Handed:
    """A live tensor found inside of what is kept, and the call or literal that it is written in."""

    part: Use
    by: Value


_Looked: TypeAlias = "tuple[Value, str | int | None]"
"""What was looked into, and the only item of it that matters; None where all do."""


@dataclass(eq=False)
class _Walk:
    """One search inside of what is kept.

    Attributes:
        seen: what it came to, each with how many containers, objects and calls deep it still went from there.
        asked: the parameters whose callers it asked, in the same way.
        meets_graph: True once it has met a live tensor, be it one that is told elsewhere.
    """

    seen: dict[_Looked, int] = field(default_factory=dict)
    asked: dict[_Looked, int] = field(default_factory=dict)
    meets_graph: bool = False

    def learn(self, other: _Walk) -> None:
        """Take over what another one came to, each with the greater depth."""
        for mine, new in ((self.seen, other.seen), (self.asked, other.asked)):
            mine.update((value, depth) for value, depth in new.items() if depth > mine.get(value, 0))


class Records:
    """Finds the records of a file."""

    def __init__(self, facts: Facts) -> None:
        """Work on ``facts``."""
        self.facts = facts
        self.solution, self.flows = facts.solution, facts.flows
        self.insertions = Insertions(facts.lifetimes)
        # Thousands of objects may be made by the same few functions, in a table of test cases for one.
        self._fruitless = _Walk()

    def found(self) -> list[Record]:
        """Every tensor that is recorded with its graph, once for each statement that hands one over."""
        found: dict[tuple[cst.CSTNode, str], Record] = {}
        for store in self.solution.graph.stores:
            records = self._of_insertion(store) if store.kind is Kind.INSERT else []
            buffer = self._of_buffer(store)
            for record in [*records, *([buffer] if buffer is not None else [])]:
                found.setdefault((record.statement, record.name), record)
        return list(found.values())

    # -- what is put into a container -----------------------------------------------------------------------------

    def _of_insertion(self, store: Store) -> list[Record]:
        is_told_there = bool(self.flows.live_parts(store.value)) and not self.flows.is_gathered(store.value)
        if store.holder is None or is_told_there:
            return []
        walk = _Walk()
        handed = list(self._inside(store.value, store.syntax, None, DEPTH, walk))
        if not walk.meets_graph:
            self._fruitless.learn(walk)
        homes = self.insertions.homes_beyond_step(store) if handed else []
        if not homes:
            return []
        made = next((home for home in homes if isinstance(home, Value)), None)
        name, bounded = text_of(store.target, store.holder), self.insertions.is_bounded(store, made)
        found = []
        for by in dict.fromkeys(one.by for one in handed):
            parts = tuple(dict.fromkeys(one.part for one in handed if one.by is by))
            trained = by in self.flows.trained or any(part.value in self.facts.trained_fields.given for part in parts)
            into = self.facts.called(by) if by.op is Op.CALL else ""
            is_far = trained and store.function is not by.function
            statement = store.statement if is_far else self.facts.statement_of(by)
            elsewhere = any(part.value.function.is_foreign for part in parts)
            found.append(
                Record(
                    statement,
                    parts,
                    made or store.holder,
                    name,
                    store.statement,
                    into,
                    bounded,
                    trained and not elsewhere,
                    returned=elsewhere,
                    is_given=any(part.value.op is Op.PARAMETER for part in parts),
                )
            )
        return found

    def _inside(
        self,
        value: Value,
        node: cst.CSTNode | None,
        by: Value | None,
        depth: int,
        walk: _Walk,
        *,
        key: str | int | None = None,
    ) -> Iterator[_Handed]:
        """The live tensors inside of ``value``, or of its item ``key``; it is written ``node`` in ``by``."""
        looked = value, key
        if depth == 0:
            return
        if self.flows.live(value) is not None and not self.flows.is_gathered(value):
            walk.meets_graph = True
            if by is not None:
                yield _Handed(Use(value, node if isinstance(node, cst.BaseExpression) else None), by)
            return
        if looked in walk.seen or self._fruitless.seen.get(looked, 0) >= depth:
            return
        walk.seen[looked] = depth
        if value.op is Op.PARAMETER:
            yield from self._inside_parameter(value, depth, walk, key)
        elif value.op is Op.CONTAINER or makes_record(self.facts, value):
            for item, written in self._written_under(value, key):
                yield from self._inside(item, written, by if value.function.is_foreign else value, depth - 1, walk)
        elif value.op in (Op.ELEMENT, Op.SUBSCRIPT) and value.inputs[0].op in (Op.PARAMETER, Op.ELEMENT):
            # An item of what carries a graph somewhere, and is not known to do so itself, may be a name beside it.
            if not self.solution.may_be(value.inputs[0], Carrier):
                of_row = value.keys[0] if value.op is Op.SUBSCRIPT else None
                yield from self._inside(value.inputs[0], None, by, depth, walk, key=of_row)
        elif key is None and _is_named_item(value) and self._gives_rows(value.inputs[0]):
            yield from self._inside(value.inputs[0], None, by, depth, walk, key=value.keys[0])
        elif value.op is Op.ELEMENT and value.inputs[0].op is Op.CONTAINER:
            pair = value.inputs[0]
            for item in (item for key, item in zip(pair.keys, pair.inputs, strict=True) if key == value.keys[0]):
                yield from self._inside(item, None, by, depth, walk)
        elif value.op is Op.CALL and (functions := self.solution.functions_of(value)):
            is_on = self.facts.modes.records(value) and not is_frozen_for(self.solution, value)
            is_on = is_on and not self.solution.calls.substitution.is_severed(value)
            results = [f.result for f in functions if is_on and f.result is not None and f.name != "__init__"]
            if any(function.is_foreign for function in functions):
                by = value  # what is written in another file is not told there
            for returned in (item for result in results for item in _recorded_choices(result)):
                yield from self._inside(returned, returned.syntax, by, depth - 1, walk, key=key)
        elif value.op is Op.PHI:
            for choice in _recorded_choices(value):
                yield from self._inside(choice, choice.syntax, by, depth, walk, key=key)
        else:
            for origin in origins(self.facts, value)[1:]:
                yield from self._inside(origin, origin.syntax, by, depth - 1, walk, key=key)
        yield from self._inside_object(value, depth, walk)

    def _gives_rows(self, call: Value) -> bool:
        """Whether all that a CALL gives is tuples: one that gives the loss alone elsewhere has no items to be taken."""
        functions = self.solution.functions_of(call)
        results = [one for function in functions if function.result is not None for one in choices(function.result)]
        return bool(results) and all(one.op is Op.CONTAINER for one in results)

    def _inside_parameter(
        self, parameter: Value, depth: int, walk: _Walk, key: str | int | None = None
    ) -> Iterator[_Handed]:
        """What the calls of this file pass for a parameter, or the item ``key`` of that, the starred ones included."""
        looked = parameter, key
        if depth <= max(1, walk.asked.get(looked, 0), self._fruitless.asked.get(looked, 0)):
            return
        walk.asked[looked] = depth
        calls = self.solution.callers.get(parameter.function, {})
        for call in sorted(calls, key=lambda value: value.index):
            given = [one for one in self.solution.given_by(call, parameter) if (one, key) not in walk.seen]
            written = written_for(call, parameter) if given else []
            for argument in dict.fromkeys(given):
                for node in [node for one, node in written if one is argument] or [None]:
                    yield from self._inside(argument, node, call, depth - 1, walk, key=key)

    def _written_under(self, whole: Value, key: str | int | None) -> list[tuple[Value, cst.CSTNode | None]]:
        """What a call or a literal is given, and only for its item ``key`` where that is written there."""
        written = written_in(whole)
        keys = whole.keys[1:] if whole.op is Op.CALL else whole.keys
        if key is None or key not in keys:
            return written
        under = [one for place, one in zip(keys, written, strict=True) if place == key]
        later = (item for place, item in self.solution.held.get(whole, ()) if place in (key, None))
        return [*under, *((item, None) for item in later if item not in whole.inputs)]

    def _inside_object(self, value: Value, depth: int, walk: _Walk) -> Iterator[_Handed]:
        """What the attributes of an object of a class of the file hold, where each step makes its own."""
        for atom in sorted_values(self.solution.final(value)):
            if not isinstance(atom, Instance) or depth < 2:
                continue
            for parameter in self._parameters_on_attributes.get(atom.cls.root(), ()):
                yield from self._inside_parameter(parameter, depth, walk)

    @cached_property
    def _parameters_on_attributes(self) -> dict[Class, list[Value]]:
        """The parameters that become attributes of the objects of each class."""
        found: defaultdict[Class, list[Value]] = defaultdict(list)
        for store in self.solution.graph.stores:
            if store.kind is not Kind.ASSIGN or not store.attribute or store.value.op is not Op.PARAMETER:
                continue
            places = self.solution.places(store.holder, store.attribute) if store.holder is not None else []
            for owner in dict.fromkeys(place.owner for place in places if place.path == store.attribute):
                if isinstance(owner, Class):
                    found[owner].append(store.value)
        return found

    # -- what is written into a tensor ----------------------------------------------------------------------------

    def _of_buffer(self, store: Store) -> Record | None:
        """``self.values[i] = value``: the buffer becomes part of the graph of all that was ever written into it."""
        holder = store.holder
        if not store.is_item or holder is None or store.kind is Kind.ASSIGN or is_data_of_tensor(self.solution, holder):
            return None
        new = store.value if store.added is None else store.added
        if self.flows.live(new) is None or not self._records(store):
            return None
        whole = whole_of(self.facts, holder)
        made = buffers_of(self.facts, whole)
        if not made or (is_forward(store.function) and whole in choices(store.function.result)):
            return None  # a layer that writes its answer where it is told to, and returns that
        homes: list[Place | Value] = [*self.solution.read_from(whole), *(c for c in made if c.op in MADE)]
        if not self.facts.lifetimes.outlives(homes, store.function, store.loop) or is_trained_on(self.facts, made):
            return None
        if is_used_up_elsewhere(self.facts.lifetimes, store.function, homes):
            return None
        is_local = not any(isinstance(home, Place) for home in homes) and (
            not self.facts.steps.trains(store.function) or self._is_derivative(new)
        )
        if is_local and any(one in self.flows.leaving for one in made):
            return None  # it is what the function returns, and its callers say what for
        if is_local and all((model := _model_of(one)) is not None and model in new.computed_from() for one in made):
            return None  # one forward, part by part: `out = x.new_empty(n)`, `out[mask] = layer(x[mask])`
        part = Use(new, store.syntax if isinstance(store.syntax, cst.BaseExpression) else None)
        target = store.target.value if isinstance(store.target, cst.Subscript) and store.added else store.target
        name = text_of(target, holder)
        return Record(store.statement, (part,), holder, name, store.statement, "", False, False, into_container=False)

    def _is_derivative(self, value: Value) -> bool:
        """Whether a value is computed of ``autograd.grad(y, x, create_graph=True)``, and no backward frees its graph.

        A function that only differentiates trains nothing.
        """
        kept = (b.call for b in self.solution.graph.backwards if b.retains and b.inputs and b.call is not None)
        return not self.flows.ancestry.of(value).isdisjoint(kept) and not self.flows.touches_spent(value)

    def _records(self, store: Store) -> bool:
        """Whether gradients may be on where the buffer is written."""
        if store.mode is Mode.INHERITED:
            return Mode.ON in self.facts.modes.entry(store.function)
        return store.mode in (Mode.ON, Mode.MAYBE)


def makes_record(facts: Facts, value: Value) -> bool:
    """Whether ``value`` is a CALL that makes an object of all that it is given: a named tuple, a data class."""
    if value.op is not Op.CALL:
        return False
    made_by = [value.callee.name, *(o.callee.name for o in origins(facts, value.callee) if o.op is Op.CALL)]
    if any(name in RECORD_TYPES for name in made_by):
        return not (value.callee.op is Op.EXTERNAL and value.callee.name == "collections.namedtuple")
    classes = [atom.cls for atom in facts.solution.final(value.callee) if isinstance(atom, ClassReference)]
    return bool(classes) and all(map(_keeps_its_fields, classes))


def _is_named_item(value: Value) -> bool:
    """``loss, parts = score(batch)``, ``score(batch)[1]``: whether a value is an item of what a call gives."""
    is_item = value.op in (Op.ELEMENT, Op.SUBSCRIPT) and value.keys[0] is not None
    return is_item and value.inputs[0].op is Op.CALL


def _recorded_choices(value: Value) -> list[Value]:
    """What a PHI may be; nothing when it is without a graph on one path (``x.item() if ... else x``)."""
    found = choices(value)
    is_ended = (c.op is Op.CALL and c.callee.op is Op.ATTRIBUTE and c.callee.name in ENDS for c in found)
    return [] if any(is_ended) else found


def _keeps_its_fields(cls: Class) -> bool:
    """Whether a class has no ``__init__`` but one that keeps what it is called with: a data class, a named tuple."""
    if cls.method("__init__") is not None:
        return cls.is_record() and not replaces_fields(cls.syntax)
    decorators = [decorator.decorator for decorator in cls.syntax.decorators]
    names = [node.func if isinstance(node, cst.Call) else node for node in decorators]
    is_data = any((_last(node)) in ("dataclass", "define", "frozen") for node in names)
    return is_data or any(base.rpartition(".")[2] in ("NamedTuple", "BaseModel") for base in cls.all_bases())


def _last(node: cst.CSTNode) -> str:
    return node.attr.value if isinstance(node, cst.Attribute) else getattr(node, "value", "")


def _model_of(made: Value) -> Value | None:
    """The tensor after which a new one is made: ``x`` of ``x.new_zeros(4)`` and of ``torch.zeros_like(x)``."""
    if made.op is not Op.CALL:
        return None
    if made.callee.op is Op.ATTRIBUTE:
        return made.callee.inputs[0] if made.callee.name.startswith("new_") else None
    return made.arguments[0] if made.callee.name.endswith("_like") and made.arguments else None
