"""Items of objects that are not known: what a step gives has one where ``logs["loss"].backward()`` runs."""

from __future__ import annotations

from torchlint.facts.summaries.summary import item_named
from torchlint.facts.values.graph import Op, Value, ValueGraph


def read_of_unknown(graph: ValueGraph, given: Value, of: str) -> Value | None:
    """What a function reads of an object under the name of an item, and leaves there.

    Args:
        graph: of the file.
        given: the object.
        of: the item, see :func:`~torchlint.facts.summaries.summary.item_named`.

    Returns:
        None where nobody reads it, or where the file puts anything into the object, takes it out, or gives it to a
        function that may do so and gives nothing back.
    """
    reads = (user for user in given.users if user.op is Op.SUBSCRIPT and user.inputs[0] is given)
    read = next((one for one in reads if isinstance(one.keys[0], str) and item_named(one.keys[0]) == of), None)
    changed = [*(store.holder for store in graph.stores), *(reset.holder for reset in graph.resets)]
    if read is None or any(holder is given for holder in changed):
        return None
    functions = (user for user in given.users if user.op is Op.CALL and user.callee.op is not Op.ATTRIBUTE)
    return None if any(call.is_bare and given in call.arguments for call in functions) else read
