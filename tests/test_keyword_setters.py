"""Functions that put what they are given by name onto an object: each call is as good as assignments."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import Program
from projects import Project
from rule_programs import diagnose

from torchlint.facts.autograd.contexts import Share
from torchlint.facts.values.graph import Kind
from torchlint.source import Source

PLACED = """
def place(target, *rest, label="x", **kept):
    {body}

class Record:
    pass

def run(record, first, second):
    place({given})

def other(record, first):
    place(record, third=first)
"""


def placed(body: str, given: str = "record, a=first, b=second") -> list[tuple[str, str]]:
    """The attributes that the first call sets, each with what it is set to."""
    stores = Program(PLACED.format(body=body.replace("\n", "\n    "), given=given)).facts.graph.stores
    own = [one for one in stores if one.function.name == "run" and one.kind is Kind.ASSIGN and one.attribute]
    assert all(one.holder is not None and one.holder.name == "record" for one in own)
    return [(one.attribute, one.value.name) for one in own]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("for k, v in kept.items():\n    setattr(target, k, v)", ("a", "b")),
        ("for k, v in kept.items():\n    print(k)\n    object.__setattr__(target, k, v)", ("a", "b")),
        ("for k, v in kept.items():\n    target.__setattr__(k, v)", ("a", "b")),
        ("for k in kept:\n    setattr(target, k, kept[k])", ("a", "b")),
        ("for k, v in kept.items():\n    setattr(target, f'last_{k}', v)", ("last_a", "last_b")),
        ("for k, v in kept.items():\n    setattr(target, f'{k}_map', v)", ("a_map", "b_map")),
        ("for k, v in kept.items():\n    setattr(target, 'last_' + k, v)", ("last_a", "last_b")),
        ("for k, v in kept.items():\n    setattr(target, k + '_', v)", ("a_", "b_")),
        ("vars(target).update(kept)", ("a", "b")),
        ("print(label)\ntarget.__dict__.update(**kept)\nreturn target", ("a", "b")),
    ],
)
def test_each_keyword_is_an_attribute_of_its_own(body: str, names: tuple[str, str]) -> None:
    assert placed(body) == [(names[0], "first"), (names[1], "second")]


def test_what_a_parameter_takes_is_none() -> None:
    assert placed("vars(target).update(kept)", "record, label=first, b=second") == [("b", "second")]
    assert placed("vars(target).update(kept)", "record, first, second") == []


@pytest.mark.parametrize(
    "body",
    [
        "for k, v in kept.items():\n    setattr(target, k, v.detach())",
        "for k, v in kept.items():\n    setattr(target, label, v)",
        "for k, v in kept.items():\n    setattr(target, f'{k}{label}', v)",
        "for k, v in kept.items():\n    setattr(target, f'{k:>9}', v)",
        "for k, v in kept.items():\n    v = v.detach()\n    setattr(target, k, v)",
        "for k, v in kept.items():\n    if k in vars(target):\n        setattr(target, k, v)",
        "for k, v in kept.items():\n    if v is None:\n        continue\n    setattr(target, k, v)",
        "for k, v in kept.items():\n    setattr(rest, k, v)",
        "for k, v in kept.items():\n    setattr(Record, k, v)",
        "if rest:\n    return\nvars(target).update(kept)",
        "kept = {k: v.detach() for k, v in kept.items()}\nvars(target).update(kept)",
        "target = Record()\nvars(target).update(kept)",
        "print(kept)",
    ],
)
def test_what_becomes_of_them_otherwise_is_not_told(body: str) -> None:
    assert placed(body) == []


NETWORK = """
import torch
from torch import nn
from torch.autograd import Function

class Watching:
    def keep(self, **values):
        for name, value in values.items():
            {setting}
        return {result}

    def watched(self):
        return self.{read}.detach().mean().item()

class Mix(Watching, nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x):
        share = torch.sigmoid(self.left(x))
        {kept}
        return share * self.right(x)

def train(net, loader, optimizer):
    for x, y in loader:
        loss = nn.functional.mse_loss(net(x), y){more}
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(net.watched())
"""

USUAL = {
    "setting": "setattr(self, 'seen_' + name, value)", "result": "None", "read": "seen_share",
    "kept": "self.keep(share=share)", "more": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({}, True),
        ({"setting": "object.__setattr__(self, f'seen_{name}', value)"}, True),
        ({"result": "value", "kept": "share = self.keep(share=share)"}, True),
        ({"kept": "self.keep(count=len(x), share=share)"}, True),
        ({"kept": "self.keep(share=share.detach())"}, False),
        ({"kept": "self.keep(share=share.mean().item())"}, False),
        ({"kept": "self.keep(share=share); self.seen_share = None"}, False),
        ({"more": " + net.seen_share.sum()"}, False),
        ({"setting": "setattr(self, name + str(len(values)), value)", "more": " + net.share1.sum()"}, False),
        ({"setting": "self.__dict__[name] = value", "more": " + net.share.sum()"}, False),
    ],
)
def test_what_a_layer_keeps_by_a_mixin_is_left_there(parts: dict[str, str], told: bool) -> None:
    text = NETWORK
    for name, part in {**USUAL, **parts}.items():
        text = text.replace(f"{{{name}}}", part)
    found = [one for one in diagnose(Source("train.py", text)) if one.code == "TLK111"]
    assert len(found) == told
    assert not any(one.repair for one in found)


MIXIN = """
    class Watching:
        def keep(self, **values):
            for name, value in values.items():
                setattr(self, name, value)
"""

HOST = """
    import torch
    from torch import nn
    from watching import Watching

    class Mix(Watching, nn.Module):
        def __init__(self):
            super().__init__()
            self.left = nn.Linear(8, 8)

        def forward(self, x):
            share = torch.sigmoid(self.left(x))
            {kept}
            return share * x
"""

STEPS = """
    from torch import nn
    from host import Mix

    def train(loader, optimizer):
        net = Mix()
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y) + net.share.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize("value", ["share", "share.detach()"])
def test_what_another_file_keeps_is_read_by_names_that_are_not_seen(tmp_path: Path, value: str) -> None:
    host = HOST.format(kept=f"self.keep(share={value})")
    project = Project(tmp_path, {"watching.py": MIXIN, "host.py": host, "steps.py": STEPS})
    assert not [one for one in project.found() if "TLK1" in one]


CONTEXT = """
import torch
from torch.autograd import Function

def stash(ctx, **things):
    for key, value in things.items():
        setattr(ctx, key, value)

class Own(Function):
    @staticmethod
    def forward(ctx, x, n):
        y = x.exp()
        {kept}
        return y
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y, None

class Other(Function):
    @staticmethod
    def forward(ctx, x):
        stash(ctx, x=x)
        return x.sin()
    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.x.cos()
"""


@pytest.mark.parametrize(
    ("kept", "shares"),
    [
        ("stash(ctx, y=y, n=n)", [Share.OUTPUT]),
        ("stash(ctx, y=y.view(-1))", [Share.VIEW]),
        ("stash(ctx, y=x, n=n)", []),
        ("stash(ctx, n=n); ctx.save_for_backward(y)", []),
        ("stash(ctx, y=y.detach().clone())", []),
    ],
)
def test_what_a_helper_puts_on_a_context(kept: str, shares: list[Share]) -> None:
    found = Program(CONTEXT.replace("{kept}", kept), head="").facts.on_contexts
    assert [(one.share, one.holder) for one in found] == [(share, "ctx.y") for share in shares]
