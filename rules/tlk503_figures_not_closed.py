"""TLK503."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.host.figures import OpenFigure


class FiguresNotClosed(Rule):
    """A figure is made in every step or epoch, and none is closed.

    ## What it does
    Finds `plt.figure()`, `plt.subplots()`, `plt.subplot_mosaic()` and the plot of a whole table of pandas in a loop of
    steps or epochs, in a framework's method or handler, or in a helper that one of these calls, whose figure nobody
    closes; and, as a note, one that is closed on one way only: a `return` or a branch, which asks for what was drawn,
    leaves it open. A note is also what any other loop makes for each of its items, or for those that are chosen, and
    saves in the same turn: one figure stays open for each run, layer or class.

    ## Why is this bad?
    pyplot keeps every figure that it makes until it is closed, whatever happens to the variable: some eighty
    kilobytes of host memory for an empty one, and all the data that is drawn into it. `plt.clf()` empties a figure
    and keeps it.

    ## Example
    ```python
    for epoch in range(epochs):
        train_epoch(model, loader)
        fig, ax = plt.subplots()
        ax.plot(losses)
        fig.savefig(f"{epoch}.png")
    ```

    ## Use instead
    ```python
        fig.savefig(f"{epoch}.png")
        plt.close(fig)
    ```

    ## When it is not a leak
    It is closed, by `plt.close` or by `SummaryWriter.add_figure`, which does so by default; it is shown; the same
    number is used again (`plt.figure(1)`); pandas is given the axes to draw in, or draws one column in the figure that
    is open; the loop is written to have no more than twenty turns, and no step is made in them; it is a
    `matplotlib.figure.Figure`, which pyplot does not know; it goes to code that is not seen.

    ## Fix safety
    Safe where the figure has a name that is used in its block alone: `plt.close(fig)` stands behind its last use.
    Without a name `plt.close()` closes the current figure, which is unsafe.

    ## References
    - https://matplotlib.org/stable/api/_as_gen/matplotlib.pyplot.figure.html
    - https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.plot.html
    - https://docs.pytorch.org/docs/stable/tensorboard.html#torch.utils.tensorboard.writer.SummaryWriter.add_figure
    """

    code = "TLK503"
    name = "figures-not-closed"
    level = Level.WARNING
    harms = (Harm.HOST,)
    symptoms = (Symptom.HOST_GROWS,)
    triggers = (
        Trigger(names=frozenset(["figure", "subplots", "subplot_mosaic"])),
        Trigger(calls=frozenset(["plot", "hist"]), names=frozenset(["pandas"])),
        Trigger(imports=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each place that makes figures which stay open."""
        for figure in facts.open_figures:
            yield _finding(facts, figure)


def _finding(facts: Facts, figure: OpenFigure) -> Finding:
    statement, place = facts.statement_of(figure.call), figure.repeated_by
    fix = facts.close_figure(figure)
    advice = fix.title.partition("`")[2].rstrip("`") if fix is not None else "plt.close(...)"
    where: tuple[str | LineOf, ...] = (", whatever happens to the variable",)
    when = "when it is done"
    evidence = [Step(place.syntax, "this is what repeats it"), Step(statement, "the figure is made here")]
    if figure.past is not None:
        is_left = not figure.is_closed_if
        how = "leaves before it is closed" if is_left else "decides whether it is closed"
        where = (", where line ", LineOf(figure.past), f" {how}")
        when = "before that as well" if is_left else "on the other way as well"
        evidence.append(Step(figure.past, f"this {how}"))
    return Finding(
        node=statement,
        message=(
            f"pyplot keeps the figure that {facts.done_by(figure.call, figure.by)} makes in ",
            *facts.each_turn(place),
            *where,
            f": host memory grows, GPU memory does not; write `{advice}` {when}",
        ),
        level=Level.WARNING if figure.past is None and not figure.is_item else Level.NOTE,
        memory=Memory.HOST_GROWS,
        evidence=tuple(evidence),
        fix=fix,
    )
