"""Networks that come in evaluation mode from what makes them: ``model = load(path)``, where ``load`` says ``.eval()``.

What runs them says as little of the mode as of the weights, be it in the function that loads them or in any that reads
them as a global. Where one of them is put into training mode anywhere in the file, nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.facts.values.homes import allocations_of, stored_at
from torchlint.facts.values.own_data import is_own_data
from torchlint.facts.values.parameters import SAME_OBJECT, after_moves, all_same_objects, before_moves
from torchlint.facts.values.solve import Solution
from torchlint.syntax.conditions import always_run

MAKERS = 3
"""So many functions may hand on what another one makes."""

ITEMS = (Op.ELEMENT, Op.SUBSCRIPT)
"""How ``model, tokens = load(path)`` takes apart what is made together."""


def spread_rest(solution: Solution) -> None:
    """Say of the calls of such networks, of their methods, and of what is given one, that ``.eval()`` came before.

    Args:
        solution: a solved graph; :attr:`Value.evaluating` of its calls is set where the building did not see it.
    """
    resting = Resting(solution)
    if resting.is_known_of_any:
        for call in solution.graph.of(Op.CALL):
            call.evaluating = call.evaluating or resting.concerns(call)


class Resting:
    """Answers which networks are put into evaluation mode where they are made, and never taken out of it."""

    def __init__(self, solution: Solution) -> None:
        """Work on a solved graph."""
        self.solution = solution
        self._made: dict[Function, dict[int | str | None, bool]] = {}

    @cached_property
    def is_known_of_any(self) -> bool:
        """Whether the file, or what it imports, puts anything into evaluation mode."""
        return bool(self.solution.graph.foreign.evaluated) or any(True for _ in self._switches(trains=False))

    def concerns(self, call: Value) -> bool:
        """Whether a CALL is of such a network, of a method of it or of a part, or is given one.

        A global serves whoever imports its file. What a function gives it of its callers' tensors may be compared by
        it, and trained through.
        """
        owner = call.callee
        while owner.op is Op.ATTRIBUTE:
            owner = owner.inputs[0]
        resting = [one for one in (owner, *call.arguments) if self.is_at_rest(one)]
        if all(one.unnarrowed().op is Op.READ for one in resting):
            return bool(resting) and all(one in resting or is_own_data(one) for one in call.arguments)
        return True

    def is_at_rest(self, network: Value) -> bool:
        """Whether all that a variable ever holds, but for None, comes in evaluation mode from where it is made."""
        network = network.unnarrowed()
        if network.op is Op.READ:
            kept = [value for value in stored_at(self.solution, network) if value.name != "None"]
            is_made_so = bool(kept) and all(self._is_rested(value, MAKERS) for value in kept)
        elif network.op in (Op.CALL, *ITEMS):
            is_made_so = self.comes_at_rest(network)
        else:
            return False  # the building knows the rest, and callers say it of what they give
        return is_made_so and self._trained.isdisjoint(all_same_objects(self.solution, network))

    def comes_at_rest(self, made: Value, makers: int = MAKERS) -> bool:
        """Whether functions that are seen give a network in evaluation mode, by itself or as an item of a tuple."""
        made = made.unnarrowed()
        while made.op is Op.CALL and made.callee.op is Op.ATTRIBUTE and made.callee.name in SAME_OBJECT:
            if (trains := _puts_into_training(made)) is not None:
                return not trains
            made = made.callee.inputs[0].unnarrowed()
        key = made.keys[0] if made.op in ITEMS else None
        call = made.inputs[0] if made.op in ITEMS else made
        functions = self.solution.functions_of(call) if call.op is Op.CALL and makers else []
        return bool(functions) and all(self._gives_at_rest(function, key, makers - 1) for function in functions)

    def _gives_at_rest(self, function: Function, key: int | str | None, makers: int) -> bool:
        """Whether all that a function returns, or the item of it under a key, is in evaluation mode."""
        known = self._made.setdefault(function, {})
        if key not in known:
            known[key] = False  # a function that calls itself says nothing more
            results = choices(function.result) if not function.is_generator else []
            given = [one for result in results for one in (self._items(result, key) if key is not None else [result])]
            known[key] = len(given) >= len(results) > 0 and all(self._is_rested(one, makers) for one in given)
        return known[key]

    def _items(self, result: Value, key: int | str) -> list[Value]:
        """What a tuple that a function returns has under a key; nothing where that is not seen."""
        made = allocations_of(self.solution, result)
        items = [item for one in made for at, item in zip(one.keys, one.inputs, strict=False) if at == key]
        return [choice for item in items for choice in choices(item)]

    def _is_rested(self, network: Value, makers: int) -> bool:
        """Whether a network is put into evaluation mode by what makes it, here or in another file."""
        if network in self.solution.graph.foreign.evaluated or self.comes_at_rest(network, makers):
            return True
        return is_put_to_rest(network)

    @cached_property
    def _trained(self) -> frozenset[Value]:
        """All that may be put into training mode somewhere in the file."""
        receivers = (call.callee.inputs[0] for call in self._switches(trains=True))
        return frozenset(same for one in receivers for same in all_same_objects(self.solution, one))

    def _switches(self, *, trains: bool) -> Iterator[Value]:
        """The calls of ``.train()``, or of ``.eval()``."""
        return (call for call in self.solution.graph.of(Op.CALL) if _puts_into_training(call) is trains)


def is_put_to_rest(network: Value) -> bool:
    """Whether a network is made where a value is, and ``.eval()`` is called on it there, and ``.train()`` nowhere.

    A call under a condition, ``if frozen: net.eval()``, says nothing of the network of the other calls.
    """
    made = before_moves(network)
    if made.op is not Op.CALL:
        return False
    methods = [user for one in after_moves(made) for user in one.users if user.op is Op.ATTRIBUTE]
    calls = [call for method in methods for call in method.calls]
    switches = {call: trains for call in calls if (trains := _puts_into_training(call)) is not None}
    resting = [call.statement for call in switches if call.function is made.function]
    return not any(switches.values()) and not always_run(made.function.syntax).isdisjoint(resting)


def _puts_into_training(call: Value) -> bool | None:
    """Whether a CALL of ``.train()`` or ``.eval()`` puts its object into training mode; None for any other one."""
    name, mode = call.callee.name, call.argument(0, "mode")
    if call.callee.op is not Op.ATTRIBUTE or name not in ("train", "eval"):
        return None
    if name == "eval":
        return False if not call.arguments else None
    return mode is None or mode.name != "False"
