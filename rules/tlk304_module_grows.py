"""TLK304."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchlint.rule import Finding, Harm, Level, LineOf, Memory, Rule, Step, Symptom
from torchlint.screen import Trigger

if TYPE_CHECKING:
    from torchlint.facts import Facts
    from torchlint.facts.repeated.construction import Construction
    from torchlint.facts.repeated.growth import Growth


class ModuleGrows(Rule):
    """Every step adds layers, parameters or groups to a model or an optimizer.

    ## What it does
    Finds what is added to a `ModuleList`, a `ParameterList`, a `ModuleDict` or a `Sequential`, registered under a new
    name (`add_module`, `register_buffer`, `setattr(self, f"layer{n}", ...)`), or given to an optimizer by
    `add_param_group`, in `forward`, in the steps of a loop, or in a helper that these call. A layer that is put in the
    place of the one before (`self.head = nn.Linear(...)` in `forward`) is a warning.

    ## Why is this bad?
    What is registered belongs to the model for good: its parameters stay on the device, and it moves, is saved and is
    counted with the model. Added in every step it never ends, and parameters that came after the optimizer was made
    are not even trained. Each group of an optimizer keeps its parameters and their state; so one optimizer to which
    each trial or each sample adds parameters of its own keeps those of all that went before. Put in the place of the
    one before, a layer does not add up, but its weights are new in each step, and no optimizer that was made before
    has them.

    ## Example
    ```python
    class Net(nn.Module):
        def forward(self, x):
            self.layers.append(nn.Linear(16, 16))
            ...
    ```

    ## Use instead
    ```python
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(16, 16)])
    ```

    ## When it is not a leak
    Layers are added in `__init__` or a builder, once for an epoch or a stage (progressive growing), up to a number
    (`if len(self.layers) < 4`), when first needed (`if self.head is None`), at a certain step; what was added is taken
    back in the same turn; a buffer under a constant name replaces what had it before.

    ## Fix safety
    There is no automatic fix: where the layers are to be made instead is for a person to say.

    ## References
    - https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
    - https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html
    """

    code = "TLK304"
    name = "module-grows"
    level = Level.ERROR
    harms = (Harm.BYTES, Harm.CHURN)
    symptoms = (Symptom.GROWS_EVERY_STEP, Symptom.SLOW)
    unseen = True
    triggers = (
        Trigger(
            inserts=True, names=frozenset(["ModuleList", "ParameterList", "ModuleDict", "ParameterDict", "Sequential"])
        ),
        Trigger(
            calls=frozenset(
                ["add_module", "register_module", "register_parameter", "register_buffer", "add_param_group", "setattr"]
            )
        ),
        Trigger(calls=frozenset(["step"]), imports=True),
        Trigger(constructs=True),
    )

    def check(self, facts: Facts) -> Iterator[Finding]:
        """Yield one finding for each addition, and each replacement, that is repeated."""
        for growth in facts.growths:
            yield _finding(facts, growth)
        for construction in facts.constructions:
            if construction.member and construction.call not in facts.made_to_grow:
                yield _replaced(facts, construction)


def _finding(facts: Facts, growth: Growth) -> Finding:
    place = growth.repeated_by
    often, where = facts.each_turn(place, "any" if growth.is_by_data else "each"), (" ", *facts.outside(place))
    what = "another group of parameters" if growth.is_optimizer else "another member"
    what = f"{what} by {facts.done_by(growth.by.call, growth.by)}" if growth.by is not None else what
    harm: tuple[str | LineOf, ...] = (
        ", and nothing takes it back: GPU memory grows each step by all its tensors; make it once,", *where,
    )  # fmt: skip
    if growth.is_by_data:
        harm = (
            ", whenever a number of the step asks for it, and nothing ends that: GPU memory grows by all its tensors;"
            " say how many there may be",
        )
    if growth.of_one_turn:
        harm = (
            ", of what nothing else keeps: GPU memory grows each turn by these parameters and their state; make an"
            " optimizer for each turn",
        )
    return Finding(
        node=growth.statement,
        message=(f"`{growth.name}` is given {what} in ", *often, *harm),
        level=Level.ERROR,
        memory=Memory.DEVICE_GROWS,
        evidence=(Step(place.syntax, "this is what repeats it"),),
    )


def _replaced(facts: Facts, construction: Construction) -> Finding:
    place = construction.repeated_by
    return Finding(
        node=facts.statement_of(construction.call),
        message=(
            f"`{construction.member}` is replaced by a new `{facts.called(construction.call)}` in ",
            *facts.each_turn(place, "each"),
            ": it costs time, its weights are new each time, and no optimizer made before has them; build it once,",
            " ", *facts.outside(place),
        ),
        level=Level.WARNING,
        memory=Memory.TIME,
        evidence=(Step(place.syntax, "this is what repeats it"),),
    )  # fmt: skip
