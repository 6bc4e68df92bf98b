"""TLK405."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom, peak
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.averaged import AveragedLoads
    from torchlint.facts.keeping.snapshots import Snapshot
    from torchlint.facts.keeping.unread_copies import UnreadCopy

HERE = "the copy is made here"


class SnapshotsKept(Rule):
    """A container collects copies of a model.

    ## What it does
    Finds `copy.deepcopy` of a model, an optimizer or a `state_dict()`, and clones of all its tensors, that are put
    into a list or dict in every step, epoch or trial, and never leave it, be it by an object of another file. In a
    method that nobody is seen to call, as a callback's, that is a note. So is `copy.deepcopy` of one of them whose
    variable nobody reads.

    ## Why is this bad?
    Each copy is as large as the model, with an optimizer's state three times as large, and stays on the device on
    which the model is. What is wanted in the end is nearly always one of them, or the last few.

    ## Example
    ```python
    history = []
    for epoch in range(epochs):
        score = train_and_evaluate(model)
        history.append((score, copy.deepcopy(model.state_dict())))
    ```

    ## Use instead
    ```python
    best = -1.0
    for epoch in range(epochs):
        score = train_and_evaluate(model)
        if score > best:
            best, weights = score, copy.deepcopy(model.state_dict())
    ```

    ## When it is not a leak
    One copy replaces the other; only the last few are kept (`deque(maxlen=3)`, `pop(0)`); the copies are moved to the
    host or written to a file; the list is made anew in each turn, or
    in each round that then goes through all of it. `state_dict()` without a copy keeps no memory: its
    tensors are the model's own, so it is no snapshot either. Checkpoints that are read one after the other and all kept
    until they are added up, where a running sum needs two at a time, are a note: their number is bounded, and they are
    mostly on the host.

    ## Fix safety
    There is no automatic fix: which of the copies are wanted is for a person to say.

    ## References
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    """

    code = "TLK405"
    name = "snapshots-kept"
    level = Level.ERROR
    harms = (Harm.BYTES,)
    symptoms = (Symptom.GROWS_EVERY_STEP,)
    triggers = (
        Trigger(inserts=True, names=frozenset(["deepcopy", "clone", "parameters", "state_dict", "named_parameters"])),
        Trigger(inserts=True, names=frozenset(["load", "load_file", "load_url", "load_state_dict_from_url"])),
        Trigger(names=frozenset(["deepcopy"])),
        Trigger(imports=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each place where copies are collected."""
        for snapshot in facts.snapshots:
            yield _finding(facts, snapshot)
        for averaged in facts.averaged_loads:
            yield _averaged(facts, averaged)
        for unread in facts.unread_copies:
            yield _unread(facts, unread)


def _finding(facts: Facts, snapshot: Snapshot) -> Finding:
    insertion, copy = snapshot.insertion, snapshot.copy
    made = insertion.allocation.statement if insertion.allocation is not None else None
    where: tuple[str | LineOf, ...] = (" (made in line ", LineOf(made), ")") if made is not None else ()
    subject = f"`{snapshot.subject}`" if snapshot.subject else "the model"
    often = f"call of `{insertion.holder.function.name}`" if snapshot.is_supposed else "turn"
    return Finding(
        node=insertion.statement,
        message=(
            f"`{insertion.name}`", *where, f" keeps a copy of {subject} for each {often}: memory grows by the size of"
            " all its tensors each time; keep the best one or the last few, move it to the host, or save it to a file",
        ),
        level=Level.NOTE if snapshot.is_supposed else Level.ERROR,
        memory=Memory.DEVICE_GROWS,
        evidence=(
            Step(facts.statement_of(copy), f"{snapshot.copied_by} makes the copy" if snapshot.copied_by else HERE),
            Step(snapshot.kept_at or insertion.statement, f"`{insertion.name}` keeps it here"),
        ),
    )  # fmt: skip


def _averaged(facts: Facts, averaged: AveragedLoads) -> Finding:
    load, store = averaged.load, averaged.store
    return Finding(
        node=store.statement,
        message=(
            f"`{averaged.name}` keeps the tensors of every checkpoint that line ",
            LineOf(facts.statement_of(load.call)),
            " reads until they are added up (line ",
            LineOf(facts.statement_of(averaged.summed)),
            "): they are in memory all at once; add each to a running sum, which needs two",
        ),
        level=Level.NOTE,
        memory=Memory.PEAK,
        evidence=(
            Step(facts.statement_of(load.call), "each turn reads another checkpoint"),
            Step(store.statement, f"`{averaged.name}` keeps it here"),
        ),
    )


def _unread(facts: Facts, unread: UnreadCopy) -> Finding:
    return peak(
        unread.statement,
        (
            f"nobody reads `{unread.name}`: a whole copy of `{unread.subject}` is made in vain, and stays in memory"
            f" until `{unread.copy.function.name}` returns or makes the next one; leave it out",
        ),
        note=True,
        evidence=(Step(facts.statement_of(unread.copy), HERE),),
    )
