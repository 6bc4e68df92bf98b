"""Where a program hands an imported function on, and does not call it: ``on_batch=[torch.cuda.empty_cache]``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.graph import Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


def handed_at(facts: Facts, name: str) -> Value | None:
    """The one place where the function with this full dotted name is handed on; None where there are several.

    Returns:
        the function as it is written there; the list, or the call, that has it, where it is written by the name under
        which it was imported.
    """
    named = [value for value in facts.graph.of(Op.EXTERNAL) if value.name == name]
    using = [(one, user) for one in named for user in one.users if user.op in (Op.CONTAINER, Op.CALL)]
    handed = [(one, user) for one, user in using if user.op is Op.CONTAINER or user.callee is not one]
    if len(handed) != 1:
        return None
    one, user = handed[0]
    return one if isinstance(one.syntax, cst.BaseExpression) else user
