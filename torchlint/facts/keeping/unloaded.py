"""What a model that is given up in vain is, and what still holds it."""

from __future__ import annotations

from dataclasses import dataclass

from torchlint.facts.values.graph import Drop, Value


@dataclass(frozen=True)
class Holder:
    """What still holds the model.

    Attributes:
        name: a variable, an attribute, a container, as the program writes it.
        how: "itself", "listed" where a list of models is given up, "parameters", "group" for one of an optimizer,
            "wrapper", "container", "function", "graph", "part" where the model has it as one of its parts, or "lists"
            where it lists it as a parameter.
        made: the value that holds.
        file: the name of the other file that makes it, "" for this one.
    """

    name: str
    how: str
    made: Value
    file: str = ""


@dataclass(frozen=True)
class Unloading:
    """A model that is given up in vain.

    Attributes:
        drop: where it is given up.
        holders: what still holds it; the callers' variable for a parameter, nothing where no call is seen.
        is_parameter: True when a function deletes what its callers still have.
        at: the call whose variable still holds it, for a parameter.
    """

    drop: Drop
    holders: tuple[Holder, ...]
    is_parameter: bool = False
    at: Value | None = None
