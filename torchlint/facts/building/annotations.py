"""What an annotation says: of which class a parameter, a variable or a result is an instance."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.context import Context
from torchlint.facts.values.graph import Class, Place, Value
from torchlint.syntax.tree import dotted

HOLDING = frozenset(
    ["list", "List", "tuple", "Tuple", "Sequence", "Iterable", "Collection",
     "dict", "Dict", "Mapping", "MutableMapping"]
)  # fmt: skip
"""Containers whose last parameter is the class of their items."""


def annotated_class(builder: Context, parameter: cst.CSTNode | None) -> Class | None:
    """The class of the file, or of its project, that a parameter is annotated with; None for any other annotation.

    ``Model``, ``"Model"``, ``models.Model``, ``Optional[Model]`` and ``Model | None`` all name it.
    """
    name = _named(parameter.annotation) if isinstance(parameter, cst.Param) else None
    if name is None:
        return None
    if "." not in name:
        own = [cls for cls in builder.graph.classes if cls.name == name]
        if own:
            return own[-1]
    imported = _imported(builder, name)
    linked = builder.linker.link(imported) if imported is not None else None
    return linked if isinstance(linked, Class) else None


def tell(builder: Context, subject: Value | Place, annotation: cst.Annotation | None) -> None:
    """Note of which class ``subject`` is told to be an instance, or each of its items, by its full dotted name.

    Nothing is noted where there is no single one.
    """
    name = _named(annotation)
    if name is not None:
        builder.graph.told[subject] = _imported(builder, name) or name
    elif (
        isinstance(subject, Value)
        and annotation is not None
        and (items := _named_of_items(annotation.annotation)) is not None
    ):
        builder.graph.told_items[subject] = _imported(builder, items) or items


def _imported(builder: Context, name: str) -> str | None:
    first, _, rest = name.partition(".")
    imported = builder.imports.get(first)
    return f"{imported}.{rest}" if imported is not None and rest else imported


def _named(annotation: cst.Annotation | None) -> str | None:
    return None if annotation is None else _named_in(annotation.annotation)


def _named_in(annotation: cst.CSTNode) -> str | None:
    """The dotted name of the class in an annotation, looked for through quotes and what allows None."""
    if isinstance(annotation, cst.SimpleString):
        text = annotation.evaluated_value
        name = text.removesuffix("| None").rstrip() if isinstance(text, str) else ""
        return name if all(part.isidentifier() for part in name.split(".")) else None
    if isinstance(annotation, cst.BinaryOperation) and dotted(annotation.right) == "None":
        return _named_in(annotation.left)
    if isinstance(annotation, cst.Subscript) and (dotted(annotation.value) or "").rpartition(".")[2] == "Optional":
        inner = annotation.slice[0].slice
        return _named_in(inner.value) if isinstance(inner, cst.Index) else None
    return dotted(annotation)


def _named_of_items(annotation: cst.CSTNode) -> str | None:
    """``list[Model]``, ``Dict[str, Model]``, ``tuple[Model, ...]``: the dotted name of the class of what is in it."""
    if not isinstance(annotation, cst.Subscript) or (dotted(annotation.value) or "").rpartition(".")[2] not in HOLDING:
        return None
    parts = [part.slice.value for part in annotation.slice if isinstance(part.slice, cst.Index)]
    if parts and isinstance(parts[-1], cst.Ellipsis):
        parts.pop()
    names = {_named_in(part) for part in (parts if dotted(annotation.value) in ("tuple", "Tuple") else parts[-1:])}
    return names.pop() if len(names) == 1 else None
