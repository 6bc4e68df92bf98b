"""Views: parts of a tensor that keep the memory of all of it.

An index of numbers and slices gives a view, one of tensors, lists or masks a copy. A view is followed back to what was
computed, through other views; where anything on the way may copy, it is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import libcst as cst

from torchlint.facts.keeping.bases import Bases, index_of, slices_of
from torchlint.facts.keeping.gathering import iterated
from torchlint.facts.keeping.indices import Indices
from torchlint.facts.keeping.numbers import number_behind
from torchlint.facts.keeping.parts import Parts
from torchlint.facts.keeping.pieces import pieces_of
from torchlint.facts.keeping.ways import (
    OWN,
    PARTS,
    RESHAPED,
    View,
    Way,
    has_known_numbers,
    is_numbered,
    is_one_of_many,
    made,
    takes_first_row,
    unpadded,
)
from torchlint.facts.summaries.summary import ViewSummary
from torchlint.facts.turns.steps import Steps
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Container, Plain
from torchlint.facts.values.graph import Function, Kind, Op, Value
from torchlint.facts.values.homes import is_data_of_tensor, stored_at
from torchlint.facts.values.novelty import unpacked
from torchlint.facts.values.solve import Solution
from torchlint.facts.values.yielded_items import yielded_item

_Step = tuple[str, Value | None]
"""How a value comes of another one, and of which; see :meth:`Views._view`."""


class Views:
    """Answers which values of one file are views of a part."""

    def __init__(self, solution: Solution, steps: Steps, *, windows: bool = False) -> None:
        """Look at the values of ``solution``; with ``windows`` also ``x[:n]`` and ``x[i : i + n]`` are parts."""
        self.solution = solution
        self.windows = windows
        self.steps = steps
        self.bases = Bases(solution, steps)
        self.indices = Indices(solution)
        self.parts = Parts(solution, self.bases, self.indices, windows=windows)
        self._followed: set[Value] = set()

    def of(self, value: Value) -> View | None:
        """The tensor of which ``value`` is a part, None for a tensor of its own or where that is not certain."""
        found = self._walk(value)
        if found is None:
            return None
        base, parts = found.base, found.parts
        if not self.windows and any(is_one_of_many(p, found) for p in parts if self._goes_over(p)):
            return None  # window after window they may be all of it
        if not self.windows and not (has_known_numbers(found) or any(map(self.indices.is_picked, parts))):
            return None  # and so may row after row
        if not parts or not self._is_tensor(found) or self._is_only_row(found):
            return None
        width = self.bases.width(base)
        if width == 1 and all(self.parts.selects_column(part) for part in parts):
            return None
        by_width = width is not None and not all(map(self.indices.is_window, parts))
        sure = not found.is_choice and (by_width or any(self.parts.surely_smaller(part, base) for part in parts))
        return View(made(base), parts[-1], sure, found.entered.get(base.function), found.numbers)

    def is_chosen(self, view: View) -> bool:
        """Whether a number that is written, or a box, says what part is taken, and not what goes over all of them."""
        return is_numbered(view.part) or self.indices.is_crop(view.part) or self.indices.is_picked(view.part)

    def _goes_over(self, part: Value) -> bool:
        """Whether a part is a window that may go over all of the tensor."""
        return self.indices.is_window(part) and not self.indices.is_picked(part)

    def given_by(self, function: Function) -> ViewSummary | None:
        """Of which parameter a function returns a view, whatever is passed for it, or that it is a part of its own."""
        result = function.result if not function.is_generator else None
        several = unpadded(choices(result))
        one = several[0] if len(several) == 1 else self._one_of_parts(several, [self._view(one, {}) for one in several])
        if one is None:
            return None
        given = self.of_given(one, function)
        return given if given is not None and not given.is_row else self._of_own(one, function)

    def _of_own(self, value: Value, function: Function) -> ViewSummary | None:
        """``return net(x)[:, 0]``: a part of a tensor that a function makes, of which nobody else has all."""
        view = self.of(value)
        if view is None or view.base.op is not Op.CALL or view.base.function is not function:
            return None
        return ViewSummary(OWN, is_part=True, of_tensor=True, is_smaller=view.surely_smaller)

    def of_given(self, value: Value, function: Function) -> ViewSummary | None:
        """The parameter of a function of which ``value`` is a view, whatever is passed for it."""
        found = self._walk(value, function.parameters)
        if found is None or found.base not in function.parameters:
            return None
        if any(map(self.indices.is_window, found.parts)):
            return None
        is_item = not found.parts and any(value.op is Op.ELEMENT for value in found.values)
        is_row = is_item or not has_known_numbers(found)
        return ViewSummary(
            position=function.parameters.index(found.base),
            is_part=bool(found.parts) or is_row,
            of_tensor=any(map(self.parts.says_tensor, found.parts)),
            is_smaller=any(self.parts.surely_smaller(part, found.base) for part in found.parts),
            is_row=is_row,
        )

    def taken_elsewhere(self, value: Value, told: ViewSummary) -> View | None:
        """The part of ``value`` that a function of another file takes of it; see :meth:`of`."""
        found = self._walk(value)
        if found is None or not (told.of_tensor or self._is_tensor(found)):
            return None
        if self.bases.has_one_row(found.base) and not found.parts:
            return None
        return View(made(found.base), value, told.is_smaller, found.entered.get(found.base.function))

    def base_of(self, value: Value) -> Value | None:
        """What holds the memory of ``value``, whether it is all of it or a part."""
        found = self._walk(value)
        return made(found.base) if found is not None else None

    def _walk(self, value: Value, ends: Sequence[Value] = ()) -> Way | None:
        """What is behind views, as far back as to one of the ``ends``; None when all is copied."""
        parts: list[Value] = []
        entered: dict[Function, Value] = {}
        numbers: list[Value] = []
        seen: set[Value] = set()
        is_squeezed, is_choice = False, False
        while value not in seen:
            seen.add(value)
            row = self._row_of(value, ends)
            kind, source = row or self._given(value, entered) or self._view(value, entered)
            kind = "none" if value in ends else kind
            if kind == "none" or (kind == "maybe" and parts):
                return Way(value, tuple(parts), is_squeezed, is_choice, entered, numbers, seen)
            if kind == "own":
                return Way(value, (*parts, value), is_squeezed, is_choice, entered, numbers, seen)
            if kind in ("unknown", "maybe") or source is None:
                return None
            is_choice |= kind == "choice"
            if kind == "part":
                parts.append(value)
                numbers += self._numbers(value, entered)
            if source.function is not value.function and (call := self._entering(value)) is not None:
                entered[source.function] = call
            if value.op is Op.CALL:
                is_squeezed |= bool(parts) and value.callee.name == "squeeze"
            value = source
        return None

    def _entering(self, value: Value) -> Value | None:
        """The call by which a value is what a function gives, or what a generator yields; None for any other value."""
        if value.op is Op.CALL:
            return value
        found = yielded_item(self.solution, value)
        return None if found is None else found.call

    def _row_of(self, value: Value, ends: Sequence[Value]) -> _Step | None:
        """The whole, if that is a tensor, of which a loop takes row after row where one of the ``ends`` is it."""
        is_row = value.op is Op.ELEMENT and value.inputs[0] in ends and self._is_walked(value)
        return ("whole", value.inputs[0]) if is_row else None

    def _given(self, value: Value, entered: dict[Function, Value]) -> _Step | None:
        """What a parameter is given by the very call through whose result its function was entered."""
        call = entered.get(value.function) if value.op is Op.PARAMETER else None
        given = self.solution.callers[value.function].get(call, {}).get(value) if call is not None else None
        return None if given is None else ("whole", given)

    def _view(self, value: Value, entered: Mapping[Function, Value]) -> _Step:
        """One step back: "whole" or "part" of the source, "none" for what is no view, "unknown".

        "own" is a part of what a function of another file makes.

        "maybe" is all of the source or a copy of it: as large as that, but whoever keeps it may keep nothing else.
        "choice" is the source, or something that is computed anew in its place.
        """
        if value.op is Op.SUBSCRIPT:
            return self._subscript(value, entered)
        if (item := unpacked(value)) is not value:
            return ("whole", item)
        if value.op is Op.ELEMENT:
            if (found := yielded_item(self.solution, value)) is not None:
                return ("whole", found.item)
            base = value.inputs[0]
            pieces = pieces_of(base)
            if pieces is None:
                rows = self.rows_of(value) or self.output_behind(value)
                return ("none", None) if rows is None else ("whole", rows)
            if value.loop is base.loop or self.windows:
                return ("part", pieces)
            return ("whole", pieces) if self._is_walked(value) else ("unknown", None)
        if value.op is Op.ATTRIBUTE:
            if value.name in ("T", "mT") or is_data_of_tensor(self.solution, value):
                return ("whole", value.inputs[0])
            output = self.output_behind(value)
            if output is None and self.solution.functions_of(value):
                return self._result(value, entered)  # a property
            return ("whole", output) if output is not None else self._place(value)
        if value.op is Op.PARAMETER:
            given = self.solution.arguments_of(value)
            return ("whole", given[0]) if len(given) == 1 else ("unknown" if given else "none", None)
        if value.op is Op.READ:
            return self._place(value)
        if value.op is Op.PHI:
            return self._joined(value, entered)
        return self._call(value, entered) if value.op is Op.CALL else ("none", None)

    def _joined(self, value: Value, entered: Mapping[Function, Value]) -> _Step:
        """One of several, each computed anew in the same turn: ``if rate != 16000: wave = resample(wave)``."""
        given = unpadded(choices(value))
        if len(given) == 1:
            return ("whole", given[0])
        views = [self._view(one, entered) for one in given]
        if value.loop is None or value not in value.loop.phis:
            if (part := self._one_of_parts(given, views)) is not None:
                return ("whole", part)
            if (part := self._only_part(given, views)) is not None:
                return ("choice", part)
        is_new = all(
            one.op in (Op.CALL, Op.OPERATION) and one.loop is value.loop and kind == "none"
            for one, (kind, _) in zip(given, views, strict=True)
        )
        is_new &= value.loop is None or value not in value.loop.phis
        return ("whole", given[0]) if given and is_new else ("unknown", None)

    def _one_of_parts(self, given: Sequence[Value], views: Sequence[_Step]) -> Value | None:
        """Of several parts of one tensor the one that may be all of it: ``h[:, 0] if first else h[:, -1]``."""
        if len(given) < 2 or len(set(views)) != 1 or views[0][0] != "part" or views[0][1] is None:
            return None
        source = views[0][1]
        return next((one for one in given if not self.parts.surely_smaller(one, source)), given[0])

    def output_behind(self, value: Value) -> Value | None:
        """What a module gives, where that is no single tensor and a value is an item of it, by a name or a number.

        ``model(**batch).hidden_states[layer]`` is a tensor of its own, or a view of one: it is no smaller than itself.
        What a recurrent layer gives first is known by itself.
        """
        if self.bases.is_sequence(value):
            return None
        while value.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT):
            given = self.solution.graph.indices.get(value, ()) if value.op is Op.SUBSCRIPT else ()
            if any(not isinstance(atom, Plain) for index in given for atom in self.solution.final(index)):
                return None
            value = unpacked(value) if unpacked(value) is not value else value.inputs[0]
        is_output = value.op is Op.CALL and self.steps.calls_module(value)
        return value if is_output and not self.bases.is_tensor(value) else None

    def rows_of(self, value: Value) -> Value | None:
        """The tensor of which a loop takes one row after the other, all of them together the whole."""
        base = value.inputs[0]
        if not self._is_walked(value):
            return None
        if self.bases.is_tensor(base):
            return base
        if value in self._followed:
            return None  # rows of rows of itself, as a function that calls itself for each item has them
        self._followed.add(value)
        walked = self._walk(base)
        self._followed.discard(value)
        return base if walked is not None and any(map(self.parts.says_tensor, walked.parts)) else None

    def _is_walked(self, item: Value) -> bool:
        """Whether a loop takes one ELEMENT after the other, or ``rows.extend(hidden)`` does."""
        if item in self.spread:
            return True
        base, loop = item.inputs[0], item.loop
        over = loop.iterable if loop is not None and loop is not base.loop else None
        return over is not None and base in iterated(over)

    @cached_property
    def spread(self) -> frozenset[Value]:
        """What stands for each item of what a list is extended by, or a dictionary updated with."""
        stores = (one for one in self.solution.graph.stores if one.kind is Kind.INSERT and one.syntax is None)
        return frozenset(one.value for one in stores if one.value.op is Op.ELEMENT and not one.is_item)

    def _place(self, value: Value) -> _Step:
        """What is stored there, if that is one thing; where nothing is, as for the weight of a layer, it is no view."""
        places = self.solution.read_from(value)
        stored = list(dict.fromkeys(stored_at(self.solution, value)))
        if len(stored) == 1 and len(places) == 1:
            return ("whole", stored[0])
        return ("unknown" if stored or value.op is Op.READ else "none", None)

    def _call(self, call: Value, entered: Mapping[Function, Value]) -> _Step:
        callee = call.callee
        name = callee.name.rpartition(".")[2]
        source = callee.inputs[0] if callee.op is Op.ATTRIBUTE else call.arguments[0] if call.arguments else None
        if callee.op is Op.ATTRIBUTE or callee.name == f"torch.{name}":
            if name in RESHAPED:
                return ("whole", source)
            if name in PARTS:
                return ("part", source)
            if name == "numpy":
                return ("unknown", None)  # an array, whose views are another matter
            if name in ("to", "cpu", "cuda", "float", "half", "double", "contiguous", "reshape", "flatten"):
                return ("maybe", None)
        functions = self.solution.functions_of(call)
        told = self.parts.told(call)
        if told is not None and told.position == OWN:
            return ("own", None)
        if told is not None:
            return ("part" if told.is_part else "whole", self.solution.passed(call, functions[0], told.position))
        return self._result(call, entered)

    def _result(self, call: Value, entered: Mapping[Function, Value]) -> _Step:
        """What the function of the file that a CALL, or the read of a property, runs gives, where that is a view."""
        functions = self.solution.functions_of(call)
        given = unpadded(choices(functions[0].result)) if len(functions) == 1 else []
        given = [one for one in given if one.name != "None"]
        if not given or call in self._followed or self.steps.calls_module(call):
            return ("none", None)  # a function that returns what it returns itself says nothing
        self._followed.add(call)
        within = {**entered, given[0].function: call}
        views = [self._view(one, within) for one in given]
        is_view = len(given) == 1 and views[0][0] in ("whole", "part")
        result = given[0] if is_view else self._one_of_parts(given, views)
        part = self._only_part(given, views) if result is None else None
        self._followed.discard(call)
        if part is not None:
            return ("choice", part)
        return ("none", None) if result is None else ("whole", result)

    def _only_part(self, given: Sequence[Value], views: Sequence[_Step]) -> Value | None:
        """Of what a value may be in one case or another the only part of a tensor, where all else is new."""
        if len(self._followed) > 1:
            return None  # in a function that another one calls
        kinds = [kind for kind, _ in views]
        is_only = len(given) > 1 and sorted(kinds) == [*["none"] * (len(given) - 1), "part"]
        return given[kinds.index("part")] if is_only else None

    def _is_only_row(self, found: Way) -> bool:
        """Whether all that is taken is the one row that there is: ``net(x[None])[0]``, but not a part of that."""
        if takes_first_row(found) and self.bases.may_have_one_row(found.base):
            return True  # who takes the first of many throws the others away
        if not self.bases.has_one_row(found.base) or found.is_squeezed:
            return False
        index = index_of(found.parts[-1])
        has_steps = len(index) > 2 or (len(index) > 1 and self.bases.has_steps(found.base))
        if has_steps and is_numbered(found.parts[-1]):
            return all(isinstance(one, cst.Slice) for one in index[1:])  # `hidden[0, -1]` is one step of those
        is_row = len(index) == 1 and is_numbered(found.parts[-1])
        return len(found.parts) == 1 or not is_row

    # -- an index -------------------------------------------------------------------------------------------------

    def _subscript(self, value: Value, entered: Mapping[Function, Value]) -> _Step:
        pieces = pieces_of(value.inputs[0])
        if pieces is not None:
            return ("part", pieces)
        if self.solution.may_be(value.inputs[0], Container):
            return ("none", None)  # an item of a tuple or a list, and not of a tensor
        indices = iter(self.solution.graph.indices.get(value, ()))
        kinds = [
            self.indices.of_range(element.slice, is_chosen=self.windows) if isinstance(element.slice, cst.Slice)
            else self.indices.of_index(element.slice, next(indices, None), entered)
            for element in slices_of(value)
        ]  # fmt: skip
        if "copy" in kinds or not kinds:
            return ("none", None) if kinds == ["copy"] else ("unknown", None)
        output = self.output_behind(value) if kinds == ["unknown"] else None
        if output is not None:
            return ("whole", output)
        if "unknown" in kinds:
            return ("unknown", None)
        return ("part" if "part" in kinds else "whole", value.inputs[0])

    def _numbers(self, part: Value, entered: Mapping[Function, Value]) -> list[Value]:
        """What computes the numbers by which a part is indexed; one that is written leaves the others no matter."""
        if is_numbered(part):
            return []
        behind = (number_behind(self.solution, i, entered) for i in self.solution.graph.indices.get(part, ()))
        return [number for number in behind if number is not None]

    # -- whether it is smaller -------------------------------------------------------------------------------------

    def _is_tensor(self, found: Way) -> bool:
        """Whether the base is a tensor, or has one that is gone through, and no tuple whose items are tensors."""
        attributes = (value for value in found.values if value.op is Op.ATTRIBUTE)
        return any(map(self.bases.is_tensor, (found.base, *attributes))) or any(
            map(self.parts.says_tensor, found.parts)
        )
