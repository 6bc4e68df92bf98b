"""What frameworks keep of what they are given, with whatever graph it has."""

from __future__ import annotations

import pytest
from programs import Program

METRIC = """
from ignite.metrics import Metric
class Error(Metric):
    def reset(self):
        self.total, self.seen, self.parts = 0.0, 0, []
    def update(self, output):
        {body}
"""

LIGHTNING = """
import pytorch_lightning as pl
class Task(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
    def training_step(self, batch, batch_idx):
        x, y = batch
        out = self.net(x)
        loss = F.cross_entropy(out, y)
        return {returned}
    def {after}(self, outputs):
        pass
"""

CRITERION = """
from fairseq.criterions import FairseqCriterion
class Masked(FairseqCriterion):
    def forward(self, model, sample, reduce=True):
        loss = F.nll_loss(model(sample), sample["target"])
        logging_output = {logged}
        return loss, 1, logging_output
"""


def kept(source: str) -> list[str]:
    """What is kept by contract, as the program writes it."""
    facts = Program(source).facts
    return [facts.name_of(part) for contract in facts.contracts for part in contract.parts]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("scores, y = output; self.total += (scores - y).abs().sum()", ["(scores - y).abs().sum()"]),
        ("self.total = self.total + output[0].sum()", ["self.total + output[0].sum()"]),
        ("scores, y = output; self.parts.append(scores)", ["scores"]),
        ("self.total += output[0].detach().sum()", []),
        ("self.total += output[0].sum().item()", []),
        ("scores, y = output; self.total += (scores.argmax(1) == y).sum()", []),
        ("scores, y = output; self.seen += y.shape[0]", []),
        ("with torch.no_grad(): self.total += output[0].sum()", []),
    ],
)
def test_a_metric_of_ignite_is_given_outputs_with_their_graph(body: str, expected: list[str]) -> None:
    assert kept(METRIC.format(body=body)) == expected


RANKING = """
def ranked(scores, rows, count):
    order = torch.argsort(scores, dim=-1, descending=True)[:, :count]
    return torch.gather(rows, -1, order)
"""


@pytest.mark.parametrize(
    ("sum_of", "is_kept"),
    [
        ("ranked(scores, y, 3)", False),
        ("ranked(y, scores, 3)", True),
        ("torch.gather(y, -1, torch.argsort(scores, -1))", False),
        ("scores.mul(ranked(scores, torch.where(y >= 1, y, 0), 3))", True),
    ],
)
def test_an_order_by_the_outputs_gives_targets_no_graph(sum_of: str, is_kept: bool) -> None:
    found = kept(RANKING + METRIC.format(body=f"scores, y = output; self.total += {sum_of}.sum()"))
    assert bool(found) is is_kept


def test_a_metric_of_torchmetrics_is_not() -> None:
    source = METRIC.replace("ignite.metrics", "torchmetrics")
    assert kept(source.format(body="self.total += output[0].sum()")) == []


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ('{"loss": loss, "norm": out.norm()}', ["out.norm()"]),
        ('{"loss": loss, "norm": out.norm().detach(), "n": 3}', []),
        ('{"loss": loss, "log": {"train": loss, "n": 3}}', ["loss"]),
        ('{"loss": loss}', []),
        ("dict(loss=loss, norm=out.norm())", ["out.norm()"]),
        ("dict(loss=loss, norm=out.norm().detach(), n=3)", []),
        ("loss", []),
    ],
)
def test_lightning_keeps_what_a_training_step_returns_for_the_end_of_the_epoch(
    returned: str, expected: list[str]
) -> None:
    assert kept(LIGHTNING.format(returned=returned, after="training_epoch_end")) == expected
    assert kept(LIGHTNING.format(returned=returned, after="on_train_epoch_end")) == expected
    assert kept(LIGHTNING.format(returned=returned, after="other")) == []
    assert kept(LIGHTNING.format(returned=returned, after="on_train_epoch_end").replace(", outputs", "")) == []


SHARED = """
import pytorch_lightning as pl

class Task(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 2)

    def both(self, batch, part):
        x, y = batch
        out = self.net(x)
        loss = nn.functional.cross_entropy(out, y)
        self.log(part, loss)
        return {returned}

    def training_step(self, batch, index):
        {step}

    def validation_step(self, batch, index):
        return self.both(batch, "validation")

    def training_epoch_end(self, outputs):
        print(len(outputs))
"""


@pytest.mark.parametrize(
    "step",
    [
        'return self.both(batch, "training")',
        'got = self.both(batch, "training"); self.log("loss", got["loss"]); return got',
        'return self.both(batch, part="training") if index else None',
    ],
)
def test_what_a_step_hands_on_from_a_method_that_steps_share(step: str) -> None:
    assert kept(SHARED.format(step=step, returned='{"loss": loss, "out": out, "y": y}')) == ["out"]
    assert kept(SHARED.format(step=step, returned="dict(loss=loss, out=out)")) == ["out"]
    assert kept(SHARED.format(step=step, returned='{"loss": loss, "out": out.detach(), "y": y}')) == []
    assert kept(SHARED.format(step=step, returned="dict(loss=loss, out=out.argmax(1))")) == []


def test_what_a_step_takes_of_a_method_that_steps_share_alone_is_kept() -> None:
    shared = SHARED.format(step='return self.both(batch, "training")["loss"]', returned='{"loss": loss, "out": out}')
    assert kept(shared) == []


@pytest.mark.parametrize(
    ("logged", "expected"),
    [
        ('{"loss": loss, "n": 1}', ["loss"]),
        ('{"loss": loss.data, "n": 1}', []),
        ('{"loss": loss.item()}', []),
        ('{"loss": loss if self.tpu else loss.data}', []),
        ('{"loss": loss.item() if summed else loss}', []),
    ],
)
def test_fairseq_keeps_what_a_criterion_logs(logged: str, expected: list[str]) -> None:
    assert kept(CRITERION.format(logged=logged)) == expected


def test_a_loss_of_several_terms_is_logged_with_its_graph() -> None:
    source = CRITERION.format(logged='{"loss": loss, "n": 1}').replace(
        "        logging", "        loss = loss + 1\n        logging"
    )
    assert kept(source) == ["loss"]


TERMS = """
from .base import FairseqCriterion
class Joint(FairseqCriterion):
    def forward(self, model, sample, reduce=True):
        out, side = model(sample)
        loss = self.score(model, out, sample)
        extra = torch.tensor(0.0)
        if self.weight > 0:
            extra = self.align(side, sample)
            loss = loss + self.weight * extra
        logging_output = {logged}
        return loss, 1, logging_output
    def score(self, model, out, sample):
        return -(out.log_softmax(-1) * sample["target"]).sum()
    def align(self, side, sample):
        return (side["attention"] * sample["align"]).sum()
"""


@pytest.mark.parametrize(
    ("logged", "expected"),
    [
        ('{"loss": loss.data, "extra": extra}', ["extra"]),
        ('dict(loss=loss.data, extra=extra)', ["extra"]),
        ('{"loss": loss.item(), "extra": extra.item()}', []),
        ('{"loss": loss.data, "extra": extra if self.weight else extra.data}', []),
        ('{"loss": loss.data, "rows": sample["target"]}', []),
    ],
)  # fmt: skip
def test_who_logs_the_numbers_of_one_term_says_that_the_others_have_a_graph(logged: str, expected: list[str]) -> None:
    base = "import torch\nclass FairseqCriterion(torch.nn.modules.loss._Loss):\n    pass\n"
    assert kept(base + TERMS.replace("from .base import FairseqCriterion", "").format(logged=logged)) == expected


def certain(source: str) -> list[bool]:
    """Whether what is kept by contract is so whoever calls it."""
    return [contract.is_certain for contract in Program(source).facts.contracts]


def test_only_what_a_metric_of_ignite_keeps_as_it_is_given_has_a_graph_in_any_case() -> None:
    assert certain(METRIC.format(body="self.parts.append(output[0])")) == [True]
    assert certain(METRIC.format(body="self.total += output[0].sum()")) == [False]
    assert certain(METRIC.format(body="self.total += output[0]")) == [False]


@pytest.mark.parametrize("item", ["output[1]", 'output["y"]', "output[1].float().sum()"])
def test_a_target_has_no_graph(item: str) -> None:
    assert kept(METRIC.format(body=f"self.parts.append({item})")) == []


def test_a_target_of_the_type_and_width_of_an_output_has_no_graph() -> None:
    body = "scores, y = output; y = y.type_as(scores); self.total += {}"
    assert kept(METRIC.format(body=body.format("y.sum(dim=0)"))) == []
    assert kept(METRIC.format(body=body.format("widen(y, scores.size(1)).sum(dim=0)"))) == []
    assert kept(METRIC.format(body=body.format("(y * scores).sum(dim=0)"))) == ["(y * scores).sum(dim=0)"]


METERS = """
from {package} import AverageMeter
net = nn.Linear(3, 3)
def train(loader):
    meter = AverageMeter()
    for x in loader:
        loss = net(x).sum()
        loss.backward()
        meter.update({given})
"""


@pytest.mark.parametrize(
    ("package", "given", "expected"),
    [
        ("timm.utils", "loss, x.shape[0]", ["loss"]),
        ("timm.utils", "loss.item(), x.shape[0]", []),
        ("timm.utils", "loss.detach()", []),
        ("elsewhere", "loss", []),
    ],
)
def test_a_meter_sums_up_what_it_is_given(package: str, given: str, expected: list[str]) -> None:
    assert kept(METERS.format(package=package, given=given)) == expected


def test_an_output_that_is_detached_where_it_is_a_tensor_has_no_graph() -> None:
    body = "output = output.detach() if torch.is_tensor(output) else output; self.total += output"
    assert kept(METRIC.format(body=body)) == []


def test_a_metric_that_is_left_to_the_framework_keeps_no_graph() -> None:
    source = METRIC.format(body="self.inner.update(output)")
    source = source.replace("self.total, self.seen", "self.inner = Plain(); self.total, self.seen")
    source += "class Plain(EpochMetric):\n    def compute(self):\n        return 0\n"
    assert kept(source.replace("import Metric", "import EpochMetric, Metric")) == []


METRIC_OF_TEST = (
    METRIC.format(body="self.parts.append(output)")
    + """
def test_error():
    error = Error()
    error.update(3)
    assert error.parts == [3]
"""
)


def test_a_metric_that_only_tests_make_is_given_what_they_write_down() -> None:
    assert kept(METRIC_OF_TEST) == []
    assert kept(METRIC_OF_TEST + "metric = Error()\n") == ["output"]


def test_the_inner_method_of_a_metric_of_ignite_is_given_what_update_hands_on() -> None:
    inner = METRIC.format(body="self.total += output[0].sum()").replace("def update", "def _update")
    assert kept(inner) == ["output[0].sum()"]
    assert kept(inner + "    def update(self, output):\n        self._update(output[0].detach())\n") == []


@pytest.mark.parametrize(("base", "of_outer"), [("Metric", []), ("object", ["output"])])
def test_what_a_metric_hands_to_another_is_told_of_that_one(base: str, of_outer: list[str]) -> None:
    inner = METRIC.format(body="self.parts.append(output[0])").replace("(Metric)", f"({base})")
    source = f"""{inner}
class Errors(Metric):
    def __init__(self):
        self.inner = Error()
        super().__init__()
    def update(self, output):
        self.inner.update(output)
"""
    of_inner = ["output[0]"] if base == "Metric" else []
    assert kept(source) == [*of_inner, *of_outer]
