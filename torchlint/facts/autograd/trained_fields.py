"""What records are made with for fields on which a backward goes over: the loss terms of a step's named tuple."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from torchlint.facts.autograd.flows import Flows
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.record_fields import is_read_where_made


class TrainedFields:
    """Answers for the records of one file which of what they hold the program trains on."""

    def __init__(self, flows: Flows) -> None:
        """Look when first asked."""
        self._flows, self._solution = flows, flows.solution

    @cached_property
    def given(self) -> frozenset[Value]:
        """What records are made with for such fields."""
        return frozenset(one for values in self._by_field.values() for one in values)

    @cached_property
    def read_later(self) -> frozenset[Value]:
        """The same for records that are read by other code than makes them, and what callers pass for it."""
        fields = self._by_field.items()
        later = [given for field, given in fields if not is_read_where_made(self._solution, field, given)]
        return frozenset(reached((one for given in later for one in given), self._passed_for))

    @cached_property
    def _by_field(self) -> dict[Value, Sequence[Value]]:
        trained = self._flows.trained  # the fields are met on the way from the backwards
        return {field: given for field, given in self._flows.ancestry.given_for_fields.items() if field in trained}

    def _passed_for(self, value: Value) -> Sequence[Value]:
        return self._solution.arguments_of(value) if value.op is Op.PARAMETER else ()
