"""TLK108."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.diagnostic import Level, Memory
from torchlint.frameworks import Holds, method_names
from torchlint.rule import Finding, Harm, LineOf, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.second_order import GradientCycle


class CreateGraphCycle(Rule):
    """Gradients with a graph stay in `.grad`, where they and their leaf hold each other.

    ## What it does
    Finds `backward(create_graph=True)` in a step that never takes the gradients away again, neither from the
    parameters nor from a tensor that the step itself made to require grad; and in a function that makes a model, a
    copy for instance, and gives it up with such gradients. In a function that is given a model, reads these gradients
    and is called in no step of the file, that is a note.

    ## Why is this bad?
    The graph of a gradient ends in the parameter, and the parameter holds its gradient. Both are objects of C++, so
    Python's collector does not see the cycle: neither dropping every name nor `gc.collect()` frees it. Each step leaves
    one whole graph of a backward on the GPU.

    ## Example
    ```python
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward(create_graph=True)
        norms.append(sum(p.grad.norm().item() for p in model.parameters()))
    ```

    ## Use instead
    ```python
        gradients = torch.autograd.grad(loss, model.parameters(), create_graph=True)
    ```
    or `model.zero_grad()` at the end of each step.

    ## When it is not a leak
    `zero_grad()` runs in each step, or `p.grad = None`, or `p.grad.detach_()`; `torch.autograd.grad`, which puts
    nothing into `.grad`. `p.grad.zero_()` does not help: the graph stays with it. Nor does the optimizer's
    `zero_grad()` for an input that the step made to require grad: it does not know of it.

    ## Fix safety
    There is no automatic fix: when the gradients are no longer wanted is for a person to say.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "TLK108"
    name = "create-graph-cycle"
    level = Level.ERROR
    harms = (Harm.BYTES, Harm.NODES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.NOT_FREED)
    unseen = True
    triggers = (Trigger(calls=frozenset(["backward"]) | method_names(Holds.BACKWARD)), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each backward that leaves a cycle in each step."""
        for cycle in facts.gradient_cycles:
            yield _finding(facts, cycle)


def _finding(facts: Facts, cycle: GradientCycle) -> Finding:
    call, root = cycle.call, cycle.backward.root
    name = facts.name_in(call, root)
    statement = facts.statement_of(call)
    there = "here" if cycle.by is None else f"in {facts.done_by(call, cycle.by)}"
    evidence = [Step(statement, f"the gradients get a graph of their own {there}")]
    holder: tuple[str | LineOf, ...] = (f"the parameters behind `{name}` and the graphs of their gradients hold ",)
    advice = "call `zero_grad()` in each step, or use `torch.autograd.grad`"
    if cycle.leaf is not None:
        made = facts.statement_of(cycle.leaf)
        holder = (
            f"the input of `{name}` that requires grad (line ",
            LineOf(made),
            ") and the graph of its `.grad` hold ",
        )
        advice = "set its `.grad` to None in each step, or use `torch.autograd.grad`"
        evidence.insert(0, Step(made, "this tensor is made in each step and requires grad"))
    cost = "GPU memory grows each step"
    if cycle.is_supposed:
        cost = f"GPU memory grows each time `{cycle.backward.function.name}` is called"
        advice = "call `zero_grad()` at its end, or use `torch.autograd.grad`"
    if cycle.dropped is not None:
        made = facts.statement_of(cycle.dropped)
        holder = ("the parameters of the model of line ", LineOf(made), " and the graphs of their gradients hold ")
        cost = "each call leaves the whole model in memory"
        advice = "call `zero_grad()` on it before it is given up, or use `torch.autograd.grad`"
        evidence.insert(0, Step(made, "this model is made here and given up at the end of the function"))
    if cycle.zeroed is not None:
        evidence.append(Step(facts.statement_of(cycle.zeroed), "`zero_()` does not take the graph away"))
    return Finding(
        node=statement,
        message=(*holder, f"each other, which no collector frees: {cost}; {advice}"),
        level=Level.NOTE if cycle.is_supposed else Level.ERROR,
        memory=Memory.DEVICE_GROWS,
        evidence=tuple(evidence),
    )
