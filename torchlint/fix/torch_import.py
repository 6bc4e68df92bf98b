"""Where ``import torch`` goes in a file that a repair makes say ``torch``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import libcst as cst

from torchlint.diagnostic import Replacement
from torchlint.syntax.positions import line_starts, locate
from torchlint.syntax.tree import dotted

__all__ = ["import_torch_replacement"]


def import_torch_replacement(module: cst.Module) -> Replacement | None:
    """The insertion of ``import torch`` on its own line into the text of ``module``.

    It goes directly before the first import of torch (``from torch import nn``); without one, before the
    first import after the docstring and the ``__future__`` imports, or directly behind those.

    Returns:
        the insertion, or None when the file binds the name ``torch`` at its top level already.
    """
    if any(_binds_torch(small) for line in _lines(module.body) for small in line.body):
        return None
    newline = module.default_newline
    before = _statement_to_precede(module)
    anchors = _leading(module.body)
    wanted: list[cst.CSTNode] = [node for node in (before, *anchors[-1:]) if node is not None]
    located = locate(module, wanted or list(module.body[:1]))
    if before is not None:
        line = located.spans[before].line
        start = line_starts(located.code)[line - 1]
        return Replacement(start, start, "".join(located.indents[before]) + "import torch" + newline)
    if anchors:
        end = located.whole[anchors[-1]].end
    else:
        end = located.whole[module.body[0]].start if module.body else len(located.code)
    ends_open = end > 0 and not located.code[:end].endswith(("\n", "\r"))
    return Replacement(end, end, f"{newline}import torch" if ends_open else f"import torch{newline}")


def _statement_to_precede(module: cst.Module) -> cst.SimpleStatementLine | None:
    """The line that ``import torch`` goes before, if there is one."""
    later = module.body[len(_leading(module.body)) :]
    for line in _lines(later):
        if any(_imports_torch(small) for small in line.body):
            return line
    first = later[0] if later else None
    if isinstance(first, cst.SimpleStatementLine) and isinstance(first.body[0], cst.Import | cst.ImportFrom):
        return first
    return None


def _leading(body: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """The docstring and the ``__future__`` imports, which nothing may precede."""
    count = 0
    for index, statement in enumerate(body):
        if not isinstance(statement, cst.SimpleStatementLine):
            break
        docstring = index == 0 and _is_text(statement.body[0])
        if docstring or any(_is_future(small) for small in statement.body):
            count = index + 1
        else:
            break
    return list(body[:count])


def _is_text(small: cst.BaseSmallStatement) -> bool:
    return isinstance(small, cst.Expr) and isinstance(small.value, cst.SimpleString | cst.ConcatenatedString)


def _is_future(small: cst.BaseSmallStatement) -> bool:
    return isinstance(small, cst.ImportFrom) and dotted(small.module) == "__future__" and not small.relative


def _lines(body: Sequence[cst.CSTNode]) -> Iterator[cst.SimpleStatementLine]:
    """The lines of simple statements that run on import of the module, those under ``try`` and ``if`` too."""
    for statement in body:
        if isinstance(statement, cst.SimpleStatementLine):
            yield statement
        elif isinstance(statement, cst.Try | cst.If) and not _is_for_types(statement):
            yield from _lines(statement.body.body)


def _is_for_types(statement: cst.Try | cst.If) -> bool:
    """``if TYPE_CHECKING:`` and ``if typing.TYPE_CHECKING:`` never run."""
    return isinstance(statement, cst.If) and (dotted(statement.test) or "").endswith("TYPE_CHECKING")


def _binds_torch(small: cst.CSTNode) -> bool:
    """``import torch``, ``import torch.nn`` and ``import torch as torch`` bind the name ``torch``."""
    if not isinstance(small, cst.Import):
        return False
    for alias in small.names:
        bound = dotted(alias.asname.name) if alias.asname else (dotted(alias.name) or "").partition(".")[0]
        if bound == "torch" and (not alias.asname or dotted(alias.name) == "torch"):
            return True
    return False


def _imports_torch(small: cst.BaseSmallStatement) -> bool:
    """``import torch.nn as nn`` and ``from torch.nn import Linear``."""
    if isinstance(small, cst.ImportFrom):
        modules = [] if small.relative else [dotted(small.module)]
    elif isinstance(small, cst.Import):
        modules = [dotted(alias.name) for alias in small.names]
    else:
        modules = []
    return any((name or "").partition(".")[0] == "torch" for name in chain(modules))
