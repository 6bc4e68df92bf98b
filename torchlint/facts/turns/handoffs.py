"""Work that is described in one place and runs in another: in another thread, or when it is iterated.

The grad mode belongs to a thread and to a moment, so a guard where such work is described does not reach it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from torchlint.facts.turns.steps import called_object
from torchlint.facts.values.domain import Container, FunctionReference, Instance, Module, sorted_values
from torchlint.facts.values.frameworks import is_module_class
from torchlint.facts.values.graph import Class, Function, Mode, Op, Value
from torchlint.facts.values.threads import IN_EXECUTOR, THREADS, handed_over
from torchlint.syntax.tree import walk

if TYPE_CHECKING:
    from torchlint.facts import Facts

POOLS = frozenset(
    ["concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor",
     "multiprocessing.pool.ThreadPool", "multiprocessing.dummy.Pool"]
)  # fmt: skip

LAZY = frozenset(["builtins.map", "builtins.filter", "itertools.starmap"])
"""They call their first argument when they are iterated over, not when they are made."""

PASSING_ON = LAZY | {
    "builtins.enumerate", "builtins.zip", "builtins.iter", "itertools.chain", "itertools.islice", "tqdm.tqdm",
    "tqdm.auto.tqdm", "tqdm.notebook.tqdm",
}  # fmt: skip
"""Iterators over iterators: they consume what they are given when they are consumed themselves."""

KEEPS_GENERATOR = frozenset(["staticmethod", "classmethod", "abstractmethod", "abc.abstractmethod", "typing.override"])
"""Decorators after which a generator function is still one, and what it yields goes to whoever iterates."""

DEPTH = 3
"""How many calls deep a forward is looked for."""


@dataclass(frozen=True)
class ThreadWork:
    """A function that is handed to another thread.

    Attributes:
        call: the call that hands it over: ``pool.submit(f, x)``, ``Thread(target=f)``.
        function: what runs there.
        modules: its parameters that are given a module.
        owned: True when the thread runs nothing else: ``Thread(target=f)``, and not a worker of a pool.
    """

    call: Value
    function: Function
    modules: frozenset[Value]
    owned: bool


@dataclass(frozen=True)
class LazyWork:
    """A generator expression, a generator, ``map`` or ``filter`` made under a guard, consumed outside of it.

    Attributes:
        value: the iterator.
        functions: the functions of this file that it calls.
        consumer: what consumes it in the same function; None when it is returned.
    """

    value: Value
    functions: tuple[Function, ...]
    consumer: Value | None


# -- threads ------------------------------------------------------------------------------------------------


def thread_work(facts: Facts) -> list[ThreadWork]:
    """Every function that is handed to another thread, by every call that does so."""
    return [work for call in facts.calls() for work in _handed_over(facts, call)]


def _handed_over(facts: Facts, call: Value) -> Iterable[ThreadWork]:
    found = handed_over(call)
    if found is None or not _runs_in_thread(facts, call):
        return
    task, given = found
    owned = call.callee.name in THREADS
    for atom in sorted_values(facts.solution.final(task)):
        if isinstance(atom, FunctionReference):
            function, is_bound = atom.function, atom.bound
        elif isinstance(atom, Instance) and (called := run_by_call(atom.cls)) is not None:
            function, is_bound = called, True
        else:
            continue
        parameters = function.for_arguments(bound=is_bound)
        modules = [p for p, value in zip(parameters, given, strict=False) if _gives_network(facts, value)]
        yield ThreadWork(call, function, frozenset(modules), owned)


def run_by_call(cls: Class) -> Function | None:
    """What calling an object of a class runs, as far as it is seen."""
    return cls.method("forward") if is_module_class(cls) else cls.method("__call__")


def _gives_network(facts: Facts, value: Value) -> bool:
    """Whether a function is given a module, or one of several: ``pool.map(score, models, repeat(x))``."""
    held = (
        one
        for atom in facts.solution.final(value)
        if isinstance(atom, Container)
        for _, one in facts.solution.held.get(atom.allocation, ())
    )
    given = value.arguments if value.op is Op.CALL and value.callee.name == "itertools.repeat" else ()
    return any(is_network(facts, one) for one in (value, *given, *held))


def _runs_in_thread(facts: Facts, call: Value) -> bool:
    """Whether what a CALL hands over goes to threads, and not to processes or to code that is not seen."""
    callee = call.callee
    if callee.op is Op.EXTERNAL:
        return True
    if callee.name != IN_EXECUTOR:
        return _is_thread_pool(facts, callee.inputs[0])
    executor = call.argument(0, "executor")
    is_default = executor is not None and executor.op is Op.CONSTANT and executor.name == "None"
    return executor is not None and (is_default or _is_thread_pool(facts, executor))


def _is_thread_pool(facts: Facts, value: Value) -> bool:
    """Whether ``value`` is a pool of threads whose workers are not told anything when they start."""
    made = [v for v in origins(facts, value) if v.op is Op.CALL]
    return bool(made) and all(
        call.callee.op is Op.EXTERNAL and call.callee.name in POOLS and call.argument(2, "initializer") is None
        for call in made
    )


def origins(facts: Facts, value: Value) -> list[Value]:
    """The values that ``value`` may be, through variables, attributes, parameters and branches."""
    pending, found = [value], dict[Value, None]()
    while pending:
        current = pending.pop()
        if current in found:
            continue
        found[current] = None
        if current.op is Op.PHI:
            pending += current.inputs
        elif current.op is Op.PARAMETER:
            pending += facts.solution.arguments_of(current)
        elif current.place is not None:
            pending += facts.solution.stored.get(current.place, ())
        elif current.op is Op.ATTRIBUTE:
            for place in facts.solution.places(current.inputs[0], current.name):
                pending += facts.solution.stored.get(place, ())
    return list(found)


# -- forwards -----------------------------------------------------------------------------------------------


def is_network(facts: Facts, value: Value) -> bool:
    """Whether ``value`` is a module that may hold parameters."""
    return any(
        (isinstance(atom, Module) and atom.has_parameters) or (isinstance(atom, Instance) and is_module_class(atom.cls))
        for atom in facts.solution.final(value)
    )


def runs_forward(
    facts: Facts,
    function: Function,
    modules: frozenset[Value] = frozenset(),
    depth: int = DEPTH,
    modes: frozenset[Mode] = frozenset([Mode.ON, Mode.INHERITED, Mode.MAYBE]),
) -> bool:
    """Whether calling ``function`` runs a module's forward in one of these grad modes, as it stands there.

    Args:
        facts: of the file.
        function: of the file.
        modules: those of its parameters that are modules beyond what its callers tell.
        depth: how many calls further to look.
        modes: those that count.
    """
    for call in facts.steps.calls_in(function):
        if call.mode not in modes:
            continue
        runs = facts.steps.calls_module(call) or facts.extents.is_method_of_module(call)
        if called_object(call) in modules or runs:
            return True
        if depth and any(
            runs_forward(facts, f, frozenset(), depth - 1, modes) for f in facts.solution.functions_of(call)
        ):
            return True
    return False


# -- iterators that run later -------------------------------------------------------------------------------


def lazy_work(facts: Facts) -> list[LazyWork]:
    """Every iterator that is made with gradients off, runs forwards, and is consumed where they may be on."""
    found = []
    for value in facts.graph.values:
        if value.mode is not Mode.OFF or not (value.op is Op.CONTAINER or value.op is Op.CALL):
            continue
        work = _of_expression(facts, value) if value.op is Op.CONTAINER else _of_call(facts, value)
        if work is None:
            continue
        consumed, consumer = _consumed_outside(facts, value)
        if consumed:
            found.append(LazyWork(value, work, consumer))
    return found


def _of_expression(facts: Facts, value: Value) -> tuple[Function, ...] | None:
    """What a generator expression calls each time it is asked for an item, None if that runs no forward."""
    node = value.syntax
    if not isinstance(node, cst.GeneratorExp):
        return None
    later = {inner for part in _evaluated_later(node) for inner in walk(part)}
    calls = [v for v in facts.steps.calls_in(value.function) if v.syntax in later]
    functions = tuple(f for call in calls for f in facts.solution.functions_of(call) if _is_work(facts, f))
    return functions if functions or any(map(facts.steps.calls_module, calls)) else None


def _evaluated_later(node: cst.GeneratorExp) -> list[cst.CSTNode]:
    """All of a generator expression but its first iterable, which is evaluated on the spot."""
    parts: list[cst.CSTNode] = [node.elt, *node.for_in.ifs]
    return parts if node.for_in.inner_for_in is None else [*parts, node.for_in.inner_for_in]


def _of_call(facts: Facts, value: Value) -> tuple[Function, ...] | None:
    """What a CALL gives that runs forwards each time it is asked for an item, None for all else."""
    if value.callee.op is Op.EXTERNAL:
        return _of_map(facts, value)
    functions = tuple(facts.solution.functions_of(value))
    is_lazy = bool(functions) and all(map(_computes_when_asked, functions))
    return functions if is_lazy and any(_is_work(facts, one) for one in functions) else None


def _computes_when_asked(function: Function) -> bool:
    """Whether a generator computes its first item when it is asked for it, in the mode of who asks.

    Not one that a decorator guards, which holds then as well, or that a decorator makes something else of.
    """
    is_plain = function.guard is Mode.INHERITED and KEEPS_GENERATOR.issuperset(function.decorators)
    return is_plain and function.is_generator and not function.is_async


def _of_map(facts: Facts, value: Value) -> tuple[Function, ...] | None:
    if value.callee.name not in LAZY or not value.arguments:
        return None
    task = value.arguments[0]
    atoms = sorted_values(facts.solution.final(task))
    named = [atom.function for atom in atoms if isinstance(atom, FunctionReference)]
    run = dict.fromkeys([*named, *facts.solution.functions_of(value)])  # by `partial` as well
    functions = tuple(function for function in run if _is_work(facts, function))
    return functions if functions or is_network(facts, task) else None


def _is_work(facts: Facts, function: Function) -> bool:
    return runs_forward(facts, function)


def _consumed_outside(facts: Facts, value: Value) -> tuple[bool, Value | None]:
    """Whether an iterator is consumed where gradients may be on, and by what (None: it is returned)."""
    pending, seen = [value], set[Value]()
    while pending:
        for user in pending.pop().users:
            if user in seen:
                continue
            seen.add(user)
            if user is user.function.result:
                calls = facts.solution.callers.get(user.function, {})
                if not calls or any(Mode.ON in facts.modes.at(call) for call in calls):
                    return True, None
            elif user.op is Op.PHI or (user.mode is Mode.OFF and _passes_on(user)):
                pending.append(user)
            elif user.mode is not Mode.OFF and Mode.ON in facts.modes.at(user):
                return True, user
    return False, None


def _passes_on(user: Value) -> bool:
    return user.op is Op.CALL and user.callee.op is Op.EXTERNAL and user.callee.name in PASSING_ON
