"""What values are, against torch itself: each snippet is executed, and the facts must say what came out.

A snippet works on the variables of ``programs.PREPARED`` and binds its result to ``v``. It is tried as the code of a
module and as the body of a function, where all variables are local.
"""

from __future__ import annotations

import pytest
from programs import Program, check_exact, check_one_of_several, check_unknown, defects, snippets

from torchlint.facts.values.domain import (
    Derived,
    FrameworkObject,
    FunctionReference,
    History,
    Module,
    Tensor,
    sorted_values,
)

pytest.importorskip("torch")

EXPRESSIONS = """
h + 1 ;; n + 1 ;; x * n ;; n * h ;; x - w ;; -h ;; h ** 2 ;; h @ w ;; 2 / w ;; x / x ;; abs(h) ;; w ;; h
h[0] ;; x[0] ;; h[:2] ;; w[1:] ;; h[x > 0.5] ;; h[None, ...] ;; h.sum() ;; h.mean(dim=0) ;; h.view(3, 1)
h.reshape(-1) ;; h.t() ;; h.T ;; h.unsqueeze(0).squeeze() ;; h.expand(2, 3) ;; h.contiguous() ;; h.clone()
h.cpu() ;; h.to("cpu") ;; h.to(torch.float64) ;; h.float() ;; h.double() ;; h.half() ;; h.type(torch.float64)
h.to(torch.long) ;; h.to("cpu", torch.int32) ;; h.to(dtype=torch.bool) ;; h.type(torch.uint8) ;; w.to(torch.int)
h.type(torch.LongTensor) ;; h.sum().to(torch.int64) * 2.0
h.type_as(x) ;; x.type_as(h) ;; h.long() ;; h.int() ;; h.bool() ;; h.detach() ;; h.detach().clone() ;; h.data
w.data ;; w.detach() ;; w.clone() ;; w.to("cpu").sum() ;; h.clone().detach() + w ;; h.sum().item()
h.tolist() ;; float(h.sum()) ;; int(h.sum()) ;; bool(h.sum() > 0) ;; len(h) ;; str(h) ;; h.shape ;; h.size(0)
h.numel() ;; h.shape[0] * n ;; h.dtype ;; h.device ;; h.requires_grad ;; h.grad_fn ;; h.sum().round()
h.floor() ;; h.sign() ;; h.clamp(0, 1) ;; h > 0 ;; h == h ;; x < 1 ;; (h > 0).float() ;; (h > 0).sum()
((h > 0) == (x > 0)).float().mean() ;; torch.eq(h, x) ;; h.eq(x).sum().item() ;; h.argmax() ;; h.argmax(dim=0)
torch.argmax(h) ;; h.max() ;; h.max(dim=0)[0] ;; h.max(0)[1] ;; h.max(0).values ;; h.max(0).indices
torch.max(h, 0)[0] ;; torch.max(h, dim=0)[1] ;; torch.max(h, x) ;; h.topk(2)[0] ;; h.topk(2).values
h.topk(2).indices ;; torch.topk(h, 2)[1] ;; h.sort()[0] ;; torch.sort(h).indices ;; h.median()
h.min(dim=0).values.item() ;; torch.tensor(1.0) ;; torch.tensor([1.0, 2.0]) ;; torch.tensor(h.tolist())
torch.as_tensor(h) ;; torch.tensor([1.0], requires_grad=True) ;; torch.autograd.Variable(x, requires_grad=True) * 2
torch.as_tensor(n, device=getattr(torch, "device")("cpu")) ;; torch.as_tensor(h, device=getattr(torch, "device")("cpu"))
torch.as_tensor([1.0]) ;; x.new_tensor([1.0]) ;; h.new_zeros(3) ;; torch.zeros_like(h)
torch.randn(3) ;; torch.randn(3, requires_grad=True) ;; torch.zeros(3) + h ;; torch.arange(3)
torch.multinomial(h.abs(), 1) ;; torch.bernoulli(h.clamp(0, 1)) ;; torch.cat((x, x))
torch.stack([h, h], dim=1).sum(1) ;; torch.stack(items) ;; torch.cat(items, dim=0).mean() ;; sum(items)
sum(items) / len(items) ;; sum([x, x]) ;; sum(i.item() for i in items[0]) ;; max(items[0])
torch.where(x > 0.5, h, x) ;; torch.exp(h) ;; torch.log(x) ;; torch.relu(h) ;; torch.relu(x) ;; torch.no_grad
F.relu(h) ;; F.relu(x) ;; F.softmax(h, dim=0) ;; F.mse_loss(h, x) ;; F.mse_loss(x, x)
F.cross_entropy(model(x[None]), target) ;; F.one_hot(target) ;; F.normalize(x, dim=0) ;; model(x)
model(x).detach() ;; model(x).argmax() ;; model.forward(x) ;; model.weight ;; model.bias.data
model.weight.sum() ;; model.weight.detach() ;; relu(x) ;; relu(h) ;; relu(model(x))
criterion(model(x)[None], target) ;; criterion(x[None], target) ;; nn.Linear(3, 3)(x) ;; nn.ReLU()(x)
nn.LayerNorm(3, elementwise_affine=False)(x) ;; nn.LayerNorm(3, elementwise_affine=False)(h) ;; nn.LayerNorm(3)(x)
nn.BatchNorm1d(3)(torch.rand(2, 3)) ;; nn.MSELoss()(h, x) ;; net(x) ;; net ;; net[0](x) ;; net[0].weight
nn.Sequential(nn.ReLU(), nn.Tanh())(x) ;; nn.Sequential(OrderedDict(a=nn.Linear(3, 3)))(x)
nn.Parameter(torch.zeros(3)) ;; pair ;; pair[0] ;; pair[1] ;; items[0] ;; items[:1][0] ;; table["loss"]
table["count"] ;; table["loss"].sum().item() ;; [i for i in items][0] ;; [i.tolist() for i in items]
[i.sum().item() for i in items][0] ;; [i.detach() for i in items][1]
{k: i.detach() for k, i in enumerate(items)}[0] ;; {k: i * 2 for k, i in enumerate(items)}[0]
[a * b for a, b in zip(items, items)][0] ;; (lambda a: a * 2)(h) ;; (lambda a: a.item())(h.sum())
next(iter(items)) ;; list(items)[0] ;; tuple(items)[1] ;; dict(loss=h)["loss"]
dict(loss=h.sum().item())["loss"] ;; sorted([1, 2])[0] ;; list(model.parameters())[0]
next(model.parameters()) ;; sum(p.sum() for p in model.parameters())
sum(p.numel() for p in model.parameters()) ;; model.state_dict()["weight"]
dict(model.named_parameters())["weight"] ;; copy.deepcopy(model)(x) ;; copy.deepcopy(x)
f"{h.sum().item():.3f}" ;; isinstance(h, torch.Tensor) ;; torch.is_grad_enabled() ;; (y := h.detach()) * 2
torch.autograd.grad(h.sum(), w)[0] ;; h.unbind()[0] ;; torch.split(h, 1)[0] ;; h.chunk(3)[0]
torch.einsum("i,i->", h, x) ;; torch.norm(h) ;; h.norm().item() ;; h.softmax(0) ;; h.cumsum(0) ;; F.dropout(h)
h.masked_fill(h > 1, 0) ;; torch.isnan(h).any() ;; torch.full_like(h, 1)
nn.Embedding(3, 3)(torch.tensor([0])) ;; nn.LSTM(3, 3)(x[None])[0] ;; nn.LSTM(3, 3)(x[None])[1][0]
nn.ParameterList([nn.Parameter(x)])[0] ;; nn.ParameterDict({"a": nn.Parameter(x)})["a"].exp()
nn.Dropout()(h) ;; nn.ModuleList([nn.Linear(3, 3)])[0](x) ;; nn.ModuleDict({"a": nn.Linear(3, 3)})["a"](x)
nn.DataParallel(model) ;; {k: p.clone() for k, p in model.state_dict().items()}["weight"]
copy.deepcopy(model.state_dict())["weight"] ;; sum(i.sum() for i in items) ;; getattr(h, "data")
getattr(model, "weight").sum() ;; operator.mul(h, n) ;; operator.add(x, x) ;; 1 << len(h) ;; len(h) & 3 ;; ~(h > 0)
list(map(operator.add, items, items))[0] ;; random.choice(items) ;; random.sample(items, 1)[0]
random.choices([h.detach()], k=2)[0] ;; random.sample(range(3), 2)[0] ;; random.choice([1, 2])
heapq.nlargest(1, items, key=lambda i: i.sum().item())[0] ;; heapq.nsmallest(1, [2.0, 3.0])[0]
({"loss": h} | {"n": n})["loss"] ;; ({"loss": h} | {"loss": n})["loss"]
[*items, h][2]
sum((i.sum() for i in items), 0.0) ;; max([i.sum().item() for i in items]) ;; min(n, 3)
round(h.sum().item(), 2) ;; list(zip(items, items))[0][0] ;; [*items][0] ;; table.pop("loss") ;; items.pop()
(items + items)[0] ;; items[::-1][0] ;; "{}".format(h) ;; torch.stack([i.detach() for i in items]).mean()
torch.tensor([i.sum().item() for i in items]).mean() ;; (model(x) > 0.5).float().mean().item()
F.linear(x, model.weight) ;; F.linear(x, torch.ones(3, 3)) ;; torch.gather(h, 0, torch.tensor([0]))
torch.rand_like(h) ;; torch.ones(3).add(h) ;; torch.zeros(3).copy_(h) ;; torch.maximum(h, x)
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0) ;; list(map(lambda i: i.sum().item(), items))[0]
list(map(torch.exp, items))[0]
{"a": {"b": h}}["a"]["b"] ;; {"a": (h, x)}["a"][1]
"""

STATEMENTS = """
a = v = h

class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, k):
        return (a > 0).to(a.dtype) * k
    @staticmethod
    def backward(ctx, g):
        return g, None
v = Step.apply(h, n)

class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, k):
        return (a > 0).to(a.dtype) * k
    @staticmethod
    def backward(ctx, g):
        return g, None
v = Step.apply(x, n)

class Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, k):
        return (a > 0).to(a.dtype) * k
    @staticmethod
    def backward(ctx, g):
        return g, None
with torch.no_grad():
    v = Step.apply(h, n)

for v in model.state_dict(): pass

for v in dict(a=h): pass

v = h; v = v.item() if v.numel() == 1 else v.tolist()

v = h.sum(); v = v.item()

v = 0; v += n

v = 0; v += h

v = x.clone(); v += h

v = x.clone(); v += 1

v = x.clone(); v.add_(h)

v = x.clone(); v.add_(h.detach())

v = x.clone(); v.mul_(2).add_(w)

v = x.clone(); v.copy_(h)

v = h.clone(); v.detach_()

v = x.clone(); v.zero_()

v, _ = h, n

_, v = h, n

v, (_, _) = h, (n, n)

v, *_ = h, n, n

_, v = pair

v, _ = torch.max(h, dim=0)

_, v = torch.max(h, dim=0)

_, v = h.topk(2)

first, second = items; v = second

for v in items: pass

for _, v in enumerate(items): pass

for k, v in {"a": h}.items(): pass

for v, _ in zip(items, [1, 2]): pass

if (v := h.sum()) > 100: pass

with torch.no_grad(): v = x * w

with torch.no_grad(): v = h

with torch.no_grad(): v = w

with torch.no_grad(): v = w + 1

with torch.no_grad(): v = model(x)

with torch.inference_mode(): v = model(x)

with torch.set_grad_enabled(False): v = model(x)

with torch.set_grad_enabled(True): v = model(x)

v = []; v.append(h)

kept = []; kept.append(h); v = kept[0]

kept = []; kept.append(h.detach()); v = kept[-1]

kept = deque([h]); v = kept[0]

kept = {}; kept["loss"] = h; v = kept["loss"]

kept = {}; kept["loss"] = h.sum().item(); v = kept["loss"]

kept = {}; kept.update(loss=h); v = kept["loss"]

kept = {}; kept.setdefault("loss", []).append(h); v = kept["loss"][0]

kept = []; kept.extend(items); v = kept[0]

kept = [[h]]; v = kept[0][0]

model.requires_grad_(False); v = model(x)

Pair = namedtuple("Pair", "loss value"); v = Pair(h, n).loss.detach()

v = h.sum(); v.backward()

h.sum().backward(); v = w.grad

del h; h = x; v = h * 2

a, b = h, n; a, b = b, a; v = b

v = h.sum().item(); v /= 2

w.data -= 0.1; v = w

torch.set_grad_enabled(False); v = model(x)

torch.set_grad_enabled(False); torch.set_grad_enabled(True); v = model(x)

for v in h: pass

v = torch.zeros(3); v += w

buffers = [torch.zeros(3) for _ in range(2)]; buffers[0].add_(h); v = buffers[0]

v = [h, h]; v = [i.detach() for i in v]; v = v[0]

*_, v = items

for i, (v, b) in enumerate(zip(items, items)): pass

for k, v in model.named_parameters(): pass

v = 0.0
for i in items: v += i.sum().item()

v = h
while v.sum() > 100: v = v / 2

with torch.no_grad(): y = x * w
v = y * 2

with torch.no_grad(): y = x * w
v = y * w

with torch.no_grad():
    with torch.enable_grad(): v = model(x)

for p in model.parameters(): p.requires_grad = False
v = model(x)

for p in net.parameters(): p.requires_grad_(False)
v = net(x)

try: v = h.detach()
except ValueError:
    v = 0.0
    raise

with torch.no_grad(): w.mul_(2)
v = w * 1

match n:
    case 2.0: v = h
    case _: v = h * 2

v = torch.zeros(3)
for i in items: v.add_(i.detach())

frozen = copy.deepcopy(model)
for p in frozen.parameters(): p.requires_grad = False
v = frozen(x)

frozen = copy.deepcopy(model)
for p in frozen.parameters(): p.requires_grad = False
v = model(x)

for name, p in model.named_parameters(): p.requires_grad = False
v = model(h)

v = h // 1

v = torch.empty(3).requires_grad_()

v = x.clone().requires_grad_()

v = x.clone().requires_grad_(True) * 2

v = torch.cat([h, x])

v = torch.stack([x, h]).mean()

v = nn.Parameter(torch.zeros(3), requires_grad=False)

def first(a, b): return a * 2
v = first(*pair)

def second(a, b, *, c=None): return b
v = second(*pair, c=h)

def middle(a, b, c, d): return b
v = middle(n, *pair, n)

kept = defaultdict(list); kept["loss"].append(h); v = kept["loss"][0]

kept = defaultdict(dict); kept["train"]["loss"] = h; v = kept["train"]["loss"]

P = namedtuple("P", "a b")
a, b = P(n, h); v = b

P = namedtuple("P", "a b")
v = P(n, h)[-1]

P = namedtuple("P", "a b")
kept = [P(h, n)]; v = [one for one, _ in kept][0]

terms = {"loss": h}; kept = {}; kept.update(terms); v = kept["loss"]

def terms(): return {"loss": h}
kept = {}; kept.update(terms()); v = sum(kept.values())

kept = {}; kept.update(zip(["loss"], [h])); v = kept["loss"]

kept = {}; kept.update({"loss": h}.items()); v = kept["loss"]

kept = {}; kept.update([("loss", h)]); v = kept["loss"]

kept = {}; kept.update([("loss", h), ("count", n)]); v = kept["count"]

terms = {"loss": h}; kept = set(); kept.update(terms); v = list(kept)[0]

v = torch.zeros(3, dtype=torch.long); v[0] = h[0]

v = torch.zeros(3); v[0] = h[0].item()

v = torch.zeros(3)
with torch.no_grad(): v[0] = h[0]

v = items[-1]

v = "loss %s" % h

v = h is None

v = not n

kept = deque(maxlen=2); kept.append(h); v = kept.popleft()

v = torch.where(x > 0.5, 0.0, h)

v = torch.zeros(3).scatter(0, torch.tensor([0]), h[:1])

v = torch.Tensor([1.0])

with torch.no_grad(): w -= 0.1
v = w

model.requires_grad_(False); model.requires_grad_(True); v = model(x)

for v in table: pass

class Meter:
    def sum(self): pass
v = sum(items)

v = reduce(torch.add, items)
"""

EITHER = """
v = h if n > 1 else n

v = h.detach() if n > 5 else h

v = n or h

v = table.get("loss")

kept = [x]; kept += [h]; v = torch.stack(kept).sum()

if n > 1: v = h
else: v = 0

v = 0
for i in items: v = v + i.detach()

v = h
for _ in range(3): v = v.detach()

v = x.clone(); v[0] = h[0]

v = torch.zeros(3); v[:] = h

v = torch.zeros(3); v[0] += h.sum()

kept = torch.zeros(3); kept[:2][0] = h[0]; v = kept * 2

kept = [x]; kept = list(kept); kept.append(h)
for v in kept: pass

v = 0
for one in itertools.chain([x], [h]): v = v + one

kept = SimpleNamespace(a=0); other = kept; kept.a = h; v = other.a

def both(): return h, n
def weigh(a, b): return a * b
v = weigh(*both())

kept = SimpleNamespace(a=0)
def fill(into): into.a = into.a + h
fill(kept); v = kept.a
"""
"""The result depends on a condition; the facts must name all that may come out."""

UNKNOWN = """
class Parts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2, a > 0
    @staticmethod
    def backward(ctx, g, _):
        return g * 2
v = Parts.apply(h)[1]

class Places(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        order = a.sign()
        ctx.mark_non_differentiable(order)
        return order
    @staticmethod
    def backward(ctx, g):
        return g
v = Places.apply(h)

v = partial(torch.mul, h)(x)

v = getattr(h, "da" + "ta")
"""
"""Nothing is claimed about these."""

DEFECTS = """
# the copy of a tensor is a leaf
v = copy.copy(h)

# an initialiser changes its argument without gradients and gives it back
v = nn.init.zeros_(w)

# requires_grad is not looked at
g = x.clone(); g.requires_grad = True; v = g * 2

# a repeated list has items at every index
v = ([h] * 3)[1]
"""
"""The facts are wrong about these; the first line says how."""


def expressions() -> list[str]:
    return [f"v = {one.strip()}" for row in EXPRESSIONS.strip().splitlines() for one in row.split(" ;; ")]


@pytest.mark.parametrize("snippet", [*expressions(), *snippets(STATEMENTS), *defects(DEFECTS)], ids=str)
def test_what_is_claimed_is_what_torch_makes(snippet: str) -> None:
    check_exact(snippet)


@pytest.mark.parametrize("snippet", snippets(EITHER), ids=str)
def test_what_depends_on_a_condition_is_claimed_as_one_of_several(snippet: str) -> None:
    check_one_of_several(snippet)


@pytest.mark.parametrize("snippet", snippets(UNKNOWN), ids=str)
def test_what_is_not_followed_stays_unknown(snippet: str) -> None:
    check_unknown(snippet)


def test_alternatives_stand_in_one_order_however_they_were_found() -> None:
    """What alternatives differ in decides, or the order of a set would: it is another one in each process."""
    program = Program(
        "def one(x):\n    return x\n\n\ndef other(x):\n    return x\n\n\n"
        "class First:\n    def run(self): ...\n\n\nclass Second:\n    def run(self): ...\n"
    )
    one, other, first, second = (f for f in program.facts.graph.functions if f.name in ("one", "other", "run"))
    x = one.parameters[0]
    for alternatives in (
        [Derived(x, other), Derived(x, one)],
        [Tensor(History.LIVE, x, other), Tensor(History.LIVE, x, one)],
        [FunctionReference(one, bound=True), FunctionReference(one)],
        [FunctionReference(second), FunctionReference(first)],
        [Module(has_parameters=True, allocation=x), Module(has_parameters=False, allocation=x)],
        [FrameworkObject("one", x), FrameworkObject("other", x)],
    ):
        assert sorted_values(alternatives) == sorted_values(alternatives[::-1])


@pytest.mark.parametrize(
    ("register", "kinds"),
    [
        ('self.register_parameter("scale", nn.Parameter(start))', {"leaf"}),
        ('self.register_parameter(name="scale", param=nn.Parameter(start))', {"leaf"}),
        ('self.register_buffer("scale", torch.ones(3))', {"without graph"}),
        ('self.register_buffer(name="scale", tensor=torch.ones(3), persistent=False)', {"without graph"}),
        ("self.register_parameter(*start)", {"unknown"}),
    ],
)
def test_what_is_registered_under_a_name_is_the_attribute_of_that_name(register: str, kinds: set[str]) -> None:
    source = f"""
        class Layer(nn.Module):
            def __init__(self, start):
                super().__init__()
                {register}

            def forward(self, x):
                print(self.scale)
    """
    program = Program(source)
    assert program.kinds(program.shown()) == kinds


@pytest.mark.parametrize(
    ("shown", "kinds"),
    [
        ("thing.data", {"without graph"}),
        ("thing.data[0]", {"without graph"}),
        ("thing.data['worth']", {"unknown"}),
        ("thing.nodes[3].data['worth'].sum()", {"unknown"}),
    ],
)
def test_what_has_data_by_name_is_no_tensor(shown: str, kinds: set[str]) -> None:
    program = Program(f"def read(thing):\n    print({shown})\n")
    assert program.kinds(program.shown()) == kinds


@pytest.mark.parametrize(
    ("flag", "kinds"),
    [
        ("", {"without graph"}),
        (", create_graph=False", {"without graph"}),
        (", create_graph=True", {"live"}),
        (", create_graph=net.training", {"unknown"}),
    ],
)
def test_a_derivative_may_have_a_graph_where_a_flag_may_say_so(flag: str, kinds: set[str]) -> None:
    program = Program(f"""
        net = nn.Linear(3, 1)
        x = torch.ones(2, 3, requires_grad=True)
        (slope,) = torch.autograd.grad(net(x).sum(), x{flag})
        print(slope)
    """)
    assert program.kinds(program.shown()) == kinds


def test_settings_hold_no_tensors() -> None:
    program = Program("""
        from omegaconf import DictConfig
        def main(cfg: DictConfig, other):
            print(cfg.weights.get("left", 1.0) / 2, other.weights.get("left", 1.0) / 2)
    """)
    assert [program.kinds(value) for value in program.printed()] == [{"no tensor"}, {"unknown"}]
