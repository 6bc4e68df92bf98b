"""What one file hands to another: journals and averages that keep it, and what the other files pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from torchlint import check_paths
from torchlint.config import Settings

JOURNAL = """
    class Journal:
        def __init__(self):
            self.rows = {}
            self.names = []

        def note(self, step, values):
            self.rows.setdefault(step, {}).update(values)

        def note_numbers(self, step, values):
            self.rows.setdefault(step, {}).update({name: float(value) for name, value in values.items()})

        def note_names(self, values):
            for name in values:
                self.names.append(name)

        def note_whole(self, values):
            self.names.append(values)

        def note_each(self, values):
            for name, value in values.items():
                self.rows.setdefault(name, []).append(value)

        def note_all(self, *values):
            self.names.append(values)

        def note_row(self, values, tag=""):
            self.names.append({tag + name: value for name, value in values.items()})

        def note_pairs(self, values):
            self.names.append([(name, value) for name, value in values.items()])

        def note_some(self, values):
            self.names.append({name: value for name, value in values.items() if name in self.rows})

        def note_row_of_numbers(self, values):
            self.names.append({name: value.item() for name, value in values.items()})

        def note_row_detached(self, values):
            row = {name: value.detach() if hasattr(value, "detach") else value for name, value in values.items()}
            self.names.append(row)
"""


@pytest.mark.parametrize(
    ("call", "leaks"),
    [
        ("note(step, parts)", True),
        ("note(step, {'loss': loss.detach()})", False),
        ("note_numbers(step, parts)", False),
        ("note_names(parts)", False),
        ("note_whole(parts)", True),
        ("note_each(parts)", True),
        ("note_each({'loss': loss.item()})", False),
        ("note_all(step, parts['fit'])", True),
        ("note_all(step, loss.item())", False),
        ("note_row(parts)", True),
        ("note_row({'loss': loss, 'step': step}, 'fit/')", True),
        ("note_row({'loss': loss.item(), 'step': step})", False),
        ("note_pairs(parts)", True),
        ("note_some(parts)", True),
        ("note_some({'loss': loss, 'step': step})", False),
        ("note_row_of_numbers(parts)", False),
        ("note_row_detached(parts)", False),
    ],
)
def test_tensors_in_a_dict_that_another_file_keeps_are_told(tmp_path: Path, call: str, leaks: bool) -> None:
    text = f"""
        import torch
        from torch import nn
        from journal import Journal

        class Engine:
            def __init__(self, net: nn.Module, journal: Journal):
                self.net, self.journal = net, journal
                self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

            def losses(self, x, y):
                out = self.net(x)
                return {{"fit": (out - y).pow(2).mean(), "size": out.abs().mean()}}

            def step(self, step, x, y):
                parts = self.losses(x, y)
                loss = parts["fit"] + parts["size"]
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.journal.{call}
    """
    project = Project(tmp_path, {"journal.py": JOURNAL, "engine.py": text})
    assert [one.partition(" ")[2].partition(" ")[0] for one in project.found()] == (["TLK105"] if leaks else [])


AVERAGES = """
    import torch

    class Average:
        def __init__(self, weights):
            self.mean = {name: weight.detach().clone() for name, weight in weights.items()}

        def take_in(self, weights):
            for name, weight in weights.items():
                self.mean[name] = 0.9 * self.mean[name] + 0.1 * weight

        def take_in_numbers(self, weights):
            for name, weight in weights.items():
                self.mean[name] = 0.9 * self.mean[name] + 0.1 * weight.detach()

        def take_in_gradients(self, weights):
            for name, weight in weights.items():
                self.mean[name] = 0.9 * self.mean[name] + 0.1 * weight.grad

        @torch.no_grad()
        def take_in_guarded(self, weights):
            self.take_in(weights)

        def take_latest(self, weights):
            for name, weight in weights.items():
                self.mean[name] = 0.1 * weight

        def follow(self, net):
            for name, weight in net.named_parameters():
                if weight.requires_grad:
                    self.mean[name] = 0.9 * self.mean[name] + (1 - 0.9) * weight

        def follow_numbers(self, net):
            for name, weight in net.named_parameters():
                self.mean[name] = 0.9 * self.mean[name] + 0.1 * weight.data

    def trained(net):
        return {name: weight for name, weight in net.named_parameters() if weight.requires_grad}
"""


@pytest.mark.parametrize(
    ("call", "leaks"),
    [
        ("average.take_in(trained(net))", True),
        ("average.take_in(dict(net.named_parameters()))", True),
        ("average.take_in(dict(net.named_buffers()))", False),
        ("average.take_in(net.state_dict())", False),
        ("average.take_in_numbers(trained(net))", False),
        ("average.take_in_gradients(trained(net))", False),
        ("average.take_in_guarded(trained(net))", False),
        ("average.take_latest(trained(net))", False),
        ("with torch.no_grad(): average.take_in(trained(net))", False),
        ("average.follow(net)", True),
        ("average.follow_numbers(net)", False),
        ("with torch.no_grad(): average.follow(net)", False),
        ("average.follow(net.requires_grad_(False))", False),
    ],
)
def test_parameters_that_another_file_averages_are_told(tmp_path: Path, call: str, leaks: bool) -> None:
    text = f"""
        import torch
        from torch import nn
        from averages import Average, trained

        def fit(loader):
            net = nn.Linear(8, 3)
            optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            average = Average(trained(net))
            for x, y in loader:
                loss = nn.functional.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                {call}
            return average
    """
    project = Project(tmp_path, {"averages.py": AVERAGES, "fit.py": text})
    assert [one.partition(" ")[2].partition(" ")[0] for one in project.found()] == (["TLK103"] if leaks else [])


SEARCH = """
    import torch
    from torch import nn
    from rank import ranked

    class Search:
        def __init__(self):
            self.net = nn.Linear(8, 30).eval()

        def find(self, words):
            return ranked(self.net(torch.tensor(words)))
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return [{'row': i, 'score': s} for i, s in enumerate(scores.tolist())]", ["search.py: TLK201 warning"]),
        ("return [{'row': i, 'score': s} for i, s in enumerate(scores)]", ["search.py: TLK201 note"]),
        ("found = []\n        fill(found, scores)\n        return found", ["search.py: TLK201 note"]),
        ("LAST.append(scores)\n        return [scores.tolist()]", ["search.py: TLK201 note"]),
        ("scores.sum().backward()\n        return [scores.tolist()]", []),
    ],
)
def test_what_another_file_makes_numbers_of_is_thrown_away(tmp_path: Path, body: str, found: list[str]) -> None:
    rank = f"from elsewhere import fill\n    LAST = []\n    def ranked(scores):\n        {body}\n"
    assert Project(tmp_path, {"rank.py": f"\n    {rank}", "search.py": SEARCH}).found("search.py") == found


class TestWhatOthersPass:
    """The files of the run that import a file show of which classes the objects are that it is given."""

    NET = """
        from torch import nn

        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = nn.Linear(4, 4)

            def forward(self, x):
                return self.layers(x)

        def restore(device):
            return Encoder().to(device).eval()
    """

    INDEX = """
        import torch

        class Index:
            def __init__(self, net):
                self.net = net

            def encode(self, rows):
                return [self.net(row).detach().cpu().numpy() for row in rows]
    """

    @pytest.mark.parametrize(
        "passed",
        [
            "Index(restore('cpu'))",
            "Index(net=Encoder().cuda())",
            "net = restore('cpu')\nnet = net.half()\nIndex(net)",
            "import index\nindex.Index(restore('cpu') if quick else Encoder())",
            "class Search:\n    def __init__(self):\n        self.net = Encoder()\n        Index(self.net)",
        ],
    )
    def test_is_known(self, tmp_path: Path, passed: str) -> None:
        imports = "from net import Encoder, restore\nfrom index import Index\nquick = False\n"
        files = {"net.py": self.NET, "index.py": self.INDEX, "main.py": imports + passed + "\n"}
        assert Project(tmp_path, files).found() == ["index.py: TLK201 warning"]

    @pytest.mark.parametrize(
        "passed",
        [
            "Index(build())",
            "net = restore('cpu')\nnet = wrap(net)\nIndex(net)",
            "def build(net):\n    return Index(net)",
            "nets = [restore('cpu')]\nIndex(*nets)",
        ],
    )
    def test_stays_unknown_where_something_else_may_have_made_it(self, tmp_path: Path, passed: str) -> None:
        imports = "from net import Encoder, restore\nfrom index import Index\nfrom other import build, wrap\n"
        files = {"net.py": self.NET, "index.py": self.INDEX, "main.py": imports + passed + "\n"}
        assert not Project(tmp_path, files).found()

    def test_is_not_asked_of_files_that_are_not_given(self, tmp_path: Path) -> None:
        imports = "from net import Encoder, restore\nfrom index import Index\n"
        files = {"net.py": self.NET, "index.py": self.INDEX, "main.py": imports + "Index(restore('cpu'))\n"}
        assert not Project(tmp_path, files).found("index.py")

    def test_a_state_goes_through_a_model_of_another_file(self, tmp_path: Path) -> None:
        files = {
            "policy.py": """
                from torch import nn

                class Policy(nn.Module):
                    def __init__(self):
                        super().__init__()
                        self.cell = nn.GRUCell(4, 4)
                        self.head = nn.Linear(4, 2)

                    def core(self, x, state):
                        return self.cell(x, state)

                    def act(self, x, state):
                        state = self.core(x, state)
                        return self.head(state).argmax(-1), state
            """,
            "rollout.py": """
                import torch

                def play(policy, env, length):
                    seen, state = env.reset(), torch.zeros(1, 4)
                    played = 0
                    while played < length:
                        action, state = policy.act(seen, state)
                        seen = env.step(action.item())
                        played += 1
            """,
            "main.py": "from policy import Policy\nfrom rollout import play\nplay(Policy(), make(), 1000)\n",
        }
        assert "rollout.py: TLK104 warning" in Project(tmp_path, files).found()


def test_a_loop_of_another_file_has_no_line_here(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "driver.py": """
                class Driver:
                    def __init__(self, net, loader, optimizer):
                        self.net, self.loader, self.optimizer = net, loader, optimizer

                    def run(self, objective):
                        for batch in self.loader:
                            self.optimizer.zero_grad()
                            objective(self.net, batch).backward()
                            self.optimizer.step()
            """,
            "main.py": """
                import torch
                from torch import nn
                from torch.utils.data import DataLoader
                import driver

                def main(dataset, net):
                    loop = driver.Driver(net, DataLoader(dataset), torch.optim.SGD(net.parameters(), lr=0.1))

                    def objective(net, batch):
                        x, y = batch
                        return nn.CrossEntropyLoss()(net(x), y)

                    loop.run(objective)
            """,
        },
    )
    found = check_paths([project.folder], settings=Settings(notes=True, join=False))
    assert [one.message for one in found] == [
        "`nn.CrossEntropyLoss` is built anew in each turn of the loop in another file: it costs time, and nothing is"
        " kept in it; build it once, before that loop, or call the function of `torch.nn.functional` that does the same"
    ]


def test_what_a_factory_gives_is_of_its_class(tmp_path: Path) -> None:
    project = Project(
        tmp_path,
        {
            "painter.py": """
                import torch
                from hub import Loadable

                class Painter(Loadable):
                    def __init__(self, net):
                        self.net = net

                    @torch.no_grad()
                    def __call__(self, prompt):
                        return self.net(prompt)
            """,
            "train.py": """
                import torch
                from torch import nn
                from painter import Painter

                def main(net: nn.Module, loader, name):
                    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                    painter = Painter.from_pretrained(name)
                    painter.to("cuda")
                    for x, y in loader:
                        picture = painter(x)
                        loss = (net(picture) - y).pow(2).mean()
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
            """,
        },
    )
    assert project.found() == []


def test_what_a_decorator_compiles_in_another_file_is_compiled_there(tmp_path: Path) -> None:
    files = {
        "boxes.py": """
            import torch
            @torch.jit.script
            def shift(boxes, by):
                return boxes + torch.exp(by)
        """,
        "head.py": """
            from torch import nn
            from boxes import shift
            class Head(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.by = nn.Linear(4, 4)
                def forward(self, x):
                    return shift(x, self.by(x))
        """,
    }
    assert Project(tmp_path, files).found() == []


@pytest.mark.parametrize(("create", "leaks"), [("True", False), ("False", True)])
def test_a_gradient_of_another_file_that_is_itself_differentiated_retains_its_graph(
    tmp_path: Path, create: str, leaks: bool
) -> None:
    files = {
        "slopes.py": f"""
            import torch

            def slope(y, x, create=True):
                return torch.autograd.grad(y, [x], torch.ones_like(y), create_graph={create})[0]
        """,
        "descent.py": """
            import torch
            from torch import nn
            from slopes import slope

            class Descent(nn.Module):
                def __init__(self, laws, rounds):
                    super().__init__()
                    self.laws, self.rounds = nn.ModuleList(laws), rounds

                def forward(self, given):
                    ends = {}
                    for name in given:
                        x = given[name]
                        for _ in range(self.rounds):
                            cost = torch.cat([law(x) for law in self.laws])
                            x = x - 0.1 * cost * slope(cost, x)
                        ends[name] = x
                    return ends
        """,
    }
    assert ("descent.py: TLK102 warning" in Project(tmp_path, files).found()) is leaks


@pytest.mark.parametrize(("own", "leaks"), [("training_epoch_end", True), ("other", False)])
def test_a_method_that_the_framework_has_to_be_overridden_takes_nothing(tmp_path: Path, own: str, leaks: bool) -> None:
    files = {
        "pytorch_lightning/core.py": """
            from torch import nn

            class ModelHooks:
                def training_epoch_end(self, outputs):
                    pass

            class LightningModule(ModelHooks, nn.Module):
                def log(self, name, value):
                    pass
        """,
        "task.py": f"""
            from torch import nn
            from pytorch_lightning.core import LightningModule

            class Task(LightningModule):
                def __init__(self):
                    super().__init__()
                    self.net = nn.Linear(3, 3)
                def training_step(self, batch, batch_idx):
                    cost = self.net(batch).sum()
                    return {{"loss": cost, "size": cost.norm()}}
                def {own}(self, outputs):
                    pass
        """,
    }
    assert any("TLK105" in one for one in Project(tmp_path, files).found("task.py")) is leaks


BOARD = """
    import torch

    class Meter:
        def __init__(self):
            self.total = 0
        def update(self, value, n):
            {detached}
            self.total += value * n

    class Board:
        def __init__(self, *names):
            self.meters = {{name: Meter() for name in names}}
        def put(self, n, **values):
            for name, value in values.items():
                self.meters[name].update(value, n)
"""

RANKS = """
    import random

    class Memory:
        def __init__(self, room):
            self.items, self.ranks = [], []
        def add(self, item):
            self.items.append(item)
            self.ranks.append(1.0)
        def draw(self, n):
            weights = [float(rank) ** 0.5 for rank in self.ranks]
            places = random.choices(range(len(self.items)), weights=weights, k=n)
            return places, [{drawn} for place in places]
        def rank(self, places, values):
            for place, value in zip(places, values):
                self.ranks[place] = value + 1e-5
"""

TRAINED = """
    import torch
    from torch import nn
    from records import {name}

    def fit(net: nn.Module, loader, optimizer):
        records = {made}
        for x, y in loader:
            error = (net(x) - y).pow(2).mean(1)
            optimizer.zero_grad()
            error.mean().backward()
            optimizer.step()
            {each}
"""


@pytest.mark.parametrize(
    ("detached", "leaks"),
    [("value = value.detach() if torch.is_tensor(value) else value", False), ("pass", True)],
)
def test_what_an_object_does_with_values_is_not_what_a_dict_does(tmp_path: Path, detached: str, leaks: bool) -> None:
    run = TRAINED.format(name="Board", made="Board('error')", each="records.put(len(x), error=error.mean())")
    project = Project(tmp_path, {"records.py": BOARD.format(detached=detached), "run.py": run})
    assert project.found("run.py") == (["run.py: TLK105 warning"] if leaks else [])


@pytest.mark.parametrize(
    ("drawn", "leaks"), [("self.items[place]", True), ("self.items[place] * self.ranks[place]", False)]
)
def test_who_reads_only_numbers_of_what_is_kept_wants_no_graph(tmp_path: Path, drawn: str, leaks: bool) -> None:
    run = """
        import torch
        from torch import nn
        from records import Memory

        def fit(net: nn.Module, loader, optimizer):
            memory = Memory(900)
            for x, y in loader:
                memory.add(x[0])
                places, rows = memory.draw(8)
                error = (net(torch.stack(rows)) - y).pow(2).mean(1)
                optimizer.zero_grad()
                error.mean().backward()
                optimizer.step()
                memory.rank(places, error)
    """
    project = Project(tmp_path, {"records.py": RANKS.format(drawn=drawn), "run.py": run})
    assert project.found("run.py") == (["run.py: TLK105 warning"] if leaks else [])


NORMALIZER = """
    import torch
    from torch import nn

    class Normalizer(nn.Module):
        def __init__(self):
            super().__init__()
            self.mean = 0.0
        def learn(self, x, {inner}):
            {learn}
        def forward(self, x, update=True):
            {forward}
            return x - float(self.mean)
"""

LEARN = "self.mean = 0.9 * self.mean + 0.1 * x"


@pytest.mark.parametrize(
    "parts",
    [
        ("*rest", LEARN, "if update: self.learn(x)"),
        ("update", f"if update: {LEARN}", "self.learn(x, update)"),
        ("update", f"if update: {LEARN}", "self.learn(x, update=update)"),
        ("update=False", f"if update: {LEARN}", "self.learn(x, update)"),
        ("*rest", "pass", f"if update: {LEARN}"),
    ],
)
@pytest.mark.parametrize(("told", "leaks"), [("", True), (", update=True", True), (", update=False", False)])
def test_what_a_call_switches_off_keeps_nothing(
    tmp_path: Path, parts: tuple[str, str, str], told: str, leaks: bool
) -> None:
    inner, learn, forward = parts
    run = TRAINED.format(name="Normalizer", made="Normalizer()", each=f"records(error{told})")
    normalizer = NORMALIZER.format(inner=inner, learn=learn, forward=forward)
    project = Project(tmp_path, {"records.py": normalizer, "run.py": run})
    assert project.found("run.py") == (["run.py: TLK103 warning"] if leaks else [])


TARGETS = """
    import torch

    def target(reference, batch, gamma):
        {guard}after = reference(batch["next"]).max(1).values
        return batch["reward"] + gamma * after
"""

LEARNER = """
    import copy
    import torch
    import torch.nn.functional as F
    from torch import nn
    from targets import target

    class Learner:
        def __init__(self, width):
            self.net = nn.Linear(width, 3)
            self.reference = copy.deepcopy(self.net){frozen}
            self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3)

        def update(self, batch):
            told = self.net(batch["seen"]).max(1).values
            loss = F.huber_loss(told, target(self.{given}, batch, 0.9))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss.item()
"""


@pytest.mark.parametrize(
    ("guard", "frozen", "given", "found"),
    [
        ("", "", "reference", ["learner.py: TLK203 warning"]),
        ("with torch.no_grad(): ", "", "reference", []),
        ("", ".requires_grad_(False)", "reference", []),
        ("", "", "net", []),
    ],
)
def test_a_reference_network_that_another_file_runs(
    tmp_path: Path, guard: str, frozen: str, given: str, found: list[str]
) -> None:
    files = {"targets.py": TARGETS.format(guard=guard), "learner.py": LEARNER.format(frozen=frozen, given=given)}
    assert Project(tmp_path, files).found("learner.py") == found


PRIORITIES = """
    import random

    class Memory:
        def __init__(self, rows):
            self.rows, self.ranks = rows, {{i: 1.0 for i in range(len(rows))}}

        def sample(self, count):
            names = list(self.ranks)
            return random.choices(names, [float(self.ranks[name]) for name in names], k=count)

        def rank(self, names, errors):
            for name, error in zip(names, errors):
                self.ranks[name] = {kept}
"""

RANKING = """
    import torch
    from torch import nn
    from memory import Memory

    def learn(net: nn.Module, optimizer, memory: Memory):
        names = memory.sample(8)
        errors = net(torch.stack([memory.rows[name] for name in names])).squeeze(1)
        optimizer.zero_grad()
        errors.pow(2).mean().backward()
        optimizer.step()
        memory.rank(names, errors.abs())
"""


@pytest.mark.parametrize(
    ("kept", "found"),
    [("error + 1e-3", ["learn.py: TLK105 warning"]), ("error.item() + 1e-3", []), ("float(error)", [])],
)
def test_priorities_that_a_memory_of_another_file_keeps(tmp_path: Path, kept: str, found: list[str]) -> None:
    files = {"memory.py": PRIORITIES.format(kept=kept), "learn.py": RANKING}
    assert Project(tmp_path, files).found("learn.py") == found


STEPPING = """
    import torch

    class Stepper:
        def __init__(self, parameters, every=4):
            self.optimizer, self.every = torch.optim.SGD(parameters, lr=0.1), every

        def __call__(self, loss, weight: float = 1.0):
            {root}.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
"""

STEPPED = """
    import torch
    from torch import nn
    from stepping import Stepper

    class Training:
        def __init__(self):
            self.net = nn.Linear(3, 3)
            self.step = Stepper(self.net.parameters())

        def epoch(self, loader):
            total = 0
            for x, y in loader:
                loss = torch.minimum((self.net(x) - y).pow(2).mean(), y.sum())
                self.step(loss)
                total += {added}
            return total
"""


@pytest.mark.parametrize("root", ["loss", "(loss / self.every)", "(weight * loss)", "(loss / 4 * weight)"])
def test_a_loss_that_another_file_divides_and_trains_on(tmp_path: Path, root: str) -> None:
    files = {"stepping.py": STEPPING.format(root=root), "run.py": STEPPED.format(added="loss")}
    assert Project(tmp_path / "kept", files).found("run.py") == ["run.py: TLK101 warning"]
    files["run.py"] = STEPPED.format(added="loss.item()")
    assert Project(tmp_path / "read", files).found("run.py") == []


RUNNER = """
    import torch
    from torch import nn

    class Runner:
        def __init__(self, callbacks):
            self.net = nn.Linear(3, 1)
            self.optimizer = torch.optim.SGD(self.net.parameters(), 0.1)
            self.callbacks = list(callbacks)

        def run(self, loader):
            for x, y in loader:
                loss = nn.functional.mse_loss(self.net(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.loss = {loss}
                for callback in self.callbacks:
                    callback.after(self)
"""

RECORDER = """
    class Recorder:
        def __init__(self):
            self.curve = []

        def after(self, runner):
            {keeps}
"""


@pytest.mark.parametrize("passed", ["[recorder]", "(recorder, Silent())", "callbacks"])
@pytest.mark.parametrize(
    ("loss", "keeps", "leaks"),
    [
        ("loss", "self.curve.append(runner.loss)", True),
        ("loss", "self.curve.append((len(self.curve), runner.loss))", True),
        ("loss", "self.curve.append(runner.loss.item())", False),
        ("loss", "self.curve.append(float(runner.loss))", False),
        ("loss", "self.last = runner.loss", False),
        ("loss.detach()", "self.curve.append(runner.loss)", False),
        ("loss.item()", "self.curve.append(runner.loss)", False),
    ],
)
def test_a_callback_of_another_file_keeps_what_the_runner_has_on_itself(
    tmp_path: Path, passed: str, loss: str, keeps: str, leaks: bool
) -> None:
    files = {
        "runner.py": RUNNER.format(loss=loss),
        "recorder.py": RECORDER.format(keeps=keeps),
        "silent.py": "class Silent:\n    def after(self, runner):\n        pass\n",
        "main.py": f"""
            from recorder import Recorder
            from runner import Runner
            from silent import Silent

            def main(loader):
                recorder = Recorder()
                callbacks = [recorder]
                Runner({passed}).run(loader)
                return [float(loss) for loss in recorder.curve]
        """,
    }
    assert ("runner.py: TLK105 warning" in Project(tmp_path, files).found()) is leaks


LOSS_TRAINED = """
        loss = self.net(x).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        """

UPDATING = """
    def update_all(self):
        self.optimizer.zero_grad()
        sum(self.rows).backward()
        self.optimizer.step()
        self.rows = []
"""


@pytest.mark.parametrize(
    ("keeps", "step", "kept"),
    [
        ("self.total = self.total + value", LOSS_TRAINED + "self.note(loss)", "self.total"),
        ("self.total += value", LOSS_TRAINED + "self.note(loss)", "self.total"),
        ("self.rows.append((1, value))", LOSS_TRAINED + "self.note(loss)", "self.rows"),
        ("self.rows.append(value)", LOSS_TRAINED + "super().note(loss)", "self.rows"),
        ("self.total = self.total + value", LOSS_TRAINED + "self.note(loss.detach())", ""),
        ("self.total = self.total + float(value)", LOSS_TRAINED + "self.note(loss)", ""),
        ("self.total = value", LOSS_TRAINED + "self.note(loss)", ""),
        ("self.rows.append(value)", LOSS_TRAINED + "self.note(loss); self.reset()", ""),
        ("self.rows.append(value)", "self.note(self.net(x).mean()); self.update(self.rows)", ""),
        ("self.total = self.total + value", "self.note(self.net(x).mean()); self.update([self.total])", ""),
        ("self.rows.append(value)", "self.note(self.net(x).mean()); self.update_all()", ""),
    ],
)
def test_what_a_method_keeps_that_is_inherited_from_another_file(
    tmp_path: Path, keeps: str, step: str, kept: str
) -> None:
    base = f"""
class Base:
    def __init__(self):
        self.total, self.rows = 0.0, []

    def reset(self):
        self.total, self.rows = 0.0, []

    def note(self, value):
        {keeps}

"""
    if "update_all" in step:
        base += UPDATING
    trainer = f"""
import torch
from torch import nn
from base import Base

class Trainer(Base):
    def __init__(self, net):
        super().__init__()
        self.net, self.optimizer = net, torch.optim.SGD(net.parameters(), 0.1)

    def update(self, terms):
        self.optimizer.zero_grad()
        sum(terms).backward()
        self.optimizer.step()
        self.reset()

    def step(self, x):
        {step.strip()}

trainer = Trainer(nn.Linear(3, 1))
for _ in range(100):
    trainer.step(torch.randn(4, 3))
"""
    (tmp_path / "base.py").write_text(base, encoding="utf-8")
    (tmp_path / "trainer.py").write_text(trainer, encoding="utf-8")
    found = check_paths([tmp_path], settings=Settings(notes=True, join=False))
    assert [(one.code, one.message.split("`")[1]) for one in found] == ([("TLK105", kept)] if kept else [])
