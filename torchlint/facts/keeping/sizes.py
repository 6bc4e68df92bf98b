"""How the size of a tensor is written, and what is computed of it."""

from __future__ import annotations

import libcst as cst

from torchlint.syntax.tree import dotted


def is_middle(index: cst.BaseExpression) -> bool:
    """``x[x.size(0) // 2]``: the same row of each tensor."""
    return (
        isinstance(index, cst.BinaryOperation) and isinstance(index.operator, cst.FloorDivide) and is_size(index.left)
    )


def is_size(node: cst.BaseExpression) -> bool:
    """``x.shape[0]``, ``x.size(0)``, ``len(x)``"""
    counted = node.value if isinstance(node, cst.Subscript) else node
    named = (dotted(counted.func if isinstance(counted, cst.Call) else counted) or "").rpartition(".")[2]
    return named in ("shape", "size", "len")
