"""Syntax for what stands in another file: headers without bodies, so that every function and class has a node."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.summaries.summary import ClassSummary, FunctionSummary


def function_syntax(summary: FunctionSummary) -> cst.FunctionDef:
    """A definition without a body: what asks for a function's syntax finds its name and its parameters."""
    made = [
        cst.Param(cst.Name(p.name), cst.Annotation(_chain(p.annotation)) if p.annotation else None, star=p.star)
        for p in summary.parameters
    ]
    plain = [p for p in made if not p.star]
    starred = {p.star: p for p in made}
    after = made.index(starred["*"]) if "*" in starred else len(made)
    parameters = cst.Parameters(
        params=[p for p in plain if made.index(p) < after],
        star_arg=starred.get("*", cst.MaybeSentinel.DEFAULT),
        kwonly_params=[p for p in plain if made.index(p) > after],
        star_kwarg=starred.get("**"),
    )
    decorators = [cst.Decorator(_chain(name)) for name in summary.decorators]
    return cst.FunctionDef(cst.Name(summary.name), parameters, cst.IndentedBlock([]), decorators)


def class_syntax(summary: ClassSummary) -> cst.ClassDef:
    """A class without members; it has its name and its decorators."""
    decorators = [cst.Decorator(_chain(name)) for name in summary.decorators]
    return cst.ClassDef(cst.Name(summary.name), cst.IndentedBlock([]), decorators=decorators)


def _chain(name: str) -> cst.Name | cst.Attribute:
    first, *others = [part for part in name.split(".") if part] or ["_"]
    node: cst.Name | cst.Attribute = cst.Name(first)
    for part in others:
        node = cst.Attribute(node, cst.Name(part))
    return node
