"""One page with a panel for each rule: what is alive step by step, in a program that leaks and in its repaired form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING

from torchlint.catalog import rule_of
from torchlint.verify.programs import Kind
from torchlint.verify.verdict import Figures
from torchlint.verify.verification import Row, Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FORMATS", "draw"]

FORMATS = (".png", ".svg")

_LEAKING, _FIXED, _INK, _FAINT = "#c8321e", "#1f6f8b", "#222222", "#9a9a9a"
_COLUMNS, _MANY, _COLUMNS_OF_MANY = 3, 9, 6
"""Panels beside each other: three of them fill a slide; of many rules six make a poster."""
_PANEL = (4.4, 2.9)
"""Inches."""


@dataclass(frozen=True)
class _Quantity:
    """What a panel shows: its title, its series on the CPU and on CUDA, and how it is read."""

    title: str
    series: str
    on_cuda: str = ""
    is_bytes: bool = True
    sums_up: bool = False
    grows: bool = False


_QUANTITIES = {
    "nodes a step": _Quantity("autograd nodes alive", "nodes.live", is_bytes=False),
    "bytes a step": _Quantity("tensor memory alive", "storages.live", "cuda.requested"),
    "device bytes a step": _Quantity("tensor memory alive on the device", "storages.live_off_host", "cuda.requested"),
    "cyclic bytes a step": _Quantity("freed by the cyclic collector alone, so far", "storages.cyclic", sums_up=True),
    "peak bytes": _Quantity("peak of tensor memory in each step", "storages.peak", "cuda.peak"),
    "unread bytes a step": _Quantity("peak of tensor memory in each step", "storages.peak", "cuda.peak"),
    "built a step": _Quantity("built so far", "calls.built", is_bytes=False, sums_up=True),
    "operations a step": _Quantity("operations so far", "storages.operations", is_bytes=False, sums_up=True),
    "segments a step": _Quantity("segments taken so far", "cuda.taken", is_bytes=False, sums_up=True),
    "calls a step": _Quantity("calls so far", "calls.made", is_bytes=False, sums_up=True),
    "heap bytes a step": _Quantity("C heap, growth after the warm-up", "heap.bytes", grows=True),
    "objects a step": _Quantity("objects, growth after the warm-up", "objects.live", is_bytes=False, grows=True),
    "worker bytes a step": _Quantity("workers' own memory, growth after the warm-up", "workers.private", grows=True),
}
"""By the unit of a judgement."""


@dataclass(frozen=True)
class _Panel:
    """One rule's panel: its leaking program of middling size, and the repaired form of the same."""

    row: Row
    quantity: _Quantity
    leaking: list[float]
    fixed: list[float]


def draw(rows: Sequence[Row], file: Path) -> None:
    """Draw one page.

    Args:
        rows: what was verified.
        file: where to; its ending says the format.

    Raises:
        ImportError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = list(_panels(rows))
    columns = min(_COLUMNS if len(panels) <= _MANY else _COLUMNS_OF_MANY, max(len(panels), 1))
    lines = -(-len(panels) // columns) or 1
    with mpl.rc_context({"svg.hashsalt": "torchlint", "font.family": "DejaVu Sans", "axes.linewidth": 0.8}):
        figure = Figure(figsize=(columns * _PANEL[0], lines * _PANEL[1] + 0.9), layout="constrained")
        FigureCanvasAgg(figure)
        places = figure.subplots(lines, columns, squeeze=False).flatten()
        for axes, panel in zip(places, panels, strict=False):
            _draw_panel(axes, panel)
        for axes in places[len(panels) :]:
            axes.set_axis_off()
        device = rows[0].device if rows else ""
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.set(h_pad=0.14, w_pad=0.10)  # type: ignore[call-arg]
        figure.suptitle("What each step leaves behind", fontsize=15, fontweight="bold", color=_INK, x=0.012, ha="left")
        figure.supxlabel(
            f"steps of training or inference, measured on {device} by torchlint verify; "
            "one program for each rule, the one of middling size",
            fontsize=8.5,
            color=_FAINT,
        )
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)


def _panels(rows: Sequence[Row]) -> Iterator[_Panel]:
    """The panels, one for each rule that has a proven program."""
    for label in dict.fromkeys(row.label for row in rows):
        proven = [row for row in rows if row.label == label and _is_proven_leak(row)]
        panels = [panel for row in proven if (panel := _panel(row)) is not None]
        if panels:
            middling = median_low([_gap(panel) for panel in panels])
            yield next(panel for panel in panels if _gap(panel) == middling)


def _is_proven_leak(row: Row) -> bool:
    return row.program.kind is Kind.LEAK and row.verdict is Verdict.HOLDS


def _panel(row: Row) -> _Panel | None:
    found = row.foremost
    if found is None or row.figures is None or row.fixed_figures is None:
        return None
    quantity = _QUANTITIES[found.unit]
    leaking, fixed = _curve(row.figures, quantity), _curve(row.fixed_figures, quantity)
    return _Panel(row, quantity, leaking, fixed) if leaking and fixed else None


def _curve(figures: Figures, quantity: _Quantity) -> list[float]:
    """One number for each step."""
    name = quantity.on_cuda if quantity.on_cuda in figures.series else quantity.series
    values = [float(value) for value in figures.series.get(name, ())]
    if quantity.sums_up:
        return [sum(values[: number + 1]) for number in range(len(values))]
    if not quantity.grows:
        return values
    judged = values[figures.warm_up :]
    return [0.0] * (len(values) - len(judged)) + [value - judged[0] for value in judged]


def _gap(panel: _Panel) -> float:
    """How far the two end from each other, as a share of the greater."""
    return abs(panel.leaking[-1] - panel.fixed[-1]) / max(panel.leaking[-1], panel.fixed[-1], 1.0)


def _draw_panel(axes: Axes, panel: _Panel) -> None:
    row = panel.row
    rule = rule_of(row.label)
    axes.set_title(f"{row.label} {rule.name}" if rule else row.label, fontsize=10.5, loc="left", color=_INK, pad=18)
    size, unit = _unit(max(*panel.leaking, *panel.fixed)) if panel.quantity.is_bytes else (1, "")
    leaking, fixed = ([value / size for value in values] for values in (panel.leaking, panel.fixed))
    subtitle = f"{panel.quantity.title}{', ' if unit else ''}{unit}  ·  {row.program.name}"
    axes.text(0, 1.04, subtitle, transform=axes.transAxes, fontsize=8, color=_FAINT)
    most = max(*leaking, *fixed, 1e-9)
    is_close = abs(leaking[-1] - fixed[-1]) < 0.25 * most
    for values, colour, word in ((leaking, _LEAKING, "leaking"), (fixed, _FIXED, "repaired")):
        beside = ("bottom" if values is leaking else "top") if is_close else "center"
        axes.plot(range(len(values)), values, color=colour, linewidth=2, solid_capstyle="round")
        axes.annotate(
            f"{word}\n{_number(values[-1])} {unit}".rstrip(),
            (len(values) - 1, values[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            va="bottom" if values[-1] < 0.08 * most else beside,
            fontsize=8.5,
            color=colour,
            annotation_clip=False,
        )
    shared = min(len(leaking), len(fixed))
    axes.fill_between(range(shared), fixed[:shared], leaking[:shared], color=_LEAKING, alpha=0.10, lw=0)
    axes.set_xlim(0, (max(len(leaking), len(fixed)) - 1) * 1.28)
    axes.set_ylim(min(0.0, *leaking, *fixed), max(*leaking, *fixed, 1.0) * (1.25 if is_close else 1.12))
    axes.set_xticks(range(0, shared, 4))
    axes.locator_params(axis="y", nbins=5)
    axes.tick_params(labelsize=8, colors=_FAINT, length=3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_FAINT)


def _number(value: float) -> str:
    """Three digits, and all of a greater number."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _unit(most: float) -> tuple[int, str]:
    """The unit in which a number of bytes is read best, and its size."""
    units = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
    return next(((size, unit) for size, unit in units if most >= size), (1, "bytes"))
