"""What a function does by what it imports itself, told as if it did it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.summaries.summary import KeepSummary


def followed(
    effects: Iterable[EffectSummary],
    effects_of: Callable[[str], tuple[EffectSummary, ...]],
    keeps_of: Callable[[str], tuple[KeepSummary, ...]],
    done_by: Callable[[str], tuple[EffectSummary, ...]],
    *,
    held_above: Callable[[], tuple[int, ...]],
    done_above: Callable[[], tuple[EffectSummary, ...]],
) -> tuple[EffectSummary, ...]:
    """Effects, of which none is only a name any more.

    Args:
        effects: what a function does.
        effects_of: what the function does that its file imports under a dotted name.
        keeps_of: what the method of its object keeps that has a name.
        done_by: what that method does.
        held_above: what the ``__init__`` of the base class is given, by position, and its object has from then on.
        done_above: what that ``__init__`` does.
    """
    found: list[EffectSummary] = []
    for done in effects:
        if done.kind is EffectKind.HANDS_ITSELF:
            kept = (keep for keep in keeps_of(done.name) if keep.position in done.of and keep.into == 0)
            found += [
                replace(done, kind=EffectKind.CIRCLES, name=keep.attribute, of=()) for keep in kept if keep.attribute
            ]
        elif done.kind is EffectKind.HANDS_PART:
            attribute, _, method = done.name.partition(".")
            tied = (one for one in done_by(method) if one.kind is EffectKind.TIES and one.of == done.of)
            if any(one.is_returned or not done.is_returned for one in tied):
                found.append(EffectSummary(EffectKind.CIRCLES, attribute))
        elif done.kind is EffectKind.HANDS_UP:
            module, passed_as = done.of
            found += [replace(done, kind=EffectKind.ENCLOSES, of=(module,))] if passed_as in held_above() else []
        elif done.kind is EffectKind.CIRCLES_BY:
            attribute, _, name = done.name.partition(" ")
            bound = (one for one in effects_of(name) if one.kind is EffectKind.BINDS)
            if any(position in one.of for one in bound for position in done.of):
                found.append(EffectSummary(EffectKind.CIRCLES, attribute))
        elif done.kind is EffectKind.BUILDS_ON:
            found += [one for one in done_above() if one.kind is EffectKind.CIRCLES and not one.of]
        elif done.kind is not EffectKind.DRAWS_BY:
            found.append(done)
        elif any(inner.kind is EffectKind.DRAWS and inner.is_returned for inner in effects_of(done.name)):
            found.append(replace(done, kind=EffectKind.DRAWS))
    return tuple(found)
