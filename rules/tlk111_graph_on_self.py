"""TLK111."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Fix, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.leftovers import Leftover
    from torchlint.facts.autograd.resting_memos import RestingMemo
    from torchlint.facts.autograd.retention import Retention


class GraphOnSelf(Rule):
    """A tensor with its graph is left on an object or in a global variable after the step.

    ## What it does
    Finds attributes and global variables that are assigned a tensor with a graph in `forward`, in a step or in a
    helper, or a list that is begun and filled there, where nothing trains through what is left and nothing clears it
    before the next step.

    ## Why is this bad?
    The graph stays until the next step overwrites the attribute, that is, beside the graph of that next step: two of
    them are in memory at the peak, one for each object that keeps one. A value that is computed once and cached
    with its graph keeps it to the end: one that a layer makes where it does not train is a note, since whoever
    evaluates it decides on gradients. Where a backward has run over the graph, only its nodes stay, a few kilobytes
    of host memory: a note. So it is for what a layer leaves on itself beside a training that is handed its network, on
    a private attribute of which its own methods only read numbers, or on one of which others only read numbers.

    ## Example
    ```python
    def forward(self, x):
        h = self.body(x)
        self.spread = self.committee(h).std(0)
        return self.head(h)
    ```

    ## Use instead
    ```python
        self.spread = self.committee(h).std(0).detach()
    ```

    ## When it is not a leak
    A later loss or backward reads the attribute; it is deleted or set to something without a graph in the same step;
    it is assigned under `no_grad` or detached. What a layer leaves on itself for other files is judged only where one
    of them trains it and none uses an attribute of that name.

    ## Fix safety
    Safe where the value is a tensor with a graph on every path and no code outside the file is given it; a note has
    no automatic fix.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TLK111"
    name = "graph-on-self"
    level = Level.WARNING
    harms = (Harm.PEAK,)
    symptoms = (Symptom.DIES_AT_VALIDATION, Symptom.NOT_FREED)
    triggers = (Trigger(defines=True), Trigger(constructs=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each tensor that is left with a graph nobody needs."""
        told = {accumulation.held for accumulation in facts.accumulations}
        carried = {state.statement for state in facts.carried_states}  # each graph hangs on the one before it
        recorded = {record.statement for record in facts.records}  # a tensor keeps all that was written into it
        left = {leftover.statement for leftover in facts.leftovers}
        for leftover in facts.leftovers:
            behind = facts.flows.ancestry.of_all([part.value for part in leftover.parts])
            if leftover.statement not in carried | recorded and told.isdisjoint(behind):
                yield self._finding(facts, leftover)
        for memo in facts.resting_memos:
            if memo.statement not in left:
                yield _remembered(facts, memo)

    def _finding(self, facts: Facts, leftover: Leftover) -> Finding:
        retention = facts.cost_of(leftover.parts[0])
        kept = leftover.parts[0]
        return Finding(
            node=leftover.statement,
            message=(
                f"`{leftover.name}` keeps the graph of `{facts.name_of(kept)}`",
                *_cost(leftover, retention),
                f"; keep `{facts.detached(kept)}`",
            ),
            level=Level.NOTE if leftover.spent or leftover.is_looked_at else Level.WARNING,
            memory=Memory.PEAK,
            evidence=(*retention.evidence(), Step(leftover.statement, f"`{leftover.name}` keeps it here")),
            fix=_fix(facts, leftover),
            explained_by="TLK201" if retention.inferred else None,
        )


def _remembered(facts: Facts, memo: RestingMemo) -> Finding:
    kept, has_one = facts.name_of(memo.part), ", if it has one," if memo.is_supposed else ""
    return Finding(
        node=memo.statement,
        message=(
            f"`{memo.name}` keeps the graph{has_one} of `{kept}`, which is made once where the module does not train:"
            " evaluated with gradients on, its activations are in GPU memory as long as it is, and no second backward"
            f" can run over them; keep `{facts.detached(memo.part)}`",
        ),
        level=Level.NOTE,
        memory=Memory.PEAK,
        evidence=(Step(memo.statement, f"`{memo.name}` keeps it here"),),
    )


def _cost(leftover: Leftover, retention: Retention) -> tuple[str | LineOf, ...]:
    if leftover.is_looked_at:
        return (", which nothing reads with it: the nodes of one step stay in host memory, and where no backward frees"
                " it its activations in GPU memory",)  # fmt: skip
    if not leftover.spent:
        return (" until it is set again, and no backward frees it: its activations are in GPU memory beside those of"
                " the next step",)  # fmt: skip
    if retention.backward is None:
        return (", whose backward has run: the nodes of one step stay in host memory",)
    return (", whose backward has run (line ", LineOf(retention.backward.statement), "): the nodes of one step stay in"
            " host memory")  # fmt: skip


def _fix(facts: Facts, leftover: Leftover) -> Fix | None:
    if leftover.spent or leftover.is_looked_at:
        return None  # a note: not worth a change of the program
    fix = facts.detach("Detach what is left behind", leftover.parts)
    return fix if fix is None or leftover.certain else Fix(fix.title, fix.edits, safe=False)
