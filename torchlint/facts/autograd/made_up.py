"""Where the numbers come from that a forward runs on: written in the program, drawn by chance, or from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint import torch_api
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.symbol import Symbol

if TYPE_CHECKING:
    from torchlint.facts.values.known import Known

COMPUTING = ("torch.", "numpy.", "builtins.", "math.", "random.", "copy.", "itertools.", "functools.", "collections.")
"""Packages whose functions compute with what they are given."""

READING = frozenset(
    ["builtins.open", "builtins.input", "numpy.load", "numpy.loadtxt", "numpy.genfromtxt", "numpy.fromfile",
     "numpy.memmap", "torch.load", "torch.from_file", "torch.hub.load"]
)  # fmt: skip
"""Those of them that read a file or ask somebody."""

WITHOUT_NUMBERS = frozenset(["device", "dtype", "requires_grad", "pin_memory", "layout"])
"""Arguments that say where and as what numbers are kept, and not which."""


class Maker(Symbol):
    """Where the numbers in a value come from."""

    WRITTEN = "written in the program"
    DRAWN = "made by torch.randn and the like"
    ELSEWHERE = "a file, a caller, nobody knows"


def makers(
    solution: Known,
    value: Value,
    depth: int = 8,
    seen: frozenset[Value] = frozenset(),
    entered: frozenset[Function] = frozenset(),
) -> frozenset[Maker]:
    """Where the numbers in a value come from, whatever is computed with them.

    A function that is not seen may read a file that it is given the name of: ``Image.open("photo.jpg")``; what it is
    given tensors for it computes with, as a network of another file does. Of a function of the file what it returns
    counts, and what it is given; a function of another file and an object of the program may have got their numbers
    anywhere.
    """
    if value.op is Op.CONSTANT:
        return frozenset([Maker.WRITTEN])
    if value in seen or (value.op is Op.PARAMETER and value.function in entered):
        return frozenset()  # what goes round a loop adds nothing to itself; what the call gives stands for a parameter
    if depth == 0 or value.op not in (Op.CALL, Op.OPERATION, Op.CONTAINER, Op.PHI, Op.SUBSCRIPT, Op.ELEMENT):
        return frozenset([Maker.ELSEWHERE])
    inputs = list(value.inputs)
    if value.op is Op.CALL:
        named = zip(value.keys[1:], value.arguments, strict=True)
        inputs = [argument for key, argument in named if key not in WITHOUT_NUMBERS]
        if value.callee.op is Op.EXTERNAL:
            operation = torch_api.function(value.callee.name)
            if operation is not None and operation.history is torch_api.History.FRESH:
                return frozenset([Maker.DRAWN])
        elif value.callee.op is Op.ATTRIBUTE:
            inputs = list(value.callee.inputs)
        called = solution.functions_of(value) if value.callee.op is not Op.ATTRIBUTE else []
        functions = [function for function in called if not _is_forward_elsewhere(function)]
        if any(function.is_foreign or function.name == "__init__" for function in functions):
            return frozenset([Maker.ELSEWHERE])
        inputs += [function.result for function in functions if function.result is not None]
        entered |= frozenset(functions)
    seen |= {value}
    found = frozenset(maker for source in inputs for maker in makers(solution, source, depth - 1, seen, entered))
    if value.op is Op.CALL and value.callee.op is Op.EXTERNAL and Maker.DRAWN not in found:
        if not value.callee.name.startswith(COMPUTING) or value.callee.name in READING:
            return frozenset([Maker.ELSEWHERE])
    return found if found or seen - {value} else frozenset([Maker.ELSEWHERE])


def _is_forward_elsewhere(function: Function) -> bool:
    return function.is_foreign and function.name == "forward" and function.owner is not None
