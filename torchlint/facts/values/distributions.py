"""Distributions of torch: objects that hold their parameters, and with them their graph.

A distribution made of live parameters is a :class:`Carrier`; its log probabilities, its entropy and its reparametrised
samples have the graph of the parameters, while what ``sample`` draws has none.

Source: https://docs.pytorch.org/docs/stable/distributions.html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchlint.facts.values.carriers import DISTRIBUTIONS
from torchlint.facts.values.differentiation import differentiate, live
from torchlint.facts.values.domain import (
    BOTTOM,
    NO_GRAPH,
    UNKNOWN,
    Abstract,
    Atom,
    Carrier,
    Derived,
    History,
    Tensor,
    is_live,
)
from torchlint.facts.values.graph import Mode, Op, Value
from torchlint.facts.values.torch_calls import contents_of

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

DIFFERENTIABLE = frozenset(["log_prob", "entropy", "rsample", "cdf", "icdf", "perplexity"])
"""Methods that compute from the parameters, differentiably."""

DRAWN = frozenset(["sample", "sample_n"])
"""Methods that draw without gradients."""


def made(solution: Solution, call: Value, name: str, arguments: Iterable[Abstract]) -> Abstract | None:
    """What a CALL of something in ``torch.distributions`` gives; None when ``name`` is of another module.

    Args:
        solution: is asked what containers hold.
        call: the CALL.
        name: the full dotted name of what it calls.
        arguments: the abstract values of its arguments.
    """
    if not name.startswith(DISTRIBUTIONS):
        return None
    given = [contents_of(solution, call, abstract) for abstract in arguments]
    if not all(given):
        return BOTTOM
    last = name.rpartition(".")[2]
    trains = call.mode is not Mode.OFF and any(map(_trains, given))
    if last[:1].isupper():
        return frozenset([Carrier(call)]) if trains else UNKNOWN | _of_callers(call, given)
    return live(call) if trains and last == "kl_divergence" else UNKNOWN


def asked(call: Value, atom: Atom, name: str) -> Abstract | None:
    """What a method of ``atom`` gives, if it is one that a distribution has; else None."""
    # What a module of this file gives counts as a tensor; no tensor has these methods.
    if not (isinstance(atom, Carrier | Derived) or is_live(atom)) or call.mode is Mode.UNKNOWN:
        return None
    if name in DRAWN:
        return NO_GRAPH
    if name not in DIFFERENTIABLE:
        return None
    return differentiate(call, [frozenset([atom])]) if isinstance(atom, Derived) else live(call)


def _of_callers(call: Value, given: Iterable[Abstract]) -> Abstract:
    """What a distribution has of what callers pass: a graph, where that has one, as the tensors have it."""
    computed = (atom for abstract in given for atom in differentiate(call, [abstract]))
    return frozenset(atom for atom in computed if isinstance(atom, Derived))


def maker_of(abstract: Abstract) -> Value | None:
    """The CALL that makes a distribution with a graph: what it holds can be detached, and not itself; else None."""
    origins = (atom.origin for atom in abstract if isinstance(atom, Carrier))
    return next((made for made in origins if made.op is Op.CALL and made.callee.name.startswith(DISTRIBUTIONS)), None)


def _trains(abstract: Abstract) -> bool:
    """Whether an argument brings a graph or begins one on every path: one that is not known brings nothing."""
    brings = (History.LIVE, History.LEAF)
    return bool(abstract) and all(
        isinstance(atom, Carrier) or (isinstance(atom, Tensor) and atom.history in brings) for atom in abstract
    )
