"""What the annotation of a function says that it gives, also where it leaves that to others: it raises."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.facts.building.annotations import tell
from torchlint.facts.building.context import Context
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.syntax.tree import dotted

NUMBERS = frozenset(["int", "float", "bool", "str"])
"""Annotations of what has no graph."""


def hand_out_as_annotated(builder: Context, function: Function, node: cst.CSTNode) -> None:
    """Note of what class the results of a function with a body are; let one that returns nothing give such a result.

    Of that only a tuple with a number or a string in it is told, ``Tuple[Tensor, int]``, with ``Union`` and ``None``
    beside it: of everything else an annotation tells no more than that nothing is known.
    """
    if not isinstance(node, cst.FunctionDef) or node.returns is None or function.is_generator:
        return
    if function.result is None:
        return
    for given in function.result.inputs:
        tell(builder, given, node.returns)
    if function.result.inputs:
        return
    choices = list(_choices(node.returns.annotation))
    tuples = [items for choice in choices if NUMBERS.intersection(items := _items(choice))]
    for items in dict.fromkeys(tuples):
        builder.hand_out(_made(builder, items))
    if 0 < len(tuples) < len(choices):
        builder.hand_out(builder.unknown(None))


def _choices(annotation: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The alternatives of an annotation, None left out: those of ``A | B``, ``Union[A, B]``, ``Optional[A]``."""
    if isinstance(annotation, cst.BinaryOperation):
        yield from _choices(annotation.left)
        yield from _choices(annotation.right)
    elif isinstance(annotation, cst.Subscript) and _name(annotation.value) in ("Union", "Optional"):
        for part in _parts(annotation):
            yield from _choices(part)
    elif _name(annotation) != "None":
        yield annotation


def _items(annotation: cst.BaseExpression) -> tuple[str, ...]:
    """The names in ``Tuple[A, B]``, "" for what is no name; nothing for any other annotation, and for a tuple of any
    length.
    """
    if not isinstance(annotation, cst.Subscript) or _name(annotation.value) not in ("Tuple", "tuple"):
        return ()
    parts = _parts(annotation)
    return () if any(isinstance(part, cst.Ellipsis) for part in parts) else tuple(map(_name, parts))


def _parts(annotation: cst.Subscript) -> list[cst.BaseExpression]:
    return [one.slice.value for one in annotation.slice if isinstance(one.slice, cst.Index)]


def _name(annotation: cst.BaseExpression) -> str:
    return (dotted(annotation) or "").rpartition(".")[2]


def _made(builder: Context, items: tuple[str, ...]) -> Value:
    parts = tuple(
        builder.make(Op.CONSTANT, (), None, name=item) if item in NUMBERS else builder.unknown(None) for item in items
    )
    return builder.make(Op.CONTAINER, parts, None, keys=tuple(range(len(parts))))
