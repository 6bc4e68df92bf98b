"""TLK106."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.diagnostic import Level, Memory
from torchlint.rule import Finding, Harm, LineOf, Rule, Step, Symptom
from torchlint.screen import Trigger
from torchlint.torch_api.hook_names import OF_FORWARDS

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.hooks.forgotten import Forgotten
    from torchlint.facts.hooks.forward_hooks import Hook
    from torchlint.facts.hooks.hook_store import HookStore
    from torchlint.facts.hooks.hooks_elsewhere import HookElsewhere
    from torchlint.facts.hooks.untaken import Untaken


class HookKeepsOutput(Rule):
    """A forward hook keeps a layer's input or output with its graph.

    ## What it does
    Finds forward hooks (functions, lambdas, methods, closures, partials, callable objects) that put the input or
    output of their module into a list, a dict or an attribute which outlives the forward, or add it to a running sum.
    Also methods that empty one of the lists which the hooks of an object fill and leave out another, and lists that
    only hooks of the backward empty, where forwards without gradients fill them: both grow, be it by detached tensors.

    ## Why is this bad?
    The output of a layer holds the graph of all that came before it. Each forward adds one more: the tensor itself is
    wanted, its graph is not. Without a backward all activations before the layer stay on the GPU, after a backward
    the nodes of the graph stay in host memory.

    ## Example
    ```python
    def keep(module, inputs, output):
        features.append(output)

    model.layer4.register_forward_hook(keep)
    for x, y in loader:
        criterion(model(x), y).backward()
    ```

    ## Use instead
    ```python
    def keep(module, inputs, output):
        features.append(output.detach())
    ```

    ## When it is not a leak
    A loss is computed from what is kept (perceptual loss, distillation), or a gradient is taken with respect to it
    (Grad-CAM); the forwards run under `torch.no_grad()`; the list is made or cleared for each step; the hook is
    removed before the loop. What the next forward overwrites (`features["layer4"] = output`) is only a note, be no
    forward seen where backward hooks alone read it. Backward hooks are given gradients, which have no graph. A list
    that only the backward empties is a note where no forward without gradients is seen.

    ## Fix safety
    Safe where the output is known to be a tensor; unsafe where the module may return a tuple, as an LSTM does.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
    """

    code = "TLK106"
    name = "hook-keeps-output"
    level = Level.ERROR
    harms = (Harm.NODES, Harm.BYTES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.HOST_GROWS, Symptom.NOT_FREED)
    triggers = (Trigger(calls=frozenset(OF_FORWARDS)),)

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement of a hook that keeps a graph."""
        kept = {one.store.statement: _finding(facts, one) for one in facts.hook_stores}
        untaken = {one.pile.store.statement: _untaken(facts, one) for one in reversed(facts.untaken)}
        forgotten = {one.pile.store.statement: _forgotten(facts, one) for one in reversed(facts.forgotten_lists)}
        told = {*facts.accumulating, *facts.inserting}
        for statement, finding in {**kept, **untaken, **forgotten}.items():
            if statement not in told:
                yield finding
        yield from (_elsewhere(facts, hook) for hook in facts.hooks_elsewhere)


def _finding(facts: Facts, kept: HookStore) -> Finding:
    use = kept.parts[0]
    name = facts.name_of(use)
    level, memory, cost = _cost(kept)
    fix = facts.detach("Detach what the hook keeps", kept.parts) if kept.surely_tensor is not None else None
    advice = f"`{facts.detached(use)}`" if kept.surely_tensor is not None else "its tensors detached"
    return Finding(
        node=kept.store.statement,
        message=(
            f"`{kept.name}` keeps the graph of {'every' if kept.grows else 'the last'} `{name}` that the hook of line ",
            LineOf(kept.hook.registration.statement or kept.hook.registration.syntax or kept.store.statement),
            f" is given{cost}; keep {advice}",
        ),
        level=level,
        memory=memory,
        evidence=(
            _becomes_a_hook(facts, kept.hook, f"`{kept.hook.function.name}`"),
            *_run(facts, kept),
            Step(kept.store.statement, f"`{kept.name}` keeps it here"),
        ),
        fix=replace(fix, safe=bool(kept.surely_tensor)) if fix is not None else None,
        explained_by=_explained(facts, kept),
    )


def _forgotten(facts: Facts, forgotten: Forgotten) -> Finding:
    pile, hook, emptied = forgotten.pile, forgotten.pile.hook, forgotten.emptied
    return Finding(
        node=forgotten.statement,
        message=(
            f"`{forgotten.method.name}` empties `{emptied}` and leaves out `{pile.name}`, which the hook of line ",
            LineOf(facts.statement_of(hook.registration)),
            " fills: memory grows with each forward, be it detached; empty both",
        ),
        level=Level.WARNING,
        memory=Memory.DEVICE_GROWS,
        evidence=(
            _becomes_a_hook(facts, hook, f"`{hook.function.name}`"),
            Step(pile.store.statement, f"`{pile.name}` is filled here"),
            Step(forgotten.statement, f"`{emptied}` alone is emptied here"),
        ),
    )


def _untaken(facts: Facts, left: Untaken) -> Finding:
    hook, store, name = left.pile.hook, left.pile.store, left.pile.name
    passing = ", which this lets pass while the module trains," if left.guard is not None else ""
    run = [Step(facts.statement_of(left.forward), "this forward runs it without gradients")] if left.forward else []
    return Finding(
        node=left.guard or store.statement,
        message=(
            f"`{name}` is emptied in the backward alone, by `{left.taker.name}`: what a forward without gradients"
            f"{passing} puts there stays, and memory grows with each; put nothing there unless"
            " `torch.is_grad_enabled()`",
        ),
        level=Level.WARNING if left.forward is not None else Level.NOTE,
        memory=Memory.DEVICE_GROWS,
        evidence=(
            _becomes_a_hook(facts, hook, f"`{hook.function.name}`"),
            *run,
            Step(store.statement, f"`{name}` is filled here"),
        ),
    )


def _elsewhere(facts: Facts, kept: HookElsewhere) -> Finding:
    hook, tensor = kept.hook, kept.tensor.name
    level, memory, cost = _cost(kept)
    return Finding(
        node=facts.statement_of(hook.registration),
        message=(
            f"`{hook.function.full_name}` of {kept.file} keeps the graph of every `{tensor}` that it is given as a"
            f" hook{cost}; let it detach what it keeps",
        ),
        level=level,
        memory=memory,
        evidence=(_becomes_a_hook(facts, hook, "it"), *_run(facts, kept)),
        explained_by=_explained(facts, kept),
    )


def _cost(kept: HookStore | HookElsewhere) -> tuple[Level, Memory, str]:
    if not kept.grows:
        return Level.NOTE, Memory.PEAK, ", until the next forward overwrites it"
    if kept.forward is None:
        cost = ": with gradients on memory grows with each forward by all activations before it"
        return Level.WARNING, Memory.DEVICE_GROWS, cost
    if kept.spent:
        return Level.WARNING, Memory.HOST_GROWS, ", whose backward runs: host memory grows with each forward"
    cost = ", no backward frees it: GPU memory grows with each forward by all activations before it"
    return Level.ERROR, Memory.DEVICE_GROWS, cost


def _becomes_a_hook(facts: Facts, hook: Hook, name: str) -> Step:
    return Step(facts.statement_of(hook.registration), f"{name} becomes a hook here")


def _run(facts: Facts, kept: HookStore | HookElsewhere) -> Iterator[Step]:
    if kept.seen_at is not None:
        runs = "this forward runs it" if kept.seen_at is kept.forward else "this call runs it in another file"
        yield Step(facts.statement_of(kept.seen_at), f"{runs} with gradients on")


def _explained(facts: Facts, kept: HookStore | HookElsewhere) -> str | None:
    """Inference that is told by itself is why no backward comes."""
    return "TLK201" if kept.forward and facts.inferences.is_inference(kept.forward) else None
