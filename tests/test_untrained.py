"""Forwards through which nothing is trained: which modules optimizers train, and whose gradients are thrown away."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import HEAD, Program
from projects import Project

from torchlint.facts.autograd.optimized import Optimized
from torchlint.facts.values.graph import Op

NETWORKS = """
import copy
import itertools
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 2)
    def forward(self, x):
        return self.head(self.body(x))
def build():
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU())
a, b = Net(), Net()
"""


def trained(lines: str, module: str) -> bool:
    program = Program(f"{NETWORKS}{lines}\nprint({module})\n")
    return Optimized(program.facts.flows).is_trained(program.printed()[-1])


@pytest.mark.parametrize(
    ("lines", "module", "expected"),
    [
        ("o = torch.optim.SGD(a.parameters(), 0.1)", "a", True),
        ("o = torch.optim.SGD(a.parameters(), 0.1)", "b", False),
        ("o = torch.optim.SGD(a.parameters(), 0.1)\nc = copy.deepcopy(a)", "c", False),
        ("o = torch.optim.SGD(a.parameters(), 0.1)\nc = nn.DataParallel(a).cuda()", "c", True),
        ("o = torch.optim.SGD(itertools.chain(a.parameters(), b.parameters()), 0.1)", "b", True),
        ("o = torch.optim.SGD([{'params': b.parameters()}], 0.1)", "b", True),
        ("o = make_optimizer(b.parameters())", "b", True),
        ("o = torch.optim.SGD([p for p in b.parameters() if p.requires_grad], 0.1)", "b", True),
        ("o = torch.optim.SGD(a.head.parameters(), 0.1)", "a", True),
        ("o = torch.optim.SGD(a.parameters(), 0.1)", "a.head", True),
        ("c = nn.Sequential(a, nn.ReLU())\no = torch.optim.SGD(c.parameters(), 0.1)", "a", True),
        ("c = nn.ModuleDict()\nc['a'] = a\no = torch.optim.SGD(c.parameters(), 0.1)", "a", True),
        ("c = nn.ModuleDict()\nc['a'] = a\no = torch.optim.SGD(c.parameters(), 0.1)", "b", False),
        ("for p in b.parameters():\n    p.data.mul_(0.9)", "b", False),
        ("n = sum(p.numel() for p in b.parameters())", "b", False),
        ("nn.utils.clip_grad_norm_(b.parameters(), 1.0)", "b", False),
        ("c, d = build(), build()\no = torch.optim.SGD(c.parameters(), 0.1)", "d", False),
        ("c, d = build(), build()\no = torch.optim.SGD(c.parameters(), 0.1)", "c", True),
        ("for p in b.parameters():\n    p.data -= 0.1 * p.grad", "b", True),
        ("o = torch.optim.SGD(b.get_head().parameters(), 0.1)", "b", True),
        ("a, o = accelerator.prepare(a, None)\nk = torch.optim.SGD(a.parameters(), 0.1)", "a", True),
    ],
)
def test_what_an_optimizer_trains(lines: str, module: str, expected: bool) -> None:
    assert trained(lines, module) is expected


STEP = """
def train(loader):
    s, t = Net(), Net()
    {before}
    o = torch.optim.SGD({parameters}, lr=0.1)
    for x, y in loader:
        {forward}
        o.zero_grad()
        loss.backward()
        o.step()
"""


@pytest.mark.parametrize(
    ("before", "parameters", "forward", "expected"),
    [
        ("pass", "s.parameters()", "loss = F.mse_loss(s(x), t(x))", ["t"]),
        ("pass", "t.parameters()", "loss = F.mse_loss(s(x), t(x))", ["s"]),
        ("t.requires_grad_(False)", "s.parameters()", "loss = F.mse_loss(s(x), t(x))", []),
        ("pass", "s.parameters()", "loss = F.mse_loss(s(x), t(x).detach())", []),
        ("pass", "s.parameters()", "loss = t(s(x)).mean()", []),
        ("pass", "s.parameters()", "h = t(x)\n        loss = F.cross_entropy(s(x), h.argmax(1))", ["t"]),
        ("pass", "[*s.parameters(), *t.parameters()]", "loss = F.mse_loss(s(x), t(x))", []),
        ("pass", "s.parameters()", "loss = t(x).mean()", []),
    ],
)
def test_a_forward_of_a_network_that_is_not_trained(
    before: str, parameters: str, forward: str, expected: list[str]
) -> None:
    program = Program(NETWORKS + STEP.format(before=before, parameters=parameters, forward=forward))
    assert [program.facts.called(found.call) for found in program.facts.untrained_forwards] == expected


def test_a_step_may_be_written_on_one_line() -> None:
    step = STEP.replace(
        "o.zero_grad()\n        loss.backward()\n        o.step()", "o.zero_grad(); loss.backward(); o.step()"
    )
    forward = "loss = F.mse_loss(s(x), t(x))"
    program = Program(NETWORKS + step.format(before="pass", parameters="s.parameters()", forward=forward))
    assert [program.facts.called(found.call) for found in program.facts.untrained_forwards] == ["t"]


PLAYERS = """
def train(loader):
    g, d = nn.Linear(3, 3), nn.Linear(3, 1)
    og, od = torch.optim.SGD(g.parameters(), 0.1), torch.optim.SGD(d.parameters(), 0.1)
    for x, y in loader:
        {first}
        u = g(x)
        d(u).mean().backward()
        od.step()
        {then}
        (-d(g(x)).mean()).backward()
        og.step()
        od.zero_grad()
"""


@pytest.mark.parametrize(("first", "then", "expected"), [("pass", "og.zero_grad()", 1), ("og.zero_grad()", "pass", 0)])
def test_gradients_count_until_they_are_zeroed(first: str, then: str, expected: int) -> None:
    program = Program(PLAYERS.format(first=first, then=then))
    assert len(program.facts.untrained_forwards) == expected


PASSES = """
class Players:
    def __init__(self):
        self.painter, self.judge = nn.Linear(3, 3), nn.Linear(3, 1)
        self.of_painter = torch.optim.SGD(self.painter.parameters(), 0.1)
        self.of_judge = torch.optim.SGD(self.judge.parameters(), 0.1)
        self.rates = [{each} for o in (self.of_painter, self.of_judge)]
    def judged(self, real):
        loss = (self.judge(self.painter(torch.randn(8, 3))) - self.judge(real)).mean()
        self.of_judge.zero_grad()
        loss.backward()
        self.of_judge.step()
    def painted(self):
        loss = -self.judge(self.painter(torch.randn(8, 3))).mean()
        self.of_painter.zero_grad()
        loss.backward()
        self.of_painter.step()
    def fit(self, loader):
        for epoch in range(9):
            for real in loader:
                self.judged(real)
                self.painted()
            for one in self.rates:
                one.step()
"""


@pytest.mark.parametrize(
    ("each", "expected"),
    [("torch.optim.lr_scheduler.StepLR(o, 2)", 1), ("o", 0), ("stepping(o)", 0)],
)
def test_the_step_of_a_scheduler_uses_no_gradients(each: str, expected: int) -> None:
    assert len(Program(PASSES.format(each=each)).facts.untrained_forwards) == expected


SEVERAL = """
from judges import Judge
class Players:
    def __init__(self, sizes):
        self.painter = nn.Linear(3, 3)
        self.judges = {judges}
        self.of_painter = torch.optim.SGD(self.painter.parameters(), 0.1)
        self.of_judges = torch.optim.SGD(self.judges.parameters(), 0.1)
    def judged(self, real):
        made, loss = self.painter(torch.randn(8, 3)), 0
        for judge in self.judges:
            loss = loss + judge(made).mean() - judge(real).mean()
        self.of_judges.zero_grad()
        loss.backward()
        self.of_judges.step()
    def painted(self):
        made = self.painter(torch.randn(8, 3))
        loss = -sum(judge(made).mean() for judge in self.judges)
        self.of_painter.zero_grad()
        loss.backward()
        self.of_painter.step()
    def fit(self, loader):
        for real in loader:
            self.judged(real)
            self.painted()
"""


@pytest.mark.parametrize(
    ("judges", "expected"),
    [
        ("nn.ModuleList([Judge(size) for size in sizes])", ["self.painter"]),
        ("nn.ModuleList([Judge(1), Judge(2)]).cuda()", ["self.painter"]),
        ("nn.ModuleList([Judge(1), self.painter])", []),
        ("nn.ModuleList(Judge.family(sizes))", []),
    ],
)
def test_what_a_list_of_networks_is_given_are_those_that_a_loop_runs(judges: str, expected: list[str]) -> None:
    program = Program(SEVERAL.format(judges=judges))
    assert [program.facts.called(found.call) for found in program.facts.untrained_forwards] == expected


def test_a_graph_that_is_retained_may_be_wanted() -> None:
    step = STEP.format(before="pass", parameters="s.parameters()", forward="loss = F.mse_loss(s(x), t(x))")
    assert len(Program(NETWORKS + step).facts.untrained_forwards) == 1
    assert not Program(NETWORKS + step.replace("backward()", "backward(retain_graph=True)")).facts.untrained_forwards


def test_a_backward_through_a_network_says_nothing_of_its_input() -> None:
    program = Program(
        """
        def train(loader, device):
            m, h = nn.Sequential(nn.Linear(3, 3), nn.ReLU()), nn.Linear(3, 1)
            for x, y in loader:
                h(m(x.to(device))).mean().backward()
        """
    )
    assert program.facts.flows.live(program.value("x.to(device)")) is None
    assert program.facts.flows.live(program.value("m(x.to(device))")) is not None


OF_AN_OBJECT = """
import timm
class Distiller:
    def __init__(self):
        self.student = timm.create_model("small")
        self.teacher = timm.create_model("large")
        self.opt = self.make_optimizer()
    def make_optimizer(self):
        return torch.optim.SGD(list(self.student.parameters()){more}, 0.1)
    def step(self, batch):
        x = torch.as_tensor(batch)
        target = self.teacher(x).logits
        loss = ((self.student(x) - target{end}) ** 2).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
"""


@pytest.mark.parametrize(
    ("more", "end", "expected"),
    [
        ("", "", 1),
        ("", ".detach()", 1),
        (" + list(self.teacher.parameters())", "", 0),
    ],
)
def test_what_one_attribute_of_an_object_trains_is_no_other(more: str, end: str, expected: int) -> None:
    assert len(Program(OF_AN_OBJECT.format(more=more, end=end)).facts.untrained_forwards) == expected


FAKES = """
def score(critic, x):
    return critic(x).mean()
def critic_step(gen, critic, opt, real):
    fake = gen(torch.randn(8, 3))
    loss = score(critic, fake.detach()) - critic(real).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    {last}
def generator_step(gen, critic, opt):
    loss = -critic(gen(torch.randn(8, 3))).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
def main(loader):
    gen, critic = nn.Linear(3, 3), nn.Linear(3, 1)
    of_gen, of_critic = torch.optim.SGD(gen.parameters(), 0.1), torch.optim.SGD(critic.parameters(), 0.1)
    for real in loader:
        critic_step(gen, critic, of_critic, real)
        generator_step(gen, critic, of_gen)
"""


@pytest.mark.parametrize(
    ("last", "expected"),
    [("return loss.item()", 1), ("return fake", 0), ("return fake.mean()", 0), ("opt.last = fake", 0)],
)
def test_what_a_step_detaches_was_made_in_vain_unless_it_leaves_the_step(last: str, expected: int) -> None:
    assert len(Program(FAKES.format(last=last)).facts.untrained_forwards) == expected


PILOT = """
class Pilot:
    def __init__(self, make, field):
        self.net, self.older, self.field = make(), make(), field
        self.older.load_state_dict(self.net.state_dict())
    def step(self, seen, rows):
        move = self.net(seen)
        {acted}
        then = self.older(rows.after)
        q = self.older.judge(rows.after, then)
        target = {target}
        loss = F.mse_loss(self.net.judge(rows.before, rows.move), target)
        self.net.zero_grad()
        loss.backward()
        {updated}
"""
STEPPED = "self.net.optimizer.step()"
QUIET = "self.field.move(move.detach().numpy())"


@pytest.mark.parametrize(
    ("acted", "target", "updated", "expected"),
    [
        (QUIET, "(rows.gain + q).detach()", STEPPED, ["self.net", "self.older", "self.older.judge"]),
        ("self.move = move.detach(), move", "(rows.gain + q).detach()", STEPPED, ["self.older", "self.older.judge"]),
        (QUIET, "rows.gain + q", STEPPED, ["self.net"]),
    ],
)
def test_what_networks_with_optimizers_of_their_own_answer_for_a_look(
    acted: str, target: str, updated: str, expected: list[str]
) -> None:
    program = Program(PILOT.format(acted=acted, target=target, updated=updated))
    assert [one.name for one in program.facts.untrained_forwards] == expected


PICTURE = """
def paint(content):
    {made}
    optimizer = torch.optim.Adam({given}, lr=0.1)
    judge = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU()).eval()
    def worn(x):
        return x + picture
    for _ in range(100):
        wanted = judge({wanted})
        loss = F.mse_loss(judge({judged}), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
COPIED = "picture = content.clone().requires_grad_()"


@pytest.mark.parametrize(
    ("made", "given", "wanted", "judged", "count"),
    [
        (COPIED, "[picture]", "content", "picture", 1),
        ("picture = nn.Parameter(content)", "[{'params': [picture]}]", "content", "render(picture)", 1),
        ("picture = torch.randn(3, 8, requires_grad=True)", "[picture]", "content", "worn(content)", 1),
        (COPIED, "[picture]", "worn(content)", "picture", 0),
        (COPIED, "[picture]", "content", "content.clone()", 0),
        ("picture = content.clone()", "[picture]", "content", "picture", 0),
        (f"{COPIED}; other = picture * 2", "[made_elsewhere()]", "content", "other", 0),
    ],
)
def test_a_network_through_which_a_picture_is_painted_need_not_remember_the_model(
    made: str, given: str, wanted: str, judged: str, count: int
) -> None:
    program = Program(PICTURE.format(made=made, given=given, wanted=wanted, judged=judged))
    assert [one.name for one in program.facts.untrained_forwards] == ["judge"] * count


FORGETTING = """
class Pair:
    def __init__(self):
        self.painter, self.judge = nn.Linear(3, 3), nn.Linear(3, 1)
        self.of_painter = torch.optim.SGD(self.painter.parameters(), 0.1)
        self.of_judge = torch.optim.SGD(self.judge.parameters(), 0.1)
    def forget({told}):
        {done}
    def update(self):
        self.of_painter.step()
    def fit(self, loader):
        for real in loader:
            loss = (self.judge(self.painter(torch.randn(8, 3))) - self.judge(real)).mean()
            self.forget({given})
            loss.backward()
            self.of_judge.step()
            {between}
            loss = -self.judge(self.painter(torch.randn(8, 3))).mean()
            self.forget({given})
            loss.backward()
            self.of_painter.step()
"""
BOTH = "self.of_painter.zero_grad(); self.of_judge.zero_grad()"


@pytest.mark.parametrize(
    ("told", "given", "done", "between", "expected"),
    [
        ("self", "", BOTH, "pass", 1),
        ("self", "", "self.of_judge.zero_grad()", "pass", 0),
        ("self", "", BOTH, "self.of_painter.step()", 0),
        ("self", "", f"self.update(); {BOTH}", "pass", 0),
        ("self, optimizer", "self.of_judge", "optimizer.zero_grad()", "pass", 0),
    ],
)
def test_a_function_that_only_zeroes_gradients_zeroes_them_where_it_is_called(
    told: str, given: str, done: str, between: str, expected: int
) -> None:
    program = Program(FORGETTING.format(told=told, given=given, done=done, between=between))
    assert len(program.facts.untrained_forwards) == expected


@pytest.mark.parametrize(("made", "expected"), [("m.clone()", []), ("copy.deepcopy(t)", ["c"])])
def test_what_a_method_of_a_trained_network_gives_is_trained_through(made: str, expected: list[str]) -> None:
    before = f"m = Wrapped(s)\n    c = {made}"
    forward = "loss = F.mse_loss(m(x), c(x))"
    step = STEP.format(before=before, parameters="m.parameters()", forward=forward)
    program = Program("from elsewhere import Wrapped\n" + NETWORKS + step)
    assert [program.facts.called(found.call) for found in program.facts.untrained_forwards] == expected


def test_what_a_module_computes_without_gradients_leads_to_no_graph_before_it() -> None:
    source = """
    def learn(reader: nn.Module, head, words):
        first = collated(reader.encode(words))
        with torch.no_grad():
            read = reader.features(first)
        return head(read)
    """
    facts = Program(source).facts
    (result,) = (one for one in facts.graph.values if one.op is Op.CALL and one.callee.name == "head")
    names = {one.callee.name for one in facts.flows.ancestry.of(result) if one.op is Op.CALL}
    assert "encode" not in names


PAIR = """
class Pair{base}:
    def __init__(self, one, other):
        self.one, self.other = one, other
pair = Pair(a, b)
o = torch.optim.SGD(pair.one.parameters(), 0.1)
"""


@pytest.mark.parametrize(
    ("base", "module", "expected"),
    [
        ("", "pair.one", True),
        ("", "pair.other", False),
        ("(nn.Module)", "pair", True),
        ("(Unseen)", "pair.other", True),
    ],
)
def test_an_object_that_only_holds_networks_trains_each_by_itself(base: str, module: str, *, expected: bool) -> None:
    assert trained(PAIR.format(base=base), module) is expected


DISTILLER = """
class Distiller:
    def __init__(self, student, teacher, optimizer):
        self.student, self.optimizer = student, optimizer
        self.teacher = teacher{made}
    def step(self, x):
        loss = (self.student(x) - self.teacher(x)).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
    def epoch(self, loader):
        {train}
        for x in loader:
            self.step(x)
    def score(self, x):
        self.student.eval()
        return self.student(x).detach()
"""


@pytest.mark.parametrize(
    ("made", "train", "is_found"),
    [
        (".eval()", "self.student.train()", True),
        (".cuda().eval()", "self.student.train()", True),
        ("", "self.student.train()", False),
        (".eval()", "pass", False),
        (".eval()", "self.student.train(); self.teacher.train()", False),
    ],
)
def test_who_stays_in_evaluation_mode_beside_a_trainee_is_supposed_to_be_untrained(
    made: str, train: str, is_found: bool
) -> None:
    found = Program(DISTILLER.format(made=made, train=train)).facts.untrained_forwards
    assert [one.supposed for one in found] == ([True] if is_found else [])


TARGETS = """
class Learner:
    def __init__(self, make):
        self.net, self.older, self.seen = make(), make(), []
        self.older.load_state_dict(self.net.state_dict())
        self.net.parameters(), self.older.parameters()
    def penalty(self, gate: float, scale: float):
        return gate * scale
    def learn(self, x, y):
        out = self.older(x)
        {used}
        loss = F.mse_loss(self.net(x), target)
        self.net.zero_grad()
        loss.backward()
        self.net.steps.step()
"""


@pytest.mark.parametrize(
    ("used", "count"),
    [
        ("target = (y + 0.9 * out.max(1).values).detach()", 1),
        ("rest = torch.min(out, y)\n        target = rest.data", 1),
        ("self.seen.append(out)\n        target = out.detach()", 0),
        ("target = self.penalty(out, 2) + out.detach()", 0),
        ("target = y", 0),
    ],
)
def test_a_result_of_which_each_way_ends_detached_trains_nobody(used: str, count: int) -> None:
    assert len(Program(TARGETS.format(used=used)).facts.untrained_forwards) == count


DISTILLED = """
import lightning as L
import torchaudio
class Task(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential({front})
        self.big, self.small = nn.Linear(3, 3), nn.Linear(3, 3)
    def targets(self, x):
        self.big.eval()
        return {targets}
    def training_step(self, batch, index):
        x, y = batch
        x = self.front(x)
        return F.mse_loss(self.small(x), self.targets(x))
    def configure_optimizers(self):
        return torch.optim.SGD(self.{trained}.parameters(), 0.1)
"""


@pytest.mark.parametrize(
    ("front", "targets", "trained", "found"),
    [
        ("torchaudio.transforms.MelSpectrogram()", "self.big(x)", "small", ["self.big"]),
        ("nn.ReLU()", "F.softmax(self.big(x) / 2, -1)", "small", ["self.big"]),
        ("nn.Linear(3, 3)", "self.big(x)", "small", []),
        ("nn.ReLU()", "self.big(x)", "big", []),
        ("nn.ReLU()", "self.big(self.small(x))", "small", []),
    ],
)
def test_a_teacher_in_a_helper_of_a_framework_s_step(front: str, targets: str, trained: str, found: list[str]) -> None:
    source = DISTILLED.format(front=front, targets=targets, trained=trained)
    names = [one.name for one in Program(source, head=f"{HEAD}\n").facts.untrained_forwards]
    assert [name for name in names if name == "self.big"] == found


LEARNERS = """
    from torch import nn
    from elsewhere import cloned

    class Learner(nn.Module):
        def __init__(self, net):
            super().__init__()
            self.net = net

        def forward(self, x):
            return self.net(x)

        def new(self):
            return Learner(cloned(self.net))
"""

META = """
    import torch
    from torch import nn
    from learners import Learner

    def train(loader):
        learner = Learner(nn.Linear(3, 2))
        optimizer = torch.optim.SGD(learner.parameters(), lr=0.1)
        for x, y in loader:
            other = {made}
            loss = nn.functional.mse_loss(learner(x), other(x))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(("made", "is_told"), [("learner.new()", False), ("Learner(nn.Linear(3, 2))", True)])
def test_what_a_method_of_a_trained_network_gives_may_share_its_parameters(
    tmp_path: Path, made: str, is_told: bool
) -> None:
    files = {"learners.py": LEARNERS, "meta.py": META.format(made=made)}
    assert ("meta.py: TLK203 warning" in Project(tmp_path, files).found()) is is_told


GIVEN = """
class Distiller:
    def __init__(self, teacher, student):
        self.teacher, self.student = teacher.eval(), student
    def step(self, x, optimizer):
        loss = F.mse_loss(self.student(x), self.teacher(x))
        optimizer.zero_grad()
        loss.backward()
        {clip}
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("clip", "expected"),
    [
        ("nn.utils.clip_grad_norm_(self.student.parameters(), 1.0)", ["self.teacher"]),
        ("nn.utils.clip_grad_value_(self.student.parameters(), 1.0)", ["self.teacher"]),
        ("nn.utils.clip_grad_norm_(self.teacher.parameters(), 1.0)", []),
        ("pass", []),
        # What only lists the weights under their names clips them as well.
        ("nn.utils.clip_grad_norm_([p for n, p in self.student.named_parameters()], 1.0)", ["self.teacher"]),
    ],
)
def test_a_network_whose_gradients_are_clipped_is_the_one_that_is_trained(clip: str, expected: list[str]) -> None:
    assert [found.name for found in Program(GIVEN.format(clip=clip)).facts.untrained_forwards] == expected


HANDED = """
from transformers import Trainer

class Distilling(Trainer):
    def __init__(self, *args, teacher, **kwargs):
        super().__init__(*args, **kwargs)
        self.teacher = teacher.to(self.args.device)

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        loss = F.mse_loss(outputs.logits, {told})
        return (loss, outputs) if return_outputs else loss
"""

TAUGHT = """
from transformers import AutoModelForSequenceClassification
from trainer import Distilling

def fit(rows):
    teacher = AutoModelForSequenceClassification.from_pretrained("large")
    teacher.{prepared}
    Distilling(AutoModelForSequenceClassification.from_pretrained("small"), teacher=teacher, train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("told", "prepared", "is_told"),
    [
        ("self.teacher(**inputs).logits", "eval()", True),
        ("self.teacher(**inputs).logits", "eval().requires_grad_(False)", False),
        ("model(**inputs).logits", "eval()", False),
        ("self.unknown(outputs.logits)", "eval()", False),
    ],
)
def test_a_framework_trains_the_model_that_it_hands_over(
    tmp_path: Path, told: str, prepared: str, is_told: bool
) -> None:
    files = {
        "trainer.py": f"import torch.nn.functional as F\n{HANDED.format(told=told)}",
        "fit.py": TAUGHT.format(prepared=prepared),
    }
    assert ("trainer.py: TLK203 warning" in Project(tmp_path, files).found()) is is_told


SCALED = """
class Trainer({base}):
    def __init__(self, net):
        self.net = nn.parallel.DistributedDataParallel(net)
        self.optimizer = optim.SGD(net.parameters(), lr=0.1)

    def _backward(self, loss):
        {backward}

    def fit(self, batch):
        scaler = torch.amp.GradScaler(enabled=True)
        loss = self.net(batch).sum()
        self._backward(scaler.scale(loss))
        self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("base", "backward", "count"),
    [
        ("object", "loss.backward()", 0),
        ("Pluggable", "loss.backward()", 0),
        ("object", "self.net(torch.ones(1)).sum().backward(); print(loss)", 1),
    ],
)
def test_a_scaled_loss_is_the_loss_wherever_its_backward_stands(base: str, backward: str, count: int) -> None:
    head = "from torch import optim\nfrom plugins import Pluggable\n"
    found = Program(head + SCALED.format(base=base, backward=backward)).facts.untrained_forwards
    assert len([one for one in found if one.call.function.name == "fit"]) == count


ADVERSARIES = """
import itertools
from models import Base, Cost, build
class Translator(Base):
    def __init__(self, options):
        Base.__init__(self, options)
        self.maker, self.critic, self.other = (build(name, options) for name in ("maker", "critic", "other"))
        self.cost = Cost(options).to(self.device)
        self.maker_steps = torch.optim.Adam(self.maker.parameters(), lr=options.lr)
        parameters = itertools.chain(self.critic.parameters(), self.other.parameters())
        self.critic_steps = torch.optim.Adam(parameters, lr=options.lr)
    def forward(self):
        self.made = self.maker(self.drawn)
    def judge(self, critic, real, made):
        loss = self.cost(critic(real), True) + self.cost(critic(made.detach()), False)
        loss.backward()
        return loss.item()
    def optimize(self):
        self.forward()
        self.maker_steps.zero_grad()
        loss = self.cost(self.critic(self.made), True) + self.cost(self.other(self.made), True)
        loss.backward()
        self.maker_steps.step()
        self.critic_steps.zero_grad()
        self.judged = self.judge(self.critic, self.photo, self.made)
        self.judged += self.judge(self.other, self.photo, self.made)
        self.critic_steps.step()
"""


def test_an_object_that_steps_the_optimizers_of_its_parts_is_no_network_with_its_own() -> None:
    assert Program(ADVERSARIES).facts.untrained_forwards == []


DRAWS = """
from transformers import AutoModelForCausalLM
class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
    def generate(self, x):
        return self.net(x)
def fit(rows):
    policy, judge = {policy}, AutoModelForCausalLM.from_pretrained("j")
    optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
    for x in rows:
        said = policy.generate(x)
        worth = judge(said).logits
        loss = (policy(said).logits * worth).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(("policy", "lines"), [("AutoModelForCausalLM.from_pretrained('p')", ["judge"]), ("Own()", [])])
def test_what_a_library_generates_has_no_graph(policy: str, lines: list[str]) -> None:
    found = Program(DRAWS.format(policy=policy)).facts.untrained_forwards
    assert [one.name for one in found] == lines


PLAYS = """
class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 3)
    def play(self, x):
        odds = torch.distributions.Categorical(logits=self.body(x))
        move = odds.sample()
        return move, odds.log_prob(move)
def fit(rows, world):
    player = Player()
    optimizer = torch.optim.SGD(player.parameters(), lr=0.1)
    for x in rows:
        move, logged = player.play(x)
        worth = world.step(move.item())
        {kept}
        loss = -(player.play(x)[1] * worth).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("kept", "count"), [("print(logged.item())", 1), ("worth = worth * logged", 0), ("world.keep(logged)", 0)]
)
def test_a_method_runs_a_part_of_a_network_of_which_the_step_reads_numbers(kept: str, count: int) -> None:
    assert len(Program(PLAYS.format(kept=kept)).facts.untrained_forwards) == count
