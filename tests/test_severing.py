"""Functions that cut the graph off where the caller's flag says so."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

LOOP = TRAINING + "total = 0\nfor x in loader:\n    total = total + {taken}\n"


def adds_up_graphs(function: str, taken: str) -> bool:
    """Whether a sum over a pass keeps the graphs of what the function gives."""
    return bool(Program(function + LOOP.format(taken=taken)).facts.accumulations)


ASSIGNED = """
def run(net, x, training):
    out = net(x)
    if not training:
        out = out.detach()
    return out
"""
CHOSEN = """
def run(net, x, training=True):
    out = net(x)
    return out if training else out.detach()
"""
RETURNED = """
def run(net, x, training=False):
    out = net(x)
    if training:
        return out
    return out.detach()
"""
BOTH = """
def run(net, x, training, quiet=True):
    out = net(x)
    if quiet and not training:
        return out.item()
    elif not training:
        return out.detach()
    return out
"""


@pytest.mark.parametrize("function", [ASSIGNED, CHOSEN, RETURNED, BOTH])
def test_a_flag_that_is_written_decides(function: str) -> None:
    assert adds_up_graphs(function, "run(model, x, True).sum()")
    assert adds_up_graphs(function, "run(model, x, training=True).sum()")
    assert not adds_up_graphs(function, "run(model, x, False).sum()")
    assert not adds_up_graphs(function, "run(model, x, training=False).sum()")


def test_so_does_a_default() -> None:
    assert adds_up_graphs(CHOSEN, "run(model, x).sum()")
    assert not adds_up_graphs(RETURNED, "run(model, x).sum()")


def test_a_flag_that_is_not_known_decides_nothing() -> None:
    assert adds_up_graphs(ASSIGNED, "run(model, x, x.training).sum()")
    own = ASSIGNED.replace("    out = net", "    training = net.training\n    out = net")
    assert adds_up_graphs(own, "run(model, x, False)")


def test_what_is_cut_off_on_one_way_only_keeps_its_graph() -> None:
    function = "def run(net, x, training, more):\n    out = net(x)\n    if more:\n        return out\n"
    function += "{rest}    return out.detach()\n"
    assert adds_up_graphs(function.format(rest=""), "run(model, x, False, True).sum()")
    assert not adds_up_graphs(function.format(rest=""), "run(model, x, False, False).sum()")
    joined = function.format(rest="    if training:\n        return out\n")
    assert not adds_up_graphs(joined, "run(model, x, False, False).sum()")
    assert adds_up_graphs(joined, "run(model, x, False, model).sum()")


def test_each_item_of_a_result_is_cut_off() -> None:
    function = """
def run(net, x, training):
    out, aside = net(x), net(x + 1)
    if not training:
        out, aside = out.detach(), aside.detach()
    return out, -aside
"""
    assert adds_up_graphs(function, "run(model, x, True)[1].sum()")
    assert not adds_up_graphs(function, "run(model, x, False)[1].sum()")
    half = function.replace("out, aside = out.detach(), aside.detach()", "out = out.detach()")
    assert adds_up_graphs(half, "run(model, x, False)[1].sum()")


def test_what_is_put_into_a_result_later_counts() -> None:
    function = """
def run(net, x, training):
    logs, out = {}, net(x)
    logs["out"] = out
    logs["size"] = 3 if training else 4
    if not training:
        out = out.detach()
    return logs
"""
    assert adds_up_graphs(function, "run(model, x, False)['out'].sum()")
    assert adds_up_graphs(function.replace("return logs", "return [logs]"), "run(model, x, False)[0]['out'].sum()")
    cut = function.replace('    logs["out"] = out\n', "").replace("return logs", 'logs["out"] = out\n    return logs')
    assert not adds_up_graphs(cut, "run(model, x, False)['out'].sum()")
