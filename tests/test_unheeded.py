"""Loads that leave out the ``map_location`` of the function that asks for them."""

from __future__ import annotations

import pytest
from programs import Program

HEAD = """
import torch
from torch.hub import load_state_dict_from_url
from torch.utils import model_zoo
from torch.utils.model_zoo import load_url as fetched
from safetensors.torch import load_file
"""


def found(source: str) -> list[str]:
    """Each such load as it is written, and the function that was told the device."""
    program = Program(source, head=HEAD)
    return [f"{program.facts.called(one.call)} in {one.asked.name}" for one in program.facts.unheeded]


@pytest.mark.parametrize(
    ("body", "is_unheeded"),
    [
        ("return torch.load(name)", True),
        ("return model_zoo.load_url(name, model_dir='cache')", True),
        ("return load_state_dict_from_url(name, progress=True)", True),
        ("return fetched(name)", True),
        ("if name: return torch.load(name)\n    return torch.load(other, map_location)", True),
        ("if name: return torch.load(name)\n    return read(other, map_location=map_location)", True),
        ("return torch.load(name, map_location=map_location)", False),
        ("return torch.load(name, map_location=None)", False),
        ("return model_zoo.load_url(name, None, map_location)", False),
        ("return torch.load(name, **options)", False),
        ("if map_location: return torch.load(name, map_location)\n    return torch.load(name)", False),
        ("return torch.load(name).to(map_location)", False),
        ("state = torch.load(name)\n    return moved(state, map_location=map_location)", False),
        ("log(f'to {map_location}')\n    return torch.load(name)", False),
        ("map_location = 'cpu'\n    return torch.load(name)", False),
        ("return load_file(name)", False),
    ],
)
def test_a_parameter_that_is_handed_on_or_not(body: str, is_unheeded: bool) -> None:
    source = f"def weights(name, map_location=None, **options):\n    {body}\n"
    assert [one.endswith("in weights") for one in found(source)] == ([True] if is_unheeded else [])


def test_a_function_that_loads_for_others_has_no_such_parameter() -> None:
    source = """
def fetch(name):
    state = model_zoo.load_url(name)
    return state
def weights(name, map_location=None):
    return fetch(name)
def elsewhere(name):
    return fetch(name)
"""
    assert found(source) == ["model_zoo.load_url in weights"]
    assert found(source.replace("weights(name, map_location=None)", "weights(name)")) == []


@pytest.mark.parametrize(("default", "is_unheeded"), [("None", True), ("'cpu'", False)])
def test_a_function_that_would_hand_it_on_is_not_given_it(default: str, is_unheeded: bool) -> None:
    source = f"""
def fetch(name, map_location={default}):
    return torch.load(name, map_location=map_location)
def weights(name, map_location=None):
    return fetch(name)
"""
    assert found(source) == (["fetch in weights"] if is_unheeded else [])
