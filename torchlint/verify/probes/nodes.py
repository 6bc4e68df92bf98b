"""Autograd nodes: the probe that sees ``total += loss`` after backward, which keeps no byte of any tensor."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from torchlint.verify.measurement import Series
from torchlint.verify.probes import Probe

__all__ = ["NodeProbe", "reachable_nodes"]

_STEP = "torchlint: step of birth"
_LEAF = "torch::autograd::AccumulateGrad"


class NodeProbe(Probe):
    """Counts autograd nodes, and dates each by the sample that first sees it.

    Series:
        nodes.live: nodes alive at each sample.
        nodes.survivors: nodes alive at the last sample, by step of birth.

    The date is kept in the node's own metadata dictionary (``torch.autograd.graph.Node.metadata``), so it holds for
    nodes of every thread; autograd's sequence numbers are counted by thread. ``AccumulateGrad`` nodes are not counted:
    there is one for each parameter, not for each step.

    Sees: nodes under tensors and nodes that Python can name, also through ``.grad`` under ``create_graph``; on every
    device, as nodes live in host memory. Blind to: tensors held by C++ alone (a TorchScript attribute, a queue of an
    extension), and nodes older than the run.
    """

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self._live: list[int] = []
        self._by_step: dict[int, int] = {}

    def sample(self, drawn: int) -> None:
        """Count and date the nodes; ``drawn`` - 1 is the step that has just ended."""
        by_step: dict[int, int] = {}
        for node in reachable_nodes():
            born = _metadata(node).setdefault(_STEP, drawn - 1)
            by_step[born] = by_step.get(born, 0) + 1
        self._live.append(sum(by_step.values()))
        self._by_step = by_step

    def series(self) -> Mapping[str, Series]:
        """See the class."""
        survivors = tuple(self._by_step.get(step, 0) for step in range(len(self._live) - 1))
        return {"nodes.live": tuple(self._live), "nodes.survivors": survivors}


def _metadata(node: torch.autograd.graph.Node) -> dict[str, int]:
    """The dictionary that a node keeps as long as it lives; torch's own annotation calls it a method."""
    kept: Any = node.metadata
    found: dict[str, int] = kept
    return found


def reachable_nodes() -> Iterator[torch.autograd.graph.Node]:
    """Every autograd node that hangs on an object of the collector's young generations, each once.

    What was there before ``gc.freeze()`` is no such object; the harness freezes before a program runs.
    """
    waiting = list(_roots())
    seen: set[torch.autograd.graph.Node] = set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        waiting.extend(parent for parent, _ in node.next_functions if parent is not None)
        if node.name() != _LEAF:
            yield node
        elif (behind := _node_behind_gradient(node.variable)) is not None:  # type: ignore[attr-defined]
            waiting.append(behind)


def _roots() -> Iterator[torch.autograd.graph.Node]:
    """The nodes that Python objects name."""
    roles: dict[type, str] = {}
    for candidate in gc.get_objects():
        kind = type(candidate)
        role = roles.get(kind)
        if role is None:
            role = roles[kind] = _role(kind)
        if role == "tensor":
            yield from _nodes_of(candidate)
        elif role == "node":
            yield candidate


def _role(kind: type) -> str:
    """ "tensor", "node" or "other"."""
    if issubclass(kind, torch.Tensor):
        return "tensor"
    return "node" if issubclass(kind, torch.autograd.graph.Node) else "other"


def _nodes_of(tensor: torch.Tensor) -> Iterator[torch.autograd.graph.Node]:
    """The node that made a tensor, and the one that made its gradient."""
    try:
        found = tensor.grad_fn, _node_behind_gradient(tensor) if tensor.is_leaf else None
    except RuntimeError:
        # A view that was changed in place in a way autograd forbids has no answer to give.
        return
    yield from (node for node in found if node is not None)


def _node_behind_gradient(leaf: torch.Tensor) -> torch.autograd.graph.Node | None:
    """What made a leaf's gradient: something only under ``create_graph``."""
    return None if leaf.grad is None else leaf.grad.grad_fn
