"""Events of a program's own: a base class leaves methods empty, and calls them for whoever wants to be told.

``class Hook: def before_run(self, runner): ...; def after_iter(self, runner): ...``. How often one is called its name
says; that it is called at all, and not by the class itself, the empty methods beside it.
"""

from __future__ import annotations

import re

import libcst as cst

from torchlint.facts.values.graph import Class, Function
from torchlint.facts.values.overriding import is_left_open
from torchlint.tree import walk

_OF_STEP = re.compile(r"^(on|before|after)_(\w+_)?(step|iter|iteration|batch)(_(start|begin|end))?$")
"""Names by which programs tell of each step: ``on_step_start``, ``after_iter``, ``before_train_batch``."""


def is_event_of_step(function: Function) -> bool:
    """Whether a method is an event of each step that a base class of the file leaves empty."""
    if function.owner is None or _OF_STEP.match(function.name) is None:
        return False
    bases = function.owner.lineage()[1:]
    return any(_is_empty(base.methods.get(function.name)) and _has_events(base) for base in bases)


def _has_events(base: Class) -> bool:
    return sum(map(_is_empty, base.methods.values())) > 1


def _is_empty(method: Function | None) -> bool:
    """``def after_epoch(self, runner): pass``; a method that raises is one that somebody has to define."""
    if method is None or method.is_foreign or method.is_abstract or not isinstance(method.syntax, cst.FunctionDef):
        return False
    return is_left_open(method) and not any(isinstance(node, cst.Raise) for node in walk(method.syntax.body))
