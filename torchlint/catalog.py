"""Finds the rules and their fixtures by looking into their folders: there is no list to keep."""

from __future__ import annotations

import pkgutil
import re
from functools import lru_cache
from importlib import import_module
from importlib.machinery import PathFinder
from inspect import isabstract
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchlint.rule import Rule

__all__ = ["codes", "fixture_folder", "rule_of", "rules"]

# Imported by string: in a checkout the folder stands beside the package, and a static import would make type
# checkers see it under a second name.
_RULES = "torchlint.rules"
_MODULE = re.compile(r"(tlk\d{3})_\w+")


@lru_cache(maxsize=1)
def codes() -> tuple[str, ...]:
    """Every rule's code, sorted; read from the file names, so that no rule is imported."""
    found = (_MODULE.fullmatch(name) for name in _module_names())
    return tuple(sorted(match[1].upper() for match in found if match))


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """One instance of every rule, sorted by code.

    Raises:
        ImportError: a file in ``rules/`` cannot be imported.
    """
    found = [rule for name in _module_names() for rule in _rules_in(import_module(f"{_RULES}.{name}"))]
    return tuple(sorted(found, key=lambda rule: rule.code))


def rule_of(code: str) -> Rule | None:
    """The rule with exactly this code ("TLK101"), or None."""
    return next((rule for rule in rules() if rule.code == code), None)


def fixture_folder(code: str) -> Path | None:
    """The folder of this rule's fixtures, or None where they are not installed or the code is unknown."""
    package = PathFinder.find_spec("torchlint.fixtures", import_module("torchlint").__path__)
    roots = [Path(place) for place in package.submodule_search_locations or ()] if package else []
    found = (folder for root in roots for folder in sorted(root.glob(f"{code}-*")) if folder.is_dir())
    return next(found, None) if code in codes() else None


def _module_names() -> list[str]:
    """The names of the modules in ``rules/``."""
    return sorted(module.name for module in pkgutil.iter_modules(import_module(_RULES).__path__))


def _rules_in(module: ModuleType) -> list[Rule]:
    """Instances of the concrete rules that this very module defines: what it imports belongs elsewhere."""
    from torchlint.rule import Rule

    members = (value for value in vars(module).values() if isinstance(value, type))
    return [
        kind()
        for kind in members
        if issubclass(kind, Rule) and not isabstract(kind) and kind.__module__ == module.__name__
    ]
