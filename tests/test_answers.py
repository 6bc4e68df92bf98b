"""Networks that are only asked: those an object keeps in evaluation mode, and those whose answers are detached."""

from __future__ import annotations

import pytest

from torchlint.catalog import rule_of
from torchlint.diagnostic import Diagnostic, Level
from torchlint.engine import check
from torchlint.source import Source

HEAD = "import torch\nfrom torch import nn\nfrom elsewhere import Base, load\n"


def findings(body: str) -> list[Diagnostic]:
    rule = rule_of("TLK201")
    assert rule is not None
    return list(check(Source("program.py", HEAD + body), [rule]).diagnostics)


def lines(body: str) -> list[int]:
    """The lines of ``body`` (from 1) at which TLK201 stands."""
    return [found.line - HEAD.count("\n") for found in findings(body)]


SERVED = """class Coder{base}:
    def __init__(self, name):
        self.net = nn.Sequential(nn.Linear(3, 3), nn.ReLU()){made}
        {then}
    def code(self, x):
        hidden = self.net(x)
        return hidden / hidden.norm(dim=1, keepdim=True)
    def more(self, x):
        {more}
"""


@pytest.mark.parametrize(
    ("filled", "is_found"),
    [
        ({"made": ".eval()"}, True),
        ({"made": ".eval().to('cuda')"}, True),
        ({"then": "self.net.eval()"}, True),
        ({"made": ".eval()", "more": "return next(self.net.parameters()).device"}, True),
        ({}, False),
        ({"made": ".eval()", "base": "(Base)"}, False),  # what answers a base may be trained through there
        ({"made": ".eval()", "base": "(nn.Module)"}, False),
        ({"made": ".eval()", "more": "self.net.train()"}, False),
        ({"made": ".eval()", "more": "self.net(x).sum().backward()"}, False),
        ({"made": ".eval().requires_grad_(False)"}, False),
        ({"made": ".eval()", "more": "self.net = nn.Linear(3, 3)"}, False),
    ],
)
def test_what_an_object_keeps_in_evaluation_mode_is_only_asked(filled: dict[str, str], is_found: bool) -> None:
    filled = {"base": "", "made": "", "then": "pass", "more": "pass", **filled}
    assert lines(SERVED.format(**filled)) == ([5] if is_found else [])


def test_an_answer_that_leaves_with_its_graph_is_a_note() -> None:
    filled = {"base": "", "made": ".eval()", "then": "pass", "more": "pass"}
    (found,) = findings(SERVED.format(**filled))
    assert found.level is Level.NOTE
    assert "where its caller does not switch them off" in found.message


GIVEN = """def rows(batch, encoder, device):
    vectors = {asked}
    {end}
def pooled(hidden):
    return hidden.mean(1)
def length(hidden):
    return torch.tensor(hidden.shape[0])
"""


@pytest.mark.parametrize(
    ("asked", "end", "is_found"),
    [
        ("encoder(batch.to(device))", "return vectors.detach().cpu().numpy()", True),
        ("encoder(batch).pooled", "return {'rows': vectors.mean(1).detach()}", True),
        ("encoder(batch)", "batch['rows'] = vectors.detach()\n    return batch", True),
        ("encoder(batch)", "return vectors", False),
        ("encoder(batch)", "return vectors.detach().cpu(), vectors.sum()", False),
        ("encoder(batch).detach()", "return vectors", False),  # gone with the statement
        ("encoder(nn.Linear(3, 3), batch)", "return vectors.detach()", False),  # a procedure, which may train it
        ("encoder()", "return vectors.detach()", False),  # of no data
        ("encoder.rates(batch)", "return vectors.detach()", False),  # a method, of which only the name is seen
        ("encoder(batch)", "return vectors.data['rows']", False),  # a field that is named so
        ("encoder(batch)", "return vectors.data.max(1)[1]", True),
        ("encoder(batch)['ids'].to(device)", "return vectors.float().detach()", False),  # moved there: data
        ("pooled(encoder(batch))", "return vectors.detach().cpu().numpy()", True),
        ("length(encoder(batch))", "return vectors.detach().cpu().numpy()", False),  # which has no graph
        ("torch.cat([encoder(row) for row in batch])", "return vectors.detach().cpu().numpy()", True),
    ],
)
def test_who_detaches_an_answer_knows_of_a_graph(asked: str, end: str, is_found: bool) -> None:
    assert lines(GIVEN.format(asked=asked, end=end)) == ([1] if is_found else [])


@pytest.mark.parametrize("name", ["get_parameter", "__class__"])
def test_what_every_module_or_object_has_is_no_network(name: str) -> None:
    body = f"class Net(nn.Module):\n    def copied(self, x):\n        found = self.{name}(x)\n"
    assert not lines(f"{body}        kept = found.data.clone()\n        return kept.tolist()\n")


def test_a_detached_answer_in_a_training_is_a_target() -> None:
    body = (
        "class Fit:\n    def __init__(self, encoder, head):\n        self.encoder, self.head = encoder, head\n"
        "    def loss(self, x):\n        coded = self.encoder(x)\n"
        "        return (self.head(coded) - coded.detach()).pow(2).mean()\n"
    )
    assert not lines(body)


def test_a_softmax_of_a_parameter_is_no_forward() -> None:
    body = (
        "class Choice(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.alpha, self.softmax = nn.Parameter(torch.zeros(3)), nn.Softmax(-1)\n"
        "    def export(self):\n        return self.softmax(self.alpha).cpu().tolist()\n"
    )
    assert not lines(body)


def test_a_target_that_is_detached_at_once_beside_an_answer_that_leaves() -> None:
    body = (
        "class Fit:\n    def __init__(self, make, spread):\n        self.net, self.follower = make(), make()\n"
        "        self.follower.load_state_dict(self.net.state_dict())\n        self.spread = spread\n"
        "    def loss(self, x):\n        wanted = self.follower(x)[0].detach()\n"
        "        return self.spread(wanted - self.net(x)[0]).mean()\n"
    )
    assert not lines(body)
