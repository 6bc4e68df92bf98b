"""Sums that wait for one backward behind the loop that adds them up.

Until then they hold the graph of each term. What else of the same function holds the terms adds nothing to that, and
ends with the function: ``loss += term; shown += term`` in a loop, ``loss.backward()`` behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Loop, Value


class Objectives:
    """Says which terms such sums of one file hold."""

    def __init__(self, flows: Flows, sums: Mapping[Value, Collection[Loop]]) -> None:
        """Choose among ``sums``, updates of local variables from themselves with the loops that add them up."""
        self.flows = flows
        self._found = [
            (update, loop) for update, loops in sums.items() for loop in loops if self._is_trained_behind(update, loop)
        ]

    def hold(self, terms: Collection[Value], loops: Collection[Loop]) -> bool:
        """Whether for each of ``loops`` one of the sums that it adds up holds all ``terms``."""
        return bool(self._found and loops) and all(
            any(
                loop is around and all(term in update.computed_from() for term in terms)
                for update, around in self._found
            )
            for loop in loops
        )

    def hold_all_in(self, container: Value | None, terms: Collection[Value]) -> bool:
        """Whether they hold all ``terms``, which a loop puts into a list that its function makes and does not give on.

        Args:
            container: the value that makes the list, if that is seen.
            terms: what is put into it.
        """
        if container is None or container in self.flows.leaving:
            return False
        if any(term.function is not container.function for term in terms):
            return False
        made_in = container.loop.around() if container.loop is not None else []
        around = [loop for term in terms for loop in (term.loop.around() if term.loop is not None else [])]
        return self.hold(terms, [loop for loop in around if loop not in made_in])

    def _is_trained_behind(self, update: Value, loop: Loop) -> bool:
        """Whether a sum is trained on, and all backwards over it run in its function when the loop is over."""
        if update not in self.flows.trained:
            return False
        backwards = self.flows.solution.graph.all_backwards()
        return all(
            backward.function is update.function and (backward.loop is None or loop not in backward.loop.around())
            for backward in backwards
            if update in self.flows.ancestry.of(backward.root)
        )
