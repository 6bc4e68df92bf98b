"""What values are, against torch itself: each snippet is executed, and the facts must say what came out.

A snippet works on prepared variables (``PREPARED``) and binds its result to ``v``. It is tried as a module's code and as
the body of a function, where all variables are local.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
from programs import HEAD, Program, inside_a_function, kind_in_torch

torch = pytest.importorskip("torch")

PREPARED = """
import copy
import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass
from functools import partial, reduce
torch.manual_seed(0)
w = nn.Parameter(torch.rand(3))
x = torch.rand(3)
h = x * w
n = 2.0
target = torch.tensor([0])
model = nn.Linear(3, 3)
relu = nn.ReLU()
criterion = nn.CrossEntropyLoss()
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
pair = (h, n)
items = [h, h * 2]
table = {"loss": h, "count": n}
"""

EXPRESSIONS = """
h + 1
n + 1
x * n
n * h
x - w
-h
h ** 2
h @ w
2 / w
x / x
h // 1
abs(h)
w
h
h[0]
x[0]
h[:2]
w[1:]
h[x > 0.5]
h[None, ...]
h.sum()
h.mean(dim=0)
h.view(3, 1)
h.reshape(-1)
h.t()
h.T
h.unsqueeze(0).squeeze()
h.expand(2, 3)
h.contiguous()
h.clone()
h.cpu()
h.to("cpu")
h.to(torch.float64)
h.float()
h.double()
h.half()
h.type(torch.float64)
h.type_as(x)
x.type_as(h)
h.long()
h.int()
h.bool()
h.detach()
h.detach().clone()
h.data
w.data
w.detach()
w.clone()
w.to("cpu").sum()
h.clone().detach() + w
h.sum().item()
h.tolist()
float(h.sum())
int(h.sum())
bool(h.sum() > 0)
len(h)
str(h)
h.shape
h.size(0)
h.numel()
h.shape[0] * n
h.dtype
h.device
h.requires_grad
h.grad_fn
h.sum().round()
h.floor()
h.sign()
h.clamp(0, 1)
h > 0
h == h
x < 1
(h > 0).float()
(h > 0).sum()
((h > 0) == (x > 0)).float().mean()
torch.eq(h, x)
h.eq(x).sum().item()
h.argmax()
h.argmax(dim=0)
torch.argmax(h)
h.max()
h.max(dim=0)[0]
h.max(0)[1]
h.max(0).values
h.max(0).indices
torch.max(h, 0)[0]
torch.max(h, dim=0)[1]
torch.max(h, x)
h.topk(2)[0]
h.topk(2).values
h.topk(2).indices
torch.topk(h, 2)[1]
h.sort()[0]
torch.sort(h).indices
h.median()
h.min(dim=0).values.item()
torch.tensor(1.0)
torch.tensor([1.0, 2.0])
torch.tensor([1.0, 2.0], requires_grad=True)
torch.tensor(h.tolist())
torch.as_tensor(h)
torch.as_tensor([1.0])
x.new_tensor([1.0])
h.new_zeros(3)
torch.zeros_like(h)
torch.randn(3)
torch.randn(3, requires_grad=True)
torch.zeros(3) + h
torch.empty(3).requires_grad_()
x.clone().requires_grad_()
x.clone().requires_grad_(True) * 2
torch.arange(3)
torch.multinomial(h.abs(), 1)
torch.bernoulli(h.clamp(0, 1))
torch.cat([h, x])
torch.cat((x, x))
torch.stack([x, h]).mean()
torch.stack([h, h], dim=1).sum(1)
torch.stack(items)
torch.cat(items, dim=0).mean()
sum(items)
sum(items) / len(items)
sum([x, x])
sum(i.item() for i in items[0])
max(items[0])
torch.where(x > 0.5, h, x)
torch.exp(h)
torch.log(x)
torch.relu(h)
torch.relu(x)
torch.no_grad
F.relu(h)
F.relu(x)
F.softmax(h, dim=0)
F.mse_loss(h, x)
F.mse_loss(x, x)
F.cross_entropy(model(x[None]), target)
F.one_hot(target)
F.normalize(x, dim=0)
model(x)
model(x).detach()
model(x).argmax()
model.forward(x)
model.weight
model.bias.data
model.weight.sum()
model.weight.detach()
relu(x)
relu(h)
relu(model(x))
criterion(model(x)[None], target)
criterion(x[None], target)
nn.Linear(3, 3)(x)
nn.ReLU()(x)
nn.BatchNorm1d(3)(torch.rand(2, 3))
nn.MSELoss()(h, x)
net(x)
net
net[0](x)
net[0].weight
nn.Sequential(nn.ReLU(), nn.Tanh())(x)
nn.Sequential(OrderedDict(a=nn.Linear(3, 3)))(x)
nn.Parameter(torch.zeros(3))
nn.Parameter(torch.zeros(3), requires_grad=False)
pair
pair[0]
pair[1]
items[0]
items[-1]
items[:1][0]
table["loss"]
table["count"]
table["loss"].sum().item()
[i for i in items][0]
[i.tolist() for i in items]
[i.sum().item() for i in items][0]
[i.detach() for i in items][1]
{k: i.detach() for k, i in enumerate(items)}[0]
{k: i * 2 for k, i in enumerate(items)}[0]
[a * b for a, b in zip(items, items)][0]
(lambda a: a * 2)(h)
(lambda a: a.item())(h.sum())
next(iter(items))
list(items)[0]
tuple(items)[1]
dict(loss=h)["loss"]
dict(loss=h.sum().item())["loss"]
sorted([1, 2])[0]
list(model.parameters())[0]
next(model.parameters())
sum(p.sum() for p in model.parameters())
sum(p.numel() for p in model.parameters())
model.state_dict()["weight"]
dict(model.named_parameters())["weight"]
copy.deepcopy(model)(x)
copy.deepcopy(x)
copy.copy(h)
f"{h.sum().item():.3f}"
"loss %s" % h
h is None
not n
isinstance(h, torch.Tensor)
torch.is_grad_enabled()
"""

STATEMENTS = '''
a = v = h

v = h
v = v.item() if v.numel() == 1 else v.tolist()

v = h.sum()
v = v.item()

v = 0
v += n

v = 0
v += h

v = x.clone()
v += h

v = x.clone()
v += 1

v = x.clone()
v.add_(h)

v = x.clone()
v.add_(h.detach())

v = x.clone()
v.mul_(2).add_(w)

v = x.clone()
v.copy_(h)

v = x.clone()
v[0] = h[0]

v = h.clone()
v.detach_()

v = x.clone()
v.zero_()

v, _ = h, n

_, v = h, n

v, (_, _) = h, (n, n)

v, *_ = h, n, n

_, v = pair

v, _ = torch.max(h, dim=0)

_, v = torch.max(h, dim=0)

_, v = h.topk(2)

first, second = items
v = second

for v in items:
    pass

for _, v in enumerate(items):
    pass

for k, v in {"a": h}.items():
    pass

for v, _ in zip(items, [1, 2]):
    pass

v = 0.0
for i in items:
    v += i.sum().item()

v = h
while v.sum() > 100:
    v = v / 2

if (v := h.sum()) > 100:
    pass

v = (y := h.detach()) * 2

with torch.no_grad():
    v = x * w

with torch.no_grad():
    y = x * w
v = y * 2

with torch.no_grad():
    y = x * w
v = y * w

with torch.no_grad():
    v = h

with torch.no_grad():
    v = w

with torch.no_grad():
    v = w + 1

with torch.no_grad():
    v = model(x)

with torch.inference_mode():
    v = model(x)

with torch.no_grad():
    with torch.enable_grad():
        v = model(x)

with torch.set_grad_enabled(False):
    v = model(x)

with torch.set_grad_enabled(True):
    v = model(x)

def helper(a):
    return a.sum().item()
v = helper(h)

def helper(a):
    return a * 2
v = helper(h)

def helper(a):
    return a * 2
v = helper(x)

def helper(a):
    return a * 2
helper(h)
v = helper(n)

def helper(a):
    return a
v = helper(w)

def helper(a, b=None):
    return a, b
v = helper(h)[1]

def helper(a, b=1.0):
    return a.detach(), a * b
_, v = helper(h)

def helper(a):
    return a.detach(), a
v, _ = helper(h)

def helper(a):
    return {"loss": a, "value": a.sum().item()}
v = helper(h)["loss"]

def helper(a):
    return {"loss": a, "value": a.sum().item()}
v = helper(h)["value"]

def helper(a, b):
    return (a - b).mean()
v = helper(h, x)

def helper(a, scale=w):
    return a * scale
v = helper(x)

def helper(a, *, detach=False):
    return a.detach()
v = helper(a=h)

def helper(*args):
    return args[0].detach()
v = helper(h, x)

def helper(a):
    def inner(b):
        return b * a
    return inner(x)
v = helper(w)

def helper(a):
    def inner(b):
        return b * a
    with torch.no_grad():
        return inner(x)
v = helper(w)

def helper(a):
    with torch.enable_grad():
        return a * 2
v = helper(w)

def helper():
    return x * w
v = helper()

@torch.no_grad()
def helper(a):
    return model(a)
v = helper(x)

def helper(a):
    return model(a)
with torch.no_grad():
    v = helper(x)

def helper(a):
    return model(a)
with torch.no_grad():
    helper(x)
v = helper(x)

def helper(a, depth):
    return a if depth == 0 else helper(a * 2, depth - 1)
v = helper(h, 2)

def helper(a):
    for i in range(2):
        yield a * i
v = next(helper(h))

def helper(a):
    for i in range(2):
        yield a * i
for v in helper(h):
    pass

def helper(a):
    yield a.sum().item()
v = list(helper(h))[0]

def helper(a):
    return
v = helper(h)

twice = lambda a: a * 2
v = twice(h)

def helper(f, a):
    return f(a)
v = helper(torch.exp, h)

def helper(f, a):
    return f(a)
v = helper(lambda b: b.item(), h.sum())

def helper(m, a):
    return m(a)
v = helper(model, x)

def helper(values):
    return sum(values)
v = helper([h, h])

def helper(values):
    return [i.detach() for i in values]
v = helper(items)[0]

v = []
v.append(h)

kept = []
kept.append(h)
v = kept[0]

kept = []
kept.append(h.detach())
v = kept[-1]

kept = deque(maxlen=2)
kept.append(h)
v = kept.popleft()

kept = deque([h])
v = kept[0]

kept = {}
kept["loss"] = h
v = kept["loss"]

kept = {}
kept["loss"] = h.sum().item()
v = kept["loss"]

kept = {}
kept.update(loss=h)
v = kept["loss"]

kept = {}
kept.setdefault("loss", []).append(h)
v = kept["loss"][0]

kept = defaultdict(list)
kept["loss"].append(h)
v = kept["loss"][0]

kept = []
kept.extend(items)
v = kept[0]

kept = [[h]]
v = kept[0][0]

class Meter:
    def __init__(self):
        self.value = 0
    def update(self, value):
        self.value = value
meter = Meter()
meter.update(w * x)
v = meter.value

class Meter:
    total = 0
    def update(self, value):
        self.last = value.detach()
meter = Meter()
meter.update(h)
v = meter.last

class Meter:
    @property
    def value(self):
        return h.sum().item()
v = Meter().value

class Meter:
    @staticmethod
    def twice(a):
        return a * 2
v = Meter.twice(h)

class Meter:
    @classmethod
    def make(cls, a):
        meter = cls()
        meter.kept = a.detach()
        return meter
v = Meter.make(h).kept

class Base:
    def value(self):
        return self.compute() * 2
class Derived(Base):
    def compute(self):
        return h
v = Derived().value()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, a):
        return self.layer(a)
v = Net()(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def forward(self, a):
        return self.layer(a), a
_, v = Net()(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
    def forward(self, a):
        return a * self.scale
v = Net()(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
    def forward(self, a):
        return self.act(a)
v = Net()(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()
    def forward(self, a):
        return self.act(a)
v = Net()(h)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
    def forward(self, a):
        return a - self.mean
v = Net()(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    @torch.no_grad()
    def predict(self, a):
        return self.layer(a)
v = Net().predict(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.layer.requires_grad_(False)
    def forward(self, a):
        return self.layer(a)
v = Net()(x)

model.requires_grad_(False)
v = model(x)

for p in model.parameters():
    p.requires_grad = False
v = model(x)

for p in net.parameters():
    p.requires_grad_(False)
v = net(x)

kept = h
def reader():
    return kept.detach()
v = reader()

Pair = namedtuple("Pair", "loss value")
v = Pair(h, n).loss.detach()

try:
    v = h.detach()
except ValueError:
    v = 0.0
    raise

v = h.sum()
v.backward()

v = torch.autograd.grad(h.sum(), w)[0]

h.sum().backward()
v = w.grad

del h
h = x
v = h * 2
'''

EITHER = """
v = h if n > 1 else n

v = h.detach() if n > 5 else h

v = n or h

if n > 1:
    v = h
else:
    v = 0

v = 0
for i in items:
    v = v + i.detach()

v = h
for _ in range(3):
    v = v.detach()

v = table.get("loss")

kept = [x]
kept += [h]
v = torch.stack(kept).sum()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
    def forward(self, a):
        for layer in self.layers:
            a = layer(a)
        return a
v = Net()(x)

def helper(a, last=False):
    if last:
        return a.sum().item()
    return a
v = helper(h)
"""
"""The result depends on a condition; the facts must name all that may come out."""

UNKNOWN = """
v = partial(torch.mul, h)(x)

v = reduce(torch.add, items)

v = list(map(torch.exp, items))[0]

v = getattr(h, "data")

@dataclass
class Output:
    loss: torch.Tensor
    value: float
v = Output(h, n).loss

def helper(*args):
    return args[0]
v = helper(h, x)

def helper(**options):
    return options["loss"]
v = helper(loss=h)
"""
"""Nothing is claimed about these."""

DEFECTS = {
    "v = items[-1]": "a negative index finds nothing in a literal",
    'v = "loss %s" % h': "formatting a string is taken for arithmetic",
    "v = torch.tensor([1.0, 2.0], requires_grad=True)": "requires_grad is not looked at",
    "v = torch.empty(3).requires_grad_()": "requires_grad_() is not looked at",
    "v = x.clone().requires_grad_()": "requires_grad_() is not looked at",
    "v = x.clone().requires_grad_(True) * 2": "requires_grad_() is not looked at",
    "v = nn.Parameter(torch.zeros(3), requires_grad=False)": "requires_grad is not looked at",
    "v = h // 1": "floor division is differentiable (by zero) and keeps the graph",
    "v = torch.cat([h, x])": "joined as if either one or the other",
    "v = torch.stack([x, h]).mean()": "joined as if either one or the other",
    "v = copy.copy(h)": "the copy of a tensor is a leaf",
    "v = h is None": "a truth value is taken for a tensor",
    "v = not n": "a truth value is taken for a tensor",
}
"""Snippets about which the facts are wrong, and how."""


def snippets(text: str) -> list[str]:
    return [snippet.strip() for snippet in text.split("\n\n") if snippet.strip()]


EXACT = [f"v = {line}" for line in EXPRESSIONS.strip().splitlines()] + snippets(STATEMENTS)


def marked(texts: list[str]) -> list[Any]:
    return [
        pytest.param(
            text, marks=pytest.mark.xfail(strict=True, reason=DEFECTS[text]) if text in DEFECTS else (), id=text
        )
        for text in texts
    ]


def executed(source: str) -> str:
    """What ``v`` is when the source has run."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(source, names)
    return kind_in_torch(names["v"])


def claimed(snippet: str) -> list[set[str]]:
    """What the facts say of ``v`` in the code of a module and in that of a function."""
    as_module = Program(f"{PREPARED}{snippet}\nprint(v)\n")
    as_function = Program(inside_a_function(PREPARED + snippet, "v"))
    return [as_module.kinds(as_module.shown()), as_function.kinds(as_function.shown())]


def in_torch(snippet: str) -> str:
    head = HEAD + PREPARED
    here = executed(f"{head}{snippet}\n")
    assert here == executed(f"{HEAD}{inside_a_function(PREPARED + snippet, 'v')}v = run()\n")
    return here


@pytest.mark.parametrize("snippet", marked(EXACT))
def test_what_is_claimed_is_what_torch_makes(snippet: str) -> None:
    expected = in_torch(snippet)
    assert claimed(snippet) == [{expected}, {expected}]


@pytest.mark.parametrize("snippet", marked(snippets(EITHER)))
def test_what_depends_on_a_condition_is_claimed_as_one_of_several(snippet: str) -> None:
    expected = in_torch(snippet)
    for kinds in claimed(snippet):
        assert expected in kinds
        assert "unknown" not in kinds
        assert len(kinds) > 1


@pytest.mark.parametrize("snippet", snippets(UNKNOWN))
def test_what_is_not_followed_stays_unknown(snippet: str) -> None:
    in_torch(snippet)
    assert all("unknown" in kinds for kinds in claimed(snippet))


def test_every_defect_that_is_excused_is_a_snippet() -> None:
    assert set(DEFECTS) <= {*EXACT, *snippets(EITHER)}
