"""What a function of another file does whenever it is called is told at the calls that repeat it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from torchlint import check_paths
from torchlint.config import Settings

TRAINING = """
    import torch
    from torch import nn
    import tools

    def fit(loader, net: nn.Module, example, path):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        {before}
        for epoch in range(1000):
            for x, y in loader:
                loss = (net(x) - y).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                {each}
            {last}
"""

HELPERS = """
    import gc
    import enum
    import functools
    import matplotlib.pyplot as plt
    import torch

    class Form(enum.Enum):
        PLAIN = "plain"
        QUICK = "quick"

    def tidy(device="cuda"):
        _collect()
        if device == "cuda":
            torch.cuda.empty_cache()

    def _collect():
        gc.collect()

    def tidy_now_and_then(step):
        if step % 100 == 0:
            gc.collect()

    def tidy_young():
        gc.collect(0)

    def quicken(net, example):
        return torch.jit.trace(net, example)

    def formed(net, form):
        match Form(form):
            case Form.QUICK:
                return torch.jit.script(net)
            case _:
                return net

    @functools.lru_cache
    def quickened(net):
        return torch.jit.script(net)

    def read_model(path):
        return torch.load(path, map_location="cpu", weights_only=False)

    def read_table(path):
        return torch.load(path, map_location="cpu")

    def restored(path):
        if path is None:
            return None
        return torch.load(path)

    def restored_steps(path):
        return len(torch.load(path)["steps"])

    def drawn(values):
        figure, axes = plt.subplots()
        axes.plot(values)
        return figure

    def drawn_first(values, figure=None):
        if not figure:
            figure = plt.figure()
        figure.gca().plot(values)
        return figure

    @functools.cache
    def banded(width, device="cuda"):
        return torch.ones(width, width, device=device).tril()

    @functools.lru_cache(maxsize=8)
    def banded_few(width):
        return torch.ones(width, width).tril()

    @functools.cache
    def named(width):
        return f"band{width}"

    def drawn_and_saved(values, path):
        plt.figure()
        plt.plot(values)
        plt.savefig(path)

    def drawn_and_closed(values, path):
        figure = plt.figure()
        plt.plot(values)
        plt.savefig(path)
        plt.close(figure)

    def drawn_and_closed_here(values, path):
        drawn_and_saved(values, path)
        plt.close()

    def drawn_and_another_closed(values, path):
        other = plt.figure()
        drawn_and_saved(values, path)
        plt.close(other)

    def drawn_twice_and_one_closed(values, path):
        drawn_and_saved(values, path)
        drawn_and_closed(values, path)

    def drawn_and_last_closed(values, path):
        plt.figure()
        plt.plot(values)
        plt.close()

    def drawn_or_given_and_closed(values, path, figure=None):
        if figure is None:
            figure = plt.figure()
        plt.close(figure)

    def drawn_given_and_closed(values, path):
        figure = drawn(values)
        figure.savefig(path)
        plt.close(figure)

    def save(figure, path):
        figure.savefig(path)

    def save_and_close(figure, path):
        figure.savefig(path)
        plt.close(figure)

    def widened(rows, width):
        return torch.nn.functional.pad(rows, (0, width - rows.size(1)))

    def grown(old, new):
        if old is None:
            return new
        width = max(old.size(1), new.size(1))
        return torch.cat((widened(old, width), widened(new, width)))

    def extended(old, new):
        if isinstance(old, list):
            old.extend(new)
            return old
        return torch.cat([old, new])

    def condensed(old, new):
        return torch.cat((old.mean(0, keepdim=True), new))

    def bordered(rows):
        return torch.cat((rows[:1], rows))

    def note(*args):
        pass

    def observe(net):
        return net.register_forward_hook(note)

    def observe_all(net):
        handles = []
        for layer in net.children():
            handles.append(observe(layer))
        return handles

    def limit(net):
        for weight in net.parameters():
            weight.register_hook(lambda gradient: gradient.clamp(-1, 1))

    def let_go(handles):
        for handle in handles:
            handle.remove()

    def observe_once(net):
        if not hasattr(net, "seen"):
            net.seen = net.register_forward_hook(note)

    def observe_and_run(net, x):
        handle = net.register_forward_hook(note)
        net(x)
        handle.remove()

    class Watcher:
        def __init__(self):
            self.handles = []

        def watch(self, net):
            self.handles.append(net.register_forward_hook(note))

        def look(self, net):
            return net.register_forward_hook(self.note)

        def note(self, *args):
            pass

    def attach(optimizer, code, rate):
        optimizer.add_param_group({"params": [code], "lr": rate})

    def attach_late(optimizer, code, step):
        if step == 1000:
            optimizer.add_param_group({"params": [code]})

    def recorder(folder):
        return torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder))

    def scheduled(folder):
        return torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=3))

    def fit(loader, net, optimizer):
        for x, y in loader:
            loss = (net(x) - y).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    def try_out(net, optimizer, x):
        for _ in range(5):
            loss = net(x).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


def found(folder: Path, text: str) -> list[str]:
    """The codes of the findings in ``text``, which imports the helpers."""
    (folder / "pyproject.toml").touch()
    (folder / "tools.py").write_text(dedent(HELPERS))
    path = folder / "train.py"
    path.write_text(dedent(text))
    return [one.code for one in check_paths([path], settings=Settings(notes=True, join=False))]


def training(before: str = "pass", each: str = "pass", last: str = "pass") -> str:
    return TRAINING.format(before=before, each=each, last=last)


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("tools.tidy()", ["TLK506"]),
        ("tools.tidy_now_and_then(epoch)", []),
        ("tools.tidy_young()", []),
        ("tools.quicken(net, x)", ["TLK305"]),
        ("tools.formed(net, 'quick')", ["TLK305"]),
        ("tools.quickened(net)", []),
        ("old = tools.read_model(path).eval()", ["TLK302"]),
        ("old = tools.read_model(y).eval()", []),
        ("names = tools.read_table(path)['names']", []),
        ("tools.drawn_and_saved(y, path)", ["TLK503"]),
        ("tools.drawn_and_closed(y, path)", []),
        ("tools.drawn_and_closed_here(y, path)", []),
        ("tools.drawn_and_another_closed(y, path)", ["TLK503"]),
        ("tools.drawn_twice_and_one_closed(y, path)", ["TLK503"]),
        ("tools.drawn_and_saved(y, path); tools.drawn_and_closed(y, path)", ["TLK503"]),
        ("tools.drawn_and_saved(y, path); tools.drawn_and_last_closed(y, path)", ["TLK503"]),
        ("tools.drawn_and_saved(y, path); tools.drawn_or_given_and_closed(y, path)", []),
        ("tools.drawn_given_and_closed(y, path)", []),
    ],
)
def test_what_a_helper_does_in_each_step_is_told_at_its_call(tmp_path: Path, call: str, codes: list[str]) -> None:
    assert found(tmp_path, training(each=call)) == codes


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("rows = tools.grown(rows, net(x).detach())", ["TLK401"]),
        ("rows = tools.grown(net(x).detach(), rows)", ["TLK401"]),
        ("rows = tools.grown(x, net(x).detach())", []),
        ("rows = tools.condensed(rows, net(x).detach())", []),
        ("rows = tools.bordered(rows)", []),
    ],
)
def test_what_a_helper_joins_to_the_rest_in_each_step_is_copied(tmp_path: Path, call: str, codes: list[str]) -> None:
    assert found(tmp_path, training(before="rows = None", each=call) + "\n        return rows\n") == codes


@pytest.mark.parametrize(("first", "codes"), [("[]", []), ("net.empty", ["TLK401"])])
def test_a_helper_for_lists_and_tensors_copies_no_list(tmp_path: Path, first: str, codes: list[str]) -> None:
    file = training(before=f"rows = {first}", each="rows = tools.extended(rows, net(x).detach())")
    assert found(tmp_path, file + "\n        return rows\n") == codes


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("tools.observe(net)", ["TLK303"]),
        ("tools.observe(net.decoder)", ["TLK303"]),
        ("handles = tools.observe_all(net)", ["TLK303"]),
        ("for layer in net.children(): tools.observe(layer)", ["TLK303"]),
        ("if epoch % 5 == 0: tools.limit(net)", ["TLK303"]),
        ("watcher.look(net)", ["TLK303"]),
        ("tools.let_go(tools.observe_all(net))", []),
        ("for handle in tools.observe_all(net): handle.remove()", []),
        ("handle = tools.observe(net); net(x); handle.remove()", []),
        ("tools.observe(made_of(x))", []),
        ("tools.observe_once(net)", []),
        ("tools.observe_and_run(net, x)", []),
        ("watcher.watch(net)", []),
    ],
)
def test_a_hook_that_a_helper_leaves_in_each_step_is_told_at_its_call(
    tmp_path: Path, call: str, codes: list[str]
) -> None:
    assert found(tmp_path, training(before="watcher = tools.Watcher()", each=call)) == codes
    assert found(tmp_path, training(before="watcher = tools.Watcher(); " + call.partition(": ")[2] or "pass")) == []


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("tools.tidy()", []),
        ("tools.quicken(net, example)", []),
        ("tools.read_model(path)", []),
        ("tools.save(tools.drawn(y), path)", ["TLK503"]),
        ("figure = tools.drawn_first(y, figure)", []),
        ("tools.save_and_close(tools.drawn(y), path)", []),
        ("path.show(tools.drawn(y))", []),
    ],
)
def test_once_for_an_epoch_is_too_often_for_figures_only(tmp_path: Path, call: str, codes: list[str]) -> None:
    assert found(tmp_path, training(last=call)) == codes


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("tools.banded(x.size(1))", ["TLK404"]),
        ("tools.banded(width=x.shape[-2], device=x.device)", ["TLK404"]),
        ("tools.banded(epoch)", ["TLK404"]),
        ("tools.banded(64, x.device)", []),
        ("tools.banded(net.width, x.device)", []),
        ("tools.banded(x.size(0))", []),
        ("tools.banded_few(x.size(1))", []),
        ("tools.named(x.size(1))", []),
        ("tools.banded(x.size(1)); tools.banded.cache_clear()", []),
    ],
)
def test_a_cache_without_a_bound_that_each_step_asks_for_another_length(
    tmp_path: Path, call: str, codes: list[str]
) -> None:
    assert found(tmp_path, training(each=call)) == codes
    assert found(tmp_path, training(before="x = next(iter(loader))[0]; " + call.partition(";")[0])) == []


def test_what_is_done_before_the_loop_is_nothing_to_tell(tmp_path: Path) -> None:
    assert found(tmp_path, training(before="tools.tidy(); quick = tools.quicken(net, example)")) == []


@pytest.mark.parametrize(
    ("made", "run", "codes"),
    [
        ("recorder", "fit(loader, net, optimizer)", ["TLK502"]),
        ("scheduled", "fit(loader, net, optimizer)", []),
        ("recorder", "try_out(net, optimizer, example)", []),
    ],
)
def test_a_profiler_that_a_helper_makes_is_known(tmp_path: Path, made: str, run: str, codes: list[str]) -> None:
    text = f"""
        import torch
        import tools

        def main(loader, net, optimizer, example):
            with tools.{made}("traces"):
                tools.{run}
    """
    assert found(tmp_path, text) == codes


GROUPS = """
    import torch
    import tools

    def main(loader, net, groups):
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        {before}
        for step, x in enumerate(loader):
            code = torch.nn.Parameter(torch.zeros(x.shape[0]))
            {each}
            loss = net(x + code).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "each", "codes"),
    [
        ("pass", "tools.attach(optimizer, code, 0.1)", ["TLK304"]),
        ("pass", "tools.attach(rate=0.1, code=code, optimizer=optimizer)", ["TLK304"]),
        ("pass", "tools.attach_late(optimizer, code, step)", []),
        ("pass", "tools.attach(groups, code, 0.1)", []),
        ("pass", "tools.attach(optimizer, code, 0.1); optimizer.param_groups.pop()", []),
        ("pass", "optimizer = torch.optim.SGD([code]); tools.attach(optimizer, code, 0.1)", []),
        ("tools.attach(optimizer, torch.nn.Parameter(torch.zeros(3)), 0.1)", "pass", []),
    ],
)
def test_groups_that_a_helper_adds_in_each_step_stay(tmp_path: Path, before: str, each: str, codes: list[str]) -> None:
    text = GROUPS.format(before=before, each=each)
    assert [code for code in found(tmp_path, text) if code != "TLK301"] == codes


JOURNAL = """
    import matplotlib.pyplot as plt
    from tools import {name}

    class Journal:
        def show(self, path, values):
            figure = {name}(values)
            {saved}
            {after}

        def write(self, figure, path):
            figure.savefig(path)

        def finish(self, figure, path):
            figure.savefig(path)
            plt.close(figure)
"""


@pytest.mark.parametrize(
    ("name", "after", "codes"),
    [
        ("drawn", "pass", ["TLK503"]),
        ("drawn", "plt.close(figure)", []),
        ("drawn", "self.sink(figure)", []),
        ("drawn", "self.finish(figure, path)", []),
        ("read_table", "pass", []),
        ("elsewhere", "pass", []),
    ],
)
def test_a_figure_that_comes_through_two_files_stays_open(
    tmp_path: Path, name: str, after: str, codes: list[str]
) -> None:
    text = training(before="journal = Journal()", each="journal.show('a.png', y)").lstrip("\n")
    for saved in ("figure.savefig(path)", "self.write(figure, path)"):
        (tmp_path / "journal.py").write_text(dedent(JOURNAL.format(name=name, saved=saved, after=after)))
        assert found(tmp_path, "    from journal import Journal\n" + text) == codes


@pytest.mark.parametrize(
    ("before", "codes"),
    [
        ("state = tools.restored(path); net.load_state_dict(state['net'])", ["TLK403"]),
        ("net.load_state_dict(tools.restored(path)['net'])", ["TLK403"]),  # a note: no device is given there
        ("state = tools.restored(path)\n        net.load_state_dict(state['net'])\n        del state", ["TLK403"]),
        ("state = tools.read_table(path); net.load_state_dict(state['net'])", []),
        ("state = tools.restored(path); print(state['epoch'])", []),
        ("steps = tools.restored_steps(path)", []),
    ],
)
def test_what_a_helper_reads_and_returns_is_told_where_it_is_called(
    tmp_path: Path, before: str, codes: list[str]
) -> None:
    assert found(tmp_path, training(before=before)) == codes


REGISTRY = """
    class Registry:
        def __init__(self):
            self.known = {}

        def add(self, name, function):
            self.known[name] = function

        def show(self, name, function):
            print(name, function())
"""

EPISODE = """
    import functools
    import torch
    from registry import Registry

    class Episode(Registry):
        def __init__(self, length):
            super().__init__()
            self.seen = {rows}
            {added}

        def end(self, factor):
            return self.seen * factor
"""

ROLLOUTS = """
    import torch
    from torch import nn
    from episode import Episode

    @torch.no_grad()
    def play(net, x):
        episode = Episode(100)
        for step in range(100):
            episode.seen[step] = net(x)
        return episode.seen.sum()

    def main(loader):
        net = nn.Linear(3, 3)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            loss = net(x).sum() * play(net, x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("rows", "added", "codes"),
    [
        ("torch.zeros(length, 3)", "self.add('end', functools.partial(self.end, 2))", ["TLK407"]),
        ("torch.zeros(length, 3)", "self.add('end', self.end)", ["TLK407"]),
        ("torch.zeros(length, 3)", "self.add('end', max)", []),
        ("torch.zeros(length, 3)", "self.show('end', self.end)", []),
        ("[0] * length", "self.add('end', self.end)", []),
    ],
)
def test_an_object_that_hands_itself_to_what_it_inherits_is_in_a_circle(
    tmp_path: Path, rows: str, added: str, codes: list[str]
) -> None:
    (tmp_path / "registry.py").write_text(dedent(REGISTRY))
    (tmp_path / "episode.py").write_text(dedent(EPISODE.format(rows=rows, added=added)))
    assert found(tmp_path, ROLLOUTS) == codes


@pytest.mark.parametrize(
    ("call", "codes"),
    [
        ("readers.read_for(path)(y)", ["TLK302"]),
        ("readers.read_for(y)(y)", []),
        ("readers.remembered()(y)", []),
        ("readers.named(path)", []),
        ("readers.tidied(y)", ["TLK506"]),
        ("readers.far(y)", ["TLK302"]),
    ],
)
def test_what_a_helper_does_by_one_that_it_imports_is_told_at_its_call(
    tmp_path: Path, call: str, codes: list[str]
) -> None:
    readers = """
        import functools
        from transformers import AutoModel
        from tools import tidy, read_model, read_table
        import further

        def read_for(path):
            return read_model(path).eval()

        @functools.cache
        def remembered():
            return read_model("scorer.pt").eval()

        def named(path):
            return read_table(path)["names"]

        def tidied(y):
            tidy()
            return y

        def far(y):
            return further.scored(y)
    """
    further = """
        from nets import read_scorer

        def scored(y):
            scorer = read_scorer()
            return float(scorer(y).mean())
    """
    nets = """
        from transformers import AutoModel

        def read_scorer():
            return AutoModel.from_pretrained("scorer").eval()
    """
    for name, text in (("readers", readers), ("further", further), ("nets", nets)):
        (tmp_path / f"{name}.py").write_text(dedent(text))
    text = training(each=call).replace("import tools", "import readers")
    once = training(before=call.replace("y", "example")).replace("import tools", "import readers")
    for program, expected in ((text, codes), (once, [])):
        told = found(tmp_path, program)
        # What is read and put into evaluation mode runs without a guard, which is another matter.
        assert [code for code in told if code != "TLK201"] == expected


CLEARING = """
    import torch

    FREED = False

    def clear(optimizer):
        optimizer.zero_grad(set_to_none=FREED)

    def clear_all(*, net, first=None):
        clear(net)

    def clear_as_asked(optimizer, freed):
        optimizer.zero_grad(set_to_none=freed)

    def freed(optimizer):
        optimizer.zero_grad(set_to_none=True)

    def clear_unless(optimizer, freed=False):
        optimizer.zero_grad(set_to_none=freed)

    def clear_by(optimizer, freed=False):
        clear_unless(freed=freed, optimizer=optimizer)

    def clear_or_keep(optimizer, keep=True):
        optimizer.zero_grad(set_to_none=not keep)

    class Warm(torch.optim.SGD):
        def zero_grad(self, set_to_none=False):
            super().zero_grad(set_to_none)

    def clear_now_and_then(optimizer, step):
        if step % 10 == 0:
            optimizer.zero_grad(set_to_none=False)

    def step(optimizer, loss):
        clear(optimizer)
        loss.backward()
        optimizer.step()

    class Stepper:
        def __init__(self, optimizer):
            self.optimizer = optimizer

        def reset(self):
            self.optimizer.zero_grad(set_to_none=False)
"""

STEPPING = """
    import torch
    import tools

    def train(net, loader, epochs):
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        stepper = tools.Stepper(optimizer)
        warm = tools.Warm(net.parameters(), 0.1)
        {before}
        for at, (x, y) in enumerate(loader):
            {each}
            loss = (net(x) - y).pow(2).mean()
            loss.backward()
            {after}
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("parts", "codes"),
    [
        ({"each": "tools.clear(optimizer)"}, ["TLK507"]),
        ({"each": "tools.clear_all(net=net)"}, ["TLK507"]),
        ({"each": "stepper.reset()"}, ["TLK507"]),
        ({"each": "tools.clear(optimizer)", "after": "print(net.weight.grad.norm())"}, ["TLK507"]),
        ({"each": "tools.clear(optimizer); print(net.weight.grad.norm())"}, []),
        ({"each": "tools.freed(optimizer)"}, []),
        ({"each": "tools.clear_as_asked(optimizer, at)"}, []),
        ({"each": "warm.zero_grad()"}, ["TLK507"]),
        ({"each": "warm.zero_grad(True)"}, []),
        ({"each": "tools.clear_unless(optimizer)"}, ["TLK507"]),
        ({"each": "tools.clear_unless(optimizer, freed=False)"}, ["TLK507"]),
        ({"each": "tools.clear_unless(optimizer, freed=True)"}, []),
        ({"each": "tools.clear_unless(optimizer, x.sum() > 0)"}, []),
        ({"each": "tools.clear_unless(optimizer, **epochs)"}, []),
        ({"each": "tools.clear_by(optimizer)"}, ["TLK507"]),
        ({"each": "tools.clear_by(optimizer, True)"}, []),
        ({"each": "tools.clear_or_keep(optimizer, False)"}, []),
        ({"each": "tools.clear_now_and_then(optimizer, at)"}, []),
        ({"before": "tools.clear(optimizer)"}, []),
        ({"after": "if at % 8 == 0:\n                tools.clear(optimizer)"}, []),
        ({"each": "tools.step(optimizer, net(x).sum())"}, []),  # told where it stands
    ],
)
def test_a_helper_of_another_file_fills_gradients_with_zeros(
    tmp_path: Path, parts: dict[str, str], codes: list[str]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "tools.py").write_text(dedent(CLEARING))
    path = tmp_path / "train.py"
    path.write_text(dedent(STEPPING.format(**{"before": "pass", "each": "pass", "after": "pass", **parts})))
    assert [one.code for one in check_paths([path], settings=Settings(notes=True, join=False))] == codes
