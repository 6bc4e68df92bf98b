"""Objects of a framework's classes: what their methods do by contract, and what stays unknown of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project

from torchlint.facts.values.frameworks import is_module_class

ACCELERATED = """
from accelerate import Accelerator
def train(loader, model):
    accelerator = Accelerator()
    for x in loader:
        out = model(x)
        accelerator.backward({given})
        print(out)
"""

PREPARED = """
from accelerate import Accelerator
accelerator = Accelerator()
{target} = accelerator.prepare({given})
print(net(torch.rand(2, 3)))
"""

SCALED = """
from timm.utils import NativeScaler
scaler = NativeScaler()
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def train(loader):
    for x in loader:
        loss = net(x).sum()
        scaler(loss, optimizer{options})
"""


OBJECTIVE = """
from transformers import Trainer
from .preferences import agreement, odds
class Preferences(Trainer):
    def __init__(self, model):
        super().__init__(model=model)
        self.kept = []
    def objective(self, model, batch):
        loss = odds(model, batch)
        return loss, {{"agreement": agreement(loss), "rows": 1.0}}
    def compute_loss(self, model, inputs, return_outputs=False):
        loss, shown = self.objective(model, inputs)
        self.keep({given})
        return (loss, shown) if return_outputs else loss
    def keep(self, shown):
        for value in shown.values():
            self.kept.append(value)
"""


@pytest.mark.parametrize(("given", "expected"), [("shown", 0), ("{'loss': loss}", 1)])
def test_beside_the_loss_a_trainer_is_given_outputs_that_it_only_hands_on(given: str, expected: int) -> None:
    assert len(Program(OBJECTIVE.format(given=given)).facts.insertions) == expected


@pytest.mark.parametrize("given", ["out[0]", 'out["loss"]', "out.loss"])
def test_an_accelerator_runs_backward_on_its_argument(given: str) -> None:
    program = Program(ACCELERATED.format(given=given))
    (backward,) = program.facts.graph.backwards
    assert program.facts.code(backward.root.syntax) == given


def test_a_backward_by_another_object_is_read_as_it_is_written() -> None:
    program = Program(ACCELERATED.format(given="out[0]").replace("from accelerate", "from elsewhere"))
    (backward,) = program.facts.graph.backwards
    assert program.facts.code(backward.root.syntax) == "Accelerator()"


@pytest.mark.parametrize(
    ("target", "given"),
    [
        ("net", "nn.Linear(3, 3)"),
        ("net, loader", "nn.Linear(3, 3), DataLoader(data)"),
        ("loader, net", "DataLoader(data), nn.Linear(3, 3)"),
    ],
)
def test_what_is_prepared_is_given_back(target: str, given: str) -> None:
    program = Program(PREPARED.format(target=target, given=given))
    assert "live" in program.kinds(program.shown())


@pytest.mark.parametrize(("options", "retains"), [("", False), (", create_graph=second_order", True)])
def test_a_scaler_of_timm_runs_the_backward(options: str, retains: bool) -> None:
    (backward,) = Program(SCALED.format(options=options)).facts.graph.backwards
    assert backward.root.name.endswith("sum")
    assert backward.retains is retains


def test_a_function_that_an_engine_is_given_runs_in_each_step() -> None:
    program = Program("""
from ignite.engine import Engine
def step(engine, batch):
    pass
def other(engine, batch):
    pass
trainer = Engine(step)
""")
    assert program.facts.steps.handed_over == {program.function("step")}
    assert not program.facts.steps.is_repeated(program.function("other"))


@pytest.mark.parametrize(("package", "inserted"), [("torchmetrics", []), ("elsewhere", ["metric"])])
def test_a_metric_of_torchmetrics_keeps_no_graph(package: str, inserted: list[str]) -> None:
    program = Program(f"""
from {package} import MeanMetric
net, metric = nn.Linear(3, 3), MeanMetric()
def train(loader):
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        metric.update(loss)
""")
    assert program.inserted() == inserted


NAMED = """
from {package} import MeanMetric
class Watch(nn.Module):
    def __init__(self):
        super().__init__()
        self.means = {made}
    def see(self, **values):
        for name, value in values.items():
            self.means[name].update(value, weight=2)
net, watch = nn.Linear(3, 3), Watch()
def train(loader):
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        watch.see(whole=loss)
"""


@pytest.mark.parametrize(
    "made", ['nn.ModuleDict({"whole": MeanMetric()})', 'nn.ModuleDict({k: MeanMetric() for k in ("whole", "part")})']
)
def test_a_metric_that_lies_among_modules_is_still_one(made: str) -> None:
    assert not Program(NAMED.format(package="torchmetrics", made=made)).facts.records
    assert Program(NAMED.format(package="elsewhere", made=made)).facts.records
    assert Program(NAMED.format(package="torchmetrics", made="{'whole': {}}")).facts.records


LOGGED = """
import lightning.pytorch as pl
class Task(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
    def watch(self, x):
        self.{call}
"""


@pytest.mark.parametrize(
    ("call", "dropped"),
    [
        ('log("norm", self.net(x).norm())', ["watch"]),
        ('log_dict({"norm": self.net(x).norm()})', ["watch"]),
        ('log("norm", self.net(x).norm(), enable_graph=False)', ["watch"]),
        ('log("norm", self.net(x).norm(), enable_graph=True)', []),
        ("train_on(self.net(x).norm())", []),
    ],
)
def test_what_lightning_logs_is_detached_unless_it_is_told_otherwise(call: str, dropped: list[str]) -> None:
    assert Program(LOGGED.format(call=call)).infers() == dropped


def test_what_a_base_that_is_not_seen_logs_may_be_trained_on() -> None:
    source = LOGGED.format(call='log("norm", self.net(x).norm())')
    assert Program(source.replace("import lightning.pytorch as pl", "import elsewhere as pl")).infers() == []


RUN_BY_AN_ENGINE = """
from ignite.engine import Engine, Events
net = nn.Linear(3, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def made():
    def step(engine, batch):
        loss = net(batch).sum()
        loss.backward()
        optimizer.step()
        return {"loss": loss, "value": loss.item(), "norm": loss.detach()}
    return Engine(step)
"""


@pytest.mark.parametrize(("key", "inserted"), [("loss", ["kept"]), ("value", []), ("norm", [])])
def test_what_a_handler_reads_is_what_the_step_returned(key: str, inserted: list[str]) -> None:
    program = Program(f"""{RUN_BY_AN_ENGINE}
def attach(trainer):
    kept = []
    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def remember(engine):
        kept.append(engine.state.output["{key}"])
attach(made())
""")
    assert program.inserted() == inserted


ENGINE_OF_THE_PROJECT = """
    from enum import Enum

    class Events(Enum):
        EPOCH_COMPLETED = "epoch_completed"
        COMPLETED = "completed"

    class Engine:
        def __init__(self, process_function):
            self.process_function, self.handlers = process_function, []

        def on(self, event):
            def decorate(handler):
                self.handlers.append((event, handler))
                return handler
            return decorate
"""

DRAWN_BY_A_HANDLER = """
    import torch
    import matplotlib.pyplot as plt
    from {package}.engine import Engine, Events

    def main(net, optimizer, loader):
        def step(engine, batch):
            loss = net(batch).sum()
            loss.backward()
            optimizer.step()
            return loss.item()

        trainer = Engine(step)

        @trainer.on(Events.{event})
        def draw(engine):
            plt.figure()
            plt.savefig("losses.png")
"""


@pytest.mark.parametrize(
    ("package", "event", "expected"),
    [
        ("ignite", "EPOCH_COMPLETED", ["use.py: TLK503 warning"]),
        ("ignite", "COMPLETED", []),
        ("rounds", "EPOCH_COMPLETED", []),  # of which nobody says when it calls
    ],
)
def test_an_engine_that_lies_in_the_project_calls_its_handlers(
    tmp_path: Path, package: str, event: str, expected: list[str]
) -> None:
    files = {
        "use.py": DRAWN_BY_A_HANDLER.format(package=package, event=event),
        f"{package}/__init__.py": "",
        f"{package}/engine.py": ENGINE_OF_THE_PROJECT,
    }
    assert Project(tmp_path, files).found("use.py") == expected


def test_a_step_without_gradients_hands_on_no_graph() -> None:
    guarded = RUN_BY_AN_ENGINE.replace("    def step", "    @torch.no_grad()\n    def step").replace(
        "loss.backward()", ""
    )
    program = Program(f"""{guarded}
trainer, kept = made(), []
@trainer.on(Events.ITERATION_COMPLETED)
def remember(engine):
    kept.append(engine.state.output["loss"])
""")
    assert program.inserted() == []


@pytest.mark.parametrize(
    ("options", "inserted"),
    [("", []), (", output_transform=lambda x, y, y_pred, loss: loss", ["kept"]),
     (", output_transform=lambda x, y, y_pred, loss: loss.item()", []),
     (", output_transform=lambda x, y, y_pred, loss: (y_pred, y)", ["kept"])],
)  # fmt: skip
def test_a_trainer_hands_on_what_its_transform_makes_of_the_step(options: str, inserted: list[str]) -> None:
    program = Program(f"""
from ignite.engine import Events, create_supervised_trainer
trainer = create_supervised_trainer(net, optimizer, nn.functional.mse_loss{options})
class Curve:
    def __init__(self):
        self.kept = []
        trainer.add_event_handler(Events.ITERATION_COMPLETED, self.keep)
    def keep(self, engine):
        self.kept.append(engine.state.output)
""")
    assert [name.removeprefix("self.") for name in program.inserted()] == inserted


@pytest.mark.parametrize(
    ("bases", "is_module"),
    [
        ("", False),
        ("abc.ABC", False),
        ("typing.Protocol", True),
        ("dict, abc.ABC", False),
        ("abc.ABC, nn.Module", True),
        ("Block, abc.ABC", True),
        ("gluon.Block", False),
        ("flax.linen.Module", False),
        ("Rule", False),
    ],
)
def test_a_forward_makes_no_module_of_a_class_whose_bases_are_those_of_the_library(bases: str, is_module: bool) -> None:
    method = "    def forward(self, x):\n        return x\n"
    head = "import abc, typing, flax\nfrom mxnet import gluon\nfrom blocks import Block\n"
    source = f"{head}class Rule(abc.ABC):\n{method}class Net({bases}):\n{method}"
    (net,) = (cls for cls in Program(source).facts.graph.classes if cls.name == "Net")
    assert is_module_class(net) is is_module


METRICS = """
import torchmetrics
from torchmetrics.classification import MulticlassAccuracy

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
        base = torchmetrics.MetricCollection([MulticlassAccuracy(3)])
        self.seen, self.items = {made}, []

    def training_step(self, x, y):
        out = self.body(x)
        loss = out.mean()
        loss.backward()
        {update}
"""


@pytest.mark.parametrize(
    ("made", "update", "kept"),
    [
        ("base.clone(prefix='train/')", "self.seen.update(out, y)", []),
        ("other(base)", "self.seen.update(out, y)", []),
        ("base", "self.seen.update(out, y)", []),
        ("base", "self.items.extend([out])", ["self.items"]),
    ],
)
def test_what_is_given_two_things_to_update_it_is_no_dictionary(made: str, update: str, kept: list[str]) -> None:
    facts = Program(METRICS.format(made=made, update=update)).facts
    assert [found.name for found in facts.insertions] == kept
