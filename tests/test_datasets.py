"""What data sets keep as objects, and whether workers read it."""

from __future__ import annotations

import pytest
from programs import Program

HEAD = """
import csv
import json
from collections import defaultdict
import numpy as np
from torch.utils.data import Dataset, Subset
"""

DATASET = """
class Data(Dataset):
    def __init__(self, path, n=0):
        {kept}
    def __len__(self):
        return 10
    def __getitem__(self, index):
        {read}
"""


def hoarded(kept: str, read: str = "return self.items[index]", loader: str = "Data('x'), num_workers=2") -> int:
    """How many hoards are found in a data set that is read by this loader."""
    source = HEAD + DATASET.format(kept=kept.replace("\n", "\n        "), read=read.replace("\n", "\n        "))
    return len(Program(f"{source}loader = DataLoader({loader})\n").facts.hoards)


@pytest.mark.parametrize(
    "kept",
    [
        "self.items = [str(i) for i in range(100000)]",
        "self.items = list(range(50_000))",
        "self.items = tuple(str(i) for i in range(50_000))",
        "self.items = {i: [i] for i in range(100000)}",
        "self.items = []\nfor i in range(100000):\n    self.items.append((i, 'x'))",
        "self.items = open(path).readlines()",
        "self.items = [line.split() for line in open(path)]",
        "with Path(path).open() as f:\n    self.items = [json.loads(line) for line in f]",
        "self.items = Path(path).read_text().splitlines()",
        "with open(path) as f:\n    self.items = json.load(f)['images']",
        "with open(path) as f:\n    self.items = list(csv.DictReader(f))",
        "self.items = dict()\nfor i, line in enumerate(open(path)):\n    self.items[i] = line.split()",
        "groups = defaultdict(list)\nfor line in open(path):\n    groups[line[0]].append(line)\n"
        "self.items = list(groups.values())",
    ],
)
def test_a_large_list_is_found(kept: str) -> None:
    assert hoarded(kept) == 1


@pytest.mark.parametrize(
    "kept",
    [
        "self.items = [str(i) for i in range(100)]",
        "self.items = [str(i) for i in range(n)]",
        "self.items = np.array([i for i in range(100000)])",
        "self.items = torch.arange(100000)",
        "self.items = [i for i in range(100000)]\nself.items = torch.tensor(self.items)",
        "self.items = path",
        "self.items = np.load(path)",
    ],
)
def test_arrays_short_lists_and_the_unknown_are_not(kept: str) -> None:
    assert hoarded(kept) == 0


@pytest.mark.parametrize(
    ("filled", "found"),
    [
        ("for line in open(path):\n            self._add(line)", 1),
        ("for line in open(path):\n            self._read(line)", 1),
        ("with open(path) as f:\n            for row in json.load(f)['rows']:\n                self._add(row)", 1),
        ("self.items.extend(json.load(open(path)))", 1),
        ("self.items.extend(line.split() for line in open(path))", 1),
        ("self.items += [line.split() for line in open(path)]", 1),
        ("for name in (path, path):\n            self.items.extend(line.split() for line in open(name))", 1),
        ("self.items.extend(name for name in (path, path))", 0),
        ("for line in (path, path):\n            self._add(line)", 0),
        ("self._add(path)", 0),
    ],
)
def test_a_list_is_as_long_as_the_loop_that_calls_what_fills_it(filled: str, found: int) -> None:
    kept = (
        f"self.items = []\n        {filled}\n    def _read(self, line):\n        self._add(line)\n"
        "    def _add(self, line):\n        self.items.append(line.split())"
    )
    source = HEAD + DATASET.format(kept=kept, read="return self.items[index]")
    assert len(Program(f"{source}loader = DataLoader(Data('x'), num_workers=2)\n").facts.hoards) == found


@pytest.mark.parametrize(
    ("loader", "count"),
    [
        ("Data('x'), num_workers=0", 0),
        ("Data('x')", 0),
        ("Data('x'), num_workers=workers", 1),
        ("Subset(Data('x'), range(4)), 8, num_workers=2", 1),
        ("other, num_workers=2", 0),
        ("Data('x'), **options", 0),
        ("Data('x'), **{'num_workers': 2, 'pin_memory': True}", 1),
        ("Data('x'), **{'num_workers': 0, 'pin_memory': True}", 0),
        ("Data('x'), **dict(pin_memory=True)", 0),
    ],
)
def test_a_loader_with_workers_must_read_it(loader: str, count: int) -> None:
    head = "from elsewhere import other, options, workers\n"
    kept = "self.items = [str(i) for i in range(100000)]"
    source = HEAD + head + DATASET.format(kept=kept, read="return self.items[index]")
    assert len(Program(f"{source}loader = DataLoader({loader})\n").facts.hoards) == count


@pytest.mark.parametrize(
    ("later", "count"),
    [
        ("options['pin_memory'] = True", 1),
        ("if workers:\n    options['persistent_workers'] = True", 1),
        ("options['num_workers'] = 0", 0),
        ("options[workers] = 0", 0),
        ("options.update(workers)", 0),
        ("options.pop('num_workers')", 0),
    ],
)
def test_options_stay_known_where_others_are_added(later: str, count: int) -> None:
    head = f"from elsewhere import workers\noptions = dict(batch_size=8, num_workers=workers)\n{later}\n"
    source = (
        HEAD
        + head
        + DATASET.format(kept="self.items = [str(i) for i in range(100000)]", read="return self.items[index]")
    )
    assert len(Program(f"{source}loader = DataLoader(Data('x'), **options)\n").facts.hoards) == count


def test_the_size_may_come_from_the_caller() -> None:
    kept = "self.items = [str(i) for i in range(n)]"
    assert hoarded(kept, loader="Data('x', 100000), num_workers=2") == 1
    assert hoarded(kept, loader="Data('x', 10), num_workers=2") == 0


SETTINGS = """
def load(settings):
    return DataLoader(Data("x", {rows}), num_workers={workers})

{made}
load(settings)
"""


@pytest.mark.parametrize(
    ("made", "rows", "workers", "count"),
    [
        ("settings = {'rows': 100000, 'workers': 2}", "settings['rows']", "settings['workers']", 1),
        ("settings = dict(rows=100000, workers=2)", "settings['rows']", "settings['workers']", 1),
        ("settings = SimpleNamespace(rows=100000, workers=2)", "settings.rows", "settings.workers", 1),
        ("settings = {'rows': 10, 'workers': 2}", "settings['rows']", "settings['workers']", 0),
        ("settings = {'rows': 100000, 'workers': 0}", "settings['rows']", "settings['workers']", 0),
        ("settings = {'rows': 100000}\nsettings['rows'] = 10", "settings['rows']", "2", 0),
        ("settings = {'rows': 100000}\nfor k, v in told: settings[k] = v", "settings['rows']", "2", 0),
    ],
)
def test_what_a_dictionary_of_settings_says_is_known(made: str, rows: str, workers: str, count: int) -> None:
    data = DATASET.format(kept="self.items = [str(i) for i in range(n)]", read="return self.items[index]")
    source = f"from types import SimpleNamespace\n{HEAD}{data}{SETTINGS.format(made=made, rows=rows, workers=workers)}"
    assert len(Program(source).facts.hoards) == count


def test_a_table_of_settings_is_not_one_item_for_each_sample() -> None:
    assert hoarded("self.items = json.load(open(path))", "return self.items['mean']") == 0
    assert hoarded("self.items = open(path).readlines()", "return 3") == 0


FILLED = "if index not in self.cache:\n    self.cache[index] = torch.ones(3)\nreturn self.cache[index]"


def test_a_cache_is_filled_in_each_worker() -> None:
    assert hoarded("self.cache = {}", FILLED) == 1
    assert hoarded("self.cache = [None] * 10", FILLED) == 1
    assert hoarded("self.cache = torch.zeros(10, 3)", FILLED) == 0
    assert hoarded("self.cache = {}", "self.cache['last'] = index\nreturn index") == 0
    assert hoarded("self.cache = {}", "if len(self.cache) < 100:\n    self.cache[index] = 1\nreturn index") == 0
    assert hoarded("self.cache = {}", "self.cache[index] = 1\nself.cache.popitem()\nreturn index") == 0
    assert hoarded("self.cache = [path]", "self.cache[index] = Path(self.cache[index])\nreturn index") == 0


def test_names_of_files_are_little_beside_the_files() -> None:
    kept = "self.items = open(path).readlines()"
    assert hoarded(kept, "return torch.load(self.items[index])") == 0
    assert hoarded(kept, "name = self.items[index]\nwith open('data/' + name) as file:\n    return file.read()") == 0
    assert hoarded(kept, "return len(self.items[index])") == 1


def test_a_record_with_the_name_of_a_file_among_its_fields_is_a_dict_of_objects() -> None:
    kept = "self.items = [json.loads(line) for line in open(path)]"
    read = "item = self.items[index]\nclip = torch.load(item['path'])\nreturn clip, item['word']"
    assert hoarded(kept, read) == 1
    assert hoarded(kept, "return torch.load(self.items[index]['path'])") == 0
    assert hoarded(kept, "path, word = self.items[index]\nreturn torch.load(path), word") == 0


READING = """
def read(path):
    {read}

def chosen(rows, least=3):
    return [row for row in rows if row["length"] >= least]

class Given(Dataset):
    def __init__(self, rows):
        self.rows = rows
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, index):
        return self.rows[index]["length"]

def loader(path, count):
    return DataLoader(Given({given}), num_workers=count)

loader("a.csv", 4)
"""

ROW_BY_ROW = """rows = []
    with open(path) as f:
        for row in csv.DictReader(f):
            rows.append({"length": int(row["length"])})
    return rows"""


@pytest.mark.parametrize(
    ("read", "given", "count"),
    [
        (ROW_BY_ROW, "chosen(read(path))", 1),
        (ROW_BY_ROW, "read(path)", 1),
        (ROW_BY_ROW, "read(path)[:9000]", 1),
        (ROW_BY_ROW.replace("return rows", "return np.array(rows)"), "read(path)", 0),
        (ROW_BY_ROW, "np.array(read(path))", 0),
        ("return [{'length': n} for n in (3, 4, 5)]", "chosen(read(path))", 0),
        ("return [{'length': n} for n in range(20_000)]", "chosen(read(path))", 1),
    ],
)
def test_a_list_that_functions_make_of_a_file(read: str, given: str, count: int) -> None:
    assert len(Program(HEAD + READING.format(read=read, given=given)).facts.hoards) == count


@pytest.mark.parametrize(
    ("read", "count"),
    [
        ("return open(self.items[index].rstrip()).read()", 0),
        ("name = self.items[index % 9].strip().replace('a', 'b')\nreturn np.loadtxt(name)", 0),
        ("name, label = self.items[index].split()\nreturn np.fromfile(name), int(label)", 0),
        ("return self.items[index].rstrip()", 1),
        ("return self.items[index].split()[1]", 1),
    ],
)
def test_lines_that_are_names_of_files_are_little_beside_these(read: str, count: int) -> None:
    assert hoarded("self.items = open(path).readlines()", read) == count


def test_what_is_as_long_as_many_others_is_asked_for_once() -> None:
    doubled = "\n".join(["rows = list(zip(" + ", ".join(["rows"] * 30) + "))"] * 12)
    assert hoarded(f"rows = [str(i) for i in range(10)]\n{doubled}\nself.items = rows") == 0


@pytest.mark.parametrize(
    ("source", "count"), [("open(path)", 1), ("range(100_000)", 1), ("range(10)", 0), ("np.load(path)", 0)]
)
def test_a_list_is_as_long_as_what_a_generator_yields(source: str, count: int) -> None:
    rows = f"def rows(path):\n    for row in {source}:\n        yield dict(row=row)\n"
    kept = DATASET.format(kept="self.items = [row for row in rows(path) if row]", read="return self.items[index]")
    assert len(Program(f"{HEAD}{rows}{kept}loader = DataLoader(Data('x'), num_workers=2)\n").facts.hoards) == count


@pytest.mark.parametrize(("default", "count"), [("2_000_000", 1), ("200", 0), ("None", 0)])
def test_an_option_is_what_it_is_by_default(default: str, count: int) -> None:
    source = f"""
import argparse

def rows_of(n):
    return [{{"id": i}} for i in range(n)]

class Data(Dataset):
    def __init__(self, n):
        self.items = rows_of(n)
    def __len__(self):
        return len(self.items)
    def __getitem__(self, index):
        return self.items[index]

def main(args):
    return DataLoader(Data(args.most_rows), num_workers=4)

parser = argparse.ArgumentParser()
parser.add_argument("-m", "--most-rows", type=int, default={default})
main(parser.parse_args())
"""
    assert len(Program(HEAD + source).facts.hoards) == count


OWN_LOADER = """
class Own(Dataset):
    def __init__(self, path):
        self.items = open(path).read().split()
    def __getitem__(self, index):
        return self.items[index]
    def loader(self, size{workers}):
        return DataLoader(self, size, num_workers=workers)
{use}
"""


@pytest.mark.parametrize(
    ("workers", "use", "count"),
    [
        (", workers=0", "Own('x').loader(8)", 0),
        (", workers=0", "Own('x').loader(8, workers=0)", 0),
        (", workers=2", "Own('x').loader(8, 0)", 0),
        (", workers", "Own('x').loader(8, 0)\nOwn('y').loader(8, 0)", 0),
        (", workers", "Own('x').loader(8, 0)\nOwn('y').loader(8, 2)", 1),
        (", workers=2", "Own('x').loader(8, 0)\nOwn('y').loader(8)", 1),
        (", workers", "for rows in parts: Own('x').loader(*rows)", 1),
    ],
)
def test_how_many_workers_there_are_the_callers_say(workers: str, use: str, count: int) -> None:
    assert len(Program(HEAD + OWN_LOADER.format(workers=workers, use=use)).facts.hoards) == count


GROUPED = """self.rows, self.codes = defaultdict(list), {codes}
with open(path) as f:
    for row in json.load(f)["rows"]:
        self.rows[row["word"]].append(row)
{words}"""


@pytest.mark.parametrize(
    ("words", "read", "count"),
    [
        ("self.words = sorted(self.rows)", "word = self.words[index]\nreturn self.rows[word]", 2),
        ("self.words = list(self.rows.keys())", "return self.rows[self.words[index]]", 2),
        ("self.words = [w for w in self.rows if w]", "return self.rows[self.words[index]]", 2),
        (
            "self.words = [w for w, rows in self.rows.items() if len(rows) > 1]",
            "word = self.words[index]\nreturn [row['pitch'] for row in self.rows[word]]",
            2,
        ),
        ("self.words = sorted(self.rows)", "return self.words[index]", 1),
        ("self.words = sorted(self.rows)", "return self.codes[self.words[index]]", 1),
        ("self.words = ['go', 'stop']", "return self.rows[self.words[index]]", 0),
        ("self.words = sorted(self.rows)", "return self.rows['stop'][index % 2]", 0),
        ("self.words = sorted(self.rows)", "return torch.load(self.rows[self.words[index]][0])", 1),
    ],
)
def test_a_table_may_be_read_by_a_list_of_its_own_keys(words: str, read: str, count: int) -> None:
    codes = "json.load(open('codes.json'))"
    assert hoarded(GROUPED.format(words=words, codes=codes), read) == count
