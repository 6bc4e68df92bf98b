"""Enumerations that are looked up in inner loops."""

from __future__ import annotations

from enum import Enum


class Symbol(Enum):
    """An enumeration whose members hash by identity.

    There is one object for each member, and Enum's own hash is a function in Python: as keys of the tables that the
    solver asks at every step its members cost twice as much.
    """

    __hash__ = object.__hash__
