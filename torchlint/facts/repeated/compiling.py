"""Models that are compiled, traced or scripted again and again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.external_names import external_name
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.summaries.effects import Effect
from torchlint.facts.turns.changing import changes_with
from torchlint.facts.turns.handoffs import is_network, origins
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.graph import Function, Loop, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

COMPILERS: dict[str, str] = {
    "torch.compile": "compiles",
    "torch._dynamo.optimize": "compiles",
    "torch.jit.trace": "traces",
    "torch.jit.trace_module": "traces",
    "torch.jit.script": "compiles",
    "torch.jit.freeze": "compiles",
    "torch.jit.optimize_for_inference": "compiles",
    "torch.export.export": "traces",
    "torch.export.export_for_training": "traces",
    "torch.fx.symbolic_trace": "traces",
    "torch.fx.experimental.proxy_tensor.make_fx": "traces",
    "torch.onnx.export": "traces",
    "torch._dynamo.export": "traces",
}
"""Functions that turn a model into another form of it, and the word for what they do."""

GROWING = frozenset(
    ["torch.jit.trace", "torch.jit.trace_module", "torch.jit.freeze", "torch.jit.optimize_for_inference"]
)
"""Those whose results stay in the host's memory when nobody has them any more: 100 to 400 KB for a small model."""


FOUND_AGAIN = frozenset(["torch.compile", "torch._dynamo.optimize", "compile"])
"""Those that find what they compiled before by its code, and only wrap it anew: about a millisecond, and three objects
that stay (torch 2.13 on the CPU, 300 steps of a small network)."""


@dataclass(frozen=True)
class Compilation:
    """A model or function that is compiled, traced or scripted again and again.

    Attributes:
        at: the CALL that does, or the FUNCTION that a decorator of such a name compiles when it is defined.
        name: full dotted name of the compiler; "compile" for the method of a module.
        repeated_by: the loop each turn of which does, or the method that does with each call.
        by: what the call does by a function of another file; None where it does it itself.
    """

    at: Value
    name: str
    repeated_by: Loop | Function
    by: Effect | None = None

    @property
    def verb(self) -> str:
        """What it does: "compiles", "traces", "wraps"."""
        return "wraps" if self.is_found_again else COMPILERS.get(self.name, "compiles")

    @property
    def is_found_again(self) -> bool:
        """Whether what was compiled before is found again, and next to nothing is lost."""
        return self.name in FOUND_AGAIN

    @property
    def definition(self) -> cst.FunctionDef | None:
        """The function that a decorator compiles, None for a call."""
        return self.at.syntax if self.at.op is Op.FUNCTION and isinstance(self.at.syntax, cst.FunctionDef) else None

    @property
    def grows(self) -> bool:
        """Whether the host's memory grows each time."""
        return self.name in GROWING


def compilations(facts: Facts) -> list[Compilation]:
    """Everything that is compiled again and again; of nested calls the outermost."""
    found: dict[cst.CSTNode, Compilation] = {}
    for value in facts.graph.of(Op.CALL, Op.FUNCTION):
        name = _compiler(facts, value)
        if name is None:
            continue
        compilation = _repeated(facts, value, name)
        if compilation is not None:
            known = found.get(facts.statement_of(value))
            if known is None or not known.grows:
                found[facts.statement_of(value)] = compilation
    for effect in facts.effects.of(EffectKind.COMPILES):
        by = _repeated_by(facts, effect.call, effect.given)
        if by is not None:
            found.setdefault(facts.statement_of(effect.call), Compilation(effect.call, effect.done.name, by, effect))
    return list(found.values())


def compiles(facts: Facts, call: Value) -> bool:
    """Whether a CALL compiles, traces or scripts by a function of torch."""
    return external_name(facts, call) in COMPILERS


def _compiler(facts: Facts, value: Value) -> str | None:
    """What compiles at ``value``: a call, or a decorator without parentheses."""
    if value.op is Op.CALL:
        name = external_name(facts, value)
        if name in COMPILERS:
            return name
        is_method = value.callee.op is Op.ATTRIBUTE and value.callee.name == "compile" and value.is_bare
        return "compile" if is_method and is_network(facts, value.callee.inputs[0]) else None
    if value.op is Op.FUNCTION and isinstance(value.reference, Function):
        if value.reference.is_foreign:
            return None  # it was compiled where it is defined, once for all who import it
        return next((name for name in value.reference.decorators if name in COMPILERS), None)
    return None


def _repeated(facts: Facts, value: Value, name: str) -> Compilation | None:
    subjects = value.arguments[:1] if value.op is Op.CALL and name != "compile" else ()
    by = _repeated_by(facts, value, subjects)
    return None if by is None else Compilation(value, name, by)


def _repeated_by(facts: Facts, value: Value, subjects: tuple[Value, ...]) -> Loop | Function | None:
    repetition = facts.repetitions.of(value)
    if repetition is None or repetition.turn is Turn.HOLDS:
        return None
    by = repetition.by
    if isinstance(by, Loop):
        # Each of many models, or one for each shape, is compiled once.
        if any(_is_the_turns_own(facts, subject, by) for subject in subjects):
            return None
    elif not facts.solution.callers.get(by) and any(_is_given_to(facts, subject, by) for subject in subjects):
        return None  # each of its callers, in other files, may have another model
    return by


def _is_given_to(facts: Facts, subject: Value, function: Function) -> bool:
    """Whether what is compiled is what a function is given."""
    return any(origin in function.parameters for origin in origins(facts, subject))


def _is_the_turns_own(facts: Facts, subject: Value, loop: Loop) -> bool:
    """Whether the loop runs over models, or over classes of which each turn makes one."""
    return any(
        changes_with(part, loop)
        for origin in origins(facts, subject)
        for part in origins(facts, _maker(origin))
        if part.op is Op.ELEMENT
    )


def _maker(value: Value) -> Value:
    """What is called, be it by a method, to make a value; the value itself where it is no call: ``kind`` behind
    ``kind.from_pretrained(path).eval()``.
    """
    while value.op is Op.CALL or (value.op is Op.ATTRIBUTE and any(user.op is Op.CALL for user in value.users)):
        value = value.callee if value.op is Op.CALL else value.inputs[0]
    return value
