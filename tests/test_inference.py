"""Forwards whose graph nobody uses: what shows that a function only infers."""

from __future__ import annotations

import pytest

from torchlint.catalog import rule_of
from torchlint.engine import check
from torchlint.source import Source

HEAD = "import torch\nfrom torch import nn\nfrom elsewhere import Model, load\n"


def found(body: str, code: str = "TLK201") -> list[int]:
    """The lines of the function body's text (from 1) at which a code stands."""
    rule = rule_of(code)
    assert rule is not None
    diagnostics = check(Source("program.py", HEAD + body), [rule]).diagnostics
    return [diagnostic.line - HEAD.count("\n") for diagnostic in diagnostics]


def every_code(body: str) -> list[str]:
    """The codes of all rules on graphs that are found in a text."""
    codes = ("TLK101", "TLK102", "TLK104", "TLK111", "TLK201")
    rules = [rule for code in codes if (rule := rule_of(code)) is not None]
    return [diagnostic.code for diagnostic in check(Source("program.py", HEAD + body), rules).diagnostics]


def test_eval_mode_and_a_forward() -> None:
    assert found("def score(model, x):\n    model.eval()\n    return model(x)\n") == [1]


def test_a_forward_without_eval_whose_result_leaves_says_nothing() -> None:
    assert found("def score(model, x):\n    model.parameters()\n    return model(x)\n") == []


def test_a_graph_that_is_thrown_away() -> None:
    assert found("def best(x):\n    model = nn.Linear(3, 3)\n    return model(x).argmax(1)\n") == [1]


def test_train_mode_again_before_the_forward() -> None:
    assert found("def f(model, x):\n    model.eval()\n    model.train()\n    return model(x)\n") == []


def test_another_model_in_eval_mode() -> None:
    body = "def f(model, teacher, x):\n    teacher.eval()\n    model.train()\n    return model(x)\n"
    assert found(body) == []


def test_what_an_object_begins_with_is_nothing_that_a_call_sets_anew() -> None:
    body = """
class Imputer(Model):
    def __init__(self, net):
        super(Imputer, self).__init__()
        self.net = net
    def train(self, sets):
        for one in sets:
            train = load(one)
            sets.append(train)
        self.net = load(sets)
    def values(self, loader, scaled):
        self.net.eval()
        found = []
        for batch in loader:
            x = load(batch)
            found.append(self.net.scale(x) if scaled else self.net.rate(x))
        return torch.cat(found).cpu().detach().numpy()
"""
    assert found(body) == [11]


def test_the_gradient_of_the_output_is_wanted() -> None:
    body = "def f(model, x):\n    model.eval()\n    y = model(x)\n    {}\n    return x\n"
    assert found(body.format("y.sum().backward()")) == []
    assert found(body.format("torch.autograd.grad(y.sum(), x)")) == []


@pytest.mark.parametrize("reading", ["y.requires_grad", "y.grad_fn", "y.retain_grad()", "y.register_hook(print)"])
def test_a_graph_that_is_looked_at_is_wanted(reading: str) -> None:
    assert found(f"def f(x):\n    model = nn.Linear(3, 3)\n    y = model(x)\n    print({reading})\n") == []


@pytest.mark.parametrize(
    "probe", ["torch.randn(1, 3)", "torch.zeros(2, 3).to(device)", "[torch.rand(3), torch.ones(3)]"]
)
def test_a_forward_on_made_up_numbers_is_a_probe(probe: str) -> None:
    assert found(f"def f(device):\n    model = load()\n    model.eval()\n    print(model({probe}).shape)\n") == []


@pytest.mark.parametrize(
    ("made", "lines"),
    [
        ("return torch.randn(1, 3)", []),
        ("return torch.randn(int(name), 3)", []),
        ("return torch.tensor([float(one) for one in open(name)])", [1]),
        ("return [read(row) for row in csv.reader(name)]", [1]),
    ],
)
def test_what_a_function_of_the_file_makes_up_or_reads(made: str, lines: list[int]) -> None:
    run = "def f(device):\n    model = load()\n    model.eval()\n    print(model(batch('a.csv')).argmax())\n"
    assert found(f"{run}import csv\ndef batch(name):\n    {made}\n") == lines


@pytest.mark.parametrize(
    ("guard", "end", "lines"),
    [
        ("", "scores.mean(0).detach().tolist()", [3]),
        ("@torch.no_grad()\n", "scores.mean(0).tolist()", []),
        ("", "scores.mean().backward()", []),
    ],
)
def test_what_is_mapped_over_rows_at_once_runs(guard: str, end: str, lines: list[int]) -> None:
    for imported in ("from torch import vmap", "from torch.func import vmap"):
        body = f"{imported}\n{guard or chr(10)}def score(net: nn.Module, rows, noises):\n    net.eval()\n"
        body += "    def one(noise):\n        return net(rows + noise)\n"
        body += "    scores = vmap(one, in_dims=0)(noises)\n"
        assert found(f"{body}    return {end}\n") == lines


@pytest.mark.parametrize(
    ("forward", "lines"),
    [
        ("def forward(self, x): raise NotImplementedError", [3]),
        ("@abstractmethod\n    def forward(self, x): ...", [4]),
        ("kind = 3", [3]),
        ("def forward(self, x): return x * 2", []),
    ],
)
def test_a_base_of_networks_runs_what_others_define(forward: str, lines: list[int]) -> None:
    label = "def label(self, rows):\n        self.eval()\n        return [self(row).argmax().item() for row in rows]\n"
    head = "from abc import abstractmethod\n"
    assert found(f"class Base(nn.Module):\n    {forward}\n    {label}{head}") == lines


def test_a_method_that_is_not_seen_and_detached() -> None:
    body = "def f(model: Model, x):\n    model.eval()\n    return model.encode(x){}\n"
    assert found(body.format(".detach().numpy()")) == [1]
    assert found(body.format("")) == []


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        ("model.head(model.encode(x)).softmax(-1).tolist()", [1]),
        ("torch.nn.functional.log_softmax(model.head(x)[:, -1], dim=-1).topk(3)[1].tolist()", [1]),
        ("model.head(x)", []),  # nobody says what that is
        ("model.generate(x).softmax(-1).tolist()", []),  # which guards itself
        ("model.head(x).softmax(-1)", [1]),  # as of a forward in evaluation mode
    ],
)
def test_chances_are_made_of_what_a_network_gives(answer: str, lines: list[int]) -> None:
    body = f"def f(model: Model, x):\n    model.eval()\n    return {answer}\n"
    assert found(body) == lines


@pytest.mark.parametrize(
    ("answer", "lines"),
    [
        ("list(map(float, chances))", [7]),
        ("[dict(zip(LABELS, map(float, row))) for row in chances]", [7]),
        ("dict(zip(LABELS, map(lambda one: one.item(), chances)))", [7]),
        ("list(map(torch.exp, chances))", []),
        ("dict(zip(LABELS, map(weigh, chances)))", []),
    ],
)
def test_numbers_that_are_mapped(answer: str, lines: list[int]) -> None:
    net = "class Bundle:\n    net = None\n\ndef load():\n    Bundle.net = nn.Linear(3, 3).eval()\n\n"
    assert found(f"{net}def answer(x):\n    chances = Bundle.net(x)\n    return {answer}\n") == lines


@pytest.mark.parametrize(
    ("mode", "lines"),
    [
        ("model.to('cuda').eval()", [1]),
        ("model.float().cuda().eval()", [1]),
        ("model.to('cuda').eval(); model.cuda().train()", []),
        ("model.part(0).eval()", []),
    ],
)
def test_a_model_that_is_moved_and_switched_in_one_statement(mode: str, lines: list[int]) -> None:
    body = f"def f(x):\n    model = Model()\n    {mode}\n    return model.encode(x).detach().cpu()\n"
    assert found(body) == lines


def test_a_helper_and_its_caller_are_one_finding_where_eval_is_said() -> None:
    body = (
        "def run(model, x):\n    return model(x)\n\n"
        "def score(model, loader):\n    model.eval()\n    return [run(model, x).argmax() for x in loader]\n"
    )
    assert found(body) == [4]


def test_evaluation_inside_a_training_function_stands_at_the_forward() -> None:
    body = (
        "def fit(model, loader, held_out, optimizer):\n"
        "    for x, y in loader:\n"
        "        (model(x) - y).sum().backward()\n"
        "        optimizer.step()\n"
        "    model.eval()\n"
        "    for x, y in held_out:\n"
        "        print(model(x).argmax())\n"
    )
    assert found(body) == [7]


HANDED = """
def vectors(model, loader):
    for texts, pictures in loader:
        pair = model.words(texts), model.shapes(pictures)
        yield tuple(one.detach().cpu() for one in pair)

def measure(model, loader, teacher):
    {before}
    {call}
    model.train()
"""


@pytest.mark.parametrize(
    ("before", "call", "lines"),
    [
        ("model.eval()", "found = list(vectors(model, loader))", [2]),
        ("model.eval()", "first, second = map(torch.cat, zip(*vectors(model, loader)))", [2]),
        ("model.train()", "found = list(vectors(model, loader))", []),
        ("model.eval()", "with torch.no_grad():\n        found = list(vectors(model, loader))", []),
        (
            "model.eval()",
            "found = list(vectors(model, loader)); model.train(); more = list(vectors(model, loader))",
            [],
        ),
        ("teacher.eval()", "model.train(); found = list(vectors(model, loader))", []),
    ],
)
def test_methods_of_a_model_that_is_handed_over_in_evaluation_mode(before: str, call: str, lines: list[int]) -> None:
    assert found(HANDED.replace("{before}", before).replace("{call}", call)) == lines


@pytest.mark.parametrize("guard", ["torch.no_grad()", "torch.inference_mode()", "torch.set_grad_enabled(False)"])
def test_a_guard_in_every_caller(guard: str) -> None:
    score = "def score(model, x):\n    model.eval()\n    return model(x)\n\n"
    body = score + f"def main(m, x):\n    with {guard}:\n        score(m, x)\n"
    assert found(body) == []
    assert found(body + "\ndef other(m, x):\n    score(m, x)\n") == [1]


FROZEN_INSTANCE = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    "        self.stem, self.head = nn.Linear(3, 3), nn.Linear(3, 3)\n"
    "    def forward(self, x):\n        return self.head(self.stem(x))\n\n"
)


def test_an_instance_of_the_file_that_is_frozen_records_nothing() -> None:
    use = "def score(batches):\n    net = Net()\n{freeze}    for x in batches:\n        print(net(x).argmax())\n"
    loop = "    for p in net.parameters():\n        p.requires_grad = False\n"
    lines = FROZEN_INSTANCE.count("\n")
    assert found(FROZEN_INSTANCE + use.format(freeze="")) == [lines + 1]
    assert found(FROZEN_INSTANCE + use.format(freeze=loop)) == []
    partly = f"{loop}    net.head.requires_grad_(True)\n"
    assert found(FROZEN_INSTANCE + use.format(freeze=partly)) == [lines + 1]


@pytest.mark.parametrize("given", ['Image.open("a.jpg")', 'to_tensor(Image.open("a.jpg"))', 'numpy.load("a.npy")'])
def test_what_a_file_holds_was_not_made_up(given: str) -> None:
    body = "import numpy\nfrom PIL import Image\nfrom elsewhere import to_tensor\n"
    body += f"def f():\n    model = load()\n    model.eval()\n    print(model({given}).argmax(1))\n"
    assert found(body) == [4]


def test_made_up_numbers_that_another_function_packs() -> None:
    body = "from elsewhere import pack\ndef f():\n    model = load()\n    model.eval()\n    print(model({}))\n"
    assert found(body.format("pack([torch.rand(3), torch.rand(5)], 8)")) == []


@pytest.mark.parametrize(
    ("source", "lines"),
    [("from flax import nnx as elsewhere", []), ("import haiku as elsewhere", []), ("import elsewhere", [2])],
)
def test_what_a_library_of_other_networks_gives_is_none_of_torch(source: str, lines: list[int]) -> None:
    body = f"{source}\ndef f(parts, batch):\n"
    body += "    model = elsewhere.merge(*parts)\n    model.eval()\n    return model(batch).argmax().item()\n"
    assert found(body) == lines


TRAINER = """
class Trainer:
    def __init__(self, model):
        self.model = model
        self.criterion = nn.MSELoss()

    def fit(self, batches):
        for x, y in batches:
            self.criterion(self.model(x), y).backward()
        {}.eval()
        return self.evaluate(batches)

    def evaluate(self, batches):
        return sum(self.criterion(self.model(x), y) for x, y in batches)
"""


def test_the_caller_puts_the_model_into_evaluation_mode() -> None:
    assert found(TRAINER.format("self.model")) == [13]
    assert found(TRAINER.format("list(batches)")) == []


def test_a_script_puts_the_model_into_evaluation_mode() -> None:
    body = "def score(model, x):\n    return model(x)\n\nmodel = load()\nmodel.eval()\nprint(score(model, load()))\n"
    assert found(body) == [1]


def test_one_caller_in_evaluation_mode_and_one_outside_say_nothing_of_what_they_call() -> None:
    body = TRAINER.format("self.model") + "\n    def sums(self, batches):\n        return self.evaluate(batches)\n"
    assert found(body) == [11]


def test_a_model_s_own_method_is_not_told_by_its_callers() -> None:
    body = "class Encoder(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    body += "        self.body = nn.Linear(3, 3)\n    def encode(self, x):\n        return self.body(x)\n"
    body += "def f(x):\n    encoder = Encoder()\n    encoder.eval()\n    return encoder.encode(x)\n"
    assert found(body) == [7]


def test_what_another_object_takes_over_is_not_thrown_away() -> None:
    body = "class Words(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    body += "        self.table = nn.Linear(9, 3)\n        self.rnn = nn.LSTM(3, 3)\n"
    body += "    def embed(self, sentences, x):\n        x = self.table(x)\n        {}\n"
    body += "        for number, sentence in enumerate(sentences):\n            sentence.{}(x[number])\n"
    assert found(body.format("pass", "take_over")) == []
    assert found(body.format("pass", "append")) == [6]
    looked_up = body.replace("nn.Linear(9, 3)", "nn.Embedding(9, 3)")
    assert found(looked_up.format("pass", "append")) == []  # which keeps nothing but its indices
    packed = "x, _ = self.rnn(nn.utils.rnn.pack_padded_sequence(x, [3]))"
    assert found(body.format(packed, "take_over")) == []


def test_what_is_prepared_for_a_guarded_forward_is_left_out_on_purpose() -> None:
    body = "def f(prepare, model, x):\n    prepare.to('cuda')\n    model.to('cuda')\n    x = prepare(x)\n{}\n"
    guarded = "    with {}:\n        return model(x).argmax()"
    assert found(body.format(guarded.format("torch.no_grad()"))) == []
    assert found(body.format(guarded.format("torch.no_grad(), load(model)"))) == []
    assert found(body.format("    return model(x).argmax()")) == [1]
    assert found(body.format("    with torch.no_grad():\n        model(load())\n    print(x)")) == [1]


def test_a_helper_that_calls_what_it_is_given_is_no_forward_where_that_is_no_module() -> None:
    body = "def call(make, x):\n    return make(x)\n"
    body += "def fit(x):\n    call(nn.Linear(3, 3), x).sum().backward()\n"
    assert found(body + "def look(x):\n    print(call(load, x))\n") == []
    assert found(body + "def look(x):\n    print(call(nn.Linear(3, 3), x))\n") == [5]


@pytest.mark.parametrize(
    "reading",
    ["model(x).numpy()", "model(x).cpu().view(-1).numpy()", "np.squeeze(model(x)[0])", "(model(x) + 1).numpy()"],
)
def test_what_numpy_reads_as_it_is_has_no_graph(reading: str) -> None:
    assert found(f"import numpy as np\ndef f(model, x):\n    model.eval()\n    return {reading}\n") == []


@pytest.mark.parametrize(
    "reading",
    [
        "model(x).detach().numpy()",
        "model(x).argmax(1).numpy()",
        "model(x).numpy(force=True)",
        "decode(model(x)).numpy()",
    ],
)
def test_what_ends_the_graph_before_numpy_says_nothing_of_it(reading: str) -> None:
    assert found(f"from elsewhere import decode\ndef f(model, x):\n    model.eval()\n    return {reading}\n") == [2]


def test_one_of_several_outputs_is_detached_and_another_has_no_graph_anyway() -> None:
    body = "def f(model, x):\n    model.eval()\n    out = model(x)\n"
    assert found(body + "    return out['boxes'].detach().numpy(), out['labels'].numpy()\n") == [1]


@pytest.mark.parametrize(
    "forward",
    [
        "with torch.set_grad_enabled(keeps): print(model(x).sum().item())",
        "print(model(Variable(x, volatile=True)).sum().data[0])",
        "print(loss(x.detach().cpu()).item())",
    ],
)
def test_a_forward_about_whose_graph_the_program_has_decided(forward: str) -> None:
    head = "from torch.autograd import Variable\ndef f(x, keeps):\n    model, loss = nn.Linear(3, 3), nn.Linear(3, 1)\n"
    assert found(f"{head}    {forward}\n") == []


@pytest.mark.parametrize(
    ("reading", "infers"), [("data[0]", []), ("data.numpy()[0]", []), ("item()", [2]), ("to('cpu').data[0]", [2])]
)
def test_what_was_a_guard_before_torch_0_4_is_none_in_a_file_that_needs_a_later_one(
    reading: str, infers: list[int]
) -> None:
    head = (
        "from torch.autograd import Variable\ndef score(loader):\n    model = nn.Linear(3, 3)\n    for x in loader:\n"
    )
    assert found(f"{head}        print(model(Variable(x, volatile=True)).sum().{reading})\n") == infers


def test_a_state_that_goes_into_a_forward_is_none_itself() -> None:
    body = "def score(model, x):\n    model.eval()\n    h = model.begin(3)\n    with torch.no_grad():\n"
    assert found(body + "        out = model(x, h)\n    return out.detach()\n") == []


def test_gradients_that_are_switched_on_by_name_are_wanted() -> None:
    body = "def show(x):\n    model = nn.Linear(3, 3)\n    {with_}out = model(x)\n{indent}print(out.sum().item())\n"
    asked = body.format(with_="with torch.enable_grad():\n        ", indent="        ")
    assert found(asked) == [] and found(body.format(with_="", indent="    ")) != []


def test_a_loss_without_parameters_is_no_network() -> None:
    body = (
        "class Loss(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.norm = nn.L1Loss()\n"
    )
    body += "    def forward(self, x):\n        return self.norm(x, x)\n"
    assert found(body + "def show(x):\n    print(Loss()(x).item())\n") == []


BOTH_PHASES = """
def error(a, b):
    return ((a - b) ** 2).mean()

def step(model, x, y):
    {body}

def run(batches, x):
    model = nn.Linear(3, 3)
    loss = step(model, x, x)
    loss.backward()
    model.eval()
    for y in batches:
        print(step(model, y, y).item())
"""


def test_a_helper_of_both_phases_is_known_by_the_backward_of_one() -> None:
    assert found(BOTH_PHASES.format(body="return error(model(x), y)")) == [14]


def test_a_helper_of_both_phases_without_a_forward_infers_nothing() -> None:
    assert found(BOTH_PHASES.format(body="return error(x * model.weight, y)")) == []


def test_what_an_input_is_made_of_needs_no_graph() -> None:
    read = "def read(prepare, x):\n    return prepare(x)\n\n"
    read += "def show(prepare, x):\n    return read(prepare, x).tolist()\n\n"
    slope = "def slope(net, prepare, x):\n    x = read(prepare, x).to('cpu').requires_grad_(True)\n"
    ends = "    (g,) = torch.autograd.grad(net(x).max(), x)\n    return g.tolist()\n"
    assert found(read + slope + ends) == []


def test_a_training_step_of_a_framework_is_no_inference() -> None:
    text = """
from lightning import LightningModule
class Net(LightningModule):
    def __init__(self):
        super().__init__()
        self.key, self.query = nn.Linear(3, 3), nn.Linear(3, 3)
    def training_step(self, batch, number):
        wanted = self.key(batch)
        return (self.query(batch) - wanted.detach()).mean()
"""
    assert found(text) == []


def test_what_is_put_into_a_tensor_leaves_with_it() -> None:
    text = "def table(x):\n    net, rows = nn.Linear(3, 3), torch.zeros(9, 3)\n    rows[0] = net(x)\n    return rows\n"
    assert found(text) == []


KEPT = """
class Extractor:
    def __init__(self):
        self.model = load().to("cuda"){mode}
    def features(self, x):
        return self.model.encode_image(x){end}
"""


@pytest.mark.parametrize(
    ("mode", "end", "lines"),
    [
        (".eval()", ".detach().cpu()", [5]),
        ("", ".detach().cpu()", []),
        (".eval()", "", []),
        (".train()", ".detach()", []),
    ],
)
def test_a_model_that_is_kept_in_evaluation_mode(mode: str, end: str, lines: list[int]) -> None:
    assert found(KEPT.format(mode=mode, end=end)) == lines


def test_an_evaluation_step_of_a_framework_that_a_program_calls_itself() -> None:
    body = "def run(model, batches):\n    model.eval()\n    for batch in batches:\n        {}\n"
    assert found(body.format("print(model.validation_step(batch))")) == [1]
    assert found(body.format("with torch.no_grad():\n            print(model.validation_step(batch))")) == []
    assert found(body.format("print(model.generate(batch))")) == []
    assert found(body.format("model.training_step(batch)")) == []


METHOD_TRAINED_BY = """
def teach(model, batches):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in batches:
        optimizer.zero_grad()
        scores, choices = {taught}
        F.cross_entropy(scores, y).backward()
        optimizer.step()
def choose(model, batches):
    kept = list()
    for x in batches:
        {guard}_, choices = model.predict(x, legal=True)
        kept.append(choices)
    return kept
def measure(model, batches):
    {mode}
    return choose(model, batches)
"""


@pytest.mark.parametrize(
    ("taught", "mode", "guard", "lines"),
    [
        ("model.predict(x)", "model.eval()", "", [9]),
        ("model.score(x)", "model.eval()", "", []),  # then `predict` may be for answers alone
        ("model.predict(x)", "model.train()", "", []),
        ("model.predict(x)", "model.eval()", "with torch.no_grad(): ", []),
    ],
)
def test_a_method_over_whose_answer_a_backward_runs_records_one_elsewhere(
    taught: str, mode: str, guard: str, lines: list[int]
) -> None:
    body = METHOD_TRAINED_BY.format(taught=taught, mode=mode, guard=guard)
    assert found(f"import torch.nn.functional as F{body}") == lines


def test_an_evaluation_step_that_is_seen_is_what_it_is() -> None:
    body = (
        "class Net(nn.Module):\n    @torch.no_grad()\n    def test_step(self, x):\n        return self.net(x)\n"
        "def run(batches):\n    model = Net()\n    model.eval()\n    for x in batches:\n"
        "        print(model.test_step(x))\n"
    )
    assert found(body) == []


def test_what_a_guarded_forward_is_given_by_a_model_in_evaluation_mode_is_inferred_too() -> None:
    body = "def f(net, x):\n    {}\n    state = net(x)\n    with torch.no_grad():\n        return net(state).argmax()\n"
    assert found(body.format("net.eval()")) == [1]
    assert found(body.format("net.parameters()")) == []


def test_that_a_drawn_action_is_read_as_an_array_says_nothing_of_the_policy() -> None:
    body = (
        "from torch.distributions import Normal\n"
        "class Policy(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.net = nn.Linear(3, 3)\n"
        "    def act(self, x):\n        pi = Normal(self.net(x), 1.0)\n        action = pi.sample()\n"
        "        return action, pi.log_prob(action)\n"
        "def play(policy, env, x):\n    for _ in range(9):\n        action, _ = policy.act(x)\n"
        "        x = torch.as_tensor(env.step(action.numpy()))\n"
        "def learn(env, x):\n    policy = Policy()\n    play(policy, env, x)\n    policy.act(x)[1].mean().backward()\n"
    )
    assert found(body) == [10]


SCRIPT = "from PIL import Image\nmodel = torch.load('scaler.pt').cuda()\nout = model(torch.load('photo.pt')).cpu()\n"


@pytest.mark.parametrize(
    ("rest", "infers"),
    [
        ("print(out[0].detach().numpy())", [3]),
        ("print(out.data.clamp(0, 1))", [3]),
        ("print(out[0].numpy())", []),
        ("print(out.mean().item())", []),
        ("keep(out.detach())\ntrain(out)", []),
        ("print(out.detach())\nnn.Linear(3, 3)(out.detach()).sum().backward()", []),
        ("torch.optim.SGD(model.parameters(), lr=0.1).step()\nprint(out.detach())", []),
    ],
)
def test_a_script_that_runs_a_loaded_model_and_detaches_what_it_gives(rest: str, infers: list[int]) -> None:
    assert found(f"{SCRIPT}from elsewhere import keep, train\n{rest}\n") == infers


def test_what_is_called_of_a_checkpoint_is_not_known() -> None:
    assert found("decode = torch.load('codes.pt')['decode']\nprint(decode(torch.load('x.pt')).detach())\n") == []


PIPELINE = """from diffusers import DiffusionPipeline, UNet2DConditionModel
from transformers import CLIPTextModel
class Painter(DiffusionPipeline):
    def __init__(self, unet: UNet2DConditionModel, text_encoder: CLIPTextModel, scheduler):
        super().__init__()
        self.register_modules(unet=unet, text_encoder=text_encoder, scheduler=scheduler)
    def _encode(self, prompt):
        return self.text_encoder(prompt)[0]
    {guard}
    def __call__(self, prompt, noise, show=None):
        words = self._encode(prompt)
        with self.progress_bar(total=50) as bar:
            for t in self.scheduler.timesteps:
                noise = self.scheduler.step(self.unet(noise, t, words), t, noise).prev_sample
                show(noise)
        {steered}
        return noise
"""

STEERED = """for t in self.scheduler.timesteps:
            noise = noise.detach().requires_grad_()
            self.unet(noise, t, words{cut})
            sum(layer.seen.norm() for layer in self.unet.children()).backward()
            noise = noise - noise.grad"""


@pytest.mark.parametrize(
    ("guard", "steered", "infers"),
    [
        ("", "", [10]),
        ("@torch.no_grad()", "", []),
        ("", STEERED.format(cut=""), [14]),
        ("", STEERED.format(cut=".detach()"), [11, 14]),
    ],
)
def test_the_call_of_a_pipeline_needs_a_graph_only_where_it_steers(guard: str, steered: str, infers: list[int]) -> None:
    assert found(PIPELINE.format(guard=guard, steered=steered)) == infers


def test_the_call_of_an_object_that_is_no_pipeline_may_be_trained_on() -> None:
    assert found(PIPELINE.format(guard="", steered="").replace("DiffusionPipeline", "Painting")) == []


SCORED = "    net = nn.Linear(3, 3)\n    assert net({x}).argmax(1).shape == (2,)\n"


@pytest.mark.parametrize(
    "test",
    [
        "def test_shapes(x):\n" + SCORED,
        "class TestShapes:\n    def test_them(self, x):\n" + SCORED.replace("    ", "        "),
        "import pytest\n@pytest.fixture\ndef scores(x):\n" + SCORED.replace("assert", "return"),
        "from unittest import TestCase\nclass Shapes(TestCase):\n    def check(self, x):\n"
        + SCORED.replace("    ", "        "),
        "def check(x):\n" + SCORED + "def test_check(x):\n    check(x)\n    assert True\n",
        "import unittest\nclass Mixin:\n    def test_them(self):\n        x = load()\n"
        + SCORED.replace("    ", "        "),
        "import unittest\nclass Maker:\n    def check(self, x):\n"
        + SCORED.replace("    ", "        ").replace("assert ", "self.case.assertEqual(").replace(" ==", ",").rstrip()
        + ")\n",
        "def test_shapes():\n    x = load()\n" + SCORED + "if __name__ == '__main__':\n    test_shapes()\n",
        "def check(x):\n" + SCORED + "def test_check(x):\n    check(x)\n",
        "class _ShapesTestCase(object):\n    def test_them(self, x):\n" + SCORED.replace("    ", "        "),
    ],
)
def test_a_unit_test_is_no_inference(test: str) -> None:
    assert found(test.format(x="x")) == []


@pytest.mark.parametrize(
    "program",
    [
        "def test_all(x):\n    net = nn.Linear(3, 3)\n    print(net(x).argmax(1))\n",  # nothing is expected
        "def test_all(x):\n" + SCORED + "test_all(load())\n",
        "class Trainer:\n    def test_all(self, x):\n" + SCORED.replace("    ", "        "),
        "def check(x):\n" + SCORED,
    ],
)
def test_what_is_only_called_a_test_may_be_inference(program: str) -> None:
    assert len(found(program.format(x="x"))) == 1


@pytest.mark.parametrize(("maker", "expected"), [("test_sketch", []), ("draw", [5])])
def test_what_only_tests_make_is_run_by_tests(maker: str, expected: list[int]) -> None:
    body = "class Sketch(DiffusionPipeline):\n    def __init__(self, unet: nn.Module):\n        super().__init__()\n"
    body += "        self.register_modules(unet=unet)\n    def __call__(self, x):\n        return self.unet(x)\n"
    body += f"def {maker}():\n    sketch = Sketch(nn.Linear(3, 3))\n    assert sketch.device == 'cpu'\n"
    assert found("from diffusers import DiffusionPipeline\n" + body) == [line + 1 for line in expected]


@pytest.mark.parametrize(("other", "expected"), [("render.set_steps(3)", []), ("render.float()", [1])])
def test_what_is_moved_and_has_other_methods_may_only_hold_modules(other: str, expected: list[int]) -> None:
    body = f"def picture(words, cls):\n    render = cls.of(words)\n    render.to('cuda')\n    {other}\n"
    assert found(body + "    return render(words)[0].argmax()\n") == expected
    made = f"def ready(cls):\n    render = cls.of(3)\n    {other}\n    return render\n"
    used = (
        "def picture(words, cls):\n    render = ready(cls)\n    render.to('cuda')\n    return render(words).argmax()\n"
    )
    assert found(used + made) == expected


def test_a_unit_test_over_a_loader_is_inference() -> None:
    test = (
        "from torch.utils.data import DataLoader\ndef test_all(data):\n    hits, net = 0, nn.Linear(3, 3)\n"
        "    for x in DataLoader(data):\n        {use}net(x){end}\n    assert hits\n"
    )
    assert found(test.format(use="hits += ", end=".argmax(1).sum().item()")) == [2]
    assert found(test.format(use="", end="")) == []
    tasks = test.replace("DataLoader(data)", "enumerate(load(data))")
    assert found(tasks.format(use="hits += ", end=".argmax(1).sum().item()")) == [2]


def test_what_a_method_puts_on_its_own_object_is_seen() -> None:
    body = (
        "class Actor:\n    def __init__(self):\n        self.net = nn.Linear(3, 3)\n"
        "    def act(self, x):\n        self.logits = self.net(x)\n        return self.logits.argmax(1)\n"
    )
    assert found(body) == [4]


def test_what_goes_into_an_object_that_was_given_is_used_elsewhere() -> None:
    body = (
        "class Reader:\n    def __init__(self):\n        self.net = nn.Linear(3, 3)\n"
        "    def read(self, state, x):\n        h = self.net(x)\n        {keep}\n"
        "    def run(self, states, x):\n        for state in states:\n            self.read(state, x)\n"
    )
    assert found(body.format(keep="state.words[0] = h")) == []
    assert found(body.format(keep="print(h.argmax(1))")) == [4]


@pytest.mark.parametrize(("base", "expected"), [("Model", []), ("object", [4]), ("nn.Module", [4])])
def test_a_base_that_is_not_seen_may_train_on_what_its_methods_return(base: str, expected: list[int]) -> None:
    body = f"class Fitted({base}):\n    def __init__(self):\n        self.net = nn.Linear(3, 3)\n"
    assert (
        found(
            body + "    def ask(self, x):\n        self.net.eval()\n        self.eval()\n        return self.net(x)\n"
        )
        == expected
    )


def test_a_part_of_a_module_may_be_trained_in_evaluation_mode() -> None:
    body = "class Prior(nn.Module):\n    def __init__(self):\n        self.net = nn.BatchNorm1d(3)\n"
    method = "    def means(self, x):\n        {}.eval()\n        return self.net(x)\n"
    assert found(body + method.format("self.net")) == []
    assert found(body + method.format("self")) == [4]


def test_a_method_without_arguments_computes_nothing_new() -> None:
    body = (
        "def show(model, x):\n    model.eval()\n    with torch.no_grad():\n        model.test(x)\n"
        "    return model.{}.detach()\n"
    )
    assert found(body.format("images()")) == []
    assert found(body.format("draw(x)")) == [1]


def test_what_is_prepared_for_a_function_that_all_callers_guard_is_left_out_of_the_guard() -> None:
    body = (
        "def search(policy, scale, x):\n    policy.eval()\n    scale = nn.Linear(3, 3)\n    rows = {}\n"
        "    def ask():\n        return policy(rows)\n"
        "    with torch.no_grad():\n        return ask().argmax(1)\n"
    )
    assert found(body.format("scale(x)")) == []


MIXER = """
class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.parts = nn.Linear(3, 3), nn.ModuleList([nn.Linear(3, 3)])

    def forward(self, x):
        return self.mixed(x) + 1

    def mixed(self, x):
        {}
"""


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("return self.body(x)", []),
        ("rows = torch.zeros_like(x); rows[:2] = self.body(x); return rows.view(-1)", []),
        ("rows = x.new_zeros(3); rows[0] += self.parts[0](x); return {'rows': rows}", []),
        ("rows = torch.zeros_like(x); rows[:2] = self.body(x); return rows.sum().item()", [10]),
        ("self.eval(); return self.body(x)", [10]),
        ("return self.body(x).argmax(1)", [10]),
        ("print(self.body(x).argmax(1))", [10]),
    ],
)
def test_what_a_method_of_a_module_returns_is_its_callers(body: str, lines: list[int]) -> None:
    assert found(MIXER.format(body)) == lines


def test_a_call_that_is_wrapped_is_a_forward() -> None:
    body = "class Wrapped(Model, nn.Module):\n    def __call__(self, x):\n        return super().__call__(x)\n"
    assert found(body) == []


def test_what_layers_are_made_by_is_a_class() -> None:
    body = "def stage(block: nn.Module, width, depth):\n    rows = []\n    rows.append(block(width, 3))\n"
    body += "    for _ in range(depth):\n        rows.append(block(3, 3))\n    return nn.Sequential({})\n"
    assert found(body.format("*rows")) == []
    pooled = "def f(block: nn.Module, x):\n    block.eval()\n    rows = [block(x)]\n    return rows, nn.Sequential()\n"
    assert found(pooled) == [1]


def test_a_probe_that_goes_through_all_layers() -> None:
    body = MIXER.format("pass") + "\n    def width(self):\n        x = {}\n"
    body += "        for i, _ in enumerate(self.parts):\n            x = self.parts[i](x)\n        return x.size(1)\n"
    assert found(body.format("torch.randn(2, 3)")) == []
    assert found(body.format("load()")) == [13]


def test_what_all_callers_detach_has_no_graph() -> None:
    body = "def scale(values):\n    net = nn.Linear(3, 3)\n    return net(values).argmax(1)\n"
    body += "def f(layer: nn.Linear):\n    return scale(layer.weight{})\n"
    assert found(body.format(".detach()")) == []
    assert found(body.format("")) == [1]


def test_volatile_by_a_helper() -> None:
    body = "from torch.autograd import Variable\n"
    body += "def batch(x, evaluating):\n    return Variable(x, volatile=evaluating)\n"
    body += "def score(model, x):\n    model.eval()\n    return model(batch(x, True)).data[0]\n"
    assert found(body) == []
    assert found(body + "def place():\n    return torch.device(0)\n") == [4]


def test_metrics_of_what_others_predicted() -> None:
    head = "class Task(nn.Module):\n    def __init__(self, metrics: list):\n        super().__init__()\n"
    head += "        self.metrics = nn.ModuleList([nn.Linear(3, 3)])\n"
    body = head + "    def note(self, predicted, wanted):\n        for one in self.metrics:\n            {}\n"
    assert found(body.format("self.log('a', one(predicted, wanted))")) == []
    assert found(body.format("self.log('a', one(predicted))")) == [5]


def test_a_learner_that_is_given_its_own_loss_differentiates() -> None:
    body = "def adapted(x, y, {}):\n    learner = Model(nn.Linear(3, 3))\n    learner.eval()\n"
    body += "    for _ in range(3):\n        error = (learner(x) - y).sum()\n        {}learner.adapt(error)\n"
    assert found(body.format("n", "")) == []
    assert found(body.format("n", "print(learner.score(3)); n = ")) == [1]


def test_a_context_manager_removes_its_hook_after_the_block() -> None:
    source = """
from contextlib import contextmanager

@contextmanager
def recorded(net):
    rows = []
    handle = net.register_forward_hook(lambda m, i, o: rows.append(o))
    yield rows
    handle.remove()

def distance(extractor, a, b):
    with torch.no_grad(), recorded(extractor) as wanted:
        extractor(b)
    with recorded(extractor) as got:
        extractor(a)
    return sum((x - y).abs().mean() for x, y in zip(got, wanted))

def train(net, loader):
    extractor = nn.Linear(3, 3).eval().requires_grad_(False)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        loss = distance(extractor, net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
    assert found(source) == []


@pytest.mark.parametrize("write", ["band.copy_(self.body(x))", "band[:] = self.body(x)", "band.add_(self.body(x))"])
def test_what_is_written_into_a_view_of_the_result_leaves_with_it(write: str) -> None:
    body = (
        "class Blend(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body = nn.Linear(4, 4)\n"
        "    def strips(self, x):\n        sheet = torch.zeros(8, 4)\n        for i in range(2):\n"
        f"            band = sheet[i * 4 : i * 4 + 4]\n            {write}\n        return sheet.flip(0)\n"
    )
    assert found(body) == []
    assert found(body.replace("band = sheet", "band = torch.ones(8, 4)")) == [5]


def test_what_is_written_into_a_buffer_that_others_are_given() -> None:
    body = (
        "class Ledger(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.cell = nn.GRUCell(4, 4)\n        self.register_buffer('rows', torch.zeros(9, 4))\n"
        "    def write(self, at, x):\n        self.rows[at] = self.cell(x, self.rows[at])\n"
        "    def forward(self, at):\n        return self.rows[at]\n"
    )
    assert found(body) == []


SAMPLER = """
class Sampler(nn.Module):
    def __init__(self):
        super().__init__()
        self.head, self.cell = nn.Linear(4, 4), nn.GRUCell(4, 4)
        self.log_prob, self._notes, self._last = 0, [], None
    def sample(self, x, sites):
        self.log_prob = 0
        for site in sites:
            self._site(x)
    def _site(self, x):
        h = self.cell(x)
        self._last = self.head(h)
        self._notes.append(h)
        self.log_prob += self._last.log_softmax(0).sum() + torch.stack(self._notes).sum()
"""


def test_what_an_object_shows_to_a_trainer_elsewhere() -> None:
    assert every_code(SAMPLER) == []
    assert every_code(SAMPLER.replace("log_prob", "_log_prob")) == ["TLK201", "TLK111"]
    assert every_code(SAMPLER + "    def best(self):\n        return float(self.log_prob)\n") == ["TLK201", "TLK111"]


@pytest.mark.parametrize(("asked", "infers"), [("self.owner.part()", []), ("self.owner.part(x)", [6])])
def test_what_is_asked_for_without_data_is_no_forward(asked: str, infers: list[int]) -> None:
    body = f"""class Step:
    def run(self, x, y):
        part = {asked}
        part.backward()

    def tidy(self, x):
        {asked}.clean()
"""
    assert found(body) == infers


@pytest.mark.parametrize(
    ("given", "lines"),
    [("waves", []), ("Variable(waves)", [10]), ("torch.autograd.Variable(waves, volatile=True)", [])],
)
def test_data_for_torch_before_0_4_that_come_wrapped_may_be_volatile(given: str, lines: list[int]) -> None:
    body = (
        "from torch.autograd import Variable\n"
        "def fit(model, optimizer, quakes):\n"
        "    for waves, magnitude in quakes:\n"
        "        error = (model(waves) - magnitude).pow(2).mean()\n"
        "        error.div(2).backward()\n"
        "        optimizer.step()\n"
        "        print(error.data[0])\n\n"
        "def listen(quakes):\n    model = nn.Linear(3, 1)\n    model.eval()\n    total = 0\n"
        f"    for waves, magnitude in quakes:\n        total += (model({given}) - magnitude).abs().data[0]\n"
        "    return total\n"
    )
    assert found(body) == [line - 1 for line in lines]


@pytest.mark.parametrize(("reward", "lines"), [("move.reinforce(gain)", []), ("print(gain)", [2])])
def test_a_draw_that_is_reinforced_has_a_graph_in_the_first_versions_of_torch(reward: str, lines: list[int]) -> None:
    body = (
        "net = nn.Sequential(nn.Linear(9, 9), nn.Softmax())\n"
        "def choose(board):\n    move = net(board).multinomial(1)\n    net.moves.append(move)\n    return move.data\n\n"
        "def learn(optimizer, gains):\n"
        f"    for move, gain in zip(net.moves, gains):\n        {reward}\n"
        "    torch.autograd.backward(net.moves, [None for _ in net.moves])\n    optimizer.step()\n"
    )
    assert found(body) == lines


def test_what_a_method_hands_its_own_object_to_is_no_loss() -> None:
    body = (
        "class Engine:\n    def __init__(self, owner):\n        self.owner = owner\n"
        "    def learn(self, error, optimizer):\n        net = self.owner.find_net()\n"
        "        net.backward(self, error, optimizer)\n"
        "    def clip(self):\n        net = self.owner.find_net()\n        net.clip_all(3)\n"
    )
    assert found(body) == []


@pytest.mark.parametrize(
    ("frozen", "level", "kept"),
    [
        ("self.body.requires_grad_(False)", "note", "from its first part on that is not frozen"),
        ("pass", "warning", "every activation is kept"),
    ],
)
def test_a_body_that_is_frozen_under_a_head_keeps_little(frozen: str, level: str, kept: str) -> None:
    rule = rule_of("TLK201")
    assert rule is not None
    body = (
        "class Birds(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body = nn.Linear(16, 16)\n        self.head = nn.Linear(16, 4)\n"
        f"    def settle(self):\n        {frozen}\n"
        "    def forward(self, song):\n        return self.head(self.body(song))\n"
        "birds = Birds()\nbirds.settle()\n"
        "def name(song):\n    return birds(song).argmax().item()\n"
    )
    (diagnostic,) = check(Source("program.py", HEAD + body), [rule]).diagnostics
    assert diagnostic.level.value == level
    assert kept in diagnostic.message


@pytest.mark.parametrize(("drawn", "lines"), [("multinomial()", []), ("multinomial(1)", [6])])
def test_a_draw_as_before_torch_0_4_of_what_comes_wrapped(drawn: str, lines: list[int]) -> None:
    body = (
        "class Dealer(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.odds = nn.Linear(4, 4)\n    def forward(self, hand):\n        return self.odds(hand)\n"
        f"    def draw(self, hand):\n        return self(hand).exp().{drawn}\n"
    )
    assert found(body) == [line + 1 for line in lines]


def test_what_a_function_computes_of_rows_that_were_written_is_used() -> None:
    body = (
        "class Mixer(nn.Module):\n    def __init__(self, mix):\n        super().__init__()\n"
        "        self.mix, self.query = mix, nn.Linear(4, 4)\n"
        "    def fold(self, x):\n        return x.reshape(2, -1).transpose(0, 1)\n"
        "    def forward(self, x):\n        return self.mix(self, x)\n\n"
        "class ByRows:\n    def __call__(self, mixer: Mixer, x):\n        asked = mixer.query(x)\n"
        "        rows = torch.zeros(8, 4)\n        for i in range(8):\n            rows[i] = asked[i]\n"
        "        return mixer.fold(rows)\n\nmixer = Mixer(ByRows())\n"
    )
    assert found(body) == []


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("self.words(x)", 6),  # what the caller trains on
        ("self.words(x).detach()", 5),
    ],
)
def test_what_others_train_on_is_not_guarded_with_the_rest(given: str, line: int) -> None:
    body = (
        "class Picker:\n    def __init__(self):\n        self.words, self.scores = nn.Linear(4, 4), nn.Linear(4, 4)\n"
        "        self.optimizer = torch.optim.SGD(self.words.parameters(), 0.1)\n"
        "    def encode(self, x):\n        best = self.scores(x).argmax(1)\n"
        f"        return {given}, best\n"
        "    def step(self, x):\n        self.optimizer.zero_grad()\n        out, best = self.encode(x)\n"
        "        loss = (out * self.words.weight.mean())[best].mean()\n        loss.backward()\n"
        "        self.optimizer.step()\n"
    )
    assert found(body)[:1] == [line]


@pytest.mark.parametrize(("given", "is_repaired"), [("self.words(x)", False), ("x", True)])
def test_a_guard_around_all_of_it_is_safe_where_no_graph_leaves(given: str, is_repaired: bool) -> None:
    rule = rule_of("TLK201")
    assert rule is not None
    body = (
        "class Picker:\n    def __init__(self):\n        self.words, self.scores = nn.Linear(4, 4), nn.Linear(4, 4)\n"
        "    def encode(self, x):\n        best = self.scores(x).argmax(1)\n"
        f"        return {given}, best\n"
    )
    (diagnostic,) = check(Source("program.py", HEAD + body), [rule]).diagnostics
    assert (diagnostic.repair is not None and diagnostic.repair.safe) == is_repaired


TAUGHT = """def taught(student, teacher, measure, x, y):
    aim = {}
    out = student(x)
    return {}
"""


@pytest.mark.parametrize(
    ("aim", "returned", "code", "lines"),
    [
        ("teacher(x)", "measure(out, aim.detach())", "TLK203", [2]),  # not all of it: the student's graph leaves
        ("teacher(x)", "nn.functional.mse_loss(out, aim.detach())", "TLK203", [2]),
        ("teacher(x)", "measure(student, x, aim.detach())", "TLK203", [2]),
        ("teacher(x)", "nn.functional.mse_loss(out, aim.softmax(1).data)", "TLK203", [2]),
        ("teacher(x)", "nn.functional.mse_loss(out, aim)", "", []),  # who calls it may train both
        ("teacher(x)", "nn.functional.mse_loss(y, aim.detach())", "TLK201", [2]),
        ("teacher(x)", "nn.functional.mse_loss(torch.zeros(3), aim.detach())", "TLK201", [1]),
        ("teacher(x).detach()", "measure(out, aim)", "", []),
    ],
)
def test_a_target_beside_what_may_be_trained_is_guarded_by_itself(
    aim: str, returned: str, code: str, lines: list[int]
) -> None:
    body = TAUGHT.format(aim, returned)
    assert {one: found(body, one) for one in ("TLK201", "TLK203")} == {"TLK201": [], "TLK203": []} | (
        {code: lines} if code else {}
    )


@pytest.mark.parametrize(("given", "lines"), [("self.device", []), ("lambda: self.net(x)", [15])])
def test_a_function_runs_a_network_only_where_it_is_given_one(given: str, lines: list[int]) -> None:
    body = f"""def either(value, other):
    if value is not None:
        return value
    return other() if callable(other) else other

class Sampler(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts, self.net = nn.ModuleList(parts), nn.Linear(3, 3)
    @property
    def device(self):
        return self.net.device
    def forward(self, x, y, noise=None):
        return (either(noise, lambda: self.net(x)) - y).pow(2).mean()
    def move(self, x, device=None):
        device = either(device, {given})
        self.parts.to(device)
        self.moved = -1

def sample(loader):
    with torch.no_grad():
        Sampler([])(loader, loader)
"""
    assert found(body) == lines


MEASURES = """class Soft:
    def __init__(self, reference):
        self.reference = reference.eval()
    def __call__(self, x, logits):
        soft = self.reference(x)
        return {}
"""


@pytest.mark.parametrize(
    ("returned", "line"),
    [("(logits - soft).pow(2).mean()", 5), ("soft.softmax(1)", 4), ("soft.softmax(1), x", 4)],
)
def test_a_loss_object_is_not_guarded_as_a_whole(returned: str, line: int) -> None:
    assert found(MEASURES.format(returned)) == [line]


PRUNED = """def main(net, tool, loader, optimizer):
    def fit():
        for x, y in loader:
            nn.functional.mse_loss(net(x), y).backward()
            optimizer.step()
    {handed}
    net.eval()
    for x, y in loader:
        print(net(x).argmax(1))
"""


@pytest.mark.parametrize("handed", ["tool.run = fit", "tool.prune(fit)", "fit()"])
def test_a_function_that_hands_out_a_training_is_not_guarded_as_a_whole(handed: str) -> None:
    assert found(PRUNED.format(handed=handed)) == [9]


PREPARED = """class Distilled:
    def loss(self, x, student, prepare):
        {guard}:
            out = self.teacher(x)
        out = prepare(out)
        return nn.functional.kl_div(student.log_softmax(1), out.softmax(1).detach())
"""


@pytest.mark.parametrize(("guard", "lines"), [("with torch.no_grad()", []), ("if x is not None", [5])])
def test_what_is_done_with_a_guarded_answer_is_left_out_on_purpose(guard: str, lines: list[int]) -> None:
    assert found(PREPARED.format(guard=guard)) == lines


@pytest.mark.parametrize(
    ("end", "lines"),
    [
        ("optimizer.step()\n        optimizer.zero_grad()", []),
        ("optimizer.step()", [1]),
        ("optimizer.zero_grad()", [1]),
    ],
)
def test_who_steps_and_zeroes_what_is_passed_trains(end: str, lines: list[int]) -> None:
    source = "def fit(model: nn.Module, loader, optimizer):\n    for x in loader:\n        print(model(x).argmax(1))\n"
    assert found(f"{source}        {end}\n") == lines


def test_a_method_of_a_model_without_arguments_is_no_forward() -> None:
    source = "model = nn.DataParallel(nn.Linear(3, 3))\nmodel.eval()\nmodel.module.{method}\n"
    assert found(source.format(method="fuse()")) == []


@pytest.mark.parametrize(("given", "lines"), [("-wanted.grad", []), ("-wanted.grad.data", []), ("", [])])
def test_a_backward_may_begin_with_a_gradient(given: str, lines: list[int]) -> None:
    source = "def improve(actor, critic, x):\n    actor.eval()\n    out = actor(x)\n    wanted = out.detach()\n"
    assert found(f"{source}    critic(wanted.requires_grad_()).sum().backward()\n    out.backward({given})\n") == lines


@pytest.mark.parametrize(
    ("kept", "read", "expected"),
    [
        ("self.rows.append((logits, reward))", "", []),
        ("self.rows.append(logits)", "", []),
        ("self.table[reward] = logits", "", []),
        ("self.rows.append(reward)", "", [5]),
        ("self.rows.append(logits)", "    def shown(self):\n        return [float(row) for row in self.rows]\n", [5]),
        ("self.rows.append(logits.detach())", "", [5]),
    ],
)
def test_what_an_object_only_collects_is_for_other_files_to_train_on(kept: str, read: str, expected: list[int]) -> None:
    body = (
        "class Actor(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.net, self.rows, self.table = nn.Linear(3, 3), [], {}\n"
        f"    def act(self, x, reward):\n        logits = self.net(x)\n        {kept}\n"
        f"        return logits.argmax(1).item()\n{read}"
    )
    assert found(body) == expected


EXPLAINED = """
from abc import abstractmethod
class Explainer(nn.Module):
    {decorator}
    def forward(self, net, x):
        {body}
class Explanation:
    def __init__(self, explainer: Explainer):
        self.explainer = explainer
    def explain(self, net, rows):
        net.eval()
        return [self.explainer(net, x).tolist() for x in rows]
"""


@pytest.mark.parametrize(
    ("decorator", "body", "is_told"),
    [
        ("@abstractmethod", '"""Explain what a network gives for a row."""', False),
        ("", "raise NotImplementedError", False),
        ("", "return net(x)", True),
    ],
)
def test_a_forward_that_is_left_to_subclasses_may_differentiate(decorator: str, body: str, is_told: bool) -> None:
    lines = found(EXPLAINED.format(decorator=decorator, body=body))
    assert bool(lines) is is_told


WALK = """
from collections import defaultdict
class Agent:
    def __init__(self):
        self.net = nn.Linear(4, 4)
        self.optimizer = torch.optim.Adam(self.net.parameters())
    def act(self, seen):
        out = self.net(torch.as_tensor(seen))
        return out.argmax(), out.sum()
    def learn(self, walk):
        {learnt}
def collect(agent, world):
    walk, seen = {walk}, world.reset()
    for _ in range(10):
        move, hope = agent.act(seen)
        seen = world.step(move.item())
        walk["hope"].append(hope)
    return walk
def main(world):
    agent = Agent()
    for _ in range(100):
        agent.learn(collect(agent, world))
"""

TRAINS = """loss = torch.stack([x for x in walk["hope"]]).sum()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()"""


@pytest.mark.parametrize("walk", ["defaultdict(list)", "defaultdict(lambda: [])", "{'hope': []}"])
@pytest.mark.parametrize(("learnt", "is_told"), [(TRAINS, False), ("return len(walk['hope'])", True)])
def test_what_is_trained_on_may_have_come_through_a_dict_of_lists(walk: str, learnt: str, is_told: bool) -> None:
    assert bool(found(WALK.format(walk=walk, learnt=learnt))) is is_told


ASKED = (
    "class Task:\n"
    "    def __init__(self, net):\n"
    "        self.net = net\n"
    "    def run(self, x, training=False):\n"
    "        self.net.train(training)\n"
    "        return self.net(x)\n"
)


def test_evaluation_mode_where_a_flag_is_left_out() -> None:
    assert found(ASKED + "    def answer(self, x):\n        return self.run(x)\n") == [4]
    asked_on = "    def answer(self, x, training=False):\n        return self.run(x, training)\n"
    assert found(ASKED + asked_on) == [4]


@pytest.mark.parametrize("call", ["self.run(x, True)", "self.run(x, training=flag)", "self.run(x, **given)"])
def test_a_flag_that_is_passed_may_ask_for_a_training(call: str) -> None:
    assert found(ASKED + f"    def answer(self, x, flag, given):\n        return {call}\n") == []


def test_a_flag_that_nobody_is_seen_to_leave_out() -> None:
    assert found(ASKED) == []


def test_a_mode_flag_of_another_network() -> None:
    body = ASKED.replace("self.net.train(training)", "self.teacher.train(training)")
    assert found(body + "    def answer(self, x):\n        return self.run(x)\n") == []


def test_a_flag_that_is_on_by_default() -> None:
    body = ASKED.replace("training=False", "training=True")
    assert found(body + "    def answer(self, x):\n        return self.run(x)\n") == []


EXPLAINER = (
    "class Explainer(nn.Module):\n"
    "    def __init__(self, net):\n"
    "        super().__init__()\n"
    "        self.net = net\n"
    "    def explain(self, model: nn.Module, x):\n"
    "        odds = {}(x).softmax(-1)\n"
    "        return search(x), {}\n"
)


def test_a_method_of_a_module_that_reads_numbers_of_a_network_it_was_given() -> None:
    assert found(EXPLAINER.format("model", "odds[0].item()")) == [6]


@pytest.mark.parametrize(
    ("network", "result"), [("self.net", "odds[0].item()"), ("model", "odds"), ("model", "read(odds)")]
)
def test_a_method_of_a_module_whose_own_layers_decide_or_that_gives_the_graph_on(network: str, result: str) -> None:
    assert found(EXPLAINER.format(network, result)) == []


def test_a_network_that_is_run_for_what_its_hooks_keep() -> None:
    body = EXPLAINER.format("model", "1").replace("odds = model(x).softmax(-1)", "model(x)")
    assert found(body) == []


COMPONENTS = (
    "from diffusers import DiffusionPipeline\n"
    "class Sketch(DiffusionPipeline):\n"
    "    def __init__(self, {part}, scheduler):\n"
    "        super().__init__()\n"
    "        self.register_modules({part}={part}, scheduler=scheduler)\n"
    "    def __call__(self, x):\n"
    "        x = x.to(self.{typed}.dtype)\n"
    "        return self.scheduler.step({called}, x)\n"
)


def test_a_component_of_a_pipeline_that_is_called_and_has_an_element_type() -> None:
    assert found(COMPONENTS.format(part="painter", typed="painter", called="self.painter(x)")) == [6]
    elsewhere = COMPONENTS.replace("from diffusers", "from ..pipelines")
    assert found(elsewhere.format(part="painter", typed="painter", called="self.painter(x)")) == [6]


@pytest.mark.parametrize(("typed", "called"), [("scheduler", "self.words(x)"), ("words", "self.words.encode(x)")])
def test_a_component_that_may_be_a_tokenizer(typed: str, called: str) -> None:
    assert found(COMPONENTS.format(part="words", typed=typed, called=called)) == []


def test_what_is_called_and_typed_in_a_class_that_is_no_pipeline() -> None:
    body = COMPONENTS.format(part="painter", typed="painter", called="self.painter(x)")
    assert found(body.replace("DiffusionPipeline", "Drawing")) == []


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ("{n: p.detach() for n, p in parts.items()}", [4]),
        ("[p.detach() for p in parts.values()]", [4]),
        ("parts.get('odds').detach()", [4]),
        ("{n: read(p) for n, p in parts.items()}", []),
        ("[parts, [p.detach() for p in self.search(parts).values()]]", []),
    ],
)
def test_an_answer_with_names_whose_parts_are_detached(parts: str, expected: list[int]) -> None:
    body = "class Asker:\n    def __init__(self, net):\n        self.net = net\n    def ask(self, x):\n"
    assert found(body + f"        parts = self.net(x)\n        return {parts}\n") == expected


ASKER = (
    "class Asker:\n"
    "    def __init__(self, net):\n"
    "        self.net = net\n"
    "    def prepare(self, path, optimizer):\n"
    "        {}\n"
    "    def best(self, x, optimizer):\n"
    "        return {}.argmax(1)\n"
)


@pytest.mark.parametrize(
    "told", ["torch.save(self.net.state_dict(), path)", "self.net.load_state_dict(load(path))", "self.net.train()"]
)
def test_what_is_called_and_has_a_state_or_a_mode_is_a_network(told: str) -> None:
    assert found(ASKER.format(told, "self.net(x)")) == [6]


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("self.net.save(path)", "self.net(x)"),
        ("self.net.state_dict()", "self.net.predict(x)"),  # as an estimator does
        ("rows = self.net.train(path)", "self.net(x)"),
        ("self.net.state_dict()", "self.net(x, torch.optim.SGD(self.weights, lr=0.1))"),
        ("self.net.state_dict()", "self.net(x, self.model.parameters())"),
        ("optimizer.state_dict()", "self.net(x)"),
    ],
)
def test_what_only_has_a_state_or_is_told_an_optimizer_may_be_anything(told: str, asked: str) -> None:
    assert found(ASKER.format(told, asked)) == []


def test_a_network_without_a_class_whose_state_is_read() -> None:
    body = (
        "def count(x):\n    net = load()\n    net.load_state_dict(load('net.pt'))\n    return net(x).argmax(1).item()\n"
    )
    assert found(body) == [1]
    assert found(body.replace("    return", "    with torch.no_grad():\n        return")) == []


@pytest.mark.parametrize(
    ("loaded", "asked", "expected"),
    [
        ("net.load_state_dict(load('net.pt'))", "net(x).argmax(1)", [5]),
        ("net.load_state_dict(load('net.pt'))", "net.predict(x).argmax(1)", []),
        ("load('net.pt')", "net(x).argmax(1)", []),
    ],
)
def test_a_network_of_a_whole_file_whose_state_is_read(loaded: str, asked: str, expected: list[int]) -> None:
    body = f"net = load()\n{loaded}\n\n\ndef answer(x):\n    return {asked}.tolist()\n"
    assert found(body) == expected


MOVED = """class Search:
    def __init__(self, net, device):
        self.net, self.device = {moved}, device
    def worth(self, x):
        return {asked}
    def more(self, x):
        {more}
"""


@pytest.mark.parametrize(
    ("filled", "expected"),
    [
        ({}, [4]),
        ({"moved": "net.cuda()"}, [4]),
        ({"asked": "torch.softmax(self.net(x), -1)[0].tolist()"}, [4]),
        ({"asked": "self.net(x)[0].squeeze(0).topk(3).indices.tolist()"}, [4]),
        ({"asked": "self.net(x).logits.argmax(-1).item()"}, [4]),
        ({"moved": "net"}, []),
        ({"asked": "self.net(x).mean().item()"}, []),  # a transform
        ({"asked": "self.net(x, x).item()"}, []),  # a metric
        ({"asked": "len(self.net(x).images)"}, []),  # a pipeline
        ({"asked": "self.net(x).softmax(-1)"}, []),  # whose graph leaves
        ({"more": "self.net.save(x)"}, []),
        ({"asked": "self.net.scores(x).softmax(-1)[0].item()"}, []),
    ],
)
def test_what_is_moved_and_gives_scores_is_a_network(filled: dict[str, str], expected: list[int]) -> None:
    plain = {"moved": "net.to(device)", "asked": "self.net(x).softmax(-1)[0].item()", "more": "pass"}
    assert found(MOVED.format(**{**plain, **filled})) == expected


LAYERS = """def squeeze(net, device):
    layers, rows = net.body.layers, load(net)
    for i in range(len(layers)):
        layer = layers[i].to(device)
        for j in range(len(rows)):
            {run}
        {away}
"""


@pytest.mark.parametrize(
    ("filled", "expected"),
    [
        ({}, [1]),
        ({"run": "rows[j] = layer(rows[j])[0].detach()"}, [1]),
        ({"away": "layers[i] = layer.to('cpu')"}, [1]),
        ({"away": "print(layer)"}, []),
        ({"run": "rows[j] = layer(rows[j]).images"}, []),
        ({"run": "rows[j] = layer(rows[j]) + layer.config.more"}, []),
        ({"run": "with torch.no_grad():\n                rows[j] = layer(rows[j])"}, []),
    ],
)
def test_what_is_moved_away_after_its_calls_takes_memory(filled: dict[str, str], expected: list[int]) -> None:
    plain = {"run": "rows[j] = layer(rows[j])", "away": "layers[i] = layer.cpu()"}
    assert found(LAYERS.format(**{**plain, **filled})) == expected


PROMPTS = """from diffusers import FluxPipeline
def draw(pipe, words, other):
    pipe = pipe.to("cuda")
    coded, pooled, rows = {coded}
    {then}
    return pipe(coded, pooled=pooled).images[0]
def main(words, encoder):
    encoder.requires_grad_({flag})
    pipe = FluxPipeline.from_pretrained("flux", {given})
    return draw(pipe, words, encoder)
"""


@pytest.mark.parametrize(
    ("filled", "expected"),
    [
        ({}, [2]),
        ({"flag": "True", "given": "text_encoder=encoder"}, [2]),
        ({"given": "text_encoder=encoder"}, []),
        ({"then": "loss = other(coded).sum()"}, []),
        ({"then": "return coded"}, []),
        ({"coded": "pipe.tokenize(words)"}, []),
    ],
)
def test_a_prompt_that_is_encoded_ahead_for_a_pipeline(filled: dict[str, str], expected: list[int]) -> None:
    plain = {"coded": "pipe.encode_prompt(words)", "then": "pass", "flag": "False", "given": ""}
    assert found(PROMPTS.format(**{**plain, **filled})) == expected


HANDING_OVER = """def train(model, criterion, loader, optimizer, scale):
    {mode}
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x), y)
        total += loss.item()
        {use}
    return total
"""


@pytest.mark.parametrize(
    ("mode", "use", "lines"),
    [
        ("model.train()", "norm = scale(loss, optimizer)", []),
        ("model.train()", "norm = scale(loss)", []),
        ("optimizer.zero_grad()", "norm = scale(loss, optimizer)", []),
        ("optimizer = torch.optim.Adam(model.parameters())", "norm = scale(loss, optimizer)", []),
        ("pass", "norm = scale(loss, parameters=model.parameters())", []),
        ("model.eval()", "norm = scale(loss)", [1]),
        ("model.train(False)", "norm = scale(loss)", [1]),
        ("model.eval()", "norm = loss.item()", [1]),
    ],
)
def test_who_is_given_what_trains_trains_on_the_loss(mode: str, use: str, lines: list[int]) -> None:
    assert found(HANDING_OVER.format(mode=mode, use=use)) == lines


@pytest.mark.parametrize("call", ["accelerator.unwrap_model(net)", "unwrap_model(net)"])
def test_what_is_unwrapped_is_a_module(call: str) -> None:
    body = f"""def preview(accelerator, net, loader, unwrap_model):
    bare = {call}
    return [bare(x).argmax(1).tolist() for x in loader]
"""
    assert found(body) == [1]
    own = "def unwrap_model(net):\n    return sorted\n\n" + body.replace(", unwrap_model", "")
    assert found(own.replace("accelerator.unwrap", "unwrap")) == []


@pytest.mark.parametrize(
    ("decorator", "lines"),
    [
        ("inference_only()", []),
        ("without_gradients", []),
        ("kit.eval_mode", []),
        ("timed", [3]),
        ("kit.register()", [3]),
    ],
)
def test_an_unseen_decorator_that_sounds_like_a_guard_may_be_one(decorator: str, lines: list[int]) -> None:
    name = decorator.partition("(")[0].partition(".")[0]
    body = f"from helpers import {name}\n@{decorator}\ndef best(x):\n    return nn.Linear(3, 3)(x).argmax(1)\n"
    assert found(body) == lines


def test_a_decorator_that_is_seen_is_judged_by_what_it_does() -> None:
    seen = "def without_gradients(function):\n    return function\n\n@without_gradients\n"
    assert found(seen + "def best(x):\n    return nn.Linear(3, 3)(x).argmax(1)\n") == [5]


def test_an_engine_may_train_on_what_its_step_is_given() -> None:
    body = """class Runner:
    def __init__(self, engine, loader):
        self.net, self.engine, self.loader = nn.Linear(3, 3), engine, loader

    def run(self):
        for x in self.loader:
            loss = self.net(x).mean()
            {}
"""
    assert found(body.format("self.engine.step(loss)")) == []
    assert found(body.format("self.engine.log(loss)")) == [5]


def test_a_model_that_nobody_makes_may_be_the_one_that_differentiates() -> None:
    field = """class Field(nn.Module):
    def forward(self, x):
        {}

def measure(net, loader):
    net.eval()
    return [net(x).argmax(1).tolist() for x in loader]
"""
    differentiating = field.format("return torch.autograd.grad(x.pow(3).sum(), x)[0]")
    assert found(differentiating) == []
    assert found(field.format("return x.pow(3)")) == [5]
    own = "\ndef best(x):\n    return nn.Linear(3, 3)(x)\n\ndef ask(x):\n    return best(x).argmax(1).tolist()\n"
    assert found(differentiating + own) == found(
        "\n" * differentiating.count("\n") + own
    )  # a function that is seen is none of that model


@pytest.mark.parametrize(
    ("answered", "then", "expected"),
    [
        ("torch.autograd.grad(x.pow(3).sum(), x)[0].detach()", "pass", []),
        ("x.pow(3)", "pass", ["TLK102", "TLK201"]),
        ("torch.autograd.grad(x.pow(3).sum(), x)[0]", "error.mean().backward()", ["TLK102"]),  # one has a graph
    ],
)
def test_what_is_kept_of_a_model_that_nobody_makes_may_be_detached(
    answered: str, then: str, expected: list[str]
) -> None:
    body = f"""class Field(nn.Module):
    def forward(self, x):
        return {answered}

def measure(net, loader):
    net.eval()
    errors = []
    for x, y in loader:
        error = (net(x) - y).abs()
        {then}
        errors.append(error)
    return torch.cat(errors).mean().item()
"""
    assert sorted(every_code(body)) == expected


PASSES = """def main(net, rows, others, optimizer):
    for x in rows:
        optimizer.zero_grad()
        net(x).sum().backward()
        optimizer.step()
    right = 0
    for x in others:
        {}
    return right
"""


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("right += net(x).argmax(1).sum().item()", [8]),
        ("answer = net(x)\n        right += answer.mean().item()", [8]),
        ("right += net(x).detach().mean()", []),  # gone with the statement
        ("with torch.no_grad():\n            right += net(x).mean()", []),
        ("net(x).sum().backward()\n        right += net(x).argmax(1).sum().item()", []),
        ("right = right + net(x).mean()", []),  # whose graph leaves, which other rules tell
        ("rows.hold(net(x))", []),
        ("optimizer.step(net(x).sum())", []),  # by one that differentiates what it is told
        ("net(x)\n        break", []),
        ("net(x)\n        if right:\n            break", [8]),
    ],
)
def test_a_pass_that_trains_nothing_in_a_function_that_trains(asked: str, expected: list[int]) -> None:
    assert found(PASSES.format(asked)) == expected


@pytest.mark.parametrize(("adapted", "expected"), [("learner.adapt(worst(learner(x)))", []), ("print(x)", [17])])
def test_a_pass_whose_function_adapts_what_it_is_given_differentiates(adapted: str, expected: list[int]) -> None:
    body = f"""class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
    def forward(self, x):
        return self.body(x)
def tried(learner, worst, x):
    {adapted}
    return worst(learner(x))
def main(rows, others, worst, clone):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x in rows:
        tried(clone(net), worst, x).backward()
        optimizer.step()
    for x in others:
        print(tried(net, worst, x).item())
"""
    assert found(body) == expected


@pytest.mark.parametrize(
    ("imported", "guard", "lines"),
    [
        ("kit.autograd", "quiet()", []),
        ("kit.guards", "at_rest()", []),
        ("kit.modes", "freeze_graph()", []),
        ("kit.clocks", "timed()", [2]),
    ],
)
def test_an_unseen_context_manager_that_sounds_like_a_guard_may_be_one(
    imported: str, guard: str, lines: list[int]
) -> None:
    body = f"from {imported} import {guard.removesuffix('()')}\ndef best(x):\n    with {guard}:\n"
    assert found(body + "        return nn.Linear(3, 3)(x).argmax(1)\n") == lines


def test_an_unseen_optimizer_may_be_applied_to_a_loss() -> None:
    body = """class Learner:
    def __init__(self, optimizer):
        self.net, self.optimizer = nn.Linear(3, 3), optimizer

    def update(self, x):
        loss = nn.functional.mse_loss(self.net(x), x)
        self.optimizer.apply({})
        return loss.item()
"""
    assert found(body.format("loss")) == []
    assert found(body.format("print")) == [5]


@pytest.mark.parametrize(("use", "lines"), [("adapt(loss)", []), ("adapt(loss.item())", [1]), ("print(loss)", [1])])
def test_a_function_that_is_passed_in_may_train_on_a_loss(use: str, lines: list[int]) -> None:
    body = f"""def score(model, loader, adapt):
    model.eval()
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        {use}
"""
    assert found(body) == lines


STYLE = """
from torchvision.models import vgg19

def paint(image, goals):
    net = vgg19().features.eval()
    found = {}
    def keep(name):
        def hook(module, args, out):
            found[name] = {kept}
        return hook
    handles = [net[i].register_forward_hook(keep(i)) for i in goals]
    image = image.clone().requires_grad_()
    optimizer = torch.optim.LBFGS([image])
    for _ in range(300):
        def closure():
            optimizer.zero_grad()
            net(image)
            loss = sum(nn.functional.mse_loss(found[name], goal) for name, goal in goals.items())
            loss.backward()
            return loss
        optimizer.step(closure)
    for handle in handles:
        handle.remove()
    return image.detach()
"""


@pytest.mark.parametrize(("kept", "count"), [("out", 0), ("out.detach()", 1)])
def test_a_closure_runs_while_the_hooks_of_the_function_around_are_there(kept: str, count: int) -> None:
    assert len(found(STYLE.replace("{kept}", kept))) == count


DETECTOR = """
class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.scores, self.boxes = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 4)
    def decoded(self, score, box):
        return torch.cat([score.sigmoid(), box], 1).cpu(){ending}
    def detect(self, images):
        features = self.body(images)
        rows = []
        for score, box in zip(self.scores(features), self.boxes(features)):
            rows.append(self.decoded(score, box))
        return rows
def main(loader):
    net = Detector()
    net.eval()
    for images in loader:
        print(net.detect(images))
"""


def test_where_one_forward_would_raise_those_beside_it_are_guarded_as_well() -> None:
    assert found(DETECTOR.format(ending=".numpy()")) == []
    assert len(found(DETECTOR.format(ending=".argmax(1)"))) == 1


JUDGED = """
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 4)
    def forward(self, x):
        return self.layer(x)
class Pair(nn.Module):
    def __init__(self, teacher, student):
        super().__init__()
        self.teacher, self.student = teacher, student
        teacher.requires_grad_(False)
    def forward(self, x):
        return (self.student(x) - self.teacher(x)).pow(2).mean()
def right(net, batches):
    net.eval()
    return sum((net(x).argmax(1) == y).sum().item() for x, y in batches)
def main(batches):
    teacher, student = Net(8), Net(8)
    pair = Pair(teacher, student)
    optimizer = torch.optim.Adam(student.parameters())
    for x, y in batches:
        loss = pair(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(right(teacher, batches), {student})
"""


@pytest.mark.parametrize(("student", "number"), [("right(student, batches)", 1), ("0", 0)])
def test_a_function_that_is_given_a_frozen_network_and_one_that_trains(student: str, number: int) -> None:
    assert len(found(JUDGED.format(student=student))) == number


FORCES = """
class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            energy = self.net(x).sum(1)
            grad, = torch.autograd.grad(energy.sum(), x, create_graph=self.training)
        forces = -grad
        if not self.training:
            return energy.detach(), forces.detach()
        return energy, forces
def fit(net, loader):
    optimizer = torch.optim.Adam(net.parameters())
    net.train()
    for x, y in loader:
        energy, forces = net(x)
        loss = (energy - y).abs().sum() + forces.pow(2).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
def main(loader):
    net = Potential()
    fit(net, loader)
    print(judge(net, loader))
def judge(net, loader):
    net.{mode}()
    error = 0.0
    for x, y in loader:
        energy, forces = net(x)
        error += (energy - y).abs().sum()
    return error.item()
"""


def test_to_a_network_that_is_evaluated_nothing_returns_that_is_made_in_training() -> None:
    assert every_code(FORCES.format(mode="eval")) == []
    assert "TLK101" in every_code(FORCES.format(mode="train"))


@pytest.mark.parametrize(
    ("run", "number"),
    [
        ("windows(x, 4, 2, model)", 1),
        ("windows(inputs=x, roi_size=4, sw_batch_size=2, predictor=model)", 1),
        ("windows(x, 4, 2, predictor=model, overlap=0.5)", 1),
        ("windows(*given)", 0),
        ("windows(x, 4, 2)", 0),
        ("SlidingWindowInferer(4)(x, model)", 1),
        ("SlidingWindowInferer(4)(inputs=x, network=model)", 1),
        ("run(x, 4, 2, model)", 0),
        ("odeint(model, x, times)[-1]", 1),
        ("odeint(model, x, t=times, method='rk4')[-1]", 1),
        ("odeint(func=model, y0=x, t=times)[-1]", 1),
        ("odeint(*given)", 0),
        ("odeint(model, x)", 0),
    ],
)
def test_functions_that_run_the_network_that_they_are_given(run: str, number: int) -> None:
    body = f"""
from monai.inferers import SlidingWindowInferer, sliding_window_inference as windows
from torchdiffeq import odeint
from elsewhere import run
def judge(model, loader, given, times):
    model.eval()
    return [{run}.argmax(1) for x in loader]
"""
    assert len(found(body)) == number


@pytest.mark.parametrize(
    ("kept", "number"),
    [
        ("beam = sorted(grown)[:width]", 1),
        ("beam = [one for one in grown[:width] if one[1]]", 1),
        ("beam = grown[-width:]", 1),
        ("beam = grown[:width]; outs.append(state)", 0),
    ],
)
def test_states_that_stand_beside_the_tokens_of_a_beam_stay_behind(kept: str, number: int) -> None:
    body = f"""
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(8, 8), nn.Linear(8, 30)
    def read(self, x, width):
        outs, beam = [], [(0.0, [1], torch.zeros(1, 8))]
        for _ in range(50):
            grown = []
            for score, tokens, state in beam:
                state = self.cell(x, state)
                best = self.out(state)[0].log_softmax(0).topk(width)
                grown += [(score + s, tokens + [t], state) for s, t in zip(best[0].tolist(), best[1].tolist())]
            {kept}
        outs.append([token for token in beam[0][1] if token != 1])
        return outs
def judge(model, loader):
    model.eval()
    return [model.read(x, 4) for x in loader]
def main(loader):
    judge(Reader(), loader)
"""
    assert len(found(body)) == number
