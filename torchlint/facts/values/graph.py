"""The value graph: every value that a file computes, in static single assignment form, and what is done with it.

The builder (``building/``) makes it in one walk; the solver gives each value its abstract value; rules read it through
the queries of this package. A :class:`Value` stands for what one expression yields, so an assignment makes none:
two names for one value are one value, and evidence about one of them is evidence about both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeAlias

import libcst as cst

from torchlint.facts.values.foreign import Foreign
from torchlint.facts.values.kinds import Kind, Mode, Op

__all__ = [
    "Backward", "Class", "Drop", "Function", "Key", "Kind", "Loop", "Mode", "Op", "Place", "Reset", "Store", "Value",
    "ValueGraph",
]  # fmt: skip

Key: TypeAlias = "str | int | None"
"""A constant key of a container; None for one that is not known."""


class Place(NamedTuple):
    """Where a value is kept beyond an expression: a global, a captured variable, an attribute.

    A tuple, since places are looked up more often than anything else, and a data class is hashed by Python code.

    Attributes:
        owner: the function (a module's body is one) whose variable it is, the class whose instances have the
            attribute, or the value (of unknown type) whose attribute it is.
        path: the variable's or attribute's name; dotted for an attribute of an attribute.
    """

    owner: Function | Class | Value
    path: str


@dataclass(eq=False, slots=True, repr=False)
class Value:
    """One value of the program.

    Attributes:
        index: its number in the file, in the order of the walk.
        op: how it comes to be.
        inputs: what it is computed from. PHI: the alternatives; a loop's PHI has the value before the loop first.
            CALL: the callee, the positional arguments, the keyword arguments.
        name: ATTRIBUTE: the attribute; EXTERNAL: the full dotted name; PARAMETER, PHI and READ: the variable;
            OPERATION: the operator's class name.
        keys: CONTAINER and CALL: one key for each input (a CALL's are None for the callee, a number for a
            positional argument, a name for a keyword, None for a starred one); ELEMENT and SUBSCRIPT: one key.
        syntax: the expression, when there is one.
        statement: the statement in which it is computed.
        function: the function (or module body) in which it is computed.
        loop: the innermost loop around it in that function.
        mode: the grad mode there.
        evaluating: True when the last mode switch before it was ``.eval()`` and not ``.train()``.
        is_bare: True for a CALL that is a statement of its own: it is made for what it does.
        place: READ: what is read.
        reference: FUNCTION and CLASS: what it is; PARAMETER: the class of the project that it is annotated with.
    """

    index: int
    op: Op
    inputs: tuple[Value, ...]
    function: Function
    loop: Loop | None
    mode: Mode
    name: str = ""
    keys: tuple[Key, ...] = ()
    syntax: cst.CSTNode | None = field(default=None, repr=False)
    statement: cst.CSTNode | None = field(default=None, repr=False)
    evaluating: bool = False
    is_bare: bool = False
    place: Place | None = None
    reference: Function | Class | None = None
    users: list[Value] = field(default_factory=list)

    def __repr__(self) -> str:
        """In short: the links of values reach the whole file."""
        return f"<{self.op.name} {self.index} {self.name} in {self.function.name}>"

    @property
    def callee(self) -> Value:
        """What a CALL calls."""
        return self.inputs[0]

    def argument(self, position: int, keyword: str | None = None) -> Value | None:
        """The argument of a CALL by position (from 0) or by keyword, or None."""
        for value, key in zip(self.inputs[1:], self.keys[1:], strict=True):
            if (key == position and not isinstance(key, str)) or (keyword is not None and key == keyword):
                return value
        return None

    @property
    def arguments(self) -> tuple[Value, ...]:
        """All arguments of a CALL."""
        return self.inputs[1:]

    def unnarrowed(self) -> Value:
        """The value as it was before conditions said something of it."""
        value = self
        while value.op is Op.NARROWED:
            value = value.inputs[0]
        return value

    def computed_from(self) -> Iterator[Value]:
        """This value and all that it is computed from in its function, each once."""
        seen: set[Value] = set()
        pending = [self]
        while pending:
            value = pending.pop()
            if value not in seen:
                seen.add(value)
                yield value
                pending.extend(value.inputs)

    def feed(self, *more: Value) -> None:
        """Give a PHI further alternatives."""
        self.inputs += more
        for value in more:
            value.users.append(self)


@dataclass(eq=False, slots=True)
class Loop:
    """A loop: ``for``, ``while`` or a comprehension.

    Attributes:
        syntax: the loop's node.
        function: in which it stands.
        parent: the loop around it in that function.
        iterable: what it runs over, None for ``while``.
        phis: one PHI for each variable that the body assigns.
    """

    syntax: cst.CSTNode = field(repr=False)
    function: Function
    parent: Loop | None
    iterable: Value | None = None
    phis: list[Value] = field(default_factory=list)

    def around(self) -> list[Loop]:
        """This loop and those around it in the same function, from the inside."""
        chain, loop = [], self
        while loop is not None:
            chain.append(loop)
            loop = loop.parent  # type: ignore[assignment]
        return chain


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


@dataclass(eq=False, slots=True)
class Reset:
    """What a holder held is dropped: ``x.clear()``, ``del x[:]``, ``x.pop()``, ``del x``; or one item of it."""

    holder: Value
    function: Function
    loop: Loop | None
    is_item: bool = False


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


@dataclass(eq=False, slots=True, repr=False)
class Function:
    """A function, a method, a lambda or a module's body.

    Attributes:
        name: its name; "<module>" and "<lambda>" for those without.
        syntax: its node.
        owner: the class whose method it is.
        parent: the function in which it is defined, None for a module's body.
        parameters: one PARAMETER value each, ``self`` included.
        result: a PHI of all that it returns (or yields).
        guard: the grad mode that a decorator gives it, INHERITED without one.
        decorators: full dotted names.
        wraps: the grad mode in which it, as a decorator, runs what it decorates; None where it leaves that alone.
        alters: as a decorator it hands on other arguments than it is given.
        is_altered: such a decorator decides what it is given.
        is_foreign: it stands in another file.
        is_left_open: True for one of another file that only raises, or does nothing at all.
        is_written: False for what Python writes itself: the ``__init__`` of a data class.
        opener: reads what is known of a foreign one; None once that is done.
    """

    name: str
    syntax: cst.CSTNode = field(repr=False)
    owner: Class | None
    parent: Function | None
    is_async: bool = False
    is_generator: bool = False
    decorators: tuple[str, ...] = ()
    guard: Mode = Mode.INHERITED
    wraps: Mode | None = None
    alters: bool = False
    is_altered: bool = False
    parameters: list[Value] = field(default_factory=list)
    result: Value | None = None
    is_foreign: bool = False
    is_left_open: bool = False
    is_written: bool = True
    opener: Callable[[], None] | None = None

    def __repr__(self) -> str:
        return f"<function {self.name}>"

    def open(self) -> None:
        """Read what is known of a function of another file: it is put off until it is needed."""
        if self.opener is not None:
            opener, self.opener = self.opener, None
            opener()

    @property
    def owner_around(self) -> Class | None:
        """The class whose method it is, or in whose method it is made."""
        function = self
        while function.owner is None and function.parent is not None:
            function = function.parent
        return function.owner

    @property
    def is_static(self) -> bool:
        """True for a static method, which gets no ``self``."""
        return "staticmethod" in self.decorators

    @property
    def is_abstract(self) -> bool:
        """True when its subclasses say what it does."""
        return any(name.rpartition(".")[2] == "abstractmethod" for name in self.decorators)

    @property
    def is_property(self) -> bool:
        """True when reading the attribute runs it."""
        return any(name == "property" or name.endswith("cached_property") for name in self.decorators)


@dataclass(eq=False, slots=True, repr=False)
class Class:
    """A class of the file, or one that it imports from its project.

    Attributes:
        number: its number in the file.
        bases: full dotted names of bases that are not in this file.
        parents: bases in this file and in others of the project.
        decorators: full dotted names.
        methods: its own methods by name.
        has_own_parameters: its methods put an ``nn.Parameter`` on ``self``, which only a module takes note of.
        is_foreign: it stands in another file.
        opener: reads what is known of a foreign one, when its lineage is first asked for; None once that has begun.
        is_opening: that has begun and not ended.
    """

    name: str
    syntax: cst.ClassDef
    number: int
    bases: tuple[str, ...] = ()
    parents: tuple[Class, ...] = ()
    decorators: tuple[str, ...] = ()
    methods: dict[str, Function] = field(default_factory=dict)
    has_own_parameters: bool = False
    is_foreign: bool = False
    opener: Callable[[], None] | None = None
    is_opening: bool = False
    _lineage: tuple[Class, ...] = ()

    def __repr__(self) -> str:
        return f"<class {self.name}>"

    def lineage(self) -> tuple[Class, ...]:
        """This class and its ancestors in this file, nearest first; a cycle of bases ends."""
        if self._lineage:
            return self._lineage
        order: list[Class] = []
        pending = [self]
        while pending:
            cls = pending.pop(0)
            if cls not in order:
                cls._open()
                order.append(cls)
                pending.extend(cls.parents)
        lineage = tuple(order)
        if not any(cls.is_opening for cls in order):
            self._lineage = lineage  # every method and attribute is looked up through it
        return lineage

    def forget_lineage(self) -> None:
        """Look it up again when it is next asked for."""
        self._lineage = ()

    def _open(self) -> None:
        if self.opener is not None:
            opener, self.opener, self.is_opening = self.opener, None, True
            opener()
            self.is_opening = False

    def root(self) -> Class:
        """The topmost ancestor in this file; a family of classes shares its attributes."""
        return self.lineage()[-1]

    def method(self, name: str) -> Function | None:
        """The method that an instance finds under ``name``, or None."""
        return next((cls.methods[name] for cls in self.lineage() if name in cls.methods), None)

    def all_bases(self) -> tuple[str, ...]:
        """Full dotted names of all bases outside this file."""
        return tuple(base for cls in self.lineage() for base in cls.bases)


@dataclass(eq=False, slots=True)
class ValueGraph:
    """All that the builder found in one file.

    ``buffers`` has each ``register_buffer`` as (on what, which name); ``beginnings`` what is assigned where a condition
    says that nothing was before; ``resting`` what a module reads where it does not train, ``resting_choices`` each PHI
    with what it is only then; ``indices`` what a SUBSCRIPT is indexed by, slices left out; ``bounds`` what the
    variables are between which a slice lies; ``spreads`` what a dictionary is written around,
    each with the keys that are replaced in it; ``decorated`` what decorates a function, with that function;
    ``foreign`` is what other files bring in; ``trusts_annotations`` is False where others are told what becomes of
    whatever they pass.
    """

    module: Function
    values: list[Value] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    resets: list[Reset] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    buffers: list[tuple[Value, str]] = field(default_factory=list)
    beginnings: set[Value] = field(default_factory=set)
    resting: set[Value] = field(default_factory=set)
    resting_choices: set[tuple[Value, Value]] = field(default_factory=set)
    indices: dict[Value, tuple[Value, ...]] = field(default_factory=dict)
    bounds: dict[cst.BaseExpression, Value] = field(default_factory=dict)
    spreads: dict[Value, list[tuple[Value, frozenset[Key]]]] = field(default_factory=dict)
    decorated: list[tuple[Value, Function]] = field(default_factory=list)
    foreign: Foreign = field(default_factory=Foreign)
    trusts_annotations: bool = True

    def all_values(self) -> Iterator[Value]:
        """The file's own values and those of other files."""
        return chain(self.values, self.foreign.values)

    def all_backwards(self) -> Iterator[Backward]:
        """The file's own backwards and those of other files."""
        return chain(self.backwards, self.foreign.backwards)
