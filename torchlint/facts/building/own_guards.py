"""Guards of a project's own: context managers, objects and functions that switch gradients off for a block.

``with evaluating(model):`` is as good as ``with torch.no_grad():`` where ``evaluating`` yields under one, switches
gradients off before it yields, gives one, or makes an object that does so when it is entered. They are read off their
definitions, since a function may be built before those that it uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, partial

import libcst as cst

from torchlint.facts.building.guards import (
    ENTERING,
    SETTERS,
    STACKS,
    SWITCHES,
    WRITTEN,
    entered_by,
    entered_in,
    sounds_like_a_guard,
)
from torchlint.facts.building.names import imported_name
from torchlint.facts.values.graph import Mode
from torchlint.syntax.tree import dotted, walk, walk_scope, walk_statements

MANAGER = "contextmanager"
"""The end of the names of the decorators that make a context manager of a generator."""

Definition = cst.FunctionDef | cst.ClassDef | cst.Lambda


class OwnGuards:
    """Reads the grad modes off the definitions of one file."""

    def __init__(self, module: cst.CSTNode, imports: Mapping[str, str]) -> None:
        """Read ``module``; ``imports`` has the names that its imports bind, with the full dotted names."""
        self._module, self._full_name = module, partial(imported_name, imports)
        self._known: dict[cst.CSTNode, Mode | None] = {}

    def named(self, name: str) -> Mode | None:
        """The mode inside ``with name(...):``, by all that the file defines so; None where it is left alone."""
        return _together(map(self.of, self._definitions.get(name, ())))

    def kept(self, attribute: str) -> Mode | None:
        """The mode inside ``with self.mode(net):``, by all that the file keeps in such an attribute."""
        return _together(map(self._of_kept, self._attributes.get(attribute, ())))

    def _of_kept(self, value: cst.BaseExpression) -> Mode | None:
        if isinstance(value, cst.IfExp):
            return _together(map(self._of_kept, (value.body, value.orelse)))
        name, full = dotted(value) or "", self._full_name(value)
        if full in SWITCHES or self.defined(name):
            return SWITCHES.get(full or "") or self.named(name)
        return Mode.UNKNOWN if full is not None and sounds_like_a_guard(full) else None

    @cached_property
    def _attributes(self) -> dict[str, list[cst.BaseExpression]]:
        """What is assigned to attributes, by their names, but for None, which stands for what comes later."""
        found: dict[str, list[cst.BaseExpression]] = {}
        for node in walk_statements(self._module):
            if isinstance(node, cst.Assign) and dotted(node.value) != "None":
                for one in node.targets:
                    if isinstance(one.target, cst.Attribute):
                        found.setdefault(one.target.attr.value, []).append(node.value)
        return found

    def defined(self, name: str) -> list[Definition]:
        """All that the file defines under a name."""
        return self._definitions.get(name, [])

    def leave_alone(self, name: str) -> bool:
        """Whether all that the file defines under a name are managers that are seen to leave the grad mode alone.

        They enter no guard, and nothing that they call sounds like one: ``net.eval()``, and ``net.train()`` in the end.
        """
        defined = self.defined(name)
        return bool(defined) and all(isinstance(one, cst.FunctionDef) and self._leaves_alone(one) for one in defined)

    def _leaves_alone(self, helper: cst.FunctionDef) -> bool:
        if not any(is_manager(one.decorator) for one in helper.decorators) or self.of(helper) is not None:
            return False
        called = (node.func for node in walk(helper.body) if isinstance(node, cst.Call))
        names = (self._full_name(one) or dotted(one) or "" for one in called)
        return not any(map(sounds_like_a_guard, (name for name in names if name.rpartition(".")[2] != "eval")))

    @cached_property
    def are_handed_around(self) -> bool:
        """Whether a guard of torch stands anywhere but at a block or a definition: ``guard = torch.no_grad``.

        Or in a table, an attribute, among arguments; what is entered under another name may be it then.
        """
        placed: set[cst.CSTNode] = set()
        for node in walk(self._module):
            kind = node.__class__  # half of a tree is names, and nobody derives from these
            if kind is cst.Name or kind is cst.Attribute:
                if node not in placed and self._full_name(node) in WRITTEN:
                    return True
            elif isinstance(node, cst.Call):
                placed.update(map(_called, entered_by(node)))
            elif isinstance(node, cst.With):
                placed.update(_called(item.item) for item in node.items)
            elif isinstance(node, cst.Decorator):
                placed.add(_called(node.decorator))
            elif isinstance(node, cst.Expr):
                placed.add(_called(node.value))
        return False

    def of(self, definition: Definition, cls: cst.ClassDef | None = None) -> Mode | None:
        """The mode in a block under what a definition makes; that of what it decorates, where it is a decorator.

        Args:
            definition: a function, a class, or the ``__enter__`` of the class ``cls``.
            cls: the class around it.
        """
        if definition not in self._known:
            self._known[definition] = None  # who uses itself says nothing more
            self._known[definition] = self._read(definition, cls)
        return self._known[definition]

    @cached_property
    def _definitions(self) -> dict[str, list[Definition]]:
        found: dict[str, list[Definition]] = {}
        for node in walk_statements(self._module):
            if isinstance(node, cst.FunctionDef | cst.ClassDef):
                found.setdefault(node.name.value, []).append(node)
            elif isinstance(node, cst.Assign) and isinstance(node.value, cst.Lambda):
                found.setdefault(dotted(node.targets[0].target) or "", []).append(node.value)
        return found

    def _read(self, definition: Definition, cls: cst.ClassDef | None) -> Mode | None:
        if isinstance(definition, cst.Lambda):
            return self._written(definition.body, definition, None)
        if isinstance(definition, cst.ClassDef):
            return self._of_class(definition)
        if definition.name.value == ENTERING or any(is_manager(one.decorator) for one in definition.decorators):
            return self._held_by(definition, cls)
        return self._given_by(definition, cls)

    def _of_class(self, cls: cst.ClassDef) -> Mode | None:
        """By its own ``__enter__``, or that of a guard of torch that it derives from."""
        inner = cls.body.body if isinstance(cls.body, cst.IndentedBlock) else ()
        entering = (node for node in inner if isinstance(node, cst.FunctionDef) and node.name.value == ENTERING)
        own = next((self.of(node, cls) for node in entering), None)
        bases = (self._full_name(argument.value) or "" for argument in cls.bases)
        return own or next((SWITCHES[base] for base in bases if base in SWITCHES), None)

    def _held_by(self, helper: cst.FunctionDef, cls: cst.ClassDef | None) -> Mode | None:
        """What stands in a ``with`` around a ``yield``, is entered by hand, or is set before the block runs.

        Of several ``yield`` one alone runs: each stands for the block on a path of its own.
        """
        yielding = [node for node in walk_scope(helper) if isinstance(node, cst.Yield)]
        blocks: list[cst.CSTNode] = [*yielding] or [helper]
        modes: dict[cst.CSTNode, Mode | None] = dict.fromkeys(blocks)
        is_before = True
        for node in walk_scope(helper):
            is_before = is_before and not isinstance(node, cst.Yield)
            entered: list[cst.BaseExpression] = []
            inside: list[cst.CSTNode] = list(modes)
            if isinstance(node, cst.With):
                inside = [inner for inner in walk_scope(node) if isinstance(inner, cst.Yield)]
                entered = [item.item for item in node.items] if inside else []
            elif isinstance(node, cst.Call) and is_before:
                entered = entered_by(node) or ([node] if self._full_name(node.func) in SETTERS else [])
            for one in entered:  # of several the last counts
                mode = self._written(one, helper, cls)
                modes.update(dict.fromkeys(inside, mode) if mode is not None else {})
        return _together(modes.values())

    def _given_by(self, function: cst.FunctionDef, cls: cst.ClassDef | None) -> Mode | None:
        """What a function returns: ``return torch.no_grad() if frozen else nullcontext()``."""
        last = function.body.body[-1] if function.body.body else None
        small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) and last.body else None
        if not isinstance(small, cst.Return):
            return None
        if self._is_stack(small.value, function):
            return self._entered_in(function, cls)
        if not self._is_of_torch(small.value):
            return None  # the most
        returned = [node.value for node in walk_scope(function) if isinstance(node, cst.Return)]
        return _together(self._written(one, function, cls) if one is not None else None for one in returned)

    def _is_stack(self, returned: cst.BaseExpression | None, function: cst.FunctionDef) -> bool:
        """``stack`` or ``stack.pop_all()`` of an ``ExitStack`` that a function makes."""
        if isinstance(returned, cst.Call) and isinstance(returned.func, cst.Attribute) and not returned.args:
            returned = returned.func.value if returned.func.attr.value == "pop_all" else None
        if not isinstance(returned, cst.Name):
            return False
        items = (item for node in walk_scope(function) if isinstance(node, cst.With) for item in node.items)
        opened = [item.item for item in items if item.asname and dotted(item.asname.name) == returned.value]
        made = [*self._assigned(returned, function, None), *opened]
        return any(self._full_name(one.func) in STACKS for one in made if isinstance(one, cst.Call))

    def _entered_in(self, function: cst.FunctionDef, cls: cst.ClassDef | None) -> Mode | None:
        """The mode under all that a function enters by hand, of which the last counts; MAYBE under a condition."""
        calls = (node for node in walk_scope(function) if isinstance(node, cst.Call))
        always = entered_in(function.body)
        entered = [(one, self._written(one, function, cls)) for call in calls for one in entered_by(call)]
        modes = [(one, mode) for one, mode in entered if mode is not None]
        return (modes[-1][1] if all(one in always for one, _ in modes) else Mode.MAYBE) if modes else None

    def _is_of_torch(self, expression: cst.BaseExpression | None) -> bool:
        """Whether what an expression calls, in one case at least, is torch's."""
        if isinstance(expression, cst.IfExp):
            return self._is_of_torch(expression.body) or self._is_of_torch(expression.orelse)
        while isinstance(expression, cst.Call):
            expression = expression.func
        return expression is not None and (self._full_name(expression) or "").startswith("torch.")

    def _written(self, expression: cst.BaseExpression, function: Definition, cls: cst.ClassDef | None) -> Mode | None:
        """The mode under what an expression in a function makes; None where it leaves gradients alone."""
        if expression not in self._known:
            self._known[expression] = None  # ``guard = guard or torch.no_grad()`` says nothing more by itself
            self._known[expression] = self._made_by(expression, function, cls)
        return self._known[expression]

    def _made_by(self, expression: cst.BaseExpression, function: Definition, cls: cst.ClassDef | None) -> Mode | None:
        if isinstance(expression, cst.IfExp):
            return _together(self._written(one, function, cls) for one in (expression.body, expression.orelse))
        if isinstance(expression, cst.Call):
            if isinstance(expression.func, cst.Call):
                return self._written(expression.func, function, cls)  # ``torch.no_grad()(function)``
            name = self._full_name(expression.func) or ""
            if name in SETTERS or name.endswith("inference_mode"):
                return _told(expression, is_setter=name in SETTERS)
            return SWITCHES.get(name) or self.named((dotted(expression.func) or "").rpartition(".")[2])
        if isinstance(expression, cst.Attribute | cst.Name):
            assigned = self._assigned(expression, function, cls)
            known = SWITCHES.get(self._full_name(expression) or "")
            return known or _together(self._written(one, function, None) for one in assigned)
        return None

    def _assigned(
        self, expression: cst.BaseExpression, function: Definition, cls: cst.ClassDef | None
    ) -> list[cst.BaseExpression]:
        """What a variable of a function, or an attribute of a class, is set to there."""
        around, name = (function if isinstance(expression, cst.Name) else cls), dotted(expression)
        if around is None or name is None:
            return []
        nodes = (node for node in walk(around) if isinstance(node, cst.Assign))
        return [node.value for node in nodes if any(dotted(one.target) == name for one in node.targets)]


def _called(expression: cst.BaseExpression) -> cst.BaseExpression:
    """What an expression calls; itself where it is no call."""
    return expression.func if isinstance(expression, cst.Call) else expression


def is_manager(decorator: cst.BaseExpression | str) -> bool:
    """Whether a decorator, as it is written or by its full name, makes a context manager of a generator."""
    return (decorator if isinstance(decorator, str) else dotted(decorator) or "").endswith(MANAGER)


def _told(call: cst.Call, *, is_setter: bool) -> Mode:
    """The mode that ``set_grad_enabled(x)`` or ``inference_mode(x)`` sets."""
    given = dotted(call.args[0].value) if call.args else str(not is_setter)
    if given not in ("True", "False"):
        return Mode.MAYBE
    return Mode.ON if (given == "True") is is_setter else Mode.OFF


def _together(modes: Iterable[Mode | None]) -> Mode | None:
    """The mode where one of several counts, nobody knows which."""
    distinct = set(modes)
    if distinct <= {None}:
        return None
    return distinct.pop() if len(distinct) == 1 else Mode.MAYBE
