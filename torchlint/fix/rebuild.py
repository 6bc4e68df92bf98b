"""From edits of the tree to replacements in the text: only what changes is generated, and trimmed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import TypeAlias

import libcst as cst
from libcst._nodes.internal import CodegenState

from torchlint.diagnostic import Replacement
from torchlint.fix.torch_import import import_torch_replacement
from torchlint.rule import Fix
from torchlint.syntax.depth import deep_recursion
from torchlint.syntax.positions import Located, locate
from torchlint.syntax.tree import parents

__all__ = ["Changes", "changes_of", "plan", "plan_all"]

_Result: TypeAlias = "cst.CSTNode | cst.FlattenSentinel[cst.CSTNode] | cst.RemovalSentinel"
_Builders: TypeAlias = "dict[cst.CSTNode, list[Callable[[cst.CSTNode], _Result]]]"
_Parents: TypeAlias = "dict[cst.CSTNode, cst.CSTNode]"


def plan(module: cst.Module, text: str, fix: Fix) -> tuple[Replacement, ...] | None:
    """Turn the edits of one fix into replacements of ``text``.

    Args:
        module: the tree that the edits speak of.
        text: what the tree was parsed from.
        fix: edits by identity of nodes; inner ones are built first, several of one node in their order.

    Returns:
        the least replacements, sorted and not overlapping; None when the fix changes nothing, when libcst
        would not give the unchanged text back, when lines end with lone carriage returns only, or when an
        edited node is not in the tree.

    Raises:
        TypeError: an edit removes or multiplies what the grammar needs exactly once.
    """
    return plan_all(module, text, [fix])[0]


def plan_all(module: cst.Module, text: str, fixes: Sequence[Fix]) -> list[tuple[Replacement, ...] | None]:
    """As :func:`plan` for several fixes of one file, each for itself, with one code generation for all."""
    changes = changes_of(module, text, fixes)
    return changes.replacements(locate(module, changes.nodes)) if changes.nodes else [None] * len(fixes)


@dataclasses.dataclass(frozen=True)
class Changes:
    """What fixes change, each for itself, before it is known where that stands.

    Attributes:
        module: the tree that their edits speak of.
        text: what it was parsed from.
        each: for each fix the nodes to generate anew, with what stands in their place, and whether that says ``torch``;
            None for a fix that cannot be made.
    """

    module: cst.Module
    text: str
    each: tuple[tuple[dict[cst.CSTNode, _Result], bool] | None, ...]

    @cached_property
    def nodes(self) -> frozenset[cst.CSTNode]:
        """All nodes that are generated anew: what has to be located."""
        return frozenset(node for one in self.each if one is not None for node in one[0])

    def replacements(self, located: Located) -> list[tuple[Replacement, ...] | None]:
        """Each fix as replacements of the text, see :func:`plan`; ``located`` says where :attr:`nodes` stand."""
        if located.code != self.text:
            return [None] * len(self.each)
        with deep_recursion():
            return [None if one is None else _replacements(self.module, located, *one) for one in self.each]


def changes_of(module: cst.Module, text: str, fixes: Sequence[Fix]) -> Changes:
    """Build what ``fixes`` put into the place of nodes of ``module``, the tree of ``text``.

    Raises:
        TypeError: an edit removes or multiplies what the grammar needs exactly once.
    """
    if not fixes or ("\r" in text and "\n" not in text):
        return Changes(module, text, (None,) * len(fixes))
    above = parents(module)
    with deep_recursion():
        return Changes(
            module,
            text,
            tuple(
                (_changes(fix, above), fix.needs_torch) if all(edit.node in above for edit in fix.edits) else None
                for fix in fixes
            ),
        )


def _changes(fix: Fix, above: _Parents) -> dict[cst.CSTNode, _Result]:
    """The nodes to generate anew, none of them inside another, and what stands in the place of each."""
    builders: _Builders = {}
    for edit in fix.edits:
        builders.setdefault(edit.node, []).append(edit.build)
    touched = _paths(builders, above)
    roots = _outermost({_self_contained(node, above) for node in builders}, above)
    results = {root: _rebuilt(root, builders, touched) for root in roots}
    emptied = _emptied_blocks(results, above)
    if emptied:
        roots = _outermost(roots | emptied, above)
        results = {root: _rebuilt(root, builders, touched) for root in roots}
    return results


def _paths(nodes: Iterable[cst.CSTNode], above: _Parents) -> dict[cst.CSTNode, list[cst.CSTNode]]:
    """For each node above one of ``nodes``, those of its children that lead there."""
    touched: dict[cst.CSTNode, list[cst.CSTNode]] = {}
    seen: set[cst.CSTNode] = set()
    for start in nodes:
        node = start
        while node in above and node not in seen:
            seen.add(node)
            touched.setdefault(above[node], []).append(node)
            node = above[node]
    return touched


def _self_contained(node: cst.CSTNode, above: _Parents) -> cst.CSTNode:
    """The innermost node around ``node`` whose code does not depend on what its parent says.

    An argument gets its comma, a small statement its semicolon and an ``elif`` its spelling from the parent.
    """
    while not isinstance(node, cst.Module):
        parent = above[node]
        if isinstance(node, cst.If) and isinstance(parent, cst.If):
            node = parent
        elif isinstance(node, cst.BaseExpression | cst.BaseSuite | cst.BaseStatement):
            return node
        else:
            node = parent
    return node


def _outermost(nodes: Collection[cst.CSTNode], above: _Parents) -> set[cst.CSTNode]:
    """Those of ``nodes`` that are not inside another of them."""
    kept = set()
    for node in nodes:
        outer = above.get(node)
        while outer is not None and outer not in nodes:
            outer = above.get(outer)
        if outer is None:
            kept.add(node)
    return kept


def _emptied_blocks(results: dict[cst.CSTNode, _Result], above: _Parents) -> set[cst.CSTNode]:
    """The blocks of which every statement is removed; they need a ``pass``."""
    removed = {node for node, result in results.items() if isinstance(result, cst.RemovalSentinel)}
    blocks = {above[node] for node in removed if node in above}
    return {
        block
        for block in blocks
        if isinstance(block, cst.IndentedBlock) and all(statement in removed for statement in block.body)
    }


def _rebuilt(node: cst.CSTNode, builders: _Builders, touched: dict[cst.CSTNode, list[cst.CSTNode]]) -> _Result:
    """What stands in the place of ``node``, its changed children built first."""
    changed = {child: _rebuilt(child, builders, touched) for child in touched.get(node, ())}
    result: _Result = _with_children(node, changed) if changed else node
    for build in builders.get(node, ()):
        if not isinstance(result, cst.CSTNode):
            raise TypeError(f"an edit follows one that removed or multiplied its {type(node).__name__}")
        result = build(result)
    return result


def _with_children(node: cst.CSTNode, changed: dict[cst.CSTNode, _Result]) -> _Result:
    """``node`` with other children; a line of which every small statement is removed is removed itself."""
    fields: dict[str, object] = {}
    for field in dataclasses.fields(node):
        value = getattr(node, field.name)
        if isinstance(value, cst.CSTNode) and value in changed:
            result = changed[value]
            if not isinstance(result, cst.CSTNode):
                raise TypeError(f"{type(node).__name__}.{field.name} is needed exactly once")
            fields[field.name] = result
        elif isinstance(value, list | tuple) and any(item in changed for item in value):
            fields[field.name] = _spliced(value, changed)
    if isinstance(node, cst.SimpleStatementLine) and fields.get("body", node.body) == []:
        return cst.RemovalSentinel.REMOVE
    return node.with_changes(**fields)


def _spliced(items: Sequence[cst.CSTNode], changed: dict[cst.CSTNode, _Result]) -> list[cst.CSTNode]:
    """``items`` with some replaced, multiplied or removed."""
    spliced: list[cst.CSTNode] = []
    for item in items:
        result = changed.get(item, item)
        if isinstance(result, cst.CSTNode):
            spliced.append(result)
        elif isinstance(result, cst.FlattenSentinel):
            spliced.extend(result)
    if spliced and spliced[-1] is not items[-1]:
        spliced[-1] = _closed_like(spliced[-1], items[-1])
    return spliced


def _closed_like(node: cst.CSTNode, last: cst.CSTNode) -> cst.CSTNode:
    """``node`` without its separator, where the node that was ``last`` so far had none either."""
    for separator in ("semicolon", "comma"):
        if isinstance(getattr(last, separator, None), cst.MaybeSentinel) and hasattr(node, separator):
            node = node.with_changes(**{separator: cst.MaybeSentinel.DEFAULT})
    return node


def _replacements(
    module: cst.Module, located: Located, changes: dict[cst.CSTNode, _Result], needs_torch: bool
) -> tuple[Replacement, ...] | None:
    """The changes of one fix as replacements of the text, or None when nothing changes or they collide."""
    in_order = sorted(changes.items(), key=lambda change: located.whole[change[0]].start)
    found = [_replacement(module, located, root, result) for root, result in in_order]
    changed = [replacement for replacement in found if replacement is not None]
    if not changed:
        return None
    added = import_torch_replacement(module) if needs_torch else None
    if added is not None:
        if any(one.start < added.start < one.end for one in changed):
            return None
        changed = sorted([added, *changed], key=lambda one: one.start)
    return _joined(changed)


def _joined(replacements: Sequence[Replacement]) -> tuple[Replacement, ...]:
    """``replacements`` with those made one that stand at one place, since they have no order of their own."""
    joined: list[Replacement] = []
    for one in replacements:
        if joined and joined[-1].end == one.start:
            last = joined.pop()
            joined.append(Replacement(last.start, one.end, last.text + one.text))
        else:
            joined.append(one)
    return tuple(joined)


def _replacement(module: cst.Module, located: Located, root: cst.CSTNode, result: _Result) -> Replacement | None:
    """One change as the least replacement of the text, or None when the text stays the same."""
    span, indents = located.whole[root], located.indents[root]
    if not isinstance(result, cst.CSTNode) and not isinstance(root, cst.BaseStatement):
        raise TypeError(f"a {type(root).__name__} is needed exactly once")
    if isinstance(result, cst.RemovalSentinel):
        # Comments above a removed statement may speak of more than that statement.
        above = "".join(_generated(module, line, indents) for line in getattr(root, "leading_lines", ()))
        return Replacement(span.start + len(above), span.end, "")
    nodes = [result] if isinstance(result, cst.CSTNode) else list(result)
    after = "".join(_generated(module, node, indents) for node in nodes)
    if isinstance(root, cst.BaseExpression):
        after = _kept_apart(located.code, span.start, span.end, after)
    if span.end == len(located.code) and not module.has_trailing_newline and after.endswith("\n"):
        after = after.removesuffix("\n").removesuffix("\r")
    return _trimmed(located.code, span.start, span.end, after)


def _generated(module: cst.Module, node: cst.CSTNode, indents: Sequence[str]) -> str:
    """The code of ``node`` at a place with this indentation."""
    state = CodegenState(
        default_indent=module.default_indent,
        default_newline=module.default_newline,
        indent_tokens=list(indents),
    )
    node._codegen(state)
    return "".join(state.tokens)


def _kept_apart(text: str, start: int, end: int, after: str) -> str:
    """``after`` with a space where it would otherwise grow together with a word beside it: ``return(x)``."""
    if start and _is_word(text[start - 1]) and _is_word(after[:1]) and not _is_word(text[start : start + 1]):
        after = " " + after
    if end and _is_word(text[end : end + 1]) and _is_word(after[-1:]) and not _is_word(text[end - 1]):
        after += " "
    return after


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _trimmed(text: str, start: int, end: int, after: str) -> Replacement | None:
    """The replacement of ``text[start:end]`` by ``after`` without what both have in common at either end."""
    before = text[start:end]
    if before == after:
        return None
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    return Replacement(start + head, end - tail, after[head : len(after) - tail])


def _common(left: str, right: str) -> int:
    """The length of the common beginning, not ending between CR and LF."""
    shorter = min(len(left), len(right))
    count = next((index for index in range(shorter) if left[index] != right[index]), shorter)
    if any(side[max(0, count - 1) : count + 1] in ("\r\n", "\n\r") for side in (left, right)):
        count -= 1
    return max(0, count)
