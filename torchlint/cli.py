"""The command line: from words to an exit code; no traceback leaves it."""

from __future__ import annotations

import sys
from importlib import import_module

from torchlint.commands.arguments import parse
from torchlint.console import complain, discard_output

__all__ = ["main"]

FOUND_NOTHING, FOUND_SOMETHING, COULD_NOT = 0, 1, 2
"""The exit codes; 130 is an interruption, as shells have it."""


def main(words: list[str] | None = None) -> int:
    """Run ``torchlint`` with ``words`` (those of the process when None) and return its exit code.

    Raises:
        SystemExit: from the option parser, for ``--help``, ``--version`` and what it does not understand.
    """
    options = parse(sys.argv[1:] if words is None else words)
    try:
        # By string, so that a command's modules are imported only for that command.
        code: int = import_module(f"torchlint.commands.{options.command}").run(options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        discard_output()
        return FOUND_SOMETHING
    except Exception as error:
        complain(f"torchlint: internal error ({type(error).__name__}: {error})")
        return COULD_NOT
    return code
