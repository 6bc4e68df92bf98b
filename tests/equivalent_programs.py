"""Programs written in another way that behave the same: what torchlint tells of one it has to tell of the other.

A program is a tree of ``ast``; each statement of it carries the codes that are expected of it as ``codes``, wherever a
change of the program moves it to. A form changes a tree in place and says whether there was anything to change.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy

__all__ = ["FORMS", "Form", "codes_by_line", "expecting", "text_of"]

Codes = frozenset[str]
Form = Callable[[ast.Module], bool]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)
_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal)


def expecting(text: str, marks: Iterable[tuple[int, str]]) -> ast.Module:
    """The tree of ``text``; the statements that begin in the lines of ``marks`` carry their codes."""
    tree = ast.parse(text)
    by_line = {node.lineno: node for node in ast.walk(tree) if isinstance(node, ast.stmt)}
    for line, code in marks:
        _carry(by_line[line], {code})
    return tree


def text_of(tree: ast.Module) -> str:
    """The program as it is written now."""
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def codes_by_line(tree: ast.Module) -> dict[int, Codes]:
    """For each line of :func:`text_of` the codes that the statement which begins there carries."""
    before = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    after = (node for node in ast.walk(ast.parse(text_of(tree))) if isinstance(node, ast.stmt))
    return {new.lineno: codes for old, new in zip(before, after, strict=True) if (codes := _codes(old))}


def _codes(node: ast.AST) -> Codes:
    return getattr(node, "codes", frozenset())


def _carry(node: ast.AST, codes: Iterable[str]) -> None:
    node.codes = _codes(node) | frozenset(codes)  # type: ignore[attr-defined]


# -- what all forms ask of a tree -------------------------------------------------------------------------------------


def _written(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _loops(tree: ast.AST) -> list[ast.For]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.For)]


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for handler in getattr(node, "handlers", []):
        yield handler.body


def _replace(tree: ast.Module, instead: Callable[[ast.stmt], list[ast.stmt] | None]) -> bool:
    """Put ``instead`` in place of each statement for which it gives others, the innermost first."""
    found = [block for node in ast.walk(tree) for block in _blocks(node)]
    is_changed = False
    for block in reversed(found):
        changed = [(one, instead(one)) for one in block]
        is_changed |= any(others is not None for _, others in changed)
        block[:] = [other for one, others in changed for other in ([one] if others is None else others)]
    return is_changed


def _add_at_top(tree: ast.Module, text: str) -> None:
    imports = [number for number, one in enumerate(tree.body, 1) if isinstance(one, ast.Import | ast.ImportFrom)]
    tree.body[imports[-1] : imports[-1]] = _written(text)


def _fresh(tree: ast.AST) -> Callable[[str], str]:
    """Makes names that the program has not."""
    names = {value for node in ast.walk(tree) for value in vars(node).values() if isinstance(value, str)}

    def named(word: str) -> str:
        name, number = word, 2
        while name in names:
            name, number = f"{word}{number}", number + 1
        names.add(name)
        return name

    return named


def _names(nodes: Iterable[ast.AST], *contexts: type[ast.expr_context]) -> set[str]:
    every = (part for node in nodes for part in ast.walk(node))
    return {part.id for part in every if isinstance(part, ast.Name) and isinstance(part.ctx, contexts)}


def _stored(nodes: Iterable[ast.AST]) -> set[str]:
    return _names(nodes, ast.Store, ast.Del)


def _read(nodes: list[ast.stmt]) -> set[str]:
    updates = (part for node in nodes for part in ast.walk(node) if isinstance(part, ast.AugAssign))
    return _names(nodes, ast.Load) | _stored(update.target for update in updates)


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)]


def _is_simple(value: ast.expr) -> bool:
    plain = (ast.Name, ast.Attribute, ast.Constant, ast.expr_context)
    return all(isinstance(part, plain) for part in ast.walk(value))


def _is_begun(value: ast.expr) -> bool:
    """``[]``, ``{}``, ``0.0``: what something is collected or added up in."""
    is_number = isinstance(value, ast.Constant) and type(value.value) in (int, float)
    return (
        is_number
        or (isinstance(value, ast.List) and not value.elts)
        or (isinstance(value, ast.Dict) and not value.keys)
    )


def _target(node: ast.stmt) -> ast.expr | None:
    return node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None


def _holders(function: ast.FunctionDef) -> dict[str, ast.Assign]:
    """The variables of a function that it begins as numbers or collections, where only it binds them."""
    assigned = [one for one in function.body if isinstance(one, ast.Assign) and _is_begun(one.value)]
    found = {one.targets[0].id: one for one in assigned if isinstance(one.targets[0], ast.Name)}
    inner = [node for node in ast.walk(function) if isinstance(node, _SCOPES) and node is not function]
    loops = [node.target for node in ast.walk(function) if isinstance(node, ast.For | ast.comprehension)]
    taken = _stored(loops) | {name for node in inner for name in _stored([node]) | _names([node], ast.Load)}
    return {name: one for name, one in found.items() if name not in taken}


def _lists(tree: ast.Module) -> set[str]:
    """The variables and attributes that are empty lists at first and never anything else, as they are written."""
    assigned = [(ast.unparse(one.targets[0]), one.value) for one in ast.walk(tree) if isinstance(one, ast.Assign)]
    others = {name for name, value in assigned if not (isinstance(value, ast.List) and not value.elts)}
    bound = _stored(loop.target for loop in _loops(tree)) | {n for f in _functions(tree) for n in _parameters(f)}
    return {name for name, _ in assigned} - others - bound


# -- the same said in other words -------------------------------------------------------------------------------------


def with_temporaries(tree: ast.Module) -> bool:
    """``loss = criterion(model(x), y)`` as ``value = model(x)``, ``loss = criterion(value, y)``."""
    fresh = _fresh(tree)

    def split(node: ast.stmt) -> list[ast.stmt] | None:
        call = node.value if isinstance(node, ast.Assign | ast.Expr | ast.Return | ast.AugAssign) else None
        if not isinstance(call, ast.Call) or not _is_simple(call.func):
            return None
        if not all(
            _is_simple(one) or isinstance(one, ast.Call) for one in [*call.args, *(k.value for k in call.keywords)]
        ):
            return None
        before: list[ast.stmt] = []
        for number, argument in enumerate(call.args):
            if isinstance(argument, ast.Call):
                name = fresh("value")
                before.append(ast.Assign([ast.Name(name, ast.Store())], argument))
                _carry(before[-1], _codes(node))
                call.args[number] = ast.Name(name, ast.Load())
        return [*before, node] if before else None

    return _replace(tree, split)


def with_iterators(tree: ast.Module) -> bool:
    """``for x in rows:`` as ``iterator = iter(rows)`` and ``x = next(iterator)`` until that is at its end."""
    fresh = _fresh(tree)

    def unrolled(node: ast.stmt) -> list[ast.stmt] | None:
        if not isinstance(node, ast.For) or node.orelse:
            return None
        name = fresh("iterator")
        begun = ast.Assign([ast.Name(name, ast.Store())], ast.Call(ast.Name("iter", ast.Load()), [node.iter], []))
        drawn = ast.Assign([node.target], _expression(f"next({name})"))
        handler = ast.ExceptHandler(ast.Name("StopIteration", ast.Load()), None, [ast.Break()])
        loop = ast.While(ast.Constant(True), [ast.Try([drawn], [handler], [], []), *node.body], [])
        _carry(loop, _codes(node))
        return [begun, loop]

    return _replace(tree, unrolled)


def with_counted_loops(tree: ast.Module) -> bool:
    """``for number, x in enumerate(rows):``."""
    fresh = _fresh(tree)
    for loop in (loops := _loops(tree)):
        loop.target = ast.Tuple([ast.Name(fresh("number"), ast.Store()), loop.target], ast.Store())
        loop.iter = ast.Call(ast.Name("enumerate", ast.Load()), [loop.iter], [])
    return bool(loops)


def with_a_generator(tree: ast.Module) -> bool:
    """``for x in each(rows):``, where ``each`` yields one after the other."""
    name = _fresh(tree)("each")
    for loop in (loops := _loops(tree)):
        loop.iter = ast.Call(ast.Name(name, ast.Load()), [loop.iter], [])
    if loops:
        _add_at_top(tree, f"def {name}(items):\n    for item in items:\n        yield item")
    return bool(loops)


def _with_appends(tree: ast.Module, instead: str) -> bool:
    lists = _lists(tree)

    def written(node: ast.stmt) -> list[ast.stmt] | None:
        call = node.value if isinstance(node, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "append":
            return None
        name = ast.unparse(call.func.value)
        if name not in lists or len(call.args) != 1:
            return None
        (found,) = _written(instead.format(name=name, value=ast.unparse(call.args[0])))
        _carry(found, _codes(node))
        return [found]

    return _replace(tree, written)


def with_lists_added(tree: ast.Module) -> bool:
    """``rows += [x]``."""
    return _with_appends(tree, "{name} += [{value}]")


def with_lists_made_longer(tree: ast.Module) -> bool:
    """``rows = [*rows, x]``."""
    return _with_appends(tree, "{name} = [*{name}, {value}]")


# -- what stands around it --------------------------------------------------------------------------------------------


def with_tries(tree: ast.Module) -> bool:
    """The body of each loop under ``try``, with something for ``finally``."""
    for loop in (loops := _loops(tree)):
        loop.body = [ast.Try(loop.body, [], [], _written("sys.stdout.flush()"))]
    if loops:
        _add_at_top(tree, "import sys")
    return bool(loops)


def with_decorators(tree: ast.Module) -> bool:
    """Each function behind a decorator that passes on what it is given."""
    name = _fresh(tree)("traced")
    for function in (
        functions := [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name != "main"]
    ):
        function.decorator_list.append(ast.Name(name, ast.Load()))
    if functions:
        inner = (
            "@functools.wraps(function)\n    def wrapper(*args, **kwargs):\n        return function(*args, **kwargs)"
        )
        _add_at_top(tree, f"import functools\ndef {name}(function):\n    {inner}\n    return wrapper")
    return bool(functions)


# -- where it stands --------------------------------------------------------------------------------------------------


def _innermost(function: ast.FunctionDef) -> list[ast.For]:
    """The loops of a function without another one in them, whose bodies can stand in a function of their own."""
    if any(
        isinstance(node, (*_SCOPES, ast.NamedExpr, *_LEAVING[5:])) for one in function.body for node in ast.walk(one)
    ):
        return []
    loops = (loop for loop in _loops(function) if len(_loops(loop)) == 1)
    return [loop for loop in loops if not any(isinstance(n, (*_LEAVING, ast.Delete)) for n in ast.walk(loop))]


def _shared(function: ast.FunctionDef, loop: ast.For) -> set[str] | None:
    """What the body of a loop binds for others than itself; None where it is not plain that it does so each time."""
    body = {id(node) for one in loop.body for node in ast.walk(one)}
    outside = [node for node in ast.walk(function) if isinstance(node, ast.Name) and id(node) not in body]
    plain = _stored(target for one in loop.body if isinstance(one, ast.Assign) for target in one.targets)
    found = _stored(loop.body) & {node.id for node in outside}
    is_bound = found <= {node.id for node in outside if isinstance(node.ctx, ast.Store)} | set(_parameters(function))
    return found if is_bound or found <= plain else None


def with_bodies_in_functions(tree: ast.Module) -> bool:
    """The body of a loop in a function that is handed what it reads and gives back what it binds for others."""
    fresh, is_changed = _fresh(tree), False
    for function in [one for one in tree.body if isinstance(one, ast.FunctionDef)]:
        for loop in _innermost(function):
            known = set(_parameters(function)) | _stored(one for one in function.body if loop not in ast.walk(one))
            known |= _stored([loop.target])
            results = _shared(function, loop)
            given = sorted(_read(loop.body) & known)
            if results is None or not (_read(loop.body) & _stored(function.body)) <= known | _stored(loop.body):
                continue
            name, back = fresh("one_turn"), ", ".join(sorted(results))
            (helper,) = _written(f"def {name}({', '.join(given)}):\n    return {back or None}")
            assert isinstance(helper, ast.FunctionDef)
            helper.body[:0] = loop.body
            _carry(helper, _codes(function))
            loop.body = _written(f"{back} = {name}({', '.join(given)})" if back else f"{name}({', '.join(given)})")
            tree.body.insert(tree.body.index(function), helper)
            is_changed = True
    return is_changed


def with_bodies_in_nested_functions(tree: ast.Module) -> bool:
    """The body of a loop in a function inside the one around it, which binds the variables of that."""
    fresh, is_changed = _fresh(tree), False
    for function in [one for one in tree.body if isinstance(one, ast.FunctionDef)]:
        for loop in _innermost(function)[:1]:
            results = _shared(function, loop)
            before = [number for number, one in enumerate(function.body) if loop in ast.walk(one)]
            if (
                results is None
                or results & _stored([loop.target])
                or not results <= _stored(function.body[: before[0]])
            ):
                continue
            name, given = fresh("turn"), ", ".join(sorted(_stored([loop.target])))
            (helper,) = _written(f"def {name}({given}):\n    pass")
            assert isinstance(helper, ast.FunctionDef)
            helper.body = [*(_written(f"nonlocal {', '.join(sorted(results))}") if results else []), *loop.body]
            loop.body = _written(f"{name}({given})")
            function.body.insert(before[0], helper)
            is_changed = True
    return is_changed


def with_holders_in_a_dictionary(tree: ast.Module) -> bool:
    """``state["total"] += loss``."""
    fresh, is_changed = _fresh(tree), False
    for function in [one for one in tree.body if isinstance(one, ast.FunctionDef)]:
        if names := _holders(function):
            state = fresh("state")
            _Renaming({name: f'{state}["{name}"]' for name in names}).visit(function)
            function.body[:0] = _written(f"{state} = {{}}")
            is_changed = True
    return is_changed


def with_properties(tree: ast.Module) -> bool:
    """What ``__init__`` begins is kept under a name of its own, and read and assigned by a property."""
    is_changed = False
    for cls in [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]:
        makers = [one for one in cls.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
        begun = [
            _target(one)
            for maker in makers
            for one in maker.body
            if isinstance(one, ast.Assign) and _is_begun(one.value)
        ]
        names = {one.attr for one in begun if isinstance(one, ast.Attribute) and not one.attr.startswith("_")}
        for node in ast.walk(makers[0]) if makers else ():
            if isinstance(node, ast.Attribute) and node.attr in names and ast.unparse(node.value) == "self":
                node.attr = f"_{node.attr}"
        for name in sorted(names):
            cls.body += _written(
                f"@property\ndef {name}(self):\n    return self._{name}\n"
                f"@{name}.setter\ndef {name}(self, value):\n    self._{name} = value"
            )
            is_changed = True
    return is_changed


class _Renaming(ast.NodeTransformer):
    """Puts expressions in place of names."""

    def __init__(self, instead: dict[str, str]) -> None:
        self.instead = instead

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id not in self.instead:
            return node
        found = _expression(self.instead[node.id])
        found.ctx = deepcopy(node.ctx)  # type: ignore[attr-defined]
        return found


FORMS: tuple[Form, ...] = (
    with_temporaries, with_iterators, with_counted_loops, with_a_generator, with_lists_added,
    with_lists_made_longer, with_tries, with_decorators, with_bodies_in_functions,
    with_bodies_in_nested_functions, with_holders_in_a_dictionary, with_properties,
)  # fmt: skip
"""All ways of writing a program anew."""
