"""Calls that hand a function to another thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import FunctionReference, sorted_values
from torchlint.facts.values.graph import Function, Op, Value

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

THREADS: dict[str, tuple[int, str]] = {"threading.Thread": (1, "target"), "threading.Timer": (1, "function")}
"""Classes whose instances run a function in a thread of their own, and where they are given it."""

THREAD_CALLS = frozenset(
    ["asyncio.to_thread", "anyio.to_thread.run_sync", "starlette.concurrency.run_in_threadpool",
     "fastapi.concurrency.run_in_threadpool"]
)  # fmt: skip
"""Functions that run their first argument in another thread, which has a grad mode of its own."""

FOR_EACH_ITEM = frozenset(["map", "imap", "imap_unordered", "map_async", "starmap"])
"""Methods of a pool that run a function for each item of what they are given; of other objects, once or never."""

POOL_METHODS = FOR_EACH_ITEM | {"submit", "apply", "apply_async"}

IN_EXECUTOR = "run_in_executor"
"""The method of an event loop that hands a function to a pool, which comes first."""


def handed_over(call: Value) -> tuple[Value, Sequence[Value]] | None:
    """What a CALL may hand to another thread, and what that is given there.

    Whether the object of such a method is a pool of threads is not asked.
    """
    callee = call.inputs[0]
    name = callee.name
    given: Sequence[Value]
    if callee.op is Op.EXTERNAL and name in THREADS:
        task, arguments = call.argument(*THREADS[name]), call.argument(-1, "args")
        given = arguments.inputs if arguments is not None and arguments.op is Op.CONTAINER else ()
    elif callee.op is Op.ATTRIBUTE and name == IN_EXECUTOR:
        task, given = call.argument(1, "func"), call.arguments[2:]
    elif (callee.op is Op.EXTERNAL and name in THREAD_CALLS) or (callee.op is Op.ATTRIBUTE and name in POOL_METHODS):
        task, given = call.argument(0), call.arguments[1:]
    else:
        return None
    if task is not None and task.op is Op.CALL and task.callee.name == "functools.partial" and task.arguments:
        task, given = task.arguments[0], task.arguments[1:]
    return None if task is None else (task, given)


def run_in_thread(solution: Solution, call: Value) -> list[Function]:
    """The functions of the file that a CALL may hand to another thread."""
    found = handed_over(call)
    atoms = sorted_values(solution.final(found[0])) if found is not None else []
    return [atom.function for atom in atoms if isinstance(atom, FunctionReference)]
