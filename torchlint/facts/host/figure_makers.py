"""Calls that make a figure which pyplot keeps: its own functions, and plots of whole tables of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.solve import Solution

if TYPE_CHECKING:
    from torchlint.facts import Facts

PYPLOT = frozenset(["matplotlib.pyplot", "matplotlib.pylab", "pylab"])
MAKERS = {"figure": (0, "num"), "subplots": (-1, "num"), "subplot_mosaic": (-1, "num")}
"""Functions of pyplot that make a figure, with the argument that names one which is used again."""

TABLES = frozenset(
    f"pandas.{name}" for name in (
        "DataFrame", "DataFrame.from_dict", "DataFrame.from_records", "read_csv", "read_table", "read_json",
        "read_excel", "read_parquet", "read_pickle",
    )
)  # fmt: skip
"""Functions of pandas that give a whole table; see https://pandas.pydata.org/docs/reference/io.html."""

KEEPING_TABLES = frozenset(
    ["copy", "drop", "drop_duplicates", "dropna", "fillna", "head", "pivot", "pivot_table", "rename", "reset_index",
     "set_index", "sort_index", "sort_values", "tail"]
)  # fmt: skip
"""Methods of a table that give another one, and no single column of it."""

DRAWING = frozenset(["plot", "hist"])
"""Methods of a table that draw it in a figure of their own, where they are given no axes to draw in.

A single column is drawn in the figure that is open, and so is a ``boxplot``.
https://pandas.pydata.org/docs/reference/api/pandas.DataFrame.plot.html
"""

ELSEWHERE = ("ax", "backend", None)
"""Arguments that say in which figure, or with which library, to draw; None stands for those that are starred."""


def maker_of(call: Value) -> str | None:
    """``figure`` or ``subplots`` for a CALL of pyplot that makes a figure."""
    name = call.callee.name.rpartition(".")[2]
    return name if name in MAKERS and is_pyplot(call, name) else None


def number_of(call: Value) -> Value | None:
    """What a CALL that makes a figure names it by, so that others can ask pyplot for it: ``plt.figure(num=epoch)``."""
    maker = maker_of(call)
    return call.argument(*MAKERS[maker]) if maker is not None else None


def is_pyplot(call: Value, name: str) -> bool:
    """Whether a CALL is one of pyplot's function of that name."""
    module, _, called = call.callee.name.rpartition(".")
    return called == name and module in PYPLOT and call.callee.op is Op.EXTERNAL


def makes_figure(facts: Facts, call: Value) -> bool:
    """Whether a CALL makes a figure that pyplot keeps: ``plt.figure()``, ``pandas.read_csv(path).plot()``."""
    return maker_of(call) is not None or _draws_table(facts, call)


def figure_behind(value: Value) -> Value | None:
    """What a value is the figure of: of ``ax.figure``, ``ax.get_figure()`` and ``ax[0]`` that is ``ax``."""
    if value.op is Op.ATTRIBUTE and value.name == "figure":
        return value.inputs[0]
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name == "get_figure":
        return value.callee.inputs[0]
    return None


def _draws_table(facts: Facts, call: Value) -> bool:
    """``table.plot()``, ``table.plot.line(x="epoch")``, ``table.hist()``, drawn with matplotlib."""
    method = call.callee
    if method.op is not Op.ATTRIBUTE or any(key in ELSEWHERE for key in call.keys[1:]):
        return False
    if method.inputs[0].op is Op.ATTRIBUTE and method.inputs[0].name == "plot":
        method = method.inputs[0]
    if method.name not in DRAWING or _names_library(facts):
        return False
    return any(map(_gives_table, reached([method.inputs[0]], partial(_tables_behind, facts.solution))))


def _gives_table(value: Value) -> bool:
    return value.op is Op.CALL and value.callee.op is Op.EXTERNAL and value.callee.name in TABLES


def _tables_behind(solution: Solution, value: Value) -> Sequence[Value]:
    """What a value is, or what it is made of by a method that gives a table for a table."""
    if value.op is Op.CALL:
        is_kept = value.callee.op is Op.ATTRIBUTE and value.callee.name in KEEPING_TABLES
        return value.callee.inputs[:1] if is_kept else ()
    if value.op in (Op.PHI, Op.NARROWED):
        return value.inputs
    return solution.arguments_of(value) if value.op is Op.PARAMETER else stored_at(solution, value)


def _names_library(facts: Facts) -> bool:
    """Whether the file has pandas draw with another library: ``pandas.options.plotting.backend = "plotly"``."""
    is_set = any(value.name.endswith("plotting") for value in facts.graph.of(Op.ATTRIBUTE, Op.EXTERNAL))
    return is_set or any(call.callee.name == "pandas.set_option" for call in facts.graph.of(Op.CALL))
