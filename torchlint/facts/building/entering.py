"""What ``with manager() as name`` binds: for a context manager of the project what that yields, or is entered as."""

from __future__ import annotations

import libcst as cst

from torchlint.facts.building.definitions import DefinitionBuilder
from torchlint.facts.building.own_guards import ENTERING, Definition, is_manager
from torchlint.facts.values.graph import Function, Op, Value
from torchlint.syntax.tree import walk_scope


def entered(builder: DefinitionBuilder, manager: Value) -> Value:
    """What a block knows of a context manager by its name; the manager itself where nothing else is seen.

    Args:
        builder: stands at the ``with``.
        manager: what is entered.

    Returns:
        an item of the generator where a function under ``@contextmanager`` makes the manager; the result of the
        ``__enter__`` of its class where that gives anything but the object.
    """
    if manager.op is not Op.CALL or manager.callee.op is Op.EXTERNAL:
        return manager
    made_by = manager.callee.reference
    if isinstance(made_by, Function) and made_by.is_foreign:
        made_by.open()
        is_made = made_by.is_generator and any(is_manager(name) for name in made_by.decorators)
        return builder.element(manager, None) if is_made else manager
    defined = builder.own_guards.defined(manager.callee.name)
    if defined and all(isinstance(one, cst.FunctionDef) and _is_generator(one) for one in defined):
        return builder.element(manager, None)
    if defined and all(map(_gives_another, defined)):
        method = builder.make(Op.ATTRIBUTE, (manager,), None, name=ENTERING)
        return builder.make(Op.CALL, (method,), manager.syntax, name=ENTERING, keys=(None,))
    return manager


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
