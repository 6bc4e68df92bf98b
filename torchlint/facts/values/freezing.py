"""Which modules were told that their parameters do not require grad."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import libcst as cst

from torchlint import torch_api
from torchlint.facts.values.domain import ClassReference, Instance, Module
from torchlint.facts.values.graph import Class, Function, Key, Mode, Op, Place, Value
from torchlint.facts.values.parameter_lists import lists_parameters
from torchlint.facts.values.parameters import SAME_OBJECT, before_moves, same_object
from torchlint.facts.values.reaching import ends
from torchlint.facts.values.solve import Solution
from torchlint.syntax.tree import walk

FREEZING = frozenset(["torch.jit.freeze", "torch.jit.optimize_for_inference", "torch.jit.load"])
"""Functions whose result has its parameters as constants, or may have: of a TorchScript file that is not seen."""

COPIERS = frozenset(["copy.deepcopy", "copy.copy"])
"""Functions whose result is a module of the same class as the one they are given."""


@dataclass(frozen=True)
class Telling:
    """A place where modules are told whether their parameters require grad.

    Attributes:
        at: what is computed there.
        freezes: they are told not to.
        subjects: the modules.
    """

    at: Value
    freezes: bool
    subjects: frozenset[Value | Place | Class]


def frozen_subjects(solution: Solution, tellings: Iterable[Telling]) -> frozenset[Value | Place | Class]:
    """Modules that ``requires_grad_(False)`` or a loop over ``parameters()`` freezes.

    Args:
        solution: of the file.
        tellings: all of the file.

    Returns:
        the values, the places and the classes of this file (``self.requires_grad_(False)``) that are frozen and are
        nowhere made to require grad again, as the networks of a GAN are in turn.
    """
    switched: dict[bool, set[Value | Place | Class]] = {False: set(), True: set()}
    for telling in tellings:
        switched[not telling.freezes] |= telling.subjects
    switched[False] |= {call for call in solution.graph.of(Op.CALL) if call.callee.name in FREEZING}
    switched[False] |= solution.graph.foreign.given_frozen
    frozen = switched[False] - switched[True] | _parts_left(solution, switched[False], switched[True])
    return frozenset((frozen | _whole_layers(solution, frozen)) - switched[True] - _owners(solution, switched[True]))


def _parts_left(
    solution: Solution, off: set[Value | Place | Class], on: set[Value | Place | Class]
) -> set[Value | Place | Class]:
    """What is left frozen of networks that are, but for a part: ``net.requires_grad_(False)``, then ``net.head`` again.

    All objects of the class are such networks, or it freezes itself.
    """
    opened: dict[Class, set[str]] = defaultdict(set)
    for place in on:
        if isinstance(place, Place) and isinstance(place.owner, Class):
            opened[place.owner].add(place.path.partition(".")[0])
    left: set[Value | Place | Class] = set()
    for cls, names in opened.items():
        made = [call for call in solution.graph.of(Op.CALL) if _makes(solution, call, cls)] if cls not in off else [cls]
        if cls not in on and made and off.issuperset(made) and on.isdisjoint(made):
            left |= {place for place, _ in solution.stored_with(cls) if place.path.partition(".")[0] not in names}
    return left


def _makes(solution: Solution, call: Value, cls: Class) -> bool:
    atoms = solution.of(call.callee)
    return any(isinstance(atom, ClassReference) and atom.cls.root() is cls for atom in atoms)


def forwards_while_frozen(solution: Solution, tellings: Iterable[Telling]) -> frozenset[Value]:
    """Calls of modules between a line that freezes them and one that makes them require grad again.

    Both stand in the function of the call: a generator is trained, with its critic frozen for as long.

    Args:
        solution: of the file.
        tellings: all of the file.
    """
    told: dict[Function, list[Telling]] = defaultdict(list)
    for one in tellings:
        told[one.at.function].append(one)
    ways = {function for function, here in told.items() if len({one.freezes for one in here}) == 2}
    calls = (call for call in solution.graph.of(Op.CALL) if call.function in ways)
    return frozenset(call for call in calls if _is_between(solution, call, told[call.function]))


def _is_between(solution: Solution, call: Value, tellings: list[Telling]) -> bool:
    """Whether of the tellings about what a CALL calls the last one before it freezes that, and a later one does not."""
    if call.callee.op is Op.EXTERNAL:
        return False
    subjects = _subjects(solution, call.callee)
    about = [one for one in tellings if not subjects.isdisjoint(one.subjects)]
    before = [one for one in about if one.at.index < call.index]
    is_frozen = bool(before) and max(before, key=lambda one: one.at.index).freezes
    return is_frozen and any(one.at.index > call.index and not one.freezes for one in about)


def tellings_of(solution: Solution) -> list[Telling]:
    """Every place of a file that tells modules whether to require grad, by itself or by what another file does."""
    found: list[Telling] = []
    for call in solution.graph.of(Op.CALL):
        callee = call.callee
        if callee.op is Op.ATTRIBUTE and callee.name == "requires_grad_":
            found.append(_telling(solution, call, callee.inputs[0], call.argument(0, "requires_grad")))
        elif _detaches_parameter(call) and not _is_written_again(call):
            found.append(Telling(call, True, frozenset(_subjects(solution, callee.inputs[0]))))
    for parameter in solution.graph.foreign.frozen:
        for call, binding in solution.callers[parameter.function].items():
            given = binding.get(parameter)
            subjects = {call} | (_subjects(solution, given) if given is not None else set())
            found.append(Telling(call, True, frozenset(subjects)))
    for store in solution.graph.stores:
        if store.attribute == "requires_grad" and store.holder is not None:
            found.append(_telling(solution, store.value, store.holder, store.value))
    return found


def _telling(solution: Solution, at: Value, told: Value, flag: Value | None) -> Telling:
    """What a module, a parameter or those that a helper is given are told by a flag; without one it is True."""
    freezes = flag is not None and flag.name == "False"
    subjects = _subjects(solution, told) | _given(solution, told) | _each_of(solution, told)
    return Telling(at, freezes, frozenset(subjects if freezes else subjects | _chosen_of(solution, told)))


def _whole_layers(solution: Solution, parts: Iterable[Value | Place | Class]) -> set[Value | Place | Class]:
    """Layers of torch all of whose parameters are told by their names: ``words.weight.requires_grad = False``."""
    told: dict[Value | Place | Class, set[str]] = defaultdict(set)
    layers: dict[Value | Place | Class, Value] = {}
    for part in parts:
        if isinstance(part, Value) and part.op is Op.ATTRIBUTE and part.inputs[0].op not in (Op.ELEMENT, Op.SUBSCRIPT):
            for layer in _subjects(solution, part.inputs[0]):
                told[layer].add(part.name)
                layers[layer] = part.inputs[0]
    return {layer for layer, names in told.items() if _has_no_others(solution, layers[layer], names)}


def _has_no_others(solution: Solution, layer: Value, names: set[str]) -> bool:
    """Whether ``names`` are all parameters of ``layer``: of each layer of torch that it may be, or a copy of one."""
    made = list(ends([layer], partial(_layer_behind, solution)))
    return bool(made) and all(_has_only(one, names) for one in made)


def _layer_behind(solution: Solution, value: Value) -> list[Value]:
    if value.op is Op.CALL and value.callee.name in COPIERS and value.arguments:
        return [value.arguments[0]]
    return list(same_object(solution, value))


def _has_only(made: Value, names: set[str]) -> bool:
    """Whether a value is a CALL that makes a layer of torch all of whose parameters are among ``names``."""
    known = torch_api.torch_class(made.callee.name) if made.op is Op.CALL else None
    return known is not None and bool(known.parameters) and names.issuperset(_parameters_of(made, known.parameters))


def _parameters_of(call: Value, names: tuple[str, ...]) -> list[str]:
    """Those of ``names`` that a layer has which CALL ``call`` makes: ``Linear(3, 4, bias=False)`` has no bias."""
    flag = call.argument(-1, "bias")
    has_bias = flag is None or flag.name != "False"
    return [name for name in names if has_bias or not name.startswith("bias")]


def _given(solution: Solution, parameter: Value) -> set[Value | Place | Class]:
    """The modules whose parameters a helper is given to go over: ``freeze(encoder.parameters())``."""
    iterated = _taken_from(parameter)
    if iterated is parameter or iterated.op is not Op.PARAMETER:
        return set()
    given = [one for argument in solution.arguments_of(iterated) for one in _chained(argument)]
    return {subject for one in given if lists_parameters(one) for subject in _subjects(solution, one)}


def _each_of(solution: Solution, told: Value) -> set[Value | Place | Class]:
    """The modules that a loop goes over: ``for net in (first, second): net.eval()...``, ``for net in self.members``.

    Where the loop asks for something, it may mean but some of a list that is made elsewhere.
    """
    whole = _taken_from(told)
    item = before_moves(whole.callee.inputs[0] if lists_parameters(whole) else told)
    listed = item.inputs[0] if item.op is Op.ELEMENT and item.keys[0] is None else None
    if listed is None:
        return set()
    if listed.op is Op.CONTAINER and listed.syntax is not None:
        return {subject for one in listed.inputs for subject in _subjects(solution, one)}
    is_list = any(isinstance(atom, Module) for atom in solution.of(listed))
    asks = item.loop is None or any(isinstance(node, cst.If | cst.IfExp) for node in walk(item.loop.syntax))
    return _subjects(solution, listed) if is_list and not asks else set()


def _chosen_of(solution: Solution, parameter: Value) -> set[Value | Place | Class]:
    """The modules of whose parameters some are in a list that is gone over: they train as soon as one of these does."""
    chosen = _taken_from(parameter)
    if chosen is parameter or chosen.op is not Op.CONTAINER:
        return set()
    items = dict.fromkeys([*chosen.inputs, *(item for _, item in solution.held.get(chosen, ()))])
    return {one for item in items if lists_parameters(_taken_from(item)) for one in _subjects(solution, item)}


def _chained(value: Value) -> tuple[Value, ...]:
    return value.arguments if value.op is Op.CALL and value.callee.name.startswith("itertools.chain") else (value,)


def _detaches_parameter(value: Value) -> bool:
    """``for p in teacher.parameters(): p.detach_()``, after which ``p`` does not require grad."""
    if value.op is not Op.CALL or value.callee.op is not Op.ATTRIBUTE or value.callee.name != "detach_":
        return False
    return lists_parameters(_taken_from(value.callee.inputs[0]))


def _is_written_again(call: Value) -> bool:
    """``p.detach_(); p.copy_(p * 0.9 + q * 0.1)`` with gradients on: ``p`` becomes a part of the graph of ``q``."""
    return any(
        user.op is Op.ATTRIBUTE and any(call.mode is not Mode.OFF for call in user.calls)
        for user in (*call.users, *call.callee.inputs[0].users)
        if user.name.endswith("_") and user.name not in ("detach_", "requires_grad_", "zero_")
    )


def switched_subjects(solution: Solution) -> frozenset[Value | Place | Class]:
    """Modules that a helper freezes or thaws by a flag that it is given: ``requires_grad(generator, False)``.

    When they are which hangs on the order of the calls, which is not followed.
    """
    found: set[Value | Place | Class] = set()
    for store in solution.graph.stores:
        if store.attribute != "requires_grad" or store.holder is None or store.value.op is not Op.PARAMETER:
            continue
        for subject in _subjects(solution, store.holder):
            found.add(subject)
            if isinstance(subject, Value) and subject.op is Op.PARAMETER:
                for argument in solution.arguments_of(subject):
                    found |= _subjects(solution, argument)
    return frozenset(found)


def _owners(solution: Solution, parts: set[Value | Place | Class]) -> set[Value | Place | Class]:
    """What ``parts`` are attributes or items of: ``model`` for ``model.head``, which trains as soon as a part does."""
    found: set[Value | Place | Class] = set()
    for part in parts:
        value = part
        while isinstance(value, Value) and value.op in (Op.ATTRIBUTE, Op.SUBSCRIPT, Op.ELEMENT):
            value = value.inputs[0]
            found |= _subjects(solution, value)
    return found


def _subjects(solution: Solution, value: Value, around: tuple[Value, ...] = ()) -> set[Value | Place | Class]:
    """The module behind ``value``: itself, or that of which it is a parameter in a loop; by the callers ``around``."""
    whole = _taken_from(value)
    if lists_parameters(whole):
        value = whole.callee.inputs[0]
    elif not _is_unpacked(value):
        value = whole
    found: set[Value | Place | Class] = {value}
    while value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name in SAME_OBJECT:
        value = value.callee.inputs[0]
        found.add(value)
    if value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE:
        found.add(value.callee.inputs[0])
    if value.place is not None:
        found.add(value.place)
    elif value.op is Op.ATTRIBUTE:
        found.update(solution.places(value.inputs[0], value.name))
    elif value.op is Op.PARAMETER:
        found |= _passed(solution, value, around)
    return found


def _passed(solution: Solution, parameter: Value, around: tuple[Value, ...]) -> set[Value | Place | Class]:
    """The modules that callers pass; the class of them for ``self``, and where no caller is seen."""
    is_receiver = parameter.function.owner is not None and parameter in parameter.function.parameters[:1]
    given = [] if is_receiver else [one for one in solution.arguments_of(parameter) if one not in around]
    if not given:
        return {atom.cls.root() for atom in solution.of(parameter) if isinstance(atom, Instance)}
    return {subject for one in given for subject in _subjects(solution, one, (*around, parameter))}


def _taken_from(value: Value) -> Value:
    """What a value is an item of, or an item of an item, be it counted or beside another one; itself for all others."""
    keys: list[Key] = []
    while True:
        if value.op in (Op.ELEMENT, Op.SUBSCRIPT):
            keys.append(value.keys[0])
            value = value.inputs[0]
        elif value.op is Op.CONTAINER and value.syntax is None and keys and keys[-1] in value.keys:
            value = value.inputs[value.keys.index(keys.pop())]  # the pair that `enumerate`, `zip` or `items` makes
        else:
            return value


def _is_unpacked(value: Value) -> bool:
    """Whether a value is one of several that a function gives: ``first, second = load(name)``."""
    return value.op is Op.ELEMENT and isinstance(value.keys[0], int) and value.inputs[0].op is Op.CALL
