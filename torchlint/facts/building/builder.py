"""The builder's entry: a module in, its value graph out."""

from __future__ import annotations

from collections.abc import Set

import libcst as cst

from torchlint import torch_api
from torchlint.facts.building.annotations import annotated_class, tell
from torchlint.facts.building.asked_objects import know_by_use
from torchlint.facts.building.data_classes import keep_fields
from torchlint.facts.building.names import BUILTINS, import_names, scope_names, star_origin
from torchlint.facts.building.returned import hand_out_as_annotated
from torchlint.facts.building.state import State
from torchlint.facts.building.statements import StatementBuilder
from torchlint.facts.summaries.imports import Imports
from torchlint.facts.values.frameworks import is_module_class, is_told_of
from torchlint.facts.values.graph import Class, Function, Kind, Mode, Op, ValueGraph
from torchlint.facts.values.known import OWN_ITEMS
from torchlint.facts.values.overriding import is_left_open
from torchlint.syntax.tree import walk, walk_statements

TRAINING = "training"
"""The attribute of every module that says in which mode it is."""


def build(module: cst.Module, project: Imports) -> ValueGraph:
    """Build the value graph of a module.

    Args:
        module: a parsed file.
        project: what it imports from its project.

    Returns:
        the graph of all its functions and classes.
    """
    scopes = scope_names(module)
    imports = _module_imports(module)
    builder = StatementBuilder(module, scopes, _with_stars(module, imports, scopes[module].assigned, project), project)
    builder.breaks, builder.continues, builder.fields = [], [], {}
    builder.state.mode = Mode.ON
    builder.run(_as_block(module))
    builder.graph.module.guard = builder.state.mode if builder.state is not None else Mode.ON
    while builder.pending:
        function, node = builder.pending.pop(0)
        _build_body(builder, function, node)
    for cls in _asking_for_their_parameters(builder.graph):
        cls.has_parameters = True
    for cls in builder.graph.classes:
        builder.linker.inherited_by(cls)
    for cls in dict.fromkeys([*_asking_their_subclasses(builder.graph), *_having_less_than_they_use(builder.graph)]):
        builder.linker.derived_from(cls)
    know_by_use(builder.graph)
    return builder.graph


def _asking_their_subclasses(graph: ValueGraph) -> list[Class]:
    """The classes that call a method of their own which they leave to their subclasses."""
    left = {
        cls: {name for name, method in cls.methods.items() if is_left_open(method) and method.parent is graph.module}
        for cls in graph.classes
    }
    if not any(left.values()):
        return []
    called = (v.callee for v in graph.of(Op.CALL) if v.callee.op is Op.ATTRIBUTE)
    asked = {(one.function.owner, one.name) for one in called}
    return [cls for cls, names in left.items() if any((cls, name) in asked for name in names)]


def _having_less_than_they_use(graph: ValueGraph) -> list[Class]:
    """The classes that use attributes of their objects which neither they nor any class of the file gives these.

    What every module has says nothing.
    """
    given = {store.attribute for store in graph.stores} | torch_api.module_methods() | {TRAINING}
    given |= {s.place.path for s in graph.stores if s.place is not None and isinstance(s.place.owner, Class)}
    used = ((v.function.owner, v.name) for v in graph.of(Op.ATTRIBUTE) if v.inputs[0] in v.function.parameters[:1])
    less = (owner for owner, name in used if owner is not None and name not in given and owner.method(name) is None)
    return list(dict.fromkeys(less))


def _asking_for_their_parameters(graph: ValueGraph) -> list[Class]:
    """The classes of which a method takes the first parameter, ``next(self.parameters())``: without one it raises."""
    taken = (call.arguments for call in graph.of(Op.CALL) if call.callee.name == "builtins.next")
    asked = (one[0].callee for one in taken if len(one) == 1 and one[0].op is Op.CALL)
    subjects = (one.inputs[0] for one in asked if one.op is Op.ATTRIBUTE and one.name == "parameters")
    owners = (one.function.owner for one in subjects if one in one.function.parameters[:1])
    return [owner for owner in owners if owner is not None]


def _build_body(builder: StatementBuilder, function: Function, node: cst.FunctionDef | cst.Lambda) -> None:
    builder.function, builder.loop, builder.cls, builder.statement = function, None, None, node
    builder.state = State({p.name: p for p in function.parameters}, mode=function.guard)
    builder.breaks, builder.continues = [], []
    if _is_seen_elsewhere(function):
        builder.linker.passed_to(function)
    elif _makes_module(function):
        builder.linker.objects_passed_to(function)
    for parameter in function.parameters:
        parameter.reference = annotated_class(builder, parameter.syntax)
        if isinstance(parameter.syntax, cst.Param):
            tell(builder, parameter, parameter.syntax.annotation)
        if parameter.name in builder.names.captured:
            builder.assign(cst.Name(parameter.name), parameter, None)
    fields = builder.fields.get(function.owner, ()) if function.owner is not None else ()
    if function.name == "__init__" and [one.name for one in fields] == [OWN_ITEMS]:
        keep_fields(builder, function, fields)
        function.is_written = True  # it keeps nothing that it is given
    if not function.is_written:
        keep_fields(builder, function, fields)
    elif isinstance(node, cst.Lambda):
        builder.hand_out(builder.visit(node.body))
    else:
        first = len(builder.graph.stores)
        builder.statement = node
        builder.run(node.body)
        hand_out_as_annotated(builder, function, node)
        for store in builder.graph.stores[first:]:
            if store.kind is Kind.INSERT and store.value in function.parameters:
                builder.linker.added(store.value)


def _is_seen_elsewhere(function: Function) -> bool:
    """Whether other files call a function by its name, or that of its class; networks are made of each other."""
    owner, name = function.owner, function.name
    if owner is not None and (is_module_class(owner) or len(function.parameters) < 2):
        return False
    at_top = function.parent is not None and function.parent.parent is None
    is_public = owner is None or name == "__init__" or not name.startswith("_")
    return at_top and is_public and bool(function.parameters) and isinstance(function.syntax, cst.FunctionDef)


def _makes_module(function: Function) -> bool:
    """Whether a function is the ``__init__`` of a module at the top level of the file, and is given something."""
    owner, at_top = function.owner, function.parent is not None and function.parent.parent is None
    is_initializer = owner is not None and function.name == "__init__" and is_module_class(owner)
    return at_top and is_initializer and len(function.parameters) > 1


def _as_block(module: cst.Module) -> cst.BaseSuite:
    return cst.IndentedBlock(body=list(module.body))


def _module_imports(module: cst.Module) -> dict[str, str]:
    """Names bound at module level by imports and by nothing else, to full dotted names; the first import wins."""
    found: dict[str, str] = {}
    for node in walk_statements(module, of_scope=True):
        kind = node.__class__
        if kind is cst.Import or kind is cst.ImportFrom:
            for local, full in import_names(node):  # type: ignore[arg-type]
                found.setdefault(local, full)
        elif type(node) is cst.Assign:
            for target in node.targets:
                if type(target.target) is cst.Name:
                    found.pop(target.target.value, None)
    return found


def _with_stars(module: cst.Module, imports: dict[str, str], assigned: Set[str], project: Imports) -> dict[str, str]:
    """The imports, and what the file mentions, binds nowhere and gets by ``from module import *``, the last first."""
    stars = [
        origin
        for node in walk_statements(module, of_scope=True)
        if isinstance(node, cst.ImportFrom) and (origin := star_origin(node))
    ]
    if not stars:
        return imports
    wanted = {node.value for node in walk(module) if type(node) is cst.Name} - assigned
    all_seen = True
    for star in reversed(stars):
        given = project.starred(star, wanted) or (_told_of(star, wanted) if all_seen else {})
        # What is not seen may bring names in place of those before it.
        all_seen = all_seen and (bool(given) or star.startswith("torch."))
        imports = {**given, **imports}
    return imports


def _told_of(star: str, wanted: Set[str]) -> dict[str, str]:
    """What torch has under some names in a module of which a file imports all; Python's own names are left to it."""
    names = (name for name in wanted if not name.startswith("_") and name not in BUILTINS)
    return {name: full for name in names if is_told_of(full := f"{star}.{name}")}
