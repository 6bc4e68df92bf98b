"""What becomes of a kept graph: trained on later (no leak), spent by a backward, or alive; and the evidence for it."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from programs import TRAINING, Program

from torchlint.facts.values.domain import Module

SETUP = """
from accelerate import Accelerator
accelerator = Accelerator()
scaler = torch.cuda.amp.GradScaler()
log = []
"""


def kept(*body: str, end: str = "", before: str = "") -> list[str]:
    """What leaks where each step appends a loss to ``losses`` and then does ``body``; ``end`` follows the loop."""
    lines = "".join(indent(part, "    ") + "\n" for part in body)
    step = "    loss = F.mse_loss(model(x), y)\n    losses.append(loss)\n"
    return Program(f"{TRAINING}{SETUP}{before}\nlosses = []\nfor x, y in loader:\n{step}{lines}{end}").leaks()


# -- trained on -------------------------------------------------------------------------------------------------------

TRAINING_ON_ALL = [
    "sum(losses).backward()",
    "(sum(losses) / len(losses)).backward()",
    "torch.stack(losses).mean().backward()",
    "torch.stack(losses, dim=0).sum().backward()",
    "torch.cat([one[None] for one in losses]).mean().backward()",
    "total = torch.stack(losses).mean()\ntotal.backward()",
    "total = sum(losses)\nobjective = total / 2\nobjective.backward()",
    "alias = losses\nsum(alias).backward()",
    "total = 0\nfor one in losses:\n    total = total + one\ntotal.backward()",
    "for one in losses:\n    one.backward()",
    "for i in range(len(losses)):\n    losses[i].backward()",
    "while losses:\n    losses.pop().backward()",
    "for one in reversed(losses):\n    one.backward(retain_graph=True)",
    "parts = {'all': torch.stack(losses).mean()}\nparts['all'].backward()",
    "class Holder: pass\nholder = Holder()\nholder.total = sum(losses)\nholder.total.backward()",
    "torch.autograd.backward(losses)",
    "torch.autograd.backward(sum(losses))",
    "grads = torch.autograd.grad(sum(losses), model.parameters())",
    "accelerator.backward(sum(losses))",
    "from hub import engine\nengine.scale(2).backward(sum(losses) + 0.1 * model.weight.grad.pow(2).sum())",
    "scaler.scale(sum(losses)).backward()",
    "scaler.scale(torch.stack(losses).mean()).backward()",
    "with amp.scale_loss(sum(losses), optimizer) as scaled:\n    scaled.backward()",
    "def train(values):\n    sum(values).backward()\ntrain(losses)",
    "def total(values):\n    return torch.stack(values).mean()\ntotal(losses).backward()",
    "total = functools.reduce(torch.add, losses)\ntotal.backward()",
    "torch.stack(random.sample(losses, 4)).sum().backward()",
    "sum(random.choices(losses, k=4)).backward()",
    "random.choice(losses).backward()",
]


@pytest.mark.parametrize("end", TRAINING_ON_ALL)
def test_what_reaches_a_backward_is_no_leak(end: str) -> None:
    assert kept(end=end, before="import functools, random\nfrom apex import amp") == []


def test_what_is_returned_to_a_caller_that_trains_is_no_leak() -> None:
    source = """
def collect():
    losses = []
    for x, y in loader:
        losses.append(F.mse_loss(model(x), y))
    return losses
"""
    assert Program(f"{TRAINING}{source}torch.stack(collect()).mean().backward()").leaks() == []
    assert Program(TRAINING + source).leaks() == []  # a caller that is not seen may train


def test_what_is_kept_on_an_attribute_and_trained_on_by_another_method_is_no_leak() -> None:
    source = """
class Agent:
    def __init__(self):
        self.losses = []
    def act(self, x):
        loss = model(x).sum()
        self.losses.append(loss)
    def learn(self):
        torch.stack(self.losses).sum().backward()
        del self.losses[:]
agent = Agent()
for x in loader:
    agent.act(x)
    agent.learn()
"""
    assert Program(TRAINING + source).leaks() == []


def test_what_lightning_trains_on_is_no_leak() -> None:
    source = """
import lightning as L
class A(L.LightningModule):
    def training_step(self, batch, i):
        losses = []
        for part in batch.chunk(2):
            losses.append(model(part).sum())
        return torch.stack(losses).mean()
"""
    assert Program(TRAINING + source).leaks() == []


def test_manual_backward_is_a_backward() -> None:
    source = """
import lightning as L
class A(L.LightningModule):
    def training_step(self, batch, i):
        total = 0
        for part in DataLoader(batch):
            total = total + model(part).sum()
        self.manual_backward(total)
"""
    assert Program(TRAINING + source).leaks() == []


LOGGED = [
    "print(torch.stack(losses).mean())",
    "log.append(torch.stack(losses).mean().item())",
    "print(sum(losses).item() / len(losses))",
    "writer.add_scalar('loss', torch.stack(losses).mean())",
    "mean = torch.stack(losses).detach().mean()",
    "torch.stack(losses).detach().requires_grad_().sum().backward()",
    "pass",
]


@pytest.mark.parametrize("end", LOGGED)
def test_what_is_only_read_after_its_backward_is_a_leak(end: str) -> None:
    assert kept("loss.backward()\noptimizer.step()", end=end) == ["losses"]


STEP = """
def train(model, loader, key, waiting=None):
    for epoch in range(9):
        losses = []
        for x in loader:
            {first}
            output = model(x)
            {early}
            output[key].backward()
            losses.append(output[key])
        {late}
"""
PUT = 'output["mean"] = torch.stack(losses).mean()'


@pytest.mark.parametrize(
    ("lines", "leaks"),
    [
        ({"late": PUT}, ["losses"]),
        ({"late": f"{PUT}; print(output)"}, ["losses"]),
        ({"early": PUT}, []),
        ({"late": f"{PUT}; output[key].backward()"}, []),
        ({"first": "if waiting: waiting[key].backward()", "late": f"{PUT}; waiting = output"}, []),
    ],
)
def test_what_is_put_into_an_output_after_its_backward_is_no_part_of_that(lines: dict[str, str], leaks: list) -> None:
    filled = STEP.format(**{"first": "pass", "early": "pass", "late": "pass", **lines})
    assert Program(TRAINING + filled).leaks() == leaks


# -- spent or alive ---------------------------------------------------------------------------------------------------

MODEL = """
features, head, side = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
for x, y in loader:
    hidden = features(x)
    out = head(hidden)
    loss = F.mse_loss(out, y)
    other = side(hidden).mean()
"""


def spent(expression: str, *body: str) -> bool:
    """Whether the graph of an expression is spent in a step that does ``body``."""
    lines = indent("\n".join(body) + f"\nprint({expression})\n", "    ")
    program = Program(TRAINING + SETUP + MODEL + lines)
    assert program.facts.flows.live(program.shown()) is not None
    return program.facts.flows.is_spent(program.shown())


@pytest.mark.parametrize("expression", ["loss", "loss * 2", "loss.sum()", "out", "out.mean()", "hidden", "[loss][0]"])
def test_a_backward_spends_its_root_and_what_the_root_was_computed_from(expression: str) -> None:
    assert spent(expression, "loss.backward()")


def test_a_value_of_several_spent_ones_is_spent() -> None:
    assert spent("loss + out.sum()", "loss.backward()")


@pytest.mark.parametrize("expression", ["other", "other * 2", "loss + other", "side(hidden)", "sum([loss, other])"])
def test_another_head_on_the_same_features_stays_alive(expression: str) -> None:
    assert not spent(expression, "loss.backward()")


def test_without_a_backward_everything_is_alive() -> None:
    assert not spent("loss", "pass")


@pytest.mark.parametrize("flag", ["retain_graph=True", "create_graph=True", "retain_graph=flag"])
def test_a_backward_that_retains_the_graph_spends_nothing(flag: str) -> None:
    assert not spent("loss", f"loss.backward({flag})")


@pytest.mark.parametrize("flag", ["", "retain_graph=False", "retain_graph=None", "torch.ones(1)"])
def test_a_backward_that_does_not_retain_it_spends(flag: str) -> None:
    assert spent("loss", f"loss.backward({flag})")


def test_a_second_backward_that_does_not_retain_it_spends() -> None:
    assert spent("loss", "loss.backward(retain_graph=True)\nloss.backward()")


BACKWARDS = [
    "accelerator.backward(loss)",
    "scaler.scale(loss).backward()",
    "(loss / 4).backward()",
    "(loss + other).backward()",
    "torch.autograd.backward(loss)",
    "torch.autograd.backward([loss])",
    "torch.autograd.backward(tensors=loss)",
    "torch.autograd.grad(loss, model.parameters())",
    "grads = torch.autograd.grad(outputs=loss, inputs=list(head.parameters()))",
    "losses = {'loss': loss}\nlosses['loss'].backward()",
    "total = sum([loss, other])\ntotal.backward()",
    "def run(value):\n    value.backward()\nrun(loss)",
    "engine.backward(loss)\nengine.step()",
    "fabric.backward(loss)",
    "with amp.scale_loss(loss, optimizer) as scaled:\n    scaled.backward()",
]


@pytest.mark.parametrize("backward", BACKWARDS)
def test_every_spelling_of_a_backward_spends(backward: str) -> None:
    assert spent("loss", backward)


def test_gradients_of_gradients_keep_the_graph() -> None:
    assert not spent("loss", "grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)")


def test_only_the_call_within_which_the_backward_runs_is_spent() -> None:
    source = "def compute(x):\n    return model(x).sum()\nfor x in loader:\n    a = compute(x)\n    a.backward()\n"
    program = Program(f"{TRAINING}{source}    b = compute(x)\n    print(a, b)")
    assert [program.facts.flows.is_spent(value) for value in program.printed()] == [True, False]


@pytest.mark.parametrize(
    ("body", "is_spent"),
    [
        ("return terms", True),
        ("if many:\n        return {name: terms[name].item() for name in terms}\n    return terms", True),
        ("return {'a': side(terms['a'][None]).sum()}", False),
    ],
)
def test_what_a_helper_hands_back_as_it_is_stays_spent(body: str, is_spent: bool) -> None:
    helper = f"side = nn.Linear(1, 1)\ndef reduced(terms, many=False):\n    {body}\n"
    loop = "for x in loader:\n    loss = model(x).sum()\n    loss.backward()\n    kept = reduced({'a': loss})\n"
    program = Program(f"{TRAINING}{helper}{loop}    print(kept['a'])")
    assert program.facts.flows.is_spent(program.shown()) is is_spent


# -- evidence ---------------------------------------------------------------------------------------------------------


def is_module(source: str, name: str = "net") -> bool:
    program = Program(f"def f({name}, x):\n{indent(source, '    ')}\n    print({name})")
    return any(isinstance(atom, Module) for atom in program.facts.solution.final(program.shown()))


PROVING = [
    "net.eval()",
    "for p in net.parameters():\n    pass",
    "net.cuda()",
    "net.to('cuda')",
    "optimizer = torch.optim.SGD(net.parameters())",
    "net(x).sum().backward()",
    "loss = net(x)\nloss.backward()",
]


@pytest.mark.parametrize("source", PROVING)
def test_use_proves_a_module(source: str) -> None:
    assert is_module(source)


@pytest.mark.parametrize("source", ["net(x)", "x = net.cuda()", "net.step()", "net.eval('1')", "net + x", "net.run(x)"])
def test_use_that_proves_no_module(source: str) -> None:
    assert not is_module(source)


def test_a_module_is_proven_back_to_where_it_comes_from() -> None:
    program = Program("def f(net, x):\n    net.eval()\n    return net(x)\nnet = build()\nprint(f(net, x))\n")
    assert program.kinds(program.shown()) == {"live"}


def proven(source: str) -> list[bool]:
    """Whether each printed value is proven to have a graph, in a function of which nothing else is known."""
    program = Program(f"def f(net, head, x, y):\n{indent(source, '    ')}")
    return [program.facts.flows.live(value) is not None for value in program.printed()]


def test_a_backward_proves_its_root_and_the_only_candidate_behind_it() -> None:
    source = "out = net(x)\nloss = (out - y).sum()\nprint(loss, out, x, y)\nloss.backward()"
    assert proven(source) == [True, True, False, False]


def test_a_backward_proves_nothing_where_two_values_may_be_the_cause() -> None:
    assert proven("a = net(x)\nb = head(x)\nloss = a * b\nprint(loss, a, b)\nloss.backward()") == [True, False, False]


def test_a_backward_proves_an_item_and_the_object_that_carries_it() -> None:
    assert proven("out = net(x)\nloss = out['loss']\nprint(loss, out)\nloss.backward()") == [True, True]


def test_a_backward_proves_what_an_imported_function_is_given_whose_items_are_added_up() -> None:
    source = """
        out = head.loss(net(x), y)
        whole = torch.zeros(1)
        for part in as_list({given}):
            whole.add_(part.mean())
        print(out)
        whole.mul_({weight}).backward()
    """
    head = "from elsewhere import as_list, count, rows\n"
    for given, weight, live in [
        ("out", "0.5", True),
        ("out", "count(x) / count(y)", True),
        ("out, rows(y)", "1", False),
    ]:
        assert proven(head + dedent(source.format(given=given, weight=weight))) == [live]


@pytest.mark.parametrize(
    ("batch", "loss", "expected"),
    [
        ("rows_of(x, y)", "cost(batch)", False),
        ("rows_of(x, y)", "cost(head, batch)", False),
        ("rows_of(net(x), y)", "cost(batch)", True),
        ("head.sample(32)", "cost(batch)", False),
        ("head.sample(head.size)", "net.loss(batch)", False),
        ("head.forward_of(x)", "cost(batch, y)", True),
        ("net(x)", "cost(batch, y)", True),
        ("net(x)", "cost(batch, head.sample(32))", True),
        ("net(x)", "cost(nn.Linear(2, 2), batch)", False),
        ("run(nn.Linear(2, 2), x)", "cost(batch, y)", True),
    ],
)
def test_who_has_the_graph_of_a_loss_that_unseen_functions_compute(batch: str, loss: str, expected: bool) -> None:
    head = "from torch import nn\nfrom elsewhere import cost, rows_of, run\n"
    assert proven(f"{head}batch = {batch}\nprint(batch)\n{loss}.backward()") == [expected]


def test_a_backward_proves_nothing_of_the_batches_that_an_imported_loader_gives() -> None:
    source = """
        from elsewhere import cost, rows
        for {item} in {over}:
            print(batch)
            cost(batch).backward()
    """
    cases = [("batch", "rows(x)"), ("_, batch", "enumerate(rows(x))"), ("batch, _", "rows(x) if y else rows(y)")]
    for item, over in [*cases, ("batch", "rows(rows(x), 3)")]:
        assert proven(dedent(source.format(item=item, over=over))) == [False]
    assert proven(dedent(source.format(item="batch", over="rows(net(x))"))) == [True]


def test_without_a_backward_nothing_is_proven() -> None:
    assert proven("out = net(x)\nloss = out.sum()\nprint(loss, out)") == [False, False]


def test_a_name_is_no_evidence() -> None:
    assert proven("loss = head.loss\nprint(loss, y.loss)") == [False, False]


def test_what_is_known_to_have_no_graph_is_not_proven_otherwise() -> None:
    source = "a = net(x).detach()\nb = head(x)\nloss = (a * b).sum()\nprint(a, b)\nloss.backward()"
    assert proven(source) == [False, True]


def test_a_wrapper_of_the_backward_proves_what_it_is_given() -> None:
    assert proven("loss = net(x)\nprint(loss)\nhead.backward(loss)") == [True]


def test_a_manual_backward_proves_what_it_is_given() -> None:
    assert proven("loss = net(x)\nprint(loss)\nself.manual_backward(loss)") == [True]


ENGINES = [
    "deepspeed.initialize(model=model)[0]",
    "make_engine()",
    "args.engine",
    "Engine(model)",
    "engines['main']",
]


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_wherever_it_comes_from_runs_the_backward_of_its_argument(engine: str) -> None:
    imports = "import deepspeed\nfrom fairscale import Engine\ndef make_engine():\n    return Engine()\n"
    assert kept(end="engine.backward(sum(losses))", before=f"{imports}engine = {engine}") == []


@pytest.mark.parametrize("moved", ["x.to(device)", "x.view(-1, 3)", "x.cuda().float()", "x.clone()"])
def test_a_batch_that_is_only_moved_has_no_graph(moved: str) -> None:
    source = f"for x, y in loader:\n    x = {moved}\n    loss = net(x).sum()\n    print(x)\n    loss.backward()"
    assert proven(source) == [False]


def test_a_backward_proves_what_a_dict_is_asked_for_and_not_that_it_is_a_module() -> None:
    program = Program("""
def train(outputs):
    loss = outputs.get("loss")
    loss.backward()
    print(outputs.get("count"))
""")
    assert program.kinds(program.value('outputs.get("loss")')) == {"live"}
    assert program.kinds(program.shown()) == {"unknown"}


@pytest.mark.parametrize(("item", "expected"), [('extra["ids"]', 0), ("extra", 1), ("out", 1), ('out["ids"]', 1)])
def test_what_a_dict_beside_an_output_holds_is_not_known(item: str, expected: int) -> None:
    source = "def collect(model: nn.Module, rows):\n    kept = []\n"
    source += "    for x in torch.utils.data.DataLoader(rows):\n        if len(kept):\n"
    source += "            out, h, extra = model(x)\n        else:\n            out, h, extra = model(x[None])\n"
    assert len(Program(f"{source}        kept.append({item})\n    print(len(kept))\n").facts.insertions) == expected


def test_a_call_without_gradients_gives_no_graph_though_another_call_of_the_function_is_trained_on() -> None:
    program = Program(
        TRAINING
        + """
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = Tower()

    def forward(self, rows):
        return self.tower(torch.cat([self.tower(row) for row in rows]))

def fit(net, optimizer, rows, y):
    F.mse_loss(net(rows), y).backward()
    optimizer.step()

def evaluate(net, rows):
    with torch.no_grad():
        print(net(rows))

def main(rows, y):
    net = Net()
    fit(net, torch.optim.SGD(net.parameters(), 0.1), rows, y)
    evaluate(net, rows)
"""
    )
    assert program.facts.flows.live(program.shown()) is None


def test_what_goes_through_a_starred_parameter_is_trained() -> None:
    source = """
    def first(*values, **named):
        return named["kept"], values[0]
    def of_none(*values):
        return len(values)
    net = nn.Linear(3, 3)
    a, b, c = net(torch.ones(3)), net(torch.ones(3)), net(torch.ones(3))
    x, y = first(a, kept=b)
    (x + y).sum().backward()
    print(a, b, c, of_none(c))
    """
    program = Program(source)
    trained = program.facts.flows.trained
    assert [one in trained for one in program.printed()] == [True, True, False, False]


TRAIL = """
from collections import defaultdict

class Trail:
    def __init__(self):
        self.fields = defaultdict(list)
    def add(self, **given):
        for name, one in given.items():
            self.fields[name].append(one)
    def drain(self):
        drained = {name: torch.stack(column) for name, column in self.fields.items()}
        self.fields.clear()
        return drained

def draw(x):
    terms = []
    for _ in range(14):
        x = model(x)
        term = x.mean()
        terms.append(term)
        print(term)
    return torch.stack(terms).sum()

trail = Trail()
for x, y in loader:
    trail.add(term=draw(x), reward=1.0)
    columns = trail.drain()
    USE
"""


@pytest.mark.parametrize(("use", "is_trained"), [("columns['term'].mean().backward()", True), ("len(columns)", False)])
def test_what_one_method_puts_in_by_name_and_another_takes_out_is_trained(use: str, *, is_trained: bool) -> None:
    program = Program(TRAINING + TRAIL.replace("USE", use))
    assert (program.shown() in program.facts.flows.trained) is is_trained
