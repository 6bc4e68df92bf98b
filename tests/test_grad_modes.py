"""Where gradients are recorded: guards by every spelling, and what callers, frameworks and coroutines make of them.

Each program calls ``model(x)`` once; the tests ask for the grad modes that are possible there.
"""

from __future__ import annotations

import pytest
from programs import HEAD, TRAINING, Program

from torchlint.facts.values.graph import Mode

ON, OFF, BOTH, NEITHER = {Mode.ON}, {Mode.OFF}, {Mode.ON, Mode.OFF}, {Mode.UNKNOWN}


def mode(source: str) -> set[Mode]:
    program = Program(TRAINING + source)
    return set(program.modes(program.value("model(x)")))


# -- one function -----------------------------------------------------------------------------------------------------

BLOCKS = {
    "torch.no_grad()": OFF,
    "torch.inference_mode()": OFF,
    "torch.inference_mode(True)": OFF,
    "torch.inference_mode(mode=True)": OFF,
    "torch.inference_mode(False)": ON,
    "torch.enable_grad()": ON,
    "torch.autograd.no_grad()": OFF,
    "torch.autograd.grad_mode.no_grad()": OFF,
    "torch.set_grad_enabled(False)": OFF,
    "torch.set_grad_enabled(True)": ON,
    "torch.set_grad_enabled(mode=False)": OFF,
    "torch.set_grad_enabled(phase == 'train')": BOTH,
    "torch.set_grad_enabled(model.training)": BOTH,
    "torch.autograd.set_grad_enabled(False)": OFF,
    "torch.autocast('cuda')": ON,
    "torch.autocast('cuda'), torch.no_grad()": OFF,
    "torch.no_grad(), torch.autocast('cuda')": OFF,
    "torch.no_grad(), torch.enable_grad()": ON,
    "torch.no_grad() if frozen else torch.enable_grad()": BOTH,
    "torch.no_grad() if frozen else torch.inference_mode()": OFF,
    "open('log') as log": ON,
    "somewhere.evaluating(model)": NEITHER,
}


@pytest.mark.parametrize(("guard", "expected"), BLOCKS.items(), ids=BLOCKS)
def test_a_block_switches_the_mode(guard: str, expected: set[Mode]) -> None:
    assert mode(f"with {guard}:\n    model(x)") == expected


def test_without_a_guard_gradients_are_on() -> None:
    assert mode("model(x)") == ON
    assert mode("def f(x):\n    model(x)") == ON


def test_a_guard_ends_with_its_block() -> None:
    assert mode("with torch.no_grad():\n    pass\nmodel(x)") == ON


def test_the_inner_guard_wins() -> None:
    assert mode("with torch.no_grad():\n    with torch.enable_grad():\n        model(x)") == ON
    assert mode("with torch.enable_grad():\n    with torch.no_grad():\n        model(x)") == OFF


def test_a_guard_may_be_made_before_it_is_entered() -> None:
    assert mode("guard = torch.no_grad()\nwith guard:\n    model(x)") == OFF


def test_an_alias_of_the_guard_guards() -> None:
    assert mode("from torch import no_grad as quiet\nwith quiet():\n    model(x)") == OFF
    assert mode("import torch as th\nwith th.no_grad():\n    model(x)") == OFF


def test_a_guard_that_each_turn_may_replace_guards_when_all_do() -> None:
    one, other = "guard = torch.no_grad()", "guard = torch.inference_mode()"
    looked_for = f"{one}\nfor x in loader:\n    if x.any():\n        {other}\nwith guard:\n    model(x)"
    assert mode(looked_for) == OFF
    assert mode(looked_for.replace(other, "guard = torch.enable_grad()")) == BOTH


def test_an_unrelated_no_grad_is_not_evidence() -> None:
    assert mode("from mindspore import no_grad\nwith no_grad():\n    model(x)") == NEITHER


def test_eval_is_no_grad_mode() -> None:
    assert mode("model.eval()\nmodel(x)") == ON


def test_an_exit_stack_enters_a_guard() -> None:
    source = "import contextlib\nwith contextlib.ExitStack() as stack:\n    stack.enter_context({})\n    model(x)"
    assert mode(source.format("torch.no_grad()")) == OFF
    assert mode(source.format("open('log')")) == ON
    assert mode(source.format("torch.no_grad()") + "\nmodel(x)") == ON
    assert mode(source.format("torch.no_grad()").replace("contextlib.ExitStack()", "suppress()") + "\nmodel(x)") == OFF


def test_a_branch_that_switches_leaves_both_modes() -> None:
    assert mode("if frozen:\n    torch.set_grad_enabled(False)\nmodel(x)") == BOTH


@pytest.mark.parametrize("ending", ["return", "raise ValueError"])
def test_a_branch_that_leaves_does_not_count(ending: str) -> None:
    source = f"def f(x):\n    if frozen:\n        torch.set_grad_enabled(False)\n        {ending}\n    model(x)"
    assert mode(source) == ON


def test_a_statement_switches_for_what_follows() -> None:
    assert mode("torch.set_grad_enabled(False)\nmodel(x)") == OFF
    assert mode("torch.set_grad_enabled(False)\ntorch.set_grad_enabled(True)\nmodel(x)") == ON
    assert mode("old = torch.set_grad_enabled(flag)\nmodel(x)") in (ON, BOTH)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("torch.set_grad_enabled(False)\n        self.net.eval()", OFF),
        ("if self.net.training:\n            torch.set_grad_enabled(False)", ON),
        ("torch.set_grad_enabled(False)\n        self.warm()\n        torch.set_grad_enabled(True)", ON),
    ],
)
def test_a_method_of_the_object_switches_for_what_follows(body: str, expected: set[Mode]) -> None:
    source = f"class Job:\n    def ready(self):\n        {body}\n    def run(self, x):\n        self.ready()\n"
    assert mode(f"{source}        model(x)") == expected


def test_a_statement_in_a_block_that_does_not_guard_outlives_it() -> None:
    assert mode("with open('log'):\n    torch.set_grad_enabled(False)\nmodel(x)") == OFF


def test_a_switch_inside_a_guard_ends_with_it() -> None:
    assert mode("with torch.no_grad():\n    torch.set_grad_enabled(True)\nmodel(x)") == ON


def test_a_switch_in_a_loop_may_or_may_not_have_run() -> None:
    assert mode("for x in loader:\n    torch.set_grad_enabled(False)\nmodel(x)") == BOTH


def test_an_in_place_function_leaves_torch_alone() -> None:
    assert mode("def f(x):\n    torch.relu_(x)\n    with torch.no_grad():\n        model(x)") == OFF


@pytest.mark.xfail(strict=True, reason="a generator expression is taken to run where it is written")
def test_a_generator_expression_runs_where_it_is_consumed() -> None:
    assert mode("with torch.no_grad():\n    lazy = (model(x) for x in loader)\nfor out in lazy:\n    pass") == ON


def test_a_generator_expression_that_is_consumed_at_once_runs_under_the_guard() -> None:
    assert mode("with torch.no_grad():\n    kept = list(model(x) for x in loader)") == OFF


# -- decorators -------------------------------------------------------------------------------------------------------

DECORATORS = {
    "torch.no_grad()": OFF,
    "torch.no_grad": OFF,
    "torch.inference_mode()": OFF,
    "torch.inference_mode": OFF,
    "torch.inference_mode(False)": ON,
    "torch.enable_grad()": ON,
    "torch.set_grad_enabled(False)": OFF,
    "torch.set_grad_enabled(mode=False)": OFF,
    "torch.set_grad_enabled(flag)": BOTH,
    "torch.compile": ON,
    "cached": ON,
}


@pytest.mark.parametrize(("decorator", "expected"), DECORATORS.items(), ids=DECORATORS)
def test_a_decorator_switches_the_mode(decorator: str, expected: set[Mode]) -> None:
    assert mode(f"@{decorator}\ndef f(x):\n    model(x)") == expected


@pytest.mark.parametrize("decorator", ["torch.no_grad()", "torch.no_grad", "torch.inference_mode()"])
def test_a_decorated_coroutine_runs_without_the_guard(decorator: str) -> None:
    assert mode(f"@{decorator}\nasync def f(x):\n    model(x)") == ON


def test_a_block_in_a_coroutine_guards() -> None:
    assert mode("async def f(x):\n    with torch.no_grad():\n        model(x)") == OFF


def test_a_decorated_generator_runs_under_the_guard() -> None:
    assert mode("@torch.no_grad()\ndef f():\n    for x in loader:\n        yield model(x)") == OFF


def test_a_block_inside_a_decorated_function_wins() -> None:
    assert mode("@torch.no_grad()\ndef f(x):\n    with torch.enable_grad():\n        model(x)") == ON


def test_an_inner_function_has_its_callers_mode() -> None:
    assert mode("@torch.no_grad()\ndef f(x):\n    def inner():\n        model(x)\n    inner()") == OFF
    assert mode("def f(x):\n    @torch.no_grad()\n    def inner():\n        pass\n    inner()\n    model(x)") == ON


# -- callers ----------------------------------------------------------------------------------------------------------

CALLED = "def f(x):\n    model(x)\n"


def test_the_only_caller_holds_the_guard() -> None:
    assert mode(CALLED + "with torch.no_grad():\n    f(x)") == OFF
    assert mode(CALLED + "@torch.no_grad()\ndef g(x):\n    f(x)") == OFF


def test_all_callers_hold_the_guard() -> None:
    assert mode(CALLED + "with torch.no_grad():\n    f(x)\n@torch.inference_mode()\ndef g(x):\n    f(x)") == OFF


def test_some_callers_hold_the_guard() -> None:
    assert mode(CALLED + "with torch.no_grad():\n    f(x)\nf(x)") == BOTH


def test_the_guard_is_held_further_up() -> None:
    assert mode(CALLED + "def g(x):\n    f(x)\nwith torch.no_grad():\n    g(x)") == OFF


def test_recursion_adds_no_mode() -> None:
    source = "def f(x):\n    model(x)\n    f(x)\n"
    assert mode(source + "with torch.no_grad():\n    f(x)") == OFF
    assert mode(source) == ON


def test_a_guard_of_its_own_beats_the_callers() -> None:
    assert mode("@torch.no_grad()\ndef f(x):\n    model(x)\nf(x)") == OFF


def test_a_method_is_called_through_its_instance() -> None:
    source = "class A:\n    def f(self, x):\n        model(x)\n"
    source += "    @torch.no_grad()\n    def g(self, x):\n        self.f(x)\n"
    assert mode(source) == OFF
    assert mode(source + "A().f(x)") == BOTH


def test_a_subclass_calls_what_it_inherits() -> None:
    source = "class A:\n    def f(self, x):\n        model(x)\n"
    assert mode(source + "class B(A):\n    @torch.no_grad()\n    def g(self, x):\n        self.f(x)") == OFF


def test_a_function_that_is_handed_over_is_called_where_it_arrives() -> None:
    assert mode(CALLED + "def run(g, x):\n    with torch.no_grad():\n        g(x)\nrun(f, x)") == OFF


def test_a_file_that_switches_gradients_off_does_so_for_its_functions() -> None:
    assert mode("torch.set_grad_enabled(False)\n" + CALLED) == OFF
    assert mode("if quiet:\n    torch.set_grad_enabled(False)\n" + CALLED) == BOTH


# -- helpers and frameworks -------------------------------------------------------------------------------------------

HELPER = """
from contextlib import contextmanager
@contextmanager
def quiet(model):
    model.eval()
    with {guard}:
        yield
    model.train()
with quiet(model):
    model(x)
"""


def test_a_contextmanager_of_the_file_guards_what_it_yields_to() -> None:
    assert mode(HELPER.format(guard="torch.no_grad()")) == OFF
    assert mode(HELPER.format(guard="open('log')")) == ON


def test_a_contextmanager_of_the_file_that_guards_nothing() -> None:
    assert mode(HELPER.format(guard="torch.inference_mode(False)")) == ON


CHOOSING = """
from contextlib import contextmanager
@contextmanager
def choosing(collects):
    {before}
    if collects:
        with {first}:
            yield
    else:
        {second}
with choosing(flag):
    model(x)
"""


@pytest.mark.parametrize(
    ("before", "first", "second", "expected"),
    [
        ("pass", "torch.enable_grad()", "with torch.no_grad():\n            yield", BOTH),
        ("pass", "torch.no_grad()", "yield", BOTH),
        ("pass", "torch.no_grad()", "with torch.inference_mode():\n            yield", OFF),
        ("torch.set_grad_enabled(False)", "torch.autocast('cuda')", "yield", OFF),
        ("torch.set_grad_enabled(False)", "torch.enable_grad()", "yield", BOTH),
        ("pass", "torch.autocast('cuda')", "yield", ON),
    ],
)
def test_of_several_yields_each_stands_for_the_block(before: str, first: str, second: str, expected: set[Mode]) -> None:
    assert mode(CHOOSING.format(before=before, first=first, second=second)) == expected


def framework(base: str, method: str) -> str:
    return f"{base}\nclass A(Base):\n    def {method}(self, x, y):\n        model(x)\n"


LIGHTNING = "from lightning.pytorch import LightningModule as Base"


@pytest.mark.parametrize("method", ["validation_step", "test_step", "predict_step", "on_validation_epoch_end"])
def test_lightning_evaluates_without_gradients(method: str) -> None:
    assert mode(framework(LIGHTNING, method)) == OFF


@pytest.mark.parametrize("method", ["training_step", "forward", "configure_optimizers"])
def test_lightning_trains_with_gradients(method: str) -> None:
    assert mode(framework(LIGHTNING, method)) == ON


def test_a_step_that_both_training_and_validation_share_has_both_modes() -> None:
    source = (
        f"{LIGHTNING}\nclass A(Base):\n    def step(self, x):\n        return model(x)\n"
        "    def training_step(self, x, i):\n        return self.step(x)\n"
        "    def validation_step(self, x, i):\n        self.step(x)\n"
    )
    assert mode(source) == BOTH


def test_lightning_is_recognised_through_a_base_of_the_file() -> None:
    source = f"{LIGHTNING}\nclass A(Base):\n    pass\nclass B(A):\n    def test_step(self, x, i):\n        model(x)\n"
    assert mode(source) == OFF


def test_a_metric_updates_without_gradients() -> None:
    assert mode(framework("from torchmetrics import Metric as Base", "update")) == OFF


def test_a_method_of_the_same_name_elsewhere_has_gradients() -> None:
    assert mode(framework("class Base: pass", "validation_step")) == ON


@pytest.mark.parametrize(("guard", "expected"), [("torch.no_grad()", []), ("torch.enable_grad()", ["kept"])])
def test_the_parts_of_what_a_call_returns_have_the_mode_of_that_call(guard: str, expected: list[str]) -> None:
    source = f"""
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(3, 3), nn.Linear(3, 3)
    def forward(self, x):
        h = self.body(x)
        return self.head(h), h
net, kept = Net(), []
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in DataLoader(dataset):
    out, h = net(x)
    F.cross_entropy(out, y).backward()
    optimizer.step()
    with {guard}:
        out, h = net(x)
        kept.append(h)
"""
    assert Program(source).leaks() == expected


def test_a_decorator_from_elsewhere_that_sounds_like_a_guard_is_not_taken_for_none() -> None:
    program = Program(
        """
        from somewhere import smart_inference_mode

        @smart_inference_mode()
        def run(model: nn.Module, x):
            y = nn.Linear(3, 3)(x)
            print(y)
        """
    )
    assert Mode.ON not in program.modes(program.shown())


DECORATOR = """
import functools
def quietly(f):
    @functools.wraps(f)
    def inner(model, *given, **named):
        model.eval()
        try:
            {how}
        finally:
            model.train()
    return inner
"""


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("with torch.no_grad():\n                return f(model, *given, **named)", OFF),
        ("with torch.set_grad_enabled(given[0]):\n                return f(model, *given)", {Mode.UNKNOWN}),
        ("with torch.no_grad():\n                model.warm()\n            return f(model)", ON),
        ("return f(model, *given)", ON),
    ],
)
def test_a_decorator_of_the_file_runs_what_it_decorates_in_its_mode(how: str, expected: set[Mode]) -> None:
    assert mode(DECORATOR.format(how=how) + "@quietly\ndef f(x):\n    model(x)") == expected


def test_what_makes_a_decorator_does_too() -> None:
    maker = """
def mode_of(flag):
    def decorator(f):
        @torch.inference_mode()
        def inner(*given):
            return f(*given)
        return inner
    return decorator
"""
    assert mode(maker + "@mode_of(True)\ndef f(x):\n    model(x)") == OFF


SETUP = "def setup(seed):\n    torch.manual_seed(seed)\n    {}\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch.set_grad_enabled(False)", OFF),
        ("torch.set_grad_enabled(mode=False)", OFF),
        ("torch.set_grad_enabled(True)", ON),
        ("torch.no_grad()", ON),
        ("if seed: torch.set_grad_enabled(False)", ON),
        ("torch.set_grad_enabled(False)\n    print(seed)\n    torch.set_grad_enabled(True)", ON),
        ("torch.set_grad_enabled(False)\n    try: pass\n    finally: torch.set_grad_enabled(seed > 1)", ON),
    ],
)
def test_a_helper_that_switches_gradients_off_does_so_for_what_follows(line: str, expected: set[Mode]) -> None:
    assert mode(f"{SETUP.format(line)}def main():\n    setup(1)\n    return model(x)\nmain()\n") == expected
    assert mode(f"{SETUP.format(line)}y = model(x)\nsetup(1)\n") == ON


SHARED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.optimizer = torch.optim.SGD(self.layer.parameters(), lr=0.1)
        self.state = None
    def chosen(self, out):
        return out["y"]
    def forward(self, x):
        return {"y": self.layer(x)}
    def last(self):
        return self.state
    def step(self, x, y):
        out = self(x)
        out["y"] = self.chosen(out)
        self.state = out["y"] * 2
        F.mse_loss(out["y"], y).backward()
        self.optimizer.step()
    def predict(self, loader: DataLoader, raw, carried):
        outs = []
        with GUARD:
            for x, _ in loader:
                out = self(x)
                out["y"] = self.chosen(out)
                if raw:
                    out = out["y"]
                KEPT
        return outs
    def run(self, loader, carried):
        for x, y in loader:
            self.step(x, y)
            self.predict(loader, False, self.layer(x))
"""


@pytest.mark.parametrize(
    ("guard", "kept", "leaks"),
    [
        ("torch.no_grad()", "outs.append(out)", False),
        ("torch.no_grad()", "outs.append(out['y'])", False),
        ("torch.no_grad()", "outs.append([out['y'], self.chosen(out)])", False),
        ("torch.no_grad()", "outs.append(self.chosen({'y': x}))", False),
        ("torch.enable_grad()", "outs.append(out['y'])", True),
        ("torch.no_grad()", "outs.append(self.state)", True),
        ("torch.no_grad()", "outs.append(self.last())", True),
        ("torch.no_grad()", "outs.append(carried)", True),
        ("torch.no_grad()", "outs.append(self.chosen({'y': carried}))", True),
    ],
)
def test_what_is_computed_without_gradients_has_no_graph_of_a_step_elsewhere(
    guard: str, kept: str, leaks: bool
) -> None:
    """The same dictionary of the same forward has one in the training step."""
    facts = Program(SHARED.replace("GUARD", guard).replace("KEPT", kept), head=HEAD).facts
    kept_graphs = [one for one in facts.insertions if facts.retention(one.allocation or one.holder, one.parts)]
    assert bool(kept_graphs) is leaks
