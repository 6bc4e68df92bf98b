"""What becomes of a chain of graphs along which a state is carried: who trains through it, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.autograd.chains import DEPTH, PAIR_STATES, TENSOR_STATES, Chains, items_under
from torchlint.facts.autograd.decided import is_volatile, needs_newer_torch
from torchlint.facts.autograd.gradient_ends import ends_in_its_step
from torchlint.facts.repeated.builders import builders
from torchlint.facts.turns.counters import counts_its_turns
from torchlint.facts.values.frameworks import is_forward
from torchlint.facts.values.graph import Backward, Class, Function, Key, Op, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts


@dataclass(frozen=True)
class Carried:
    """A state that is carried from step to step with its graph.

    Attributes:
        statement: where the new state comes from the old one.
        name: the variable or attribute, as the program writes it.
        value: the new state.
        old: the old state where it goes into the new one.
        retained: True when a backward runs over the chain in each step and retains it; False where none does.
        bounded: True where a loop makes a number of steps that is given, as a decoder does.
        breaks: True where a backward of each step frees the chain, so that the next one raises.
        kind: "tensor", "pair" of tensors, or "" where it is not known: how it is detached.
        is_supposed: True where code that is not seen makes it, which may hand the old one back as it is.
    """

    statement: cst.CSTNode
    name: str
    value: Value
    old: Value
    retained: bool
    bounded: bool
    kind: str
    breaks: bool = False
    is_supposed: bool = False


class Judgement:
    """Judges the states of a file that come back to where they were taken from."""

    def __init__(self, facts: Facts, chains: Chains) -> None:
        """Work on ``facts``; ``chains`` follows their graphs."""
        self.facts, self.solution, self.flows, self.chains = facts, facts.solution, facts.flows, chains

    def of(self, statement: cst.CSTNode, name: str, new: Value, old: Value) -> Carried | None:
        """The finding, unless the chain is trained through, may be so elsewhere, or could not even run."""
        made = made_by(new)
        if made.op is Op.CALL and is_volatile(self.solution, made) and not needs_newer_torch(self.solution):
            return None  # nothing that such an input goes into has a graph
        if self._is_handed_back(made, old):
            return None
        backwards = (b for b in self.solution.graph.all_backwards() if not ends_in_its_step(self.facts, b, old))
        over = [b for b in backwards if old in self.flows.ancestry.of(b.root) and not self._is_beside(b, new, old)]
        # A second backward through the first step's part raises unless the first has retained it: a program that runs
        # cuts the chain where that is not seen.
        breaks = any(backward.by_contract or not backward.retains for backward in over)
        is_known = old in self.solution.loop_variables or self._is_known_whole(old)
        if breaks and (any(b.by_contract or b.inputs for b in over) or not is_known or not self._is_seen(new)):
            return None
        gone = self.flows.escaped | self.flows.shown | self.flows.kept_by_others
        leaves = new in gone or old in gone
        if not over and leaves and not self._infers(new):
            return None
        loop = made_by(new).loop
        bounded = loop is not None and counts_its_turns(loop)
        kind = "" if leaves and not over else self._kind_of(new)  # what others are given is left to a person
        is_supposed = made.op is Op.CALL and not self.solution.functions_of(made) and not self._is_seen(new)
        return Carried(statement, name, new, old, bool(over), bounded, kind, breaks, is_supposed)

    def _is_known_whole(self, old: Value) -> bool:
        """Whether all that becomes of an attribute is seen: its class stands here, and no other file speaks of it."""
        places = self.solution.read_from(old) if old.op is Op.ATTRIBUTE else []
        return bool(places) and all(
            isinstance(place.owner, Class) and not place.owner.is_foreign and not self.facts.others_mention(place.path)
            for place in places
        )

    def _is_seen(self, new: Value) -> bool:
        """Whether all that makes a state is seen: a recurrent module of torch, or functions that run one."""
        if made_by(new).op is not Op.CALL:
            return False
        states = self._returned_as(new, DEPTH)
        of_modules = all(made_by(state).op is Op.CALL and self._kind_of(state) for state in states)
        return of_modules or self._is_of_other_file(new)

    def _is_of_other_file(self, new: Value) -> bool:
        """Whether a state comes back through a network of another file, which tells so."""
        chains, functions = self.solution.graph.foreign.chains, self.solution.functions_of(made_by(new))
        return bool(functions) and all(function in chains for function in functions)

    def _is_beside(self, backward: Backward, new: Value, old: Value) -> bool:
        """Whether a backward runs over other items of what makes the new state, none of which comes of the old one.

        ``out, memory = net(x, memory)`` where the network reads ``memory.detach()`` for ``out``.
        """
        if new in self.solution.loop_variables and new is not old:
            return all(self._is_beside(backward, back, new) for back in new.inputs[1:])  # what an inner loop carries on
        made = made_by(new)
        if made.op is not Op.CALL or not self.solution.functions_of(made):
            return False
        items = [part for part in made.users if part.op in (Op.ELEMENT, Op.SUBSCRIPT)]
        before = self.flows.ancestry.of_all([backward.root], unread={made})
        if len(items) < len(made.users) or old in before:
            return False
        return not any(item in before and self.chains.comes_of(item, old) for item in items)

    def _is_handed_back(self, made: Value, old: Value) -> bool:
        """Whether a module may give the old state back as it is, to be spared computing it again.

        One that is not seen is supposed to be like those of the file that take the same arguments by name.
        """
        if made.op is not Op.CALL:
            return False
        functions = self.solution.functions_of(made)
        if functions:
            given = [(f, *pair) for f in functions for pair in self.solution.callers.get(f, {}).get(made, {}).items()]
            return any(
                one is not None and _is_of(old, one) and self.chains.hands_back(function, parameter)
                for function, parameter, one in given
            )
        named = {str(key): given for key, given in zip(made.keys[1:], made.arguments, strict=True) if _is_name(key)}
        taken = [name for name, given in named.items() if _is_of(old, given)]
        forwards = filter(is_forward, self.solution.graph.functions)
        taking = ({parameter.name: (one, parameter) for parameter in one.parameters} for one in forwards)
        alike = [parameters for parameters in taking if named.keys() <= parameters.keys()]
        return bool(taken and alike) and all(self.chains.hands_back(*one[name]) for one in alike for name in taken)

    def _infers(self, new: Value) -> bool:
        """Whether the forward that makes a state is for its answer alone: evaluated, detached at once, only read."""
        if made_by(new).evaluating or self.is_only_read(made_by(new).function):
            return True
        states = self._returned_as(new, DEPTH)
        return bool(states) and all(map(self._is_detached_beside, states))

    def _returned_as(self, state: Value, depth: int) -> list[Value]:
        """The states that a forward makes, behind the functions of the file that return them."""
        functions = self.solution.functions_of(made_by(state)) if made_by(state).op is Op.CALL else []
        results = [result for f in functions if f.result is not None for result in f.result.inputs]
        items = [item for result in results for item in items_under(result, _key_of(state))]
        if not functions or depth == 0:
            return [state]
        return [found for item in items for found in self._returned_as(item, depth - 1)]

    def _is_detached_beside(self, state: Value) -> bool:
        """``out, state = net(x, state)`` where nothing but ``out.detach()`` is used of the answer."""
        made, key = made_by(state), _key_of(state)
        others = [part for part in made.users if part.op in (Op.ELEMENT, Op.SUBSCRIPT) and part.keys[0] != key]
        return bool(others) and all(part in self.flows.detached and part not in self.flows.leaving for part in others)

    def _kind_of(self, new: Value) -> str:
        """Whether a state is one tensor or a pair of them, by the module of torch that makes it."""
        call = made_by(new)
        if call.op is Op.OPERATION:
            return "tensor"
        if call.op is not Op.CALL:
            return ""
        names = {made.callee.name for made in builders(self.facts, call.callee)}
        if new is not call and new.inputs[0] is not call:  # `y, (h, c) = lstm(x)`: one of a pair
            return "tensor" if names and names <= PAIR_STATES.keys() else ""
        item = None if new is call else new.keys[0]
        if names and all(name in TENSOR_STATES and TENSOR_STATES[name] == item for name in names):
            return "tensor"
        if names and all(name in PAIR_STATES and PAIR_STATES[name] == item for name in names):
            return "pair"
        return "tensor" if names == {"torch.nn.LSTMCell"} and item is not None else ""

    def is_only_read(self, function: Function) -> bool:
        """Whether only other files of the run are seen to call a function, and make numbers of what it gives."""
        return not self.solution.callers.get(function) and self.facts.others_only_read(function.name)


def made_by(state: Value) -> Value:
    """The call that makes a state, behind the item that is taken of what it returns."""
    while state.op in (Op.ELEMENT, Op.SUBSCRIPT):
        state = state.inputs[0]
    return state


def _is_of(old: Value, given: Value) -> bool:
    return given is old or old in given.computed_from()


def _key_of(state: Value) -> Key:
    """Which item of what a forward returns a state is."""
    return state.keys[0] if state.op in (Op.ELEMENT, Op.SUBSCRIPT) else None


def _is_name(key: Key) -> bool:
    return isinstance(key, str)
