"""What speed.py measures torchlint against; each is a process of its own.

usage: python yardstick.py parse LIST    parse each file that says torch once with libcst, and nothing else
       python yardstick.py alone LIST    check each file as if it stood alone: no knowledge across files
       python yardstick.py ast FILE      parse one file with the standard library

LIST holds one path a line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path


def files_in(listing: str) -> Iterator[str]:
    with open(listing, encoding="utf-8", errors="surrogateescape") as stream:
        yield from stream.read().splitlines()


def parse(listing: str) -> None:
    import libcst as cst

    for path in files_in(listing):
        data = Path(path).read_bytes()
        if b"torch" in data:
            try:
                cst.parse_module(data)
            except (cst.ParserSyntaxError, UnicodeError):
                continue


def alone(listing: str) -> None:
    from torchlint.config import Settings
    from torchlint.run import Job, check_file

    settings = Settings()
    for path in files_in(listing):
        check_file(Job(path, settings.selection(path)))


def parse_with_ast(path: str) -> None:
    import ast

    ast.parse(Path(path).read_bytes())


KINDS: dict[str, Callable[[str], None]] = {"parse": parse, "alone": alone, "ast": parse_with_ast}

if __name__ == "__main__":
    KINDS[sys.argv[1]](sys.argv[2])
