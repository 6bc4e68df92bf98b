"""Records that a pass puts aside: a name, an identifier, and an output that all goes to the host in the end."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.keeping.collection import Collecting

PASS = """
import torch
from dataclasses import dataclass
from typing import NamedTuple

@dataclass
class Row:
    name: str
    mask: torch.Tensor

class Pair(NamedTuple):
    name: str
    mask: torch.Tensor

def named(name, mask):
    return {{"name": name, "mask": mask}}

def run(net: torch.nn.Module, loader):
    rows = []
    with torch.no_grad():
        for names, x in loader:
            {put}
    {rest}
"""

DICTIONARY = "rows.append({'name': names, 'mask': net(x.cuda())})"
BY_NAME = "return [row['mask'].cpu() for row in rows]"


@pytest.mark.parametrize(
    ("put", "rest"),
    [
        (DICTIONARY, BY_NAME),
        (DICTIONARY, "for row in rows:\n        torch.save(row['mask'].to('cpu'), row['name'])"),
        ("rows.append({'name': names})\n            rows[-1]['mask'] = net(x.cuda())", BY_NAME),
        ("row = {'name': names}\n            row['mask'] = net(x.cuda())\n            rows.append(row)", BY_NAME),
        ("rows += [{'mask': mask} for mask in net(x.cuda())]", BY_NAME),
        ("rows.append(named(names, net(x.cuda())))", BY_NAME),
        ("rows.append((names, net(x.cuda())))", "return {name: mask.cpu() for name, mask in rows}"),
        ("rows.append((names, net(x.cuda())))", "return [row[1].cpu() for row in rows]"),
        ("rows.append(Row(names, net(x.cuda())))", "return [row.mask.cpu() for row in rows]"),
        ("rows.append(Pair(name=names, mask=net(x.cuda())))", "return [row.mask.cpu() for row in rows]"),
    ],
    ids=[
        "a dictionary", "saved", "put later", "filled first", "of each row", "of a function", "a tuple", "by place",
        "a data class", "a named tuple",
    ],
)  # fmt: skip
def test_an_output_in_a_record_stays_on_the_device_until_all_are_moved(put: str, rest: str) -> None:
    found = Program(PASS.format(put=put, rest=rest)).facts.collections
    assert [one.way for one in found] == [Collecting.UNTIL_HOST]


@pytest.mark.parametrize(
    ("put", "rest"),
    [
        (DICTIONARY.replace("cuda())", "cuda()).cpu()"), BY_NAME),
        (DICTIONARY.replace("cuda())", "cuda()).argmax(1).float().mean()"), BY_NAME),
        (DICTIONARY.replace("net(x.cuda())", "x"), BY_NAME),
        (DICTIONARY, "return torch.cat([row['mask'] for row in rows]).mean().cpu()"),
        (DICTIONARY, "return [row['name'] for row in rows]"),
        (DICTIONARY, "return rows"),
        (DICTIONARY, "return [row['mask'].mean().item() for row in rows], [row['mask'].cpu() for row in rows]"),
        ("rows = [{'mask': net(x.cuda())}]", BY_NAME),
    ],
    ids=["on the host", "a number", "a batch", "computed with", "never read", "returned", "both", "of one turn"],
)
def test_one_that_is_moved_at_once_or_computed_with_does_not(put: str, rest: str) -> None:
    assert Program(PASS.format(put=put, rest=rest)).facts.collections == []


def test_what_another_function_makes_is_not_moved_there_since_others_may_train_on_it() -> None:
    put = "rows.append(named(names, net(x.cuda())))"
    (found,) = Program(PASS.format(put=put, rest=BY_NAME)).facts.collections
    assert found.item.node is None
