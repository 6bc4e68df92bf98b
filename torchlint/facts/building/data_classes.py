"""Data classes and named tuples: the ``__init__`` that Python writes keeps on the object what it is given, or makes.

https://docs.python.org/3/library/dataclasses.html, https://www.attrs.org/en/stable/api.html,
https://docs.python.org/3/library/typing.html#typing.NamedTuple
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import ScopeNames, constant_of
from torchlint.facts.building.setting import setting_of
from torchlint.facts.values.graph import Class, Function, Kind, Op, Value
from torchlint.syntax.tree import dotted, nodes_of

if TYPE_CHECKING:
    from torchlint.facts.building.definitions import DefinitionBuilder

DECORATORS = frozenset(
    ["dataclasses.dataclass", "attr.s", "attr.attrs", "attr.dataclass", "attr.define", "attr.mutable", "attr.frozen",
     "attrs.define", "attrs.mutable", "attrs.frozen"]
)  # fmt: skip

NAMED_TUPLES = frozenset(["typing.NamedTuple", "typing_extensions.NamedTuple"])
"""Bases of classes whose fields are the items of a tuple."""

TUPLE_MAKERS = {"collections.namedtuple": "field_names"} | dict.fromkeys(NAMED_TUPLES, "fields")
"""Functions that make such a class, each with the keyword for the fields: ``namedtuple("Sums", "loss steps")``."""

RENEWING = frozenset(["dataclasses.replace", "copy.replace", "attr.evolve", "attrs.evolve"])
"""Functions that give an object of the same fields, those that are named with other values; a method is `_replace`."""

FIELDS = frozenset(["dataclasses.field", "attr.ib", "attr.attrib", "attr.field", "attrs.field"])
"""Functions that say more of a field than its default."""

FACTORIES = ("default_factory", "factory")

NO_FIELDS = frozenset(["ClassVar", "KW_ONLY"])
NO_ATTRIBUTES = frozenset(["InitVar"])
"""Annotations of what is no field, and of what ``__init__`` takes and does not keep."""


@dataclass(frozen=True)
class DataField:
    """A field of a data class.

    Attributes:
        name: its name.
        annotation: what it is said to be, if anything is.
        default: what it is where nothing is given, if that is one value for all objects.
        made_by: the call that says how a value is made for each object, and what makes it.
        is_given: False for one that ``__init__`` does not take.
        is_kept: False for one that only ``__post_init__`` gets.
        statement: where it stands.
    """

    name: str
    annotation: cst.Annotation | None
    default: cst.BaseExpression | None
    made_by: tuple[cst.Call, cst.BaseExpression] | None
    is_given: bool
    is_kept: bool
    statement: cst.CSTNode


def has_fields(cls: Class) -> bool:
    """Whether Python writes the ``__init__`` of a class: it has none, and inherits none that is not seen."""
    is_plain = not DECORATORS.isdisjoint(cls.decorators) and not cls.bases
    return "__init__" not in cls.methods and (is_plain or is_named_tuple(cls))


def is_named_tuple(cls: Class) -> bool:
    """Whether the fields of a class are the items of a tuple."""
    return bool(cls.bases) and NAMED_TUPLES.issuperset(cls.bases)


def fields_of(node: cst.ClassDef, full_name: Callable[[cst.CSTNode], str | None]) -> Iterator[DataField]:
    """The fields that the body of a data class declares, in its order; ``full_name`` reads the file's imports."""
    for statement in node.body.body:
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.AnnAssign) and isinstance(small.target, cst.Name):
                kind = _last_name(small.annotation.annotation)
                if kind not in NO_FIELDS:
                    said = _said(small.value, full_name)
                    yield DataField(small.target.value, small.annotation, *said, kind not in NO_ATTRIBUTES, statement)


def replaces_fields(node: cst.ClassDef) -> bool:
    """Whether ``__post_init__`` sets attributes by names that it computes: ``setattr(self, one.name, value.item())``.

    What the object has been given may then be none of its fields.
    """
    methods = (one for one in node.body.body if isinstance(one, cst.FunctionDef) and one.name.value == "__post_init__")
    calls = (call for method in methods for call in nodes_of(cst.Call, method))
    settings = (setting for call in calls if (setting := setting_of(call)) is not None)
    return any(constant_of(setting.name) is None for setting in settings)


def named_tuple(node: cst.Call, keyword: str, statement: cst.CSTNode) -> tuple[str, tuple[DataField, ...]] | None:
    """The name and the fields of the class that a call makes; None where they are not written out there.

    Args:
        node: ``namedtuple("Sums", "loss steps")``, ``NamedTuple("Sums", [("loss", float), ("steps", int)])``.
        keyword: by which the fields may be given.
        statement: where it stands.
    """
    plain = [one for one in node.args if not one.star]
    given = {at if one.keyword is None else one.keyword.value: one.value for at, one in enumerate(plain)}
    name, written = given.get(0, given.get("typename")), given.get(1, given.get(keyword))
    called, names = constant_of(name) if name is not None else None, _names_in(written)
    if not isinstance(called, str) or not names or "rename" in given or len(given) < len(node.args):
        return None
    defaults = given.get("defaults")
    known = [one.value for one in defaults.elements] if isinstance(defaults, cst.Tuple | cst.List) else []
    defaulted = dict(zip(reversed(names), reversed(known), strict=False))  # the last fields have them
    return called, tuple(DataField(one, None, defaulted.get(one), None, True, True, statement) for one in names)


def _names_in(written: cst.BaseExpression | None) -> list[str]:
    """The names of fields: in a text, in a list of texts, or of pairs that begin with one; none if one is unknown."""
    if not isinstance(written, cst.List | cst.Tuple):
        told = constant_of(written) if written is not None else None
        return told.replace(",", " ").split() if isinstance(told, str) else []
    items = [one.value for one in written.elements]
    firsts = [one.elements[0].value if isinstance(one, cst.Tuple) and one.elements else one for one in items]
    names = [constant_of(one) for one in firsts]
    found = [one for one in names if isinstance(one, str)]
    return found if len(found) == len(names) else []


def _said(
    value: cst.BaseExpression | None, full_name: Callable[[cst.CSTNode], str | None]
) -> tuple[cst.BaseExpression | None, tuple[cst.Call, cst.BaseExpression] | None, bool]:
    """The default of a field, what makes it, and whether ``__init__`` takes it."""
    if not is_field_call(value, full_name):
        return value, None, True
    assert isinstance(value, cst.Call)
    named = {argument.keyword.value: argument.value for argument in value.args if argument.keyword is not None}
    factory = next((named[key] for key in FACTORIES if key in named), None)
    is_given = dotted(named["init"]) != "False" if "init" in named else True
    return named.get("default"), None if factory is None else (value, factory), is_given


def is_field_call(value: cst.BaseExpression | None, full_name: Callable[[cst.CSTNode], str | None]) -> bool:
    """``field(default_factory=list)``: whether a field is told by a call, and the class then has no such attribute."""
    return isinstance(value, cst.Call) and full_name(value.func) in FIELDS


def define_initializer(
    builder: DefinitionBuilder, cls: Class, fields: Sequence[DataField]
) -> tuple[Function, cst.FunctionDef]:
    """The ``__init__`` of a data class, without its body; its defaults are evaluated where the class stands."""
    given = [field for field in fields if field.is_given]
    # Fields by keyword may stand in any order, parameters may not: the defaults are left to the values.
    written = [cst.Param(cst.Name("self"), star="")]
    written += [cst.Param(cst.Name(field.name), field.annotation, star="") for field in given]
    syntax = cst.FunctionDef(cst.Name("__init__"), cst.Parameters(written), cst.IndentedBlock([]))
    function = Function("__init__", syntax, cls, builder.function, is_written=False)
    builder.scopes[syntax] = ScopeNames()
    defaults = [(), *((builder.visit(field.default),) if field.default is not None else () for field in given)]
    outside, builder.function = builder.function, function
    for position, (one, default) in enumerate(zip(written, defaults, strict=True)):
        value = builder.make(Op.PARAMETER, default, one, name=one.name.value, keys=(position,))
        function.parameters.append(value)
    function.result = builder.make(Op.PHI, (), None, name="<result>")
    builder.function = outside
    builder.graph.functions.append(function)
    return function, syntax


def keep_fields(builder: DefinitionBuilder, function: Function, fields: Sequence[DataField]) -> None:
    """The body of that ``__init__``: each field is set."""
    itself, *parameters = function.parameters
    given = {parameter.name: parameter for parameter in parameters}
    for field in fields:
        if field.is_kept:
            builder.statement = field.statement
            target = cst.Attribute(cst.Name("self"), cst.Name(field.name))
            for value in _values(builder, field, given.get(field.name)):
                builder.keep(Kind.ASSIGN, value, None, holder=itself, attribute=field.name, target=target)


def _values(builder: DefinitionBuilder, field: DataField, given: Value | None) -> Iterator[Value]:
    if given is not None:
        yield given
    if field.made_by is not None:
        call, factory = field.made_by
        yield builder.make(Op.CALL, (builder.visit(factory),), call, keys=(None,))


def _last_name(annotation: cst.CSTNode) -> str:
    node = annotation.value if isinstance(annotation, cst.Subscript) else annotation
    return (dotted(node) or "").rpartition(".")[2]
