"""TLK402."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Fix, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.kept_views import KeptView


class ViewKeepsBase(Rule):
    """A small view of a large tensor is stored, and keeps all of it.

    ## What it does
    Finds parts of a tensor (`out[0]`, `hidden[:, 0]`, `x[:4]`, one window `x[a:b]` of each, `select`, `narrow`, a
    piece of `chunk`, a row `out[i]` by a number) that are put into a container which lives longer than the step, or are
    written by `torch.save`, without a copy. Where the container gives up its oldest when it is full, or belongs
    to one call and is not seen to be filled from data, it is a note; so are rows of a batch that are chosen while a
    loop goes over all of them, and what a function gives that returns a part in one case and something new in another.

    ## Why is this bad?
    A view has no memory of its own: it points into that of the tensor from which it was taken, and as long as the
    view lives, all of that stays. A list of first rows is as large as a list of whole batches. `detach()` gives a view
    as well. `torch.save` writes the whole memory behind a view, and `torch.load` reads it back.

    ## Example
    ```python
    for x in loader:
        hidden = encoder(x)
        summaries.append(hidden[:, 0].detach())
    ```

    ## Use instead
    ```python
        summaries.append(hidden[:, 0].detach().clone())
    ```

    ## When it is not a leak
    The part was copied (`clone()`, an index of tensors, a list or a mask, any computation, a move to another device);
    all of the tensor is stored, or several of its parts are, which together may be all of it; the tensor was computed
    for one example; the base lives on anyway, as in a graph; the container is made anew in each step, or is filled from
    a few files, types or groups and not from the batches of a pass.

    ## Fix safety
    Safe where the part is a tensor for certain and nothing changes its base in place: the numbers are the same.

    ## References
    - https://docs.pytorch.org/docs/stable/tensor_view.html
    - https://docs.pytorch.org/docs/stable/notes/serialization.html#saving-and-loading-tensors-preserves-views
    """

    code = "TLK402"
    name = "view-keeps-base"
    level = Level.ERROR
    harms = (Harm.BYTES,)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.NOT_FREED)
    triggers = (Trigger(inserts=True), Trigger(calls=frozenset(["save"])), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each view that is kept or saved."""
        for kept in facts.kept_views:
            yield self._finding(facts, kept)

    def _finding(self, facts: Facts, kept: KeptView) -> Finding:
        item = facts.name_of(kept.item)
        taken = f" is a view of `{_written(facts, kept)}`"
        copied = facts.with_method(kept.item, "clone")
        evidence = (Step(facts.statement_of(kept.base), "the tensor whose memory it keeps is computed here"),)
        if kept.repeated_by is None:
            message: tuple[str | LineOf, ...] = (
                f"`{item}`{taken}: the file holds all of it, and so does memory when it is loaded; save `{copied}`",
            )
        else:
            where: tuple[str | LineOf, ...] = (
                (" (made in line ", LineOf(kept.made), ")") if kept.made is not None else ()
            )
            cost = (
                "each of its items holds all of one, not the part" if kept.is_window
                else "tensor memory grows each step by all of it, not by the part"
            )  # fmt: skip
            message = (
                f"`{kept.name}`", *where, f" keeps `{item}`, which{taken}: {cost}; store `{copied}`",
            )  # fmt: skip
            if kept.taken_by is not None:
                taker = facts.called(kept.taken_by)
                message = (
                    f"`{taker}` keeps a part of `{item}` that is a view of all of it: {cost}; have `{taker}` store a"
                    " copy of the part (`.clone()`)",
                )
        has_graph = facts.flows.live(kept.item.value) is not None and kept.repeated_by is not None
        level = Level.ERROR if kept.repeated_by is not None else Level.WARNING
        return Finding(
            node=kept.statement,
            message=message,
            level=level if kept.certain and not kept.is_window and not kept.is_bounded else Level.NOTE,
            memory=Memory.DEVICE_GROWS if kept.repeated_by is not None and not kept.is_window else Memory.PEAK,
            evidence=evidence,
            fix=None if has_graph or kept.taken_by is not None else _fix(facts, kept),
            explained_by="TLK102" if has_graph else None,
        )


def _fix(facts: Facts, kept: KeptView) -> Fix | None:
    safe = kept.certain and not kept.is_written_to and facts.flows.surely_tensor(kept.item.value)
    return facts.call_on("Copy the part", kept.item, "clone", safe=safe)


def _written(facts: Facts, kept: KeptView) -> str:
    """How the base is written, at most 40 characters."""
    node = kept.base.syntax if kept.base is not kept.item.value else None
    return facts.shortly(node) if node is not None else "a larger tensor"
