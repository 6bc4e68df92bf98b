"""Loops over the parameters of a module that delete their variable, and nothing else goes."""

from __future__ import annotations

import pytest
from test_unloading import found

RELEASE = """
def release({parameters}):
    for {items}:
        {body}
    {after}
    torch.cuda.empty_cache()
    return 0
"""

WEIGHTS = "weight in net.parameters()"


def released(
    items: str = WEIGHTS, body: str = "del weight", after: str = "", parameters: str = "net: nn.Module"
) -> list[str]:
    """What is found in a function that deletes in a loop and asks the memory back."""
    return found(RELEASE.format(items=items, body=body, after=after, parameters=parameters))


@pytest.mark.parametrize(
    ("items", "listing"),
    [
        (WEIGHTS, "net"),
        ("weight in list(net.parameters())", "net"),
        ("name, weight in net.named_parameters()", "net"),
        ("weight in net.encoder.parameters()", "net.encoder"),
    ],
)
def test_a_module_has_the_parameters_that_a_loop_deletes(items: str, listing: str) -> None:
    assert released(items) == [f"weight: {listing} lists"]


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("weight.data = torch.empty(0); del weight", ""),
        ("print(weight.shape); del weight", ""),
        ("weight.grad = None", ""),
        ("del weight", "net.run()"),
        ("del weight", "del net"),
    ],
)
def test_a_loop_that_does_more_or_a_module_that_goes_as_well_is_left_alone(body: str, after: str) -> None:
    assert not [one for one in released(body=body, after=after) if one.startswith("weight: net lists")]


def test_what_a_list_of_tensors_has_is_another_matter() -> None:
    assert not [one for one in released("weight in rows", parameters="rows") if one.endswith("lists")]
