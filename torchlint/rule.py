"""What a rule is: a class that declares what it is about and turns facts into findings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from torchlint.diagnostic import Level, Memory

if TYPE_CHECKING:
    import libcst as cst

    from torchlint.facts import Facts
    from torchlint.screen import Trigger

__all__ = ["Edit", "Finding", "Fix", "Harm", "Level", "LineOf", "Memory", "Rule", "Step", "Symptom", "peak"]


class Harm(Enum):
    """What the runtime verifier measures to prove a rule (one probe for each)."""

    NODES = "autograd nodes kept from step to step"
    BYTES = "tensor bytes kept from step to step"
    DEVICE = "tensor bytes kept on the device from step to step"
    CYCLE = "bytes that only the cyclic collector frees"
    PEAK = "peak of tensor bytes"
    UNUSED = "bytes saved for a backward that never comes"
    CHURN = "operations or allocations repeated every step"
    HOST = "host heap that grows"
    WORKERS = "private memory of loader workers"


class Symptom(Enum):
    """What a user sees before knowing the cause; README's table is made from the rules' own declarations."""

    GROWS_EVERY_STEP = "GPU memory grows every step"
    DIES_AT_VALIDATION = "it dies at the first validation or prediction"
    NOT_FREED = "memory is not freed after `del`"
    HOST_GROWS = "host memory grows"
    WORKERS_GROW = "data loader workers grow"
    SLOW = "every step is slower than it should be"


@dataclass(frozen=True)
class Edit:
    """One change of the tree.

    Attributes:
        node: the node to change, by identity.
        build: takes the node as inner edits have left it and returns what stands in its place; a statement may
            be replaced by several (a ``FlattenSentinel``) or removed (``RemovalSentinel``).
    """

    node: cst.CSTNode
    build: Callable[[cst.CSTNode], cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel]


@dataclass(frozen=True)
class Fix:
    """How a finding is repaired: edits that belong together, and whether they are safe.

    Attributes:
        title: what it does, in the imperative.
        edits: all are applied or none.
        safe: True when results, formatting and comments are kept for certain.
        needs_torch: True when the edits say ``torch`` and the file may have to import it first.
    """

    title: str
    edits: tuple[Edit, ...]
    safe: bool
    needs_torch: bool = False


@dataclass(frozen=True)
class Step:
    """One step of a finding's evidence: a node and what happens there."""

    node: cst.CSTNode
    text: str


@dataclass(frozen=True)
class LineOf:
    """The line on which a node begins, or where it ``ends``, to be written into a message once it is known."""

    node: cst.CSTNode
    ends: bool = False


@dataclass(frozen=True)
class Finding:
    """What a rule says of one place.

    Attributes:
        node: the statement (or function) it stands on; the report names that node's own first line.
        message: one line, in pieces: who holds, which memory, what to write.
        level: of this finding.
        memory: which memory is kept or wasted.
        evidence: the chain that led here.
        fix: the automatic repair, or None when the message can only suggest.
        explained_by: the code of the rule that names the same cause elsewhere, if any.
    """

    node: cst.CSTNode
    message: tuple[str | LineOf, ...]
    level: Level
    memory: Memory
    evidence: tuple[Step, ...] = ()
    fix: Fix | None = None
    explained_by: str | None = None


def peak(
    statement: cst.CSTNode,
    message: tuple[str | LineOf, ...],
    *,
    note: bool,
    evidence: tuple[Step, ...],
    fix: Fix | None = None,
) -> Finding:
    """What is said of a statement that makes memory peak and keeps nothing: a warning, or only a note.

    Args:
        statement: the statement (or function) it stands on.
        message: one line, in pieces.
        note: True where it is in doubt, or costs little.
        evidence: the chain that led here.
        fix: the automatic repair, if any.
    """
    level = Level.NOTE if note else Level.WARNING
    return Finding(statement, message, level, Memory.PEAK, evidence, fix)


class Rule(ABC):
    """The base class of a rule: one class in one file of ``rules/``, stateless.

    The docstring of a subclass is its documentation, in the parts *What it does*, *Why is this bad?*, *Example*,
    *Use instead*, *When it is not a leak*, *Fix safety*, *References*; ``torchlint rule CODE`` prints it.
    """

    code: ClassVar[str]
    """"TLK" and three digits."""
    name: ClassVar[str]
    """Lower-case words with dashes."""
    level: ClassVar[Level]
    """The gravest level that a finding of this rule can have."""
    harms: ClassVar[tuple[Harm, ...]]
    """What the verifier measures to prove it."""
    symptoms: ClassVar[tuple[Symptom, ...]]
    """What a user sees."""
    triggers: ClassVar[tuple[Trigger, ...]]
    """What a file must hold before the rule can find anything in it; the screen is derived from these."""
    preview: ClassVar[bool] = False
    """True when the rule runs only with ``--preview``."""
    unseen: ClassVar[bool] = False
    """True as long as no finding in real code was read and judged true: its programs alone prove it."""

    @abstractmethod
    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield the findings of this rule in one file; any order, the engine sorts."""
