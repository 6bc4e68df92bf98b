"""What a pattern of a ``match`` binds: the parts of what is matched, each under the name that captures it.

https://docs.python.org/3/reference/compound_stmts.html#patterns
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import constant_of
from torchlint.facts.values.graph import Op, Value

if TYPE_CHECKING:
    from torchlint.facts.building.context import Context

__all__ = ["bind_pattern"]


def bind_pattern(builder: Context, pattern: cst.MatchPattern, value: Value) -> None:
    """Bind each name of ``pattern`` to the part of ``value`` that it captures; values and wildcards bind nothing."""
    if isinstance(pattern, cst.MatchAs):
        if pattern.pattern is not None:
            bind_pattern(builder, pattern.pattern, value)
        if pattern.name is not None:
            builder.assign(pattern.name, value, None)
    elif isinstance(pattern, cst.MatchOr):
        for choice in pattern.patterns:
            bind_pattern(builder, choice.pattern, value)
    elif isinstance(pattern, cst.MatchList | cst.MatchTuple):
        _bind_sequence(builder, pattern.patterns, value)
    elif isinstance(pattern, cst.MatchMapping):
        for item in pattern.elements:
            key = constant_of(item.key)
            bind_pattern(builder, item.pattern, builder.make(Op.SUBSCRIPT, (value,), None, keys=(key,)))
        if pattern.rest is not None:
            builder.assign(pattern.rest, _some_of(builder, value), None)
    elif isinstance(pattern, cst.MatchClass):
        for place in pattern.patterns:  # by `__match_args__`, or the object itself
            bind_pattern(builder, place.value, _some_of(builder, value))
        for named in pattern.kwds:
            attribute = builder.make(Op.ATTRIBUTE, (value,), None, name=named.key.value)
            bind_pattern(builder, named.pattern, attribute)


def _bind_sequence(
    builder: Context, elements: Sequence[cst.MatchSequenceElement | cst.MatchStar], value: Value
) -> None:
    starred = next((at for at, one in enumerate(elements) if isinstance(one, cst.MatchStar)), None)
    for element, part in zip(elements, builder.parts_of(value, len(elements), starred), strict=True):
        if isinstance(element, cst.MatchSequenceElement):
            bind_pattern(builder, element.value, part)
        elif element.name is not None:
            builder.assign(element.name, part, None)


def _some_of(builder: Context, value: Value) -> Value:
    """What is taken out of a value, nobody knows where."""
    return builder.make(Op.ELEMENT, (value,), None, keys=(None,))
