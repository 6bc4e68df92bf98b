"""What a parameter's annotation says: of which class of the project what is passed is an instance."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.context import Context
from torchlint.facts.values.graph import Class
from torchlint.tree import dotted


def annotated_class(builder: Context, parameter: cst.CSTNode | None) -> Class | None:
    """The class of the file, or of its project, that a parameter is annotated with; None for any other annotation.

    ``Model``, ``"Model"``, ``models.Model``, ``Optional[Model]`` and ``Model | None`` all name it.
    """
    if not isinstance(parameter, cst.Param) or parameter.annotation is None:
        return None
    name = _named(parameter.annotation.annotation)
    if name is None:
        return None
    first, _, rest = name.partition(".")
    if not rest:
        own = [cls for cls in builder.graph.classes if cls.name == name]
        if own:
            return own[-1]
    imported = builder.imports.get(first)
    if imported is None:
        return None
    linked = builder.linker.link(f"{imported}.{rest}" if rest else imported)
    return linked if isinstance(linked, Class) else None


def _named(annotation: cst.CSTNode) -> str | None:
    """The dotted name of the class in an annotation, looked for through quotes and what allows None."""
    if isinstance(annotation, cst.SimpleString):
        text = annotation.evaluated_value
        return text if isinstance(text, str) and all(part.isidentifier() for part in text.split(".")) else None
    if isinstance(annotation, cst.BinaryOperation) and dotted(annotation.right) == "None":
        return _named(annotation.left)
    if isinstance(annotation, cst.Subscript) and (dotted(annotation.value) or "").rpartition(".")[2] == "Optional":
        inner = annotation.slice[0].slice
        return _named(inner.value) if isinstance(inner, cst.Index) else None
    return dotted(annotation)
