"""Where nodes of a libcst tree stand in the text: positions of reported nodes, from one code generation.

libcst's own position providers compute a position for every node of the file and first copy the tree. Here a
code generation notes, for the wanted nodes, how many pieces of text came before and after them; offsets,
lines and columns follow from that at the end. The results are those of libcst's ``PositionProvider``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import accumulate
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

from torchlint.syntax.depth import deep_recursion

__all__ = ["Located", "Span", "line_starts", "locate", "spans", "whole"]

_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Span:
    """A stretch of text.

    Attributes:
        start, end: offsets in characters from the beginning of the text (without a BOM), ``end`` exclusive.
        line, column: where it starts, both from 1, the column in characters.
        end_line, end_column: where it ends, both from 1, the column exclusive.
    """

    start: int
    end: int
    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True)
class Located:
    """What one code generation says of the nodes it was asked for.

    Attributes:
        code: the whole generated text, equal to the text that was parsed.
        spans: each node without the white space and comments around it. A function or class begins at its own
            ``def``, ``async`` or ``class``, not at a decorator.
        whole: each node with all that belongs to it: a statement with its leading comments, decorators,
            indentation, trailing comment and line end.
        headers: for each node that has a block (``if``, ``for``, ``def``...), the part before its block,
            colon included; for every other node the same as ``spans``.
        indents: the pieces of the indentation in force where each node begins.
    """

    code: str
    spans: dict[cst.CSTNode, Span]
    whole: dict[cst.CSTNode, Span]
    headers: dict[cst.CSTNode, Span]
    indents: dict[cst.CSTNode, tuple[str, ...]]


def locate(module: cst.Module, nodes: Collection[cst.CSTNode]) -> Located:
    """Generate the module's code once and say where ``nodes`` stand in it.

    Args:
        module: the tree, not nested deeper than :mod:`torchlint.syntax.depth` allows.
        nodes: nodes of that tree, compared by identity.

    Raises:
        KeyError: a node is not part of the tree.
    """
    state = _Recorder(module, nodes)
    with deep_recursion():
        module._codegen(state)
    ruler = _Ruler(state.tokens)
    return Located(
        code=ruler.text,
        spans={node: ruler.span(*state.syntactic(node)) for node in nodes},
        whole={node: ruler.span(*state.outer[node]) for node in nodes},
        headers={node: ruler.span(*state.header(node)) for node in nodes},
        indents={node: state.indents[node] for node in nodes},
    )


def spans(module: cst.Module, nodes: Collection[cst.CSTNode]) -> dict[cst.CSTNode, Span]:
    """The span of each of ``nodes`` without the white space and comments around it, as ``Located.spans``.

    Raises:
        KeyError: a node is not part of the tree.
    """
    return locate(module, nodes).spans


def whole(module: cst.Module, nodes: Collection[cst.CSTNode]) -> dict[cst.CSTNode, Span]:
    """The span of each of ``nodes`` with all that belongs to it, as ``Located.whole``.

    Raises:
        KeyError: a node is not part of the tree.
    """
    return locate(module, nodes).whole


def line_starts(text: str) -> list[int]:
    """The offset of each line's first character, for lines as Python's tokenizer counts them.

    A line ends with CR LF, CR or LF; a form feed or another character that ``str.splitlines`` knows ends
    none.
    """
    return [0, *(match.end() for match in _NEWLINE.finditer(text))]


class _Ruler:
    """Turns numbers of tokens into offsets, lines and columns."""

    def __init__(self, tokens: Iterable[str]) -> None:
        pieces = list(tokens)
        self.text = "".join(pieces)
        self._offsets = [0, *accumulate(map(len, pieces))]
        self._lines = line_starts(self.text)

    def span(self, first: int, last: int) -> Span:
        """The span from before token number ``first`` to before token number ``last``, both from 0."""
        # The module drops the last line end when the file has none, after the nodes were recorded.
        top = len(self._offsets) - 1
        start, end = self._offsets[min(first, top)], self._offsets[min(last, top)]
        line, end_line = bisect_right(self._lines, start), bisect_right(self._lines, end)
        return Span(
            start=start,
            end=end,
            line=line,
            column=start - self._lines[line - 1] + 1,
            end_line=end_line,
            end_column=end - self._lines[end_line - 1] + 1,
        )


class _Recorder(CodegenState):
    """A code generation that notes the number of tokens before and after each wanted node."""

    def __init__(self, module: cst.Module, nodes: Iterable[cst.CSTNode]) -> None:
        super().__init__(default_indent=module.default_indent, default_newline=module.default_newline)
        self.wanted: set[cst.CSTNode] = set(nodes)
        self.wanted.update(block for node in tuple(self.wanted) if (block := _block_of(node)) is not None)
        self.outer: dict[cst.CSTNode, tuple[int, int]] = {}
        self.inner: dict[cst.CSTNode, tuple[int, int]] = {}
        self.indents: dict[cst.CSTNode, tuple[str, ...]] = {}
        self._starts: list[int] = []

    def before_codegen(self, node: cst.CSTNode) -> None:
        if node in self.wanted:
            self._starts.append(len(self.tokens))
            self.indents[node] = tuple(self.indent_tokens)

    def after_codegen(self, node: cst.CSTNode) -> None:
        if node in self.wanted:
            self.outer[node] = (self._starts.pop(), len(self.tokens))

    # libcst says generator here; one for each node of the file costs too much.
    def record_syntactic_position(  # type: ignore[override]
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> AbstractContextManager[None]:
        if node not in self.wanted:
            return _NOTHING
        # A block ends where its last statement ends: that one is still to be generated and now wanted as
        # well.
        self.wanted.update(hoisted for hoisted in (start_node, end_node) if hoisted is not None)
        return _Syntactic(self, node, start_node, end_node)

    def syntactic(self, node: cst.CSTNode) -> tuple[int, int]:
        """The numbers of tokens before and after ``node`` without the white space around it."""
        return self.inner.get(node) or self.outer[node]

    def header(self, node: cst.CSTNode) -> tuple[int, int]:
        """The numbers of tokens before ``node`` and before its block, or after ``node`` without a block."""
        first, last = self.syntactic(node)
        block = _block_of(node)
        return (first, last if block is None else self.outer[block][0])


class _Syntactic:
    """Notes the numbers of tokens between which a node's own text is generated."""

    def __init__(
        self,
        recorder: _Recorder,
        node: cst.CSTNode,
        start_node: cst.CSTNode | None,
        end_node: cst.CSTNode | None,
    ) -> None:
        self._recorder = recorder
        self._node = node
        self._start_node = start_node
        self._end_node = end_node

    def __enter__(self) -> None:
        self._start = len(self._recorder.tokens)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            return
        recorder = self._recorder
        start, end = self._start, len(recorder.tokens)
        if self._start_node is not None:
            start = recorder.syntactic(self._start_node)[0]
        if self._end_node is not None:
            end = recorder.syntactic(self._end_node)[1]
        recorder.inner[self._node] = (start, end)


def _block_of(node: cst.CSTNode) -> cst.CSTNode | None:
    """The block that belongs to a compound statement or clause, or None."""
    body = getattr(node, "body", None)
    return body if isinstance(body, cst.BaseSuite) else None


_NOTHING: AbstractContextManager[None] = nullcontext()
