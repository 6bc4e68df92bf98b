"""The cheap question "can this file hold a finding?", answered on bytes and on the standard library's ``ast``.

It is derived from what the rules declare as their triggers and may only err towards yes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchlint.frameworks import packages
from torchlint.syntax.filling_names import INSERTING, OPERATORS, PUSHING
from torchlint.syntax.imported_names import imported_names
from torchlint.syntax.python_tree import children, last_name, walk

if TYPE_CHECKING:
    from torchlint.rule import Rule

FRAMEWORKS = ("torch", "lightning", *packages())
"""Packages whose users write training code without ever saying ``torch``."""

_METHODS = (".backward(", "no_grad", "AverageMeter", ".state_dict(")
"""What only code that has to do with torch says, imported or not."""

_MODES = (".eval()", ".train(")
"""What a file says together that switches the mode of what it is given; TensorFlow's tensors have an ``eval``."""

OTHER_LIBRARIES = frozenset(
    ["mxnet", "paddle", "chainer", "mindspore", "megengine", "jittor", "oneflow", "tinygrad", "flax"]
)  # fmt: skip
"""Packages whose tensors have a ``backward`` as well, or whose modules have an ``eval``: a file that imports one, and
never says torch, is theirs."""

_OF_TENSORS = (
    ".eval()", ".detach(", ".item()", ".unsqueeze(", ".squeeze(", ".argmax(", ".softmax(", ".sigmoid(", ".cpu()",
    ".cuda(", ".load_state_dict(", ".parameters()", ".named_parameters()", ".requires_grad", ".zero_grad(",
)  # fmt: skip
"""What tensors, modules and optimizers are asked for; those of other libraries have some of it, too."""

_HOOK = re.compile(r"register_\w*hook")


@dataclass(frozen=True)
class Trigger:
    """Something a file must hold before a rule can find anything in it; all that is given must be there.

    Attributes:
        calls: one of these names is called, as a function or as a method.
        names: one of these names is mentioned at all.
        accumulates: something is updated from itself (``+=``, ``x = x + y``, an in-place method).
        inserts: something is put into a container (``append``, ``d[k] = v``, a comprehension).
        defines: a function is defined.
        constructs: something is called that is named like a class, or looked up first, or an iterator is made.
        handles: an exception is handled, or a method is defined that is told of one.
        imports: something is imported that neither Python nor torch defines, as the project may, or another file of the
            project imports this one, and may pass it something of its own.
    """

    calls: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    accumulates: bool = False
    inserts: bool = False
    defines: bool = False
    constructs: bool = False
    handles: bool = False
    imports: bool = False


@dataclass
class Profile:
    """What a file holds, as far as triggers ask."""

    calls: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    accumulates: bool = False
    inserts: bool = False
    defines: bool = False
    constructs: bool = False
    handles: bool = False
    imports: bool = False

    def meets(self, trigger: Trigger) -> bool:
        """Whether all that ``trigger`` asks for is here."""
        return (
            (not trigger.calls or not trigger.calls.isdisjoint(self.calls))
            and (not trigger.names or not trigger.names.isdisjoint(self.names))
            and (self.accumulates or not trigger.accumulates)
            and (self.inserts or not trigger.inserts)
            and (self.defines or not trigger.defines)
            and (self.constructs or not trigger.constructs)
            and (self.handles or not trigger.handles)
            and (self.imports or not trigger.imports)
        )


_INSERTING = INSERTING | {"setitem", *(name.rpartition(".")[2] for name in PUSHING)}

_COMPUTING = frozenset(["setattr", "__setattr__", "map", *(name.rpartition(".")[2] for name in OPERATORS)])
"""Functions of Python that stand for an operator or an assignment."""


def uses_torch(text: str) -> bool:
    """Whether a file uses torch or a framework on it, or calls torch's own methods."""
    # One search a word is ten times as quick as one pattern for all of them, of which none has to be there.
    if "torch" in text:
        return True
    looks_so = any(word in text for word in _METHODS)
    looks_so = looks_so or (all(word in text for word in _MODES) and "tensorflow" not in text)
    looks_so = looks_so or ("register_" in text and _HOOK.search(text) is not None)
    return (looks_so or imports_framework(text)) and not _imports_other_library(text)


def may_be_given_tensors(text: str) -> bool:
    """Whether a file that need not know of torch asks what it is given for something that tensors and modules have."""
    return any(word in text for word in _OF_TENSORS) and not _imports_other_library(text)


def _imports_other_library(text: str) -> bool:
    return any(library in text for library in OTHER_LIBRARIES) and any(
        name.partition(".")[0] in OTHER_LIBRARIES for name in imported_names(text)
    )


def imports_framework(text: str) -> bool:
    """Whether a file imports torch or a framework on it, by its looks: who imports it may use torch through it."""
    return any(name.startswith(FRAMEWORKS) for name in imported_names(text))


def profile_of(tree: ast.AST) -> Profile:
    """One walk over a file's tree."""
    profile = Profile()
    for node in walk(tree):
        note = _NOTES.get(node.__class__)
        if note is not None:
            note(profile, node)
    return profile


def _note_call(profile: Profile, node: Any) -> None:
    name = last_name(node.func)
    profile.calls.add(name)
    if name == "methodcaller" and node.args and isinstance(node.args[0], ast.Constant):
        asked = str(node.args[0].value)  # called where what that makes is called
        profile.calls.add(asked)
        profile.names.add(asked)
    # `BUILDERS[kind](parameters)` has no name, and may build anything.
    profile.constructs = profile.constructs or name[:1].isupper() or name in ("iter", "")
    profile.inserts = profile.inserts or name in _INSERTING
    is_in_place = name.endswith("_") and not name.endswith("__")
    profile.accumulates = profile.accumulates or is_in_place or name in _COMPUTING


def _note_attribute(profile: Profile, node: Any) -> None:
    profile.names.add(node.attr)
    # `put = kept.append` inserts when `put` is called.
    profile.inserts = profile.inserts or node.attr in _INSERTING


def _note_alias(profile: Profile, node: Any) -> None:
    name: str = node.name.rpartition(".")[2]
    profile.names.add(name)
    # `import Linear as dense` hides the class behind another name.
    profile.constructs = profile.constructs or (node.asname is not None and name[:1].isupper())


def _note_import(profile: Profile, node: Any) -> None:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    is_relative = isinstance(node, ast.ImportFrom) and node.level > 0
    profile.imports = profile.imports or is_relative or any(map(_may_be_of_project, modules))


def _may_be_of_project(module: str) -> bool:
    first = module.partition(".")[0]
    return first not in sys.stdlib_module_names and first not in ("torch", "torchvision", "torchaudio", "numpy")


def _note_assignment(profile: Profile, node: Any) -> None:
    profile.accumulates = profile.accumulates or _computes(node.value)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    profile.inserts = profile.inserts or _adds_to_list(node.value) or any(map(_has_item, targets))


def _has_item(target: ast.expr) -> bool:
    """Whether an item is assigned: ``d[k] = x``, ``a[i], b[i] = x, y``."""
    parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return any(isinstance(part, ast.Subscript) for part in parts)


def _adds_to_list(value: ast.expr | None) -> bool:
    """``kept + [x]``, ``[*kept, x]``"""
    if isinstance(value, ast.BinOp):
        return isinstance(value.right, ast.List | ast.Tuple)
    return isinstance(value, ast.List | ast.Tuple) and any(isinstance(part, ast.Starred) for part in value.elts)


def _computes(value: ast.expr | None) -> bool:
    """Whether anything is computed in a value; a sum may stand anywhere in it: in a tuple, under a condition."""
    pending: list[Any] = [value]
    while pending:
        node = pending.pop()
        kind = node.__class__
        if kind in _DISPLAYS:
            pending += children(node)
        elif kind not in _READ and not (kind is ast.UnaryOp and isinstance(node.operand, ast.Constant)):
            return True
    return False


_DISPLAYS = frozenset([ast.List, ast.Tuple, ast.Set, ast.Dict])
_READ = frozenset([ast.Constant, ast.Name, ast.Attribute, type(None)])


def _note_update(profile: Profile, node: Any) -> None:
    profile.accumulates = profile.inserts = True


def _note_items(profile: Profile, node: Any) -> None:
    profile.inserts = True


def _note_function(profile: Profile, node: Any) -> None:
    profile.defines = True
    profile.handles |= node.name == "__exit__"  # which is told of what fails


def _note_handler(profile: Profile, node: Any) -> None:
    profile.handles = True


_NOTES: dict[type[ast.AST], Callable[[Profile, Any], None]] = {
    ast.Call: _note_call,
    ast.Attribute: _note_attribute,
    ast.Name: lambda profile, node: profile.names.add(node.id),
    ast.alias: _note_alias,
    **dict.fromkeys([ast.Import, ast.ImportFrom], _note_import),
    ast.Assign: _note_assignment,
    ast.AnnAssign: _note_assignment,
    ast.AugAssign: _note_update,
    ast.NamedExpr: _note_update,
    **dict.fromkeys([ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield], _note_items),
    **dict.fromkeys([ast.FunctionDef, ast.AsyncFunctionDef], _note_function),
    ast.ExceptHandler: _note_handler,
}
"""What each kind of node adds to a profile."""


def passing(tree: ast.AST, rules: Iterable[Rule], *, is_imported: Callable[[], bool] = lambda: False) -> Sequence[Rule]:
    """The rules that can find something in a file.

    Args:
        tree: the file's.
        rules: those to choose from.
        is_imported: whether another file of the run imports the file; asked where the file itself does not say enough.
    """
    profile = profile_of(tree)
    profile.imports = profile.imports or is_imported()
    return [rule for rule in rules if any(map(profile.meets, rule.triggers))]
