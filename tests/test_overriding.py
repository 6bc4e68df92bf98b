"""Methods that a base class leaves to its subclasses, and classes that are modules by their parameters."""

from __future__ import annotations

import pytest
from programs import Program

FAMILY = """
class Base:
    {declared}
    def run(self, x):
        return self.step(x)
class Below(Base):
    def __init__(self):
        self.net = nn.Linear(3, 3)
    def step(self, x):
        return self.net(x)
print({asked}.run(torch.rand(2, 3)))
"""

OPEN = [
    "pass",
    "def step(self, x): raise NotImplementedError",
    "def step(self, x): ...",
    'def step(self, x): "Gives the scores."',
    "@abstractmethod\n    def step(self, x): return x",
]


@pytest.mark.parametrize("declared", OPEN)
@pytest.mark.parametrize("asked", ["Below()", "Base()"])
def test_a_step_that_is_left_open_is_that_of_the_class_below(declared: str, asked: str) -> None:
    program = Program("from abc import abstractmethod\n" + FAMILY.format(declared=declared, asked=asked))
    assert program.kinds(program.shown()) == {"live"}


@pytest.mark.parametrize("declared", ["def step(self, x): return 1", "def step(self, x): self.seen = x.shape"])
def test_a_step_that_the_base_has_itself_is_taken_for_it(declared: str) -> None:
    program = Program(FAMILY.format(declared=declared, asked="Base()"))
    assert "live" not in program.kinds(program.shown())


def test_beside_it_runs_what_a_class_has_of_which_an_object_is_made() -> None:
    program = Program(FAMILY.format(declared="def step(self, x): return 1", asked="Below()"))
    assert program.kinds(program.shown()) == {"live", "no tensor"}


def test_not_where_the_class_below_has_another_caller_as_well() -> None:
    source = FAMILY.format(declared="def step(self, x): return 1", asked="Base()")
    own = "    def run(self, x):\n        return 2\nBelow().run(1)\n"
    program = Program(source.replace("print(Base()", f"{own}print(Base()"))
    assert "live" not in program.kinds(program.shown())


def test_a_method_of_another_object_is_that_of_its_class() -> None:
    source = FAMILY.format(declared=OPEN[1], asked="Base()").replace("self.step(x)", "Base().step(x)")
    program = Program(source)
    assert "live" not in program.kinds(program.shown())


HANDED = """
from abc import ABC, abstractmethod
class Scorer(ABC):
    {declared}
class Linear(Scorer):
    def __init__(self):
        self.net = nn.Linear(3, 3)
    def score(self, x):
        return self.net(x)
class Trainer:
    def __init__(self, scorer: Scorer):
        self.scorer = scorer
    def run(self, x):
        print(self.scorer.score(x))
"""


@pytest.mark.parametrize(
    "declared", ["@abstractmethod\n    def score(self, x): ...", "@abstractmethod\n    def score(self, x) -> dict: ..."]
)
def test_an_abstract_method_of_an_object_that_is_given_is_that_of_a_class_below(declared: str) -> None:
    program = Program(HANDED.format(declared=declared))
    assert "live" in program.kinds(program.shown())


@pytest.mark.parametrize("asked", ["self.scorer(x)", "self.scorer.__call__(x)"])
def test_an_abstract_object_that_is_called_runs_what_a_class_below_has_for_that(asked: str) -> None:
    source = HANDED.format(declared="@abstractmethod\n    def score(self, x): ...").replace("score(", "__call__(")
    program = Program(source.replace("self.scorer.__call__(x)", asked))
    assert "live" in program.kinds(program.shown())


def test_a_base_that_calls_itself_runs_what_a_class_below_has_for_that() -> None:
    source = FAMILY.format(declared=OPEN[1], asked="Below()").replace("self.step(x)", "self(x)")
    program = Program(source.replace("step(", "__call__("))
    assert program.kinds(program.shown()) == {"live"}


def test_the_loss_that_a_class_below_computes_is_that_of_the_outputs_which_it_is_given() -> None:
    program = Program("""
from abc import ABC, abstractmethod
class Model(nn.Module, ABC):
    @abstractmethod
    def forward(self, x): ...
    @abstractmethod
    def loss(self, out, y) -> torch.Tensor: ...
class Linear(Model):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 3)
    def forward(self, x):
        return self.net(x)
    def loss(self, out, y):
        return F.mse_loss(out, y)
class Trainer:
    def __init__(self, model: Model):
        self.model = model
    def step(self, x, y):
        self.out = self.model(x)
        self.model.loss(self.out, y).backward()
    def fit(self, loader):
        for x, y in loader:
            self.step(x, y)
""")
    assert not [one for one in program.facts.leftovers if not one.spent]


PLACED = """
class Placed:
    def place(self, device):
        {returned}
    def score(self, x):
        raise NotImplementedError
class Linear(Placed):
    def __init__(self):
        self.net = nn.Linear(3, 3)
    def score(self, x):
        return self.net(x)
class Counting(Placed):
    def score(self, x):
        return len(x)
print({made}.place("cpu").score(torch.rand(2, 3)))
"""


@pytest.mark.parametrize(
    ("returned", "made", "live"),
    [
        ("return self", "Linear()", True),
        ("return self", "Counting()", False),
        ("if device: return self\n        return None", "Linear()", True),
        ("return Linear()", "Counting()", True),
    ],
)
def test_a_method_of_the_base_that_gives_back_its_object_gives_one_of_the_class_below(
    returned: str, made: str, live: bool
) -> None:
    program = Program(PLACED.format(returned=returned, made=made))
    assert ("live" in program.kinds(program.shown())) is live


def test_a_guard_in_the_base_stands_around_the_step_of_the_class_below() -> None:
    family = FAMILY.format(declared=OPEN[1], asked="Below()")
    source = family.replace("    def run", "    @torch.no_grad()\n    def run")
    assert Program(source.replace("return self.net(x)", "self.net.eval(); return self.net(x)")).infers() == []


PARAMETER = """
from elsewhere import Base
class Net({base}):
    def __init__(self):
        super().__init__()
        self.scale = {made}
    def score(self, x):
        out = self.forward(x)
        print(out)
"""


def test_a_class_with_a_parameter_is_a_module_whatever_its_base_is() -> None:
    program = Program(PARAMETER.format(base="Base", made="nn.Parameter(torch.ones(3))"))
    assert program.kinds(program.shown()) == {"live"}


@pytest.mark.parametrize(
    ("base", "made"), [("Base", "nn.Linear(3, 3)"), ("Base", "torch.ones(3)"), ("object", "nn.Parameter(x)")]
)
def test_a_class_that_only_has_a_module_is_none(base: str, made: str) -> None:
    program = Program(PARAMETER.format(base=base, made=made))
    assert "live" not in program.kinds(program.shown())


@pytest.mark.parametrize(
    ("declared", "kinds"),
    [("raise NotImplementedError", {"unknown"}), ("...", {"unknown"}), ("self.seen = x", {"no tensor"})],
)
def test_what_no_class_of_the_file_defines_may_be_anything(declared: str, kinds: set[str]) -> None:
    source = f"class Base:\n    def step(self, x): {declared}\n    def run(self, x): print(self.step(x))\n"
    program = Program(source)
    assert program.kinds(program.shown()) == kinds


HOOKING = """
class Observer:
    def __init__(self):
        self.handles = []
    def start(self, layer):
        layer.seen = []
        self.handles.append(layer.register_forward_hook(self.look))
    def look(self, layer, inputs, output):
        {own}
class Keeper(Observer):
    def look(self, layer, inputs, output):
        layer.seen.append({kept})
"""


@pytest.mark.parametrize(
    ("own", "kept", "found"),
    [
        ("raise NotImplementedError", "output.cpu()", ["layer.seen"]),
        ("pass", "output.cpu()", ["layer.seen"]),
        ("raise NotImplementedError", "output.detach().cpu()", []),
        ("raise NotImplementedError", "output.mean().item()", []),
        ("print(output.shape)", "output.cpu()", []),  # that of the base runs where the object is one of the base
    ],
)
def test_a_method_that_is_left_open_is_registered_as_that_of_the_class_below(
    own: str, kept: str, found: list[str]
) -> None:
    stores = Program(HOOKING.format(own=own, kept=kept)).facts.hook_stores
    assert [store.name for store in stores] == found


OWN = "def step(self, x): return 1"


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            "class Last(Below):\n    def run(self, x):\n        return super().run(x)\nLast()", id="by super()"
        ),
        pytest.param("class Last(Below):\n    pass\nLast()", id="a class further below"),
        pytest.param("Below.made()", id="by a method of the class"),
        pytest.param("{'a': Base, 'b': Below}[kind]()", id="out of a table"),
    ],
)
def test_the_object_may_be_made_in_any_way(made: str) -> None:
    declared = f"{OWN}\n    @classmethod\n    def made(cls):\n        return cls()"
    *before, asked = made.split("\n")
    family, shown = FAMILY.format(declared=declared, asked=asked).split("print(")
    program = Program(family + "\n".join(before) + f"\nprint({shown}")
    assert "live" in program.kinds(program.shown())


def test_what_stands_for_the_method_is_either_of_them() -> None:
    source = FAMILY.format(declared=OWN, asked="Below()").replace(
        "return self.step(x)", "return list(map(self.step, [x]))[0]"
    )
    program = Program(source)
    assert "live" in program.kinds(program.shown())


@pytest.mark.parametrize(("bases", "kinds"), [("(ABC)", {"no tensor"}), ("", {"no tensor", "live"})])
def test_no_object_has_the_method_of_an_abstract_class(bases: str, kinds: set[str]) -> None:
    program = Program(f"""
from abc import ABC, abstractmethod
class Base{bases}:
    {"@abstractmethod" if bases else ""}
    def name(self):
        return "base"
    def value(self, x):
        return nn.Linear(3, 3)(x)
    def run(self, x):
        return self.value(x)
class Below(Base):
    def name(self):
        return "below"
    def value(self, x):
        return super().value(x).item()
print(Below().run(torch.rand(2, 3)))
""")
    assert program.kinds(program.shown()) == kinds
