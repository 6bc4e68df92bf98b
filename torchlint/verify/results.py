"""What a program returns, taken apart so that two programs can be compared number by number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["Flat", "difference", "flatten"]

Flat = tuple[tuple[str, Any], ...]
"""(where it stands in the result, as Python would write it, and its value): numbers, strings, None."""


def flatten(result: object) -> Flat:
    """Take a result apart.

    Args:
        result: numbers, strings, tensors, modules, dataclasses and containers of these. A tensor gives its shape and
            its elements, widened to double precision, which is exact; a module gives its state.

    Raises:
        TypeError: it holds something else, with one line that names it.
    """
    return tuple(_flatten(result, "result"))


def _flatten(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    if value is None or isinstance(value, bool | int | float | str):
        yield place, value
    elif isinstance(value, Mapping):
        yield place, len(value)
        for key in value:
            yield from _flatten(value[key], f"{place}[{key!r}]")
    elif isinstance(value, list | tuple):
        yield place, len(value)
        for number, item in enumerate(value):
            yield from _flatten(item, f"{place}[{number}]")
    elif isinstance(value, set | frozenset):
        yield from _flatten(sorted(value, key=repr), place)
    elif is_dataclass(value) and not isinstance(value, type):
        for item in fields(value):
            yield from _flatten(getattr(value, item.name), f"{place}.{item.name}")
    else:
        yield from _flatten_torch(value, place)


def _flatten_torch(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    import torch

    if isinstance(value, torch.Tensor):
        whole = value.detach().cpu()
        yield f"{place}.shape", str(tuple(whole.shape))
        numbers = whole.to(torch.complex128).view(torch.float64) if whole.is_complex() else whole.double()
        for number, item in enumerate(numbers.flatten().tolist()):
            yield f"{place}.flatten()[{number}]", item
    elif isinstance(value, torch.nn.Module):
        yield from _flatten(value.state_dict(), f"{place}.state_dict()")
    elif isinstance(value, Sequence) or hasattr(value, "__iter__"):
        yield from _flatten(list(value), place)
    else:
        raise TypeError(f"it returns a {type(value).__name__}, which cannot be compared: return numbers or tensors")


def difference(one: Flat, other: Flat, tolerance: float) -> str:
    """Where two results differ, in one phrase; "" when they do not.

    Args:
        one: the leaking program's.
        other: the repaired program's.
        tolerance: the greatest relative difference between two numbers (absolute below 1); 0 demands the same bits.
    """
    for (place, left), (there, right) in zip(one, other, strict=False):
        if place != there:
            return f"{place} against {there}"
        if not _equal(left, right, tolerance):
            return f"{place} is {left!r} against {right!r}"
    return "" if len(one) == len(other) else f"{len(one)} values against {len(other)}"


def _equal(left: Any, right: Any, tolerance: float) -> bool:
    if not (isinstance(left, float) and isinstance(right, float)):
        return bool(left == right and type(left) is type(right))
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    if tolerance == 0.0:
        # By their bits: 0.0 and -0.0 are equal and not the same.
        return left.hex() == right.hex()
    return left == right or abs(left - right) <= tolerance * max(1.0, abs(left), abs(right))
