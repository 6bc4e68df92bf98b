"""Terms of what a function returns and another file runs a backward over: they have a graph, or would train nothing.

``return rec + self.weight * kl`` in the file of an objective: the loop that trains on it stands elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchlint.facts.autograd.returned_losses import SCALINGS, SUMS
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Derived, is_graphless
from torchlint.facts.values.extents import Size
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.literals import literal
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.summaries.imports import Found


def called_by(function: Function) -> str:
    """What other files call to run a function; a forward, too, is run by who calls the object: ``Criterion()``."""
    return f"{function.owner.name}()" if function.owner is not None and is_forward(function) else function.asked_as


def is_trained_by_others(facts: Facts, value: Value) -> bool:
    """Whether a value is a term of what its function returns, which other files alone call in a loop and train on.

    It is computed of what the function is given, and of no network that it runs: of data alone it would be no term.
    """
    function = value.function
    is_own = not function.is_foreign and not function.is_generator and function.name != "<lambda>"
    if not is_own or function.result is None or facts.solution.callers_in_file(function):
        return False
    if value not in _terms(facts, function) or not facts.modes.records(value):
        return False
    name = called_by(function)
    if facts.others_train_on_result(name) and facts.repeats(name):
        return True
    return any(_is_trained_below(one, function.name) for one in _inheriting(facts, function))


def is_term_of_older_object(facts: Facts, value: Value) -> bool:
    """Whether a value in a method is such a term, and no other file makes the object in a loop, for each step anew."""
    owner = value.function.owner
    return owner is not None and is_trained_by_others(facts, value) and not facts.repeats(owner.name)


def _inheriting(facts: Facts, function: Function) -> Sequence[Found]:
    """The classes of other files whose objects are called to run a forward that stands in this one."""
    owner = function.owner if is_forward(function) else None
    return facts.derived_elsewhere(owner.name) if owner is not None else ()


def _is_trained_below(derived: Found, method: str) -> bool:
    """Whether a class has a method of its base, and other files call one object of it in a loop and train on that."""
    summary, name = derived.summarise(), f"{derived.name}()"
    own = {one.name for cls in (summary.classes if summary else ()) if cls.name == derived.name for one in cls.methods}
    is_inherited = summary is not None and method not in own
    is_called = is_inherited and derived.imports.train_on_result(name) and derived.imports.repeats(name)
    return is_called and not derived.imports.repeats(derived.name)


def _terms(facts: Facts, function: Function) -> Iterator[Value]:
    """What a function returns on each path, and the numbers with a graph that it adds up to return that."""
    for term in reached(choices(function.result), lambda one: _summands(facts, one)):
        is_computed = term.op is Op.OPERATION or (term.op is Op.CALL and _is_loss(facts, term))
        if is_computed and not all(map(is_graphless, facts.solution.final(term))) and _is_of_given(facts, term):
            yield term


def _is_loss(facts: Facts, call: Value) -> bool:
    """Whether a CALL gives a number, or what functions of the project compute of what they are given."""
    is_computed = any(isinstance(atom, Derived) for atom in facts.solution.final(call))
    is_own = bool(facts.solution.functions_of(call)) and is_computed
    return is_own or facts.extents.of(call) is Size.REDUCED


def _summands(facts: Facts, value: Value) -> Sequence[Value]:
    """What a sum is of; what is scaled, where nothing else of it is computed of what the function is given."""
    if value.op is Op.PHI or (value.op is Op.OPERATION and value.name in SUMS):
        return value.inputs
    if value.op is Op.OPERATION and value.name in SCALINGS:
        given = [one for one in value.inputs if _is_of_given(facts, one)]
        return given if len(given) == 1 else ()
    return ()


def _is_of_given(facts: Facts, value: Value) -> bool:
    """Whether a value is computed of what its function is given, its own object and settings left out."""
    own = value.function.parameters[1 if value.function.owner is not None and not value.function.is_static else 0 :]
    given = (one for one in own if not isinstance(literal(facts.solution, one), int | float | str))
    return not facts.flows.ancestry.of(value).isdisjoint(given)
