"""The options, in ruff's words. Nothing here imports more than argparse, since ``--help`` must be quick."""

from __future__ import annotations

import argparse
from typing import NoReturn

from torchlint import __version__
from torchlint.report import FORMATS

__all__ = ["COMMANDS", "parse"]

COMMANDS = ("check", "rules", "rule", "verify", "clean")
"""The first words that are commands; anything else is a path to check."""

_EPILOG = """\
exit codes: 0 nothing found, 1 errors or warnings found (notes never count), 2 something could not be done

"torchlint PATH" is "torchlint check PATH", and "torchlint check --help" lists its options; a folder called
"rules" or "clean" is checked with "torchlint check rules"
"""


def parse(words: list[str]) -> argparse.Namespace:
    """Parse a command line without the program's name.

    Raises:
        SystemExit: with 2 for what cannot be understood, with 0 after ``--help`` and ``--version``.
    """
    general = not words or words[0] not in (*COMMANDS, "-h", "--help", "--version")
    return _parser().parse_args(["check", *words] if general else words)


class _Parser(argparse.ArgumentParser):
    """A parser that says in one line what it does not understand."""

    def error(self, message: str) -> NoReturn:
        """End with exit code 2."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    """The whole grammar."""
    parser = _Parser(
        prog="torchlint",
        description="Find, and repair, the lines in PyTorch code that make a process keep or waste memory.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"torchlint {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_check(commands)
    listing = commands.add_parser("rules", help="list the rules", allow_abbrev=False)
    listing.add_argument("--output-format", choices=("text", "json", "markdown"), default="text")
    page = commands.add_parser("rule", help="explain one rule", allow_abbrev=False)
    page.add_argument("code", metavar="CODE", help='a whole code, such as "TLK101"')
    _add_verify(commands)
    cleaning = commands.add_parser("clean", help="remove what earlier runs kept to save time", allow_abbrev=False)
    cleaning.add_argument(
        "paths", nargs="*", default=["."], metavar="PATH", help="whose caches to remove, and those in folders below"
    )
    return parser


def _add_check(commands: argparse._SubParsersAction[_Parser]) -> None:
    """The options of ``check``."""
    check = commands.add_parser(
        "check",
        help="check files and folders (the default)",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    check.add_argument(
        "paths", nargs="*", default=["."], metavar="PATH", help='files and folders; "-" is standard input'
    )
    _add_repairs(check.add_argument_group("repairs"))
    _add_codes(check.add_argument_group("what is reported (codes may be prefixes: TLK, TLK1, TLK101)"))
    _add_files(check.add_argument_group("which files"))
    _add_output(check.add_argument_group("output"))
    _add_running(check.add_argument_group("how it runs"))


def _add_verify(commands: argparse._SubParsersAction[_Parser]) -> None:
    """The options of ``verify``."""
    verify = commands.add_parser(
        "verify",
        help="prove rules by running their programs (needs torch)",
        description="Run programs under probes: what is said to leak must leak, what is said to be clean must not.",
        epilog="exit codes: 0 all are what they claim, 1 one is not, 2 it could not be done",
        allow_abbrev=False,
    )
    verify.add_argument(
        "targets",
        nargs="*",
        metavar="CODE|PATH",
        help="rules, or folders that hold leak_*.py, fixed_*.py and clean_*.py; all rules when left out",
    )
    verify.add_argument("--device", default="auto", metavar="auto|cpu|cuda[:N]", help="where programs run")
    verify.add_argument("--steps", type=int, default=16, metavar="N", help="batches of each run")
    verify.add_argument("-j", "--jobs", type=int, default=0, metavar="N", help="processes; 0: one a core (the default)")
    verify.add_argument("--record", action="store_true", help="write measured.json beside the programs")
    verify.add_argument("--output-format", choices=("table", "json", "junit"), default="table")
    verify.add_argument("--plot", metavar="FILE", help="draw memory against steps, one panel a rule (.png or .svg)")
    verify.add_argument("--time-limit", type=float, default=30.0, metavar="SECONDS", help="of each run")
    verify.add_argument("--memory-limit", type=int, default=2048, metavar="MIB", help="of each run")


def _add_repairs(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--fix", action="store_true", help="apply the safe repairs")
    group.add_argument("--unsafe-fixes", action="store_true", help="apply the unsafe repairs as well")
    group.add_argument(
        "--diff", action="store_true", help="write nothing, show what would change (exit 1 if anything would)"
    )


def _add_codes(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--select", action="append", metavar="CODES", help="only these")
    group.add_argument("--extend-select", action="append", metavar="CODES", help="these as well")
    group.add_argument("--ignore", action="append", metavar="CODES", help="not these")
    group.add_argument("--notes", action=argparse.BooleanOptionalAction, help="show notes too")
    group.add_argument("--preview", action=argparse.BooleanOptionalAction, help="rules in preview, too")


def _add_files(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--exclude", action="append", metavar="PATTERNS", help="pass over these")
    group.add_argument("--extend-exclude", action="append", metavar="PATTERNS", help="pass over these, too")
    group.add_argument("--force-exclude", action="store_true", help="pass over them also when they are given by name")
    group.add_argument(
        "--respect-gitignore",
        action=argparse.BooleanOptionalAction,
        help="pass over what .gitignore names (the default)",
    )
    group.add_argument(
        "--join",
        action=argparse.BooleanOptionalAction,
        help="read files that import each other as one, where they are few (the default)",
    )
    group.add_argument("--max-file-size", type=int, metavar="BYTES", help="do not check larger files")
    group.add_argument("--stdin-filename", metavar="NAME", help='the name of what "-" reads')


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--output-format", choices=FORMATS, default=FORMATS[0])
    group.add_argument("--statistics", action="store_true", help="count findings by rule, list none")
    group.add_argument("--exit-zero", action="store_true", help="exit 0 also when something was found")


def _add_running(group: argparse._ArgumentGroup) -> None:
    group.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="processes; 0: one a core")
    group.add_argument("--no-cache", action="store_true", help="check every file, and keep nothing")
    group.add_argument("--cache-dir", metavar="FOLDER", help="where to keep what was found, to save time next time")
    group.add_argument(
        "--no-screen", action="store_true", help="parse every file, also those that cannot hold a finding"
    )
