"""What names mean before anything runs: imports, which names a scope assigns, which ones inner scopes capture."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import libcst as cst

from torchlint import torch_api
from torchlint.facts.building.setting import SETTING, setting_of
from torchlint.syntax.tree import LEAVES, NEW_SCOPES, READERS, children, dotted, walk, walk_scope

BUILTINS = frozenset(dir(builtins))

OWN = "__dict__"
"""The attribute in which an object has all of its attributes by name."""


@dataclass
class ScopeNames:
    """The names of one function, lambda or module body.

    Attributes:
        assigned: bound in the scope itself.
        declared: said ``global`` or ``nonlocal`` there.
        made_global: said ``global`` there.
        captured: bound there and read or assigned by a function inside it.
        rebound: bound there, in a function, and anew by one inside it that says ``nonlocal``.
        mentioned: every name that stands in it or in a function inside it, those of attributes too.
        is_generator: a ``yield`` stands in it.
    """

    assigned: set[str] = field(default_factory=set)
    declared: set[str] = field(default_factory=set)
    made_global: set[str] = field(default_factory=set)
    captured: set[str] = field(default_factory=set)
    rebound: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    is_generator: bool = False


def imported_name(imports: Mapping[str, str], node: cst.CSTNode) -> str | None:
    """The full dotted name of an expression by the names that imports bind; None for what no import brings."""
    name = dotted(node)
    first, _, rest = (name or "").partition(".")
    full = imports.get(first)
    return None if full is None else f"{full}.{rest}" if rest else full


def import_names(node: cst.Import | cst.ImportFrom) -> Iterator[tuple[str, str]]:
    """(local name, full dotted name) of each name that an import binds; relative imports keep their dots."""
    if isinstance(node, cst.Import):
        for alias in node.names:
            full = dotted(alias.name) or ""
            if alias.asname is not None:
                yield _as_name(alias), _canonical(full)
            else:
                yield full.split(".")[0], full.split(".")[0]
    elif not isinstance(node.names, cst.ImportStar):
        origin = "." * len(node.relative) + (dotted(node.module) or "")
        for alias in node.names:
            name = dotted(alias.name) or ""
            full = f"{origin}{name}" if not origin or origin.endswith(".") else f"{origin}.{name}"
            yield (_as_name(alias) if alias.asname else name), _canonical(full)


def star_origin(node: cst.ImportFrom) -> str:
    """The module of ``from module import *``, relative ones with their dots; "" for an import of names."""
    if not isinstance(node.names, cst.ImportStar):
        return ""
    return "." * len(node.relative) + (dotted(node.module) or "")


def _canonical(name: str) -> str:
    """``torch`` for ``torch.torch``: the package sees itself under its own name."""
    return "torch" if name == "torch.torch" else name


def _as_name(alias: cst.ImportAlias) -> str:
    assert alias.asname is not None
    return dotted(alias.asname.name) or ""


def target_names(target: cst.CSTNode) -> Iterator[str]:
    """The plain names that an assignment to ``target`` binds."""
    pending = [target]
    while pending:
        node = pending.pop()
        kind = type(node)
        if kind is cst.Name:
            yield node.value  # type: ignore[attr-defined]
        elif kind is cst.Tuple or kind is cst.List:
            pending.extend(element.value for element in node.elements)  # type: ignore[attr-defined]
        elif kind is cst.StarredElement:
            pending.append(node.value)  # type: ignore[attr-defined]
        elif kind is cst.AssignTarget:
            pending.append(node.target)  # type: ignore[attr-defined]


def bound_targets(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The targets that this one node (not what is under it) assigns; of ``self.a, self.b = x`` both."""
    targets = _TARGETS.get(node.__class__)
    if targets is None:
        return []
    found = targets(node)
    return found if _UNPACKED.isdisjoint(target.__class__ for target in found) else list(_unpacked(found))


def _unpacked(targets: list[cst.CSTNode]) -> Iterator[cst.CSTNode]:
    """The single targets among tuples and lists of them."""
    for target in targets:
        if isinstance(target, cst.Tuple | cst.List):
            yield from _unpacked([element.value for element in target.elements])
        else:
            yield target


def _changed_by_call(node: cst.Call) -> list[cst.CSTNode]:
    """What a call assigns: ``setattr`` an attribute, an in-place method, by which its history changes, its receiver."""
    function = node.func
    if function.__class__ is cst.Name:
        named = attribute_set_by(node) if function.value == "setattr" else None
        return [] if named is None else [named]
    if type(function) is not cst.Attribute:
        return []
    if function.attr.value == SETTING:
        written = setting_of(node)
        named = attribute_set_by(written.as_call()) if written is not None else None
        return [] if named is None else [named]
    return [function.value] if changes_receiver(function.attr.value) else []


def attribute_set_by(call: cst.Call) -> cst.Attribute | None:
    """``o.name`` of ``setattr(o, "name", x)`` and ``getattr(o, "name")``; None where the name is computed."""
    if len(call.args) < 2:
        return None
    name = constant_of(call.args[1].value)
    is_name = isinstance(name, str) and name.isidentifier()
    return cst.Attribute(call.args[0].value, cst.Name(str(name))) if is_name else None


def changes_receiver(method: str) -> bool:
    """Whether a method of this name is one of torch's that work in place: ``add_``, ``detach_``.

    An attribute that ends with an underscore, as scikit-learn and skorch write what fitting has made, is none:
    ``self.module_(x)``.
    """
    return method.endswith("_") and not method.endswith("__") and torch_api.method(method) is not None


_UNPACKED = frozenset([cst.Tuple, cst.List])

_TARGETS: dict[type[cst.CSTNode], Callable[..., list[cst.CSTNode]]] = {
    cst.Assign: lambda node: [target.target for target in node.targets],
    **dict.fromkeys((cst.AugAssign, cst.AnnAssign, cst.For, cst.CompFor, cst.NamedExpr), lambda node: [node.target]),
    cst.AsName: lambda node: [node.name],
    cst.Call: _changed_by_call,
}


def assigned_in(body: cst.CSTNode) -> set[str]:
    """Names and paths (``self.total``, ``stats['loss']``) that the code under ``body`` assigns in its own scope."""
    found: set[str] = set()
    for node in walk_scope(body):
        for target in bound_targets(node):
            path = path_of(target)
            if path is not None:
                found.add(path)
            found.update(target_names(target))
        kind = node.__class__
        if kind is cst.FunctionDef or kind is cst.ClassDef:
            found.add(node.name.value)  # type: ignore[attr-defined]
        elif kind is cst.Import or kind is cst.ImportFrom:
            found.update(local for local, _ in import_names(node))  # type: ignore[arg-type]
    return found


def path_of(node: cst.CSTNode) -> str | None:
    """A stable name for a variable, an attribute of one or an item under a key; None for the rest.

    A key is a constant, or itself a chain of names and attributes (``output[self.metric]``).
    """
    suffix = ""
    while True:
        if type(node) is cst.Name:
            return node.value + suffix
        if type(node) is cst.Attribute:
            suffix = f".{node.attr.value}{suffix}"
            node = node.value
        elif type(node) is cst.Subscript and (key := _written_key(node)) is not None:
            whose, last = node.value, f"[{key}]"
            if type(whose) is cst.Attribute and whose.attr.value == OWN and key[0] == "'" and key[1:-1].isidentifier():
                whose, last = whose.value, f".{key[1:-1]}"
            suffix, node = last + suffix, whose
        else:
            return None


def item_of(container: str, key: str) -> str:
    """The path of an item; that of an object's ``__dict__`` is an attribute: ``self.rows``.

    Args:
        container: the path of what has it.
        key: the key as it is written, a text in single quotes.
    """
    owner, name = container.removesuffix(f".{OWN}"), key[1:-1]
    is_own = owner != container and key[0] == "'" and name.isidentifier()
    return f"{owner}.{name}" if is_own else f"{container}[{key}]"


_READ = frozenset([cst.Name, cst.Attribute, cst.Subscript])


def paths_read(expression: cst.CSTNode) -> set[str]:
    """The variables, attributes and items that an expression reads, each by its :func:`path_of`."""
    nodes = list(walk(expression))
    members = {node.attr for node in nodes if type(node) is cst.Attribute}
    reads = (node for node in nodes if node.__class__ in _READ and node not in members)
    return {path for path in map(path_of, reads) if path is not None}


def _written_key(node: cst.Subscript) -> str | None:
    constant = constant_key(node)
    if constant is not None:
        return repr(constant)
    if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        return dotted(node.slice[0].slice.value)
    return None


def constant_key(node: cst.Subscript) -> str | int | None:
    """The key of ``x["loss"]`` or ``x[0]``, None when it is not a constant."""
    if len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
        return None
    return constant_of(node.slice[0].slice.value)


def constant_of(node: cst.CSTNode) -> str | int | None:
    """The value of a string or integer literal (a negative one too), None for the rest."""
    kind = node.__class__
    if kind is cst.Name or kind is cst.Attribute or kind is cst.Call:
        return None  # the most, and the rest is slow to tell apart
    if isinstance(node, cst.SimpleString):
        text = node.value
        if text[0] in "\"'" and "\\" not in text and not text.startswith(('"""', "'''")):
            return text[1:-1]  # libcst would compile it
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    if isinstance(node, cst.Integer):
        return int(node.value, 0)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = constant_of(node.expression)
        return -inner if isinstance(inner, int) else None
    return None


def scope_names(module: cst.Module) -> dict[cst.CSTNode, ScopeNames]:
    """The names of every function, lambda and of the module body, by node."""
    table: dict[cst.CSTNode, ScopeNames] = {}
    _collect(module, [], table)
    # A variable of the module that nothing but a function assigns is one for all that read it.
    table[module].assigned.update(*(names.made_global for names in table.values()))
    return table


def _collect(scope: cst.CSTNode, outer: list[ScopeNames], table: dict[cst.CSTNode, ScopeNames]) -> None:
    names = table[scope] = ScopeNames()
    if isinstance(scope, cst.FunctionDef | cst.Lambda):
        names.assigned.update(p.name.value for p in all_parameters(scope.params))
    inner = _read_scope(scope, names)
    names.assigned -= names.declared
    for name in names.mentioned - names.assigned:
        for enclosing in reversed(outer):
            if name in enclosing.assigned:
                enclosing.captured.add(name)
                if name in names.declared and enclosing is not outer[0]:
                    enclosing.rebound.add(name)
                break
    for node in inner:
        _collect(node, [*outer, names], table)
        names.mentioned |= table[node].mentioned


def _read_scope(scope: cst.CSTNode, names: ScopeNames) -> list[cst.CSTNode]:
    """The functions and lambdas of a scope; what it binds and mentions goes into ``names``.

    The bodies of classes run in the scope and bind their names in the class; they come last. Of functions only the
    decorators and defaults run.
    """
    inner: list[cst.CSTNode] = []
    pending: list[cst.CSTNode] = [scope.body] if isinstance(scope, cst.FunctionDef | cst.Lambda) else children(scope)
    bodies: list[cst.CSTNode] = []
    in_class = False
    while pending or bodies:
        if not pending:
            pending, bodies, in_class = bodies, [], True
        node = pending.pop()
        kind = node.__class__
        if kind in LEAVES:
            if kind is cst.Name:
                names.mentioned.add(node.value)  # type: ignore[attr-defined]
            continue
        if kind in _BINDING and not in_class:
            names.assigned.update(_bound_names(node))
        if kind in _FUNCTIONS:
            inner.append(node)
            outside = _run_at_definition(node)
            pending += outside
            if in_class:
                parts = (part for root in outside for part in walk_scope(root) if part.__class__ in _BINDING)
                names.assigned.update(name for part in parts for name in _bound_names(part))
            continue
        if kind is cst.ClassDef:
            bodies.append(node.body)  # type: ignore[attr-defined]
            pending += [child for child in children(node) if child is not node.body]  # type: ignore[attr-defined]
            continue
        if kind is cst.Yield:
            names.is_generator = True
        elif kind is cst.Global or kind is cst.Nonlocal:
            names.declared.update(item.name.value for item in node.names)  # type: ignore[attr-defined]
            if kind is cst.Global:
                names.made_global.update(item.name.value for item in node.names)  # type: ignore[attr-defined]
        pending += READERS[kind](node)
    return inner


_FUNCTIONS = frozenset([cst.FunctionDef, cst.Lambda])

_BINDING = frozenset(
    [cst.Import, cst.ImportFrom, cst.FunctionDef, cst.ClassDef, cst.Assign, cst.AugAssign, cst.AnnAssign, cst.For,
     cst.CompFor, cst.NamedExpr, cst.AsName]
)  # fmt: skip
"""What binds names."""


def _bound_names(node: cst.CSTNode) -> Iterator[str]:
    """The plain names that a node that binds some binds."""
    kind = node.__class__
    if kind is cst.Import or kind is cst.ImportFrom:
        yield from (local for local, _ in import_names(node))  # type: ignore[arg-type]
    elif kind is cst.FunctionDef or kind is cst.ClassDef:
        yield node.name.value  # type: ignore[attr-defined]
    else:
        for target in bound_targets(node):
            yield from target_names(target)


def _run_at_definition(node: cst.CSTNode) -> list[cst.CSTNode]:
    """What runs when a function is defined: of a lambda the defaults alone."""
    if isinstance(node, cst.FunctionDef):
        return [*node.decorators, node.params]
    assert isinstance(node, cst.Lambda)
    return [parameter.default for parameter in all_parameters(node.params) if parameter.default is not None]


def all_parameters(params: cst.Parameters) -> list[cst.Param]:
    """Every parameter in the order in which positions bind, starred ones last."""
    found = [*params.posonly_params, *params.params]
    starred = [star for star in (params.star_arg,) if type(star) is cst.Param]
    found += [*starred, *params.kwonly_params]
    if params.star_kwarg is not None:
        found.append(params.star_kwarg)
    return found


def named_bounds(node: cst.Subscript) -> Iterator[cst.BaseExpression]:
    """The variables and attributes at which the slices of ``x[begin:self.end]`` begin and end."""
    for element in node.slice:
        if isinstance(element.slice, cst.Slice):
            bounds = (element.slice.lower, element.slice.upper)
            yield from (bound for bound in bounds if isinstance(bound, cst.Name | cst.Attribute))


__all__ = [
    "BUILTINS", "NEW_SCOPES", "ScopeNames", "all_parameters", "assigned_in", "bound_targets", "constant_key",
    "constant_of", "import_names", "named_bounds", "path_of", "paths_read", "scope_names", "target_names",
]  # fmt: skip
