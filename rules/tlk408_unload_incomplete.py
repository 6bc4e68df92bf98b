"""TLK408."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.unloaded import Holder, Unloading


class UnloadIncomplete(Rule):
    """A model is deleted while something else still holds it, so that nothing is freed.

    ## What it does
    Finds `del model` and `model = None` where the optimizer, its group of parameters, the scheduler, a list, a wrapper,
    another name, a function that was made with it or a loss with its graph still holds the model, and functions that
    delete their parameter, or each of many in a loop, and empty the cache although the caller still has it; loops over
    `model.parameters()` that only delete their variable; and layers that a loop moves to the device one after the other
    and deletes by their local name only, while the model has them.

    ## Why is this bad?
    `del` removes a name, not an object. An optimizer holds the parameters that it was given, their gradients and its
    own state; a loss holds the parameters through its graph, even after `backward()`. `torch.cuda.empty_cache()`
    can give back only what nobody holds: the next model is loaded beside the old one.

    ## Example
    ```python
    del model
    torch.cuda.empty_cache()
    model = build(larger)
    ```

    ## Use instead
    ```python
    del model, optimizer, loss
    torch.cuda.empty_cache()
    model = build(larger)
    ```

    ## When it is not a leak
    Every reference is dropped as well, in whatever order; the function ends there, and its variables with it; the
    other name is used afterwards, so that the model is wanted; the model is moved to the host first
    (`model.to("cpu")`).

    ## Fix safety
    There is no automatic fix: what else is to be dropped, and whether its state is still needed, is for a person to
    say.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-gpu-memory-isn-t-freed-properly
    """

    code = "TLK408"
    name = "unload-incomplete"
    level = Level.WARNING
    harms = (Harm.PEAK, Harm.BYTES)
    symptoms = (Symptom.NOT_FREED,)
    triggers = (
        Trigger(constructs=True),
        Trigger(names=frozenset(["parameters", "collect", "empty_cache", "partial"])),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement that gives up a model in vain."""
        for unloading in facts.unloadings:
            if unloading.is_parameter:
                yield _of_parameter(facts, unloading)
            elif unloading.holders[0].how == "lists":
                yield _of_listed(unloading)
            elif unloading.holders[0].how == "part":
                yield _of_part(facts, unloading)
            else:
                yield _finding(facts, unloading)


def _finding(facts: Facts, unloading: Unloading) -> Finding:
    drop = unloading.drop
    first = unloading.holders[0]
    more = [holder.name for holder in unloading.holders[1:]]
    verb = "hold" if len(more) > 1 else "holds"
    also = f", and {_listed(more)} {verb} it too" if more else ""
    if more and first.how == "listed":
        also = f", and so {'are' if len(more) > 1 else 'is'} {_listed(more)}"
    made: tuple[str | LineOf, ...] = (f"({first.file}", ")")
    if not first.file:
        made = ("(line ", LineOf(facts.statement_of(first.made)), ")")
    return Finding(
        node=drop.statement,
        message=(
            f"giving up `{drop.path}` frees nothing: `{first.name}` ",
            *made,
            f" {_HOLDS[first.how]}{also}; the whole model stays in memory; {_advice(unloading.holders)}",
        ),
        level=Level.WARNING,
        memory=Memory.PEAK,
        evidence=(
            *(Step(facts.statement_of(h.made), f"`{h.name}` {_HOLDS[h.how]}") for h in unloading.holders if not h.file),
            Step(drop.statement, f"`{drop.path}` is given up here"),
        ),
    )


def _of_part(facts: Facts, unloading: Unloading) -> Finding:
    drop, model = unloading.drop, unloading.holders[0].name
    return Finding(
        node=drop.statement,
        message=(
            f"`del {drop.path}` frees nothing: `{drop.path}` is a part of `{model}`, which has it still, where it was"
            f" moved to; with each turn one more part stays on the device; move it back to the host first",
        ),
        level=Level.WARNING,
        memory=Memory.PEAK,
        evidence=(Step(drop.statement, f"`{drop.path}` is given up here"),),
    )


def _of_listed(unloading: Unloading) -> Finding:
    drop, module = unloading.drop, unloading.holders[0].name
    return Finding(
        node=drop.statement,
        message=(
            f"`del {drop.path}` deletes the variable of the loop and frees nothing: `{module}` has each of its"
            f" parameters still; give up `{module}` itself, before the cache is emptied",
        ),
        level=Level.WARNING,
        memory=Memory.PEAK,
        evidence=(Step(drop.statement, f"`{drop.path}` is deleted here"),),
    )


def _of_parameter(facts: Facts, unloading: Unloading) -> Finding:
    drop, at = unloading.drop, unloading.at
    deleted = "a parameter of" if drop.loop is None else "the variable of a loop in"
    message: tuple[str | LineOf, ...] = (
        f"`del {drop.path}` deletes {deleted} `{drop.function.name}` and frees nothing: who calls it still has"
        " the object; delete it there, before the cache is emptied",
    )
    evidence: tuple[Step, ...] = (Step(drop.statement, "deleted here"),)
    if at is not None:
        name, line = unloading.holders[0].name, facts.statement_of(at)
        message = (
            f"`del {drop.path}` deletes {deleted} `{drop.function.name}` and frees nothing: the caller's"
            f" `{name}` (line ",
            LineOf(line),
            f") still holds the model; write `del {name}` there, before the cache is emptied",
        )
        evidence = (Step(line, f"`{name}` is passed from here and kept"), *evidence)
    return Finding(drop.statement, message, Level.WARNING, Memory.PEAK, evidence)


_HOLDS = {
    "itself": "is the same model",
    "listed": "is one of its models",
    "parameters": "holds its parameters and gradients",
    "group": "is the group of its optimizer, and holds its parameters and gradients",
    "wrapper": "was made with it and holds it",
    "container": "holds it",
    "function": "was made with it and holds it",
    "graph": "holds its parameters through its graph",
}


def _advice(holders: tuple[Holder, ...]) -> str:
    containers = [holder.name for holder in holders if holder.how == "container"]
    if len(containers) == len(holders):
        return f"take it out of {_listed(containers)} too, or keep only what is needed of it"
    return f"give up {_listed([holder.name for holder in holders])} too, before the cache is emptied"


def _listed(names: list[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
