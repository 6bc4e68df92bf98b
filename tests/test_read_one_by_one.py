"""Outputs that a pass puts aside and a loop of its own reduces afterwards, one after the other."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.keeping.collection import Collecting

PASS = """
from collections.abc import Iterable
def run(net: nn.Module, other, loader{kind}):
    rows, labels, hits = [], [], 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x.cuda())
            rows.append(out)
            labels.append(y)
            {each}
    {rest}
"""


def ways(rest: str, each: str = "pass", kind: str = "") -> set[Collecting]:
    source = PASS.format(rest=rest.replace("\n", "\n    "), each=each, kind=kind)
    return {found.way for found in Program(source).facts.collections}


@pytest.mark.parametrize(
    "rest",
    [
        "return sum(row.argmax(1).sum().item() for row in rows)",
        "return [row.max().cpu() for row in rows]",
        "for row in rows:\n    hits += row.argmax(1).eq(1).sum().item()\nreturn hits",
        "for row, label in zip(rows, labels):\n    hits += float((row.argmax(1).cpu() == label).sum())\nreturn hits",
        "for number, row in enumerate(rows):\n    print(number, row.softmax(1).max().item())",
        "print(len(rows))\nreturn [row.norm().item() for row in rows]",
    ],
)
def test_each_output_is_reduced_by_itself(rest: str) -> None:
    assert ways(rest) == {Collecting.UNTIL_REDUCED}


@pytest.mark.parametrize(
    ("rest", "each"),
    [
        ("mean = hits / len(rows)\nreturn [(row - mean).norm().item() for row in rows]", "hits += out.sum()"),
        ("mean = torch.cat(rows).mean(0)\nreturn [(row - mean).norm().item() for row in rows]", "pass"),
        ("return torch.cat(rows).argmax(1)", "pass"),
        ("return torch.cat([row.flatten(1) for row in rows]).argmax(1).tolist()", "pass"),
        ("print([row.norm().item() for row in rows])\nreturn rows", "pass"),
        ("for epoch in range(9):\n    for row in rows:\n        print(row.norm().item() * epoch)", "pass"),
        ("return [row.norm().item() for row in rows]", "print([row.norm().item() for row in rows])"),
        ("return [other(row) for row in rows]", "pass"),
        ("return rows[-1].norm().item()", "pass"),
    ],
)
def test_not_where_all_of_them_are_needed(rest: str, each: str) -> None:
    assert Collecting.UNTIL_REDUCED not in ways(rest, each)


@pytest.mark.parametrize(
    ("kind", "is_data"),
    [
        (": Iterable", True),
        (": Iterable[tuple[torch.Tensor, torch.Tensor]]", True),
        (": Iterable[torch.Tensor] | None = None", True),
        (": list[torch.Tensor]", False),
        (": tuple[torch.Tensor, ...] | None = None", False),
    ],
)
def test_what_an_annotation_says_that_is_run_over(kind: str, is_data: bool) -> None:
    """What the items are made of, ``Iterable[Tensor]``, says nothing of how many there are."""
    found = ways("return [row.norm().item() for row in rows]", kind=kind)
    assert found == ({Collecting.UNTIL_REDUCED} if is_data else set())
