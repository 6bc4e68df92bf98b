"""What ``generate_torch_api.py`` reads torch's functions from: stubs, annotations, torchgen's YAML, and
single calls.

Needs torch and PyYAML.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
import torchgen
import yaml

from torchlint.torch_api.table import INTEGER_FIELDS

TORCH = Path(torch.__file__).parent
TORCHGEN = Path(torchgen.__file__).parent / "packaged"


# --- what a name returns: stubs, annotations, schemas ---------------------------------------------


def annotations_of(path: Path, inside: str = "") -> dict[str, list[str]]:
    """Return the return annotations of each function in a file, or of each method of its class ``inside``."""
    body: Iterable[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    if inside:
        body = [
            item
            for statement in body
            if isinstance(statement, ast.ClassDef) and statement.name == inside
            for item in statement.body
        ]
    found: dict[str, list[str]] = defaultdict(list)
    for statement in body:
        if isinstance(statement, ast.FunctionDef) and statement.returns is not None:
            found[statement.name].append(ast.unparse(statement.returns))
    return found


def named_tuples() -> dict[str, tuple[str, ...]]:
    """Return the field names of each class in ``torch/return_types.pyi``."""
    tree = ast.parse((TORCH / "return_types.pyi").read_text(encoding="utf-8"))
    return {
        statement.name: tuple(
            item.name
            for item in statement.body
            if isinstance(item, ast.FunctionDef)
            and any(isinstance(mark, ast.Name) and mark.id == "property" for mark in item.decorator_list)
        )
        for statement in tree.body
        if isinstance(statement, ast.ClassDef)
    }  # fmt: skip


RETURN_FIELDS = named_tuples()
NUMBERS = {"_bool", "_int", "_float", "_complex", "bool", "int", "float", "Number", "_int | SymInt"}
TENSORS = {"Tensor", "Self", "S", "torch.Tensor", "Tensor | None", "Tensor | Any"}
LENGTHLESS = {
    "tuple[Tensor, ...]",
    "Sequence[Tensor]",
    "list[Tensor]",
    "List[Tensor]",
    "tuple[torch.Tensor, ...]",
}


def shape_of(annotation: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a return annotation and, for a tuple, its field names (empty where it has none)."""
    text = annotation.strip("'\"").replace("Optional[Tensor]", "Tensor | None").replace("Tuple[", "tuple[")
    if text in TENSORS or (text.endswith("Tensor") and "[" not in text):
        return "tensor", ()
    if text in NUMBERS:
        return "number", ()
    if text in LENGTHLESS:
        return "tensors", ()
    if text in ("None", "NoReturn"):
        return "nothing", ()
    if text == "list":
        return "list", ()
    if text == "numpy.ndarray":
        return "array", ()
    if text.startswith("torch.return_types."):
        return "tuple", RETURN_FIELDS[text.removeprefix("torch.return_types.")]
    if text.startswith("tuple[") and all(part.strip() in TENSORS for part in text[6:-1].split(",")):
        return "tuple", ("",) * (text.count(",") + 1)
    return "other", ()


# --- whether it keeps history: native_functions.yaml and derivatives.yaml -------------------------


def loaded(path: str) -> list[dict[str, Any]]:
    """Return the entries of one of torchgen's YAML files."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries: list[dict[str, Any]] = yaml.load((TORCHGEN / path).read_text(encoding="utf-8"), Loader=loader)
    return entries


def base_name(signature: str) -> str:
    """Return ``max`` for ``max.dim(Tensor self, ...) -> ...``."""
    return signature.split("(", 1)[0].split(".", 1)[0]


NATIVE: dict[str, list[str]] = defaultdict(list)
for native in loaded("ATen/native/native_functions.yaml"):
    NATIVE[base_name(native["func"])].append(native["func"])

FORMULAS: dict[str, list[dict[str, Any]]] = defaultdict(list)
for formula in loaded("autograd/derivatives.yaml"):
    FORMULAS[base_name(formula["name"])].append(formula)


def without_derivative() -> frozenset[str]:
    """Return the operations that torchgen's own ``DONT_REQUIRE_DERIVATIVE`` names."""
    tree = ast.parse((TORCHGEN / "autograd/gen_variable_type.py").read_text(encoding="utf-8"))
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "DONT_REQUIRE_DERIVATIVE":
            return frozenset(ast.literal_eval(statement.value))
    raise LookupError("torchgen no longer has DONT_REQUIRE_DERIVATIVE")


WITHOUT_DERIVATIVE = without_derivative()


def native_outputs(signature: str) -> list[str]:
    """Return the outputs of a schema as ``Tensor values`` and the like."""
    text = signature.rsplit("->", 1)[1].strip()
    return [part.strip() for part in text.strip("()").split(",")] if text != "()" else []


def formula_keeps(entry: dict[str, Any]) -> tuple[bool, ...]:
    """Return for each output of an entry of ``derivatives.yaml`` whether it is differentiable.

    A formula that says ``grad``, not ``grads`` or ``grad_values``, differentiates the first output alone
    (torchgen/packaged/autograd/gen_variable_type.py, ``uses_single_grad``).
    """
    outputs = native_outputs(entry["name"])
    names = [output.split()[-1] for output in outputs]
    body = entry.get("dispatch", {}).get("Default", entry)
    arguments = [key for key in body if key not in ("name", "dispatch", "output_differentiability", "result", *names)]
    if not any(body[argument] != "non_differentiable" for argument in arguments):
        return (False,) * len(outputs)
    single = any(re.search(r"\bgrad\b", str(body[argument])) for argument in arguments)
    marks = entry.get("output_differentiability", [position == 0 or not single for position in range(len(outputs))])
    return tuple(
        mark is not False and output.startswith("Tensor") and body.get(name) != "non_differentiable"
        and name not in INTEGER_FIELDS
        for mark, output, name in zip(marks, outputs, names, strict=True)
    )  # fmt: skip


def takes_tensor(name: str) -> bool:
    """Say whether any schema of a native operation takes a tensor."""
    return any("Tensor" in signature.rsplit("->", 1)[0] for signature in NATIVE[name] if "(a!) out" not in signature)


def formulas_keep(name: str, width: int) -> tuple[bool, ...] | None:
    """Return what ``derivatives.yaml`` says of the overload with ``width`` outputs, None where it is
    silent.
    """
    answers = [formula_keeps(entry) for entry in FORMULAS[name]]
    fitting = [answer for answer in answers if len(answer) == width]
    if fitting:
        return tuple(any(column) for column in zip(*fitting, strict=True))
    return (False,) * width if name in WITHOUT_DERIVATIVE else None


# --- where both are silent: one call --------------------------------------------------------------


def leaf() -> torch.Tensor:
    """Return a square positive definite matrix with a history."""
    root = torch.tensor([[0.9, 0.2, 0.1, 0.3], [0.2, 0.8, 0.3, 0.1], [0.1, 0.3, 0.7, 0.2], [0.3, 0.1, 0.2, 0.6]])
    return root.requires_grad_() * 1.0


def argument_lists() -> Iterator[tuple[Any, ...]]:
    """Yield arguments to try, the commonest forms first."""
    yield from ((leaf(),), (leaf(), leaf()), (leaf(), 1), (leaf(), 0, torch.tensor([0, 1])), (leaf(), 0, 1))
    yield from ((leaf(), leaf(), leaf()), (leaf(), 2), (leaf(), (0, 1)), (leaf(), 1, 0), ([leaf(), leaf()],))
    yield from ((leaf()[0],), (leaf()[0], leaf()[0]), (leaf()[None],), (leaf(), [2, 2]))
    yield from ((leaf()[None, None],), (leaf()[None, None], 2), (leaf(), torch.float64), (leaf() * (1 + 0j),))
    yield from ((leaf() * (1 + 0j), leaf() * (1 + 0j)), (leaf(), 0, 1, 1), (leaf(), leaf(), leaf(), leaf()))


def tensors_in(result: object) -> list[torch.Tensor]:
    """Return the tensors of a result, in order."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for item in result for tensor in tensors_in(item)]
    return []


def observed(call: Callable[..., Any], width: int) -> tuple[bool, ...] | None:
    """Call an operation and say which of its ``width`` outputs have a graph (``width`` 0: any number of
    them).
    """
    for arguments in argument_lists():
        torch.manual_seed(0)
        try:
            outputs = tensors_in(call(*arguments))
        except Exception:
            continue
        if outputs and width in (0, len(outputs)):
            return tuple(output.requires_grad for output in outputs)
    return None


def native_annotations(name: str) -> list[str]:
    """Return the return types of a native operation's schemas, written as in the stubs."""
    found = []
    for signature in NATIVE[name]:
        outputs = native_outputs(signature)
        kinds = [output.split()[0].split("(")[0] for output in outputs]
        if "(a!) out" in signature or not kinds:
            continue
        if len(kinds) > 1:
            found.append(f"tuple[{', '.join(kinds)}]")
        else:
            found.append({"Tensor[]": "tuple[Tensor, ...]", "Scalar": "Number"}.get(outputs[0].split("(")[0], kinds[0]))
    return found


def field_names(name: str, width: int) -> tuple[str, ...]:
    """Return the field names of the overload of a native operation that has ``width`` named outputs."""
    for signature in NATIVE[name]:
        outputs = native_outputs(signature)
        if len(outputs) == width and all(" " in output for output in outputs):
            return tuple(output.split()[-1] for output in outputs)
    return ("",) * width


def annotated(call: Callable[..., Any]) -> list[str]:
    """Return a Python function's own return annotation, in a list, or nothing."""
    try:
        annotation = inspect.signature(call).return_annotation
    except (TypeError, ValueError):
        return []
    return [] if annotation is inspect.Signature.empty else [inspect.formatannotation(annotation)]
