"""A training whose parts stand in several files: what it differentiates, frees and hands on."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from torchlint.api import check_paths

TASK = """
    from abc import abstractmethod
    from typing import Optional, Tuple, Union
    import torch
    from torch import nn

    class Task(nn.Module):
        @abstractmethod
        def cost(self, rows) -> {returned}:
            raise NotImplementedError
"""

FITTING = """
    import tasks

    def fit(task: tasks.Task, loader, optimizer):
        total = 0
        for rows in loader:
            cost, other = task.cost(rows)
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
            total += {added}
        return total
"""


@pytest.mark.parametrize(
    ("returned", "added", "leaks"),
    [
        ("Tuple[torch.Tensor, int]", "other", False),
        ("Optional[Tuple[torch.Tensor, float]]", "other", False),
        ("torch.Tensor | tuple[torch.Tensor, int]", "other * 2", False),
        ("Tuple[torch.Tensor, int]", "cost", True),
        ("Tuple[torch.Tensor, torch.Tensor]", "other.mean()", True),
        ("Tuple[torch.Tensor, ...]", "other.mean()", True),
    ],
)
def test_what_a_method_that_is_left_open_gives_is_what_its_annotation_says(
    tmp_path: Path, returned: str, added: str, leaks: bool
) -> None:
    files = {"tasks.py": TASK.format(returned=returned), "fitting.py": FITTING.format(added=added)}
    assert any("TLK101" in one for one in Project(tmp_path, files).found()) is leaks


BLANKED = """
    import torch
    from torch import nn
    from elsewhere import Decoder

    class Blank(nn.Module):
        def __init__(self, share):
            super().__init__()
            self.share = share

        def forward(self, x):
            blanks = torch.bernoulli(self.share * torch.ones(x.shape)).to(x.device)
            return (1 - blanks) * x, blanks

    class Blanked(nn.Module):
        def __init__(self, share):
            super().__init__()
            self.blank, self.decoder = Blank(share), Decoder()

        def forward(self, x):
            if self.training:
                shown, blanks = self.blank(x)
                return self.decoder(shown), blanks
            return self.decoder(x), torch.ones(x.shape).to(x.device)
"""

WATCHED = """
    import torch
    from elsewhere import Net

    class Fitted:
        def make(self, share, device):
            self.net = Net(share).to(device)

        def look(self):
            self.net.eval()
"""

BLANKED_LOOK = """
    from blanked import Blanked
    from watched import Fitted

    class Blanks(Fitted):
        def make(self, share, device):
            self.net = Blanked(share).to(device)

        def collect(self, loader):
            self.net.eval()
            kept = []
            for x in loader:
                {taken} = self.net(x)
                kept.append(one)
            print(len(kept))
"""


@pytest.mark.parametrize(("taken", "leaks"), [("_, one", False), ("one, _", True)])
def test_of_a_tuple_from_a_module_each_item_is_known_by_itself(tmp_path: Path, taken: str, leaks: bool) -> None:
    files = {"blanked.py": BLANKED, "watched.py": WATCHED, "look.py": BLANKED_LOOK.format(taken=taken)}
    assert any("TLK102" in one for one in Project(tmp_path, files).found()) is leaks


@pytest.mark.parametrize(("ending", "found"), [(".argmax(-1).tolist()", ["run.py: TLK201 note"]), ("", [])])
def test_a_helper_of_another_file_runs_a_network_by_its_methods(tmp_path: Path, ending: str, found: list[str]) -> None:
    files = {
        "model.py": """
            from torch import nn

            class Reader(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.inner, self.outer = nn.Linear(4, 4), nn.Linear(4, 4)

                def encode(self, x):
                    return self.inner(x)

                def decode(self, memory):
                    return self.outer(memory)

                def forward(self, x):
                    return self.decode(self.encode(x))
        """,
        "search.py": f"""
            def best(reader, x):
                memory = reader.encode(x)
                return reader.decode(memory){ending}
        """,
        "run.py": """
            import torch
            from model import Reader
            from search import best

            def main(train, test):
                reader = Reader()
                optimizer = torch.optim.SGD(reader.parameters(), 0.1)
                for x, y in train:
                    loss = (reader(x) - y).pow(2).mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                reader.eval()
                return [best(reader, x) for x in test]
        """,
    }
    assert Project(tmp_path, files).found("run.py") == found


@pytest.mark.parametrize(
    ("steps", "given", "level"),
    [
        ("loss.backward()", "loss", "warning"),
        ("loss.backward()", "{'loss': loss, 'rows': len(x)}['loss']", "warning"),
        ("(0.5 * loss).backward()", "loss", "warning"),
        ("loss.backward(retain_graph=True)", "loss", "error"),
        ("loss.detach()", "loss", "error"),
    ],
)
def test_a_loss_whose_backward_has_run_in_another_file_holds_no_activations(
    tmp_path: Path, steps: str, given: str, level: str
) -> None:
    learner = f"""
        from torch.nn import functional as F

        def fit_batch(net, x, y):
            loss = F.mse_loss(net(x), y)
            {steps}
            return {given}
    """
    run = """
        import torch
        from learner import fit_batch

        def run(loader):
            net = torch.nn.Linear(3, 1)
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            seen = []
            for x, y in loader:
                optimizer.zero_grad()
                seen.append(fit_batch(net, x, y))
                optimizer.step()
            print(len(seen))
    """
    project = Project(tmp_path, {"learner.py": learner, "run.py": run})
    assert [f for f in project.found() if "TLK102" in f] == [f"run.py: TLK102 {level}"]


@pytest.mark.parametrize(
    ("results", "found"),
    [("out, self.loss(x, out)", []), ("out, float(self.loss(x, out))", ["model.py: TLK111 warning"])],
)
def test_a_base_in_another_file_gives_on_what_a_method_returns(tmp_path: Path, results: str, found: list[str]) -> None:
    files = {
        "base.py": f"""
            from torch import nn

            class Scored(nn.Module):
                def forward(self, x):
                    out = self.encode(x)
                    return {results}
        """,
        "model.py": """
            import torch
            from torch import nn
            from base import Scored

            class Tuned(Scored):
                def __init__(self):
                    super().__init__()
                    self.inner, self.width = nn.Linear(4, 4), nn.Parameter(torch.ones(4))

                def encode(self, x):
                    self.spread = self.width.exp() * x
                    return self.inner(x)

                def loss(self, x, out):
                    return (out / self.spread).mean()

                @torch.no_grad()
                def score(self, loader):
                    total = 0
                    for x in loader:
                        out, _ = self.forward(x)
                        total += (out / self.spread).mean().item()
                    return total

                def spread_of(self, x):
                    return self.encode(x).std().item()
        """,
    }
    assert [one for one in Project(tmp_path, files).found("model.py") if "TLK111" in one] == found


@pytest.mark.parametrize(
    ("each", "found"),
    [("for x in data", ["run.py: TLK301 note"]), ("if data is not None", ["run.py: TLK301 warning"])],
)
def test_a_model_for_each_training_of_another_file_is_that_of_a_trial(
    tmp_path: Path, each: str, found: list[str]
) -> None:
    fit = f"""
        class Trainer:
            def __init__(self, net, optimizer):
                self.net, self.optimizer = net, optimizer

            def fit(self, data):
                {each}:
                    loss = self.net(data).sum()
                    loss.backward()
                    self.optimizer.step()
                return loss.item()
    """
    run = """
        import torch
        from fitting import Trainer

        def build(width):
            return torch.nn.Linear(3, width)

        def average(data, optimizer, runs):
            scores = []
            for run in range(runs):
                net = build(4)
                scores.append(Trainer(net, optimizer).fit(data))
            return sum(scores) / len(scores)
    """
    project = Project(tmp_path, {"fitting.py": fit, "run.py": run})
    assert project.found("run.py") == found


@pytest.mark.parametrize(
    ("own", "given", "found"),
    [
        ("None", "pairwise", []),
        ("None", "nn.Linear(3, 3)", ["run.py: TLK301 warning"]),
        ("nn.Linear(3, 3)", "pairwise", ["run.py: TLK301 warning"]),
    ],
)
def test_a_wrapper_of_another_file_round_a_loss_of_another_file_has_no_weights(
    tmp_path: Path, own: str, given: str, found: list[str]
) -> None:
    losses = f"""
        from torch import nn

        class Pairwise(nn.Module):
            def forward(self, x, y):
                return (x - y).abs()

        class Wrapper(nn.Module):
            def __init__(self, inner):
                super().__init__()
                self.inner, self.own = inner, {own}
            def forward(self, x, y):
                return self.inner(x, y).min()

        pairwise = Pairwise()
    """
    run = f"""
        import torch
        from torch import nn
        from losses import Wrapper, pairwise

        @torch.no_grad()
        def score(net: nn.Module, loader):
            return [Wrapper({given})(net(x), y).item() for x, y in loader]
    """
    project = Project(tmp_path, {"losses.py": losses, "run.py": run})
    assert project.found("run.py") == found


CALLED_BACKWARD = """
    {given}
    import torch
    from torch import nn

    def fit(walker: Walker, net: nn.Module, loader):
        total = 0
        for rows, targets in loader:
            cost = nn.functional.mse_loss(net(rows), targets)
            walker.backward(cost)
            total += cost
        print(total)
"""

WALKER = """
    class Walker:
        def __init__(self, engine):
            self.engine = engine
            self.steps = []

        def backward(self, cost):
            {body}
"""


@pytest.mark.parametrize("is_elsewhere", [False, True])
@pytest.mark.parametrize(
    ("body", "runs"),
    [
        ("self.steps.append(float(cost))", False),
        ("print(cost.abs().item())", False),
        ("cost.backward()", True),
        ("self.engine.launch(cost)", True),
        ("raise NotImplementedError", True),
    ],
)
def test_what_a_method_called_backward_does_counts_for_more_than_its_name(
    tmp_path: Path, body: str, runs: bool, is_elsewhere: bool
) -> None:
    walker = WALKER.format(body=body)
    given = "from walkers import Walker" if is_elsewhere else walker.strip()
    files = {"fitting.py": CALLED_BACKWARD.format(given=given)} | ({"walkers.py": walker} if is_elsewhere else {})
    found = Project(tmp_path, files).found()
    kept = "fitting.py: TLK101 warning" if runs else "fitting.py: TLK101 error"  # a graph that none frees costs more
    assert kept in found
    assert ("fitting.py: TLK201 warning" in found) is not runs


ACTOR = """
    import torch
    from torch import nn
    from torch.distributions import Categorical

    class Actor(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
            self.kept = []

        def forward(self, x):
            spread = Categorical(logits=self.net(x))
            action = spread.sample()
            self.kept.append({kept})
            return action.item()
"""

PLAY = """
    import torch
    from actor import Actor

    def play(env, episodes):
        actor = Actor()
        optimizer = torch.optim.Adam(actor.parameters())
        for _ in range(episodes):
            state, rewards, done = env.reset(), [], False
            while not done:
                state, reward, done = env.step(actor(state))
                rewards.append(reward)
            loss = {loss}
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("kept", "loss", "leaks"),
    [
        ("spread.log_prob(action)", "sum(-p * r for p, r in zip(actor.kept, rewards))", False),
        ("(spread.log_prob(action), spread.entropy())", "torch.stack([p for p, _ in actor.kept]).sum()", False),
        ("spread.log_prob(action)", "actor.net(state).sum()", True),
        ("spread.log_prob(action)", "actor.net(state).sum(); print(actor.kept[-1].item())", True),
    ],
)
def test_what_a_network_keeps_and_another_file_trains_on(tmp_path: Path, kept: str, loss: str, leaks: bool) -> None:
    files = {"actor.py": ACTOR.format(kept=kept), "play.py": PLAY.format(loss=loss)}
    assert any("error" in one for one in Project(tmp_path, files).found()) is leaks


FITTER = """
    class Fitter:
        def fit(self, task, loader, optimizer):
            for rows in loader:
                optimizer.zero_grad()
                task.step_on(rows).backward()
                optimizer.step()
"""

TASK_OF_FITTER = """
    from torch import nn

    class Task(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.told = nn.Linear(3, 1), []

        def step_on(self, rows):
            cost = self.net(rows).square().mean()
            self.told.append({kept})
            return cost
"""

RUN_FITTER = """
    import torch
    from tasks import Fitter, Task

    def main(loader):
        task = Task()
        optimizer = torch.optim.SGD(task.parameters(), lr=0.1)
        {ran}
"""


@pytest.mark.parametrize(
    ("kept", "ran", "leaks"),
    [
        ("cost", "Fitter().fit(task, loader, optimizer)", True),
        ("cost", "fitter = Fitter(); fitter.fit(loader=loader, task=task, optimizer=optimizer)", True),
        ("cost.item()", "Fitter().fit(task, loader, optimizer)", False),
        ("cost", "make(Fitter).fit(task, loader, optimizer)", False),
        ("cost", "Fitter().fit(other(task), loader, optimizer)", False),
    ],
)
def test_what_is_passed_to_the_method_of_an_object_that_one_statement_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: str, ran: str, leaks: bool
) -> None:
    """The class comes back to its own file; also where paths are given as they are seen from a folder."""
    tasks = TASK_OF_FITTER.format(kept=kept) + FITTER
    Project(tmp_path, {"tasks.py": tasks, "main.py": RUN_FITTER.format(ran=ran)})
    monkeypatch.chdir(tmp_path)
    found = check_paths(["tasks.py", "main.py"])
    assert [one.code for one in found] == ["TLK102"] * leaks


UPDATES = """
    def update(optimizer, loss, retain={default}):
        optimizer.zero_grad()
        {scaled}.backward(retain_graph={flag})
        optimizer.step()
"""

USE_OF_UPDATES = """
    import torch
    from torch import nn
    from updates import update

    def train(data):
        net, head = nn.Linear(8, 8), nn.Linear(8, 1)
        one = torch.optim.SGD(net.parameters(), lr=0.1)
        two = torch.optim.SGD(head.parameters(), lr=0.1)
        for x, y in data:
            hidden = net(x)
            loss = (hidden - y).square().mean()
            {run}
"""


@pytest.mark.parametrize(
    ("default", "flag", "run", "told"),
    [
        ("False", "True", "update(one, loss)", True),
        ("False", "retain", "update(one, loss, retain=True)", True),
        ("False", "retain", "update(one, loss)", False),
        ("False", "False", "update(one, loss)", False),
        ("False", "True", "update(one, loss); head(hidden).sum().backward()", False),
        ("False", "True", "update(one, loss); update(two, head(hidden).sum())", False),
    ],
)
def test_a_helper_of_another_file_keeps_the_graph_for_its_caller(
    tmp_path: Path, default: str, flag: str, run: str, *, told: bool
) -> None:
    for scaled in ("loss", "(loss / 2)", "scaler.scale(loss / 2)"):
        files = {
            "updates.py": UPDATES.format(default=default, flag=flag, scaled=scaled),
            "train.py": USE_OF_UPDATES.format(run=run),
        }
        found = [one for one in Project(tmp_path, files).found() if "TLK107" in one]
        assert found == ["train.py: TLK107 warning"] * told


CONFUSES = """
    import torch

    def confused(head, hidden):
        scores = head(hidden)
        return torch.nn.functional.binary_cross_entropy_with_logits(scores, torch.ones_like(scores))

    def confuse(head, hidden, weight):
        loss = -weight * confused(head, hidden)
        {ends}
        return loss.item()
"""

USE_OF_CONFUSES = """
    import torch
    from torch import nn
    from confuses import confuse

    def train(data):
        net, head, judge = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(8, 1)
        optimizer = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
        for x, y in data:
            hidden = net(x)
            loss = nn.functional.cross_entropy(head(hidden), y)
            optimizer.zero_grad()
            loss.backward(retain_graph=True)
            told = confuse(judge, {given}, 0.1)
            optimizer.step()
            print(loss.item(), told)
"""


@pytest.mark.parametrize(
    ("ends", "given", "told"),
    [
        ("loss.backward()", "hidden", False),
        ("torch.autograd.backward([loss])", "hidden", False),
        ("print(loss)", "hidden", True),
        ("loss.backward()", "net(x)", True),
        ("loss.backward()", "hidden.detach()", True),
    ],
)
def test_a_second_backward_over_a_part_of_the_graph_may_run_in_another_file(
    tmp_path: Path, ends: str, given: str, *, told: bool
) -> None:
    files = {"confuses.py": CONFUSES.format(ends=ends), "train.py": USE_OF_CONFUSES.format(given=given)}
    found = [one for one in Project(tmp_path, files).found() if "TLK107" in one]
    assert found == ["train.py: TLK107 warning"] * told


SHARES = """
    import torch
    from torch import nn

    def loss_of_all(net: nn.Module, shares):
        total = 0.0
        {before}
        for x, y in shares:
            total = total + {loss} / len(shares)
        return total
"""

FITS = """
    import torch
    from torch import nn
    from shares import loss_of_all

    def fit(groups):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for shares in groups:
            optimizer.zero_grad()
            {ends}
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("shares", "ends", "told"),
    [
        ({}, "loss = loss_of_all(net, shares); loss.backward()", True),
        ({}, "loss_of_all(net, shares).backward()", True),
        ({"before": "out = net(shares[0][0])", "loss": "(out - y).square().mean()"},
         "loss_of_all(net, shares).backward()", False),
        ({}, "print(loss_of_all(net, shares)); net(shares[0][0]).sum().backward()", False),
        ({"loss": "net(x).sum().item()"}, "loss = loss_of_all(net, shares); loss.backward()", False),
    ],
)  # fmt: skip
def test_losses_that_a_function_sums_for_the_backward_of_another_file(
    tmp_path: Path, shares: dict[str, str], ends: str, told: bool
) -> None:
    of_shares = {"before": "pass", "loss": "nn.functional.mse_loss(net(x), y)", **shares}
    files = {"shares.py": SHARES.format(**of_shares), "fits.py": FITS.format(ends=ends)}
    found = [one for one in Project(tmp_path, files).found() if "TLK110" in one]
    assert found == ["shares.py: TLK110 note"] * told


@pytest.mark.parametrize(
    ("loop", "in_vain"),
    [
        ("for x, y in loader:\n    trainer.fit(x, y)", True),
        ("for i, (x, y) in enumerate(tqdm(loader)):\n    x = x.to('cpu')\n    trainer.fit(x, y.float())", True),
        ("for batch in DataLoader(rows):\n    trainer.fit(batch['x'], y=batch['y'])", True),
        ("train, test = loaders(rows)\nfor x, y in train:\n    trainer.fit(x, y)", True),
        ("for x, y in loader:\n    x = net(x)\n    trainer.fit(x, y)", False),
        ("for x, y in loader:\n    trainer.fit(net(x), y)", False),
        ("for x, y in net(rows):\n    trainer.fit(x, y)", False),
        ("kept = [net(x) for x in loader]\nfor x in kept:\n    trainer.fit(x, x)", False),
        ("for x, y in loader:\n    trainer.fit(x, y)\ntrainer.fit(net(rows), y)", False),
    ],
)
def test_what_a_loop_of_another_file_takes_from_data_has_no_graph(tmp_path: Path, loop: str, in_vain: bool) -> None:
    body = loop.replace("\n", "\n                ")
    files = {
        "trainer.py": """
            import torch

            class Trainer:
                def __init__(self, net: torch.nn.Module, scale=2.0):
                    self.net, self.scale = net, scale
                    self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
                def fit(self, x, y):
                    loss = self.scale * (self.net(x) - y).pow(2).mean()
                    self.optimizer.zero_grad()
                    loss.backward(retain_graph=True)
                    self.optimizer.step()
        """,
        "main.py": f"""
            import torch
            from torch.utils.data import DataLoader
            from tqdm import tqdm
            from data import loaders
            from trainer import Trainer

            def main(loader, rows):
                net = torch.nn.Linear(3, 3)
                trainer = Trainer(net)
                {body}
        """,
    }
    found = [one for one in Project(tmp_path, files).found("trainer.py", "main.py") if "TLK107" in one]
    assert found == (["trainer.py: TLK107 warning"] if in_vain else [])


STEPPER = """
    import torch

    class Stepper:
        def __init__(self, model, optimizer):
            self.model, self.optimizer = model, optimizer

        def {method}(self, images, wanted):
            loss = (self.model(images) - wanted).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward(retain_graph=True)
            self.optimizer.step()
            return loss.detach()
"""

USE_OF_STEPPER = """
    import torch
    from torch import nn
    from stepper import Stepper

    def main(loader, extra):
        model = nn.Linear(8, 8)
        stepper = Stepper(model, torch.optim.SGD(model.parameters(), lr=0.1))
        total = 0.0
        for x, y in loader:
            total += {call}.item()
        print(total)
"""


@pytest.mark.parametrize(("method", "called"), [("step", "stepper.step"), ("__call__", "stepper")])
@pytest.mark.parametrize(
    ("given", "told"),
    [("x.to(0), y.to(0)", True), ("x, wanted=y", True), ("extra(x), y", False), ("x, model(y)", False)],
)
def test_a_step_of_another_file_is_given_batches_or_what_may_have_a_graph(
    tmp_path: Path, method: str, called: str, given: str, *, told: bool
) -> None:
    files = {
        "stepper.py": STEPPER.format(method=method),
        "main.py": USE_OF_STEPPER.format(call=f"{called}({given})"),
    }
    found = [one for one in Project(tmp_path, files).found() if "TLK107" in one]
    assert found == ["stepper.py: TLK107 warning"] * told


UNROLLED = {
    "lab/base.py": """
        from torch import nn

        class Forecaster(nn.Module):
            def __init__(self, criterion, optimizer, scale=None):
                super().__init__()
                self.criterion, self.optimizer, self.scale = criterion, optimizer, scale

            def rescaled(self, answer):
                return answer if self.scale is None else answer * self.scale

            def fit(self, batches):
                for x, y in batches:
                    self.optimizer.zero_grad()
                    loss = self.criterion(self.rescaled(self(x)), y)
                    loss.backward()
                    self.optimizer.step()
        """,
    "lab/recurrent.py": """
        import torch
        from torch import nn
        from lab.base import Forecaster

        class Recurrent(Forecaster):
            def __init__(self, criterion, optimizer):
                super().__init__(criterion, optimizer)
                self.cell, self.head, self.recent = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 1), []

            def forward(self, x):
                _, state = self.cell(x)
                last, answers = x[:, -1:], []
                for _ in range(12):
                    seen, state = self.cell(last, state)
                    answer = self.head(seen).squeeze(1)
                    answers.append(answer)
                    {kept}
                    last = torch.cat([last[..., :3], self.rescaled(answer).unsqueeze(1)], dim=-1)
                return torch.stack(answers, dim=1)
        """,
}


@pytest.mark.parametrize(
    ("kept", "found"), [("pass", []), ("self.recent.append(answer)", ["lab/recurrent.py: TLK102 warning"])]
)
def test_what_is_given_to_a_helper_of_a_loss_may_be_trained_on_by_who_gets_the_answers(
    tmp_path: Path, kept: str, found: list[str]
) -> None:
    files = {"lab/__init__.py": "", **UNROLLED}
    files["lab/recurrent.py"] = UNROLLED["lab/recurrent.py"].replace("{kept}", kept)
    assert Project(tmp_path, files).found() == found
