"""Objects of a framework's classes: what makes them, and what a call of them or of their methods does by contract.

Such an object stays unknown in all that the table does not say: each of them is :class:`FrameworkObject` or anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from torchlint.facts.values.domain import (
    PLAIN,
    UNKNOWN,
    Abstract,
    Container,
    FrameworkObject,
    Instance,
    Module,
    Tool,
    sorted_values,
)
from torchlint.facts.values.frameworks import promises
from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.parameters import SAME_OBJECT
from torchlint.frameworks import Holds, Row, method_names, rows_named

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

ENGINE = "deepspeed.DeepSpeedEngine"
"""The class of what ``deepspeed.initialize`` wraps a model in."""

FACTORIES = frozenset(["from_pretrained", "from_config", "from_single_file", "from_pipe"])
"""Methods of classes that make an instance."""


def object_made(solution: Solution, call: Value, name: str) -> Abstract:
    """What a CALL of the imported ``name`` gives; unknown where the table does not know it."""
    if promises(name, Holds.MAKES_ENGINE):
        engine: Abstract = frozenset([Module(), FrameworkObject(ENGINE)])
        for position, part in enumerate((engine, frozenset([Tool("optimizer")]), UNKNOWN, UNKNOWN)):
            solution.set_field(call, position, part)
        return frozenset([Container(call)])
    owner, _, last = name.rpartition(".")
    made = owner if last in FACTORIES else name
    if promises(made, Holds.HANDS_ON):
        return UNKNOWN | {FrameworkObject(made, call)}
    is_class = made.rpartition(".")[2][:1].isupper() and bool(rows_named(made))
    makes = promises(made, Holds.ANSWERS) or any(row.methods for row in promises(made, Holds.EACH_TRIAL))
    return UNKNOWN | {FrameworkObject(made)} if is_class or makes else UNKNOWN


def given_back(solution: Solution, call: Value, receiver: FrameworkObject, name: str) -> Abstract:
    """What ``receiver.name(...)`` gives beside what any object may give: ``prepare`` returns what it is given."""
    if name in SAME_OBJECT or name == "clone":
        return frozenset([receiver])
    if any(name in row.methods for row in promises(receiver.name, Holds.SCORES)):
        return PLAIN
    if not any(name in row.methods for row in promises(receiver.name, Holds.RETURNS)):
        return frozenset()
    if None in call.keys[1:]:
        return UNKNOWN
    given = [value for key, value in zip(call.keys[1:], call.arguments, strict=True) if isinstance(key, int)]
    if len(given) == 1:
        return solution.of(given[0])
    for position, value in enumerate(given):
        solution.set_field(call, position, solution.of(value))
    return frozenset([Container(call)])


def stands_for_itself(owner: FrameworkObject, attribute: str) -> bool:
    """Whether ``owner.attribute`` takes what ``owner`` takes, as the router of an application does."""
    return any(attribute in row.methods for row in promises(owner.name, Holds.ITSELF))


def guards_itself(solution: Solution, value: Value) -> bool:
    """Whether ``value`` is an object of a framework that runs a model and switches gradients off when it is called.

    That it is moved to a device, as a module is, says nothing of what a call of it records.
    """
    return any("__call__" in row.methods for row in rows_of(solution, value, Holds.GUARDED))


def contract_of(solution: Solution, call: Value, holds: Holds) -> Row | None:
    """The row that says it of a CALL: of the imported function, of the method of an object, or of the object itself."""
    return next(_contracts_of(solution, call, holds), None)


def _contracts_of(solution: Solution, call: Value, holds: Holds) -> Iterator[Row]:
    callee = call.callee
    if callee.op is Op.EXTERNAL:
        yield from (row for row in promises(callee.name, holds) if not row.methods)
        return
    methods = method_names(holds)
    if callee.op is Op.ATTRIBUTE and callee.name in methods:
        rows = rows_of(solution, callee.inputs[0], holds)
        yield from (row for row in rows if callee.name in row.methods)
    if "__call__" in methods:
        yield from (row for row in rows_of(solution, callee, holds) if "__call__" in row.methods)


_OBJECTS = (FrameworkObject, Instance)


def rows_of(solution: Solution, value: Value, holds: Holds) -> Iterable[Row]:
    """The rows of the classes of which ``value`` may be an instance."""
    objects = [atom for atom in solution.of(value) if isinstance(atom, _OBJECTS)]
    return _rows_of_objects(frozenset(objects), holds) if objects else ()  # the most are none


def _rows_of_objects(objects: Abstract, holds: Holds) -> Iterator[Row]:
    for atom in sorted_values(objects):
        if isinstance(atom, FrameworkObject):
            yield from promises(atom.name, holds)
        elif isinstance(atom, Instance):
            for base in atom.cls.all_bases():
                yield from promises(base, holds)
            # A framework that lies in the project itself is told by its package; a name alone is not enough of one.
            for cls in atom.cls.lineage():
                yield from (row for row in promises(cls.full_name, holds) if not row.distinctive)


def detaches(solution: Solution, call: Value) -> bool:
    """Whether a framework promises of a CALL that no graph is left of what it is given: ``self.log("loss", loss)``."""
    row = contract_of(solution, call, Holds.DETACHES)
    if row is None or contract_of(solution, call, Holds.KEEPS) is not None:
        return False
    told = call.argument(-1, row.unless) if row.unless else None
    return told is None or told.name == "False"


def keeps_no_graph(solution: Solution, holder: Value) -> bool:
    """Whether ``holder`` is an object of a framework that keeps what it is given without its graph.

    A class of the file that is derived from a framework's and has no ``update`` of its own is one, too.
    """
    for atom in solution.of(holder):
        if isinstance(atom, FrameworkObject) and promises(atom.name, Holds.DETACHES):
            return True  # or it keeps it, which its own row says
        if isinstance(atom, Instance) and atom.cls.method("update") is None:
            if any(promises(base, Holds.DETACHES) for base in atom.cls.all_bases()):
                return True
    return False
