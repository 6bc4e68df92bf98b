"""Programs of training that nobody wrote, and that run: half of them go on with the graphs that a repair might cut.

A program is drawn: what is trained, what a step keeps and where, what comes back from there into a loss, what is
evaluated in between, and which of its definitions stand in a file of their own. A seed names a program.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

__all__ = ["training_program"]

HEAD = """
import collections
import copy
from dataclasses import dataclass
import torch
import torch.nn.functional as F
from torch import nn

def batches(steps=3):
    return [torch.randn(5, 4) for _ in range(steps)]
"""

CHOICE = re.compile(r"<<((?:(?!<<|>>).)*)>>", re.DOTALL)
"""``<<this||that>>``: one of them is drawn, the inner ones first; ``;;`` parts the lines of one."""


@dataclass(frozen=True)
class Scenario:
    """A training.

    Attributes:
        parts: what it defines, each by itself; later ones may need earlier ones.
        begin: what stands before its loop.
        step: the turn of the loop: it makes ``y`` and ``loss`` of ``x``.
        network: the network that is evaluated.
        results: what ``main`` returns besides what it has kept.
    """

    parts: tuple[str, ...]
    begin: str
    step: str
    network: str = "net"
    results: str = "net"


PLAIN = "def make():\n    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 4))\n"

GATED = """
class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.gate, self.out = nn.Linear(4, 6), nn.Linear(6, 3), nn.Linear(6, 4)
        self.balance, self.seen = <<None||0.0||torch.zeros(())>>, []

    def forward(self, x):
        h = self.body(x).tanh()
        weights = self.gate(h).softmax(-1)
        <<self.balance = weights.mean(0).pow(2).sum()||self.seen.append(weights.mean(0).pow(2).sum())||
        self.seen = [weights.mean(), h.pow(2).mean()];;self.balance = self.seen[-1]||
        setattr(self, "balance", h.pow(2).mean())>>
        return self.out(h) * weights[:, :1]

    @property
    def terms(self):
        return sum(self.seen, self.balance if self.balance is not None else 0.0)
"""

READER = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(4, 4), nn.Linear(4, 4)
        self.begin()

    def begin(self):
        self.state = torch.zeros(5, 4)

    def forward(self, x):
        state = self.cell(x, self.state)
        self.state = state<<||.detach()>>
        return self.out(state)
"""

CACHED = """
class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Linear(4, 4), nn.Linear(4, 4)
        self.known = None

    def forget(self):
        self.known = None

    def forward(self, x):
        if self.known is None:
            self.known = self.table(x)
        return self.head(self.known<<||.detach()>>)
"""

NORMED = """
class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.mean = torch.zeros(4)

    def forward(self, x):
        y = self.body(x)
        self.mean = 0.9 * self.mean + 0.1 * y<<||.detach()>>.mean(0)
        return y - self.mean<<||.detach()>>
"""

TAPPED = """
class Tap:
    def __init__(self, layer):
        self.value, self.values = None, []
        layer.register_forward_hook(self.keep)

    def keep(self, module, given, output):
        <<self.value = output||self.value = output.detach()||self.values.append(output.mean());;self.value = output>>
"""

PENALTY = """
def penalty(critic, real, fake):
    mixed = (0.5 * real + 0.5 * fake).detach().requires_grad_(True)
    slope, = torch.autograd.grad(critic(mixed).sum(), mixed, create_graph=True)
    return (slope.norm(dim=1) - 1).pow(2).mean()
"""

ADAPTED = """
def adapt(net, x):
    weights = dict(net.named_parameters())
    loss = F.mse_loss(torch.func.functional_call(net, weights, (x,)), x)
    slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=<<True||True||False>>)
    return {name: weight - 0.1 * slope for (name, weight), slope in zip(weights.items(), slopes)}, loss<<||, slopes>>
"""

FOLLOW = """
def follow(teacher, student):
    for slow, fast in zip(teacher.parameters(), student.parameters()):
        <<slow.data.mul_(0.9).add_(0.1 * fast.data)||slow.data = 0.9 * slow.data + 0.1 * fast.data>>
"""

SCENARIOS = (
    Scenario(
        (PLAIN, FOLLOW),
        "net, teacher = make(), make()\n<<||teacher.eval()||teacher = copy.deepcopy(net)>>",
        "y = net(x)\n<<target = teacher(x)||with torch.no_grad():;;    target = teacher(x)>>\n"
        "loss = F.mse_loss(y, target) + <<0.0||target.pow(2).mean()>>\n<<follow(teacher, net)||pass>>",
        network="<<net||teacher>>",
        results="net, teacher",
    ),
    Scenario(
        (GATED,),
        "net = Gated()",
        "net.seen = []\ny = net(x)\nloss = F.mse_loss(y, x) + <<net.terms||0.0||sum(net.seen)>>",
    ),
    Scenario(
        (READER,),
        "net = Reader()",
        "<<net.begin()||net.state = net.state.detach()>>\nloss = 0.0\nfor part in (x, x + 1):\n"
        "    y = net(part)\n    loss = <<loss + y.pow(2).mean()||y.pow(2).mean()>>",
    ),
    Scenario((CACHED,), "net = Cached()", "net.forget()\ny = net(x)\nloss = F.mse_loss(y, x)"),
    Scenario((NORMED,), "net = Normed()", "y = net(x)\nloss = y.pow(2).mean()\nnet.mean = net.mean.detach()"),
    Scenario(
        (PLAIN, TAPPED),
        "net = make()\ntap = Tap(net[<<0||2>>])",
        "tap.values.clear()\ny = net(x)\n"
        "loss = F.mse_loss(y, x) + <<tap.value.pow(2).mean()||sum(tap.values)||0.0>>",
    ),
    Scenario(
        (PLAIN, PENALTY),
        "net, maker = make(), nn.Linear(3, 4)",
        "fake = maker(torch.randn(5, 3))\ny = net(fake<<.detach()||>>)\n"
        "loss = y.mean() - net(x).mean() + penalty(net, x, fake)",
        results="net, maker",
    ),
    Scenario(
        (PLAIN, ADAPTED),
        "net = make()",
        "weights, first, *others = adapt(net, x)\ny = torch.func.functional_call(net, weights, (x,))\n"
        "loss = F.mse_loss(y, x) + <<0.0||0.1 * first>>\n<<others = [others]||first = first.detach()>>",
    ),
)  # fmt: skip

METER = """
class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value):
        <<self.sum += value||self.sum = self.sum + value>>
        self.count += 1

    @property
    def mean(self):
        return self.sum / self.count
"""

BANK = """
class Bank:
    values = []

    @classmethod
    def put(cls, value):
        cls.values.append(value)

    @classmethod
    def last(cls):
        return cls.values[-1]
"""

RECORD = "@dataclass\nclass Record:\n    value: torch.Tensor\n    step: int = 0\n"

DEFAULT = """
def put(value=None, kept=[]):
    if value is not None:
        kept.append(value)
    return kept[-1]
"""


@dataclass(frozen=True)
class Holder:
    """Where a step keeps a value.

    Attributes:
        store: keeps ``VALUE``.
        reads: how it comes back in the same step.
        part: what has to be defined for it.
        begin: what stands before the loop.
    """

    store: str
    reads: str
    part: str = ""
    begin: str = ""


HOLDERS = (
    Holder("kept.<<append(VALUE)||insert(len(kept), VALUE)||extend([VALUE])>>", "kept[-1]", begin="kept = []"),
    Holder("kept['a'] = VALUE", "<<kept['a']||kept.get('a')||list(kept.values())[-1]>>", begin="kept = {}"),
    Holder("kept['a'].append(VALUE)", "kept['a'][-1]", begin="kept = collections.defaultdict(list)"),
    Holder("kept.append(VALUE)", "kept[-1]", begin="kept = collections.deque(maxlen=2)"),
    Holder("kept = (*kept, VALUE)", "kept[-1]", begin="kept = ()"),
    Holder("kept.append(Record(VALUE))", "kept[-1].value", RECORD, "kept = []"),
    Holder("kept = Meter()\nkept.update(VALUE)", "kept.mean", METER),
    Holder("Bank.put(VALUE)", "<<Bank.last()||Bank.values[-1]>>", BANK),
    Holder("put(VALUE)", "put()", DEFAULT),
    Holder("net.kept = VALUE", "<<net.kept||getattr(net, 'kept')>>"),
    Holder("STATE['kept'] = VALUE", "STATE['kept']", "STATE = {}\n"),
    Holder("total = total + VALUE", "total", begin="total = 0.0"),
)

EVALUATIONS = (
    "net.eval()\nreturn net(x).argmax(-1).float().mean()",
    "was = net.training\nnet.eval()\nscore = net(x).softmax(-1).max(-1).values.mean()\nnet.train(was)\nreturn score",
    "net.eval()\ntotal = 0.0\nfor part in (x, x + 1):\n    total += net(part).pow(2).mean()\nreturn total",
    "net.eval()\nouts = []\nfor part in (x, x + 1):\n    outs.append(net(part))\nreturn torch.cat(outs).mean()",
    "out = net(x)\nreturn out.mean().item()",
)


def training_program(seed: int) -> dict[str, str]:
    """The program of a seed: the texts of its files by the name of the module; ``main`` of ``main`` runs it."""
    return _Drawing(Random(seed)).program()


class _Drawing:
    """One program as it is drawn."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.scenario = random.choice(SCENARIOS)
        self.holder = random.choice(HOLDERS)

    def program(self) -> dict[str, str]:
        """Its files."""
        parts = [*self.scenario.parts, self.holder.part, self._evaluation()]
        written = [self._chosen(part) for part in parts if part]
        apart = [part for part in written if self.random.random() < 0.4]
        if not apart:
            return {"main": "\n".join([HEAD, *written, self._main()])}
        names = ", ".join(_defined(part) for part in apart)
        here = [part for part in written if part not in apart]
        main = "\n".join([HEAD, f"from parts import {names}\n", *here, self._main()])
        return {"parts": "\n".join([HEAD, *apart]), "main": main}

    def _evaluation(self) -> str:
        return "def evaluate(net, x):\n" + _indented(self.random.choice(EVALUATIONS))

    def _main(self) -> str:
        step = [self.scenario.step, *self._keeping(), *self._training()]
        score = f"scores.append(float(evaluate({self.scenario.network}, x)))"
        if self._happens(0.7):
            step.insert(self.random.choice([0, 1, len(step)]), score)
        begin = [self.scenario.begin, self.holder.begin, "scores, log = [], []"]
        begin.append("optimizer = torch.optim.<<SGD||Adam>>([p for p in net.parameters()], 0.05)")
        body = [
            *begin,
            "for x in batches():",
            _indented("\n".join(step)),
            f"return {self.scenario.results}, scores, log",
        ]
        return "def main():\n" + _indented(self._chosen("\n".join(filter(None, body))))

    def _keeping(self) -> list[str]:
        """What a step keeps, and what it makes of that."""
        value = self.random.choice(["loss", "y.pow(2).mean()", "loss * 1.0", "y.mean()"])
        lines = [self.holder.store.replace("VALUE", value)]
        back = f"({self.holder.reads})<<||.detach()>>"
        if self._happens(0.55):
            lines.append(f"loss = loss + 0.1 * {back}" if self._happens(0.8) else f"loss = sum([loss, {back}])")
        return lines if self._happens(0.8) else ["if y.dim() == 2:", *map(_indented, lines[:1]), *lines[1:]]

    def _training(self) -> list[str]:
        lines = ["optimizer.zero_grad()", "loss.backward(<<||retain_graph=True>>)", "optimizer.step()"]
        if self._happens(0.2):
            lines[1] = "loss.backward(retain_graph=True)\n(loss * 0.5).backward()"
        logged = self.random.choice(["log.append(loss)", "log.append(loss.item())", "log.append((loss, y.mean()))"])
        return [*lines, logged]

    def _happens(self, chance: float) -> bool:
        return self.random.random() < chance

    def _chosen(self, text: str) -> str:
        """A text with its choices made."""
        while (found := CHOICE.search(text)) is not None:
            text = text[: found.start()] + self.random.choice(found[1].split("||")).strip() + text[found.end() :]
        return "\n".join(part for line in text.split("\n") for part in _lines(line)) + "\n"


def _lines(line: str) -> list[str]:
    """The lines that are written in one, parted by ``;;``, all as far to the right."""
    indent = line[: len(line) - len(line.lstrip())]
    parts = line.strip().split(";;")
    return [indent + part.rstrip() if part.strip() else "" for part in parts] if line.strip() else [""]


def _defined(part: str) -> str:
    """The name that a part defines."""
    found = re.search(r"^(?:class |def )?(\w+)", re.sub(r"^@.*\n", "", part.strip()))
    assert found is not None
    return found[1]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.rstrip("\n").split("\n"))
