"""Operators that classes of the project define: ``log += loss`` runs ``__iadd__``, ``log[name] = loss`` another one.

https://docs.python.org/3/reference/datamodel.html#emulating-numeric-types
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import SYMBOLIC, Abstract, Container, Instance, join, sorted_values
from torchlint.facts.values.graph import Class, Function, Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

SETTING = "__setitem__"
"""The method that an assignment of an item runs."""

IN_PLACE = "Assign"
"""How the names of operators end that may change what stands on their left."""

NAMES = {
    "Add": "add", "Subtract": "sub", "Multiply": "mul", "Divide": "truediv", "FloorDivide": "floordiv",
    "Modulo": "mod", "Power": "pow", "MatrixMultiply": "matmul", "LeftShift": "lshift", "RightShift": "rshift",
    "BitAnd": "and", "BitOr": "or", "BitXor": "xor",
}  # fmt: skip
"""What stands in the name of the method that an operator runs, by what libcst calls the operator."""


def operator_of(operation: Value, cls: Class) -> Function | None:
    """The method that an OPERATION of two runs where an instance of ``cls`` stands on its left; None without one."""
    name = NAMES.get(operation.name.removesuffix(IN_PLACE)) if len(operation.inputs) == 2 else None
    if name is None:
        return None
    in_place = cls.method(f"__i{name}__") if operation.name.endswith(IN_PLACE) else None
    return in_place or cls.method(f"__{name}__")


def objects_in(operands: Sequence[Abstract]) -> Abstract:
    """The left side of an operator without what was put in its place before it was known: ``stats[key] += (loss, n)``.

    Where it is an object of the project, what callers pass elsewhere for an item is such an object as well.
    """
    added = {atom for operand in operands[1:] for atom in operand if isinstance(atom, Container)}
    left = operands[0] - added
    objects = frozenset(atom for atom in left if isinstance(atom, Instance))
    return objects if objects and all(isinstance(atom, SYMBOLIC) for atom in left - objects) else left


def given_by_own(solution: Solution, operation: Value, left: Abstract) -> Abstract | None:
    """What an OPERATION gives whose left side is objects of the project that define it; None for all others."""
    classes = [atom.cls for atom in sorted_values(left) if isinstance(atom, Instance)]
    methods = [operator_of(operation, cls) for cls in classes] if len(classes) == len(left) else []
    found = [method for method in methods if method is not None]
    if not found or len(found) < len(methods):
        return None
    return join(solution.calls.run_function(operation, method, bound=True) for method in found)
