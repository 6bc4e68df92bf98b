"""Models that are given up and stay in memory: who holds them, what frees them, what is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project

IMPORTS = """
import functools
import gc
import torch
from torch import nn
"""

TRIAL = """
for x, y in loader:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    {}
    gc.collect()
"""


def found(source: str) -> list[str]:
    """Each model that is given up in vain, with those that hold it and how."""
    unloadings = Program(source, head=IMPORTS).facts.unloadings
    return [f"{u.drop.path}: {', '.join(f'{h.name} {h.how}' for h in u.holders)}" for u in unloadings]


def trial(*lines: str) -> list[str]:
    """What is found in a loop that builds a model, does ``lines`` and collects garbage."""
    return found(TRIAL.format("\n    ".join(lines)))


@pytest.mark.parametrize(
    ("line", "how"),
    [("other = model", "itself"),
     ("other = model.to('cpu')", "itself"),
     ("other = torch.optim.SGD(model.parameters(), 0.1)", "parameters"),
     ("other = torch.optim.SGD([{'params': model.parameters()}], 0.1)", "parameters"),
     ("other = nn.DataParallel(model)", "wrapper"),
     ("other = torch.compile(model)", "wrapper"),
     ("other = functools.partial(print, model)", "wrapper"),
     ("other = [model]", "container"),
     ("other = {'net': model}", "container"),
     ("other = model.forward", "function"),
     ("other = lambda x, net=model: net(x)", "function"),
     ("other = model(x).sum()", "graph")],
)  # fmt: skip
def test_what_holds_a_model(line: str, how: str) -> None:
    if how == "container":
        # What is made in the turn is gone with it; a list that stays is another matter.
        assert trial(line, "del model") == []
    else:
        assert trial(line, "del model") == [f"model: other {how}"]


GROUPS = "optimizer = torch.optim.SGD({}, 0.1)"


@pytest.mark.parametrize(
    "lines",
    [
        ("for group in optimizer.param_groups:", "    group['lr'] = 0.01"),
        ("for at, group in enumerate(optimizer.param_groups):", "    group['lr'] = 0.1 / (at + 1)"),
        ("group = optimizer.param_groups[0]", "print(group['lr'])"),
    ],
)
def test_the_group_of_an_optimizer_holds_its_parameters_when_that_is_given_up_too(lines: tuple[str, ...]) -> None:
    made = GROUPS.format("model.parameters()")
    assert trial(made, *lines, "del model, optimizer") == ["model: group group"]
    assert trial(made, *lines, "del model, optimizer, group") == []


def test_other_groups_hold_other_parameters() -> None:
    change = ("for group in optimizer.param_groups:", "    group['lr'] = 0.01", "del model, optimizer")
    several = "[{'params': model[0].parameters()}, {'params': other.parameters()}]"
    assert trial("other = nn.Linear(3, 3)", GROUPS.format(several), *change) == []
    assert trial("other = nn.Linear(3, 3)", GROUPS.format("other.parameters()"), *change) == []
    rates = "rates = [group['lr'] for group in optimizer.param_groups]"
    assert trial(GROUPS.format("model.parameters()"), rates, "del model, optimizer") == []


LIBRARY = "from studio import Pipe, made, accelerator\n"


@pytest.mark.parametrize(
    ("line", "is_held"),
    [
        ("other = Pipe.from_pretrained('x', net=model)", True),
        ("other = Pipe(net=model, size=3)", True),
        ("other = Pipe(net=accelerator.unwrap_model(model))", True),
        ("other = Pipe(net=nn.DataParallel(model))", True),
        ("other = Pipe(size=model(x).detach())", False),
        ("other = Pipe(names=model.state_dict())", False),
        ("other = Pipe(model)", False),
        ("other = made(net=model)", False),
    ],
)
def test_an_object_of_a_library_has_what_its_constructor_is_given_by_name(line: str, is_held: bool) -> None:
    assert found(LIBRARY + TRIAL.format(f"{line}\n    del model")) == (["model: other wrapper"] if is_held else [])


SHOW = """
def show(rounds, x):
    for number in range(rounds):
        model = nn.Linear(3, 3)
        other = nn.DataParallel(model)
        other(x)
        del model
        torch.cuda.empty_cache()
        {}
    {}
    other(x)
"""


@pytest.mark.parametrize(
    ("inside", "behind", "is_held"),
    [
        ("print(number)", "other = nn.DataParallel(nn.Linear(3, 3))", True),
        ("print(number)", "print(rounds)", False),
        ("print(number)", "if rounds: other = nn.DataParallel(nn.Linear(3, 3))", False),
        ("other(x)", "other = nn.DataParallel(nn.Linear(3, 3))", False),
        ("if number: return other", "other = nn.DataParallel(nn.Linear(3, 3))", False),
        ("rounds.best = other", "other = nn.DataParallel(nn.Linear(3, 3))", False),
        ("later = lambda: other(x)", "other = nn.DataParallel(nn.Linear(3, 3))", False),
    ],
)
def test_a_name_that_is_bound_to_something_else_before_it_is_used_again(
    inside: str, behind: str, is_held: bool
) -> None:
    assert found(SHOW.format(inside, behind)) == (["model: other wrapper"] if is_held else [])


def test_a_list_that_stays() -> None:
    assert found("kept = []\n" + TRIAL.format("kept.append(model)\n    del model")) == ["model: kept container"]
    assert found("kept = []\n" + TRIAL.format("kept.append(model)\n    del model\n    kept.clear()")) == []


def test_a_list_that_is_read_later_without_memory_being_asked_back() -> None:
    source = "kept = []\n" + TRIAL.format("kept.append(model)\n    del model").replace("    gc.collect()\n", "")
    assert found(source) == ["model: kept container"]
    assert found(source + "print(kept)\n") == []


def test_a_scheduler_holds_its_optimizer() -> None:
    found_here = trial(
        "first = torch.optim.SGD(model.parameters(), 0.1)",
        "second = torch.optim.lr_scheduler.StepLR(first, 1)",
        "del first, model",
    )
    assert found_here == ["model: second parameters"]


@pytest.mark.parametrize(
    "line",
    ["other = model.state_dict()", "other = sum(p.numel() for p in model.parameters())", "other = model(x).detach()",
     "other = model(x).sum().item()", "other = torch.optim.swa_utils.AveragedModel(model)", "other = len(model)",
     "other = [p.norm().item() for p in model.parameters()]"],
)  # fmt: skip
def test_what_does_not_hold_it(line: str) -> None:
    assert trial(line, "del model") == []


@pytest.mark.parametrize(
    "drops",
    [("del model, other",), ("del other", "del model"), ("del model", "del other"), ("other = None", "model = None")],
)
def test_what_gives_up_all(drops: tuple[str, ...]) -> None:
    assert trial("other = torch.optim.SGD(model.parameters(), 0.1)", *drops) == []


@pytest.mark.parametrize("move", ["model.cpu()", "model.to('cpu')", "model.to(torch.device('meta'))"])
def test_a_model_that_is_moved_away_first(move: str) -> None:
    assert trial("other = torch.optim.SGD(model.parameters(), 0.1)", move, "del model") == []
    assert trial("other = torch.optim.SGD(model.parameters(), 0.1)", "model.to('cuda')", "del model") != []


def test_a_name_that_is_used_afterwards() -> None:
    assert trial("other = nn.DataParallel(model)", "del model", "other(x)") == []


def test_the_end_of_a_function_frees_its_variables() -> None:
    function = """
def score(x):
    model = nn.Linear(3, 3)
    other = torch.optim.SGD(model.parameters(), 0.1)
    del model
    {}
"""
    assert found(function.format("gc.collect()\n    return 3")) == []
    assert found(function.format("return evaluate(x)")) == ["model: other parameters"]


def test_a_class_of_the_file_that_keeps_what_it_is_given() -> None:
    source = """
class Trainer:
    def __init__(self, net):
        self.optimizer = torch.optim.SGD(net.parameters(), 0.1)
"""
    assert found(source + TRIAL.format("other = Trainer(model)\n    del model")) == ["model: other wrapper"]


def test_a_function_that_hands_out_a_closure() -> None:
    source = "def make(net):\n    def run(x):\n        return net(x)\n    return run\n"
    assert found(source + TRIAL.format("other = make(model)\n    del model")) == ["model: other function"]


SESSION = """
class Session:
    def load(self):
        self.model = nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)
    def unload(self):
        {}
        gc.collect()
"""


@pytest.mark.parametrize("line", ["self.model = None", "del self.model"])
def test_an_attribute(line: str) -> None:
    assert found(SESSION.format(line)) == ["self.model: self.optimizer parameters"]
    assert found(SESSION.format(f"self.optimizer = None\n        {line}")) == []


def test_attributes_that_another_method_gives_up() -> None:
    source = (
        SESSION.format("self.model = None\n        self.stop()") + "    def stop(self):\n        del self.optimizer\n"
    )
    assert found(source) == []


RELEASE = """
def release(net):
    del net
    gc.collect()
for x in loader:
    model = nn.Linear(3, 3)
    {}
"""


def test_a_parameter_that_the_caller_still_has() -> None:
    assert found(RELEASE.format("release(model)")) == ["net: model itself"]
    assert found(RELEASE.format("release(net=model)")) == ["net: model itself"]


@pytest.mark.parametrize(
    "line", ["model = release(model)", "release(model)\n    del model", "release(nn.Linear(3, 3))"]
)
def test_a_parameter_that_the_caller_gives_up(line: str) -> None:
    assert found(RELEASE.format(line)) == []


def test_a_function_that_nobody_calls_here() -> None:
    helper = "def free(net):\n    del net\n    gc.collect()\n    torch.cuda.empty_cache()\n"
    assert found(helper) == ["net: "]
    assert found(helper.replace("    del", "    net.cpu()\n    del")) == []
    assert found(helper.replace("    del", "    save(net)\n    del")) == []
    assert found(helper.replace("    del", "    net.requires_grad_(False)\n    net.eval()\n    del")) == ["net: "]
    assert found(helper.replace("    del", "    net.clear()\n    del")) == []


GLOBALS = """
net = opt = None
def load():
    global net, opt
    net = nn.Linear(3, 3)
    opt = torch.optim.SGD(net.parameters(), 0.1)
def unload():
    global net, opt
    net = None
    {}
    gc.collect()
"""


def test_globals() -> None:
    assert found(GLOBALS.format("pass")) == ["net: opt parameters"]
    assert found(GLOBALS.format("opt = None")) == []


def test_models_of_a_list_that_are_called_later() -> None:
    source = "kept = []\n" + TRIAL.format("kept.append(model)\n    del model")
    assert found(source + "for member in kept:\n    member(x)\n") == []
    assert found(source + "print(len(kept))\n") == ["model: kept container"]


def test_an_attribute_that_is_deleted_says_enough() -> None:
    assert found(SESSION.format("del self.model").replace("        gc.collect()\n", "")) != []
    assert found(SESSION.format("self.model = None").replace("        gc.collect()\n", "")) == []


CLOSURE = """
class Service:
    def __init__(self):
        self.model = self.answer = None
    def load(self):
        self.model = nn.Linear(3, 3).cuda()
        net = self.model
        def answer(x):
            return {}(x)
        self.answer = answer
    def close(self):
        del self.model
        self.model = None
        {}
        gc.collect()
"""


def test_a_closure_that_the_object_keeps_holds_what_it_captured() -> None:
    assert found(CLOSURE.format("net", "pass")) == ["self.model: self.answer function"]
    assert found(CLOSURE.format("net", "self.answer = None")) == []
    assert found(CLOSURE.format("self.model", "pass")) == []


def test_a_closure_over_the_deleted_variable_is_empty_then() -> None:
    source = """
def main():
    model = nn.Linear(3, 3)
    def answer(x):
        return model(x)
    print(answer(x))
    del model
    gc.collect()
    larger = nn.Linear(9, 9)
    print(larger)
"""
    assert found(source) == []


STAGES = """
def main(x):
    first, second = (nn.Linear(3, 3).cuda() for _ in range(2))
    stages = {{"first": first, "second": second}}
    h = stages["first"](x)
    del first
    torch.cuda.empty_cache()
    {}
"""


def test_a_dictionary_of_models_holds_those_that_are_not_run_any_more() -> None:
    assert found(STAGES.format('return stages["second"](h)')) == ["first: stages container"]
    assert found(STAGES.format('return stages["first"](h)')) == []
    assert found(STAGES.format("return [stages[name](h) for name in order]")) == []
    assert found(STAGES.format('del stages["first"]\n    return stages["second"](h)')) == []


VOICE = """
class Voice:
    def __init__(self):
        self.text, self.sound = nn.Linear(3, 3), nn.Linear(3, 3)
        self.stages = [self.text, self.sound]
        self.open = True
    def say(self, x):
        {first}
        for stage in self.stages:
            x = stage(x)
        return x
    def close(self):
        {last}
        del self.text
        gc.collect()
"""


@pytest.mark.parametrize(
    ("first", "last", "is_vain"),
    [
        ("if not self.open: raise RuntimeError", "self.open = False", True),
        ("if self.open is None: return None", "self.open = None", True),
        ("if self.closed: return None", "self.closed = True", True),
        ("if self.open: return None", "self.open = False", False),
        ("if not self.open: print('closed')", "self.open = False", False),
        ("if not self.open: raise RuntimeError", "self.open = self.sound", False),
        ("if not self.open: raise RuntimeError", "pass", False),
    ],
)
def test_a_list_whose_models_are_refused_to_run(first: str, last: str, is_vain: bool) -> None:
    expected = ["self.text: self.stages container"] if is_vain else []
    assert found(VOICE.format(first=first, last=last)) == expected


LAYERWISE = """
def part_of(model, name):
    part = model
    for step in name.split("."):
        part = getattr(part, step)
    return part

def calibrated(net, names, samples, device):
    for i, name in enumerate(names):
        {lines}
        del layer
        torch.cuda.empty_cache()
    return samples
"""


@pytest.mark.parametrize(
    ("lines", "is_vain"),
    [
        (["layer = part_of(net, name).to(device)", "samples = layer(samples)"], True),
        (["layer = net.layers[i]", "layer.cuda()", "samples = layer(samples)"], True),
        (["layer = getattr(net, name)", "layer.to(device)", "samples = layer(samples)"], True),
        (["layer = net.layers[i].to(device)", "samples = layer(samples)", "layer.cpu()"], False),
        (["layer = net.layers[i].to(device)", "samples = layer(samples)", "net.layers[i] = layer.to('cpu')"], False),
        (["layer = net.layers[i].to(device)", "samples = layer(samples)", "layer.to(home)"], False),
        (["layer = net.layers[i].to(device)", "samples = layer(samples)", "setattr(net, name, smaller)"], False),
        (["layer = net.layers[i].to(device)", "samples = layer(samples)", "rounded(layer)"], False),
        (["layer = net.layers[i].to(device)", "samples = layer(samples)", "net.to('cpu')"], False),
        (["layer = net.layers[i].to(torch.float16)", "samples = layer(samples)"], False),
        (["layer = net.layers[i].to('cpu')", "samples = layer(samples)"], False),
        (["layer = copied(net.layers[i]).to(device)", "samples = layer(samples)"], False),
        (["layer = net.scales[i].to(device)", "samples = samples * layer"], False),
    ],
)
def test_a_layer_that_its_model_has_where_it_was_moved_to(lines: list[str], is_vain: bool) -> None:
    source = LAYERWISE.format(lines="\n        ".join(lines))
    assert found(source) == (["layer: net part"] if is_vain else [])


@pytest.mark.parametrize(("before", "is_vain"), [("pass", True), ("net = net.cpu()", True), ("net.cuda()", False)])
def test_a_model_that_is_on_the_device_already(before: str, is_vain: bool) -> None:
    lines = "layer = net.layers[i].to(device)\n        samples = layer(samples)"
    source = (
        f"{LAYERWISE.format(lines=lines)}\ndef run(net, names, x):\n    {before}\n    calibrated(net, names, x, 0)\n"
    )
    assert found(source) == (["layer: net part"] if is_vain else [])


CHOSEN = """
def convert(model, path):
    try:
        smaller = {}
    except RuntimeError:
        smaller = model
    before = smaller
    smaller = shrink(smaller)
    del before
    torch.cuda.empty_cache()
    return smaller(path)

convert(nn.Linear(3, 3), "plan")
"""


@pytest.mark.parametrize(("made", "is_held"), [("copy.deepcopy(model)", False), ("model.to('cuda')", True)])
def test_another_name_holds_a_model_only_if_it_does_whichever_model_it_is(made: str, is_held: bool) -> None:
    assert found("import copy\n" + CHOSEN.format(made)) == (["before: model itself"] if is_held else [])


CLOSURES = """
def main(loader, accelerator):
    reader = nn.Linear(3, 3)

    def read({}):
        return reader(x)

    notes = [read(x).detach() for x in loader]
    if loader.is_read:
        reader = None
        torch.cuda.empty_cache()
    writer = nn.Linear(3, 3)
    print(writer(notes[0]))
    if loader.is_kept:
        reader = accelerator.unwrap_model(reader)
        reader.save()
"""


@pytest.mark.parametrize(("given", "is_held"), [("x", False), ("x, net=reader", True)])
def test_a_variable_that_is_bound_anew_is_so_for_the_functions_that_read_it(given: str, is_held: bool) -> None:
    assert found(CLOSURES.format(given)) == (["reader: read function"] if is_held else [])


@pytest.mark.parametrize(("frozen", "is_held"), [("model.requires_grad_(False)", False), ("print(model)", True)])
def test_a_graph_holds_no_parameters_that_do_not_train(frozen: str, is_held: bool) -> None:
    lines = (frozen, "head = nn.Linear(3, 3)", "other = head(model(x)).sum()", "del model")
    assert trial(*lines) == (["model: other graph"] if is_held else [])


SHELF = """
from transformers import AutoModel
from diffusers import FluxPipeline

class Shelf:
    def __init__(self):
        self.nets, self.names = {{}}, []
    def fetch(self, name):
        if name not in self.nets:
            self.nets[name] = {made}
        return self.nets[name]
    def forget(self, name):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "is_held"),
    [
        ("net = self.nets[name]; del net; torch.cuda.empty_cache()", True),
        ("net = self.nets.get(name); self.names.remove(name); net = None; gc.collect()", True),
        ("net = self.nets[name]; net.eval(); del net; gc.collect()", True),
        ("net = self.nets.get(name)\n        if net is not None:\n            del net; gc.collect()", True),
        ("for net in self.nets.values(): del net\n        gc.collect()", True),
        ("for name, net in self.nets.items(): del net; gc.collect()", True),
        ("net = self.nets[name]; del net", False),
        ("net = self.nets.pop(name); del net; gc.collect()", False),
        ("net = self.nets[name]; del self.nets[name]; del net; gc.collect()", False),
        ("net = self.nets[name]; self.nets[name] = None; del net; gc.collect()", False),
        ("net = self.nets[name]; self.nets = {}; del net; gc.collect()", False),
        ("net = self.nets[name]; net.to('cpu'); del net; gc.collect()", False),
        ("self.nets[name].to('cpu'); net = self.nets[name]; del net; gc.collect()", False),
        ("net = self.nets[name]; net('x'); del net; gc.collect()", False),
        ("net = self.nets[name]; self.use(net); del net; gc.collect()", False),
        ("net = self.nets[name]; del net; self.drop(name); gc.collect()\n"
         "    def drop(self, name):\n        self.nets.pop(name)", False),
        ("net = self.nets[name]; del net; gc.collect()\n"
         "    def drop(self, name):\n        self.forget(name); self.nets.clear()", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "made",
    ["AutoModel.from_pretrained(name).cuda()", "FluxPipeline.from_pretrained(name).to('cuda')", "nn.Linear(3, 3)"],
)
def test_a_model_that_is_read_from_a_dictionary_and_given_up(made: str, body: str, is_held: bool) -> None:
    assert found(SHELF.format(made=made, body=body)) == ["net: self.nets container"] * is_held


SLOTS = """
class Slot:
    def __init__(self, net, words):
        self.net, self.words = net, words
    def close(self):
        self.net = None

class Shelf:
    def __init__(self):
        self.slots, self.names = {{}}, []
        self.main = nn.Linear(3, 3)
    def fetch(self, name):
        if name not in self.slots:
            self.slots[name] = Slot(nn.Linear(3, 3), open(name).read())
        return self.slots[name]
    def forget(self, name):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "holder"),
    [
        ("net = self.slots[name].net; del net; torch.cuda.empty_cache()", "self.slots container"),
        ("slot = self.slots.get(name); net = slot.net; del slot; net = None; gc.collect()", "self.slots container"),
        ("slot = self.slots[name]; print(slot.words); net = slot.net; net.eval(); del net; gc.collect()",
         "self.slots container"),
        ("for slot in self.slots.values():\n            net = slot.net; del net\n        gc.collect()",
         "self.slots container"),
        ("net = self.main; del net; torch.cuda.empty_cache()", "self.main itself"),
        ("net = self.slots[name].net; del net", ""),
        ("words = self.slots[name].words; del words; gc.collect()", ""),
        ("net = self.slots.pop(name).net; del net; gc.collect()", ""),
        ("net = self.slots[name].net; del self.slots[name]; del net; gc.collect()", ""),
        ("net = self.slots[name].net; self.slots[name].net = None; del net; gc.collect()", ""),
        ("net = self.slots[name].net; self.slots[name] = None; del net; gc.collect()", ""),
        ("net = self.slots[name].net; self.slots[name] = Slot(None, ''); del net; gc.collect()", ""),
        ("slot = self.slots[name]; net = slot.net; slot.net = None; del net; gc.collect()", ""),
        ("slot = self.slots[name]; net = slot.net; del slot.net; del net; gc.collect()", ""),
        ("slot = self.slots[name]; net = slot.net; slot.close(); del net; gc.collect()", ""),
        ("net = self.slots[name].net; net.to('cpu'); del net; gc.collect()", ""),
        ("net = self.slots[name].net; print(net(3)); del net; gc.collect()", ""),
        ("slot = self.slots[name]; net = slot.net; self.close(slot); del net; gc.collect()", ""),
        ("net = self.main; self.main = None; del net; gc.collect()", ""),
        ("net = self.main; del self.main, net; gc.collect()", ""),
        ("net = self.main; net(name); del net; gc.collect()", ""),
        ("net = self.main; self.main.cpu(); del net; gc.collect()", ""),
        ("net = self.main; del net; gc.collect(); self.main = nn.Linear(9, 9)", ""),
        ("net = self.main; self.rest(); del net; gc.collect()", ""),
        ("net = self.main; self.empty(); del net; gc.collect()\n    def empty(self):\n        self.main = None", ""),
        ("net = self.main; del net; gc.collect()\n    def drop(self):\n        self.forget(1); self.main = None", ""),
    ],
)  # fmt: skip
def test_a_model_that_an_object_has_still_is_given_up_by_its_variable(body: str, holder: str) -> None:
    assert found(SLOTS.format(body=body)) == ([f"net: {holder}"] if holder else [])


def test_what_is_no_model_is_let_go_of() -> None:
    body = "net = self.nets[name]; del net; gc.collect()"
    assert found(SHELF.format(made="open(name).read()", body=body)) == []


POOL = """
class Pool:
    def __init__(self):
        self.net = nn.Linear(3, 3)
        self.predict = self.bound(self.net)
    def bound(self, net):
        def predict(x):
            return net(x).tolist()
        return predict
    def change(self, name):
        {}
        self.net = nn.Linear(3, 3)
        self.predict = self.bound(self.net)
"""


@pytest.mark.parametrize(
    ("lines", "held"),
    [
        ("del self.net\n        gc.collect()", ["self.net: self.predict function"]),
        ("del self.net\n        self.predict = None\n        gc.collect()", []),
        ("del self.net", []),
        ("del self.net\n        gc.collect()\n        self.predict = None\n        torch.cuda.empty_cache()", []),
    ],
)
def test_what_lets_go_only_after_memory_was_asked_back_is_too_late(lines: str, held: list[str]) -> None:
    assert found(POOL.format(lines)) == held


PRETRAINED = """
def pretrain(data):
    encoder, decoder = nn.Linear(9, 3), nn.Linear(3, 9)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()])
    for x in data:
        loss = (decoder(encoder(x)) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {given}

def main(data):
    {taken} = pretrain(data)
    other = pretrain(data)
    rate = optimizer.param_groups[0]["lr"]
    del encoder
    gc.collect()
    train(nn.Linear(3, 3), rate, other)
"""


@pytest.mark.parametrize(
    ("given", "taken", "held"),
    [
        ("encoder, optimizer", "encoder, optimizer", ["encoder: optimizer parameters"]),
        ("encoder, decoder, optimizer", "encoder, _, optimizer", ["encoder: optimizer parameters"]),
        ("encoder, decoder", "encoder, optimizer", []),
    ],
)
def test_of_what_one_function_gives_together_one_may_hold_the_other(given: str, taken: str, held: list[str]) -> None:
    assert found(PRETRAINED.format(given=given, taken=taken)) == held


GAUGE = """
class Gauge:
    def __init__(self):
        self.seen = []
    def track(self, model):
        self.seen.append({kept})
    def total(self):
        return sum(p.numel() for one in self.seen for p in one.parameters())
{more}
"""

HUB = """
class Hub:
    def __init__(self):
        self.gauge, self.model = Gauge(), None
    def switch(self):
        if self.model is not None:
            del self.model
            {after}
            gc.collect()
        self.model = nn.Linear(3, 3)
        self.gauge.track(self.model)
"""


@pytest.mark.parametrize(
    ("kept", "more", "after", "is_held"),
    [
        ("model", "", "pass", True),
        ("sum(p.numel() for p in model.parameters())", "", "pass", False),
        ("model", "    def forget(self):\n        self.seen.clear()\n", "self.gauge.forget()", False),
        ("model", "", "self.gauge = None", False),
    ],
)
def test_a_helper_of_the_object_has_the_model_in_a_list(kept: str, more: str, after: str, is_held: bool) -> None:
    source = GAUGE.format(kept=kept, more=more) + HUB.format(after=after)
    assert found(source) == (["self.model: self.gauge.seen container"] if is_held else [])


@pytest.mark.parametrize(
    ("kept", "after", "is_held"),
    [("model", "pass", True), ("str(model)", "pass", False), ("model", "self.gauge.forget()", False)],
)
def test_so_does_a_helper_of_another_file(tmp_path: Path, kept: str, after: str, is_held: bool) -> None:
    more = "    def forget(self):\n        self.seen.clear()\n"
    hub = IMPORTS + "from gauge import Gauge\n" + HUB.format(after=after)
    project = Project(tmp_path, {"gauge.py": "import torch\n" + GAUGE.format(kept=kept, more=more), "hub.py": hub})
    assert project.found() == (["hub.py: TLK408 warning"] if is_held else [])


@pytest.mark.parametrize(
    ("keeps", "is_held"),
    [("self.network = network", True),
     ("self.network = network.to('cuda')", True),
     ("self.optimizer = torch.optim.Adam(network.parameters())", True),
     ("self.parts = [network]", True),
     ("self.width = network.width", False),
     ("print(network)", False)],
)  # fmt: skip
def test_an_object_of_another_file_has_what_its_initializer_keeps(tmp_path: Path, keeps: str, is_held: bool) -> None:
    stage = f"""
        import torch

        class Stage:
            def __init__(self, network, lr):
                self.lr = lr
                {keeps}
    """
    main = """
        import torch
        from torch import nn
        from stage import Stage

        def main(x):
            coarse = nn.Linear(3, 3)
            stage = Stage(coarse, 0.1)
            with torch.no_grad():
                kept = coarse(x).argmax(1)
            del coarse
            torch.cuda.empty_cache()
            fine = nn.Linear(3, 3)
            return fine(kept)
    """
    found = [one for one in Project(tmp_path, {"stage.py": stage, "main.py": main}).found() if "TLK408" in one]
    assert found == (["main.py: TLK408 warning"] if is_held else [])


@pytest.mark.parametrize(("read", "count"), [("extractor.done", 1), ("extractor.features(x)", 0), ("extractor", 0)])
def test_a_number_that_is_read_of_a_holder_is_no_use_of_the_model(read: str, count: int) -> None:
    source = f"""
class Extractor:
    def __init__(self, net):
        self.net, self.done = net.eval(), 0

    @torch.no_grad()
    def features(self, x):
        self.done += 1
        return self.net(x).cpu()

def main(x):
    backbone = nn.Linear(3, 3)
    extractor = Extractor(backbone)
    rows = extractor.features(x)
    del backbone
    torch.cuda.empty_cache()
    fit(rows)
    print({read})
"""
    assert len(Program(source).facts.unloadings) == count


@pytest.mark.parametrize(("decorator", "holders"), [("", ["pipe: out graph"]), ("@torch.no_grad()", [])])
def test_what_an_object_answers_that_may_guard_itself_holds_nothing_for_certain(
    decorator: str, holders: list[str]
) -> None:
    source = f"""
        class Pipe(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(3, 3)
            {decorator}
            def __call__(self, x):
                return self.net(x)

        def ask(x, path):
            for pipe in (Pipe(), torch.load(path).eval()):
                out = pipe(x)
                del pipe
                gc.collect()
    """
    assert found(source) == holders


def test_an_attribute_that_is_deleted_where_the_function_ends_goes_with_its_variables() -> None:
    source = """
        def split(pipe, x):
            pipe.net = nn.Linear(3, 3)
            first = second = pipe.net
            print(first.weight.sum(), second.bias.sum())
            del pipe.net
            {after}
    """
    assert found(source.format(after="del pipe")) == []
    assert found(source.format(after="pipe.other(x)")) == ["pipe.net: first itself, second itself"]


ENCODER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)

    def encode(self, x):
        return self.body(x)

def features(x):
    net = Net()
    encode = {taken}
    out = encode(x).tolist()
    del net
    torch.cuda.empty_cache()
    {after}
    return out
"""


@pytest.mark.parametrize(
    ("taken", "after", "expected"),
    [
        ("net.encode", "other = len(out)", ["net: encode function"]),
        ("net.encode", "del encode", []),
        ("Net.encode", "other = len(out)", []),
    ],
)
def test_a_method_that_a_variable_has_is_bound_to_its_object(taken: str, after: str, expected: list[str]) -> None:
    assert found(ENCODER.format(taken=taken, after=after)) == expected


LISTED = """
def run(loader, rounds):
    one, two = nn.Linear(4, 4), nn.Linear(4, 4)
    both = [one, two]
    told = [m(loader.first).detach() for m in both]
    del both
    torch.cuda.empty_cache()
    for _ in range(rounds):
        for x in loader:
            step(x, told)
{later}
"""


BOTH = ["both: one listed, two listed"]


@pytest.mark.parametrize(
    ("later", "held"),
    [
        ("        pass", BOTH),
        ("        one, two = nn.Linear(4, 4), nn.Linear(4, 4)\n        show(one, two)\n        del one, two", BOTH),
        ("        one = nn.Linear(4, 4)\n        show(one)\n        del one", BOTH),
        ("        show(one)", ["both: two listed"]),
        ("    del one, two", []),
    ],
)
def test_a_list_is_given_up_and_not_the_names_that_its_models_have(later: str, held: list[str]) -> None:
    assert found(LISTED.format(later=later)) == held


FITTER = """
import torch
from torch import nn
class Owner:
    def free(self):
        self.net = None
class Fitter(Owner):
    def __init__(self, net):
        self.net = net
        self.optimizer = torch.optim.SGD(net.parameters(), 0.1)
        self.seen = 0
    def fit(self, x):
        self.net(x).sum().backward()
        self.optimizer.step()
    {method}
{function}
"""

FITTED = """
import gc
from torch import nn
{imports}
def run(x, later):
    net = nn.Linear(3, 3)
    fitter = Fitter(net)
    fitter.fit(x)
    {line}
    del net
    gc.collect()
    later(x)
"""


@pytest.mark.parametrize(
    ("method", "function", "line"),
    [("def close(self):\n        self.net = None\n        del self.optimizer", "", "fitter.close()"),
     ("def close(self):\n        self.net = self.optimizer = None", "", "fitter.close()"),
     ("def close(self):\n        self.net, self.optimizer = None, None", "", "fitter.close()"),
     ("def close(self):\n        self.free()\n        self.optimizer = None", "", "fitter.close()"),
     ("", "def close(one):\n    one.net = None\n    one.optimizer = None", "close(fitter)"),
     ("", "", "fitter.optimizer = None\n    fitter.free()")],
)  # fmt: skip
def test_who_was_made_with_it_has_it_taken_away(tmp_path: Path, method: str, function: str, line: str) -> None:
    fitter = FITTER.format(method=method, function=function)
    assert found(fitter + FITTED.format(imports="", line=line)) == []
    name = ", close" if function else ""
    files = {"fitter.py": fitter, "run.py": FITTED.format(imports=f"from fitter import Fitter{name}", line=line)}
    assert Project(tmp_path, files).found() == []


@pytest.mark.parametrize(
    ("method", "line"),
    [("def close(self):\n        self.net = None", "fitter.close()"),
     ("def close(self):\n        self.seen = None", "fitter.close()"),
     ("def close(self):\n        self.net = self.optimizer = None", "Fitter(nn.Linear(3, 3)).close()"),
     ("", "fitter.free()")],
)  # fmt: skip
def test_who_was_made_with_it_has_the_rest_still(tmp_path: Path, method: str, line: str) -> None:
    fitter = FITTER.format(method=method, function="")
    assert found(fitter + FITTED.format(imports="", line=line)) == ["net: fitter wrapper"]
    files = {"fitter.py": fitter, "run.py": FITTED.format(imports="from fitter import Fitter", line=line)}
    assert Project(tmp_path, files).found() == ["run.py: TLK408 warning"]


REGISTRY = """
import weakref

class Pool:
    def __init__(self):
        self.live = {live}
    def register(self, name, model):
        {puts}
        return model
    def names(self):
        {names}

POOL = Pool()
ALL = []

def keep(model):
    ALL.append(model)

def build():
    net = nn.Linear(3, 3)
    {builds}
    return net

def main(x):
    net = {made}
    {before}
    net(x).sum().backward()
    del net
    gc.collect()
    torch.cuda.empty_cache()
    second = nn.Linear(3, 3)
    second(x).sum().backward()
"""
POOLED = {"puts": "self.live.append((name, model))", "names": "return [name for name, _ in self.live]"}
POOLED |= {"live": "[]", "builds": "pass", "made": "nn.Linear(3, 3)", "before": "POOL.register('first', net)"}


@pytest.mark.parametrize(
    ("changes", "held"),
    [
        ({}, ["POOL.live"]),
        ({"live": "{}", "puts": "self.live[name] = model", "names": "return sorted(self.live)"}, ["POOL.live"]),
        ({"live": "{}", "puts": "self.live[name] = model", "names": "return list(self.live.values())"}, []),
        ({"before": "keep(net)"}, ["ALL"]),
        ({"made": "build()", "builds": "ALL.append(net)", "before": "pass"}, ["ALL"]),
        ({"made": "build()", "builds": "POOL.register('net', net)", "before": "pass"}, ["POOL.live"]),
        ({"made": "POOL.register('net', nn.Linear(3, 3)).train()", "before": "pass"}, ["POOL.live"]),
        ({"made": "build()", "before": "pass"}, []),
        ({"puts": "self.live.append((name, weakref.ref(model)))"}, []),
        ({"puts": "if name != 'first': self.live.append((name, model))"}, []),
        ({"puts": "self.live.append((name, model)); self.live = self.live[-1:]"}, []),
        ({"names": "return dict(self.live)"}, []),
        ({"names": "return [model for _, model in self.live]"}, []),
        ({"before": "POOL.register('first', net); POOL.live.clear()"}, []),
        ({"before": "Pool().register('first', net)"}, []),
        ({"before": "POOL.register('first', net.weight.sum().item())"}, []),
    ],
)
def test_a_registry_lists_a_model_and_nobody_asks_for_it(changes: dict[str, str], held: list[str]) -> None:
    source = REGISTRY.format(**POOLED | changes)
    found = Program(source, head=IMPORTS).facts.unloadings
    assert [holder.name for one in found for holder in one.holders] == held


RELEASING = """
from diffusers import StableDiffusionPipeline
from transformers import CLIPTextModel

def release({given}):
    {loop}
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()

def stages(loader, name):
    pipe = StableDiffusionPipeline.from_pretrained(name).to("cuda")
    encoder = CLIPTextModel.from_pretrained(name).to("cuda")
    with torch.no_grad():
        hidden = [encoder(x.cuda())[0].cpu() for x in loader]
    {call}
    student = nn.Linear(3, 3).cuda()
    return [student(h.cuda()).argmax().item() for h in hidden]
"""


@pytest.mark.parametrize(
    ("given", "loop", "call", "holder"),
    [("*models", "for model in models: del model", "release(encoder)", ["encoder itself"]),
     ("*models", "for model in models: del model", "release(pipe)", ["pipe itself"]),
     ("level, *models", "for model in models: del model", "release(1, pipe, encoder)", ["pipe itself"]),
     ("models", "for model in models: del model", "release([encoder, pipe])", ["encoder itself"]),
     ("models", "for model in models: model = None", "release((hidden, encoder))", ["encoder itself"]),
     ("models", "if models:\n        for model in models: del model", "release(models=[pipe])", ["pipe itself"]),
     ("model", "del model", "release(pipe)", ["pipe itself"]),
     ("*models", "for model in models: del model", "release(encoder); del encoder", []),
     ("*models", "for model in models: del model", "encoder = release(encoder)", []),
     ("*models", "for model in models: del model", "release(hidden)", []),
     ("models", "for model in models:\n        model.cpu()\n        del model", "release([encoder])", []),
     ("models", "for model in models: model.to('cpu')", "release([encoder])", []),
     ("models", "for model in models: del model", "release([encoder, pipe]); encoder = pipe = None", []),
     ("model", "del model", "release(pipe); del pipe", [])],
)  # fmt: skip
def test_a_helper_gives_up_its_own_names_alone(given: str, loop: str, call: str, holder: list[str]) -> None:
    told = found(RELEASING.format(given=given, loop=loop, call=call))
    assert [line.partition(": ")[2] for line in told] == holder


HELPER = """
def release(things):
    {}
    gc.collect()
    torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(
    ("body", "is_told"),
    [("for thing in things:\n        del thing", True),
     ("if len(things) >= 1:\n        for thing in things:\n            del thing", True),
     ("for thing in things:\n        if thing.old: del BY_NAME[thing.name]\n        del thing", False),
     ("for thing in list(things):\n        things.remove(thing)\n        del thing", False),
     ("while things:\n        thing = things.pop()\n        del thing", False),
     ("things.clear()", False)],
)  # fmt: skip
def test_a_helper_that_other_files_call(body: str, is_told: bool) -> None:
    assert found(HELPER.format(body)) == (["thing: "] if is_told else [])


STAGE = """
class Stage:
    def __init__(self, width):
        self.net = nn.Linear(width, width)

    def optimizer(self):
        return torch.optim.Adam(self.net.parameters())

    def size(self):
        return sum(p.numel() for p in self.net.parameters())

    def close(self):
        self.net = None

def main(loader, width):
    stage = Stage(width)
    {}
    del model
    torch.cuda.empty_cache()
    {}
"""


@pytest.mark.parametrize(
    ("before", "after", "holders"),
    [
        ("model = stage.net", "fit(nn.Linear(3, 3))", "model: stage wrapper"),
        ("model, opt = stage.net, stage.optimizer()", "fit(nn.Linear(3, 3))", "model: stage wrapper, opt parameters"),
        ("model, size = stage.net, stage.size()", "fit(nn.Linear(3, 3))", "model: stage wrapper"),
        ("model, opt = stage.net, stage.optimizer()\n    del stage", "fit(nn.Linear(3, 3))", "model: opt parameters"),
    ],
)
def test_an_object_that_builds_the_model_has_it_still(before: str, after: str, holders: str) -> None:
    assert found(STAGE.format(before, after)) == [holders]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model = stage.net\n    del stage", "fit(nn.Linear(3, 3))"),
        ("model = stage.net\n    stage.close()", "fit(nn.Linear(3, 3))"),
        ("model = stage.net\n    stage.net = None", "fit(nn.Linear(3, 3))"),
        ("model = stage.net", "fit(stage.net)"),
        ("model, opt = stage.net, stage.optimizer()\n    del stage, opt", "fit(nn.Linear(3, 3))"),
        ("model, size = nn.Linear(width, 3), stage.size()", "fit(nn.Linear(3, 3))"),
        ("other = Stage(3)\n    model = other.net\n    del other", "fit(nn.Linear(3, 3))"),
        ("model = stage.net", "return 3"),
    ],
)
def test_one_that_lets_it_go_or_is_wanted(before: str, after: str) -> None:
    assert found(STAGE.format(before, after)) == []


TABLES = """
from torch import optim

class Adapters:
    def __init__(self):
        self.nets, self.optimizers = {{}}, {{}}

    def load(self, name):
        net = nn.Linear(3, 3)
        self.nets[name] = net
        {beside}

    def unload(self, name):
        net = self.nets.pop(name, None)
        if net is None:
            return
        {also}
        del net
        if name.startswith("large"):
            torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(
    ("beside", "also", "holders"),
    [
        ("self.optimizers[name] = optim.SGD(net.parameters(), 0.1)", "pass", ["self.optimizers[name] parameters"]),
        ("self.optimizers[name] = nn.DataParallel(net)", "pass", ["self.optimizers[name] wrapper"]),
        ("self.optimizers[name] = (net, 3)", "pass", ["self.optimizers[name] container"]),
        ("self.optimizers[name] = optim.SGD(net.parameters(), 0.1)", "self.optimizers.pop(name)", []),
        ("self.optimizers[name] = optim.SGD(net.parameters(), 0.1)", "del self.optimizers[name]", []),
        ("self.optimizers[len(name)] = optim.SGD(net.parameters(), 0.1)", "pass", []),
        ("self.optimizers[name] = nn.Linear(3, 3)", "pass", []),
    ],
)
def test_a_table_that_was_filled_beside_the_one_it_is_taken_from(beside: str, also: str, holders: list[str]) -> None:
    source = TABLES.format(beside=beside, also=also)
    assert found(source) == [f"net: {one}" for one in holders]
