"""``meter.note(out)`` keeps ``out.loss``: an attribute of what a function is given is what its callers see there."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

COUNTER = """
    class Counter:
        def begin(self):
            self.total = 0.0

        def note(self, answer):
            self.total = self.total + {kept}
"""

TUNER = """
    import torch
    from transformers import AutoModelForCausalLM
    from counter import Counter

    class Tuner(Counter):
        def __init__(self, name):
            self.net = AutoModelForCausalLM.from_pretrained(name)
            self.optimizer = torch.optim.AdamW(self.net.parameters(), 1e-4)

        def fit(self, loader):
            self.begin()
            for batch in loader:
                answer = self.net(**batch)
                {trains}
                self.optimizer.step()
                self.optimizer.zero_grad()
                {noted}
"""

TRAINS = "answer.loss.backward()"

CASES = [
    ("answer.loss", TRAINS, "self.note(answer)", True),
    ("answer.loss.detach()", TRAINS, "self.note(answer)", False),
    ("answer.loss.item()", TRAINS, "self.note(answer)", False),
    # Nobody here says what is under that name.
    ("answer.seconds", TRAINS, "self.note(answer)", False),
    # Another object has another loss.
    ("answer.loss", TRAINS, "self.note(self.clock.read())", False),
    ("answer.loss", "self.net.train(); (answer.loss * 2).backward()", "self.note(answer)", True),
]


@pytest.mark.parametrize(("kept", "trains", "noted", "leaks"), CASES)
def test_it_is_kept_by_a_base_of_another_file(tmp_path: Path, kept: str, trains: str, noted: str, leaks: bool) -> None:
    files = {"counter.py": COUNTER.format(kept=kept), "tuner.py": TUNER.format(trains=trains, noted=noted)}
    assert Project(tmp_path, files).found() == (["tuner.py: TLK105 warning"] if leaks else [])


@pytest.mark.parametrize(("kept", "trains", "noted", "leaks"), CASES)
def test_it_is_kept_by_a_base_of_the_file(tmp_path: Path, kept: str, trains: str, noted: str, leaks: bool) -> None:
    below = TUNER.format(trains=trains, noted=noted).replace("    from counter import Counter\n", "")
    files = {"tuner.py": below.replace("    class Tuner", COUNTER.format(kept=kept) + "\n    class Tuner")}
    assert Project(tmp_path, files).found() == (["tuner.py: TLK101 warning"] if leaks else [])


def test_what_is_read_of_an_answer_that_was_made_without_gradients_has_no_graph(tmp_path: Path) -> None:
    files = {
        "counter.py": COUNTER.format(kept="answer.loss"),
        "judge.py": """
            import torch
            from counter import Counter

            @torch.no_grad()
            def judge(net, loader):
                counter, worst = Counter(), 0.0
                counter.begin()
                for batch in loader:
                    answer = net(**batch)
                    worst = max(worst, answer.loss.item())
                    counter.note(answer)
                return counter.total, worst
        """,
    }
    assert Project(tmp_path, files).found() == []
