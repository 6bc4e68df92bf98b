"""Methods that are called by a name which the program computes: ``getattr(callback, event)(self)``.

Who calls them is whoever says the name: of ``self.notify("batch_end")`` in one loop and ``self.notify("epoch_end")``
behind it each runs the methods of its own event, and these run as often as it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Mode, Op, Value
from torchlint.facts.values.parameters import spread_as, star_of
from torchlint.facts.values.spelling import spelled

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution


@dataclass(frozen=True)
class Named:
    """A method that a call runs by its name.

    Attributes:
        receiver: the object whose method it is.
        name: the method's.
        caller: the call that says the name.
    """

    receiver: Value
    name: str
    caller: Value


def named_methods(solution: Solution, call: Value) -> Iterator[Named]:
    """What a CALL of ``getattr(object, name)`` runs.

    It is run again when its object is known better, or its function gets other callers.
    """
    made = call.callee.unnarrowed()
    if made.op is not Op.CALL or made.callee.name != "builtins.getattr" or len(made.arguments) < 2:
        return
    if call.mode is not Mode.INHERITED:
        return  # whoever says the name does not say that gradients are off where it is used
    receiver, name = made.arguments[:2]
    solution.watch(receiver, call)
    for caller, text in spelled(solution, name, call):
        yield Named(receiver, text, caller)


def callers_through(solution: Solution, call: Value) -> list[Value]:
    """The calls of the function around a CALL that hands on whatever they give: ``callback.on_end(*args)``.

    It is run again when there are others.
    """
    if is_handing_over(solution, call):
        solution.watch(call.function, call)
        return list(solution.callers.get(call.function, ()))
    if None not in call.keys[1:] or call.mode is not Mode.INHERITED:
        return []  # the most
    spread = [one for star in ("*", "**") for one in spread_as(call, star)]
    if not spread:
        return []
    if not all(one.op is Op.PARAMETER and star_of(one) and one.function is call.function for one in spread):
        return []
    solution.watch(call.function, call)
    return list(solution.callers.get(call.function, ()))


def is_handing_over(solution: Solution, call: Value) -> bool:
    """Whether a CALL stands in another file, and hands on to the objects of a list what its function is given."""
    return call in solution.graph.foreign.handing_over


def handed_through(solution: Solution, caller: Value, call: Value) -> dict[str | int, Value]:
    """What ``caller`` gives that its function hands on as it is in ``call``: ``handler(self, *args, **payload)``.

    By the names, and by the positions (from 0) that they have in ``call``, which is run again when they are known
    better.
    """
    handed: dict[str | int, Value] = {}
    binding = solution.callers.get(call.function, {}).get(caller, {})
    for key, argument in zip(call.keys[1:], call.arguments, strict=True) if is_handing_over(solution, call) else ():
        passed = binding.get(argument)
        if key is not None and passed is not None:
            handed[key] = passed
    for star in ("*", "**"):
        spread = spread_as(call, star)
        if len(spread) != 1 or spread[0].op is not Op.PARAMETER or star_of(spread[0]) != star:
            continue
        if star == "**":
            given = zip(caller.keys[1:], caller.arguments, strict=True)
            handed.update({key: argument for key, argument in given if isinstance(key, str)})
        elif caller in solution.callers.get(spread[0].function, {}):
            first = sum(isinstance(key, int) for key in call.keys[1:])
            handed.update(enumerate(solution.given_by(caller, spread[0]), first))
    for argument in handed.values():
        solution.watch(argument, call)
    return handed
