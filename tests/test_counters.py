"""Loops that count their own turns, and what of two states that one statement carries is told once."""

from __future__ import annotations

import pytest
from programs import HEAD, Program

from torchlint import check_source
from torchlint.facts.turns.counters import counts_its_turns

LOOP = """
def decode(limit, queue):
    done, length, ready = 0, 0, True
    {head}
        queue.pop()
        {body}
    return done
"""


@pytest.mark.parametrize(
    ("head", "body", "counts"),
    [
        ("while length < limit:", "length += 1", True),
        ("while ready and length < limit and done < 4:", "length = length + 1", True),
        ("while limit > length:", "length += 1", True),
        ("for _ in range(limit):", "length += 1", True),
        ("while True:", "length += 1", False),
        ("while ready or length < limit:", "length += 1", False),
        ("while not length < limit:", "length += 1", False),
        ("while done < limit:", "done += queue.pop()", False),
        ("while length < limit:", "length, limit = length + 1, limit + 1", False),
        ("while length < limit:", "if ready: length += 1", False),
        ("for _ in queue:", "length += 1", False),
    ],
)
def test_a_loop_counts_its_turns_by_what_each_of_them_raises(head: str, body: str, counts: bool) -> None:
    (loop,) = Program(LOOP.format(head=head, body=body)).facts.graph.loops
    assert counts_its_turns(loop) is counts


DECODER = """
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(3, 3)
        self.encoder, self.out = nn.LSTM(3, 3, batch_first=True), nn.Linear(3, 3)
        self.words = nn.Embedding(9, 3)
    def decode(self, x, h, c):
        h, c = self.cell(x, (h, c))
        return self.out(h), (h, c)
    def predict(self, x, limit):
        _, (h, c) = self.encoder(x)
        h, c, length, words = h[-1], c[-1], 0, []
        x = self.words(torch.zeros(4, dtype=torch.long))
        {head}
            scores, (h, c) = self.decode(x, h, c)
            x = self.words(scores.argmax(1))
            word = scores.argmax().item()
            words.append(word)
            length += 1
            if word == 3:
                break
        return words
"""


@pytest.mark.parametrize(
    ("head", "level"),
    [("while length < limit:", "warning"), ("for _ in range(limit):", "warning"), ("while True:", "error")],
)
def test_states_that_one_statement_carries_are_told_once(head: str, level: str) -> None:
    found = [one for one in check_source(HEAD + DECODER.format(head=head)) if one.code == "TLK104"]
    assert [one.level.value for one in found] == [level]
    assert "`c` and `h` go into the next step" in found[0].message
