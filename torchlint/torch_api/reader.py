"""The reader of ``data.json``: questions about single operations and classes of torch.

The file groups names by what they return. A key such as ``"tensor keeps"`` or ``"tuple values=keeps
indices=ends"`` is followed by all names it is true of, separated by blanks; so it stays small, and can be
read and compared by eye.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pkgutil import get_data
from typing import Any

from torchlint.symbol import Symbol


class History(Symbol):
    """What an operation does with the autograd history of its tensor inputs, grad mode on and inputs of
    float dtype.
    """

    KEEPS = "keeps"
    """The result has a graph when an input has one, even where the gradient is always zero (``round``,
    ``floor``).
    """
    ENDS = "ends"
    """The result never has a graph: ``detach``, ``argmax``, comparisons, integers, booleans,
    ``torch.tensor(t)``.
    """
    FRESH = "fresh"
    """No tensor's values go in (``zeros``, ``rand_like``, ``new_ones``); a leaf where
    ``requires_grad=True`` is given.
    """
    SELF = "self"
    """Returns its receiver, or a function its first argument, changed in place; it then has its own history
    and that of the arguments (``add_``, ``copy_``, ``torch.relu_``).
    """
    DETACHES_SELF = "detaches_self"
    """Returns its receiver, which has lost its history: ``detach_``."""
    UNKNOWN = "unknown"
    """Depends on what cannot be seen in a call, such as the function that is passed in."""


class Returns(Symbol):
    """The kind of object that an operation returns."""

    TENSOR = "tensor"
    """One tensor; where ``Operation.elements`` is not empty there is also an overload that returns a tuple.
    """
    NUMBER = "number"
    """A Python int, float, complex or bool."""
    LIST = "list"
    """A nested Python list of numbers: ``tolist``."""
    ARRAY = "array"
    """A numpy array."""
    NOTHING = "nothing"
    """None."""
    TUPLE = "tuple"
    """A tuple of tensors of known length, described by ``Operation.elements``."""
    TENSORS = "tensors"
    """A list or tuple of tensors of a length that the call does not tell: ``chunk``, ``split``, ``unbind``.
    """
    MODULE = "module"
    """A ``torch.nn.Module``."""
    OTHER = "other"
    """Anything else: str, dtype, device, Size, a hook's handle, a packed sequence."""


@dataclass(frozen=True)
class Operation:
    """What one function, method or attribute returns.

    ``elements`` holds, by position, field name (empty where torch gives none) and history of each tensor of
    a tuple. With ``Returns.TUPLE`` the result is always that tuple. With ``Returns.TENSOR`` the operation
    has two forms, and the call decides: ``t.max()`` and ``t.max(other)`` return one tensor, ``t.max(0)``
    and ``t.max(dim=0)`` a tuple, and so do ``unique(t, return_counts=True)`` and ``max_pool2d(t, 2,
    return_indices=True)``; which element follows which ``return_*`` flag is the caller's to count, in the
    order in which ``elements`` gives them. ``history`` is that of the tensor, or of the tuple as a whole:
    ``KEEPS`` where any element keeps.

    Forms not told apart: ``where(condition)`` alone and ``nonzero(as_tuple=True)`` return a tuple of integer
    tensors, ``atleast_1d(a, b)`` a tuple of tensors that keep, and ``t.type()`` without an argument a str
    (``facts/values/torch_calls.py`` tells it by the call).
    """

    returns: Returns
    history: History
    elements: tuple[tuple[str, History], ...] = ()


@dataclass(frozen=True)
class TorchClass:
    """What a class of torch is for.

    ``kind`` is one of ``module``, ``loss`` (a module that computes a loss), ``optimizer``, ``scheduler``,
    ``scaler``, ``loader``, ``dataset``, ``parameter`` or ``other``. ``has_parameters`` says whether an
    instance made with default options owns parameters of its own. ``wraps`` says that it also has those of
    the modules that it is given (``Sequential``, ``DataParallel``): whether it trains anything then depends
    on these. ``parameters`` names all that such an instance owns (``weight``, ``bias``), where these are
    attributes of its own and not more for more layers; it is empty for all others.
    """

    kind: str
    has_parameters: bool
    wraps: bool = False
    parameters: tuple[str, ...] = ()


def function(qualified: str) -> Operation | None:
    """Say what a function of torch returns.

    Takes its full dotted name, such as ``"torch.nn.functional.relu"``, or ``"torch.Tensor.add"`` for a
    method written as a function; private homes of a public function (``torch._C._nn.gelu``) are understood.
    Returns None for a name that is not known. Raises nothing. Source: torch's stubs and
    ``derivatives.yaml``, see ``scripts/generate_torch_api.py``.
    """
    home, _, name = qualified.rpartition(".")
    if home in _TENSOR_HOMES:
        return method(name)
    table = _functions()
    return table.get(qualified) or table.get(f"{_PUBLIC_HOMES.get(home, home)}.{name}")


def method(name: str) -> Operation | None:
    """Say what a method of ``torch.Tensor`` returns.

    Takes the bare name (``"item"``, ``"add_"``, ``"__getitem__"``); returns None for a name that is not
    known. Raises nothing. Source: ``torch/_C/__init__.pyi``, ``torch/_tensor.py`` and ``derivatives.yaml``.
    """
    return _methods().get(name)


def attribute(name: str) -> Operation | None:
    """Say what an attribute of ``torch.Tensor`` that is not a method holds.

    Takes the bare name (``"data"``, ``"grad"``, ``"T"``, ``"shape"``); returns None for a name that is not
    known. Raises nothing. Source: ``torch/_C/__init__.pyi`` and ``torchlint/torch_api/table.py``.
    """
    return _attributes().get(name)


def torch_class(qualified: str) -> TorchClass | None:
    """Say what a class of torch is for.

    Takes a full dotted name under which torch has it (``"torch.nn.Linear"``,
    ``"torch.nn.modules.linear.Linear"``); returns None for a name that is not known. Raises nothing.
    Source: the classes' own bases, and their parameters when made once by
    ``scripts/generate_torch_api.py``.
    """
    return _classes().get(qualified)


@cache
def module_methods() -> frozenset[str]:
    """Return the names of the public methods of ``torch.nn.Module``, such as ``eval`` and ``state_dict``.

    Takes nothing, raises nothing. Source: the class itself.
    """
    return frozenset(str(_data()["module_methods"]).split())


def torch_version() -> str:
    """Return the version of torch that the data was made from, such as ``"2.13.0"``. Takes nothing, raises
    nothing.
    """
    return str(_data()["torch"])


_TENSOR_HOMES = frozenset({"torch.Tensor", "torch.Tensor.Tensor", "torch._tensor.Tensor", "torch._C.TensorBase"})

_PUBLIC_HOMES = {
    "torch._C._VariableFunctions": "torch",
    "torch._VF": "torch",
    "torch.functional": "torch",
    "torch._C._nn": "torch.nn.functional",
    "torch.autograd.variable": "torch.autograd",
    "torch.nn.utils.clip_grad": "torch.nn.utils",
    "torch.nn.utils.convert_parameters": "torch.nn.utils",
}


@cache
def _data() -> dict[str, Any]:
    text = get_data("torchlint.torch_api", "data.json")
    if text is None:
        raise FileNotFoundError("torchlint/torch_api/data.json")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def _functions() -> dict[str, Operation]:
    return {
        f"{home}.{name}": operation
        for home, groups in _data()["functions"].items()
        for name, operation in _expanded(groups).items()
    }


@cache
def _methods() -> dict[str, Operation]:
    return _expanded(_data()["methods"])


@cache
def _attributes() -> dict[str, Operation]:
    return _expanded(_data()["attributes"])


@cache
def _classes() -> dict[str, TorchClass]:
    return {
        f"{home}.{name}": torch_class
        for home, groups in _data()["classes"].items()
        for key, names in groups.items()
        for torch_class in (_class_from(key),)
        for name in names.split()
    }


def _expanded(groups: dict[str, str]) -> dict[str, Operation]:
    return {
        name: operation for key, names in groups.items() for operation in (_operation(key),) for name in names.split()
    }


def _operation(key: str) -> Operation:
    returns, *rest = key.split()
    elements = tuple(
        (field, History(history)) for field, _, history in (part.partition("=") for part in rest if "=" in part)
    )
    plain = [part for part in rest if "=" not in part]
    if plain:
        history = History(plain[0])
    else:
        history = _together(tuple(history for _, history in elements))
    return Operation(Returns(returns), history, elements)


def _together(histories: tuple[History, ...]) -> History:
    return next((history for history in (History.KEEPS, History.UNKNOWN) if history in histories), History.ENDS)


def _class_from(key: str) -> TorchClass:
    kind, *marks = key.split()
    given = dict(mark.partition("=")[::2] for mark in marks)
    return TorchClass(
        kind, "parameters" in given, "wraps" in given, tuple(filter(None, given.get("parameters", "").split(",")))
    )
