"""Networks that are only asked: those an object keeps in evaluation mode, and those whose answers are detached."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

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


ADAPTED = """def adapt(net, rows, x, y):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    {before}
    for row, target in rows:
        loss = (net(row) - target).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    error = (net(x) - y).pow(2).mean()
    {after}
    return error
{main}
"""
TASKS = """def main(tasks):
    total = 0.0
    for task in tasks:
        error = adapt(nn.Linear(3, 3), *task)
        {used}
    return total
"""


@pytest.mark.parametrize(
    ("before", "after", "used", "is_found"),
    [
        ("pass", "pass", "total += error.item()", True),
        ("pass", "pass", "error.backward()", False),
        ("pass", "pass", "tasks.note(error)", False),
        ("pass", "pass", None, False),  # who calls it may train on it
        ("pass", "error.backward()", "total += error.item()", False),
        ("net.seen = net(x)", "pass", "total += error.item()", True),
        ("pass", "net.last = error", "total += error.item()", False),
        ("for _ in range(3):\n        pass", "optimizer.step(error)", "total += error.item()", False),
    ],
)
def test_what_a_function_has_trained_it_may_look_at(
    before: str, after: str, used: str | None, *, is_found: bool
) -> None:
    main = TASKS.format(used=used) if used is not None else ""
    found = lines(ADAPTED.format(before=before, after=after, main=main))
    at = 9 + before.count("\n")
    assert found == ([at] if is_found else [])


def test_what_it_detaches_at_once_is_gone_with_the_statement() -> None:
    body = ADAPTED.format(before="pass", after="pass", main=TASKS.format(used="total += error.item()"))
    assert not lines(body.replace("error = (net(x) - y).pow(2).mean()", "error = (net(x) - y).pow(2).mean().detach()"))


LAYERS = """def pooled(net, rows):
    net.eval(){frozen}
    total = 0.0
    for x in rows:
        for {item} in {parts}:
            x = {run}
        total += x.mean().item()
    return total
"""


@pytest.mark.parametrize(
    ("item", "parts", "run", "frozen", "is_found"),
    [
        ("layer", "net.children()", "layer(x)", "", True),
        ("layer", "list(net.body.eval().children())[:-2]", "layer(x)", "", True),
        ("name, layer", "net.named_children()", "layer(x) if name != 'head' else x", "", True),
        ("layer", "net.children()", "len(layer)", "", False),
        ("layer", "net.parameters()", "layer + x", "", False),
        ("layer", "net.layers()", "layer(x)", "", False),
        ("layer", "net.children()", "layer(x)", ".requires_grad_(False)", False),
        ("layer", "list(net.children())[:-2]", "layer(x)", ".requires_grad_(False)", False),
    ],
)
def test_what_gives_the_layers_of_a_network_gives_networks(
    item: str, parts: str, run: str, frozen: str, *, is_found: bool
) -> None:
    body = LAYERS.format(item=item, parts=parts, run=run, frozen=frozen)
    assert lines(body) == ([1] if is_found else [])


SEATS = """class Table:
    def __init__(self, players, rules):
        self.players, self.rules = players, rules
    def odds(self, turn, seen):
        {asked}
        return chances.exp().detach().numpy()
"""


@pytest.mark.parametrize(
    ("asked", "is_found"),
    [
        ("chances = self.players[turn](seen)", True),
        ("chances = self.players[turn](seen[turn], recall=False)[0]", True),
        ("for player in self.players:\n            seen = player(seen)\n        chances = seen", False),
        ("chances = self.rules.odds[turn](seen)", False),
        ("chances = self.players[turn](self, seen, nn.Linear(3, 3))", False),
        ("chances = self.players[turn]()", False),
    ],
)
def test_one_of_several_that_an_object_keeps_may_be_asked(asked: str, *, is_found: bool) -> None:
    assert lines(SEATS.format(asked=asked)) == ([4] if is_found else [])


def test_a_softmax_of_a_parameter_is_no_forward() -> None:
    body = (
        "class Choice(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.alpha, self.softmax = nn.Parameter(torch.zeros(3)), nn.Softmax(-1)\n"
        "    def export(self):\n        return self.softmax(self.alpha).cpu().tolist()\n"
    )
    assert not lines(body)


READ = """class Coder{base}:
    def __init__(self, path, name, tokens):
        self.net, self.tokens = {made}, tokens
        {then}
    def code(self, text):
        return self.net({given}){end}
    def more(self, x):
        {more}
"""


@pytest.mark.parametrize(
    ("filled", "is_found"),
    [
        ({}, True),
        ({"made": "nn.Linear(3, 3)", "then": "self.net.load_state_dict(torch.load(path))"}, True),
        ({"made": "nn.Sequential(*list(load(name, pretrained=True).children())[:-1])"}, True),
        ({"made": "load(name, weights='best').to('cuda')", "then": "self.net.state_dict"}, False),
        ({"given": "text.unsqueeze(0)"}, True),  # one image
        ({"given": "torch.tensor(text)"}, True),
        ({"given": "text"}, False),  # what the caller computed, may be of a network
        ({"given": "text.unsqueeze(1)"}, False),
        ({"end": " - self.net(text)"}, False),  # a distance: a loss
        ({"made": "nn.Linear(3, 3)"}, False),  # which others may train
        ({"made": "nn.Linear(3, 3)", "then": "self.net.load_state_dict(path.state_dict())"}, False),
        ({"base": "(nn.Module)"}, False),
        ({"base": "(Base)"}, False),
        ({"more": "return self.net.parameters()"}, False),
        ({"more": "return next(self.net.parameters()).device"}, True),
        ({"more": "self.net(x).sum().backward()"}, False),
        ({"then": "self.net.requires_grad_(False)"}, False),
    ],
)
def test_what_has_its_weights_from_a_file_and_is_given_by_nobody_is_only_asked(
    filled: dict[str, str], is_found: bool
) -> None:
    made = "load.from_pretrained(name).train(False)" if "then" in filled else "AutoModel.from_pretrained(name)"
    plain = {"base": "", "made": made, "then": "pass", "given": "self.tokens(text)", "end": "", "more": "pass"}
    body = "from transformers import AutoModel\n" + READ.format(**{**plain, **filled})
    assert lines(body) == ([6] if is_found else [])
    assert all(one.level is Level.NOTE for one in findings(body))


@pytest.mark.parametrize(
    ("use", "is_found"),
    [
        ("optimizer = torch.optim.SGD(coder.net.parameters(), lr=0.1)", False),
        ("loss = coder.code(text).sum()", False),
        ("loss = net(text).sum()", True),
    ],
)
def test_who_trains_with_such_a_network_elsewhere(tmp_path: Path, use: str, is_found: bool) -> None:
    coder = (
        "import torch\nfrom transformers import AutoModel\n\nclass Coder:\n    def __init__(self, name, tokens):\n"
        "        self.net, self.tokens = AutoModel.from_pretrained(name), tokens\n\n"
        "    def code(self, text):\n        return self.net(self.tokens(text))\n"
    )
    fit = (
        f"import torch\nfrom coder import Coder\n\ndef fit(net, name, tokens, text):\n    coder = Coder(name, tokens)\n"
        f"    loss = net(text).sum()\n    {use}\n    loss.backward()\n    return coder\n"
    )
    assert ("coder.py: TLK201 note" in Project(tmp_path, {"coder.py": coder, "fit.py": fit}).found()) is is_found


PARSER = """class Parser(nn.Module):
    def __init__(self, other):
        super().__init__()
        self.arcs, self.labels, self.other = nn.Bilinear(3, 3, 1), nn.Bilinear(3, 3, 9), other
    def forward(self, words):
        arcs, labels = self.arcs(words, words), self.labels(words, words)
        return arcs.mean(), [{arcs}, labels.argmax(-1).cpu().numpy()]
    def parse(self, words):
        _, found = self(words)
        {edited}
        return load(found[0])
"""


@pytest.mark.parametrize(
    ("filled", "is_found"),
    [
        ({}, True),
        ({"edited": "found[1][found[1] < 2] = 0"}, True),
        ({"edited": "found[1][found[1] < 2] = self.other"}, True),
        ({"edited": "found[1].fill(self.other)"}, True),
        ({"arcs": "arcs"}, False),  # who is given it may differentiate
        ({"arcs": "arcs", "edited": "found[1][found[1] < 2] = 0"}, False),
        ({"edited": "found[0] = self.arcs(words, words)"}, False),
    ],
)
def test_what_is_written_into_an_array_brings_no_graph(filled: dict[str, str], is_found: bool) -> None:
    filled = {"arcs": "arcs.detach().cpu().numpy()", "edited": "pass", **filled}
    assert lines(PARSER.format(**filled)) == ([9] if is_found else [])


SPLITTER = """import numpy as np
class Splitter({base}):
    def __init__(self, coder):
        super().__init__()
        self.coder = coder{made}
    def forward(self, wave):
        return self.coder(wave)
    def split(self, wave):
        is_array = isinstance(wave, np.ndarray)
        if is_array:
            wave = {taken}
        place = {place}
        parts = {asked}.to(place)
        if is_array:
            return {given}
        return parts
"""


@pytest.mark.parametrize(
    ("filled", "is_found"),
    [
        ({}, True),
        ({"given": "parts[0].cpu().data.numpy()"}, True),
        ({"taken": "torch.tensor(wave)", "given": "parts.detach().squeeze(0).tolist()"}, True),
        ({"base": "object", "made": "; self.net = nn.Linear(3, 3)", "asked": "self.net(wave)"}, True),
        ({"place": "'cpu'"}, False),  # nothing says that it has a parameter
        ({"place": "next(self.parameters(), wave).device"}, False),
        ({"place": "'cpu'", "made": "; self.out = nn.Linear(3, 3)"}, True),
        ({"taken": "load(wave)"}, False),
        ({"given": "parts"}, False),  # who is given a tensor may train on it
        ({"given": "load(parts)"}, False),
        ({"asked": "self.coder(wave)", "made": "; self.out = nn.Linear(3, 3)"}, False),  # a part, of unknown class
    ],
)
def test_who_is_given_an_array_for_an_array_does_not_train(filled: dict[str, str], is_found: bool) -> None:
    plain = {"base": "nn.Module", "made": "", "taken": "torch.from_numpy(wave)", "asked": "self(wave)"}
    plain |= {"place": "next(self.parameters()).device", "given": "parts.detach().cpu().numpy()"}
    found = findings(SPLITTER.format(**{**plain, **filled}))
    assert [one.line - HEAD.count("\n") for one in found] == ([8] if is_found else [])
    assert all(one.level is Level.NOTE and "given an array" in one.message for one in found)


def test_a_target_that_is_detached_at_once_beside_an_answer_that_leaves() -> None:
    body = (
        "class Fit:\n    def __init__(self, make, spread):\n        self.net, self.follower = make(), make()\n"
        "        self.follower.load_state_dict(self.net.state_dict())\n        self.spread = spread\n"
        "    def loss(self, x):\n        wanted = self.follower(x)[0].detach()\n"
        "        return self.spread(wanted - self.net(x)[0]).mean()\n"
    )
    assert not lines(body)


def test_a_picture_that_is_made_of_an_array_is_no_answer_of_another_network() -> None:
    body = (
        "from PIL import Image\nfrom pictures import tensor_of\n\n"
        "def cut_out(model, device, picture):\n"
        "    found = model(tensor_of(picture).to(device))\n"
        "    alpha = found[0, 0].sigmoid().detach().cpu().numpy()\n"
        "    return picture.size, Image.fromarray((alpha * 255).astype('uint8'))\n"
    )
    assert [one.code for one in findings(body)] == ["TLK201"]
