"""Copies of a model that are made over into something else: each turn needs its own, since what became of it stays so.

A network that was prepared for quantization, converted, pruned or traced has other modules and other names of weights:
the state of the model cannot be loaded into it again.
"""

from __future__ import annotations

from torchlint.facts.values.choices import joined_into
from torchlint.facts.values.graph import Op, Value

MAKING_OVER = ("torch.quantization.", "torch.ao.quantization.", "torch.nn.utils.prune.", "torch.fx.")
"""Modules of torch whose functions change what a network consists of."""


def is_made_over(copy: Value) -> bool:
    """Whether a copy of a model is given to a function of torch that changes its structure, on some path."""
    return any(_makes_over(user) and one in user.arguments for one in joined_into(copy) for user in one.users)


def _makes_over(user: Value) -> bool:
    return user.op is Op.CALL and user.callee.op is Op.EXTERNAL and user.callee.name.startswith(MAKING_OVER)
