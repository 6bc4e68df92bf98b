"""What passes over data collect: where tensors are, what becomes of them, and what it costs."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from programs import Program
from projects import Project

from torchlint.facts.keeping.collection import Collecting
from torchlint.facts.keeping.fates import Fate, Fates
from torchlint.facts.values.extents import Extents, Size
from torchlint.facts.values.residence import Residence, Residences

PASS = """
def run(net, loader, device):
    net = net.to(device).eval()
    outs = []
    with torch.no_grad():
        for x, y in loader:
            {item}
    return {result}
"""


def ways(source: str) -> list[Collecting]:
    return [found.way for found in Program(source).facts.collections]


def residence(expression: str) -> Residence:
    program = Program(f"def run(x, net, device):\n    h = x.to(device)\n    print({expression})\n")
    return Residences(program.facts.flows).of(program.shown())


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x.to(device)", Residence.DEVICE),
        ("x.cuda()", Residence.DEVICE),
        ("net(h).softmax(1)", Residence.DEVICE),
        ("torch.cat([h, x])", Residence.DEVICE),
        ("torch.zeros(3, device='cuda')", Residence.DEVICE),
        ("h.cpu()", Residence.HOST),
        ("h.to('cpu')", Residence.HOST),
        ("h.to(torch.device('cpu')).float()", Residence.HOST),
        ("torch.zeros(3)", Residence.HOST),
        ("torch.zeros_like(h)", Residence.DEVICE),
        ("h.to(torch.float16)", Residence.DEVICE),
        ("x.to(h)", Residence.DEVICE),
        ("x * 2", Residence.UNKNOWN),
    ],
)
def test_where_a_tensor_is(expression: str, expected: Residence) -> None:
    assert residence(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("net(x)", Size.WHOLE),
        ("net(x).softmax(dim=1)", Size.WHOLE),
        ("net(x).argmax(1)", Size.CHOICE),
        ("net(x).mean(dim=0)", Size.REDUCED),
        ("net(x).sum()", Size.REDUCED),
        ("F.cross_entropy(net(x), y) * 2", Size.REDUCED),
        ("nn.CrossEntropyLoss()(net(x), y)", Size.REDUCED),
    ],
)
def test_how_much_of_a_batch_a_value_is(expression: str, expected: Size) -> None:
    facts = Program(f"net = nn.Linear(3, 3)\nfor x, y in DataLoader(data):\n    print({expression})\n")
    assert Extents(facts.facts.flows, facts.facts.steps).of(facts.shown()) is expected


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("return torch.cat(h).cpu()", {Fate.HOST}),
        ("return [part.tolist() for part in h]", {Fate.HOST}),
        ("torch.save(h, 'h.pt')", {Fate.HOST}),
        ("return torch.cat(h).numpy()", {Fate.IS_ON_HOST}),
        ("return torch.cat(h) @ w", {Fate.COMPUTED}),
        ("return torch.stack(h)", {Fate.LEAVES}),
        ("print(len(h))", set()),
        ("d = {'a': h, 'b': w}\n    return d['a'][0].cpu()", {Fate.HOST}),
        ("self.kept = torch.cat(h)\n    return self.kept.cpu()", {Fate.HOST}),
    ],
)
def test_what_becomes_of_a_list(use: str, expected: set[Fate]) -> None:
    program = Program(f"def run(self, x, w):\n    h = [x]\n    {use}\n")
    fates = Fates(program.facts.flows, Residences(program.facts.flows))
    assert {end.fate for end in fates.of(program.value("[x]"))} == expected


@pytest.mark.parametrize(
    ("item", "result", "expected"),
    [
        ("outs.append(net(x.to(device)))", "torch.cat(outs).cpu()", [Collecting.UNTIL_HOST]),
        ("outs.append(net(x.to(device)))", "torch.cat(outs)", [Collecting.UNTIL_DROPPED]),
        ("outs.append(net(x.to(device)).cpu())", "torch.cat(outs)", []),
        ("outs.append(net(x.to(device)))", "torch.cat(outs).numpy()", []),
        ("outs.append(net(x.to(device)))", "torch.cat(outs).std(0).cpu()", []),
        ("outs.append(net(x.to(device)).mean())", "torch.stack(outs).cpu()", []),
        ("outs.append(x.to(device))", "torch.cat(outs).cpu()", []),
        ("outs = outs + [net(x).item()]", "outs", []),
    ],
)
def test_a_list_of_outputs(item: str, result: str, expected: list[Collecting]) -> None:
    assert ways(PASS.format(item=item, result=result)) == expected


BY_NAME = """
def run(net, loader, device):
    net = net.to(device).eval()
    table = defaultdict({factory})
    with torch.no_grad():
        for x, y in loader:
            for name in ("a", "b"):
                {item}
    return {{name: torch.cat(parts){host} for name, parts in table.items()}}
"""


@pytest.mark.parametrize("item", ["table[name].append(net(x.to(device)))", "table[name] += [net(x.to(device))]"])
def test_lists_that_a_dictionary_makes_collect_too(item: str) -> None:
    head = "from collections import defaultdict\n"
    assert ways(head + BY_NAME.format(factory="list", item=item, host=".cpu()")) == [Collecting.UNTIL_HOST]
    assert ways(head + BY_NAME.format(factory="list", item=item, host=".mean()")) == []
    assert ways(head + BY_NAME.format(factory="window", item=item, host=".cpu()")) == []


JOINED = """
def run(net, loader, device):
    acc = torch.zeros(0, 3, device=device)
    with torch.no_grad():
        for x, y in loader:
            acc = torch.cat([acc, net({fed})])
            {more}
    return acc.mean()
"""


def test_joining_in_each_turn_copies() -> None:
    assert ways(JOINED.format(fed="x", more="print(acc.shape)")) == [Collecting.COPIES]


SEQUENCE = """
def forward(cell, x, state, cells):
    rows, steps, _ = x.shape
    states = None
    for t in {positions}:
        state = cell(x[:, t], {state})
        states = state if t == 0 else torch.cat((states, state), dim=1)
    return states
"""


@pytest.mark.parametrize(
    ("positions", "state", "expected"),
    [
        ("range(x.size(1))", "state", [Collecting.COPIES]),
        ("range(steps)", "state", [Collecting.COPIES]),
        ("range(1, x.shape[1])", "state", [Collecting.COPIES]),
        ("range(steps)", "states", []),
        ("range(steps // 4)", "state", []),
        ("range(4)", "state", []),
        ("range(len(cells))", "state", []),
        ("cells", "state", []),
    ],
)
def test_joining_along_a_sequence_copies(positions: str, state: str, expected: list[Collecting]) -> None:
    assert ways(SEQUENCE.format(positions=positions, state=state)) == expected


DRAWN = """
def run(net: nn.Module, batch, steps, size):
    last, drawn = None, []
    with torch.no_grad():
        for at in range(steps):
            drawn.append(net({part}.cuda()))
    return torch.cat(drawn).cpu()
"""


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("batch[at * size : (at + 1) * size]", [Collecting.UNTIL_HOST]),
        ("batch[at]", [Collecting.UNTIL_HOST]),
        ("batch[:, at : at + 1]", []),  # a step of each sample
        ("batch.steps[..., at]", []),
    ],
)
def test_a_counted_turn_takes_a_batch_of_its_own(part: str, expected: list[Collecting]) -> None:
    assert ways(DRAWN.format(part=part)) == expected


def test_what_each_turn_needs_is_not_collected() -> None:
    assert ways(JOINED.format(fed="acc", more="pass")) == []
    assert ways(JOINED.format(fed="x", more="acc = acc[-64:]")) == []


REMEMBERING = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.keys, self.seen = nn.Linear(3, 3), None
    def forward(self, x):
        keys = self.keys(x)
        if self.seen is not None:
            keys = torch.cat([self.seen, keys], 1)
        self.seen = keys
        {answer}

@torch.no_grad()
def decode(head: Head, x):
    for _ in range(100):
        x = head(x)
    return x
"""


def test_what_the_forward_of_each_turn_needs_is_not_collected() -> None:
    assert ways(REMEMBERING.format(answer="return x @ keys.transpose(1, 2)")) == []
    assert ways(REMEMBERING.format(answer="return x")) == [Collecting.COPIES]


STORE = """
class Answers:
    def __init__(self):
        self.rows, self.targets = [], []
    def put(self, rows, targets):
        self.rows.append(rows)
        self.targets.append(targets)
    def table(self):
        return torch.cat([row{moved} for row in self.rows]).numpy()
def run(net, loader, device):
    net = net.to(device).eval()
    answers = Answers()
    with torch.no_grad():
        for x, y in loader:
            answers.put({item}, y)
    return answers.table()
"""


@pytest.mark.parametrize(
    ("item", "moved", "expected"),
    [
        ("net(x.to(device))", ".cpu()", [Collecting.UNTIL_HOST]),
        ("net(x.to(device)).softmax(1)", ".cpu()", [Collecting.UNTIL_HOST]),
        ("net(x.to(device)).cpu()", ".cpu()", []),
        ("net(x.to(device)).argmax(1)", ".cpu()", []),
        ("F.cross_entropy(net(x.to(device)), y)", ".cpu()", []),
        ("x.to(device)", ".cpu()", []),
        ("net(x.to(device))", ".sum(0).cpu()", [Collecting.UNTIL_REDUCED]),
    ],
)
def test_an_object_that_collects_what_it_is_given(item: str, moved: str, expected: list[Collecting]) -> None:
    assert ways(STORE.format(item=item, moved=moved)) == expected


GROWN = """
def grown(old, new):
    return new if old is None else torch.cat([old, {joined}])
def run(net, loader, device):
    net, rows = net.to(device).eval(), None
    with torch.no_grad():
        for x, y in loader:
            rows = grown(rows, {item})
    return rows.cpu()
"""


@pytest.mark.parametrize(
    ("joined", "item", "expected"),
    [
        ("new", "net(x.to(device))", [Collecting.UNTIL_HOST]),
        ("new.flatten(1)", "net(x.to(device))", [Collecting.UNTIL_HOST]),
        ("new", "net(x.to(device)).cpu()", [Collecting.COPIES]),
        ("new.sum()", "net(x.to(device))", []),
    ],
)
def test_what_a_helper_joins_to_the_rest(joined: str, item: str, expected: list[Collecting]) -> None:
    assert ways(GROWN.format(joined=joined, item=item)) == expected


ROWS = """
def run(net, loader, device, form="rows", to_numpy=True, on_cpu=False):
    net.to(device).eval()
    rows = []
    for x, y in loader:
        with torch.no_grad():
            out = net(x)
            {put}
    {after}
    return rows
"""


@pytest.mark.parametrize(
    ("put", "after", "expected"),
    [
        ("rows.extend(out)", "rows = [row.cpu().numpy() for row in rows]", [Collecting.UNTIL_HOST]),
        ("rows.extend(out)", "rows = torch.stack(rows).cpu()", [Collecting.UNTIL_HOST]),
        ("for row in out: rows.append(row.detach())", "rows = torch.stack(rows).cpu()", [Collecting.UNTIL_HOST]),
        ("rows.extend(out.cpu())", "rows = torch.stack(rows)", []),
        ("rows.extend(x)", "rows = torch.stack(rows).cpu()", []),
        ("rows.extend(out)", "rows = torch.stack(rows) @ net.weight", []),
        ("rows.extend(out)", "pass", [Collecting.UNTIL_DROPPED]),
        ("rows.extend(out)", "rows = [r.cpu() for r in rows] if to_numpy else rows", [Collecting.UNTIL_DROPPED]),
    ],
)
def test_rows_of_outputs(put: str, after: str, expected: list[Collecting]) -> None:
    assert ways(ROWS.format(put=put, after=after)) == expected


@pytest.mark.parametrize(
    ("put", "expected"),
    [
        ("rows.append(out.cpu() if to_numpy else out)", [Collecting.UNTIL_DROPPED]),
        ("out = out.cpu() if form == 'numpy' else out; rows.extend(out)", [Collecting.UNTIL_DROPPED]),
        ("out = out if not to_numpy else out.cpu().numpy(); rows.append(out)", [Collecting.UNTIL_DROPPED]),
        ("rows.append(out.cpu() if on_cpu else out)", []),
        ("rows.append(out.cpu() if out.is_cuda else out)", []),
        ("rows.append(out.cpu() if device != 'cpu' else out)", []),
        ("rows.append(out.cpu() if len(rows) > 3 else out)", []),
        ("rows.append(out.cpu() if to_numpy else out.argmax(1))", []),
    ],
)
def test_outputs_that_an_option_moves(put: str, expected: list[Collecting]) -> None:
    assert ways(ROWS.format(put=put, after="pass")) == expected


def test_an_option_says_nothing_where_the_device_goes_on_with_what_is_left() -> None:
    put = "rows.append(out.cpu() if to_numpy else out)"
    assert ways(ROWS.format(put=put, after="rows = torch.cat(rows) @ net.weight")) == []


def test_a_forward_collects_what_its_layers_give() -> None:
    forward = "def forward(self, xs):\n        return [self.drop(x.to(self.place)) for x in xs]"
    head = "class Heads(nn.Module):\n    def __init__(self):\n        self.drop = nn.Linear(3, 3).cuda()\n    "
    assert ways(head + forward) == []
    assert ways(head + forward.replace("forward", "answers")) == [Collecting.UNTIL_DROPPED]


@pytest.mark.parametrize(
    ("moved", "expected"),
    [
        ("net.to(device)", Residence.DEVICE),
        ("net.cuda()", Residence.DEVICE),
        ("net.to('cpu')", Residence.HOST),
        ("net.to(torch.float16)", Residence.UNKNOWN),
        ("net.eval()", Residence.UNKNOWN),
    ],
)
def test_outputs_are_where_the_module_was_moved(moved: str, expected: Residence) -> None:
    program = Program(f"def run(x, device):\n    net = nn.Linear(3, 3)\n    {moved}\n    print(net(x))\n")
    assert Residences(program.facts.flows).of(program.shown()) is expected


def test_what_is_built_on_a_sequence_of_layers_is_a_module() -> None:
    made = "class Net(nn.Sequential):\n    pass\ndef run(loader, device):\n    net, rows = Net(nn.Linear(3, 3)), []\n"
    loop = "    for x in loader:\n        rows.append(net(x.to(device)))\n    return rows\n"
    assert ways(made + "    torch.set_grad_enabled(False)\n" + loop) == [Collecting.UNTIL_DROPPED]


WINDOWS = """
def run(predict, volume, weight, device):
    outs = []
    for {turn}:
        outs.append({item})
    return {result}
"""


@pytest.mark.parametrize(
    ("turn", "item", "result", "expected"),
    [
        ("w in volume", "predict(w)", "torch.cat(outs).cpu()", [Collecting.UNTIL_HOST]),
        ("w in volume", "predict(w.to(device))", "torch.cat(outs)", [Collecting.UNTIL_DROPPED]),
        (
            "i in range(0, len(volume), 8)",
            "predict(volume[i : i + 8])",
            "torch.cat(outs).cpu()",
            [Collecting.UNTIL_HOST],
        ),
        ("i in range(len(volume))", "predict(volume[i : i + 8])", "torch.cat(outs).cpu()", []),
        ("w in volume", "predict(weight)", "torch.cat(outs).cpu()", []),
        ("w in volume", "predict(w).cpu()", "torch.cat(outs)", []),
        ("w in volume", "predict(w)", "torch.stack(outs)", []),
        ("w in volume", "predict(w).sum()", "torch.stack(outs).cpu()", []),
        ("w in volume", "predict(w)", "torch.cat(outs) * weight", []),
        ("w in volume", "predict(w)", "sum(weight * out for out in outs)", []),
        ("w in ('left', 'right')", "predict(w)", "torch.cat(outs).cpu()", []),
        ("w in volume", "moved(predict(w.to(device)), 'cpu')", "torch.cat(outs)", []),
    ],
)
def test_a_function_that_is_given_may_be_the_model(
    turn: str, item: str, result: str, expected: list[Collecting]
) -> None:
    assert ways(WINDOWS.format(turn=turn, item=item, result=result)) == expected


CALLBACK = """
import lightning.pytorch as pl
class Targets(pl.Callback):
    def __init__(self):
        self.rows = []
    def {method}(self, trainer, module, outputs, batch, index, number=0):
        x, y = batch
        self.rows.append({item})
    def all(self):
        return torch.cat(self.rows){end}
"""


@pytest.mark.parametrize(
    ("method", "item", "end", "expected"),
    [
        ("on_predict_batch_end", "batch[1]", ".cpu()", [Collecting.UNTIL_HOST]),
        ("on_test_batch_end", "y", "", [Collecting.UNTIL_DROPPED]),
        ("on_validation_batch_end", "y.cpu()", "", []),
        ("on_validation_batch_end", "y", ".float().mean()", []),
        ("elsewhere", "y", "", []),
    ],
)
def test_a_batch_that_lightning_gives_is_on_the_device(
    method: str, item: str, end: str, expected: list[Collecting]
) -> None:
    assert ways(CALLBACK.format(method=method, item=item, end=end)) == expected


def test_joined_labels_and_what_is_the_next_input_are_left_alone() -> None:
    def copied(source: str) -> int:
        head = "net = nn.Linear(3, 3)\nnet.eval()\n"
        with_grad_off = head + "with torch.no_grad():\n" + "".join(f"    {line}\n" for line in source.splitlines())
        return len(Program(with_grad_off).facts.collections)

    turn = "{}\nfor x, y in DataLoader(data):\n    kept = torch.cat((kept, {}))\nprint(kept.sum())"
    assert copied(turn.format("kept = torch.tensor([])", "net(x)")) == 1
    assert copied(turn.format("kept = torch.tensor([], dtype=torch.long)", "y")) == 0
    assert copied(turn.format("kept = torch.zeros((0,), dtype=torch.long)", "net(x).argmax(1)")) == 0
    assert copied(turn.format("kept = torch.empty(0, 900, dtype=torch.long)", "net(x).argmax(1)")) == 1
    assert copied(turn.format("kept = torch.zeros((0, 900), dtype=torch.int32)", "net(x).argmax(1)")) == 1
    assert copied(turn.format("kept = torch.empty(0, 900, dtype=torch.long)", "net(x).sum()")) == 0
    turn = 'kept = {{"h": first}}\nfor x in DataLoader(data):\n    {}\n    kept["h"] = torch.cat((kept["h"], h))'
    assert copied(turn.format("h = net(x)")) == 1
    assert copied(turn.format("h = net(**kept)")) == 0


GRADIENTS = """
def run(net, loader, device):
    net = net.to(device)
    kept = []
    for x, y in loader:
        net.zero_grad()
        F.cross_entropy(net(x.to(device)), y).backward()
        kept.append({item})
    return {result}
"""


@pytest.mark.parametrize(
    ("item", "result", "expected"),
    [
        ("net.weight.grad.clone()", "torch.stack(kept).cpu()", [Collecting.UNTIL_HOST]),
        ("[p.grad.clone() for p in net.parameters()]", "[torch.stack(one).cpu() for one in zip(*kept)]",
         [Collecting.UNTIL_HOST]),
        ("net.weight.grad.clone()", "torch.stack(kept)", [Collecting.UNTIL_DROPPED]),
        ("net.weight.grad.clone()", "torch.stack(kept).mean(0)", []),
        ("net.weight.grad.norm()", "torch.stack(kept).cpu()", []),
        ("net.weight.grad.cpu()", "torch.stack(kept).numpy()", []),
    ],
)  # fmt: skip
def test_the_gradients_of_all_steps_are_as_large_as_the_weights_each(
    item: str, result: str, expected: list[Collecting]
) -> None:
    assert ways(GRADIENTS.format(item=item, result=result)) == expected


RUNS = """
def run(net, device, loader, plan, frames: list[torch.Tensor], size=8):
    net = net.to(device).eval()
    outs, guess = [], None
    with torch.no_grad():
        {loop}:
            guess = net(x.to(device))
            outs.append(guess)
    return {result}
"""


@pytest.mark.parametrize(
    ("loop", "is_data"),
    [
        ("for x in loader", True),
        ("for i, x in enumerate(loader)", True),
        ("for x in plan.batches()", True),
        ("for part in loader:\n          for x in part", True),
        ("for x in [plan[at : at + size] for at in range(0, len(plan), size)]", True),
        ("for x in [plan[at : at + 8] for at in range(4)]", False),
        ("for x in [plan / scale for scale in (1, 2, 4)]", False),
        ("for x in [frame / 255 for frame in frames]", False),
        ("for x in [plan[at : at + 8] for at in (0, 8)]", False),
        ("for x in frames", False),
        ("for x in reversed(plan.clock.ticks)", False),
        ("for x in torch.split(plan, 1)", False),
    ],
)
def test_a_list_holds_the_outputs_of_a_data_set_where_data_are_seen(loop: str, is_data: bool) -> None:
    found = ways(RUNS.format(loop=loop, result="torch.cat(outs).cpu()"))
    assert found == ([Collecting.UNTIL_HOST] if is_data else [])


WORDS = """
class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)

    @torch.no_grad()
    def write(self, start, most):
        words, word, count = [], start.cuda(), 0
        while count <= most:
            word = self.net(word)
            words.append(word)
            count += 1
        return torch.cat(words, 1).cpu()
"""


def test_the_words_of_one_sentence_are_no_data_set() -> None:
    assert ways(WORDS) == []


PARTS = """
class Whole(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts, self.order = nn.ModuleList(parts), list(range(9))

    def answers(self, x):
        out = torch.tensor([])
        for i, name in enumerate(self.order):
            out = torch.cat((out, self.parts[i](x[:, name])), -1)
        return out

    def forward(self, x):
        return self.answers(x)
"""


def test_a_variable_that_begins_in_each_call_grows_with_none() -> None:
    assert ways(PARTS) == []


@pytest.mark.parametrize(
    ("moved", "end", "result", "expected"),
    [
        ("wave.to(device)", "wave.size(0)", "torch.cat(outs)", []),
        ("wave.to(device)", "wave.shape[0]", "torch.cat(outs)", []),
        ("wave.to(device)", "len(wave)", "outs", []),
        ("wave.to(device)", "len(wave)", "torch.cat(outs).cpu()", [Collecting.UNTIL_HOST]),
        ("wave", "len(wave)", "torch.cat(outs)", [Collecting.UNTIL_DROPPED]),
    ],
)
def test_one_tensor_that_is_on_the_device_is_no_data_set(
    moved: str, end: str, result: str, expected: list[Collecting]
) -> None:
    source = f"""
def run(net, wave, device):
    net = net.to(device).eval()
    wave, outs = {moved}, []
    with torch.no_grad():
        for start in range(0, {end}, 1000):
            outs.append(net(wave[start : start + 1000].to(device)))
    return {result}
"""
    assert ways(source) == expected
    turn = f"for start in range(0, {end}, 1000)"
    cut = f"for part in [wave[start : start + 1000] {turn}]"
    assert ways(source.replace(turn, cut).replace("wave[start : start + 1000].to", "part.to")) == expected


BANK = """
class Bank{base}:
    def __init__(self, width, device):
        self.rows = torch.empty(0, width, device=device)
    def add(self, rows):
        self.rows = torch.cat((self.rows, {new}))
    def {end}
"""


@pytest.mark.parametrize(
    ("base", "new", "end", "is_found"),
    [
        ("", "rows", "done(self): return self.rows.cpu().numpy()", True),
        ("", "rows.cpu()", "done(self): return self.rows.numpy()", False),
        ("", "rows", "near(self, row): return self.rows @ row", False),  # it is needed there
        ("(nn.Module)", "rows", "done(self): return self.rows.cpu()", False),
    ],
)
def test_an_object_that_joins_what_it_is_given_is_supposed_to_be_given_more(
    base: str, new: str, end: str, is_found: bool
) -> None:
    found = Program(BANK.format(base=base, new=new, end=end)).facts.collections
    assert [one.supposed for one in found] == ([True] if is_found else [])


LATER = """
class Bank:
    def __init__(self):
        self.rows = None
    def add(self, rows):
        {first}
        self.rows = torch.cat([self.rows, rows])
    def done(self):
        return self.rows

def run(net, loader, device):
    net = net.to(device).eval()
    bank = Bank()
    with torch.inference_mode():
        for x, y in loader:
            bank.add(net(x.to(device)))
    return bank.done().var(0).tolist()
"""


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        ("if self.rows is None:\n            self.rows = rows\n            return", [Collecting.COPIES]),
        ("if not len(self.rows):\n            self.rows = rows\n            return", [Collecting.COPIES]),
        ("if len(self.rows) > 64:\n            self.rows = rows\n            return", []),
        ("if self.rows is None:\n            return\n        self.rows = rows", []),
    ],
)
def test_what_is_put_there_first_need_not_stand_beside_an_else(first: str, expected: list[Collecting]) -> None:
    assert ways(LATER.format(first=first)) == expected


FIGURES = """
class Figure:
    def reset(self): pass
    def add(self, scores): pass
    def result(self): pass

class Median(Figure):
    def __init__(self):
        self.reset()
    def reset(self):
        self.seen = None
    def add(self, scores):
        self.seen = scores if self.seen is None else torch.cat((self.seen, scores))
    def result(self):
        return self.seen.median()

{beside}

@torch.no_grad()
def figures(net, loader, device, asked):
    net.to(device).eval()
    {before}
    for x, y in loader:
        out = net(x.to(device)).amax(dim=1)
        {turn}
    return {after}
"""
EACH = {
    "beside": "",
    "before": "for figure in asked: figure.reset()",
    "turn": "for figure in asked: figure.add(out)",
    "after": "[figure.result() for figure in asked]",
}
ONE = {"before": "asked.reset()", "turn": "asked.add(out)", "after": "asked.result()"}
NAMED = {"turn": "for name, figure in asked.items(): figure.add(scores=out)", "before": "pass"}


@pytest.mark.parametrize(
    ("changed", "is_found"),
    [
        ({}, True),
        (ONE, True),
        ({**NAMED, "after": "{name: figure.result() for name, figure in asked.items()}"}, True),
        ({**ONE, "turn": "asked.reset(); asked.add(out); print(asked.result())"}, False),  # the figure of each batch
        ({"turn": "for figure in asked: figure.add(out); figure.result()"}, False),
        ({**ONE, "turn": "asked.add(out, y)"}, False),
        ({**ONE, "turn": "asked.add()"}, False),
        ({**ONE, "before": "pass", "after": "None"}, False),  # a set has a method of this name, too
        ({**ONE, "before": "asked.clear()"}, False),
        ({**ONE, "turn": "pass", "before": "asked.reset(); asked.add(net.bias)"}, False),
        ({"beside": "class Names:\n    def add(self, name): pass"}, False),
        ({"beside": "class Mean(Figure):\n    def add(self, scores): self.sum += scores.sum().item()"}, True),
    ],
)
def test_objects_that_are_used_as_those_of_a_class_are_supposed_to_be_some(
    changed: dict[str, str], is_found: bool
) -> None:
    found = Program(FIGURES.format(**{**EACH, **changed})).facts.collections
    assert [one.supposed for one in found] == ([True] if is_found else [])


METRIC = """
import torchmetrics

class Deviation(torchmetrics.Metric):
    def __init__(self, keeps_all):
        super().__init__()
        self.keeps_all = keeps_all
        self.add_state("seen", default=torch.tensor(0.0), dist_reduce_fx="cat")

    def update(self, given, wanted):
        self._take((given - wanted).abs().sum(dim=1))

    def _take(self, seen):
        if self.keeps_all:
            if {first}:
                {begin}
            else:
                self.seen = torch.cat([self.seen, seen])
                {after}
        else:
            {rest}

    def compute(self):
        return self.seen.median()
"""


@pytest.mark.parametrize(
    ("changed", "is_found"),
    [
        ({}, True),
        ({"rest": "pass"}, True),
        ({"rest": "self.seen += seen.sum()"}, True),
        ({"rest": "print(self.seen.mean())"}, False),
        ({"after": "self.seen = self.seen[-100:]"}, False),
        ({"after": "print(self.seen.mean())"}, False),
        ({"first": "isinstance(self.seen, list)", "begin": "self.seen.append(seen)", "rest": "pass"}, False),
    ],
)
def test_a_metric_that_joins_by_a_method_of_its_own(changed: dict[str, str], is_found: bool) -> None:
    usual = {"first": "self.seen.ndim == 0", "begin": "self.seen = seen", "rest": "self.seen = self.seen + seen.sum()"}
    assert bool(ways(METRIC.format(**{**usual, "after": "pass", **changed}))) is is_found


DETECTIONS = """
def predict(net, loader, device):
    net.to(device).eval()
    found = {{}}
    with torch.no_grad():
        for names, images in loader:
            for name, out in zip(names, net(images.to(device))):
                found[name] = {item}
    return found

def rows(found):
    for name, parts in found.items():
        yield name, parts["boxes"]{moved}, parts["scores"].tolist()

def main(loader, device):
    print(list(rows(predict(nn.Linear(3, 3), loader, device))))
"""


@pytest.mark.parametrize(
    ("item", "moved", "expected"),
    [
        ("{key: part[kept] for key, part in out.items()}", ".cpu()", [Collecting.UNTIL_HOST]),
        ("{key: part for key, part in out.items()}", ".cpu()", [Collecting.UNTIL_HOST]),
        ("{key: part[kept].cpu() for key, part in out.items()}", "", []),
        ("{key: part[kept] for key, part in out.items()}", ".softmax(-1).cpu()", []),
    ],
)
def test_each_part_of_an_output_is_one(item: str, moved: str, expected: list[Collecting]) -> None:
    assert ways(DETECTIONS.format(item=item, moved=moved)) == expected


@pytest.mark.parametrize(
    ("given", "collected", "found"),
    [
        ("out", "net.embed(x)", ["run.py: TLK401 note"]),
        ("out.cpu()", "net.embed(x)", []),
        ("out.norm().item()", "net.embed(x)", []),
        ("out", "net(x)", []),
        ("out", "net(x.cuda())", ["run.py: TLK401 note"]),
        ("out", "net.embed(x).cpu()", []),
        ("out", "net.embed(x).max(1).indices.cpu()", []),
    ],
)
def test_where_a_method_of_another_file_leaves_its_output(
    tmp_path: Path, given: str, collected: str, found: list[str]
) -> None:
    files = {
        "net.py": f"""
            import torch
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = nn.Linear(3, 3)
                def forward(self, x):
                    return self.layer(x)
                @torch.no_grad()
                def embed(self, x):
                    out = self(x.to(self.layer.weight.device)) + 1
                    return {given}
        """,
        "run.py": f"""
            import torch
            from torch.utils.data import DataLoader
            from net import Net

            @torch.no_grad()
            def run(rows):
                net, outs = Net().eval(), []
                for x in DataLoader(rows):
                    outs.append({collected})
                return torch.cat(outs)
        """,
    }
    assert Project(tmp_path, files).found("run.py") == found


PIECES = """
def features(path, net, size):
    net = net.cuda().eval()
    x = torch.from_numpy(np.load(path)).float().cuda()
    outs = []
    with torch.no_grad():
        for start in range(0, {end}, size):
            outs.append(net(x{piece}))
    return torch.cat(outs, {dim}).cpu()
"""


@pytest.mark.parametrize(
    ("end", "piece", "expected"),
    [
        ("x.size(1)", "[:, start:start + size]", []),
        ("x.shape[-1]", "[..., start:start + size]", []),
        ("len(x)", "[start:start + size]", [Collecting.UNTIL_HOST]),
        ("x.size(0)", "[start:start + size]", [Collecting.UNTIL_HOST]),
        ("x.shape[0]", "[start:start + size]", [Collecting.UNTIL_HOST]),
    ],
)
def test_the_pieces_of_one_sample_are_no_data_set(end: str, piece: str, expected: list[Collecting]) -> None:
    assert ways("import numpy as np\n" + PIECES.format(end=end, piece=piece, dim=0 if expected else 1)) == expected


GATHERER = {"kept": "outs", "whole": "torch.cat(self.outs)", "taken": "gatherer.whole()", "used": "outs.cpu().numpy()"}


@pytest.mark.parametrize(
    ("changes", "is_found"),
    [
        ({}, True),
        ({"whole": "self.outs", "used": "torch.stack(outs).cpu()"}, True),
        ({"whole": "self.names, torch.cat(self.outs)", "taken": "gatherer.whole()[1]"}, True),
        ({"whole": "(self.names, torch.cat(self.outs))", "used": "outs[1].numpy()"}, False),
        ({"kept": "outs.cpu()"}, False),
        ({"used": "outs.cpu(), outs.square().sum()"}, False),
        ({"used": "outs"}, False),
    ],
)
def test_what_moves_to_the_host_that_an_object_of_another_file_gives_back(
    tmp_path: Path, changes: dict[str, str], is_found: bool
) -> None:
    pieces = GATHERER | changes
    files = {
        "gather.py": f"""
            import torch

            class Gatherer:
                def __init__(self):
                    self.names, self.outs = [], []
                def add(self, name, outs):
                    self.names.append(name)
                    self.outs.append({pieces["kept"]})
                def whole(self):
                    return {pieces["whole"]}
        """,
        "run.py": f"""
            import torch
            from torch import nn
            from torch.utils.data import DataLoader
            from gather import Gatherer

            @torch.no_grad()
            def run(rows):
                net, gatherer = nn.Linear(3, 3).cuda().eval(), Gatherer()
                for name, x in DataLoader(rows):
                    gatherer.add(name, net(x.cuda()))
                outs = {pieces["taken"]}
                return {pieces["used"]}
        """,
    }
    assert ("run.py: TLK401 warning" in Project(tmp_path, files).found("run.py")) == is_found


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("[sum(float(one) for one in found) for found in kept.values()]", []),
        ("[one.item() for found in kept.values() for one in found]", []),
        ("[torch.cat(found).cpu() for found in kept.values()]", [Collecting.UNTIL_HOST]),
        ("[one.item() for found in kept.values() for one in torch.cat(found)]", [Collecting.UNTIL_HOST]),
    ],
)
def test_what_becomes_a_float_is_a_single_number(read: str, expected: list[Collecting]) -> None:
    source = """
        def evaluate(rows):
            net, kept = nn.Linear(3, 3).cuda().eval(), {{}}
            with torch.no_grad():
                for name, x in DataLoader(rows):
                    kept.setdefault(name, []).append(net(x.cuda()))
            return {}
    """
    assert ways(dedent(source).format(read)) == expected


VIEWS_OF_A_BATCH = """
def views(x, axes=(2, 3)):
    yield x, ()
    {others}

def averaged(net, x):
    total = 0
    for view, axes in views(x):
        total = total + net(view)
    return total

def run(net, loader, device):
    net = net.to(device).eval()
    outs = []
    with torch.inference_mode():
        for x, y in loader:
            outs.append(averaged(net, x.to(device)))
    return torch.cat(outs).cpu()
"""


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ("yield x.flip(2), (2,)", [Collecting.UNTIL_HOST]),
        ("for axis in (2, 3):\n        yield x.flip(axis), (axis,)", [Collecting.UNTIL_HOST]),
        ("for axis in axes:\n        yield x.flip(axis), (axis,)", []),  # as many as there are, for all that is seen
        ("while axes.next():\n        yield x, ()", []),
    ],
)
def test_the_views_that_a_generator_writes_out_are_one_batch(others: str, expected: list[Collecting]) -> None:
    assert ways(VIEWS_OF_A_BATCH.format(others=others)) == expected


BY_OPERATOR = """
class Joined:
    def __init__(self):
        self.all = None

    def __iadd__(self, part):
        self.all = part if self.all is None else torch.cat((self.all, {part}))
        return self

def run(net, loader, device):
    net = net.to(device).eval()
    outs = Joined()
    with torch.inference_mode():
        for x, y in loader:
            outs += net(x.to(device)).half()
    return outs.all.cpu().numpy()
"""


@pytest.mark.parametrize(("part", "expected"), [("part", [Collecting.UNTIL_HOST]), ("part.mean(0)", [])])
def test_an_object_that_joins_by_an_operator_what_it_is_given(part: str, expected: list[Collecting]) -> None:
    assert ways(BY_OPERATOR.format(part=part)) == expected


UNDER_ONE_NAME = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.seen = nn.Linear(3, 3), {{}}

    def note(self, name, value):
        self.seen[name] = value

    def forward(self, x):
        out = self.layer(x).softmax(1)
        self.note({name}, out)
        return out

def run(loader, device):
    net = Net().to(device).eval()
    with torch.no_grad():
        for at, (x, y) in enumerate(loader):
            net(x.to(device))
    return torch.stack(list(net.seen.values())).cpu()
"""


def test_a_method_puts_all_outputs_under_one_name() -> None:
    assert ways(UNDER_ONE_NAME.format(name="'last'")) == []
    assert ways(UNDER_ONE_NAME.format(name="len(self.seen)")) == [Collecting.UNTIL_HOST]


FOLDED = """
from functools import reduce

def longer(old, new):
    return torch.cat((old, new))

@torch.no_grad()
def run(net, loader, device):
    net = net.to(device).eval()
    {made}
    rows = {folded}
    return {result}
"""


@pytest.mark.parametrize(
    ("made", "folded", "result", "expected"),
    [
        ("outs = (net(x) for x, y in loader)", "reduce(longer, outs)", "rows.mean(0)", [Collecting.COPIES]),
        ("outs = (net(x) for x, y in loader)", "reduce(longer, outs)", "rows.cpu()", [Collecting.UNTIL_HOST]),
        ("", "reduce(lambda a, b: torch.vstack([a, b]), map(net, loader))", "rows.sort()", [Collecting.COPIES]),
        ("", "reduce(longer, [net(x.to(device)) for x in loader], first)", "rows / 2", [Collecting.COPIES]),
        ("", "reduce(longer, (net(x).cpu() for x in loader))", "rows.mean(0)", [Collecting.COPIES]),
        ("", "reduce(torch.maximum, (net(x) for x, y in loader))", "rows.cpu()", []),
        ("", "reduce(lambda a, b: torch.maximum(a, b), (net(x) for x, y in loader))", "rows.cpu()", []),
        ("", "reduce(lambda a, b: b, (net(x) for x, y in loader))", "rows.cpu()", []),
        ("", "reduce(longer, (net(x).argmax() for x in loader))", "rows.cpu()", []),
        ("", "reduce(longer, [net(first), net(second)])", "rows.cpu()", []),
        ("", "reduce(longer, (head(first) for head in net.heads))", "rows.cpu()", []),
        ("outs = [net(x).cpu() for x in loader]", "torch.cat(outs)", "rows.mean(0)", []),
    ],
)
def test_a_reduction_joins_in_each_turn_of_what_makes_its_items(
    made: str, folded: str, result: str, expected: list[Collecting]
) -> None:
    assert ways(FOLDED.format(made=made, folded=folded, result=result)) == expected


def test_a_reduction_that_a_backward_goes_through_is_a_term() -> None:
    source = """
from functools import reduce

def run(net, loader, optimizer):
    for x, y in loader:
        rows = reduce(lambda a, b: torch.cat((a, b)), (net(part) for part in x.split(2)))
        loss = (rows - y).square().mean()
        loss.backward()
        optimizer.step()
"""
    assert ways(source) == []
