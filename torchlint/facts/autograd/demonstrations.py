"""Functions of a package that only the end of their own file calls, to show how they are used.

Whoever imports the package calls them too, and what those do with a graph is not seen: a file that is run itself shows
all callers, a library's file under ``if __name__ == "__main__":`` shows one.
"""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from torchlint.facts.autograd.ancestry import Ancestry
from torchlint.facts.summaries.imports import Imports
from torchlint.facts.values.graph import Function, Value
from torchlint.facts.values.solve import Solution
from torchlint.syntax.tree import walk


class Demonstrations:
    """Answers whose graphs go to a demonstration, and to callers that are not seen."""

    def __init__(self, solution: Solution, ancestry: Ancestry, project: Imports) -> None:
        """Work on a solved graph; ``project`` says whether its file belongs to a package."""
        self.solution = solution
        self._ancestry = ancestry
        self._project = project

    @cached_property
    def results(self) -> frozenset[Value]:
        """All that is made in such functions, and returned."""
        if self._project.absolute(".").startswith("."):
            return frozenset()  # a script, whose callers stand in it
        functions = filter(self._is_demonstrated, self.solution.graph.functions)
        return self._ancestry.made_in(f.result for f in functions if f.result is not None)

    def _is_demonstrated(self, function: Function) -> bool:
        callers = self.solution.callers.get(function, ())
        return bool(callers) and all(call.statement in self._guarded for call in callers)

    @cached_property
    def _guarded(self) -> frozenset[cst.CSTNode | None]:
        """The syntax that runs only where the file is run itself."""
        branches = (node for node in walk(self.solution.graph.module.syntax) if isinstance(node, cst.If))
        return frozenset(node for branch in branches if _asks_name(branch) for node in walk(branch.body))


def _asks_name(branch: cst.If) -> bool:
    """Whether a test is ``__name__ == "__main__"``."""
    left = branch.test.left if isinstance(branch.test, cst.Comparison) else None
    return isinstance(left, cst.Name) and left.value == "__name__"
