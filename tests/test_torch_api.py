"""What the linter believes of torch, against torch itself.

Every operation that can be called here is called once or more with grad mode on, on tensors that have a
history; what comes back must be of the kind, and have a graph or none, as ``torchlint.torch_api`` says. The
calls are written as a user writes them: ``tests/torch_api_samples.py`` holds those that need particular
arguments, all others are made from the few general forms below.
"""

from __future__ import annotations

import ast
import inspect
import io
import subprocess
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from torch_api_samples import SAMPLES, UNCHECKED

from torchlint.torch_api import (
    History,
    Operation,
    Returns,
    attribute,
    function,
    method,
    module_methods,
    reader,
    torch_class,
    torch_version,
)
from torchlint.torch_api.table import CLASS_ARGUMENTS, TABLE

torch = pytest.importorskip("torch")

METHOD_FORMS = (
    "x.{}()", "x.{}(y)", "x.{}(0)", "x.{}(0, 1)", "x.{}(y, y)", "x.{}(0, i, y)", "x.{}(0, i)",
    "x.{}(2, 0)", "x.{}((2, 8))", "x.{}(mask, y)", "x.{}(mask, 1.0)", "v.{}(v)", "x.{}(v, v)", "x.{}(v)",
    "x.{}(0, i, 1.0)", "batch.{}(batch)", "x.{}(batch, batch)", "batch.{}(batch, batch)", "x.{}(2)",
    "integers.{}(integers)",
)  # fmt: skip
FUNCTION_FORMS = (
    "{}(x)", "{}(x, y)", "{}(x, 0)", "{}(x, 0, 1)", "{}(x, y, y)", "{}(x, 0, i)", "{}(x, 0, i, y)",
    "{}(x, 2, 0)", "{}((x, y))", "{}(x, (2, 8))", "{}(x, mask, y)", "{}(x, mask, 1.0)", "{}(v, v)",
    "{}(x, v, v)", "{}(x, v)", "{}(batch, batch)", "{}(x, batch, batch)", "{}(x, i, 1.0)", "{}(x, 2)",
    "{}(image)", "{}(image, 2)", "{}(4)", "{}((2, 2))", "{}(2, 2)", "{}(v, i)", "{}(x, i)",
    "{}(volume, 2)", "{}(signal, 2)",
)  # fmt: skip
TENSORS = (Returns.TENSOR, Returns.TUPLE, Returns.TENSORS)


@cache
def saved() -> bytes:
    """Return a tensor as ``torch.save`` writes it."""
    buffer = io.BytesIO()
    torch.save(torch.zeros(2), buffer)
    return buffer.getvalue()


@cache
def surroundings() -> dict[str, Callable[[], Any]]:
    """Return how to make each name that a sample may use."""

    def live(*shape: int) -> Any:
        return torch.rand(*shape, requires_grad=True) * 1.0

    return {
        "torch": lambda: torch,
        "F": lambda: torch.nn.functional,
        "nn": lambda: torch.nn,
        "io": lambda: io,
        "saved": saved,
        "x": lambda: live(4, 4),
        "y": lambda: live(4, 4),
        "v": lambda: live(4),
        "batch": lambda: live(1, 4, 4),
        "signal": lambda: live(1, 4, 8),
        "image": lambda: live(1, 4, 4, 4),
        "volume": lambda: live(1, 4, 4, 4, 4),
        "kernel": lambda: live(4, 4, 3, 3),
        "doubles": lambda: live(4, 4).double(),
        "spd": lambda: torch.diag_embed(live(4)) + torch.eye(4),
        "c": lambda: torch.complex(live(4, 4), live(4, 4)),
        "sparse": lambda: live(4, 4).to_sparse(),
        "leaf": lambda: torch.rand(4, 4, requires_grad=True),
        "weight": lambda: torch.rand(4, 4, 3, requires_grad=True),
        "plain": lambda: torch.rand(4, 4),
        "i": lambda: torch.tensor([0, 1, 2, 3]),
        "integers": lambda: torch.tensor([[0, 1], [1, 0]]),
        "mask": lambda: torch.eye(4) > 0,
    }


@cache
def operations() -> dict[str, Operation]:
    """Return all that the data knows, methods as ``torch.Tensor.NAME``."""
    methods = {f"torch.Tensor.{name}": operation for name, operation in reader._methods().items()}
    return {**reader._functions(), **methods}


def operation_of(sample: str) -> str:
    """Return the full name of the operation that a sample's outermost call is a call of."""
    call = ast.parse(sample, mode="eval").body
    assert isinstance(call, ast.Call), sample
    path = ast.unparse(call.func)
    if path.startswith(("torch.", "F.")) and path.replace(".", "").isidentifier():
        return path.replace("F.", "torch.nn.functional.", 1) if path.startswith("F.") else path
    return f"torch.Tensor.{path.rpartition('.')[2]}"


@cache
def samples() -> dict[str, tuple[str, ...]]:
    """Return the samples of each operation that has its own."""
    found: dict[str, list[str]] = defaultdict(list)
    for sample in SAMPLES:
        found[operation_of(sample)].append(sample)
    return {name: tuple(calls) for name, calls in found.items()}


def general_forms(name: str) -> tuple[str, ...]:
    """Return the general calls of an operation that returns tensors, or of a method that takes nothing."""
    home, _, last = name.rpartition(".")
    if home == "torch.Tensor":
        return tuple(form.format(last) for form in METHOD_FORMS)
    return tuple(form.format(name) for form in FUNCTION_FORMS) if operations()[name].returns in TENSORS else ()


def called(sample: str) -> tuple[Any, Any]:
    """Run a sample. Return its result, and the tensor that an operation in place would change."""
    call = ast.parse(sample, mode="eval").body
    assert isinstance(call, ast.Call)
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    torch.manual_seed(0)
    names = {name: make() for name, make in surroundings().items() if name in used}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(sample, names)
    is_method = operation_of(sample).startswith("torch.Tensor.") and isinstance(call.func, ast.Attribute)
    subject = call.func.value if is_method else call.args[0] if call.args else None
    listed = list(result) if isinstance(result, Iterator) else result
    return listed, names.get(subject.id) if isinstance(subject, ast.Name) else None


def first_that_runs(name: str) -> str | None:
    """Return the first general form that torch accepts for an operation."""
    for form in general_forms(name):
        try:
            result, _ = called(form)
        except Exception:
            continue
        if result is not NotImplemented:
            return form
    return None


def problem(operation: Operation, result: Any, subject: Any) -> str | None:
    """Say in what a result differs from what the data says, None where it does not."""
    several = isinstance(result, (tuple, list))
    tensors = list(result) if several else [result]
    as_tuple = operation.returns is Returns.TUPLE or (operation.returns is Returns.TENSOR and several)
    if operation.history is History.UNKNOWN:
        return None
    if not of_kind(operation, result):
        return f"returns {type(result).__name__}, not {operation.returns.value}"
    if operation.returns not in TENSORS:
        return None
    if as_tuple and operation.elements:
        expected = [history for _, history in operation.elements]
        fields = [field for field, _ in operation.elements]
        if any(fields) and hasattr(result, "n_fields") and not all(hasattr(result, field) for field in fields):
            return f"has other fields than {fields}"
    else:
        expected = [operation.history] * len(tensors)
    for position, (tensor, history) in enumerate(zip(tensors, expected, strict=False)):
        if not isinstance(tensor, torch.Tensor):
            continue
        if history in (History.SELF, History.DETACHES_SELF):
            if tensor is not subject:
                return "does not return what it changed"
            if history is History.DETACHES_SELF and tensor.requires_grad:
                return "did not detach"
        elif history is not History.UNKNOWN and tensor.requires_grad != (history is History.KEEPS):
            return f"output {position}: requires_grad is {tensor.requires_grad}, the data says {history.value}"
    return None


def of_kind(operation: Operation, result: Any) -> bool:
    """Say whether a result is of the kind that the data says."""
    several = isinstance(result, (tuple, list)) and all(isinstance(item, torch.Tensor | None) for item in result)
    kinds = {
        Returns.TENSOR: isinstance(result, torch.Tensor) or (several and bool(operation.elements)),
        Returns.TUPLE: several and len(result) == len(operation.elements) if several else False,
        Returns.TENSORS: several,
        Returns.NUMBER: isinstance(result, (bool, int, float, complex)),
        Returns.LIST: isinstance(result, list),
        Returns.NOTHING: result is None,
        Returns.MODULE: isinstance(result, torch.nn.Module),
        Returns.OTHER: not isinstance(result, torch.Tensor),
    }
    return kinds.get(operation.returns, True)


CALLABLE = sorted(name for name in operations() if (name in samples() or general_forms(name)) and name not in UNCHECKED)
LISTED = sorted(f"{entry.home}.{name}" for entry in TABLE if entry.home != "attributes" for name in entry.names.split())


@pytest.mark.parametrize("name", CALLABLE)
def test_an_operation_does_what_the_data_says(name: str) -> None:
    general = first_that_runs(name)
    calls = samples().get(name) or ((general,) if general else ())
    assert calls, "torch accepts no general form: write a sample"
    for sample in calls:
        result, subject = called(sample)
        assert problem(operations()[name], result, subject) is None, sample


@pytest.mark.parametrize("name", LISTED)
def test_an_entry_of_the_hand_written_table_is_called(name: str) -> None:
    assert name in CALLABLE or name in UNCHECKED


def test_most_of_what_returns_tensors_is_called() -> None:
    of_tensors = {name for name, operation in operations().items() if operation.returns in TENSORS}
    assert of_tensors - set(CALLABLE) == set(UNCHECKED) & of_tensors


@pytest.mark.parametrize("name", sorted(reader._attributes()))
def test_an_attribute_holds_what_the_data_says(name: str) -> None:
    operation = attribute(name)
    assert operation is not None
    holder = surroundings()[{"imag": "c", "grad": "leaf", "grad_dtype": "leaf"}.get(name, "x")]()
    if name == "grad":
        holder.sum().backward()
    held = getattr(holder, name)
    assert problem(operation, held, None) is None


@pytest.mark.parametrize(
    ("name", "history"),
    [
        ("round", History.KEEPS),
        ("floor", History.KEEPS),
        ("sign", History.KEEPS),
        ("bernoulli", History.KEEPS),
        ("float", History.KEEPS),
        ("to", History.KEEPS),
        ("type_as", History.KEEPS),
        ("add_", History.SELF),
        ("requires_grad_", History.SELF),
        ("detach_", History.DETACHES_SELF),
        ("detach", History.ENDS),
        ("long", History.ENDS),
        ("argmax", History.ENDS),
        ("multinomial", History.ENDS),
        ("new_tensor", History.ENDS),
        ("new_zeros", History.FRESH),
    ],
)
def test_methods_easily_taken_for_what_they_are_not(name: str, history: History) -> None:
    assert method(name) == Operation(Returns.TENSOR, history)


@pytest.mark.parametrize(
    ("qualified", "same"),
    [
        ("torch.Tensor.add", "torch.add"),
        ("torch.functional.einsum", "torch.einsum"),
        ("torch._C._nn.gelu", "torch.nn.functional.gelu"),
        ("torch._VF.split", "torch.split"),
        ("torch.autograd.variable.Variable", "torch.autograd.Variable"),
    ],
)
def test_a_function_is_known_by_its_other_names(qualified: str, same: str) -> None:
    assert function(qualified) == function(same) is not None


def test_what_is_not_known_is_none() -> None:
    assert function("torch.no_such_thing") is None
    assert function("os.path.join") is None
    assert method("no_such_thing") is None
    assert attribute("no_such_thing") is None
    assert torch_class("torch.nn.NoSuchThing") is None


def test_a_maximum_is_one_tensor_or_a_tuple() -> None:
    both = Operation(Returns.TENSOR, History.KEEPS, (("values", History.KEEPS), ("indices", History.ENDS)))
    assert method("max") == function("torch.max") == both
    assert method("topk") == Operation(Returns.TUPLE, History.KEEPS, both.elements)


@pytest.mark.parametrize(
    "name", sorted(name for name in vars(torch.nn) if name[0].isupper() and torch_class(f"torch.nn.{name}"))
)
def test_a_class_has_parameters_when_the_data_says_so(name: str) -> None:
    cls = getattr(torch.nn, name)
    known = torch_class(f"torch.nn.{name}")
    assert known is not None
    assert (known.kind in ("module", "loss")) == issubclass(cls, torch.nn.Module)
    if known.wraps or known.kind not in ("module", "loss"):
        return
    required = [
        parameter
        for parameter in inspect.signature(cls).parameters.values()
        if parameter.default is parameter.empty and parameter.kind.name.startswith("POSITIONAL")
    ]
    arguments = eval(CLASS_ARGUMENTS.get(name, f"({'4, ' * len(required)})"), {"nn": torch.nn})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = cls(*arguments)
    names = [parameter for parameter, _ in module.named_parameters()]
    assert known.has_parameters == bool(names)
    assert known.parameters in ((), tuple(names))


@pytest.mark.parametrize(
    ("qualified", "kind"),
    [
        ("torch.nn.Linear", "module"),
        ("torch.nn.modules.linear.Linear", "module"),
        ("torch.nn.parallel.DistributedDataParallel", "module"),
        ("torch.nn.CrossEntropyLoss", "loss"),
        ("torch.nn.Parameter", "parameter"),
        ("torch.optim.Adam", "optimizer"),
        ("torch.optim.adam.Adam", "optimizer"),
        ("torch.optim.lr_scheduler.StepLR", "scheduler"),
        ("torch.optim.lr_scheduler.ReduceLROnPlateau", "scheduler"),
        ("torch.cuda.amp.GradScaler", "scaler"),
        ("torch.amp.GradScaler", "scaler"),
        ("torch.utils.data.DataLoader", "loader"),
        ("torch.utils.data.TensorDataset", "dataset"),
    ],
)
def test_a_class_is_of_its_kind(qualified: str, kind: str) -> None:
    known = torch_class(qualified)
    assert known is not None
    assert known.kind == kind


def test_the_methods_of_modules_are_those_of_torch() -> None:
    assert {"eval", "train", "parameters", "state_dict", "zero_grad", "requires_grad_"} <= module_methods()
    assert all(callable(getattr(torch.nn.Module, name)) for name in module_methods())


def test_the_data_is_what_the_script_makes_of_this_torch() -> None:
    pytest.importorskip("yaml")
    if torch.__version__.split("+")[0] != torch_version():
        pytest.skip(f"the data was made from torch {torch_version()}, installed is {torch.__version__}")
    script = Path(__file__).parent.parent / "scripts" / "generate_torch_api.py"
    assert subprocess.run([sys.executable, str(script), "--check"], capture_output=True, check=False).returncode == 0


def test_reading_the_data_imports_no_torch() -> None:
    code = "import sys, torchlint.torch_api as a; a.function('torch.add'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent.parent, check=False).returncode == 0
