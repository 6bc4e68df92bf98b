"""What other files pass to a function, as the parts of a shape say it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from torchlint.facts.summaries.imports import Kind, Passing
from torchlint.facts.summaries.parts import OLDER, Part, PartKind, Shape

if TYPE_CHECKING:
    from torchlint.project.arguments import Maker

Passed: TypeAlias = "tuple[Passing, Sequence[Maker]]"
"""A call of another file, and what made the argument there."""


def gathered(passing: Passing, first: int) -> Sequence[Maker]:
    """What a call passes from a position on, as a list of it, whatever mode it is in."""
    rest = (made for key, makers in passing.makers if isinstance(key, int) and key >= first for made in makers)
    return [made._replace(in_list=True, in_evaluation=False, is_frozen=False) for made in rest]


def of_first_file(known: Sequence[Passed]) -> list[Maker]:
    """What is passed in all calls of the file of the first one."""
    makers = (made for passing, made in known if passing.path == known[0][0].path)
    return list(dict.fromkeys(maker for made in makers for maker in made))


def made_of_classes(passing: Passing, makers: Sequence[Maker]) -> bool:
    """Whether all that may be passed in a call are objects of classes, each told by its name."""
    named = [] if any(maker.in_list or maker.item >= 0 for maker in makers) else [maker.name for maker in makers]
    found = [passing.imports.find(name) for name in named]
    return bool(found) and all(one is not None and one.kind is Kind.CLASS and not one.rest for one in found)


def passed_shape(makers: Sequence[Maker]) -> Shape:
    """What an argument is by what made it; see :attr:`Passing.makers`."""
    single = tuple(_made(maker) for maker in makers if not maker.in_list)
    listed = tuple(enumerate((_made(maker),) for maker in makers if maker.in_list))
    return (*single, Part(PartKind.CONTAINER, items=listed)) if listed else single


def _made(maker: Maker) -> Part:
    if maker.container:
        return Part(PartKind.CONTAINER, OLDER if maker.is_older else "", flag=maker.container == "dict")
    return Part(PartKind.MADE, maker.name, max(maker.item, 0), flag=maker.item >= 0)
