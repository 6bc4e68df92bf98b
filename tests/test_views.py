"""Views of tensors: what is a part of another tensor's memory, and what is kept with it."""

from __future__ import annotations

import pytest
from programs import HEAD, Program

from torchlint import check_source
from torchlint.facts.keeping.views import Views

MADE = """
net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4))
one = nn.Linear(3, 1)
bert = transformers.AutoModel.from_pretrained("bert")
rnn = nn.GRU(3, 4)
enc = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2), 1)
conv = nn.Conv1d(3, 4, 1)
mask = torch.tensor([True, False])
def end(h, which):
    match which:
        case "first":
            return h[0, 0]
        case "last":
            return h[0, -1]
        case _:
            raise ValueError(which)
def middle(h, which):
    match which:
        case "some":
            return h[:, 1]
        case other if other:
            return h.mean(1)
def numbers(text):
    return torch.tensor([[ord(one) for one in text]])
for x, y in DataLoader(data):
    h = net(x)
    print({expression})
"""


def view(expression: str) -> str:
    """What is said of an expression: "own" memory, a "part" of other memory, "perhaps" one."""
    program = Program(MADE.format(expression=expression), head=HEAD + "import transformers\n")
    views = Views(program.facts.solution, program.facts.steps)
    found = views.of(program.shown())
    if found is None:
        return "own"
    return "part" if found.surely_smaller else "perhaps"


@pytest.mark.parametrize(
    "expression",
    [
        "h[0]", "h[:2]", "h[-1:]", "h[:, 1]", "h[0, :2]", "h[..., 2]", "h[0].detach()", "h.detach()[0].view(2, 2)",
        "h.select(0, 1)", "torch.narrow(h, 0, 0, 1)", "h.chunk(2)[0]", "torch.split(h, 2)[0]", "h.T[0]", "h[::2]",
        "h.softmax(1)[:, 0]", "rnn(x)[0][:, -1]", "h.cpu()[0]",
        "h[len(x):][0]", "h[len(x):].narrow(0, 0, 1)", "h[:len(y), 1]", "bert(x).states[:, 2]",
        "bert(x)['states'][:, 1]",
        "bert(x).layers[2][:, 1]", "bert(x).last_hidden_state[:, 0]", "bert(x).last_hidden_state[:, 0, :].squeeze(0)",
        "h[int(y.argmax())]", "h[y.argmax().item()]", "h[:, len(y) // 2 - 1]",
        "enc(x[None])[0, -1]", "enc(x.unsqueeze(0)).cpu()[0, 0, :]", "conv(x[None])[0, 2]",
        "h[:, h.size(1) // 2]", "h[:, h.shape[1] - 1]",
        "h[:, 1] if late else h[0]", "end(h, late)",
    ],
)  # fmt: skip
def test_a_part_keeps_all_of_it(expression: str) -> None:
    assert view(expression) == "part"


@pytest.mark.parametrize(
    "expression",
    [
        "h", "h[:]", "h.detach()", "h[0].clone()", "h[mask]", "h[[0, 1]]", "h[h > 0]", "h[:, 0] + 1", "h[0].cpu()",
        "h[1:]", "h[:-1]", "h[None]", "one(x)[:, 0]", "net(x[None])[0]", "h.mean(0)", "'a,b'.split(',')[0]",
        "h[len(y):-len(x)]", "h[..., len(y) : h.shape[-1] - len(x)]", "h[:, len(y) : h.size(1) - len(x)]",
        "h[:len(y)]", "h[len(y):]", "h[len(x):][:len(y)]", "unknown(x)[0]", "bert(x).states", "bert(x).layers[2]",
        "bert(x).states[0]", "net(x).shape[0]", "bert(x).states.mean(1)[:, None]", "bert(x).states[:, mask]",
        "enc(x[None])[0]", "enc(x[None])[0, 1:]", "net(x[None])[0, 1]", "enc(x[None]).mean(1)[0, 1]",
        "h.numpy()[0]", "h.detach().cpu().numpy()[:, 1]",
        "h[y]", "h[unknown(y)]",
        "[h[i.item()] for i in y][0]", "h[int(y.max())].clone()",
        "h[0] if late else net(x)[0]",
    ],
)  # fmt: skip
def test_what_has_memory_of_its_own_or_may_have(expression: str) -> None:
    assert view(expression) == "own"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("torch.tensor([ids])", "own"),
        ("torch.tensor([[3, 1, 2]], device=y.device)", "own"),
        ("torch.zeros(1, 3)", "own"),
        ("torch.zeros((1, 3)).to(y.device)", "own"),
        ("torch.stack([x[0]])", "own"),
        ("ids.view(1, -1)", "own"),
        ("numbers(ids)", "own"),
        ("tokenizer(text, return_tensors='pt')", "own"),
        ("torch.zeros(2, 3)", "part"),
        ("torch.tensor([ids, ids])", "part"),
        ("torch.tensor([i for i in ids])", "part"),
        ("ids.view(-1, 3)", "part"),
    ],
)
def test_the_first_row_of_one_is_all_of_it(given: str, told: str) -> None:
    assert view(f"net({given}).softmax(-1)[0]") == told
    assert view(f"bert({given}).last_hidden_state[0]") == told


@pytest.mark.parametrize(
    ("bound", "told"),
    [
        ("FEW", "part"),
        ("few", "part"),
        ("self.few", "part"),
        ("many", "own"),
        ("any", "own"),
        ("told", "part"),
        ("self.many", "own"),
    ],
)
def test_a_slice_ends_at_a_number_that_is_known(bound: str, told: str) -> None:
    body = f"""FEW = 20
class Probe:
    def __init__(self, net: nn.Module, many):
        self.net, self.few, self.many = net, 4, many
    def run(self, x, many, told, few=3):
        any = self.other(x)
        h = torch.softmax(self.net(x), -1)
        print(h[:{bound}])
    def both(self, x):
        self.run(x, len(x), FEW)
    def other(self, x, most=2):
        return len(x)
"""
    program = Program(body, head=HEAD)
    found = Views(program.facts.solution, program.facts.steps).of(program.shown())
    assert ("own" if found is None else "part") == told


def test_a_column_of_what_may_have_only_one() -> None:
    assert view("unknown(x)[:, 0]") == "perhaps"
    assert view("unknown(x)[:, 1]") == "part"


@pytest.mark.parametrize("expression", ["h[:, 1] if late else h.mean(1)", "middle(h, late)"])
def test_what_is_a_part_in_one_case_and_new_in_another(expression: str) -> None:
    assert view(expression) == "perhaps"


def test_a_window_may_be_nearly_all_of_it() -> None:
    assert view("h[len(x):len(y)]") == "perhaps"
    assert view("h[:, len(x):len(y)]") == "perhaps"
    assert view("h[..., len(x):len(y)]") == "perhaps"
    assert view("h[0, len(x):len(y)]") == "part"


def test_window_after_window_they_are_all_of_it() -> None:
    assert view("[h[i:i + len(x)] for i in y][0]") == "own"


SOUNDS = """
import torchaudio
def heard(path):
    wave, rate = torchaudio.load(path)
    {made}
    return wave.mean(0)
def collect(folder):
    kept = []
    for path in sorted(Path(folder).rglob("*.wav")):
        wave = heard(path)
        {taken}
    return kept
"""


@pytest.mark.parametrize(
    ("made", "taken", "count"),
    [
        ("pass", "kept.append(wave[:16000])", 1),
        ("wave = torchaudio.functional.resample(wave, rate, 8000)", "kept.append(wave[:16000])", 1),
        ("pass", "at = int(wave.argmax())\n        kept.append(wave[at:at + 99])", 1),
        ("pass", "for at in range(0, len(wave), 99):\n            kept.append(wave[at:at + 99])", 0),
        ("wave = [wave, rate]", "kept.append(wave[:16000].clone())", 0),
    ],
)
def test_a_piece_of_what_is_heard_keeps_all_of_it(made: str, taken: str, count: int) -> None:
    source = "from pathlib import Path\n" + SOUNDS.format(made=made, taken=taken)
    assert len(Program(source).facts.kept_views) == count


KEPT = """
LAYERS = (3, 6)
bert = transformers.AutoModel.from_pretrained("bert")
def run(loader, net):
    net.eval()
    table = torch.rand(9, 9)
    kept, rest = [], []
    for x, y in loader:
        h = net(x).detach()
        {body}
    return kept, rest
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("kept.append(h[:, 1])", 1),
        ("kept.append((h[:, 1], y))", 1),
        ("torch.save(h[:, 1], 'h.pt')", 1),
        ("torch.save(h[:y], 'h.pt')", 1),
        ("torch.save(h[:len(y)], 'h.pt')", 0),
        ("for i in range(0, len(h), 4):\n            torch.save({'rows': h[i : i + 4]}, f'{i}.pt')", 1),
        ("for i in range(0, len(h), 4):\n            torch.save(h[i : i + 4].clone(), f'{i}.pt')", 0),
        ("for i in range(0, len(y), 4):\n            torch.save(y[i : i + 4], f'{i}.pt')", 0),
        ("for i in range(0, len(h), 4):\n            kept.append(h[i : i + 4])", 0),
        ("kept.append(h)\n        rest.append(h[:, 1])", 0),
        ("a, b = h.chunk(2)\n        kept.append(a)\n        rest.append(b)", 0),
        ("kept.append(table[:, 1])", 0),
        ("for row in h:\n            kept.append(row)", 0),
        ("kept.append(h[:, 0])\n        rest.append(h[:, 1])", 0),
        ("kept.append(h[:, 1])\n        rest.append(h[:, 1])", 2),
        ("kept.append(bert(x).states[:, 1].detach())", 1),
        ("out = bert(x)\n        kept.append(out)\n        rest.append(out.states[:, 1].detach())", 0),
        ("out = bert(x)\n        kept.append(out.states)\n        rest.append(out.states[:, 1].detach())", 0),
        ("for n in LAYERS:\n            kept.append(bert(x).layers[n][:, 1].detach())", 1),
        ("for n, h in enumerate(bert(x).layers):\n            rest.append(h[:, 1].detach())", 1),
        ("for n in range(int(y[0])):\n            kept.append(table[n][:, 1])", 0),
        ("kept.append(torch.where(y == 1)[0][:-1])", 0),
        ("kept.append(y.nonzero(as_tuple=True)[0][:-1])", 0),
        ("kept.append(torch.relu(h)[0])", 1),
        ("kept.append(torch.relu(h[3:4])[0])", 0),
        ("for i in range(len(y)):\n            kept.append(torch.relu(h[i : i + 1])[0])", 0),
        ("for i in range(len(y)):\n            kept.append(h[:, 1][i])", 1),
        ("first = h[:, 1].clone()\n        for i in range(len(y)):\n            kept.append(first[i])", 0),
        ("for i in range(len(y)):\n            kept.append(table[:, 1][i])", 0),
        ("kept = [h[:, 1]]", 0),
        ("kept.append(h[:, 1])\n        kept.clear()", 0),
    ],
)
def test_a_part_that_outlives_its_turn(body: str, expected: int) -> None:
    assert len(Program(KEPT.format(body=body), head=HEAD + "import transformers\n").facts.kept_views) == expected


BY_CONTENT = """
def onsets(h, size):
    starts = []
    for k in {chosen}:
        starts.append(k * size)
    return starts
@torch.no_grad()
def run(data, size):
    kept = []
    for x in DataLoader(data):
        h = net(x)
        if len(x) > 4:
            h = torch.relu(h)
        for start in onsets(h, size):
            stop = start + size
            kept.append({part})
    return kept
"""


@pytest.mark.parametrize(
    ("chosen", "part", "expected"),
    [
        ("(h.mean(1) > 0).nonzero().flatten().tolist()", "h[start:stop]", 1),
        ("h.mean(1).topk(3).indices.tolist()", "h[start:stop]", 1),
        ("range(0, len(h), 4)", "h[start:stop]", 0),
        ("torch.argsort(h.mean(1)).tolist()", "h[start:stop]", 0),
        ("(h.mean(1) > 0).nonzero().flatten().tolist()", "h[start:stop].clone()", 0),
    ],
)
def test_windows_that_the_content_picks_are_not_all_of_it(chosen: str, part: str, expected: int) -> None:
    source = f"net = nn.Linear(3, 5)\n{BY_CONTENT.format(chosen=chosen, part=part)}"
    assert len(Program(source, head=HEAD).facts.kept_views) == expected


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [("h.mean(1).topk(3).indices.tolist()", 1), ("range(0, len(h), 4)", 0), ("self.starts", 0)],
)
@pytest.mark.parametrize("goes_over", ["start in sorted({})", "number, start in enumerate({})"])
def test_windows_that_a_method_picks_of_what_each_call_reads(chosen: str, expected: int, goes_over: str) -> None:
    source = f"""
import torchaudio
class Bank:
    def __init__(self, starts, size):
        self.starts, self.size, self.clips = starts, size, []
    def add(self, path):
        wave, rate = torchaudio.load(path)
        h = wave.mean(0)
        for {goes_over.format(chosen)}:
            self.clips.append(h[start : start + self.size])
def fill(paths, starts):
    bank = Bank(starts, 16)
    for path in paths:
        bank.add(path)
    return bank
"""
    assert len(Program(source).facts.kept_views) == expected


@pytest.mark.parametrize(
    ("items", "expected"), [("DataLoader(data)", 1), ("paths", 0), ("groups.items()", 0), ("range(int(top))", 0)]
)
def test_only_what_brings_data_keeps_much(items: str, expected: int) -> None:
    source = f"""
def run(data, paths, groups, top):
    kept = []
    for item in {items}:
        h = torch.tensor(item) * 2
        kept.append(h[:, 1])
    return torch.cat(kept)
"""
    assert len(Program(source).facts.kept_views) == expected


PICKED = """
def pick(rows, at):
    return rows[at]

class Memory:
    def __init__(self, most):
        self.most, self.rows = most, dict()
    def put(self, number, row):
        {full}
        self.rows[number] = row

def run(loader, net):
    net.eval()
    memory = Memory(int(input()))
    for number, (x, y) in enumerate(loader):
        h = net(x).detach() * 2
        memory.put(number, pick(h, {at}))
"""


@pytest.mark.parametrize(
    ("at", "full", "is_window"),
    [
        ("int(y.argmax())", "pass", [False]),
        ("int(y.argmax())", "if len(self.rows) > self.most: del self.rows[next(iter(self.rows))]", [True]),
        ("int(y.argmax())", "if len(self.rows) > self.most: self.rows.popitem()", [True]),
        ("int(y.argmax())", "self.rows.clear()", []),
        ("y.argmax()", "pass", []),
        ("y", "pass", []),
    ],
)
def test_a_part_that_a_function_picks_by_a_number(at: str, full: str, is_window: list[bool]) -> None:
    kept = Program(PICKED.format(at=at, full=full)).facts.kept_views
    assert [view.is_window for view in kept] == is_window


def test_a_window_that_drops_items_by_itself() -> None:
    source = KEPT.format(body="kept.append(h[:, 1])").replace("[], []", "deque(maxlen={}), []")
    source = "from collections import deque\n" + source
    assert [view.is_window for view in Program(source.replace("{}", "500")).facts.kept_views] == [True]
    assert Program(source.replace("{}", "4")).facts.kept_views == []


COUNTED = """
class Camera(nn.Module):
    def __init__(self, times, frames):
        super().__init__()
        self.lens = nn.Sequential(nn.Linear(3, 5), nn.ReLU())
        self.times, self.frames, self.rows = times, frames, []

    @torch.no_grad()
    def look(self, x, loader, batches, state, frames: list[torch.Tensor]):
        rows = []
        for {loop}:
            h = self.lens(x)
            {kept}
        return {result}
"""


@pytest.mark.parametrize(
    ("loop", "kept", "result", "expected"),
    [
        ("x in loader", "rows.append(h[0])", "torch.stack(rows)", [False]),
        ("x in loader", "rows.append(h[:1])", "rows", [False]),
        ("i in range(self.times)", "rows.append(h[0])", "rows", [True]),
        ("i in range(self.times)", "rows.append(h[0])", "torch.stack(rows)", []),
        ("i in range(self.times)", "rows.append(h[:1])", "rows", []),
        ("i in range(self.times)", "self.rows.append(h[0])", "x", [False]),
        ("i in range(self.times)", "x = next(batches); h = self.lens(x); rows.append(h[0])", "rows", [False]),
        ("x in state.windows", "rows.append(h[0])", "torch.stack(rows), x", []),
        ("x in state.windows", "rows.append(h[0])", "rows, torch.stack(rows)", [True]),
        ("x in torch.split(x, 1)", "rows.append(h[0])", "rows", [True]),
        ("x in frames", "rows.append(h[0])", "rows", [True]),
    ],
)
def test_a_list_of_one_call_is_bounded_where_no_data_are_seen(
    loop: str, kept: str, result: str, expected: list[bool]
) -> None:
    program = Program(COUNTED.format(loop=loop, kept=kept, result=result))
    assert [found.is_bounded for found in program.facts.kept_views] == expected


WINDOWS = """
def first(trace):
    if len(trace) < 20:
        return None
    return trace[:, :20]
def collect(folder):
    kept = {{}}
    for path in {files}:
        trace = torch.from_numpy(np.load(path))
        kept[path] = {taken}
    return kept
"""


@pytest.mark.parametrize(
    ("files", "taken", "count"),
    [
        ("sorted(glob.glob(folder))", "trace[:, :20]", 1),
        ("Path(folder).rglob('*.npy')", "trace[:, :20]", 1),
        ("os.listdir(folder)", "trace[:, :20].clone()", 0),
        ("csv.DictReader(open(folder))", "trace[:, :20]", 1),
        ("csv.reader(open(folder))", "first(trace)", 1),
        ("('a.npy', 'b.npy')", "trace[:, :20]", 0),
    ],
)
def test_a_loop_over_files_or_the_rows_of_one_brings_a_tensor_in_each_turn(files: str, taken: str, count: int) -> None:
    program = Program(
        WINDOWS.format(files=files, taken=taken),
        head=f"{HEAD}import csv, glob, os\nimport numpy as np\nfrom pathlib import Path\n",
    )
    assert len(program.facts.kept_views) == count


CUT = """
kept = []
def cut(rows, limit):
    for row in rows:
        kept.append(row[:limit])
        cut(row, limit)
"""


def test_a_function_that_calls_itself_for_each_row_ends() -> None:
    assert not Program(CUT, head=HEAD).facts.kept_views


ARCHIVE = """
class Archive:
    def __init__(self, net):
        self.net, self.rows = net.eval(), {{}}

    def put(self, names, out):
        for place, name in enumerate(names):
            self.rows[{key}] = {kept}

    @torch.no_grad()
    def fill(self, pages):
        waiting = []
        for name, page in pages:
            waiting.append({put})
            if len(waiting) == 8:
                self.flush(waiting)
        if waiting:
            self.flush(waiting)

    def flush(self, waiting):
        names, batch = zip(*waiting)
        self.put(names, self.net(torch.stack(batch)))
        {after}

def main():
    archive = Archive(nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 4)))
    archive.fill(read("pages"))
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 1),
        ({"after": "pass"}, 1),
        ({"key": "(name, 1)"}, 1),
        ({"kept": "out[place, 0].clone()"}, 0),
        ({"kept": "out[place, 0].cpu()"}, 0),
        ({"kept": "out[place]"}, 0),
        ({"key": "'last'"}, 0),
        ({"put": "('page', 3)"}, 0),
        ({"after": "waiting.clear(); self.rows.clear()"}, 0),
    ],
)
def test_a_name_that_comes_out_of_a_list_is_as_new_as_what_was_put_into_it(
    options: dict[str, str], expected: int
) -> None:
    parts = {"key": "name", "kept": "out[place, 0]", "put": "(name, page)", "after": "waiting.clear()", **options}
    assert len(Program(ARCHIVE.format(**parts)).facts.kept_views) == expected


SAMPLES = """
from torch.utils.data import Dataset

def volume(name):
    return torch.randn(2, 48, 32, 32, generator=torch.Generator().manual_seed(len(name)))

class Slices(Dataset):
    def __init__(self, names, labels):
        self.middles = []
        self.labels = labels
        self.shown = {{}}
        for name in names:
            whole = volume(name)
            at = whole.{size} // 2
            {kept}

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.middles[index], self.labels[index]
"""


@pytest.mark.parametrize(
    ("parts", "count"),
    [
        ({}, 1),
        ({"size": "shape[1]"}, 1),
        ({"kept": "self.middles.append(whole[:, at].clone())"}, 0),
        ({"kept": "self.middles.append(whole)"}, 0),
        ({"kept": "self.shown['first'] = whole[:, at]"}, 0),
        ({"kept": "for at in range(whole.size(1)): self.middles.append(whole[:, at])"}, 0),
    ],
)
def test_a_data_set_keeps_a_part_of_a_tensor_for_each_sample(parts: dict[str, str], count: int) -> None:
    filled = {"size": "size(1)", "kept": "self.middles.append(whole[:, at])", **parts}
    assert len(Program(SAMPLES.format(**filled), head=HEAD).facts.kept_views) == count


RESULT = """
class Result:
    def __init__(self, maps):
        self.maps = maps

    @property
    def center(self):
        return {given}

net = nn.Conv2d(3, 4, 3)
kept = []
with torch.no_grad():
    for x, y in DataLoader(data):
        kept.append(Result(net(x)).center)
"""


@pytest.mark.parametrize(
    ("given", "count"),
    [
        ("self.maps[:, :, 9, 9]", 1),
        ("self.maps[:, :, 9, 9].clone()", 0),
        ("self.maps", 0),
        ("self.maps.mean((2, 3))", 0),
    ],
)
def test_a_property_that_gives_a_part(given: str, count: int) -> None:
    assert len(Program(RESULT.format(given=given)).facts.kept_views) == count


SHARDS = """
import torch

def shards(table, count):
    size = table.size(0) // count
    for number in range(count):
        first = number * size
        yield {yielded}

def publish(table, count):
    for {names} in shards(table, count):
        torch.save({saved}, "part.pt")

publish(torch.randn(1000, 16), 10)
"""


@pytest.mark.parametrize(
    ("yielded", "names", "saved", "is_view"),
    [
        ("table[first:first + size]", "rows", "rows", True),
        ("number, table[first:first + size]", "number, rows", "{'rows': rows, 'number': number}", True),
        ("number, table[first:first + size].clone()", "number, rows", "rows", False),
        ("number, table[first:first + size]", "number, rows", "rows.clone()", False),
        ("number, table", "number, rows", "rows", False),
    ],
)
def test_what_a_generator_yields_is_a_view_of_what_it_is_given(
    yielded: str, names: str, saved: str, *, is_view: bool
) -> None:
    found = check_source(SHARDS.format(yielded=yielded, names=names, saved=saved))
    assert [one.code for one in found] == (["TLK402"] if is_view else [])
