"""Objects that a third file makes and passes, and that copy the model which they are given and collect the copies."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import Project

SELECTION = """
    import copy
    from collections import deque

    class Selection:
        def __init__(self, most=5):
            self.most = most
            self.records = {made}

        def after_epoch(self, model, score):
            {kept}

        def _add(self, model, score):
            self.records.append((score, model))

        def best(self):
            return max(self.records, key=lambda one: one[0])
"""

FITTING = """
    import torch
    from torch import nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 3))

        def forward(self, x):
            return self.layers(x)

    def fit(model, loader, epochs, selection):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for epoch in range(epochs):
            {first}
            for x, y in loader:
                loss = nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            {each}
        return selection.best()
"""

RUN = """
    from fitting import Classifier, fit
    from selection import Selection

    def main(loader):
        {before}
        print(fit(Classifier(), loader, 300, {passed}))
"""

NOTE = "selection.after_epoch(model, loss.item())"
WHOLE = "self.records.append((score, copy.deepcopy(model)))"


@pytest.mark.parametrize(
    ("made", "kept", "each", "leaks"),
    [
        ("[]", WHOLE, NOTE, True),
        ("[]", WHOLE, "selection.after_epoch(model=model, score=loss.item())", True),
        ("[]", WHOLE, "helper = selection; helper.after_epoch(model, 0.5)", True),
        ("[]", "self.records.append((score, copy.deepcopy(model.state_dict())))", NOTE, True),
        ("[]", "self.records.append((score, {k: v.clone() for k, v in model.state_dict().items()}))", NOTE, True),
        ("[]", "saved = copy.deepcopy(model)\nself.records.append({'score': score, 'model': saved})", NOTE, True),
        ("[]", "self._add(copy.deepcopy(model), score)", NOTE, True),
        ("[]", "if score > 0.5:\n    self.records.append((score, copy.deepcopy(model).eval()))", NOTE, True),
        ("[]", "self.records.append((score, copy.deepcopy(model).cpu()))", NOTE, False),
        ("[]", "self.records.append((score, {k: v.cpu() for k, v in model.state_dict().items()}))", NOTE, False),
        ("[]", "self.records.append((score, model.state_dict()))", NOTE, False),
        ("[]", "self.records.append((copy.deepcopy(score), str(model)))", NOTE, False),
        ("[]", "self.records = [(score, copy.deepcopy(model))]", NOTE, False),
        ("[]", WHOLE + "\nself.records = self.records[-self.most:]", NOTE, False),
        ("[]", WHOLE + "\nif len(self.records) > self.most:\n    self.records.pop(0)", NOTE, False),
        ("[]", WHOLE + "\nif len(self.records) > self.most:\n    del self.records[0]", NOTE, False),
        ("deque(maxlen=5)", WHOLE, NOTE, False),
        ("{}", "self.records['best'] = copy.deepcopy(model)", NOTE, False),
        ("{}", "self.records[score] = copy.deepcopy(model)", "selection.after_epoch(model, 'last')", False),
        ("[]", WHOLE, "selection.after_epoch(x, loss.item())", False),
        ("[]", WHOLE, "selection.after_epoch('model', loss.item())", False),
    ],
)  # fmt: skip
def test_copies_that_a_passed_object_makes_and_collects(
    tmp_path: Path, made: str, kept: str, each: str, leaks: bool
) -> None:
    assert _found(tmp_path, made, kept, each=each) == (["fitting.py: TLK405 error"] if leaks else [])


@pytest.mark.parametrize(
    ("before", "passed", "first", "leaks"),
    [
        ("selection = Selection(most=3)", "selection", "", True),
        ("", "selection=Selection()", "", True),
        ("selection = None", "selection", "", False),
        ("import numpy", "numpy.selection()", "", False),
        ("", "Selection()", "selection = type(selection)()", False),
        ("", "Selection()", "selection.records.clear()", False),
    ],
)
def test_the_object_has_to_be_known_and_older_than_the_turn(
    tmp_path: Path, before: str, passed: str, first: str, leaks: bool
) -> None:
    found = _found(tmp_path, "[]", WHOLE, first=first, before=before, passed=passed)
    assert found == (["fitting.py: TLK405 error"] if leaks else [])


def _found(
    folder: Path, made: str, kept: str, *, first: str = "", each: str = NOTE, before: str = "", passed: str = ""
) -> list[str]:
    files = {
        "selection.py": SELECTION.format(made=made, kept=kept.replace("\n", "\n" + " " * 12)),
        "fitting.py": FITTING.format(first=first, each=each),
        "run.py": RUN.format(before=before, passed=passed or "Selection()"),
    }
    # The file of a class that nobody is seen to call says for itself that its method collects, as a note.
    return [one for one in Project(folder, files).found() if "fitting.py: TLK405" in one]


PICKING = """
    import copy
    from collections import deque

    class Picking:
        def __init__(self):
            self.log = {made}

        def after_epoch(self, trainer, epoch):
            {kept}

        def first(self):
            return self.log[0]
"""

TRAINER = """
    import copy
    import torch
    from torch import nn

    class Trainer:
        def __init__(self, net, callbacks):
            self.net, self.callbacks, self.loss = net, callbacks, 0.0
            self.optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
            self.start = copy.deepcopy(net.state_dict())

        def weights(self):
            return {given}

        def run(self, loader, epochs):
            for epoch in range(epochs):
                for x, y in loader:
                    loss = nn.functional.cross_entropy(self.net(x), y)
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                for callback in self.callbacks:
                    callback.after_epoch(self, epoch)
"""

PICK = """
    from torch import nn
    from picking import Picking
    from trainer import Trainer

    def main(loader):
        picking = Picking()
        Trainer(nn.Linear(8, 3), [picking]).run(loader, 300)
        print(picking.first())
"""


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, True),
        ({"kept": "self.log.append((trainer.loss, trainer.weights()))"}, True),
        ({"kept": "self.log.append((epoch, trainer.weights()))"}, True),
        ({"kept": "weights = trainer.weights()\n            self.log.append({'at': epoch, 'weights': weights})"}, True),
        ({"given": "copy.deepcopy(self.net)"}, True),
        ({"given": "{k: v.detach().clone() for k, v in self.net.state_dict().items()}"}, True),
        ({"kept": "self.log.append(copy.deepcopy(trainer.net))"}, True),
        ({"kept": "self.log.append((epoch, copy.deepcopy(trainer.net.state_dict())))"}, True),
        ({"kept": "self.log.append(copy.deepcopy(trainer.loss))"}, False),
        ({"kept": "self.log.append(copy.deepcopy(trainer.net).cpu())"}, False),
        ({"kept": "self.log.append(copy.deepcopy(trainer.net))\n            self.log.pop(0)"}, False),
        ({"kept": "self.log = [copy.deepcopy(trainer.net)]"}, False),
        ({"given": "{k: v.cpu() for k, v in self.net.state_dict().items()}"}, False),
        ({"given": "self.net.state_dict()"}, False),
        ({"given": "self.start"}, False),
        ({"given": "self.loss"}, False),
        ({"kept": "self.log.append(len(trainer.weights()))"}, False),
        ({"kept": "self.log.append(trainer.loss)"}, False),
        ({"kept": "self.log = [trainer.weights()]"}, False),
        ({"kept": "self.log.append(trainer.weights())\n            self.log = self.log[-3:]"}, False),
        ({"made": "deque(maxlen=3)"}, False),
        ({"made": "{}", "kept": "self.log[trainer.loss] = trainer.weights()"}, False),
    ],
)
def test_a_copy_that_a_method_of_a_passed_object_makes(tmp_path: Path, changed: dict[str, str], told: bool) -> None:
    written = {
        "made": "[]",
        "kept": "self.log.append(trainer.weights())",
        "given": "copy.deepcopy(self.net.state_dict())",
        **changed,
    }
    files = {"picking.py": PICKING.format(**written), "trainer.py": TRAINER.format(**written), "main.py": PICK}
    found = [one for one in Project(tmp_path, files).found() if "trainer.py: TLK405" in one]
    assert found == ["trainer.py: TLK405 error"] * told
