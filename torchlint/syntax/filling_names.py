"""Names of functions and methods that put something somewhere: asked by the builder, and by the screen on ``ast``."""

from __future__ import annotations

INSERTING = frozenset(
    ["append", "appendleft", "extend", "extendleft", "insert", "add", "put", "put_nowait", "setdefault", "update",
     "push"]
)  # fmt: skip
"""Methods that put an argument into their receiver."""

PUSHING = frozenset(["heapq.heappush", "bisect.insort", "bisect.insort_left", "bisect.insort_right"])
"""Functions that put their second argument into their first, a list."""

OPERATORS = {
    "operator.add": "Add", "operator.iadd": "Add", "operator.sub": "Subtract", "operator.isub": "Subtract",
    "operator.mul": "Multiply", "operator.imul": "Multiply", "operator.truediv": "Divide",
    "operator.itruediv": "Divide", "operator.matmul": "MatrixMultiply",
}  # fmt: skip
"""The functions of https://docs.python.org/3/library/operator.html that are arithmetic, as libcst names operators."""
