"""What torch's own functions, tensor methods and classes return.

Answers come from a data file that ``scripts/generate_torch_api.py`` makes from torch's own type stubs,
annotations and ``derivatives.yaml``; torch itself is never imported here.
"""

from torchlint.torch_api.reader import (
    History,
    Operation,
    Returns,
    TorchClass,
    attribute,
    function,
    method,
    module_methods,
    torch_class,
    torch_version,
)

__all__ = [
    "History",
    "Operation",
    "Returns",
    "TorchClass",
    "attribute",
    "function",
    "method",
    "module_methods",
    "torch_class",
    "torch_version",
]
