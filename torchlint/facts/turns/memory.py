"""Conditions that ask whether something was made before, and those that only look like it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import partial
from itertools import takewhile
from operator import is_not

import libcst as cst

from torchlint.facts.building.names import assigned_in, paths_read
from torchlint.facts.turns.bindings import Bindings
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.solve import Solution
from torchlint.syntax.tree import dotted, enclosing, walk

__all__ = ["asked_of_libraries", "asked_to_be_there", "begun_before", "is_memory"]

LIBRARIES = frozenset(["torch", "torchvision", "torchaudio", "numpy", "sys", "os"])
"""Packages that have from the beginning what they ever have; a module of the project may get something later."""


def asked_of_libraries(solution: Solution) -> frozenset[cst.CSTNode]:
    """The calls of a file that ask what a library has, as they are written: the answer is the same in each turn.

    ``hasattr(torch, "compile")``, ``hasattr(torch.backends, "mps")``.
    """
    asking = (call for call in solution.graph.of(Op.CALL) if call.callee.name == "builtins.hasattr" and call.arguments)
    of_libraries = (call for call in asking if _is_of_library(call.arguments[0]))
    return frozenset(call.syntax for call in of_libraries if call.syntax is not None)


def _is_of_library(value: Value) -> bool:
    return value.op is Op.EXTERNAL and value.name.partition(".")[0] in LIBRARIES


def is_memory(
    test: cst.BaseExpression,
    body: cst.CSTNode,
    bindings: Bindings,
    bound: Set[str] = frozenset(),
    installed: Set[cst.CSTNode] = frozenset(),
) -> bool:
    """Whether ``test`` asks for what is set when something is built: ``if self.net is None``, ``if not hasattr(...)``.

    Args:
        test: the condition.
        body: the code under it, of which attributes, items and globals count: they outlive the function.
        bindings: what the code of the file binds.
        bound: the names to which the thing itself is bound.
        installed: the calls that ask what a library has.
    """
    for node in walk(test):
        if type(node) is cst.Call and dotted(node.func) in ("hasattr", "getattr") and node not in installed:
            return True
        if type(node) is cst.ComparisonTarget and isinstance(node.operator, cst.In | cst.NotIn):
            if not isinstance(node.comparator, cst.Tuple | cst.List | cst.Set):
                return True
    mentioned = paths_read(test)
    if not mentioned.isdisjoint(bound) or not mentioned.isdisjoint(bindings.looked_up(body)):
        return True
    variables = {path for path in mentioned if path.isidentifier()}
    lasting = mentioned - variables
    return bool(
        (variables and not variables.isdisjoint(bindings.declared(body)))
        or (lasting and not (lasting.isdisjoint(bindings.assigned(body)) and lasting.isdisjoint(bindings.filled(body))))
    )


def begun_before(parents: Mapping[cst.CSTNode, cst.CSTNode], loop: cst.CSTNode) -> Set[str]:
    """The variables that are set before a loop, each time before it runs: ``shown = False``."""
    found: set[str] = set()
    for outer, inner in enclosing(parents, loop):
        if isinstance(outer, cst.For | cst.While):
            break
        before = takewhile(partial(is_not, inner), outer.body) if isinstance(outer, cst.IndentedBlock) else ()
        found.update(name for statement in before for name in assigned_in(statement) if name.isidentifier())
    return found


def asked_to_be_there(test: cst.BaseExpression) -> Iterator[cst.Call]:
    """The calls of a condition that ask for an attribute which has to be there for it to hold.

    ``hasattr(module, "weight") and module.weight is not None``: of an earlier turn that asks for nothing.
    """
    if isinstance(test, cst.BooleanOperation):
        yield from asked_to_be_there(test.left)
        yield from asked_to_be_there(test.right)
    elif isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        if isinstance(test.comparisons[0].operator, cst.IsNot):
            yield from asked_to_be_there(test.left)
    elif isinstance(test, cst.Call) and dotted(test.func) in ("hasattr", "getattr"):
        yield test
