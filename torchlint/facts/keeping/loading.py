"""What is read from a file, and where it goes: calls that load weights, and all that is a part of what they gave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.keeping.adopting import adopts
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.summaries.effects import returns
from torchlint.facts.values.domain import (
    Atom,
    Container,
    External,
    Instance,
    Module,
    Partial,
    Tensor,
    Tool,
    sorted_values,
)
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Class, Function, Key, Kind, Op, Place, Store, Value
from torchlint.facts.values.homes import places_of, targets_of
from torchlint.facts.values.partials import called
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts

READERS: dict[str, str] = {
    # https://docs.pytorch.org/docs/stable/generated/torch.load.html
    "torch.load": "saved",
    "torch.serialization.load": "saved",
    "torch.hub.load_state_dict_from_url": "host",  # a published file is one for the host, whatever it was saved from
    "torch.utils.model_zoo.load_url": "host",
    # https://huggingface.co/docs/safetensors/api/torch
    "safetensors.torch.load_file": "host",
    "pickle.load": "saved",
    "joblib.load": "saved",
}
"""Functions that give back what a file holds, and the device on which it comes back when they are not told one."""

MODEL_READERS = frozenset(
    ["torch.jit.load", "torch.hub.load", "torch.export.load",
     # https://huggingface.co/docs/transformers/main_classes/pipelines, https://sbert.net/docs/package_reference
     "transformers.pipeline", "sentence_transformers.SentenceTransformer", "sentence_transformers.CrossEncoder",
     # https://github.com/openai/whisper, https://github.com/openai/CLIP
     "whisper.load_model", "clip.load"]
)  # fmt: skip
"""Functions that give back a whole model with its weights."""

PASSING = frozenset(
    ["get", "pop", "items", "values", "copy", "setdefault", "popitem", "state_dict", "to", "cuda", "cpu", "float",
     "half", "double", "eval", "train", "requires_grad_"]
)  # fmt: skip
"""Methods that give back their receiver or a part of it."""

COPYING = frozenset(["load_state_dict", "copy_"])
"""Methods that copy what they are given into what their receiver holds already."""

LOAD_OBJECTS = "ignite.handlers.Checkpoint.load_objects"
"""A function that has each object of one dictionary copy its state out of another: ``to_load``, ``checkpoint``.

https://docs.pytorch.org/ignite/generated/ignite.handlers.checkpoint.Checkpoint.html
"""

COPIED = "<copied>"
"""A key under which nothing lies: a copy is no part of what was loaded, and only marks the way that leads to it."""


@dataclass(frozen=True)
class Load:
    """A call that reads weights from a file.

    Attributes:
        call: the call.
        name: the full dotted name of what is called; for ``from_pretrained`` of an unknown class only that word.
        is_model: True when a whole model comes back, False when it may be anything.
        device: where the tensors are put: "saved" (where they were when they were saved), "host" or "given".
        file: the name of the file whose function reads them for this call; "" where the call itself does.
    """

    call: Value
    name: str
    is_model: bool
    device: str
    file: str = ""


@dataclass
class Parts:
    """All that is, or holds, a part of what a call gave.

    Attributes:
        whole: the values themselves.
        heavy: those of them from which weights are copied into something else, and what stands for these as well.
        copies: the calls that copy: ``load_state_dict``.
        keeps: True when something takes the tensors over as its own: ``load_state_dict(..., assign=True)``.
    """

    whole: set[Value] = field(default_factory=set)
    heavy: set[Value] = field(default_factory=set)
    copies: list[Value] = field(default_factory=list)
    keeps: bool = False


class Loads:
    """The calls of a file that read weights, and what becomes of these."""

    def __init__(self, facts: Facts) -> None:
        """Search when first asked."""
        self.facts = facts
        self.solution = facts.solution
        self._parts: dict[Value, Parts] = {}

    @cached_property
    def found(self) -> list[Load]:
        """Every such call in the order of the walk."""
        return [load for call in self.facts.calls() if (load := self.of(call)) is not None]

    @cached_property
    def given(self) -> list[Load]:
        """The calls of functions of other files that return what they read."""
        effects = self.facts.effects.of(EffectKind.GIVES_LOADED)
        untold = self.facts.effects.of(EffectKind.GIVES_LOADED_UNTOLD)
        effects += [effect for effect in untold if all(value.name == "None" for value in effect.given)]
        return [Load(e.call, e.done.name, False, "saved", e.file) for e in effects if e.done.is_returned]

    def left_to_callers(self, function: Function) -> Iterator[tuple[Load, Value]]:
        """The loads that a function returns, each with the parameter for the device, where that is None by default."""
        for call in self.facts.steps.calls_in(function):
            load, told = self.of(call), self._told(call)
            if load is None or load.is_model or told is None or not returns(function, call):
                continue
            if told in function.parameters and [default.name for default in told.inputs] == ["None"]:
                yield load, told

    def of(self, call: Value) -> Load | None:
        """What a CALL reads; None for one that does nothing of the kind."""
        names = external_names(self.facts, call)
        readers = [name for name in names if name in READERS or name in MODEL_READERS]
        name = names[0] if len(names) == 1 or (names and names == readers) else None
        if name in READERS:
            return Load(call, name, False, self._device(call, READERS[name]))
        if name in MODEL_READERS:
            return Load(call, name, True, self._device(call, "saved" if name == "torch.jit.load" else "host"))
        is_named = call.callee.op is not Op.CALL  # and is not what such a call has given
        if is_named and call.callee.name.endswith("from_pretrained") and not self.solution.functions_of(call):
            is_model = meaning_of(name or "") is Meaning.MODULE
            return Load(call, name or "from_pretrained", is_model, "host")
        return None

    def _device(self, call: Value, untold: str) -> str:
        """Where a load puts the tensors."""
        if None in call.keys[1:]:
            return "given"  # a starred argument may hold anything
        told = self._told(call)
        if told is None or told.name == "None":
            return "given" if self._is_from_memory(call) else untold
        return "host" if _is_host(told) else "given"

    def _told(self, call: Value) -> Value | None:
        makers = [made for bound in called(self.solution, call) for made in bound.makers]
        given = [call.argument(1, "map_location"), *(made.argument(-1, "map_location") for made in makers)]
        return next(filter(None, given), None) or call.argument(-1, "device")

    def names_device(self, call: Value) -> bool:
        """Whether a CALL that loads is given something as the device, be it None."""
        return self._told(call) is not None

    def _is_from_memory(self, call: Value) -> bool:
        """Whether a load reads what the same function has written, to copy it: the copy belongs beside the original.

        It goes through a buffer in memory, or through a temporary file.
        """
        source = call.argument(0)
        written = [other.argument(1) for other in self.facts.steps.calls_in(call.function) if _saves(other)]
        if source is None or not any(part.op is Op.EXTERNAL and _is_for_copies(part.name) for part in _behind(source)):
            return False
        return any(one is not None and _is_same_target(one, source) for one in written)

    # -- what it is for ----------------------------------------------------------------------------------------------

    def is_only_copied(self, load: Load) -> bool:
        """Whether nothing but copies and plain numbers comes of a load, so that its device does not matter."""
        parts = self.parts(load.call)
        open_ends = {f.result for f in self.facts.graph.functions if not self.solution.callers.get(f)}
        if parts.keeps or not parts.copies or not open_ends.isdisjoint(parts.whole):
            return False
        return all(self.is_harmless(user, parts) for part in parts.whole for user in part.users) and not any(
            isinstance(target, Place) and not isinstance(target.owner, Class | Function)
            for part in parts.whole
            for store in self._stores.get(part, ())
            for target in targets_of(self.solution, store)
        )

    def is_harmless(self, user: Value, parts: Parts) -> bool:
        """Whether what is computed from a part is another part, a copy, or something for a person to read."""
        if user in parts.whole or user.op in (Op.COMPARISON, Op.CONSTANT, Op.CONTAINER, Op.SUBSCRIPT, Op.ELEMENT):
            return True
        if user.op is Op.ATTRIBUTE:
            return user.name in PASSING | {"keys"}
        if user.op is Op.OPERATION:
            is_sum = any(operand.op is Op.CONSTANT for operand in user.inputs)
            return is_sum and all(self.is_harmless(after, parts) for after in user.users)
        if user in parts.copies:
            receivers = self.solution.final(user.callee.inputs[0]) if _copies_by_method(user) else ()
            return any(map(self._copies_to_its_device, receivers))
        if user.op is Op.CALL:
            name = external_name(self.facts, user) or ""
            is_followed = bool(self.solution.functions_of(user)) and not adopts(self.facts, user)
            return is_followed or name.startswith(("builtins.", "collections."))
        return False

    def _copies_to_its_device(self, atom: Atom) -> bool:
        if isinstance(atom, Instance):
            return is_module_class(atom.cls) and atom.cls.method("load_state_dict") is None
        return isinstance(atom, Module | Tool | Tensor)

    # -- where it goes ----------------------------------------------------------------------------------------------

    def parts(self, load: Value) -> Parts:
        """All that a call gave, followed through variables, attributes, containers and the file's functions."""
        if load not in self._parts:
            self._parts[load] = self._follow(load)
        return self._parts[load]

    def _follow(self, load: Value) -> Parts:
        before: dict[Value, set[Value]] = defaultdict(set)
        after: dict[Value, set[Value]] = defaultdict(set)
        seen: set[tuple[Value, Key]] = set()
        pending: list[tuple[Value, Key]] = [(load, None)]
        parts = Parts()
        while pending:
            value, key = pending.pop()
            if (value, key) in seen:
                continue
            seen.add((value, key))
            if key is None:
                parts.whole.add(value)
            for found, at in self._next(value, key, parts):
                if not _is_taken_out(found, value):
                    before[found].add(value)
                if self._is_same(value, key, found):
                    after[value].add(found)
                pending.append((found, at))
        # What is copied into a part of the very same load changes that, and fills no model.
        parts.copies = [c for c in parts.copies if c.callee.name != "copy_" or c.callee.inputs[0] not in parts.whole]
        copied = _beyond(parts.copies, before)
        parts.heavy = copied | {v for v in _beyond(copied, after) if v in parts.whole or v in self._results}
        return parts

    def _is_same(self, value: Value, key: Key, found: Value) -> bool:
        """Whether ``found`` is, or holds, the very object that lies under ``key`` of ``value``, and no part of it."""
        if found.op in (Op.PHI, Op.NARROWED, Op.PARAMETER, Op.READ) or value in self._results:
            return True
        if found.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return key is not None
        if found.op is Op.CONTAINER and value in found.inputs:
            return not isinstance(found.syntax, cst.BaseComp)
        return any(store.holder is found for store in self._stores.get(value, ()))

    def _next(self, value: Value, key: Key, parts: Parts) -> Iterator[tuple[Value, Key]]:
        """What holds ``value`` one step on; ``key`` says under which key of ``value`` the part lies, None for all."""
        for user in value.users:
            if user.op in (Op.SUBSCRIPT, Op.ELEMENT):
                if key is None or user.keys[0] is None or user.keys[0] == key:
                    yield user, None
            elif user.op in (Op.PHI, Op.NARROWED):
                yield user, key
            elif user.op is Op.ATTRIBUTE and key is None:
                yield from self._attribute(user)
            elif user.op is Op.CONTAINER:
                at = next(k for k, item in zip(user.keys, user.inputs, strict=True) if item is value)
                yield user, at
            elif user.op is Op.CALL and user.callee is not value:
                yield from self._argument(user, value, key, parts)
        yield from self._stored(value, key)
        if value in self._results:
            for call in self.solution.callers.get(self._results[value], {}):
                yield call, key

    def _attribute(self, attribute: Value) -> Iterator[tuple[Value, Key]]:
        called = [user for user in attribute.users if user.op is Op.CALL and user.callee is attribute]
        if not called:
            yield attribute, None
        elif attribute.name in PASSING:
            for call in called:
                yield call, None

    def _argument(self, call: Value, value: Value, key: Key, parts: Parts) -> Iterator[tuple[Value, Key]]:
        is_helped = _loads_objects(call, value) and not self.solution.functions_of(call)
        if is_helped or (_copies_by_method(call) and not adopts(self.facts, call)):
            assign = call.argument(2, "assign")
            if assign is not None and assign.name != "False":
                parts.keeps = True
            elif call not in parts.copies:
                parts.copies.append(call)
            yield call, COPIED
            return
        for function in self.solution.functions_of(call):
            for parameter, given in self.solution.callers[function].get(call, {}).items():
                if given is value:
                    yield parameter, key
        if meaning_of(external_name(self.facts, call) or "") in (Meaning.COLLECTS, Meaning.FIRST):
            yield call, None

    def _stored(self, value: Value, key: Key) -> Iterator[tuple[Value, Key]]:
        for store in self._stores.get(value, ()):
            if store.kind is Kind.ASSIGN:
                for target in targets_of(self.solution, store):
                    for reader in self._readers.get(target, ()):
                        yield reader, key
            elif store.holder is not None and store.kind is Kind.INSERT:
                yield store.holder, None
                for atom in sorted_values(self.solution.final(store.holder)):
                    if isinstance(atom, Container):
                        yield atom.allocation, None

    @cached_property
    def _stores(self) -> dict[Value, list[Store]]:
        table: dict[Value, list[Store]] = defaultdict(list)
        for store in self.facts.graph.stores:
            table[store.value].append(store)
        return table

    @cached_property
    def _readers(self) -> dict[Place | Value, list[Value]]:
        table: dict[Place | Value, list[Value]] = defaultdict(list)
        for value in self.facts.graph.of(Op.READ, Op.ATTRIBUTE):
            for place in places_of(self.solution, value):
                table[place].append(value)
        return table

    @cached_property
    def _results(self) -> dict[Value, Function]:
        functions = self.facts.graph.functions
        return {function.result: function for function in functions if function.result is not None}


def gives_loaded(facts: Facts, call: Value) -> bool:
    """Whether a CALL reads weights and puts them where they were saved, and its function returns them."""
    load = facts.loads.of(call)
    return load is not None and not load.is_model and load.device == "saved" and returns(call.function, call)


def external_name(facts: Facts, call: Value) -> str | None:
    """The full dotted name of the imported or built-in object that a CALL calls, by whatever name; None for others."""
    names = external_names(facts, call)
    return names[0] if len(names) == 1 else None


def external_names(facts: Facts, call: Value) -> list[str]:
    """The full dotted names of all that it may be, also of what was given arguments by name before."""
    if call.callee.op is Op.EXTERNAL:
        return [call.callee.name]
    if not any(isinstance(atom, (External, Partial)) for atom in facts.solution.of(call.callee)):
        return []  # the most
    bounds = (bound for bound in called(facts.solution, call) if bound.by_name_only)
    return list(dict.fromkeys(bound.atom.name for bound in bounds if isinstance(bound.atom, External)))


def _is_host(value: Value) -> bool:
    """``"cpu"``, ``torch.device("cpu")``, ``lambda storage, loc: storage``."""
    if value.op is Op.CALL and value.callee.name == "torch.device" and value.arguments:
        return _is_host(value.arguments[0])
    function = value.reference
    if isinstance(function, Function):
        given = function.result.inputs if function.result is not None else ()
        return bool(function.parameters) and given == (function.parameters[0],)
    return value.op is Op.CONSTANT and value.syntax is not None and constant_of(value.syntax) == "cpu"


def _copies_by_method(call: Value) -> bool:
    return call.callee.op is Op.ATTRIBUTE and call.callee.name in COPYING


def _loads_objects(call: Value, checkpoint: Value) -> bool:
    """Whether a CALL is :data:`LOAD_OBJECTS`, or a function of that name and its keywords, with this checkpoint."""
    callee, name = call.callee, LOAD_OBJECTS.rpartition(".")[2]
    is_known = callee.op is Op.EXTERNAL and callee.name == LOAD_OBJECTS
    is_alike = callee.name.rpartition(".")[2] == name and {"to_load", "checkpoint"} <= {*call.keys}
    return (is_known or is_alike) and call.argument(1, "checkpoint") is checkpoint


def _is_taken_out(part: Value, holder: Value) -> bool:
    """``part = holder.pop(key)``: the holder has it no longer."""
    return part.op is Op.CALL and part.callee.name in ("pop", "popitem") and holder in part.callee.inputs


def _beyond(starts: Iterable[Value], edges: dict[Value, set[Value]]) -> set[Value]:
    """Where ``edges`` lead to from ``starts``; to one of these only if they lead back."""
    first = (value for start in starts for value in edges.get(start, ()))
    return set(reached(first, lambda value: edges.get(value, ())))


def _is_for_copies(name: str) -> bool:
    """Whether a full dotted name is that of what makes a place to write to and to read back from at once."""
    return name == "io.BytesIO" or name.startswith("tempfile.")


def _is_same_target(written: Value, source: Value) -> bool:
    """Whether two values are one, or the same attribute of one: ``file.name``."""
    is_attribute = written.op is source.op is Op.ATTRIBUTE and written.name == source.name
    return written is source or (is_attribute and written.inputs[0] is source.inputs[0])


def _saves(call: Value) -> bool:
    return call.callee.name == "torch.save"


def _behind(value: Value) -> list[Value]:
    """What a value is computed from, and what is called for it."""
    parts = list(value.computed_from())
    return parts + [part.callee for part in parts if part.op is Op.CALL]
