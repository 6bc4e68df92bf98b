"""What a program does with values: it keeps them, runs backwards through them, gives up what held them."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from torchlint.facts.values.kinds import Kind, Mode
from torchlint.facts.values.program import Function, Key, Loop, Place, Value


@dataclass(eq=False, slots=True)
class Store:
    """Something is kept.

    Attributes:
        kind: how.
        value: what is kept (for UPDATE: the new content).
        added: UPDATE: what was added to the old content.
        place: ASSIGN and UPDATE: where; None for a plain local variable.
        holder: INSERT: the container (or unknown object) that takes it.
        attribute: the attribute of ``holder`` that is assigned or updated; "" when it is no attribute.
        is_item: ``holder[key] = value`` or ``holder[key] += value``.
        key: the constant key of an item, if any.
        index: the key of an item, constant or not.
        target: the holder (or the place) as the program writes it there.
        call: INSERT: the call of the method that puts it in, where it is one.
        syntax: the expression that is kept, as written.
        statement, function, loop, mode: where this happens.
    """

    kind: Kind
    value: Value
    function: Function
    loop: Loop | None
    mode: Mode
    statement: cst.CSTNode = field(repr=False)
    syntax: cst.CSTNode | None = field(default=None, repr=False)
    added: Value | None = None
    place: Place | None = None
    holder: Value | None = None
    attribute: str = ""
    is_item: bool = False
    key: Key = None
    index: Value | None = None
    target: cst.CSTNode | None = field(default=None, repr=False)
    call: Value | None = None


@dataclass(eq=False, slots=True)
class Backward:
    """A backward pass (or ``autograd.grad``) runs.

    Attributes:
        root: what it starts from.
        retains: the graph outlives it (``retain_graph`` or ``create_graph``).
        by_contract: a framework runs it on what a function returns.
        inputs: ``autograd.grad``: where it ends; what lies behind these is not part of it.
        call: the call that runs it; None by contract.
        proves: False where the root, of another file, is only what may flow into a backward: a module among that.
        is_of_callers: the function, of another file, runs none: those who call it there do, over what they make of it.
    """

    root: Value
    retains: bool
    function: Function
    loop: Loop | None
    statement: cst.CSTNode = field(repr=False)
    by_contract: bool = False
    inputs: tuple[Value, ...] = ()
    call: Value | None = None
    proves: bool = True
    is_of_callers: bool = False


@dataclass(eq=False, slots=True)
class Reset:
    """What a holder held is dropped: ``x.clear()``, ``del x[:]``, ``x.pop()``, ``del x``; or one item of it.

    Attributes:
        holder: what held it.
        function, loop: where this happens.
        is_item: whether it is one item.
        is_thrown_away: whether it is an item or a range that nobody uses: ``x.pop(0)`` by itself, ``del x[:-9]``.
    """

    holder: Value
    function: Function
    loop: Loop | None
    is_item: bool = False
    is_thrown_away: bool = False


@dataclass(eq=False, slots=True)
class Drop:
    """A variable or an attribute gives up what it held: ``del x``, ``x = None``, ``del self.x``.

    Attributes:
        path: what gives it up, as it is written.
        value: what a variable held; None for an attribute.
        holder: the object whose attribute it is.
        attribute: the attribute.
        bound: the variables at this point and what they hold.
        index: the number of values that were computed before.
        is_deleted: True for ``del``.
        function, loop, statement: where this happens.
    """

    path: str
    value: Value | None
    function: Function
    loop: Loop | None
    statement: cst.CSTNode = field(repr=False)
    index: int
    holder: Value | None = None
    attribute: str = ""
    bound: dict[str, Value] = field(default_factory=dict)
    is_deleted: bool = False
