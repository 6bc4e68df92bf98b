"""What an ``autograd.Function`` leaves on its context, and what that context then holds in a circle.

The context is the graph node of the call. An output knows that node, so a context that knows its output is a circle:
``save_for_backward`` sees to that, an attribute does not. A view of an output holds it through C++, where Python's
collector does not look, and two outputs on one context hide the circle from it in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.autograd.computed_here import ComputedHere
from torchlint.facts.autograd.object_parts import held_arguments
from torchlint.facts.keeping.kept_elsewhere import kept_elsewhere
from torchlint.facts.values.dictionaries import surely_lists_keys
from torchlint.facts.values.domain import ClassReference, Derived, FunctionReference, Tensor, sorted_values
from torchlint.facts.values.graph import Class, Function, Kind, Op, Store, Value
from torchlint.facts.values.operations import operation
from torchlint.facts.values.own_backward import has_own_backward
from torchlint.facts.values.torch_calls import WHOLE
from torchlint.facts.values.writing import parts
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

_ENDS_AS_FLOAT = frozenset(["detach", "detach_", "new_tensor", "tensor", "new", "histc", "from_numpy", "data"])
"""Operations that end a graph and still give numbers that can have one; the others give integers and booleans."""


_COLLECTIONS = frozenset(
    ["builtins.dict", "builtins.list", "builtins.tuple", "collections.OrderedDict", "types.SimpleNamespace"]
)  # fmt: skip


class Share(Enum):
    """What a value on a context has to do with what the call gives back."""

    OUTPUT = "an output"
    """It is an output: output and context hold each other until the cyclic collector comes by."""
    OUTPUTS = "one of several outputs"
    """It is an output and another one is kept as well: each knows the context, and the collector gives up on that."""
    VIEW = "a view of an output"
    """It is a view of an output: they hold each other where no collector looks."""
    OTHER = "made on the way"
    """It was computed on the way: it stays as long as the graph does, backward does not free it."""


_RANKS = {Share.OTHER: 0, Share.OUTPUT: 1, Share.OUTPUTS: 2, Share.VIEW: 3}


@dataclass(frozen=True)
class OnContext:
    """A tensor that is kept as an attribute of a context.

    Attributes:
        store: what keeps it.
        statement: where.
        value: the tensor.
        tensor: how the program writes it there.
        attribute: the name of the attribute.
        holder: how the program writes the attribute.
        share: what it has to do with the outputs.
        forward: the function that runs for each call: ``forward``, or ``setup_context`` beside one.
        name: what is called: the class of ``forward``.
        backward: the function that reads it, if it is seen.
        cleared: backward takes it off the context again.
    """

    store: Store
    statement: cst.CSTNode
    value: Value
    tensor: str
    attribute: str
    holder: str
    share: Share
    forward: Function
    name: str
    backward: Function | None
    cleared: bool

    @property
    def is_circle(self) -> bool:
        """Whether context and tensor hold each other."""
        return self.share is not Share.OTHER

    @property
    def is_forever(self) -> bool:
        """Whether no collector frees them."""
        return self.share in (Share.OUTPUTS, Share.VIEW)


@dataclass(frozen=True)
class _Call:
    """The parts of one function with a backward of its own.

    Attributes:
        context: the parameter that gets the context.
        function: the function that fills it.
        backward: the function that reads it, if it is seen.
        outputs: what is given back and can have a gradient.
        bundle: the tuple of the outputs, where it is handed over as one; what is taken out of it is no view.
    """

    context: Value
    function: Function
    backward: Function | None
    outputs: frozenset[Value]
    bundle: frozenset[Value] = frozenset()


def on_contexts(facts: Facts) -> list[OnContext]:
    """Every tensor on a context of a function that records a graph, at most one for each statement."""
    best: dict[cst.CSTNode, OnContext] = {}
    for found in _Search(facts).found():
        known = best.get(found.statement)
        if known is None or _RANKS[found.share] < _RANKS[known.share]:
            best[found.statement] = found
    return list(best.values())


class _Search:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.solution = facts.solution
        self.identity = facts.identity
        self.computed = ComputedHere(facts)

    def found(self) -> Iterator[OnContext]:
        for call in self._calls():
            kept = [
                self._on_context(store, statement, value, share, call)
                for store in self._kept_on.get(call.context, ())
                if not self._is_taken_back(store, call)
                for statement, value in self._items(store)
                if (share := self._share(value, call)) is not None
            ]
            kept = [one for one in kept if one.share is not Share.OTHER or not one.cleared]
            outputs = [one.value for one in kept if one.share is Share.OUTPUT and not one.cleared]
            several = any(self._differ(one, other) for one in outputs for other in outputs)
            for one in kept:
                is_one_of_several = several and one.share is Share.OUTPUT
                yield replace(one, share=Share.OUTPUTS) if is_one_of_several else one

    def _is_taken_back(self, store: Store, call: _Call) -> bool:
        """Whether the same function clears the attribute again: ``del ctx.y``, ``ctx.y = None``."""
        later = (other for other in self._kept_on.get(call.context, ()) if other.value.index > store.value.index)
        if any(other.attribute == store.attribute and other.value.op is Op.CONSTANT for other in later):
            return True
        return _deletes(call.function, call.context.name, store.attribute)

    def _differ(self, one: Value, other: Value) -> bool:
        return self.identity.roots(one).isdisjoint(self.identity.roots(other))

    def _on_context(self, store: Store, statement: cst.CSTNode, value: Value, share: Share, call: _Call) -> OnContext:
        cleared = call.backward is not None and self._is_cleared(store.attribute, call.backward)
        holder = dotted(store.target) or f"{call.context.name}.{store.attribute}"
        name = call.function.owner.name if call.function.owner is not None else call.function.name
        tensor = self.facts.name_of(parts(store.value, store.syntax, [value])[0])
        return OnContext(
            store, statement, value, tensor, store.attribute, holder, share, call.function, name, call.backward, cleared
        )

    # -- the functions --------------------------------------------------------------------------------------------

    def _calls(self) -> Iterator[_Call]:
        for cls in self.facts.graph.classes:
            forward, setup, backward = map(cls.method, ("forward", "setup_context", "backward"))
            if forward is None or not has_own_backward(cls) or not self._records(cls):
                continue
            if not forward.is_static and "classmethod" not in forward.decorators:
                continue  # torch refuses to run it: called by hand it is a method like any other, and records no node
            own = cls.methods.values()
            if setup is not None and (setup in own or forward in own):
                yield from self._split(setup, forward, backward)
            elif setup is None and forward in own and forward.parameters:
                context = forward.parameters[0]
                yield _Call(context, forward, backward, self._differentiable(self._returned(forward), context))
        for call in self.facts.calls():
            # torch.library.register_autograd(op, backward, setup_context=setup)
            if call.callee.name.rpartition(".")[2] == "register_autograd":
                made = self._function(call.argument(-1, "setup_context"))
                position = 0 if call.callee.op is Op.ATTRIBUTE else 1
                if made is not None:
                    yield from self._split(made, None, self._function(call.argument(position, "backward")))

    def _split(self, setup: Function, forward: Function | None, backward: Function | None) -> Iterator[_Call]:
        """A forward without a context and the function that fills it afterwards.

        That of an operator with arguments by keyword alone gets these before the output:
        https://docs.pytorch.org/docs/stable/library.html#torch.library.register_autograd
        """
        if len(setup.parameters) < 3:
            return
        context, handed = setup.parameters[0], setup.parameters[2 if forward is not None else -1]
        returned = self.identity.roots(forward.result) if forward is not None and forward.result is not None else ()
        bundles = [root for root in returned if root.op is Op.CONTAINER]
        parts = {user for user in handed.users if user.op in (Op.ELEMENT, Op.SUBSCRIPT)}
        if forward is None or bundles:
            items = {part: self._item(bundles, part) for part in parts}
            outputs = {part for part, item in items.items() if self._differentiable(item, context) or not item}
            yield _Call(context, setup, backward, frozenset(outputs | {handed}), frozenset([handed]))
        elif self._differentiable(returned, context):
            yield _Call(context, setup, backward, frozenset([handed]))

    def _item(self, bundles: list[Value], part: Value) -> list[Value]:
        """What a forward puts where ``part`` is taken from."""
        key = part.keys[0]
        items = [item for made in bundles for known, item in zip(made.keys, made.inputs, strict=True) if known == key]
        return [root for item in items for root in self.identity.roots(item)]

    def _function(self, value: Value | None) -> Function | None:
        atoms = sorted_values(self.solution.final(value)) if value is not None else []
        return next((atom.function for atom in atoms if isinstance(atom, FunctionReference)), None)

    def _returned(self, forward: Function) -> list[Value]:
        """What a forward gives back, the items of a tuple one by one."""
        found: list[Value] = []
        for root in self.identity.roots(forward.result) if forward.result is not None else ():
            if root.op is not Op.CONTAINER:
                found.append(root)
                continue
            for position, item in enumerate(root.inputs):
                # Of several things that unseen code returns only the first is surely no index.
                if position == 0 or self.solution.may_be(item, Tensor | Derived):
                    found.extend(self.identity.roots(item))
        return found

    def _differentiable(self, returned: Iterable[Value], context: Value) -> frozenset[Value]:
        """Those of the returned tensors that get the node of the call: no integers, no inputs as they came."""
        told = self._told.get(context, {})
        marked, changed = (told.get(name, set()) for name in ("mark_non_differentiable", "mark_dirty"))
        return frozenset(
            value for value in returned
            if value not in marked and not self._is_whole(value) and (value.op is not Op.PARAMETER or value in changed)
        )  # fmt: skip

    @cached_property
    def _told(self) -> dict[Value, dict[str, set[Value]]]:
        """What each context was told of its inputs and outputs, by the name of the method."""
        table: dict[Value, dict[str, set[Value]]] = {}
        for call in self.facts.calls():
            if call.callee.op is Op.ATTRIBUTE and call.callee.name in ("mark_non_differentiable", "mark_dirty"):
                roots = {root for argument in call.arguments for root in self.identity.roots(argument)}
                receiver = call.callee.inputs[0]
                for context in {receiver, *self.identity.roots(receiver)}:
                    table.setdefault(context, {}).setdefault(call.callee.name, set()).update(roots)
        return table

    def _records(self, cls: Class) -> bool:
        """Whether the function may be applied with gradients on; True where it is not seen to be applied."""
        reads = [
            value for value in self.facts.graph.values
            if value.op is Op.ATTRIBUTE and value.name == "apply"
            and any(isinstance(a, ClassReference) and cls in a.cls.lineage() for a in self.solution.of(value.inputs[0]))
        ]  # fmt: skip
        calls = [call for read in reads for call in read.calls]
        if not calls or any(user.op is not Op.CALL for read in reads for user in read.users):
            return True
        return any(map(self.facts.modes.records, calls)) or any(not read.users for read in reads)

    # -- what is kept ---------------------------------------------------------------------------------------------

    @cached_property
    def _kept_on(self) -> dict[Value, list[Store]]:
        """For each context (and any other object), what is assigned to its attributes, be it by another file."""
        table: dict[Value, list[Store]] = {}
        for store in (*self.facts.graph.stores, *self._stores_elsewhere()):
            if store.kind is Kind.ASSIGN and store.attribute and store.holder is not None:
                for root in {store.holder, *self.identity.roots(store.holder)}:
                    table.setdefault(root, []).append(store)
        return table

    def _stores_elsewhere(self) -> Iterator[Store]:
        """What functions of other files assign to attributes of what they are given: ``remember(ctx, y)``."""
        for kept in kept_elsewhere(self.facts):
            keep, call = kept.keep, kept.call
            if kept.holder is not None and keep.attribute and not (keep.grows or keep.is_computed):
                yield Store(
                    Kind.ASSIGN, kept.given.value, call.function, call.loop, call.mode, self.facts.statement_of(call),
                    syntax=kept.given.node, holder=kept.holder, attribute=keep.attribute, call=call,
                )  # fmt: skip

    def _items(self, store: Store) -> Iterator[tuple[cst.CSTNode, Value]]:
        """What an attribute holds: its value, and what is or will be in it when that is a container or a record."""
        pending, seen = [(store.statement, store.value)], set[Value]()
        while pending:
            statement, value = pending.pop(0)
            for root in sorted(self.identity.roots(value) - seen, key=lambda root: root.index):
                seen.add(root)
                if root.op is Op.CALL and surely_lists_keys(self.solution, root):
                    continue
                if root.op is Op.CALL and root.callee.name in _COLLECTIONS:
                    pending.extend((statement, argument) for argument in root.arguments)
                elif root.op is Op.CALL:
                    pending.extend((statement, argument) for argument in held_arguments(self.facts, root))
                elif root.op is Op.CONTAINER:
                    pending.extend((statement, item) for item in root.inputs)
                    pending.extend(
                        (other.statement, other.value)
                        for other in self.facts.graph.stores
                        if other.kind is Kind.INSERT and other.holder is root
                    )
            yield statement, value

    def _share(self, value: Value, call: _Call) -> Share | None:
        roots, bases = self.identity.roots(value), self.identity.bases(value)
        if not roots.isdisjoint(call.outputs):
            return Share.OUTPUT
        if not bases.isdisjoint(call.outputs - call.bundle):
            return Share.VIEW
        if any(map(_is_detached_copy, roots)):
            return None
        is_computed = all(map(self.computed.is_computed, roots)) and not any(base.op is Op.PARAMETER for base in bases)
        return Share.OTHER if is_computed else None

    def _is_whole(self, value: Value) -> bool:
        """Whether a tensor holds integers or booleans, which have no gradient."""
        if value.op is Op.COMPARISON:
            return True
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT) and value.inputs[0].op is Op.CALL:
            made = operation(value.inputs[0])
            key = value.keys[0] if value.keys else None
            if made is not None and isinstance(key, int) and key < len(made.elements):
                return made.elements[key][1] is torch_api.History.ENDS
            return False
        if value.op is not Op.CALL:
            return False
        if any(a.op is Op.EXTERNAL and a.name in WHOLE for a in value.arguments):
            return True
        made = operation(value)
        name = value.callee.name.rpartition(".")[2]
        return made is not None and made.history is torch_api.History.ENDS and name not in _ENDS_AS_FLOAT

    # -- what backward does ---------------------------------------------------------------------------------------

    def _is_cleared(self, attribute: str, backward: Function) -> bool:
        """Whether backward, or what it hands its context to, sets the attribute anew or deletes it."""
        if not backward.parameters:
            return False
        context = backward.parameters[0]
        if any(store.attribute == attribute for store in self._kept_on.get(context, ())):
            return True
        if any(
            reset.holder.op is Op.ATTRIBUTE and reset.holder.name == attribute
            and context in self.identity.roots(reset.holder.inputs[0])
            for reset in self.facts.graph.resets
        ):  # fmt: skip
            return True
        return any(
            _deletes(function, parameter.name, attribute)
            for function in self.facts.graph.functions
            for parameter in function.parameters
            if parameter is context or context in self.identity.roots(parameter)
        )


def _is_detached_copy(value: Value) -> bool:
    """``y.detach().clone()``, ``y.detach().to(torch.int8)``: what is copied to be kept is kept on purpose."""
    methods = list[str]()
    while value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
        methods.append(value.callee.name)
        value = value.callee.inputs[0]
    return "detach" in methods[1:]


def _deletes(function: Function, name: str, attribute: str) -> bool:
    """Whether ``del name.attribute`` (or ``delattr``) stands in a function."""
    for node in walk(function.syntax):
        if isinstance(node, cst.Del) and f"{name}.{attribute}" in map(dotted, walk(node.target)):
            return True
        if isinstance(node, cst.Call) and dotted(node.func) == "delattr" and node.args:
            if dotted(node.args[0].value) == name:
                return True
    return False
