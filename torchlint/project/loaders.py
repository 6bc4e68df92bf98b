"""Which data sets a file reads with worker processes: ``DataLoader(Texts(path), num_workers=4)``."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from torchlint.syntax.python_tree import last_name, walk

__all__ = ["LOADER", "NUM_WORKERS", "argument", "reads_with_workers"]

LOADER = "DataLoader"

DATASET, NUM_WORKERS = (0, "dataset"), (5, "num_workers")
"""Parameters of the loader, by position and by keyword."""


def reads_with_workers(
    tree: ast.Module, name: str, others: Sequence[ast.Module] = (), idle: Collection[ast.Call] = ()
) -> bool:
    """Whether a file gives an instance of the class ``name``, or what it makes of one, to a loader with workers.

    ``others``: the files of which it may call functions that make the loader; ``idle``: the calls that make loaders of
    which is known that they have no workers.
    """
    loaders = [node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) == LOADER]
    loaders = [call for call in loaders if call not in idle]
    loaders = [call for call in loaders if _has_workers(call) or _has_workers_by_spread(tree, call)]
    given = [dataset for call in loaders if (dataset := argument(call, *DATASET)) is not None]
    given += [value for other in others for value in _handed_to(tree, other, idle)]
    return bool(given) and _reaches(tree, name, given, idle)


def _has_workers(call: ast.Call) -> bool:
    """Whether workers are asked for; a number that is not written there counts as some."""
    workers = argument(call, *NUM_WORKERS)
    return workers is not None and not (isinstance(workers, ast.Constant) and workers.value in (0, None))


def _has_workers_by_spread(tree: ast.Module, call: ast.Call) -> bool:
    """``DataLoader(data, **options)`` beside ``options = dict(num_workers=4)``."""
    spread = {last_name(one.value) for one in call.keywords if one.arg is None} - {""}
    made = (value for target, value in _assigned(tree) if target in spread) if spread else ()
    return any(isinstance(value, ast.Call | ast.Dict) and _has_workers(_as_call(value)) for value in made)


def _as_call(options: ast.Call | ast.Dict) -> ast.Call:
    """A dictionary as the call that is given its entries by name."""
    if isinstance(options, ast.Call):
        return options
    entries = zip(options.keys, options.values, strict=True)
    named = [ast.keyword(str(key.value), value) for key, value in entries if isinstance(key, ast.Constant)]
    return ast.Call(ast.Name("dict"), [], named)


def argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """What a call gives for a parameter, by its position (from 0) and name; None where it gives nothing."""
    if len(call.args) > position:
        return call.args[position]
    return next((one.value for one in call.keywords if one.arg == keyword), None)


def _reaches(tree: ast.Module, name: str, given: list[ast.expr], idle: Collection[ast.Call]) -> bool:
    """Whether one of these expressions makes an instance, or reads a variable that holds one, or a part of one."""
    assigned = [*_assigned(tree), *_passed(tree, idle), *_returned(tree)]
    sources, pending, seen = list(given), list(given), set[str]()
    while pending:
        read = {last_name(node) for node in walk(pending.pop()) if isinstance(node, ast.Name | ast.Attribute)} - seen
        seen |= read
        further = [value for target, value in assigned if target in read]
        sources += further
        pending += further
    calls = (node for source in sources for node in walk(source) if isinstance(node, ast.Call))
    return any(_may_be(call.func, name, assigned) for call in calls)


def _may_be(called: ast.expr, name: str, assigned: Sequence[tuple[str, ast.expr]]) -> bool:
    """Whether what is called is the class ``name``, be it as one of several: ``SETS[kind](path)``, ``chosen(path)``."""
    pending, seen = [called], set[str]()
    while pending:
        one = pending.pop()
        target = last_name(one)
        if target == name:
            return True
        if target not in seen:
            seen.add(target)
            pending += [value for variable, value in assigned if variable == target]
        pending += _choices(one)
    return False


def _choices(node: ast.expr) -> list[ast.expr]:
    """What an expression is one of, or holds: a table of what it takes out of one; nothing where it is no choice."""
    match node:
        case ast.Subscript(value=table) | ast.Call(func=ast.Attribute(value=table, attr="get")):
            return [table]
        case ast.Call(func=ast.Name(id="dict"), keywords=entries):
            return [entry.value for entry in entries]
        case ast.Dict(values=held) | ast.Tuple(elts=held) | ast.List(elts=held):
            return held
        case ast.IfExp(body=first, orelse=second):
            return [first, second]
        case _:
            return []


def _passed(tree: ast.Module, idle: Collection[ast.Call]) -> Iterator[tuple[str, ast.expr]]:
    """What the parameters are given of a function, or of a class, that makes a loader, by the calls that want workers.

    ``def batches(data, workers): return DataLoader(data, num_workers=workers)``.
    """
    makers = {name: function for name, function in _functions(tree) if _loaders_in(function, idle)}
    calls = (node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) in makers)
    for call in calls:
        function = makers[last_name(call.func)]
        given = _bound(call, function)
        workers = (argument(loader, *NUM_WORKERS) for loader in _loaders_in(function, idle))
        wanted = (given.get(one.id, one) if isinstance(one, ast.Name) else one for one in workers)
        if any(not (isinstance(one, ast.Constant) and one.value in (0, None)) for one in wanted):
            yield from given.items()


def _handed_to(tree: ast.Module, other: ast.Module, idle: Collection[ast.Call]) -> Iterator[ast.expr]:
    """What a file gives functions of another one that make a loader of it with workers."""
    makers = {name: function for name, function in _functions(other) if _loaders_in(function, idle)}
    calls = (node for node in walk(tree) if isinstance(node, ast.Call) and last_name(node.func) in makers)
    for call in calls:
        function = makers[last_name(call.func)]
        given, assigned = _bound(call, function), [*_assigned(function)]
        for loader in _loaders_in(function, idle):
            workers, dataset = argument(loader, *NUM_WORKERS), argument(loader, *DATASET)
            if isinstance(workers, ast.Name):
                workers = given.get(workers.id, workers)
            if dataset is None or _is_none_by_default(workers, (tree, other)):
                continue
            read = _names_in(dataset)
            read |= {name for target, value in assigned if target in read for name in _names_in(value)}
            yield from (value for parameter, value in given.items() if parameter in read)


def _names_in(node: ast.expr) -> set[str]:
    return {one.id for one in walk(node) if isinstance(one, ast.Name)}


def _is_none_by_default(workers: ast.expr | None, trees: Sequence[ast.Module]) -> bool:
    """Whether no workers are asked for: ``0``, or ``config.workers`` of which a class says so and no call otherwise."""
    if isinstance(workers, ast.Constant):
        return workers.value in (0, None)
    if not isinstance(workers, ast.Attribute):
        return False
    nodes = [node for tree in trees for node in walk(tree)]
    if any(isinstance(node, ast.keyword) and node.arg == workers.attr for node in nodes):
        return False
    fields = (value for tree in trees for target, value in _assigned(tree) if target == workers.attr)
    return any(isinstance(value, ast.Constant) and value.value in (0, None) for value in fields)


def _returned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    """The name of each function, with what it returns."""
    for name, function in _functions(tree):
        for node in walk(function):
            if isinstance(node, ast.Return) and node.value is not None:
                yield name, node.value


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions of a file by the names by which they are called, initializers by that of the class."""
    for node in walk(tree):
        if isinstance(node, ast.ClassDef):
            initializers = (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
            yield from ((node.name, one) for one in initializers)
        elif isinstance(node, ast.FunctionDef) and node.name != "__init__":
            yield node.name, node


def _loaders_in(function: ast.FunctionDef, idle: Collection[ast.Call]) -> list[ast.Call]:
    calls = (node for node in walk(function) if isinstance(node, ast.Call) and last_name(node.func) == LOADER)
    return [call for call in calls if _has_workers(call) and call not in idle]


def _bound(call: ast.Call, function: ast.FunctionDef) -> dict[str, ast.expr]:
    """What each parameter of a function is in a call: what is passed, or its default."""
    names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    defaults = function.args.defaults
    bound = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
    keywords = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    bound |= {one.arg: default for one, default in keywords if default is not None}
    bound |= zip(names[1:] if names[:1] == ["self"] else names, call.args, strict=False)
    return bound | {one.arg: one.value for one in call.keywords if one.arg is not None}


def _assigned(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The last name of each variable or attribute that is assigned, with what it gets."""
    for node in walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) or node.value is None:
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
            for part in parts:
                if name := last_name(part):
                    yield name, node.value
