"""Files that are read as one: one text in which every name still means what it meant, and its places are known."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from torchlint import check_paths
from torchlint.config import Settings
from torchlint.project.joining import File, Joined, join, without_numbers
from torchlint.project.modules import Modules
from torchlint.project.project import Project
from torchlint.source import Source


def joined(folder: Path, files: dict[str, str]) -> Joined:
    """The files as one, in a project of their own."""
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"))
    modules = Modules()

    def locate(importer: str, name: str) -> tuple[str, tuple[str, ...]] | None:
        location = modules.locate(importer, name)
        return None if location is None else (location.path, location.rest)

    texts = {str(folder / name): (folder / name).read_text() for name in files}
    return join([File(path, text, ast.parse(text)) for path, text in texts.items()], locate)


def ran(folder: Path, files: dict[str, str]) -> dict[str, object]:
    """The variables that the joined text leaves when it is run."""
    variables: dict[str, object] = {"__name__": "joined"}
    exec(compile(joined(folder, files).text, "joined", "exec"), variables)
    return variables


@pytest.mark.parametrize(
    "use",
    [
        "from numbers_ import double\nfound = double(4)",
        "from numbers_ import double as twice\nfound = twice(4)",
        "import numbers_\nfound = numbers_.double(4)",
        "import numbers_ as n\nfound = n.double(4)",
        "from numbers_ import *\nfound = double(4)",
        "from kit import double\nfound = double(4)",
        "import kit.doubling\nfound = kit.doubling.double(4)",
        "from kit import doubling\nfound = doubling.double(4)",
        "def ask():\n    from numbers_ import double\n    return double(4)\nfound = ask()",
        "from numbers_ import (\n    double,\n    FACTOR,\n)\nfound = FACTOR * 4 if double else 0",
        "from numbers_ import Pair\nclass Other(Pair):\n    pass\nfound = Other().double(4)",
    ],
)
def test_what_is_imported_is_what_the_other_file_defines(tmp_path: Path, use: str) -> None:
    files = {
        "numbers_.py": """
            FACTOR = 2

            def double(n):
                return FACTOR * n

            class Pair:
                def double(self, n):
                    return double(n)
        """,
        "kit/__init__.py": "from .doubling import double\n",
        "kit/doubling.py": "def double(n):\n    return n + n\n",
        "use.py": use,
    }
    assert ran(tmp_path, files)["found"] == 8


def test_names_that_mean_two_things_stay_apart(tmp_path: Path) -> None:
    files = {
        "first.py": """
            count = 1

            def main():
                global count
                count += 1
                return count

            def input(count):
                return count
        """,
        "second.py": """
            import math as m
            import first

            count = 10

            class Meter:
                count = 5

                def main(self, count=7):
                    return count

            def main():
                return count + first.main() + first.count + first.input(100)

            found = main(), Meter.count, Meter().main(), m.floor(2.5)
        """,
        "third.py": "import cmath as m\nfound_here = m.sqrt(-4), [count for count in range(2)]\n",
    }
    left = ran(tmp_path, files)
    assert left["found"] == (114, 5, 7, 2)
    assert left["found_here"] == (2j, [0, 1])


def test_every_character_is_known_by_its_place(tmp_path: Path) -> None:
    one = joined(
        tmp_path,
        {
            "first.py": "def main():\n    return 'größe'\n",
            "second.py": "from first import (\n    main,\n)\n\n\ndef run():\n    return main(), 'ß', main()\n",
            "third.py": "def main(): return 0",
        },
    )
    for number, line in enumerate(one.text.splitlines(), 1):
        column = line.find("return ")
        if column >= 0:
            file, there, at = one.place(number, column + 1)
            assert one.files[file].text.splitlines()[there - 1][at - 1 :].startswith("return ")


def test_a_span_is_known_where_it_stands_as_in_its_file(tmp_path: Path) -> None:
    one = joined(tmp_path, {"first.py": "def main():\n    return 1\n", "second.py": "def main():\n    return 22\n"})
    start = one.text.index("22")
    found = one.span(start, start + 2)
    assert found is not None
    file, begin, end = found
    assert one.files[file].text[begin:end] == "22"
    renamed = one.text.index("main·")
    assert one.span(renamed, renamed + 6) is None
    assert one.span(renamed - 4, renamed + 8) is None


def test_a_message_has_the_names_of_the_files() -> None:
    assert without_numbers("`main·3` gives `loss·12` to all 3 of `main·1`") == "`main` gives `loss` to all 3 of `main`"


# -- which files are read as one --------------------------------------------------------------------------------------


def group(folder: Path, files: dict[str, str], asked: str) -> set[str]:
    """The files that are read as one with a file."""
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    project = Project(str(folder / name) for name in files)
    found = project.connected.joined(Source(str(folder / asked), files[asked]))
    return set() if found is None else {str(Path(file.path).relative_to(folder)) for file in found.files}


def test_files_that_import_each_other_are_read_as_one(tmp_path: Path) -> None:
    files = {"a.py": "import b\n", "b.py": "x = 1\n", "c.py": "from b import x\n", "d.py": "x = 1\n"}
    for asked in ("a.py", "b.py", "c.py"):
        assert group(tmp_path, files, asked) == {"a.py", "b.py", "c.py"}
    assert group(tmp_path, files, "d.py") == set()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tests/test_b.py", "import b\n"),
        ("test_b.py", "import b\n"),
        ("b_test.py", "import b\n"),
    ],
)
def test_a_test_is_read_by_itself(tmp_path: Path, name: str, text: str) -> None:
    files = {"a.py": "import b\n", "b.py": "x = 1\n", name: text}
    assert group(tmp_path, files, "a.py") == {"a.py", "b.py"}
    assert group(tmp_path, files, name) == set()


@pytest.mark.parametrize("text", ["x = 1\r\n", "x = (\n", "x = 1\n" + "# a line of words\n" * 4000])
def test_what_is_long_or_cannot_be_joined_is_read_by_itself(tmp_path: Path, text: str) -> None:
    files = {"a.py": "import b\n", "b.py": "x = 1\n"}
    assert group(tmp_path, files, "a.py") == {"a.py", "b.py"}
    (tmp_path / "b.py").write_bytes(text.encode())
    project = Project(str(tmp_path / name) for name in files)
    assert project.connected.joined(Source(str(tmp_path / "a.py"), files["a.py"])) is None


# -- what is found in them --------------------------------------------------------------------------------------------

PROBE = """
    from collections import defaultdict
    from functools import partial


    class Probe:
        def __init__(self, model, kinds):
            self.records = defaultdict(list)
            for name, module in model.named_modules():
                if isinstance(module, kinds):
                    module.register_forward_hook(partial(self.record, name))

        def record(self, name, module, inputs, output):
            self.records[name].append({kept})
"""

MAIN = """
    import torch
    from torch import nn
    from probe import Probe


    def main(loader):
        model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        probe = Probe(model, (nn.ReLU,))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return probe.records
"""


def found(folder: Path, kept: str, *, join: bool, only: str = "") -> list[str]:
    (folder / "pyproject.toml").touch()
    (folder / "main.py").write_text(dedent(MAIN).lstrip("\n"))
    (folder / "probe.py").write_text(dedent(PROBE.replace("{kept}", kept)).lstrip("\n"))
    told = check_paths([folder / only], settings=Settings(join=join, notes=True))
    return [f"{Path(one.path).name}:{one.line}:{one.column}: {one.code} {one.message}" for one in told]


def test_what_shows_where_files_are_read_as_one_is_told(tmp_path: Path) -> None:
    told = found(tmp_path, "output", join=True)
    assert [one.split(" ")[:2] for one in told] == [["probe.py:13:9:", "TLK106"]]
    assert "that the hook of line 10 is given" in told[0]
    assert found(tmp_path, "output.detach()", join=True) == []


def test_it_is_told_of_the_files_that_are_given(tmp_path: Path) -> None:
    assert found(tmp_path, "output", join=True, only="main.py") == []


HISTORY = """
    class History:
        def __init__(self):
            self.entries = []

        def add(self, entry):
            self.entries.append(entry)
"""

RETURNING = """
    import copy
    from history import History

    class Returning:
        def __init__(self):
            self.history = History()

        def told(self, fitting):
            self.history.add(copy.deepcopy(fitting.net.state_dict()))
"""

FITTING = """
    import torch
    from returning import Returning
    from torch import nn

    class Fitting:
        def __init__(self, net, listeners):
            self.net, self.listeners = net, listeners
            self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

        def fit(self, loader, epochs):
            for _ in range(epochs):
                for x, y in loader:
                    self.optimizer.zero_grad()
                    nn.functional.mse_loss(self.net(x), y).backward()
                    self.optimizer.step()
                for one in self.listeners:
                    one.told(self)

    def main(loader):
        Fitting(nn.Linear(3, 3), [Returning()]).fit(loader, 90)
"""


def test_it_may_stand_in_a_file_that_says_nothing_of_torch(tmp_path: Path) -> None:
    for name, text in {"history": HISTORY, "returning": RETURNING, "fitting": FITTING}.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip("\n"))
    told = check_paths([tmp_path])
    assert [f"{Path(one.path).name}:{one.line}: {one.code}" for one in told] == ["history.py:6: TLK405"]
    assert check_paths([tmp_path], settings=Settings(join=False)) == []


# -- what of it is known of the files one by one ----------------------------------------------------------------------

PIECES = """
    def losses(net, criterion, batch, parts):
        x, y = batch
        for some, wanted in zip(x.chunk(parts), y.chunk(parts)):
            yield criterion(net(some), wanted) / parts
"""

SUMMING = """
    import torch
    from pieces import losses
    from torch import nn

    def main(loader, writer):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        total = 0
        for batch in loader:
            optimizer.zero_grad()
            loss = sum(losses(net, nn.functional.mse_loss, batch, 8))
            loss.backward()
            optimizer.step()
            total += {added}
        return total
"""

METER = """
    class Meter:
        def __init__(self):
            self.total = 0

        def follow(self, value):
            self.total = self.total + value
"""

METERED = """
    import torch
    from meter import Meter
    from torch import nn

    def main(loader):
        net, meter = nn.Linear(4, 2), Meter()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            meter.follow(loss)
        return meter.total
"""


def written(folder: Path, files: dict[str, str]) -> None:
    (folder / "pyproject.toml").touch()
    for name, text in files.items():
        (folder / name).write_text(dedent(text).lstrip("\n"))


def codes(folder: Path, files: dict[str, str], checked: str = ".") -> list[str]:
    """What is told in a project of some files, of which one may be checked alone."""
    written(folder, files)
    told = check_paths([folder / checked], settings=Settings(notes=True))
    return [f"{Path(one.path).name}: {one.code}" for one in told]


@pytest.mark.parametrize("added", ["loss", "loss.detach()"])
def test_what_two_files_do_together_is_told_beside_what_one_does_by_itself(tmp_path: Path, added: str) -> None:
    told = codes(tmp_path, {"pieces.py": PIECES, "main.py": SUMMING.replace("{added}", added)})
    assert told == ["main.py: TLK110", *(["main.py: TLK101"] if added == "loss" else [])]


def test_one_leak_of_two_files_is_told_once_where_it_is_kept(tmp_path: Path) -> None:
    assert codes(tmp_path, {"meter.py": METER, "main.py": METERED}) == ["meter.py: TLK101"]


def test_it_is_told_where_it_is_handed_over_if_that_file_alone_is_checked(tmp_path: Path) -> None:
    assert codes(tmp_path, {"meter.py": METER, "main.py": METERED}, "main.py") == ["main.py: TLK105"]


def test_the_way_to_it_leads_through_the_other_file(tmp_path: Path) -> None:
    written(tmp_path, {"meter.py": METER, "main.py": METERED})
    (found,) = check_paths([tmp_path])
    elsewhere = [step for step in found.evidence if step.path is not None]
    assert [step.file(found.path) for step in elsewhere] == [str(tmp_path / "main.py")] * len(elsewhere)
    assert "backward runs here" in [step.text for step in elsewhere]


TOOL = """
    import torch
    from torch import nn

    def spread(layer, x):
        return layer(x).std()

    if __name__ == "__main__":
        layer = nn.Linear(4, 2)
        print(spread(layer, torch.ones(3, 4)), layer(torch.ones(3, 4)))
"""

USER = """
    import torch
    from tool import spread
    from torch import nn

    def train(loader):
        net = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y) + spread(net, x)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    if __name__ == "__main__":
        train(rows())
"""


def test_what_a_file_does_as_the_program_is_not_done_where_it_is_imported(tmp_path: Path) -> None:
    files = {"tool.py": TOOL, "user.py": USER}
    assert codes(tmp_path, files) == []
    text = joined(tmp_path, files).text
    assert text.count("__main__") == 1
    assert "train(rows())" in text


HANDING = """
    class Runner:
        def __init__(self, agent, memory):
            self.agent, self.memory = agent, memory

        def run(self, loader):
            for x, y in loader:
                self.memory.note(self.agent.learn(x, y))
"""

MEMORY = """
    import torch

    class Memory:
        def __init__(self):
            self.rows = []

        def note(self, row):
            self.rows.append(row)
            return torch.ones(3)
"""

AGENT = """
    import torch
    from memory import Memory
    from runner import Runner
    from torch import nn

    class Agent:
        def __init__(self):
            self.net = nn.Linear(4, 2)
            self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)

        def learn(self, x, y):
            loss = nn.functional.mse_loss(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return loss

    def main(loader):
        Runner(Agent(), Memory()).run(loader)
"""


def test_a_leak_that_a_file_without_torch_hands_on_is_told_somewhere(tmp_path: Path) -> None:
    assert codes(tmp_path, {"runner.py": HANDING, "memory.py": MEMORY, "agent.py": AGENT}) != []


WELL = """
    import torch
    from torch import nn

    class Well(nn.Module):
        def __init__(self):
            super().__init__()
            self.depth = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 1))

        def forward(self, places):
            return self.depth(places).sum()

    def depths(well, rows):
        well.eval()
        for row in rows:
            places = row.requires_grad_(True)
            yield places, well(places)
"""

PULLS = """
    import torch
    from well import depths

    def pulls(well, rows):
        for places, depth in depths(well, rows):
            (slope,) = torch.autograd.grad(depth, places)
            yield -slope
"""

SETTLING = """
    import sys
    import torch
    from pulls import pulls
    from well import Well

    def main(path):
        well = Well()
        well.load_state_dict(torch.load(path, map_location="cpu"))
        print([pull.norm().item() for pull in pulls(well, torch.randn(100, 3, 3))])

    if __name__ == "__main__":
        main(sys.argv[1])
"""


def test_what_several_programs_share_is_judged_by_the_whole(tmp_path: Path) -> None:
    files = {"well.py": WELL, "pulls.py": PULLS, "settle.py": SETTLING, "rank.py": SETTLING.replace("norm", "amax")}
    assert codes(tmp_path, files) == []


LEVELLING = """
    import torch
    from torch import nn

    class Levelling(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.register_buffer("level", torch.zeros(width))

        def update(self, x):
            self.level = self.level + 0.1 * (x.mean(dim=0) - self.level)

        def forward(self, x):
            if self.training:
                self.update(x)
            return x - self.level
"""

LEVELLED = """
    import torch
    from levelling import Levelling
    from torch import nn

    def main(loader):
        net = nn.Sequential(Levelling(16), nn.Linear(16, 4))
        optimizer = torch.optim.Adam(net.parameters())
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    if __name__ == "__main__":
        main(rows())
"""


def test_what_a_shared_file_by_itself_suspects_is_not_said(tmp_path: Path) -> None:
    files = {"levelling.py": LEVELLING, "early.py": LEVELLED, "late.py": LEVELLED}
    written(tmp_path, files)
    alone = check_paths([tmp_path], settings=Settings(notes=True, join=False))
    assert [f"{Path(one.path).name}: {one.code}" for one in alone] == ["levelling.py: TLK103"]
    assert codes(tmp_path, files) == []


LAYER = """
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(4, 2)

        def forward(self, x):
            return self.body(x)
"""

LEARNING = """
    import torch
    from net import Net
    from torch import nn

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def fit(loader):
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    fit(rows())
    torch.save(net, "net.pt")
"""

ANSWERING = """
    import torch
    from net import Net

    with torch.serialization.safe_globals([Net]):
        net = torch.load("net.pt", map_location="cpu")
    x = rows().float().view(1, 4)
    answer = net(x).cpu()
    print(answer[0].detach().numpy())
"""


def test_each_of_several_programs_is_heard(tmp_path: Path) -> None:
    files = {"net.py": LAYER, "fitting.py": LEARNING}
    assert codes(tmp_path, {**files, "answering.py": ANSWERING}) == ["answering.py: TLK201"]


CHECKING = """
    import torch

    def validate(net, loader):
        net.eval()
        torch.no_grad()
        right = 0
        for x, y in loader:
            right += (net(x).argmax(1) == y).sum().item()
        return right
"""

CHECKED = """
    import torch
    from checking import validate
    from net import Net

    def main(loader):
        net = Net()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(20):
            for x, y in loader:
                loss = torch.nn.functional.cross_entropy(net(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print(validate(net, loader))

    if __name__ == "__main__":
        main(rows())
"""


def test_what_is_told_where_it_is_done_is_not_told_of_those_who_call_it(tmp_path: Path) -> None:
    files = {"net.py": LAYER, "checking.py": CHECKING, "early.py": CHECKED, "late.py": CHECKED}
    assert codes(tmp_path, files) == ["checking.py: TLK202"]


REGISTRY = """
TABLE = {}
def register(name):
    def put(cls):
        TABLE[name] = cls
        return cls
    return put
def make(name):
    return TABLE[name]()
from . import small
"""

SMALL = """
from torch import nn
from . import register
@register("small")
class Small(nn.Module):
    pass
"""


@pytest.mark.parametrize("imported", ["from . import small", "from .small import Small"])
def test_an_initializer_that_its_modules_are_registered_by_stands_before_them(tmp_path: Path, imported: str) -> None:
    files = {"models/__init__.py": REGISTRY.replace("from . import small", imported), "models/small.py": SMALL}
    text = joined(
        tmp_path, {name: files[name] for name in sorted(files, reverse=imported == "from . import small")}
    ).text
    assert text.index("def register") < text.index("@register")
