"""Single forwards by which a program learns what kind of tensor a network gives: its shape, whether it is quantized."""

from __future__ import annotations

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.solve import Solution

KINDS = frozenset(
    ["shape", "size", "dim", "ndim", "ndimension", "numel", "nelement", "stride", "dtype", "device", "layout", "type",
     "is_quantized", "is_sparse", "is_complex", "is_floating_point", "is_contiguous", "is_cuda", "requires_grad"]
)  # fmt: skip
"""What tells the kind of a tensor and not its content."""


def is_probe(solution: Solution, call: Value) -> bool:
    """Whether a CALL stands in no loop, nor its function's calls, and only the kind of what it gives is read."""
    calls = [call, *solution.callers.get(call.function, ())]
    if any(one.loop is not None for one in calls):
        return False
    pending, seen, is_read = [call], set[Value](), False
    while pending:
        value = pending.pop()
        for user in value.users:
            if user.op is Op.ATTRIBUTE and user.name in KINDS:
                is_read = True
            elif user.op not in (Op.PHI, Op.NARROWED, Op.ELEMENT, Op.SUBSCRIPT):
                return False
            elif user not in seen:
                seen.add(user)
                pending.append(user)
    return is_read
