"""What a function of another file does by functions that it imports itself: each on the way passes it on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace

from torchlint.facts.keeping.bases import WHOLE
from torchlint.facts.summaries.effect_kinds import EffectKind, EffectSummary
from torchlint.facts.summaries.imports import Found
from torchlint.facts.summaries.parts import PartKind

FURTHEST = 2
"""Through so many more imports an effect is followed."""

PASSED_ON = (EffectKind.TIDIES, EffectKind.COMPILES, EffectKind.LOADS)
"""Effects that are what they are whatever is done with what comes of them."""

OUTSIDE = sys.stdlib_module_names | {"torch", "numpy", "torchvision"}
"""Packages of which no project holds the files."""


def may_be_followed(name: str) -> bool:
    """Whether a dotted name may be that of a function of the project."""
    return name.partition(".")[0] not in OUTSIDE


def gives_tensor(found: Found, name: str) -> bool:
    """Whether a function that the file of ``found`` imports under a dotted name is known to give a tensor."""
    there = found.function_behind(name)
    functions = there.as_functions() if there is not None else ()
    return any(WHOLE in one.tensors or any(part.kind is PartKind.TENSOR for part in one.result) for one in functions)


def passed_on(found: Found, call: EffectSummary, hops: int = FURTHEST) -> Iterator[tuple[EffectSummary, str]]:
    """What the function that a ``call`` in the file of ``found`` calls does, each with the name of the file there."""
    there = found.function_behind(call.name) if hops else None
    if there is None:
        return
    for done in (effect for function in there.as_functions() for effect in function.effects):
        own = [(done, os.path.basename(there.path))] if done.kind in PASSED_ON else []
        for one, file in own or (passed_on(there, done, hops - 1) if done.kind is EffectKind.CALLS else ()):
            yield replace(one, of=call.of if one.of else ()), file
