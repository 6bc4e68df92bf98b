"""What forward hooks keep, and which forwards run them."""

from __future__ import annotations

import pytest
from programs import Program

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Linear(3, 8), nn.Linear(8, 2)
    def forward(self, x):
        return self.head(self.stem(x).relu())

kept, table = [], {}
"""

LOOP = """
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
MODEL.register_forward_hook(HOOK)
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
"""


def program(hook: str, *, on: str = "model.head", before: str = "") -> Program:
    return Program(f"{NET}{before}\n{LOOP.replace('HOOK', hook).replace('MODEL', on)}")


def keeps(found: Program) -> list[str]:
    """What is kept: "name" where it grows, "name once" where the next forward overwrites it."""
    return [f"{kept.name}{'' if kept.grows else ' once'}" for kept in found.facts.hook_stores]


@pytest.mark.parametrize(
    "hook",
    [
        "lambda m, i, o: kept.append(o)",
        "lambda m, i, o: kept.append((m, o.cpu()))",
        "lambda m, i, o: kept.append(i[0])",
    ],
)
def test_a_hook_that_appends_grows(hook: str) -> None:
    assert keeps(program(hook)) == ["kept"]


@pytest.mark.parametrize(
    "hook",
    [
        "lambda m, i, o: kept.append(o.detach())",
        "lambda m, i, o: kept.append(o.shape)",
        "lambda m, i, o: kept.append(o.argmax(1))",
        "lambda m, i, o: o * 2",
        "print",
    ],
)
def test_a_hook_that_keeps_no_graph_is_quiet(hook: str) -> None:
    assert keeps(program(hook)) == []


def test_an_item_under_one_key_is_overwritten() -> None:
    before = "def hook(name, m, i, o):\n    table[name] = o\nfrom functools import partial"
    assert keeps(program("partial(hook, 'head')", before=before)) == ["table once"]


def test_a_key_that_counts_grows() -> None:
    before = "def hook(m, i, o):\n    table[len(table)] = o"
    assert keeps(program("hook", before=before)) == ["table"]


def test_what_partial_gives_is_followed() -> None:
    before = "def hook(rows, m, i, o):\n    rows.append(o)\nfrom functools import partial"
    assert keeps(program("partial(hook, kept)", before=before)) == ["rows"]


def test_the_input_of_the_whole_model_has_no_graph() -> None:
    assert keeps(program("lambda m, i, o: kept.append(i[0])", on="model")) == []
    assert keeps(program("lambda m, i, o: kept.append(o)", on="model")) == ["kept"]


def test_what_a_loss_is_computed_from_is_wanted() -> None:
    source = """
        model = Net()
        model.stem.register_forward_hook(lambda m, i, o: kept.append(o))
        for x, y in loader:
            loss = F.cross_entropy(model(x), y) + kept.pop().pow(2).mean()
            loss.backward()
    """
    assert keeps(Program(NET + "\n".join(line[8:] for line in source.splitlines()))) == []


def test_another_model_does_not_run_the_hook() -> None:
    source = """
teacher, student = Net(), Net()
teacher.stem.register_forward_hook(lambda m, i, o: kept.append(o))
for x, y in loader:
    with torch.no_grad():
        teacher(x)
    F.cross_entropy(student(x), y).backward()
"""
    assert keeps(Program(NET + source.replace("Net(), Net()", "nn.Linear(3, 2), nn.Linear(3, 2)"))) == []


def test_a_forward_before_or_after_the_hook_does_not_run_it() -> None:
    source = """
model = Net()
model(torch.zeros(1, 3))
handle = model.stem.register_forward_hook(lambda m, i, o: kept.append(o))
model(torch.zeros(1, 3))
handle.remove()
for x, y in loader:
    F.cross_entropy(model(x), y).backward()
"""
    found = Program(NET + source)
    (hook,) = found.facts.hooks.found
    calls = [call for call in found.facts.hooks.forwards(hook) if call.function.name == "<module>"]
    assert len(calls) == 1
    assert keeps(found) == []


def test_a_class_without_a_visible_forward_counts_when_nothing_ever_clears_it() -> None:
    watcher = """
class Watcher:
    def __init__(self, layer):
        self.inputs, self.outputs = [], []
        layer.register_forward_hook(self.hook)
    def hook(self, layer, args, output):
        self.inputs.append(args)
        self.outputs.append(output)
    def reset(self):
        self.outputs = []
"""
    found = Program(watcher)
    assert keeps(found) == ["self.inputs"]
    assert found.facts.hook_stores[0].forward is None
    assert found.facts.hook_stores[0].surely_tensor is None


def test_the_forward_that_feeds_a_hooked_loss_is_no_inference() -> None:
    source = """
class Loss(nn.Module):
    def __init__(self, critic):
        super().__init__()
        self.critic, self.kept = critic.eval(), []
        critic.stem.register_forward_hook(lambda m, i, o: self.kept.append(o))
    def features(self, x):
        self.kept.clear()
        self.critic(x)
        return list(self.kept)
loss_of, painter = Loss(Net()), nn.Linear(3, 3)
for x, y in loader:
    sum(f.mean() for f in loss_of.features(painter(x))).backward()
"""
    found = Program(NET + source)
    assert found.infers() == []
    assert keeps(found) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("not m.training", []),
        ("torch.is_grad_enabled()", []),
        ("m.training", ["kept"]),
        ("o.dim() > 2 and m.training", ["kept"]),
        ("m.training and len(kept) % 2 == 0", ["kept"]),
        ("o.dim() > 2 or m.training", []),
        ("o.dim() > 2 and not m.training", []),
    ],
)
def test_a_hook_that_asks_whether_the_module_trains_chooses_for_itself(asked: str, found: list[str]) -> None:
    before = f"def hook(m, i, o):\n    if {asked}:\n        kept.append(o)"
    assert keeps(program("hook", before=before)) == found


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("if not m.training:\n        return", ["kept"]),
        ("if not m.training or o.dim() < 2:\n        return", ["kept"]),
        ("trains = m.training\n    if not trains:\n        return", ["kept"]),
        ("if not m.training:\n        raise ValueError", ["kept"]),
        ("if m.training:\n        return", []),
        ("if not m.training and o.dim() < 2:\n        return", []),
        ("if not m.training:\n        o = o.detach()", []),
    ],
)
def test_a_hook_may_leave_where_the_module_does_not_train(asked: str, found: list[str]) -> None:
    assert keeps(program("hook", before=f"def hook(m, i, o):\n    {asked}\n    kept.append(o)")) == found


WATCHER = """
class Watcher:
    def __init__(self, layer):
        self.rows = []
        self.handle = layer.register_forward_hook({hook})
    def on_output(self, module, args, output):
        {first}
        self.rows.append(output.mean())
    def means(self):
        return [float(row) for row in self.rows]
def recorder(rows):
    def on_output(module, args, output):
        rows.append(output)
    return on_output
"""


@pytest.mark.parametrize(
    ("hook", "first", "name"),
    [
        ("self.on_output", "pass", "self.rows"),
        ("self.on_output", "if not module.training: return", "self.rows"),
        ("self.on_output", "if module.training: return", None),
        ("recorder(self.rows)", "pass", "rows"),
    ],
)
def test_a_hook_that_no_forward_is_seen_to_run_keeps_what_nobody_drops(hook: str, first: str, name: str | None) -> None:
    assert keeps(Program(WATCHER.format(hook=hook, first=first))) == ([] if name is None else [name])


SCORES = """
class Scores:
    def __init__(self, layers):
        def keep(layer, inputs, output):
            layer.rows = {kept}
        def score(layer, into, out):
            layer.share = (out[0] * {read}).sum(0).tolist()
        for layer in layers:
            layer.register_forward_hook(keep)
            layer.{register}(score)
    {rest}
"""


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ["layer.rows once"]),
        ({"rest": "def all(self, layers):\n        return [layer.share for layer in layers]"}, ["layer.rows once"]),
        ({"kept": "output.flatten(1).detach()"}, []),
        ({"register": "register_forward_hook"}, []),
        ({"read": "layer.weight"}, []),
        ({"rest": "def energy(self, layer):\n        return layer.rows.pow(2).mean()"}, []),
        ({"rest": "def forget(self, layer):\n        layer.rows = None"}, []),
        ({"rest": "def forget(self, layer):\n        del layer.rows"}, []),
        ({"rest": "def twice(self, loss):\n        loss.backward(create_graph=True)"}, []),
    ],
)
def test_what_only_hooks_of_the_backward_read_is_wanted_for_its_numbers(
    changed: dict[str, str], expected: list[str]
) -> None:
    usual = {"kept": "output.flatten(1)", "read": "layer.rows", "register": "register_full_backward_hook", "rest": ""}
    assert keeps(Program(SCORES.format(**usual | changed))) == expected


COLLECTOR = """
class Collector:
    def __init__(self, names):
        self.outputs = {{name: [] for name in names}}
    def attach(self, model):
        for name, module in model.named_modules():
            module.register_forward_hook(self.make(name))
    def make(self, name):
        def record(module, inputs, output):
            self.outputs[name].append(output.std())
        return record
    def flush(self):
        for name, values in self.outputs.items():
            print(name, torch.stack(values).mean().item())
            {ended}
"""


@pytest.mark.parametrize(
    ("ended", "expected"),
    [("values.clear()", []), ("self.outputs[name].clear()", []), ("pass", ["self.outputs[name]"])],
)
def test_lists_of_a_dictionary_that_another_method_empties_are_no_hoard(ended: str, expected: list[str]) -> None:
    assert keeps(Program(COLLECTOR.format(ended=ended))) == expected


ROUTING = """
class Monitor:
    def __init__(self):
        self.step, self.seen = 0, {{}}
    def watch(self, model):
        for name, module in model.named_modules():
            module.register_forward_hook(self.hook_for(name))
    def hook_for(self, name):
        def note(module, inputs, output):
            self.seen[{key}] = output.mean(0)
        return note
    def advance(self):
        self.step += 1
"""


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("self.step, name", ["self.seen"]),
        ("name, self.step", ["self.seen"]),
        ("(self.step, name)", ["self.seen"]),
        ("name, 'mean'", []),
        ("name", []),
    ],
)
def test_a_key_of_several_parts_grows_with_each_of_them(key: str, expected: list[str]) -> None:
    assert keeps(Program(ROUTING.format(key=key))) == expected


PROBE = """
from collections import defaultdict
class Probe:
    def __init__(self, net: nn.Module):
        self.outputs, self.other = defaultdict(list), []
        for name, layer in net.named_modules():
            layer.register_forward_hook(self.made(name))
    def made(self, name):
        store = {store}
        def hook(layer, args, output):
            store.append(output)
        return hook
"""


@pytest.mark.parametrize(
    ("store", "kept"),
    [
        ("self.outputs[name]", ["store"]),
        ("self.other", ["store"]),
    ],
)
def test_a_variable_that_a_closure_captures_is_another_name(store: str, kept: list[str]) -> None:
    assert keeps(Program(PROBE.format(store=store))) == kept


SUMMING = """
means = {{"all": 0.0, "other": 1.0}}
def hooked(name):
    def hook(m, i, o):
        {kept}
    return hook
"""


@pytest.mark.parametrize(
    ("kept", "found"),
    [
        ("means[name] = means[name] + o.mean(0)", ["means"]),
        ("means[name] = means.get(name, 0) + o.mean(0)", ["means"]),
        ("means[name] = 0.9 * means.get(name, 0) + 0.1 * o.mean(0)", ["means"]),
        ('means["all"] = torch.maximum(means["all"], o.amax(0))', ["means"]),
        ("means[name] = torch.cat([means[name], o])", ["means"]),
        ("means[name] = o.mean(0)", ["means once"]),
        ("means[name] = means[name].detach() + o.mean(0)", ["means once"]),
        ('means["all"] = means["other"] * o.mean(0)', ["means once"]),
        ('means[name] = means["other"] * o.mean(0)', ["means once"]),
        ("means[name] = o.mean(0) * len(means[name])", ["means once"]),
        ("means[name] = means[name] + o.detach().mean(0)", []),
    ],
)
def test_a_hook_may_sum_up_what_stands_under_a_key(kept: str, found: list[str]) -> None:
    assert keeps(program('hooked("head")', before=SUMMING.format(kept=kept))) == found
