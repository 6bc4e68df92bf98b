"""What a ``with`` enters and leaves, and what its name binds: what a context manager of the project yields or gives."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.definitions import DefinitionBuilder
from torchlint.facts.building.guards import ENTERING
from torchlint.facts.building.own_guards import Definition, is_manager
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.syntax.tree import walk_scope

CLOSING = "contextlib.closing"

LEAVING = "__exit__"
"""The method of an object that runs behind the block."""


def enter(builder: DefinitionBuilder, manager: Value) -> Value:
    """What a block knows of a context manager by its name; the manager itself where nothing else is seen.

    Args:
        builder: stands at the ``with``, whose block is still to be run; where a class of the file may be entered, its
            ``__enter__`` is.
        manager: what is entered.

    Returns:
        an item of the generator where a function under ``@contextmanager`` makes the manager; the result of the
        ``__enter__`` of its class where that gives anything but the object.
    """
    if _is_generated(builder, manager):
        return builder.element(manager, None)
    given = _run(builder, manager, ENTERING)
    defined = builder.own_guards.defined(manager.callee.name) if manager.op is Op.CALL else []
    return given if given is not None and defined and all(map(_gives_another, defined)) else manager


def leave(builder: DefinitionBuilder, manager: Value) -> None:
    """Behind the block of a ``with``: where a class of the file may be left, its ``__exit__`` is run.

    Or its ``close``, by ``contextlib.closing``: https://docs.python.org/3/library/contextlib.html#contextlib.closing.
    """
    if manager.op is Op.CALL and manager.callee.name == CLOSING and manager.arguments:
        _run(builder, manager.arguments[0], "close")
    elif not _is_generated(builder, manager):
        _run(builder, manager, LEAVING)


def _run(builder: DefinitionBuilder, manager: Value, name: str) -> Value | None:
    """A CALL of the method, where a class of the file has one of that name and no library makes the manager."""
    if not builder.own_guards.defined(name) or manager.op is Op.EXTERNAL:
        return None
    if manager.op is Op.CALL and manager.callee.op is Op.EXTERNAL:
        return None
    method = builder.make(Op.ATTRIBUTE, (manager,), None, name=name)
    return builder.make(Op.CALL, (method,), None, name=name, keys=(None,))


def _is_generated(builder: DefinitionBuilder, manager: Value) -> bool:
    """Whether a function under ``@contextmanager``, of this file or of another one, makes the manager."""
    if manager.op is not Op.CALL or manager.callee.op is Op.EXTERNAL:
        return False
    made_by = manager.callee.reference
    if isinstance(made_by, Function) and made_by.is_foreign:
        made_by.open()
        return made_by.is_generator and any(is_manager(name) for name in made_by.decorators)
    defined = builder.own_guards.defined(manager.callee.name)
    return bool(defined) and all(isinstance(one, cst.FunctionDef) and _is_generator(one) for one in defined)


def _is_generator(definition: cst.FunctionDef) -> bool:
    """``@contextmanager`` over a function that yields what the block gets."""
    is_decorated = any(is_manager(one.decorator) for one in definition.decorators)
    return is_decorated and any(isinstance(node, cst.Yield) for node in walk_scope(definition))


def _gives_another(definition: Definition) -> bool:
    """Whether a class is entered as something else than its object: ``def __enter__(self): return self.model``."""
    if not isinstance(definition, cst.ClassDef):
        return False
    methods = [one for one in definition.body.body if isinstance(one, cst.FunctionDef)]
    entering = next((one for one in methods if one.name.value == ENTERING), None)
    if entering is None or not entering.params.params:
        return False
    itself = entering.params.params[0].name.value
    given = [node.value for node in walk_scope(entering) if isinstance(node, cst.Return)]
    return bool(given) and not any(isinstance(one, cst.Name) and one.value == itself for one in given)
