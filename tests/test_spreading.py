"""Keyword arguments that come from a dictionary."""

from __future__ import annotations

import pytest
from programs import Program

from torchlint.facts.values.graph import Value


def call_of(program: str) -> Value:
    """The call of ``f`` in a program."""
    calls = [value for value in Program(program).facts.calls() if value.callee.name.endswith("f")]
    assert len(calls) == 1
    return calls[0]


@pytest.mark.parametrize(
    "program",
    [
        "from m import f\nOPTIONS = {'a': True, 'b': 2}\ndef g(x):\n    return f(x, **OPTIONS)",
        "from m import f\nOPTIONS = dict(a=True, b=2)\ndef g(x):\n    return f(x, **OPTIONS)",
        "from m import f\ndef g(x):\n    options = dict(a=True)\n    print(options)\n    return f(x, **options)",
        "from m import f\ndef g(x):\n    options = {'a': True}\n    return lambda: f(x, **options)",
        "from m import f\nOPTIONS = {'b': 1, 'a': True}\nf(1, **OPTIONS, c=3)",
    ],
)
def test_a_dictionary_that_is_only_written_gives_its_items(program: str) -> None:
    call = call_of(program)
    given = call.argument(-1, "a")
    assert given is not None
    assert given.name == "True"
    assert None not in call.keys[1:]
    assert given.function is call.function


@pytest.mark.parametrize(
    "change",
    ["OPTIONS['a'] = False", "OPTIONS.update(a=False)", "OPTIONS |= {'a': False}", "del OPTIONS['a']",
     "OPTIONS.pop('a')", "OPTIONS = {}"],
)  # fmt: skip
def test_a_dictionary_that_changes_stays_unknown(change: str) -> None:
    program = f"from m import f\nOPTIONS = {{'a': True}}\n{change}\ndef g(x):\n    return f(x, **OPTIONS)"
    assert call_of(program).argument(-1, "a") is None
    before = f"from m import f\nOPTIONS = {{'a': True}}\ndef g(x):\n    return f(x, **OPTIONS)\n{change}"
    assert call_of(before).argument(-1, "a") is None


@pytest.mark.parametrize(
    "body",
    [
        "options = {'a': True} if x else {}\n    return f(x, **options)",
        "options = {**x, 'a': True}\n    return f(x, **options)",
        "return f(x, **x.options)",
        "return f(**x)",
    ],
)
def test_other_dictionaries_stay_unknown(body: str) -> None:
    assert call_of(f"from m import f\ndef g(x):\n    {body}").argument(-1, "a") is None


def test_a_tensor_of_another_function_is_read_there() -> None:
    call = call_of("import torch\nfrom m import f\nPARTS = {'a': torch.zeros(3)}\ndef g():\n    return f(**PARTS)")
    given = call.argument(-1, "a")
    assert given is not None
    assert given.function is call.function


def test_what_is_spread_is_not_dropped_from_the_call() -> None:
    program = Program(
        "import torch\nfrom torch import nn\nmodel = nn.Linear(3, 1)\nKEPT = {'retain_graph': True}\n"
        "for x in loader:\n    loss = model(x).sum()\n    loss.backward(**KEPT)\n"
    )
    assert [found.by_keyword for found in program.facts.retained_in_vain] == [False]
