"""Figures that stay open, who closes them, and where a repair does."""

from __future__ import annotations

import pytest
from programs import TRAINING, Program

from torchlint.catalog import rule_of
from torchlint.engine import check
from torchlint.fix.applying import fix_source
from torchlint.source import Source

HEAD = """
import matplotlib.pyplot as plt
import wandb
from elsewhere import save, writer
"""


def in_step(*lines: str) -> str:
    """A training loop that ends each turn with these lines."""
    body = ["loss = model(x).sum()", "loss.backward()", "optimizer.step()", *lines]
    return HEAD + TRAINING + "for step, x in enumerate(loader):\n" + "".join(f"    {line}\n" for line in body)


def found(source: str) -> int:
    """How many open figures are found."""
    return len(Program(source).facts.open_figures)


@pytest.mark.parametrize(
    "lines",
    [
        ["fig = plt.figure()", "fig.savefig('x.png')"],
        ["fig, ax = plt.subplots()", "wandb.log({'fig': wandb.Image(fig)})"],
        ["if step % 100 == 0:", "    plt.figure(figsize=(2, 2))", "    plt.savefig('x.png')", "    plt.clf()"],
        ["fig = plt.figure()", "writer.add_figure('fig', fig, step, close=False)"],
        ["fig = plt.figure(step)", "fig.savefig('x.png')"],
        ["one = plt.figure()", "two = plt.figure()", "plt.close(two)"],
        ["fig = plt.figure()", "plt.show(block=False)"],
        ["kept = []", "fig = plt.figure()", "kept.append(fig)"],
        ["if step % 5 == 0:", "    plt.figure()"],
    ],
)
def test_a_figure_stays_open(lines: list[str]) -> None:
    assert found(in_step(*lines)) == 1


@pytest.mark.parametrize(
    "lines",
    [
        ["fig = plt.figure()", "plt.close(fig)"],
        ["fig, ax = plt.subplots()", "plt.close()"],
        ["one, two = plt.figure(), plt.figure()", "plt.close('all')"],
        ["fig = plt.figure()", "writer.add_figure('fig', fig, step)"],
        ["fig = plt.figure()", "save(fig)"],
        ["fig = plt.figure()", "plt.show()"],
        ["fig = plt.figure('loss')", "fig.clf()"],
        ["try:", "    pass", "except ValueError:", "    plt.figure()"],
        ["kept = []", "kept.append(plt.figure())", "for fig in kept:", "    plt.close(fig)"],
        ["if step == 0:", "    plt.figure()"],
        ["if not drawn:", "    plt.figure()", "    drawn = True"],
        ["if step > 3:", "    plt.figure()", "    break"],
    ],
)
def test_a_figure_is_closed_or_only_one(lines: list[str]) -> None:
    assert found(in_step(*lines)) == 0


SHOWN = """
def shown(model, loader):
    {before}
    with torch.no_grad():
        for x in loader:
            y = model(x)
            if not {flag}:
                fig, ax = plt.subplots()
                fig.savefig("x.png")
                {flag} = True

for epoch in range(9):
    for x in loader:
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()
    shown(model, loader)
"""


@pytest.mark.parametrize(
    ("before", "flag", "open_figures"),
    [("drawn = False", "drawn", 1), ("pass", "model.drawn", 0), ("global drawn", "drawn", 0)],
)
def test_a_flag_that_each_pass_begins_with_lets_one_figure_a_pass_through(
    before: str, flag: str, open_figures: int
) -> None:
    assert found(HEAD + TRAINING + SHOWN.format(before=before, flag=flag)) == open_figures


OVER_ITEMS = """
import torch
import matplotlib.pyplot as plt

def draw(curves, folder, names):
    for name in names:
        fig, ax = plt.subplots()
        ax.plot(curves[name].detach().numpy())
        plt.savefig(f"{folder}/{name}.png")
"""


def test_one_for_each_item_of_a_loop_that_is_no_step() -> None:
    (figure,) = Program(OVER_ITEMS).facts.open_figures
    assert figure.is_item


@pytest.mark.parametrize(
    ("old", "new", "count"),
    [
        ("plt.savefig(f", "plt.clf; plt.savefig(f", 1),
        ("in names:", "in names[1:]:", 1),
        ("in names:", "in range(len(names)):", 1),
        ("in names:", "in range(len(['a', 'b'])):", 0),
        ("in names:", "in range(20):", 0),
        ("in names:", "in range(21):", 1),
        ("in names:", "in ['train', 'test']:", 0),
        ("in names:", "in zip(['train', 'test'], names):", 0),
        ("in names:", "in {'train': 1, 'test': 2}.items():", 0),
        ("folder, names)", "folder, names=('train', 'test'))", 0),
        ("plt.savefig(", "print(", 0),
        ("    plt.savefig(", "plt.savefig(", 0),
        ("plt.savefig(", "plt.close(fig); plt.savefig(", 0),
        ("def draw(", "def whole(*given):\n    draw(*given)\n    plt.close('all')\n\ndef draw(", 0),
        ("def draw(", "def whole(*given):\n    draw(*given)\n    plt.show()\n\ndef draw(", 0),
        ("def draw(", "def whole(*given):\n    draw(given, 'x', ['a', 'b'])\n\ndef draw(", 0),
        ("        fig,", "        if name == names[-1]:\n            break\n        fig,", 1),
    ],
)
def test_what_is_saved_for_each_item_counts_where_there_are_many(old: str, new: str, count: int) -> None:
    assert found(OVER_ITEMS.replace(old, new)) == count


@pytest.mark.parametrize(
    ("chosen", "test", "count"),
    [
        ("random.sample(names, size)", "name in chosen", 1),
        ("read(folder)", "name in chosen", 1),
        ("read(folder)", "name in chosen: chosen.append(name)\n        if name in chosen", 0),
        ("read(folder)", "folder in chosen", 0),
        ("random.sample(names, 5)", "name in chosen", 0),
        ("['train', 'test']", "name in chosen", 0),
    ],
)
def test_one_for_each_chosen_item_counts_where_many_may_be_chosen(chosen: str, test: str, count: int) -> None:
    draw = f"""
import random
from elsewhere import read

def draw(curves, folder, names, size):
    chosen = {chosen}
    for name in names:
        if {test}:
            plt.figure()
            plt.plot(curves[name].detach().numpy())
            plt.savefig(folder + name)
"""
    assert found(HEAD + draw) == count


def test_a_helper_is_followed_to_its_callers_and_to_what_it_calls() -> None:
    helper = "def draw(x):\n    fig = plt.figure()\n    fig.savefig('x.png')\n    {end}\n"
    finish = "def finish(fig):\n    plt.close(fig)\n"
    loop = in_step("draw(x)").removeprefix(HEAD)
    assert found(HEAD + helper.format(end="return 1") + loop) == 1
    assert found(HEAD + finish + helper.format(end="finish(fig)") + loop) == 0
    assert found(HEAD + helper.format(end="return fig") + in_step("plt.close(draw(x))").removeprefix(HEAD)) == 0
    assert found(HEAD + helper.format(end="return 1") + "draw(1)\n") == 0


@pytest.mark.parametrize(
    ("own", "close", "count"),
    [
        ("fig = plt.figure()", "plt.close(fig)", 1),
        ("fig, ax = plt.subplots()", "plt.close()", 1),
        ("fig = new()", "plt.close(fig)", 1),
        ("fig = fig or plt.figure()", "plt.close(fig)", 1),
        ("fig = plt.figure()", "plt.close('all')", 0),
        ("pass", "plt.close()", 0),
        ("pass", "plt.close(fig)", 0),
    ],
)
def test_who_closes_a_figure_of_its_own_leaves_the_other_open(own: str, close: str, count: int) -> None:
    tidy = f"def new():\n    return plt.figure()\n\ndef tidy(x, fig=None):\n    {own}\n    {close}\n"
    draw = "def draw(x):\n    plt.figure()\n    plt.savefig('x.png')\n"
    lines = in_step("draw(x)", "tidy(x)").removeprefix(HEAD)
    assert found(HEAD + tidy + draw + lines) == count


def test_what_stands_around_the_loop_does_not_say_how_often_it_turns() -> None:
    loop = in_step("if step % 5 == 0:", "    plt.figure()").removeprefix(HEAD + TRAINING)
    indented = "".join(f"    {line}\n" for line in loop.splitlines())
    assert found(HEAD + TRAINING + 'if __name__ == "__main__":\n' + indented) == 1
    assert found(HEAD + TRAINING + "if model is None:\n" + indented) == 1


@pytest.mark.parametrize(
    ("logging", "count"),
    [
        ("board.add_image('x', draw(x), step)", 1),
        ("board.add_image('x', draw(x), global_step=step)", 1),
        ("wandb.log({'x': draw(x)}, step=step)", 1),
        ("board.add_image('x', draw(x), 0)", 0),
        ("board.add_image('x', draw(x))", 0),
        ("save(draw(x), step)", 0),
        ("board.add_image('x', draw(x), step)\n    plt.close('all')", 0),
    ],
)
def test_who_logs_at_the_number_of_a_step_is_called_again_and_again(logging: str, count: int) -> None:
    helper = "def draw(x):\n    fig = plt.figure()\n    fig.canvas.draw()\n    return fig.canvas.buffer_rgba()\n"
    report = f"def report(board, x, step):\n    {logging}\n"
    assert found(HEAD + helper + report) == count
    assert found(HEAD + helper + report + "report(board, x, 1)\n") == 0


@pytest.mark.parametrize(
    ("calls", "count"),
    [
        ("def after(epoch):\n    report(epoch)\n", 1),
        ("def after(epoch):\n    return report(epoch)\ndef at_last(epoch):\n    report(epoch)\n", 1),
        ("def after(epoch):\n    report(epoch)\nafter(1)\n", 0),
        ("def after(epoch):\n    report(1)\n", 0),
        ("def after(epoch):\n    report(epoch)\nreport(9)\n", 0),
        ("def after(epoch):\n    report(epoch)\n    plt.close('all')\n", 0),
    ],
)
def test_so_is_who_is_told_that_number_by_nobody_else(calls: str, count: int) -> None:
    report = "def report(epoch):\n    fig = plt.figure()\n    fig.savefig(f'{epoch:03d}.png')\n"
    assert found(HEAD + report + calls) == count


@pytest.mark.parametrize(
    ("event", "closing", "count"),
    [
        ("EPOCH_COMPLETED", "", 1),
        ("EPOCH_STARTED(every=5)", "", 1),
        ("EPOCH_COMPLETED", "plt.close(fig)", 0),
        ("EPOCH_COMPLETED(once=5)", "", 0),
        ("COMPLETED", "", 0),
    ],
)
def test_a_handler_of_each_epoch_draws_again_and_again(event: str, closing: str, count: int) -> None:
    handler = f"""
from ignite.engine import Engine, Events
trainer = Engine(lambda engine, batch: batch)
@trainer.on(Events.{event})
def draw(engine):
    fig = plt.figure()
    fig.savefig("losses.png")
    {closing}
"""
    assert found(HEAD + handler) == count


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        (["table.plot(subplots=True)", "plt.savefig('x.png')"], 1),
        (["table.plot.line(x='epoch')"], 1),
        (["table.set_index('epoch').hist()"], 1),
        (["axes = table.plot()", "axes.get_figure().savefig('x.png')"], 1),
        (["axes = table.plot()", "plt.close(axes.get_figure())"], 0),
        (["axes = table.plot()", "plt.close(axes.figure)"], 0),
        (["axes = table.plot()", "writer.add_figure('x', axes.get_figure(), step)"], 0),
        (["table.plot()", "writer.add_figure('x', plt.gcf(), step)"], 0),
        (["table.plot()", "save(plt.gcf())"], 0),
        (["table.plot()", "plt.close()"], 0),
        (["table.plot(ax=axes)"], 0),
        (["table.plot(**options)"], 0),
        (["table['loss'].plot()"], 0),
        (["table.boxplot()"], 0),
        (["table.plot(backend='plotly')"], 0),
        (["pandas.options.plotting.backend = 'plotly'", "table.plot()"], 0),
        (["pandas.set_option('plotting.backend', 'plotly')", "table.plot()"], 0),
        (["draw.plot(table)"], 0),
    ],
)
def test_a_whole_table_is_drawn_in_a_figure_of_its_own(lines: list[str], count: int) -> None:
    assert found("import pandas\n" + in_step("table = pandas.read_csv('log.csv')", *lines)) == count


def test_a_table_that_is_passed_is_one_still() -> None:
    draw = "import pandas\ndef draw(table):\n    table.plot()\n    plt.savefig('x.png')\n"
    loop = in_step("draw(pandas.DataFrame({'loss': losses}))").removeprefix(HEAD)
    assert found(HEAD + draw + loop) == 1
    assert found(HEAD + draw + loop.replace("pandas.DataFrame(", "dict(")) == 0


@pytest.mark.parametrize(
    ("keeping", "count"),
    [
        ("self.losses.append(loss)", 1),
        ("self.losses.append(2)", 0),
        ("self.best = loss", 0),
        ("self.given.append(loss)", 0),
        ("self.losses.append(loss); plt.close('all')", 0),
    ],
)
def test_who_adds_to_a_history_is_called_again_and_again(keeping: str, count: int) -> None:
    history = f"""
class History:
    def __init__(self, given):
        self.losses, self.given = [], given

    def add(self, loss):
        {keeping}
        self.plot()

    def plot(self):
        plt.figure()
        plt.plot(self.losses)
        plt.savefig('losses.png')
"""
    assert found(HEAD + history) == count
    assert found(HEAD + history + "History([]).add(1)\n") == 0


@pytest.mark.parametrize(
    ("saving", "count"),
    [
        ("fig.savefig(f'{folder}/{number:03d}.png')", 1),
        ("plt.savefig(os.path.join(folder, f'panel_{number:4d}.png'))", 1),
        ("fig.savefig(f'{folder}/{number:.3f}.png')", 0),  # a threshold, maybe of one call
        ("fig.savefig(f'{folder}/{number}.png')", 0),
        ("fig.savefig(f'{folder}/{len(x):03d}.png')", 0),
        ("fig.savefig(f'{folder}/{number:03d}.png'); plt.close(fig)", 0),
        ("print(f'{number:03d}'); fig.savefig('panel.png')", 0),
    ],
)
def test_who_numbers_what_it_saves_is_called_again_and_again(saving: str, count: int) -> None:
    panel = f"""
from panels import Panel
class Row(Panel):
    def after(self, x, folder, number):
        fig, axes = plt.subplots()
        axes.plot(x)
        {saving}
"""
    assert found(HEAD + "import os\n" + panel) == count
    assert found(HEAD + "import os\n" + panel + "Row().after([1, 2], '.', 1)\n") == 0


def repaired(*lines: str, unsafe: bool = True) -> list[str]:
    """The lines at the end of each turn as the repairs leave them."""
    rule = rule_of("TLK503")
    assert rule is not None
    source = Source("program.py", in_step(*lines), "utf-8", False)
    text = fix_source(source, lambda s: check(s, [rule]).diagnostics, unsafe=unsafe).text
    return [line.strip() for line in text.partition("optimizer.step()\n")[2].splitlines()]


def test_it_is_closed_behind_its_last_use() -> None:
    lines = ["fig, ax = plt.subplots()", "ax.plot(x)  # the data", "print(step)"]
    assert repaired(*lines) == [*lines[:2], "plt.close(fig)", lines[2]]
    assert repaired("plt.figure()", "plt.plot(x)", "print(step)") == [
        "plt.figure()", "plt.plot(x)", "plt.close()", "print(step)"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "lines", [["fig = plt.figure()", "kept = fig"], ["fig = plt.figure()", "if fig:", "continue", "print(fig)"]]
)
def test_it_is_left_alone_where_it_goes_elsewhere(lines: list[str]) -> None:
    written = [f"    {line}" if line == "continue" else line for line in lines]
    assert repaired(*written) == lines


def test_who_gets_the_figure_may_want_it_open() -> None:
    lines = ["fig = plt.figure()", "wandb.log({'fig': fig})"]
    assert repaired(*lines, unsafe=False) == lines
    assert repaired(*lines) == [*lines, "plt.close(fig)"]


def test_who_gives_a_figure_a_number_may_ask_for_it_by_that() -> None:
    lines = ["fig, ax = plt.subplots(num=step)", "ax.plot(x)"]
    assert repaired(*lines, unsafe=False) == lines
    assert repaired(*lines) == [*lines, "plt.close(fig)"]


FLAGGED = """
def search(x, plot=False):
    if plot:
        plt.figure()
        plt.plot(x)
"""


def test_a_figure_behind_a_flag_that_no_call_sets_is_never_made() -> None:
    assert found(in_step("search(x)").replace("optimizer =", FLAGGED + "optimizer =", 1)) == 0
    assert found(in_step("search(x, True)").replace("optimizer =", FLAGGED + "optimizer =", 1)) == 1
    assert found(in_step("search(x, plot=step > 3)").replace("optimizer =", FLAGGED + "optimizer =", 1)) == 1


@pytest.mark.parametrize(
    ("test", "is_left"),
    [("i == 0", True), ("epoch == 0", False), ("i == 0 and epoch == 0", False), ("i < 3", True)],
)
def test_one_turn_of_each_pass_comes_again_with_each_epoch(test: str, is_left: bool) -> None:
    source = f"""
for epoch in range(9):
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if {test}:
            fig, ax = plt.subplots()
"""
    assert found(HEAD + TRAINING + source) == is_left


@pytest.mark.parametrize(
    ("lines", "number"),
    [
        (["plt.figure()", "fig, ax = plt.subplots()", "plt.close()"], 1),
        (["plt.figure()", "fig = plt.figure()", "plt.plot(x)", "plt.close()"], 1),
        (["fig, ax = plt.subplots()", "plt.plot(x)", "plt.close()"], 0),
        (["plt.figure()", "fig, ax = plt.subplots()", "plt.close()", "plt.close()"], 0),
        (["plt.figure()", "plt.close()", "fig, ax = plt.subplots()"], 0),
        (["plt.figure()", "fig, ax = plt.subplots()", "plt.close('all')"], 0),
        (["plt.figure()", "if step > 3:", "    fig, ax = plt.subplots()", "plt.close()"], 0),
        (["plt.figure(1)", "fig, ax = plt.subplots()", "plt.close()"], 0),
    ],
)
def test_a_close_without_a_figure_closes_the_last_one_only(lines: list[str], number: int) -> None:
    assert found(in_step(*lines)) == number


SHEETS = """
def draw(name, rows):
    {first}
    plt.plot(rows)
    plt.savefig(name)
    {last}

def draw_all(names, table):
    for name in names:
        {each}

draw_all(load(), {{}})
"""


@pytest.mark.parametrize(
    ("first", "last", "each", "number"),
    [
        ("plt.figure()", "pass", "draw(name, table[name])", 1),
        ("plt.figure()", "plt.close()", "draw(name, table[name])", 0),
        ("pass", "pass", "draw(name, table[name])", 0),
        ("plt.figure()", "pass", "draw(name, table[name]); plt.close('all')", 0),
        ("plt.figure()", "pass", "if name == 'first': draw(name, table[name])", 0),
        ("if rows is None: plt.figure()", "pass", "draw(name, table[name])", 1),
    ],
)
def test_a_function_that_saves_a_figure_for_each_item_leaves_one_open_each(
    first: str, last: str, each: str, number: int
) -> None:
    assert found(HEAD + SHEETS.format(first=first, last=last, each=each)) == number


@pytest.mark.parametrize(
    ("at", "counted", "expected"),
    [
        ("self.step", "self.step += 1", 1),
        ('self.steps["valid"]', 'self.steps["valid"] += 1', 1),
        ("self.step", "pass", 0),
        ("None", "self.step += 1", 0),
    ],
)
def test_a_logger_that_counts_its_steps_is_called_in_each(at: str, counted: str, expected: int) -> None:
    source = f"""
class Board:
    def __init__(self, writer):
        self.writer, self.step, self.steps = writer, 0, {{"valid": 0}}

    def count(self):
        {counted}

    def log_map(self, name, values):
        fig, ax = plt.subplots()
        ax.imshow(values.detach().cpu().numpy())
        fig.canvas.draw()
        self.writer.add_image(name, pixels_of(fig.canvas.buffer_rgba()), {at})
"""
    assert found(HEAD + source) == expected
