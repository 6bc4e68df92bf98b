"""Events of a program's own: a base class leaves methods empty, and calls them for whoever wants to be told.

``class Hook: def before_run(self, runner): ...; def after_iter(self, runner): ...``. How often one is called its name
says; that it is called at all, and not by the class itself, the empty methods beside it.
"""

from __future__ import annotations

import re

import libcst as cst

from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.overriding import is_left_open
from torchlint.frameworks import Holds, method_names
from torchlint.syntax.tree import walk

_OF_STEP = re.compile(r"^(on|before|after)_(\w+_)?(step|iter|iteration|batch)(_(start|begin|end))?$")
"""Names by which programs tell of each step: ``on_step_start``, ``after_iter``, ``before_train_batch``."""


_OF_ANY = re.compile(r"^(on|before|after)_\w*(step|iter|iteration|batch|epoch|round)\w*$")
"""Names by which they tell of what comes again, be it an epoch."""

_NUMBER = re.compile(r"^(\w+_)?(epoch|step|iter|iteration|batch|round)(_(idx|index|no|num))?$")
"""Names under which a method is told which one it is."""


_OF_RUN = re.compile(r"^(on|before|after)_(fit|train|training|run|init|setup)(_(start|begin|end|finish))?$")
"""Names by which they tell of the beginning and the end of all."""


def is_told_once(function: Function) -> bool:
    """Whether a method has a name by which programs, or frameworks, tell of what comes once: ``on_fit_start``."""
    return _OF_RUN.match(function.name) is not None or function.name in method_names(Holds.ONCE)


def is_event_of_step(function: Function) -> bool:
    """Whether a method is an event of each step that a base class of the file leaves empty."""
    return _OF_STEP.match(function.name) is not None and _is_left_empty(function)


def counts_events(value: Value) -> bool:
    """Whether a value is the parameter by which such a method is told the number of the epoch or of the step."""
    function = value.function
    is_number = value.op is Op.PARAMETER and value in function.parameters and _NUMBER.match(value.name) is not None
    return is_number and _OF_ANY.match(function.name) is not None and _is_left_empty(function)


def _is_left_empty(method: Function) -> bool:
    """Whether a base class of the file, or of one it imports, has an empty method of this name among others."""
    bases = method.owner.lineage()[1:] if method.owner is not None else []
    return any(_is_empty(base.methods.get(method.name)) and _has_events(base) for base in bases)


def _has_events(base: Class) -> bool:
    return sum(map(_is_empty, base.methods.values())) > 1


def _is_empty(method: Function | None) -> bool:
    """``def after_epoch(self, runner): pass``; a method that raises is one that somebody has to define."""
    if method is None or method.is_foreign or method.is_abstract or not isinstance(method.syntax, cst.FunctionDef):
        return False
    return is_left_open(method) and not any(isinstance(node, cst.Raise) for node in walk(method.syntax.body))
