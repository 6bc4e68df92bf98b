"""On what a hook is registered: the way from there back to the object that it is a part of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from torchlint.facts.hooks.handles import PASSING
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.record_fields import given_for_field
from torchlint.facts.values.solve import Solution

PARTS = frozenset(
    ["modules", "named_modules", "children", "named_children", "get_submodule", "get_parameter", "parameters",
     "named_parameters", "values", "items", "get"]
)  # fmt: skip
"""Methods that give parts of an object which live as long as the object does."""


class Subjects:
    """Follows the subjects of hooks in one file."""

    def __init__(self, solution: Solution) -> None:
        """Read the file's values from ``solution``."""
        self.solution = solution
        self._followed: set[Value] = set()

    def way(self, subject: Value, chain: tuple[Value, ...]) -> Iterator[Value]:
        """The values from ``subject`` back to the object that it is a part of, through the calls of ``chain``."""
        return reached([subject], partial(self._one_back, chain))

    def chosen_by(self, part: Value) -> Iterator[Value]:
        """What says which part of an object a value is: ``parts[name]``, ``model.get_submodule(f"layers.{i}")``."""
        named: tuple[Value, ...] = ()
        if part.op is Op.SUBSCRIPT:
            named = self.solution.graph.indices.get(part, ())
        elif part.op is Op.CALL and gives_part(part):
            named = part.arguments if part.callee.op is Op.ATTRIBUTE else part.arguments[1:]
        return (source for one in named for source in one.computed_from())

    def inside(self, call: Value) -> Iterator[Value]:
        """The values on the way in the functions of the file in which a CALL looks something up, however deep."""
        return reached(self._result_of(call), lambda one: [*self._one_back((), one), *self._result_of(one)])

    def _result_of(self, value: Value) -> list[Value]:
        functions = self.solution.functions_of(value) if value.op is Op.CALL and self.looked_up_in(value) else []
        return [function.result for function in functions if function.result is not None]

    def _one_back(self, chain: tuple[Value, ...], value: Value) -> Sequence[Value]:
        if value.op is Op.ATTRIBUTE and (given := given_for_field(self.solution, value)) is not None:
            return given  # what a record is made with lives longer than that
        if value.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT):
            return value.inputs[:1]
        if value.op is Op.CONTAINER:
            return [*value.inputs, *(item for _, item in self.solution.held.get(value, ()) if item not in value.inputs)]
        if value.op is Op.PHI:
            return value.inputs
        if value.op is Op.PARAMETER:
            bindings = self.solution.callers.get(value.function, {})
            bound = (bindings[call].get(value) for call in chain if call in bindings)
            return [argument for argument in bound if argument is not None]
        if value.op is Op.CALL and gives_part(value):
            first = 1 if value.callee.name == "builtins.filter" else 0
            return value.callee.inputs if value.callee.op is Op.ATTRIBUTE else value.arguments[first : first + 1]
        return self.looked_up_in(value) if value.op is Op.CALL else ()

    def looked_up_in(self, call: Value) -> list[Value]:
        """What a CALL gives a function of the file that returns a part of it, and makes nothing new.

        A method is given its object: ``self.layers()``.
        """
        functions = self.solution.functions_of(call)
        if len(functions) != 1 or functions[0].result is None or call in self._followed:
            return []
        self._followed.add(call)
        way = list(self.way(functions[0].result, ()))
        makes = any(v.op is Op.CALL and not gives_part(v) and not self.looked_up_in(v) for v in way)
        self._followed.discard(call)
        if makes:
            return []
        positions = (position for position, one in enumerate(functions[0].parameters) if one in way)
        passed = (self.solution.passed(call, functions[0], position) for position in positions)
        return [given for given in passed if given is not None]


def gives_part(call: Value) -> bool:
    """Whether a CALL gives a part of an object, or the object itself, and makes nothing new."""
    callee = call.callee
    if callee.op is Op.ATTRIBUTE:
        return callee.name in PARTS or callee.name in SAME_OBJECT
    return callee.op is Op.EXTERNAL and callee.name in PASSING
