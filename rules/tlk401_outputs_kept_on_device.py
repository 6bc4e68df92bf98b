"""TLK401."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.keeping.collection import Collection


OUTPUTS = "the outputs of the whole data set"


class OutputsKeptOnDevice(Rule):
    """A pass over data keeps all its outputs on the GPU, or copies them in every step.

    ## What it does
    Finds outputs without a graph, and gradients, that a pass over data puts into a list although the list goes to the
    host as a whole afterwards (`torch.cat(outs).cpu()`), be it in records of each turn, and tensors that grow by
    `acc = torch.cat((acc, out))` in each turn, be it by a function of the project, or position by position of a
    sequence, trained on or not. A list through which a loop goes at the end, and reduces one output after the other to
    a number, is a note.

    ## Why is this bad?
    The outputs of the whole data set stand in GPU memory at once, beside the model, and a second time while they are
    joined: a prediction that runs for ten batches dies at the thousandth. `torch.cat` in the loop copies all that was
    collected so far in each turn, so its time grows with the square of the steps, and asks the allocator for a
    larger block each time.

    ## Example
    ```python
    with torch.no_grad():
        for x in loader:
            outs.append(model(x.to(device)))
    return torch.cat(outs).cpu()
    ```

    ## Use instead
    ```python
            outs.append(model(x.to(device)).cpu())
    ```

    ## When it is not a leak
    What is collected is on the host already, is reduced to a few numbers for the batch, or is computed with as a whole
    on the device afterwards; each turn reads what was collected so far, as in decoding; the loop is not seen to run
    over data, as over the steps of a sampling, the words of a sentence, or a list of references. What has a graph costs
    more, and TLK101 and TLK102 say so. Copies in the loop cost time and are a note, as are outputs that go to callers
    in other files, or to the host only where an option says so (`if to_numpy: out = out.cpu()`); nothing is said of an
    option that names the place.

    ## Fix safety
    Unsafe: the numbers stay the same to the bit, but each step then waits for the GPU.

    ## References
    - https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
    """

    code = "TLK401"
    name = "outputs-kept-on-device"
    level = Level.WARNING
    harms = (Harm.DEVICE, Harm.PEAK, Harm.CHURN)
    symptoms = (Symptom.DIES_AT_VALIDATION, Symptom.SLOW)
    triggers = (
        Trigger(inserts=True),
        Trigger(names=frozenset(["cat", "concat", "concatenate", "stack", "vstack", "hstack"])),
        Trigger(imports=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each statement that collects at a cost."""
        for collection in facts.collections:
            yield self._finding(facts, collection)

    def _finding(self, facts: Facts, found: Collection) -> Finding:
        from torchlint.facts.keeping.collection import Collecting

        place = found.repeated_by
        item, on_host = facts.name_of(found.item), facts.on_host(found.item)
        where: tuple[str | LineOf, ...] = (" (made in line ", LineOf(found.made), ")") if found.made is not None else ()
        copies, is_reduced = (found.way is way for way in (Collecting.COPIES, Collecting.UNTIL_REDUCED))
        evidence = [Step(place.syntax, "each of its turns is a batch")]
        gathered = "the gradients of all steps" if facts.extents.is_gradient(found.item.value) else OUTPUTS
        if found.end is not None and found.way is Collecting.UNTIL_HOST:
            moved = facts.statement_of(found.end)
            evidence.append(Step(moved, "all of it goes to the host here"))
            cost: tuple[str | LineOf, ...] = (
                f" keeps every `{item}` on the GPU until line ", LineOf(moved),
                f" moves all of them to the host: GPU memory holds {gathered};"
                f" collect {on_host}",
            )  # fmt: skip
        elif found.way is Collecting.UNTIL_HOST:
            cost = (
                f" keeps every `{item}` on the GPU until its class moves all of them to the host: GPU memory holds"
                f" {gathered}; hand over {on_host}",
            )  # fmt: skip
        elif is_reduced and found.end is not None:
            evidence.append(Step(facts.statement_of(found.end), "each of them is reduced by itself here"))
            cost = (
                f" keeps every `{item}` on the GPU until line ", LineOf(facts.statement_of(found.end)),
                f" goes through them one by one: GPU memory holds {gathered};"
                " reduce each of them where it is made",
            )  # fmt: skip
        elif found.way is Collecting.UNTIL_DROPPED:
            if found.end is not None:
                evidence.append(Step(facts.statement_of(found.end), "on another path all of it goes to the host here"))
            cost = (
                f" keeps every `{item}` on the GPU for its caller: GPU memory holds {gathered};"
                f" collect {on_host}, unless they are needed there",
            )
        else:
            where = ()
            cost = (
                " is copied whole in ",
                *facts.each_turn(place),
                ": time grows with the square of the steps, and the old tensor and the new"
                " one are in memory together; append to a list and join it once at the end",
            )
        may_be_list = found.by_rows and not facts.flows.surely_tensor(found.item.value)
        move = facts.call_on("Collect on the host", found.item, "cpu", safe=False)
        return Finding(
            node=found.statement,
            message=(f"`{found.name}`", *where, *cost),
            level=Level.WARNING if found.way is Collecting.UNTIL_HOST and not found.supposed else Level.NOTE,
            memory=Memory.TIME if copies else Memory.PEAK,
            evidence=tuple(evidence),
            fix=None if copies or is_reduced or found.has_graph or may_be_list else move,
            explained_by="TLK102" if found.has_graph and not copies else None,
        )
