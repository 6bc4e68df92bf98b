"""TLK202."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from torchlint.edits import replace
from torchlint.facts import Facts
from torchlint.facts.graph import Mode
from torchlint.facts.guarding import Idle, IdleGuard, idle_guards, statements_after, suspends
from torchlint.rule import Edit, Finding, Fix, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger
from torchlint.tree import walk

_COSTS = ": forwards keep every activation, GPU memory peaks; "
_MESSAGES = {
    Idle.STATEMENT: "`{guard}` as a statement of its own switches nothing{costs}write `with {call}:` {where}",
    Idle.UNCALLED: "`with {guard}:` raises, since the class itself cannot be entered; write `with {call}:`",
    Idle.OVERRIDDEN: "`@{guard}` on `{function}` does not hold for `{victim}` ({line}), which overrides it"
    "{costs}decorate the overriding method",
    Idle.COROUTINE: "`@{guard}` on the async `{function}` ends before its body runs{costs}write"
    " `with {call}:` around the forward, with no `await` or `yield` inside",
    Idle.LAZY: "{work} is made under `{guard}` ({line}) and runs where it is consumed, outside{costs}"
    "consume it inside the guard, or put the guard into what it calls",
    Idle.THREAD: "`{guard}` holds in this thread only, and {work} ({line}) has `{victim}` run in another"
    "{costs}put the guard into `{victim}`",
    Idle.SWITCH: "`{guard}` holds in the thread of `{function}` only (started in {line}), and `{victim}`"
    " runs in another{costs}put a guard into `{victim}`",
    Idle.YIELD: "`{guard}` is held over the `yield` in {line}: the consumer runs in its mode, too; end the"
    " block before the `yield`{decorate}",
    Idle.AWAIT: "`{guard}` is held over the `await` in {line}: whatever runs meanwhile in this thread gets"
    " its mode, and may end it; await outside of the block",
}


class GuardWithoutEffect(Rule):
    """A `no_grad` that guards nothing, or somebody else.

    ## What it does
    Finds `torch.no_grad()`, `inference_mode()`, `enable_grad()` and `set_grad_enabled(False)` where torch
    does not hear them:

    - as a statement of their own, and `with torch.no_grad:` without the call;
    - as decorators of an `async def`, or of a method that is overridden without them;
    - around a generator expression or a `map` that is consumed after the guard has ended;
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
    harms = (Harm.PEAK,)
    symptoms = (Symptom.DIES_AT_VALIDATION,)
    triggers = (Trigger(names=frozenset(["no_grad", "inference_mode", "enable_grad", "set_grad_enabled"])),)

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each guard that does not do what it is written for."""
        for guard in idle_guards(facts):
            why = Step(guard.at, guard.kind.value)
            message, fix = _message(facts, guard), _fix(facts, guard)
            yield Finding(guard.node, message, Level.WARNING, Memory.PEAK, evidence=(why,), fix=fix)


def _message(facts: Facts, guard: IdleGuard) -> tuple[str | LineOf, ...]:
    call = guard.written if guard.written.endswith(")") else f"{guard.written}()"
    victim = guard.victims[0] if guard.victims else guard.function
    is_call = guard.work is not None and isinstance(guard.work.syntax, cst.Call)
    text = _MESSAGES[guard.kind].format(
        guard=guard.written,
        call=call,
        costs=": gradients are not switched on; " if guard.mode is Mode.ON else _COSTS,
        function=guard.function.name,
        victim=f"{victim.owner.name}.{victim.name}" if victim.owner is not None else victim.name,
        work=f"`{facts.called(guard.work)}(...)`" if guard.work is not None and is_call else "this generator",
        where="over the rest of the block" if statements_after(facts, guard.node) else "around the forward",
        decorate="" if guard.function.is_async else f", or decorate the generator with `@{call}`",
        line="\0",
    )
    before, found, after = text.partition("\0")
    return (f"{before}line ", LineOf(guard.at), after) if found else (text,)


def _fix(facts: Facts, guard: IdleGuard) -> Fix | None:
    """The call that is missing, or a ``with`` over the rest of the block where that runs something."""
    if guard.kind is Idle.UNCALLED:
        return Fix(f"Call `{guard.written}`", (replace(guard.expression, _called),), safe=False)
    if guard.kind is not Idle.STATEMENT or facts.steps.trains(guard.function):
        return None
    rest = [node for statement in statements_after(facts, guard.node) for node in walk(statement)]
    waits = any(isinstance(node, cst.Yield) or suspends(node) for node in rest)
    edit = _with_over_the_rest(facts, guard)
    if edit is None or waits or not any(isinstance(node, cst.Call) for node in rest):
        return None
    return Fix(f"Put the rest of the block under `with {guard.written}:`", (edit,), safe=False)


def _called(node: cst.CSTNode) -> cst.Call:
    assert isinstance(node, cst.BaseExpression)
    return cst.Call(node)


def _with_over_the_rest(facts: Facts, guard: IdleGuard) -> Edit | None:
    """The statement becomes the head of a block of all that follows; comments stay where they are."""
    block, line, entered = facts.parents[guard.node], guard.node, guard.expression
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return None
    if not isinstance(block, cst.IndentedBlock):
        return None  # a whole script, with the functions that it defines, does not belong into a block
    position = [child is line for child in block.body].index(True)

    def build(node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(node, cst.IndentedBlock)
        body = cst.IndentedBlock(list(node.body[position + 1 :]), line.trailing_whitespace, node.indent)
        item = cst.WithItem(entered if isinstance(entered, cst.Call) else _called(entered))
        head = cst.With([item], body, leading_lines=line.leading_lines)
        return node.with_changes(body=[*node.body[:position], head])

    return replace(block, build)
