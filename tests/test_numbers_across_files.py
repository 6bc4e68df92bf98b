"""Numbers that another file has: how many rows a data set holds, and how many workers read it."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

ROWS = """
    import json
    from torch.utils.data import Dataset

    def drawn(count, seed=0):
        for number in range(count):
            yield json.dumps({"id": number, "text": "a word " * (number % 7), "seed": seed})

    class Rows(Dataset):
        def __init__(self, lines, width=8):
            self.rows = [json.loads(line) for line in lines]
            self.width = width

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, index):
            return self.rows[index]["text"][: self.width]
"""

FEED = """
    from torch.utils.data import DataLoader
    from rows import Rows, drawn
    import settings
    from settings import COUNT, TABLE, Data, data_of

    def feed(data, workers=2):
        lines = drawn({count})
        return DataLoader(Rows(lines), batch_size=32, num_workers={workers})
"""

SETTINGS = """
    from dataclasses import dataclass

    COUNT = 50 * 1000
    TABLE = {"rows": 70_000, "few": 40, "idle": 0}

    @dataclass
    class Data:
        few: int = 30
        many: int = 400_000
        idle: int = 0
        some: int = 4

    class Fixed:
        many = COUNT

    def data_of(name):
        return Data(many=10) if name == "small" else Data(100, many=COUNT)
"""

MAIN = """
    import argparse
    from feed import feed
    from settings import Data, Fixed, data_of

    def main():
        parser = argparse.ArgumentParser()
        parser.add_argument("--how-many", type=int, default=Data.many)
        parser.add_argument("--how-few", type=int, default=20)
        args = parser.parse_args()
        data, workers = {data}, 2
        for batch in feed(data):
            print(len(batch), workers)
"""


@pytest.mark.parametrize(
    ("lines", "is_told"),
    [
        ({}, True),
        ({"count": "COUNT"}, True),
        ({"count": "settings.COUNT // 2"}, False),  # what that gives is not computed
        ({"count": "settings.TABLE['rows']"}, True),
        ({"count": "TABLE['few']"}, False),
        ({"count": "data.few"}, False),
        ({"count": "data.few", "data": "Data(2_000)"}, True),
        ({"data": "Data(many=20)"}, False),
        ({"data": "Data(many=args.how_many)"}, True),
        ({"data": "Data(many=args.how_few)"}, False),
        ({"data": "Fixed"}, True),
        ({"data": "data_of('large')"}, True),
        ({"data": "open('data.json')"}, False),
        ({"count": "len(data)"}, False),
        ({"workers": "data.some"}, True),
        ({"workers": "data.idle"}, False),
        ({"workers": "TABLE['idle']"}, False),
        ({"workers": "settings.Data.idle"}, False),
    ],
)
def test_a_number_is_followed_to_where_it_is_written(tmp_path: Path, lines: dict[str, str], is_told: bool) -> None:
    told = {"count": "data.many", "workers": "2", "data": "Data()"} | lines
    texts = {"rows.py": ROWS, "settings.py": SETTINGS, "feed.py": FEED.format(**told), "main.py": MAIN.format(**told)}
    found = [one for one in Project(tmp_path, texts).found() if "TLK501" in one]
    assert found == (["rows.py: TLK501 warning"] if is_told else [])
