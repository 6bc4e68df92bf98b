"""TLK105."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.frameworks import Holds, names
from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.autograd.contracts import Contract
    from torchlint.facts.autograd.kept_clones import KeptClone
    from torchlint.facts.autograd.records import Record
    from torchlint.facts.autograd.retention import Retention


class GraphInRecord(Rule):
    """A tensor with its graph is handed to something that records it.

    ## What it does
    Finds tensors with a graph that are made part of a record which is kept beyond the step: an object, a data class or
    a named tuple that goes into a list, values that a callback or a reporter is given in a dict or as keywords, a
    replay or rollout buffer into which they are written in place; a metric of ignite, which is given outputs with their
    graph; what `training_step` returns beside the loss where `training_epoch_end` collects it; what a criterion of
    fairseq logs; what a meter of timm or fairseq sums up.

    ## Why is this bad?
    The holder does not show what it holds. A record keeps the graph of its step: the nodes in host memory after a
    backward, every activation on the GPU without one. A buffer that is written in place becomes part of one graph that
    reaches back to the first step, however small the buffer is.

    ## Example
    ```python
    records.append(Record(step, loss))
    buffer.values[i] = value
    ```

    ## Use instead
    ```python
    records.append(Record(step, loss.detach()))
    buffer.values[i] = value.detach()
    ```

    ## When it is not a leak
    What is recorded is trained on (a rollout of an on-policy method) or cleared in the step; the receiver detaches it;
    gradients are off; torchmetrics' `update`, which runs without gradients. What ignite's `update` computes has a
    graph only for those who call it by hand, since its engine switches gradients off: that is a note. So is a `clone()`
    of a value of any kind, which the program tests to be a tensor and puts into a container of an object: it has a
    graph if that has one.

    ## Fix safety
    Safe where the value is a tensor with a graph on every path and the step does not train through the record.
    Unsafe where the program asks which of the tensors one is (`is`, `id`, as a key), changes one in place by what keeps
    it before its backward, or gives a graph over which no backward has run to callers that are not seen.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "TLK105"
    name = "graph-in-record"
    level = Level.ERROR
    harms = (Harm.NODES, Harm.BYTES)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.HOST_GROWS)
    triggers = (
        Trigger(inserts=True),
        Trigger(imports=True),
        Trigger(names=names(Holds.RESULT_KEPT, Holds.GIVEN_GRAPH, Holds.KEEPS)),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement that hands over a graph, unless another rule names it."""
        told = facts.accumulating | facts.inserting
        for record in facts.records:
            if record.statement in told or record.kept in told or record.averages:
                continue
            into = record.into_container
            retention = facts.retention_in(record.kept, [record.holder], record.parts) if into else None
            if record.into_container and retention is None:
                continue
            yield _finding(facts, record, retention or facts.cost_of(record.parts[0]))
        for contract in facts.contracts:
            if contract.statement not in told:
                yield _by_contract(facts, contract)
        for clone in facts.kept_clones:
            if clone.store.statement not in told:
                yield _cloned(facts, clone)


def _finding(facts: Facts, record: Record, retention: Retention) -> Finding:
    kept = next((use for use in record.parts if use.value is retention.value), record.parts[0])
    elsewhere: tuple[str | LineOf, ...] = ("",)
    if record.kept is not record.statement:
        elsewhere = (" (line ", LineOf(record.kept), ")")
    through = f" by `{record.into}`" if record.into not in ("", record.name) else ""
    advice = f"hand over `{facts.detached(kept)}`"
    if record.trained:
        advice = "put detached tensors there" if record.kept is record.statement else "keep it out of the record"
    if record.returned:
        advice = "detach what is kept there"
    level, memory, cost = retention.level, retention.memory, retention.cost()
    if record.bounded:
        level, memory, cost = Level.NOTE, Memory.PEAK, (", as many as it has room for",)
    return Finding(
        node=record.statement,
        message=(
            f"`{record.name}`",
            *elsewhere,
            f" keeps the graph of every `{retention.name}`{through}",
            *cost,
            f"; {advice}",
        ),
        level=level,
        memory=memory,
        evidence=(*retention.evidence(), Step(record.kept, record.keeper or f"`{record.name}` keeps it here")),
        fix=None if record.trained or record.is_given else facts.detach("Detach what is recorded", record.parts),
        explained_by="TLK201" if retention.inferred else None,
    )


def _by_contract(facts: Facts, contract: Contract) -> Finding:
    kept = contract.parts[0]
    return Finding(
        node=contract.statement,
        message=(
            f"`{contract.holder}` keeps `{facts.name_of(kept)}` of every step, and {contract.says}: memory grows each"
            f" step; keep `{facts.detached(kept)}`",
        ),
        level=Level.WARNING if contract.is_certain else Level.NOTE,
        memory=Memory.HOST_GROWS,
        evidence=(Step(contract.statement, contract.says),),
        fix=facts.detach("Detach what is recorded", contract.parts, allow_any_tensor=True),
    )


def _cloned(facts: Facts, clone: KeptClone) -> Finding:
    name = facts.name_of(clone.tensor)
    statement = facts.statement_of(clone.call)
    return Finding(
        node=statement,
        message=(
            f"`{clone.holder}` (line ",
            LineOf(clone.store.statement),
            f") keeps this copy with the graph of `{name}` if it has one: `clone()` does not end it; keep"
            f" `{name}.detach().clone()`",
        ),
        level=Level.NOTE,
        memory=Memory.PEAK,
        evidence=(Step(clone.store.statement, f"`{clone.holder}` keeps it here"),),
    )
