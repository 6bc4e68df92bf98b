"""One file's way through: source, screen, parse, facts, rules, findings."""

from __future__ import annotations

import ast
import gc
import os
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from torchlint.diagnostic import Diagnostic, Evidence, Repair, Replacement
from torchlint.screen import may_be_given_tensors, passing, uses_torch
from torchlint.source import Source, Unreadable
from torchlint.syntax.depth import check_nesting, deep_recursion, parse_shallow

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from torchlint.facts import Facts
    from torchlint.facts.summaries.imports import Imports
    from torchlint.project.joining import Joined
    from torchlint.project.project import Project
    from torchlint.rule import Finding, Fix, LineOf, Rule
    from torchlint.syntax.positions import Located


@dataclass(frozen=True)
class Outcome:
    """What checking one file gave.

    Attributes:
        diagnostics: sorted by line, column and code; suppressed ones included.
        uses_torch: whether the file was looked at at all.
    """

    diagnostics: tuple[Diagnostic, ...]
    uses_torch: bool


def check(
    source: Source,
    rules: Sequence[Rule],
    *,
    tree: ast.Module | None = None,
    use_screen: bool = True,
    project: Project | None = None,
    together: bool = False,
) -> Outcome:
    """Check one file.

    Args:
        source: the file.
        rules: the rules to run.
        tree: the file's tree by ``ast``, if the caller has it already.
        use_screen: False runs every rule on every file that uses torch.
        project: where to look for what the file imports; without one it stands alone.
        together: whether it is read as one with the files that it imports, or that import it, as well.

    Returns:
        all findings, those on suppressed lines too.

    Raises:
        Unreadable: the file cannot be parsed, or is nested too deep.
    """
    is_concerned = concerns_torch(source, project)
    if not is_concerned and not _is_read_with_torch(source, project, together=together):
        return Outcome((), False)  # not even parsed: what is wrong in it is for other tools to say
    by_itself = partial(_outcome, source, rules, tree, use_screen, project) if is_concerned else _nothing
    with _collector_paused():
        joined = project.connected.joined(source) if together and project is not None else None
        if joined is None or project is None:
            return by_itself()
        whole = _found_together(joined, source, rules, project, use_screen=use_screen)
        found = _said(source, joined, whole, project.files.all_given, by_itself)
    return Outcome(tuple(sorted(found, key=Diagnostic.sort_key)), True)


def _nothing() -> Outcome:
    """What a file says by itself that has nothing to do with torch."""
    return Outcome((), True)


def _found_together(
    joined: Joined, source: Source, rules: Sequence[Rule], project: Project, *, use_screen: bool
) -> Mapping[str, Sequence[Diagnostic]]:
    """What is found in files that are read as one, by file, searched once for all of them."""
    from torchlint.joint import by_file, line_seen_from

    def find() -> Mapping[str, Sequence[Diagnostic]]:
        seen_from, text = partial(line_seen_from, joined), Source(source.path, joined.text)
        return by_file(joined, _outcome(text, rules, None, use_screen, None, line_seen_from=seen_from).diagnostics)

    return project.found_together(joined, (*(rule.code for rule in rules), use_screen), find)


def _said(
    source: Source,
    joined: Joined,
    whole: Mapping[str, Sequence[Diagnostic]],
    given: Set[str],
    by_itself: Callable[[], Outcome],
) -> Iterator[Diagnostic]:
    """What is said of one of the files that are read as one."""
    from torchlint.joint import is_read_alone_too, told

    path = os.path.abspath(source.path)
    alone = by_itself().diagnostics if is_read_alone_too(joined, path, whole, given) else ()
    return (replace(one, path=source.path) for one in told(joined, path, whole, alone, given))


def _outcome(
    source: Source,
    rules: Sequence[Rule],
    tree: ast.Module | None,
    use_screen: bool,
    project: Project | None,
    *,
    line_seen_from: Callable[[int, int], str] = lambda _, line: str(line),
) -> Outcome:
    """What :func:`check` gives; all that it makes is gone when it returns, before the collector looks again."""
    wanted, parsed, refused = rules, None, None
    try:
        parsed = _parsed(source, tree, project)
        if use_screen:
            wanted = passing(parsed, rules, is_imported=partial(_is_imported, source, project))
    except SyntaxError as error:
        # This Python may be older than the file's syntax; libcst decides.
        check_nesting(source.text, None)
        refused = error
    if not wanted:
        return Outcome((), True)
    imports = None if project is None else project.imports_of(source.path)
    with deep_recursion():
        facts = None if parsed is None else _bare_facts(source, parsed, imports)
        if facts is not None:
            wanted = wanted[_silent_at_first(facts, wanted) :]
        if facts is None or wanted:
            facts = _whole_facts(facts, _parse(source, refused), imports)
        findings = list(_findings(facts, wanted))
        diagnostics = _diagnostics(source, facts.module, findings, line_seen_from) if findings else []
        facts.dissolve()
    return Outcome(tuple(sorted(diagnostics, key=Diagnostic.sort_key)), True)


def _is_imported(source: Source, project: Project | None) -> bool:
    """Whether another file of the run imports a file, and may pass it something of its own."""
    return project is not None and bool(project.importers(source.path))


def concerns_torch(source: Source, project: Project | None, *, together: bool = False) -> bool:
    """Whether a file uses torch, a framework on it, or a module of its project that does; nothing is parsed.

    Or whether one of its project that does may give it tensors or modules, or is read as one with it (``together``).
    """
    if uses_torch(source.text):
        return True
    if project is None:
        return False
    if project.imports_torch(source):
        return True
    if may_be_given_tensors(source.text) and project.is_imported_with_torch(source):
        return True
    return _is_read_with_torch(source, project, together=together)


def _is_read_with_torch(source: Source, project: Project | None, *, together: bool) -> bool:
    """Whether a file is read as one (``together``) with others of its project that use torch."""
    return together and project is not None and project.connected.uses_torch(source.path)


def _parsed(source: Source, tree: ast.Module | None, project: Project | None) -> ast.Module:
    """The file's tree by ``ast``, not nested too deep; raises Unreadable, SyntaxError."""
    if tree is not None:
        check_nesting(source.text, tree)
        return tree
    return parse_shallow(source.text) if project is None else project.tree_of(source)


def _bare_facts(source: Source, tree: ast.Module, imports: Imports | None) -> Facts | None:
    """The facts of a file by its bare tree; None where only libcst's own tree will do.

    Most files are silent, and libcst's parser takes longer than everything else. What is found is found again once
    the nodes have their white space, when it can be located, written and repaired.
    """
    from torchlint.syntax.bare import bare_module

    bare = bare_module(source.text, tree)
    try:
        return None if bare is None else _facts(bare, imports)
    except AttributeError:
        return None  # white space was asked for; a slip would show again on libcst's own tree


def _silent_at_first(facts: Facts, rules: Sequence[Rule]) -> int:
    """How many of ``rules``, one after the other, have nothing to say of a bare tree."""
    for count, rule in enumerate(rules):
        try:
            if next(_findings(facts, [rule]), None) is not None:
                return count
        except AttributeError:
            return count  # as above, or a repair was asked for
    return len(rules)


def _whole_facts(facts: Facts | None, module: cst.Module, imports: Imports | None) -> Facts:
    """The facts of a file by a tree with its white space: those of its bare tree, where that can be filled in."""
    from torchlint.syntax.bare import complete

    if facts is not None and complete(facts.module, module):
        return facts
    if facts is not None:
        facts.dissolve()
    return _facts(module, imports)


def _parse(source: Source, refused: SyntaxError | None) -> cst.Module:
    """The file's tree by libcst; raises Unreadable, with the line that ``ast`` named where it refused the text too."""
    import libcst as cst

    try:
        return cst.parse_module(source.text)
    except cst.ParserSyntaxError as error:
        # libcst's tokenizer names the first line whatever is wrong.
        line = (refused.lineno if refused is not None else None) or error.raw_line
        raise Unreadable(f"syntax error in line {line}") from error
    except cst.CSTValidationError as error:
        raise Unreadable("syntax error") from error


def _facts(module: cst.Module, imports: Imports | None) -> Facts:
    from torchlint.facts import Facts

    return Facts(module, imports)


def _findings(facts: Facts, rules: Sequence[Rule]) -> Iterator[tuple[Rule, Finding]]:
    elsewhere = facts.graph.foreign.nodes
    for rule in rules:
        for finding in rule.check(facts):
            if finding.node not in elsewhere:
                yield rule, _here(finding, elsewhere)


def _here(finding: Finding, elsewhere: Set[cst.CSTNode]) -> Finding:
    """A finding that names no line of other files, whose lines nobody knows here."""
    evidence = tuple(step for step in finding.evidence if step.node not in elsewhere)
    return replace(finding, evidence=evidence, message=tuple(_without_lines_of(elsewhere, finding.message)))


def _without_lines_of(elsewhere: Set[cst.CSTNode], message: Sequence[str | LineOf]) -> Iterator[str | LineOf]:
    for piece, following in zip_longest(message, message[1:]):
        if not isinstance(piece, str):
            yield "another file" if piece.node in elsewhere else piece
        elif following is None or isinstance(following, str) or following.node not in elsewhere:
            yield piece
        else:
            yield piece.removesuffix("line ")


def _diagnostics(
    source: Source,
    module: cst.Module,
    findings: list[tuple[Rule, Finding]],
    line_seen_from: Callable[[int, int], str],
) -> list[Diagnostic]:
    from torchlint.fix.rebuild import changes_of
    from torchlint.syntax.positions import locate

    fixes = [finding.fix for _, finding in findings if finding.fix is not None]
    changes = changes_of(module, source.text, fixes)
    located = locate(module, {*changes.nodes, *(node for _, finding in findings for node in _mentioned(finding))})
    repairs = _repairs(fixes, changes.replacements(located))
    return [
        _diagnostic(
            source,
            rule,
            finding,
            located,
            None if finding.fix is None else repairs.get(finding.fix),
            line_seen_from=line_seen_from,
        )
        for rule, finding in findings
    ]


def _mentioned(finding: Finding) -> Iterator[cst.CSTNode]:
    from torchlint.rule import LineOf

    yield finding.node
    yield from (step.node for step in finding.evidence)
    yield from (piece.node for piece in finding.message if isinstance(piece, LineOf))


def _diagnostic(
    source: Source,
    rule: Rule,
    finding: Finding,
    located: Located,
    repair: Repair | None,
    *,
    line_seen_from: Callable[[int, int], str],
) -> Diagnostic:
    span = located.headers[finding.node]
    pieces = (
        piece if isinstance(piece, str) else line_seen_from(span.line, _line(piece, located))
        for piece in finding.message
    )
    message = "".join(pieces)
    evidence = tuple(
        Evidence(at.line, at.column, step.text) for step in finding.evidence for at in [located.spans[step.node]]
    )
    return Diagnostic(
        path=source.path, line=span.line, column=span.column, end_line=span.end_line, end_column=span.end_column,
        code=rule.code, name=rule.name, level=finding.level, memory=finding.memory, message=message,
        evidence=evidence, repair=repair, explained_by=finding.explained_by,
    )  # fmt: skip


def _line(of: LineOf, located: Located) -> int:
    span = located.spans[of.node]
    return span.end_line if of.ends else span.line


def _repairs(fixes: Sequence[Fix], planned: Sequence[tuple[Replacement, ...] | None]) -> dict[Fix, Repair]:
    """The repair of each fix that changes something, by the fix."""
    each = zip(fixes, planned, strict=True)
    return {fix: Repair(fix.title, fix.safe, replacements) for fix, replacements in each if replacements}


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Parsing makes many objects and no garbage: the collector would walk over them again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
