"""Fields of the very records that a value may be: ``batch.reward`` of a batch that a replay memory has made anew.

All objects of a class share what is known of its attributes. Of a named tuple or a data class, which take what they are
made with, the calls that made the one at hand say more.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import ClassReference
from torchlint.facts.values.graph import Class, Function, Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.parameters import gathers
from torchlint.facts.values.reaching import ends

if TYPE_CHECKING:
    from torchlint.facts.values.known import Known

INITIALIZER = "__init__"


def given_for_field(solution: Known, field: Value) -> list[Value] | None:
    """What the records were made with of which an ATTRIBUTE is read.

    Args:
        solution: knows what functions return, who calls them, and which class is called.
        field: the ATTRIBUTE.

    Returns:
        what each of the calls that may have made the record has passed for it; None where one is not seen, or where
        the class is none that only takes what it is given.
    """
    kept = stored_at(solution, field)
    if len(kept) != 1 or not _is_of_record(kept[0]):
        return None
    initializer = kept[0].function
    made = list(ends([field.inputs[0]], partial(_behind, solution, initializer)))
    if any(call.function.is_foreign for call in made):
        return None  # of another file a summary says what is made there, and not of what
    passed = [solution.callers.get(initializer, {}).get(call, {}).get(kept[0]) for call in made]
    given = [one for one in passed if one is not None and not gathers(one)]
    return given if made and len(given) == len(made) else None


def _is_of_record(kept: Value) -> bool:
    """Whether a value is a parameter of an ``__init__`` that nobody wrote: of a named tuple, a data class."""
    return kept.op is Op.PARAMETER and kept.function.name == INITIALIZER and not kept.function.is_written


def _behind(solution: Known, initializer: Function, value: Value) -> Sequence[Value]:
    """What a record may be, one step back; nothing for the call that makes it, and for what is not seen."""
    if _makes(solution, initializer.owner, value):
        return ()
    if value.op is Op.PARAMETER:
        return solution.arguments_of(value)
    if value.op in (Op.PHI, Op.NARROWED):
        return value.inputs
    if value.op in (Op.READ, Op.ATTRIBUTE):
        return stored_at(solution, value)
    results = [function.result for function in solution.functions_of(value)] if value.op is Op.CALL else []
    return [one for one in results if one is not None] if None not in results else ()


def _makes(solution: Known, cls: Class | None, call: Value) -> bool:
    """Whether a CALL makes an object of a class."""
    atoms = solution.final(call.callee) if call.op is Op.CALL else ()
    return bool(atoms) and all(isinstance(atom, ClassReference) and atom.cls is cls for atom in atoms)
