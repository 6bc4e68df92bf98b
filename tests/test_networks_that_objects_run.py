"""A network that is handed to the constructor of a class in another file, and run by its methods."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

SAMPLER = """
    import torch

    class Sampler:
        def __init__(self, {given}):
            self.net = {kept}
            self.steps = steps

        {decorator}
        def draw(self, x):
            for _ in range(self.steps):
                x = {run}
            return x

        {labelling}
        def label(self, x):
            out = {run}
            return out.argmax(1)

        def smooth(self, x):
            out = {run}
            if self.steps > 2:
                out = 0.5 * (out + {run})
            return out.clamp(0, 1)
"""

USE = """
    import torch
    from torch import nn
    from sampler import Sampler

    def run(loader):
        net = {net}
        sampler = Sampler(net, 4)
        found = []
        for x, y in loader:
            {use}
        return found
"""


def found(
    folder: Path,
    use: str,
    *,
    net: str = "nn.Linear(3, 3)",
    given: str = "net, steps",
    kept: str = "net",
    run: str = "self.net(x)",
    decorator: str = "",
    labelling: str = "",
) -> list[str]:
    """What is found in both files."""
    sampler = SAMPLER.format(given=given, kept=kept, run=run, decorator=decorator, labelling=labelling)
    return Project(folder, {"sampler.py": sampler, "use.py": USE.format(net=net, use=use)}).found()


@pytest.mark.parametrize(
    "use",
    [
        "found.append(sampler.label(x).tolist())",
        "found += sampler.label(x).tolist()",
        "found.append(sampler.draw(x).detach().cpu())",
        "found.append(sampler.draw(x).detach().cpu().numpy())",
        "found.append(sampler.smooth(x).tolist())",
    ],
)
@pytest.mark.parametrize(
    ("kept", "run"),
    [("net", "self.net(x)"), ("net.eval()", "self.net(x)"), ("net", "self.net.forward(x)")],
)
def test_who_drops_the_graph_of_such_a_run_is_told(tmp_path: Path, use: str, kept: str, run: str) -> None:
    told = [one.partition(":")[0] for one in found(tmp_path, use, kept=kept, run=run) if "TLK201" in one]
    assert ("use.py" if kept == "net" else "sampler.py") in told


@pytest.mark.parametrize(
    "options",
    [
        {"use": "sampler.draw(x).sum().backward()", "labelling": "@torch.no_grad()"},
        {
            "use": "found.append(sampler.draw(x).detach())",
            "decorator": "@torch.no_grad()",
            "labelling": "@torch.no_grad()",
        },
        {"use": "found.append(sampler.label(x))", "net": "nn.ReLU()"},
        {"use": "found.append(sampler.label(x))", "net": "len"},
        {"use": "found.append(sampler.label(x))", "kept": "len"},
        {"use": "sampler.smooth(x).sum().backward()", "labelling": "@torch.no_grad()"},
        {"use": "found.append(sampler.label(x))", "given": "other, steps, net=len"},
        {"use": "with torch.no_grad():\n                found.append(sampler.label(x))"},
    ],
)
def test_what_is_trained_guarded_or_no_network_is_not(tmp_path: Path, options: dict[str, str]) -> None:
    assert found(tmp_path, **options) == []


ROLLOUT = """
    import torch
    from torch import nn

    class Agent(nn.Module):
        def __init__(self, memory):
            super().__init__()
            self.value, self.memory = nn.Linear(3, 1), memory
            self.optimizer = torch.optim.Adam(self.parameters())

        def act(self, x):
            {call}

        def learn(self):
            self.memory.loss().backward()
            self.optimizer.step()
"""


@pytest.mark.parametrize(
    "call",
    ["self.memory.add(x, 0, self.value(x))", "self.memory.push(self.value(x))", "self.memory.put(x, self.value(x))"],
)
def test_what_an_object_of_unknown_class_is_given_may_be_trained_on(tmp_path: Path, call: str) -> None:
    assert Project(tmp_path, {"agent.py": ROLLOUT.format(call=call)}).found() == []


PAINTER = """
    import torch
    from torch import nn

    class Painter(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))

        {decorator}
        def paint(self, count):
            return self.mix({noise})

        def noise(self, count):
            return torch.randn(count, 4)
"""

ROUNDS = """
    import torch.nn.functional as F

    def judge_round(painter, judge, optimizer, real):
        fake = painter.{call}
        cost = F.softplus(-judge(real)).mean() + F.softplus(judge({fake})).mean(){more}
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        return {returned}
"""

PAINTING = """
    import torch
    from torch import nn
    from painter import Painter
    from rounds import judge_round

    def fit(loader):
        painter, judge = Painter(), nn.Linear(3, 1)
        optimizer = torch.optim.Adam({trained})
        return sum(judge_round(painter, judge, optimizer, real) for real in loader)
"""


@pytest.mark.parametrize(
    ("parts", "is_told"),
    [
        ({}, True),
        ({"fake": "fake.detach()[:8]"}, True),
        ({"decorator": "@torch.no_grad()"}, False),
        ({"call": "noise(len(real))[:, :3]"}, False),
        ({"fake": "fake"}, False),
        ({"fake": "fake.detach()", "more": " + fake.pow(2).mean()"}, False),
        ({"returned": "cost.item(), fake"}, False),
    ],
)
def test_what_a_method_of_a_network_gives_is_only_used_detached_in_a_step_elsewhere(
    tmp_path: Path, parts: dict[str, str], is_told: bool
) -> None:
    filled = {
        "decorator": "",
        "noise": "torch.randn(count, 4)",
        "call": "paint(len(real))",
        "fake": "fake.detach()",
        "more": "",
        "returned": "cost.item()",
        "trained": "judge.parameters()",
        **parts,
    }
    texts = {"painter.py": PAINTER, "rounds.py": ROUNDS, "painting.py": PAINTING}
    project = Project(tmp_path, {name: text.format(**filled) for name, text in texts.items()})
    assert [one for one in project.found() if "TLK203" in one] == ["rounds.py: TLK203 warning"] * is_told


PAIR = """
    import torch
    from torch import nn

    def parts(width):
        return nn.ModuleDict({{"body": nn.Linear(8, width), "head": nn.Linear(width, 4)}})

    def stacked(width):
        return nn.Sequential(nn.Linear(8, width), nn.Linear(width, 4))

    def through(net, x):
        return net["head"](net["body"](x).relu())

    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.pupil, self.guide = {made}(16), {made}(256)
            {mode}

        @staticmethod
        {decorator}
        def run(net, x):
            return net["head"](net["body"](x).relu())

        def forward(self, x):
            pupil = {pupil}
            {guided}
            return pupil, guide
"""

LESSON = """
    import torch
    import torch.nn.functional as F
    from pair import Pair

    def learn(loader):
        pair = Pair()
        optimizer = torch.optim.Adam({trained})
        for x, y in loader:
            pupil, guide = pair(x)
            cost = F.cross_entropy(pupil, y) + F.mse_loss(pupil, {wanted})
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
"""

BY_METHOD = {"made": "parts", "pupil": "self.run(self.pupil, x)", "guided": "guide = self.run(self.guide, x)"}
BY_FUNCTION = {"made": "parts", "pupil": "through(self.pupil, x)", "guided": "guide = through(self.guide, x)"}


@pytest.mark.parametrize("in_one_file", [False, True])
@pytest.mark.parametrize(
    ("parts", "is_told"),
    [
        ({}, True),
        ({"wanted": "guide.detach()"}, True),
        (BY_METHOD, True),
        (BY_FUNCTION, True),
        ({"trained": "pair.parameters()"}, False),
        ({"trained": "[*pair.pupil.parameters(), *pair.guide.parameters()]"}, False),
        ({"mode": "self.guide.requires_grad_(False)"}, False),
        ({"mode": "self.guide.eval()\n            for p in self.guide.parameters(): p.requires_grad = False"}, False),
        ({"guided": "with torch.no_grad(): guide = self.guide(x)"}, False),
        ({**BY_METHOD, "guided": "with torch.no_grad(): guide = self.run(self.guide, x)"}, False),
        ({**BY_METHOD, "decorator": "@torch.no_grad()", "pupil": "through(self.pupil, x)"}, False),
        ({"guided": "guide = self.guide(pupil)"}, False),
    ],
)
def test_a_part_that_no_optimizer_has_runs_in_a_network_of_another_file(
    tmp_path: Path, parts: dict[str, str], is_told: bool, in_one_file: bool
) -> None:
    filled = {
        "made": "stacked",
        "mode": "self.guide.eval()",
        "decorator": "",
        "pupil": "self.pupil(x)",
        "guided": "guide = self.guide(x)",
        "trained": "pair.pupil.parameters()",
        "wanted": "guide",
        **parts,
    }
    pair, lesson = PAIR.format(**filled), LESSON.format(**filled)
    joined = pair + lesson.replace("from pair import Pair", "")
    project = Project(tmp_path, {"lesson.py": joined} if in_one_file else {"pair.py": pair, "lesson.py": lesson})
    assert [one for one in project.found() if "TLK203" in one] == ["lesson.py: TLK203 warning"] * is_told


CRITERION = """
    from torch import nn

    class Criterion(nn.Module):
        def forward(self, out, wanted):
            parts = {"near": (out["near"] - wanted).abs().mean(), "far": (out["far"] - wanted).pow(2).mean()}
            return sum(parts.values()), {returned}
"""

SUMS = """
    from collections import defaultdict
    import torch
    from torch import nn
    from criterion import Criterion

    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.near, self.far = nn.Linear(3, 3), nn.Linear(3, 3)

        def forward(self, x):
            return {"near": self.near(x), "far": self.far(x)}

    def run(loader):
        net, criterion, sums = Heads(), Criterion(), defaultdict(float)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            total, parts = criterion(net(x), y)
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
            for name, value in parts.items():
                sums[name] += value
        return sums
"""


@pytest.mark.parametrize(
    ("returned", "leaks"),
    [
        ("parts", True),
        ("{k: v.item() for k, v in parts.items()}", False),
        ("{k: v.detach() for k, v in parts.items()}", False),
    ],
)
def test_what_is_in_a_dict_that_another_file_computes_of_a_dict_has_its_graph(
    tmp_path: Path, returned: str, leaks: bool
) -> None:
    files = {"criterion.py": CRITERION.replace("{returned}", returned), "run.py": SUMS}
    assert any("TLK101" in one for one in Project(tmp_path, files).found("run.py")) is leaks


TAGGER = """
    from torch import nn

    class Tagger(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.layer = nn.Linear(size, size)

        def tag(self, x):
            return self.layer(x)
"""

TEACHER = """
    import torch
    from torch import nn
    from tagger import Tagger

    class Teacher:
        def __init__(self, size, dummy, device):
            self.net = None if dummy else {made}
            if self.net is not None:
                self.net = self.net.to(device)
                self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def build(self, size):
            net = Tagger(size)
            return net

        def update(self, x, y):
            self.net.train()
            self.optimizer.zero_grad()
            nn.functional.mse_loss(self.net.layer(x), y).backward()
            self.optimizer.step()

        def answer(self, x):
            self.net.eval()
            return self.net.tag(x).argmax(1).tolist()
"""

SERVES = """
    import torch
    from teacher import Teacher

    def serve(requests):
        teacher = Teacher(3, False, "cpu")
        with torch.no_grad():
            return [teacher.answer(x) for x in requests]
"""

EXAMINES = """
    from teacher import Teacher

    def examine(batches):
        teacher, found = Teacher(3, False, "cpu"), []
        for x in batches:
            found += teacher.answer(x)
        return found
"""


@pytest.mark.parametrize("made", ["Tagger(size)", "self.build(size)"])
def test_of_callers_of_a_network_that_an_object_builds_the_one_that_guards_nothing_is_told(
    tmp_path: Path, made: str
) -> None:
    files = {"tagger.py": TAGGER, "teacher.py": TEACHER.replace("{made}", made), "serve.py": SERVES}
    assert Project(tmp_path, files).found() == []
    assert Project(tmp_path, {**files, "examine.py": EXAMINES}).found() == ["examine.py: TLK201 warning"]


DISTILL = """
    from torch import nn

    class Distill{base}:
        def __init__(self, teacher):
            {made}
            self.teacher = teacher

        def {method}(self, x, out, y):
            guide = {guide}
            return nn.functional.mse_loss(out, guide) + nn.functional.cross_entropy(out, y)
"""

STUDY = """
    import torch
    from torch import nn
    from distill import Distill

    def study(loader):
        teacher, student = {teacher}, nn.Linear(3, 3)
        distill = Distill(teacher)
        optimizer = torch.optim.SGD({trained}, lr=0.1)
        for x, y in loader:
            loss = distill(x, student(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


def study(
    folder: Path,
    *,
    base: str = "",
    guide: str = "self.teacher(x)",
    teacher: str = "nn.Linear(3, 3).eval()",
    trained: str = "student.parameters()",
) -> list[str]:
    """What is found where a loss of another file runs a network that it was given."""
    made, method = ("super().__init__()", "forward") if base else ("pass", "__call__")
    distill = DISTILL.format(base=base, made=made, method=method, guide=guide)
    return Project(folder, {"distill.py": distill, "study.py": STUDY.format(teacher=teacher, trained=trained)}).found()


@pytest.mark.parametrize("base", ["", "(nn.Module)"])
@pytest.mark.parametrize("teacher", ["nn.Linear(3, 3).eval()", "nn.Linear(3, 3)"])
def test_a_network_that_a_loss_of_another_file_runs_and_nobody_trains_is_told(
    tmp_path: Path, base: str, teacher: str
) -> None:
    assert study(tmp_path, base=base, teacher=teacher) == ["study.py: TLK203 warning"]


@pytest.mark.parametrize(
    "options",
    [
        {"guide": "self.teacher(out)"},
        {"guide": "self.teacher(x + out)"},
        {"teacher": "nn.Linear(3, 3).requires_grad_(False)"},
        {"trained": "[*student.parameters(), *teacher.parameters()]"},
        {"trained": "list(student.parameters()) + list(distill.teacher.parameters())"},
    ],
)
@pytest.mark.parametrize("base", ["", "(nn.Module)"])
def test_nor_one_through_which_something_is_trained_or_that_is_frozen(
    tmp_path: Path, base: str, options: dict[str, str]
) -> None:
    assert study(tmp_path, base=base, **options) == []


@pytest.mark.parametrize(
    ("guide", "made", "trained", "leaks"),
    [
        ("self.teacher(x)", "nn.Linear(3, 3)", "student", True),
        ("self.teacher(out)", "nn.Linear(3, 3)", "student", False),
        ("self.teacher(x)", "nn.Linear(3, 3).requires_grad_(False)", "student", False),
        ("self.teacher(x)", "nn.Linear(3, 3)", "teacher", True),
        ("x", "nn.Linear(3, 3)", "student", False),
    ],
)
@pytest.mark.parametrize("base", ["", "(nn.Module)"])
def test_also_where_the_loss_runs_the_one_that_is_trained_too(
    tmp_path: Path, *, base: str, guide: str, made: str, trained: str, leaks: bool
) -> None:
    method = "forward" if base else "__call__"
    distill = DISTILL.format(base=base, made="super().__init__()", method=method, guide=guide)
    distill = distill.replace("(self, x, out, y):", "(self, net, x, y):\n            out = net(x)")
    study = STUDY.format(teacher=made, trained=f"{trained}.parameters()").replace("x, student(x), y", "student, x, y")
    found = ["study.py: TLK203 warning"] if leaks else []
    assert Project(tmp_path, {"distill.py": distill, "study.py": study}).found() == found


@pytest.mark.parametrize(("given", "found"), [("x", ["study.py: TLK203 warning"]), ("out", [])])
def test_also_where_another_method_of_the_loss_runs_it(tmp_path: Path, given: str, found: list[str]) -> None:
    distill = DISTILL.format(base="", made="pass", method="__call__", guide=f"self.soft({given})")
    distill += "\n        def soft(self, x):\n            return self.teacher(x).softmax(1)\n"
    study = STUDY.format(teacher="nn.Linear(3, 3)", trained="student.parameters()")
    assert Project(tmp_path, {"distill.py": distill, "study.py": study}).found() == found


def test_one_that_the_loss_guards_is_not(tmp_path: Path) -> None:
    distill = DISTILL.format(base="", made="pass", method="__call__", guide="self.teacher(x)")
    distill = distill.replace("def __call__", "def guide(self, x):\n            with torch.no_grad():\n"
                              "                return self.teacher(x)\n\n        def __call__")  # fmt: skip
    distill = distill.replace("guide = self.teacher(x)", "guide = self.guide(x)").replace(
        "from torch import nn", "import torch\n    from torch import nn"
    )
    files = {"distill.py": distill, "study.py": STUDY.format(teacher="nn.Linear(3, 3)", trained="student.parameters()")}
    assert Project(tmp_path, files).found() == []


TEACHERS = """
    import torch
    from torch import nn

    class Ensemble(nn.Module):
        def __init__(self, members):
            super().__init__()
            self.members = nn.ModuleList(members)

        {decorator}
        def forward(self, x):
            {guard}:
                answers = [member(x) for member in self.members]
            return {answer}

    def build(count):
        return Ensemble([nn.Linear(3, 3) for _ in range(count)])
"""


@pytest.mark.parametrize(
    ("decorator", "guard", "answer", "leaks"),
    [
        ("", "if True", "torch.stack(answers).mean(0)", True),
        ("", "with torch.autocast('cuda')", "torch.stack(answers).float().mean(0)", True),
        ("@torch.no_grad()", "if True", "torch.stack(answers).mean(0)", False),
        ("@torch.inference_mode()", "with torch.autocast('cuda')", "torch.stack(answers).float().mean(0)", False),
        ("", "with torch.no_grad()", "torch.stack(answers).mean(0)", False),
        ("", "if True", "torch.stack(answers).mean(0).detach()", False),
    ],
)
@pytest.mark.parametrize("base", ["", "(nn.Module)"])
def test_one_of_a_third_file_that_guards_itself_is_not(
    tmp_path: Path, *, base: str, decorator: str, guard: str, answer: str, leaks: bool
) -> None:
    made, method = ("super().__init__()", "forward") if base else ("pass", "__call__")
    files = {
        "distill.py": DISTILL.format(base=base, made=made, method=method, guide="self.teacher(x)"),
        "teachers.py": TEACHERS.format(decorator=decorator, guard=guard, answer=answer),
        "study.py": STUDY.format(teacher="build(3)", trained="student.parameters()").replace(
            "from torch import nn", "from torch import nn\n    from teachers import build"
        ),
    }
    assert Project(tmp_path, files).found() == (["study.py: TLK203 warning"] if leaks else [])


BAG = """
    class Bag:
        def __init__(self, weights):
            self.weights, self.total = dict(weights), 0.0

        def add(self, name, term):
            self.total += self.weights.get(name, 1.0) * term

        def reduce(self):
            total, self.total = self.total, 0.0
            return total
"""

SURGERY = """
    import torch

    class Surgery:
        def __init__(self, optimizer):
            self.optimizer = optimizer

        def _gather(self, losses):
            for i, loss in enumerate(losses):
                self.optimizer.zero_grad()
                loss.backward(retain_graph=i < len(losses) - 1)

        def step(self, losses):
            self._gather(losses)
            self.optimizer.step()
"""

TASKS = """
    import torch
    from torch import nn
    {imports}

    def run(loader):
        net = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        {made}
        for x, y in loader:
            out = net(x)
            {trained}
"""


@pytest.mark.parametrize(
    ("files", "imports", "made", "trained"),
    [
        (
            {"bag.py": BAG},
            "from bag import Bag",
            "bag = Bag({})",
            "bag.add('near', (out - y).abs().mean())\n            optimizer.zero_grad()\n"
            "            bag.reduce().backward()\n            optimizer.step()",
        ),
        (
            {"surgery.py": SURGERY},
            "from surgery import Surgery",
            "surgery = Surgery(optimizer)",
            "losses = [(out - y).abs().mean(), (out - y).pow(2).mean()]\n            surgery.step(losses)",
        ),
    ],
    ids=["terms that an object sums up", "a list of losses"],
)
def test_losses_that_an_object_of_another_file_is_given_train_the_network(
    tmp_path: Path, files: dict[str, str], imports: str, made: str, trained: str
) -> None:
    run = TASKS.format(imports=imports, made=made, trained=trained)
    assert Project(tmp_path, {**files, "run.py": run}).found() == []


OBJECTIVE = """
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Objective(nn.Module):
        def __init__(self, pupil, teacher):
            super().__init__()
            self.pupil, self.teacher = pupil, teacher

        def forward(self, x):
            wanted = F.softmax(self.teacher(x), 1)
            return F.kl_div(F.log_softmax(self.pupil(x), 1), wanted, reduction="batchmean")
"""

DISTIL = """
    import torch
    from torch import nn
    from objective import Objective

    def distil(loader):
        pupil, teacher = nn.Linear(8, 4), nn.Linear(8, 4)
        {frozen}
        objective = Objective(pupil, teacher)
        optimizer = torch.optim.SGD({trained}.parameters(), lr=0.1)
        for x, _ in loader:
            loss = objective(x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("frozen", "trained", "told"),
    [
        ("pass", "pupil", ["distil.py: TLK203 warning"]),
        ("teacher.requires_grad_(False)", "pupil", []),
        ("pass", "objective", []),
        ("pass", "nn.ModuleList([pupil, teacher])", []),
    ],
)
def test_an_objective_that_runs_the_pupil_and_the_teacher(
    tmp_path: Path, frozen: str, trained: str, told: list[str]
) -> None:
    files = {"objective.py": OBJECTIVE, "distil.py": DISTIL.format(frozen=frozen, trained=trained)}
    assert Project(tmp_path, files).found() == told
