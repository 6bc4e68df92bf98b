"""Models that are given up and stay in memory, since something else still holds them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.host.emptying import tidies
from torchlint.facts.keeping.asking_back import AskingBack
from torchlint.facts.keeping.given_models import GivenModels, before_rest
from torchlint.facts.keeping.handed_over import HandedOver
from torchlint.facts.keeping.held_by_parts import HeldByParts
from torchlint.facts.keeping.holders import Holders, is_none
from torchlint.facts.keeping.holding_attributes import HeldByBases
from torchlint.facts.keeping.lent_parts import LentParts
from torchlint.facts.keeping.letting_go import LettingGo
from torchlint.facts.keeping.listed_parts import module_of
from torchlint.facts.keeping.reading_on import is_read_after, is_written_after
from torchlint.facts.keeping.refusing import is_refused_after
from torchlint.facts.keeping.taken_beside import TakenBeside
from torchlint.facts.keeping.taken_out import TakenOut
from torchlint.facts.keeping.unloaded import Holder, Unloading
from torchlint.facts.values.choices import choices, joined_into
from torchlint.facts.values.domain import Instance
from torchlint.facts.values.graph import Drop, Function, Kind, Op, Place, Value
from torchlint.facts.values.homes import allocations_of, homes_of, targets_of
from torchlint.syntax.tree import branches

if TYPE_CHECKING:
    from torchlint.facts import Facts

LOOKING = frozenset(["parameters", "named_parameters", "buffers", "named_buffers"])
"""Methods of a model that only look at it: who counts its weights does not want it kept."""


class Unloadings:
    """Finds them in one file."""

    def __init__(self, facts: Facts) -> None:
        """Ask ``facts`` who holds what."""
        self.facts = facts
        self.solution = facts.solution
        self.holders = Holders(facts)
        self.asking = AskingBack(facts)
        self.lent = LentParts(facts, self.holders, self.asking)
        self.taken_out = TakenOut(facts, self.asking)
        self.taken_beside = TakenBeside(facts, self.asking, self.holders)
        self.parts = HeldByParts(facts, self.holders)
        self._letting_go = LettingGo(facts, self.holders)
        self._handed = HandedOver(facts, self.holders)
        self._given = GivenModels(facts, self.asking, self.holders)
        self._bases = HeldByBases(facts, self._letting_go)

    def found(self) -> list[Unloading]:
        """Each model that is given up while something else holds it, at most one for each statement."""
        found: dict[cst.CSTNode, Unloading] = {}
        deleted: set[tuple[Function, str]] = set()
        for drop in self.facts.graph.drops:
            attribute = (drop.function, drop.path)
            unloading = self._of(drop) if attribute not in deleted else None
            if unloading is not None:
                found.setdefault(drop.statement, unloading)
                # What is deleted and then set to None is given up once.
                if drop.is_deleted and drop.holder is not None:
                    deleted.add(attribute)
        return list(found.values())

    def _of(self, drop: Drop) -> Unloading | None:
        if drop.function.name == "__init__" or self._is_at_end_of_test(drop):
            return None
        if drop.holder is not None:
            return self._of_attribute(drop)
        value = drop.value
        if value is None or is_none(value):
            return None
        if value.op is Op.READ and value.place is not None and value.place.owner is self.facts.graph.module:
            if drop.function is not self.facts.graph.module:
                return self._of_global(drop, value)
        if self._is_moved_away(value, drop):
            return None
        module = module_of(self.facts, self.asking, drop)
        if module is not None:
            return Unloading(drop, (module,))
        owner = self.lent.owner_of(drop)
        if owner is not None:
            return Unloading(drop, (Holder(owner[0], "part", owner[1]),))
        if self._given.is_one_of_names(drop, value):
            return self._given.of_items(drop, value)
        source = self.taken_out.holder_of(drop) or self.taken_beside.holder_of(drop)
        if source is not None:
            return Unloading(drop, (source,))
        given = before_rest(value)
        if given.op is Op.PARAMETER and given.function is drop.function:
            return self._given.of(drop, given)
        bound = self._bound_on_its_path(value, drop)
        if not self.holders.is_model(bound):
            names = tuple(self._named_beside(bound, drop))
            return Unloading(drop, names) if names else None
        held = self.holders.objects(bound)
        # What was computed before the object was made anew cannot hold it.
        early = bound.index if bound is not value else 0
        holders = tuple(holder for holder in self._in_variables(drop, held) if holder.made.index >= early)
        if not holders and self.asking.is_asked_after(drop):
            holders = tuple(self._handed.to(drop, held, partial(self._keeps_on, held=held, drop=drop)))
        return Unloading(drop, holders) if holders and self._is_needed_after(drop) else None

    def _named_beside(self, listed: Value, drop: Drop) -> Iterator[Holder]:
        """The names that models still have which were listed for one, where the list alone is given up for memory.

        ``encoders = [one, two]``, and after ``del encoders`` the cache is emptied.
        """
        is_list = listed.op is Op.CONTAINER and isinstance(listed.syntax, cst.List | cst.Tuple)
        if not is_list or not self.asking.is_asked_after(drop):
            return
        for name, value in drop.bound.items():
            if value in listed.inputs and self.holders.is_model(value):
                if not is_read_after(self.facts, name, value, drop) and not self._is_dropped_after(name, value, drop):
                    yield Holder(name, "listed", value)

    def _is_at_end_of_test(self, drop: Drop) -> bool:
        """Whether a test clears up, and looks at no memory: nothing follows in it, or frees a cache."""
        return self.facts.unit_tests.may_have(drop.function) and not any(
            tidies(self.facts, call) for call in self._calls(drop.function)
        )

    def _bound_on_its_path(self, value: Value, drop: Drop) -> Value:
        """What a variable holds where it is given up: under ``if x: del m`` what ``if x: m = load()`` bound before."""
        if value.op is not Op.PHI:
            return value
        tests = {self.facts.code(condition.test) for condition in self._conditions(drop.statement)}
        for choice in choices(value):
            if choice.statement is not None and choice.function is drop.function:
                if any(self.facts.code(condition.test) in tests for condition in self._conditions(choice.statement)):
                    return choice
        return value

    def _is_moved_away(self, value: Value, drop: Drop) -> bool:
        """Whether the model is moved to the host (or to nowhere) before it is given up: the device is free then."""
        objects = self.holders.objects(value)
        for call in self._calls(drop.function):
            if call.index < drop.index and call.callee.op is Op.ATTRIBUTE and call.callee.name in ("cpu", "to"):
                written = [self.facts.code(a.syntax) for a in call.arguments if a.syntax is not None]
                away = call.callee.name == "cpu" or any("cpu" in text or "meta" in text for text in written)
                if away and call.is_bare and objects & self.holders.objects(call.callee.inputs[0]):
                    return True
        return False

    # -- variables ------------------------------------------------------------------------------------------------

    def _in_variables(self, drop: Drop, held: frozenset[Value]) -> Iterator[Holder]:
        collects = self.asking.is_asked_after(drop)
        for name, value in drop.bound.items():
            if name == drop.path or name.startswith(f"{drop.path}.") or is_none(value):
                continue
            how = self.holders.how(value, held)
            if not how or not (name.isidentifier() or how == "container") or self._is_own(value):
                continue
            # What an attribute was at that time is not known among all that it ever is.
            if how == "itself" and drop.holder is None and not self.holders.is_sure(value, held):
                continue
            if how == "function" and self.holders.is_let_go(value, held, Place(drop.function, drop.path)):
                continue
            if how == "wrapper" and self._letting_go.has_let_go(value, held, drop.function, self._asked_back_at(drop)):
                continue
            if how == "container":
                wanted = not collects and is_written_after(name.partition(".")[0], drop)
                if (
                    wanted
                    or self._handed.is_emptied(value)
                    or self._is_born_with(value, drop)
                    or self._is_run(value, held, drop)
                ):
                    continue
                if self._is_filled_on_another_path(value, held, drop):
                    continue
            elif is_read_after(self.facts, name, value, drop):
                continue
            if not self._is_dropped_after(name, value, drop):
                yield Holder(name, how, value)

    def _is_own(self, value: Value) -> bool:
        """Whether a value is the object whose method runs, or a class or function of the file."""
        function = value.function
        is_first = function.owner is not None and bool(function.parameters) and function.parameters[0] is value
        return is_first or value.op is Op.CLASS

    def _is_filled_on_another_path(self, container: Value, held: frozenset[Value], drop: Drop) -> bool:
        """Whether the model is put into a container, and given up, each under a condition of its own.

        What they have to do with each other is not followed, and mostly the one excludes the other.
        """
        made = set(allocations_of(self.solution, container))
        if any(self.holders.objects(item) & held for one in made for item in one.inputs):
            return False
        stores = [s for s in self.facts.graph.stores if s.kind is Kind.INSERT and s.holder is not None]
        filling = [s for s in stores if s.holder and made & set(allocations_of(self.solution, s.holder))]
        around = self._conditions(drop.statement)
        return (
            bool(around)
            and bool(filling)
            and all((own := self._conditions(store.statement)) and not own & around for store in filling)
        )

    def _conditions(self, node: cst.CSTNode) -> set[cst.If]:
        """The conditions under which a statement stands in its function."""
        return {test for test, _ in branches(self.facts.parents, node)}

    def _is_run(self, container: Value, held: frozenset[Value], drop: Drop) -> bool:
        """Whether one of the models in a container is called later, or who knows when: it is wanted."""
        homes = set(homes_of(self.solution, container)[1:])
        for call in self.facts.calls():
            if call.callee.name in LOOKING:
                continue
            part = call.callee.inputs[0] if call.callee.op is Op.ATTRIBUTE else call.callee
            called: Value | None = None
            while part.op in (Op.ELEMENT, Op.SUBSCRIPT):
                part, called = part.inputs[0], part
            if called is None or not homes & set(homes_of(self.solution, part)):
                continue
            is_over = call.function is drop.function and call.index < drop.index and drop.loop is None
            is_over = is_over or is_refused_after(self.facts, call, drop)
            if not is_over and self._may_be(called, container, held):
                return True
        return False

    def _may_be(self, item: Value, container: Value, held: frozenset[Value]) -> bool:
        """Whether what is taken out of a container by a key is one of ``held``, for all that is seen."""
        for made in allocations_of(self.solution, container):
            if made.op is Op.CONTAINER and item.keys[0] is not None and item.keys[0] in made.keys:
                if not self.holders.objects(made.inputs[made.keys.index(item.keys[0])]) & held:
                    continue
            return True
        return False

    def _is_born_with(self, container: Value, drop: Drop) -> bool:
        """Whether a container is made in the same turn, and so is gone with it."""
        made = allocations_of(self.facts.solution, container)
        return drop.loop is not None and any(one.loop is drop.loop and one.function is drop.function for one in made)

    def _is_dropped_after(self, name: str, value: Value, drop: Drop) -> bool:
        """Whether the same code gives up what ``name`` held as well, sooner or later."""
        held = frozenset(joined_into(value))
        return any(
            other.path == name and other.function is drop.function and other.index >= drop.index and other is not drop
            for other in self.facts.graph.drops
            if other.value is None or other.value in held
        )

    def _is_needed_after(self, drop: Drop) -> bool:
        """Whether the function goes on to use memory: in a next turn, or by what it calls behind the statement."""
        if drop.loop is not None:
            return True
        return any(call.index >= drop.index and not self.asking.is_neutral(call) for call in self._calls(drop.function))

    def _calls(self, function: Function) -> list[Value]:
        return self.facts.steps.calls_in(function)

    # -- attributes -----------------------------------------------------------------------------------------------

    def _of_attribute(self, drop: Drop) -> Unloading | None:
        assert drop.holder is not None
        places = self.solution.places(drop.holder, drop.attribute)
        stored = [v for place in places for v in self.solution.stored.get(place, ()) if not is_none(v)]
        collects = any(self.asking.is_asked_by(call) for call in self._calls(drop.function))
        if not any(map(self.holders.is_model, stored)) or not (collects or drop.is_deleted):
            return None
        held = frozenset(made for value in stored for made in self.holders.objects(value))
        if any(self._is_moved_away(value, drop) for value in stored):
            return None
        variables = self._in_variables(drop, held) if self._is_needed_after(drop) else ()
        holders = [*self._in_attributes(drop, places, held), *variables]
        return Unloading(drop, tuple(holders)) if holders else None

    def _in_attributes(self, drop: Drop, places: list[Place], held: frozenset[Value]) -> Iterator[Holder]:
        assert drop.holder is not None
        owners = {a.cls.root() for a in self.solution.final(drop.holder) if isinstance(a, Instance)}
        prefix = drop.path.rpartition(".")[0]
        released = self._released_by(drop.function, self._asked_back_at(drop))
        for place, values in self.solution.stored.items():
            if place in places or place.owner not in owners or place in released or "." in place.path:
                continue
            for value in values:
                how = "" if is_none(value) else self.holders.how(value, held)
                if how and self._keeps_on(how, value, held, drop):
                    yield Holder(f"{prefix}.{place.path}", how, value)
                    break
        for place, how, file in self._bases.of(drop, released):
            yield Holder(f"{prefix}.{place.path}", how, self.solution.stored[place][0], file)
        keeps_on = partial(self._keeps_on, held=held, drop=drop)
        for name, how, value in self.parts.of(drop, owners, held, released, keeps_on):
            yield Holder(name, how, value)

    def _keeps_on(self, how: str, value: Value, held: frozenset[Value], drop: Drop) -> bool:
        """Whether a container is neither emptied nor one of models that run."""
        return how != "container" or not (self._handed.is_emptied(value) or self._is_run(value, held, drop))

    def _asked_back_at(self, drop: Drop) -> int | None:
        """The last place behind a drop at which its function asks for the memory; what lets go later is too late."""
        asking = (c.index for c in self._calls(drop.function) if c.index >= drop.index and tidies(self.facts, c))
        return max(asking, default=None) if drop.loop is None else None

    def _released_by(self, function: Function, until: int | None = None) -> set[Place]:
        """Attributes that a function, or one that it calls, sets to something else, deletes or empties.

        With ``until`` what the function itself does behind that value does not count.
        """
        functions = {function}
        for call in self._calls(function):
            functions.update(self.solution.functions_of(call))
        released: set[Place] = set()
        for drop in self.facts.graph.drops:
            is_late = until is not None and drop.function is function and drop.index > until
            if drop.function in functions and drop.holder is not None and not is_late:
                released.update(self.solution.places(drop.holder, drop.attribute))
        for store in self.facts.graph.stores:
            is_late = until is not None and store.function is function and store.value.index > until
            if store.function in functions and store.kind is Kind.ASSIGN and not is_late:
                released.update(t for t in targets_of(self.solution, store) if isinstance(t, Place))
        for reset in self.facts.graph.resets:
            if reset.function in functions:
                released.update(h for h in homes_of(self.solution, reset.holder) if isinstance(h, Place))
        return released

    def _of_global(self, drop: Drop, value: Value) -> Unloading | None:
        """``global model; del model`` in a function: other globals may still hold it."""
        held = self.holders.objects(value)
        if not self.holders.is_model(value) or not any(map(self.asking.is_asked_by, self._calls(drop.function))):
            return None
        module, released = self.facts.graph.module, self._released_by(drop.function)
        released |= {Place(module, d.path) for d in self.facts.graph.drops if d.function is drop.function}
        found = []
        for place, values in self.solution.stored.items():
            if place.owner is module and place.path != drop.path and place not in released:
                for one in values:
                    how = "" if is_none(one) or self._is_own(one) else self.holders.how(one, held)
                    if how and self._keeps_on(how, one, held, drop):
                        found.append(Holder(place.path, how, one))
                        break
        return Unloading(drop, tuple(found)) if found else None
