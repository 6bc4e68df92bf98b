"""Dictionaries: what is one, by what makes it."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.values.graph import Op, Value

DICTIONARIES = frozenset(["builtins.dict", "collections.defaultdict", "collections.OrderedDict"])


def is_dictionary(made: Value) -> bool:
    """Whether a value is made as a plain dictionary, which keeps what it is given."""
    if made.op is Op.CONTAINER:
        return type(made.syntax) is cst.Dict or type(made.syntax) is cst.DictComp
    return made.op is Op.CALL and made.callee.name in DICTIONARIES


def yields_keys(made: Value) -> bool:
    """Whether iterating over a value yields names and not what is under them: a dictionary, ``net.state_dict()``."""
    names_parameters = made.op is Op.CALL and made.callee.op is Op.ATTRIBUTE and made.callee.name == "state_dict"
    return names_parameters or is_dictionary(made)
