"""What a meter of another file keeps of a loss, in the ways in which meters are written."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest
from projects import Project, fit

METER = """
    import heapq
    from collections import defaultdict, deque, namedtuple
    from dataclasses import dataclass
    import numpy as np
    import torch
    import torch.distributed as dist

    Row = namedtuple("Row", "n value")

    @dataclass
    class Entry:
        n: int
        value: object

    class Meter:
        def __init__(self):
            self.sum, self.n, self.rows, self.by = 0.0, 0, [], defaultdict(list)
            self.window, self.t, self.d = deque(maxlen=20), torch.zeros(0), {}
            self.history = {"loss": [], "n": []}

        def update(self, value, n=1):
BODY

        def put(self, value):
            self.rows.append(value)

        def put_all(self, **named):
            for key, value in named.items():
                self.by[key].append(value)

        def number(self, value):
            return value.item() if hasattr(value, "item") else float(value)
"""

FIT = fit("from meter import Meter", "meter = Meter()", "meter.update(loss, len(x))")

KEEPING = [
    "self.sum += value * n",
    "self.sum = self.sum + value",
    "self.sum = torch.add(self.sum, value)",
    'setattr(self, "sum", self.sum + value)',
    "self.rows.append(value)",
    "self.rows.append(value / n)",
    "self.rows.append(value.mean())",
    "self.rows.append(value.clone())",
    "self.rows.append((n, value))",
    'self.rows.append({"loss": value})',
    "self.rows.append(Row(n, value))",
    "self.rows.append(Entry(n, value))",
    "row = Row(n=n, value=value)\nself.rows.append(row)",
    "self.rows += [value]",
    "self.rows.extend([value, n])",
    "self.rows = [*self.rows, value]",
    "self.rows.insert(0, value)",
    "heapq.heappush(self.rows, (n, value))",
    'getattr(self, "rows").append(value)',
    "rows = self.rows\nrows.append(value)",
    'value = value.to("cpu")\nself.rows.append(value)',
    'self.by["loss"].append(value)',
    'for name, part in {"loss": value}.items():\n    self.by[name].append(part)',
    'self.d.setdefault("loss", []).append(value)',
    'self.d["loss"] = self.d.get("loss", 0) + value',
    "self.d[len(self.d)] = value",
    'self.history["loss"].append(value)',
    "self.t = torch.cat([self.t, value.view(1)])",
    "if n:\n    self.sum += value\nself.n += 1",
    "self.put(value)",
    "self.put_all(loss=value)",
]

COUNTING = [
    "self.sum += float(value) * n",
    "self.sum += value.item() * n",
    "self.sum += value.detach() * n",
    "self.sum += value.data * n",
    "self.sum += value.cpu().detach().numpy() * n",
    "value = value.item() if torch.is_tensor(value) else value\nself.sum += value * n",
    "if isinstance(value, torch.Tensor): value = value.item()\nself.sum += value * n",
    "value = value.clone().detach()\ndist.all_reduce(value)\nself.sum += value",
    "self.sum += self.number(value)",
    "self.sum = torch.lerp(torch.as_tensor(self.sum), value.detach(), 0.1)",
    "self.sum += np.asarray(value.detach()).sum()",
    "self.sum = max(self.sum, value.item())",
    "with torch.no_grad():\n    self.sum += value * n",
    "try:\n    value = value.item()\nexcept AttributeError:\n    pass\nself.sum += value",
    "self.rows.append(value.detach().cpu())",
    "self.rows.append(value.tolist())",
    'self.rows.append(f"{value:.4f}")',
    "self.rows.append((n, float(value.detach())))",
    "self.window.append(value.item())",
    'self.by["loss"].append(round(value.item(), 4))',
    "self.put_all(loss=value.item())",
    "self.put(value.detach())",
    "self.last = value.detach()",
]


def found(folder: Path, body: str) -> list[str]:
    return Project(folder, {"meter.py": METER.replace("BODY", indent(body, " " * 12)), "fit.py": FIT}).found()


@pytest.mark.parametrize("body", KEEPING)
def test_what_a_meter_keeps_with_its_graph_is_told_where_it_is_handed_over(tmp_path: Path, body: str) -> None:
    assert "fit.py: TLK105 warning" in found(tmp_path, body)


@pytest.mark.parametrize(
    "body", ["self.sum = 0.9 * self.sum + 0.1 * value", "self.sum = (1 - 0.1) * self.sum + 0.1 * value * n"]
)
def test_an_average_of_a_meter_is_a_running_state(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == ["fit.py: TLK103 warning"]


@pytest.mark.parametrize("body", COUNTING)
def test_a_meter_that_makes_numbers_keeps_no_graph(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == []


LOGGER = """
    from collections import defaultdict, deque

    class Window:
        def __init__(self):
            self.values, self.total, self.count = deque(maxlen=20), 0.0, 0

        def update(self, value, n=1):
            self.values.append(value{ending})
            self.count += n
            self.total += value{ending} * n

        def __str__(self):
            return f"{{float(self.total) / self.count:.4f}}"

    class Logger:
        def __init__(self):
            self.meters = defaultdict(Window)

        def update(self, **values):
            for name, value in values.items():
                self.meters[name].update(value)

        def log_every(self, rows, every):
            for i, row in enumerate(rows):
                yield row
                if i % every == 0:
                    print(i, "  ".join(f"{{name}}: {{meter}}" for name, meter in self.meters.items()))
"""

EPOCH = """
    import logger

    def train_one_epoch(model, optimizer, rows):
        model.train()
        log = logger.Logger()
        for images, targets in log.log_every(rows, 50):
            terms = model(images, targets)
            loss = sum(term for term in terms.values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.update({given})
        {end}
"""


@pytest.mark.parametrize("end", ["return log", "print(log)", "return log.meters"])
@pytest.mark.parametrize(
    ("ending", "given", "found"),
    [
        ("", "loss=loss", ["epoch.py: TLK105 warning"]),
        ("", "loss=loss, **terms", ["epoch.py: TLK105 warning"]),
        ("", "loss=loss.item()", []),
        (".item()", "loss=loss, **terms", []),
    ],
)
def test_a_logger_that_goes_over_the_batches_and_leaves_with_its_meters(
    tmp_path: Path, ending: str, given: str, found: list[str], end: str
) -> None:
    files = {"logger.py": LOGGER.format(ending=ending), "epoch.py": EPOCH.format(given=given, end=end)}
    assert Project(tmp_path, files).found() == found


BOARD = """
    from collections import OrderedDict

    class Mean:
        def __init__(self):
            self.reset()

        def reset(self):
            self.total, self.count = 0.0, 0

        def add(self, value, n=1):
            self.total += {kept} * n
            self.count += n
            {beside}

    class Board:
        def __init__(self, names):
            self.names, self.means = names, OrderedDict((name, Mean()) for name in names)

        def add(self, values, n):
            {goes}

        def reset(self):
            for mean in self.means.values():
                mean.reset()
"""

TERMS = """
    import torch

    def terms_of(found, wanted):
        gap = found - wanted
        return {"near": gap.abs().mean(), "far": gap.square().mean()}
"""


PICKED = "for name, mean in self.means.items(): mean.add(values[name], n)"


@pytest.mark.parametrize(
    ("changes", "leaks"),
    [
        ({}, True),
        ({"goes": "for name in self.names: self.means[name].add(values[name], n)"}, True),
        ({"goes": "for name, value in values.items(): self.means[name].add(value, n)"}, True),
        ({"goes": "for mean, value in zip(self.means.values(), values.values()): mean.add(value, n)"}, True),
        ({"beside": "self.last, self.mean = value, self.total / self.count"}, True),
        ({"beside": "if self.count > 99: self.reset()"}, False),
        ({"before": "board.reset()"}, False),
        ({"kept": "value.item()"}, False),
        ({"goes": PICKED.replace("[name]", "[name].detach()")}, False),
        ({"given": "{'near': loss.item(), 'far': loss}"}, False),
    ],
)
def test_a_board_of_meters_keeps_what_lies_under_their_names(
    tmp_path: Path, changes: dict[str, str], leaks: bool
) -> None:
    pieces = {"goes": PICKED, "kept": "value", "given": "terms", "before": "pass", "beside": "pass"} | changes
    drive = f"""
        import torch
        from board import Board
        from terms import terms_of

        def fit(net: torch.nn.Module, loader):
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            board = Board(["near", "far"])
            for epoch in range(9):
                board.reset()
                for x, y in loader:
                    {pieces["before"]}
                    terms = terms_of(net(x), y)
                    loss = terms["far"]
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    board.add({pieces["given"]}, len(x))
    """
    files = {"board.py": BOARD.format(**pieces), "terms.py": TERMS, "drive.py": drive}
    assert ("drive.py: TLK105 warning" in Project(tmp_path, files).found()) == leaks
