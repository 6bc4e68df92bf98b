"""Training programs that nobody wrote: valid Python, made of what such programs are made of, in any combination.

Everything is drawn from a ``random.Random``: a seed names a program, and hypothesis, which gives one of its own, can
make a program that breaks something smaller.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from textwrap import indent

__all__ = ["training_program"]

HEADS = (
    "import torch\n",
    "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n",
    "import torch as t, copy\nfrom torch import no_grad, nn\nimport torch\n",
    "from __future__ import annotations\nimport copy\nimport torch\nimport torch.nn as nn\n",
    '"""A program."""\nimport torch; from torch import nn\n',
    "import torch\nimport pytorch_lightning as pl\nfrom torch import nn, optim\n",
    "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
)
SETUPS = (
    "model = nn.Linear(3, 3)\noptimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n",
    "model = nn.Sequential(nn.Linear(3, 3), nn.ReLU()).cuda()\ncriterion = nn.MSELoss()\n",
    "loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=4)\n",
    "losses, total, history = [], 0.0, {}\n",
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n",
    "total = None\nCACHE: dict[str, torch.Tensor] = {}\n",
)
NAMES = (
    "x",
    "y",
    "out",
    "loss",
    "total",
    "losses",
    "history",
    "h",
    "state",
    "best",
    "memo",
    "batch",
    "model",
    "net",
    "i",
)
HOLDERS = (
    "losses",
    "history",
    "total",
    "self.losses",
    "self.total",
    "self.memo",
    "memo",
    "CACHE",
    "h",
    "self.h",
    "best",
)
METHODS = ("detach", "item", "cpu", "clone", "mean", "sum", "backward", "tolist", "numpy", "cuda", "data_ptr", "t")
FUNCTIONS = ("torch.stack", "torch.cat", "F.mse_loss", "F.cross_entropy", "criterion", "model", "net", "self.model",
             "self",
             "float", "sum", "list", "copy.deepcopy", "torch.load", "step", "helper", "evaluate",
             "enumerate", "zip")  # fmt: skip
GUARDS = ("torch.no_grad()", "torch.inference_mode()", "torch.enable_grad()", "torch.set_grad_enabled(False)",
          "torch.autocast('cuda')", "open(path) as file", "torch.profiler.profile() as profiler", "lock",
          "torch.autograd.set_detect_anomaly(True)", "torch.autograd.graph.save_on_cpu()")  # fmt: skip
DECORATORS = ("@torch.no_grad()", "@torch.no_grad", "@torch.inference_mode()", "@torch.compile", "@staticmethod",
              "@property",
              "@functools.lru_cache(maxsize=None)", "@classmethod", "@torch.jit.script")  # fmt: skip
FUNCTION_NAMES = ("train", "step", "evaluate", "helper", "forward", "training_step", "validation_step", "__init__",
                  "main",
                  "predict", "update", "hook", "__call__", "setup", "backward")  # fmt: skip
BASES = ("", "(nn.Module)", "(torch.autograd.Function)", "(pl.LightningModule)", "(Base)", "(torch.utils.data.Dataset)",
         "(nn.Module, metaclass=abc.ABCMeta)", "(object)")  # fmt: skip
PARAMETERS = ("", "x", "model, loader, optimizer", "x, y=None", "*args, **kwargs", "x, /, y, *, total=0.0",
              "loader, losses=[]",
              "ctx, x", "batch: torch.Tensor, i: int = 0", "module, inputs, output", "a, *rest")  # fmt: skip
LINES = (
    "loss = F.mse_loss(model(x), y)", "loss.backward()", "optimizer.step()", "optimizer.zero_grad()",
    "optimizer.zero_grad(set_to_none=False)", "loss.backward(retain_graph=True)", "loss.backward(create_graph=True)",
    "out = model(x)", "x, y = x.cuda(), y.cuda()", "total += loss", "total = total + loss * 2", "losses.append(loss)",
    "history['loss'] = loss", "self.total += loss", "self.losses.append(out)", "total.add_(loss)", "losses += [loss]",
    "out = torch.cat((out, x))", "handle = model.register_forward_hook(lambda m, i, o: losses.append(o))",
    "handle.remove()", "torch.save(model.state_dict(), 'a.pt')", "torch.save(model, f'{i}.pt')",
    "state = torch.load('a.pt', map_location='cpu')", "model.load_state_dict(torch.load('a.pt'))",
    "best = copy.deepcopy(model.state_dict())", "best = model.state_dict()", "model = model.eval()", "model.train()",
    "grads = torch.autograd.grad(loss, model.parameters(), create_graph=True)", "torch.cuda.empty_cache()",
    "model = torch.compile(model)", "model = nn.Linear(3, 3).cuda()", "self.layers.append(nn.Linear(3, 3))",
    "ctx.save_for_backward(x)", "ctx.x = x", "return loss", "yield out", "del loss, out", "h, c = lstm(x, (h, c))",
    "global total", "assert loss.requires_grad, 'no graph'", "raise RuntimeError(loss)", "pass", "break", "continue",
    "self.h = self.rnn(x, self.h)[1]", "plt.figure()", "torch.autograd.set_detect_anomaly(True)", "loss = loss.item()",
    "torch.cuda.memory._record_memory_history()", "print(f'{loss:.3f} {total!r:>{i}}')", "import torch.nn as nn",
    "losses = [loss for loss in losses if loss is not None]", "writer.add_scalar('loss', loss, i)",
    "history.setdefault('loss', []).append(loss)", "(n := n + 1)", "x: torch.Tensor = out[:10]", "first = out[0]",
    "best = min(best, loss)", "self.model = self", "total, n = total + loss, n + 1", "losses[i], *rest = out, loss",
    "mean = torch.stack(losses).mean(); mean.backward()", "await queue.put(loss)", "x = await model(x)",
    "nonlocal total",
    "model = None; gc.collect()", "for p in model.parameters(): p.grad = None", "if loss > 1: break",
    "error = loss if loss else\\\n    total", "losses.append(\n    loss,  # kept\n)",
    "total = (\n    total\n    + loss\n)",
)  # fmt: skip


@dataclass(frozen=True)
class _Place:
    """Where a statement stands.

    Attributes:
        random: what everything is drawn from.
        depth: how many levels of statements may still stand below it.
        in_function, in_loop, is_async: what is around it, since some statements may only stand there.
    """

    random: Random
    depth: int
    in_function: bool = False
    in_loop: bool = False
    is_async: bool = False

    def one_of(self, values: tuple[str, ...]) -> str:
        return values[self.random.randrange(len(values))]

    def happens(self, one_in: int) -> bool:
        return self.random.randrange(one_in) == one_in - 1

    def below(self, **changes: bool) -> _Place:
        return replace(self, depth=self.depth - 1, **changes)


def training_program(random: Random) -> str:
    """A module that uses torch, of five to some eighty lines; ``ast`` parses it."""
    place = _Place(random, 1 + min(random.randrange(4), random.randrange(4)))
    parts = [place.one_of(HEADS)]
    parts += [place.one_of(SETUPS) for _ in range(random.randrange(3))]
    parts += [_compound(place) if place.happens(4) else _definition(place) for _ in range(1 + place.happens(3))]
    return _dressed(place, "".join(parts))


def _dressed(place: _Place, text: str) -> str:
    """The same program with line ends, indentation or white space of another kind."""
    changes: tuple[Callable[[str], str], ...] = (
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("    ", "\t"),
        lambda text: text.removesuffix("\n"),
        lambda text: text.replace("\nclass ", "\n\x0cclass ").replace("\ndef ", "\n\n  \n# é模型\ndef "),
        lambda text: text.replace("losses", "größe"),
        lambda text: text + "# the end",
    )
    return changes[place.random.randrange(len(changes))](text) if place.happens(5) else text


def _block(place: _Place, lines: int = 4) -> str:
    """Statements, indented."""
    count = 1 + place.random.randrange(lines)
    return indent("".join(_statement(place) for _ in range(count)), "    ")


def _statement(place: _Place) -> str:
    if place.depth > 0 and place.happens(4):
        return _compound(place)
    line = place.one_of(LINES) if not place.happens(4) else _made_line(place)
    word = line.split(maxsplit=1)[0]
    if (word in ("break", "continue") or line.endswith("break")) and not place.in_loop:
        line = "pass"
    if (word in ("return", "yield", "nonlocal") or "await" in line) and not place.in_function:
        line = "pass"
    if "await" in line and not place.is_async:
        line = "pass"
    comment = place.one_of(("  # noqa", "  # noqa: TLK101", "  # as it is")) if place.happens(12) else ""
    return f"{line}{comment}\n"


def _made_line(place: _Place) -> str:
    """One simple statement of drawn parts."""
    holder, value = place.one_of(HOLDERS), _expression(place, 3)
    forms = (
        f"{holder} = {value}", f"{holder} += {value}", f"{holder}.append({value})",
        f"{holder}[{place.one_of(NAMES)}] = {value}",
        f"{holder} = {holder} + {value}", f"{holder}.extend({value})", f"{place.one_of(NAMES)} = {value}",
        f"{place.one_of(NAMES)}, {holder} = {value}, {_expression(place, 1)}", value, f"del {holder}",
        f"{holder}.update({place.one_of(NAMES)}={value})", f"setattr(self, 'total', {value})", f"assert {value}",
    )  # fmt: skip
    return place.one_of(forms)


def _expression(place: _Place, depth: int) -> str:
    """An expression; what calls torch is likelier than what does not."""
    if depth <= 0 or place.happens(4):
        return place.one_of((*NAMES, "self.model", "1.0", "'loss'", "None", "losses[-1]", "torch.zeros(3)"))

    def inner() -> str:
        return _expression(place, depth - 1)

    name = place.one_of(NAMES)
    forms: tuple[Callable[[], str], ...] = (
        lambda: f"{place.one_of(FUNCTIONS)}({inner()}, {inner()})",
        lambda: f"{place.one_of(FUNCTIONS)}(*{inner()}, **{name})",
        lambda: f"({inner()}).{place.one_of(METHODS)}()",
        lambda: f"{name}.{place.one_of(METHODS)}().{place.one_of(METHODS)}()",
        lambda: f"({inner()} {place.one_of(('+', '*', '@', 'or', 'if y else', 'is', '<'))} {inner()})",
        lambda: f"[{inner()} for {name} in {inner()} if {name}]",
        lambda: f"{{{name}: {inner()} for {name} in {place.one_of(HOLDERS)}}}",
        lambda: f"sum({inner()} for {name}, _ in {inner()})",
        lambda: f"(lambda {name}, *a: {inner()})",
        lambda: f"[{inner()}, *{name}]",
        lambda: f"{{'a': {inner()}, **{name}}}",
        lambda: f"({name} := {inner()})",
        lambda: f"({inner()})[{place.one_of((':10', '0', '..., None', '::2'))}]",
        lambda: f"f'{{{name}.{place.one_of(METHODS)}()}}'",
        lambda: f"(-{inner()})",
    )
    return forms[place.random.randrange(len(forms))]()


def _compound(place: _Place) -> str:
    forms = (_for, _for, _for, _while, _if, _with, _try, _match, _definition)
    return forms[place.random.randrange(len(forms))](place)


def _for(place: _Place) -> str:
    heads = ("for x, y in loader:", "for epoch in range(10):", "for i, (x, y) in enumerate(loader):",
             "for batch in loader:",
             "for name, p in model.named_parameters():", "for loss in losses:",
             "for *x, y in zip(loader, losses):")  # fmt: skip
    prefix = "async " if place.is_async and place.happens(4) else ""
    tail = f"else:\n{_block(place.below(), 2)}" if place.happens(6) else ""
    return f"{prefix}{place.one_of(heads)}\n{_block(place.below(in_loop=True), 7)}{tail}"


def _while(place: _Place) -> str:
    head = place.one_of(("while True:", "while i < 10:", "while (batch := next(it, None)) is not None:"))
    return f"{head}\n{_block(place.below(in_loop=True))}"


def _if(place: _Place) -> str:
    tests = ("i % 10 == 0", "self.training", "model.training", "total is None", "torch.is_grad_enabled()", "not losses")
    text = f"if {place.one_of(tests)}:\n{_block(place.below())}"
    if place.happens(4):
        text += f"elif {_expression(place, 2)}:\n{_block(place.below(), 2)}"
    if place.happens(3):
        text += f"else:\n{_block(place.below(), 2)}"
    return text


def _with(place: _Place) -> str:
    prefix = "async " if place.is_async and place.happens(4) else ""
    items = ", ".join(place.one_of(GUARDS) for _ in range(1 + place.happens(4)))
    return f"{prefix}with {items}:\n{_block(place.below())}"


def _try(place: _Place) -> str:
    body = f"try:\n{_block(place.below())}"
    if place.happens(4):
        return f"{body}finally:\n{_block(place.below(), 2)}"
    heads = (
        "except RuntimeError as error:",
        "except (ValueError, torch.cuda.OutOfMemoryError) as e:",
        "except Exception:",
    )
    body += f"{place.one_of(heads)}\n{_block(place.below(), 3)}"
    return f"{body}else:\n{_block(place.below(), 2)}" if place.happens(5) else body


def _match(place: _Place) -> str:
    patterns = (
        "(x, y)",
        "{'loss': loss, **rest}",
        "[first, *others]",
        "torch.Tensor() as out",
        "None | False",
        "_ if total",
    )
    cases = "".join(f"case {place.one_of(patterns)}:\n{_block(place.below(), 2)}" for _ in range(1 + place.happens(2)))
    return f"match {place.one_of(NAMES)}:\n{indent(cases, '    ')}"


def _definition(place: _Place) -> str:
    return _class(place) if place.happens(3) and place.depth > 1 else _function(place)


def _class(place: _Place) -> str:
    names = ("Trainer", "Net", "Meter", "Function")
    inside = place.below(in_loop=False, in_function=False, is_async=False)
    body = "".join(_function(inside, "self") for _ in range(1 + place.random.randrange(3)))
    members = place.one_of(("", "losses = []\n", '"""A class."""\n', "total: torch.Tensor\n"))
    return f"class {place.one_of(names)}{place.one_of(BASES)}:\n{indent(members + body, '    ')}\n"


def _function(place: _Place, first: str = "") -> str:
    is_async = place.happens(6)
    decorator = place.one_of(DECORATORS) + "\n" if place.happens(5) else ""
    parameters = place.one_of(PARAMETERS)
    if first and "/" not in parameters:
        parameters = f"{first}, {parameters}" if parameters else first
    name, returns = place.one_of(FUNCTION_NAMES), place.one_of(("", " -> None"))
    head = f"{'async ' if is_async else ''}def {name}({parameters}){returns}:"
    inside = place.below(in_function=True, in_loop=False, is_async=is_async)
    if place.happens(12):
        return f"{decorator}{head} return {_expression(place, 2)}\n\n"
    setup = place.one_of(
        ("", "", "total = 0\n", "losses = []\n", "model.eval()\n", "super().__init__()\n", "self.h = None\n")
    )
    return f"{decorator}{head}\n{indent(setup, '    ')}{_block(inside, 6)}\n"
