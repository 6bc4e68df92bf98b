"""TLK403."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom, peak
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.checkpoints import Checkpoint
    from torchlint.facts.keeping.loading import Load
    from torchlint.facts.keeping.purposes import Purpose
    from torchlint.facts.keeping.unheeded import Unheeded


class CheckpointOnDevice(Rule):
    """What was loaded stays beside the model into which it was copied.

    ## What it does
    Finds checkpoints that a variable or an attribute keeps while the model trains or predicts, although
    `load_state_dict` has copied them; and, as a note, `torch.load` without `map_location` of weights that are copied
    into a model, or only looked at or written again, or are a whole model that is moved afterwards, and loads that
    leave out the `map_location` which the function around them has as a parameter.

    ## Why is this bad?
    `load_state_dict` copies. The loaded dict is a second set of weights, with the state of an optimizer often three,
    and it lives as long as a name stands for it: in a script through all of the training. Without `map_location` it
    comes back on the GPU from which it was saved, in each process of a distributed run on the same one.

    ## Example
    ```python
    checkpoint = torch.load(path)
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    for x, y in loader:
        ...
    ```

    ## Use instead
    ```python
    checkpoint = torch.load(path, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    del checkpoint
    for x, y in loader:
        ...
    ```

    ## When it is not a leak
    The checkpoint is local to a function that returns before the training, is deleted or bound to something else,
    is read again later, or becomes the model's own weights (`assign=True`, or a `load_state_dict` of the program's own
    that binds what it is given). One that `map_location` puts on the host costs host memory only and is a note, and so
    is one that stays while a model only predicts: that needs little memory beside the weights.
    `torch.load` needs no `map_location` for data, and none for what the same program wrote from the host.

    ## Fix safety
    `del` is safe: it stands where no later line reads the name. `map_location="cpu"` is safe where all that is done
    with the file's content is to copy it into modules and optimizers, which move it to their own device.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.load_state_dict
    """

    code = "TLK403"
    name = "checkpoint-on-device"
    level = Level.WARNING
    harms = (Harm.PEAK,)
    symptoms = (Symptom.NOT_FREED,)
    triggers = (
        Trigger(names=frozenset(["load", "load_state_dict_from_url", "load_url", "load_file", "from_pretrained"])),
        Trigger(calls=frozenset(["load_state_dict"]), imports=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each checkpoint that stays, and a note for each load that says no device."""
        told = set()
        for kept in facts.checkpoints:
            if kept.statement is facts.statement_of(kept.load.call):
                told.add(kept.load.call)
            yield _kept(facts, kept)
        for unheeded in facts.unheeded:
            told.add(unheeded.call)
            yield _unheeded(facts, unheeded)
        for load in (*facts.loads.found, *facts.loads.given):
            if load.name == "torch.load" and load.device == "saved" and load.call not in told:
                purpose = facts.purposes.of(load)
                if purpose is not None:
                    yield _untold(facts, load, purpose)


def _kept(facts: Facts, kept: Checkpoint) -> Finding:
    names = ", ".join(kept.names)
    is_one = len(kept.names) == 1
    verb = "keeps" if is_one else "keep"
    if kept.through is None:
        when: tuple[str | LineOf, ...] = (" as long as the object lives",)
        advice: tuple[str | LineOf, ...] = ("; a local variable would do",)
    else:
        when = (" while the work of line ", LineOf(kept.through), " runs")
        advice = (f"; write `del {names}` before it",)
        if kept.is_needed:
            advice = ("; take the weights out of it before, it has more that is needed",)
        elif kept.drop_after is not None:  # it may stand in a branch, as the load does
            advice = (f"; write `del {names}` after line ", LineOf(kept.drop_after, ends=True))
    where = "host memory" if kept.load.device == "host" else "memory, on the GPU if it was loaded there"
    copied = facts.statement_of(kept.copied)
    through = (Step(kept.through, "this runs while it is kept"),) if kept.through is not None else ()
    return peak(
        kept.statement,
        (
            f"`{names}` {verb} what was loaded", *when, f", though `{facts.called(kept.copied)}` has copied it (line ",
            LineOf(copied), f"): a second copy of the weights stays in {where}", *advice,
        ),
        note=kept.load.device == "host" or not kept.trains,
        evidence=(
            Step(facts.statement_of(kept.load.call), "it is loaded here"), Step(copied, "it is copied here"), *through
        ),
        fix=facts.drop(kept),
    )  # fmt: skip


def _unheeded(facts: Facts, unheeded: Unheeded) -> Finding:
    called, asked, through = facts.called(unheeded.call), unheeded.asked.name, unheeded.through
    advice = "hand it on"
    evidence: tuple[Step, ...] = (Step(facts.statement_of(unheeded.call), "no device is handed on here"),)
    if through is not None:
        advice = f"give `{unheeded.call.function.name}` such a parameter, and hand it on"
        evidence = (Step(facts.statement_of(through), f"`{asked}` loads by this call"), *evidence)
    return Finding(
        node=facts.statement_of(unheeded.call),
        message=(
            f"`{called}` is not told the `map_location` that `{asked}` is given: what a GPU saved comes back on that"
            f" GPU, whatever was asked for; {advice}",
        ),
        level=Level.NOTE,
        memory=Memory.PEAK,
        evidence=evidence,
        fix=facts.hand_location_on(unheeded),
    )


def _untold(facts: Facts, load: Load, purpose: Purpose) -> Finding:
    cost = "takes memory on that GPU again, until it is copied and dropped"
    if purpose.only_reads:
        cost = "takes its memory again, though nothing here runs on it"
    where = f" (`{load.name}` in {load.file})" if load.file else ""
    place = "there" if load.file else "here"
    until: tuple[str | LineOf, ...] = (cost,)
    evidence = [Step(facts.statement_of(load.call), f"no device is given {place}")]
    move = facts.purposes.move_of(load) if purpose.is_moved else None
    if move is not None:
        until = ("takes memory on that GPU first, until line ", LineOf(facts.statement_of(move)), " moves it")
        evidence.append(Step(facts.statement_of(move), "it is moved here"))
    return Finding(
        node=facts.statement_of(load.call),
        message=(
            f"`{facts.called(load.call)}`{where} puts each tensor back on the device it was saved from: what a GPU"
            " saved ",
            *until,
            f'; write `map_location="cpu"`{" there" if load.file else ""}',
        ),
        level=Level.NOTE,
        memory=Memory.PEAK,
        evidence=tuple(evidence),
        fix=None if load.file else facts.load_on_host(load),
    )
