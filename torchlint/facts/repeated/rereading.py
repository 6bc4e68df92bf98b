"""Parts of a model that are in memory and are read a second time, with the whole that they are parts of.

A pipeline of several models lies in one folder, each part in a folder of its own (``subfolder="unet"``). Loading the
whole reads every part that is not handed over under its name: ``from_pretrained(path, unet=unet)``.
https://huggingface.co/docs/diffusers/using-diffusers/loading
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.building.names import constant_of
from torchlint.facts.keeping.loading import Load
from torchlint.facts.repeated.reloading import is_a_model
from torchlint.facts.turns.repetition import Turn
from torchlint.facts.values.domain import Module
from torchlint.facts.values.graph import Loop, Value

if TYPE_CHECKING:
    from torchlint.facts import Facts

WHOLE = "from_pretrained"
"""The method that reads a whole or one part of it."""


@dataclass(frozen=True)
class SecondCopy:
    """A load in a training loop that reads parts again which were read before it.

    Attributes:
        load: what reads the whole.
        parts: the calls that have read the parts, by the name under which the whole takes each.
        loop: the training loop around it.
    """

    load: Load
    parts: dict[str, Value]
    loop: Loop


def second_copies(facts: Facts) -> list[SecondCopy]:
    """Every load in a training loop that reads what is in memory already."""
    return [found for load in facts.loads.found if (found := _of(facts, load)) is not None]


def _of(facts: Facts, load: Load) -> SecondCopy | None:
    call = load.call
    around = call.loop.around() if call.loop is not None else []
    loop = next((one for one in around if facts.repetitions.turn(one) is not Turn.OTHER), None)
    if loop is None or not _is_whole(load) or not is_a_model(facts, load):
        return None
    parts = {
        name: part.call
        for part in facts.loads.found
        if (name := _folder(part)) is not None
        and name not in call.keys
        and _path(facts, part) == _path(facts, load)
        and _is_in_memory(part.call, call, loop)
        and _has_weights(facts, part)
    }
    return SecondCopy(load, parts, loop) if parts else None


def _is_whole(load: Load) -> bool:
    """Whether a load names no folder within, and shows all that it is handed: no ``**parts``."""
    starred = None in load.call.keys[1:]
    return load.name.endswith(WHOLE) and "subfolder" not in load.call.keys and not starred


def _has_weights(facts: Facts, part: Load) -> bool:
    """Whether the program treats a part as a module: a tokenizer is called as well, and has no parameters."""
    values = facts.loads.parts(part.call).whole
    return any(isinstance(atom, Module) for value in values for atom in facts.solution.final(value))


def _folder(load: Load) -> str | None:
    """The part that a load reads, if it reads one part of a whole."""
    given = load.call.argument(-1, "subfolder") if load.name.endswith(WHOLE) else None
    name = constant_of(given.syntax) if given is not None and given.syntax is not None else None
    return name if isinstance(name, str) else None


def _path(facts: Facts, load: Load) -> str | None:
    """Where a load reads from, as it is written."""
    given = load.call.argument(0, "pretrained_model_name_or_path")
    return facts.code(given.syntax) if given is not None and given.syntax is not None else None


def _is_in_memory(part: Value, whole: Value, loop: Loop) -> bool:
    """Whether a part was read before the loop in which the whole is."""
    before = part.loop is None or loop not in part.loop.around()
    return part.function is whole.function and part.index < whole.index and before
