"""Who calls with gradients off, and in which file: what is guarded elsewhere is no inference with gradients."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import GUARDED, OPEN, TAGGER, Project

from torchlint import check_paths, check_source
from torchlint.config import Settings


def test_a_function_whose_callers_in_other_files_all_guard_is_silent(tmp_path: Path) -> None:
    project = Project(tmp_path, {"tagger.py": TAGGER, "first.py": GUARDED, "second.py": GUARDED})
    assert project.found() == []
    assert project.found("tagger.py") == ["tagger.py: TLK201 warning"]


def test_of_callers_that_guard_and_callers_that_do_not_the_latter_are_told(tmp_path: Path) -> None:
    project = Project(tmp_path, {"tagger.py": TAGGER, "first.py": GUARDED, "second.py": OPEN})
    assert project.found() == ["second.py: TLK201 warning"]


def test_where_no_caller_guards_the_function_is_told_and_its_caller_gets_a_note(tmp_path: Path) -> None:
    project = Project(tmp_path, {"tagger.py": TAGGER, "second.py": OPEN})
    assert project.found() == ["second.py: TLK201 note", "tagger.py: TLK201 warning"]


def test_a_forward_through_which_a_training_runs_is_not_to_be_decorated(tmp_path: Path) -> None:
    net = """
        import torch
        from torch import nn

        class Tides(nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = nn.Linear(3, 3)

            def forward(self, x):
                levels = self.cell(x)
                return (levels - x).pow(2).mean(), levels.argmax(1).tolist()
    """
    forecast = """
        from tides import Tides

        def forecast(x):
            net = Tides()
            net.eval()
            _, highest = net(x)
            return highest
    """
    project = Project(tmp_path, {"tides.py": net, "forecast.py": forecast})
    (finding,) = check_paths([project.folder / "forecast.py"], settings=Settings(notes=True))
    assert finding.code == "TLK201"
    assert "decorate it there" not in finding.message


SHOP = "from tagger import Tagger\n\ndef made():\n    return Tagger()\n"
COUNTER = """
    import torch
    from shop import made

    def sell(batches):
        with torch.no_grad():
            return [made().{method}(x) for x in batches]
"""


@pytest.mark.parametrize(("method", "found"), [("predict", []), ("tag", ["tagger.py: TLK201 warning"])])
def test_who_guards_a_method_may_have_its_object_from_a_third_file(
    tmp_path: Path, method: str, found: list[str]
) -> None:
    files = {"tagger.py": TAGGER, "shop.py": SHOP, "counter.py": COUNTER.format(method=method)}
    assert Project(tmp_path, files).found() == found


STALL = """
    import torch
    {imports}

    def sell(path, batches):
        tagger = torch.load(path)["tagger"]
        {guard}:
            return [tagger.predict(x) for x in batches]
"""

QUIET = """
    import contextlib
    import torch

    @contextlib.contextmanager
    def at_rest(net):
        with {guard}:
            yield net
"""


def test_who_guards_a_method_may_be_given_its_object(tmp_path: Path) -> None:
    guarded = STALL.format(imports="", guard="with torch.no_grad()")
    assert Project(tmp_path, {"tagger.py": TAGGER, "stall.py": guarded}).found() == []
    is_open = STALL.format(imports="", guard="if batches")
    files = {"tagger.py": TAGGER, "stall.py": guarded, "other.py": is_open}
    assert Project(tmp_path / "mixed", files).found() == ["tagger.py: TLK201 note"]


def test_who_imports_another_class_with_the_method_is_given_that_one(tmp_path: Path) -> None:
    guesser = "class Guesser:\n    def predict(self, x):\n        return x\n"
    guarded = STALL.format(imports="from guesser import Guesser", guard="with torch.no_grad()")
    project = Project(tmp_path, {"tagger.py": TAGGER, "stall.py": guarded, "guesser.py": guesser})
    assert project.found() == ["tagger.py: TLK201 warning"]


@pytest.mark.parametrize(
    ("guard", "found"), [("torch.no_grad()", []), ("torch.enable_grad()", ["tagger.py: TLK201 warning"])]
)
def test_a_context_manager_of_the_project_may_be_a_guard(tmp_path: Path, guard: str, found: list[str]) -> None:
    stall = STALL.format(imports="from quiet import at_rest", guard="with at_rest(tagger)")
    files = {"tagger.py": TAGGER, "stall.py": stall, "quiet.py": QUIET.format(guard=guard)}
    assert Project(tmp_path, files).found() == found


def test_who_guards_a_function_imports_it(tmp_path: Path) -> None:
    function = """
        from torch import nn

        def predict(x):
            net = nn.Linear(3, 3).eval()
            return net(x).argmax(1).tolist()
    """
    shop = "from tagger import predict\nfrom elsewhere import made\n"
    files = {"tagger.py": function, "shop.py": shop, "counter.py": COUNTER.format(method="predict")}
    assert "tagger.py: TLK201 warning" in Project(tmp_path, files).found()


CLERK = """
    import torch

    class Clerk:
        def serve(self, rows):
            with torch.no_grad():
                return self.{method}(rows)
"""

TELLER = """
    from torch import nn
    from staff import {base}

    class Teller({base}):
        def __init__(self):
            self.net = nn.Linear(3, 3)

        def answer(self, rows):
            self.net.eval()
            return self.net(rows).argmax(1).tolist()
"""


@pytest.mark.parametrize(
    ("method", "base", "found"),
    [
        ("answer", "Clerk", []),
        ("answer", "Senior", []),
        ("ask", "Clerk", ["teller.py: TLK201 warning"]),
        ("answer", "Other", ["teller.py: TLK201 warning"]),
    ],
)
def test_a_base_class_in_another_file_guards_what_its_subclasses_define(
    tmp_path: Path, method: str, base: str, found: list[str]
) -> None:
    staff = "from clerk import Clerk\n\nclass Senior(Clerk):\n    pass\n\nclass Other:\n    pass\n"
    files = {"clerk.py": CLERK.format(method=method), "staff.py": staff, "teller.py": TELLER.format(base=base)}
    assert Project(tmp_path, files).found("teller.py") == found


CHECKED = """
    import torch

    class Recorder:
        def __init__(self, model, example):
            model.eval()
            self.outline = model(example)

    def record(model, example):
        model.eval()
        print(model(example).argmax(1))
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("record(net, torch.rand(2, 3))", []),
        ("Recorder(net, x)", []),
        ("record(net, x)", ["trace.py: TLK201 note"]),
    ],
)
def test_one_trace_is_no_inference(tmp_path: Path, call: str, found: list[str]) -> None:
    trace = f"""
        import torch
        from torch import nn
        from recorders import Recorder, record

        def outline(x):
            net = nn.Linear(3, 3)
            return {call}
    """
    assert Project(tmp_path, {"recorders.py": CHECKED, "trace.py": trace}).found("trace.py") == found


CONVERT = """
    import torch

    def convert(model):
        return finish(model)

    def finish(model):
        for p in model.parameters():
            p.requires_grad = {flag}
        return model
"""

ASK = """
    import torch
    from torch import nn
    from tools import convert

    def ask(x):
        model = convert(nn.Linear(3, 3))
        print(model(x).argmax(1))
"""


@pytest.mark.parametrize(("flag", "found"), [("False", []), ("True", ["ask.py: TLK201 warning"])])
def test_a_model_that_another_file_freezes_records_nothing(tmp_path: Path, flag: str, found: list[str]) -> None:
    project = Project(tmp_path, {"tools.py": CONVERT.format(flag=flag), "ask.py": ASK})
    assert project.found("ask.py") == found


def test_a_summary_on_random_numbers_in_another_file_is_no_inference(tmp_path: Path) -> None:
    tools = """
        import torch

        def complexity(model, size):
            model.eval()
            model(torch.rand(size))
            return 1
    """
    use = """
        from torch import nn
        from tools import complexity

        def main():
            print(complexity(nn.Linear(3, 3), (1, 3)))
    """
    assert Project(tmp_path, {"tools.py": tools, "use.py": use}).found("use.py") == []


def test_a_decorator_of_another_file_guards(tmp_path: Path) -> None:
    modes = """
        import torch
        from functools import wraps

        def quietly(f):
            @wraps(f)
            def inner(*given):
                with {guard}:
                    return f(*given)
            return inner
    """
    judge = """
        from torch import nn
        from modes import quietly

        @quietly
        def judge(net: nn.Module, loader):
            return [net(x).argmax(1) for x in loader]
    """
    files = {"modes.py": modes.format(guard="torch.no_grad()"), "judge.py": judge}
    assert Project(tmp_path / "guarded", files).found() == []
    files["modes.py"] = modes.format(guard="torch.autocast('cuda')")
    assert Project(tmp_path / "open", files).found() == ["judge.py: TLK201 warning"]


BASE = """
    import abc
    import torch

    class Judge(abc.ABC):
        def __init__(self, net):
            self.net = net.eval()

        @abc.abstractmethod
        {decorator}
        def score(self, x):
            ...
"""

OVERRIDE = """
    import torch
    from torch import nn
    from base import Judge

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(x)

        def rate(self, x):
            return self.layer(x).softmax(-1)

        def width(self, x):
            return self.layer.out_features - len(x)

    class Own(Judge):
        {decorator}
        def score(self, x):
            return {given}

    judge = Own(Net())
"""


@pytest.mark.parametrize(
    ("base", "own", "given", "found"),
    [
        ("@torch.no_grad()", "", "self.net(x)", ["own.py: TLK202 warning"]),
        ("@torch.no_grad()", "", "self.net.rate(x).argmax(-1).tolist()", ["own.py: TLK202 warning"]),
        ("@torch.no_grad()", "", "self.net.width(x)", []),
        ("@torch.no_grad()", "", "next(self.net.parameters()).device", []),
        ("@torch.no_grad()", "@torch.inference_mode()", "self.net(x)", []),
        ("@torch.no_grad()", "@torch.inference_mode()", "self.net.rate(x)", []),
        ("", "", "self.net(x)", []),
    ],
)
def test_a_guard_on_an_abstract_method_of_another_file_does_not_hold_for_what_overrides_it(
    tmp_path: Path, base: str, own: str, given: str, found: list[str]
) -> None:
    files = {"base.py": BASE.format(decorator=base), "own.py": OVERRIDE.format(decorator=own, given=given)}
    assert Project(tmp_path, files).found("own.py") == found


def test_what_a_base_does_to_each_class_below_may_be_to_guard_it(tmp_path: Path) -> None:
    hook = """
        def __init_subclass__(cls, **options):
            super().__init_subclass__(**options)
            cls.score = torch.no_grad()(cls.score)
"""
    own = OVERRIDE.format(decorator="", given="self.net(x)")
    files = {"base.py": BASE.format(decorator="@torch.no_grad()") + hook, "own.py": own}
    assert Project(tmp_path, files).found("own.py") == []


@pytest.mark.parametrize(
    ("before", "is_found"),
    [
        ("torch.set_grad_enabled(False)", False),
        ("torch.set_grad_enabled(True)", True),
        ("torch.set_grad_enabled(False)\n        torch.set_grad_enabled(True)", True),
        ("print('nothing')", True),
    ],
)
def test_gradients_that_are_switched_off_before_a_call_are_off_in_it(
    tmp_path: Path, before: str, is_found: bool
) -> None:
    script = f"""
    import torch
    from tagger import Tagger

    def main(loader):
        {before}
        tagger = Tagger()
        for x in loader:
            print(tagger.predict(x))
    """
    found = Project(tmp_path, {"tagger.py": TAGGER, "script.py": script}).found("tagger.py", "script.py")
    assert any("TLK201" in one for one in found) is is_found


@pytest.mark.parametrize(
    ("added", "applied", "found"),
    [
        ("self.total = self.total + self.weigh(loss)", "objective.total.backward()", []),
        ("self.total = self.total + self.weigh(loss)", "objective.finish()", []),
        ("self.total = self.weigh(loss).item()", "net.zero_grad()", ["train.py: TLK203 warning"]),
    ],
)
def test_an_object_elsewhere_collects_what_the_step_differentiates(
    tmp_path: Path, added: str, applied: str, found: list[str]
) -> None:
    files = {
        "objective.py": f"""
            class Objective:
                def __init__(self, weigh):
                    self.weigh = weigh
                    self.total = 0.0
                def add(self, loss):
                    {added}
                def finish(self):
                    self.total.backward()
                    self.total = 0.0
        """,
        "train.py": f"""
            import torch
            from torch import nn
            from objective import Objective

            def train(loader, weigh):
                net, other, objective = nn.Linear(3, 3), nn.Linear(3, 1), Objective(weigh)
                optimizer = torch.optim.SGD([*net.parameters(), *other.parameters()], lr=0.1)
                for x, y in loader:
                    features = net(x)
                    objective.add((features - y).pow(2).mean())
                    optimizer.zero_grad()
                    {applied}
                    other(x).mean().backward()
                    optimizer.step()
        """,
    }
    assert [one for one in Project(tmp_path, files).found("train.py") if "TLK203" in one] == found


EXTRACTOR = """
    import torch
    from torch import nn

    class Extractor(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Linear(3, 3)
            self.eval()

        {guard}
        def forward(self, x):
            return self.body(x)

        def rows(self, paths):
            for path in paths:
                yield path, self(torch.load(path, map_location="cpu")){given}
"""

EMBED = """
    from extractor import Extractor

    def embed(paths):
        extractor = Extractor()
        for path, row in extractor.rows(paths):
            print(path, len(row))
"""


@pytest.mark.parametrize(
    ("guard", "given", "is_told"),
    [("@torch.no_grad()", "", False), ("@torch.no_grad()", ".tolist()", False), ("", ".tolist()", True)],
)
def test_a_generator_that_runs_a_guarded_forward_needs_no_guard(
    tmp_path: Path, guard: str, given: str, is_told: bool
) -> None:
    files = {"extractor.py": EXTRACTOR.format(guard=guard, given=given), "embed.py": EMBED}
    assert any("TLK201" in one for one in Project(tmp_path, files).found()) is is_told


def test_what_prepares_images_for_weights_of_torchvision_has_none() -> None:
    text = """
import torch
from torchvision import models
weights = models.ResNet50_Weights.IMAGENET1K_V2
net, prepare = models.resnet50(weights=weights).eval(), weights.transforms()

def score(images):
    rows = [prepare(image) for image in images]
    with torch.no_grad():
        return net(torch.stack(rows)).tolist()
"""
    assert check_source(text) == []


LOCAL_MAP = """
    import torch
    from torch import nn

    def local_map(net: nn.Module, x):
        y = net(x)
        return y, torch.zeros(3)

    if __name__ == "__main__":
        y, slope = local_map(nn.Linear(3, 3), torch.randn(3))
        print(y.shape, slope.shape)
"""


def test_what_a_package_shows_at_the_end_of_a_file_is_one_of_its_callers(tmp_path: Path) -> None:
    package = {"affine/__init__.py": "", "affine/maps.py": LOCAL_MAP}
    assert Project(tmp_path / "package", package).found() == []
    assert Project(tmp_path / "script", {"maps.py": LOCAL_MAP}).found() == ["maps.py: TLK201 warning"]


def test_a_script_within_a_package_calls_its_evaluation_from_its_main_function(tmp_path: Path) -> None:
    evaluation = """
        import torch
        from torch import nn

        def evaluate(net: nn.Module, x):
            return net(x)

        def main():
            y = evaluate(nn.Linear(3, 3), torch.randn(3))
            print(y.shape)

        if __name__ == "__main__":
            main()
    """
    project = Project(tmp_path, {"affine/__init__.py": "", "affine/score.py": evaluation})
    assert project.found() == ["affine/score.py: TLK201 warning"]


GATES = """
    import torch
    from torch import nn

    class Gate(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(3, 3)
            self.latest = None

        def forward(self, x):
            gate = self.gate(x).softmax(-1)
            self.latest = gate
            return x * gate
"""

MODULE = """
    import lightning
    import torch
    from torch import nn
    from gates import Gate

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(Gate(), nn.Linear(3, 3))

        def training_step(self, batch, index):
            return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)
"""

USAGE = """
    import lightning
    from gates import Gate

    class Usage(lightning.Callback):
        def on_train_batch_end(self, trainer, module, outputs, batch, index):
            for layer in module.modules():
                if isinstance(layer, Gate):
                    module.log("gate", layer.latest.detach().max())
                    {end}
"""


@pytest.mark.parametrize(
    ("end", "found"),
    [
        ("layer.latest = None", []),
        ("del layer.latest", []),
        ("pass", ["gates.py: TLK111 note"]),
        ("self.latest = None", ["gates.py: TLK111 note"]),
        ("layer.latest = layer.latest * 1", []),
    ],
)
def test_what_a_callback_of_another_file_takes_away_from_a_layer_does_not_stay(
    tmp_path: Path, end: str, found: list[str]
) -> None:
    project = Project(tmp_path, {"gates.py": GATES, "module.py": MODULE, "usage.py": USAGE.format(end=end)})
    assert [one for one in project.found() if "TLK111" in one] == found
