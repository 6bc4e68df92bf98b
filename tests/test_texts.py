"""What begins as a text and is joined stays one: a method of a network that writes leaves no graph to its callers."""

from __future__ import annotations

import pytest

from torchlint.api import check_source

WRITER = """
import torch
from torch import nn


class Writer(nn.Module):
    def __init__(self, letters, width):
        super().__init__()
        self.letters = letters
        self.embed = nn.Embedding(100, width)
        self.core = nn.GRU(width, width)
        self.out = nn.Linear(width, 100)

    def write(self, start, lengths):
        {begun}
        letter, hidden = start, None
        for _ in range(20):
            answer, hidden = self.core(self.embed(letter), hidden)
            letter = self.out(answer)
            {joined}
        return {returned}
{others}
"""

EVALUATION = """
    def evaluate(self, data):
        with torch.no_grad():
            return [self.write(start, lengths) for start, lengths in data]
"""

PREDICTION = """
    def predict(self, words):
        return {"text": self.write(words, [20] * len(words))}
"""


def untrained(begun: str, joined: str, returned: str, others: str = "") -> list[str]:
    """The codes of the findings on the gradients of what writes."""
    source = WRITER.format(begun=begun, joined=joined, returned=returned, others=others)
    return [found.code for found in check_source(source) if found.code == "TLK201"]


WRITING = [
    ('text = ""', "text += self.letters[letter]", "text"),
    ('text = "-"', "text = text + self.letters[letter]", "text"),
    ('text = ""', "text = self.letters[letter] + text", "text"),
    ('text = ""', "text += self.letters[letter] if len(text) else self.letters[0]", "text + self.letters[0]"),
    ('texts = [""] * len(lengths)', "texts[0] += self.letters[letter]", "texts"),
    ('texts = ["", ""]', "texts[0] = texts[0] + self.letters[letter]", "texts"),
    ('texts = dict(); texts["first"] = ""', 'texts["first"] += self.letters[letter]', "list(texts.values())"),
    ('texts = {"first": ""}', 'texts["first"] += self.letters[letter]', "texts"),
]


@pytest.mark.parametrize(("begun", "joined", "returned"), WRITING)
def test_what_is_joined_to_a_text_is_one(begun: str, joined: str, returned: str) -> None:
    assert untrained(begun, joined, returned) == ["TLK201"]


@pytest.mark.parametrize(
    ("begun", "joined", "returned"),
    [
        ("text = 0", "text += self.letters[letter]", "text"),
        ('text = "" if lengths else 0', "text += self.letters[letter]", "text"),
        ('text = ""', "text = self.letters[letter]", "text"),
        ("texts = [0] * len(lengths)", "texts[0] += self.letters[letter]", "texts"),
        ("texts = dict(self.letters)", "texts[0] += self.letters[letter]", "texts"),
        ('texts = ["", 0]', "texts[0] += self.letters[letter]", "texts"),
        ('texts = [""]; texts[0] = self.letters[0]', "texts[0] += self.letters[letter]", "texts"),
        ('texts = [""] * len(lengths)', "texts[0] += self.letters[letter]", "(texts, letter)"),
    ],
)
def test_what_may_be_something_else_is_left_to_the_callers(begun: str, joined: str, returned: str) -> None:
    assert not untrained(begun, joined, returned)


@pytest.mark.parametrize(("begun", "joined", "returned"), WRITING)
def test_what_every_caller_guards_needs_no_guard(begun: str, joined: str, returned: str) -> None:
    assert not untrained(begun, joined, returned, EVALUATION)
    assert untrained(begun, joined, returned, EVALUATION + PREDICTION)


CAPTIONS = """
import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer


class Captioner(nn.Module):
    def __init__(self, name, width, tokenizer):
        super().__init__()
        self.llm = AutoModelForCausalLM.from_pretrained(name)
        self.tokenizer = {}
        self.bridge = nn.Linear(width, 512)

    def caption(self, features, longest=32):
        tokens = self.llm.generate(inputs_embeds=self.bridge(features), max_new_tokens=longest)
        return {}
"""


@pytest.mark.parametrize("tokenizer", ["AutoTokenizer.from_pretrained(name)", "tokenizer"])
@pytest.mark.parametrize(
    "returned",
    [
        "self.tokenizer.batch_decode(tokens, skip_special_tokens=True)",
        '{"text": [self.tokenizer.decode(row, skip_special_tokens=True) for row in tokens]}',
        '{"text": self.tokenizer.batch_decode(tokens, skip_special_tokens=True), "of": features}',
    ],
)
def test_what_a_tokenizer_writes_is_text(tokenizer: str, returned: str) -> None:
    source = CAPTIONS.format(tokenizer, returned)
    assert [found.code for found in check_source(source)] == ["TLK201"]


@pytest.mark.parametrize(
    "returned",
    [
        "self.tokenizer.decode(tokens)",
        '{"text": self.tokenizer.decode(tokens), "of": features}',
        "tokens, self.tokenizer.batch_decode(self.bridge(features).argmax(-1), skip_special_tokens=True)",
    ],
)
def test_what_decodes_otherwise_may_give_tensors(returned: str) -> None:
    assert not check_source(CAPTIONS.format("tokenizer", returned))
