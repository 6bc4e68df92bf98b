"""What a file hands to objects of other files that put it into their containers: graphs, views, copies of models."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from torchlint import check_paths

JOURNAL = """
    import torch
    from collections import deque

    class Journal:
        def __init__(self):
            self.rows = {made}
            self.at = 0

        def note(self, row, name="", *, old=None):
            {kept}

        def put(self, one):
            self.rows.append(one)

        def last(self):
            return self.rows[-1]
"""

READING = """
    import torch
    from torch import nn
    from journal import Journal

    def read(loader):
        net, journal = nn.Linear(16, 64), Journal()
        with torch.no_grad():
            for x, _ in loader:
                {per_batch}
                hidden = net(x)
                {note}
        return journal
"""


def journal(kept: str, made: str = "[]") -> str:
    return JOURNAL.format(made=made, kept=kept.replace("\n", "\n" + " " * 12))


def codes(found: list[str], code: str) -> list[str]:
    return [one for one in found if code in one]


@pytest.mark.parametrize(
    ("made", "kept", "level"),
    [
        ("[]", "self.rows.append(row)", "warning"),
        ("{}", "self.rows[name] = row", "warning"),
        ("{}", "self.rows['last'] = row", ""),
        ("deque(maxlen=8)", "self.rows.append(row)", "note"),
        ("[None] * 8", "self.rows[self.at] = row\nself.at = (self.at + 1) % 8", "note"),
        ("[]", "self.rows.append(row)\nif len(self.rows) > 8:\n    self.rows.pop(0)", ""),
    ],
)
def test_what_replaces_another_one_keeps_no_graph_for_each_step(
    tmp_path: Path, made: str, kept: str, level: str
) -> None:
    run = """
        import torch
        from torch import nn
        from journal import Journal

        def fit(loader):
            net, journal = nn.Linear(3, 1), Journal()
            optimizer = torch.optim.SGD(net.parameters(), 0.1)
            for step, (x, y) in enumerate(loader):
                loss = (net(x) - y).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                journal.note(loss, step)
            return journal
    """
    project = Project(tmp_path, {"journal.py": journal(kept, made), "run.py": run})
    assert codes(project.found(), "TLK105") == ([f"run.py: TLK105 {level}"] if level else [])


@pytest.mark.parametrize(
    ("kept", "note", "leaks"),
    [
        ("self.rows.append(row)", "journal.note(hidden[:, :4])", True),
        ("self.rows.append(row)", "journal.note(row=hidden[:, :4])", True),
        ("self.rows.append((name, row))", "journal.note(hidden.narrow(1, 0, 4))", True),
        ("self.rows.append({'row': row})", "journal.note(hidden[:, :4])", True),
        ("self.put(row)", "journal.note(hidden[:, :4])", True),
        ("self.rows.append(old)", "journal.note(hidden, old=hidden[:, :4])", True),
        ("self.rows.append(row[:, :4])", "journal.note(hidden)", True),
        ("self.rows.append((name, row[:, :4].detach()))", "journal.note(hidden)", True),
        ("first = row.narrow(1, 0, 4)\nself.put(first)", "journal.note(hidden)", True),
        ("self.rows.append(row[:, :4].clone())", "journal.note(hidden)", False),
        ("self.rows.append(row[:, :4].cpu())", "journal.note(hidden)", False),
        ("self.rows.append(row[:, :4])\nself.rows.append(row)", "journal.note(hidden)", False),
        ("self.rows.append(row)", "journal.note(hidden[:, :4].clone())", False),
        ("self.rows.append(row)", "journal.note(hidden)", False),
        ("self.rows.append(row.clone())", "journal.note(hidden[:, :4])", False),
        ("self.rows.append(row.cpu())", "journal.note(hidden[:, :4])", False),
        ("self.rows.append(row.tolist())", "journal.note(hidden[:, :4])", False),
        ("self.rows.append(row.numpy().copy())", "journal.note(hidden[:, :4])", False),
        ("self.rows = row", "journal.note(hidden[:, :4])", False),
        ("print(row)", "journal.note(hidden[:, :4])", False),
        ("self.rows.append(row)\nself.rows.append(old)", "journal.note(hidden[:, :4], old=hidden)", False),
        ("self.rows.append(row)", "journal.note(hidden[:, :4]); journal.note(hidden[:, 4:8])", False),
    ],
)
def test_a_view_that_an_object_of_another_file_keeps(tmp_path: Path, kept: str, note: str, leaks: bool) -> None:
    project = Project(tmp_path, {"journal.py": journal(kept), "run.py": READING.format(per_batch="pass", note=note)})
    assert codes(project.found(), "TLK402") == (["run.py: TLK402 error"] if leaks else [])


@pytest.mark.parametrize(
    ("kept", "note", "leaks"),
    [
        ("for one in row:\n    self.rows.append(one[0])", "journal.note(hidden)", True),
        ("for key, one in enumerate(row):\n    self.rows.append((key, one[:4]))", "journal.note(hidden)", True),
        ("for one in row:\n    self.rows.append(one)", "journal.note(hidden)", False),
        ("for one in row:\n    self.rows.append(one[0].clone())", "journal.note(hidden)", False),
        ("for one in row:\n    self.rows.append(one[0])", "journal.note([hidden, hidden + 1])", True),
        ("for one in row:\n    self.rows.append(one[0])", "journal.note(x.tolist())", False),
    ],
)
def test_a_part_of_each_row_that_an_object_of_another_file_keeps(
    tmp_path: Path, kept: str, note: str, leaks: bool
) -> None:
    project = Project(tmp_path, {"journal.py": journal(kept), "run.py": READING.format(per_batch="pass", note=note)})
    assert set(codes(project.found(), "TLK402")) == ({"run.py: TLK402 error"} if leaks else set())


ROWS = "for key, one in enumerate(name):\n    self.rows.append((one, row[key]))"
PAIRS = "for one, vector in zip(name, row):\n    self.rows.append((one, vector))"
ITEMS = "for vector in row:\n    self.rows.append(vector)"


@pytest.mark.parametrize(
    ("kept", "note", "leaks"),
    [
        (ROWS, "journal.note(hidden[:, :4], name=y)", True),
        (ROWS, "journal.note(hidden, name=y)", False),
        (ROWS.replace("row[key]", "row[key].clone()"), "journal.note(hidden[:, :4], name=y)", False),
        (ROWS, "journal.note(hidden[:, :4].clone(), name=y)", False),
        (ROWS, "journal.note(hidden[:, :4], name=y); journal.note(hidden, name=y)", False),
        (ROWS, "journal.note(hidden[:, :4], name=y); journal.note(hidden[:, 4:8], name=y)", False),
        (PAIRS, "journal.note(hidden[:, :4], name=y)", True),
        (PAIRS, "journal.note(hidden, name=y)", False),
        (ITEMS, "journal.note(hidden[:, :4])", True),
        (ITEMS, "journal.note(hidden)", False),
        (ITEMS.replace("append(vector)", "append(vector.tolist())"), "journal.note(hidden[:, :4])", False),
    ],
)
def test_rows_of_a_part_that_an_object_of_another_file_keeps(tmp_path: Path, kept: str, note: str, leaks: bool) -> None:
    project = Project(tmp_path, {"journal.py": journal(kept), "run.py": READING.format(per_batch="pass", note=note)})
    assert set(codes(project.found(), "TLK402")) == ({"run.py: TLK402 error"} if leaks else set())


def test_the_part_is_to_be_copied_where_it_is_taken(tmp_path: Path) -> None:
    reading = READING.format(per_batch="pass", note="journal.note(hidden)")
    project = Project(tmp_path, {"journal.py": journal("self.rows.append(row[:, :4])"), "run.py": reading})
    (found,) = (one for one in check_paths([project.folder / "run.py"]) if one.code == "TLK402")
    assert found.repair is None
    assert "have `journal.note` store a copy of the part" in found.message


def test_a_view_that_goes_into_a_tensor_of_another_file_is_copied(tmp_path: Path) -> None:
    text = journal("self.rows[self.at] = row\nself.at += 1", "torch.zeros(1000, 4)")
    note = "journal.note(hidden[0, :4])"
    project = Project(tmp_path, {"journal.py": text, "run.py": READING.format(per_batch="pass", note=note)})
    assert codes(project.found(), "TLK402") == []


def test_a_journal_of_each_batch_keeps_one_view(tmp_path: Path) -> None:
    reading = READING.format(per_batch="journal = Journal()", note="journal.note(hidden[:, :4])")
    project = Project(tmp_path, {"journal.py": journal("self.rows.append(row)"), "run.py": reading})
    assert codes(project.found(), "TLK402") == []


TRAINING = """
    import copy
    import torch
    from torch import nn
    from journal import Journal
    {imports}

    def fit(loader):
        net, journal, rows = nn.Linear(16, 64), Journal(), []
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for step, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            {each}
        return journal, rows
"""


@pytest.mark.parametrize(
    ("kept", "note", "leaks"),
    [
        ("self.rows.append(row)", "journal.note(copy.deepcopy(net))", True),
        ("self.rows.append({'n': name, 'row': row})", "journal.note(copy.deepcopy(net.state_dict()), step)", True),
        ("self.rows[name] = row", "weights = copy.deepcopy(net); journal.note(weights, name=step)", True),
        ("self.rows.append(row)", "journal.note({'loss': loss.item(), 'net': copy.deepcopy(net)})", True),
        ("self.rows.append(row)", "journal.note([p.detach().clone() for p in net.parameters()])", True),
        ("self.rows.append(row)", "journal.note(net)", False),
        ("self.rows.append(row)", "journal.note(net.state_dict())", False),
        ("self.rows.append(row)", "journal.note(copy.deepcopy(net).cpu())", False),
        ("self.rows.append(row.cpu())", "journal.note(copy.deepcopy(net))", False),
        ("self.rows.append(len(row))", "journal.note(copy.deepcopy(net.state_dict()))", False),
        ("self.rows['best'] = row", "journal.note(copy.deepcopy(net))", False),
        ("self.rows.append(row)\nself.rows = self.rows[-3:]", "journal.note(copy.deepcopy(net))", False),
        ("self.rows.append(row)\nself.rows.pop(0)", "journal.note(copy.deepcopy(net))", False),
    ],
)  # fmt: skip
def test_copies_that_an_object_of_another_file_collects(tmp_path: Path, kept: str, note: str, leaks: bool) -> None:
    files = {"journal.py": journal(kept), "run.py": TRAINING.format(imports="", each=note)}
    assert codes(Project(tmp_path, files).found(), "TLK405") == (["run.py: TLK405 error"] if leaks else [])


@pytest.mark.parametrize(
    ("returned", "each", "leaks"),
    [
        ("copy.deepcopy(net.state_dict())", "rows.append(frozen(net))", True),
        ("copy.deepcopy(net)", "rows.append(frozen(net))", True),
        ("copy.deepcopy(net).eval().requires_grad_(False)", "rows.append(frozen(net))", True),
        ("{k: v.detach().clone() for k, v in net.state_dict().items()}", "rows.append(frozen(net))", True),
        ("_taken(net)", "rows.append((loss.item(), frozen(net)))", True),
        ("_filled(net)", "rows.append(frozen(net))", True),
        ("copy.deepcopy(net)", "journal.note(frozen(net))", True),
        ("copy.deepcopy(net)", "rows.append(frozen(float(loss)))", False),
        ("copy.deepcopy(net)", "rows.append(frozen({'loss': loss.item()}))", False),
        ("copy.deepcopy(net)", "rows.append(frozen(net).cpu())", False),
        ("copy.deepcopy(net).cpu()", "rows.append(frozen(net))", False),
        ("{k: v.cpu().clone() for k, v in net.state_dict().items()}", "rows.append(frozen(net))", False),
        ("net.state_dict()", "rows.append(frozen(net))", False),
        ("copy.deepcopy(net)", "rows = [frozen(net)]", False),
    ],
)
def test_copies_that_a_helper_of_another_file_makes(tmp_path: Path, returned: str, each: str, leaks: bool) -> None:
    helper = f"""
        import copy

        def _taken(net):
            return copy.deepcopy(net.state_dict())

        def _filled(net):
            state = {{}}
            for name, tensor in net.state_dict().items():
                state[name] = tensor.clone()
            return state

        def frozen(net):
            return {returned}
    """
    run = TRAINING.format(imports="from weights import frozen", each=each)
    files = {"weights.py": helper, "journal.py": journal("self.rows.append(row)"), "run.py": run}
    assert codes(Project(tmp_path, files).found(), "TLK405") == (["run.py: TLK405 error"] if leaks else [])


CUTTING = """
    import torch

    def cut(maps, size=4, *, at=0):
        return {returned}

    def shown(maps):
        return _corner(maps).squeeze(0)

    def _corner(maps):
        return maps[:, :4]
"""

CUT = """
    import torch
    from torch import nn
    import cutting

    def read(loader):
        net, rows = {net}, []
        with torch.no_grad():
            for x, _ in loader:
                rows.append({row})
        return rows
"""


@pytest.mark.parametrize(
    ("returned", "row", "leaks"),
    [
        ("maps.narrow(1, 0, 4)", "cutting.cut(net(x))", True),
        ("maps[:, :4].squeeze()", "cutting.cut(size=2, maps=net(x))", True),
        ("maps.detach().chunk(2)[0]", "cutting.cut(net(x))", True),
        ("maps[-1]", "cutting.cut(net(x))", True),
        ("maps[:, 0]", "cutting.cut(net(x))", True),
        ("maps.detach()", "cutting.cut(net(x))[:, :4]", True),
        ("maps", "cutting.shown(net(x))", True),
        ("maps[:, :4]", "(cutting.cut(net(x)), 3)", True),
        ("maps.narrow(1, 0, 4).clone()", "cutting.cut(net(x))", False),
        ("maps[:, :4]", "cutting.cut(net(x)).clone()", False),
        ("maps[:, :4]", "cutting.cut(net(x)).sum(1)", False),
        ("maps[[0, 1]]", "cutting.cut(net(x))", False),
        ("maps[at]", "cutting.cut(net(x), at=x.argmax())", False),
        ("maps[:, at:size]", "cutting.cut(net(x))", False),
        ("maps.detach()", "cutting.cut(net(x))", False),
        ("maps[:, :4].cpu()", "cutting.cut(net(x))", False),
        ("maps[-1]", "cutting.cut([net(x), net(x + 1)])", False),
        ("maps[-1]", "cutting.cut(x.tolist())", False),
    ],
)
def test_a_helper_of_another_file_gives_a_view(tmp_path: Path, returned: str, row: str, leaks: bool) -> None:
    run = CUT.format(net="nn.Linear(16, 64)", row=row)
    project = Project(tmp_path, {"cutting.py": CUTTING.format(returned=returned), "run.py": run})
    assert codes(project.found("run.py"), "TLK402") == (["run.py: TLK402 error"] if leaks else [])


@pytest.mark.parametrize(
    ("returned", "leaks"),
    [("self.outer(torch.tanh(self.inner(x)))", True), ("self.inner(x), x", False), ("[self.inner(x), x]", False)],
)
def test_a_network_of_another_file_gives_a_tensor_or_several(tmp_path: Path, returned: str, leaks: bool) -> None:
    net = f"""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.outer = nn.Linear(16, 16), nn.Linear(16, 64)

            def forward(self, x):
                return {returned}
    """
    run = "    from net import Net" + CUT.format(net="Net()", row="net(x)[-1]").replace("import cutting", "pass")
    found = Project(tmp_path, {"net.py": net, "run.py": run}).found("run.py")
    assert codes(found, "TLK402") == (["run.py: TLK402 error"] if leaks else [])


@pytest.mark.parametrize(
    ("returned", "row", "leaks"),
    [
        ("out.float().cpu(), len(x)", "maps[0, :4]", True),
        ("out + 1, out.cpu()", "more[0, :4]", True),
        ("out.float().cpu(), len(x)", "maps[0, :4].clone()", False),
        ("out.tolist(), len(x)", "maps[0]", False),
        ("[out, out], len(x)", "maps[0]", False),
    ],
)
def test_a_helper_of_another_file_gives_a_tensor_beside_others(
    tmp_path: Path, returned: str, row: str, leaks: bool
) -> None:
    encode = f"""
        import torch
        from torch import nn

        net = nn.Linear(16, 64)

        @torch.no_grad()
        def encode(x):
            out = net(x)
            return {returned}
    """
    run = f"""
        import torch
        from encode import encode

        def read(loader: torch.utils.data.DataLoader):
            rows = []
            for x in loader:
                maps, more = encode(x)
                rows.append({row})
            return rows
    """
    found = Project(tmp_path, {"encode.py": encode, "run.py": run}).found("run.py")
    assert bool(codes(found, "TLK402")) is leaks


@pytest.mark.parametrize(
    ("returned", "kept", "leaks"),
    [
        ("net(x)[:, :4]", "rows.append(encode(x))", True),
        ("net(x)[:, :4]", "rows.extend(row for row in encode(x))", True),
        ("net(x)[:, :4]", "for row in encode(x): rows.append(row)", True),
        ("net(x)[:, :4].clone()", "rows.append(encode(x))", False),
        ("net(x)[:, :4].cpu()", "rows.append(encode(x))", False),
        ("net(x)", "for row in encode(x): rows.append(row)", False),
        ("net(x[None])[0]", "rows.append(encode(x))", False),
        ("net(x)[:, :4]", "rows.append(encode(x).norm(dim=1))", False),
    ],
)
def test_a_function_of_another_file_gives_a_part_of_what_it_makes(
    tmp_path: Path, returned: str, kept: str, leaks: bool
) -> None:
    encode = f"""
        import torch
        from torch import nn

        net = nn.Linear(16, 64)

        @torch.no_grad()
        def encode(x):
            return {returned}
    """
    run = f"""
        import torch
        from encode import encode

        def read(loader: torch.utils.data.DataLoader):
            rows = []
            for x in loader:
                {kept}
            return rows
    """
    found = Project(tmp_path, {"encode.py": encode, "run.py": run}).found("run.py")
    assert bool(codes(found, "TLK402")) is leaks
