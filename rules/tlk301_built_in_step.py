"""TLK301."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom, peak
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.repeated.construction import Construction


class BuiltInStep(Rule):
    """Something that is meant to live through the training is built in every step.

    ## What it does
    Finds modules, losses, optimizers, schedulers, gradient scalers and `DataLoader`s (also `next(iter(loader))`)
    that are built in every turn of a step loop, in `forward`, in a framework's step method, in a request handler, or
    in a helper that one of these calls; and models of folds and trials that are built while the last one is still
    referenced, or kept with their scores, in records as well.

    ## Why is this bad?
    It costs time in every step, and more than that: a new layer has new random weights that nothing trains, a new
    optimizer has lost its momentum, a new scheduler its count, a new scaler its scale, a new loader starts its
    workers again. While a model is built and the last one still has a name, both are in memory.

    ## Example
    ```python
    for x, y in loader:
        criterion = nn.CrossEntropyLoss()
        optimizer = torch.optim.Adam(model.parameters())
        ...
    ```

    ## Use instead
    ```python
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters())
    for x, y in loader:
        ...
    ```

    ## When it is not a leak
    It is built when first needed (`if self.optimizer is None:`), for a new phase, in `__init__` or a builder, once
    for each epoch; the model of a fold is dropped (`del model`) before the next, or lives in a function of its own.
    What is a shell round a given model or for given weights, a model whose weights are set by what the turn says, plain
    SGD without momentum, what is made by chance, and what stands in a test, are left alone.
    What has no parameters costs time only and is a note, and so is a model that is dropped one line too late, or an
    iterator that starts workers in every n-th step, or of what is a loader as far as what was given beside it says. A
    note as well is `copy.deepcopy(model)` in every step or for every task of a step, or for a look at the model now and
    then, whose variable keeps the copy through the training that follows; a copy for each client, fold or epoch that
    trains it through loops of its own is left alone, and so is one that is quantized or pruned.

    ## Fix safety
    There is no automatic fix: where it is to be built instead is for a person to say, and results change when an
    optimizer keeps its state.

    ## References
    - https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    - https://docs.pytorch.org/docs/stable/data.html#single-and-multi-process-data-loading
    """

    code = "TLK301"
    name = "built-in-step"
    level = Level.WARNING
    harms = (Harm.CHURN, Harm.PEAK)
    symptoms = (Symptom.SLOW,)
    triggers = (Trigger(constructs=True), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement that builds something again and again.

        What is registered in a model is more than built again: TLK304 says so.
        """
        for construction in facts.constructions:
            if construction.call in facts.made_to_grow or construction.member:
                continue
            if construction.is_idle:
                yield _idle(facts, construction)
            else:
                yield _trial(facts, construction) if construction.trial else _step(facts, construction)


def _step(facts: Facts, construction: Construction) -> Finding:
    product, place = construction.product, construction.repeated_by
    light = (product.kind in ("module", "loss", "copy") and not product.weighs) or not product.starts_workers
    light = light or construction.is_now_and_then
    build = "make one iterator" if product.kind == "iterator" else "build it once"
    advice: tuple[str | LineOf, ...] = (f"; {build}, ", *facts.outside(place))
    if product.file:
        advice = ("; let it keep one iterator",)
    if product.kind == "copy":
        advice = ("; copy it once and load its state in each turn, or call it with other parameters by"
                  " `torch.func.functional_call`",)  # fmt: skip
    if product.is_operation:
        same = "the function of `torch.nn.functional` that does the same"
        advice = (f"; call {same}",) if construction.follows_input else (*advice, f", or call {same}")
    statement = facts.statement_of(construction.call)
    where = f" (`next(iter(...))` in {product.file})" if product.file else ""
    where = ", a property," if construction.is_read else where
    return Finding(
        node=statement,
        message=(
            f"`{_written(facts, construction)}`{where} is {'made' if product.kind == 'copy' else 'built'} anew in ",
            *facts.each_turn(place, "every n-th" if construction.is_now_and_then else "each"),
            _cost(construction),
            *advice,
        ),
        level=Level.NOTE if light else Level.WARNING,
        memory=Memory.TIME,
        evidence=(Step(place.syntax, "this is what repeats it"),),
    )


def _cost(construction: Construction) -> str:
    product = construction.product
    if product.kind in ("module", "loss"):
        if product.weighs:
            return ": it costs time, and its weights are new each time"
        is_same = product.has_tables and not construction.follows_input
        return f": it costs time, and {'its tables are the same each time' if is_same else 'nothing is kept in it'}"
    if product.kind == "loader" and not product.starts_workers:
        return ": it costs time, and starts the workers again that it may have"
    return {
        "optimizer": ": it costs time, and its state (momentum, averages) is lost each time",
        "scheduler": ": it costs time, and starts its count again each time",
        "scaler": ": it costs time, and never learns its scale",
        "loader": ": it costs time, and starts its workers again each time",
        "copy": ": every parameter and buffer is allocated and copied each time",
        "iterator": ": it starts the loader again, and its workers, for one batch",
    }[product.kind]


def _trial(facts: Facts, construction: Construction) -> Finding:
    place = construction.repeated_by
    line = LineOf(place.syntax)
    written = _written(facts, construction)
    if construction.piles_up:
        cost = f" is kept in `{construction.holder}`: one model more stays in memory with each turn; keep only what is"
        advice = " needed of it, a score or `state_dict()` on the host"
    else:
        cost = f" is built while `{construction.holder}` still references the last one: two models are in memory; "
        advice = (
            f"`del {construction.holder}` (and its optimizer) at the end of each turn, or move the turn into a function"
        )
    return peak(
        facts.statement_of(construction.call),
        (f"`{written}` of each turn of the loop in line ", line, cost, advice),
        note=not construction.piles_up,
        evidence=(Step(place.syntax, "each turn of this loop trains a model of its own"),),
    )


def _idle(facts: Facts, construction: Construction) -> Finding:
    place, holder = construction.repeated_by, construction.holder
    return Finding(
        node=facts.statement_of(construction.call),
        message=(
            f"`{holder}` keeps the `{_written(facts, construction)}` of each turn of the loop in line ",
            LineOf(place.syntax),
            " through the training that follows, and while the next one is made: one model more than is used; run the"
            f" model itself, or give up `{holder}`, and what was made with it, at the end of the turn",
        ),
        level=Level.NOTE,
        memory=Memory.PEAK,
        evidence=(Step(place.syntax, "each turn of this loop goes on training the model that is copied"),),
    )


def _written(facts: Facts, construction: Construction) -> str:
    """What is built as the program calls it: ``nn.Linear``, ``next(iter(loader))``, ``deepcopy(model)``."""
    call = construction.call
    whole = {"iterator": "next(iter(...))", "copy": "deepcopy(...)"}.get(construction.product.kind)
    if whole is not None and call.syntax is not None and not construction.product.file:
        text = facts.code(call.syntax)
        return text if len(text) <= 40 else whole
    return facts.shortly(call.syntax) if construction.is_read and call.syntax is not None else facts.called(call)
