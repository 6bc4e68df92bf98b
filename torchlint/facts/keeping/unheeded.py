"""Loads that are told no device, although the function that asks for them has a ``map_location``: it goes nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.summaries.effects import returns
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

PARAMETER = "map_location"

LOCATED = frozenset(
    # https://docs.pytorch.org/docs/stable/generated/torch.load.html, https://docs.pytorch.org/docs/stable/hub.html,
    # https://docs.pytorch.org/docs/stable/model_zoo.html
    ["torch.load", "torch.serialization.load", "torch.jit.load", "torch.hub.load_state_dict_from_url",
     "torch.utils.model_zoo.load_url"]
)  # fmt: skip
"""Functions that take ``map_location``, and else put each tensor where it was saved."""


@dataclass(frozen=True)
class Unheeded:
    """A load without the device that its function, or one that calls this, was told.

    Attributes:
        call: the load, or the call of a function of the file that loads for whoever gives it a device.
        asked: the function with the parameter ``map_location``.
        through: the call in ``asked`` by which it loads; None where that is ``call`` itself.
    """

    call: Value
    asked: Function
    through: Value | None = None

    @property
    def can_pass_it(self) -> bool:
        """Whether the parameter is there where the call stands."""
        return self.through is None


def unheeded(facts: Facts) -> list[Unheeded]:
    """Every such load, and every call that leaves out what the function behind it would hand on."""
    return [found for call in facts.calls() if (found := _of(facts, call)) is not None]


def _of(facts: Facts, call: Value) -> Unheeded | None:
    if _is_untold_load(facts, call):
        if _has(call.function):
            return Unheeded(call, call.function) if _leaves_out(facts, call) else None
        return next(_for_callers(facts, call), None)
    if _has(call.function) and any(
        _loads_where_told(facts, function, call) for function in facts.solution.functions_of(call)
    ):
        return Unheeded(call, call.function) if _leaves_out(facts, call) else None
    return None


def _for_callers(facts: Facts, load: Value) -> Iterator[Unheeded]:
    """A function without the parameter that returns what it loads to one that has it."""
    if not returns(load.function, load):
        return
    for call in sorted(facts.solution.callers.get(load.function, ()), key=lambda value: value.index):
        if _has(call.function) and _leaves_out(facts, call):
            yield Unheeded(load, call.function, call)


def _loads_where_told(facts: Facts, function: Function, call: Value) -> bool:
    """Whether a function returns a load, has a ``map_location`` that is None by default, and is not given it."""
    parameter = _parameter(function)
    if parameter is None or not _is_none_by_default(function):
        return False
    binding = facts.solution.callers.get(function, {}).get(call)
    if binding is None or binding.get(parameter) in call.arguments or _is_spread(call):
        return False
    return any(_takes_location(facts, load) and returns(function, load) for load in facts.steps.calls_in(function))


def _is_untold_load(facts: Facts, call: Value) -> bool:
    return _takes_location(facts, call) and not _is_spread(call) and not facts.loads.names_device(call)


def _takes_location(facts: Facts, call: Value) -> bool:
    load = facts.loads.of(call)
    return load is not None and load.name in LOCATED


def _is_spread(call: Value) -> bool:
    return None in call.keys[1:]


def _has(function: Function) -> bool:
    return _parameter(function) is not None


def _parameter(function: Function) -> Value | None:
    return next((one for one in function.parameters if one.name == PARAMETER), None)


def _is_none_by_default(function: Function) -> bool:
    node = function.syntax
    if not isinstance(node, cst.FunctionDef):
        return False
    defaults = {p.name.value: p.default for p in (*node.params.params, *node.params.kwonly_params)}
    default = defaults.get(PARAMETER)
    return isinstance(default, cst.Name) and default.value == "None"


def _leaves_out(facts: Facts, call: Value) -> bool:
    """Whether a function does nothing with its ``map_location`` but hand it to other loads than ``call``.

    What asks for it first, sets it anew or moves with it what was loaded has its reasons.
    """
    function = call.function
    node, parameter = function.syntax, _parameter(function)
    if not isinstance(node, cst.FunctionDef) or parameter is None or function.is_abstract:
        return False
    handed = {id(argument.value) for argument in walk(node.body) if isinstance(argument, cst.Arg)}
    # A keyword is a name of the callee.
    keywords = {id(argument.keyword) for argument in walk(node.body) if isinstance(argument, cst.Arg)}
    names = [n for n in walk(node.body) if isinstance(n, cst.Name) and n.value == PARAMETER and id(n) not in keywords]
    if not all(id(name) in handed for name in names):
        return False
    takers = [user for user in parameter.users if user.op is Op.CALL]
    return len(takers) == len(names) and all(_only_loads(facts, taker, call, parameter) for taker in takers)


def _only_loads(facts: Facts, taker: Value, call: Value, parameter: Value) -> bool:
    """Whether a call takes the device to load something itself, and is not given what ``call`` loaded."""
    if any(call in argument.computed_from() for argument in taker.arguments):
        return False
    keys = [key for key, value in zip(taker.keys, taker.inputs, strict=True) if value is parameter]
    if PARAMETER in keys or _takes_location(facts, taker):
        return True
    return any(map(_has, facts.solution.functions_of(taker)))
