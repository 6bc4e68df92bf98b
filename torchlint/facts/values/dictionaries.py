"""Dictionaries: what is one, by what makes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.values.choices import held_in
from torchlint.facts.values.domain import Abstract, Atom, Container
from torchlint.facts.values.externals import COUNTER, FROM_KEYS
from torchlint.facts.values.graph import Op, Store, Value
from torchlint.facts.values.parameters import star_of

if TYPE_CHECKING:
    from torchlint.facts.values.known import Known

DICTIONARIES = (
    frozenset(["builtins.dict", "collections.defaultdict", "collections.OrderedDict"]) | FROM_KEYS | {COUNTER}
)


def is_dictionary(made: Value) -> bool:
    """Whether a value is made as a plain dictionary, which keeps what it is given."""
    if made.op is Op.CONTAINER:
        return type(made.syntax) is cst.Dict or type(made.syntax) is cst.DictComp
    return made.op is Op.CALL and made.callee.name in DICTIONARIES


def yields_keys(made: Value) -> bool:
    """Whether iterating over a value yields names and not what is under them: a dictionary, ``net.state_dict()``."""
    names_parameters = made.op is Op.CALL and made.callee.op is Op.ATTRIBUTE and made.callee.name == "state_dict"
    return names_parameters or is_dictionary(made)


LISTING = frozenset(f"builtins.{name}" for name in ("list", "tuple", "set", "frozenset", "sorted", "iter", "enumerate"))
"""What goes over its first argument, and so over the keys of a dictionary."""


def lists_keys(call: Value, argument: Abstract) -> bool:
    """Whether a CALL gives the keys of a dictionary, and nothing of what is under them: ``sorted(kept)``.

    Args:
        call: the CALL.
        argument: what its first argument may be.
    """
    if call.callee.name not in LISTING or not argument:
        return False
    if star_of(call.arguments[0]) == "**":
        return True
    asked = call.arguments[0].callee if call.arguments[0].op is Op.CALL else None
    if asked is not None and asked.op is Op.ATTRIBUTE and asked.name in ("values", "items"):
        return False
    return all(isinstance(atom, Container) and yields_keys(atom.allocation) for atom in argument)


def surely_lists_keys(solution: Known, call: Value) -> bool:
    """Whether a CALL gives the keys of a dictionary alone, whatever its first argument is in the end."""
    return bool(call.arguments) and lists_keys(call, solution.final(call.arguments[0]))


_OF_PAIRS = frozenset(["builtins.dict", "collections.OrderedDict"])

_LISTED = (cst.List, cst.Tuple, cst.ListComp, cst.GeneratorExp)


def takes_pairs(call: Value, argument: Atom) -> bool:
    """Whether a CALL makes a dictionary of pairs that are listed: ``OrderedDict((name, Meter()) for name in names)``.

    Args:
        call: the CALL.
        argument: one of the things that its first argument may be.
    """
    return (
        call.callee.name in _OF_PAIRS
        and isinstance(argument, Container)
        and isinstance(argument.allocation.syntax, _LISTED)
    )


def zipped_values(call: Value) -> Value | None:
    """What lies under the keys of a dictionary that a CALL makes of two sequences: ``dict(zip(names, losses))``."""
    pairs = call.arguments[0] if call.callee.name in _OF_PAIRS and len(call.arguments) == 1 else None
    if pairs is None or pairs.op is not Op.CALL or pairs.callee.name != "builtins.zip":
        return None
    return pairs.arguments[1] if tuple(pairs.keys[1:]) == (0, 1) else None


def is_pair(atom: Atom) -> bool:
    """``(name, Meter())``"""
    if not isinstance(atom, Container) or not isinstance(atom.allocation.syntax, cst.Tuple | cst.List):
        return False
    return tuple(atom.allocation.keys) == (0, 1)


def rewrites_all(store: Store) -> bool:
    """Whether a store replaces every item of a dictionary: ``for key, item in losses.items(): losses[key] = ...``."""
    over = store.loop.iterable if store.loop is not None else None
    if over is None or over.op is not Op.CALL or over.callee.op is not Op.ATTRIBUTE or not store.is_item:
        return False
    if over.callee.name not in ("items", "keys") or over.callee.inputs[0] is not store.holder or store.index is None:
        return False
    return store.index.op is Op.ELEMENT and over.callee.inputs[0] in store.index.computed_from()


def is_item(value: Value) -> bool:
    """Whether a value is what a loop over the items of a dictionary finds in it."""
    value = of_pair(value)
    return value.op is Op.ELEMENT and value.name == "values"


def of_pair(value: Value) -> Value:
    """The half of a pair that is unpacked, as a loop over the items of a dictionary does; any other value itself."""
    while value.op is Op.ELEMENT and value.name != "values" and value.inputs[0].op is Op.CONTAINER:
        pair = value.inputs[0]
        value = next((item for key, item in zip(pair.keys, pair.inputs, strict=True) if key == value.keys[0]), pair)
    return value


def has_items(kept: Value, *, of_all: bool) -> bool:
    """Whether the values of a dict are kept, ``of_all`` without a choice, or else by a condition on each.

    Be it in a new one: ``rows.append({tag + k: v for k, v in x.items()})``.
    """
    inside = held_in(kept)
    chosen = (isinstance(one.syntax, cst.DictComp | cst.ListComp) and bool(one.syntax.for_in.ifs) for one in inside)
    return any(map(is_item, inside)) and any(chosen) is not of_all


def is_some_item(value: Value) -> bool:
    """``values[name]``: whether a value lies under a key of a parameter that is not known."""
    return value.op is Op.SUBSCRIPT and value.keys[0] is None and value.inputs[0].op is Op.PARAMETER


def is_item_or_default(value: Value) -> bool:
    """``rows.setdefault(step, {})``: what lies under a key, or is put there."""
    return value.op is Op.CALL and value.callee.op is Op.ATTRIBUTE and value.callee.name == "setdefault"


def is_setdefault(value: Value) -> bool:
    """``rows.setdefault(name, {})``: whether what is put there is given."""
    return is_item_or_default(value) and len(value.arguments) == 2


def begins_part(store: Store) -> bool:
    """Whether an empty part is put in: what comes into that is told where it does."""
    is_asked = store.call is not None and is_setdefault(store.call)
    return is_asked and store.value.op is Op.CONTAINER and not store.value.inputs
