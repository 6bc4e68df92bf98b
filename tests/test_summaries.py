"""What functions return and what classes hold, across calls, against torch itself; see ``test_values.py``."""

from __future__ import annotations

import pytest
from programs import Program, check_exact, check_one_of_several, check_unknown, defects, snippets

pytest.importorskip("torch")

SHORT = """
twice = lambda a: a * 2; v = twice(h)
def helper(a): return a.sum().item() ;; v = helper(h)
def helper(a): return a * 2 ;; v = helper(h)
def helper(a): return a * 2 ;; v = helper(x)
def helper(a): return a * 2 ;; helper(h); v = helper(n)
def helper(a): return a ;; v = helper(w)
def helper(a, b=None): return a, b ;; v = helper(h)[1]
def helper(a): return a.detach(), a ;; v, _ = helper(h)
def helper(a): return {"loss": a, "value": a.sum().item()} ;; v = helper(h)["loss"]
def helper(a, *, detach=False): return a.detach() ;; v = helper(a=h)
def helper(*args): return args[0].detach() ;; v = helper(h, x)
def helper(): return x * w ;; v = helper()
@torch.no_grad() ;; def helper(a): return model(a) ;; v = helper(x)
def helper(a): return model(a) ;; with torch.no_grad(): v = helper(x)
def helper(a): return model(a) ;; with torch.no_grad(): helper(x) ;; v = helper(x)
def helper(a, depth): return a if depth == 0 else helper(a * 2, depth - 1) ;; v = helper(h, 2)
def helper(a): yield a.sum().item() ;; v = list(helper(h))[0]
def helper(a): return ;; v = helper(h)
def helper(f, a): return f(a) ;; v = helper(torch.exp, h)
def helper(f, a): return f(a) ;; v = helper(lambda b: b.item(), h.sum())
def helper(m, a): return m(a) ;; v = helper(model, x)
def helper(values): return sum(values) ;; v = helper([h, h])
def helper(values): return [i.detach() for i in values] ;; v = helper(items)[0]
kept = h ;; def reader(): return kept.detach() ;; v = reader()
def helper(a): a["loss"] = h ;; out = {}; helper(out); v = out["loss"]
def helper(a): a.append(h.detach()) ;; out = []; helper(out); v = out[0]
def outer(a): return inner(a) ;; def inner(a): return a * 2 ;; v = outer(w)
def outer(a): return inner(a) ;; def inner(a): return a * 2 ;; with torch.no_grad(): v = outer(w)
def make(): return nn.Linear(3, 3) ;; v = make()(x)
def make(): return nn.Linear(3, 3), torch.rand(3) ;; m, d = make(); v = m(d)
"""
"""One a line; two semicolons stand for a line's end."""

FUNCTIONS = """
def helper(a):
    for i in range(2): yield a * i
v = next(helper(h))

def helper(a):
    for i in range(2): yield a * i
for v in helper(h): pass

def helper(a):
    count = 0
    def inner():
        nonlocal count
        count += 1
        return count
    return inner()
v = helper(h)

def helper(a):
    result = []
    for i in a: result.append(i.detach())
    return result
v = helper(items)[0]

def helper(a):
    result = {}
    result["loss"] = a
    return result
v = helper(h)["loss"]

def helper(a):
    a = a.detach(); return a
v = helper(w)

def helper(a):
    a += 1
    return a
v = helper(h)

def helper(a, m):
    with torch.no_grad(): return m(a)
v = helper(x, model)

def helper(a, grad=True):
    with torch.set_grad_enabled(grad): return model(a)
v = helper(x)

@torch.no_grad()
def outer(a): return inner(a)
def inner(a): return a * 2
v = outer(w)
"""

CLASSES = """
@dataclass
class Output:
    loss: torch.Tensor
    value: float
v = Output(h, n).loss

class Meter:
    total = 0
    def update(self, value): self.last = value.detach()
meter = Meter(); meter.update(h); v = meter.last

class Meter:
    @property
    def value(self): return h.sum().item()
v = Meter().value

class Meter:
    @staticmethod
    def twice(a): return a * 2
v = Meter.twice(h)

class Base:
    def value(self): return self.compute() * 2
class Derived(Base):
    def compute(self): return h
v = Derived().value()

class Net(Layered):
    def forward(self, a): return self.layer(a)
v = Net()(x)

class Net(Layered):
    def forward(self, a): return self.layer(a), a
_, v = Net()(x)

class Net(nn.Module):
    def __init__(self): super().__init__(); self.scale = nn.Parameter(torch.ones(3))
    def forward(self, a): return a * self.scale
v = Net()(x)

class Net(nn.Module):
    def __init__(self): super().__init__(); self.act = nn.ReLU()
    def forward(self, a): return self.act(a)
v = Net()(x)

class Net(nn.Module):
    def __init__(self): super().__init__(); self.register_buffer("mean", torch.zeros(3))
    def forward(self, a): return a - self.mean
v = Net()(x)

class Net(Layered):
    @torch.no_grad()
    def predict(self, a): return self.layer(a)
v = Net().predict(x)

class Net(Layered):
    def __init__(self): super().__init__(); self.layer.requires_grad_(False)
    def forward(self, a): return self.layer(a)
v = Net()(x)

class Net(Layered):
    def forward(self, a): return {"loss": self.layer(a).mean(), "count": 1}
v = Net()(x)["loss"]

class Base(Layered):
    def forward(self, a): return self.layer(a)
class Net(Base):
    def forward(self, a): return super().forward(a).detach()
v = Net()(x)

class Block(Layered):
    def forward(self, a): return self.layer(a)
class Net(nn.Module):
    def __init__(self): super().__init__(); self.blocks = nn.Sequential(Block(), Block())
    def forward(self, a): return self.blocks(a)
v = Net()(x)

class Block(nn.Module):
    def forward(self, a): return a * 2
class Net(nn.Module):
    def __init__(self): super().__init__(); self.block = Block()
    def forward(self, a): return self.block(a)
v = Net()(x)

class Net(nn.Module):
    def __init__(self): super().__init__(); self.layers = nn.ModuleDict({"a": nn.Linear(3, 3)})
    def forward(self, a): return self.layers["a"](a)
v = Net()(x)

class Net(Layered):
    def forward(self, a):
        with torch.no_grad(): a = self.layer(a)
        return self.head(a)
v = Net()(x)

class Net(Layered):
    def forward(self, a):
        with torch.no_grad(): a = self.layer(a)
        return a
v = Net()(x)

class Net(Layered):
    def forward(self, a): return self.head(self.layer(a).detach())
net = Net()
for p in net.layer.parameters(): p.requires_grad = False
v = net(x)

class Net(Layered):
    def forward(self, a): return self.head(self.layer(a))
net = Net()
for p in net.layer.parameters(): p.requires_grad = False
v = net(x)

class Net(Layered):
    def forward(self, a): return self.head(self.layer(a))
net = Net(); net.requires_grad_(False); net.head.requires_grad_(True); v = net(x)

class Net(Layered):
    @property
    def weight(self): return self.layer.weight
v = Net().weight

class Meter:
    @classmethod
    def make(cls, a):
        meter = cls()
        meter.kept = a.detach()
        return meter
v = Meter.make(h).kept

class Scale:
    def __init__(self, factor): self.factor = factor
    def __call__(self, a): return a * 2
v = Scale(2)(h)

class Data:
    def __getitem__(self, i): return torch.rand(3)
v = Data()[0]

class Data(torch.utils.data.Dataset):
    def __len__(self): return 2
    def __getitem__(self, i): return torch.rand(3), 1
for v, _ in torch.utils.data.DataLoader(Data()): pass

class State: pass
state = State(); state.loss = h; state.loss = state.loss.detach(); v = state.loss

class Meter:
    def __init__(self): self.reset()
    def reset(self): self.sum = 0.0
    def update(self, value): self.sum += value
meter = Meter(); meter.update(h.sum().item()); v = meter.sum

class Meter:
    def __enter__(self): return self
    def __exit__(self, *args): pass
    def run(self): return h.detach()
with Meter() as meter: v = meter.run()

class Net(Layered):
    def __init__(self): super().__init__(); self.hidden = torch.zeros(3)
    def forward(self, a):
        self.hidden = self.layer(a).detach()
        return self.hidden
v = Net()(x)

def helper(a):
    with torch.enable_grad(): return a * 2
v = helper(w)

class Net(Layered):
    def __init__(self):
        super().__init__()
        for p in self.parameters(): p.requires_grad = False
    def forward(self, a): return self.layer(a)
v = Net()(x)

def make():
    m = nn.Linear(3, 3)
    for p in m.parameters(): p.requires_grad = False
    return m
v = make()(x)
"""

EITHER = """
class Net(nn.Module):
    def __init__(self): super().__init__(); self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
    def forward(self, a):
        for layer in self.layers: a = layer(a)
        return a
v = Net()(x)

def helper(a, last=False):
    if last: return a.sum().item()
    return a
v = helper(h)

class Meter:
    def __init__(self): self.value = 0
    def update(self, value): self.value = value
meter = Meter(); meter.update(w * x); v = meter.value

def helper(a):
    if a is None: return None
    return a.detach()
v = helper(h)
"""
"""The facts join over calls and over attributes; they must name all that may come out."""

UNKNOWN = """
def helper(*args): return args[0]
v = helper(h, x)

def helper(**options): return options["loss"]
v = helper(loss=h)

def helper(*values): return sum(values)
v = helper(1, 2)
"""
"""Nothing is claimed about these."""

DEFECTS = """
# parameters that are combined are summed up as alternatives
def helper(a, b=1.0): return a.detach(), a * b
_, v = helper(h)

# parameters that are combined are summed up as alternatives
def helper(a, b): return (a - b).mean()
v = helper(h, x)

# parameters that are combined are summed up as alternatives
def helper(a, scale=w): return a * scale
v = helper(x)

# what an inner function computes from a captured parameter
def helper(a):
    def inner(b): return b * a
    return inner(x)
v = helper(w)

# what an inner function computes from a captured parameter
def helper(a):
    def inner(b): return b * a
    with torch.no_grad(): return inner(x)
v = helper(w)

# a leaf that is computed with is live, whoever sets the mode
@torch.no_grad()
def outer(a): return inner(a)
def inner(a):
    with torch.enable_grad(): return a * 2
v = outer(w)

# parameters that are combined are summed up as alternatives
def make(scale):
    def apply(a): return a * scale
    return apply
v = make(w)(x)
"""
"""The facts are wrong about these; the first line says how."""


def short() -> list[str]:
    return [line.replace(" ;; ", "\n") for line in SHORT.strip().splitlines()]


@pytest.mark.parametrize("snippet", [*short(), *snippets(FUNCTIONS + CLASSES), *defects(DEFECTS)], ids=str)
def test_what_is_claimed_is_what_torch_makes(snippet: str) -> None:
    check_exact(snippet)


@pytest.mark.parametrize("snippet", snippets(EITHER), ids=str)
def test_what_is_joined_is_claimed_as_one_of_several(snippet: str) -> None:
    check_one_of_several(snippet)


@pytest.mark.parametrize("snippet", snippets(UNKNOWN), ids=str)
def test_what_is_not_followed_stays_unknown(snippet: str) -> None:
    check_unknown(snippet)


GLOBAL = "kept = None\ndef keep(a):\n    global kept\n    kept = a\nkeep(nn.Linear(3, 3)(x))\n"


def test_a_global_holds_what_any_function_assigns() -> None:
    program = Program(GLOBAL + "def use():\n    print(kept)")
    assert program.kinds(program.shown()) == {"no tensor", "live"}


def test_a_global_is_read_anew_after_a_call() -> None:
    program = Program(GLOBAL + "print(kept)")
    assert program.kinds(program.shown()) == {"no tensor", "live"}


def test_a_pair_of_an_enumerated_literal_does_not_stop_the_check() -> None:
    Program("kept = []\nfor pair in enumerate([1, 2, 3]):\n    kept.extend(pair)")
