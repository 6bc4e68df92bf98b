"""Figures of matplotlib that pyplot keeps: made again and again, and closed by nobody."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.building.names import target_names
from torchlint.facts.host.figure_makers import figure_behind, is_pyplot, makes_figure, number_of
from torchlint.facts.host.saved_figures import is_for_chosen, saved_in_turn
from torchlint.facts.host.ways_past import way_past
from torchlint.facts.summaries.effect_kinds import EffectKind
from torchlint.facts.summaries.effects import Effect
from torchlint.facts.turns.bindings import Bindings
from torchlint.facts.turns.memory import begun_before, is_memory
from torchlint.facts.turns.switches import is_never_asked
from torchlint.facts.turns.told_steps import is_told_step
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.domain import Container
from torchlint.facts.values.graph import Function, Loop, Op, Value
from torchlint.facts.values.literals import UNWRITTEN, literal
from torchlint.facts.values.reaching import reached
from torchlint.syntax.tree import dotted, walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

READERS = ("matplotlib.", "wandb.", "mlflow.", "numpy.", "seaborn.", "sklearn.", "builtins.", "io.", "PIL.", "torch.")
"""Packages whose functions look at a figure and do not close it."""

OF_FIGURES = frozenset(["savefig", "tight_layout", "suptitle", "set_size_inches", "subplots_adjust", "get_axes"])
"""Methods that figures have, and hardly anything else."""

DEPTH = 3
"""How many calls down a close is looked for."""

HOPS = 4
"""How many callers up a repetition is looked for."""


@dataclass(frozen=True)
class OpenFigure:
    """A figure that is made again and again and stays open.

    Attributes:
        call: what makes it.
        repeated_by: the loop each turn of which makes one, or the function that a framework calls again and again.
        by: what the call does by a function of another file; None where it does it itself.
        past: what leaves it open where other ways close it: a statement, or the condition under which alone it is
            closed; None where nothing closes it.
        is_item: whether it is one for each item of a loop, which need be no step and no epoch.
    """

    call: Value
    repeated_by: Loop | Function
    by: Effect | None = None
    past: cst.CSTNode | None = None
    is_item: bool = False

    @property
    def is_closed_if(self) -> bool:
        """True where a condition decides whether it is closed, False where a statement leaves it open."""
        return isinstance(self.past, cst.If)


def open_figures(facts: Facts) -> list[OpenFigure]:
    """Every figure that is made in each step or epoch and closed nowhere on the way."""
    return _Search(facts).found()


def leaves_open(facts: Facts, call: Value) -> bool:
    """Whether a CALL makes a figure that nothing in its function closes."""
    return makes_figure(facts, call) and _Search(facts).is_left_open(call)


def leaves_given_open(facts: Facts, call: Value) -> bool:
    """Whether a function uses as a figure what a CALL of something imported gives it, and does not close that."""
    if makes_figure(facts, call) or call.callee.name.startswith(READERS):
        return False
    given = reached([call], partial(_given_further, facts))
    is_figure = any(user.op is Op.ATTRIBUTE and user.name in OF_FIGURES for one in given for user in one.users)
    return is_figure and not _Search(facts).is_closed(call)


def _given_further(facts: Facts, value: Value) -> list[Value]:
    """The parts of what a CALL gives, and what the functions of the file call it to which one is passed."""
    parts = [user for user in value.users if user.op in (Op.ELEMENT, Op.SUBSCRIPT) and value.op is Op.CALL]
    calls = [user for user in value.users if user.op is Op.CALL and user.callee is not value]
    bound = (facts.solution.callers[callee][one] for one in calls for callee in facts.solution.functions_of(one))
    return [*parts, *(name for binding in bound for name, passed in binding.items() if passed is value)]


def closes_what_comes_of(facts: Facts, call: Value, is_returned: bool) -> bool:
    """Whether the function around a CALL closes the figure that this makes, and may return."""
    return _Search(facts).is_closed(call, is_returned)


def may_close_any(facts: Facts, call: Value) -> bool:
    """Whether a CALL may close figures that its function has not made, or shows them."""
    return is_pyplot(call, "show") or (is_pyplot(call, "close") and not _Search(facts).closes_own(call))


class _Search:
    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def found(self) -> list[OpenFigure]:
        """See :func:`open_figures`."""
        found = [self._of(call) for call in self.makers if not self._is_used_again(call)]
        found += [self._of(effect.call, effect) for effect in self.facts.effects.of(EffectKind.DRAWS)]
        return [figure for figure in found if figure is not None]

    def is_left_open(self, call: Value) -> bool:
        """Whether nothing in the function of a CALL closes the figure that it makes."""
        return not self._is_used_again(call) and not self.is_closed(call)

    def is_closed(self, call: Value, is_returned: bool = True) -> bool:
        """Whether something in the function of a CALL closes the figure that it makes, which it may not return."""
        return self._closes((call,), {call} if is_returned else set())

    def closes_own(self, call: Value) -> bool:
        """Whether a CALL of ``plt.close`` is about a figure that is made in the same function, and no other one.

        Without an argument it closes the figure that was made last.
        """
        own = {maker for maker in self.makers if maker.function is call.function and maker.index < call.index}
        return self._is_made_by(call.arguments[0], own) if call.arguments else bool(own)

    def _is_made_by(self, value: Value, own: set[Value]) -> bool:
        """Whether a value is a figure that one of ``own`` makes, or a function of the file, on every path."""
        if value.op is Op.PHI:
            return all(self._is_made_by(one, own) for one in value.inputs if one.index < value.index)
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            return self._is_made_by(value.inputs[0], own)
        results = [f.result for f in self.facts.solution.functions_of(value) if f.result is not None]
        makers = set(self.makers) if results else own
        return value in own or (bool(results) and all(self._stands_for(result, makers) for result in results))

    @cached_property
    def makers(self) -> list[Value]:
        return [call for call in self.facts.calls() if makes_figure(self.facts, call)]

    def _is_used_again(self, call: Value) -> bool:
        """Whether the figure has a number: it is made once and then used again."""
        number = number_of(call)
        return number is not None and literal(self.facts.solution, number) not in (UNWRITTEN, None)

    def _of(self, call: Value, effect: Effect | None = None) -> OpenFigure | None:
        for chain, by in self._repetitions(call, (call,)):
            if not self._is_closed(chain, effect):
                return OpenFigure(call, by, effect)
            past = self._past(chain) if effect is None else None
            if past is not None:
                return OpenFigure(call, by, past=past)
        return self._of_item(call) if effect is None else None

    def _of_item(self, call: Value) -> OpenFigure | None:
        """A figure for each of many items, that is saved in its turn, and which none of its callers closes later."""
        found = saved_in_turn(self.facts, call)
        if found is None:
            return None
        loop, at = found
        if at is not call and self._is_left_out(call.syntax or call.statement, call.function, call.function):
            return None
        if self._is_left_out(at.syntax or at.statement, at.function, loop, of_items=True):
            return None
        return None if self._is_closed(self._way_to(call), None) else OpenFigure(call, loop, is_item=True)

    def _way_to(self, call: Value) -> tuple[Value, ...]:
        """A call, and those that lead to its function, from whatever place of the file."""
        way = [call]
        for _ in range(HOPS):
            further = (c for at in way for c in self.facts.solution.callers.get(at.function, ()) if c not in way)
            way += sorted(further, key=lambda value: value.index)
        return tuple(dict.fromkeys(way))

    def _past(self, chain: tuple[Value, ...]) -> cst.CSTNode | None:
        """What leaves the figure open where its function closes it on another way, and nobody else does."""
        call, own = chain[0], chain[0].function.syntax
        result = call.function.result
        if not isinstance(own, cst.FunctionDef) or (result is not None and self._stands_for(result, {call})):
            return None
        functions = dict.fromkeys(at.function for at in chain)
        calls = [one for function in functions for one in self.facts.steps.calls_in(function) if one not in chain]
        closing = [one for one in calls if self._may_close(one, {call}, DEPTH)]
        nodes = frozenset(one.syntax for one in closing if one.syntax is not None)
        if len(nodes) < len(closing) or not nodes:
            return None
        end = own.body
        if call.loop is not None and isinstance(call.loop.syntax, cst.For | cst.While):
            end = call.loop.syntax.body
        return way_past(self.facts.statement_of(call), end, self.facts.parents, nodes, own=own)

    # -- how often it is made -------------------------------------------------------------------------------------

    def _repetitions(self, at: Value, chain: tuple[Value, ...]) -> list[tuple[tuple[Value, ...], Loop | Function]]:
        """What makes the figure again and again: each way to it, with what repeats the way."""
        node = at.syntax or at.statement
        for loop in at.loop.around() if at.loop is not None else ():
            turn = self.facts.repetitions.turn(loop)
            if turn is Turn.HOLDS or (turn.is_step and not self.facts.loop_lengths.is_trial(loop)):
                if not self._is_left_out(node, at.function, loop):
                    return [(chain, loop)]
                if self._is_left_out(
                    node, at.function, loop, counters=_targets(loop) | begun_before(self.facts.parents, loop.syntax)
                ):
                    return []
                node = loop.syntax  # once in a pass, which the loop around may repeat
        function = at.function
        if self._is_left_out(node, function, function, counters=self._numbers_of_steps(function)):
            return []
        repetitions = self.facts.repetitions
        if repetitions.stands_for_a_turn(function) or repetitions.comes_each_epoch(function):
            return [(chain, function)]
        if function.name == "__init__" or len(chain) > HOPS:
            return []
        callers = sorted(self.facts.solution.callers.get(function, ()), key=lambda value: value.index)
        if is_told_step(self.facts, function):
            return [((*chain, *callers), function)]
        return [
            found for caller in callers if caller not in chain
            for found in self._repetitions(caller, (*chain, caller))
        ]  # fmt: skip

    def _numbers_of_steps(self, function: Function) -> Set[str]:
        """The parameters of what a framework calls for each step: ``batch_idx == 0`` holds in each epoch."""
        is_step = self.facts.repetitions.stands_for_a_turn(function)
        return {parameter.name for parameter in function.parameters} if is_step else set()

    def _is_left_out(
        self,
        node: cst.CSTNode | None,
        function: Function,
        within: Loop | Function,
        *,
        counters: Set[str] = frozenset(),
        of_items: bool = False,
    ) -> bool:
        """Whether a place is reached once: in a handler, when something is first needed, before a loop is left.

        What stands around ``within`` says only whether that runs at all, as ``if __name__ == "__main__":`` does. Of
        ``counters`` a certain number comes again with each pass, a flag as well, and ``of_items`` many may be among
        those that are chosen.
        """
        parents = self.facts.parents
        while node is not None and node is not within.syntax:
            parent = parents.get(node)
            if isinstance(parent, cst.ExceptHandler):
                return True
            if isinstance(parent, cst.If) and node is parent.body:
                if is_never_asked(self.facts, parent.test, function):
                    return True
                is_of_many = of_items and isinstance(within, Loop) and is_for_chosen(self.facts, parent.test, within)
                is_steady = isinstance(within, Loop) and self.facts.skipping.is_steady(parent.test, within)
                bindings = self.facts.skipping.bindings
                if not is_of_many and _is_once(parent, bindings, counters, is_steady=is_steady):
                    return True
            if isinstance(node, cst.IndentedBlock) and isinstance(parent, cst.If) and _breaks(node):
                return True
            node = parent
        return False

    # -- who closes it --------------------------------------------------------------------------------------------

    def _is_closed(self, chain: tuple[Value, ...], effect: Effect | None) -> bool:
        """Whether a call on the way closes the figure, shows it, or hands it to code that is not seen."""
        return self._closes(chain, self._handed_on(chain) if effect is None or effect.done.is_returned else set())

    def _closes(self, chain: tuple[Value, ...], handed: set[Value]) -> bool:
        """Whether another call in the functions on the way closes a figure for which the values ``handed`` stand."""
        functions = dict.fromkeys(at.function for at in chain)
        calls = [call for function in functions for call in self.facts.steps.calls_in(function)]
        return any(call not in chain and self._may_close(call, handed, DEPTH) for call in calls)

    def _handed_on(self, chain: tuple[Value, ...]) -> set[Value]:
        """What stands for the figure on the way: the call that makes it, those of functions that return it."""
        handed = {chain[0]}
        for inner, outer in pairwise(chain):
            result = inner.function.result
            if result is None or not self._stands_for(result, handed):
                break
            handed.add(outer)
        return handed

    def _may_close(self, call: Value, figure: set[Value], depth: int) -> bool:
        if is_pyplot(call, "close"):
            if self._is_of_a_later_one(call, figure):
                return False
            is_inside = depth < DEPTH and figure.isdisjoint(m for m in self.makers if m.function is call.function)
            return self._concerns(call.arguments[:1], figure) and not (is_inside and self.closes_own(call))
        if is_pyplot(call, "show"):
            return literal(self.facts.solution, call.argument(-1, "block")) is not False
        callees = self.facts.solution.functions_of(call)
        if any(self._may_close_elsewhere(call, callee, figure) for callee in callees):
            return True
        if callees:
            inner = [c for callee in callees for c in self.facts.steps.calls_in(callee)]
            return depth > 0 and any(self._may_close(c, figure, depth - 1) for c in inner)
        if not any(self._stands_for(argument, figure) for argument in call.arguments):
            return False
        if call.callee.name.rpartition(".")[2] == "add_figure":
            return literal(self.facts.solution, call.argument(3, "close")) is not False
        if call.callee.op is Op.ATTRIBUTE and self.facts.solution.may_be(call.callee.inputs[0], Container):
            return False
        return not _only_reads(call.callee)

    def _is_of_a_later_one(self, close: Value, figure: set[Value]) -> bool:
        """Whether the only ``plt.close()`` of a function closes what was made behind a figure, in the same block.

        ``plt.figure()``, then ``fig, ax = plt.subplots()``: the current one is closed, and the first is left.
        """
        calls = self.facts.steps.calls_in(close.function)
        if close.arguments or sum(is_pyplot(call, "close") for call in calls) > 1:
            return False
        first = [one for one in figure if one in self.makers and one.function is close.function and one.is_bare]
        return bool(first) and all(
            any(
                one.index < later.index < close.index and self._block_of(later) is self._block_of(one)
                for later in self.makers
                if later.function is close.function and not self._is_used_again(later)
            )
            for one in first
        )

    def _block_of(self, call: Value) -> cst.CSTNode | None:
        return self.facts.parents.get(self.facts.statement_of(call))

    def _may_close_elsewhere(self, call: Value, callee: Function, figure: set[Value]) -> bool:
        """Whether a function of another file closes figures, or hands one that it is given to code that is not seen."""
        foreign = self.facts.graph.foreign
        if any(effect.kind is EffectKind.CLOSES for effect in foreign.effects.get(callee, ())):
            return True
        bound = self.facts.solution.callers[callee][call].items()
        return any(p in foreign.hands_on and given and self._stands_for(given, figure) for p, given in bound)

    def _concerns(self, arguments: tuple[Value, ...], figure: set[Value]) -> bool:
        """Whether ``plt.close(...)`` may be about ``figure``: not when it names another one."""
        others = {maker for maker in self.makers if maker not in figure}
        named = [argument for argument in arguments if self._stands_for(argument, others)]
        return not named or any(self._stands_for(argument, figure) for argument in named)

    def _stands_for(self, value: Value, figure: set[Value]) -> bool:
        """Whether ``value`` is one of ``figure`` or the figure in it, on some path, or a container of it."""
        return any(current in figure for current in reached([value], self._one_back))

    def _one_back(self, value: Value) -> Sequence[Value]:
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            # Of what `subplots` gives, the first is the figure and the second its axes.
            return value.inputs[:1] if value.keys[:1] != (1,) else ()
        if value.op is Op.CONTAINER:
            return [held for _, held in self.facts.solution.held.get(value, ())]
        if value.op is Op.CALL and is_pyplot(value, "gcf"):
            own = [one for one in self.makers if one.function is value.function and one.index < value.index]
            return own or self.makers
        axes = figure_behind(value)
        if axes is not None:
            return [axes]
        return value.inputs if value.op is Op.PHI else ()


def _only_reads(callee: Value) -> bool:
    """Whether a function that is given the figure is known to leave it open."""
    root = callee
    while root.op is Op.ATTRIBUTE or (root.op is Op.CALL and root is not callee):
        root = root.inputs[0]
    return root.op is Op.EXTERNAL and root.name.startswith(READERS)


def _targets(loop: Loop) -> Set[str]:
    """The variables that the head of a ``for`` binds."""
    return set(target_names(loop.syntax.target)) if isinstance(loop.syntax, cst.For) else set()


def _is_once(branch: cst.If, bindings: Bindings, counters: Set[str], *, is_steady: bool) -> bool:
    """Whether a branch is taken at most once: for the first step, the last epoch, until it has set what it asks for.

    ``is_steady``: whether what it asks does not change: which process this is, ``rank == 0``.
    """
    if is_memory(branch.test, branch, bindings, bindings.assigned(branch.body) - counters):
        return True
    return not is_steady and _asks_for_one(branch.test, counters)


def _asks_for_one(test: cst.BaseExpression, counters: Set[str]) -> bool:
    """``step == 0``, ``epoch == last and verbose``: of ``counters`` a number comes again."""
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        return _asks_for_one(test.left, counters) or _asks_for_one(test.right, counters)
    if not isinstance(test, cst.Comparison) or not isinstance(test.comparisons[0].operator, cst.Equal):
        return False
    if dotted(test.left) in counters:
        return False
    parts = (node for node in walk(test) if isinstance(node, cst.BinaryOperation))
    return not any(isinstance(part.operator, cst.Modulo) for part in parts)


def _breaks(block: cst.IndentedBlock) -> bool:
    last = block.body[-1] if block.body else None
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Break | cst.Raise)
