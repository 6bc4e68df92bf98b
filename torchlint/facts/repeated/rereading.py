"""Parts of a model that are in memory and are read a second time, with the whole that they are parts of.

A pipeline of several models lies in one folder, each part in a folder of its own (``subfolder="unet"``). Loading the
whole reads every part that is not handed over under its name: ``from_pretrained(path, unet=unet)``.
https://huggingface.co/docs/diffusers/using-diffusers/loading
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchlint.facts.building.names import constant_of
from torchlint.facts.keeping.holders import Holders, is_none
from torchlint.facts.keeping.loading import Load
from torchlint.facts.repeated.reloading import is_a_model
from torchlint.facts.turns.turn import Turn
from torchlint.facts.values.domain import Atom, FrameworkObject
from torchlint.facts.values.frameworks import is_module, promises
from torchlint.facts.values.graph import Loop, Op, Value
from torchlint.facts.values.own_data import is_tokenizer
from torchlint.frameworks import Holds

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
        held: the variable that still holds a part, where its own was given up.
    """

    load: Load
    parts: dict[str, Value]
    loop: Loop
    held: dict[str, str]


def second_copies(facts: Facts) -> list[SecondCopy]:
    """Every load in a training loop that reads what is in memory already."""
    return [found for load in facts.loads.found if (found := _of(facts, load)) is not None]


def _of(facts: Facts, load: Load) -> SecondCopy | None:
    call = load.call
    around = call.loop.around() if call.loop is not None else []
    loop = next((one for one in around if facts.repetitions.turn(one) is not Turn.OTHER), None)
    if loop is None or not _is_whole(load) or not is_a_model(facts, load):
        return None
    read = {
        name: part
        for part in facts.loads.found
        if (name := _folder(part)) is not None
        and name not in call.keys
        and _path(facts, part) == _path(facts, load)
        and _is_in_memory(part.call, call, loop)
        and _has_weights(facts, part)
    }
    holders = {name: _holder(facts, part, call) for name, part in read.items()}
    parts = {name: part.call for name, part in read.items() if holders[name] is not None}
    held = {name: holder for name, holder in holders.items() if holder}
    return SecondCopy(load, parts, loop, held) if parts else None


def _holder(facts: Facts, part: Load, whole: Value) -> str | None:
    """What still holds a part whose variable was given up before the whole is read.

    Returns:
        "" where the variable has it still, None where nothing is seen to hold it.
    """
    kept = facts.loads.parts(part.call).whole
    drops = [d for d in facts.graph.drops if d.function is whole.function and d.index < whole.index]
    own = [d for d in drops if d.value in kept and d.value is not None and d.value.op is not Op.ATTRIBUTE]
    if not own:
        return ""
    holders, given_up = Holders(facts), {drop.path for drop in drops}
    held = holders.objects(part.call)
    others = ((name, value) for name, value in own[-1].bound.items() if name not in given_up and not is_none(value))
    return next((name for name, value in others if holders.how(value, held) in ("itself", "wrapper")), None)


def _is_whole(load: Load) -> bool:
    """Whether a load names no folder within, and shows all that it is handed: no ``**parts``."""
    starred = None in load.call.keys[1:]
    return load.name.endswith(WHOLE) and "subfolder" not in load.call.keys and not starred


def _has_parameters(atom: Atom) -> bool:
    return is_module(atom) or (isinstance(atom, FrameworkObject) and any(promises(atom.name, Holds.MODULE)))


def _has_weights(facts: Facts, part: Load) -> bool:
    """Whether the program treats a part as a module: a tokenizer is called as well, and has no parameters."""
    values = facts.loads.parts(part.call).whole
    if any(is_tokenizer(call) for value in values for call in value.calls):
        return False
    return any(_has_parameters(atom) for value in values for atom in facts.solution.final(value))


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
