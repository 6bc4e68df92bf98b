"""Networks of other files: who builds, freezes, reads, wraps and hooks them."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, loop

NETS = """
    import functools
    from torch import nn

    class Net(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.body, self.head = nn.Linear(3, width), nn.Linear(width, 1)

        def forward(self, x):
            return self.head(self.body(x).relu())

    SHARED = Net()

    @functools.lru_cache
    def remembered():
        return Net()

    def shared():
        return SHARED
"""


@pytest.mark.parametrize(
    ("body", "in_steps", "found"),
    [
        ("return Net(width)", False, ["train.py: TLK203 warning"]),
        ("return Net(width).to(device)", False, ["train.py: TLK203 warning"]),
        ("net = Net(width); net.to(device); return net", False, ["train.py: TLK203 warning"]),
        ("return Net(width).requires_grad_(False).to(device)", False, []),
        ("return remembered().to(device)", False, []),
        ("return shared()", False, []),
        ("return Net(width)", True, ["train.py: TLK301 warning", "train.py: TLK203 warning"]),
        ("return shared()", True, []),
    ],
)
def test_each_network_of_a_builder_in_another_file_is_another_one(
    tmp_path: Path, body: str, in_steps: bool, found: list[str]
) -> None:
    """What builds imports the class from a third file; each of two networks is trained, or is not, by itself."""
    build = f"""
        from nets import Net, remembered, shared

        def make_net(width, device):
            {body}
    """
    makes = "teacher = make_net(64, device)"
    train = f"""
        import torch
        from torch.nn import functional as F
        from build import make_net

        def distil(loader, device):
            pupil = make_net(8, device)
            {"pass" if in_steps else makes}
            optimizer = torch.optim.SGD(pupil.parameters(), 0.1)
            for x, y in loader:
                {makes if in_steps else "pass"}
                wanted = teacher(x)
                loss = F.mse_loss(pupil(x), wanted)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    """
    assert Project(tmp_path, {"nets.py": NETS, "build.py": build, "train.py": train}).found("train.py") == found


@pytest.mark.parametrize(
    ("does", "hand", "found"),
    [
        ("return net(x).argmax(1)", "pool.submit(work.rank, net, x).result()", ["serve.py: TLK202 warning"]),
        ("return net(x).argmax(1)", "list(pool.map(partial(work.rank, net), [x]))", ["serve.py: TLK202 warning"]),
        ("return scores(net, x).argmax(1)", "pool.submit(work.rank, net, x).result()", ["serve.py: TLK202 warning"]),
        ("return x.flip(0)", "pool.submit(work.rank, net, x).result()", []),
        ("return net(x).argmax(1)", "processes.submit(work.rank, net, x).result()", []),
        ("return net(x).argmax(1)", "[work.rank(net, x)]", []),
    ],
)
def test_what_another_thread_runs_may_stand_in_another_file(
    tmp_path: Path, does: str, hand: str, found: list[str]
) -> None:
    work = f"""
        from torch import nn

        def scores(net: nn.Module, x):
            return net(x)

        def rank(net, x):
            {does}
    """
    serve = f"""
        from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
        from functools import partial
        import torch
        import work

        def serve(loader):
            net = torch.nn.Linear(3, 4).eval()
            ranks = []
            with ThreadPoolExecutor(2) as pool, ProcessPoolExecutor(2) as processes:
                for x in loader:
                    with torch.no_grad():
                        ranks.append({hand})
            return ranks
    """
    assert Project(tmp_path, {"work.py": work, "serve.py": serve}).found("serve.py") == found


@pytest.mark.parametrize(
    ("made", "leaks"),
    [
        ("Scorer(path)", True),
        ("ByMethod(path, 'cpu')", True),
        ("ByMethod(name, 'cpu')", False),
        ("Scorer(path=name)", False),
        ("Later(path)", False),
        ("Table(path)", False),
    ],
)
def test_an_object_of_another_file_that_reads_a_model_when_it_is_made(tmp_path: Path, made: str, leaks: bool) -> None:
    scorers = """
        import pickle
        import torch
        from torch import nn

        class Scorer:
            def __init__(self, path):
                with open(path, "rb") as file:
                    self.net = pickle.load(file)
                self.net.eval()

            def score(self, x):
                return self.net(x)

        class ByMethod:
            def __init__(self, path, device):
                self.path, self.device = path, device
                self.net = self._read()

            def _read(self):
                net = nn.Linear(3, 3)
                net.load_state_dict(torch.load(self.path))
                return net.to(self.device)

        class Later:
            def __init__(self, path):
                self.path, self.net = path, None

            def read(self):
                self.net = torch.jit.load(self.path)

        class Table:
            def __init__(self, path):
                self.rows = torch.load(path)
    """
    run = f"""
        import torch
        from scorers import ByMethod, Later, Scorer, Table

        def run(loader, path):
            net, best = torch.nn.Linear(3, 1), []
            for x, name in loader:
                made = {made}
                with torch.no_grad():
                    best.append(net(x).max().item() + len(str(made)))
            return best
    """
    found = Project(tmp_path, {"scorers.py": scorers, "run.py": run}).found("run.py")
    assert found == (["run.py: TLK302 warning"] if leaks else [])


def test_a_function_of_another_file_binds_none_of_the_variables_of_this_one(tmp_path: Path) -> None:
    shapes = """
        import torch

        def stretched(x, rate):
            return x * rate
    """
    run = """
        import torch
        from shapes import stretched

        def main(net: torch.nn.Module, rows):
            seen = 0

            def note():
                nonlocal seen
                seen += 1

            fast = torch.compile(stretched)
            net.eval()
            for x in rows:
                note()
                print(fast(net(x), 2.0).sum().item(), seen)
    """
    assert Project(tmp_path, {"shapes.py": shapes, "run.py": run}).found("run.py") == ["run.py: TLK201 warning"]


SPIKES = """
    import spiking
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.spike = nn.Linear(8, 4), spiking.Leaky(0.9)

        def forward(self, x):
            spikes, states = self.spike(self.first(x))
            return spikes, states
"""


@pytest.mark.parametrize(
    ("run", "then", "found"),
    [
        ("spikes, states = net(one)", "total += (rec - y).abs().mean().item()", ["run.py: TLK201 warning"]),
        ("spikes = net(one)[0]", "total += (rec - y).abs().mean().item()", ["run.py: TLK201 warning"]),
        ("spikes, states = net(one)", "(rec - y).abs().mean().backward()", []),
        ("spikes, states = net(one)", "total += len(y)", []),
        ("spikes, states = one, net", "total += (rec - y).abs().mean().item()", []),
    ],
)
def test_a_part_of_what_a_network_of_another_file_gives_is_a_forward_s_in_both_phases(
    tmp_path: Path, run: str, then: str, found: list[str]
) -> None:
    evaluated = "" if "len" in then else "rec = roll(net, x)"
    text = f"""
        import torch
        from rows import rows_of
        from spikes import Net

        def roll(net, x):
            rows = []
            for one in x:
                {run}
                rows.append(spikes)
            return torch.stack(rows)

        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for epoch in range(3):
            net.train()
            for x, y in rows_of("train"):
                optimizer.zero_grad()
                rec = roll(net, x)
                loss = (rec - y).abs().mean()
                loss.backward()
                optimizer.step()
            net.eval()
            total = 0.0
            for x, y in rows_of("others"):
                {evaluated}
                {then}
            print(total)
    """
    assert Project(tmp_path, {"spikes.py": SPIKES, "run.py": text}).found("run.py") == found


@pytest.mark.parametrize(
    ("given", "used", "found"),
    [
        ("output, F.mse_loss(output, y)", "total += loss.item()", ["run.py: TLK201 warning"]),
        ("F.mse_loss(output, y), len(x)", "total += output.item()", ["run.py: TLK201 warning"]),
        ("output, F.mse_loss(output, y)", "loss.backward()", []),
        ("x, F.mse_loss(output, y)", "loss.backward()", []),
        ("len(x), x", "total += loss.sum().item()", []),
    ],
)
def test_of_what_a_helper_of_another_file_returns_each_item_is_known(
    tmp_path: Path, given: str, used: str, found: list[str]
) -> None:
    helper = f"""
        from torch.nn import functional as F

        def run_batch(net, batch):
            x, y = batch
            output = {"x" if "output" not in given else "net(x)"}
            return {given}
    """
    run = f"""
        import torch
        from helper import run_batch

        def run(loader):
            net, total = torch.nn.Linear(3, 1), 0.0
            net.{"train" if "backward" in used else "eval"}()
            for batch in loader:
                output, loss = run_batch(net, batch)
                {used}
            return total
    """
    assert Project(tmp_path, {"helper.py": helper, "run.py": run}).found("run.py") == found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("torch.nn.Linear(3, 2)", ["ask.py: TLK201 warning"]),
        ("net=torch.nn.Linear(3, 2)", ["ask.py: TLK201 warning"]),
        ("torch.nn.ReLU()", []),
    ],
)
def test_a_wrapper_of_another_file_has_the_parameters_that_it_is_given(
    tmp_path: Path, given: str, found: list[str]
) -> None:
    wrapper = """
        from torch import nn

        class Timed(nn.Module):
            def __init__(self, net):
                super().__init__()
                self.net, self.seconds = net, 0.0

            def forward(self, x):
                return self.net(x)
    """
    ask = f"""
        import torch
        from wrapper import Timed

        def ask(loader):
            timed = Timed({given})
            return [timed(x).argmax(1).tolist() for x in loader]
    """
    assert Project(tmp_path, {"wrapper.py": wrapper, "ask.py": ask}).found("ask.py") == found


@pytest.mark.parametrize(
    ("before", "each", "found"),
    [
        ("cam = Cam(net)", "cam(x)", ["run.py: TLK303 warning"]),
        ("cam = Cam(net)", "cam.explain(x)", ["run.py: TLK303 warning"]),
        ("cam = Tidy(net)", "cam(x)", []),
        ("cam = None", "Cam(torch.nn.Linear(3, 2))(x)", []),
    ],
)
def test_what_an_object_of_another_file_hooks_when_it_is_called(
    tmp_path: Path, before: str, each: str, found: list[str]
) -> None:
    cams = """
        class Cam:
            def __init__(self, layer):
                self.layer = layer

            def __call__(self, x):
                seen = []
                self.layer.register_forward_hook(lambda module, inputs, out: seen.append(out.mean().item()))
                self.layer(x)
                return seen[-1]

            def explain(self, x):
                return self(x)

        class Tidy(Cam):
            def __call__(self, x):
                seen = []
                hook = self.layer.register_forward_hook(lambda module, inputs, out: seen.append(out.mean().item()))
                self.layer(x)
                hook.remove()
                return seen[-1]
    """
    run = f"""
        import torch
        from cams import Cam, Tidy

        def run(loader):
            net = torch.nn.Linear(3, 2)
            {before}
            with torch.no_grad():
                return [({each}, net(x).sum().item()) for x in loader]
    """
    project = Project(tmp_path, {"cams.py": cams, "run.py": run})
    assert [one for one in project.found("run.py") if "TLK303" in one] == found


LINE = "\n" + 20 * " "
"""Between two statements of the loop below."""


@pytest.mark.parametrize(
    ("beside", "leaks"),
    [
        ("print(gate_of(net).openness.mean().item())", True),
        ("gate_of(net).openness = None", False),
        ("gate_of(net).openness = gate_of(net).openness.detach()", True),
        ("with torch.no_grad(): print(gate_of(net).openness.mean())", True),
        (f"shown = gate_of(net).openness.mean(){LINE}shown = shown.cpu().numpy(){LINE}print(shown)", True),
        (f"shown = gate_of(net).openness.mean(){LINE}shown = shown + 1{LINE}print(shown)", False),
        ("loss = loss + gate_of(net).openness.mean()", False),
        ("loss = loss + getattr(gate_of(net), 'openness').mean()", False),
        ("loss = loss + sum(getattr(gate_of(net), name).mean() for name in terms)", False),
        ("loss = loss + penalty(net)", False),
    ],
)
def test_what_a_layer_leaves_on_itself_is_told_where_no_file_of_the_training_uses_it(
    tmp_path: Path, beside: str, leaks: bool
) -> None:
    files = {
        "layers.py": """
            import torch
            from torch import nn

            class Gate(nn.Module):
                def __init__(self, width):
                    super().__init__()
                    self.weigh = nn.Linear(width, width)
                    self.openness = None

                def forward(self, x):
                    share = torch.sigmoid(self.weigh(x))
                    self.openness = share.exp()
                    return x * share
        """,
        "network.py": """
            from torch import nn
            from layers import Gate

            class Network(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.gates = nn.ModuleList([Gate(8) for _ in range(3)])

                def forward(self, x):
                    for gate in self.gates:
                        x = gate(x)
                    return x
        """,
        "terms.py": f"""
            def penalty(net):
                return sum(gate.{"openness" if "penalty" in beside else "weigh"}.sum() for gate in net.gates)
        """,
        "run.py": f"""
            import torch
            from network import Network
            from terms import penalty

            def gate_of(net):
                return net.gates[0]

            def run(loader, terms):
                net = Network()
                optimizer = torch.optim.SGD(net.parameters(), 0.1)
                for x, y in loader:
                    loss = (net(x) - y).pow(2).mean()
                    {beside}
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        """,
    }
    project = Project(tmp_path, files)
    assert [f for f in project.found() if "TLK111" in f] == (["layers.py: TLK111 warning"] if leaks else [])
    assert project.found("layers.py", "network.py") == []  # nobody is seen to train it


@pytest.mark.parametrize(
    ("given", "taken", "leaks"),
    [
        ("loss", "print(tally.means())", True),
        ("loss", "return tally.means()", True),
        ("size", "return tally.means()", False),  # who called may train on it: no backward has run over it
        ("loss.detach()", "return tally.means()", False),
    ],
)
def test_what_others_may_read_of_a_meter_is_not_trained_on_once_its_graph_is_freed(
    tmp_path: Path, given: str, taken: str, leaks: bool
) -> None:
    tally = """
        class Tally:
            def __init__(self):
                self.sums, self.counts = {}, {}

            def note(self, name, value, rows):
                if name not in self.sums:
                    self.sums[name], self.counts[name] = 0.0, 0
                self.sums[name] += value * rows
                self.counts[name] += rows

            def means(self):
                return {name: self.sums[name] / self.counts[name] for name in self.sums}
    """
    run = f"""
        import torch
        from tally import Tally

        def run(loader, net: torch.nn.Module, optimizer):
            tally = Tally()
            for x, y in loader:
                out = net(x)
                loss, size = (out - y).pow(2).mean(), net(y).abs().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                tally.note("loss", {given}, len(x))
                tally.note("rows", len(x), 1)
            {taken}
    """
    project = Project(tmp_path, {"tally.py": tally, "run.py": run})
    assert [f for f in project.found() if "TLK105" in f] == (["run.py: TLK105 warning"] if leaks else [])


@pytest.mark.parametrize(
    ("body", "leaks"),
    [
        ("seen = torch.cat([past, new], dim=1)", True),
        ("seen = torch.cat([past.detach(), new], dim=1)", False),
        ("seen = new + past.sum(dim=1, keepdim=True)", True),
        ("seen = new", False),
    ],
)
def test_a_cache_that_a_network_of_another_file_adds_to_is_carried(tmp_path: Path, body: str, leaks: bool) -> None:
    files = {
        "memory.py": f"""
            import torch
            from torch import nn

            class Memory(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.lift = nn.Linear(8, 4)

                def forward(self, x, past):
                    new = self.lift(x).unsqueeze(1)
                    {body}
                    return seen.mean(dim=1), seen
        """,
        "listen.py": """
            import torch
            from memory import Memory

            def listen(stream):
                memory = Memory().eval()
                past, hits = torch.zeros(1, 1, 4), 0
                for x, y in stream:
                    scores, past = memory(x, past)
                    hits += (scores.argmax(dim=1) == y).sum().item()
                return hits
        """,
    }
    assert any("TLK104" in f for f in Project(tmp_path, files).found()) is leaks


@pytest.mark.parametrize(
    ("kept", "call", "found"),
    [
        ("out", "learn(net, F.cross_entropy, loader)", ["run.py: TLK106 warning"]),
        ("out.detach()", "learn(net, F.cross_entropy, loader)", []),
        ("out", "learn(net, sparse, loader)", []),  # the loss is computed from what the hook keeps
        ("out", "answers(net, loader)", []),
        ("out", "learn(other, F.cross_entropy, loader)", []),
        ("out", "handle.remove(); learn(net, F.cross_entropy, loader)", []),
        ("out", "learn(net, F.cross_entropy, loader); seen.clear()", ["run.py: TLK106 warning"]),
    ],
)
def test_a_training_of_another_file_runs_the_hooks_of_what_it_is_given(
    tmp_path: Path, kept: str, call: str, found: list[str]
) -> None:
    learning = """
        import torch

        def learn(net, criterion, loader):
            optimizer = torch.optim.Adam(net.parameters())
            for x, y in loader:
                loss = criterion(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

        @torch.no_grad()
        def answers(net, loader):
            return [net(x).argmax(dim=1) for x, _ in loader]
    """
    run = f"""
        import torch
        import torch.nn.functional as F
        from torch import nn
        from learning import answers, learn

        seen = []

        def note(layer, args, out):
            seen.append({kept})

        def sparse(out, y):
            return F.cross_entropy(out, y) + seen[-1].abs().mean()

        def run(loader):
            seen.clear()
            net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
            other = nn.Linear(8, 4)
            handle = net[1].register_forward_hook(note)
            {call}
            print(len(seen))
    """
    assert Project(tmp_path, {"learning.py": learning, "run.py": run}).found() == found


@pytest.mark.parametrize(
    ("body", "level"),
    [
        ("self.recent.append(value)", "note"),
        ("self.recent.append(value); self.total += value", "warning"),
        ("self.total += value; self.recent.append(value)", "warning"),
        ("self.ring[self.at] = value; self.at = (self.at + 1) % 9", "note"),
        ("self.everything.append(value)", "warning"),
    ],
)
def test_a_window_of_another_file_keeps_as_many_as_it_has_room_for(tmp_path: Path, body: str, level: str) -> None:
    window = f"""
        from collections import deque

        class Window:
            def __init__(self):
                self.recent, self.total, self.everything = deque(maxlen=9), 0.0, []
                self.ring, self.at = [None] * 9, 0

            def put(self, value):
                {body}
    """
    each = "window.put(loss)"
    files = {"window.py": window, "run.py": loop("from window import Window", "window = Window()", each)}
    assert Project(tmp_path, files).found() == [f"run.py: TLK105 {level}"]


def test_weights_that_are_copied_from_weights_say_nothing_of_a_backward(tmp_path: Path) -> None:
    """What a layer gives rests on its weights, which rest on themselves; that a backward ran over all of it does not
    follow, nor that the layers which call it are steps of a training."""
    layers = """
        import torch
        from torch import nn

        class Projection(nn.Module):
            def __init__(self, wide, narrow):
                super().__init__()
                self.wide = wide
                self.weight = nn.Parameter(torch.empty(narrow, wide))
                self.bias = nn.Parameter(torch.zeros(wide))

            def forward(self, x):
                x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
                return x.view(-1, self.wide)

        def narrowed(layer, index):
            weight = layer.weight.index_select(1, index)
            smaller = Projection(len(index), weight.size(0))
            smaller.weight.requires_grad = False
            smaller.weight.copy_(weight.contiguous())
            smaller.weight.requires_grad = True
            return smaller
    """
    stack = """
        from torch import nn
        from layers import Projection, narrowed

        class Block(nn.Module):
            def __init__(self, width):
                super().__init__()
                self.inner = Projection(width, width)

            def prune(self, index):
                self.inner = narrowed(self.inner, index)

            def forward(self, x, past=None):
                return [self.inner(x), x]

        class Stack(nn.Module):
            def __init__(self, depth, width, tells=False):
                super().__init__()
                self.tells = tells
                self.rows = nn.ModuleList([Block(width) for _ in range(depth)])

            def forward(self, x, past=None):
                past = [None] * len(self.rows) if past is None else past
                told = ()
                for i, (block, one) in enumerate(zip(self.rows, past)):
                    if self.tells:
                        told = told + (x.view(-1),)
                    x = block(x, past=one)[0]
                given = (x,)
                if self.tells:
                    given = given + (told,)
                return given
    """
    assert Project(tmp_path, {"layers.py": layers, "stack.py": stack}).found() == []


BUILDS = """
    import torch

    def build(net, other):
        optimizer = torch.optim.Adam(net.parameters())
        return {given}
"""

STEPS = """
    import torch
    from torch import nn
    from build import build

    def run(loader):
        net = nn.Linear(3, 3)
        {before}
        for x, y in loader:
            {each}
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("optimizer", "optimizer = build(net, net)"),
        ("torch.optim.Adam(net.parameters())", "optimizer = build(net, net)"),
        ("optimizer, torch.optim.Adam(other.parameters())", "optimizer, other = build(net, net)"),
        ("optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 3)", "optimizer, schedule = build(net, net)"),
    ],
)
def test_an_optimizer_that_another_file_builds_in_each_step_is_told(tmp_path: Path, given: str, made: str) -> None:
    for before, each, expected in (("pass", made, ["run.py: TLK301 warning"]), (made, "pass", [])):
        files = {"build.py": BUILDS.format(given=given), "run.py": STEPS.format(before=before, each=each)}
        assert Project(tmp_path, files).found() == expected


BLOCKS = """
    import torch
    from torch import nn

    class Fold(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.narrow = nn.Conv2d(width, width, 3, stride=2)

        def forward(self, x):
            return self.narrow(x).relu()

    class Stack(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = torch.load("rows.pt")

        def take(self, x):
            return self.rows[: len(x)]
"""

ENCODER = """
    import torch
    from torch import nn
    from blocks import Fold, Stack

    class Encoder(nn.Module):
        def __init__(self, width, classes):
            super().__init__()
            self.folds = nn.ModuleList([Fold(width), Fold(width)])
            self.store = Stack()
            self.head = nn.Linear(self.measure(width), classes)

        def measure(self, x):
            {begin}
            for index, _ in enumerate(self.folds):
                x = self.folds[index](x)
            return x.flatten(1).shape[-1]

        def forward(self, x):
            for fold in self.folds:
                x = fold(x)
            return self.head(x.flatten(1))
"""


@pytest.mark.parametrize(
    ("begin", "found"),
    [
        ("x = torch.randn(4, x, 32, 32)", []),
        ("x = torch.load('sample.pt', map_location='cpu')", ["encoder.py: TLK201 warning"]),
        ("x = self.store.take(torch.randn(4, x, 32, 32))", ["encoder.py: TLK201 warning"]),
    ],
)
def test_networks_of_another_file_compute_with_what_was_made_up(tmp_path: Path, begin: str, found: list[str]) -> None:
    written = {"blocks.py": BLOCKS, "encoder.py": ENCODER.format(begin=begin)}
    assert Project(tmp_path, written).found() == found


@pytest.mark.parametrize("size", ["x.size()[2:]", "(x.shape[2], x.size(3))", "rows.size()[2:]"])
def test_what_only_says_how_large_the_output_gets_gives_it_no_graph(tmp_path: Path, size: str) -> None:
    """``F.interpolate(self.head(rows), size=x.size()[2:])`` comes of the head, whoever builds that in a third file."""
    parts = """
        from torch import nn

        class Part(nn.Module):
            def __init__(self, norm):
                super().__init__()
                self.body, self.norm = nn.Conv2d(3, 3, 3), norm(3)

            def forward(self, x):
                return self.norm(self.body(x)).relu()

        def build_part(norm):
            return Part(norm)
    """
    net = f"""
        from torch import nn
        from torch.nn import functional as F
        from parts import build_part

        class Net(nn.Module):
            def __init__(self, norm=nn.BatchNorm2d):
                super().__init__()
                self.body, self.head = build_part(norm), build_part(norm)

            def forward(self, x):
                rows = self.body(x)
                return F.interpolate(self.head(rows), size={size}, mode="bilinear")
    """
    train = """
        import torch
        from torch.nn import functional as F
        from net import Net

        class Trainer:
            def __init__(self, loader):
                self.model, self.loader = Net(), loader
                self.steps = torch.optim.SGD(self.model.parameters(), 0.1)

            def fit(self):
                for x, y in self.loader:
                    loss = F.cross_entropy(self.model(x), y)
                    self.steps.zero_grad()
                    loss.backward()
                    self.steps.step()

            def check(self):
                self.model.eval()
                total = 0.0
                for x, y in self.loader:
                    total += F.cross_entropy(self.model(x), y).item()
                return total
    """
    found = Project(tmp_path, {"parts.py": parts, "net.py": net, "train.py": train}).found()
    assert found == ["train.py: TLK201 warning"]


@pytest.mark.parametrize(
    ("make", "write", "found"),
    [
        ("torch.zeros(len(y), len(x), 8)", "out[t] = state", ["train.py: TLK201 warning"]),
        ("y.new_zeros(len(y), len(x), 8).to(x.device)", "out[t].copy_(state)", ["train.py: TLK201 warning"]),
        ("torch.zeros(len(y), len(x), dtype=torch.long)", "out[t] = state.argmax(1)", ["train.py: TLK201 note"]),
    ],
)
def test_what_a_network_writes_into_a_table_has_its_graph(
    tmp_path: Path, make: str, write: str, found: list[str]
) -> None:
    """A network that writes step by step gives the table; one that only says which word comes next gives no graph."""
    net = f"""
        import torch
        from torch import nn

        class Writer(nn.Module):
            def __init__(self, cell):
                super().__init__()
                self.cell = cell

            def forward(self, x, y):
                out, state = {make}, x
                for t in range(len(y)):
                    state = self.cell(y[t], state)
                    {write}
                return out
    """
    train = """
        from torch import nn
        from torch.nn import functional as F
        from net import Writer

        def validate(model, loader):
            model.eval()
            total = 0.0
            for x, y in loader:
                total += F.mse_loss(model(x, y), y).item()
            return total

        def main(loader):
            print(validate(Writer(nn.GRUCell(8, 8)), loader))
    """
    assert Project(tmp_path, {"net.py": net, "train.py": train}).found() == found
