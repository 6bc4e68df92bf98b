"""Finds the rules and their fixtures by looking into their folders: there is no list to keep."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

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
    from importlib.machinery import PathFinder
    from pathlib import Path

    package = PathFinder.find_spec("torchlint.fixtures", import_module("torchlint").__path__)
    roots = [Path(place) for place in package.submodule_search_locations or ()] if package else []
    found = (folder for root in roots for folder in sorted(root.glob(f"{code}-*")) if folder.is_dir())
    return next(found, None) if code in codes() else None


def _module_names() -> list[str]:
    """The names of the modules in ``rules/``."""
    files = {file for folder in import_module(_RULES).__path__ for file in os.listdir(folder) if file.endswith(".py")}
    names = (file.removesuffix(".py") for file in files)
    return sorted(name for name in names if name.isidentifier() and name != "__init__")


def _rules_in(module: ModuleType) -> list[Rule]:
    """Instances of the concrete rules that this very module defines: what it imports belongs elsewhere."""
    from inspect import isabstract

    from torchlint.rule import Rule

    members = (value for value in vars(module).values() if isinstance(value, type))
    return [
        kind()
        for kind in members
        if issubclass(kind, Rule) and not isabstract(kind) and kind.__module__ == module.__name__
    ]
