"""TLK202."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.guards.guarding import IdleGuard

_COSTS = ": forwards keep every activation, GPU memory peaks; "
_MESSAGES = {
    "STATEMENT": "`{guard}` as a statement of its own switches nothing{costs}write `with {call}:` {where}",
    "UNCALLED": "`with {guard}:` raises, since the class itself cannot be entered; write `with {call}:`",
    "OVERRIDDEN": "`@{guard}` on `{function}` does not hold for `{victim}` ({line}), which overrides it"
    "{costs}decorate the overriding method",
    "COROUTINE": "`@{guard}` on the async `{function}` ends before its body runs{costs}write"
    " `with {call}:` around the forward, with no `await` or `yield` inside",
    "LAZY": "{work} is made under `{guard}` ({line}) and runs where it is consumed, outside{costs}"
    "consume it inside the guard, or put the guard into what it calls",
    "THREAD": "`{guard}` holds in this thread only, and {work} ({line}) has `{victim}` run in another"
    "{costs}put the guard into `{victim}`",
    "SWITCH": "`{guard}` holds in the thread of `{function}` only (started in {line}), and `{victim}`"
    " runs in another{costs}put a guard into `{victim}`",
    "YIELD": "`{guard}` is held over the `yield` in {line}: the consumer runs in its mode, too; end the"
    " block before the `yield`{decorate}",
    "AWAIT": "`{guard}` is held over the `await` in {line}: whatever runs meanwhile in this thread gets"
    " its mode, and may end it; await outside of the block",
}


class GuardWithoutEffect(Rule):
    """A `no_grad` that guards nothing, or somebody else.

    ## What it does
    Finds `torch.no_grad()`, `inference_mode()`, `enable_grad()` and `set_grad_enabled(False)` where torch
    does not hear them:

    - as a statement of their own, and `with torch.no_grad:` without the call;
    - as decorators of an `async def`, or of a method that is overridden without them;
    - around a generator expression, a `map` or the call of a generator that is consumed after the guard has ended;
    - around work that is handed to another thread, or in a thread that runs no forward;
    - around a `yield` or an `await`: the mode stays with whoever runs meanwhile.

    ## Why is this bad?
    The code says that no graph is recorded, and it is: every activation is kept, two to twenty times the
    memory of a guarded forward. The opposite defect is as silent: a guard that is held over a `yield` or an
    `await` switches gradients off in other code, which then trains nothing, or on under another's guard.

    ## Example
    ```python
    def evaluate(model, loader):
        model.eval()
        torch.no_grad()
        return [model(x).argmax(1) for x in loader]
    ```

    ## Use instead
    ```python
    def evaluate(model, loader):
        model.eval()
        with torch.no_grad():
            return [model(x).argmax(1) for x in loader]
    ```

    ## When it is not a leak
    `torch.set_grad_enabled(False)` as a statement and `@torch.no_grad` without parentheses do work. So does
    the decorator of an ordinary generator: torch switches the mode back at each `yield`. A `contextmanager`
    function or a pytest fixture yields inside a guard on purpose. `ExitStack` and `__enter__` enter a guard
    as `with` does.

    ## Fix safety
    Unsafe: the rest of the block really runs without gradients afterwards, also what was meant to have them.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    - https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    code = "TLK202"
    name = "guard-without-effect"
    level = Level.WARNING
    harms = (Harm.UNUSED, Harm.PEAK)
    symptoms = (Symptom.DIES_AT_VALIDATION,)
    triggers = (
        Trigger(names=frozenset(["no_grad", "inference_mode", "enable_grad", "set_grad_enabled"])),
        Trigger(defines=True, imports=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each guard that does not do what it is written for."""
        for guard in facts.idle_guards:
            why = Step(guard.at, guard.kind.value)
            message, fix = _message(facts, guard), facts.start_guarding(guard)
            yield Finding(guard.node, message, Level.WARNING, Memory.PEAK, evidence=(why,), fix=fix)


def _message(facts: Facts, guard: IdleGuard) -> tuple[str | LineOf, ...]:
    call = guard.written if guard.written.endswith(")") else f"{guard.written}()"
    victim = guard.victims[0] if guard.victims else guard.function
    text = _MESSAGES[guard.kind.name].format(
        guard=guard.written,
        call=call,
        costs=": gradients are not switched on; " if guard.mode.value == "on" else _COSTS,
        function=guard.function.name,
        victim=victim.full_name,
        work=f"`{facts.called(guard.work)}(...)`" if guard.work is not None and guard.calls else "this generator",
        where="over the rest of the block" if guard.followed else "around the forward",
        decorate="" if guard.function.is_async else f", or decorate the generator with `@{call}`",
        line="\0",
    )
    before, found, after = text.partition("\0")
    return (f"{before}line ", LineOf(guard.at), after) if found else (text,)
