"""What a web application keeps for its handlers: ``app.state.model``, which ``request.app.state.model`` is as well.

https://www.starlette.io/applications/#storing-state-on-the-app-instance
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.graph import Op, Value
from torchlint.syntax.tree import dotted

if TYPE_CHECKING:
    from torchlint.facts.values.known import Known

STATE = "state"
"""The attribute of an application that takes whatever is put there."""

APPLICATIONS = frozenset(["fastapi.FastAPI", "starlette.applications.Starlette"])

CONNECTIONS = frozenset(["FastAPI", "Starlette", "Request", "WebSocket", "HTTPConnection"])
"""What handlers are given that is the application or has it, by the class that a parameter is annotated with."""


def is_state_of_application(known: Known, value: Value) -> bool:
    """Whether a value is the state of a web application, of which a program has one."""
    if value.op is not Op.ATTRIBUTE or value.name != STATE:
        return False
    owner = value.inputs[0]
    if owner.op is Op.ATTRIBUTE and owner.name == "app":
        owner = owner.inputs[0]
    if owner.op is Op.PARAMETER:
        return _annotation(owner) in CONNECTIONS
    made = [owner] if owner.place is None else known.stored.get(owner.place, [])
    return any(one.op is Op.CALL and one.callee.name in APPLICATIONS for one in made)


def _annotation(parameter: Value) -> str:
    """The last name of the class that a parameter is annotated with; "" without one."""
    syntax = parameter.syntax
    if not isinstance(syntax, cst.Param) or syntax.annotation is None:
        return ""
    return (dotted(syntax.annotation.annotation) or "").rpartition(".")[2]
