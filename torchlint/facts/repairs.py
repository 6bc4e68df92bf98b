"""The repairs that several rules make: edits of the tree, and whether they are safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.aliases import changed_for_backward, told_apart
from torchlint.facts.autograd.flows import Flows
from torchlint.facts.autograd.gradients import Zeroing, free_instead
from torchlint.facts.autograd.read_again import is_read_again
from torchlint.facts.host.recording import Recording, bound
from torchlint.facts.keeping.checkpoint_repairs import drop, hand_location_on
from torchlint.facts.keeping.checkpoints import Checkpoint
from torchlint.facts.keeping.unheeded import Unheeded
from torchlint.facts.reaching_names import is_reached
from torchlint.facts.values.distributions import maker_of
from torchlint.facts.values.domain import Container, Plain, is_only_containers, surely_graphless
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.several_tensors import in_each, is_several
from torchlint.facts.values.writing import Use, choices_written, operands
from torchlint.facts.wording import Wording
from torchlint.fix.edits import add_line, call_method, decorate, detach, guard_statement, without_argument
from torchlint.rule import Fix

__all__ = ["Repairs"]


class Repairs(Wording):
    """One file, in its own words, and what can be changed in it.

    Attributes:
        flows: what is known of its tensors.
        others_only_read: whether other files of the run make only numbers of what a function of this one gives.
    """

    flows: Flows
    others_only_read: Callable[[str], bool]

    def detach(self, title: str, uses: Sequence[Use], *, allow_any_tensor: bool = False) -> Fix | None:
        """The repair that detaches values where they are used; None where one is not written there, or may be a number.

        None is also what is read again, where it was put, for a backward.

        It is safe when each of them is a tensor with a graph on every path (``allow_any_tensor``: a tensor), the
        program does not tell it apart from others by anything but its numbers and does not ask for its graph where it
        is kept, and nobody who is not seen may be given it to run a backward over it.

        Of a distribution the tensors are detached of which it is made there.
        """
        tensors = [self._tensors_of(use) for use in uses]
        if not all(tensors):
            return None
        uses = [tensor for group in tensors for tensor in group]
        nodes = [use.node for use in uses]
        if not all(isinstance(node, cst.BaseExpression) for node in nodes):
            return None
        if any(map(self.is_read_again, uses)):
            return None
        if any(self._is_number_for_some(use.value) or self._is_several(use.value) for use in uses):
            return None
        certain = self.flows.surely_tensor if allow_any_tensor else self.flows.surely_live
        edits = tuple(detach(node) for node in nodes if node is not None)
        safe = all(certain(use.value) and use.value not in self._lasting for use in uses)
        safe = safe and not any(self.flows.is_inspected_elsewhere(use.value) for use in uses)
        if safe and not allow_any_tensor:  # what a running state was is read, and not trained on
            safe = not any(self._may_be_differentiated(use.value) for use in uses)
        return Fix(title, edits, safe=safe)

    def is_read_again(self, use: Use) -> bool:
        """Whether a backward runs over what is read by a name to which a value is assigned where it is used."""
        return is_read_again(self, use)

    def _may_be_differentiated(self, value: Value) -> bool:
        """Whether a graph over which no backward has run goes to callers that are not seen, or to code that is not.

        Other files that make only numbers of what a function gives are seen. So it may where it is not seen what a
        backward runs over.
        """
        if self.flows.loses_sight and not self.flows.is_spent(value):
            return True
        if value not in self.flows.escaped or self.flows.touches_spent(value):
            return False
        giving = {value.function, *self.flows.solution.callers_above([value.function])}
        results = (one for one in giving if one.result is not None and value in self.flows.ancestry.of(one.result))
        return not any(self.others_only_read(one.name) for one in results)

    @cached_property
    def _lasting(self) -> frozenset[Value]:
        """The tensors of which it matters which object they are, or that are changed by what they are kept in."""
        return told_apart(self.flows) | changed_for_backward(self.flows)

    def _is_several(self, value: Value) -> bool:
        """Whether a value may be a tuple, a list or a dictionary, none of which can be detached as a whole."""
        atoms = self.flows.solution.final(value)
        is_display = any(isinstance(atom, Container) and atom.allocation.op is Op.CONTAINER for atom in atoms)
        return is_display or is_several(self.flows.solution, value)

    def _is_number_for_some(self, value: Value) -> bool:
        """Whether some calls of the file pass plain numbers for what others pass tensors for, or for all operands.

        Or one of the functions gives numbers that may run there. Or an attribute is one that is read by one of several
        names, ``getattr(step, name)``. Or some items of what is gone through are numbers.
        """
        if value.op is Op.ELEMENT and any(isinstance(atom, Plain) for atom in self.flows.solution.final(value)):
            return True
        if value.op is Op.OPERATION:
            return bool(value.inputs) and all(map(self._is_number_for_some, value.inputs))
        given = self.flows.solution.arguments_of(value) if value.op is Op.PARAMETER else []
        if value.op is Op.PHI and all(one.op is Op.ATTRIBUTE and one.syntax is value.syntax for one in value.inputs):
            given = list(value.inputs)
        functions = self.flows.solution.functions_of(value) if value.op is Op.CALL else []
        if len(functions) > 1:  # of an object's own class, and of those below it
            given = [one.result for one in functions if one.result is not None]
        return any(all(isinstance(a, Plain) for a in self.flows.solution.final(one)) for one in (given or [value]))

    def detached(self, use: Use) -> str:
        """How a value is written with ``.detach()``, at most 60 characters; of several tensors each has its own."""
        maker = maker_of(self.flows.solution.final(use.value))
        if maker is None and is_several(self.flows.solution, use.value):
            return in_each(self.flows.solution, use.value, self.name_of(use), "detach")
        if maker is None:
            return self._detached_in_choice(use) or self.with_method(use, "detach")
        node = use.node
        edited = [tensor.node for tensor in self._tensors_of(use)]
        if isinstance(node, cst.Call) and edited and {arg.value for arg in node.args}.issuperset(edited):
            args = [arg.with_changes(value=_detached(arg.value)) if arg.value in edited else arg for arg in node.args]
            text = self.code(node.with_changes(args=args))
            if len(text) <= 60:
                return text
        return f"{maker.callee.name.rpartition('.')[2]}(x.detach(), ...)"

    def _detached_in_choice(self, use: Use) -> str:
        """``loss.detach() if step else 0.0``; "" where nothing is chosen there, or it takes more than 60 characters."""
        chosen, tensors = choices_written(use), self._tensors_of(use)
        if not chosen or tensors == [use] or use.node is None:
            return ""
        edited = {tensor.node: _detached(tensor.node) for tensor in tensors if tensor.node is not None}
        text = self.code(_with_others(use.node, edited))
        return text if len(text) <= 60 else ""

    def _tensors_of(self, use: Use) -> list[Use]:
        """The tensors with a graph that are written in ``use``: itself, or those of which it makes a distribution.

        Or those among which it chooses, where what else it may be has no graph: ``loss if step else 0.0``.
        """
        chosen = choices_written(use)
        if chosen:
            bringing = [one for one in chosen if not surely_graphless(self.flows.solution.final(one.value))]
            tensors = [tensor for one in bringing for tensor in self._tensors_of(one)]
            return [use] if tensors == chosen else tensors
        if maker_of(self.flows.solution.final(use.value)) is None:
            return [use]
        if use.node is None or use.value.syntax is not use.node:
            return []  # made elsewhere
        given = [one for one in operands(use.value) if self.flows.carries(one.value)]
        return [tensor for one in given for tensor in self._tensors_of(one)]

    def with_method(self, use: Use, method: str) -> str:
        """How a value is written with a method called on it, at most 60 characters."""
        if use.node is None:
            is_operation = isinstance(use.value.syntax, cst.BinaryOperation | cst.UnaryOperation | cst.IfExp)
            name = self.name_of(use)
            return f"({name}).{method}()" if is_operation else f"{name}.{method}()"
        changed = call_method(use.node, method).build(use.node)
        text = self.code(changed) if isinstance(changed, cst.CSTNode) else ""
        return text if len(text) <= 60 else f"(...).{method}()"

    def on_host(self, use: Use) -> str:
        """How to put a value aside on the host, in words: "`out.cpu()`"; of a dictionary or a list what is in it."""
        is_several = is_only_containers(self.flows.solution.final(use.value))
        return "its tensors moved to the host" if is_several else f"`{self.with_method(use, 'cpu')}`"

    def detach_results(self, title: str, calls: Sequence[Value], *, safe: bool) -> Fix | None:
        """The repair that detaches what each of some calls gives; None where one may be no tensor with a graph."""
        single = [call for call in calls if self.flows.surely_live(call) and not is_several(self.flows.solution, call)]
        written = [call.syntax for call in single if isinstance(call.syntax, cst.Call)]
        return Fix(title, tuple(map(detach, written)), safe=safe) if len(written) == len(calls) else None

    def carrier(self, use: Use) -> Use:
        """The operand that brings the graph: ``mean`` of ``(1 - m) * mean``, looked for through ``+ - * /``."""
        arithmetic = ("Add", "Subtract", "Multiply", "Divide")
        while use.value.op is Op.OPERATION and use.value.name in arithmetic and use.node is use.value.syntax:
            carriers = [operand for operand in operands(use.value) if self.flows.brings_graph(operand.value)]
            if len(carriers) != 1:
                break
            use = carriers[0]
        return use

    def guard(self, function: Function, *, safe: bool) -> Fix | None:
        """The repair that decorates a function with ``no_grad``; None where a decorator would not guard it."""
        node = function.syntax
        if not isinstance(node, cst.FunctionDef) or function.is_async or function.is_property:
            return None
        if not self._reaches_no_grad(node) or self.gives_lazily(function):
            return None
        edit = decorate(node, f"{self.torch_name('no_grad')}()")
        needs_import = not self.has_torch_name("no_grad")
        return Fix("Decorate the function with `no_grad`", (edit,), safe=safe, needs_torch=needs_import)

    def gives_lazily(self, function: Function) -> bool:
        """Whether a function returns a generator expression, which runs where it is consumed, outside of any guard."""
        results = function.result.inputs if function.result is not None else ()
        return any(isinstance(result.syntax, cst.GeneratorExp) for result in results)

    def _reaches_no_grad(self, node: cst.CSTNode) -> bool:
        """Whether the name of ``no_grad`` in this file means that where a node stands."""
        name = self.torch_name("no_grad").partition(".")[0]
        full = "torch.no_grad" if name == self.torch_name("no_grad") else "torch"
        return is_reached(name, full, node, self.parents)

    def call_on(self, title: str, use: Use, method: str, *, safe: bool) -> Fix | None:
        """The repair that calls a method on a value where it is used; None where it is not written there."""
        return None if use.node is None else Fix(title, (call_method(use.node, method),), safe=safe)

    def run_without_gradients(self, title: str, statement: cst.CSTNode, *, safe: bool) -> Fix | None:
        """The repair that puts a statement under ``no_grad``; None where that name means something else."""
        if not self._reaches_no_grad(statement):
            return None
        edit = guard_statement(statement, f"{self.torch_name('no_grad')}()")
        return Fix(title, (edit,), safe=safe, needs_torch=not self.has_torch_name("no_grad"))

    def drop_argument(self, call: Value, keyword: str) -> Fix | None:
        """The repair that drops one of a call's keyword arguments; unsafe, since it changes what the call does."""
        if not isinstance(call.syntax, cst.Call):
            return None
        return Fix(f"Drop `{keyword}=True`", (without_argument(call.syntax, keyword),), safe=False)

    def bound_history(self, recording: Recording) -> Fix | None:
        """The repair that bounds the allocator's history; None where the call stands on several lines."""
        edit = bound(recording)
        return Fix("Bound the history", (edit,), safe=True) if edit is not None else None

    def free_gradients(self, zeroing: Zeroing) -> Fix | None:
        """The repair that lets ``zero_grad`` free the gradients; None where that is decided elsewhere."""
        edit = free_instead(zeroing)
        return Fix("Let `zero_grad` free the gradients", (edit,), safe=False) if edit is not None else None

    def drop(self, kept: Checkpoint) -> Fix | None:
        """The repair that deletes what was copied, if there is an automatic one."""
        return drop(kept)

    def hand_location_on(self, unheeded: Unheeded) -> Fix | None:
        """The repair that hands a function's ``map_location`` to what it loads by."""
        return hand_location_on(unheeded)

    def add_line(self, title: str, statement: cst.CSTNode, text: str, *, before: bool, safe: bool) -> Fix | None:
        """The repair that adds a statement on a line of its own; None where ``statement`` has none for itself."""
        edit = add_line(statement, text, before=before)
        return None if edit is None else Fix(title, (edit,), safe=safe)


def _detached(node: cst.BaseExpression) -> cst.BaseExpression:
    detached = detach(node).build(node)
    assert isinstance(detached, cst.BaseExpression)
    return detached


def _with_others(node: cst.CSTNode, others: Mapping[cst.BaseExpression, cst.BaseExpression]) -> cst.CSTNode:
    """``node`` with other expressions in the place of some."""
    for one, other in others.items():
        changed = node.deep_replace(one, other)
        assert isinstance(changed, cst.CSTNode)
        node = changed
    return node
