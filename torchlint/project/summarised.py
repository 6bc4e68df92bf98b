"""From the text that defines a name to its summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.syntax.depth import deep_recursion, parse_quietly

if TYPE_CHECKING:
    # Importing these brings libcst, which a run over files without torch does not need.
    import libcst as cst

    from torchlint.facts.summaries.summary import FunctionSummary, Summary

__all__ = ["of_unknown_shape", "summarised", "without_emptied"]


def summarised(excerpt: str, name: str) -> Summary | None:
    """What ``name`` is to other files by an excerpt that defines it; None for one that cannot be parsed."""
    import libcst as cst

    from torchlint.syntax.bare import bare_module

    try:
        with deep_recursion():
            bare = bare_module(excerpt, parse_quietly(excerpt))
            try:
                return _summary(cst.parse_module(excerpt) if bare is None else bare, name)
            except AttributeError:
                # White space was asked for; a slip shows again on libcst's own tree.
                return _summary(cst.parse_module(excerpt), name)
    except (SyntaxError, cst.ParserSyntaxError, cst.CSTValidationError):
        return None


def _summary(module: cst.Module, name: str) -> Summary | None:
    """What a tree makes of ``name``; all that is made on the way is gone when it returns."""
    from torchlint.facts import Facts
    from torchlint.facts.summaries.summarise import summarise

    facts = Facts(module, trusts_annotations=False)
    summary = summarise(facts, name)
    facts.dissolve()
    return summary


def of_unknown_shape(summarise: Callable[[], Summary | None]) -> Summary | None:
    """A summary that does not say what the name stands for."""
    summary = summarise()
    return None if summary is None else replace(summary, shape=())


def without_emptied(summary: Summary, is_emptied: Callable[[str], bool]) -> Summary:
    """A summary whose functions keep nothing in a global from which the file takes things out, be it a cache.

    Args:
        summary: of a name; its excerpt need not have what empties a global that is filled there.
        is_emptied: whether the file takes things out of the global of a name.
    """
    from torchlint.facts.summaries.effect_kinds import FILLING

    def told(function: FunctionSummary) -> FunctionSummary:
        filled = {effect.name.rpartition(".")[2] for effect in function.effects if effect.kind in FILLING}
        filled |= {keep.attribute for keep in function.keeps if keep.into < 0}
        emptied = frozenset(filter(is_emptied, filled))
        if not emptied:
            return function
        left = (e for e in function.effects if e.kind not in FILLING or e.name.rpartition(".")[2] not in emptied)
        keeps = (keep for keep in function.keeps if keep.into >= 0 or keep.attribute not in emptied)
        return replace(function, effects=tuple(left), keeps=tuple(keeps))

    classes = (replace(cls, methods=tuple(map(told, cls.methods))) for cls in summary.classes)
    return replace(summary, functions=tuple(map(told, summary.functions)), classes=tuple(classes))
