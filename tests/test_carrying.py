"""States that go from step to step with their graph, and states that begin anew or were detached."""

from __future__ import annotations

from textwrap import dedent

import pytest
from programs import HEAD, TRAINING, Program

from torchlint import check_source

PARTS = """
rnn, cell, head = nn.GRU(3, 3), nn.GRUCell(3, 3), nn.Linear(3, 3)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
h = torch.zeros(2, 3)
"""


def carried(source: str) -> list[str]:
    """The names of the carried states."""
    return sorted({found.name for found in Program(source).facts.carried_states})


def steps(body: str, before: str = "", end: str = "loss.backward()") -> str:
    """A script whose loop computes ``z`` by ``body`` and trains the head on it, detached."""
    lines = [*body.splitlines(), "loss = F.cross_entropy(head(z.detach()), y)", end, "optimizer.step()"]
    loop = "".join(f"    {line}\n" for line in lines)
    return f"{TRAINING}{PARTS}{before}\nfor x, y in loader:\n{loop}"


@pytest.mark.parametrize(
    "body",
    [
        "h = cell(x, h)\nz = h",
        "z, h = rnn(x, h)",
        "h = torch.tanh(head(torch.cat([x, h])))\nz = h",
        "z, new = rnn(x, h)\nh = new",
        "h = cell(x, h if h is not None else x)\nz = h",
        "h = advance(x, h)\nz = h",
        "z, h = both(x, h)",
    ],
)
def test_a_state_that_comes_back_through_a_module_is_carried(body: str) -> None:
    helpers = """
def advance(x, state):
    return cell(x, state)
def both(x, state):
    state = cell(x, state)
    return state.sum(), state
"""
    assert carried(steps(body, helpers)) == ["h"]


@pytest.mark.parametrize(
    "body",
    [
        "h = cell(x, h.detach())\nz = h",
        "h = cell(x, h)\nz = h\nh = h.detach()",
        "h = h.data\nh = cell(x, h)\nz = h",
        "h = cell(x, h)\nz = h\nh.detach_()",
        "with torch.no_grad():\n    h = cell(x, h)\nz = h",
        "h = cell(x, x)\nz = h",
        "h = part(x, h)\nz = h",
        "h = torch.zeros(2, 3)\nh = cell(x, h)\nz = h",
        "h = first(x)\nz = cell(x, h)",
    ],
)
def test_a_state_that_begins_anew_or_is_detached_is_not(body: str) -> None:
    helpers = """
def part(x, state):
    return cell(x, state.detach())
def first(x):
    return cell(x, x)
"""
    assert carried(steps(body, helpers)) == []


def test_a_helper_that_is_called_twice_carries_only_what_it_is_given() -> None:
    helper = "def run(v):\n    return head(v)\n"
    assert carried(steps("z = run(h)\nh = run(x)", helper)) == []


def test_the_parts_of_one_sequence_are_no_steps() -> None:
    body = "h = torch.zeros(2, 3)\nfor t in range(5):\n    h = cell(x[t], h)\nz = h"
    assert carried(steps(body)) == []
    assert carried(steps("h = torch.zeros(2, 3)\nfor part in x.unbind(0):\n    h = cell(part, h)\nz = h")) == []


def test_the_batches_of_an_epoch_are_steps() -> None:
    source = f"{TRAINING}{PARTS}\nfor epoch in range(3):\n    h = None\n    for x, y in loader:\n"
    body = ["z, h = rnn(x, h)", "loss = F.cross_entropy(head(z.detach()), y)", "loss.backward()", "optimizer.step()"]
    assert carried(source + "".join(f"        {line}\n" for line in body)) == ["h"]


@pytest.mark.parametrize(("end", "breaks"), [("loss.backward()", True), ("loss.backward(retain_graph=True)", False)])
def test_a_chain_that_each_backward_runs_over_needs_to_be_retained(end: str, breaks: bool) -> None:
    seen = steps("h = cell(x, h)\nz = h", end=end).replace("z.detach()", "z")
    assert [(found.name, found.breaks) for found in Program(seen).facts.carried_states] == [("h", breaks)]
    # A program that runs detaches where that is not seen.
    unseen = seen.replace("cell(x, h)", "unknown(x, h)")
    assert carried(unseen) == []


STREAM = """
class Stream(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head, self.h = nn.GRUCell(3, 3), nn.Linear(3, 3), None
    def reset(self):
        self.h = None
    def drop(self):
        self.h = self.h.detach()
    def forward(self, x):
        self.h = self.cell(x, self.h)
        return self.head(self.h.detach())
stream = Stream()
optimizer = torch.optim.SGD(stream.parameters(), lr=0.1)
for x, y in DataLoader(dataset):
    loss = F.cross_entropy(stream(x), y)
    loss.backward()
    optimizer.step()
"""


def test_an_attribute_is_carried_unless_it_is_set_anew_in_the_step() -> None:
    assert carried(STREAM) == ["self.h"]
    assert carried(f"{STREAM}    stream.reset()\n") == []
    assert carried(f"{STREAM}    stream.drop()\n") == []
    assert carried(STREAM.replace("self.cell(x, self.h)", "self.cell(x, self.h.detach())")) == []


def test_a_sum_is_not_carried() -> None:
    assert carried(steps("h = h + cell(x, x)\nz = h")) == []


SKORCH = """
def anew(h):
    return {anew}
class Learner(Net):
    def train_step(self, x, y):
        self.module_.train()
        self.h = anew(self.h)
        out, self.h = self.module_(x, self.h)
        F.cross_entropy(out, y).backward()
    def validation_step(self, x, y):
        self.module_.eval()
        out, self.h = self.module_(x, self.h)
        return F.cross_entropy(out, y)
"""


@pytest.mark.parametrize("anew", ["tuple(anew(part) for part in h)", "[anew(part) for part in h]"])
def test_an_attribute_in_the_style_of_scikit_learn_is_no_method_that_works_in_place(anew: str) -> None:
    assert carried(SKORCH.format(anew=f"h.detach() if torch.is_tensor(h) else {anew}")) == ["self.h"]


def test_a_state_through_which_another_step_trains_is_not_told() -> None:
    assert carried(SKORCH.format(anew="tuple(part for part in h)")) == []


WINDOW = """
class Player:
    def __init__(self):
        self.memory = torch.zeros(2, 3)
    def play(self, length):
        memory, scores = self.memory, []
        for _ in range(length):
            memory = cell(watch(), memory)
            scores.append(head(memory))
            WITHIN
        self.memory = memory.detach()
        return scores
    def update(self, length):
        loss = sum(score.sum() for score in self.play(length))
        AFTER

player = Player()
while True:
    player.update(20)
"""
"""Steps whose outputs are trained on together, as one sequence; what is carried on to the next one is detached."""


def test_a_backward_after_the_loop_runs_over_a_window() -> None:
    window = f"{TRAINING}{PARTS}{WINDOW}"
    after = window.replace("WITHIN", "pass").replace("AFTER", "loss.backward(retain_graph=True)")
    assert carried(after) == []
    assert carried(after.replace("memory.detach()", "memory")) == ["self.memory"]
    within = window.replace("WITHIN", "scores[-1].sum().backward(retain_graph=True)").replace("AFTER", "pass")
    assert carried(within) == ["memory"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("torch.autograd.grad(z.sum(), part)", ["h"]),
        ("torch.autograd.grad(z.sum(), h)", []),
        ("torch.autograd.grad(z.sum(), list(cell.parameters()))", []),
        ("torch.autograd.grad(z.sum(), cell.weight_ih)", []),
        ("torch.autograd.grad(z.sum(), start)", []),
        ("torch.autograd.grad(z.sum(), (part, start))", []),
    ],
)
def test_a_gradient_of_what_the_step_made_frees_no_step_before(asked: str, expected: list[str]) -> None:
    body = "part = x.clone().requires_grad_(True)\nz = h = cell(part + start, h)"
    before = "start = torch.zeros(3, requires_grad=True)"
    assert carried(steps(body, before, end=f"found = {asked}; loss.backward()")) == expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("torch.as_tensor(frame).unsqueeze(0).requires_grad_(True)", ["h"]),
        ("torch.as_tensor(frame)[None].requires_grad_(True)", ["h"]),
        ("load(frame).float().requires_grad_()", ["h"]),
        ("load(frame).float()", []),
        ("start.requires_grad_(True)", []),
        ("[load(frame)]", []),
    ],
)
def test_what_requires_grad_by_the_method_and_is_no_module_is_one_tensor(part: str, expected: list[str]) -> None:
    source = f"""
def slopes(frames, start):
    cell, h, found = nn.GRUCell(3, 3), torch.zeros(1, 3), []
    for frame in frames:
        part = {part}
        h = cell(part, h)
        found.append(torch.autograd.grad(h.sum(), part)[0].norm().item())
    return found
"""
    assert carried(source) == expected


EXPLAINED = """
class Monitor(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(3, 3), nn.Linear(3, 1)
    def forward(self, frame, state):
        state = self.cell(frame, state)
        return self.head(state).squeeze(), state
class Explainer:
    def __init__(self, net):
        self.net, self.state = net.eval(), torch.zeros(1, 3)
    def __call__(self, frame):
        {asked}
        score, self.state = self.net(frame, self.state)
        return torch.autograd.grad(score, frame)[0].norm().item()
def read(stream):
    while True:
        row = stream.read()
        if len(row) < 3:
            return
        yield torch.from_numpy(row.copy()).view(1, 3)
def run(stream):
    explain = Explainer(Monitor())
    for number, frame in enumerate(read(stream)):
        print(number, explain(frame))
"""


@pytest.mark.parametrize(
    ("asked", "expected"), [("frame.requires_grad_(True)", ["self.state"]), ("frame = watch()", [])]
)
def test_an_input_that_a_method_makes_require_grad_is_one_of_its_step(asked: str, expected: list[str]) -> None:
    assert carried(EXPLAINED.format(asked=asked)) == expected


def test_an_attribute_of_which_only_gradients_of_the_input_are_asked() -> None:
    source = """
class Watch:
    def __init__(self):
        self.cell, self.state = nn.GRUCell(3, 3), torch.zeros(1, 3)
    def look(self, x):
        x = x.clone().requires_grad_(True)
        self.state = self.cell(x, self.state)
        (slope,) = torch.autograd.grad(self.state.sum(), x)
        return slope.abs().max().item()
def main(stream):
    watch = Watch()
    for x in stream:
        print(watch.look(x))
"""
    assert carried(source) == ["self.state"]
    assert carried(source.replace("self.cell(x, self.state)", "self.cell(x, self.state.detach())")) == []


PLANNING = """
class Planner:
    def __init__(self):
        self.world, self.belief = nn.GRUCell(3, 3).eval(), torch.zeros(1, 3)
    def act(self, seen):
        self.belief = self.world(seen, self.belief)
        plan = torch.zeros(1, 3, requires_grad=True)
        for _ in range(8):
            value = self.world(plan, self.belief).sum()
            (slope,) = torch.autograd.grad(value, plan)
            plan = {improved}
        return plan.detach().numpy()
def main(env):
    planner, seen = Planner(), env.reset()
    while True:
        seen = env.step(planner.act(seen))
"""


@pytest.mark.parametrize(
    ("improved", "expected"),
    [
        ("(plan + slope).detach().requires_grad_(True)", ["self.belief"]),
        ("(plan + slope * self.belief)", []),  # which goes back to the step before
    ],
)
def test_a_plan_that_is_improved_by_its_gradient_wants_no_step_before(improved: str, expected: list[str]) -> None:
    assert carried(PLANNING.format(improved=improved)) == expected


@pytest.mark.parametrize(("reading", "expected"), [("loss.data[0]", []), ("1", []), ("loss.item()", ["h"])])
def test_what_a_volatile_input_goes_into_has_no_graph_in_torch_before_0_4(reading: str, expected: list[str]) -> None:
    source = steps("z = head(x)", end=f"loss.backward()\n    print({reading})")
    source += "letter = torch.autograd.Variable(torch.zeros(1, 2, 3), volatile=True)\n"
    source += "for _ in range(100):\n    out, h = rnn(letter, h)\n    print(out.data)\n"
    assert carried(source) == expected


SPARED = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, x, known=None):
        state = known if known is not None else self.encoder(x)
        return self.decoder(state), {back}

class Teller:
    def __init__(self, make):
        self.net, self.known = {net}, None
    def tell(self, x):
        self.net.eval()
        out, self.known = self.net(x, known=self.known)
        return out.argmax(1).tolist()
"""


@pytest.mark.parametrize("net", ["make()", "Reader()"])
@pytest.mark.parametrize(
    ("back", "expected"),
    [
        ("state", []),
        ("state if len(x) else torch.cat([state, x])", []),
        ("self.encoder(state)", ["self.known"]),
        ("torch.tanh(state + x)", ["self.known"]),
    ],
)
def test_what_a_module_gives_back_as_it_was_given_is_no_chain(net: str, back: str, expected: list[str]) -> None:
    assert carried(SPARED.format(net=net, back=back)) == expected


REFINER = """
class State:
    def __init__(self, rows):
        self.rows = rows
    def __getitem__(self, name):
        return getattr(self, name)
class Refiner(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(3, 3) for _ in range(3))
        self.state = State(torch.zeros(2, 3))
    def forward(self, x):
        state = {begin}
        for _ in range(len(x)):
            state = self.refine(state)
        return state['rows']
    def refine(self, state):
        for depth in range(len(self.blocks)):
            state.rows = self.blocks[depth](state.rows)
        return state
"""


@pytest.mark.parametrize(("begin", "found"), [("State(x)", []), ("self.state", ["state.rows"])])
def test_an_object_that_a_forward_makes_carries_nothing_into_the_next(begin: str, found: list[str]) -> None:
    assert carried(TRAINING + REFINER.format(begin=begin)) == found


CHUNKS = """
rnn, head = nn.GRU(3, 3), nn.Linear(3, 3)
def epoch(text, size, rate):
    state = torch.zeros(1, 2, 3)
    for i in range(0, len(text), size):
        z, state = rnn(text[i:i + size], state)
        loss = head(z).pow(2).mean()
        {end}
        for p in [*rnn.parameters(), *head.parameters()]:
            {step}
        {last}
for turn in range(9):
    epoch(texts[turn], 4, 0.1)
"""


@pytest.mark.parametrize(
    ("end", "step", "last", "is_found"),
    [
        ("loss.backward(retain_graph=True)", "p.data.add_(p.grad, alpha=-rate)", "", True),
        ("loss.backward(retain_graph=True)", "p.data -= rate * p.grad", "", True),
        ("loss.backward(retain_graph=True)", "p.data -= rate * p.grad", "state = state.detach()", False),
        ("losses.append(loss)", "pass", "", False),  # one sequence, of which the parts are trained together
    ],
)
def test_the_parts_of_a_text_that_are_trained_one_by_one_are_steps(
    end: str, step: str, last: str, is_found: bool
) -> None:
    assert carried(CHUNKS.format(end=end, step=step, last=last)) == (["state"] if is_found else [])


MEMORY = """
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = nn.Linear(3, 3), nn.Linear(3, 3)
    def push(self, memory, item):
        return torch.cat([memory, item])[-8:]
    def forward(self, x, memory):
        h = self.layer(x) + {read}
        return self.head(h), {state}
reader = Reader()
optimizer = torch.optim.SGD(reader.parameters(), lr=0.1)
memory = torch.zeros(8, 3)
for x, y in loader:
    out, memory = reader(x, memory)
    loss = F.cross_entropy(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("state", ["self.push(memory, h)", "0.9 * memory + h", "torch.cat([memory, h])[-8:]"])
@pytest.mark.parametrize(
    ("read", "leaks"),
    [("memory.detach().mean(0)", True), ("0", True), ("memory.mean(0)", False)],
)
def test_a_state_of_which_the_loss_sees_no_graph_is_carried_beside_it(state: str, read: str, leaks: bool) -> None:
    # Where the loss goes through the state, its second backward raises: the program does not run so.
    found = carried(TRAINING + MEMORY.replace("{read}", read).replace("{state}", state))
    assert found == (["memory"] if leaks else [])


KEEPER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.GRU(3, 3), nn.Linear(3, 3)
        self.state = None

    def reset(self):
        self.state = None

    def cut(self):
        self.state = self.state.detach()

    def forward(self, x):
        {enter}
        out, self.state = self.rnn(x, self.state)
        return self.head(out)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    {epoch}
    for x, y in loader:
        {before}
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        {after}
"""
ANYWHERE = dict.fromkeys(["enter", "epoch", "before", "after"], "pass")


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, ["self.state"]),
        ({"epoch": "net.reset()"}, ["self.state"]),
        ({"before": "net.reset()"}, []),
        ({"before": "if net.state is not None: net.cut()"}, []),
        ({"after": "net.cut()"}, []),
        ({"after": "net.state = net.state.detach()"}, []),
        ({"enter": "if self.state is not None: self.state = self.state.detach()"}, []),
        ({"enter": "if self.training: self.reset()"}, []),
        ({"enter": "self.state = helpers.cut(self.state)"}, []),
    ],
)
def test_a_state_that_a_network_keeps_makes_a_second_backward_raise(changed: dict[str, str], found: list[str]) -> None:
    assert carried(TRAINING + "import helpers\n" + KEEPER.format(**{**ANYWHERE, **changed})) == found


@pytest.mark.parametrize(("keep", "codes"), [("state", ["TLK104"]), ("out.mean()", ["TLK111"])])
def test_a_state_that_a_method_keeps_is_told_once(keep: str, codes: list[str]) -> None:
    source = f"""
        class Reader:
            def __init__(self):
                self.cell, self.state = nn.GRUCell(3, 3), None

            def keep(self, kept):
                self.state = kept

            def read(self, x):
                state = self.cell(x, {"self.state" if keep == "state" else "None"})
                out = state * 2.0
                self.keep({keep})
                return out

        def count(loader):
            reader, right = Reader(), 0
            for x, y in loader:
                right += (reader.read(x).argmax(1) == y).sum().item()
            return right
    """
    found = {one.code for one in check_source(HEAD + dedent(source))}
    assert sorted(found & {"TLK104", "TLK111"}) == codes


SESSIONS = """
class Session:
    def __init__(self, net):
        self.net, self.state = net, None

    def feed(self, x):
        out, self.state = self.net(x, self.state)
        return out.argmax(-1).tolist()

def serve(stream):
    net, sessions = nn.GRU(3, 3), {{}}
    for user, x, ends in stream:
        {opens}
        print(sessions[user].feed(x))
        {closes}
"""


@pytest.mark.parametrize(
    ("opens", "closes", "expected"),
    [
        ("if user not in sessions:\n            sessions[user] = Session(net)", "pass", ["self.state"]),
        ("sessions[user] = Session(net)", "pass", []),
        (
            "if user not in sessions:\n            sessions[user] = Session(net)",
            "if ends:\n            del sessions[user]",
            [],
        ),
        ("if user not in sessions:\n            sessions[user] = Session(net)", "sessions.clear()", []),
    ],
)
def test_an_object_that_is_made_where_there_is_none_yet_lives_on(opens: str, closes: str, expected: list[str]) -> None:
    assert carried(SESSIONS.format(opens=opens, closes=closes)) == expected


STATE_OF_A_MEMORY = """
class Memory:
    def __init__(self):
        self.state = None

    def keep(self, new):
        self.state = {kept}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 3)

    def forward(self, x, memory):
        out, state = self.rnn(x, memory.state)
        memory.keep(state)
        return out

def write(net, x, length):
    memory, text = Memory(), []
    while len(text) < length:
        {anew}
        x = net(x, memory).argmax(-1)
        text.append(x.item())
    return text

print(write(Net().eval(), torch.zeros(1, 3), 99))
"""


@pytest.mark.parametrize(
    ("kept", "anew", "expected"),
    [("new", "pass", ["self.state"]), ("new.detach()", "pass", []), ("new", "memory = Memory()", [])],
)
def test_a_method_keeps_the_state_that_it_is_given(kept: str, anew: str, expected: list[str]) -> None:
    assert carried(STATE_OF_A_MEMORY.format(kept=kept, anew=anew)) == expected


FIELD = """
from dataclasses import dataclass

@dataclass
class Carry:
    h: torch.Tensor
    steps: int = 0

carry = Carry(h)
for x, y in loader:
    h = cell(x, carry.h)
    loss = F.cross_entropy(head(h), y)
    loss.backward(retain_graph=True)
    optimizer.step()
    carry = Carry({kept}, carry.steps + 1)
"""


def test_a_field_is_told_where_its_object_is_made() -> None:
    (found,) = Program(TRAINING + PARTS + FIELD.format(kept="h")).facts.carried_states
    assert found.name == "Carry.h"
    assert "Carry(h, carry.steps + 1)" in Program("").facts.code(found.statement)
    assert carried(TRAINING + PARTS + FIELD.format(kept="h.detach()")) == []


@pytest.mark.parametrize("again", ["", "        ahead = State(self.cell(x, state.level), 0.5)\n"])
def test_a_state_in_a_record_is_told_where_the_record_is_made(again: str) -> None:
    source = f"""
from typing import NamedTuple
import torch
from torch import nn
class State(NamedTuple):
    level: torch.Tensor
    trust: float
class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
    def follow(self, state, x):
{again}        return State(self.cell(x, state.level), 1.0)
    def begin(self):
        return State(torch.zeros(1, 8), 0.0)
def track(readings):
    tracker = Tracker().eval()
    state = tracker.begin()
    for x in readings:
        state = tracker.follow(state, x)
        print(state.level.detach().numpy())
"""
    told = [finding.line for finding in check_source(source) if finding.code == "TLK104"]
    assert len(told) == 1
    assert "State(self.cell" in source.splitlines()[told[0] - 1]
