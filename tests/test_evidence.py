"""What a backward proves: of a loss that is a sum, each term has a graph, weights taken off."""

from __future__ import annotations

import pytest
from programs import Program

LOSS = """
def step(first, second, third, weights, schedule):
    a, b, c = first(), second(), third()
    {loss}
    loss.backward()
    print(a, b, c)
"""


def live(loss: str) -> list[bool]:
    """Which of three values that come from code that is not seen have a graph, for a loss made of them."""
    program = Program(LOSS.format(loss=loss))
    return [program.facts.flows.live(value) is not None for value in program.printed()]


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        ("loss = a + b - c", [True, True, True]),
        ("loss = a + 0.1 * b", [True, True, False]),
        ("loss = weights.a * a + b / weights.b", [True, True, False]),
        ("loss = (1 - weights.a) * a + weights.a * b * 2", [True, True, False]),
        ("for part in weights.parts:\n        c = c + part.loss\n    loss = a + 0.5 * c", [True, False, True]),
        ("loss = -a\n    loss += weights['b'] * b", [True, True, False]),
        ("loss = a + schedule() * b", [True, False, False]),
        ("loss = ((a - b) ** 2).mean() + c", [False, False, True]),
        ("loss = (a * b).mean()", [False, False, False]),
        ("loss = a + b.detach()", [True, False, False]),
        ("loss = a\n    if weights:\n        loss = loss + b * 2", [True, True, False]),
    ],
)
def test_the_terms_of_a_loss_have_a_graph(loss: str, expected: list[bool]) -> None:
    assert live(loss) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("for v in out.values():", True),
        ("for k, v in out.items():", True),
        ("for v in out:", False),
        ("for v in other.values():", False),
    ],
)
def test_what_is_trained_on_is_among_the_values_of_what_holds_it(items: str, expected: bool) -> None:
    program = Program(
        f"def step(model, batch):\n    out, other = model(batch), batch['more']\n    out['loss'].backward()\n"
        f"    {items}\n        print(v)\n"
    )
    assert (program.facts.flows.live(program.shown()) is not None) is expected


@pytest.mark.parametrize(
    ("kept", "runs"),
    [
        ("[net.to('cuda').eval() for net in nets]", True),
        ("[net.eval() for net in nets]", True),
        ("[nets[0].half().eval()]", True),
        ("[net.to('cuda') for net in nets]", False),
        ("[net.eval('x') for net in nets]", False),
        ("nets", False),
    ],
)
def test_items_of_what_is_passed_in_that_do_what_only_modules_do(kept: str, runs: bool) -> None:
    program = Program(
        f"class Panel:\n    def __init__(self, nets):\n        self.nets = {kept}\n"
        "    def ask(self, x):\n        for net in self.nets:\n            print(net(x))\n"
    )
    assert (program.facts.flows.live(program.shown()) is not None) is runs


ANSWERS = """
def talk(module: nn.Module, questions):
    kept = []
    for question in questions:
        answer = module(question)
        SHOWN
        kept.append(answer)
    print(len(kept))
"""


@pytest.mark.parametrize(
    ("shown", "is_text"),
    [
        ("print('they say: ' + answer)", True),
        ("print(f'{question}: ' + answer + '.')", True),
        ("print('they say', answer)", False),
        ("print('they say: ' + str(answer))", False),
        ("print(f'they say {answer}')", False),
    ],
)
def test_what_is_joined_with_a_text_has_no_graph(shown: str, is_text: bool) -> None:
    insertions = Program(ANSWERS.replace("SHOWN", shown)).facts.insertions
    assert [insertion.name for insertion in insertions] == ([] if is_text else ["kept"])


@pytest.mark.parametrize(
    ("share", "is_live"),
    [
        ("len(part) / size", True),
        ("len(part) * scale / size", True),
        ("part.size(0) / size", True),
        ("part.numel() / (size * 2)", True),
        ("other() / size", False),
        ("len(part) / other()", False),
        ("part.sum() / size", False),
    ],
)
@pytest.mark.parametrize(
    "weighed", ["(loss * share)", "loss.mean().mul(share)", "(share * loss.sum())", "loss.mul(share).div(2)"]
)
def test_the_share_of_a_part_in_a_batch_is_a_number(weighed: str, share: str, is_live: bool) -> None:
    """What weighs the loss of a part of a batch is no tensor: the loss it is that is trained on."""
    program = Program(
        f"def step(run, part, other, size, scale=1):\n    loss = run(part)\n    share = {share}\n"
        f"    {weighed}.backward()\n    print(loss)\n"
    )
    assert (program.facts.flows.live(program.shown()) is not None) is is_live


PARTS = """
class Fitting:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def all_parts(self, parts):
        logs, size = {{}}, sum(map(len, parts))
        for part in parts:
            self.one_part(part, logs, size)
        self.optimizer.step()
        return logs

    def one_part(self, part, logs, size):
        self.loss = self.model.loss(self.model(part), part)
        share = len(part) / size
        logs["loss"] = logs.get("loss", 0) + {kept}
        self.loss.mean().mul(share).backward()
"""


@pytest.mark.parametrize(
    ("kept", "is_told"),
    [("self.loss.mean() * share", True), ("self.loss", True), ("self.loss.detach() * share", False),
     ("self.loss.mean().item() * share", False), ("share", False)],
)  # fmt: skip
def test_the_logs_of_the_parts_of_a_batch(kept: str, is_told: bool) -> None:
    assert bool(Program(PARTS.format(kept=kept)).facts.accumulations) is is_told


LEAVES = """
scale = torch.rand(4) * 2
weight = {made}
shift = torch.randn(1, requires_grad=True)
optimizer = torch.optim.Adam([weight, shift])
for step in range(1000):
    optimizer.zero_grad()
    loss = F.mse_loss(scale * weight + shift, scale)
    loss.backward()
    optimizer.step()
print(weight, shift)
"""


@pytest.mark.parametrize(
    "made",
    [
        "torch.randn(1, requires_grad=True)",
        "torch.tensor([0.5], requires_grad=True)",
        "torch.zeros(1).requires_grad_()",
        "nn.Parameter(torch.zeros(1))",
    ],
)
def test_a_graph_begins_at_its_leaves(made: str) -> None:
    program = Program(LEAVES.format(made=made))
    assert [program.facts.flows.live(value) is not None for value in program.printed()] == [False, False]


SCHEDULED = """
def train(build, schedule, loader):
    net = build()
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(100):
        x = next(loader)
        first, second = net(x)
        share = {share}
        loss = first["loss"] - share * second["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(first["loss"], share)
"""


@pytest.mark.parametrize("share", ["schedule(step)", "schedule(step / 100, 0.1)"])
def test_what_is_made_of_numbers_is_a_number(share: str) -> None:
    program = Program(SCHEDULED.format(share=share))
    assert [program.facts.flows.live(value) is not None for value in program.printed()] == [True, False]


@pytest.mark.parametrize("share", ["schedule(x)", "schedule.sampled(step)"])
def test_what_is_made_of_data_may_have_a_graph(share: str) -> None:
    program = Program(SCHEDULED.format(share=share))
    assert [program.facts.flows.live(value) is not None for value in program.printed()] == [True, True]


@pytest.mark.parametrize(
    ("bands", "is_live"),
    [
        ("torch.fft.rfft(wave).abs()[..., :4]", False),
        ("self.front(wave)[..., :4]", True),
    ],
    ids=["of what it is given", "by a network as well"],
)
def test_what_a_call_gives_for_one_argument_says_nothing_of_another_one(bands: str, is_live: bool) -> None:
    program = Program(f"""
class Restorer:
    def __init__(self):
        self.net, self.front = nn.Linear(8, 8), nn.Linear(8, 8)
    def bands(self, wave):
        return {bands}
    def update(self, wave, wanted, restored):
        tone = F.l1_loss(self.bands(restored), wanted)
        (4 * tone).backward()
    def step(self, wave):
        self.update(wave, torch.zeros(8), self.net(wave))
    def judge(self, wave):
        print(self.bands(self.restore(wave)))
    @torch.no_grad()
    def restore(self, wave):
        return self.net(wave)
""")
    assert (program.facts.flows.live(program.shown()) is not None) is is_live


@pytest.mark.parametrize(
    ("otherwise", "number"),
    [
        ("else:\n            self.gallery.append(rows.cpu())", 0),
        ("self.gallery.append(rows.cpu())", 1),
        ("if self.looks:\n            self.gallery.append(rows.cpu())", 1),
    ],
)
def test_a_backward_proves_nothing_of_the_other_branch(otherwise: str, number: int) -> None:
    program = Program(f"""
from runner import Runner
class Matcher(Runner):
    def __init__(self):
        self.gallery = []
    def handle(self, batch):
        rows = self.model(batch)
        loss = rows.pow(2).mean()
        if self.is_train:
            loss.backward()
            self.optimizer.step()
        {otherwise}
    def run(self, loader):
        for batch in loader:
            self.handle(batch)
""")
    assert len(program.facts.insertions) == number
