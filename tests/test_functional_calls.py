"""``functional_call`` runs a module with the parameters that it is given: there the graph begins."""

from __future__ import annotations

import pytest
from programs import Program

CALLED = """
from torch.func import functional_call
from torch.nn.utils import stateless

net = nn.Linear(3, 3)
x = torch.rand(4, 3)
given = {given}
print({called})
"""


@pytest.mark.parametrize("called", ["functional_call(net, given, (x,))", "stateless.functional_call(net, given, x)"])
@pytest.mark.parametrize(
    ("given", "has_graph"),
    [
        ("dict(net.named_parameters())", True),
        ("{name: one - 0.1 for name, one in net.named_parameters()}", True),
        ("{name: one.detach() for name, one in net.named_parameters()}", False),
        ("torch.load('weights.pt')", False),
    ],
)
def test_what_a_module_computes_with_other_parameters(called: str, given: str, has_graph: bool) -> None:
    program = Program(CALLED.format(given=given, called=called))
    (value,) = program.printed()
    assert (program.facts.flows.live(value) is not None) is has_graph
