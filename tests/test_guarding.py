"""Guards without effect: what the fixtures of TLK202 do not show, on small sources."""

from __future__ import annotations

import ast
from textwrap import dedent

import libcst as cst
import pytest

from torchlint.catalog import rule_of
from torchlint.diagnostic import Repair
from torchlint.facts import Facts
from torchlint.facts.guards.guarding import Idle, IdleGuard, guarded_in_vain, idle_guards
from torchlint.fix.applying import apply_repairs
from torchlint.fix.rebuild import plan
from torchlint.rule import Finding
from torchlint.syntax.positions import locate

NET = """
import asyncio, contextlib, functools, itertools, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import torch
from torch import nn
net = nn.Linear(2, 2)
"""
"""What the sources begin with: seven lines, the first empty."""


def facts_of(source: str) -> Facts:
    text = NET + dedent(source)
    ast.parse(text)
    return Facts(cst.parse_module(text))


def idle(source: str) -> list[tuple[Idle, str]]:
    """The idle guards of a source: why, and the first line of the statement that each stands on."""
    facts = facts_of(source)
    found = sorted(idle_guards(facts), key=lambda guard: _line(facts, guard))
    lines = facts.module.code.splitlines()
    return [(guard.kind, lines[_line(facts, guard) - 1].strip()) for guard in found]


def _line(facts: Facts, guard: IdleGuard) -> int:
    return locate(facts.module, [guard.node]).spans[guard.node].line


def findings(source: str) -> list[Finding]:
    return list(rule_of("TLK202").check(facts_of(source)))


def repaired(source: str) -> str | None:
    """The source after the repair of its one finding; None when that has none."""
    facts = facts_of(source)
    (finding,) = rule_of("TLK202").check(facts)
    if finding.fix is None:
        return None
    assert not finding.fix.safe
    replacements = plan(facts.module, facts.module.code, finding.fix)
    assert replacements is not None
    text, _ = apply_repairs(facts.module.code, [Repair(finding.fix.title, False, replacements)])
    ast.parse(text)
    return text.removeprefix(NET)


def in_vain(source: str) -> set[str]:
    return {function.name for function in guarded_in_vain(facts_of(source))}


# -- what a guard is -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("import torch", "torch.no_grad()"),
        ("import torch as th", "th.inference_mode()"),
        ("import torch.autograd as ag", "ag.enable_grad()"),
        ("from torch import no_grad as ng", "ng()"),
        ("from torch.autograd.grad_mode import no_grad", "no_grad()"),
    ],
)
def test_a_guard_is_known_by_its_binding(imports, call):
    assert idle(f"{imports}\ndef f(x):\n    {call}\n    return net(x)\n") == [(Idle.STATEMENT, call)]


def test_an_import_inside_the_function_counts():
    assert idle("def f(x):\n    from torch import no_grad as ng\n    with ng:\n        return net(x)\n") == [
        (Idle.UNCALLED, "with ng:")
    ]


@pytest.mark.parametrize(
    "source",
    [
        "def no_grad(): ...\ndef f(x):\n    no_grad()\n    return net(x)\n",
        "from mine import no_grad\ndef f(x):\n    no_grad()\n    return net(x)\n",
        "from .torch import no_grad\ndef f(x):\n    no_grad()\n    return net(x)\n",
        "from torch import no_grad\ndef f(x, no_grad):\n    with no_grad:\n        return net(x)\n",
        "from torch import no_grad\ndef f(x):\n    no_grad = torch.no_grad()\n    with no_grad: net(x)\n",
        "from mine import no_grad\n@no_grad()\nasync def f(x):\n    return net(x)\n",
    ],
)
def test_another_thing_of_that_name_is_no_guard(source):
    assert idle(source) == []


def test_a_method_of_that_name_is_no_guard():
    assert (
        idle("""
        class Model:
            def no_grad(self): ...
            def f(self, x):
                self.no_grad()
                with self.no_grad:
                    return net(x)
        """)
        == []
    )


# -- statements ----------------------------------------------------------------------------------------------


def test_the_class_without_a_call_is_as_idle_a_statement():
    assert idle("def f(x):\n    torch.no_grad\n    return net(x)\n") == [(Idle.STATEMENT, "torch.no_grad")]


def test_a_statement_in_the_body_of_one_line_stands_on_that_line():
    source = "def f(x, e):\n    if e: torch.no_grad()\n    return net(x)\n"
    assert idle(source) == [(Idle.STATEMENT, "if e: torch.no_grad()")]
    assert repaired(source) is None


def test_a_nested_function_has_a_body_of_its_own():
    source = """
        def outer(x):
            def inner(x):
                torch.no_grad()
                return net(x)
            return inner(x)
        """
    assert idle(source) == [(Idle.STATEMENT, "torch.no_grad()")]
    assert in_vain(source) == {"inner"}


@pytest.mark.parametrize(
    "body",
    [
        "torch.set_grad_enabled(False)",
        "guard = torch.no_grad()",
        "torch.no_grad().__enter__()",
        "stack.enter_context(torch.no_grad())",
        "return torch.no_grad()",
        "f = torch.no_grad()(net)",
    ],
)
def test_a_guard_that_is_entered_or_handed_on_is_none_of_our_business(body):
    assert idle(f"def f(x, stack):\n    {body}\n    return net(x)\n") == []


def test_the_rest_of_the_block_goes_under_the_guard_with_comments_and_strings():
    assert repaired('''
        def f(x):
            a = 1
            # off from here
            torch.no_grad()  # really

            # a note
            text = """one
          two"""
            if a:
                y = net(
                    x,
                )

            return y, text
            # the end
        ''') == dedent('''
        def f(x):
            a = 1
            # off from here
            with torch.no_grad():  # really

                # a note
                text = """one
          two"""
                if a:
                    y = net(
                        x,
                    )

                return y, text
            # the end
        ''')


def test_no_repair_for_a_whole_script():
    source = "torch.no_grad()\ny = net(torch.ones(2))\nprint(y)\n"
    assert idle(source) == [(Idle.STATEMENT, "torch.no_grad()")]
    assert repaired(source) is None


def test_the_missing_call_comes_with_the_block():
    assert repaired("def f(x):\n    torch.no_grad\n    return net(x)\n") == (
        "def f(x):\n    with torch.no_grad():\n        return net(x)\n"
    )


@pytest.mark.parametrize(
    "rest",
    [
        "",  # nothing follows
        "return x",  # nothing is called
        "yield net(x)",  # the guard would be held over the yield
        "net(x).sum().backward()",  # it would raise
    ],
)
def test_no_repair_where_a_block_would_not_help(rest):
    assert repaired(f"def f(x):\n    torch.no_grad()\n    {rest}\n") is None


def test_no_repair_where_statements_share_the_line():
    assert repaired("def f(x):\n    net.eval(); torch.no_grad()\n    return net(x)\n") is None


# -- with ----------------------------------------------------------------------------------------------------


def test_a_with_without_the_call_raises():
    source = "def f(x):\n    with torch.no_grad, open('x') as f:\n        return net(x)\n"
    assert idle(source) == [(Idle.UNCALLED, "with torch.no_grad, open('x') as f:")]
    assert repaired(source) == source.replace("no_grad", "no_grad()")
    assert "raises" in "".join(map(str, findings(source)[0].message))
    with pytest.raises((TypeError, AttributeError)):
        exec("with G:\n    pass", {"G": type("no_grad", (), {})})


def test_a_with_without_the_call_of_an_imported_name_at_the_top():
    assert idle("from torch import no_grad\nwith no_grad:\n    net(torch.ones(2))\n") == [
        (Idle.UNCALLED, "with no_grad:")
    ]


# -- yield and await -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "decorator",
    [
        "contextlib.contextmanager",
        "pytest.fixture",
        "pytest.fixture()",
        "pytest_asyncio.fixture",
        "hook(wrapper=True)",
    ],
)
def test_a_generator_that_lends_its_guard_is_meant_so(decorator):
    assert (
        idle(f"""
        import pytest, pytest_asyncio
        from mine import hook
        @{decorator}
        def quiet():
            with torch.no_grad():
                yield
        """)
        == []
    )


def test_an_async_context_manager_is_meant_so():
    assert (
        idle("""
        @contextlib.asynccontextmanager
        async def quiet(lock):
            with torch.no_grad():
                await lock.acquire()
                yield
        """)
        == []
    )


GENERATOR = """
def features(loader):
    with torch.no_grad():
        for x in loader:
            yield net(x)
"""


def test_a_guard_over_a_yield_switches_unknown_consumers():
    assert idle(GENERATOR) == [(Idle.YIELD, "with torch.no_grad():")]


def test_a_guard_over_a_yield_matters_to_a_consumer_that_trains():
    assert idle(
        GENERATOR
        + """
def train(loader, optimizer):
    for z in features(loader):
        net(z).sum().backward()
"""
    ) == [(Idle.YIELD, "with torch.no_grad():")]


def test_a_guard_over_a_yield_does_not_matter_to_consumers_that_only_count():
    assert idle(GENERATOR + "\ndef count(loader):\n    return sum(len(z) for z in features(loader))\n") == []


def test_gradients_left_on_matter_only_to_a_consumer_that_has_them_off():
    source = GENERATOR.replace("no_grad", "enable_grad")
    assert idle(source) == []
    assert idle(source + "\ndef f(loader):\n    return [z for z in features(loader)]\n") == []
    guarded = "\n@torch.no_grad()\ndef f(loader):\n    return [z for z in features(loader)]\n"
    assert idle(source + guarded) == [(Idle.YIELD, "with torch.enable_grad():")]


def test_only_the_innermost_guard_is_held():
    assert idle("""
        def features(loader):
            with torch.no_grad():
                with torch.inference_mode():
                    yield net(loader)
        """) == [(Idle.YIELD, "with torch.inference_mode():")]


def test_a_yield_of_a_function_inside_is_not_the_outer_ones():
    assert (
        idle("""
        def outer(loader):
            with torch.no_grad():
                def inner():
                    yield 1
                return list(inner())
        """)
        == []
    )


def test_a_decorated_generator_restores_its_consumers_mode():
    assert idle("@torch.no_grad()\n" + GENERATOR.strip() + "\n") == []


@pytest.mark.parametrize(
    "body",
    ["await asyncio.sleep(0)", "async with x: pass", "async for y in x: pass", "y = [z async for z in x]"],
)
def test_a_guard_over_an_await_leaks_into_other_coroutines(body):
    source = f"async def f(x):\n    with torch.no_grad():\n        net(x)\n        {body}\n"
    assert idle(source) == [(Idle.AWAIT, "with torch.no_grad():")]


def test_awaiting_a_coroutine_that_never_waits_leaks_nothing():
    assert (
        idle("""
        async def infer(x):
            return net(x)
        async def f(x):
            with torch.no_grad():
                return await infer(x)
        """)
        == []
    )


# -- decorators ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", ["torch.no_grad()", "torch.no_grad", "torch.set_grad_enabled(False)"])
def test_a_decorated_coroutine_is_not_guarded(guard):
    assert idle(f"@{guard}\nasync def f(x):\n    return net(x)\n") == [(Idle.COROUTINE, "async def f(x):")]


def test_a_coroutine_that_is_made_synchronous_below_the_guard_is_guarded():
    assert (
        idle("""
        from asgiref.sync import async_to_sync
        @torch.no_grad()
        @async_to_sync
        async def f(x):
            return net(x)
        """)
        == []
    )


BASE = """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(2, 2)
    @torch.no_grad()
    def predict(self, x):
        {base}
class Own(Base):
    {decorator}
    def predict(self, x):
        {own}
"""


@pytest.mark.parametrize("base", ["raise NotImplementedError", "pass", "return self.net(x)"])
def test_an_override_is_not_guarded_by_the_method_it_replaces(base):
    source = BASE.format(base=base, decorator="", own="return self.net(x).argmax(1)")
    assert idle(source) == [(Idle.OVERRIDDEN, "def predict(self, x):")]
    assert findings(source)[0].evidence[0].node is not findings(source)[0].node
    assert in_vain(source) == {"predict"}


@pytest.mark.parametrize(
    ("decorator", "own"),
    [
        ("@torch.inference_mode()", "return self.net(x)"),
        ("", "return super().predict(x)"),
        ("", "return x.norm()"),
        ("", "self.net(x).sum().backward()"),
        ("", "with torch.no_grad(): return self.net(x)"),
    ],
)
def test_an_override_that_guards_or_needs_no_guard(decorator, own):
    assert idle(BASE.format(base="pass", decorator=decorator, own=own)) == []


@pytest.mark.parametrize(("own", "is_found"), [("return model(x).argmax(1)", True), ("return model.shape", False)])
def test_an_override_that_runs_what_it_is_given_is_not_guarded_either(own, is_found):
    source = BASE.format(base="pass", decorator="", own=own).replace("(self, x)", "(self, model, x)")
    assert bool(idle(source)) is is_found


def test_a_decorated_base_without_overrides_in_the_file_is_left_alone():
    assert idle("class Base:\n    @torch.no_grad()\n    def predict(self, x):\n        raise NotImplementedError") == []


# -- work that runs elsewhere --------------------------------------------------------------------------------


def test_an_iterator_that_is_consumed_under_the_guard_is_guarded():
    assert (
        idle("""
        def f(xs):
            with torch.no_grad():
                ys = (net(x) for x in xs)
                return [y.sum() for y in enumerate(ys)]
        """)
        == []
    )


def test_an_iterator_over_a_lazy_one_is_consumed_when_that_is():
    assert idle("""
        def f(xs):
            with torch.no_grad():
                ys = enumerate(map(net, xs))
            for i, y in ys:
                print(i, y.sum())
        """) == [(Idle.LAZY, "ys = enumerate(map(net, xs))")]


@pytest.mark.parametrize("task", ["net", "partial(score, net)", "lambda x: score(net, x)"])
def test_what_map_calls_runs_when_it_is_asked_for_an_item(task):
    source = f"""
        from functools import partial

        def score(net, x):
            return net(x).sum()

        def f(xs):
            with torch.no_grad():
                ys = map({task}, xs)
            for y in ys:
                print(y)
        """
    assert idle(source) == [(Idle.LAZY, f"ys = map({task}, xs)")]


def test_a_decorated_function_that_returns_an_iterator():
    assert idle("@torch.no_grad()\ndef f(xs):\n    return (net(x) for x in xs)\n") == [
        (Idle.LAZY, "return (net(x) for x in xs)")
    ]


@pytest.mark.parametrize("made", ["(x + 1 for x in xs)", "map(str, xs)", "(y for y in net(xs))"])
def test_an_iterator_without_a_forward_needs_no_guard(made):
    assert idle(f"def f(xs):\n    with torch.no_grad():\n        return {made}\n") == []


WORK = """
def work(x):
    return net(x).tolist()
def f(xs, pool):
    with torch.no_grad():
        {call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "threading.Thread(target=work, args=(xs,)).start()",
        "ThreadPoolExecutor(2).map(work, xs)",
        "ThreadPoolExecutor(2).submit(functools.partial(work, xs))",
        "ThreadPoolExecutor(2).submit(lambda: net(xs))",
        "asyncio.get_event_loop().run_in_executor(None, work, xs)",
    ],
)
def test_another_thread_does_not_see_the_guard(call):
    source = WORK.format(call=call)
    assert idle(source) == [(Idle.THREAD, "with torch.no_grad():")]


@pytest.mark.parametrize(
    "call",
    [
        "ProcessPoolExecutor(2).map(work, xs)",
        "ThreadPoolExecutor(2, initializer=torch.set_grad_enabled, initargs=(False,)).map(work, xs)",
        "ThreadPoolExecutor(2).map(str, xs)",
        "ThreadPoolExecutor(2).map(torch.no_grad()(work), xs)",
        "pool.map(work, xs)",
        "list(map(work, xs))",
    ],
)
def test_where_nothing_is_known_of_a_thread_nothing_is_said(call):
    assert idle(WORK.format(call=call)) == []


SCORERS = """
class Scorer:
    def __init__(self, net):
        self.net = net
    def __call__(self, x):
        return self.net(x).tolist()
def score(model, x):
    return model(x).tolist()
def f(xs):
    with torch.no_grad(), ThreadPoolExecutor(2) as pool:
        {call}
"""


@pytest.mark.parametrize(
    "call",
    [
        "pool.map(Scorer(net), xs)",
        "pool.submit(Scorer(net), xs)",
        "pool.map(score, [net, nn.Linear(3, 3)], [xs, xs])",
        "pool.map(score, itertools.repeat(net), xs)",
    ],
)
def test_what_a_pool_calls_may_be_an_object_and_be_given_one_of_several_networks(call):
    assert idle(SCORERS.format(call=call)) == [(Idle.THREAD, "with torch.no_grad(), ThreadPoolExecutor(2) as pool:")]
    assert idle(SCORERS.format(call=call).replace("model(x)", "len(x)").replace("self.net(x)", "len(x)")) == []


HANDED_ON = """
def work(x):
    {inside}
def spread(xs):
    pool = ThreadPoolExecutor(2)
    return [pool.submit(work, x) for x in xs]
def f(xs):
    {guard}:
        return [job.result() for job in spread(xs)]
"""


@pytest.mark.parametrize(
    ("guard", "inside", "found"),
    [
        ("with torch.no_grad()", "return net(x).tolist()", [(Idle.THREAD, "with torch.no_grad():")]),
        ("with torch.no_grad()", "with torch.no_grad():\n        return net(x).tolist()", []),
        ("with torch.no_grad()", "net(x).sum().backward()", []),
        ("with torch.no_grad()", "return len(x)", []),
        ("with torch.enable_grad()", "return net(x).tolist()", []),
        ("if len(xs)", "return net(x).tolist()", []),
    ],
)
def test_a_helper_hands_over_what_its_caller_guards(guard, inside, found):
    assert idle(HANDED_ON.format(guard=guard, inside=inside)) == found


def test_a_thread_that_trains_is_not_meant_by_the_guard():
    source = WORK.format(call="threading.Thread(target=work, args=(xs,)).start()")
    assert idle(source.replace(".tolist()", ".sum().backward()")) == []


def test_a_worker_that_switches_for_itself_is_right():
    assert (
        idle("""
        def serve(queue):
            torch.set_grad_enabled(False)
            while True:
                queue.put(net(queue.get()).tolist())
        def other(x):
            return net(x).tolist()
        def start(queue):
            threading.Thread(target=serve, args=(queue,)).start()
        """)
        == []
    )


# -- consequences --------------------------------------------------------------------------------------------


def test_the_caller_of_a_helper_that_was_to_switch_is_a_consequence():
    assert in_vain("""
        def prepare():
            net.eval()
            torch.no_grad()
        def infer(x):
            prepare()
            return net(x).tolist()
        def other(x):
            return net(x).tolist()
        """) == {"prepare", "infer"}


def test_what_only_an_unguarded_function_calls_is_a_consequence():
    source = """
        def infer(x):
            return net(x).tolist()
        def evaluate(xs):
            torch.no_grad()
            return [infer(x) for x in xs]
        """
    assert in_vain(source) == {"infer", "evaluate"}
    assert in_vain(source + "\n        def other(x):\n            return infer(x)\n") == {"evaluate"}


def test_a_guard_that_works_has_no_such_consequence():
    assert in_vain(GENERATOR) == set()
    assert in_vain("def f(x):\n    torch.enable_grad()\n    return net(x)\n") == set()
