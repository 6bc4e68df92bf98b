"""Options of a program: what ``args.rows`` is where nobody says otherwise on the command line.

``parser.add_argument("--rows", type=int, default=2_000_000)`` and ``args = parser.parse_args()``, see
https://docs.python.org/3/library/argparse.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchlint.facts.values.graph import Op, Value
from torchlint.facts.values.homes import stored_at
from torchlint.facts.values.literals import literal
from torchlint.facts.values.reaching import reached

if TYPE_CHECKING:
    from torchlint.facts.values.solve import Solution

PARSING = frozenset(["parse_args", "parse_known_args"])
"""Methods of a parser that give the options."""


def default_of(solution: Solution, option: Value) -> object:
    """The default of an option that an ATTRIBUTE reads of what a parser of the file gave; None where it has none."""
    if option.op is not Op.ATTRIBUTE or not _is_parsed(solution, option.inputs[0]):
        return None
    for call in solution.graph.of(Op.CALL):
        if call.callee.op is Op.ATTRIBUTE and call.callee.name == "add_argument":
            names = [
                literal(solution, one) for one, key in zip(call.inputs, call.keys, strict=True) if key != "default"
            ]
            if option.name in (name.lstrip("-").replace("-", "_") for name in names if isinstance(name, str)):
                return literal(solution, call.argument(-1, "default"))
    return None


def _is_parsed(solution: Solution, options: Value) -> bool:
    def behind(value: Value) -> list[Value]:
        if value.op is Op.PARAMETER:
            return solution.arguments_of(value)
        if value.op in (Op.ELEMENT, Op.NARROWED, Op.PHI):
            return list(value.inputs)
        return stored_at(solution, value)

    made = reached([options], behind)
    return any(one.op is Op.CALL and one.callee.op is Op.ATTRIBUTE and one.callee.name in PARSING for one in made)
