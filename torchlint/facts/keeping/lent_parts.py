"""Parts of a model that a loop puts on the device one after the other, and gives up by name only.

``Module.to`` moves the layer itself, which the model has still: when the local name is deleted it stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.facts.keeping.asking_back import AskingBack
from torchlint.facts.keeping.holders import Holders
from torchlint.facts.values.domain import Tensor
from torchlint.facts.values.externals import Meaning, meaning_of
from torchlint.facts.values.graph import Drop, Function, Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT, after_moves, before_moves
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.residence import DEVICES, Residence, Residences

if TYPE_CHECKING:
    from torchlint.facts import Facts

LISTING = frozenset(["children", "named_children", "modules", "named_modules", "values", "items", "get_submodule"])
"""Methods of modules that give back their parts."""

MOVING = DEVICES | {"to", "cpu", "to_empty"}


class LentParts:
    """Answers for the deletions of one file."""

    def __init__(self, facts: Facts, holders: Holders, asking: AskingBack) -> None:
        """Ask ``facts`` what is a part of what."""
        self.facts = facts
        self.solution = facts.solution
        self.holders, self.asking = holders, asking
        self.residences = Residences(facts.flows)

    def owner_of(self, drop: Drop) -> tuple[str, Value] | None:
        """The model, and its name, that keeps what is given up in a loop on the device to which the loop moved it."""
        if drop.value is None or drop.loop is None or not self._asks_back(drop.function):
            return None
        part = before_moves(drop.value)
        owner = self._owner(part)
        if owner is None or owner is part or not self._outlives(owner, drop):
            return None
        name = next((name for name, bound in drop.bound.items() if bound is owner), None)
        if name is None or not self._is_module(part) or not self._is_moved_once(part, owner, drop):
            return None
        return None if self._is_handed_out(part, owner, drop) else (name, owner)

    def _asks_back(self, function: Function) -> bool:
        return any(map(self.asking.is_asked_by, self._calls(function)))

    def _calls(self, function: Function) -> list[Value]:
        return self.facts.steps.calls_in(function)

    def _owner(self, part: Value) -> Value | None:
        """That of which a value is a part: ``model`` for ``model.layers[i]``, None where it is no part of anything."""
        current, is_part = part, False
        for _ in range(12):
            behind = self._whole(current)
            if behind is None:
                return current if is_part else None
            is_part = is_part or behind is not current
            current = behind
        return None

    def _whole(self, part: Value) -> Value | None:
        if part.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT):
            behind = part.inputs[0]
            is_pair = part.op is Op.ELEMENT and behind.op is Op.CONTAINER and part.keys[0] in behind.keys
            return behind.inputs[behind.keys.index(part.keys[0])] if is_pair else behind
        if part.op is not Op.CALL:
            return None
        if part.callee.op is Op.ATTRIBUTE and part.callee.name in LISTING | SAME_OBJECT:
            return part.callee.inputs[0]
        name = part.callee.name if part.callee.op is Op.EXTERNAL else ""
        if part.arguments and (name == "builtins.getattr" or meaning_of(name) is Meaning.COLLECTS):
            return part.arguments[-1] if name == "builtins.zip" else part.arguments[0]
        given = {self._argument_inside(function, part) for function in self.solution.functions_of(part)}
        return given.pop() if len(given) == 1 else None

    def _argument_inside(self, function: Function, call: Value) -> Value | None:
        """The argument of which a function gives a part back: ``get_submodule(model, name)``."""
        binding = self.solution.callers.get(function, {}).get(call, {})
        taken_from = ends([function.result], _taken_from) if function.result is not None else ()
        sources = {source for source in taken_from if source.op is not Op.CONSTANT}
        source = sources.pop() if len(sources) == 1 else None
        return binding.get(source) if source is not None and source in function.parameters else None

    def _outlives(self, owner: Value, drop: Drop) -> bool:
        """Whether the model is there in the next turn too, and the function does not give it up."""
        assert drop.loop is not None
        if owner.function is not drop.function or (owner.loop is not None and drop.loop in owner.loop.around()):
            return False
        return not any(other.value is owner and other.function is drop.function for other in self.facts.graph.drops)

    def _is_module(self, part: Value) -> bool:
        """Whether it is a module, which ``to`` moves, and no tensor, which it copies and nobody calls."""
        if self.facts.tensors.is_module(part):
            return True
        if self.solution.may_be(part, Tensor):
            return False
        held = self.holders.objects(part)
        return any(self.holders.objects(call.callee) & held for call in self.facts.calls())

    def _is_moved_once(self, part: Value, owner: Value, drop: Drop) -> bool:
        """Whether each turn puts the part on a device, and nothing else in the function moves it, or the model."""
        held, same = self.holders.objects(part), set(after_moves(part))
        onto = []
        for call in self._moves():
            moved = call.callee.inputs[0]
            if moved in same or self.holders.objects(moved) & held:
                onto.append(call)
            elif call.function is drop.function and self._is_of(moved, owner):
                return False
        if len(onto) != 1 or onto[0].function is not drop.function or onto[0].index >= drop.index:
            return False
        return self._puts_on_device(onto[0]) and not self._is_there_already(owner, drop.function)

    def _is_there_already(self, owner: Value, function: Function) -> bool:
        """Whether a caller moved the whole model to the device before, where its parts then are anyway."""
        callers = self.solution.callers.get(function, {})
        for call, binding in callers.items():
            given = binding.get(owner)
            objects = self.holders.objects(given) if given is not None else frozenset[Value]()
            before = [
                move
                for move in self._moves()
                if move.function is call.function
                and move.index < call.index
                and self.holders.objects(move.callee.inputs[0]) & objects
            ]
            if before and self._puts_on_device(max(before, key=lambda move: move.index)):
                return True
        return False

    def _moves(self) -> list[Value]:
        return [c for c in self.facts.calls() if c.callee.op is Op.ATTRIBUTE and c.callee.name in MOVING]

    def _puts_on_device(self, move: Value) -> bool:
        if move.callee.name in DEVICES:
            return True
        targets = [argument for argument in move.arguments if not _names_type(argument)]
        return any(self.residences.named(target) is not Residence.HOST for target in targets)

    def _is_of(self, value: Value, owner: Value) -> bool:
        """Whether a value is the model, or another way to a part of it."""
        if value is owner or self._owner(value) is owner:
            return True
        return bool(self.holders.objects(value) & self.holders.objects(owner))

    def _is_handed_out(self, part: Value, owner: Value, drop: Drop) -> bool:
        """Whether code that is not seen has the part and may move it, or something else may take its place."""
        ways = set(self._ways(part))
        same = set(after_moves(part))
        for call in self._calls(drop.function):
            if call in ways or self.asking.is_neutral(call) or _only_looks(call):
                continue
            if any(self._is_of(argument, owner) and argument not in same for argument in call.arguments):
                return True
            functions = self.solution.functions_of(call)
            is_seen = bool(functions) and not any(function.is_foreign for function in functions)
            if not is_seen and any(argument in same for argument in call.arguments):
                return True
        stores = (s for s in self.facts.graph.stores if s.function is drop.function and s.holder is not None)
        return any(store.holder is not None and self._is_of(store.holder, owner) for store in stores)

    def _ways(self, part: Value) -> Iterator[Value]:
        """The calls by which a part is reached from its model."""
        current: Value | None = part
        for _ in range(12):
            if current is None:
                return
            yield current
            current = self._whole(current)


def _only_looks(call: Value) -> bool:
    """``len(layers)``, ``print(layer)``, but not ``setattr(model, name, other)``."""
    return call.callee.name.startswith("builtins.") and call.callee.name != "builtins.setattr"


def _names_type(argument: Value) -> bool:
    """Whether what ``to`` is given is a type of numbers: ``torch.float16``, ``x.dtype``."""
    return argument.name.startswith("torch.") or argument.name in ("dtype", "type")


def _taken_from(value: Value) -> Sequence[Value]:
    """What a value is, or is a part of."""
    if value.op in (Op.SUBSCRIPT, Op.ATTRIBUTE):
        return value.inputs[:1]
    if value.op is Op.CALL and value.callee.name == "builtins.getattr":
        return value.arguments[:1]
    return value.inputs if value.op is Op.PHI else ()
