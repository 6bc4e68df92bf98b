"""Graphs that are known by a backward alone which does not run where something is kept: ``if train: ... else: ...``.

A backward proves that what it starts from has a graph, in the runs in which it runs. On the other branch of a test
gradients may be off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.graph import Value
from torchlint.syntax.tree import branches

if TYPE_CHECKING:
    from torchlint.facts import Facts


def is_known_by_other_branch(facts: Facts, value: Value, statement: cst.CSTNode) -> bool:
    """Whether all that tells of the graph of a value stands on the other branch of a test.

    Args:
        facts: of the file.
        value: which has a graph, for all that is known.
        statement: which keeps it.
    """
    found = facts.flows.live(value)
    origin = None if found is None else found.origin
    if origin is None or not facts.solution.evidence.get(origin):
        return False  # it has one in any case
    proving = [
        backward
        for backward in facts.graph.all_backwards()
        if backward.proves and origin in facts.flows.ancestry.of(backward.root)
    ]
    tests = dict(branches(facts.parents, statement))
    return bool(proving) and all(
        any(tests.get(test, branch) is not branch for test, branch in branches(facts.parents, backward.statement))
        for backward in proving
    )
