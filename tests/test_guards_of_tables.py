"""Who calls what stands in a table, in other files: with gradients off, with gradients on, or nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects import Project

JUDGE = """
import torch
{before}

{decorator}
def judge(net, loader):
    net.eval()
    return sum((net(x).argmax(1) == y).sum().item() for x, y in loader)

{after}
"""

USE = """
import torch
from torch import nn
{imports}

def run(loader, chosen):
    net = nn.Linear(3, 3)
    {made}
    {guard}:
        print({called})
"""

REGISTRAR = """
TABLE = {}

def put(name):
    def inner(function):
        TABLE[name] = function
        return function
    return inner
"""

KEEPER = """
class Keeper:
    def __init__(self):
        self.known = {}

    def put(self, name):
        def inner(function):
            self.known[name] = function
            return function
        return inner

    def get(self, name):
        return self.known[name]

TABLE = Keeper()
"""

OFF, OPEN = "with torch.no_grad()", "if chosen"

FILLED = [
    {"before": "TABLE = {}\ndef put(f):\n    TABLE[f.__name__] = f\n    return f", "decorator": "@put"},
    {"before": REGISTRAR, "decorator": "@put('judge')"},
    {"before": KEEPER, "decorator": "@TABLE.put('judge')"},
    {"after": "TABLE = {'judge': judge}"},
    {"after": "TABLE = dict(judge=judge)"},
    {"after": "TABLE = {}\nTABLE['judge'] = judge"},
    {"after": "TABLE = {}\nTABLE.update(judge=judge)"},
    {"after": "TABLE = {'judge': lambda net, loader: judge(net, loader)}"},
    {"before": "from functools import partial", "after": "TABLE = {'judge': partial(judge)}"},
]

TAKEN = [
    {"called": "TABLE[chosen](net, loader)"},
    {"called": "TABLE.get(chosen)(net, loader)"},
    {"called": "[TABLE[name](net, loader) for name in ('judge', 'other')]"},
    {"made": "judged = TABLE[chosen]", "called": "judged(net, loader)"},
    {"made": "some = {name: TABLE[name] for name in chosen}", "called": "[f(net, loader) for f in some.values()]"},
]

BY_NAME = {"imports": "from judging import judge", "called": "judge(net, loader)"}


def files(filled: dict[str, str], taken: dict[str, str], guard: str = OFF) -> dict[str, str]:
    judge = JUDGE.format(**{"before": "", "decorator": "", "after": "", **filled})
    use = {"imports": "from judging import TABLE", "made": "pass", "called": "0", "guard": guard, **taken}
    return {"judging.py": judge, "use.py": USE.format(**use)}


@pytest.mark.parametrize("filled", FILLED)
@pytest.mark.parametrize(("guard", "found"), [(OFF, []), (OPEN, ["judging.py: TLK201 warning"])])
def test_a_guard_around_the_call_of_an_item_counts_however_it_came_into_the_table(
    tmp_path: Path, filled: dict[str, str], guard: str, found: list[str]
) -> None:
    assert Project(tmp_path, files(filled, TAKEN[0], guard)).found()[:1] == found


@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize(("guard", "found"), [(OFF, []), (OPEN, ["judging.py: TLK201 warning"])])
def test_a_guard_around_the_call_of_an_item_counts_however_it_is_taken_out(
    tmp_path: Path, taken: dict[str, str], guard: str, found: list[str]
) -> None:
    assert Project(tmp_path, files(FILLED[0], taken, guard)).found()[:1] == found


@pytest.mark.parametrize(
    ("imports", "called"),
    [
        ("from judging import TABLE as JUDGES", "JUDGES[chosen](net, loader)"),
        ("import judging", "judging.TABLE[chosen](net, loader)"),
    ],
)
@pytest.mark.parametrize(("guard", "found"), [(OFF, []), (OPEN, ["judging.py: TLK201 warning"])])
def test_a_table_has_other_names_where_it_is_imported(
    tmp_path: Path, imports: str, called: str, guard: str, found: list[str]
) -> None:
    taken = {"imports": imports, "called": called}
    assert Project(tmp_path, files(FILLED[0], taken, guard)).found()[:1] == found


@pytest.mark.parametrize("table", [REGISTRAR, KEEPER])
@pytest.mark.parametrize(("guard", "found"), [(OFF, []), (OPEN, ["judging.py: TLK201 warning"])])
def test_a_table_stands_in_a_third_file(tmp_path: Path, table: str, guard: str, found: list[str]) -> None:
    decorator = "@tables.put('judge')" if table == REGISTRAR else "@tables.TABLE.put('judge')"
    taken = {"imports": "import judging\nfrom tables import TABLE", "called": "TABLE.get(chosen)(net, loader)"}
    written = files({"before": "import tables", "decorator": decorator}, taken, guard)
    assert Project(tmp_path, {**written, "tables.py": table}).found()[:1] == found


@pytest.mark.parametrize(
    ("returning", "found"),
    [
        ("def all_of_them():\n    return {'judge': judge}", []),
        ("def scores(net, rows):\n    judge = len(rows)\n    return {'judge': judge}", ["judging.py: TLK201 warning"]),
        ("def scores(judge):\n    return [judge]", ["judging.py: TLK201 warning"]),
    ],
)
def test_what_a_function_binds_itself_is_none_of_the_functions_of_the_file(
    tmp_path: Path, returning: str, found: list[str]
) -> None:
    assert Project(tmp_path, files({"after": returning}, {})).found()[:1] == found


@pytest.mark.parametrize("filled", FILLED[:-2])
def test_nobody_knows_who_calls_what_is_put_into_a_table_and_nowhere_taken_out(
    tmp_path: Path, filled: dict[str, str]
) -> None:
    project = Project(tmp_path, files(filled, {}))
    assert project.found()[:1] == []
    assert project.found("judging.py") == []


@pytest.mark.parametrize(
    ("filled", "taken", "found"),
    [
        ({}, {}, ["warning"]),  # a function that nobody calls, and that stands in no table, is told
        ({"after": "TABLE = {'judge': judge.__name__}"}, {}, ["warning"]),
        ({"after": "TABLE = {'judge': torch.no_grad()(judge)}"}, {"guard": OPEN, **TAKEN[0]}, []),
        (FILLED[3], BY_NAME, []),
        (
            FILLED[3],
            {**BY_NAME, "guard": OPEN},
            ["warning"],
        ),
    ],
)
def test_what_counts_for_a_table(
    tmp_path: Path, filled: dict[str, str], taken: dict[str, str], found: list[str]
) -> None:
    assert Project(tmp_path, files(filled, taken)).found()[:1] == [f"judging.py: TLK201 {level}" for level in found]


def test_a_table_that_is_called_both_ways_is_told_as_a_note(tmp_path: Path) -> None:
    guarded, is_open = files(FILLED[0], TAKEN[0], OFF), files(FILLED[0], TAKEN[0], OPEN)
    assert Project(tmp_path, {**guarded, "other.py": is_open["use.py"]}).found()[:1] == ["judging.py: TLK201 note"]


DISPATCH = "\ndef dispatch(name, *given):\n    return TABLE[name](*given)\n"


@pytest.mark.parametrize("is_own", [True, False])
@pytest.mark.parametrize(("guard", "found"), [(OFF, []), (OPEN, ["judging.py: TLK201 warning"])])
def test_who_calls_the_function_that_calls_out_of_a_table_guards_it(
    tmp_path: Path, is_own: bool, guard: str, found: list[str]
) -> None:
    called = {"called": "dispatch(chosen, net, loader)"}
    if is_own:
        taken = {"imports": f"from judging import TABLE\n{DISPATCH}", **called}
        written = files(FILLED[0], taken, guard)
    else:
        taken = {"imports": "import judging\nfrom tables import dispatch", **called}
        written = files({"before": "from tables import put", "decorator": "@put('judge')"}, taken, guard)
        written["tables.py"] = REGISTRAR + DISPATCH
    assert Project(tmp_path, written).found()[:1] == found


def test_a_function_that_is_only_called_in_a_guard_guards_what_it_calls(tmp_path: Path) -> None:
    report = "from judging import judge\n\ndef report(net, loader):\n    return judge(net, loader)\n"
    taken = {"imports": report, "called": "report(net, loader)"}
    assert Project(tmp_path / "guarded", files({}, taken)).found()[:1] == []
    taken["made"] = "report(net, loader)"
    assert Project(tmp_path / "both", files({}, taken)).found()[:1] == ["judging.py: TLK201 warning"]
    taken["made"] = "print(map(report, chosen))"
    assert Project(tmp_path / "handed", files({}, taken)).found()[:1] == ["judging.py: TLK201 warning"]


JUDGES = """
import torch

class Judge:
    def __call__(self, net, loader):
        net.eval()
        return sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
"""


@pytest.mark.parametrize(
    "taken",
    [
        {"made": "judge = Judge()", "called": "judge(net, loader)"},
        {"called": "Judge()(net, loader)"},
        {"made": "judges = [Judge(), Judge()]", "called": "[judge(net, loader) for judge in judges]"},
    ],
)
@pytest.mark.parametrize(("guard", "found"), [(OFF, []), (OPEN, ["judging.py: TLK201 warning"])])
def test_a_guard_around_the_call_of_an_object_counts(
    tmp_path: Path, taken: dict[str, str], guard: str, found: list[str]
) -> None:
    written = files({}, {"imports": "from judging import Judge", **taken}, guard)
    assert Project(tmp_path, {**written, "judging.py": JUDGES}).found("judging.py", "use.py")[:1] == found
