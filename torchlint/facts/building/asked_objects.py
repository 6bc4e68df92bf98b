"""Of which class a parameter is, by what its function asks of it: ``agent.act(state)`` and ``agent.learn(batch)``.

A file that has a class with all that is asked, and no other, is given its own objects, also where the calls that do so
stand nowhere: in a notebook, or in a file that is not read. One method is no evidence, nor are those that torch's
modules or Python's containers have.
"""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.graph import Class, Function, Op, Value, ValueGraph

LEAST = 2
"""So many methods of its own must be asked for."""

_COMMON = frozenset(name for kind in (list, dict, set, str) for name in dir(kind)) | {"step", "close", "reset", "write"}


def know_by_use(graph: ValueGraph) -> None:
    """Say of which class of the file the parameters of functions are that no call of the file names."""
    alone = [function for function in graph.functions if _is_left_to_others(graph, function)]
    if not alone or not any(cls.methods for cls in graph.classes):
        return
    named = {value.name for value in graph.of(Op.READ, Op.ATTRIBUTE)}
    kept: dict[Class, set[str]] = defaultdict(set)
    for store in graph.stores:
        if store.attribute and store.function.owner is not None:
            kept[store.function.owner.root()].add(store.attribute)
    for function in alone:
        for parameter in function.parameters if function.name not in named else ():
            if parameter.reference is None and _is_bare(parameter):
                parameter.reference = _class_for(graph, parameter, kept)


def _is_left_to_others(graph: ValueGraph, function: Function) -> bool:
    return function.parent is graph.module and function.owner is None and not function.is_foreign


def _is_bare(parameter: Value) -> bool:
    """Whether nothing is written of a parameter but its name."""
    node = parameter.syntax
    return isinstance(node, cst.Param) and node.annotation is None and node.default is None and not node.star


def _class_for(graph: ValueGraph, parameter: Value, kept: dict[Class, set[str]]) -> Class | None:
    users = [user for user in parameter.users if user.op is Op.ATTRIBUTE]
    asked = {user.name for user in users if user.calls}
    if len(asked - torch_api.module_methods() - _COMMON) < LEAST:
        return None
    read = {user.name for user in users} - asked
    able = [
        cls
        for cls in graph.classes
        if all(map(cls.method, asked)) and all(name in kept[cls.root()] or cls.method(name) for name in read)
    ]
    return able[0] if len(able) == 1 else None
