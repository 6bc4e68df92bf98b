"""Lists at the top level of another file: they outlive every step, unless what empties them is called in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects import Project

STATE = """
    CURVE = []
    BEST = {"loss": 0.0}

    {emptying}

    def show(path):
        with open(path, "w") as file:
            file.writelines(f"{{float(one)}}" for one in CURVE)
"""

TRAIN = """
    import torch
    from torch import nn
    {imports}

    def train(net: nn.Module, loader, optimizer):
        {before}
        for epoch in range(3):
            {each_epoch}
            for x, y in loader:
                loss = (net(x) - y).pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                {each}
        {after}
"""

PLAIN = {"imports": "import state", "before": "pass", "each_epoch": "pass", "each": "pass", "after": "pass"}
RESET = "def reset():\n        CURVE.clear()\n        BEST.update(loss=0.0)"
BEGIN = f"{RESET}\n\n    def begin():\n        reset()"
KEPT, SHORT = "state.CURVE.append(loss)", "CURVE.append(loss)"
SHORT_IMPORTS = "from state import CURVE, reset"


@pytest.mark.parametrize(
    ("emptying", "train", "is_found"),
    [
        ("", {"each": KEPT}, True),
        (RESET, {"each": KEPT, "before": "state.reset()", "after": "state.show('curve')"}, True),
        (RESET, {"each": KEPT, "each_epoch": "state.reset()"}, True),
        (RESET, {"each": SHORT, "imports": SHORT_IMPORTS, "before": "reset()"}, True),
        (BEGIN, {"each": KEPT, "before": "state.begin()"}, True),
        (RESET, {"each": f"{KEPT}; state.reset()"}, False),
        (RESET, {"each": SHORT + "; reset()", "imports": SHORT_IMPORTS}, False),
        (BEGIN, {"each": f"{KEPT}; state.begin()", "before": "state.reset()"}, False),
        (RESET, {"each": "state.CURVE.append(loss.item())", "before": "state.reset()"}, False),
        (RESET, {"each": f"{KEPT}; state.CURVE.clear()", "before": "state.reset()"}, False),
        (RESET, {"each": f"{KEPT}; state.CURVE = []", "before": "state.reset()"}, False),
        (RESET, {"each": f"{KEPT}; state.CURVE[:] = []", "before": "state.reset()"}, False),
        ("def reset():\n        global CURVE\n        CURVE = []", {"each": f"{KEPT}; state.reset()"}, False),
        ("def trim():\n        CURVE[:] = CURVE[-9:]", {"each": f"{KEPT}; state.trim()"}, False),
        ("from collections import deque\n    CURVE = deque(maxlen=9)", {"each": KEPT}, False),
        (RESET, {"each": KEPT}, False),  # who empties it, and when, is not seen
        (RESET, {"each": f"{KEPT}; y.reset()"}, False),
        (RESET, {"each": f"{KEPT}; net.apply(state.reset)", "before": "state.reset()"}, False),
        ("def reset():\n        del CURVE[:-10]", {"each": f"{KEPT}; state.reset()"}, False),
        (f"{RESET}\n\n    class Log:\n        def flush(self):\n            CURVE.clear()",
         {"each": KEPT, "before": "state.reset()"}, False),
        (f"{RESET}\n\n    HOOKS = [reset]", {"each": KEPT, "before": "state.reset()"}, False),
    ],
)  # fmt: skip
def test_a_list_of_another_file_that_its_file_empties(
    tmp_path: Path, emptying: str, train: dict[str, str], is_found: bool
) -> None:
    files = {"state.py": STATE.replace("{emptying}", emptying).replace("{{", "{").replace("}}", "}")}
    files["train.py"] = TRAIN.format(**{**PLAIN, **train})
    project = Project(tmp_path, files)
    for found in (project.found(), project.found("train.py")):
        assert ("train.py: TLK102 warning" in found) is is_found


def test_what_another_file_is_given_binds_no_variable_of_the_function_that_calls_it(tmp_path: Path) -> None:
    files = {
        "reading.py": "import torch\n\ndef number(loss):\n    return loss.item()\n",
        "train.py": """
            from torch import nn
            from reading import number

            def train(net: nn.Module, loader, optimizer):
                last, shown = None, []

                def step(x, y):
                    nonlocal last
                    last = (net(x) - y).pow(2).mean()
                    last.backward()
                    optimizer.step()

                for x, y in loader:
                    step(x, y)
                    shown.append(number(last))
                    shown.append(last)
                return float(shown[0])
        """,
    }
    assert Project(tmp_path, files).found("train.py") == ["train.py: TLK102 warning"]


def test_a_third_file_may_empty_a_list(tmp_path: Path) -> None:
    files = {
        "state.py": STATE.replace("{emptying}", RESET),
        "turn.py": "import state\n\ndef end():\n    state.reset()\n",
    }
    train = {"imports": "import state, turn", "before": "state.reset()", "each": f"{KEPT}; turn.end()"}
    files["train.py"] = TRAIN.format(**{**PLAIN, **train})
    assert Project(tmp_path, files).found() == []


@pytest.mark.parametrize(
    ("train", "others", "is_found"),
    [
        ({"each": "state.note(loss)"}, {}, True),
        ({"each": "state.note(loss)", "after": "print(len(state.CURVE))"}, {}, True),
        ({"each": "state.note(loss); state.CURVE.clear()"}, {}, False),
        ({"each": "state.note(loss); state.CURVE = []"}, {}, False),
        ({"each": "note(loss); del CURVE[:-9]", "imports": "from state import CURVE, note"}, {}, False),
        (
            {"each": "state.note(loss); turn.end()", "imports": "import state, turn"},
            {"turn.py": "import state\n\ndef end():\n    while state.CURVE:\n        state.CURVE.pop()\n"},
            False,
        ),
    ],
)
def test_a_function_fills_a_list_of_its_file_that_another_file_may_empty(
    tmp_path: Path, train: dict[str, str], others: dict[str, str], is_found: bool
) -> None:
    state = "CURVE = []\n\ndef note(loss):\n    CURVE.append(loss)\n"
    files = {"state.py": state, "train.py": TRAIN.format(**{**PLAIN, **train}), **others}
    assert ("train.py: TLK105 warning" in Project(tmp_path, files).found()) is is_found
