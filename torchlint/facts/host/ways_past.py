"""Ways on which a function leaves open what it closes on others: a return before the close, a branch without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto

import libcst as cst

from torchlint.facts.building.names import assigned_in, import_names
from torchlint.syntax.tree import dotted, walk, walk_scope

ASKING = frozenset(["len", "any", "all", "sum", "min", "max", "bool"])
"""Built-ins that ask something of data."""

SETTLED = ("hasattr", "getattr", "isinstance", "callable", "is_available", "exists")
"""Ends of the names of functions whose answer is the same each time."""


class _State(Enum):
    OPEN = auto()
    """It is open still."""
    CLOSED = auto()
    """It has been closed, or nobody gets here."""
    PAST = auto()
    """It was open where the code left, or where it was closed in another branch."""


@dataclass(frozen=True)
class _Search:
    """One search in one function.

    Attributes:
        closes: whether a node within a statement closes the thing.
        asks_data: whether a condition asks for what is different each time.
    """

    closes: Callable[[cst.CSTNode], bool]
    asks_data: Callable[[cst.BaseExpression], bool]

    def past(self, statements: Sequence[cst.CSTNode]) -> tuple[_State, cst.CSTNode | None]:
        """How statements, one after the other, end for what is open before them; and where one leaves it open."""
        half: cst.CSTNode | None = None
        for statement in statements:
            state, node = self._of(statement)
            if state is _State.CLOSED:
                return _State.CLOSED, None
            if state is _State.PAST and isinstance(node, cst.If):
                half = half or node  # closed in one of its branches; what follows may close the others
            elif state is _State.PAST:
                return _State.PAST, node
        return (_State.OPEN, None) if half is None else (_State.PAST, half)

    def _of(self, statement: cst.CSTNode) -> tuple[_State, cst.CSTNode | None]:
        if isinstance(statement, cst.If):
            return self._of_branches(statement)
        if isinstance(statement, cst.With):
            return self.past(_body(statement.body))
        if isinstance(statement, cst.FunctionDef | cst.ClassDef):
            return _State.OPEN, None
        if any(map(self.closes, walk(statement))):
            return _State.CLOSED, None
        if isinstance(statement, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            last = statement.body[-1] if statement.body else None
            if isinstance(last, cst.Raise):
                return _State.CLOSED, None
            if isinstance(last, cst.Return | cst.Continue):
                return _State.PAST, statement
            return (_State.CLOSED if isinstance(last, cst.Break) else _State.OPEN), None
        return _State.OPEN, None

    def _of_branches(self, branch: cst.If) -> tuple[_State, cst.CSTNode | None]:
        """A branch that is taken or not by what each turn brings; of one that a flag decides nothing is said."""
        if any(map(self.closes, walk(branch.test))):
            return _State.CLOSED, None
        otherwise = branch.orelse
        if isinstance(otherwise, cst.If):
            second = self._of_branches(otherwise)
        else:
            second = self.past(_body(otherwise.body)) if otherwise is not None else (_State.OPEN, None)
        first = self.past(_body(branch.body))
        states = {first[0], second[0]}
        if states in ({_State.OPEN}, {_State.CLOSED}):
            return first[0], None
        if not self.asks_data(branch.test):
            return (_State.CLOSED, None) if _State.CLOSED in states else (_State.OPEN, None)
        if states == {_State.OPEN, _State.CLOSED}:
            return _State.PAST, branch
        left = next(node for state, node in (first, second) if state is _State.PAST)
        return _State.PAST, left


def way_past(
    made: cst.CSTNode,
    end: cst.CSTNode,
    parents: dict[cst.CSTNode, cst.CSTNode],
    closing: Set[cst.CSTNode],
    *,
    own: cst.FunctionDef,
) -> cst.CSTNode | None:
    """The statement that leaves open what other ways close, or the condition under which alone it is closed.

    Args:
        made: the statement that opens something.
        end: the body of the function or of the loop at whose end it should be closed.
        parents: the node around each node.
        closing: the nodes that close it, or that hand it to who may.
        own: the function that has the statement.

    Returns:
        None where each way closes it, where only a flag decides, and where it is closed at a place that is not ahead.
    """
    ahead = _ahead(made, end, parents)
    within = {node for statements in ahead for statement in statements for node in walk(statement)}
    if not closing or not closing <= within:
        return None
    search = _Search(closing.__contains__, _Data(own).is_asked)
    half: cst.CSTNode | None = None
    for statements in ahead:
        state, node = search.past(statements)
        if state is _State.CLOSED:
            return None
        if state is _State.PAST and not isinstance(node, cst.If):
            return node
        half = half or node
    return half


def _ahead(made: cst.CSTNode, end: cst.CSTNode, parents: dict[cst.CSTNode, cst.CSTNode]) -> list[Sequence[cst.CSTNode]]:
    """What comes after a statement, block by block outwards, until the end of the body ``end``."""
    found: list[Sequence[cst.CSTNode]] = []
    node = made
    while node is not end and node in parents:
        block = parents[node]
        if isinstance(block, cst.IndentedBlock | cst.Module):
            position = next(i for i, child in enumerate(block.body) if child is node)
            found.append(block.body[position + 1 :])
        elif isinstance(block, cst.Try | cst.For | cst.While) and block is not end:
            return []  # what else runs of it is not told
        node = block
    return found


def _body(block: cst.BaseSuite) -> Sequence[cst.CSTNode]:
    return block.body if isinstance(block, cst.IndentedBlock) else (block,)


class _Data:
    """What the conditions of one function ask: what is different each time, or how the function was told to work."""

    def __init__(self, function: cst.FunctionDef) -> None:
        parameters = [*function.params.posonly_params, *function.params.params, *function.params.kwonly_params]
        given = {parameter.name.value for parameter in parameters if parameter.default is None}
        told = {parameter.name.value for parameter in parameters}
        imported = {
            name
            for node in walk_scope(function.body)
            if isinstance(node, cst.Import | cst.ImportFrom)
            for name, _ in import_names(node)
        }
        self._local = frozenset(assigned_in(function.body)) - told - imported
        self._rows = frozenset(given & _taken_apart(function))

    def is_asked(self, test: cst.BaseExpression) -> bool:
        """``not rows``, ``len(rows) == 0``, ``axes.has_data()``."""
        calls = [node for node in walk(test) if isinstance(node, cst.Call)]
        if any((dotted(call.func) or "").endswith(SETTLED) for call in calls):
            return False
        known = self._local | self._rows
        is_empty = isinstance(test, cst.UnaryOperation) and _name(test.expression) in self._rows
        return is_empty or any(_asks(call, known) for call in calls)


def _asks(call: cst.Call, known: Set[str]) -> bool:
    """Whether a call asks something of a variable: ``len(rows)``, ``axes.has_data()``."""
    name = dotted(call.func) or ""
    if name in ASKING:
        return any(isinstance(node, cst.Name) and node.value in known for arg in call.args for node in walk(arg.value))
    return "." in name and name.partition(".")[0] in known


def _taken_apart(function: cst.FunctionDef) -> set[str]:
    """The names whose items a function takes: what it is told by them is data and no flag."""
    found = set[str]()
    for node in walk(function.body):
        if isinstance(node, cst.For | cst.CompFor):
            found |= {part.value for part in walk(node.iter) if isinstance(part, cst.Name)}
        elif isinstance(node, cst.Subscript):
            found.add(_name(node.value))
        elif isinstance(node, cst.Call) and dotted(node.func) == "len":
            found |= {_name(arg.value) for arg in node.args}
    return found - {""}


def _name(expression: cst.BaseExpression) -> str:
    return expression.value if isinstance(expression, cst.Name) else ""
