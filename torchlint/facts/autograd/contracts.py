"""Records by contract: values that a framework keeps, or hands to what keeps them, with whatever graph they have.

What a program does not show, the framework's documentation says: ignite gives a metric's ``update`` what the step
returned, Lightning keeps what ``training_step`` returns until ``training_epoch_end`` has read it, fairseq keeps the
logging outputs of a criterion, timm's meters sum up what they are given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.choices import choices
from torchlint.facts.values.domain import Argument, Carrier, Derived, is_graphless, surely_graphless
from torchlint.facts.values.framework_objects import contract_of, keeps_no_graph
from torchlint.facts.values.frameworks import promised
from torchlint.facts.values.graph import Function, Kind, Mode, Op, Store, Value
from torchlint.facts.values.homes import targets_of
from torchlint.facts.values.library_calls import LIKE_ANOTHER
from torchlint.facts.values.loss_forms import added_in, weighed_in
from torchlint.facts.values.reaching import reached
from torchlint.facts.values.writing import Use, operands, text_of
from torchlint.frameworks import Holds, Row

if TYPE_CHECKING:
    from torchlint.facts import Facts

LOSSES = frozenset(
    f"torch.nn.functional.{name}"
    for name in (
        "cross_entropy", "nll_loss", "ctc_loss", "kl_div", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
        "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "triplet_margin_loss",
    )
)  # fmt: skip
"""Functions that are given what a network computes: who adds one to what is trained on trains through it."""

CUTS = frozenset(["data", "detach", "item"])
"""What takes the numbers of a tensor, and none of its graph."""

DICTIONARY = "builtins.dict"

TARGETS = (1, "y")
"""Where the target stands in an output ``(y_pred, y)`` of ignite."""


@dataclass(frozen=True)
class Contract:
    """A tensor that is kept with its graph since a framework says so.

    Attributes:
        statement: where it is handed over, or put into what is kept.
        parts: the tensors, as they are written there.
        holder: what keeps them, as the message says it.
        says: what the framework does.
        is_certain: False where it is kept with its graph only if a caller that is not seen has gradients on.
    """

    statement: cst.CSTNode
    parts: tuple[Use, ...]
    holder: str
    says: str
    is_certain: bool = True


def contracts(facts: Facts) -> list[Contract]:
    """Every record by contract of a file."""
    return list(_found(facts))


def _found(facts: Facts) -> Iterator[Contract]:
    for function in facts.graph.functions:
        given, kept = promised(function, Holds.GIVEN_GRAPH), promised(function, Holds.RESULT_KEPT)
        if given is not None and len(function.parameters) > 1:
            yield from _of_update(facts, function, given)
        if kept is not None and _is_taken(function, kept):
            yield from _of_result(facts, function, kept)
    for call in facts.calls():
        row = contract_of(facts.solution, call, Holds.KEEPS)
        if row is not None:
            yield from _of_call(facts, call, row)


def _of_update(facts: Facts, update: Function, row: Row) -> Iterator[Contract]:
    """``self._sum += torch.sum(errors)`` in a metric's ``update``, where the errors have the output's graph.

    What is kept as it is given keeps its graph in any case. What is computed from it has one only where gradients are
    on, and ignite's engine switches them off around the call: it is for those who call ``update`` themselves. A
    metric that only unit tests make is given what they write down.
    """
    if update.owner is not None and facts.unit_tests.makes_all(update.owner):
        return
    if update.name == "_update" and update.owner is not None and update.owner.method("update") is not None:
        return  # `update` of the class, or of a base that is seen, says what it hands on
    for store in facts.graph.stores:
        if store.function is not update or store.mode is Mode.OFF:
            continue
        added = _added(facts, store)
        if added is None or not _comes_from(facts, added, update.parameters[1]):
            continue
        node = store.syntax if isinstance(store.syntax, cst.BaseExpression) else None
        # A sum is computed in the call: only what is put in as it came has a graph without one of the call's own.
        as_given = store.kind is not Kind.UPDATE and _is_part_of(added, update.parameters[1])
        framework = _name(row)
        says = f"{framework} gives `{update.name}` what the step returned, with its graph"
        if not as_given:
            says = f"gradients are on where `{update.name}` is called by hand, outside of {framework}'s engine"
        holder = text_of(store.target, store.holder or store.value)
        yield Contract(store.statement, (Use(added, node),), holder, says, as_given)


def _comes_from(facts: Facts, value: Value, output: Value) -> bool:
    """Whether a value is computed from an output, and not from its second part alone: that is the target."""
    atoms = facts.solution.final(value)
    if not any(isinstance(atom, Argument | Derived) and atom.parameter is output for atom in atoms):
        return False
    if any(part.op is Op.PHI and any(map(_is_detached, part.inputs)) for part in value.computed_from()):
        return False  # `if is_tensor(output): output = output.detach()`
    items = [
        part for part in _gives_graph(facts, value) if part.op in (Op.SUBSCRIPT, Op.ELEMENT) and output in part.inputs
    ]
    return not items or any(part.keys[0] not in TARGETS for part in items)


def _gives_graph(facts: Facts, value: Value) -> Iterator[Value]:
    """What a value is computed from with a graph: not from what says its type, ``y.type_as(y_pred)``, or its order."""
    return reached([value], partial(_graph_behind, facts))


def _graph_behind(facts: Facts, part: Value) -> list[Value]:
    is_like = part.op is Op.CALL and part.callee.op is Op.ATTRIBUTE and part.callee.name in LIKE_ANOTHER
    behind = part.callee.inputs if is_like else _given_for_result(facts, part)
    return [one for one in behind if not surely_graphless(facts.solution.final(one))]


def _given_for_result(facts: Facts, part: Value) -> Sequence[Value]:
    """The inputs of a value; of a call of the file's own functions the arguments that its result has a graph from."""
    functions = facts.solution.functions_of(part) if part.op is Op.CALL else []
    atoms = [atom for f in functions if f.result is not None for atom in facts.solution.final(f.result)]
    given = [a.parameter for a in atoms if isinstance(a, Argument | Derived) and a.parameter.function in functions]
    if not given or not all(isinstance(atom, Argument | Derived) or is_graphless(atom) for atom in atoms):
        return part.inputs
    calls = (facts.solution.callers[one.function][part].get(one) for one in dict.fromkeys(given))
    return [one for one in calls if one is not None]


def _is_detached(value: Value) -> bool:
    """Whether a value is, or is computed from, what was detached."""
    return any(part.op is Op.CALL and part.callee.name == "detach" for part in value.computed_from())


def _is_part_of(value: Value, parameter: Value) -> bool:
    """Whether a value is what is given for a parameter, or an item of it, and nothing that is computed from it."""
    while value.op in (Op.SUBSCRIPT, Op.ELEMENT) and value.keys[0] is not None:
        value = value.inputs[0]
    return value is parameter


def _added(facts: Facts, store: Store) -> Value | None:
    """What a store adds to what an attribute has kept so far."""
    if store.kind is Kind.UPDATE:
        return store.added if store.attribute or store.is_item else None
    if store.kind is Kind.INSERT:
        if store.holder is None or keeps_no_graph(facts.solution, store.holder):
            return None
        functions = facts.solution.functions_of(store.call) if store.call is not None else ()
        if functions and all(promised(function, Holds.GIVEN_GRAPH) for function in functions):
            return None  # `self.inner.update(output)`, of a metric: there it is told what that keeps
        return store.value if facts.solution.read_from(store.holder) else None
    places = targets_of(facts.solution, store)
    before = store.value.computed_from()
    adds = store.attribute and any(place in places for value in before for place in facts.solution.read_from(value))
    return store.value if adds else None


def _is_taken(function: Function, row: Row) -> bool:
    """Whether the class has a method that asks for what was kept, where the framework keeps it for that alone.

    The framework's own, where its source is seen, is there to be overridden.
    """
    own = {name.rpartition(".")[2] for name in row.of}
    lineage = function.owner.lineage() if function.owner is not None else []
    above = {base for cls in lineage if cls.name in own for base in cls.lineage()}
    takers = (cls.methods.get(name) for cls in lineage if cls not in above for name in row.taken_by)
    return not row.taken_by or any(taker is not None and len(taker.parameters) > 1 for taker in takers)


def _of_result(facts: Facts, function: Function, row: Row) -> Iterator[Contract]:
    """What a step returns beside its loss: ``{"loss": loss, "kl": kl}``, ``loss, size, {"loss": loss}``."""
    for returned in _returned(facts, function):
        if isinstance(returned.syntax, cst.Dict) or returned.op is Op.CALL:
            yield from _of_dict(facts, function, row, returned)
        elif len(returned.inputs) == 3:
            yield from _of_logs(facts, row, returned)


def _returned(facts: Facts, step: Function) -> list[Value]:
    """What a step returns that is made in the file, ``{...}`` or ``dict(...)``; so does a method that it hands on."""
    found = dict.fromkeys(choices(step.result))
    for value in list(found):
        shared = [f for f in facts.solution.functions_of(value) if not f.is_foreign] if value.op is Op.CALL else []
        found |= dict.fromkeys(one for f in shared if not f.is_generator for one in choices(f.result))
    return [one for one in found if one.op is Op.CONTAINER or (one.op is Op.CALL and one.callee.name == DICTIONARY)]


def _of_dict(facts: Facts, step: Function, row: Row, returned: Value) -> Iterator[Contract]:
    """``return {"loss": loss, "kl": kl.sum()}``: the loss is detached, what stands beside it is not.

    Args:
        facts: of the file.
        step: which returns it.
        row: the promise.
        returned: the dictionary, as a literal or as a call of ``dict``.
    """
    if returned.statement is None or "loss" not in returned.keys:
        return
    is_call = returned.op is Op.CALL
    keys = zip(
        returned.keys[1:] if is_call else returned.keys, returned.arguments if is_call else returned.inputs, strict=True
    )
    beside = [item for key, item in keys if key not in row.besides]
    uses = [use for use in operands(returned) if use.value in beside]
    uses += [use for item in beside if item.op is Op.CONTAINER for use in operands(item)]
    parts = tuple(use for use in uses if _has_graph(facts, use.value))
    if parts:
        says = f"{_name(row)} keeps what all steps returned until the epoch ends"
        yield Contract(returned.statement, parts, step.name, says)


def _of_logs(facts: Facts, row: Row, returned: Value) -> Iterator[Contract]:
    """``return loss, size, {"loss": loss}``: what is trained on is logged as it is."""
    loss, _, logged = returned.inputs
    is_made = logged.op is Op.CONTAINER or (logged.op is Op.CALL and logged.callee.name == DICTIONARY)
    if not is_made or logged.statement is None:
        return
    is_computed = loss.op in (Op.CALL, Op.OPERATION)
    summed = _summed_in(loss) if any(map(_is_cut, logged.inputs)) else frozenset()
    says = f"{_name(row)} keeps what is logged until the step's parts are reduced"
    for statement, uses in _logged(facts, logged):
        parts = tuple(
            use
            for use in uses
            if (is_computed and use.value is loss)
            or _has_graph(facts, use.value)
            or _is_term(facts, use.value, loss)
            or _may_be_live_term(facts, use.value, summed)
        )
        if parts:
            yield Contract(statement, parts, "logging_output", says)


def _logged(facts: Facts, logged: Value) -> Iterator[tuple[cst.CSTNode, list[Use]]]:
    """What a dictionary is written with, and what is put into it later: ``logs["ctc"] = ctc``."""
    if logged.statement is not None:
        yield logged.statement, list({use.value: use for use in operands(logged)}.values())
    for store in facts.graph.stores:
        if store.is_item and store.kind is Kind.INSERT and store.holder is logged:
            node = store.syntax if isinstance(store.syntax, cst.BaseExpression) else None
            yield store.statement, [Use(store.value, node)]


def _is_term(facts: Facts, value: Value, loss: Value) -> bool:
    """Whether a value is what a loss function gives, and a term of the loss that is trained on."""
    if value.op is not Op.CALL or not facts.modes.records(value) or value not in facts.flows.ancestry.of(loss):
        return False
    results = [f.result for f in facts.solution.functions_of(value) if f.result is not None and not f.is_generator]
    makers = [one for result in results for one in result.inputs] or [value]
    return all(one.op is Op.CALL and one.callee.name in LOSSES and facts.modes.records(one) for one in makers)


def _summed_in(loss: Value) -> Set[Value]:
    """What a loss is the sum of, weights taken off."""
    return set(reached([loss], lambda value: added_in(value) or weighed_in(value) or choices(value)))


def _is_cut(value: Value) -> bool:
    """``loss.data``, ``loss.detach()``, ``loss.item()``: who logs one term so knows that the others have a graph."""
    method = value.callee if value.op is Op.CALL else value
    return method.op is Op.ATTRIBUTE and method.name in CUTS


def _may_be_live_term(facts: Facts, value: Value, summed: Collection[Value]) -> bool:
    """Whether a value is, on some path, one of the terms of the loss that is trained on, computed with gradients on.

    Who cuts it on another path knows that it has a graph there.
    """
    ways = choices(value)
    terms = [one for one in ways if one in summed and one.op in (Op.CALL, Op.OPERATION) and facts.modes.records(one)]
    return any(not surely_graphless(facts.solution.final(one)) for one in terms) and not any(map(_is_cut, ways))


def _of_call(facts: Facts, call: Value, row: Row) -> Iterator[Contract]:
    """``meter.update(loss, n)`` in each step: the meter sums up what it is given, or lists it."""
    given = call.argument(*row.argument)
    repetition = facts.repetitions.of(call)
    if given is None or call.statement is None or repetition is None or not repetition.turn.is_step:
        return
    if facts.flows.live(given) is None or not facts.modes.records(call):
        return
    written = next((use for use in operands(call) if use.value is given), Use(given, None))
    says = f"{_name(row)} keeps it with its graph"
    yield Contract(call.statement, (written,), facts.called(call), says)


def _name(row: Row) -> str:
    """The framework's name without its versions."""
    return row.framework.split(" ")[0]


def _has_graph(facts: Facts, value: Value) -> bool:
    """Whether a value has a graph: it is known to, or it is computed from a part of an output that has one."""
    if facts.flows.live(value) is not None:
        return True
    if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or not facts.modes.records(value):
        return False
    operation = torch_api.method(value.callee.name)
    if operation is None or operation.history is not torch_api.History.KEEPS:
        return False
    base = value.callee.inputs[0]
    while base.op is Op.ATTRIBUTE and torch_api.attribute(base.name) is None:
        base = base.inputs[0]
    return facts.solution.may_be(base, Carrier)
