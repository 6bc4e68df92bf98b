"""What kinds of values, of stores and of grad modes there are."""

from __future__ import annotations

from enum import auto

from torchlint.symbol import Symbol


class Mode(Symbol):
    """Whether gradients are recorded at a point of a function."""

    ON = "on"
    OFF = "off"
    INHERITED = "inherited"
    """As the caller has it."""
    MAYBE = "maybe"
    """On on some paths and off on others; it depends on a value."""
    UNKNOWN = "unknown"
    """Under a context manager of unknown origin that may well be a guard."""


class Op(Symbol):
    """How a value comes to be."""

    CONSTANT = auto()
    EXTERNAL = auto()
    FUNCTION = auto()
    CLASS = auto()
    PARAMETER = auto()
    PHI = auto()
    READ = auto()
    ATTRIBUTE = auto()
    SUBSCRIPT = auto()
    ELEMENT = auto()
    OPERATION = auto()
    COMPARISON = auto()
    CONTAINER = auto()
    CALL = auto()
    GIVEN = auto()
    NARROWED = auto()
    UNKNOWN = auto()


PARTS = (Op.ELEMENT, Op.SUBSCRIPT)
"""What gives a part of a value: an item of a pair that is unpacked, a view of a tensor."""


class Rest(Symbol):
    """What a condition leaves of a NARROWED value, by its name."""

    PLAIN = "plain"
    """A number, a string, an array of NumPy."""
    NO_TENSOR = "no tensor"
    NO_MODULE = "no module"
    GRAPHLESS = "without a graph"
    ITEMS = "items"
    """A tuple or a list."""
    NO_DICTIONARY = "no dictionary"
    NO_LIST = "no list"
    NO_TUPLE = "no tuple"


class Kind(Symbol):
    """How a value is kept."""

    ASSIGN = "assign"
    """``place = value``"""
    UPDATE = "update"
    """``place += value`` or an in-place operation on what the place holds"""
    INSERT = "insert"
    """``holder.append(value)``, ``holder[key] = value`` ..."""


WHOLE_NUMBER = "int"
"""The name of a CONSTANT that is not written down and is a whole number: what ``range`` and ``enumerate`` count."""
