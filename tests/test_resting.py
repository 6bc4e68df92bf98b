"""Networks that come in evaluation mode from the function that loads them, or as a global of the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

from torchlint.catalog import rule_of
from torchlint.engine import check
from torchlint.source import Source

HEAD = """
import torch
from torch import nn
from elsewhere import Encoder, tokens_of
from PIL import Image
from transformers import AutoModel, AutoTokenizer
"""

LOAD = """
def load(path):
    net = Encoder()
    net.load_state_dict(torch.load(path, map_location="cpu"))
    {switch}
    return {given}
"""

VECTORS = """
def vectors(path, batch):
    net = load(path)
    {before}
    return net(batch)
"""


def found(body: str) -> list[str]:
    """The functions of a text of which it is told that they infer with gradients on."""
    rule = rule_of("TLK201")
    assert rule is not None
    text = HEAD + body
    lines = [diagnostic.line for diagnostic in check(Source("program.py", text), [rule]).diagnostics]
    return [text.split("\n")[line - 1].partition("def ")[2].partition("(")[0] for line in lines]


def loaded(switch: str = "net.eval()", given: str = "net", before: str = "pass") -> str:
    return LOAD.format(switch=switch, given=given) + VECTORS.format(before=before)


@pytest.mark.parametrize(
    ("switch", "given"),
    [
        ("net.eval()", "net"),
        ("net.eval()", 'net.to("cuda")'),
        ("net = net.eval()", "net"),
        ("net.train(False)", "net"),
        ("pass", "net.eval()"),
        ('with torch.device("cpu"):\n        net.eval()', "net"),
    ],
)
def test_a_network_is_in_evaluation_mode_where_its_loader_puts_it_into_that(switch: str, given: str) -> None:
    assert found(loaded(switch, given)) == ["vectors"]


@pytest.mark.parametrize(
    ("switch", "given"),
    [
        ("pass", "net"),
        ('if path.endswith(".best"):\n        net.eval()', "net"),
        ("net.eval()\n    net.train()", "net"),
        ("net.eval()", "nn.Sequential(net, nn.Linear(8, 8))"),
        ("net.eval()", "net if path else Encoder()"),
    ],
)
def test_a_loader_that_need_not_do_so_says_nothing(switch: str, given: str) -> None:
    assert found(loaded(switch, given)) == []


def test_a_network_that_may_be_put_into_training_mode_again_says_nothing() -> None:
    assert found(loaded(before="net.train()")) == []
    assert found(loaded() + "\ndef tune(path):\n    net = load(path)\n    net.train()\n    return net\n") == []


def test_a_network_that_a_backward_runs_through_is_used() -> None:
    body = """
def saliency(path, picture):
    net = load(path)
    picture.requires_grad_()
    net(picture).max().backward()
    return picture.grad
"""
    assert found(LOAD.format(switch="net.eval()", given="net") + body) == []


def test_the_network_among_what_a_loader_gives() -> None:
    both = LOAD.format(switch="net.eval()", given="net, Encoder()")
    assert found(both + "\ndef vectors(path, x):\n    net, other = load(path)\n    return net(x)\n") == ["vectors"]
    assert found(both + "\ndef vectors(path, x):\n    net, other = load(path)\n    return other(x)\n") == []


def test_a_loader_of_a_loader() -> None:
    body = LOAD.format(switch="net.eval()", given="net") + "\ndef first():\n    return load('first.pt')\n"
    assert found(body + "\ndef vectors(x):\n    net = first()\n    return net(x)\n") == ["vectors"]


GLOBAL = """
reader = AutoTokenizer.from_pretrained("some/encoder")
encoder = AutoModel.from_pretrained("some/encoder")
{switch}

def vectors({given}):
    tokens = {tokens}
    return encoder(**tokens).last_hidden_state
"""


def test_a_global_in_evaluation_mode_reads_what_its_function_makes_of_a_text() -> None:
    tokens = 'reader(text, return_tensors="pt")'
    assert found(GLOBAL.format(switch="encoder.eval()", given="text", tokens=tokens)) == ["vectors"]
    assert found(GLOBAL.format(switch="pass", given="text", tokens=tokens)) == []


def test_callers_may_train_through_a_global_that_reads_their_tensors() -> None:
    assert found(GLOBAL.format(switch="encoder.eval()", given="tokens", tokens="tokens")) == []
    assert found(GLOBAL.format(switch="encoder.eval()", given="x", tokens='{"inputs_embeds": x * 2}')) == []


def test_an_object_that_has_its_network_from_a_loader() -> None:
    body = """
class Index:
    def __init__(self, path):
        self.net = load(path)

    def vectors(self, batch):
        return self.net(batch)
"""
    assert found(LOAD.format(switch="net.eval()", given="net") + body) == ["vectors"]
    assert found(LOAD.format(switch="pass", given="net") + body) == []


LOADING = """
    import torch
    from torch import nn

    def load(path):
        net = nn.Linear(8, 8)
        net.load_state_dict(torch.load(path, map_location="cpu"))
        {switch}
        return {given}
"""

USING = """
    from loading import load

    def vectors(path, batch):
        net = load(path){item}
        return net(batch)
"""


def told(folder: Path, switch: str, given: str = "net", item: str = "") -> list[str]:
    files = {"loading.py": LOADING.format(switch=switch, given=given), "using.py": USING.format(item=item)}
    return Project(folder, files).found()


def test_a_loader_of_another_file(tmp_path: Path) -> None:
    assert told(tmp_path, "net.eval()") == ["using.py: TLK201 warning"]
    assert told(tmp_path, "net.eval()", "net, {}", "[0]") == ["using.py: TLK201 warning"]


def test_a_loader_of_another_file_that_need_not_do_so(tmp_path: Path) -> None:
    assert told(tmp_path, "pass") == []
    assert told(tmp_path, 'if "best" in path:\n            net.eval()') == []


SERVED = """
def words(net, decoder, sound):
    return decoder.decode(net(sound))

def main(path, decoder, sound):
    return {{"words": words({net}, decoder, sound)}}
"""


def test_a_function_is_given_its_network_in_evaluation_mode_by_all_its_callers() -> None:
    body = LOAD.format(switch="net.eval()", given="net")
    assert found(body + SERVED.format(net="load(path)")) == ["words"]
    assert found(body + SERVED.format(net="Encoder()")) == []


def test_one_caller_that_does_not_say_so_may_train() -> None:
    body = LOAD.format(switch="net.eval()", given="net") + SERVED.format(net="load(path)")
    tune = "\ndef tune(net, decoder, sounds):\n    return [words(net, decoder, sound) for sound in sounds]\n"
    assert found(body + tune) == []
