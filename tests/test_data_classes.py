"""Data classes: what Python's own ``__init__`` keeps on the object, and makes for each."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

HEAD = """
import attr
import attrs
import collections
import dataclasses
from dataclasses import InitVar, dataclass, field
from typing import ClassVar, NamedTuple
"""

LOOP = """
{before}
for x, y in loader:
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {body}
"""


def program(declared: str, *body: str, before: str = "") -> Program:
    """A training loop with a class of these lines."""
    return Program(HEAD + TRAINING + declared + LOOP.format(before=before, body="\n    ".join(body)))


def leaks(declared: str, *body: str, before: str = "") -> list[str]:
    """What keeps graphs in it."""
    return program(declared, *body, before=before).leaks()


@pytest.mark.parametrize(
    ("decorator", "declared"),
    [
        ("dataclass", "losses: list = field(default_factory=list)"),
        ("dataclass(slots=True)", "losses: list = dataclasses.field(default_factory=list)"),
        ("dataclass", "losses: list = field(default_factory=lambda: [])"),
        ("dataclass", "losses: list = field(init=False, default_factory=list)"),
        ("attrs.define", "losses: list = attrs.field(factory=list)"),
        ("attr.s", "losses: list = attr.ib(factory=list)"),
        ("dataclass", "losses: list"),
    ],
)
def test_each_object_has_a_container_of_its_own(decorator: str, declared: str) -> None:
    text = f"\n@{decorator}\nclass Curve:\n    {declared}\n"
    made = "curve = Curve()" if "=" in declared else "curve = Curve([])"
    assert len(leaks(text, "curve.losses.append(loss)", before=made)) == 1
    assert leaks(text, "curve.losses.append(loss.item())", before=made) == []
    assert leaks(text, made, "curve.losses.append(loss)") == []


RECORD = """
@dataclass
class Record:
    step: int
    loss: torch.Tensor = None
    scale: float = field(default=1.0)
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("record = Record(0, loss); total += record.loss", True),
        ("record = Record(0, loss=loss); total += record.loss * record.scale", True),
        ("record = Record(0, loss=loss.detach()); total += record.loss", False),
        ("record = Record(0, loss); total += record.step", False),
        ("record = Record(0); record.loss = loss; total += record.loss", True),
    ],
)
def test_what_an_object_is_made_of_is_read_from_it_again(body: str, found: bool) -> None:
    assert bool(leaks(RECORD, body, before="total = 0")) is found


def test_what_is_kept_in_a_list_is_the_object_with_its_tensor() -> None:
    assert len(program(RECORD, "records.append(Record(0, loss))", before="records = []").facts.records) == 1
    assert program(RECORD, "records.append(Record(0, loss.item()))", before="records = []").facts.records == []


def test_the_fields_of_a_base_class_come_first() -> None:
    declared = RECORD + "@dataclass\nclass Named(Record):\n    name: str = ''\n"
    assert len(leaks(declared, "one = Named(0, loss); total += one.loss", before="total = 0")) == 1
    assert leaks(declared, "one = Named(0, None, 1.0, 'a'); total += one.loss", before="total = 0") == []


@pytest.mark.parametrize(
    "declared",
    [
        "kept: ClassVar[int] = 0\n    loss: object = None",
        "count: int = field(init=False, default=0)\n    loss: object = None",
        "_: dataclasses.KW_ONLY\n    loss: object = None",
        "loss: object = None\n    _: dataclasses.KW_ONLY\n    step: int",
    ],
)
def test_what_is_no_parameter_takes_no_place(declared: str) -> None:
    text = f"\n@dataclass\nclass Record:\n    {declared}\n"
    assert len(leaks(text, "total += Record(loss).loss", before="total = 0")) == 1


def test_what_only_post_init_gets_is_not_kept() -> None:
    declared = "\n@dataclass\nclass Record:\n    loss: InitVar[torch.Tensor]\n    step: int = 0\n"
    assert leaks(declared, "records.append(Record(loss).step)", before="records = []") == []


def test_an_init_that_is_written_is_the_one() -> None:
    declared = RECORD + "    def __init__(self, loss):\n        self.loss = loss.item()\n"
    assert leaks(declared, "total += Record(loss).loss", before="total = 0") == []


def test_a_record_keeps_the_view_that_it_is_made_of() -> None:
    kept = "with torch.no_grad():\n        records.append(Record(0, model(x)[:2]{copied}))"
    found = program(RECORD, kept.format(copied=""), before="records = []").facts.kept_views
    assert len(found) == 1
    assert program(RECORD, kept.format(copied=".clone()"), before="records = []").facts.kept_views == []


STATES = """
class Tuple(NamedTuple):
    step: int
    total: torch.Tensor
@dataclass(frozen=True)
class Plain:
    step: int
    total: torch.Tensor
@attrs.frozen
class Defined:
    step: int
    total: torch.Tensor
Named = collections.namedtuple("Named", "step total")
Listed = collections.namedtuple(typename="Listed", field_names=["step", "total"], defaults=(0,))
Paired = NamedTuple("Paired", [("step", int), ("total", torch.Tensor)])
class Below(Named):
    pass
"""


@pytest.mark.parametrize("made", ["Tuple", "Plain", "Defined", "Named", "Listed", "Paired", "Below"])
@pytest.mark.parametrize("added", ["loss", "loss.detach()"])
@pytest.mark.parametrize(
    "anew", ["{made}(s.step + 1, s.total + {added})", "{made}(total=s.total + {added}, step=s.step + 1)"]
)
def test_an_object_that_each_step_makes_anew_of_the_last_one_goes_on(made: str, added: str, anew: str) -> None:
    found = leaks(STATES, f"s = {anew.format(made=made, added=added)}", before=f"s = {made}(0, 0)")
    assert len(found) == (added == "loss")


@pytest.mark.parametrize(
    ("made", "anew"),
    [
        ("Tuple", "s._replace(total=s.total + {added})"),
        ("Named", "s._replace(total=s.total + {added})"),
        ("Tuple", "Tuple._make(kept + new for kept, new in zip(s, (1, {added})))"),
        ("Named", "Named._make([kept + new for kept, new in zip(s, (1, {added}))])"),
        ("Named", "Named(*(kept + new for kept, new in zip(s, (1, {added}))))"),
        ("Plain", "dataclasses.replace(s, total=s.total + {added})"),
        ("Defined", "attrs.evolve(s, total=s.total + {added})"),
        ("Defined", "attr.evolve(s, total=s.total + {added})"),
    ],
)
def test_an_object_with_another_value_in_one_field_goes_on(made: str, anew: str) -> None:
    before = f"s = {made}(0, 0)"
    assert len(leaks(STATES, f"s = {anew.format(added='loss')}", before=before)) == 1
    assert leaks(STATES, f"s = {anew.format(added='loss.item()')}", before=before) == []
    assert leaks(STATES, f"s = {anew.format(added='loss')}", f"s = {made}(0, 0)", before=before) == []


@pytest.mark.parametrize(
    "declared",
    [
        'Sums = collections.namedtuple("Sums", names)',
        'Sums = collections.namedtuple("Sums", ["step", *names])',
        'Sums = collections.namedtuple("Sums", "def total", rename=True)',
        """
class Sums(collections.namedtuple("Sums", "step total")):
    def __new__(cls, total, step):
        return super().__new__(cls, step, 0)
""",
    ],
)
def test_of_a_named_tuple_whose_fields_are_not_seen_nothing_is_said(declared: str) -> None:
    assert leaks(declared, "s = Sums(s.total + loss, 1)", before="s = Sums(0, 0)") == []
