"""What is known at one point of a function while its graph is built."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace

from torchlint.facts.building.switching import Switch
from torchlint.facts.values.graph import Flag, Mode, Value
from torchlint.facts.values.kinds import Rest

Join = Callable[[str, list[Value], Set[Value], Mapping[Value, frozenset[Flag]]], Value]
"""Makes the value of a variable that differs between branches, see :func:`merge`."""


@dataclass
class State:
    """The variables and switches at one point.

    Attributes:
        variables: names and paths (``self.total``, ``stats['loss']``) to values.
        mode: whether gradients are recorded.
        evaluating: the objects on which ``.eval()`` was the last mode switch, as values and as paths.
        rests: whether a condition says that the module whose method this is does not train.
        trains: whether a condition says that a module trains.
        flags: the parameters that conditions ask for, each with whether it is true here.
        excluded: the containers that values are not here, as conditions say of them.
        switch: what the mode hangs on, where it hangs on a condition.
    """

    variables: dict[str, Value] = field(default_factory=dict)
    mode: Mode = Mode.INHERITED
    evaluating: frozenset[Value | str] = frozenset()
    rests: bool = False
    trains: bool = False
    flags: frozenset[Flag] = frozenset()
    excluded: frozenset[tuple[Value, Rest]] = frozenset()
    switch: Switch | None = None

    def copy(self) -> State:
        """An independent copy for a branch."""
        return replace(self, variables=dict(self.variables))

    def bind(self, path: str, value: Value) -> None:
        """Make ``path`` stand for ``value`` and forget what hung on the old one."""
        self.forget(path)
        self.variables[path] = value

    def forget(self, path: str) -> None:
        """Forget ``path`` and every path that goes through it."""
        self.variables.pop(path, None)
        alike = [name for name in self.variables if path in name]  # few, and all that the rest is true of
        if not alike:
            return
        through, as_key = (path + ".", path + "["), (f"[{path}]", f"[{path}.")
        for name in alike:
            if name.startswith(through) or ("[" in name and any(key in name for key in as_key)):
                del self.variables[name]

    def forget_all(self, paths: Iterable[str]) -> None:
        """Forget each of ``paths``."""
        for path in paths:
            self.forget(path)


def merge(states: Iterable[State | None], phi: Join) -> State | None:
    """The state where control flow joins; None when no branch reaches it.

    Args:
        states: one for each branch, None for one that never arrives.
        phi: makes the value of a variable that differs between branches, of its choices, of those among them that
            only come from where a module rests, and of the flags that hold wherever one of them comes from.
    """
    arriving = [state for state in states if state is not None]
    if len(arriving) < 2:
        return arriving[0] if arriving else None
    first = arriving[0]
    merged = State(
        mode=first.mode if all(s.mode is first.mode for s in arriving) else Mode.MAYBE,
        evaluating=frozenset().union(*(s.evaluating for s in arriving)),
        rests=all(s.rests for s in arriving),
        trains=all(s.trains for s in arriving),
        flags=frozenset.intersection(*(s.flags for s in arriving)),
        excluded=frozenset.intersection(*(s.excluded for s in arriving)),
        switch=first.switch if all(s.switch == first.switch for s in arriving) else None,
    )
    names = dict.fromkeys(name for state in arriving for name in state.variables)
    for name in names:
        values = [state.variables.get(name) for state in arriving]
        value = values[0]
        if value is not None and values.count(value) == len(values):
            merged.variables[name] = value  # the most
            continue
        found = list(dict.fromkeys(s.variables[name] for s in arriving if name in s.variables))
        if len(found) > 1 and len({value.unnarrowed() for value in found}) == 1:
            found = [found[0].unnarrowed()]  # all branches leave it, of whatever type it is in each
        everywhere = all(name in s.variables for s in arriving)
        if len(found) == 1 and (everywhere or _is_plain_name(name)):
            merged.variables[name] = found[0]
        elif everywhere or _is_plain_name(name):
            trained = {s.variables.get(name) for s in arriving if not s.rests}
            merged.variables[name] = phi(name, found, set(found) - trained, _decided(arriving, name, merged.flags))
    return merged


def _decided(arriving: list[State], name: str, known: frozenset[Flag]) -> dict[Value, frozenset[Flag]]:
    """The flags, besides those that are ``known``, that hold in all branches which bring a value of a variable."""
    decided: dict[Value, frozenset[Flag]] = {}
    for state in arriving:
        value = state.variables.get(name)
        if value is not None:
            decided[value] = decided.get(value, state.flags) & state.flags
    return {value: flags - known for value, flags in decided.items() if flags - known}


def _is_plain_name(path: str) -> bool:
    """A name that one branch leaves unbound would raise there; a path would be read from where it is kept."""
    return path.isidentifier()
