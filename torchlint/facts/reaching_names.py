"""Whether a name that a file imports means that import where a repair would write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from torchlint.facts.building.names import all_parameters, assigned_in, import_names
from torchlint.syntax.tree import walk_scope

_Parents = Mapping[cst.CSTNode, cst.CSTNode]


def is_reached(name: str, full: str, statement: cst.CSTNode, parents: _Parents) -> bool:
    """Whether ``name``, by which the module imports ``full``, can be written in ``statement`` or as its decorator.

    Not where a function around it, or its class, gives that name to something else, and not in what runs before the
    module has imported it.
    """
    node, scopes, is_own = statement, 0, True
    while (parent := parents.get(node)) is not None and not isinstance(parent, cst.Module):
        node = parent
        if isinstance(node, cst.FunctionDef) or (isinstance(node, cst.ClassDef) and is_own):
            if _is_bound_otherwise(name, full, node):
                return False
            scopes += isinstance(node, cst.FunctionDef)
        is_own = is_own and not isinstance(node, cst.FunctionDef | cst.ClassDef)
    return scopes > 0 or not isinstance(parent, cst.Module) or _is_imported_before(node, parent)


def _is_bound_otherwise(name: str, full: str, scope: cst.FunctionDef | cst.ClassDef) -> bool:
    if isinstance(scope, cst.FunctionDef) and name in {one.name.value for one in all_parameters(scope.params)}:
        return True
    imported = {local: what for node in walk_scope(scope.body) for local, what in _imports(node)}
    return name in assigned_in(scope.body) and imported.get(name) != full


def _is_imported_before(statement: cst.CSTNode, module: cst.Module) -> bool:
    """Whether the first import of torch at the top of a module, if it has one, stands before a statement."""
    for other in module.body:
        if other is statement:
            break
        if _imports_torch(other):
            return True
    return not any(map(_imports_torch, module.body))


def _imports_torch(statement: cst.CSTNode) -> bool:
    names = (full for node in walk_scope(statement) for _, full in _imports(node))
    is_class = isinstance(statement, cst.FunctionDef | cst.ClassDef)
    return not is_class and any(full.partition(".")[0] == "torch" for full in names)


def _imports(node: cst.CSTNode) -> Iterator[tuple[str, str]]:
    if isinstance(node, cst.Import | cst.ImportFrom):
        yield from import_names(node)
