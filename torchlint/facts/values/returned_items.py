"""Items of the tuples that functions of the file return: ``mean, spread = self.moments(x)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Op, Value

if TYPE_CHECKING:
    from torchlint.facts.values.known import Known


def items_at(solution: Known, item: Value) -> list[Value]:
    """What an ELEMENT or a SUBSCRIPT may be, where it is taken of a tuple that is written.

    Args:
        solution: knows which functions a call runs.
        item: what is taken, of a tuple itself or of what functions of the file return.

    Returns:
        what stands at its place; none where a function returns anything but such a tuple, or nothing stands there.
    """
    whole = item.inputs[0]
    functions = solution.functions_of(whole) if whole.op is Op.CALL else ()
    returned = [one for function in functions if function.result is not None for one in function.result.inputs]
    tuples = returned if whole.op is Op.CALL else [whole]
    if not all(one.op is Op.CONTAINER for one in tuples):
        return []
    pairs = [pair for one in tuples for pair in zip(one.keys, one.inputs, strict=True)]
    return [value for key, value in pairs if key == item.keys[0]]
