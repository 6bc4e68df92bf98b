"""Programs whose parts stand in different files: a helper that averages, copies, loads, compiles or is a metric."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project, fit

LAYER = """
    import torch
    from torch import nn
    from ops import {helper}

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(3))
            self.register_buffer("width", torch.ones(3))

        def forward(self, x):
            span = (self.gain * x).amax(0)
            self.width = {helper}(self.width, {given}, 0.9)
            return x / span
"""

OPS = """
    def blend(old, new, share):
        return old * share + new * (1 - share)

    def longer(old, new, share):
        return old if len(old) > len(new) else share
"""


@pytest.mark.parametrize(
    ("helper", "given", "is_found"),
    [("blend", "span", True), ("blend", "span.detach()", False), ("longer", "span", False)],
)
def test_an_average_may_be_computed_by_another_file(tmp_path: Path, helper: str, given: str, is_found: bool) -> None:
    project = Project(tmp_path, {"ops.py": OPS, "layer.py": LAYER.format(helper=helper, given=given)})
    assert project.found() == (["layer.py: TLK103 error"] if is_found else [])


TARGET = """
    import torch
    from torch import nn
    from nets import twin, same

    class Learner:
        def __init__(self):
            self.online = nn.Linear(3, 3)
            self.lagged = {made}(self.online)
            self.optimizer = torch.optim.SGD(self.online.parameters(), lr=0.1)

        def learn(self, x, y):
            wanted = y + self.lagged(x)
            loss = (self.online(x) - wanted).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
"""

NETS = """
    import copy

    def twin(net):
        return copy.deepcopy(net)

    def same(net):
        return net
"""


@pytest.mark.parametrize(("made", "is_found"), [("twin", True), ("same", False)])
def test_a_copy_that_another_file_makes_is_a_network_of_its_own(tmp_path: Path, made: str, is_found: bool) -> None:
    project = Project(tmp_path, {"nets.py": NETS, "learner.py": TARGET.format(made=made)})
    assert project.found() == (["learner.py: TLK203 warning"] if is_found else [])


STORE = """
    import torch

    class Folder:
        def latest(self, names):
            if not names:
                return None
            return torch.load(names[-1]{place})
"""

RESUME = """
    from torch import nn
    from store import Folder

    def main(names):
        model = nn.Linear(3, 3).cuda()
        saved = Folder().latest(names)
        if saved is not None:
            model.load_state_dict(saved["model"])
            print("goes on from", saved["epoch"])
"""


@pytest.mark.parametrize(("place", "is_found"), [("", True), (', map_location="cpu"', False)])
def test_what_another_file_loads_without_a_device_is_told_at_the_call(
    tmp_path: Path, place: str, is_found: bool
) -> None:
    project = Project(tmp_path, {"store.py": STORE.format(place=place), "resume.py": RESUME})
    assert project.found() == (["resume.py: TLK403 note"] if is_found else [])


METRICS = """
    from torchmetrics import MeanMetric

    class Metrics:
        def __init__(self, device):
            self.loss = {made}

        def update(self, loss):
            self.loss.update(loss)
"""

EPOCH = """
    import torch
    from torch import nn
    from metrics import Metrics

    def train(loader, device):
        net = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        metrics = Metrics(device)
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            metrics.update(loss)
"""


@pytest.mark.parametrize("made", ["MeanMetric()", "MeanMetric().to(device)"])
def test_a_metric_that_detaches_does_so_in_an_object_of_another_file(tmp_path: Path, made: str) -> None:
    project = Project(tmp_path, {"metrics.py": METRICS.format(made=made), "epoch.py": EPOCH})
    assert project.found() == []


ATTENTION = """
    import torch
    from torch import nn

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys, self.map = nn.Linear(3, 3), None

        def forward(self, x):
            weights = (self.keys(x) @ x.transpose(-2, -1)).softmax(-1)
            self.map = weights
            return weights @ x
"""

FIT = """
    import torch
    from attention import Attention

    def train(loader):
        net = Attention()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""

LOOK = """
    import torch

    {guard}
    def look(net, x):
        net(x)
        return net.map.mean(0)
"""


@pytest.mark.parametrize(
    ("guard", "is_found"), [("@torch.no_grad()", True), ("@torch.inference_mode", True), ("# none", False)]
)
def test_what_others_read_without_gradients_needs_no_graph(tmp_path: Path, guard: str, is_found: bool) -> None:
    files = {"attention.py": ATTENTION, "fit.py": FIT, "look.py": LOOK.format(guard=guard)}
    assert Project(tmp_path, files).found() == (["attention.py: TLK111 note"] if is_found else [])


SPREAD = """
    import torch

    def spread(net):
        kept = net.map
        {asks}
        return {gives}
"""


@pytest.mark.parametrize(
    ("asks", "gives", "is_found"),
    [
        ("if kept is None: return 0.0", "kept.detach().std()", True),
        ("if not isinstance(kept, torch.Tensor): return 0.0", "float(kept.std())", True),
        ("assert kept.mean() > 0", "kept.std().item()", True),
        ("if kept is None: return 0.0", "kept.std()", False),
        ("assert measure(kept) > 0", "kept.std().item()", False),
    ],
)
def test_who_only_asks_whether_there_is_anything_needs_no_graph(
    tmp_path: Path, asks: str, gives: str, is_found: bool
) -> None:
    files = {"attention.py": ATTENTION, "fit.py": FIT, "spread.py": SPREAD.format(asks=asks, gives=gives)}
    assert Project(tmp_path, files).found() == (["attention.py: TLK111 note"] if is_found else [])


ASKING = """
    def all_of(net, name):
        return [getattr(part, name) for part in net.modules() if hasattr(part, name)]
"""

TELLING = """
    import logging

    import torch
    import torch.nn.functional as F
    from asking import all_of

    def plain(tensor):
        return tensor.detach().cpu().numpy()

    def halved(tensor):
        return tensor / 2

    def tell(net, board, step):
        {tells}
"""


@pytest.mark.parametrize(
    ("tells", "is_found"),
    [
        ('board.add_image("map", net.map[:1], step)', True),
        ('board.log({"largest": net.map.max(), "step": step})', True),
        ('logging.info("map %s", net.map.mean())', True),
        ("logging.info(net.map)", False),  # a logger's method, or that of anything else
        ("return torch.log(net.map)", False),
        ("return float(-(net.map * torch.log(net.map)).sum(-1).mean())", True),
        ("entropy = -(net.map * F.softmax(net.map, -1).log()).sum(-1)\n        return entropy.mean().item()", True),
        ("entropy = -(net.map * net.map.log()).sum(-1)\n        return entropy.mean()", False),
        ("return measured(net.map).item()", False),
        ("return plain(net.map)", True),
        ("return halved(net.map)", False),
        ('return all_of(net, "map")', False),
        ('return [hasattr(part, "map") for part in net.modules()]', True),
    ],
)
def test_who_tells_what_a_layer_leaves_behind_needs_no_graph(tmp_path: Path, tells: str, is_found: bool) -> None:
    files = {"attention.py": ATTENTION, "fit.py": FIT, "asking.py": ASKING, "telling.py": TELLING.format(tells=tells)}
    assert Project(tmp_path, files).found() == (["attention.py: TLK111 note"] if is_found else [])


TRAINER = """
    from attention import Attention
    from {package} import Trainer

    def run(arguments, data):
        net = Attention()
        trainer = Trainer(model=net, args=arguments, train_dataset=data)
        trainer.{runs}()
        return float(net.map.max())
"""


@pytest.mark.parametrize(
    ("package", "runs", "is_found"),
    [("transformers", "train", True), ("transformers", "evaluate", False), ("own.engine", "train", False)],
)
def test_a_frameworks_trainer_trains_what_a_layer_leaves_behind(
    tmp_path: Path, package: str, runs: str, is_found: bool
) -> None:
    files = {"attention.py": ATTENTION, "run.py": TRAINER.format(package=package, runs=runs)}
    assert Project(tmp_path, files).found() == (["attention.py: TLK111 note"] if is_found else [])


@pytest.mark.parametrize(
    ("kept", "level"),
    [
        ("weights.squeeze(0)", "note"),
        ("weights.mean(1)", "note"),
        ("weights[:, 0]", "note"),
        ("weights.exp()", "warning"),  # which saves a tensor of its own
        ("weights.argmax(-1)", ""),
        ("weights.squeeze(0).detach()", ""),
    ],
)
def test_the_training_of_another_file_frees_what_a_view_is_of(tmp_path: Path, kept: str, level: str) -> None:
    layer = ATTENTION.replace("self.map = weights", f"self.map = {kept}")
    files = {"attention.py": layer, "fit.py": FIT, "look.py": LOOK.format(guard="@torch.no_grad()")}
    assert Project(tmp_path / "used", files).found() == ([f"attention.py: TLK111 {level}"] if level else [])
    files["fit.py"] = FIT.replace("(net(x) - y)", "(net(x) - y - net.map.mean())")
    assert Project(tmp_path / "trained", files).found() == []


PROBE = """
    import torch
    from torch import nn

    class Probe:
        def due(self, step):
            return step % 50 == 0

        def measure(self, net):
            values = {}
            for name, layer in net.named_modules():
                if isinstance(layer, nn.Linear):
                    layer.register_forward_hook(lambda m, i, o, name=name: values.update({name: o.shape}))
            return values
"""

WATCHED = """
    import json
    import torch
    from torch import nn
    from probe import Probe

    def train(loader, log):
        net = nn.Sequential(nn.Linear(3, 3))
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        probe, step = Probe(), 0
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if {condition}:
                log.write(json.dumps(probe.measure(net)))
            step += 1
"""


@pytest.mark.parametrize(
    ("condition", "is_found"),
    [("probe.due(step)", True), ("step % 50 == 0", True), ("probe.due(loader)", False), ("step == 0", False)],
)
def test_a_measurement_for_which_a_function_tells_the_time_comes_again(
    tmp_path: Path, condition: str, is_found: bool
) -> None:
    project = Project(tmp_path, {"probe.py": PROBE, "train.py": WATCHED.format(condition=condition)})
    found = [one for one in project.found() if one.startswith("train.py")]
    assert [one.split()[1] for one in found] == (["TLK303"] if is_found else [])


LEDGER = """
    class Ledger:
        def open(self):
            self.sums = {{}}

        def book(self, **terms):
            for name, value in terms.items():
                self.sums[name] = self.sums.get(name, 0.0) + {kept}
"""

BOOKED = """
    from ledger import Ledger

    class Trainer(Ledger):
        def __init__(self, net, optimizer):
            self.net, self.optimizer = net, optimizer

        def epoch(self, loader):
            self.open()
            for batch in loader:
                parts = self.net.losses(batch)
                loss = parts["near"] + parts["far"]
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.book(**parts)
"""


@pytest.mark.parametrize(("kept", "is_found"), [("value", True), ("float(value)", False)])
def test_terms_that_are_spread_over_another_file_s_ledger_keep_their_graph(
    tmp_path: Path, kept: str, is_found: bool
) -> None:
    project = Project(tmp_path, {"ledger.py": LEDGER.format(kept=kept), "trainer.py": BOOKED})
    assert project.found() == (["trainer.py: TLK105 warning"] if is_found else [])


RECORDER = """
    import contextlib
    import torch

    {decorator}
    def recorded(path):
        with torch.profiler.profile({schedule}) as events:
            {inside}
        events.export_chrome_trace(path)
"""

RECORDED = """
    import torch
    from torch import nn
    from recorder import recorded

    def main(loader):
        net = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with recorded("trace.json"):
            for x, y in loader:
                loss = (net(x) - y).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
"""


@pytest.mark.parametrize(
    ("decorator", "schedule", "inside", "is_found"),
    [
        ("@contextlib.contextmanager", "", "yield events", True),
        ("@contextlib.contextmanager", "schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)", "yield", False),
        ("@contextlib.contextmanager", "", "pass", False),
        ("@torch.no_grad()", "", "yield events", False),
    ],
)
def test_a_profiler_that_another_file_lends_records_the_block(
    tmp_path: Path, decorator: str, schedule: str, inside: str, is_found: bool
) -> None:
    recorder = RECORDER.format(decorator=decorator, schedule=schedule, inside=inside)
    project = Project(tmp_path, {"recorder.py": recorder, "main.py": RECORDED})
    assert [one for one in project.found() if "TLK502" in one] == (["main.py: TLK502 warning"] if is_found else [])


FEEDER = """
    from torch.utils.data import DataLoader

    class Feeder:
        def __init__(self, data):
            self.loader = DataLoader(data, 8, num_workers={workers})
            self.batches = iter(self.loader)

        def get(self):
            return {drawn}
"""

FED = """
    import torch
    from torch import nn
    from feeder import Feeder

    def train(data, steps):
        net, feeder = nn.Linear(3, 3), Feeder(data)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(steps):
            x, y = feeder.get()
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("workers", "drawn", "found"),
    [
        (2, "next(iter(self.loader))", ["main.py: TLK301 warning"]),
        (0, "next(iter(self.loader))", ["main.py: TLK301 note"]),
        (2, "next(self.batches)", []),
    ],
)
def test_who_draws_one_batch_of_a_new_iterator_is_told_where_that_is_asked_in_each_step(
    tmp_path: Path, workers: int, drawn: str, found: list[str]
) -> None:
    feeder = FEEDER.format(workers=workers, drawn=drawn)
    assert Project(tmp_path, {"feeder.py": feeder, "main.py": FED}).found() == found


DRAWING = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from feeding import draw

    def train(data, more, steps, loader=None):
        net, batches = nn.Linear(3, 3), {made}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(steps):
            x, y = {drawn}
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("made", "drawn", "found"),
    [
        ("DataLoader(data, num_workers=2)", "draw(batches, 3)", ["main.py: TLK301 warning"]),
        ("DataLoader(data)", "draw(batches, 3)", ["main.py: TLK301 note"]),
        ("DataLoader(data, num_workers=2)", "draw(more, 3)", []),
        ("iter(DataLoader(data, num_workers=2))", "draw(batches, 3)", []),
        ("[(data, data)]", "draw(batches, 3)", []),
    ],
)
def test_a_helper_that_draws_of_whatever_it_is_given_starts_a_loader_again(
    tmp_path: Path, made: str, drawn: str, found: list[str]
) -> None:
    feeding = """
        def draw(batches, seed):
            x, y = next(iter(batches))
            return x.float(), y
    """
    files = {"feeding.py": feeding, "main.py": DRAWING.format(made=made, drawn=drawn)}
    assert Project(tmp_path, files).found() == found


def test_a_loader_that_another_file_makes_may_have_workers(tmp_path: Path) -> None:
    feeding = """
        from torch.utils.data import DataLoader

        def draw(data, size):
            return DataLoader(data, **{"batch_size": size})
    """
    main = DRAWING.format(made="None", drawn="next(iter(draw(data, 3)))")
    found = Project(tmp_path, {"feeding.py": feeding, "main.py": main}).found()
    assert "main.py: TLK301 note" in found
    assert "main.py: TLK301 warning" not in found


STUDY = """
    import torch
    from objectives import objective
    from torch import nn

    def study(loader, device):
        student, teacher = nn.Linear(8, 3).to(device), nn.Linear(8, 3).to(device){frozen}
        optimizer = torch.optim.SGD({trained}, lr=0.1)
        for x, y in loader:
            loss = objective(student, teacher, x.to(device), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""

OBJECTIVE = """
    import torch
    import torch.nn.functional as F

    def objective(student, teacher, x, y):
        told = student(x)
        {guard}wanted = teacher({given})
        return F.cross_entropy(told, y) + F.mse_loss(told, wanted)
"""


@pytest.mark.parametrize(
    ("study", "objective", "leaks"),
    [
        ({}, {}, True),
        ({"frozen": ".requires_grad_(False)"}, {}, False),
        ({"trained": "[*student.parameters(), *teacher.parameters()]"}, {}, False),
        ({}, {"guard": "with torch.no_grad(): "}, False),
        ({}, {"given": "x + told.sum()"}, False),
    ],
)
def test_a_teacher_that_another_file_runs_beside_the_student(
    tmp_path: Path, study: dict[str, str], objective: dict[str, str], leaks: bool
) -> None:
    files = {
        "study.py": STUDY.format(**{"frozen": "", "trained": "student.parameters()", **study}),
        "objectives.py": OBJECTIVE.format(**{"guard": "", "given": "x", **objective}),
    }
    assert Project(tmp_path, files).found() == (["study.py: TLK203 warning"] if leaks else [])


@pytest.mark.parametrize(
    ("work", "kept", "leaks"),
    [
        ("nn.Linear(8, size)(torch.ones(4, 8)).sum().item()", "error", True),
        ("nn.Linear(8, size)(torch.ones(4, 8)).sum().item()", "str(error)", False),
        ("math.sqrt(size)", "error", False),
    ],
)
def test_what_fails_in_another_file_holds_tensors_where_that_runs_a_network(
    tmp_path: Path, work: str, kept: str, leaks: bool
) -> None:
    files = {
        "bench.py": f"import math\nimport torch\nfrom torch import nn\n\ndef measure(size):\n    return {work}\n",
        "report.py": """
            from dataclasses import dataclass, field

            @dataclass
            class Report:
                failures: list = field(default_factory=list)

                def failed(self, size, error):
                    self.failures.append((size, error))
        """,
        "sweep.py": f"""
            import torch
            from bench import measure
            from report import Report

            def sweep(sizes):
                report = Report()
                for size in sizes:
                    try:
                        print(measure(size))
                    except RuntimeError as error:
                        report.failed(size, {kept})
                return report
        """,
    }
    found = Project(tmp_path, files).found("sweep.py")
    assert any("TLK406" in one for one in found) is leaks


@pytest.mark.parametrize(
    ("given", "leaks"),
    [("vgg16().features[:16].eval()", True), ("vgg16()", True), ("NETWORK.features[:16]", False)],
)
def test_a_part_of_a_network_is_made_where_the_network_is(tmp_path: Path, given: str, leaks: bool) -> None:
    files = {
        "features.py": f"""
            from torchvision.models import vgg16

            NETWORK = vgg16()

            def build():
                net = {given}
                return net
        """,
        "criterion.py": """
            from features import build
            from torch import nn

            class Perceptual(nn.Module):
                def forward(self, x, y):
                    net = build().to(x.device)
                    return nn.functional.mse_loss(net(x), net(y))
        """,
    }
    found = Project(tmp_path, files).found("criterion.py")
    assert any("TLK301" in one for one in found) is leaks


@pytest.mark.parametrize(
    ("call", "leaks"),
    [
        ("for step in range(1000):\n                    x, y = batch_of(rows)", True),
        ("x, y = batch_of(rows)\n                for step in range(1000):", False),
    ],
)
def test_a_loader_that_is_built_for_one_batch_which_another_file_asks_for_in_a_loop(
    tmp_path: Path, call: str, leaks: bool
) -> None:
    files = {
        "rows.py": """
            from torch.utils.data import DataLoader

            def batch_of(rows, workers=4):
                return next(iter(DataLoader(rows, 16, shuffle=True, num_workers=workers)))
        """,
        "train.py": f"""
            import torch
            from rows import batch_of

            def train(net, rows, optimizer):
                {call}
                    loss = (net(x) - y).pow(2).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
        """,
    }
    found = Project(tmp_path, files).found()
    assert any(one.startswith("rows.py: TLK301") for one in found) is leaks


ENCODER = """
    import torch
    from transformers import AutoModel, AutoTokenizer

    class Encoder:
        def __init__(self):
            self.tokens = AutoTokenizer.from_pretrained("bert-base-uncased")
            self.model = AutoModel.from_pretrained("bert-base-uncased").eval()

        @torch.no_grad()
        def encode(self, text):
            return self.model(**self.tokens(text, return_tensors="pt")).last_hidden_state.mean(1){ending}

    encoder = Encoder()
"""

QUERY = """
    import torch
    from functools import lru_cache
    from encoder import encoder

    @lru_cache(maxsize={size})
    def vector_of(text):
        return encoder.encode(text)

    def rank(text, matrix):
        return matrix @ vector_of(text.lower())
"""


@pytest.mark.parametrize(
    ("size", "ending", "leaks"), [("None", "", True), ("64", "", False), ("None", ".tolist()", False)]
)
def test_a_cache_of_what_a_network_of_another_file_gives(tmp_path: Path, size: str, ending: str, leaks: bool) -> None:
    files = {"encoder.py": ENCODER.format(ending=ending), "query.py": QUERY.format(size=size)}
    found = Project(tmp_path, files).found("query.py")
    assert any("TLK404" in one for one in found) is leaks


MODULE = """
    import lightning as L
    import torch
    from attention import Attention

    class Task(L.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = Attention()

        def {step}(self, batch, index):
            x, y = batch
            return (self.net(x) - y).pow(2).mean()
"""

SHOWN = """
    def show(trainer, task):
        trainer.log(task.net.map[0, :, 1:].mean(0){end}.cpu())
"""


@pytest.mark.parametrize(
    ("step", "end", "is_found"),
    [("training_step", ".detach()", True), ("training_step", "", False), ("predict_step", ".detach()", False)],
)
def test_a_framework_trains_what_a_layer_leaves_behind(tmp_path: Path, step: str, end: str, is_found: bool) -> None:
    files = {"attention.py": ATTENTION, "task.py": MODULE.format(step=step), "show.py": SHOWN.format(end=end)}
    assert Project(tmp_path, files).found() == (["attention.py: TLK111 note"] if is_found else [])


LONG = f"""
    from torch import nn

    class Body(nn.Module):
        '''{"What is long is read by itself. " * 200}'''

        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)

        def forward(self, x):
            return self.layer(x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = Body()

        def forward(self, x):
            return self.body(x)
"""

HOLDER = """
    import torch
    from net import Net

    class Holder:
        def __init__(self):
            self.net = Net()
"""

ANSWERS = """
    from holder import Holder

    class Answers(Holder):
        def answers(self, loader):
            return [self.net(x).detach().numpy() for x in loader]
"""


def test_a_part_that_is_too_long_to_be_read_along_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    files = {"net.py": LONG, "holder.py": HOLDER, "answers.py": ANSWERS}
    assert Project(tmp_path, files).found() == ["answers.py: TLK201 warning"]


METERS = f"""
    class Meter:
        '''{"What is long is read by itself. " * 200}'''

        def __init__(self):
            self.total = 0.0

        def update(self, value):
            self.total = self.total + value

    class Shown(Meter):
        def show(self):
            return float(self.total)
"""

METERED = fit("from meters import Shown", "shown = Shown()", "shown.update(loss)", "return shown.show()")


def test_so_is_a_base_class_that_is_too_long(tmp_path: Path) -> None:
    files = {"meters.py": METERS, "fit.py": METERED}
    assert Project(tmp_path, files).found() == ["fit.py: TLK105 warning"]
