"""What a file hands to functions of other files that put it into containers: ``journal.note(weights)``.

What the function keeps is told by its summary; the call is where that happens again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.keeping.by_field import EACH
from torchlint.facts.keeping.own_results import measured_by_own
from torchlint.facts.keeping.unknown_items import read_of_unknown
from torchlint.facts.summaries.summary import CALLED, KeepSummary, item_named, method_in
from torchlint.facts.values.domain import Atom, Container, FunctionReference, Instance, Tensor, surely_graphless
from torchlint.facts.values.graph import Function, Key, Loop, Op, Place, Value
from torchlint.facts.values.homes import homes_of, targets_of
from torchlint.facts.values.literals import literal
from torchlint.facts.values.named_methods import callers_through
from torchlint.facts.values.overriding import is_super
from torchlint.facts.values.parameters import spread_into, star_of
from torchlint.facts.values.solve import Solution
from torchlint.facts.values.writing import Use, operands

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class KeptElsewhere:
    """A call hands something to a function of another file, which keeps it.

    Attributes:
        call: the call.
        function: what it calls.
        keep: what that keeps.
        given: what is handed over, as it is written in the call, or what is kept of that; see :attr:`KeepSummary.of`.
        holder: the object that keeps, the receiver of the call or one of its arguments; None for a global.
        homes: where what is kept lives.
        name: how the program writes what keeps it: ``meter`` of ``meter.update(loss)``, or the name of a global.
    """

    call: Value
    function: Function
    keep: KeepSummary
    given: Use
    holder: Value | None
    homes: tuple[Place | Value, ...]
    name: str

    def is_in_container(self, solution: Solution, *, or_view: bool = False) -> bool:
        """Whether a list, a dict or the like is known to keep what it is given as it is; ``or_view`` a part of that."""
        is_held = self.keep.is_shared or (or_view and self.keep.view is not None)
        return is_held and self.collects(solution)

    def collects(self, solution: Solution) -> bool:
        """Whether a list, a dict or the like is known to get one thing more each time, without a bound."""
        found = (solution.stored.get(home, ()) if isinstance(home, Place) else (home,) for home in self.homes)
        atoms = (atom for values in found for value in values for atom in solution.final(value))
        collects = self.keep.grows and not self.keep.bounded
        return collects and any(isinstance(atom, Container) for atom in atoms)

    def is_written_into_tensor(self, solution: Solution) -> bool:
        """``self.keys[rows] = keys``, where a class below has made the attribute a tensor: the numbers are copied."""
        found = (solution.stored.get(home, ()) if isinstance(home, Place) else (home,) for home in self.homes)
        atoms = [atom for values in found for value in values for atom in solution.final(value)]
        return self.keep.keyed and bool(atoms) and all(isinstance(atom, Tensor) for atom in atoms)

    def key(self, solution: Solution) -> Value | None:
        """The key that the call gives under which it is kept; None where that is not given."""
        return solution.passed(self.call, self.function, self.keep.keyed_by) if self.keep.keyed_by >= 0 else None

    def is_replaced(self, solution: Solution) -> bool:
        """Whether what is kept replaces what its key, or all names of a dict, had before: they are written here."""
        key = self.key(solution)
        if key is not None and isinstance(literal(solution, key), int | str):
            return True
        made = [atom.allocation for atom in solution.final(self.given.value) if isinstance(atom, Container)]
        keys = [key for one in made for key, _ in solution.held.get(one, ())]
        keys += [key for one in made for key in solution.fields.get(one, ())]
        return self.keep.own_keys and bool(keys) and all(isinstance(key, str) for key in keys)

    def field(self, solution: Solution) -> str:
        """The field of a record under which it is kept; "" where that is not known."""
        parameter = self.function.parameters[self.keep.position]
        given = solution.given_by(self.call, parameter) if star_of(parameter) else [self.given.value]
        names = self.keep.fields if self.keep.fields != (EACH,) else tuple(map(str, range(len(given))))
        if len(given) > len(names) or given.count(self.given.value) != 1 or spread_into(self.call):
            return ""
        return names[given.index(self.given.value)]

    def is_left_by(self, solution: Solution, reader: str) -> bool:
        """Whether a method of the object gives only other fields of its records on with their graphs."""
        read, field = dict(self.keep.fields_read).get(reader), self.field(solution)
        return read is not None and bool(field) and field not in read

    def wanting(self, solution: Solution) -> list[str]:
        """The readers that may give on what is kept, and not only other fields of its record."""
        return [name for name in self.keep.readers if not self.is_left_by(solution, name)]

    def is_let_go(self, solution: Solution) -> bool:
        """Whether the class that keeps it has another method which sets the attribute anew, after the beginning."""
        endings = solution.graph.foreign.endings
        return any(place in self.homes and name not in ("__init__", self.function.name) for place, name in endings)

    def outlives(self, facts: Facts, is_step: Callable[[Loop], bool] | None = None) -> bool:
        """Whether it is kept beyond a step; see :meth:`~torchlint.facts.turns.lifetimes.Lifetimes.outlives`."""
        return facts.lifetimes.outlives(list(self.homes), self.call.function, self.call.loop, is_step=is_step)


def kept_elsewhere(facts: Facts) -> Iterator[KeptElsewhere]:
    """Everything that functions of other files keep, by each call of this file and each argument."""
    solution = facts.solution
    # Asking for a method makes it, with what it keeps.
    for function, keeps in list(solution.graph.foreign.keeps.items()):
        for call in _calls(facts, function) if keeps else ():
            for keep in keeps:
                if _is_told_not_to(solution, call, function, keep):
                    continue
                for given in solution.given_by(call, function.parameters[keep.position]):
                    for use in _parts(facts, given, keep.of) if keep.of else [_written(call, given)]:
                        yield _kept(facts, call, function, keep, use)
                if keep.position != 0 or keep.into != 0 or not keep.of:
                    continue
                for own, given in measured_by_own(solution, call, function, keep):
                    yield _kept(facts, call, function, own, _written(call, given))
                receiver = solution.passed(call, function, 0)
                for use in _parts(facts, receiver, keep.of) if receiver and not method_in(keep.of) else ():
                    yield _kept(facts, call, function, keep, use)


def _written(call: Value, given: Value) -> Use:
    return next((use for use in operands(call) if use.value is given), Use(given, None))


def _parts(facts: Facts, given: Value, of: str) -> list[Use]:
    """What is kept of what is given: what is assigned to an attribute, an item of a dict, what a function returns.

    Of an object of which this file sets no such attribute it may read it: ``out.loss.backward()``.
    """
    held = [one for atom in facts.solution.final(given) for one in _items(facts.solution, atom)]
    if items := [value for key, value in held if isinstance(key, str) and item_named(key) == of]:
        return [_as_written(one, one.syntax) for one in items]
    if of.startswith("[") and (read := read_of_unknown(facts.graph, given, of)) is not None:
        return [Use(read, None)]
    if of.endswith(CALLED):
        functions = _called(facts.solution, given, method_in(of))
        results = (one for f in functions if f.result is not None for one in f.result.inputs)
        return [_as_written(one, one.syntax) for one in results]
    places = set(facts.solution.places(given, of))
    stores = (store for store in facts.graph.stores if store.attribute == of)
    set_here = [s for s in stores if not places.isdisjoint(targets_of(facts.solution, s))]
    made = (store for store in set_here if store.function.name != "__init__")
    if any(surely_graphless(facts.solution.final(store.value)) for store in made):
        return []  # it is detached, or made a number, before it is kept, for all that is known
    if set_here:
        return [_as_written(store.value, store.target) for store in set_here]
    return [Use(user, None) for user in given.users if user.op is Op.ATTRIBUTE and user.name == of][:1]


def _called(solution: Solution, given: Value, method: str) -> Iterator[Function]:
    """The functions that are given, or the methods of this file that objects have which are given."""
    for atom in solution.final(given):
        if isinstance(atom, FunctionReference) and not method:
            yield atom.function
        elif isinstance(atom, Instance) and method:
            found = atom.cls.method(method)
            yield from [found] if found is not None and not found.is_foreign else []


def _items(solution: Solution, atom: Atom) -> list[tuple[Key, Value]]:
    return solution.held.get(atom.allocation, []) if isinstance(atom, Container) else []


def _as_written(value: Value, node: cst.CSTNode | None) -> Use:
    return Use(value, node if isinstance(node, cst.BaseExpression) else None)


def _is_told_not_to(solution: Solution, call: Value, function: Function, keep: KeepSummary) -> bool:
    """``normalizer(states, update=False)``: whether the call switches off what keeps."""
    told = solution.passed(call, function, keep.only_if) if keep.only_if > 0 else None
    return told is not None and literal(solution, told) is False


def _calls(facts: Facts, function: Function) -> list[Value]:
    """The calls of a function in this file, in source order, those left out that only hand on what others give."""
    return [call for call in facts.solution.callers_in_file(function) if not callers_through(facts.solution, call)]


def _kept(facts: Facts, call: Value, function: Function, keep: KeepSummary, given: Use) -> KeptElsewhere:
    holder = None if keep.into < 0 else facts.solution.passed(call, function, keep.into)
    homes: list[Place | Value] = []
    if keep.into == 0 and function.owner is not None:
        homes.append(Place(function.owner.root(), keep.attribute))
    elif holder is not None:
        homes += homes_of(facts.solution, holder)
    name = _name(facts, call, holder, keep) or function.parameters[keep.into].name  # its own, by default
    return KeptElsewhere(call, function, keep, given, holder, tuple(homes), name)


def _name(facts: Facts, call: Value, holder: Value | None, keep: KeepSummary) -> str:
    if holder is None:
        return keep.attribute
    node = call.syntax.func if isinstance(call.syntax, cst.Call) else None
    if holder is call.callee and node is not None:
        return facts.shortly(node)
    if holder.function.is_foreign and isinstance(node, cst.Attribute):
        return facts.shortly(node.value)  # it is in a list of that
    if call.callee.inputs and holder is call.callee.inputs[0] and isinstance(node, cst.Attribute):
        own = own_object(call, holder) if keep.into == 0 else None
        return facts.shortly(node.value) if own is None else f"{own.name}.{keep.attribute}"
    return facts.name_in(call, holder)


def own_object(call: Value, holder: Value) -> Value | None:
    """The ``self`` of the method that calls one which it inherits; None where ``holder`` is another object."""
    own = call.function.parameters[0] if call.function.owner is not None and call.function.parameters else None
    return own if holder is own or is_super(holder) else None
