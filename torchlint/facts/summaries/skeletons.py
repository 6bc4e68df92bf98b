"""Syntax for what stands in another file: headers without bodies, so that every function and class has a node."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.summaries.summary import ClassSummary, FunctionSummary
from torchlint.syntax.bare.nodes import copier

_NAME = cst.Name("_")
_NO_BODY = cst.IndentedBlock([])

# They are made by the thousand, and libcst's constructors make and check their white space each time.
_make_name = copier(_NAME, "value")
_make_attribute = copier(cst.Attribute(_NAME, _NAME), "value", "attr")
_make_annotation = copier(cst.Annotation(_NAME), "annotation")
_make_parameter = copier(cst.Param(_NAME), "name", "annotation", "star")
_make_parameters = copier(cst.Parameters(), "params", "star_arg", "kwonly_params", "star_kwarg")
_make_decorator = copier(cst.Decorator(_NAME), "decorator")
_FUNCTION = cst.FunctionDef(_NAME, cst.Parameters(), _NO_BODY)
_make_function = copier(_FUNCTION, "name", "params", "decorators")
_make_function_named = copier(_FUNCTION, "name")
_CLASS = cst.ClassDef(_NAME, _NO_BODY)
_make_class = copier(_CLASS, "name", "decorators")
_make_class_named = copier(_CLASS, "name")


def function_syntax(summary: FunctionSummary) -> cst.FunctionDef:
    """A definition without a body: what asks for a function's syntax finds its name and its parameters."""
    made = [
        _make_parameter(_make_name(p.name), _make_annotation(_chain(p.annotation)) if p.annotation else None, p.star)
        for p in summary.parameters
    ]
    plain = [p for p in made if not p.star]
    starred = {p.star: p for p in made}
    after = made.index(starred["*"]) if "*" in starred else len(made)
    parameters = _make_parameters(
        [p for p in plain if made.index(p) < after],
        starred.get("*", cst.MaybeSentinel.DEFAULT),
        [p for p in plain if made.index(p) > after],
        starred.get("**"),
    )
    return _make_function(_make_name(summary.name), parameters, _decorators(summary.decorators))


def function_named(name: str) -> cst.FunctionDef:
    """A definition of which only the name is known."""
    return _make_function_named(_make_name(name))


def class_syntax(summary: ClassSummary) -> cst.ClassDef:
    """A class without members; it has its name and its decorators."""
    return _make_class(_make_name(summary.name), _decorators(summary.decorators))


def class_named(name: str) -> cst.ClassDef:
    """A class of which only the name is known."""
    return _make_class_named(_make_name(name))


def _decorators(names: tuple[str, ...]) -> list[cst.Decorator]:
    return [_make_decorator(_chain(name)) for name in names]


def _chain(name: str) -> cst.Name | cst.Attribute:
    first, *others = [part for part in name.split(".") if part] or ["_"]
    node: cst.Name | cst.Attribute = _make_name(first)
    for part in others:
        node = _make_attribute(node, _make_name(part))
    return node
