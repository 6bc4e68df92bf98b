"""TLK407."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger
from torchlint.torch_api.hook_names import OF_OBJECTS, OF_TENSORS

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.hooks.circles import Circle


class ReferenceCycle(Rule):
    """A function, or a part of an object, holds what holds it, and tensors hang on it.

    ## What it does
    Finds hooks on a computed tensor, or on its `grad_fn`, that hold this tensor or what is computed from it, by their
    closure or through `self`; functions, bound methods and partials that hold `self` and are kept on `self`, on its
    modules or on the network that was made for it, where an instance is made in every step, or, a note, in every trial,
    or by the operators of the class itself, `a + b`; local functions that call themselves and hold tensors; and parts
    of such an object that hold the object which keeps them, `self.turns.append(Turn(self))`, if either has tensors.

    ## Why is this bad?
    A hook on a computed tensor is kept by the graph, inside of C++, where no collector looks: when it reaches back to
    the tensor, both stay for ever, with every activation. The other circles are freed by Python's cyclic collector,
    whenever it comes by; it counts objects and knows nothing of GPU memory, so many steps can pile up before.

    ## Example
    ```python
    def penalized(hidden):
        hidden.register_hook(lambda grad: grad + 0.1 * hidden.sign())
        return hidden.square().mean()
    ```

    ## Use instead
    ```python
    def penalized(hidden):
        sign = hidden.detach().sign()
        hidden.register_hook(lambda grad: grad + 0.1 * sign)
        return hidden.square().mean()
    ```

    ## When it is not a leak
    The one instance lives as long as the program; the function holds a `weakref`, a detached tensor or only what the
    hooked tensor was computed from; the handle is removed, the attribute is set to None; a loop binds the captured
    variable anew; the function is static or gets what it needs as an argument.

    ## Fix safety
    There is no automatic fix: what the function needs is for a person to say.

    ## References
    - https://docs.python.org/3/library/gc.html
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#backward-hooks-execution
    """

    code = "TLK407"
    name = "reference-cycle"
    level = Level.ERROR
    harms = (Harm.BYTES, Harm.CYCLE)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.NOT_FREED)
    triggers = (Trigger(defines=True), Trigger(calls=OF_OBJECTS | OF_TENSORS))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement that closes a circle."""
        for circle in facts.circles:
            yield _finding(facts, circle)


def _finding(facts: Facts, circle: Circle) -> Finding:
    place = circle.by
    if place is not None:
        often = facts.each_turn(place)
    else:
        often = (f"each `{circle.owner.name}`" if circle.owner is not None else "each call",)
    level = Level.ERROR if circle.is_forever and place is not None else Level.WARNING
    level = Level.NOTE if circle.is_seldom else level
    repeats = Step(circle.node if place is None else place.syntax, "this is what makes one after the other")
    return Finding(
        node=circle.node,
        message=(*_who(circle), *often, *_cost(circle)),
        level=level,
        memory=Memory.DEVICE_GROWS if circle.is_forever else Memory.PEAK,
        evidence=(Step(circle.node, "this closes the circle"), repeats),
    )


_WAYS_OUT = {
    "GRAPH": "give it a detached tensor or a `weakref`, or `remove()` its handle",
    "OBJECT": "let it hold a `weakref`, or nothing and take the instance as an argument",
    "FUNCTION": "give it what it needs as arguments, or move it out",
    "PARTNER": "let the part hold a `weakref`, or give it the object when it needs it",
}
"""By what the circle goes through: its name, since facts are not imported before a file needs them."""


def _who(circle: Circle) -> tuple[str, ...]:
    part = f"a `{circle.held}`" if circle.held else "a part"
    who = {
        "GRAPH": f"the hook on `{circle.holder}` holds `{circle.held}`, which leads back to it: ",
        "OBJECT": f"`{circle.holder}` keeps a function that holds `{circle.held}`, which keeps `{circle.holder}`: ",
        "FUNCTION": f"`{circle.holder}` calls itself by its own closure, which also holds `{circle.held}`: ",
        "PARTNER": f"`{circle.holder}` keeps {part} that holds the object itself: ",
    }
    return (who[circle.through.name],)


def _cost(circle: Circle) -> tuple[str, ...]:
    way_out = _WAYS_OUT[circle.through.name]
    if circle.is_forever:
        return (" leaves GPU memory that nothing frees, no collector sees the circle; ", way_out)
    return (" leaves GPU memory that only Python's cyclic collector frees, at some later step; ", way_out)
