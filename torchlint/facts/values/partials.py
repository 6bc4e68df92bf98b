"""Arguments and parameters: what a call gives, and what ``functools.partial`` has given before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import (
    Atom,
    ClassReference,
    External,
    FrameworkObject,
    FunctionReference,
    Instance,
    Module,
    Partial,
    Plain,
    Tool,
    sorted_values,
)
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.parameters import spread_as, star_of
from torchlint.facts.values.starred_arguments import passed_by_star, passed_by_stars
from torchlint.facts.values.threads import FOR_EACH_ITEM

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

NESTING = 3
"""So many partials of partials are looked through."""


@dataclass(frozen=True)
class Bound:
    """What a partial calls.

    Attributes:
        atom: the function, the class or the imported object.
        makers: the calls of ``functools.partial`` that give it arguments, the innermost first.
        receiver: the object whose method it is, where the method is named there.
    """

    atom: Atom
    makers: tuple[Value, ...]
    receiver: Value | None

    @property
    def by_name_only(self) -> bool:
        """Whether all arguments are given by name, so that what a call gives stands where it would without them."""
        return all(isinstance(key, str) for made in self.makers for key in made.keys[2:])


def tasks(solution: Solution, partial: Partial, reader: Value | None = None, depth: int = NESTING) -> Iterator[Bound]:
    """What calling a partial calls; ``reader`` is run again when it calls another thing, or with other arguments."""
    made = partial.allocation
    task = made.arguments[0]
    if reader is not None:
        for given in made.arguments:
            solution.watch(given, reader)
    for atom in sorted_values(solution.of(task)):
        if not isinstance(atom, Partial):
            yield Bound(atom, (made,), task.inputs[0] if task.op is Op.ATTRIBUTE else None)
        elif depth > 0:
            for inner in tasks(solution, atom, reader, depth - 1):
                yield Bound(inner.atom, (*inner.makers, made), inner.receiver)


def called(solution: Solution, call: Value) -> Iterator[Bound]:
    """What a CALL calls, of partials what these call."""
    for atom in sorted_values(solution.of(call.callee)):
        if isinstance(atom, Partial):
            yield from tasks(solution, atom)
        else:
            yield Bound(atom, (), None)


def hand_over(solution: Solution, partial: Partial) -> None:
    """Let the objects that a partial is made with reach the parameters: nobody here calls what a module has as hook."""
    for bound in tasks(solution, partial, partial.allocation):
        if isinstance(bound.atom, FunctionReference):
            function = bound.atom.function
            for parameter, given in bind(None, function, bound=bound.atom.bound, makers=bound.makers).items():
                if given is not None:
                    _give_objects(solution, parameter, given)


def hand_to_thread(solution: Solution, call: Value, task: Value, given: Sequence[Value]) -> None:
    """Open what a CALL runs in another thread, and let the objects that it is given there reach its parameters."""
    for atom in sorted_values(solution.of(task)):
        if not isinstance(atom, FunctionReference):
            continue
        atom.function.open()  # it may be of another file, and nobody calls it by itself
        if call.callee.name in FOR_EACH_ITEM:
            continue
        for parameter, one in zip(atom.function.for_arguments(bound=atom.bound), given, strict=False):
            solution.watch(one, call)
            _give_objects(solution, parameter, one)


def _give_objects(solution: Solution, parameter: Value, given: Value) -> None:
    objects = frozenset(atom for atom in solution.of(given) if isinstance(atom, Instance | FunctionReference))
    if objects:
        solution.calls.passed.give(parameter, objects)


def is_told(atom: Atom) -> bool:
    """Whether an alternative is a kind of object, whatever arguments it is made from."""
    return isinstance(atom, Module | Tool | Plain | FrameworkObject | External | ClassReference)


def bind(
    call: Value | None, function: Function, *, bound: bool, makers: Sequence[Value] = ()
) -> dict[Value, Value | None]:
    """Which argument each parameter gets; None for a default or one that cannot be told.

    Args:
        call: what runs the function, a CALL, an OPERATION or the read of a property; None where its arguments are not
            seen.
        function: which runs.
        bound: whether its first parameter is given already.
        makers: the calls of ``functools.partial`` that gave it arguments before, the innermost first.
    """
    if function.is_altered:
        return dict.fromkeys(function.for_arguments(bound=bound))
    offset = 1 if bound else 0
    positional: dict[int, Value] = {}
    named: dict[str, Value] = {}
    given = [list(zip(made.keys[2:], made.arguments[1:], strict=True)) for made in makers]
    if call is not None and call.op is Op.CALL:
        given.append(list(zip(call.keys[1:], call.arguments, strict=True)))
    elif call is not None and call.op is Op.OPERATION:
        given.append([(0, call.inputs[-1])])
    for position, items in enumerate(given):
        shift = offset - 1 if position < len(makers) else offset  # the first argument of a maker is the function
        for key, argument in items:
            if isinstance(key, str):
                named[key] = argument
            elif isinstance(key, int):
                positional[key + shift] = argument
        if position < len(makers):
            offset += sum(isinstance(key, int) for key, _ in items)
    parameters = enumerate(function.parameters)
    by_name = {**passed_by_stars(call), **named} if call is not None and call.op is Op.CALL else named
    binding = {
        parameter: by_name.get(parameter.name, positional.get(position))
        for position, parameter in parameters
        if not (bound and position == 0)
    }
    if call is not None and call.op is Op.CALL and None in call.keys[1:]:
        binding |= passed_by_star(call, function, offset, set(named))
    if function.parameters and star_of(function.parameters[-1]) == "**" and call is not None:
        spread = spread_as(call, "**")
        binding[function.parameters[-1]] = spread[0] if len(spread) == 1 else None
    return binding
