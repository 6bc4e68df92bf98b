"""From the text that defines a name to its summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from torchlint.syntax.depth import deep_recursion, parse_quietly

if TYPE_CHECKING:
    # Importing this brings libcst, which a run over files without torch does not need.
    from torchlint.facts.summaries.summary import Summary

__all__ = ["of_unknown_shape", "summarised"]


def summarised(excerpt: str, name: str) -> Summary | None:
    """What ``name`` is to other files by an excerpt that defines it; None for one that cannot be parsed."""
    import libcst as cst

    from torchlint.facts import Facts
    from torchlint.facts.summaries.summarise import summarise
    from torchlint.syntax.bare import bare_module

    try:
        with deep_recursion():
            module = bare_module(excerpt, parse_quietly(excerpt)) or cst.parse_module(excerpt)
            facts = Facts(module, trusts_annotations=False)
            summary = summarise(facts, name)
            facts.dissolve()
            return summary
    except (SyntaxError, cst.ParserSyntaxError, cst.CSTValidationError):
        return None


def of_unknown_shape(summarise: Callable[[], Summary | None]) -> Summary | None:
    """A summary that does not say what the name stands for."""
    summary = summarise()
    return None if summary is None else replace(summary, shape=())
