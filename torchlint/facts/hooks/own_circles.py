"""Circles that the instances of a class are in from the beginning, for other files that make them to know."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from torchlint.facts.hooks.passed_subjects import keeps_given
from torchlint.facts.summaries.passing import may_be_followed
from torchlint.facts.turns.unasked import is_unasked
from torchlint.facts.values.choices import choices
from torchlint.facts.values.graph import Function, Kind, Op, Store, Value
from torchlint.facts.values.overriding import is_super

if TYPE_CHECKING:
    from torchlint.facts.hooks.circles import Circles
    from torchlint.facts.hooks.registrations import Registration


def closed_by(search: Circles, initializer: Function) -> list[tuple[str, tuple[int, ...]]]:
    """The circles that an object is in as its ``__init__`` makes it, by the ``search`` of the file that has it.

    Returns:
        for each the attribute by which the object comes to hold a function that holds it; and the parameter that is
        the tensor of which this is a hook, or none where that belongs to the object, which then has tensors of its own.
    """
    making = _making(search, initializer)
    registered = [one for one in search.facts.registrations if one.call.function in making]
    found = [*map(partial(_hooked, search), registered), *(name for one in making for name in _stored(search, one))]
    names = dict.fromkeys(name for name in found if name)
    own = list(names) if names and _is_heavy(search, initializer) else []
    on_tensors = (circle for one in registered for circle in _hooked_on_given(search, one))
    return [*((name, ()) for name in own), *dict.fromkeys(on_tensors)]


def closed_by_others(search: Circles, initializer: Function) -> list[tuple[str, str, int]]:
    """The circles that an object is in as its ``__init__`` makes it, if imported functions give what holds it.

    Returns:
        for each the attribute by which the object comes to hold what such a function gives, the name of that, and the
        position at which it is given the object. Nothing where the object has no tensors of its own.
    """
    making, found = _making(search, initializer), dict[tuple[str, str, int], None]()
    for registration in search.facts.registrations if making else ():
        call, hook = registration.call, registration.hook
        if call.function not in making or hook is None or registration.is_of_tensor or registration.subject is None:
            continue
        bound = _bound_by_others(search, hook, call.function)
        if bound and _is_registered_for_good(search, registration):
            attribute = _attribute_with(search, registration.subject, call.function)
            found.update(((attribute, *one), None) for one in bound if attribute)
    for store in search.facts.graph.stores if making else ():
        if store.function in making and store.holder is not None and store.kind is not Kind.UPDATE:
            bound = _bound_by_others(search, store.value, store.function)
            attribute = _kept_under(search, store) if bound else ""
            found.update(((attribute, *one), None) for one in bound if attribute)
    return list(found) if found and _is_heavy(search, initializer) else []


def _bound_by_others(search: Circles, made: Value, method: Function) -> list[tuple[str, int]]:
    """The imported function that makes a value and is given the object of a method, and at which position."""
    if not method.parameters:
        return []
    return [
        (root.callee.name, key)
        for root in sorted(search.identity.roots(made), key=lambda root: root.index)
        if root.op is Op.CALL and root.callee.op is Op.EXTERNAL and may_be_followed(root.callee.name)
        for key, argument in zip(root.keys[1:], root.arguments, strict=True)
        if isinstance(key, int) and argument is method.parameters[0]
    ]


def _making(search: Circles, initializer: Function) -> tuple[Function, ...]:
    """An ``__init__`` and what it runs on its object; nothing for a function of no class."""
    if initializer.owner is None or not initializer.parameters:
        return ()
    return tuple(dict.fromkeys((initializer, *_run_on_itself(search, initializer))))


def _run_on_itself(search: Circles, initializer: Function) -> list[Function]:
    """The methods that an ``__init__`` calls on its object, each time: ``self._watch()``, ``super().__init__()``.

    And what the ``__init__`` of a base class calls in turn.
    """
    found, pending = dict[Function, None](), [initializer]
    while pending:
        current = pending.pop()
        for call in search.facts.steps.calls_in(current):
            is_own = call.callee.op is Op.ATTRIBUTE and call.callee.inputs[0] is current.parameters[0]
            if (is_own or _is_of_base(call)) and not search.facts.skipping.is_skipped(call, current):
                methods = [method for method in search.solution.functions_of(call) if method.parameters]
                # By its name a base class may be taken for the class itself.
                pending += [method for method in methods if not is_own and method not in found]
                found.update(dict.fromkeys(methods))
    return list(found)


def _is_of_base(call: Value) -> bool:
    """``super().__init__(...)``."""
    callee = call.callee
    if callee.op is not Op.ATTRIBUTE or callee.name != "__init__":
        return False
    return is_super(callee.inputs[0])


def is_built_on_unseen(search: Circles, initializer: Function) -> bool:
    """Whether an ``__init__`` calls, each time, that of a base class which is not seen."""
    return any(
        _is_of_base(call)
        and not search.solution.functions_of(call)
        and not search.facts.skipping.is_skipped(call, initializer)
        for call in search.facts.steps.calls_in(initializer)
    )


def _hooked_on_given(search: Circles, registration: Registration) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The parameter of an ``__init__`` that is a tensor, is kept, and gets a hook which holds the object."""
    call, subject = registration.call, registration.subject
    if subject is None or not registration.is_of_tensor or not _holds_object(search, registration):
        return
    owner, way = call.function.owner, set(search.facts.hook_lifetimes.subjects.way(subject, ()))
    for position, parameter in enumerate(call.function.parameters):
        if position and parameter in way and owner is not None and search.hooked.reaches(owner, parameter):
            yield parameter.name, (position,)


def closed_around_given(search: Circles, initializer: Function) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The modules that an object is given, and on which its ``__init__`` leaves a hook that holds the object.

    Returns:
        for each the method that registers it, and the parameter that is the module; where the object does not keep that
        itself, also the parameter for which the ``__init__`` of a base class, which is not seen, is given it.
    """
    for registration in search.facts.registrations if initializer.owner is not None else ():
        made, given = search.facts.hook_lifetimes.given_to_object(registration)
        if made is not initializer or len(given) != 1 or registration.is_of_tensor:
            continue
        if not _holds_object(search, registration):
            continue
        name, position = registration.call.callee.name, initializer.parameters.index(given[0])
        if keeps_given(search.facts, search.instances, initializer, given[0]):
            yield name, (position,)
        else:
            yield from ((name, (position, above)) for above in _given_to_base(search, initializer, given[0]))


def _given_to_base(search: Circles, initializer: Function, parameter: Value) -> Iterator[int]:
    """The positions at which the ``__init__`` of a base class that is not seen is given a parameter."""
    for call in search.facts.steps.calls_in(initializer):
        if _is_of_base(call) and not search.solution.functions_of(call):
            given = zip(call.keys[1:], call.arguments, strict=True)
            yield from (key + 1 for key, argument in given if isinstance(key, int) and argument is parameter)


def _hooked(search: Circles, registration: Registration) -> str:
    """The attribute of the object through which the module is found that gets a hook which holds the object."""
    subject = registration.subject
    if subject is None or registration.is_of_tensor or not _holds_object(search, registration):
        return ""
    return _attribute_with(search, subject, registration.call.function)


def _attribute_with(search: Circles, subject: Value, method: Function) -> str:
    """The attribute of a method's object that has a module of its own, "" where that is not the object's own."""
    owner = method.owner
    if owner is None or not search.instances.is_own(subject, owner):
        return ""
    way = set(search.facts.hook_lifetimes.subjects.way(subject, ()))
    read = [one.name for one in way if one.op is Op.ATTRIBUTE and one.inputs[0] is method.parameters[0]]
    if read:
        return min(read)
    stored = [(place.path, values) for place, values in search.solution.stored.items() if place.owner is owner.root()]
    made_of = ((path, [one for value in values for one in value.computed_from()]) for path, values in stored)
    parts = ((path, search.instances.parts_in(values)) for path, values in stored)
    return next((path for path, values in chain(stored, made_of, parts) if not way.isdisjoint(values)), "")


def tied_by(search: Circles, method: Function) -> Iterator[tuple[str, int, bool]]:
    """The hooks, which hold its object, that a method leaves on modules that it is given.

    Returns:
        for each the method that registers it, the parameter that is the module, and whether the method returns that.
    """
    for registration in search.facts.registrations if method.owner is not None and method.parameters else ():
        call, subject = registration.call, registration.subject
        if call.function is not method or subject not in method.parameters[1:] or not call.is_bare:
            continue
        if not registration.is_of_tensor and _holds_object(search, registration):
            yield call.callee.name, method.parameters.index(subject), subject in choices(method.result)


def _holds_object(search: Circles, registration: Registration) -> bool:
    """Whether a hook is registered each time, for good, and holds the object in whose method that is done."""
    itself = registration.call.function.parameters[0]
    if not _is_registered_for_good(search, registration):
        return False
    return registration.hook is not None and any(
        held.value is itself for held in search.holding.held_by(registration.hook)
    )


def _is_registered_for_good(search: Circles, registration: Registration) -> bool:
    """Whether a method registers a hook each time, and nothing takes it off."""
    call = registration.call
    if search.facts.hook_lifetimes.handles.lets_go(call) or search.facts.skipping.is_skipped(call, call.function):
        return False
    return not is_unasked(search.facts, call.syntax, call.function)


def _stored(search: Circles, initializer: Function) -> Iterator[str]:
    """The attributes that keep a function which holds the object, and keep it for good."""
    itself = initializer.parameters[0]
    for store in search.facts.graph.stores:
        if store.function is initializer and store.holder is not None and store.kind is not Kind.UPDATE:
            if any(one.value is itself for one in search.holding.held_by(store.value)):
                yield _kept_under(search, store)


def _kept_under(search: Circles, store: Store) -> str:
    """The attribute of the object that keeps what a method stores; "" where it is not kept for good."""
    owner = store.function.owner
    place = search.instances.attribute_of(store, owner) if owner is not None else None
    if place is None or search.instances.is_dropped(place):
        return ""
    return "" if is_unasked(search.facts, store.target or store.statement, store.function) else place.path


def handed_to_itself(search: Circles, method: Function) -> list[tuple[str, int]]:
    """The methods that are not seen to which a method gives a function that holds its object, and at what parameter.

    Nothing where the object has no tensors of its own.
    """
    found = [
        (call.callee.name, position)
        for call, position, argument in _given_to_unseen(search, method)
        if any(held.value is method.parameters[0] for held in search.holding.held_by(argument))
    ]
    return found if found and _is_heavy(search, method) else []


def parts_handed_to_itself(search: Circles, method: Function) -> list[tuple[str, int, bool]]:
    """The methods that are not seen to which a method gives, each time, a module that its object has.

    Returns:
        for each the attribute that has it with the name of the method, ``body.watch``; the parameter; and whether the
        object has it only if it is what the method returns. Nothing where the object has no tensors of its own.
    """
    found = [
        (f"{attribute}.{call.callee.name}", position, argument is not part)
        for call, position, argument in _given_to_unseen(search, method)
        if not search.facts.skipping.is_skipped(call, method) and search.facts.tensors.is_module(argument)
        for part in ((argument, call) if argument.op is Op.CALL else (argument,))
        if (attribute := _attribute_with(search, part, method))
    ]
    return found if found and _is_heavy(search, method) else []


def _given_to_unseen(search: Circles, method: Function) -> Iterator[tuple[Value, int, Value]]:
    """(the call of an own method that is not seen, the position of a parameter, what it is given), for each."""
    for call in search.facts.steps.calls_in(method) if method.owner is not None and method.parameters else ():
        is_own = call.callee.op is Op.ATTRIBUTE and call.callee.inputs[0] is method.parameters[0]
        is_told = is_own and not is_unasked(search.facts, call.syntax, method)
        if is_told and not search.facts.solution.functions_of(call):
            given = zip(call.keys[1:], call.arguments, strict=True)
            yield from ((call, key + 1, argument) for key, argument in given if isinstance(key, int))


def _is_heavy(search: Circles, method: Function) -> bool:
    return method.owner is not None and search.instances.is_heavy(method.owner)
