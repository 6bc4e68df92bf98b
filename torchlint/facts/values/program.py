"""What a program is made of: values, and the functions, classes and loops in which they are computed.

A :class:`Value` stands for what one expression yields, so an assignment makes none: two names for one value are one
value, and evidence about one of them is evidence about both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import libcst as cst

from torchlint.facts.values.kinds import Mode, Op

Key: TypeAlias = "str | int | None"
"""A constant key of a container; None for one that is not known."""

Flag: TypeAlias = "tuple[Value, bool]"
"""A parameter, and whether it is true."""


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

    @property
    def calls(self) -> list[Value]:
        """The CALLs that run this value, a function or a method; those that pass it on are none."""
        return [user for user in self.users if user.op is Op.CALL and user.callee is self]

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
        converts: as a decorator it gives callers anything but what it decorates returns.
        is_converted: such a decorator of the project decides what callers get.
        memoises: as a decorator it keeps what it decorates returns.
        is_memoised: such a decorator of the project keeps what it returns.
        is_replaced: a decorator may put anything in its place: one that is not seen, or that trains on what it returns.
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
    converts: bool = False
    is_converted: bool = False
    memoises: bool = False
    is_memoised: bool = False
    is_replaced: bool = False
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
    def full_name(self) -> str:
        """Its name, after that of its class: ``Meter.update``."""
        return f"{self.owner.name}.{self.name}" if self.owner is not None else self.name

    @property
    def owner_around(self) -> Class | None:
        """The class whose method it is, or in whose method it is made."""
        function = self
        while function.owner is None and function.parent is not None:
            function = function.parent
        return function.owner

    @property
    def asked_as(self) -> str:
        """What other files call to run it: of ``__call__`` the objects of its class, ``Objective()``."""
        return f"{self.owner.name}()" if self.owner is not None and self.name == "__call__" else self.name

    def is_inside(self, outer: Function) -> bool:
        """Whether it is ``outer``, or is defined in it."""
        around: Function | None = self
        while around is not None and around is not outer:
            around = around.parent
        return around is outer

    def for_arguments(self, *, bound: bool) -> list[Value]:
        """The parameters that take a call's arguments: all but ``self`` where it is called on an object."""
        return self.parameters[1 if bound else 0 :]

    @property
    def yielding_loops(self) -> list[Loop]:
        """The loops in whose turns a generator yields; nothing for what is no generator."""
        yielded = self.result.inputs if self.is_generator and self.result is not None else ()
        return list(dict.fromkeys(loop for item in yielded if item.loop is not None for loop in item.loop.around()))

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


SETTER = ".setter"
"""How the name of the method ends that runs when a property is assigned."""


@dataclass(eq=False, slots=True, repr=False)
class Class:
    """A class of the file, or one that it imports from its project.

    Attributes:
        number: its number in the file.
        bases: full dotted names of bases that are not in this file.
        parents: bases in this file and in others of the project.
        read: those of ``bases`` that stand in other files of the project and are among ``parents``.
        decorators: full dotted names.
        methods: its own methods by name; a property stands for the function that reads it.
        fronts: by the name of a property, the attribute that it gives and takes as it is.
        has_own_parameters: its methods put an ``nn.Parameter`` on ``self``, which only a module takes note of.
        has_parameters: its methods take the first of its parameters, whatever they are.
        is_foreign: it stands in another file.
        opener: reads what is known of a foreign one, when its lineage is first asked for; None once that has begun.
        is_opening: that has begun and not ended.
        full_name: the dotted name of a foreign one in its package, without the modules of that; "" for one of the file.
    """

    name: str
    syntax: cst.ClassDef
    number: int
    bases: tuple[str, ...] = ()
    parents: tuple[Class, ...] = ()
    read: tuple[str, ...] = ()
    decorators: tuple[str, ...] = ()
    methods: dict[str, Function] = field(default_factory=dict)
    fronts: dict[str, str] = field(default_factory=dict)
    has_own_parameters: bool = False
    has_parameters: bool = False
    is_foreign: bool = False
    opener: Callable[[], None] | None = None
    is_opening: bool = False
    full_name: str = ""
    _lineage: tuple[Class, ...] = ()
    _all_bases: tuple[str, ...] | None = None

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
        self._lineage, self._all_bases = (), None

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
        for cls in self._lineage or self.lineage():
            if name in cls.methods:
                return cls.methods[name]
        return None

    def is_record(self) -> bool:
        """Whether its objects only keep what they are made of: a data class, a named tuple."""
        made_by = self.method("__init__")
        return made_by is not None and not made_by.is_written

    def setter(self, name: str) -> Function | None:
        """What runs when an instance's property ``name`` is assigned, or None."""
        return self.method(name + SETTER)

    def kept_as(self, name: str) -> str:
        """The attribute in which an instance keeps what is read and assigned under ``name``."""
        for cls in self._lineage or self.lineage():
            if name in cls.methods:
                return cls.fronts.get(name, name)
        return name

    def all_bases(self) -> tuple[str, ...]:
        """Full dotted names of all bases outside this file."""
        if self._all_bases is not None:
            return self._all_bases
        bases = tuple(base for cls in self.lineage() for base in cls.bases)
        if self._lineage:
            self._all_bases = bases
        return bases
