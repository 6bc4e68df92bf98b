"""Items of what functions return: ``mean, spread = self.moments(x)``, ``self.moments(x).mean``, ``x.max(0).values``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.domain import Instance
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.operations import operation
from torchlint.torch_api import Returns

if TYPE_CHECKING:
    from torchlint.facts.values.known import Known

SEVERAL = frozenset([Returns.TUPLE, Returns.TENSORS])
"""What functions of torch return where they give more than one tensor."""


def items_at(solution: Known, item: Value) -> list[Value]:
    """What an ELEMENT or a SUBSCRIPT may be, where it is taken of a tuple that is written.

    Args:
        solution: knows which functions a call runs.
        item: what is taken, of a tuple itself or of what functions of the file return.

    Returns:
        what stands at its place; none where a function returns anything but such a tuple, or None of which nothing can
        be taken, or nothing stands there.
    """
    whole = item.inputs[0]
    functions = solution.functions_of(whole) if whole.op is Op.CALL else ()
    returned = [one for function in functions if function.result is not None for one in function.result.inputs]
    tuples = [one for one in returned if one.name != "None"] if whole.op is Op.CALL else [whole]
    if not all(one.op is Op.CONTAINER for one in tuples):
        return []
    pairs = [pair for one in tuples for pair in zip(one.keys, one.inputs, strict=True)]
    return [value for key, value in pairs if key == item.keys[0]]


def kept_in_field(solution: Known, field: Value) -> list[Value]:
    """What an ATTRIBUTE may be where it is one of an object of the file that is no network: of a named tuple.

    Args:
        solution: knows of which class an object is.
        field: what is read.

    Returns:
        what is kept there; none where the object may be anything else.
    """
    owners = solution.final(field.inputs[0])
    if not all(isinstance(atom, Instance) and not is_module_class(atom.cls) for atom in owners):
        return []
    return stored_at(solution, field)


def is_part_of_several(solution: Known, part: Value) -> bool:
    """Whether a part is taken of what an operation of torch gives where that is more than one tensor.

    Args:
        solution: knows which calls run functions of the project instead.
        part: an ELEMENT, a SUBSCRIPT or an ATTRIBUTE, ``torch.topk(x, 2).values``.
    """
    whole = part.inputs[0]
    row = operation(whole) if whole.op is Op.CALL and not solution.functions_of(whole) else None
    if row is None:
        return False
    return part.name in dict(row.elements) if part.op is Op.ATTRIBUTE else row.returns in SEVERAL
