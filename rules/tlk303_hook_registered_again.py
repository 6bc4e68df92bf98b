"""TLK303."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger
from torchlint.torch_api.hook_names import OF_ALL, OF_OBJECTS, OF_TENSORS

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.hooks.hook_lifetimes import PiledHook
    from torchlint.facts.hooks.left_hooks import LeftHook


class HookRegisteredAgain(Rule):
    """A hook is registered in every step and never removed.

    ## What it does
    Finds `register_forward_hook` and its like on modules, parameters and optimizers that run in every turn of a
    loop, in `forward`, in a framework's step method or in a request handler, also in a helper that one of these
    calls or in the `__init__` of an object that one of these makes, and whose handle is not removed in the same turn;
    every n-th turn of it, or those for some of the items, are as much without end. A helper of another file is told
    where it is called.

    ## Why is this bad?
    A hook stays until `remove()` of its handle is called; to drop the handle removes nothing. With each step one hook
    more hangs on the module, together with all that its closure holds, and every forward runs all of them: host
    memory grows and steps get slower without end.

    ## Example
    ```python
    for x, y in loader:
        model.encoder.register_forward_hook(keep_features)
        out = model(x)
    ```

    ## Use instead
    ```python
    for x, y in loader:
        with model.encoder.register_forward_hook(keep_features):
            out = model(x)
    ```

    ## When it is not a leak
    The handle is removed in the same turn (`with`, `remove()`, also in a helper or by the hook itself); it is
    registered once, in `__init__`, before the loop or under a condition that holds once; the module is new in each
    turn; the tensor is an activation, which goes with its step and takes its hooks along. A function that hooks a
    module which it is handed, or that its object holds, runs it and leaves the hook there is a note where nobody is
    seen to call it twice; so is an object that hooks the model it is made for, is no module itself and has nothing to
    take its hooks off again, or with a method that takes off some of its hooks and leaves one of which nobody has the
    handle.

    ## Fix safety
    There is no automatic fix: whether to remove the hook or to register it once is for a person to say.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
    - https://docs.pytorch.org/docs/stable/notes/modules.html#module-hooks
    """

    code = "TLK303"
    name = "hook-registered-again"
    level = Level.WARNING
    harms = (Harm.HOST, Harm.CHURN)
    symptoms = (Symptom.HOST_GROWS, Symptom.SLOW)
    triggers = (Trigger(calls=OF_OBJECTS | OF_TENSORS | OF_ALL), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement that registers one hook after the other."""
        told = set()
        for piled in facts.piled_hooks:
            told.add(facts.statement_of(piled.registration.call))
            yield _finding(facts, piled)
        for left in facts.left_hooks:
            if facts.statement_of(left.registration.call) not in told:
                yield _left_out(facts, left)


def _finding(facts: Facts, piled: PiledHook) -> Finding:
    registration, place = piled.registration, piled.by
    statement = facts.statement_of(registration.call)
    if piled.of_object:
        return _left(facts, piled)
    which = "every n-th" if piled.is_now_and_then else "each"
    taker = facts.hook_lifetimes.handles.forgotten_taker(registration.call)
    what = "its handle is kept, but never removed in time" if piled.kept else "its handle is dropped"
    what = f"`{taker.name}` would remove it, which nobody calls" if taker is not None else what
    return Finding(
        node=statement,
        message=(
            f"{facts.done_by(registration.call, registration.by)} in ",
            *facts.each_turn(place, "many a" if piled.is_for_some else which),
            f" leaves one hook more on {piled.subject} ({what}): host memory grows, and every run is "
            "slower than the last; register it once, or `with` the handle around what needs it",
        ),
        level=Level.NOTE if piled.is_supposed else Level.WARNING,
        memory=Memory.HOST_GROWS,
        evidence=(
            Step(statement, "the hook is registered here"),
            Step(place.syntax, "this is what repeats it"),
        ),
    )


def _left(facts: Facts, piled: PiledHook) -> Finding:
    statement = facts.statement_of(piled.registration.call)
    return Finding(
        node=statement,
        message=(
            f"each `{piled.registrar}` leaves a hook on {piled.subject}, which it was given, and drops the handle:"
            " nothing takes it off again, and the next one made for the same model adds its own; keep the handles and"
            " `remove()` them",
        ),
        level=Level.NOTE,
        memory=Memory.HOST_GROWS,
        evidence=(Step(statement, "the hook is registered here"),),
    )


def _left_out(facts: Facts, left: LeftHook) -> Finding:
    statement, other = facts.statement_of(left.registration.call), facts.statement_of(left.removed.call)
    return Finding(
        node=statement,
        message=(
            f"`{left.method.name}` takes off the hook of line ", LineOf(other), " and leaves this one, whose handle"
            " nobody removes: it stays on the module, runs with it and holds what it holds; keep the handle and"
            " `remove()` it there as well",
        ),
        level=Level.NOTE,
        memory=Memory.HOST_GROWS,
        evidence=(
            Step(statement, "the hook is registered here"),
            Step(left.method.syntax, "this takes off others of the same object"),
        ),
    )  # fmt: skip
