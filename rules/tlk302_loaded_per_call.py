"""TLK302."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.repeated.reloading import Reload
    from torchlint.facts.repeated.rereading import SecondCopy

READING = frozenset(
    ["load", "load_state_dict_from_url", "load_url", "load_file", "from_pretrained", "pipeline", "load_model",
     "SentenceTransformer", "CrossEncoder"]
)  # fmt: skip


class LoadedPerCall(Rule):
    """A model is read from its file again for every step or request.

    ## What it does
    Finds `torch.load` of a model or of weights, `torch.jit.load`, `torch.hub.load`, `from_pretrained` and the like in
    the steps of a loop, in `forward`, in a framework's step method, in a request handler, or in a helper that one of
    these calls, and all files of an ensemble, one after the other, for each batch. Finds as well a pipeline that a
    training loop reads as a whole, now and then, while parts of it are in memory: `Pipe.from_pretrained(path, vae=vae)`
    after `unet = Net.from_pretrained(path, subfolder="unet")`.

    ## Why is this bad?
    Reading and unpickling a model takes many times as long as asking it once. While it is read the weights are there
    twice, as the loaded dict and in the model; where the last model still has a name, three times. Under load a
    server reads one for each request that it works on.

    ## Example
    ```python
    def handle(request):
        model = torch.load(path, weights_only=False)
        return model(request.x)
    ```

    ## Use instead
    ```python
    model = torch.load(path, weights_only=False)

    def handle(request):
        return model(request.x)
    ```

    ## When it is not a leak
    It is read when first needed (`if self.model is None:`), at start-up, behind a cache, when something went wrong,
    once for an epoch or a trial; the file is another one each time, or one that the same turn has written. A tokenizer
    or a configuration costs time only and is a note, as is a model that a request names.

    ## Fix safety
    There is no automatic fix: where to load instead is for a person to say.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.load.html
    - https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    """

    code = "TLK302"
    name = "loaded-per-call"
    level = Level.WARNING
    harms = (Harm.CHURN, Harm.PEAK)
    symptoms = (Symptom.SLOW,)
    triggers = (Trigger(names=READING), Trigger(imports=True))

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each load that is repeated."""
        told = set()
        for reload in facts.reloads:
            told.add(reload.load.call)
            yield _finding(facts, reload)
        for copy in facts.second_copies:
            if copy.load.call not in told:
                yield _second(facts, copy)


def _finding(facts: Facts, reload: Reload) -> Finding:
    place = reload.repeated_by
    often, advice = ("in ", *facts.each_turn(place)), ("; load it once, ", *facts.outside(place))
    file = "the same file "
    if reload.is_named:
        file, advice = "the file that a request names ", ("; keep those that were read last, in a cache with a bound",)
    cost = ": it costs time, and the weights are in memory twice meanwhile" if reload.weighs else ": it costs time"
    return Finding(
        node=facts.statement_of(reload.load.call),
        message=(f"{facts.done_by(reload.load.call, reload.by)} reads {file}", *often, cost, *advice),
        level=Level.WARNING if reload.weighs and not reload.is_named else Level.NOTE,
        memory=Memory.TIME,
        evidence=(Step(place.syntax, "this is what repeats it"),),
    )


def _instead(copy: SecondCopy) -> str:
    """What to hand over, and who has what was deleted under its own name."""
    had = "".join(f"; `{holder}` still has `{name}`" for name, holder in sorted(copy.held.items()))
    return f"pass {', '.join(f'`{name}=...`' for name in sorted(copy.parts))}{had}"


def _second(facts: Facts, copy: SecondCopy) -> Finding:
    call, names = copy.load.call, sorted(copy.parts)
    again = " and ".join(f"`{name}`" for name in names)
    first = min(copy.parts.values(), key=lambda part: part.index)
    return Finding(
        node=facts.statement_of(call),
        message=(
            f"`{facts.called(call)}` reads {again} once more (in memory since line ",
            LineOf(facts.statement_of(first)),
            f"): the weights are there twice while it runs; {_instead(copy)}",
        ),
        level=Level.WARNING,
        memory=Memory.PEAK,
        evidence=(
            *(Step(facts.statement_of(part), f"`{name}` is read here") for name, part in sorted(copy.parts.items())),
            Step(copy.loop.syntax, "the loop in which the whole is read"),
        ),
    )
