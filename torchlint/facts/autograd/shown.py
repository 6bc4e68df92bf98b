"""What an object shows to who holds it: graphs left under attributes that its own file has no use for.

A sampler adds its log-probabilities up in ``self.log_prob``; the trainer, in another file, runs the backward over it.
"""

from __future__ import annotations

import libcst as cst

from torchlint.facts.autograd.ancestry import Ancestry
from torchlint.facts.autograd.liveness import Liveness
from torchlint.facts.values.domain import Container
from torchlint.facts.values.graph import Kind, Store, Value
from torchlint.syntax.tree import walk


def shown(liveness: Liveness, ancestry: Ancestry) -> frozenset[Value]:
    """All that flows into a tensor under a public attribute which the file itself only sets or adds to.

    Nothing where a backward of the file runs, which is then the one that is meant. What is left in a list is hoarded
    and not computed with, so that a list which is an attribute shows nothing.
    """
    graph = liveness.solution.graph
    if any(True for _ in graph.all_backwards()):
        return frozenset()
    stores = [s for s in graph.stores if s.kind is not Kind.INSERT and s.attribute and not s.attribute.startswith("_")]
    left = [store for store in stores if _is_tensor_with_graph(liveness, store)]
    if not left:
        return frozenset()
    read = _read_in(graph.module.syntax)
    return ancestry.of_all(store.value for store in left if store.attribute not in read)


def _read_in(syntax: cst.CSTNode) -> frozenset[str]:
    """The names of the attributes that a file reads, and does not only set or add to."""
    nodes = list(walk(syntax))
    assigned = (node for node in nodes if isinstance(node, cst.AssignTarget | cst.AnnAssign | cst.AugAssign))
    targets: list[cst.CSTNode] = [node.target for node in assigned]
    set_only: set[cst.CSTNode] = set()
    while targets:
        target = targets.pop()
        set_only.add(target)
        targets += [one.value for one in target.elements] if isinstance(target, cst.Tuple | cst.List) else []
    return frozenset(n.attr.value for n in nodes if isinstance(n, cst.Attribute) and n not in set_only)


def _is_tensor_with_graph(liveness: Liveness, store: Store) -> bool:
    atoms = liveness.solution.final(store.value)
    return liveness.live(store.value) is not None and not any(isinstance(atom, Container) for atom in atoms)
