"""What is read from a file: calls that load weights, onto which device, and whether that matters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchlint.facts.building.names import constant_of
from torchlint.facts.keeping.adopting import adopts
from torchlint.facts.keeping.external_names import external_name, external_names
from torchlint.facts.keeping.loaded_parts import PASSING, LoadedParts, Parts, copies_by_method
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.summaries.effects import returns
from torchlint.facts.values.domain import (
    Atom,
    Instance,
    Module,
    Tensor,
    Tool,
)
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Class, Function, Op, Place, Value
from torchlint.facts.values.homes import targets_of
from torchlint.facts.values.partials import called

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


class Loads:
    """The calls of a file that read weights, and what becomes of these."""

    def __init__(self, facts: Facts) -> None:
        """Search when first asked."""
        self.facts = facts
        self.solution = facts.solution
        self._followed = LoadedParts(facts)

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
            for store in self.facts.stores_of.get(part, ())
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
            receivers = self.solution.final(user.callee.inputs[0]) if copies_by_method(user) else ()
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
        return self._followed.of(load)


def gives_loaded(facts: Facts, call: Value) -> bool:
    """Whether a CALL reads weights and puts them where they were saved, and its function returns them."""
    load = facts.loads.of(call)
    return load is not None and not load.is_model and load.device == "saved" and returns(call.function, call)


def _is_host(value: Value) -> bool:
    """``"cpu"``, ``torch.device("cpu")``, ``lambda storage, loc: storage``."""
    if value.op is Op.CALL and value.callee.name == "torch.device" and value.arguments:
        return _is_host(value.arguments[0])
    function = value.reference
    if isinstance(function, Function):
        given = function.result.inputs if function.result is not None else ()
        return bool(function.parameters) and given == (function.parameters[0],)
    return value.op is Op.CONSTANT and value.syntax is not None and constant_of(value.syntax) == "cpu"


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
