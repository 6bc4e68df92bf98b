"""Write ``torchlint/torch_api/data.json`` from the installed torch; with ``--check`` only compare.

What an operation returns is read from torch's stubs (``torch/_C/*.pyi``, ``torch/return_types.pyi``,
``torch/nn/functional.pyi``), from the annotations of its Python functions and from the schemas in
torchgen's ``native_functions.yaml``. Whether it keeps the history of its inputs is read from torchgen's
``derivatives.yaml``; an operation that has no formula there, because it is composed of others, is called
once on tensors that require grad. What neither tells stands in ``torchlint/torch_api/table.py``, which has
the last word.

Needs torch and PyYAML. Same torch, same bytes.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.torch_sources import (  # noqa: E402
    NATIVE,
    TORCH,
    annotated,
    annotations_of,
    field_names,
    formulas_keep,
    native_annotations,
    observed,
    shape_of,
    takes_tensor,
)
from torchlint.torch_api.table import CLASS_ARGUMENTS, TABLE, WRAPPERS  # noqa: E402

DATA = ROOT / "torchlint" / "torch_api" / "data.json"

NAMESPACES: dict[str, str | None] = {
    "torch": "",
    "torch.nn.functional": "",
    "torch.linalg": "linalg_",
    "torch.special": "special_",
    "torch.fft": "fft_",
    "torch.sparse": "sparse_",
    "torch.masked": None,
    "torch.signal.windows": None,
    "torch.nested": None,
    "torch.nn.init": None,
    "torch.nn.utils": None,
    "torch.nn.utils.rnn": None,
    "torch.autograd": None,
    "torch.autograd.functional": None,
    "torch.cuda": None,
    "torch.distributed": None,
}
"""Where functions are read from, with what torch puts before their names in its yaml files; None: written
in Python.
"""

BACKENDS = ("cudnn_", "miopen_", "mkldnn_", "fbgemm_", "quantized_", "q_")
"""Operations of single backends, and of quantized tensors, which nobody calls by these names."""

FOR_TORCH_ITSELF = frozenset(
    {
        "assert_int_or_pair",
        "boolean_dispatch",
        "bind",
        "copy_method_params",
        "invert_permutation",
        "get_file_path",
    }
)
"""Helpers of torch's own modules that stand in public namespaces without an underscore."""

CLASS_HOMES = (
    "torch", "torch.nn", "torch.nn.modules", "torch.nn.parameter", "torch.nn.parallel", "torch.optim",
    "torch.optim.lr_scheduler", "torch.optim.swa_utils", "torch.amp", "torch.cuda.amp", "torch.cpu.amp",
    "torch.utils.data", "torch.utils.data.distributed", "torch.distributed.fsdp",
)  # fmt: skip


# --- together: the key of one operation -----------------------------------------------------------


def histories(name: str, native_name: str, call: Callable[..., Any], width: int) -> list[str] | None:
    """Return the history of each of ``width`` outputs, None where nothing tells it."""
    if name in IN_PLACE or (name.endswith("_") and not name.endswith("__")):
        return ["self"] * width
    if name.endswith("_like") or name.startswith("new_") or (NATIVE[native_name] and not takes_tensor(native_name)):
        return ["fresh"] * width
    kept = formulas_keep(native_name, width) if native_name in NATIVE else None
    if kept is None:
        kept = observed(call, width)
    return None if kept is None else ["keeps" if keep else "ends" for keep in kept]


PURE_MODULES = ("torch.functional", "torch.nn.functional", "torch._tensor")
"""Modules whose functions may be called to see what they do: nothing in them changes torch's own state."""

OPERATORS = "add sub mul truediv div floordiv mod pow and or xor lshift rshift matmul"
IN_PLACE = frozenset(f"__i{name}__" for name in OPERATORS.split())


def key_of(name: str, native_name: str, annotations: list[str], call: Callable[..., Any]) -> str | None:
    """Return the key under which ``data.json`` files an operation, None where it cannot be told."""
    shapes = {shape_of(annotation) for annotation in annotations or native_annotations(native_name)}
    kinds = {kind for kind, _ in shapes}
    tuples = sorted(fields for kind, fields in shapes if kind == "tuple")
    if not shapes:
        safe = native_name in NATIVE or call.__module__ in PURE_MODULES
        seen = observed(call, 0) if safe else None
        if seen is None or len(seen) != 1:
            return None
        return f"tensor {(histories(name, native_name, call, 1) or ['unknown'])[0]}"
    if not kinds & {"tensor", "tuple", "tensors"}:
        return f"{kinds.pop() if len(kinds) == 1 else 'other'} ends"
    words: list[str] = []
    for kind in ("tensor", "tensors"):
        if kind in kinds and not words:
            single = histories(name, native_name, call, 1)
            if single is None and kind == "tensors":
                seen = observed(call, 0)
                single = None if seen is None else ["keeps" if any(seen) else "ends"]
            if single is None:
                return None
            words = [kind, *single]
    for fields in tuples[:1]:
        parts = histories(name, native_name, call, len(fields))
        if parts is None:
            return None
        names = fields if any(fields) else field_names(native_name, len(fields))
        described = [f"{field}={history}" for field, history in zip(names, parts, strict=True)]
        words = [*(words or ["tuple"]), *described]
    return " ".join(words)


def functions(unknown: list[str]) -> dict[str, dict[str, str]]:
    """Return the key of each function by namespace and name; names that cannot be told are added to
    ``unknown``.
    """
    stubs = annotations_of(TORCH / "_C" / "_VariableFunctions.pyi")
    by_namespace = {"torch": stubs, "torch.nn.functional": annotations_of(TORCH / "_C" / "_nn.pyi")}
    found: dict[str, dict[str, str]] = {}
    for namespace, prefix in NAMESPACES.items():
        module = importlib.import_module(namespace)
        found[namespace] = {}
        for name in sorted(vars(module)):
            call = getattr(module, name)
            if name.startswith(("_", *BACKENDS)) or isinstance(call, type) or not callable(call):
                continue
            if not at_home(call, namespace):
                continue
            known = by_namespace.get(namespace, {}).get(name) or annotated(call)
            if not known and namespace == "torch.nn.functional":
                known = stubs.get(name, [])
            key = key_of(name, "" if prefix is None else prefix + name, known, call)
            if key is None:
                unknown.append(f"{namespace}.{name}")
            else:
                found[namespace][name] = key
    return found


def at_home(call: Callable[..., Any], namespace: str) -> bool:
    """Say whether a name of a module is torch's and meant for its users, not imported there for its own
    use.
    """
    home = getattr(call, "__module__", None) or namespace
    private = home == "torch.overrides" or getattr(call, "__name__", "") in FOR_TORCH_ITSELF
    return home.startswith("torch") and not private


def methods(unknown: list[str]) -> dict[str, str]:
    """Return the key of each method of ``torch.Tensor``; names that cannot be told are added to
    ``unknown``.
    """
    stubs = annotations_of(TORCH / "_C" / "__init__.pyi", "TensorBase")
    stubs.update(annotations_of(TORCH / "_tensor.py", "Tensor"))
    found = {}
    for name in sorted(set(dir(torch.Tensor)) - set(dir(object)) | {"__eq__", "__ne__", "__lt__", "__le__", "__gt__"}):
        call = getattr(torch.Tensor, name)
        if not callable(call) or name.startswith(BACKENDS) or (name.startswith("_") and not name.startswith("__")):
            continue
        key = key_of(name, name, stubs.get(name, []), call)
        if key is None:
            unknown.append(f"torch.Tensor.{name}")
        else:
            found[name] = key
    return found


def attributes() -> dict[str, str]:
    """Return the key of each public attribute of ``torch.Tensor`` that the stubs declare."""
    tree = ast.parse((TORCH / "_C" / "__init__.pyi").read_text(encoding="utf-8"))
    base = next(item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == "TensorBase")
    return {
        item.target.id: f"{shape_of(ast.unparse(item.annotation))[0]} ends"
        for item in base.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id[0] != "_"
    }


# --- classes --------------------------------------------------------------------------------------


def kind_of(cls: type) -> str:
    """Return what a class is for, from its bases."""
    bases: tuple[tuple[type, str], ...] = (
        (torch.nn.modules.loss._Loss, "loss"),
        (torch.nn.Module, "loss" if cls.__name__.endswith("Loss") else "module"),
        (torch.optim.Optimizer, "optimizer"),
        (torch.optim.lr_scheduler.LRScheduler, "scheduler"),
        (torch.amp.GradScaler, "scaler"),
        (torch.utils.data.DataLoader, "loader"),
        (torch.utils.data.Dataset, "dataset"),
        (torch.nn.Parameter, "parameter"),
    )
    return next((kind for base, kind in bases if issubclass(cls, base)), "other")


def mark_of(cls: type) -> str:
    """Return a class's key in ``data.json``: its kind, and what its instances own."""
    kind = kind_of(cls)
    if kind not in ("module", "loss"):
        return kind
    if cls.__name__ in WRAPPERS:
        return f"{kind} wraps"
    names = [name for name, _ in made(cls).named_parameters()]
    if not names:
        return kind
    fixed = not any("." in name or name[-1].isdigit() for name in names)  # not of parts, nor one for each layer
    return f"{kind} parameters" + (f"={','.join(names)}" if fixed else "")


def made(cls: type) -> torch.nn.Module:
    """Make a module with the arguments that the table names, or with 4 for each argument that has no
    default.
    """
    arguments = CLASS_ARGUMENTS.get(cls.__name__)
    if arguments is None:
        required = [
            parameter
            for parameter in inspect.signature(cls).parameters.values()
            if parameter.default is parameter.empty and parameter.kind in (0, 1)
        ]
        arguments = f"({'4, ' * len(required)})"
    module: torch.nn.Module = cls(*eval(arguments, {"nn": torch.nn}))
    return module


def classes() -> dict[str, dict[str, str]]:
    """Return the key of each class by the modules that it can be imported from."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for home in CLASS_HOMES:
        module = importlib.import_module(home)
        for name, cls in sorted(vars(module).items()):
            if name.startswith("_") or not isinstance(cls, type) or not cls.__module__.startswith("torch"):
                continue
            if home == "torch" and kind_of(cls) == "other":
                continue
            found[home][name] = found[cls.__module__][cls.__name__] = mark_of(cls)
    return found


# --- the file -------------------------------------------------------------------------------------


def grouped(keys: dict[str, str]) -> dict[str, str]:
    """Return the names of each key, sorted, in one string."""
    names: dict[str, list[str]] = defaultdict(list)
    for name, key in sorted(keys.items()):
        names[key].append(name)
    return {key: " ".join(names[key]) for key in sorted(names)}


def generated(unknown: list[str]) -> str:
    """Return the text of ``data.json``; names that nothing tells are added to ``unknown``."""
    homes = {**functions(unknown), "torch.Tensor": methods(unknown), "attributes": attributes()}
    for entry in TABLE:
        homes.setdefault(entry.home, {}).update(dict.fromkeys(entry.names.split(), entry.key))
    data = {
        "torch": torch.__version__.split("+")[0],
        "methods": grouped(homes.pop("torch.Tensor")),
        "attributes": grouped(homes.pop("attributes")),
        "functions": {home: grouped(keys) for home, keys in sorted(homes.items())},
        "classes": {home: grouped(keys) for home, keys in sorted(classes().items())},
        "module_methods": " ".join(
            name for name in sorted(dir(torch.nn.Module)) if name[0] != "_" and callable(getattr(torch.nn.Module, name))
        ),
    }
    listed = {f"{entry.home}.{name}" for entry in TABLE for name in entry.names.split()}
    unknown[:] = sorted(set(unknown) - listed)
    return json.dumps(data, indent=1, ensure_ascii=True) + "\n"


def main() -> int:
    """Write the file, or with ``--check`` say whether it is up to date. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="exit 1 when the file differs, and write nothing")
    parser.add_argument("--unknown", action="store_true", help="list the names that nothing tells")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    unknown: list[str] = []
    text = generated(unknown)
    if options.unknown:
        print("\n".join(unknown))
    if options.check:
        return 0 if DATA.exists() and DATA.read_text(encoding="utf-8") == text else 1
    DATA.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
