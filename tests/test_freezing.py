"""Modules whose parameters do not require grad, and those of which that changes."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from programs import Program
from projects import Project
from rule_programs import diagnose

from torchlint.source import Source

HELPER = """
    def requires_grad(model, flag):
        for p in model.parameters():
            p.requires_grad = flag
"""

STEP = """
    generator, judge = nn.Linear(4, 8), nn.Linear(8, 1)
    optimizer = torch.optim.Adam(judge.parameters())
    for x in DataLoader(dataset):
        {switch}
        loss = judge(generator(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_a_network_that_a_helper_switches_by_a_flag_is_not_judged() -> None:
    program = Program(HELPER + STEP.format(switch="requires_grad(generator, False)"))
    assert program.facts.untrained_forwards == []


def test_the_same_network_without_the_switch_runs_in_vain() -> None:
    assert len(Program(HELPER + STEP.format(switch="pass")).facts.untrained_forwards) == 1


CHOSEN = """
    net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters())
    chosen = [p for name, p in net.named_parameters() if name.endswith("bias")]
    {off}
    {on}

    def score(loader):
        net.eval()
        return [net(x).item() for x in loader]
"""
OFF = "for p in net.parameters(): p.requires_grad_(False)"


@pytest.mark.parametrize("on", ["for p in chosen: p.requires_grad_(True)", "for p in chosen: p.requires_grad = True"])
def test_a_network_of_which_some_parameters_are_chosen_again_is_not_frozen(on: str) -> None:
    assert len(Program(CHOSEN.format(off=OFF, on=on)).facts.unguarded_inferences) == 1


def test_one_that_stays_so_is() -> None:
    assert Program(CHOSEN.format(off=OFF, on="pass")).facts.unguarded_inferences == []


FIXED = """
    def fix(parameters):
        for p in parameters:
            p.requires_grad = False

    def load_both():
        return hub.load("small"), hub.load("large")

    small, large = load_both()
    judge = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(judge.parameters())
    small.requires_grad_(False)
    {large}
    for x in DataLoader(dataset):
        target = 0
        for at, encoder in zip([0, 1], [small, large]):
            target = target + encoder.eval()(x)
        loss = judge(target).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def test_networks_of_a_list_that_are_all_frozen() -> None:
    assert Program(FIXED.format(large="large.requires_grad_(False)")).facts.untrained_forwards == []
    assert Program(FIXED.format(large="fix(large.parameters())")).facts.untrained_forwards == []


ACTOR = """
    class Tutor:
        def __init__(self):
            self.net = nn.Linear(4, 4)
            self.optimizer = torch.optim.Adam(self.net.parameters())

        def zero_grad(self):
            self.optimizer.zero_grad()

        def update(self):
            self.optimizer.step()

        def learn(self, x):
            self.zero_grad()
            loss = self.net(x).mean()
            loss.backward()
            {update}
"""


def test_a_step_in_a_method_that_is_called_after_the_backward() -> None:
    assert Program(ACTOR.format(update="self.update()")).facts.untrained_forwards == []


SEARCH = """
    model, sampler = nn.Linear(4, 4), Sampler()
    weights = torch.optim.SGD(model.parameters())
    choices = torch.optim.Adam(sampler.parameters())
    other = nn.Linear(4, 4)
    rest = torch.optim.SGD(other.parameters())
    for x in DataLoader(dataset):
        {zero}
        sampler.reset()
        loss = (model(x) + other(x)).mean()
        loss.backward()
        rest.step()
        {choose}
        weights.zero_grad()
        model(x).mean().backward()
        weights.step()
"""


def test_gradients_that_go_through_a_network_to_parameters_that_are_stepped() -> None:
    assert Program(SEARCH.format(zero="choices.zero_grad()", choose="choices.step()")).facts.untrained_forwards == []
    assert len(Program(SEARCH.format(zero="pass", choose="pass")).facts.untrained_forwards) == 1


PAIR = """
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 8)
        def forward(self, x):
            return self.body(x)

    def build():
        return Encoder(), Encoder()

    def encode(encoders, x):
        return encode_one(encoders[{item}], x)

    def encode_one(encoder, x):
        out = encoder(x)
        return out

    sound, sight = build()
    {switch}
    judge = nn.Linear(8, 1)
    optimizer = torch.optim.Adam(judge.parameters())
    for x in DataLoader(dataset):
        loss = judge(encode([sound, sight], x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("switch", "item", "count"),
    [
        ("sight.requires_grad_(False)", 1, 0),
        ("sight.requires_grad_(False)", 0, 1),
        ("sound.requires_grad_(True); sight.requires_grad_(False)", 1, 0),
        ("sound.requires_grad_(False); sight.requires_grad_(True)", 1, 1),
    ],
)
def test_one_of_a_pair_is_frozen_by_itself(switch: str, item: int, count: int) -> None:
    assert len(Program(PAIR.format(switch=switch, item=item)).facts.untrained_forwards) == count


@pytest.mark.parametrize(
    ("switch", "count"),
    [
        ("sound.requires_grad_(False); sight.requires_grad_(False)", 0),
        ("sight.requires_grad_(False)", 1),
    ],
)
def test_all_of_a_list_are_frozen(switch: str, count: int) -> None:
    source = PAIR.format(switch=switch, item=0)
    source = source.replace("return encode_one(encoders[0], x)", "return sum([part(x) for part in encoders])")
    assert len(Program(source).facts.untrained_forwards) == count


TABLE = """
    words = nn.Embedding(50, 8)
    fixed = {made}
    {told}
    optimizer = torch.optim.Adam(words.parameters())
    for x in DataLoader(dataset):
        loss = words(x).pow(2).mean()
        seen = fixed(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "told", "has_graph"),
    [
        ("nn.Embedding(50, 8)", "fixed.weight.requires_grad = False", False),
        ("nn.Embedding(50, 8)", "fixed.weight.requires_grad_(False)", False),
        ("copy.deepcopy(words)", "fixed.weight.requires_grad = False", False),
        ("nn.Embedding(50, 8)", "pass", True),
        ("nn.Linear(8, 8)", "fixed.weight.requires_grad = False", True),
        ("nn.Linear(8, 8)", "fixed.weight.requires_grad = fixed.bias.requires_grad = False", False),
        ("nn.Linear(8, 8, bias=False)", "fixed.weight.requires_grad = False", False),
        ("nn.LSTM(8, 8)", "fixed.weight_hh_l0.requires_grad = False", True),
    ],
)
def test_a_layer_whose_parameters_are_told_by_name(made: str, told: str, has_graph: bool) -> None:
    program = Program("import copy\n" + dedent(TABLE).format(made=made, told=told))
    assert bool(program.facts.flows.live_parts(program.value("fixed(x)"))) == has_graph


def test_a_parameter_of_one_layer_of_many_freezes_none_of_them() -> None:
    made, told = "nn.ModuleList([nn.Embedding(50, 8), nn.Embedding(50, 8)])", "fixed[0].weight.requires_grad = False"
    program = Program(TABLE.format(made=made, told=told).replace("fixed(x)", "fixed[1](x)"))
    assert program.facts.flows.live_parts(program.value("fixed[1](x)"))


GUIDED = """
import torch
import torchvision
from torch import nn

BUILT = {}


def guide(name, device):
    if name not in BUILT:
        BUILT[name] = {made}
    return BUILT[name]


def main(images, device):
    net = nn.Linear(4, 4)
    optimizer = torch.optim.AdamW(net.parameters(), 3e-4)
    for image in images:
        features = guide("alex", device)
        loss = nn.functional.mse_loss(features(net(image)), features(image))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("frozen", "told"), [(".requires_grad_(False)", []), ("", ["TLK203"])])
def test_a_network_is_frozen_that_a_table_is_given_so(frozen: str, told: list[str]) -> None:
    made = f"torchvision.models.alexnet(weights='DEFAULT').to(device).eval(){frozen}"
    assert [one.code for one in diagnose(Source("train.py", GUIDED.replace("{made}", made)))] == told


SEVERAL = """
    import torch
    from dataclasses import dataclass
    from torch import nn

    @dataclass
    class Found:
        scores: torch.Tensor
        mask: torch.Tensor

    class Finder(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

        def forward(self, x, mask):
            scores = self.head(self.body(x))
            return {given}

    class Search:
        def __init__(self):
            self.net = {net}
            self.mask = torch.zeros(1, 16)

        def answer(self, frame):
            found = self.net(frame, self.mask)
            {taken}
            return scores.argmax(1).tolist()

    def search(frames):
        searching = Search()
        for frame in frames:
            print(searching.answer(frame))
"""


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("scores, mask", "scores, self.mask = found"),
        ("scores, scores.exp() * mask", "scores, self.mask = found"),
        ("[scores, mask]", "scores = found[0]"),
        ("{'scores': scores}", "scores = found['scores']"),
        ("Found(scores, mask)", "scores = found.scores"),
    ],
)
def test_a_frozen_network_gives_several_tensors(given: str, taken: str) -> None:
    told = {
        net: [one.code for one in diagnose(Source("x.py", dedent(SEVERAL.format(net=net, given=given, taken=taken))))]
        for net in ("Finder()", "Finder().requires_grad_(False)")
    }
    assert told["Finder().requires_grad_(False)"] == []
    assert "TLK201" in told["Finder()"]


TWINS = """
    import copy
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(8, 2)

        def forward(self, x):
            return self.body(x)

    class Learner:
        def __init__(self, net, target):
            self.net, self.target = net, target
            {frozen}
            self.optimizer = torch.optim.Adam(net.parameters())

    class Player:
        def __init__(self, net):
            self.net = net

        def act(self, x):
            return int(self.net(x).argmax())

    def fix(net):
        net.requires_grad_(False)

    def play(frames):
        net, target = Net(), Net()
        learner, player = Learner(net, target), Player({playing})
        return [player.act(frame) for frame in frames], learner
"""


@pytest.mark.parametrize("frozen", ["self.target.requires_grad_(False)", "fix(target)", "fix(self.target)"])
@pytest.mark.parametrize(("playing", "told"), [("net", ["TLK201"]), ("target", [])])
def test_a_class_is_handed_one_network_to_freeze_and_one_to_train(frozen: str, playing: str, told: list[str]) -> None:
    text = dedent(TWINS.format(frozen=frozen, playing=playing))
    assert [one.code for one in diagnose(Source("play.py", text))] == told


FOLLOWED = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    class Agent:
        def __init__(self):
            self.net, self.target = nn.Linear(8, 2), nn.Linear(8, 2)
            self.optimizer = torch.optim.Adam(self.net.parameters())

        def follow(self):
            for ours, theirs in zip(self.target.parameters(), self.net.parameters()):
                ours.detach_()
                {written}

        def learn(self, rows):
            for x, y in DataLoader(rows):
                answer = self.target(x)
                aim = (y + answer).detach()
                loss = (self.net(x) - aim).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.follow()
"""


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("ours.copy_(0.9 * ours + 0.1 * theirs)", True),  # which requires grad again, by way of theirs
        ("ours.mul_(0.9).add_(theirs, alpha=0.1)", True),
        ("ours.data.copy_(0.9 * ours + 0.1 * theirs)", False),
        ("with torch.no_grad(): ours.copy_(0.9 * ours + 0.1 * theirs)", False),
        ("pass", False),
    ],
)
def test_a_parameter_that_is_detached_and_written_again_has_a_graph(written: str, told: bool) -> None:
    found = diagnose(Source("agent.py", dedent(FOLLOWED.format(written=written))))
    assert ("TLK203" in [one.code for one in found]) is told


CODEC = """
    class Stored(nn.Module):
        @classmethod
        def load(cls, path):
            net = cls()
            net.load_state_dict(torch.load(path, map_location="cpu"))
            return net

    class Codec(Stored):
        def __init__(self):
            super().__init__()
            self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)
        def hidden(self, x):
            return self.body(x)
        def encode(self, x):
            return self.head(self.hidden(x))
"""

TRAINING_ON_CODES = """
    def train(path, loader, net: nn.Module):
        codec = {codec}
        {told}
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        kept, total = [], 0
        for x, y in loader:
            code = codec.encode(x)
            loss = (net(code) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kept.append(code)
            total += code.mean()
        return kept, total
"""


@pytest.mark.parametrize("codec", ["Codec()", "Codec().eval()", "Codec.load(path)"])
@pytest.mark.parametrize(
    ("told", "count"),
    [
        ("codec.requires_grad_(False)", 0),
        ("for p in codec.parameters(): p.requires_grad = False", 0),
        ("codec.requires_grad_(True)", 4),
    ],
)
def test_any_method_of_a_frozen_network_gives_what_has_no_graph(
    tmp_path: Path, codec: str, told: str, count: int
) -> None:
    training = TRAINING_ON_CODES.format(codec=codec, told=told)
    assert len(diagnose(Source("x.py", "import torch\nfrom torch import nn\n" + dedent(CODEC + training)))) == count
    head = "    import torch\n    from torch import nn\n"
    files = {"codec.py": head + CODEC, "train.py": head + "    from codec import Codec\n" + training}
    assert bool(Project(tmp_path, files).found()) == bool(count)


TRANSFER = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.neck, self.head = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
            {inside}
        def forward(self, x):
            return self.head(self.neck(self.body(x)))

    net = Net()
    {outside}
    optimizer = torch.optim.SGD(net.head.parameters(), 0.1)
    for x, y in DataLoader(dataset):
        loss = (net(x) - y).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("inside", "outside", "told"),
    [
        ("pass", "net.requires_grad_(False); net.head.requires_grad_(True)", 0),
        ("pass", "for p in net.parameters(): p.requires_grad = False\nnet.head.requires_grad_(True)", 0),
        ("self.requires_grad_(False); self.head.requires_grad_(True)", "pass", 0),
        ("pass", "net.requires_grad_(False); net.head.requires_grad_(True); other = Net()", 1),
        ("pass", "pass", 1),
    ],
)
def test_of_a_network_that_is_frozen_but_for_its_head_the_body_is_frozen(inside: str, outside: str, told: int) -> None:
    program = Program(dedent(TRANSFER).replace("{inside}", inside).replace("{outside}", outside))
    assert len(program.facts.untrained_forwards) == told


PROJECTION = """
    class Projection:
        def __init__(self, device):
            self.generator, self.judge = nn.Linear(8, 8), nn.Linear(8, 1)
            for net in (self.generator, self.judge):
                {told}

        def fit(self, photo, steps):
            target = self.judge(photo)
            w = torch.zeros(1, 8, requires_grad=True)
            optimizer = torch.optim.Adam([w])
            for _ in range(steps):
                loss = F.mse_loss(self.judge(self.generator(w)), target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return w.detach()
"""


@pytest.mark.parametrize(
    ("told", "count"),
    [
        ("net.to(device).eval().requires_grad_(False)", 0),
        ("net.requires_grad_(False)", 0),
        ("net.to(device).eval()", 1),
    ],
)
def test_each_network_that_a_loop_over_them_freezes(told: str, count: int) -> None:
    program = Program(PROJECTION.format(told=told))
    assert len(program.facts.untrained_forwards) == count
