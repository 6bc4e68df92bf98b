"""What a file says is a module, wherever it comes from: by an annotation, or by all that it does with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.called_objects import CalledObjects
from torchlint.facts.values.components import networks_of_pipelines
from torchlint.facts.values.domain import Instance, Module
from torchlint.facts.values.frameworks import annotated
from torchlint.facts.values.graph import Op, Place, Value
from torchlint.facts.values.known import Known
from torchlint.facts.values.parameters import SAME_OBJECT, all_same_objects
from torchlint.frameworks import Holds, method_names

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

OWN_PARTS = "_modules"
"""The attribute in which a module has its parts by name, and nothing else has anything."""

UNWRAPPING = frozenset(["unwrap_model", "extract_model_from_parallel"])
"""Functions and methods that give back the model inside of what they are given, or that itself.

https://huggingface.co/docs/accelerate/package_reference/accelerator
"""


def unwraps(solution: Known, call: Value) -> bool:
    """Whether a CALL gives back the model inside of what it is given, ``accelerator.unwrap_model(net)``."""
    name = call.callee.name.rpartition(".")[2]
    return name in UNWRAPPING and bool(call.arguments) and not solution.functions_of(call)


class ToldModules:
    """Finds what is said of the modules of one file beside a single call of a method of modules."""

    def __init__(self, solution: Known) -> None:
        """Read once what does not depend on what is known of the values."""
        self._solution, self._graph = solution, solution.graph
        self._called_objects = CalledObjects(solution)
        self._components = networks_of_pipelines(solution.graph)
        self._annotated = list(self._by_annotation())
        self._opened = [v.inputs[0] for v in self._graph.of(Op.ATTRIBUTE) if v.name == OWN_PARTS]
        calls = self._graph.of(Op.CALL)
        self._unwrapping = [call for call in calls if call.callee.name.rpartition(".")[2] in UNWRAPPING]

    def subjects(self) -> Iterator[tuple[Value | Place, Module]]:
        """The values and places that are modules, each with what is known of it."""
        yield from ((parameter, Module()) for parameter in self._graph.foreign.modules)
        yield from self._annotated
        yield from ((network, Module()) for network in (*self._components, *self._called_objects.networks()))
        yield from ((module, Module()) for module in self._opened)
        yield from ((call, Module()) for call in self._unwrapping if unwraps(self._solution, call))

    def _by_annotation(self) -> Iterator[tuple[Value | Place, Module]]:
        """What an annotation says; of a parameter its transfer function knows."""
        for subject, name in self._graph.told.items():
            if isinstance(subject, Place) or subject.op is not Op.PARAMETER:
                yield from ((subject, atom) for atom in annotated(name) or () if isinstance(atom, Module))


def is_loaded(solution: Known, value: Value, seen: frozenset[Value] = frozenset()) -> bool:
    """Whether a value is what ``torch.load`` gives, moved as may be: if that is called, it is a module."""
    if value.op is Op.CALL:
        moved = value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT
        return value.callee.name == "torch.load" or (moved and is_loaded(solution, value.callee.inputs[0], seen))
    if value.op is Op.PHI:
        choices = value.inputs
    else:
        choices = tuple(solution.stored.get(value.place, ())) if value.place is not None else ()
    if value in seen or not choices:
        return value in seen
    return all(is_loaded(solution, choice, seen | {value}) for choice in choices)


def is_converted(solution: Known, value: Value) -> bool:
    """Whether a function of another file makes a module of a module: a quantized, a wrapped, a frozen one.

    That it is used as one says nothing of its parameters.
    """
    if value.op is not Op.CALL or not any(function.is_foreign for function in solution.functions_of(value)):
        return False
    given = (atom for argument in value.arguments for atom in solution.of(argument))
    return any(isinstance(atom, Module | Instance) for atom in given)


def has_other_methods(solution: Solution, receiver: Value) -> bool:
    """Whether the program calls methods on an object that modules do not have: it may only hold modules.

    That a pipeline, a trainer, a loop is moved to a device says nothing of what a call of it records.
    """
    of_modules = torch_api.module_methods() | method_names(Holds.OF_MODULES)
    users = (user for value in all_same_objects(solution, receiver) for user in value.users)
    return any(user.op is Op.ATTRIBUTE and user.name not in of_modules and user.calls for user in users)
