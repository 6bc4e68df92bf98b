"""Feature extractors that walk the layers of a network nobody sees, and collect what some of them give in a list."""

from __future__ import annotations

import pytest
from programs import HEAD

from torchlint import check_source

STYLE = """
from torchvision.models import vgg16

class Features(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = vgg16(weights="DEFAULT").features
        {frozen}
    def forward(self, x):
        found = []
        for name, layer in self.body.{layers}:
            x = layer(x)
            if name in ("3", "8"):
                found.append(x{kept})
        return found

def paint(content, rate):
    picture = content.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([picture], lr=rate)
    features = Features().eval()
    for step in range(2000):
        drawn = features(picture)
        {wanted}
        loss = 0
        for a, b in zip(drawn, wanted):
            loss += F.mse_loss(a, b)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return picture.detach()

paint(torch.load("picture.pt", map_location="cpu"), 0.01)
"""


def told(
    layers: str = "named_children()", wanted: str = "features(content)", frozen: str = "pass", kept: str = ""
) -> int:
    """How many forwards are told that record a graph for nobody."""
    source = STYLE.format(layers=layers, wanted=f"wanted = {wanted}", frozen=frozen, kept=kept)
    return sum(found.code == "TLK203" for found in check_source(HEAD + source))


@pytest.mark.parametrize("layers", ["named_children()", "named_modules()", "_modules.items()"])
def test_the_features_of_a_fixed_picture_are_recorded_in_vain(layers: str) -> None:
    assert told(layers) == 1


@pytest.mark.parametrize(
    ("wanted", "frozen", "kept"),
    [
        ("features(picture.flip(-1))", "pass", ""),
        ("features(content)", "self.body.requires_grad_(False)", ""),
        ("features(content)", "pass", ".detach()"),
        ("[one.detach() for one in drawn]", "pass", ""),
    ],
)
def test_what_is_wanted_frozen_or_detached_is_left_alone(wanted: str, frozen: str, kept: str) -> None:
    assert told(wanted=wanted, frozen=frozen, kept=kept) == 0


def test_the_parts_of_an_object_that_are_no_modules_say_nothing() -> None:
    assert told("_parts.items()") == 0
