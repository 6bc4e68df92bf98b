"""What is taken of a dictionary: its keys are names, and hold nothing of what is under them."""

from __future__ import annotations

import pytest
from programs import Program

RECORDER = """
from collections import defaultdict

class Recorder:
    def __init__(self, net: nn.Module):
        self.outputs = {made}
        for name, layer in net.named_modules():
            layer.register_forward_hook(self.hook_for(name))

    def hook_for(self, name):
        def hook(layer, inputs, output):
            self.outputs[name].append(output)
        return hook

    def told(self):
        return {told}
"""


@pytest.mark.parametrize(
    ("told", "made", "is_found"),
    [
        ("sorted(self.outputs)", "defaultdict(list)", True),
        ("list(self.outputs.keys())", "defaultdict(list)", True),
        ("self.outputs.keys()", "defaultdict(list)", True),
        ("tuple(self.outputs)", "defaultdict(list)", True),
        ("[name for name in self.outputs]", "defaultdict(list)", True),
        ("list(self.outputs.values())", "defaultdict(list)", False),
        ("dict(self.outputs)", "defaultdict(list)", False),
        ("self.outputs", "defaultdict(list)", False),
        ("sorted(self.outputs)", "[]", False),
    ],
)
def test_who_tells_the_names_hands_out_no_output(told: str, made: str, is_found: bool) -> None:
    stores = Program(RECORDER.format(told=told, made=made)).facts.hook_stores
    assert bool(stores) is is_found
